//! Tests of the time for which runs are kept after their end.

use super::*;

const TWO: &str = "
    ns shop of=shop
    cm shop/one of=shop
    ns bank of=bank
    cm bank/one of=bank
";

#[tokio::test(start_paused = true)]
async fn ended_run_and_its_plan_are_removed_after_their_time_and_an_open_one_never() {
    let disk = Disk::default();
    let keep = SignedDuration::from_hours(24 * 30);
    let mut process = Process::with(&disk, "test", |hub| hub.keeping_runs(keep));
    process.list(TWO).await;
    let now = process.hub.time().await.unwrap();
    let open = process.start_run("shop").await;
    let (_, _never_answered) = process.call().await;
    let ended = process.start_run("bank").await;
    let (_, call) = process.call().await;
    process.hub.command(ended.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    process.answer(call, Outcome::Accepted).await;
    assert_eq!(process.run_state(&ended).await, RunState::Stopped);
    let names = |shelf| disk.list(shelf).unwrap().into_iter().map(|(name, _)| name);
    assert_eq!(names(Shelf::Plans).count(), 2);

    process.see(vec![Observation::Time(now + SignedDuration::from_hours(24 * 29))]).await;
    assert_eq!(process.run_state(&ended).await, RunState::Stopped);
    process.see(vec![Observation::Time(now + SignedDuration::from_hours(24 * 31))]).await;
    let gone = process.hub.query(Topic::Run(ended.clone())).await.unwrap().map(|_| ());
    assert_eq!(gone, Err(Refusal::UnknownRun(ended.clone())));
    assert_eq!(process.run_state(&open).await, RunState::Running);
    assert_eq!(names(Shelf::Runs).collect::<Vec<_>>(), [open.to_string()]);
    assert_eq!(names(Shelf::Counts).collect::<Vec<_>>(), [open.to_string()]);
    assert_eq!(names(Shelf::Plans).count(), 1);
    assert_eq!(disk.records(ended.as_str()).unwrap(), []);
    process.task.abort();
    let mut process = Process::start(&disk);
    process.list(TWO).await;
    assert_eq!(process.run_state(&open).await, RunState::Running);
    assert_eq!(process.call().await.0, "GET ConfigMap shop/one");
}
