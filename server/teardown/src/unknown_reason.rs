//! Why nobody can tell whether an object is gone, or whether something still needs it.

use serde::{Deserialize, Serialize};

use crate::{api_problem::ApiProblem, object::ObjectRef};

/// What keeps a question open. None of these ever counts as "gone" or as "unused".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnknownReason {
    /// A kind cannot be seen.
    Hidden {
        /// The kind as a path names it: `pods`, `ingresses.networking.k8s.io`.
        resource: String,
        /// Where, if it can be seen elsewhere.
        namespace: Option<String>,
        /// What is wrong.
        message: ApiProblem,
    },
    /// The first list of a kind has not come yet.
    NotListed {
        /// The kind as a path names it.
        resource: String,
    },
    /// The API server knows no such kind, and its definition is not known to be gone.
    NotServed {
        /// The kind as a path names it.
        resource: String,
    },
    /// A Pod that the plan does not know is left of a workload that has to have none.
    PodsLeft {
        /// The Pod.
        pod: ObjectRef,
        /// The workload.
        of: Box<ObjectRef>,
    },
    /// Something that the plan does not know uses the object.
    InUse {
        /// What uses it.
        by: ObjectRef,
    },
    /// The garbage collector would take something with the object that the plan does not know.
    WouldCollect {
        /// What it would take.
        it: ObjectRef,
    },
    /// Data would be lost with the object of which the plan says nothing, or that it stays.
    WouldDestroyData {
        /// The volume.
        volume: ObjectRef,
    },
    /// An object that the plan does not know is in the namespace.
    NamespaceNotEmpty {
        /// The object.
        by: ObjectRef,
    },
    /// The API server answered, and the answer says nothing about the object.
    Inconclusive {
        /// What is wrong with it.
        message: ApiProblem,
    },
}
