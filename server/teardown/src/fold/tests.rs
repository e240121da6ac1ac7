use jiff::Timestamp;

use super::*;
use crate::run::{FeedEntry, FeedEvent};

fn record(number: u64, text: &str) -> Record {
    let event = FeedEvent::Started { by: text.to_owned() };
    Record::Event(FeedEntry { number, at: Timestamp::UNIX_EPOCH, event })
}

fn view(count: u64, records: &[(u64, &str)]) -> View {
    View::new(
        Revision { boot: 0xb007, count },
        records.iter().map(|(number, text)| record(*number, text)),
    )
}

fn now(records: &[(u64, &str)]) -> Vec<Record> {
    records.iter().map(|(number, text)| record(*number, text)).collect()
}

#[test]
fn delta_contains_only_the_last_state_of_changed_records() {
    let mut server = view(0, &[(1, "a"), (2, "b"), (3, "c")]);
    let delta = server.advance(now(&[(1, "a"), (2, "B"), (4, "d")])).unwrap();
    let Message::Delta { put, remove, previous, revision } = &delta else { panic!("{delta:?}") };
    assert_eq!(put, &now(&[(2, "B"), (4, "d")]));
    assert_eq!(remove, &[Key::Event(3)]);
    assert_eq!((previous.count, revision.count), (0, 1));
    assert_eq!(
        server.advance(now(&[(1, "a"), (2, "B"), (4, "d")])),
        None,
        "nothing changed, no number is spent"
    );
}

#[test]
fn repeated_delta_is_ignored_and_gap_is_refused() {
    let mut server = view(0, &[]);
    let mut reader = server.clone();
    let first = server.advance(now(&[(1, "a")])).unwrap();
    let second = server.advance(now(&[(1, "b")])).unwrap();
    let third = server.advance(now(&[(1, "c")])).unwrap();
    assert_eq!(reader.apply(first.clone()), Ok(vec![Key::Event(1)]));
    assert_eq!(reader.apply(first), Ok(vec![]));
    assert!(reader.apply(third.clone()).is_err());
    assert_eq!(reader.apply(second), Ok(vec![Key::Event(1)]));
    assert_eq!(reader.apply(third), Ok(vec![Key::Event(1)]));
    assert_eq!(reader, server);
}

#[test]
fn snapshot_of_any_revision_replaces_all_records() {
    let mut reader = view(900, &[(1, "old"), (2, "old")]);
    let server = view(3, &[(2, "new")]);
    let changed = reader.apply(server.snapshot()).unwrap();
    assert_eq!(changed, [Key::Event(1), Key::Event(2)]);
    assert_eq!(reader, server);
}

#[test]
fn delta_of_another_boot_is_refused() {
    let mut reader = view(0, &[]);
    let mut restarted = View::new(Revision { boot: 1, count: 0 }, []);
    let delta = restarted.advance(now(&[(1, "a")])).unwrap();
    assert!(reader.apply(delta).is_err());
}
