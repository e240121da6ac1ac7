//! What a browser is told: a view is a set of records, each under its key; a snapshot is all of them, a delta is what
//! was put and removed since the revision before. Server and browser fold with the same function.
//!
//! A fold survives: a delta delivered twice (it is ignored), a delta that does not follow (refused, so that the reader
//! asks for a snapshot), a late joiner (who gets a snapshot), and many changes of one record in one delta (only the last
//! is sent). The tests below are that list.

use std::{cmp::Ordering, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api_problem::ApiProblem,
    object::{ObjectRef, Uid},
    plan::{KeptReason, PlanId, StepId},
    relation::{DeletionPhase, EdgeKind, Reason},
    run::{RunId, RunState},
    unit::UnitId,
};

pub use crate::{
    demo::{Demo, DemoFault, FaultSwitch},
    observation::{AwayCause, HiddenCause, Unreachable},
    run::FeedEntry,
    state::{Counts, State},
};

/// What a stream is about. One stream per tab, one topic per stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// All units, all runs, and what cannot be seen: `units`.
    Units,
    /// One unit with its graph: `unit:{id}`.
    Unit(UnitId),
    /// One run with its steps, its graph and its feed: `run:{id}`.
    Run(RunId),
}

impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Units => f.write_str("units"),
            Self::Unit(unit) => write!(f, "unit:{unit}"),
            Self::Run(run) => write!(f, "run:{run}"),
        }
    }
}

/// The text names no topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a topic is `units`, `unit:NAME` or `run:ID`")]
pub struct TopicError;

impl std::str::FromStr for Topic {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        if text == "units" {
            return Ok(Self::Units);
        }
        match text.split_once(':') {
            Some(("unit", id)) if !id.is_empty() => Ok(Self::Unit(UnitId::new(id))),
            Some(("run", id)) if !id.is_empty() => Ok(Self::Run(RunId::new(id))),
            _ => Err(TopicError),
        }
    }
}

/// A view's number: `boot:count`. The count grows by one with each delta; the boot is another one after each start of
/// the server, so that a number from before can never be taken for one of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Chosen at random when the server starts.
    pub boot: u64,
    /// Deltas published on this topic since its view was made.
    pub count: u64,
}

impl Revision {
    /// The number after this one.
    pub fn next(self) -> Self {
        Self { count: self.count + 1, ..self }
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}:{}", self.boot, self.count)
    }
}

/// The text is no revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a revision is written boot:count")]
pub struct RevisionError;

impl std::str::FromStr for Revision {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Self, RevisionError> {
        let (boot, count) = text.split_once(':').ok_or(RevisionError)?;
        Ok(Self {
            boot: u64::from_str_radix(boot, 16).map_err(|_| RevisionError)?,
            count: count.parse().map_err(|_| RevisionError)?,
        })
    }
}

impl Serialize for Revision {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// One thing a page shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    /// The cluster as a whole; there is always exactly one.
    Cluster(ClusterCard),
    /// A unit, as a row.
    Unit(UnitCard),
    /// A run, as a row or as a page's head.
    Run(RunCard),
    /// An object.
    Object(ObjectCard),
    /// An edge between two objects of the same view.
    Edge(EdgeCard),
    /// A kind that cannot be seen.
    HiddenKind(HiddenKindCard),
    /// A step of a run's plan.
    Step(StepCard),
    /// A line of a run's feed.
    Event(FeedEntry),
}

/// What a record is kept under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Key {
    /// The one cluster.
    Cluster,
    /// By unit.
    Unit(UnitId),
    /// By run.
    Run(RunId),
    /// By UID.
    Object(Uid),
    /// By source, target, kind and field.
    Edge(Uid, Uid, EdgeKind, String),
    /// By resource, such as `deployments.apps`.
    HiddenKind(String),
    /// By step.
    Step(StepId),
    /// By place in the feed.
    Event(u64),
}

impl Record {
    /// The key this record is kept under.
    pub fn key(&self) -> Key {
        match self {
            Self::Cluster(_) => Key::Cluster,
            Self::Unit(card) => Key::Unit(card.id.clone()),
            Self::Run(card) => Key::Run(card.id.clone()),
            Self::Object(card) => Key::Object(card.uid.clone()),
            Self::Edge(card) => Key::Edge(
                card.from.clone(),
                card.to.clone(),
                card.kind,
                card.reason.field.to_string(),
            ),
            Self::HiddenKind(card) => Key::HiddenKind(card.resource.clone()),
            Self::Step(card) => Key::Step(card.id),
            Self::Event(card) => Key::Event(card.number),
        }
    }
}

