//! The journal on stores that lose, repeat and damage records.

mod damage;

use proptest::prelude::*;
use teardown::unit::UnitId;

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event")]
enum Event {
    Began { by: String },
    Step { number: u32 },
}

fn run(id: &str) -> RunId {
    RunId::new(id)
}

fn head(id: &str) -> RunHead {
    RunHead {
        run: run(id),
        plan: PlanId::new("p"),
        started: Timestamp::UNIX_EPOCH,
        cluster: ClusterId::new("c", None),
    }
}

#[test]
fn cluster_is_the_same_although_rights_come_and_go() {
    let (one, two) = (Uid::new("u-1"), Uid::new("u-2"));
    let seen = ClusterId::new("prod", Some(&one));
    assert!(seen.is(&ClusterId::new("renamed", Some(&one))));
    assert!(!seen.is(&ClusterId::new("prod", Some(&two))), "recreated under its name");
    for (one, two) in
        [(&seen, &ClusterId::new("prod", None)), (&ClusterId::new("prod", None), &seen)]
    {
        assert!(one.is(two));
    }
    assert!(!seen.is(&ClusterId::new("test", None)));
    let before: ClusterId = serde_json::from_str(r#"{"cluster":"u-1"}"#).unwrap();
    assert!(before.is(&seen) && !before.is(&ClusterId::new("prod", None)));
}

fn steps(numbers: std::ops::Range<u32>) -> Vec<Event> {
    numbers.map(|number| Event::Step { number }).collect()
}

fn append(
    journal: &mut Journal,
    id: &str,
    first: u64,
    events: &[Event],
) -> Result<(), JournalError> {
    journal.append(&[Batch { run: &run(id), first, events }])
}

fn plan() -> Plan {
    Plan {
        id: PlanId::new("p"),
        hash: "p".into(),
        unit: UnitId::new("shop"),
        made: Timestamp::UNIX_EPOCH,
        steps: vec![],
        kept: vec![],
        data: vec![],
        choices: teardown::plan::Choices::default(),
        by_name: Vec::new(),
        ephemeral: Vec::new(),
        left_to_cluster: vec![],
        given_up: vec![],
        unlistable: vec![],
        waived: vec![],
        losses: vec![],
        waivable: vec![],
        hidden: vec![],
    }
}

/// Checks the properties that every store must have.
fn check(mut journal: Journal) {
    let mut events = vec![Event::Began { by: "Li".into() }];
    journal.begin(&head("b"), &plan(), &events).unwrap();
    journal.begin(&head("a"), &plan(), &steps(7..8)).unwrap();
    append(&mut journal, "b", 1, &steps(0..3)).unwrap();
    append(&mut journal, "b", 4, &steps(0..0)).unwrap();

    // A gap, an overwrite and a refused batch all write nothing.
    for first in [0, 3, 5, u64::MAX] {
        let refused = append(&mut journal, "b", first, &steps(8..9));
        assert!(
            matches!(refused, Err(JournalError::Store(StoreError::OutOfOrder { .. }))),
            "{first}"
        );
    }
    assert!(journal.begin(&head("b"), &plan(), &steps(0..1)).is_err());

    events.extend(steps(0..3));
    assert_eq!(journal.replay::<Event>(&run("b")).unwrap(), events);
    assert_eq!(journal.replay::<Event>(&run("a")).unwrap(), steps(7..8));
    assert_eq!(journal.replay::<Event>(&run("c")).unwrap(), vec![]);
    let heads = journal.runs().unwrap().into_iter().map(|(_, head)| head.unwrap());
    assert_eq!(heads.collect::<Vec<_>>(), [head("a"), head("b")]);
    assert_eq!(journal.head(&run("a")).unwrap(), Some(head("a")));
    assert_eq!(journal.count(&run("b")).unwrap(), 4);
    assert_eq!(journal.last(&run("b")), Some(Event::Step { number: 2 }));

    // Batches of several runs are written together or not at all.
    let (a, b) = (run("a"), run("b"));
    let (eight, nine) = (steps(8..9), steps(9..10));
    let mut both = [
        Batch { run: &a, first: 1, events: &eight[..] },
        Batch { run: &b, first: 5, events: &nine[..] },
    ];
    assert!(journal.append(&both).is_err());
    assert_eq!(journal.count(&a).unwrap(), 1);
    both[1].first = 4;
    journal.append(&both).unwrap();
    assert_eq!(journal.replay::<Event>(&a).unwrap(), steps(7..9));
    assert_eq!(journal.count(&b).unwrap(), 5);

    let release = Release { by: "Li".into(), at: Timestamp::UNIX_EPOCH };
    journal.put_release(&a, &release).unwrap();
    let releases = journal.releases().unwrap().into_iter();
    assert_eq!(
        releases.map(|(run, it)| (run, it.unwrap())).collect::<Vec<_>>(),
        [("a".to_owned(), release)]
    );
    journal.check().unwrap();

    let old = Old {
        runs: vec![b.clone()],
        plans: vec![PlanId::new("p")],
        attempts: vec!["never".to_owned()],
    };
    journal.remove(&old).unwrap();
    let runs = journal.runs().unwrap().into_iter().map(|(run, _)| run);
    assert_eq!(runs.collect::<Vec<_>>(), std::slice::from_ref(&a));
    assert_eq!(journal.replay::<Event>(&b).unwrap(), vec![]);
    assert_eq!(journal.replay::<Event>(&a).unwrap(), steps(7..9));
    assert_eq!(journal.plan(&PlanId::new("p")).unwrap(), None);
    assert_eq!(journal.plan(&PlanId::new("q")).unwrap(), None);
}

#[test]
fn memory_store_has_the_properties_of_every_store() {
    check(Journal::in_memory());
}

#[test]
fn file_store_has_the_properties_of_every_store() {
    let dir = tempfile::tempdir().unwrap();
    check(Journal::open(&dir.path().join("journal")).unwrap());
}

#[test]
fn another_process_reads_the_written_events() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.begin(&head("r"), &plan(), &steps(0..2)).unwrap();
    drop(journal);
    let mut journal = Journal::open(&path).unwrap();
    append(&mut journal, "r", 2, &steps(2..4)).unwrap();
    assert_eq!(journal.replay::<Event>(&run("r")).unwrap(), steps(0..4));
}

