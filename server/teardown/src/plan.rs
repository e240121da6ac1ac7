//! What will be done: an immutable, hashed list of steps, each with the object's UID, the call, and every edge that puts
//! something in front of it. Performing a plan leaves no choices.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    object::{Kind, ObjectRef, Reclaim, Uid},
    relation::{EdgeKind, Reason, Rung},
    selector::Selector,
    unit::UnitId,
};

/// The number of a step in its plan, from 0, in an order that respects every edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A plan's name: the first 16 hexadecimal digits of its hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(String);

impl PlanId {
    /// The id as it stands in a URL.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An immutable plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name.
    pub id: PlanId,
    /// SHA-256 over everything below but `made`, in hexadecimal; what a person confirms.
    pub hash: String,
    /// The unit it takes apart.
    pub unit: UnitId,
    /// When it was made.
    pub made: Timestamp,
    /// What will go, in an order that respects every edge.
    pub steps: Vec<Step>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
    /// What happens to the data on the volumes that are concerned.
    pub data: Vec<DataFate>,
    /// Kinds that cannot be seen and could hold something in front of a step.
    pub blind: Vec<String>,
}

impl Plan {
    /// The step of that number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }

    /// How many waves it is shown in.
    pub fn waves(&self) -> u32 {
        self.steps.iter().map(|step| step.wave).max().unwrap_or_default()
    }
}

/// One object and what will be done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub id: StepId,
    /// The one object this step may touch.
    pub uid: Uid,
    /// What a person calls it.
    pub object: ObjectRef,
    /// Its kind as discovery named it, for the request's path.
    pub kind: Kind,
    /// What is done.
    pub deed: Deed,
    /// Rank on the longest path, from 1. A way of showing; nothing waits for a wave.
    pub wave: u32,
    /// What must be proven before it starts. Empty: it starts at once.
    pub after: Vec<Blocker>,
    /// Finalizers at the time of planning: what else has to happen before it is gone.
    pub finalizers: Vec<String>,
    /// For what makes Pods: how its Pods are recognised once it is gone itself.
    pub pods: Option<Selector>,
    /// For a claim: its Pods must be absent from one consistent read before it is touched.
    pub holds_storage: bool,
}

/// What is done with a step's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// DELETE with the UID as precondition.
    Delete {
        /// `propagationPolicy`, always explicit.
        propagation: Propagation,
    },
    /// Nothing: its controller removes it once what is in front of it is gone, and we wait for that.
    Await,
}

/// `propagationPolicy` of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// The owner goes first, its dependents after it.
    Background,
    /// The dependents stay and lose this owner.
    Orphan,
}

/// Something in front of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// The step that goes first.
    pub step: StepId,
    /// How far it must have got.
    pub rung: Rung,
    /// The kind of the edge that says so.
    pub edge: EdgeKind,
    /// The field and value the edge comes from.
    pub reason: Reason,
}

/// An object that belongs to the unit and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its identity.
    pub uid: Uid,
    /// What a person calls it.
    pub object: ObjectRef,
    /// Why it stays.
    pub reason: KeptReason,
}

/// Why an object of the unit stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum KeptReason {
    /// Something that is not part of the unit uses it.
    UsedBy {
        /// What uses it.
        user: ObjectRef,
        /// How.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// Something that is kept itself needs it.
    NeededBy {
        /// What needs it.
        user: ObjectRef,
        /// How.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// A Retain volume that nobody declared part of the unit: it is left as Released, its data with it.
    RetainedVolume,
    /// A namespace the cluster needs: `default` and those that begin with `kube-`.
    Protected,
    /// The cluster makes it and removes it by itself.
    MadeByCluster,
}

/// What happens to the data behind one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFate {
    /// The volume.
    pub volume: ObjectRef,
    /// The claim bound to it, if there is one.
    pub claim: Option<ObjectRef>,
    /// Its capacity, as written.
    pub capacity: Option<String>,
    /// Where the bytes are.
    pub source: Option<String>,
    /// Its reclaim policy.
    pub reclaim: Reclaim,
    /// What becomes of the bytes.
    pub fate: Fate,
}

/// What becomes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// Destroyed with the volume.
    Destroyed,
    /// The volume object goes or is Released; the bytes stay where they are.
    LeftBehind,
    /// The volume stays in use.
    Kept,
}

/// How the cluster differs from a plan that was made earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "difference", rename_all = "camelCase")]
pub enum Difference {
    /// A new plan would take this object, the old one does not know it.
    Added {
        /// The object.
        object: ObjectRef,
    },
    /// The old plan takes this object, a new one would not: it is gone or kept.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// The name is another object's now.
    Recreated {
        /// The object.
        object: ObjectRef,
    },
    /// The same object would be taken in another way or another place.
    Changed {
        /// The object.
        object: ObjectRef,
    },
}

/// Why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "camelCase")]
pub enum PlanError {
    /// The unit has no object that could go.
    #[error("nothing of the unit can be deleted")]
    Empty,
    /// Hard edges close a circle; the path leads back to its first object.
    #[error("the objects wait for each other in a circle: {}", path_text(path))]
    Cycle {
        /// Each object goes before the next.
        path: Vec<ObjectRef>,
    },
}

fn path_text(path: &[ObjectRef]) -> String {
    path.iter().map(ObjectRef::to_string).collect::<Vec<_>>().join(" → ")
}
