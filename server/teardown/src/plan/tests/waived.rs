//! Tests of objects that go although others use them, because a person waived that by name.

use super::*;

/// An operator with a webhook for the whole cluster, whose objects others have too.
const OPERATOR: &str = "
    ns ops of=ops
    crd topics.queue.example of=ops defines=Topic.queue.example
    Topic.queue.example ops/orders of=ops finalizers=queue.example/topic
    webhook check of=ops service=ops/operator guards=configmaps
    svc ops/operator of=ops selector=app:operator
    deploy ops/operator of=ops selector=app:operator template=app:operator uses=account:operator
    rs ops/operator-1 owner=deploy/operator selector=app:operator template=app:operator uses=account:operator
    pod ops/operator-1-a owner=rs/operator-1 labels=app:operator uses=account:operator
    sa ops/operator of=ops
    clusterrole topics of=ops updates=topics.queue.example
    crb topics of=ops accounts=ops/operator role=clusterrole/topics
    cm shop/settings of=shop
    Topic.queue.example shop/mine of=shop finalizers=queue.example/topic
";
const WEBHOOK: &str = "waive=ValidatingWebhookConfiguration.admissionregistration.k8s.io//check";
const DEPLOYMENT: &str = "waive=Deployment.apps/ops/operator";

/// The losses of others, and the further waivers that a person may choose.
fn losses(plan: &Plan) -> String {
    let row = |it: &Waived| {
        let users: Vec<String> = it.users.iter().map(ToString::to_string).collect();
        format!("{} ({:?}) is lost to {} of {}", it.object, it.edge, users.join(", "), it.count)
    };
    let may = plan.waivable.iter().map(|object| format!("may waive {object}"));
    plan.waived.iter().map(row).chain(may).collect::<Vec<_>>().join("\n")
}

/// The objects that go and those that stay, by UID.
fn ends(plan: &Plan) -> String {
    let sorted = |uids: BTreeSet<String>| uids.into_iter().collect::<Vec<_>>().join(" ");
    let goes = sorted(plan.steps.iter().map(|step| step.uid.to_string()).collect());
    let stays = sorted(plan.kept.iter().map(|kept| kept.uid.to_string()).collect());
    format!("go {goes}\nstay {stays}")
}

