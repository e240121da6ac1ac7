//! Tests of a journal that cannot be written for a while: nothing is sent that is not written down, and nothing is lost.

use super::*;

/// Waits for the next try at the journal.
async fn retry() {
    tokio::time::sleep(Duration::from_secs(31)).await;
}

/// The number on the card of the cluster, which makes the notice on every page.
async fn noticed(process: &Process) -> usize {
    let records = process.records(Topic::Units).await;
    let cards = records.iter().filter_map(|record| match record {
        Record::Cluster(card) => Some(card.journal),
        _ => None,
    });
    cards.sum()
}

#[tokio::test(start_paused = true)]
async fn run_waits_for_a_full_disk_and_goes_on_with_the_answers_that_came_meanwhile() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (text, call) = process.call().await;
    assert_eq!(text, "DELETE Deployment shop/web");
    assert_eq!(noticed(&process).await, 0);

    disk.fail(WriteFailure::Lost);
    process.answer(call, Outcome::Accepted).await;
    process.gone("deploy shop/web").await;
    process.quiet().await;
    assert_eq!(noticed(&process).await, 1);
    let failing = process.hub.journal().await.unwrap().failing.unwrap();
    assert!(failing.why.contains("no space left on the disk"), "{failing:?}");
    for _ in 0..3 {
        retry().await;
        process.quiet().await;
    }
    let written = disk.journal(&run);
    assert!(!written.contains(r#""event":"accepted""#), "{written}");

    disk.repair();
    retry().await;
    process.expect("DELETE Pod shop/web-a", Outcome::Accepted).await;
    assert_eq!(noticed(&process).await, 0);
    assert_eq!(process.hub.journal().await.unwrap().failing, None);
    let written = disk.journal(&run);
    assert!(written.contains(r#""event":"accepted","step":0"#), "{written}");
    assert!(!written.contains("recovered"), "no effect was unknown: {written}");
    assert!(process.task.is_finished().eq(&false));
}

#[tokio::test(start_paused = true)]
async fn nothing_new_is_accepted_while_the_journal_cannot_be_written() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let plan = process.hub.make_plan(UnitId::new("shop"), Choices::default()).await;
    let plan = plan.unwrap().unwrap();
    disk.fail(WriteFailure::Lost);
    let refused = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(refused, Err(Refusal::Journal(_))), "{refused:?}");
    let made = process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap();
    assert!(matches!(made, Err(Refusal::Journal(_))), "{made:?}");
    let writes = disk.writes();
    let again = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(again, Err(Refusal::Journal(_))), "{again:?}");
    assert_eq!(disk.writes(), writes, "a failing disk is tried by the clock, not by each request");
    let reading = process.hub.reading().await.unwrap();
    assert!(reading.is_journal_failing && reading.journal_failures == 1, "{reading:?}");

    disk.repair();
    retry().await;
    let run = process.hub.start(confirmation(&plan)).await.unwrap().unwrap();
    process.expect("DELETE Deployment shop/web", Outcome::Accepted).await;
    disk.fail(WriteFailure::Lost);
    let paused = process.hub.command(run.clone(), RunCommand::Pause, "Li".into()).await.unwrap();
    assert!(matches!(paused, Err(Refusal::Journal(_))), "{paused:?}");
    assert_eq!(process.run_state(&run).await, RunState::Running);
}

#[tokio::test(start_paused = true)]
async fn write_that_was_kept_although_it_failed_is_found_again() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (_, call) = process.call().await;
    process.answer(call, Outcome::Accepted).await;
    process.quiet().await;
    // The first write is that the Deployment is gone. The second, the intent of the next DELETE, is on disk, and the DELETE was
    // not sent.
    disk.fail_after(1, WriteFailure::FirstKept);
    process.gone("deploy shop/web").await;
    process.quiet().await;
    disk.repair();
    retry().await;
    let written = disk.journal(&run);
    assert_eq!(written.matches("recovered").count(), 1, "{written}");
    let intent = r#""event":"callStarted","step":1,"call":"delete""#;
    assert_eq!(written.matches(intent).count(), 1, "{written}");
    assert_eq!(process.run_state(&run).await, RunState::Running);
    process.expect("GET Pod shop/web-a", Outcome::NotFound).await;
}

