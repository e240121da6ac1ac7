//! The data inside a page, and the messages that follow it, are read as they were written.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[expect(dead_code, reason = "the pages' test looks for more in it")]
mod consortium;
mod variants;

use std::fmt::Debug;

use app::PageSeed;
use serde::{Serialize, de::DeserializeOwned};
use teardown::message::{Message, Record, Revision, Topic};

fn assert_read_as_written<T: Serialize + DeserializeOwned + PartialEq + Debug>(sent: &T) {
    let text = serde_json::to_string(sent).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *sent, "{text}");
}

#[test]
fn variants_are_read_as_they_were_written() {
    // One by one first, so that a failure shows a single record.
    variants::records().iter().for_each(assert_read_as_written);
    variants::keys().iter().for_each(assert_read_as_written);
    variants::messages().iter().for_each(assert_read_as_written);
    variants::demo_commands().iter().for_each(assert_read_as_written);
    for topic in variants::topics() {
        assert_eq!(topic.to_string().parse::<Topic>(), Ok(topic));
    }
}

#[test]
fn pages_and_deltas_are_read_as_they_were_written() {
    let pages = [
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
    ];
    for seed in pages.into_iter().chain(variants::seeds()) {
        let read: PageSeed = serde_json::from_str(&serde_json::to_string(&seed).unwrap()).unwrap();
        assert_eq!((&read.message, &read.plan), (&seed.message, &seed.plan));
        assert_eq!((&read.advice, &read.refusal), (&seed.advice, &seed.refusal));
        assert_eq!((read.now, read.build, read.signed_in), (seed.now, seed.build, seed.signed_in));
        assert_eq!(read.right, seed.right);
        let Some(Message::Snapshot { revision, records }) = seed.message else { continue };
        assert_read_as_written(&Message::Delta {
            previous: revision,
            revision: Revision::next(revision),
            remove: records.iter().map(Record::key).collect(),
            put: records,
        });
    }
}

#[test]
fn message_of_another_kind_is_refused() {
    for text in ["", "null", "[]", "7", r#"{"snapshot":{}}"#, r#"{"news":{"revision":"1:1"}}"#] {
        assert!(serde_json::from_str::<Message>(text).is_err(), "{text}");
    }
}
