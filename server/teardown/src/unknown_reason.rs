//! Reasons why it is unknown whether an object is gone, or whether another object still needs it.

mod wire;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::wire::FlatReason;
use crate::{
    api_problem::ApiProblem,
    object::{ObjectRef, Uid},
};

/// The resource that says to which node a volume is attached.
pub const ATTACHMENTS: &str = "volumeattachments.storage.k8s.io";

/// A reason why a question has no answer yet. It never counts as "gone" or as "unused".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "FlatReason", into = "FlatReason")]
pub enum UnknownReason {
    /// A kind is hidden.
    Hidden {
        /// The kind as a path names it: `pods`, `ingresses.networking.k8s.io`.
        resource: String,
        /// The namespace, if the kind is visible in others.
        namespace: Option<String>,
        /// The problem.
        message: ApiProblem,
    },
    /// The first list of a kind has not arrived yet.
    NotListed {
        /// The kind as a path names it.
        resource: String,
    },
    /// The API server does not serve the kind, and its definition is not known to be gone.
    NotServed {
        /// The kind as a path names it.
        resource: String,
    },
    /// A Pod outside the plan is left of a workload that must have none.
    PodsLeft {
        /// The Pod.
        pod: ObjectRef,
        /// The workload.
        of: Box<ObjectRef>,
    },
    /// Objects that stood in front of the object are gone from the API alone: nodes may still run the Pods among them, and what
    /// a finalizer guarded that was removed by hand may be left.
    Unconfirmed {
        /// The objects.
        objects: Vec<UnconfirmedObject>,
    },
    /// The volume is still attached to a node, although no Pod uses it.
    StillAttached {
        /// The volume.
        volume: String,
        /// The node.
        node: String,
    },
    /// The object's own labels or annotations name another unit than when the plan was made.
    GivenAway {
        /// The unit that they name now, if any.
        to: Option<String>,
    },
    /// A mark on the object asks to keep it since the plan was made: an annotation of a tool, which no person overrode, or a
    /// priority class of what the cluster itself needs.
    AskedToKeep {
        /// The mark, as `key: value`.
        mark: Arc<str>,
    },
    /// A parent that declares the object would make it again: it was made active again, or a person skipped it.
    ParentActive {
        /// The parent.
        parent: ObjectRef,
    },
    /// An object outside the plan uses the object.
    InUse {
        /// The object that uses it.
        by: ObjectRef,
    },
    /// The webhook configuration guards an object outside the plan, which would then be deleted without it.
    StillGuards {
        /// The object that its rules match.
        it: ObjectRef,
    },
    /// The garbage collector would delete an object outside the plan together with the object.
    WouldCollect {
        /// The object that would be deleted.
        it: ObjectRef,
    },
    /// The deletion would destroy data that the plan does not list, or lists as kept.
    WouldDestroyData {
        /// The volume.
        volume: ObjectRef,
    },
    /// The namespace contains an object that is not in the plan.
    NamespaceNotEmpty {
        /// The object.
        by: ObjectRef,
    },
    /// The API server's answer does not say whether the object exists.
    Inconclusive {
        /// The problem with the answer.
        message: ApiProblem,
    },
}

/// An object that is gone from the API alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedObject {
    /// Its identity.
    pub uid: Uid,
    /// Its kind, namespace and name. Journals have the name of the time when only Pods could be among these.
    #[serde(rename = "pod")]
    pub object: ObjectRef,
    /// The node of a Pod, if it is known.
    pub node: Option<String>,
}

impl UnknownReason {
    /// Whether a person who has looked elsewhere may answer for it, so that the storage or the namespace opens.
    pub fn can_be_taken_on(&self) -> bool {
        match self {
            Self::Unconfirmed { .. } => true,
            Self::Hidden { resource, .. } => resource == ATTACHMENTS,
            _ => false,
        }
    }
}
