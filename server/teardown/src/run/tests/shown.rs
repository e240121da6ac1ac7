//! The facts and states of a run and its steps that pages show.

use super::{
    script::{endings, played, transcript},
    *,
};
use crate::remedy::AttemptOutcome;

const PARENT: &str = "Kustomization.kustomize.toolkit.fluxcd.io shop/web";
const DECLARED: &str = "
    ns shop of=shop
    Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop
    cm shop/a of=shop labels=kustomize.toolkit.fluxcd.io/name:web,kustomize.toolkit.fluxcd.io/namespace:shop
";
const SUSPENDED: &str = "suspended Kustomization.kustomize.toolkit.fluxcd.io:shop/web \
    & applied Kustomization.kustomize.toolkit.fluxcd.io shop/web of=shop state=suspended";

#[test]
fn run_knows_who_started_it_how_often_it_was_recovered_and_when_it_ended() {
    let script = "restart & restart
        there cm:shop/a
        +5
        gone cm shop/a";
    let (scenario, _) = played("cm shop/a of=shop", script);
    let run = &scenario.run;
    assert_eq!((run.by(), run.recovered(), run.ended()), ("Li", 2, Some(scenario.now)));
    assert_eq!(played("cm shop/a of=shop", "").0.run.ended(), None);
}

#[test]
fn run_counts_the_steps_behind_each_step_as_its_plan_does() {
    let scenario = Scenario::of(
        "ns shop of=shop\n deploy shop/web of=shop uses=config:a\n cm shop/a of=shop\n cm shop/b of=shop",
    );
    let counted = scenario.run.steps().map(|(step, _)| scenario.run.steps_behind(step.id));
    let counted: Vec<u32> = counted.collect();
    assert_eq!(counted, scenario.run.plan.steps_behind());
    assert!(counted.contains(&0) && counted.contains(&2), "{counted:?}");
}

