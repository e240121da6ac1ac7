//! Coverage: whether generated faults and features took effect, where no log of requests shows it.

use std::{collections::BTreeSet, sync::Arc};

use sandbox::{
    log::Entry,
    object::condition,
    store::{Change, Event},
};
use serde_json::Value;

use crate::{
    application::{
        driver::PLUGIN,
        late_object::{LAGGING, NEW_PLURAL, UNPLANNED},
    },
    disk::{JournalRecords, event_name},
    oracle::USER,
    state::{list, text},
    transport::Arrival,
};

/// Effects that must occur in at least one of a thousand runs: faults of the cluster, and every event of a run.
pub(crate) const EFFECTS: [&str; 51] = [
    "a node that is silent",
    "a Pod that is evicted from a silent node",
    "a volume that is busy",
    "a file handle that is stale",
    "a webhook that denies",
    "a webhook that does not answer",
    "a namespace that waits for discovery",
    "an object that is created again",
    "a clock that is set back",
    "a second run",
    "a journal that cannot be written",
    "a failed write that was kept",
    "a Pod that is gone from the API alone",
    "a Pod of a controller that lags",
    "a ConfigMap that is newer than the plan",
    "a LimitRange that no watch shows",
    "an object of a kind that is newer than the plan",
    "a custom resource that nobody may list",
    "an Ingress that came before the plan and was not in it",
    "a namespace that is held by what it contains",
    "a DELETE that orphans",
    "a DELETE that is answered 408 after its effect",
    "a watch of one namespace",
    "a driver that goes after its volumes",
    "an operator that is kept for others",
    "an object that goes although others use it",
    "a server that crashes before its recovery is recorded",
    "a step whose object somebody asks to keep",
    "a step that waits because of a hint",
    "takenOn",
    "started",
    "recovered",
    "paused",
    "resumed",
    "stopping",
    "callStarted",
    "suspendStarted",
    "suspended",
    "accepted",
    "postponed",
    "refusedAgain",
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

/// The records that a simulation run leaves.
pub(crate) struct Artifacts<'a> {
    /// Every change of an object.
    pub(crate) events: &'a [Arc<Event>],
    /// Every request that was answered.
    pub(crate) entries: &'a [Entry],
    /// Every DELETE of the server.
    pub(crate) arrivals: &'a [Arrival],
    /// The journals of the runs.
    pub(crate) journal: &'a JournalRecords,
    /// The logs of the kubelets.
    pub(crate) logs: &'a [String],
}