/// The cluster, as far as a page's frame needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterCard {
    /// The context's or the server's name.
    pub name: String,
    /// The API server's version, once known.
    pub version: Option<String>,
    /// Whether every kind that can be watched has been listed once.
    pub synced: bool,
    /// Kinds watched.
    pub kinds: usize,
    /// Objects known.
    pub objects: usize,
    /// Set while the API server cannot be reached: since when, and what it said.
    pub unreachable: Option<Unreachable>,
    /// How the game stands, where the cluster is only played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<Demo>,
}

/// A unit, as a row of the unit table and as the head of its page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCard {
    /// Its id, as in `/u/{id}`.
    pub id: UnitId,
    /// How it was recognised.
    pub origin: crate::unit::UnitOrigin,
    /// Namespaces its members live in, sorted.
    pub namespaces: Vec<String>,
    /// Its members by state.
    pub counts: Counts,
    /// How many of its members others use.
    pub shared: usize,
    /// The newest creation among its members.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub newest: Option<Timestamp>,
    /// The run that concerns it and has not ended.
    pub run: Option<RunId>,
    /// For a namespace: the application that has exactly the same objects, apart from what the cluster makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<UnitId>,
}

/// Where an object stands towards the unit a page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Membership {
    /// It belongs to the unit, and a plan would take it.
    Member,
    /// It belongs to the unit and a plan would keep it; why.
    Kept(KeptReason),
    /// It belongs to something else and is drawn because an edge leads here.
    Outside,
}

