//! Objects that a GitOps parent in the plan declares.

use super::{
    script::{endings, transcript},
    *,
};

const SHOP: &str = "
    ns shop of=shop
    Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
    crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io
    cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
    cm shop/free of=shop
";

/// A script in which `PARENT` is the Kustomization: the step, and the object in front of its fields.
fn with_parent(script: &str) -> String {
    script
        .replace(" PARENT:", " Kustomization.kustomize.toolkit.fluxcd.io:")
        .replace(" PARENT ", " Kustomization.kustomize.toolkit.fluxcd.io ")
}

/// The transcript with the Kustomization under a short name.
fn transcript_of(cluster: &str, script: &str) -> String {
    let transcript = transcript(cluster, &with_parent(script));
    let is_line = |line: &str| line.starts_with("> ");
    let lines = transcript.lines().map(|line| match is_line(line) {
        true => line.replace("Kustomization.kustomize.toolkit.fluxcd.io", "PARENT"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn parent_is_suspended_before_its_first_object_goes_and_goes_after_the_last() {
    let script = "suspended PARENT:shop/web
        applied PARENT shop/web of=shop state=suspended
        gone cm shop/free
        gone cm shop/a";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web
    > applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    > gone cm shop/free
    ConfigMap shop/free is gone
    > gone cm shop/a
    ConfigMap shop/a is gone
    DELETE Kustomization shop/web
    ");
}

#[test]
fn parent_that_is_suspended_already_is_not_patched() {
    let cluster = SHOP.replace("web of=shop\n", "web of=shop state=suspended\n");
    let script = "look at suspended";
    insta::assert_snapshot!(transcript_of(&cluster, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/free
    > look at suspended
    nothing is off
    ");
}

#[test]
fn reconciliation_that_was_under_way_ends_first_or_takes_too_long() {
    let script = "suspended PARENT:shop/web
        applied PARENT shop/web of=shop state=suspended,applying
        look at clock
        applied PARENT shop/web of=shop state=suspended";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web
    > applied PARENT shop/web of=shop state=suspended,applying
    > look at clock
    the run wakes in 10000 ms
    > applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    ");
    let script = "suspended PARENT:shop/web
        applied PARENT shop/web of=shop state=suspended,applying
        until call";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web
    > applied PARENT shop/web of=shop state=suspended,applying
    > until call
    120 s later
    DELETE ConfigMap shop/a
    ");
}

#[test]
fn parent_that_somebody_made_active_again_holds_its_objects_until_it_is_suspended() {
    // It is not suspended twice.
    let script = "suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended & applied PARENT shop/web of=shop state=active
        +9
        +1
        applied PARENT shop/web of=shop state=suspended
        look at cm:shop/a & look at PARENT:shop/web";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended & applied PARENT shop/web of=shop state=active
    > +9
    > +1
    ConfigMap shop/a is kept by Kustomization shop/web, which is active
    Kustomization shop/web is kept by Kustomization shop/web, which is active
    > applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    > look at cm:shop/a & look at PARENT:shop/web
    ConfigMap shop/a is requested
    Kustomization shop/web is waiting, after ConfigMap shop/a, suspended by this run
    ");
}

#[test]
fn objects_of_a_parent_that_a_person_skipped_wait_only_while_it_is_active() {
    let script = "pause first
        skip PARENT:shop/web
        resume
        applied PARENT shop/web of=shop state=suspended";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    > pause first
    > skip PARENT:shop/web
    Kustomization shop/web is skipped
    Namespace shop is skipped
    > resume
    ConfigMap shop/a is kept by Kustomization shop/web, which is active
    DELETE ConfigMap shop/free
    > applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    ");
}

#[test]
fn objects_of_an_active_parent_outside_the_plan_wait_until_a_person_suspends_it() {
    let outside =
        SHOP.replace("shop/web of=shop", "flux/web").replace("namespace:shop", "namespace:flux");
    let script = "applied PARENT flux/web state=suspended";
    insta::assert_snapshot!(transcript_of(&format!("ns flux\n{outside}"), script), @"
    ConfigMap shop/a is kept by Kustomization flux/web, which is active
    DELETE ConfigMap shop/free
    > applied PARENT flux/web state=suspended
    DELETE ConfigMap shop/a
    ");
}

#[test]
fn nothing_that_a_parent_declares_goes_if_it_was_seen_when_the_plan_was_made_and_is_hidden_now() {
    let script = "pause first
        restart anew without PARENT shop/web & hidden kustomizations.kustomize.toolkit.fluxcd.io
        resume
        look at cm:shop/a";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    > pause first
    > restart anew without PARENT shop/web & hidden kustomizations.kustomize.toolkit.fluxcd.io
    Kustomization shop/web cannot be told without kustomizations.kustomize.toolkit.fluxcd.io
    > resume
    ConfigMap shop/a cannot be told without kustomizations.kustomize.toolkit.fluxcd.io
    DELETE ConfigMap shop/free
    > look at cm:shop/a
    ConfigMap shop/a cannot be told without kustomizations.kustomize.toolkit.fluxcd.io
    ");
}

#[test]
fn refused_suspension_is_retried_and_nothing_goes_meanwhile() {
    let script = "+2
        refused PARENT:shop/web
        until call";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > +2
    > refused PARENT:shop/web
    Kustomization shop/web was refused: 403
    > until call
    20 s later
    PATCH Kustomization shop/web
    ");
}

#[test]
fn suspension_whose_answer_was_lost_is_seen_by_the_watch_or_sent_again() {
    let script = "gone cm shop/free & restart";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > gone cm shop/free & restart
    ConfigMap shop/free is gone
    PATCH Kustomization shop/web
    ");
    let script = "gone cm shop/free & restart & applied PARENT shop/web of=shop state=suspended
        look at suspended";
    insta::assert_snapshot!(transcript_of(SHOP, script), @r#"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > gone cm shop/free & restart & applied PARENT shop/web of=shop state=suspended
    ConfigMap shop/free is gone
    DELETE ConfigMap shop/a
    > look at suspended
    Kustomization shop/web is off, Unwind puts it back, or kubectl --context=prod --namespace=shop patch kustomizations.kustomize.toolkit.fluxcd.io/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Kustomization.kustomize.toolkit.fluxcd.io:shop/web"},{"op":"test","path":"/spec/suspend","value":true},{"op":"add","path":"/spec/suspend","value":false}]'
    "#);
}

#[test]
fn stopped_run_says_what_is_left_suspended() {
    let script =
        "suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended & stop
        look at suspended
        applied PARENT shop/web of=shop state=active
        look at suspended";
    insta::assert_snapshot!(transcript_of(SHOP, script), @r#"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended & stop
    > look at suspended
    Kustomization shop/web is off, Unwind puts it back, or kubectl --context=prod --namespace=shop patch kustomizations.kustomize.toolkit.fluxcd.io/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Kustomization.kustomize.toolkit.fluxcd.io:shop/web"},{"op":"test","path":"/spec/suspend","value":true},{"op":"add","path":"/spec/suspend","value":false}]'
    > applied PARENT shop/web of=shop state=active
    > look at suspended
    nothing is off
    "#);
}

#[test]
fn only_an_application_of_argo_cd_that_was_as_it_is_known_is_suspended() {
    let cluster = "
        ns shop of=shop
        Application.argoproj.io shop/web of=shop
        cm shop/a of=shop argocd=web";
    insta::assert_snapshot!(transcript(cluster, "each call"), @r#"
    > each call
    PATCH Application shop/web: [{"op":"test","path":"/metadata/uid","value":"Application.argoproj.io:shop/web"},{"op":"test","path":"/spec/syncPolicy/automated","value":false},{"op":"remove","path":"/spec/syncPolicy/automated"}]
    "#);
}

#[test]
fn application_of_argo_cd_stays_while_something_that_it_would_prune_is_there() {
    let cluster = "
        ns shop of=shop
        Application.argoproj.io shop/web of=shop state=suspended finalizers=resources-finalizer.argocd.argoproj.io
        cm shop/a of=shop argocd=web";
    let script = "pause first
        applied cm other/late argocd=web
        resume
        gone cm shop/a
        gone cm other/late";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied cm other/late argocd=web
    > resume
    DELETE ConfigMap shop/a
    > gone cm shop/a
    ConfigMap shop/a is gone
    Application shop/web would take ConfigMap other/late along
    > gone cm other/late
    DELETE Application shop/web
    ");
}

#[test]
fn parent_of_a_parent_is_suspended_first() {
    let child = "Kustomization.kustomize.toolkit.fluxcd.io shop/child of=shop \
                 labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop";
    let script = "suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended";
    insta::assert_snapshot!(transcript_of(&format!("{SHOP}\n{child}"), script), @"
    DELETE ConfigMap shop/free
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web & applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    PATCH Kustomization shop/child
    ");
}

const KEEPS: &str = "
    ns shop of=shop
    Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
    crd kustomizations.kustomize.toolkit.fluxcd.io defines=Kustomization.kustomize.toolkit.fluxcd.io
    cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
    cm shop/stays of=shop keep=yes labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
";

#[test]
fn parent_of_something_that_stays_is_suspended_and_stays_so() {
    // It is shown as suspended until it is put back.
    let script = "suspended PARENT:shop/web
        applied PARENT shop/web of=shop state=suspended
        look at PARENT:shop/web
        gone cm shop/a
        look at PARENT:shop/web";
    insta::assert_snapshot!(transcript_of(KEEPS, script), @"
    PATCH Kustomization shop/web
    > suspended PARENT:shop/web
    > applied PARENT shop/web of=shop state=suspended
    DELETE ConfigMap shop/a
    > look at PARENT:shop/web
    Kustomization shop/web is kept, suspended by this run
    > gone cm shop/a
    ConfigMap shop/a is gone
    the run has finished
    > look at PARENT:shop/web
    Kustomization shop/web is kept, suspended by this run
    ");
}

#[test]
fn parent_that_stays_and_becomes_active_again_holds_its_objects_and_says_so() {
    let suspended = KEEPS.replace("web of=shop\n", "web of=shop state=suspended\n");
    let cluster = format!(
        "{suspended}\n cm shop/held of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop\n \
         pod shop/user of=shop uses=config:held"
    );
    // Somebody else suspended it.
    let script = "look at PARENT:shop/web & look at suspended
        applied PARENT shop/web of=shop state=active";
    insta::assert_snapshot!(transcript_of(&cluster, script), @"
    DELETE ConfigMap shop/a
    DELETE Pod shop/user
    > look at PARENT:shop/web & look at suspended
    Kustomization shop/web is kept
    nothing is off
    > applied PARENT shop/web of=shop state=active
    ConfigMap shop/held is kept by Kustomization shop/web, which is active
    ");
}

#[test]
fn parent_that_stays_and_that_somebody_replaces_holds_no_run_up() {
    let script = "gone PARENT shop/web & applied PARENT shop/web uid=other state=suspended
        look at PARENT:shop/web";
    insta::assert_snapshot!(transcript_of(KEEPS, script), @"
    PATCH Kustomization shop/web
    > gone PARENT shop/web & applied PARENT shop/web uid=other state=suspended
    Kustomization shop/web is gone
    DELETE ConfigMap shop/a
    > look at PARENT:shop/web
    Kustomization shop/web is gone
    ");
}

/// An ApplicationSet makes its Application active again, so it goes before that is suspended, and orphans it.
#[test]
fn owner_of_a_parent_goes_before_the_parent_is_suspended() {
    let own = "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop owner=ResourceSet.fluxcd.controlplane.io/all";
    let set = "ResourceSet.fluxcd.controlplane.io shop/all of=shop";
    let before = "Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop";
    let cluster = format!("{}\n {set}", SHOP.replace(before, own));
    let script = "accepted ResourceSet.fluxcd.controlplane.io:shop/all
        gone ResourceSet.fluxcd.controlplane.io shop/all";
    insta::assert_snapshot!(transcript_of(&cluster, script), @"
    DELETE ConfigMap shop/free
    DELETE ResourceSet shop/all without its dependents
    > accepted ResourceSet.fluxcd.controlplane.io:shop/all
    > gone ResourceSet.fluxcd.controlplane.io shop/all
    ResourceSet shop/all is gone
    PATCH Kustomization shop/web
    ");
}

#[test]
fn suspension_that_had_no_effect_is_not_shown_as_ours() {
    let answers = [
        "refused PARENT:shop/web",
        "refused PARENT:shop/web, +60, refused PARENT:shop/web",
        "recalled PARENT:shop/web",
        "silent PARENT:shop/web",
        "silent PARENT:shop/web, +60, refused PARENT:shop/web",
    ];
    let script = |answers: &str| {
        with_parent(&format!("{} & look at PARENT:shop/web", answers.replace(", ", "\n")))
    };
    insta::assert_snapshot!(endings(SHOP, answers, script), @"
    refused PARENT:shop/web
        Kustomization shop/web was refused: 403, for 0 s, with the next try in 20 s: no, after ConfigMap shop/a
        Kustomization shop/web was refused: 403
    refused PARENT:shop/web, +60, refused PARENT:shop/web
        Kustomization shop/web was refused 2 times: 403, for 60 s, with the next try in 40 s: no, after ConfigMap shop/a
    recalled PARENT:shop/web
        Kustomization shop/web is waiting, after ConfigMap shop/a
        PATCH Kustomization shop/web
    silent PARENT:shop/web
        Kustomization shop/web is waiting, is tried again after try 1, after ConfigMap shop/a, suspended by this run
        Kustomization shop/web is tried again after try 1
    silent PARENT:shop/web, +60, refused PARENT:shop/web
        Kustomization shop/web was refused: 403, for 0 s, with the next try in 20 s: no, after ConfigMap shop/a, suspended by this run
        Kustomization shop/web was refused: 403
    ");
}

/// An App of kapp-controller with what it applied, and the PackageInstall that made it.
const PACKAGE: &str = "
    PackageInstall.packaging.carvel.dev shop/web of=shop
    App.kappctrl.k14s.io shop/web of=shop mark=1701 owner=PackageInstall.packaging.carvel.dev/web
    cm shop/a of=shop labels=kapp.k14s.io/app:1701
    cm shop/namesake of=shop labels=kapp.k14s.io/app:1702
";

#[test]
fn package_install_is_suspended_first_and_goes_last_before_its_app() {
    // Kapp alone applied the namesake. The App follows its owner, and the controller has to pause it first.
    let script = "suspended PackageInstall.packaging.carvel.dev:shop/web
        applied PackageInstall.packaging.carvel.dev shop/web of=shop state=suspended
        applied App.kappctrl.k14s.io shop/web of=shop mark=1701 owner=PackageInstall.packaging.carvel.dev/web state=suspended
        gone cm shop/namesake
        gone cm shop/a";
    insta::assert_snapshot!(transcript(PACKAGE, script), @"
    DELETE ConfigMap shop/namesake
    PATCH PackageInstall shop/web
    > suspended PackageInstall.packaging.carvel.dev:shop/web
    > applied PackageInstall.packaging.carvel.dev shop/web of=shop state=suspended
    > applied App.kappctrl.k14s.io shop/web of=shop mark=1701 owner=PackageInstall.packaging.carvel.dev/web state=suspended
    DELETE ConfigMap shop/a
    > gone cm shop/namesake
    ConfigMap shop/namesake is gone
    > gone cm shop/a
    ConfigMap shop/a is gone
    DELETE PackageInstall shop/web
    ");
}

#[test]
fn app_is_paused_so_that_its_deletion_deletes_nothing_else_and_can_be_put_back() {
    let alone = "App.kappctrl.k14s.io shop/web of=shop mark=1701
                 cm shop/a of=shop labels=kapp.k14s.io/app:1701";
    insta::assert_snapshot!(transcript(alone, "each call"), @r#"
    > each call
    PATCH App shop/web: [{"op":"test","path":"/metadata/uid","value":"App.kappctrl.k14s.io:shop/web"},{"op":"add","path":"/spec/paused","value":true},{"op":"add","path":"/spec/noopDelete","value":true}]
    "#);
    let object = fixture::object("App.kappctrl.k14s.io shop/web");
    let was = r#"{"paused":true,"noopDelete":false}"#;
    insta::assert_snapshot!(crate::suspension::resume(&object.kind, &object.uid, was), @r#"[{"op":"test","path":"/metadata/uid","value":"App.kappctrl.k14s.io:shop/web"},{"op":"test","path":"/spec/paused","value":true},{"op":"test","path":"/spec/noopDelete","value":true},{"op":"add","path":"/spec/paused","value":true},{"op":"add","path":"/spec/noopDelete","value":false}]"#);
}

/// It applies nothing more.
#[test]
fn objects_of_a_parent_that_is_being_deleted_do_not_wait_for_it() {
    let script = "pause first
        applied PARENT shop/web of=shop state=active deleted=0 finalizers=finalizers.fluxcd.io
        resume";
    insta::assert_snapshot!(transcript_of(SHOP, script), @"
    > pause first
    > applied PARENT shop/web of=shop state=active deleted=0 finalizers=finalizers.fluxcd.io
    Kustomization shop/web is terminating
    > resume
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/free
    ");
}

#[test]
fn application_without_the_finalizer_of_argo_cd_prunes_nothing() {
    let cluster =
        "Application.argoproj.io shop/web of=shop state=suspended finalizers=example.com/hold
        cm shop/b of=shop";
    let script = "pause first
        applied cm other/late argocd=web
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied cm other/late argocd=web
    > resume
    DELETE Application shop/web
    DELETE ConfigMap shop/b
    ");
}

/// The namespace goes after the Application, so that the two would wait for each other.
#[test]
fn application_does_not_wait_for_its_own_namespace_which_it_declares() {
    let cluster = "
        ns shop of=shop argocd=web
        Application.argoproj.io shop/web of=shop state=suspended finalizers=resources-finalizer.argocd.argoproj.io";
    insta::assert_snapshot!(transcript(cluster, ""), @"DELETE Application shop/web");
    let other = format!("{cluster}\n cm shop/b of=shop");
    insta::assert_snapshot!(transcript(&other, ""), @"
    DELETE Application shop/web
    DELETE ConfigMap shop/b
    ");
}

/// The plan names Widgets alone as hidden.
#[test]
fn parents_of_a_kind_that_the_plan_does_not_name_as_hidden_have_to_be_seen() {
    let mut index = fixture::index(SHOP);
    let hide = |index: &mut Index, resource: &str| {
        let (resource, cause) = (resource.to_owned(), HiddenCause::Forbidden);
        let hidden = Observation::Hidden { resource, cause, message: "no".into() };
        index.apply([hidden], fixture::now());
    };
    hide(&mut index, "widgets.example.com");
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let plan = plan(&index, &graph, unit, &Choices::default(), fixture::now()).unwrap();
    assert_eq!(plan.hidden, ["widgets.example.com"]);
    let parent = fixture::object("Kustomization.kustomize.toolkit.fluxcd.io shop/web");
    index.apply([Observation::Deleted { kind: parent.kind, uid: parent.uid }], fixture::now());
    hide(&mut index, "kustomizations.kustomize.toolkit.fluxcd.io");
    let run = Run::new(RunId::new("r"), Arc::new(plan));
    let now = fixture::now();
    let mut scenario = Scenario { journal: vec![], calls: vec![], run, index, now };
    scenario.reconcile();
    assert!(matches!(
        scenario.progress("cm:shop/a").hold.problem,
        Some(StepProblem::Unknown { reason: UnknownReason::Hidden { .. } })
    ));
}