impl Artifacts<'_> {
    /// The [`EFFECTS`] that occurred.
    pub(crate) fn effects(&self) -> BTreeSet<&'static str> {
        EFFECTS.into_iter().filter(|effect| self.has(effect)).collect()
    }

    fn has(&self, effect: &str) -> bool {
        match effect {
            "a node that is silent" => self.any("nodes", |node| is(node, "Ready", "Unknown")),
            "a Pod that is evicted from a silent node" => self.any("pods", |pod| {
                condition(pod, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
            }),
            "a volume that is busy" => self.is_logged(&["target is busy", "device is busy"]),
            "a file handle that is stale" => self.is_logged(&["Stale file handle"]),
            "a webhook that denies" => self.is_refused_with(|code| matches!(code, 400 | 403)),
            "a webhook that does not answer" => self.is_refused_with(|code| code == 500),
            "a namespace that waits for discovery" => self.any("namespaces", |namespace| {
                is(namespace, "NamespaceDeletionDiscoveryFailure", "True")
            }),
            "an object that is created again" => self.is_recreated(),
            "a clock that is set back" => self.is_set_back(),
            "a journal that cannot be written" => self.journal.lost > 0,
            "a failed write that was kept" => self.journal.kept > 0,
            "a second run" => self.journal.runs.len() > 1,
            "a Pod that is gone from the API alone" => {
                let mut events = self.journal.events.values().flatten();
                events.any(|event| event["event"]["unconfirmed"] == true)
            }
            "a Pod of a controller that lags" => {
                self.any("pods", |pod| text(pod, "/metadata/name").ends_with(LAGGING))
            }
            "a ConfigMap that is newer than the plan" => self.any("configmaps", is_unplanned),
            "a LimitRange that no watch shows" => self.any("limitranges", is_unplanned),
            "an object of a kind that is newer than the plan" => self.any(NEW_PLURAL, is_unplanned),
            "a custom resource that nobody may list" => self.any("widgets", is_unplanned),
            "an Ingress that came before the plan and was not in it" => {
                self.any("ingresses", is_unplanned) && self.has_reason("inUse", "Ingress")
            }
            "a namespace that is held by what it contains" => {
                self.has_reason("namespaceNotEmpty", "LimitRange")
                    || self.has_reason("namespaceNotEmpty", "Note")
            }
            "a DELETE that orphans" => {
                self.arrivals.iter().any(|it| it.body["propagationPolicy"] == "Orphan")
            }
            "a DELETE that is answered 408 after its effect" => {
                let mut ours = self.entries.iter().filter(|it| it.actor == USER);
                ours.any(|it| it.verb == "delete" && it.code == 408 && it.effect)
            }
            "a watch of one namespace" => {
                let mut ours = self.entries.iter().filter(|it| it.actor == USER);
                let inside =
                    |it: &Entry| it.key.as_ref().is_some_and(|key| !key.namespace.is_empty());
                ours.any(|it| it.verb == "watch" && it.code == 200 && inside(it))
            }
            "a driver that goes after its volumes" => {
                let is_plugin = |it: &Value| !it["metadata"]["labels"][PLUGIN].is_null();
                self.events.iter().any(|event| {
                    event.change == Change::Deleted
                        && &*event.key.plural == "daemonsets"
                        && is_plugin(&event.object)
                })
            }
            "an operator that is kept for others" => {
                let mut kept = self.journal.plans.values().flat_map(|plan| list(plan, "/kept"));
                kept.any(|it| it["reason"]["usedBy"]["edge"] == "Finishes")
            }
            "an object that goes although others use it" => {
                let waived = self.journal.plans.values().flat_map(|plan| list(plan, "/waived"));
                let covers = waived.flat_map(|row| list(row, "/covers"));
                let uids: BTreeSet<&str> = covers.filter_map(Value::as_str).collect();
                let asked = |it: &Arrival| uids.contains(text(&it.body, "/preconditions/uid"));
                self.arrivals.iter().any(asked)
            }
            "a server that crashes before its recovery is recorded" => self.has_silent_instance(),
            "a step whose object somebody asks to keep" => {
                let mut events = self.journal.events.values().flatten();
                events.any(|event| event["event"]["reason"]["code"] == "askedToKeep")
            }
            "a step that waits because of a hint" => {
                let steps = self.journal.plans.values().flat_map(|plan| list(plan, "/steps"));
                let mut edges = steps
                    .flat_map(|step| list(step, "/after"))
                    .flat_map(|blocker| list(blocker, "/edges"));
                edges.any(|edge| edge["kind"] == "Hints")
            }
            name => self.journal.events.values().flatten().any(|event| event_name(event) == name),
        }
    }

    /// Whether a step waited for this reason, which names an object of a kind.
    fn has_reason(&self, reason: &str, kind: &str) -> bool {
        let mut events = self.journal.events.values().flatten();
        events.any(|event| {
            let known = &event["event"]["reason"];
            known["code"] == reason && known["object"]["kind"] == kind
        })
    }

    /// Whether an instance of the server between two others wrote nothing.
    fn has_silent_instance(&self) -> bool {
        let instances: BTreeSet<u64> =
            self.journal.commits.values().flatten().map(|commit| commit.instance).collect();
        let last = instances.last().copied().unwrap_or_default();
        let first = instances.first().copied().unwrap_or_default();
        (first..last).any(|it| !instances.contains(&it))
    }

    fn any(&self, plural: &str, is_match: impl Fn(&Value) -> bool) -> bool {
        self.events.iter().any(|event| &*event.key.plural == plural && is_match(&event.object))
    }

    /// Whether a DELETE of the server was refused without an injected fault.
    fn is_refused_with(&self, code: impl Fn(u16) -> bool) -> bool {
        let deletes = self.entries.iter().filter(|it| it.actor == USER && it.verb == "delete");
        deletes.filter(|it| it.fault.is_none()).any(|it| code(it.code))
    }

    /// Whether a kubelet wrote one of these words.
    fn is_logged(&self, words: &[&str]) -> bool {
        self.logs.iter().any(|line| words.iter().any(|it| line.contains(it)))
    }

    /// Whether a workload came back, which no controller creates.
    fn is_recreated(&self) -> bool {
        let mut gone = BTreeSet::new();
        let plurals = ["deployments", "statefulsets"];
        let workloads = self.events.iter().filter(|it| plurals.contains(&&*it.key.plural));
        workloads.into_iter().any(|event| match event.change {
            Change::Deleted => !gone.insert(&event.key),
            Change::Added => gone.contains(&event.key),
            Change::Modified => false,
        })
    }

    /// Whether an object has an earlier creation time than the object before it.
    fn is_set_back(&self) -> bool {
        let made = self.events.iter().filter(|event| event.change == Change::Added);
        let times = made.map(|event| text(&event.object, "/metadata/creationTimestamp"));
        times.clone().zip(times.skip(1)).any(|(one, next)| next < one)
    }
}

fn is_unplanned(object: &Value) -> bool {
    text(object, "/metadata/name") == UNPLANNED
}

fn is(object: &Value, of: &str, status: &str) -> bool {
    condition(object, of)["status"] == status
}
