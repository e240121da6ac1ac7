//! Tests of plans of the objects that an open run waits for outside its plan, and of their runs.

use teardown::{
    object::ObjectRef,
    plan::{Choice, PlanError},
};

use super::*;

const HELD: &str = "
    ns shop of=shop
    ns other of=other
    deploy shop/web of=shop selector=app:web template=app:web uses=config:settings
    cm shop/settings of=shop
";
const POD: &str = "pod shop/debug uses=config:settings age=0";

/// A run that waits for a Pod which somebody created during it.
async fn held(process: &mut Process) -> RunId {
    process.list(HELD).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    process.see(vec![Observation::Applied(Box::new(fixture::object(POD)))]).await;
    process.gone("deploy shop/web").await;
    process.quiet().await;
    run
}

async fn plan_beside(process: &Process, unit: &str, run: &RunId) -> Result<Arc<Plan>, Refusal> {
    let choices: Choices = [Choice::Unplanned(run.clone())].into_iter().collect();
    process.hub.make_plan(UnitId::new(unit), choices).await.unwrap()
}

/// The objects that the page of a run names as unplanned.
async fn named(process: &Process, run: &RunId) -> Vec<ObjectRef> {
    let records = process.records(Topic::Run(run.clone())).await;
    let of_step = |record: &Record| match record {
        Record::Step(card) => card.unplanned.clone(),
        _ => vec![],
    };
    records.iter().flat_map(of_step).collect()
}

#[tokio::test(start_paused = true)]
async fn run_of_unplanned_objects_goes_on_beside_the_open_run_after_a_restart() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    let first = held(&mut process).await;
    assert_eq!(named(&process, &first).await.len(), 1);
    let plan = plan_beside(&process, "shop", &first).await.unwrap();
    assert_eq!(plan.steps.len(), 1);
    let second = process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
    assert_eq!(named(&process, &first).await, [], "another run deletes it by now");
    let (text, _never_answered) = process.call().await;
    assert_eq!(text, "DELETE Pod shop/debug");
    process.task.abort();

    let mut process = Process::start(&disk);
    process.list(&format!("ns shop of=shop\n cm shop/settings of=shop\n {POD}")).await;
    let unchanged =
        Outcome::Present { terminating: false, version: "1".into(), named: None, keep: None };
    process.expect("GET Pod shop/debug", unchanged).await;
    process.expect("DELETE Pod shop/debug", Outcome::Accepted).await;
    process.gone(POD).await;
    process.expect("DELETE ConfigMap shop/settings", Outcome::Accepted).await;
    assert_eq!(process.run_state(&second).await, RunState::Finished);
    process.gone("cm shop/settings").await;
    process.expect("DELETE Namespace shop", Outcome::Accepted).await;
    process.gone("ns shop").await;
    assert_eq!(process.run_state(&first).await, RunState::Finished);

    let records = process.records(Topic::Run(second)).await;
    let beside = records.iter().find_map(|record| match record {
        Record::Run(card) => card.beside.clone(),
        _ => None,
    });
    assert_eq!(beside, Some(first));
}

#[tokio::test(start_paused = true)]
async fn plan_with_an_object_of_another_open_run_is_refused() {
    let mut process = Process::start(&Disk::default());
    let first = held(&mut process).await;
    let plan = plan_beside(&process, "shop", &first).await.unwrap();
    // The unit's own plan would touch the objects of the first run.
    let all: Choices = [Choice::IncludeAll].into_iter().collect();
    let whole = process.hub.make_plan(UnitId::new("shop"), all).await.unwrap().unwrap();
    let whole = process.hub.start(confirmation(&whole)).await.unwrap();
    assert!(matches!(&whole, Err(Refusal::Overlap { run, .. }) if *run == first), "{whole:?}");
    let second = process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
    let again = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(&again, Err(Refusal::Overlap { run, .. }) if *run == second), "{again:?}");
    let nothing_left = plan_beside(&process, "shop", &first).await;
    assert_eq!(nothing_left, Err(Refusal::Unplannable(PlanError::Empty)));
}

#[tokio::test(start_paused = true)]
async fn plan_of_unplanned_objects_is_stale_once_they_are_others() {
    let mut process = Process::start(&Disk::default());
    let first = held(&mut process).await;
    let plan = plan_beside(&process, "shop", &first).await.unwrap();
    process.gone(POD).await;
    process
        .see(vec![Observation::Applied(Box::new(fixture::object(&format!("{POD} uid=again"))))])
        .await;
    let refused = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(refused, Err(Refusal::Stale(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn only_an_open_run_of_the_same_unit_has_unplanned_objects() {
    let mut process = Process::start(&Disk::default());
    let first = held(&mut process).await;
    let unknown = RunId::new("none");
    let refused = plan_beside(&process, "shop", &unknown).await;
    assert_eq!(refused, Err(Refusal::UnknownRun(unknown)));
    let choice = Choice::Unplanned(first.clone());
    let refused = plan_beside(&process, "other", &first).await;
    assert_eq!(refused, Err(Refusal::Unplannable(PlanError::UnknownChoice { choice })));
    process.hub.command(first.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    assert_eq!(plan_beside(&process, "shop", &first).await, Err(Refusal::Ended));
}
