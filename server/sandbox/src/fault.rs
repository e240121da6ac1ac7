//! What goes wrong on purpose: rules that strike requests and watches, and happenings in the cluster at a time.
//! Written as text, one to a line; see [`Faults::parse`].

mod script;

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::store::Key;

pub use script::BadLine;

/// What happens to a request that a rule strikes, or to a watch that goes on when it is about to tell something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is answered this much later, by the clock of tokio; what a watch tells arrives this much later.
    Latency(Duration),
    /// The connection is cut; `after`: once it has had its effect, of a watch once it has told what there is.
    Reset { after: bool },
    /// It is refused with 429.
    TooMany { retry_after: Option<u32> },
    /// It is answered with this code of 401, 403, 410, 500, 503, 504; `after`: once it has had its effect. Of these a
    /// watch that goes on knows 410 alone.
    Code { code: u16, after: bool },
    /// A list that a cache may answer is answered as of so many changes ago.
    Stale(u64),
    /// A watch tells nothing any more, and does not end.
    Stall,
    /// A watch is cut within an event.
    Truncate,
    /// A watch does not tell the bookmark that is due.
    NoBookmarks,
}

/// Which requests an action strikes. Empty words match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matcher {
    pub verb: String,
    /// `pods`, `deployments.apps`, `pods/eviction`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub user: String,
    /// Not before this moment.
    pub from: Option<Timestamp>,
    /// Nor from this one on.
    pub until: Option<Timestamp>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub matcher: Matcher,
    pub action: Action,
    /// How often it still strikes; `None` for ever.
    pub times: Option<u32>,
    /// In how many of a thousand cases it strikes.
    pub chance: u32,
}

/// What is wrong with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeFault {
    /// Its kubelet says and does nothing.
    Silent,
    /// It cannot unmount: the volume is busy.
    Busy,
    /// Its NFS mounts hang.
    StaleNfs,
    /// Its kubelet learns and does everything this much later.
    Slow(Duration),
    /// All requests of its kubelet are refused with 500.
    Failing,
}

/// Something that happens to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    ClockJump(SignedDuration),
    /// `None` repairs.
    Node {
        name: String,
        fault: Option<NodeFault>,
    },
    /// By its name: away, back, or slow.
    Controller {
        name: String,
        condition: crate::controller::Condition,
    },
    /// `None` takes the script away.
    Webhook {
        name: String,
        decider: Option<crate::cluster::Decider>,
    },
    /// A volume, by the name of its PersistentVolume, cannot be unmounted anywhere, or can again.
    Volume {
        name: String,
        busy: bool,
    },
    /// An NFS server answers every handle with `ESTALE`; or all is as before, exports that were removed included.
    Nfs {
        server: String,
        stale: bool,
    },
    /// Something outside the cluster makes an object again whenever it is gone.
    Recreate(Key),
    /// Somebody deletes an object, in the background.
    Delete(Key),
    /// Somebody takes a finalizer off an object by hand.
    Unfinalize {
        key: Key,
        finalizer: String,
    },
    /// Somebody changes an object: a merge patch.
    Change {
        key: Key,
        patch: Value,
    },
    /// What is kept of an object is damaged.
    Corrupt(Key),
    /// What is kept of an object is taken away, whatever holds it.
    Erase(Key),
    /// Old versions are forgotten, so that watches from them get 410.
    Compact,
}

/// The faults that are waiting to strike.
#[derive(Debug, Default)]
pub struct Faults {
    /// In the order in which they are asked.
    pub rules: Vec<Rule>,
    /// In the order of their times.
    happenings: Vec<(Timestamp, Happening)>,
    pub(crate) nodes: BTreeMap<String, NodeFault>,
}

/// A request as rules see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    pub plural: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub user: &'a str,
    /// Whether a cache may answer: a list from resource version 0.
    pub cached: bool,
    /// Of a watch that goes on; `None` for a request that comes in.
    pub telling: Option<Telling>,
}

/// What a watch that goes on is about to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Telling {
    /// Whether something happened.
    pub events: bool,
    /// Whether a bookmark is due.
    pub bookmark: bool,
}

/// What strikes a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strike {
    pub latency: Duration,
    pub action: Option<Action>,
}

impl Faults {
    /// What is wrong with a node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeFault> {
        self.nodes.get(name).copied()
    }

    /// Breaks a node, or repairs it.
    pub fn set_node(&mut self, name: &str, fault: Option<NodeFault>) {
        match fault {
            Some(fault) => _ = self.nodes.insert(name.into(), fault),
            None => _ = self.nodes.remove(name),
        }
    }

    /// What strikes this request, or this watch. Delays add up; of the rest the first counts.
    pub fn strike(&mut self, asked: &Asked<'_>, now: Timestamp, rng: &mut fastrand::Rng) -> Strike {
        let mut strike = Strike::default();
        for rule in &mut self.rules {
            let spent = strike.action.is_some() && !matches!(rule.action, Action::Latency(_));
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
                    strike.latency = strike.latency.saturating_add(*latency)
                }
                action => strike.action = Some(action.clone()),
            }
        }
        strike
    }

    /// Adds the rules and the plans of others to these.
    pub fn join(&mut self, other: Self) {
        self.rules.extend(other.rules);
        for (at, happening) in other.happenings {
            let index = self.happenings.partition_point(|(one, _)| *one <= at);
            self.happenings.insert(index, (at, happening));
        }
        self.nodes.extend(other.nodes);
    }

    /// Plans something.
    pub fn plan(&mut self, at: Timestamp, happening: Happening) {
        let index = self.happenings.partition_point(|(one, _)| *one <= at);
        self.happenings.insert(index, (at, happening));
    }

    /// Takes what is to happen by now.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<Happening> {
        let count = self.happenings.partition_point(|(at, _)| *at <= now);
        self.happenings.drain(..count).map(|(_, happening)| happening).collect()
    }

    /// When the next thing happens.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.happenings.first().map(|(at, _)| *at)
    }
}

impl Matcher {
    fn matches(&self, asked: &Asked<'_>, now: Timestamp) -> bool {
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

impl Action {
    /// Whether it means anything for this request, or for this watch.
    fn fits(&self, asked: &Asked<'_>) -> bool {
        match (self, asked.telling) {
            (Self::Latency(_) | Self::Reset { .. }, _)
            | (Self::TooMany { .. } | Self::Code { .. }, None)
            | (Self::Stall | Self::Code { code: 410, .. }, Some(_)) => true,
            (Self::Stall | Self::Truncate, None) => asked.verb == "watch",
            (Self::Stale(_), None) => asked.verb == "list" && asked.cached,
            (Self::Truncate, Some(telling)) => telling.events,
            (Self::NoBookmarks, Some(telling)) => telling.bookmark,
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
