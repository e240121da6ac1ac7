//! The messages that a browser receives, and the records in them. A snapshot has all records of a topic, and a delta those
//! that were put or removed since the revision before. [`fold`](crate::fold) makes and applies them.

mod needs;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api_problem::ApiProblem,
    diagnosis::{Diagnosis, Evidence},
    incident::Incident,
    object::{ObjectRef, Uid},
    plan::{KeptReason, PlanId, StepId},
    proof::Proof,
    relation::{DeletionPhase, EdgeKind, Reason, Strength},
    run::{RunId, RunState},
    unit::UnitId,
};

pub use crate::{
    demo::{Demo, DemoFault, FaultSwitch},
    observation::{AwayCause, HiddenCause, Unreachable},
    run::FeedEntry,
    state::{Counts, State},
};

/// The subject of a stream. Each tab has one stream, and each stream one topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// All units, all runs and all hidden kinds: `units`.
    Units,
    /// One unit with its graph: `unit:{id}`.
    Unit(UnitId),
    /// One run with its steps, its graph and its event log: `run:{id}`.
    Run(RunId),
    /// Every deletion that waits, in a run or not: `trouble`.
    Trouble,
}

impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Units => f.write_str("units"),
            Self::Unit(unit) => write!(f, "unit:{unit}"),
            Self::Run(run) => write!(f, "run:{run}"),
            Self::Trouble => f.write_str("trouble"),
        }
    }
}

/// The text names no topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a topic is `units`, `trouble`, `unit:NAME` or `run:ID`")]
pub struct TopicError;

impl std::str::FromStr for Topic {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        match text.split_once(':') {
            None if text == "units" => Ok(Self::Units),
            None if text == "trouble" => Ok(Self::Trouble),
            Some(("unit", id)) if !id.is_empty() => Ok(Self::Unit(UnitId::new(id))),
            Some(("run", id)) if !id.is_empty() => Ok(Self::Run(RunId::new(id))),
            _ => Err(TopicError),
        }
    }
}

/// A view's revision: `boot:count`. The count grows by one with each delta. The boot is different after each start of
/// the server, so that a revision of an earlier process never equals one of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Chosen at random when the server starts.
    pub boot: u64,
    /// The number of deltas published on this topic since its view was made.
    pub count: u64,
}

impl Revision {
    /// The next revision.
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

/// One entry on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// A hidden kind.
    HiddenKind(HiddenKindCard),
    /// A step of a run's plan.
    Step(StepCard),
    /// A line of a run's event log.
    Event(FeedEntry),
    /// The reason why deletions wait.
    Diagnosis(DiagnosisCard),
}

/// The key of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Key {
    /// The only cluster.
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
    /// By place in the event log.
    Event(u64),
    /// By cause and root.
    Diagnosis(String),
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
                [&*card.reason.field, &*card.reason.value].join(" "),
            ),
            Self::HiddenKind(card) => Key::HiddenKind(card.resource.clone()),
            Self::Step(card) => Key::Step(card.id),
            Self::Event(card) => Key::Event(card.number),
            Self::Diagnosis(card) => Key::Diagnosis(card.diagnosis.id.clone()),
        }
    }
}

/// The cluster, with the fields that a page's frame needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterCard {
    /// The context's or the server's name.
    pub name: String,
    /// The API server's version, once known.
    pub version: Option<String>,
    /// Whether every visible kind has been listed once.
    pub synced: bool,
    /// The number of watched kinds. No page shows it.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub kinds: usize,
    /// The number of known objects. No page shows it.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub objects: usize,
    /// The number of causes for which deletions wait, anywhere in the cluster.
    #[serde(default)]
    pub diagnoses: usize,
    /// The number of objects that are being deleted and wait for none of them: they are within their expected time.
    #[serde(default, rename = "inTime")]
    pub in_time: usize,
    /// Set while the API server is unreachable: since when, and the problem.
    pub unreachable: Option<Unreachable>,
    /// The state of the simulation, if the cluster is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demo: Option<Demo>,
    /// The number of things that a remedy switched off and nobody has put back.
    #[serde(default, rename = "switchedOff")]
    pub switched_off: usize,
    /// The number of things about the server's journal that a person should see to: it cannot be written, or a run in it
    /// cannot be read.
    #[serde(default)]
    pub journal: usize,
    /// The number of things about the notifications that a person should see to: the receiver does not take them, or one was
    /// given up.
    #[serde(default)]
    pub notifications: usize,
}