#[test]
fn operator_that_others_need_goes_with_its_webhook_once_both_are_waived() {
    let plan = plan_of(OPERATOR, "ops").unwrap();
    insta::assert_snapshot!(ends(&plan), @"
    go Topic.queue.example:ops/orders
    stay clusterrole:topics crb:topics crd:topics.queue.example deploy:ops/operator ns:ops pod:ops/operator-1-a rs:ops/operator-1 sa:ops/operator svc:ops/operator webhook:check
    ");
    insta::assert_snapshot!(losses(&plan), @"
    may waive ValidatingWebhookConfiguration check
    may waive Deployment ops/operator
    ");
    let plan = plan_with(OPERATOR, "ops", &[WEBHOOK, DEPLOYMENT]).unwrap();
    insta::assert_snapshot!(ends(&plan), @"
    go Topic.queue.example:ops/orders clusterrole:topics crb:topics deploy:ops/operator ns:ops pod:ops/operator-1-a rs:ops/operator-1 sa:ops/operator svc:ops/operator webhook:check
    stay crd:topics.queue.example
    ");
    insta::assert_snapshot!(losses(&plan), @"
    ValidatingWebhookConfiguration check (Guards) is lost to ConfigMap shop/settings of 1
    Deployment ops/operator (Finishes) is lost to Topic shop/mine of 1
    ");
    let place = |uid: &str| plan.steps.iter().position(|step| step.uid == fixture::uid(uid));
    assert!(place("webhook:check") < place("deploy:ops/operator"));
    assert!(place("Topic.queue.example:ops/orders") < place("deploy:ops/operator"));
}

#[test]
fn one_waiver_says_nothing_about_what_else_keeps_the_operator() {
    for choices in [[WEBHOOK], [DEPLOYMENT]] {
        let plan = plan_with(OPERATOR, "ops", &choices).unwrap();
        let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
        assert!(kept.contains(&&fixture::uid("deploy:ops/operator")), "{}", text(&plan));
    }
}

/// The API server deletes the objects with it.
#[test]
fn definition_whose_objects_others_have_stays_with_its_converter_whatever_is_waived() {
    let definition = "waive=CustomResourceDefinition.apiextensions.k8s.io//topics.queue.example";
    let converts = OPERATOR
        .replace("defines=Topic.queue.example", "defines=Topic.queue.example service=ops/operator");
    let service = "waive=Service/ops/operator";
    let plan = plan_with(&converts, "ops", &[WEBHOOK, DEPLOYMENT, definition, service]).unwrap();
    insta::assert_snapshot!(ends(&plan), @"
    go Topic.queue.example:ops/orders webhook:check
    stay clusterrole:topics crb:topics crd:topics.queue.example deploy:ops/operator ns:ops pod:ops/operator-1-a rs:ops/operator-1 sa:ops/operator svc:ops/operator
    ");
    insta::assert_snapshot!(losses(&plan), @"ValidatingWebhookConfiguration check (Guards) is lost to ConfigMap shop/settings of 1");
}

/// Objects that others use, each in its own way, with the one outside that uses it.
const SHARED: &str = "
    ns shop of=shop
    node n1 of=shop
    svc shop/web of=shop selector=app:web
    deploy shop/web of=shop selector=app:web template=app:web
    rs shop/web-1 owner=deploy/web selector=app:web template=app:web
    pod shop/web-1-a owner=rs/web-1 labels=app:web
    ing shop/theirs of=other routes=web
    cm shop/settings of=shop
    secret shop/login of=shop
    sa shop/web of=shop
    netpol shop/web of=shop selector=app:theirs
    deploy shop/theirs of=other selector=app:theirs template=app:theirs uses=config:settings,secret:login,account:web,claim:data
    rs shop/theirs-1 owner=deploy/theirs selector=app:theirs template=app:theirs uses=config:settings,secret:login,account:web,claim:data
    pod shop/theirs-1-a owner=rs/theirs-1 labels=app:theirs uses=config:settings,secret:login,account:web,claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 of=shop claim=shop/data reclaim=Delete
    class fast of=shop
    pvc other/data of=other class=fast
    cm shop/free of=shop
";

#[test]
fn shared_object_goes_by_name_alone_and_data_of_others_never() {
    let plan = plan_of(SHARED, "shop").unwrap();
    insta::assert_snapshot!(ends(&plan), @"
    go cm:shop/free
    stay class:fast cm:shop/settings deploy:shop/web netpol:shop/web node:n1 ns:shop pod:shop/web-1-a pv:pv-1 pvc:shop/data rs:shop/web-1 sa:shop/web secret:shop/login svc:shop/web
    ");
    insta::assert_snapshot!(losses(&plan), @"
    may waive ConfigMap shop/settings
    may waive Secret shop/login
    may waive Service shop/web
    may waive ServiceAccount shop/web
    may waive Deployment shop/web
    may waive StorageClass fast
    ");
    let all = [
        "waive=Service/shop/web",
        "waive=Deployment.apps/shop/web",
        "waive=ConfigMap/shop/settings",
        "waive=Secret/shop/login",
        "waive=ServiceAccount/shop/web",
        "waive=StorageClass.storage.k8s.io//fast",
        "waive=PersistentVolumeClaim/shop/data",
        "waive=PersistentVolume//pv-1",
        "waive=NetworkPolicy.networking.k8s.io/shop/web",
        "waive=Namespace//shop",
        "waive=Node//n1",
    ];
    let plan = plan_with(SHARED, "shop", &all).unwrap();
    insta::assert_snapshot!(ends(&plan), @"
    go class:fast cm:shop/free cm:shop/settings deploy:shop/web pod:shop/web-1-a rs:shop/web-1 sa:shop/web secret:shop/login svc:shop/web
    stay netpol:shop/web node:n1 ns:shop pv:pv-1 pvc:shop/data
    ");
    insta::assert_snapshot!(losses(&plan), @"
    ConfigMap shop/settings (Mounts) is lost to Deployment shop/theirs of 1
    Secret shop/login (Mounts) is lost to Deployment shop/theirs of 1
    Service shop/web (Routes) is lost to Ingress shop/theirs of 1
    ServiceAccount shop/web (RunsAs) is lost to Deployment shop/theirs of 1
    Deployment shop/web (Routes) is lost to Ingress shop/theirs of 1
    StorageClass fast (Provisions) is lost to PersistentVolumeClaim other/data of 1
    ");
}

#[test]
fn backend_of_a_webhook_of_others_is_never_waived() {
    let fixture = "
        svc shop/check of=shop selector=app:check
        deploy shop/check of=shop selector=app:check template=app:check
        cm shop/free of=shop
        webhook theirs of=other service=shop/check
    ";
    let choices = ["waive=Service/shop/check", "waive=Deployment.apps/shop/check"];
    let plan = plan_with(fixture, "shop", &choices).unwrap();
    assert_eq!((plan.kept.len(), losses(&plan)), (2, String::new()));
}

#[test]
fn waiver_of_an_object_that_nobody_uses_changes_the_hash_alone() {
    let plain = plan_of(SHARED, "shop").unwrap();
    let chosen = plan_with(SHARED, "shop", &["waive=ConfigMap/shop/free"]).unwrap();
    assert_eq!((&plain.steps, &plain.kept), (&chosen.steps, &chosen.kept));
    assert!(chosen.waived.is_empty());
    assert_ne!(plain.hash, chosen.hash);
}

#[test]
fn users_are_bounded_counted_and_part_of_the_hash() {
    let with = |users: usize| {
        let users: String = (0..users)
            .map(|number| format!("pod shop/user-{number:02} uses=config:settings\n"))
            .collect();
        let fixture = format!("cm shop/settings of=shop\n cm shop/free of=shop\n {users}");
        plan_with(&fixture, "shop", &["waive=ConfigMap/shop/settings"]).unwrap()
    };
    let (many, more) = (with(30), with(31));
    assert_eq!((many.waived[0].users.len(), many.waived[0].count), (8, 30));
    assert_eq!(many.waived[0].users, more.waived[0].users);
    assert_ne!(many.hash, more.hash);
    // A user that left takes nothing from anybody; one that came has to be confirmed.
    assert_eq!(changes(&more, &many), [""; 0]);
    assert_eq!(changes(&many, &more), ["changed ConfigMap shop/settings"]);
}

#[test]
fn person_confirms_each_waived_object() {
    let plan = plan_with(OPERATOR, "ops", &[WEBHOOK, DEPLOYMENT]).unwrap();
    let all = plan.parts();
    insta::assert_snapshot!(serde_json::to_string(&all.waived).unwrap(), @r#"["ValidatingWebhookConfiguration.admissionregistration.k8s.io//check","Deployment.apps/ops/operator"]"#);
    let mut most = all.clone();
    let missing = most.waived.pop().unwrap();
    let missing = Parts { waived: vec![missing], ..Parts::default() };
    assert_eq!(plan.check_confirmed(&all), Ok(()));
    assert_eq!(plan.check_confirmed(&most), Err(missing));
}

#[test]
fn waiver_counts_for_nothing_that_is_protected_left_out_or_unclaimed() {
    let fixture = "
        ns shop of=shop
        cm shop/free of=shop
        cm shop/settings of=shop
        cm shop/notes
        deploy shop/dns of=shop critical=yes
        pod shop/theirs of=other uses=config:settings,config:notes
        ing shop/theirs of=other routes=dns
        svc shop/dns selector=app:dns
    ";
    let reason = |choices: &[&str], uid: &str| {
        let plan = plan_with(fixture, "shop", choices).unwrap();
        let kept = plan.kept.iter().find(|kept| kept.uid == fixture::uid(uid));
        kept.map(|kept| kept.reason.clone())
    };
    let protected = reason(&["waive=Deployment.apps/shop/dns"], "deploy:shop/dns");
    assert_eq!(protected, Some(KeptReason::Protected));
    let waive = "waive=ConfigMap/shop/settings";
    assert_eq!(reason(&[waive], "cm:shop/settings"), None);
    let left_out = reason(&[waive, "without=ConfigMap/shop/settings"], "cm:shop/settings");
    assert_eq!(left_out, Some(KeptReason::LeftOut));
    let (waive, include) = ("waive=ConfigMap/shop/notes", "include=ConfigMap/shop/notes");
    assert!(matches!(reason(&[include], "cm:shop/notes"), Some(KeptReason::UsedBy { .. })));
    assert_eq!(reason(&[waive], "cm:shop/notes"), Some(KeptReason::Unclaimed));
    assert_eq!(reason(&[waive, include], "cm:shop/notes"), None);
}
