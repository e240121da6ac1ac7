//! Tests of runs that cannot be read after a restart: they are named, block what they may have worked on until a person
//! releases them, and the other runs go on.

use super::*;

const TWO: &str = "
    ns shop of=shop
    cm shop/one of=shop
    ns bank of=bank
    cm bank/one of=bank
";

impl Disk {
    /// Damages a named value.
    fn damage(&mut self, shelf: Shelf, name: &str) {
        let mut bytes = self.read(shelf, name).unwrap().unwrap();
        let last = bytes.last_mut().unwrap();
        *last ^= 1;
        self.write(&[Put::Named { shelf, name: name.into(), bytes }]).unwrap();
    }
}

/// A disk with an open run of each of two units.
async fn two_runs() -> (Disk, RunId, RunId) {
    let disk = Disk::default();
    let mut process = Process::start(&disk);
    process.list(TWO).await;
    let shop = process.start_run("shop").await;
    process.call().await;
    let bank = process.start_run("bank").await;
    process.call().await;
    process.task.abort();
    (disk, shop, bank)
}

async fn plan(process: &Process, unit: &str) -> Result<Arc<Plan>, Refusal> {
    process.hub.make_plan(UnitId::new(unit), Choices::default()).await.unwrap()
}

async fn only_one_set_aside(process: &Process, run: &RunId) -> SetAside {
    let mut status = process.hub.journal().await.unwrap();
    let set_aside = status.set_aside.pop().unwrap();
    assert!(status.set_aside.is_empty() && set_aside.run == *run, "{set_aside:?} {status:?}");
    set_aside
}

#[tokio::test(start_paused = true)]
async fn damaged_run_blocks_its_objects_until_it_is_released_and_the_other_goes_on() {
    let (mut disk, shop, bank) = two_runs().await;
    disk.damage(Shelf::Counts, shop.as_str());
    let mut process = Process::start(&disk);
    process.list(TWO).await;
    process.expect("GET ConfigMap bank/one", Outcome::NotFound).await;
    assert_eq!(process.run_state(&bank).await, RunState::Running);

    let found = only_one_set_aside(&process, &shop).await;
    assert_eq!(found.why, format!("the number of records of run {shop} is damaged"));
    assert!(found.started.is_some() && found.cluster.as_deref() == Some("test"), "{found:?}");
    let Blocks::Objects { unit, objects } = &found.blocks else { panic!("{found:?}") };
    assert_eq!((unit.as_str(), objects.len()), ("shop", 2));
    assert_eq!(process.hub.reading().await.unwrap().set_aside, 1);

    let refused = plan(&process, "shop").await;
    let is_named =
        |it: &Refusal| matches!(it, Refusal::SetAside { run, object: Some(_) } if *run == shop);
    assert!(refused.as_ref().is_err_and(is_named), "{refused:?}");
    process.list(&format!("{TWO}\n ns other of=other\n cm other/one of=other")).await;
    plan(&process, "other").await.unwrap();

    let unknown = process.hub.release(bank.clone(), "Li".into()).await.unwrap();
    assert_eq!(unknown, Err(Refusal::UnknownRun(bank)));
    process.hub.release(shop.clone(), "Li".into()).await.unwrap().unwrap();
    plan(&process, "shop").await.unwrap();
    process.task.abort();
    let process = Process::start(&disk);
    process.list(TWO).await;
    plan(&process, "shop").await.unwrap();
    let released = only_one_set_aside(&process, &shop).await.released;
    assert_eq!(released.unwrap().by, "Li");
    assert_eq!(process.hub.reading().await.unwrap().set_aside, 0);
}

#[tokio::test(start_paused = true)]
async fn released_run_does_not_go_on_by_itself_when_it_can_be_read_again() {
    let (disk, shop, _) = two_runs().await;
    let mut damaged = Disk::default();
    for line in recorded::written(&disk).lines() {
        damaged.write(&[recorded::put_of(line)]).unwrap();
    }
    damaged.damage(Shelf::Counts, shop.as_str());
    let process = Process::start(&damaged);
    process.list(TWO).await;
    process.hub.release(shop.clone(), "Li".into()).await.unwrap().unwrap();
    process.task.abort();
    // The record reads as it did before.
    let count = disk.read(Shelf::Counts, shop.as_str()).unwrap().unwrap();
    let put = Put::Named { shelf: Shelf::Counts, name: shop.to_string(), bytes: count };
    damaged.write(&[put]).unwrap();
    let process = Process::start(&damaged);
    process.list(TWO).await;
    let found = only_one_set_aside(&process, &shop).await;
    assert_eq!(found.why, "it was released while it could not be read");
    assert_eq!(found.released.unwrap().by, "Li");
    plan(&process, "shop").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn run_without_its_head_or_plan_blocks_its_whole_cluster() {
    for shelf in [Shelf::Runs, Shelf::Plans] {
        let (mut disk, shop, _) = two_runs().await;
        let journal = Journal::over(disk.clone());
        let name = match shelf {
            Shelf::Plans => journal.head(&shop).unwrap().unwrap().plan.to_string(),
            _ => shop.to_string(),
        };
        disk.damage(shelf, &name);
        let process = Process::start(&disk);
        process.list(&format!("{TWO}\n ns other of=other\n cm other/one of=other")).await;
        assert_eq!(only_one_set_aside(&process, &shop).await.blocks, Blocks::Cluster);
        let expected = Refusal::SetAside { run: shop.clone(), object: None };
        assert_eq!(plan(&process, "other").await.unwrap_err(), expected, "{shelf:?}");
        process.hub.release(shop, "Li".into()).await.unwrap().unwrap();
        plan(&process, "other").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn damaged_run_of_another_cluster_blocks_nothing_here() {
    let (mut disk, shop, _) = two_runs().await;
    disk.damage(Shelf::Counts, shop.as_str());
    let process = Process::before(&disk, "other");
    process.list(TWO).await;
    plan(&process, "shop").await.unwrap();
    assert_eq!(only_one_set_aside(&process, &shop).await.cluster.as_deref(), Some("test"));
    assert_eq!(process.hub.reading().await.unwrap().set_aside, 0);
}

#[tokio::test(start_paused = true)]
async fn damaged_run_with_a_recorded_end_blocks_nothing() {
    let (mut disk, shop, _) = two_runs().await;
    let mut process = Process::start(&disk);
    process.list(TWO).await;
    process.hub.command(shop.clone(), RunCommand::Stop, "Li".into()).await.unwrap().unwrap();
    loop {
        let (text, call) = process.call().await;
        process.answer(call, Outcome::NotFound).await;
        if text.contains("shop/one") {
            break;
        }
    }
    assert_eq!(process.run_state(&shop).await, RunState::Stopped);
    process.task.abort();
    disk.damage(Shelf::Counts, shop.as_str());
    let process = Process::start(&disk);
    process.list(TWO).await;
    assert_eq!(only_one_set_aside(&process, &shop).await.blocks, Blocks::Nothing);
    plan(&process, "shop").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn damaged_remedy_is_named_and_the_process_starts() {
    let mut disk = Disk::default();
    let bytes = b"4 0123456789abcdef {}".to_vec();
    let put = Put::Named { shelf: Shelf::Attempts, name: "a1".into(), bytes };
    disk.write(&[put]).unwrap();
    let process = Process::start(&disk);
    let status = process.hub.journal().await.unwrap();
    assert_eq!(status.remedies, [("a1".to_owned(), "remedy a1 is damaged".to_owned())]);
}
