//! The API calls that a run requests, and their outcomes.

use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    api_problem::ApiProblem,
    object::{Kind, ObjectRef, OwnerRef, Uid},
    plan::{Propagation, Step, StepId},
    selector::Labels,
    unit::UnitId,
};

/// One API call, on behalf of one step, or of a claim whose data is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// DELETE of exactly this UID, and of this version if it has one.
    Delete {
        /// The step it is for.
        step: StepId,
        /// The object.
        target: ActionTarget,
        /// `propagationPolicy`.
        propagation: Propagation,
    },
    /// One consistent LIST of the Pods of a claim's namespace: no `resourceVersion`, so that it is no older than its answer.
    ReadPods {
        /// The step it is for.
        step: StepId,
        /// The claim, at the version that a read just showed.
        target: ActionTarget,
    },
    /// Consistent LISTs of everything in a namespace, of every kind that discovery names in that moment; or one of all objects of
    /// a definition.
    ReadContent {
        /// The step it is for.
        step: StepId,
        /// The namespace or the definition, at the version that a read just showed.
        target: ActionTarget,
        /// Kinds that need not be listed where the API server forbids it.
        unproven: Vec<String>,
    },
    /// PATCH of a parent that declares objects of the plan: afterwards it makes none of them again.
    Suspend {
        /// The step it is for.
        step: StepId,
        /// The parent.
        target: ActionTarget,
        /// A JSON patch (RFC 6902), whose `test` operations refuse it on another object or another state.
        patch: Value,
    },
    /// One consistent GET: where an earlier call's effect is not known, and just before the DELETE of what holds data or
    /// much else.
    Read {
        /// The step it is for.
        step: StepId,
        /// The object.
        target: ActionTarget,
    },
    /// One consistent GET of a claim whose data is kept, when nothing else is left for the run to do. It is for no step.
    ReadClaim {
        /// The claim.
        target: ActionTarget,
    },
}

/// The one object that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionTarget {
    /// Its kind, for the request's path.
    pub kind: Kind,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// The planned UID, which tells it from another object of its name. It is `preconditions.uid` of a DELETE.
    pub uid: Uid,
    /// The version that a read just showed, for an object that is read before. It is `preconditions.resourceVersion` of a
    /// DELETE.
    pub version: Option<Arc<str>>,
}

impl ActionTarget {
    /// The object of a step, at any version.
    pub fn of(step: &Step) -> Self {
        let (kind, object, uid) = (step.kind.clone(), step.object.clone(), step.uid.clone());
        Self { kind, object, uid, version: None }
    }

    /// The same object at a version that was read.
    #[must_use]
    pub fn at(self, version: Arc<str>) -> Self {
        Self { version: Some(version), ..self }
    }
}

impl Action {
    /// The step this call is for, if it is for one.
    pub fn step(&self) -> Option<StepId> {
        match self {
            Self::Delete { step, .. }
            | Self::Suspend { step, .. }
            | Self::ReadPods { step, .. }
            | Self::ReadContent { step, .. }
            | Self::Read { step, .. } => Some(*step),
            Self::ReadClaim { .. } => None,
        }
    }

    /// The object this call is about.
    pub fn target(&self) -> &ActionTarget {
        match self {
            Self::Delete { target, .. }
            | Self::Suspend { target, .. }
            | Self::ReadPods { target, .. }
            | Self::ReadContent { target, .. }
            | Self::Read { target, .. }
            | Self::ReadClaim { target } => target,
        }
    }
}

/// The outcome of a call. "Is it there?" has three answers: no, yes and unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The DELETE was accepted; the watch will say when the object is gone.
    Accepted,
    /// The parent was patched; the watch will say that it is suspended.
    Suspended,
    /// The API server knows the kind and has no object of that name.
    NotFound,
    /// The name belongs to another object now: the precondition failed, or a read returned another UID.
    OtherUid {
        /// The UID of the object that has the name now, if the answer contains it.
        uid: Option<Uid>,
    },
    /// A read showed the object, still the planned one.
    Present {
        /// Whether its `deletionTimestamp` is set.
        terminating: bool,
        /// Its `resourceVersion`.
        version: Arc<str>,
        /// The unit that its labels and annotations name.
        named: Option<UnitId>,
        /// The annotation that asks to keep it, as `key: value`.
        keep: Option<Arc<str>>,
    },
    /// A read showed the claim, still the planned one.
    Claim {
        /// `status.phase`.
        phase: Option<Arc<str>>,
        /// Whether its `deletionTimestamp` is set.
        terminating: bool,
    },
    /// The API server refused, and would refuse again: 400, 403, 405, 409 for another reason than the UID, the version or a
    /// write at the same time, 422, or a webhook that denies or cannot be asked. The call had no effect.
    Refused {
        /// HTTP status code.
        code: u16,
        /// The problem that the server reported.
        message: ApiProblem,
    },
    /// The API server throttles requests: 429.
    Throttled {
        /// `Retry-After`, if the answer has one.
        after: Option<SignedDuration>,
    },
    /// No answer, or one that leaves the effect unknown: a timeout, a broken connection, 5xx.
    Unanswered {
        /// The problem.
        message: ApiProblem,
        /// `Retry-After`, if the answer has one.
        after: Option<SignedDuration>,
    },
    /// The object has changed since it was read, so the DELETE had no effect: 409 on the version, or 422 on a
    /// `test` of a patch.
    Changed {
        /// The problem that the server reported.
        message: ApiProblem,
    },
    /// The answer says nothing about the object: 401, a 404 for the kind as a whole.
    Unknown {
        /// The problem that the server reported.
        message: ApiProblem,
    },
    /// The Pods of the namespace, all of them.
    Pods(Vec<PodSight>),
    /// The objects in the namespace, all of them but those of kinds that may not be listed; or those of the definition.
    Content {
        /// The objects.
        objects: Vec<ContentSight>,
        /// The kinds that may not be listed and need not be.
        unlisted: Vec<String>,
    },
    /// Objects of a kind cannot be listed, so that there may be some.
    Unlisted {
        /// The kind as a path names it, or a group version whose kinds are unknown.
        resource: String,
        /// The problem.
        message: ApiProblem,
    },
    /// The call was not made: its run was paused or stopped while it waited in the queue.
    Recalled,
}

/// A Pod in a consistent read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSight {
    /// Its identity.
    pub uid: Uid,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// Its labels.
    pub labels: Labels,
    /// Its owners.
    pub owners: Arc<[OwnerRef]>,
    /// Names of the claims it mounts, generic ephemeral volumes' claims among them.
    pub claims: Vec<Arc<str>>,
}

/// An object in a consistent read of a namespace or of a definition's kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentSight {
    /// Its identity.
    pub uid: Uid,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
}
