//! Tests of the read just before the DELETE of what holds data or much else.

use super::*;

const SHOP: &str = "
    ns shop of=shop
    deploy shop/web of=shop template=app:web selector=app:web uses=claim:data
    pvc shop/data of=shop
    Widget.example.com shop/main of=shop
    cm shop/settings of=shop
";
const WIDGET: &str = "Widget.example.com:shop/main";

/// The calls of the next decision, without answers.
fn calls(scenario: &mut Scenario, input: &Input) -> Vec<String> {
    let decision = scenario.apply_input(input);
    let calls = decision.actions.iter().map(|action| match action {
        Action::Delete { target, .. } => {
            let version = target.version.as_deref().unwrap_or("any version");
            format!("DELETE {} at {version}", target.object)
        }
        Action::Suspend { target, .. } => format!("PATCH {}", target.object),
        Action::Read { target, .. } | Action::ReadClaim { target } => {
            format!("GET {}", target.object)
        }
        Action::ReadPods { target, .. } => {
            format!("LIST pods in {}", target.object.namespace.as_deref().unwrap())
        }
        Action::ReadContent { target, .. } => {
            format!("LIST everything in {}", target.object.name)
        }
    });
    let mut calls: Vec<String> = calls.collect();
    calls.sort();
    calls
}

/// Answers the read of a step's object.
fn answered(scenario: &mut Scenario, uid: &str, outcome: Outcome) -> Vec<String> {
    let step = scenario.run.plan.step(scenario.id(uid)).unwrap();
    let action = Action::Read { step: step.id, target: ActionTarget::of(step) };
    calls(scenario, &Input::CallCompleted { action, outcome })
}

fn read(named: Option<&str>) -> Outcome {
    Outcome::Present { terminating: false, version: "17".into(), named: named.map(UnitId::new) }
}