/// An object, as a card of the graph and as a row of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectCard {
    /// Its identity.
    pub uid: Uid,
    /// What a person calls it.
    pub object: ObjectRef,
    /// The version it is read in.
    pub version: String,
    /// Its state.
    pub state: State,
    /// Since when it has been in that state, where the cluster says so.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub since: Option<Timestamp>,
    /// Where it stands towards the unit.
    pub membership: Membership,
    /// `metadata.creationTimestamp`.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp` and grace.
    pub deletion: Option<crate::object::Deletion>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.labels`.
    pub labels: crate::selector::Labels,
    /// What its kind adds: a fixed name and a value from the cluster, such as `node` and `worker-1`.
    pub details: Vec<Detail>,
    /// The rung of the ladder it has reached.
    pub phase: DeletionPhase,
    /// Its last rung: for what makes Pods, that none is left of it.
    pub final_phase: DeletionPhase,
    /// The step that takes it, in a run.
    pub step: Option<StepId>,
    /// Its rank in the order of deletion, 1 first; none for what no plan would touch.
    pub wave: Option<u32>,
}

/// One named value of an object card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Which.
    pub name: DetailName,
    /// The value, as the cluster has it.
    pub value: String,
}

/// The names of details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DetailName {
    /// A Pod's, claim's or volume's phase.
    Phase,
    /// The node a Pod runs on.
    Node,
    /// Ready replicas of wanted replicas.
    Replicas,
    /// A claim's or volume's capacity.
    Capacity,
    /// Storage class.
    Class,
    /// Reclaim policy of a volume.
    Reclaim,
    /// Where a volume's bytes are.
    Source,
    /// What a Service, policy or budget selects.
    Selector,
    /// What an autoscaler scales.
    Target,
    /// A Service's type, where it is LoadBalancer.
    LoadBalancer,
    /// Whether a node is ready.
    Ready,
    /// The controlling owner.
    Owner,
}

/// An edge, as an arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeCard {
    /// The object whose field says so.
    pub from: Uid,
    /// The object it points at.
    pub to: Uid,
    /// What the edge means.
    pub kind: EdgeKind,
    /// The field and value it comes from.
    pub reason: Reason,
}

/// A kind that cannot be seen, so that every verdict which depends on it says "cannot tell".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenKindCard {
    /// The resource, such as `deployments.apps`, or a whole group version, such as `metrics.k8s.io/v1beta1`.
    pub resource: String,
    /// Why.
    pub cause: HiddenCause,
    /// What is wrong.
    pub message: ApiProblem,
    /// Since when.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub since: Timestamp,
}

/// A run, as a row and as a page's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCard {
    /// Its id, as in `/r/{id}`.
    pub id: RunId,
    /// The unit it takes apart.
    pub unit: UnitId,
    /// The plan it performs.
    pub plan: PlanId,
    /// Where it stands.
    pub state: RunState,
    /// Who started it.
    pub by: String,
    /// When it started.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub started: Timestamp,
    /// When it ended, if it has.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub ended: Option<Timestamp>,
    /// Steps by state.
    pub counts: Counts,
    /// Steps in all.
    pub total: usize,
    /// Objects kept.
    pub kept: usize,
    /// Objects that the cluster removes by itself.
    #[serde(default)]
    pub left_to_cluster: usize,
    /// How often it went on after a restart of the server.
    pub recovered: u32,
}

/// A step, as a row of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCard {
    /// Its number in the plan.
    pub id: StepId,
    /// The object it takes.
    pub uid: Uid,
    /// What a person calls that object.
    pub object: ObjectRef,
    /// Its rank.
    pub wave: u32,
    /// Its state.
    pub state: State,
    /// When its DELETE was first sent.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub requested: Option<Timestamp>,
    /// When it was proven gone.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::optional")]
    pub gone: Option<Timestamp>,
    /// The steps it is waiting for now.
    pub waits_for: Vec<StepId>,
    /// It goes with an owner, or with its claim, whose end was asked for: it cannot be taken back.
    pub taken: bool,
    /// Why it needs attention, where it does.
    pub problem: Option<crate::run::StepProblem>,
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// Everything, at a revision.
    Snapshot {
        /// The revision it is of.
        revision: Revision,
        /// All records, by key.
        records: Vec<Record>,
    },
    /// What changed between two revisions.
    Delta {
        /// The revision it follows.
        previous: Revision,
        /// The revision it leads to.
        revision: Revision,
        /// New and changed records.
        put: Vec<Record>,
        /// Keys of records that are no more.
        remove: Vec<Key>,
    },
}

impl Message {
    /// The revision a reader is at after this message.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Snapshot { revision, .. } | Self::Delta { revision, .. } => *revision,
        }
    }
}

/// A delta does not follow the view it was given to: something was lost, and a snapshot is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the delta follows {expected}, the view is at {actual}")]
pub struct Gap {
    /// The revision the delta follows.
    pub expected: Revision,
    /// The revision the view is at.
    pub actual: Revision,
}

/// The records of a topic at a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    revision: Revision,
    records: BTreeMap<Key, Record>,
}

impl View {
    /// A view of these records.
    pub fn new(revision: Revision, records: impl IntoIterator<Item = Record>) -> Self {
        let records = records.into_iter().map(|record| (record.key(), record)).collect();
        Self { revision, records }
    }

    /// The revision it is at.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// All records by key.
    pub fn records(&self) -> &BTreeMap<Key, Record> {
        &self.records
    }

    /// Everything, for somebody who has nothing.
    pub fn snapshot(&self) -> Message {
        Message::Snapshot {
            revision: self.revision,
            records: self.records.values().cloned().collect(),
        }
    }

    /// Replaces the records and says what changed; `None` where nothing did, and then the revision stays.
    pub fn advance(&mut self, records: impl IntoIterator<Item = Record>) -> Option<Message> {
        let records: BTreeMap<Key, Record> =
            records.into_iter().map(|record| (record.key(), record)).collect();
        let (mut put, mut remove) = (Vec::new(), Vec::new());
        let mut before = self.records.iter().peekable();
        for (key, record) in &records {
            let order = loop {
                match before.peek().map(|(old, _)| old.cmp(&key)) {
                    Some(Ordering::Less) => {
                        remove.extend(before.next().map(|(old, _)| old.clone()))
                    }
                    order => break order,
                }
            };
            let same = order == Some(Ordering::Equal)
                && before.next().is_some_and(|(_, before)| before == record);
            if !same {
                put.push(record.clone());
            }
        }
        remove.extend(before.map(|(old, _)| old.clone()));
        if put.is_empty() && remove.is_empty() {
            return None;
        }
        let previous = self.revision;
        *self = Self { revision: previous.next(), records };
        Some(Message::Delta { previous, revision: self.revision, put, remove })
    }

    /// Takes a message in. `Ok(changed)` names the keys that were put or removed.
    ///
    /// # Errors
    /// [`Gap`] where a delta follows a revision this view is not at and has not passed.
    pub fn apply(&mut self, message: Message) -> Result<Vec<Key>, Gap> {
        match message {
            Message::Snapshot { revision, records } => {
                let mut changed: Vec<Key> = self.records.keys().cloned().collect();
                *self = Self::new(revision, records);
                changed.retain(|key| !self.records.contains_key(key));
                changed.extend(self.records.keys().cloned());
                Ok(changed)
            }
            Message::Delta { previous, revision, put, remove } => {
                let same_boot = revision.boot == self.revision.boot;
                if same_boot && revision.count <= self.revision.count {
                    return Ok(Vec::new());
                }
                if previous != self.revision {
                    return Err(Gap { expected: previous, actual: self.revision });
                }
                let mut changed = remove;
                for key in &changed {
                    self.records.remove(key);
                }
                for record in put {
                    changed.push(record.key());
                    self.records.insert(record.key(), record);
                }
                self.revision = revision;
                Ok(changed)
            }
        }
    }
}

#[cfg(test)]
mod tests;