#[tokio::test(start_paused = true)]
async fn refused_start_does_not_run_although_the_disk_kept_it() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let plan = process.hub.make_plan(UnitId::new("shop"), Choices::default()).await;
    let plan = plan.unwrap().unwrap();
    disk.fail(WriteFailure::FirstKept);
    let refused = process.hub.start(confirmation(&plan)).await.unwrap();
    assert!(matches!(refused, Err(Refusal::Journal(_))), "{refused:?}");
    disk.repair();
    retry().await;
    process.quiet().await;
    let records = process.records(Topic::Units).await;
    let states = records.iter().filter_map(|record| match record {
        Record::Run(card) => Some(card.state),
        _ => None,
    });
    assert_eq!(states.collect::<Vec<_>>(), [RunState::Stopped]);
}

#[tokio::test(start_paused = true)]
async fn restart_on_a_full_disk_shows_the_runs_and_goes_on_once_there_is_room() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let (_, _never_answered) = process.call().await;
    process.task.abort();
    disk.fail(WriteFailure::Lost);
    let mut process = Process::start(&disk);
    process.list(SHOP).await;
    process.quiet().await;
    assert_eq!(process.run_state(&run).await, RunState::Running);
    assert_eq!(noticed(&process).await, 1);
    disk.repair();
    retry().await;
    process.expect("GET Deployment shop/web", Outcome::NotFound).await;
}

#[tokio::test(start_paused = true)]
async fn journal_that_opens_for_reading_alone_is_failing_before_anybody_asks_for_a_write() {
    let disk = Disk::default();
    disk.fail(WriteFailure::Lost);
    disk.0.lock().unwrap().is_read_only = true;
    let process = Process::start(&disk);
    process.list(SHOP).await;
    assert_eq!(noticed(&process).await, 1);
    let made = process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap();
    assert!(matches!(made, Err(Refusal::Journal(_))), "{made:?}");
    disk.repair();
    retry().await;
    assert_eq!(noticed(&process).await, 0);
    process.hub.make_plan(UnitId::new("shop"), Choices::default()).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_of_several_runs_are_one_write() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    let units = ["a", "b", "c"];
    let world: String =
        units.iter().map(|it| format!("ns {it} of={it}\ncm {it}/one of={it}\n")).collect();
    process.list(&world).await;
    let mut calls = vec![];
    for unit in units {
        process.start_run(unit).await;
        let (text, call) = process.call().await;
        assert_eq!(text, format!("DELETE ConfigMap {unit}/one"));
        calls.push(call);
    }
    process.quiet().await;
    let before = disk.writes();
    for call in calls {
        process.answer(call, Outcome::Accepted).await;
    }
    process.quiet().await;
    assert_eq!(disk.writes() - before, 1);
}

#[tokio::test(start_paused = true)]
async fn claim_is_read_again_if_the_answer_had_to_wait_for_the_disk() {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process
        .list("ns shop of=shop\n pvc shop/data of=shop volume=pv-1\n pv pv-1 claim=shop/data")
        .await;
    process.start_run("shop").await;
    let (_, read) = process.call().await;
    let unchanged = process.unchanged(&read).await;
    process.answer(read, unchanged).await;
    let (text, list) = process.call().await;
    assert_eq!(text, "LIST pods in shop");
    disk.fail(WriteFailure::Lost);
    process.answer(list, Outcome::Pods(vec![])).await;
    process.quiet().await;
    retry().await;
    disk.repair();
    retry().await;
    let (text, _) = process.call().await;
    assert_eq!(text, "GET PersistentVolumeClaim shop/data", "a Pod may have mounted it since");
}
