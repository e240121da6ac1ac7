//! Tests of a person's commands to a run.

use teardown::run::FeedEvent;

use super::*;

#[tokio::test(start_paused = true)]
async fn queued_call_is_recalled_by_pause_and_stop() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list("ns shop of=shop\n cm shop/a of=shop").await;
    let run = process.start_run("shop").await;
    let (_, call) = process.call().await;
    assert!(!call.recall.is_cancelled());
    process.hub.command(run.clone(), RunCommand::Pause, "Li".into()).await.unwrap().unwrap();
    assert!(call.recall.is_cancelled());
    process.answer(call, Outcome::Recalled).await;
    process.hub.command(run.clone(), RunCommand::Resume, "Li".into()).await.unwrap().unwrap();
    let (text, call) = process.call().await;
    assert_eq!(text, "DELETE ConfigMap shop/a");
    assert!(!call.recall.is_cancelled());
    process.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    assert!(call.recall.is_cancelled());
    process.answer(call, Outcome::Recalled).await;
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn pause_holds_calls_and_stop_counts_requested_deletions() {
    let mut process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    process.hub.command(run.clone(), RunCommand::Pause, "Li".into()).await.unwrap().unwrap();
    process.gone("deploy shop/web").await;
    process.quiet().await;
    assert_eq!(process.run_state(&run).await, RunState::Paused);

    process.hub.command(run.clone(), RunCommand::Resume, "Li".into()).await.unwrap().unwrap();
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    process.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    assert_eq!(process.run_state(&run).await, RunState::Stopped);
    let records = process.records(Topic::Run(run.clone())).await;
    let stopped = records.iter().find_map(|record| match record {
        Record::Event(card) => match card.event {
            FeedEvent::Stopped { untouched, requested, gone, .. } => {
                Some((untouched, requested, gone))
            }
            _ => None,
        },
        _ => None,
    });
    assert_eq!(stopped, Some((2, 1, 1)));
    assert_eq!(
        process.hub.command(run, RunCommand::Resume, "Li".into()).await.unwrap(),
        Err(Refusal::Ended)
    );
}
