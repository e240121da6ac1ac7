//! The observations that the cluster's watches send to the index.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api_problem::ApiProblem,
    fetched::{Answer, Question},
    object::{Kind, Object, RBAC, Uid},
};

/// One observation of a watch. Only a stream that is known to be alive reports removals.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// Discovery found this kind and its watch begins; until [`Observation::Listed`] nothing is known of its objects.
    Watching(Arc<Kind>),
    /// A complete, consistent list: objects of this kind that are not in it are gone.
    Listed {
        /// The kind that was listed.
        kind: Arc<Kind>,
        /// All its objects.
        objects: Vec<Object>,
    },
    /// The kind may not be listed in the whole cluster. It is watched in each of these namespaces instead, and is
    /// hidden in every other one. This is repeated when the namespaces change, and ends with the next
    /// [`Observation::Listed`] of the kind.
    PerNamespace {
        /// The kind.
        kind: Arc<Kind>,
        /// The namespaces in which it is watched: all known ones, up to a limit.
        namespaces: Vec<Arc<str>>,
        /// The problem with listing the whole cluster.
        message: ApiProblem,
    },
    /// A complete, consistent list of one namespace of a kind that is watched namespace by namespace: objects of this
    /// kind and namespace that are not in it are gone.
    ListedIn {
        /// The kind that was listed.
        kind: Arc<Kind>,
        /// The namespace.
        namespace: Arc<str>,
        /// All its objects in the namespace.
        objects: Vec<Object>,
    },
    /// A kind that is watched namespace by namespace is hidden in this namespace.
    HiddenIn {
        /// The kind.
        kind: Arc<Kind>,
        /// The namespace.
        namespace: Arc<str>,
        /// The cause.
        cause: HiddenCause,
        /// The problem.
        message: ApiProblem,
    },
    /// A kind that is watched namespace by namespace is visible again in this namespace.
    VisibleIn {
        /// The kind.
        kind: Arc<Kind>,
        /// The namespace.
        namespace: Arc<str>,
    },
    /// The object was added or changed.
    Applied(Box<Object>),
    /// A DELETED event for this UID.
    Deleted {
        /// The object's kind.
        kind: Arc<Kind>,
        /// The object's UID.
        uid: Uid,
    },
    /// The kind is no longer served, because its definition is gone; so are its objects.
    Withdrawn(Arc<Kind>),
    /// A resource, or a whole group version, is hidden.
    Hidden {
        /// The resource, such as `deployments.apps`, or the group version, such as `metrics.k8s.io/v1beta1`.
        resource: String,
        /// The cause.
        cause: HiddenCause,
        /// The problem.
        message: ApiProblem,
    },
    /// A hidden resource or group version is visible again.
    Visible {
        /// The same name as in [`Observation::Hidden`].
        resource: String,
    },
    /// The cluster answered a question of a diagnosis, or did not.
    Fetched {
        /// The question.
        question: Question,
        /// The answer, or the problem.
        answer: Result<Answer, ApiProblem>,
    },
    /// A question is not asked any more, so its answer does not count any more.
    Unasked(Question),
    /// The watched resources of which discovery lists no verb `delete`; they replace those of before.
    Undeletable(BTreeSet<String>),
    /// The API server is reachable.
    Reached {
        /// Its version, such as `v1.36.3`.
        version: String,
    },
    /// The server runs in this cluster, in this namespace.
    RunsIn {
        /// The namespace.
        namespace: Arc<str>,
    },
    /// The time on the API server's clock.
    Time(Timestamp),
    /// The speed of the API server's clock, in its seconds per second of ours. The default is 1.
    Pace(u32),
    /// The API server does not answer, or answers with an error.
    Unreachable {
        /// The kind of failure.
        cause: AwayCause,
        /// The problem.
        message: ApiProblem,
    },
}

impl Observation {
    /// Whether it changes one object at most, and not what is visible of others.
    pub(crate) fn concerns_one_object(&self) -> bool {
        match self {
            Self::Applied(_)
            | Self::Deleted { .. }
            | Self::Reached { .. }
            | Self::Unreachable { .. }
            | Self::Time(_)
            | Self::Pace(_)
            | Self::Fetched { .. }
            | Self::Unasked(_) => true,
            Self::Watching(_)
            | Self::Listed { .. }
            | Self::PerNamespace { .. }
            | Self::ListedIn { .. }
            | Self::HiddenIn { .. }
            | Self::VisibleIn { .. }
            | Self::Withdrawn(_)
            | Self::Hidden { .. }
            | Self::Visible { .. }
            | Self::Undeletable(_)
            | Self::RunsIn { .. } => false,
        }
    }

    /// Whether it may change which roles and bindings are visible.
    pub(crate) fn concerns_rights(&self) -> bool {
        match self {
            Self::Listed { kind, .. }
            | Self::PerNamespace { kind, .. }
            | Self::ListedIn { kind, .. }
            | Self::HiddenIn { kind, .. }
            | Self::VisibleIn { kind, .. }
            | Self::Withdrawn(kind) => &*kind.group == RBAC,
            Self::Hidden { resource, .. } | Self::Visible { resource } => resource.contains(RBAC),
            Self::Watching(_)
            | Self::Applied(_)
            | Self::Deleted { .. }
            | Self::Undeletable(_)
            | Self::Fetched { .. }
            | Self::Unasked(_)
            | Self::Reached { .. }
            | Self::RunsIn { .. }
            | Self::Time(_)
            | Self::Pace(_)
            | Self::Unreachable { .. } => false,
        }
    }
}

/// The causes for which a kind is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HiddenCause {
    /// The credentials may not list or watch it.
    Forbidden,
    /// Discovery of its group failed or is stale.
    Discovery,
    /// Listing or watching fails for another reason.
    Failing,
}

/// The ways in which the API server can be unreachable. Each needs another remedy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AwayCause {
    /// No answer: no connection, or a timeout.
    #[default]
    Silent,
    /// It rejects our credentials: 401.
    Unauthorized,
    /// It answers with an error, or another server answers in its place.
    Failing,
}

/// The API server is unreachable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// The time of the first failure in a row.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// The kind of failure.
    #[serde(default)]
    pub cause: AwayCause,
    /// The problem.
    pub message: ApiProblem,
}
