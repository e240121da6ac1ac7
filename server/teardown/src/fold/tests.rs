use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::run::{FeedEntry, FeedEvent};

fn record(number: u64, text: &str) -> Record {
    let event = FeedEvent::Started { by: text.to_owned() };
    Record::Event(FeedEntry { number, at: Timestamp::UNIX_EPOCH, event })
}

fn now(records: &[(u64, &str)]) -> Vec<Record> {
    records.iter().map(|(number, text)| record(*number, text)).collect()
}

fn published(records: &[(u64, &str)]) -> Publication {
    let mut publication = Publication::new(Revision { boot: 0xb007, count: 0 });
    publication.advance(now(records));
    publication
}

/// A reader who has read all of it.
fn reader_of(publication: &Publication) -> View {
    let mut reader = View::new(Revision { boot: 0, count: 0 }, []);
    reader.apply(publication.snapshot()).unwrap();
    reader
}

#[test]
fn delta_contains_only_the_last_state_of_changed_records() {
    let mut server = published(&[(1, "a"), (2, "b"), (3, "c")]);
    let before = server.revision();
    let delta = server.advance(now(&[(1, "a"), (2, "B"), (4, "d")])).unwrap();
    let Message::Delta { put, remove, previous, revision } = &delta else { panic!("{delta:?}") };
    assert_eq!(put, &now(&[(2, "B"), (4, "d")]));
    assert_eq!(remove, &[Key::Event(3)]);
    assert_eq!((*previous, *revision), (before, before.next()));
    assert_eq!(
        server.advance(now(&[(1, "a"), (2, "B"), (4, "d")])),
        None,
        "nothing changed, no number is spent"
    );
}

#[test]
fn records_that_never_change_are_in_snapshots_and_in_no_delta() {
    let start = Revision { boot: 7, count: 0 };
    let mut server = Publication::with_lasting(start, now(&[(9, "z")]));
    let delta = server.advance(now(&[(1, "a")])).unwrap();
    let Message::Delta { put, remove, .. } = &delta else { panic!("{delta:?}") };
    assert_eq!((put, remove), (&now(&[(1, "a")]), &vec![]));
    let mut reader = reader_of(&server);
    assert_eq!(reader.records().keys().collect::<Vec<_>>(), [&Key::Event(1), &Key::Event(9)]);
    reader.apply(server.advance(now(&[])).unwrap()).unwrap();
    assert_eq!(reader.records().keys().collect::<Vec<_>>(), [&Key::Event(9)]);
}

/// Two edges of a plan may have one key.
#[test]
fn key_that_is_there_twice_is_removed_only_with_its_last_record() {
    let mut server = published(&[(1, "a"), (2, "b"), (1, "a"), (3, "c")]);
    let mut reader = reader_of(&server);
    reader
        .apply(
            server
                .advance(now(&[(1, "a"), (2, "b"), (3, "c")]))
                .unwrap_or_else(|| server.snapshot()),
        )
        .unwrap();
    assert_eq!(
        reader.records().keys().collect::<Vec<_>>(),
        [&Key::Event(1), &Key::Event(2), &Key::Event(3)]
    );
}

#[test]
fn repeated_delta_is_ignored_and_gap_is_refused() {
    let mut server = published(&[]);
    let mut reader = reader_of(&server);
    let first = server.advance(now(&[(1, "a")])).unwrap();
    let second = server.advance(now(&[(1, "b")])).unwrap();
    let third = server.advance(now(&[(1, "c")])).unwrap();
    assert_eq!(reader.apply(first.clone()), Ok(vec![Key::Event(1)]));
    assert_eq!(reader.apply(first), Ok(vec![]));
    assert!(reader.apply(third.clone()).is_err());
    assert_eq!(reader.apply(second), Ok(vec![Key::Event(1)]));
    assert_eq!(reader.apply(third), Ok(vec![Key::Event(1)]));
    assert_eq!(reader, reader_of(&server));
}

#[test]
fn snapshot_of_any_revision_replaces_all_records() {
    let mut reader = reader_of(&published(&[(1, "old"), (2, "old")]));
    let server = published(&[(2, "new")]);
    let changed = reader.apply(server.snapshot()).unwrap();
    assert_eq!(changed, [Key::Event(1), Key::Event(2)]);
    assert_eq!(reader, reader_of(&server));
}

#[test]
fn delta_of_another_boot_is_refused() {
    let mut reader = reader_of(&published(&[]));
    let mut restarted = Publication::new(Revision { boot: 1, count: 0 });
    let delta = restarted.advance(now(&[(1, "a")])).unwrap();
    assert!(reader.apply(delta).is_err());
}

proptest! {
    /// Records come, go, change and swap their places, at the beginning, in the middle and at the end.
    #[test]
    fn reader_of_deltas_has_what_a_new_reader_gets(
        rounds in proptest::collection::vec(proptest::collection::vec((0u64..12, 0u8..3), 0..14), 1..8),
    ) {
        let mut server = published(&[]);
        let mut reader = reader_of(&server);
        for round in rounds {
            let records: BTreeMap<u64, u8> = round.iter().copied().collect();
            let mut records: Vec<Record> =
                records.iter().map(|(number, text)| record(*number, &text.to_string())).collect();
            // An order that differs from round to round.
            let start = round.len() % records.len().max(1);
            records.rotate_left(start);
            if let Some(delta) = server.advance(records) {
                reader.apply(delta).unwrap();
            }
            prop_assert_eq!(&reader, &reader_of(&server));
        }
    }
}
