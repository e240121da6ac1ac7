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

#[tokio::test(start_paused = true)]
async fn journal_of_an_ended_run_is_shortened_and_its_page_stays_the_same_after_a_restart() {
    let disk = Disk::default();
    let after = SignedDuration::from_hours(24 * 7);
    let mut process = Process::with(&disk, "test", |hub| {
        hub.keeping_runs(SignedDuration::from_hours(24 * 30)).compacting_runs(after)
    });
    process.list(TWO).await;
    let now = process.hub.time().await.unwrap();
    let run = process.start_run("bank").await;
    for minutes in (0..600).step_by(20) {
        let (_, call) = process.call().await;
        let refused = Outcome::Refused { code: 403, message: "no".into() };
        process.answer(call, refused).await;
        let later = now + SignedDuration::from_mins(minutes + 20);
        process.see(vec![Observation::Time(later)]).await;
    }
    let (_, call) = process.call().await;
    process.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    process.answer(call, Outcome::Recalled).await;
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
    let shown = async |process: &Process| {
        let records = process.records(Topic::Run(run.clone())).await;
        let is_shown = |record: &&Record| matches!(record, Record::Run(_) | Record::Step(_));
        records
            .iter()
            .filter(is_shown)
            .map(|it| serde_json::to_string(it).unwrap())
            .collect::<Vec<_>>()
    };
    let (before, whole) = (shown(&process).await, disk.records(run.as_str()).unwrap().len());
    process.see(vec![Observation::Time(now + SignedDuration::from_hours(24 * 6))]).await;
    assert_eq!(disk.records(run.as_str()).unwrap().len(), whole, "not yet");
    process.see(vec![Observation::Time(now + SignedDuration::from_hours(24 * 9))]).await;
    assert_eq!(shown(&process).await, before);
    let short = disk.records(run.as_str()).unwrap().len();
    assert!(short * 5 < whole, "{short} of {whole}");
    process.task.abort();
    let process = Process::start(&disk);
    process.list(TWO).await;
    assert_eq!(shown(&process).await, before);
}

#[tokio::test(start_paused = true)]
async fn journal_that_cannot_be_shortened_stays_whole() {
    let disk = Disk::default();
    let mut process = Process::with(&disk, "test", |hub| {
        hub.keeping_runs(SignedDuration::from_hours(24 * 30))
            .compacting_runs(SignedDuration::from_hours(24))
    });
    process.list(TWO).await;
    let now = process.hub.time().await.unwrap();
    let run = process.start_run("bank").await;
    let (_, call) = process.call().await;
    process.answer(call, Outcome::Refused { code: 403, message: "no".into() }).await;
    process.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
    let whole = disk.records(run.as_str()).unwrap();
    process.task.abort();
    for failure in [WriteFailure::Lost, WriteFailure::FirstKept] {
        let process = Process::with(&disk, "test", |hub| {
            hub.keeping_runs(SignedDuration::from_hours(24 * 30))
                .compacting_runs(SignedDuration::from_hours(24))
        });
        disk.0.lock().unwrap().failure = Some(failure);
        process.see(vec![Observation::Time(now + SignedDuration::from_hours(24 * 3))]).await;
        process.list(TWO).await;
        assert_eq!(process.run_state(&run).await, RunState::Stopped, "{failure:?}");
        process.task.abort();
        disk.0.lock().unwrap().failure = None;
        let again = Process::start(&disk);
        again.list(TWO).await;
        assert_eq!(again.run_state(&run).await, RunState::Stopped, "{failure:?}");
        again.task.abort();
    }
    assert!(disk.records(run.as_str()).unwrap().len() <= whole.len());
}
