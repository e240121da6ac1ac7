//! An operator outlives the objects whose finalizers it clears.

use super::*;

/// The shape of incident S4: an operator, its definition and its objects in one unit, without visible rights.
const QUEUE: &str = "
    crd topics.queue.example of=s4 defines=Topic.queue.example
    ns s4 of=s4
    cm s4/broker of=s4
    Topic.queue.example s4/orders of=s4 finalizers=queue.example/topic
    deploy s4/broker of=s4 selector=app:broker template=app:broker uses=config:broker
    deploy s4/queue-operator of=s4 selector=app:operator template=app:operator
    rs s4/queue-operator-1 owner=deploy/queue-operator selector=app:operator template=app:operator
    pod s4/queue-operator-1-a owner=rs/queue-operator-1 labels=app:operator
";

const RIGHTS: &str = "
    sa s4/operator of=s4
    clusterrole topics of=s4 updates=topics.queue.example
    crb topics of=s4 accounts=s4/operator role=clusterrole/topics
";

fn with_rights() -> String {
    QUEUE.replace(
        "deploy s4/queue-operator of=s4",
        "deploy s4/queue-operator of=s4 uses=account:operator",
    ) + RIGHTS
}

#[test]
fn operator_goes_after_the_objects_that_it_finishes() {
    insta::assert_snapshot!(text(&plan_of(&with_rights(), "s4").unwrap()), @r"
    1 deploy:s4/broker
    1 Topic.queue.example:s4/orders
    2 cm:s4/broker < deploy:s4/broker+pods
    2 crd:topics.queue.example < Topic.queue.example:s4/orders
    2 deploy:s4/queue-operator < Topic.queue.example:s4/orders
    3 sa:s4/operator < deploy:s4/queue-operator+pods
    3 rs:s4/queue-operator-1 < deploy:s4/queue-operator
    3 crb:topics < deploy:s4/queue-operator+pods
    4 pod:s4/queue-operator-1-a < rs:s4/queue-operator-1
    4 clusterrole:topics < crb:topics
    5 ns:s4 < Topic.queue.example:s4/orders cm:s4/broker deploy:s4/broker deploy:s4/queue-operator pod:s4/queue-operator-1-a rs:s4/queue-operator-1 sa:s4/operator
    ");
}

#[test]
fn workloads_of_the_unit_wait_where_the_finisher_is_unknown() {
    insta::assert_snapshot!(text(&plan_of(QUEUE, "s4").unwrap()), @r"
    1 Topic.queue.example:s4/orders
    2 crd:topics.queue.example < Topic.queue.example:s4/orders
    2 deploy:s4/broker < Topic.queue.example:s4/orders
    2 deploy:s4/queue-operator < Topic.queue.example:s4/orders
    3 cm:s4/broker < deploy:s4/broker+pods
    3 rs:s4/queue-operator-1 < deploy:s4/queue-operator
    4 pod:s4/queue-operator-1-a < rs:s4/queue-operator-1
    5 ns:s4 < Topic.queue.example:s4/orders cm:s4/broker deploy:s4/broker deploy:s4/queue-operator pod:s4/queue-operator-1-a rs:s4/queue-operator-1
    ");
}

#[test]
fn operator_that_finishes_an_outsiders_object_is_kept() {
    let fixture =
        with_rights() + "Topic.queue.example other/mine of=other finalizers=queue.example/topic";
    let plan = plan_of(&fixture, "s4").unwrap();
    let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
    assert!(kept.contains(&&fixture::uid("deploy:s4/queue-operator")), "{kept:?}");
    assert!(kept.contains(&&fixture::uid("clusterrole:topics")), "{kept:?}");
}

#[test]
fn roles_of_an_aggregated_role_go_after_the_pods_of_the_operator() {
    let fixture = with_rights().replace(
        "clusterrole topics of=s4 updates=topics.queue.example",
        "clusterrole topics of=s4 updates=topics.queue.example aggregates=queue/part:true
         clusterrole topics-source of=s4 labels=queue/part:true updates=topics.queue.example",
    );
    let text = text(&plan_of(&fixture, "s4").unwrap());
    let line = text.lines().find(|it| it.contains("clusterrole:topics-source"));
    assert_eq!(
        line.map(str::trim),
        Some("5 clusterrole:topics-source < Topic.queue.example:s4/orders clusterrole:topics"),
        "{text}"
    );
}

/// A unit with the definition, an object and a role of an operator, which has the rules of the role through its aggregated one.
const ADDON: &str = "
    crd topics.queue.example of=addon defines=Topic.queue.example
    Topic.queue.example shop/orders of=addon finalizers=queue.example/topic
    clusterrole topics of=addon labels=queue/part:true updates=topics.queue.example
    sa queue/operator of=queue
    deploy queue/operator of=queue uses=account:operator
    clusterrole queue of=queue aggregates=queue/part:true updates=topics.queue.example
    crb queue of=queue accounts=queue/operator role=clusterrole/queue
";

#[test]
fn role_outlives_the_objects_that_an_operator_of_others_finishes_by_its_rules() {
    let step = |fixture: &str| {
        let text = text(&plan_of(fixture, "addon").unwrap());
        text.lines().map(str::trim).find(|it| it.contains(" clusterrole:topics")).map(str::to_owned)
    };
    assert_eq!(
        step(ADDON).as_deref(),
        Some("2 clusterrole:topics < Topic.queue.example:shop/orders")
    );
    let free = Some("1 clusterrole:topics".to_owned());
    // The role is not collected, or has the rules of other objects.
    for (what, instead) in [
        ("labels=queue/part:true", "labels=queue/part:false"),
        (
            "part:true updates=topics.queue.example\n    sa",
            "part:true updates=topics.example.com\n    sa",
        ),
    ] {
        let other = ADDON.replace(what, instead);
        assert_ne!(other, ADDON);
        assert_eq!(step(&other), free, "{instead}");
    }
}

#[test]
fn role_is_kept_for_an_outsiders_object_that_is_finished_by_its_rules() {
    let outsiders = "Topic.queue.example other/mine of=other finalizers=queue.example/topic";
    let kept = |object: &str| {
        let plan = plan_of(&format!("{ADDON}{object}"), "addon").unwrap();
        let kept = plan.kept.iter().find(|it| it.uid == fixture::uid("clusterrole:topics"));
        kept.map(|it| it.reason.clone())
    };
    assert!(
        matches!(kept(outsiders), Some(KeptReason::UsedBy { user, .. }) if *user.name == *"mine")
    );
    assert_eq!(kept(&outsiders.replace(" finalizers=queue.example/topic", "")), None);
}

#[test]
fn aggregated_role_of_others_keeps_no_role_of_the_unit() {
    let fixture = with_rights().replace(
        "clusterrole topics of=s4",
        "clusterrole platform-edit of=platform aggregates=to-edit:true
         clusterrole topics of=s4 labels=to-edit:true",
    );
    let plan = plan_of(&fixture, "s4").unwrap();
    assert!(plan.kept.is_empty(), "{:?}", plan.kept);
    assert!(plan.steps.iter().any(|step| step.uid == fixture::uid("clusterrole:topics")));
}

#[test]
fn aggregated_role_of_a_kept_operator_keeps_the_roles_whose_rules_it_has() {
    let fixture = with_rights().replace(
        "clusterrole topics of=s4",
        "clusterrole topics-source of=s4 labels=queue/part:true updates=brokers.queue.example
         clusterrole topics of=s4 aggregates=queue/part:true",
    ) + "Topic.queue.example other/mine of=other finalizers=queue.example/topic";
    let plan = plan_of(&fixture, "s4").unwrap();
    let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
    assert!(kept.contains(&&fixture::uid("clusterrole:topics-source")), "{kept:?}");
}

#[test]
fn operator_with_rights_to_everything_and_its_webhook_are_kept_for_an_outsiders_object() {
    let fixture = with_rights().replace("updates=topics.queue.example", "updates=*.*")
        + "deploy s4/webhook of=s4 uses=account:operator
           Topic.queue.example other/mine of=other finalizers=queue.example/topic";
    let plan = plan_of(&fixture, "s4").unwrap();
    let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
    for uid in ["deploy:s4/queue-operator", "deploy:s4/webhook", "clusterrole:topics"] {
        assert!(kept.contains(&&fixture::uid(uid)), "{uid}: {kept:?}");
    }
}

#[test]
fn possible_finisher_is_not_kept_for_an_outsiders_object() {
    let fixture =
        format!("{QUEUE} Topic.queue.example other/mine of=other finalizers=queue.example/topic");
    let plan = plan_of(&fixture, "s4").unwrap();
    let operator = fixture::uid("deploy:s4/queue-operator");
    assert!(plan.steps.iter().any(|step| step.uid == operator));
}

#[test]
fn autoscaler_that_names_its_deployment_as_owner_still_goes_first() {
    let plan = plan_of(
        "deploy shop/web of=shop
         hpa shop/web of=shop owner=deploy/web target=deploy/web",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 hpa:shop/web
    2 deploy:shop/web < hpa:shop/web
    ");
    assert_eq!(given_up(&plan), ["Deployment shop/web Owns HorizontalPodAutoscaler shop/web"]);
}

#[test]
fn ingress_that_names_its_service_as_owner_still_goes_first() {
    let plan = plan_of(
        "svc shop/web of=shop
         ing shop/web of=shop owner=svc/web routes=web",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 ing:shop/web
    2 svc:shop/web < ing:shop/web
    ");
    assert_eq!(given_up(&plan), ["Service shop/web Owns Ingress shop/web"]);
}

/// The namespace goes after its Service, and the Service after the configuration.
#[test]
fn webhook_that_names_its_namespace_as_owner_still_goes_before_its_service() {
    let plan = plan_of(
        "ns shop of=shop
         webhook check of=shop owner=ns/shop service=shop/check
         svc shop/check of=shop selector=app:check
         deploy shop/check of=shop selector=app:check template=app:check",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 webhook:check
    2 deploy:shop/check < webhook:check
    3 svc:shop/check < deploy:shop/check+pods webhook:check
    4 ns:shop < deploy:shop/check svc:shop/check
    ");
    assert_eq!(given_up(&plan), ["Namespace shop Owns ValidatingWebhookConfiguration check"]);
}

#[test]
fn application_goes_before_the_database_whose_secret_it_mounts() {
    let plan = plan_of(
        "Database.db.example shop/main of=shop finalizers=db.example/main
         secret shop/main-password owner=Database.db.example/main
         deploy shop/web of=shop uses=secret:main-password
         deploy shop/db-operator of=shop uses=account:operator
         clusterrole databases of=shop updates=databases.db.example
         crb databases of=shop accounts=shop/operator role=clusterrole/databases",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 deploy:shop/web
    2 Database.db.example:shop/main < deploy:shop/web+pods
    3 secret:shop/main-password < Database.db.example:shop/main deploy:shop/web+pods
    3 deploy:shop/db-operator < Database.db.example:shop/main
    4 crb:databases < deploy:shop/db-operator+pods
    5 clusterrole:databases < crb:databases
    ");
}

#[test]
fn definition_goes_before_the_pods_that_convert_its_objects() {
    let plan = plan_of(
        "crd widgets.example.com of=shop defines=Widget.example.com service=shop/converter
         Widget.example.com shop/one of=shop
         svc shop/converter of=shop selector=app:converter
         deploy shop/converter of=shop selector=app:converter template=app:converter
         pod shop/converter-a owner=deploy/converter labels=app:converter",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 Widget.example.com:shop/one
    2 crd:widgets.example.com < Widget.example.com:shop/one
    3 deploy:shop/converter < crd:widgets.example.com
    4 pod:shop/converter-a < crd:widgets.example.com deploy:shop/converter
    5 svc:shop/converter < crd:widgets.example.com deploy:shop/converter+pods pod:shop/converter-a
    ");
}

const GUARDED: &str = "
    ns shop of=shop
    cm shop/settings of=shop
    webhook check of=shop service=shop/check guards=configmaps
    svc shop/check of=shop selector=app:check
    deploy shop/check of=shop selector=app:check template=app:check uses=config:own
    pod shop/check-a owner=deploy/check labels=app:check uses=config:own
    cm shop/own of=shop
";

#[test]
fn guarded_objects_go_before_the_webhook_and_its_needs_after() {
    let plan = plan_of(GUARDED, "shop").unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 cm:shop/settings
    2 webhook:check < cm:shop/settings
    3 deploy:shop/check < webhook:check
    4 pod:shop/check-a < deploy:shop/check webhook:check
    5 cm:shop/own < deploy:shop/check+pods pod:shop/check-a
    5 svc:shop/check < deploy:shop/check+pods pod:shop/check-a webhook:check
    6 ns:shop < cm:shop/own cm:shop/settings deploy:shop/check pod:shop/check-a svc:shop/check
    ");
    assert_eq!(given_up(&plan), [""; 0], "what it needs itself is not guarded");
}

/// A parent goes after all that it declares, but that is the first order to be given up.
#[test]
fn parent_that_declares_the_webhook_which_guards_it_goes_before_it() {
    let plan = plan_of(
        "webhook check of=shop service=shop/check guards=kustomizations.kustomize.toolkit.fluxcd.io \
         labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
         svc shop/check of=shop
         Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop",
        "shop",
    )
    .unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    1 Kustomization.kustomize.toolkit.fluxcd.io:shop/web
    2 webhook:check < Kustomization.kustomize.toolkit.fluxcd.io:shop/web
    3 svc:shop/check < webhook:check
    ");
}

#[test]
fn webhook_that_is_asked_about_updates_guards_only_objects_with_finalizers() {
    let asked = GUARDED.replace("guards=configmaps", "guards=configmaps asked=UPDATE");
    let is_guarded = |fixture: &str| {
        let plan = plan_of(fixture, "shop").unwrap();
        plan.steps.iter().any(|step| step.after.iter().any(|first| first.has(EdgeKind::Guards)))
    };
    assert!(!is_guarded(&asked));
    assert!(is_guarded(
        &asked.replace("cm shop/settings", "cm shop/settings finalizers=a.example/b")
    ));
    assert!(!is_guarded(&GUARDED.replace("guards=configmaps", "guards=secrets")));
    assert!(!is_guarded(&GUARDED.replace("guards=configmaps", "guards=configmaps in=team:other")));
}

#[test]
fn webhook_that_guards_an_outsiders_object_is_kept_with_its_pods() {
    let fixture = GUARDED.to_owned() + "cm other/theirs of=other";
    let plan = plan_of(&fixture, "shop").unwrap();
    let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
    for uid in
        ["webhook:check", "svc:shop/check", "deploy:shop/check", "pod:shop/check-a", "cm:shop/own"]
    {
        assert!(kept.contains(&&fixture::uid(uid)), "{uid}: {kept:?}");
    }
    assert!(!kept.contains(&&fixture::uid("cm:shop/settings")));
}

#[test]
fn webhook_that_guards_a_kept_object_is_kept() {
    let fixture = GUARDED.to_owned()
        + "secret shop/free of=shop\n pod shop/guest of=other uses=config:settings";
    let plan = plan_of(&fixture, "shop").unwrap();
    let kept: Vec<&Uid> = plan.kept.iter().map(|kept| &kept.uid).collect();
    for uid in ["cm:shop/settings", "webhook:check", "deploy:shop/check"] {
        assert!(kept.contains(&&fixture::uid(uid)), "{uid}: {kept:?}");
    }
}