/// A store with one record, as a damaged disk or another program would leave it.
fn holding(bytes: &[u8]) -> Journal {
    let mut store = MemoryStore::default();
    store.write(&[Put::Record { run: "r".into(), number: 0, bytes: bytes.to_vec() }]).unwrap();
    let count = encode(1, &1, &Place::Count("r")).unwrap();
    store.write(&[Put::Named { shelf: Shelf::Counts, name: "r".into(), bytes: count }]).unwrap();
    for shelf in [Shelf::Plans, Shelf::Runs] {
        store.write(&[Put::Named { shelf, name: "r".into(), bytes: bytes.to_vec() }]).unwrap();
    }
    Journal::over(store)
}

#[test]
fn run_without_its_head_or_with_that_of_another_is_named() {
    let mut store = MemoryStore::default();
    let named = |shelf, name: &str, bytes| Put::Named { shelf, name: name.into(), bytes };
    let count = encode(1, &1, &Place::Count("lost")).unwrap();
    let other = encode(1, &head("r"), &Place::Head("moved")).unwrap();
    store
        .write(&[named(Shelf::Counts, "lost", count), named(Shelf::Runs, "moved", other)])
        .unwrap();
    let runs = Journal::over(store).runs().unwrap().into_iter();
    let errors: Vec<_> = runs.map(|(id, head)| (id, head.unwrap_err().to_string())).collect();
    let expected = [
        (run("lost"), "run lost has no head".to_owned()),
        (run("moved"), "the head of run moved is damaged".to_owned()),
    ];
    assert_eq!(errors, expected);
}

#[test]
fn process_that_writes_has_the_next_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    for expected in 1..4 {
        let mut journal = Journal::open(&path).unwrap();
        journal.begin(&head(&format!("r{expected}")), &plan(), &steps(0..1)).unwrap();
        journal.check().unwrap();
        assert_eq!(epoch::last(&*journal.store).unwrap(), expected);
    }
}

