//! What shows that something that was drawn took effect, where no request carries a note of it.

use std::{collections::BTreeSet, sync::Arc};

use sandbox::{
    log::Entry,
    object::condition,
    store::{Change, Event},
};
use serde_json::Value;

use crate::{
    ledger::{Known, event_name},
    oracle::USER,
    state::text,
};

/// What is seen in some game of a thousand: what befalls the cluster, and everything a run can tell of itself.
pub(crate) const TRACES: [&str; 28] = [
    "a node that is silent",
    "a Pod that is evicted from one",
    "a volume that is busy",
    "a file handle that is stale",
    "a webhook that denies",
    "a webhook that does not answer",
    "a namespace that waits for discovery",
    "an object that is made again",
    "a clock that is set back",
    "a second run",
    "started",
    "recovered",
    "paused",
    "resumed",
    "stopping",
    "callStarted",
    "accepted",
    "postponed",
    "noEffect",
    "recalled",
    "becameUnknown",
    "becameKnown",
    "terminating",
    "overdue",
    "gone",
    "cameBack",
    "skipped",
    "finished",
];

/// What a game left behind.
pub(crate) struct Remains<'a> {
    /// Every change of an object.
    pub(crate) events: &'a [Arc<Event>],
    /// Every request that was answered.
    pub(crate) entries: &'a [Entry],
    /// The journals of the runs.
    pub(crate) known: &'a Known,
    /// What the kubelets logged.
    pub(crate) logs: &'a [String],
}

impl Remains<'_> {
    /// Those of [`TRACES`] that are in them.
    pub(crate) fn traces(&self) -> BTreeSet<&'static str> {
        TRACES.into_iter().filter(|trace| self.has(trace)).collect()
    }

    fn has(&self, trace: &str) -> bool {
        match trace {
            "a node that is silent" => self.any("nodes", |node| is(node, "Ready", "Unknown")),
            "a Pod that is evicted from one" => self.any("pods", |pod| {
                condition(pod, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
            }),
            "a volume that is busy" => self.logs.iter().any(|line| line.contains("target is busy")),
            "a file handle that is stale" => {
                self.logs.iter().any(|line| line.contains("stale NFS file handle"))
            }
            "a webhook that denies" => self.is_refused_with(|code| matches!(code, 400 | 403)),
            "a webhook that does not answer" => self.is_refused_with(|code| code == 500),
            "a namespace that waits for discovery" => self.any("namespaces", |namespace| {
                is(namespace, "NamespaceDeletionDiscoveryFailure", "True")
            }),
            "an object that is made again" => self.is_made_again(),
            "a clock that is set back" => self.is_set_back(),
            "a second run" => self.known.runs.len() > 1,
            told => self.known.events.values().flatten().any(|event| event_name(event) == told),
        }
    }

    fn any(&self, plural: &str, is_it: impl Fn(&Value) -> bool) -> bool {
        self.events.iter().any(|event| &*event.key.plural == plural && is_it(&event.object))
    }

    /// Whether a DELETE of the server was refused, with none of the faults that strike requests.
    fn is_refused_with(&self, code: impl Fn(u16) -> bool) -> bool {
        let deletes = self.entries.iter().filter(|it| it.actor == USER && it.verb == "delete");
        deletes.filter(|it| it.fault.is_none()).any(|it| code(it.code))
    }

    /// Whether something came back that no controller makes.
    fn is_made_again(&self) -> bool {
        let mut gone = BTreeSet::new();
        let plurals = ["deployments", "statefulsets"];
        let workloads = self.events.iter().filter(|it| plurals.contains(&&*it.key.plural));
        workloads.into_iter().any(|event| match event.change {
            Change::Deleted => !gone.insert(&event.key),
            Change::Added => gone.contains(&event.key),
            Change::Modified => false,
        })
    }

    /// Whether something was made before what was made before it.
    fn is_set_back(&self) -> bool {
        let made = self.events.iter().filter(|event| event.change == Change::Added);
        let times = made.map(|event| text(&event.object, "/metadata/creationTimestamp"));
        times.clone().zip(times.skip(1)).any(|(one, next)| next < one)
    }
}

fn is(object: &Value, of: &str, status: &str) -> bool {
    condition(object, of)["status"] == status
}
