//! Faults on demand: rules that disturb requests and watches, and faults that are applied to the cluster at a given
//! time. [`Faults::parse`] reads both from text.

mod admission;
mod mode;
mod script;
mod server;

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{cluster::Propagation, store::Key};

pub use admission::AdmissionDecision;
pub use mode::OperatingMode;
pub use script::BadLine;
pub use server::ServerFault;

/// The effect of a rule on a request, or on an open watch that is about to send something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The answer, or the next lines of a watch, arrive this much later by tokio's clock.
    Latency(Duration),
    /// The connection is cut. With `after`, a request has had its effect, and a watch has sent its initial events.
    Reset { after: bool },
    /// The request is refused with 429.
    TooMany { retry_after: Option<u32> },
    /// The request is answered with one of 401, 403, 408, 410, 500, 502, 503, 504. With `after`, it has had its effect. On
    /// an open watch only 410 has an effect. 408 and 502 come from a proxy in front of the API server, as HTML.
    Code { code: u16, after: bool },
    /// A list that may come from a cache is answered from this many changes ago.
    Stale(u64),
    /// A watch sends nothing any more and does not end.
    Stall,
    /// A watch is cut in the middle of an event.
    Truncate,
    /// A watch does not send a bookmark that is due.
    NoBookmarks,
}

/// The requests that a rule concerns. An empty field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matcher {
    pub verb: String,
    /// `pods`, `deployments.apps`, `pods/eviction`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub user: String,
    /// The rule does not hold before this time.
    pub from: Option<Timestamp>,
    /// The rule does not hold from this time on.
    pub until: Option<Timestamp>,
}

/// A matcher with the action for what it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub matcher: Matcher,
    pub action: Action,
    /// The number of times that the rule still applies; `None` for ever.
    pub times: Option<u32>,
    /// The number of cases out of a thousand in which the rule applies.
    pub chance: u32,
}

/// The fault of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeFault {
    /// The kubelet does and reports nothing, as behind a cut network. Its containers run on and write to their volumes.
    Silent,
    /// The machine has no power: as `Silent`, and its containers and mounts are lost.
    Off,
    /// The machine is shut down: its kubelet ends its Pods for as long as a graceful shutdown may take, and then it is `Off`. To
    /// repair it before that cancels the shutdown.
    ShuttingDown,
    /// The kubelet cannot unmount, because the volumes are busy.
    Busy,
    /// The NFS mounts hang.
    StaleNfs,
    /// The kubelet observes and does everything this much later.
    Slow(Duration),
    /// Every request of the kubelet is refused with 500.
    Failing,
}

/// The reason for which no node can unmount a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeFault {
    /// A process has it open.
    Busy,
    /// A file lies below the mount point of a subPath, so that its directory cannot be removed.
    Leftover,
}

/// The fault of an NFS server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NfsFault {
    /// It answers every handle with `ESTALE`.
    Stale,
    /// It does not answer, so that each program that touches a hard mount hangs.
    Dead,
}

/// A fault that is applied to the cluster at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduledFault {
    ClockJump(SignedDuration),
    /// `None` repairs the node.
    Node {
        name: String,
        fault: Option<NodeFault>,
    },
    /// Sets the operating mode of the controller of this name.
    Controller {
        name: String,
        mode: OperatingMode,
    },
    /// `None` removes the webhook's script.
    Webhook {
        name: String,
        decision: Option<AdmissionDecision>,
    },
    /// The volume of the PersistentVolume of this name cannot be unmounted on any node; `None` frees it.
    Volume {
        name: String,
        fault: Option<VolumeFault>,
    },
    /// `None`: the NFS server works again, with all its exports.
    Nfs {
        server: String,
        fault: Option<NfsFault>,
    },
    /// The plugin of a CSI driver starts or ends on a node, so that the kubelet there has the driver registered or not.
    Driver {
        name: String,
        node: String,
        registered: bool,
    },
    /// The cloud refuses to remove load balancers, with these words; `None` repairs it.
    Cloud(Option<String>),
    /// The server behind the APIService of this name; `None` repairs it.
    Server {
        api_service: String,
        fault: Option<ServerFault>,
    },
    /// A program outside the cluster creates an object again whenever it is gone.
    Recreate(Key),
    /// A user deletes an object.
    Delete {
        key: Key,
        propagation: Propagation,
    },
    /// A user removes every finalizer from the spec of a namespace, by its subresource `finalize`.
    Finalize(Key),
    /// A user removes a finalizer from an object.
    Unfinalize {
        key: Key,
        finalizer: String,
    },
    /// A user changes an object by a merge patch.
    Change {
        key: Key,
        patch: Value,
    },
    /// The stored bytes of an object are corrupted.
    Corrupt(Key),
    /// An object is removed from the store, whatever finalizers it has.
    Erase(Key),
    /// The history of changes is compacted, so that watches from older revisions get 410.
    Compact,
}

/// The rules, and the faults that are still to be applied.
#[derive(Debug, Default)]
pub struct Faults {
    /// The rules are asked in this order.
    pub rules: Vec<Rule>,
    /// Ordered by time.
    scheduled: Vec<(Timestamp, ScheduledFault)>,
    pub(crate) nodes: BTreeMap<String, NodeFault>,
    /// How many times each node has lost its power.
    power_losses: BTreeMap<String, u32>,
}

/// The attributes of a request that a rule can match.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestInfo<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    pub plural: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub user: &'a str,
    /// Whether the answer may come from a cache: a list with resource version 0.
    pub cached: bool,
    /// The content that an open watch is about to send; `None` for a request.
    pub delivery: Option<WatchDelivery>,
}

