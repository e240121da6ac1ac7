//! The data inside a page, and the messages that follow it, are read as they were written.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[expect(dead_code, reason = "the pages' test looks for more in it")]
mod consortium;

use app::PageSeed;
use teardown::message::{Message, Record, Revision};

#[test]
fn pages_and_deltas_are_read_as_they_were_written() {
    for seed in [
        consortium::unit(),
        consortium::all_states(),
        consortium::hostile(),
        consortium::nothing(),
        consortium::no_units(),
        consortium::unreachable(),
        consortium::units(),
        consortium::planned(),
        consortium::checked(),
        consortium::run(),
    ] {
        let read: PageSeed = serde_json::from_str(&serde_json::to_string(&seed).unwrap()).unwrap();
        assert_eq!((&read.message, &read.plan), (&seed.message, &seed.plan));
        assert_eq!((read.now, read.build, read.signed_in), (seed.now, seed.build, seed.signed_in));
        assert_eq!(read.right, seed.right);
        let Some(Message::Snapshot { revision, records }) = seed.message else { continue };
        let delta = Message::Delta {
            previous: revision,
            revision: Revision::next(revision),
            remove: records.iter().map(Record::key).collect(),
            put: records,
        };
        let read: Message = serde_json::from_str(&serde_json::to_string(&delta).unwrap()).unwrap();
        assert_eq!(read, delta);
    }
}

#[test]
fn message_of_another_kind_is_refused() {
    for text in ["", "null", "[]", "7", r#"{"snapshot":{}}"#, r#"{"news":{"revision":"1:1"}}"#] {
        assert!(serde_json::from_str::<Message>(text).is_err(), "{text}");
    }
}
