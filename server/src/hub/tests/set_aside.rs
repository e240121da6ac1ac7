//! Tests of runs that cannot be read after a restart: they are named, block what they may have worked on until a person
//! releases them, and the other runs go on.

use std::path::Path;

use super::{active_run::ActiveRun, *};
use crate::journal::FileStore;

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

/// A file with the content of the disk, in which the records of the two runs are on pages that are far from each other; as a process
/// left it that ended or was killed.
fn write_file(path: &Path, disk: &Disk, runs: [&RunId; 2], is_killed: bool) {
    let open = path.with_extension("open");
    let mut store = FileStore::open(&open).unwrap();
    for line in recorded::written(disk).lines() {
        store.write(&[recorded::put_of(line)]).unwrap();
    }
    // Records without a head are of no run. They are between those of the two.
    let between = format!("{}-", runs.into_iter().min().unwrap());
    let put = |number| Put::Record { run: between.clone(), number, bytes: vec![b' '; 500] };
    store.write(&(0..100).map(put).collect::<Vec<_>>()).unwrap();
    if !is_killed {
        drop(store);
    }
    std::fs::copy(&open, path).unwrap();
}

/// Damages a page of the file so that the records of one run cannot be read, and those of the other can.
fn damage_page(path: &Path, damaged: &RunId, whole: &RunId) {
    const PAGE: usize = 4096;
    let before = std::fs::read(path).unwrap();
    let id = damaged.as_str().as_bytes();
    let pages = before.chunks(PAGE).enumerate().skip(1);
    let named = pages.filter(|(_, page)| page.windows(id.len()).any(|it| it == id));
    // The number of keys in the page, and the highest byte of the ends of the first ones.
    let bytes_of = |(page, _)| [2, 7, 11, 15, 19, 23, 27, 31].map(|byte| page * PAGE + byte);
    for at in named.flat_map(bytes_of) {
        let mut bytes = before.clone();
        bytes[at] ^= 0x7f;
        std::fs::write(path, &bytes).unwrap();
        let is_found = FileStore::open(path).is_ok_and(|store| {
            let is_damaged = matches!(store.records(damaged.as_str()), Err(StoreError::Damaged(_)));
            let journal = Journal::over(store);
            let head = |run: &RunId| journal.head(run).ok().flatten();
            let goes_on = head(whole).is_some_and(|it| ActiveRun::replay(&journal, &it).is_ok());
            is_damaged && goes_on && head(damaged).is_some()
        });
        // Closing the file has written to it.
        std::fs::write(path, &bytes).unwrap();
        if is_found {
            return;
        }
    }
    panic!("no page has the records of one run alone");
}

#[tokio::test(start_paused = true)]
async fn run_on_a_damaged_page_of_the_file_is_set_aside_and_the_other_goes_on() {
    for is_killed in [false, true] {
        let (disk, shop, bank) = two_runs().await;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        write_file(&path, &disk, [&shop, &bank], is_killed);
        damage_page(&path, &shop, &bank);
        let mut process = on_file(&path);
        process.list(TWO).await;
        process.expect("GET ConfigMap bank/one", Outcome::NotFound).await;
        assert_eq!(process.run_state(&bank).await, RunState::Running);
        let failing = process.hub.journal().await.unwrap().failing;
        assert_eq!(failing, None, "its records can be written");
        let found = only_one_set_aside(&process, &shop).await;
        assert!(found.why.contains("the journal's file is damaged there"), "{found:?}");
        assert!(matches!(found.blocks, Blocks::Objects { .. }), "{found:?}");
        let refused = plan(&process, "shop").await;
        assert!(matches!(refused, Err(Refusal::SetAside { .. })), "{refused:?}");
    }
}

fn on_file(path: &Path) -> Process {
    let journal = Journal::open(path).unwrap();
    Process::on(journal, "test", |hub| hub, CancellationToken::new())
}

#[tokio::test(start_paused = true)]
async fn journal_with_a_rotten_first_page_is_named_and_blocks_the_cluster_until_it_is_released() {
    for is_killed in [false, true] {
        let (disk, shop, bank) = two_runs().await;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        write_file(&path, &disk, [&shop, &bank], is_killed);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[..4096].fill(0x5a);
        std::fs::write(&path, &bytes).unwrap();

        let whole = RunId::new("journal.damaged-1");
        let process = on_file(&path);
        process.list(TWO).await;
        let kept = std::fs::read(dir.path().join(whole.as_str())).unwrap();
        assert!(kept == bytes, "the file is as it was");
        let found = only_one_set_aside(&process, &whole).await;
        assert!(found.why.starts_with("the whole journal is damaged"), "{found:?}");
        assert_eq!(found.blocks, Blocks::Cluster);
        let expected = Refusal::SetAside { run: whole.clone(), object: None };
        assert_eq!(plan(&process, "shop").await.unwrap_err(), expected);

        process.hub.release(whole.clone(), "Li".into()).await.unwrap().unwrap();
        plan(&process, "shop").await.unwrap();
        process.task.abort();
        // The file is closed once the task is gone.
        assert!(process.task.await.is_err_and(|error| error.is_cancelled()));
        let mut process = on_file(&path);
        process.list(TWO).await;
        assert!(only_one_set_aside(&process, &whole).await.released.is_some());
        process.start_run("shop").await;
        assert!(process.call().await.0.contains("shop"));
    }
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