/// The content that an open watch is about to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchDelivery {
    /// Whether there are events.
    pub events: bool,
    /// Whether a bookmark is due.
    pub bookmark: bool,
}

/// The combined effect of the rules on a request or a watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    pub latency: Duration,
    pub action: Option<Action>,
}

impl Faults {
    /// The fault of a node, if it has one.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeFault> {
        self.nodes.get(name).copied()
    }

    /// Sets or repairs the fault of a node.
    pub fn set_node(&mut self, name: &str, fault: Option<NodeFault>) {
        let before = match fault {
            Some(fault) => self.nodes.insert(name.into(), fault),
            None => self.nodes.remove(name),
        };
        if fault == Some(NodeFault::Off) && before != Some(NodeFault::Off) {
            *self.power_losses.entry(name.into()).or_default() += 1;
        }
    }

    /// How many times a node has lost its power. Its kubelet compares the number when it starts again.
    pub(crate) fn power_losses(&self, name: &str) -> u32 {
        self.power_losses.get(name).copied().unwrap_or_default()
    }

    /// Drops all rules, the faults that are still to be applied, and those of nodes. A machine that was off has lost its
    /// containers all the same.
    pub(crate) fn repair(&mut self) {
        let power_losses = std::mem::take(&mut self.power_losses);
        *self = Self { power_losses, ..Self::default() };
    }

    /// Applies the rules to a request or a watch. Delays add up; of the other actions the first counts.
    pub fn inject(
        &mut self,
        asked: &RequestInfo<'_>,
        now: Timestamp,
        rng: &mut fastrand::Rng,
    ) -> Injection {
        let mut injection = Injection::default();
        for rule in &mut self.rules {
            let spent = injection.action.is_some() && !matches!(rule.action, Action::Latency(_));
            if spent
                || rule.times == Some(0)
                || !rule.matcher.matches(asked, now)
                || !rule.action.fits(asked)
            {
                continue;
            }
            if rule.chance < 1_000 && rng.u32(..1_000) >= rule.chance {
                continue;
            }
            rule.times = rule.times.map(|times| times.saturating_sub(1));
            match &rule.action {
                Action::Latency(latency) => {
                    injection.latency = injection.latency.saturating_add(*latency)
                }
                action => injection.action = Some(action.clone()),
            }
        }
        injection
    }

    /// Adds the rules and the scheduled faults of another script to these.
    pub fn extend(&mut self, other: Self) {
        self.rules.extend(other.rules);
        for (at, fault) in other.scheduled {
            let index = self.scheduled.partition_point(|(one, _)| *one <= at);
            self.scheduled.insert(index, (at, fault));
        }
        self.nodes.extend(other.nodes);
    }

    /// Schedules a fault.
    pub fn schedule(&mut self, at: Timestamp, fault: ScheduledFault) {
        let index = self.scheduled.partition_point(|(one, _)| *one <= at);
        self.scheduled.insert(index, (at, fault));
    }

    /// Takes the faults that are due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<ScheduledFault> {
        let count = self.scheduled.partition_point(|(at, _)| *at <= now);
        self.scheduled.drain(..count).map(|(_, fault)| fault).collect()
    }

    /// The time of the next fault.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.scheduled.first().map(|(at, _)| *at)
    }
}

impl Matcher {
    fn matches(&self, asked: &RequestInfo<'_>, now: Timestamp) -> bool {
        let plain = match asked.subresource {
            "" => asked.plural.to_owned(),
            subresource => format!("{}/{subresource}", asked.plural),
        };
        let full = crate::status::qualified(asked.group, &plain);
        let is = |wanted: &str, given: &str| match wanted.strip_suffix('*') {
            Some(prefix) => given.starts_with(prefix),
            None => wanted.is_empty() || wanted == given,
        };
        is(&self.verb, asked.verb)
            && (is(&self.resource, &plain) || is(&self.resource, &full))
            && is(&self.namespace, asked.namespace)
            && is(&self.name, asked.name)
            && is(&self.user, asked.user)
            && self.from.is_none_or(|from| now >= from)
            && self.until.is_none_or(|until| now < until)
    }
}

impl NodeFault {
    /// Whether the node reports nothing.
    pub(crate) fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::Off)
    }
}

impl Action {
    /// Whether the action has a meaning for this request or this watch.
    fn fits(&self, asked: &RequestInfo<'_>) -> bool {
        match (self, asked.delivery) {
            (Self::Latency(_) | Self::Reset { .. }, _)
            | (Self::TooMany { .. } | Self::Code { .. }, None)
            | (Self::Stall | Self::Code { code: 410, .. }, Some(_)) => true,
            (Self::Stall | Self::Truncate, None) => asked.verb == "watch",
            (Self::Stale(_), None) => asked.verb == "list" && asked.cached,
            (Self::Truncate, Some(delivery)) => delivery.events,
            (Self::NoBookmarks, Some(delivery)) => delivery.bookmark,
            (Self::NoBookmarks, None)
            | (Self::TooMany { .. } | Self::Code { .. } | Self::Stale(_), Some(_)) => false,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = |after: bool| if after { " after" } else { "" };
        match self {
            Self::Latency(latency) => write!(f, "latency {latency:?}"),
            Self::Reset { after: late } => write!(f, "reset{}", after(*late)),
            Self::TooMany { retry_after: None } => write!(f, "429"),
            Self::TooMany { retry_after: Some(seconds) } => write!(f, "429 retry={seconds}"),
            Self::Code { code, after: late } => write!(f, "{code}{}", after(*late)),
            Self::Stale(changes) => write!(f, "stale {changes}"),
            Self::Stall => write!(f, "stall"),
            Self::Truncate => write!(f, "truncate"),
            Self::NoBookmarks => write!(f, "no-bookmarks"),
        }
    }
}
