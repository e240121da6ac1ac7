//! Properties that hold for every application, every order of events and every crash.

mod application;
mod cluster;
mod collector;
mod growth;
mod hints;
mod incremental;
mod looks;
mod owner_graph;

use std::{collections::BTreeSet, sync::Arc};

use application::application;
use cluster::{Cluster, Rng};
use jiff::SignedDuration;
use proptest::prelude::*;
use teardown::{
    derived::Derived,
    fixture,
    fold::{Publication, View},
    graph::Graph,
    index::Index,
    message::{Message, Record, Revision},
    object::Uid,
    plan::{Choices, Plan, PlanError, plan},
    relation::Edge,
    run::{Input, Run, RunCommand, RunEvent, RunId, RunState},
    unit::{UnitId, units},
    world::World,
};

fn plan_of(index: &Index) -> Result<Plan, PlanError> {
    let graph = Graph::of(index);
    let units = units(index, &graph);
    plan(index, &graph, &units[&UnitId::new("shop")], &Choices::default(), fixture::now())
}

/// The plan of an application without a circle; none where nothing of it could go.
fn planned(index: &Index) -> Result<Option<Plan>, TestCaseError> {
    match plan_of(index) {
        Ok(plan) => Ok(Some(plan)),
        Err(PlanError::Empty) => Ok(None),
        Err(error) => Err(TestCaseError::fail(format!("{error:?}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn plan_respects_every_edge(fixture in application()) {
        let index = fixture::index(&fixture);
        let graph = Graph::of(&index);
        let Some(plan) = planned(&index)? else { return Ok(()) };
        let place = |uid: &Uid| plan.steps.iter().position(|step| step.uid == *uid);
        for (first, then, phase) in graph.edges().filter_map(Edge::ordered) {
            let Some(then_at) = place(then) else { continue };
            let user = index.get(first).unwrap();
            if user.is_made_by_cluster() {
                continue;
            }
            let first_at = place(first);
            prop_assert!(first_at.is_some(), "{then} goes while {first}, which needs it, stays");
            let step = &plan.steps[then_at];
            prop_assert!(first_at < Some(then_at));
            prop_assert!(plan.steps[first_at.unwrap()].wave < step.wave);
            let blocker = step.after.iter().find(|blocker| plan.step(blocker.step).unwrap().uid == *first);
            prop_assert!(blocker.is_some_and(|blocker| blocker.phase >= phase), "{first} is not awaited by {then}");
        }
        let members: BTreeSet<&Uid> = plan.steps.iter().map(|step| &step.uid).collect();
        prop_assert_eq!(members.len(), plan.steps.len(), "an object has two steps");
        let rest = plan.kept.iter().chain(&plan.left_to_cluster).map(|kept| &kept.uid);
        let disposed: Vec<&Uid> = members.into_iter().chain(rest).collect();
        let unit = &units(&index, &graph)[&UnitId::new("shop")];
        prop_assert_eq!(disposed.len(), unit.members.len(), "an object has two dispositions, or none");
        prop_assert_eq!(disposed.into_iter().collect::<BTreeSet<_>>(), unit.members.iter().collect());
    }

    #[test]
    fn circle_is_refused_with_its_objects(size in 2usize..7, extra in 0usize..4) {
        let mut fixture = String::new();
        for i in 0..size {
            let owner = (i + size - 1) % size;
            fixture += &format!("Widget shop/c{i} of=shop owner=Widget/c{owner}\n");
        }
        for i in 0..extra {
            fixture += &format!("Widget shop/x{i} of=shop owner=Widget/c{}\n", i % size);
        }
        let index = fixture::index(&fixture);
        let Err(PlanError::Cycle { path }) = plan_of(&index) else { panic!("a plan of a circle") };
        prop_assert_eq!(path.first(), path.last());
        prop_assert_eq!(path.len(), size + 1);
        for pair in path.windows(2) {
            let owned = index.named(&pair[1]).unwrap();
            prop_assert_eq!(&owned.owners[0].name, &pair[0].name);
        }
    }

    /// Whatever the cluster, the network and the process do: no DELETE reaches an object before everything in front of
    /// it is gone, no other object is touched, and the run ends.
    #[test]
    fn run_keeps_the_order_and_ends(fixture in application(), seed: u64) {
        simulate_run(&fixture, seed, false)?;
    }

    #[test]
    fn run_with_crashes_keeps_the_order_and_ends(fixture in application(), seed: u64) {
        simulate_run(&fixture, seed, true)?;
    }
}

/// The ticks, of 200 ms each, in which a run has to end.
const TICKS: u32 = 20_000;
/// The ticks in which the process may crash. A process that is killed every five seconds may never see an answer, so that a
/// run has to end only once the crashes do.
const CRASHING: u32 = TICKS / 2;

/// A run against a cluster that delays and loses messages, with a journal that is replayed after every crash.
#[expect(clippy::unwrap_used, reason = "a test helper: what is wrong here is a failed test")]
fn simulate_run(fixture: &str, seed: u64, crashes: bool) -> Result<(), TestCaseError> {
    let objects = fixture::objects(fixture);
    let mut rng = Rng::new(seed);
    let mut cluster = Cluster::new(objects);
    let mut index = Index::default();
    index.apply(cluster.listing(), fixture::now());
    let Some(plan) = planned(&index)? else { return Ok(()) };
    let plan = Arc::new(plan);
    cluster.watch_order(&Graph::of(&index));
    let mut derived = Derived::default();
    let mut now = fixture::now();
    let mut run = Run::new(RunId::new("r"), plan.clone());
    let mut journal: Vec<(jiff::Timestamp, RunEvent)> = Vec::new();
    let started = RunEvent::Started { by: "test".into() };
    run.apply(now, &started).unwrap();
    journal.push((now, started));
    // The number of entries and the state of the run after them.
    let mut states: Vec<(usize, String)> = Vec::new();

    for tick in 0..TICKS {
        now += SignedDuration::from_millis(200);
        let crashes = crashes && tick < CRASHING;
        if crashes && rng.one_in(25) {
            run = Run::new(RunId::new("r"), plan.clone());
            for (at, event) in &journal {
                run.apply(*at, event).unwrap();
            }
            cluster.close_connections(&mut rng);
            index = Index::default();
            index.apply(cluster.listing(), now);
            let decision = run.decide(&Input::Recover, &index, derived.graph(), now).unwrap();
            for event in decision.events {
                run.apply(now, &event).unwrap();
                journal.push((now, event));
            }
        }
        let input = match rng.below(4) {
            0 => match cluster.reply(&mut rng) {
                Some((action, outcome)) => Input::CallCompleted { action, outcome },
                None => Input::Reconcile,
            },
            1 => {
                index.apply(cluster.deliver_events(&mut rng), now);
                Input::Reconcile
            }
            2 => {
                cluster.advance(&mut rng, now);
                Input::Reconcile
            }
            _ => match rng.below(120) {
                0 => Input::Command { command: RunCommand::Pause, by: "test".into() },
                1..20 => Input::Command { command: RunCommand::Resume, by: "test".into() },
                _ => Input::Reconcile,
            },
        };
        derived.follow_edges(&mut index);
        let decision = run.decide(&input, &index, derived.graph(), now).unwrap();
        for event in decision.events {
            run.apply(now, &event).unwrap();
            journal.push((now, event));
            if journal.len().is_multiple_of(7) {
                states.push((journal.len(), format!("{run:?}")));
            }
        }
        // A crash between journal and call: the intent is durable, and the call was never made.
        if crashes && rng.one_in(20) {
            cluster.drop_unsent(decision.actions);
        } else {
            cluster.receive(decision.actions);
        }
        prop_assert_eq!(cluster.violations(), &[] as &[String]);
        if run.state().is_ended() {
            break;
        }
    }
    prop_assert_eq!(
        run.state(),
        RunState::Finished,
        "{:#?}",
        run.steps().map(|(s, p)| (&s.uid, p)).collect::<Vec<_>>()
    );
    for step in &plan.steps {
        prop_assert!(!cluster.has(&step.uid), "{} is still there", step.uid);
    }
    for kept in &plan.kept {
        prop_assert!(cluster.has(&kept.uid), "{} should have been kept", kept.uid);
    }

    // Any prefix of the journal, as it is on the disk, replays to the state that the run had then.
    let disk: Vec<String> =
        journal.iter().map(|(at, event)| serde_json::to_string(&(at, event)).unwrap()).collect();
    let mut replayed = Run::new(RunId::new("r"), plan.clone());
    let mut states = states.into_iter().peekable();
    for (count, line) in (1..).zip(&disk) {
        let (at, event): (jiff::Timestamp, RunEvent) = serde_json::from_str(line).unwrap();
        replayed.apply(at, &event).unwrap();
        if let Some((_, state)) = states.next_if(|(after, _)| *after == count) {
            prop_assert_eq!(format!("{replayed:?}"), state);
        }
    }
    prop_assert!(states.next().is_none());
    Ok(())
}

/// The records of a page of the unit.
fn records(index: &Index) -> Vec<Record> {
    let graph = Graph::of(index);
    let units = units(index, &graph);
    let world = World {
        cluster: "test",
        demo: None,
        index,
        graph: &graph,
        units: &units,
        runs: &[],
        diagnoses: &[],
        attempts: &[],
        now: fixture::now(),
    };
    world.unit(&UnitId::new("shop")).unwrap_or_default()
}

proptest! {
    /// A snapshot and the deltas after it fold to the newer snapshot, also with repeated deltas, late readers and gaps.
    #[test]
    fn snapshot_with_its_deltas_equals_the_newer_snapshot(
        fixtures in proptest::collection::vec(application(), 2..6),
        join in 0usize..5,
        lost in 0usize..5,
    ) {
        let start = Revision { boot: 7, count: 40 };
        let mut server = Publication::new(start);
        let mut messages = Vec::new();
        let mut reader = View::new(start, []);
        for (number, fixture) in fixtures.iter().enumerate() {
            let delta = server.advance(records(&fixture::index(fixture)));
            if number == join {
                reader.apply(server.snapshot()).unwrap();
            } else if number > join && let Some(delta) = &delta {
                reader.apply(delta.clone()).unwrap();
                prop_assert_eq!(reader.apply(delta.clone()), Ok(vec![]), "a delta given twice");
            }
            messages.extend(delta);
        }
        if join < fixtures.len() {
            let mut fresh = View::new(start, []);
            fresh.apply(server.snapshot()).unwrap();
            prop_assert_eq!(&reader, &fresh);
        }
        // Messages survive serialisation.
        for message in &messages {
            let text = serde_json::to_string(message).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Message>(&text).unwrap(), message);
        }
        // The next delta shows that one was lost.
        let mut behind = View::new(start, []);
        for (number, message) in messages.iter().enumerate() {
            if number == lost {
                continue;
            }
            let applied = behind.apply(message.clone());
            prop_assert_eq!(applied.is_err(), number > lost);
        }
    }
}