/// A unit, as a row of the unit table and as the head of its page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCard {
    /// Its id, as in `/u/{id}`.
    pub id: UnitId,
    /// The way it was recognised.
    pub origin: crate::unit::UnitOrigin,
    /// Namespaces its members live in, sorted.
    pub namespaces: Vec<String>,
    /// The number of its members in each state.
    pub counts: Counts,
    /// The number of its members that other units use.
    pub shared: usize,
    /// The newest creation among its members.
    #[serde(with = "crate::millis::optional")]
    pub newest: Option<Timestamp>,
    /// The open run that concerns it.
    pub run: Option<RunId>,
    /// For a namespace: the application that has exactly the same objects, apart from those that the cluster creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<UnitId>,
}

/// The relation of an object to the unit that a page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Membership {
    /// It belongs to the unit, and a plan would delete it.
    Member,
    /// It belongs to the unit, and a plan would keep it for this reason.
    Kept(KeptReason),
    /// It does not belong to the unit and is drawn because an edge leads to it.
    Outside,
}

/// An object, as a card of the graph and as a row of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectCard {
    /// Its identity.
    pub uid: Uid,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// The version it is read in.
    pub version: String,
    /// Its state.
    pub state: State,
    /// The time since which it has been in that state, if the cluster records it.
    #[serde(with = "crate::millis::optional")]
    pub since: Option<Timestamp>,
    /// Its relation to the unit.
    pub membership: Membership,
    /// `metadata.creationTimestamp`.
    #[serde(with = "crate::millis::optional")]
    pub created: Option<Timestamp>,
    /// `metadata.deletionTimestamp` and grace.
    pub deletion: Option<crate::object::Deletion>,
    /// The time by which its deletion is expected to end; none while nobody deletes it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::millis::optional")]
    pub due: Option<Timestamp>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.labels`.
    pub labels: crate::selector::Labels,
    /// The signs of life of a node; none for any other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeHealth>,
    /// Details of its kind: a fixed name and a value from the cluster, such as `node` and `worker-1`.
    pub details: Vec<Detail>,
    /// Its deletion phase.
    pub phase: DeletionPhase,
    /// Its last deletion phase: for a workload, the phase in which no Pod of it is left.
    pub final_phase: DeletionPhase,
    /// The step of the run that deletes it.
    pub step: Option<StepId>,
    /// Its rank in the order of deletion, from 1; none if no plan would delete it.
    pub wave: Option<u32>,
}

/// The signs of life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeHealth {
    /// Whether its condition Ready is True.
    pub ready: bool,
    /// The time at which that changed last.
    #[serde(with = "crate::millis::optional")]
    pub changed: Option<Timestamp>,
    /// The time at which we saw its lease change, by our clock. Of a node that is not ready and whose lease has not changed since we
    /// look, the time of the first look: it was not seen since then. None while nobody looks, and where the lease cannot be read.
    #[serde(with = "crate::millis::optional")]
    pub seen: Option<Timestamp>,
}

/// One named value of an object card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// The name of the detail.
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
    /// Ready replicas and wanted replicas.
    Replicas,
    /// A claim's or volume's capacity.
    Capacity,
    /// Storage class.
    Class,
    /// Reclaim policy of a volume.
    Reclaim,
    /// The place where a volume's data is stored.
    Source,
    /// The selector of a Service, policy or budget.
    Selector,
    /// The object that an autoscaler scales.
    Target,
    /// A Service's type, where it is LoadBalancer.
    LoadBalancer,
    /// The controlling owner.
    Owner,
}

/// An edge, as an arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeCard {
    /// The object whose field contains the reference.
    pub from: Uid,
    /// The object it points at.
    pub to: Uid,
    /// The meaning of the edge.
    pub kind: EdgeKind,
    /// Whether a plan may give its order up.
    pub strength: Strength,
    /// The field and value it comes from.
    pub reason: Reason,
    /// Whether a plan of the unit does not keep its order, because that would close a cycle of harder edges.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given_up: bool,
}

/// A hidden kind, so that every decision that depends on it is "unknown".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenKindCard {
    /// The resource, such as `deployments.apps`, or a whole group version, such as `metrics.k8s.io/v1beta1`.
    pub resource: String,
    /// The cause.
    pub cause: HiddenCause,
    /// The problem.
    pub message: ApiProblem,
    /// The time since which this holds.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
}

/// A run, as a row and as a page's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCard {
    /// Its id, as in `/r/{id}`.
    pub id: RunId,
    /// The unit that it tears down.
    pub unit: UnitId,
    /// The plan that it executes.
    pub plan: PlanId,
    /// The state of the run.
    pub state: RunState,
    /// The object whose change during a remedy has paused it, until a person resumes or stops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted_by: Option<ObjectRef>,
    /// The person who started it.
    pub by: String,
    /// The time when it started.
    #[serde(with = "crate::millis::required")]
    pub started: Timestamp,
    /// The time when it ended, if it has.
    #[serde(with = "crate::millis::optional")]
    pub ended: Option<Timestamp>,
    /// The number of steps in each state.
    pub counts: Counts,
    /// The number of all steps.
    pub total: usize,
    /// The number of objects kept.
    pub kept: usize,
    /// The number of objects that the cluster removes by itself.
    #[serde(default)]
    pub left_to_cluster: usize,
    /// The number of times it continued after a restart of the server.
    pub recovered: u32,
    /// The run beside which it deletes objects that the plan of that run does not know. No page shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub beside: Option<RunId>,
}

/// A step, as a row of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCard {
    /// Its number in the plan.
    pub id: StepId,
    /// The object that it deletes.
    pub uid: Uid,
    /// That object's kind, namespace and name.
    pub object: ObjectRef,
    /// Its rank.
    pub wave: u32,
    /// Its state.
    pub state: State,
    /// The time when its DELETE was first sent.
    #[serde(with = "crate::millis::optional")]
    pub requested: Option<Timestamp>,
    /// The time when it was proven gone.
    #[serde(with = "crate::millis::optional")]
    pub gone: Option<Timestamp>,
    /// The proof that it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// It is gone from the API alone: nobody reported that the containers of a Pod have ended, or a finalizer was removed by hand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// It is a namespace whose DELETE was sent without proof that it holds none of these kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
    /// The steps it is waiting for now.
    pub waits_for: Vec<StepId>,
    /// Whether its object goes with an owner or a claim whose deletion was requested. This cannot be undone.
    pub taken: bool,
    /// A parent that the run suspended before a person stopped it, as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_suspended: Option<crate::run::LeftSuspended>,
    /// The problem that needs attention, if there is one.
    pub problem: Option<crate::run::StepProblem>,
    /// The fate of the data behind a claim or volume that a person may have deleted without proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<crate::plan::Fate>,
    /// The objects that it waits for and that the plan does not know, for which a plan of their own can be made. A run names at
    /// most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unplanned: Vec<ObjectRef>,
}

/// The reason why deletions wait, as a card.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
pub struct DiagnosisCard {
    /// The diagnosis; shared, so that a page needs no code to copy one.
    pub diagnosis: Arc<Diagnosis>,
    /// The cause in one sentence. The hub adds it, because it has the words.
    #[serde(default)]
    pub said: String,
    /// Whether the cause explains others.
    #[serde(default)]
    pub explains: bool,
    /// Whether harm is done while it waits.
    #[serde(default)]
    pub harms: bool,
    /// The namespaces of the objects that wait, sorted; at most [`DiagnosisCard::NAMESPACES`].
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// The other facts that somebody needs first. A page gets them as sentences, with the advice.
    #[serde(skip)]
    pub incident: Arc<Incident>,
    /// A number that changes with the evidence, the other facts, the ways out and the attempts at them. A page that shows the
    /// advice reads it again then.
    pub stamp: u32,
}

/// The stamp stands for the facts that do not travel.
impl PartialEq for DiagnosisCard {
    fn eq(&self, other: &Self) -> bool {
        self.diagnosis == other.diagnosis
            && self.said == other.said
            && self.stamp == other.stamp
            && self.namespaces == other.namespaces
    }
}

impl DiagnosisCard {
    /// The most namespaces that a card has: one more than a heading names.
    pub const NAMESPACES: usize = 4;

    /// The order in which a person looks at several ([`Diagnosis::harm`]).
    pub fn harm(&self) -> (bool, bool, bool, usize) {
        (self.explains, self.harms, self.diagnosis.stuck, self.diagnosis.total)
    }

    /// The same without the words of the cluster and of persons: codes, names and counts stay.
    pub fn without_words(&self) -> Self {
        let before = self.incident.before.iter().filter_map(Evidence::without_words).collect();
        let incident = Arc::new(Incident { before, ..(*self.incident).clone() });
        let diagnosis = Arc::new(self.diagnosis.without_words());
        let namespaces = self.namespaces.clone();
        let Self { explains, harms, stamp, .. } = *self;
        Self { diagnosis, said: String::new(), explains, harms, incident, namespaces, stamp }
    }
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// All records, at a revision.
    Snapshot {
        /// The revision of the records.
        revision: Revision,
        /// All records, by key.
        records: Vec<Record>,
    },
    /// The changes between two revisions.
    Delta {
        /// The revision it follows.
        previous: Revision,
        /// The revision it leads to.
        revision: Revision,
        /// New and changed records.
        put: Vec<Record>,
        /// Keys of records that no longer exist.
        remove: Vec<Key>,
    },
}

impl Message {
    /// The revision of a reader after this message.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Snapshot { revision, .. } | Self::Delta { revision, .. } => *revision,
        }
    }
}

#[cfg(test)]
mod tests;