#[test]
fn damaged_epoch_stops_no_write_and_is_written_anew() {
    let mut store = MemoryStore::default();
    let plan_of_4 = encode(4, &plan(), &Place::Plan("p")).unwrap();
    let named = |shelf, name: &str, bytes| Put::Named { shelf, name: name.into(), bytes };
    let puts = [
        named(Shelf::Plans, "p", plan_of_4),
        named(Shelf::Epoch, "epoch", b"5.4 0123456789abcdef 4".to_vec()),
    ];
    store.write(&puts).unwrap();
    let mut journal = Journal::over(store);
    journal.begin(&head("r"), &plan(), &steps(0..1)).unwrap();
    assert_eq!(epoch::last(&*journal.store).unwrap(), 5);
    let bytes = journal.store.read(Shelf::Epoch, "epoch").unwrap().unwrap();
    assert_eq!(decode::<u64>(&bytes, &Place::Epoch).unwrap(), 5);
}

#[test]
fn damaged_record_is_an_error() {
    let whole = encode(1, &Event::Began { by: "Li".into() }, &Place::Record("r", 0)).unwrap();
    for end in 0..whole.len() {
        let read = holding(&whole[..end]).replay::<Event>(&run("r"));
        assert!(matches!(read, Err(JournalError::Damaged { .. })), "cut at {end}");
    }
    for at in 1..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let read = holding(&bytes).replay::<Event>(&run("r"));
        assert!(matches!(read, Err(JournalError::Damaged { .. })), "changed at {at}");
    }
    let moved = encode(1, &Event::Began { by: "Li".into() }, &Place::Record("r", 1)).unwrap();
    assert!(matches!(
        holding(&moved).replay::<Event>(&run("r")),
        Err(JournalError::Damaged { .. })
    ));
    assert_eq!(holding(&whole).replay::<Event>(&run("r")).unwrap().len(), 1);
}

#[test]
fn record_of_another_version_is_an_error_with_that_version() {
    let read = holding(b"1 and something else").replay::<Event>(&run("r"));
    insta::assert_snapshot!(read.unwrap_err(), @"record 0 of run r is written in version 1; this program reads versions 4 to 9");
}

/// A store that has lost some records.
struct Losing {
    store: MemoryStore,
    lost: fn(u64) -> bool,
}

impl Store for Losing {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        self.store.write(puts)
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read(shelf, name)
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.store.list(shelf)
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let kept = self.store.records(run)?;
        Ok(kept.into_iter().filter(|(number, _)| !(self.lost)(*number)).collect())
    }
}

#[test]
fn lost_records_are_an_error() {
    let replay = |lost| {
        let mut journal = Journal::over(Losing { store: MemoryStore::default(), lost });
        journal.begin(&head("r"), &plan(), &steps(0..4)).unwrap();
        journal.replay::<Event>(&run("r")).map_err(|error| error.to_string())
    };
    assert_eq!(replay(|_| false), Ok(steps(0..4)));
    insta::assert_snapshot!(replay(|number| number == 1).unwrap_err(), @"run r has 3 records, and 4 were written");
    insta::assert_snapshot!(replay(|number| number == 3).unwrap_err(), @"run r has 3 records, and 4 were written");
    insta::assert_snapshot!(replay(|_| true).unwrap_err(), @"run r has 0 records, and 4 were written");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let journal = holding(&bytes);
        let _ = journal.replay::<Event>(&run("r"));
        let _ = journal.plan(&PlanId::new("r"));
        let _ = journal.runs();
    }

    #[test]
    fn any_json_is_read_without_a_panic(text in r#"\{"event":"(Began|Step|x)",[\[\]{}",:a-z0-9]{0,40}\}"#) {
        let _ = holding(&seal(1, text.as_bytes(), &Place::Record("r", 0))).replay::<Event>(&run("r"));
    }

    #[test]
    fn any_batches_come_back_in_order(sizes in proptest::collection::vec(0u32..5, 0..8)) {
        let mut journal = Journal::in_memory();
        let mut count = 0;
        for size in sizes {
            append(&mut journal, "r", u64::from(count), &steps(count..count + size)).unwrap();
            count += size;
        }
        prop_assert_eq!(journal.replay::<Event>(&run("r")).unwrap(), steps(0..count));
    }
}
