//! The texts of the state of the cluster, and of the kinds that cannot be seen.

use teardown::message::{AwayCause, HiddenCause, HiddenKindCard};

use super::{super::visible, many};

pub const AWAY_MEANS: &str = "This page shows the last known state. Unwind does not count an object as gone until the cluster confirms it, and repeats requests that got no answer.";
pub const READING: &str = "Still reading the cluster";
pub const READING_MEANS: &str = "Objects and edges may be missing until every kind has been listed once. A plan can be made after that.";
pub const HIDDEN_MEANS: &str = "Unwind cannot tell whether such objects exist, and never counts them as gone: whatever waits for one keeps waiting.";

/// The banner about kinds that cannot be seen.
pub fn hidden_kinds(cards: &[HiddenKindCard]) -> String {
    match cards {
        [one] => format!("Cannot list {}: {}", visible(&one.resource), hidden_cause(one.cause)),
        many => format!("Cannot list {} kinds", many.len()),
    }
}

/// In which way the cluster is away.
pub fn away(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => "The cluster does not answer",
        AwayCause::Unauthorized => "The cluster does not accept our credentials",
        AwayCause::Failing => "The cluster answers with errors",
    }
}

/// The advice about it.
pub fn away_do(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => {
            "Unwind keeps trying. See whether `kubectl cluster-info` gets through from the machine that Unwind runs on."
        }
        AwayCause::Unauthorized => {
            "They may have expired or been revoked. Check `kubectl auth whoami`; if it fails, log in again and restart Unwind, which continues where it stopped."
        }
        AwayCause::Failing => {
            "Unwind keeps trying. See what `kubectl get --raw /readyz?verbose` reports as unhealthy."
        }
    }
}

/// The advice about kinds that cannot be listed.
pub fn hidden_advice(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => {
            "Forbidden kinds: let the account that Unwind uses `list` and `watch` them; they show up within a minute."
        }
        HiddenCause::Discovery => {
            "Kinds missing from discovery: `kubectl get apiservices` shows which API is not available, and why."
        }
        HiddenCause::Failing => {
            "Failing kinds: Unwind keeps trying; fix what the API server reports."
        }
    }
}

/// Why a kind cannot be seen.
pub fn hidden_cause(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => "not allowed to list or watch it",
        HiddenCause::Discovery => "its API is down",
        HiddenCause::Failing => "the API server fails to list or watch it",
    }
}

/// The number of things that Unwind switched off.
pub fn switched_off(count: usize) -> String {
    format!("{} switched off", many(count, "thing is", "things are"))
}

/// The heading of the page about them, which the server writes.
pub const SWITCHED_OFF: &str = "Switched off by Unwind";
/// Above the remedies that persons had Unwind do.
pub const REMEDIES_DONE: &str = "Done lately";
pub const NOTHING_SWITCHED_OFF: &str = "Nothing is switched off.";
/// The link to it.
pub const PUT_BACK: &str = "Put back…";
