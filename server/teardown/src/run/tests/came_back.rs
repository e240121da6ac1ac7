//! Objects that something creates again under a planned name.

use super::{script::transcript, *};

const SHOP: &str = "
    ns shop of=shop
    cm shop/leader of=shop
    svc shop/web of=shop
";
const WITHOUT_NAMESPACE: &str = "gone cm shop/leader
    gone svc shop/web";

/// The objects are gone, except for the namespace; then this came back.
fn with(line: &str) -> String {
    transcript(SHOP, &format!("pause\n{WITHOUT_NAMESPACE}\napplied {line} uid=again\nresume"))
}

#[test]
fn config_map_that_came_back_goes_with_its_namespace() {
    let script = format!(
        "pause
        {WITHOUT_NAMESPACE}
        applied cm shop/leader uid=again
        resume
        accepted ns:shop
        gone cm shop/leader uid=again
        gone ns shop"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone svc shop/web
    Service shop/web is gone
    > applied cm shop/leader uid=again
    ConfigMap shop/leader came back as again
    > resume
    DELETE Namespace shop
    > accepted ns:shop
    > gone cm shop/leader uid=again
    ConfigMap shop/leader is gone, as another has its name
    > gone ns shop
    Namespace shop is gone
    the run has finished
    ");
}

/// The sentence about a Service that came back.
fn said_of(fields: &str) -> String {
    let transcript = with(&format!("svc shop/web {fields}"));
    let said = transcript.lines().find(|line| line.contains("came back"));
    said.unwrap_or_default().to_owned()
}

#[test]
fn creator_is_named_by_the_owner_or_the_field_manager() {
    insta::assert_snapshot!(
        said_of("owner=deploy/web creator=kube-controller-manager"),
        @"Service shop/web came back as again, made by Deployment shop/web"
    );
    insta::assert_snapshot!(
        said_of("creator=helm"),
        @"Service shop/web came back as again, made by helm"
    );
    insta::assert_snapshot!(said_of(""), @"Service shop/web came back as again");
}

#[test]
fn what_is_somebodys_holds_the_namespace() {
    insta::assert_snapshot!(with("svc shop/web"), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone svc shop/web
    Service shop/web is gone
    > applied svc shop/web uid=again
    Service shop/web came back as again
    > resume
    ");
    insta::assert_snapshot!(with("cm shop/leader finalizers=example.com/hold"), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone svc shop/web
    Service shop/web is gone
    > applied cm shop/leader finalizers=example.com/hold uid=again
    ConfigMap shop/leader came back as again
    > resume
    ");
    insta::assert_snapshot!(with("cm shop/other"), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone svc shop/web
    Service shop/web is gone
    > applied cm shop/other uid=again
    > resume
    Namespace shop has ConfigMap shop/other in it
    ");
}

#[test]
fn config_map_that_something_else_waits_for_holds_it() {
    let cluster = "ns shop of=shop
        sa shop/web of=shop
        role shop/web of=shop
        rb shop/web of=shop role=role/web accounts=web";
    let script = "pause
        gone rb shop/web
        applied rb shop/web role=role/web accounts=web uid=again
        gone sa shop/web
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE RoleBinding shop/web
    DELETE ServiceAccount shop/web
    > pause
    > gone rb shop/web
    RoleBinding shop/web is gone
    > applied rb shop/web role=role/web accounts=web uid=again
    RoleBinding shop/web came back as again
    > gone sa shop/web
    ServiceAccount shop/web is gone
    > resume
    ");
}

/// The webhook decided over the ConfigMap, and waits for its name.
#[test]
fn config_map_that_came_back_holds_what_waits_for_it_besides_the_namespace() {
    let cluster = "
        ns shop of=shop
        cm shop/leader of=shop
        webhook gate of=shop guards=configmaps service=guard/gate
        svc guard/gate selector=app:gate
        ns guard";
    let script = "gone cm shop/leader & applied cm shop/leader uid=again age=0
        look at unplanned";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/leader
    > gone cm shop/leader & applied cm shop/leader uid=again age=0
    ConfigMap shop/leader came back as again
    > look at unplanned
      ConfigMap shop/leader holds ConfigMap shop/leader
      delete ConfigMap shop/leader
    ");
    // Once the webhook is gone, the namespace alone waits.
    let script = "pause
        gone cm shop/leader
        gone webhook gate & applied cm shop/leader uid=again age=0
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/leader
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone webhook gate & applied cm shop/leader uid=again age=0
    ConfigMap shop/leader came back as again
    ValidatingWebhookConfiguration gate is gone
    > resume
    DELETE Namespace shop
    ");
}

/// A Secret that nobody planned is not the leader's ConfigMap.
#[test]
fn object_that_came_back_lets_no_other_object_go_with_the_namespace() {
    let script = format!(
        "pause
        {WITHOUT_NAMESPACE}
        applied cm shop/leader uid=again & applied secret shop/theirs
        resume"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    DELETE ConfigMap shop/leader
    DELETE Service shop/web
    > pause
    > gone cm shop/leader
    ConfigMap shop/leader is gone
    > gone svc shop/web
    Service shop/web is gone
    > applied cm shop/leader uid=again & applied secret shop/theirs
    ConfigMap shop/leader came back as again
    > resume
    Namespace shop has Secret shop/theirs in it
    ");
}

/// An answer that names the planned UID contradicts itself.
#[test]
fn answer_says_who_has_the_name_unless_it_names_the_planned_object() {
    let held = |uid: &str| {
        let mut scenario = Scenario::of("cm shop/a of=shop");
        scenario.reconcile();
        scenario.answer("cm:shop/a", Outcome::OtherUid { uid: Some(fixture::uid(uid)) });
        let progress = scenario.progress("cm:shop/a");
        (progress.phase, progress.hold.problem.clone())
    };
    let (phase, problem) = held("again");
    assert_eq!(phase, DeletionPhase::Gone);
    assert_eq!(problem, Some(StepProblem::CameBack { uid: fixture::uid("again"), by: None }));
    let (phase, problem) = held("cm:shop/a");
    assert_eq!(phase, DeletionPhase::Present);
    assert!(matches!(
        problem,
        Some(StepProblem::Unknown { reason: UnknownReason::Inconclusive { .. } })
    ));
}
