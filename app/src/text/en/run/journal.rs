//! The texts about the server's journal: the notice on every page, and the page that the server writes about it.

use jiff::Timestamp;
use teardown::object::ObjectRef;

use crate::text::{absolute, isolated, many, names};

/// The notice on every page, which leads to the page about the journal.
pub const JOURNAL_NOTICE: &str = "The journal has a problem that blocks work. See";

pub const JOURNAL: &str = "Journal";
pub const JOURNAL_SOUND: &str = "The journal is writable, and every run in it is readable.";
pub const JOURNAL_FAILING_MEANS: &str = "Until it can be written, Unwind changes nothing in the cluster and starts no run and no remedy. Deletions already requested continue.";
pub const JOURNAL_FAILING_DO: &str = "Free disk space for the state directory, or restore its permissions. Unwind retries at least every 30 s, and then continues.";
pub const UNREADABLE_ENDED: &str = "Its end is recorded, so it holds nothing up.";
pub const UNREADABLE_BLOCKS_ALL: &str = "Neither its end nor its plan can be read: it may still be deleting any object. Until you release the run, no plan can be made in its cluster.";
pub const UNREADABLE_DO: &str = "Look at the objects in the cluster. Once no deletion of this run is in progress, release the run. It does not resume, and the journal keeps its record.";
pub const UNREADABLE_CHECKED: &str = "I have looked at the objects";
pub const UNREADABLE_RIGHT: &str = "Your session may not release it: that needs the right to act.";
pub const UNREADABLE_REMEDY: &str =
    "It holds nothing up and is not repeated. The audit log of the API server has its request.";

/// The heading while the journal cannot be written.
pub fn journal_failing(since: Timestamp) -> String {
    format!("The journal has not been writable since {}", absolute(since))
}

/// The heading of a run that cannot be read.
pub fn unreadable_run(run: &str) -> String {
    format!("Run {} cannot be read", isolated(run))
}

/// The heading of a remedy that cannot be read.
pub fn unreadable_remedy(remedy: &str) -> String {
    format!("Remedy {} cannot be read", isolated(remedy))
}

/// The times of a run that cannot be read, and its cluster.
pub fn unreadable_since(
    found: Timestamp,
    started: Option<Timestamp>,
    cluster: Option<&str>,
) -> String {
    let mut text = format!("Found at the start of this server, {}.", absolute(found));
    if let Some(started) = started {
        text += &format!(" The run started {}", absolute(started));
        if let Some(cluster) = cluster {
            text += &format!(" in the cluster {}", isolated(cluster));
        }
        text.push('.');
    }
    text
}

/// The objects that nobody may plan with because of a run that cannot be read.
pub fn unreadable_blocks(unit: &str, objects: &[ObjectRef]) -> String {
    format!(
        "Its end is not recorded, so it may still be deleting. Until you release the run, no plan can include {} of {}: {}.",
        many(objects.len(), "object", "objects"),
        isolated(unit),
        names(objects)
    )
}

/// The button that releases a run that cannot be read.
pub fn release(run: &str) -> String {
    format!("Release run {}", isolated(run))
}

/// The person who released a run that cannot be read.
pub fn released(by: &str, at: Timestamp) -> String {
    format!("{} released it, {}.", isolated(by), absolute(at))
}
