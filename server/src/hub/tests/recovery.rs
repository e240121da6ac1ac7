//! Tests of the journal: what continues after a restart, and that nothing happens without it.

use super::*;

#[tokio::test(start_paused = true)]
async fn restarted_process_continues_once_the_cluster_is_listed() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (text, _never_answered) = process.call().await;
    assert_eq!(text, "DELETE Deployment shop/web");
    process.task.abort();

    let mut process = Process::start(&disk);
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    process.quiet().await;
    // The DELETE had arrived: the list after the restart shows it.
    process.list(&SHOP.replace("deploy shop/web of=shop", "cm shop/other")).await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    let records = process.records(Topic::Run(run)).await;
    assert!(
        records.iter().any(|record| matches!(record, Record::Run(card) if card.recovered == 1))
    );
}

#[tokio::test(start_paused = true)]
async fn run_of_another_cluster_is_neither_shown_steered_nor_continued() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(&format!("{SHOP}\n ns kube-system uid=one")).await;
    let run = process.start_run("shop").await;
    process.call().await;
    process.task.abort();
    let mut process = Process::before(&disk, "other");
    process.list(&format!("{SHOP}\n ns kube-system uid=two")).await;
    let unknown = Err(Refusal::UnknownRun(run.clone()));
    assert_eq!(process.hub.query(Topic::Run(run.clone())).await.unwrap().map(|_| ()), unknown);
    assert_eq!(
        process.hub.command(run.clone(), RunCommand::Stop, "Li".into()).await.unwrap(),
        unknown
    );
    let records = process.records(Topic::Unit(UnitId::new("shop"))).await;
    assert!(!records.iter().any(|record| matches!(record, Record::Run(_))));
    assert!(process.calls.try_recv().is_err());
    process.task.abort();
    // The same cluster, where `kube-system` is hidden.
    let mut process = Process::before(&disk, "test");
    process.list(SHOP).await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
    assert!(process.calls.try_recv().is_ok());
}

#[tokio::test(start_paused = true)]
async fn call_is_not_made_if_the_journal_cannot_be_written() {
    struct Full;
    impl Store for Full {
        fn write(&mut self, _: &[Put]) -> Result<(), StoreError> {
            let (run, number, kept) = ("r".to_owned(), 1, 0);
            Err(StoreError::OutOfOrder { run, number, kept })
        }
        fn read(&self, _: Shelf, _: &str) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(None)
        }
        fn list(&self, _: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
            Ok(Vec::new())
        }
        fn records(&self, _: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
            Ok(Vec::new())
        }
    }
    let (mailbox, inbox) = mpsc::channel(MAILBOX);
    let (out, mut calls) = mpsc::channel(CALLS);
    let task = Hub::open("test".into(), inbox, out, Journal::over(Full)).unwrap();
    tokio::spawn(task.run(CancellationToken::new()));
    let hub = HubHandle::new(mailbox.clone());
    mailbox.send(Incoming::Observed(fixture::listing(&fixture::objects(SHOP)))).await.unwrap();
    let plan = hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
    let refused = hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(refused, Err(Refusal::Journal(_))), "{refused:?}");
    assert_eq!(hub.reading().await.unwrap().journal_failures, 1);
    assert!(calls.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn answers_that_arrived_before_the_end_are_in_the_journal() {
    let disk = Disk::default();
    let drain = CancellationToken::new();
    let mut process = Process::drained_by(&disk, drain.clone());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (_, call) = process.call().await;
    // The hub has not run since, so both wait for it.
    process.answer(call, Outcome::Accepted).await;
    drain.cancel();
    process.task.await.unwrap().unwrap();
    let written = disk.journal(&run);
    assert!(written.contains(r#""event":"accepted","step":0"#), "{written}");
}