#[test]
fn step_whose_name_came_back_is_not_shown_as_gone() {
    let script = "gone svc shop/web & applied svc shop/web uid=again
        look at svc:shop/web";
    insta::assert_snapshot!(transcript("svc shop/web of=shop", script), @"
    DELETE Service shop/web
    > gone svc shop/web & applied svc shop/web uid=again
    Service shop/web came back as again
    > look at svc:shop/web
    Service shop/web came back as again
    ");
}

#[test]
fn late_step_is_shown_as_slow_and_then_as_stuck() {
    let cluster = "cm shop/a of=shop";
    let script = "accepted cm:shop/a & applied cm shop/a deleted=0 finalizers=example.com/hold
        +30
        look at cm:shop/a
        +90
        look at cm:shop/a";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/a
    > accepted cm:shop/a & applied cm shop/a deleted=0 finalizers=example.com/hold
    ConfigMap shop/a is terminating
    > +30
    ConfigMap shop/a is late, with example.com/hold
    > look at cm:shop/a
    ConfigMap shop/a is slow, is late, with example.com/hold
    > +90
    > look at cm:shop/a
    ConfigMap shop/a is stuck, is late, with example.com/hold
    ");
}

/// Once it is stuck, time changes nothing more.
#[test]
fn run_wakes_when_a_step_becomes_slow_and_when_it_becomes_stuck() {
    let script = "accepted cm:shop/a
        look at clock
        +30
        look at clock
        +90
        look at clock";
    insta::assert_snapshot!(transcript("cm shop/a of=shop", script), @"
    DELETE ConfigMap shop/a
    > accepted cm:shop/a
    > look at clock
    the run wakes in 30000 ms
    > +30
    ConfigMap shop/a is late
    > look at clock
    the run wakes in 90000 ms
    > +90
    > look at clock
    the run does not wake
    ");
}

/// Twenty ConfigMaps that were deleted so many seconds before the run began and are gone now.
fn completed(ago: i64) -> String {
    let one = |n: i64| format!("applied cm other/c{n} deleted={ago} & gone cm other/c{n}");
    (0..20).map(one).collect::<Vec<_>>().join(" & ")
}

/// A transcript from its first look on.
fn seen(script: &str) -> String {
    let transcript = transcript("cm shop/a of=shop", script);
    let lines = transcript.lines().skip_while(|line| !line.starts_with("> look"));
    lines.collect::<Vec<_>>().join("\n")
}

const HELD: &str = "accepted cm:shop/a & applied cm shop/a deleted=0 finalizers=example.com/hold";

#[test]
fn step_is_late_when_its_deletion_takes_longer_than_others_here() {
    let script = |ago: i64, until_late: i64| {
        format!(
            "{}\n{HELD}\n look at clock\n +{}\n +1\n look at clock",
            completed(ago),
            until_late - 1
        )
    };
    insta::assert_snapshot!(seen(&script(50, 50)), @"
    > look at clock
    the run wakes in 50000 ms
    > +49
    > +1
    ConfigMap shop/a is late, with example.com/hold
    > look at clock
    the run wakes in 150000 ms
    ");
    insta::assert_snapshot!(seen(&script(5, 15)), @"
    > look at clock
    the run wakes in 15000 ms
    > +14
    > +1
    ConfigMap shop/a is late, with example.com/hold
    > look at clock
    the run wakes in 45000 ms
    ");
}

/// The deletions of others end while the step waits.
#[test]
fn limits_of_a_step_that_waits_move_with_the_usual_duration() {
    let script =
        |ago: i64| format!("{HELD}\n +20\n look at clock\n {}\n look at clock", completed(ago));
    let shown = |ago: i64| seen(&script(ago)).replace(&completed(ago), "others are gone");
    insta::assert_snapshot!(shown(30), @"
    > look at clock
    the run wakes in 10000 ms
    > others are gone
    > look at clock
    the run wakes in 30000 ms
    ");
    insta::assert_snapshot!(shown(0), @"
    > look at clock
    the run wakes in 10000 ms
    > others are gone
    ConfigMap shop/a is late, with example.com/hold
    > look at clock
    the run wakes in 60000 ms
    ");
}

/// The first DELETE was sent and refused, so the limits count from it; a DELETE that was never sent has none.
#[test]
fn recalled_delete_takes_back_its_own_request_and_no_earlier_one() {
    let script = |before: &str| format!("{before} pause\n recalled cm:shop/a\n look at clock");
    insta::assert_snapshot!(transcript("cm shop/a of=shop", &script("")), @"
    DELETE ConfigMap shop/a
    > pause
    > recalled cm:shop/a
    > look at clock
    the run does not wake
    ");
    let refused = script("refused cm:shop/a\n +20\n");
    insta::assert_snapshot!(transcript("cm shop/a of=shop", &refused), @"
    DELETE ConfigMap shop/a
    > refused cm:shop/a
    ConfigMap shop/a was refused: 403
    > +20
    DELETE ConfigMap shop/a
    > pause
    > recalled cm:shop/a
    > look at clock
    the run wakes in 10000 ms
    ");
}

#[test]
fn workload_that_is_gone_is_waited_for_while_unplanned_pods_are_left() {
    let cluster = "
        sts shop/db of=shop selector=app:db template=app:db templates=data
        pvc shop/data-db-0 of=shop";
    let script = "accepted sts:shop/db
        applied pod shop/db-0 labels=app:db
        gone sts shop/db
        look at pvc:shop/data-db-0
        gone pod shop/db-0
        look at pvc:shop/data-db-0";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE StatefulSet shop/db
    > accepted sts:shop/db
    > applied pod shop/db-0 labels=app:db
    > gone sts shop/db
    StatefulSet shop/db is gone
    > look at pvc:shop/data-db-0
    PersistentVolumeClaim shop/data-db-0 is waiting, after StatefulSet shop/db
    > gone pod shop/db-0
    LIST pods in shop
    > look at pvc:shop/data-db-0
    PersistentVolumeClaim shop/data-db-0 is waiting
    ");
}

#[test]
fn stopped_run_shows_how_the_parent_that_it_suspended_is_now() {
    let changes = [
        String::new(),
        format!(" & applied {PARENT} of=shop state=active"),
        format!(" & applied {PARENT} of=shop state=suspended deleted=0"),
        format!(" & gone {PARENT}"),
        " & hidden kustomizations.kustomize.toolkit.fluxcd.io".to_owned(),
    ];
    let left = changes.map(|change| {
        let (scenario, _) = played(DECLARED, &format!("{SUSPENDED} & stop\n+0{change}"));
        let (run, index) = (&scenario.run, &scenario.index);
        let left = run.steps().filter_map(|(step, it)| run.left_suspended(step, it, index));
        left.collect::<Vec<_>>()
    });
    assert_eq!(
        left.concat(),
        [
            LeftSuspended::Suspended,
            LeftSuspended::Active,
            LeftSuspended::Going,
            LeftSuspended::Gone,
            LeftSuspended::Unknown,
        ]
    );
}

#[test]
fn run_that_is_open_leaves_nothing_suspended_yet() {
    let (scenario, _) = played(DECLARED, SUSPENDED);
    let (run, index) = (&scenario.run, &scenario.index);
    assert!(run.steps().all(|(step, it)| run.left_suspended(step, it, index).is_none()));
}

#[test]
fn suspension_is_an_attempt_that_its_run_knows_by_its_id() {
    let (scenario, _) = played(DECLARED, SUSPENDED);
    let run = &scenario.run;
    let attempts: Vec<_> = run.suspensions().collect();
    let [attempt] = &attempts[..] else { panic!("{attempts:?}") };
    assert_eq!(attempt.ended, Some(scenario.now));
    assert_eq!(attempt.outcome, AttemptOutcome::Accepted { meanwhile: None });
    assert!(run.is_suspension(&attempt.id));
    let other_step = format!("{}-{}", run.id, scenario.id("cm:shop/a"));
    for id in [other_step, format!("other{}", attempt.id), "r-x".to_owned(), String::new()] {
        assert!(!run.is_suspension(&id), "{id}");
    }
}

#[test]
fn event_log_keeps_the_claims_that_could_not_be_read() {
    let object = |line: &str| fixture::object(line).reference();
    let checked = FeedEvent::DataChecked {
        bound: 1,
        lost: vec![object("pvc shop/lost")],
        unknown: vec![object("pvc shop/unread")],
    };
    let text = serde_json::to_string(&checked).unwrap();
    assert_eq!(serde_json::from_str::<FeedEvent>(&text).unwrap(), checked);
}

/// A claim that is gone in the end, and one that is not, in a run that keeps only one of them.
#[test]
fn run_says_how_kept_data_is_whether_all_is_kept_or_one_claim_or_there_is_none() {
    let cluster = "cm shop/a of=shop\n pvc shop/data of=shop volume=pv\n pv pv claim=shop/data";
    let choices = ["keep=data", "without=PersistentVolumeClaim/shop/data"];
    let script = |choice: &str| format!("choose {choice}\n gone cm shop/a");
    insta::assert_snapshot!(endings(cluster, choices, script), @"
    keep=data
        ConfigMap shop/a is gone
        claims bound: 1, lost: none, unknown: none
        the run has finished
    without=PersistentVolumeClaim/shop/data
        ConfigMap shop/a is gone
        claims bound: 1, lost: none, unknown: none
        the run has finished
    ");
    let none = transcript("cm shop/a of=shop", &script("keep=data"));
    insta::assert_snapshot!(none, @"
    > choose keep=data
    DELETE ConfigMap shop/a
    > gone cm shop/a
    ConfigMap shop/a is gone
    claims bound: 0, lost: none, unknown: none
    the run has finished
    ");
}