/// The reason why a step's object is not deleted.
fn reason(scenario: &Scenario, uid: &str) -> UnknownReason {
    match &scenario.progress(uid).hold.problem {
        Some(StepProblem::Unknown { reason }) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn custom_resource_is_read_and_deleted_at_the_version_that_was_read() {
    let mut scenario = Scenario::of(SHOP);
    assert_eq!(
        calls(&mut scenario, &Input::Reconcile),
        [
            "DELETE ConfigMap shop/settings at any version",
            "DELETE Deployment shop/web at any version",
            "GET Widget shop/main"
        ]
    );
    let then = answered(&mut scenario, WIDGET, read(Some("shop")));
    assert_eq!(then, ["DELETE Widget shop/main at 17"]);
}

#[test]
fn claim_is_read_before_its_pods_are_listed() {
    let mut scenario = Scenario::of(SHOP);
    scenario.reconcile();
    accepted(&mut scenario, "deploy:shop/web");
    scenario.gone("deploy shop/web");
    assert_eq!(calls(&mut scenario, &Input::Reconcile), Vec::<String>::new());
    assert_eq!(calls(&mut scenario, &Input::Reconcile), ["GET PersistentVolumeClaim shop/data"]);
    let then = answered(&mut scenario, "pvc:shop/data", read(Some("shop")));
    assert_eq!(then, ["LIST pods in shop"]);
    let step = scenario.run.plan.step(scenario.id("pvc:shop/data")).unwrap();
    let target = ActionTarget::of(step).at("17".into());
    let action = Action::ReadPods { step: step.id, target };
    let input = Input::CallCompleted { action, outcome: Outcome::Pods(vec![]) };
    assert_eq!(calls(&mut scenario, &input), ["DELETE PersistentVolumeClaim shop/data at 17"]);
}

#[test]
fn object_that_was_given_to_another_unit_is_not_deleted() {
    for (named, to) in [(Some("other"), Some("other".to_owned())), (None, None)] {
        let mut scenario = Scenario::of(SHOP);
        _ = calls(&mut scenario, &Input::Reconcile);
        assert_eq!(answered(&mut scenario, WIDGET, read(named)), Vec::<String>::new());
        assert_eq!(reason(&scenario, WIDGET), UnknownReason::GivenAway { to });
        scenario.pass(1);
        assert_eq!(calls(&mut scenario, &Input::Reconcile), Vec::<String>::new(), "not at once");
        scenario.pass(30);
        assert_eq!(calls(&mut scenario, &Input::Reconcile), ["GET Widget shop/main"]);
        let then = answered(&mut scenario, WIDGET, read(Some("shop")));
        assert_eq!(then, ["DELETE Widget shop/main at 17"], "it was given back");
    }
}

#[test]
fn object_that_an_older_object_has_begun_to_use_is_not_deleted() {
    for (before, after, is_used) in [
        ("deploy shop/theirs of=other", "uses=secret:main", true),
        ("deploy lab/theirs of=other", "uses=secret:main", false),
        ("deploy shop/theirs of=other", "uses=secret:other", false),
        ("Gadget.example.com lab/theirs of=other", "refs=Widget.example.com/shop/main", true),
        ("Gadget.example.com lab/theirs of=other", "refs=Widget.example.com/lab/main", false),
        ("Gadget.example.com lab/theirs of=other", "refs=Widget.example.com/main", false),
        ("Gadget.example.com lab/theirs of=other", "refs=cm/shop/main", false),
    ] {
        let secret = "secret shop/main owner=Widget.example.com/main";
        let mut scenario = Scenario::of(&format!("{SHOP}\n {secret}\n {before}"));
        scenario.applied(&format!("{before} {after}"));
        _ = calls(&mut scenario, &Input::Reconcile);
        let then = answered(&mut scenario, WIDGET, read(Some("shop")));
        assert_eq!(then.is_empty(), is_used, "{before} {after}: {then:?}");
        if is_used {
            let (kind, name) = before.split_once(' ').unwrap();
            let kind = if kind == "deploy" { "Deployment" } else { "Gadget" };
            let name = name.strip_suffix(" of=other").unwrap();
            assert_eq!(user_of(&scenario, WIDGET), format!("{kind} {name}"));
        }
    }
}

#[test]
fn read_before_a_delete_is_no_more_than_a_read_while_the_run_is_paused() {
    let mut scenario = Scenario::of(SHOP);
    _ = calls(&mut scenario, &Input::Reconcile);
    scenario.steer(&command(RunCommand::Pause));
    assert_eq!(answered(&mut scenario, WIDGET, read(Some("shop"))), Vec::<String>::new());
    scenario.steer(&command(RunCommand::Resume));
    assert_eq!(calls(&mut scenario, &Input::Reconcile), ["GET Widget shop/main"]);
}

/// An object that is used for a weekend is read again ever more rarely, because each read is kept in the journal; and soon after
/// its user is gone.
#[test]
fn object_that_is_in_use_all_weekend_does_not_fill_the_journal() {
    const THEIRS: &str = "Gadget.example.com lab/theirs of=other refs=Widget.example.com/shop/main";
    let mut scenario = Scenario::of(&format!("{SHOP}\n Gadget.example.com lab/theirs of=other"));
    scenario.applied(THEIRS);
    let start = scenario.now;
    let mut bytes = 0;
    let mut read_all = |scenario: &mut Scenario| {
        let mut reads = 0;
        let mut open = vec![Input::Reconcile];
        while let Some(input) = open.pop() {
            let decision = scenario.apply_input(&input);
            bytes += decision
                .events
                .iter()
                .map(|it| serde_json::to_vec(it).unwrap().len() + 40)
                .sum::<usize>();
            for action in decision.actions {
                let Action::Read { step, .. } = action else { continue };
                reads += 1;
                open.push(Input::CallCompleted { action, outcome: scenario.unchanged(step) });
            }
        }
        reads
    };
    let mut reads = 0;
    while scenario.now.duration_since(start) < jiff::SignedDuration::from_hours(60) {
        reads += read_all(&mut scenario);
        scenario.pass(10);
    }
    assert!((300..400).contains(&reads), "{reads}");
    scenario.gone(THEIRS);
    scenario.pass(1);
    assert_eq!(read_all(&mut scenario), 1);
    assert!(bytes < 200_000, "{bytes}");
}
