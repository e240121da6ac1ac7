//! What the cluster's watches tell the index.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    api_problem::ApiProblem,
    demo::Demo,
    object::{Kind, Object, Uid},
};

/// One thing a watch saw. Removal is only ever said by a stream that is known to be alive.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// Discovery found this kind and a watch of it begins; until it is [`Observation::Listed`] nothing is known of it.
    Watching(Arc<Kind>),
    /// A complete, consistent list: whatever of this kind is not in it is gone.
    Listed {
        /// The kind that was listed.
        kind: Arc<Kind>,
        /// All its objects.
        objects: Vec<Object>,
    },
    /// The kind may not be listed as a whole. It is watched in these namespaces instead, each for itself; in any other
    /// nothing of it can be seen. Said again when the namespaces change, and ended by the next
    /// [`Observation::Listed`] of the kind.
    PerNamespace {
        /// The kind.
        kind: Arc<Kind>,
        /// Where it is watched: all namespaces that are known, or as many as are watched at once.
        namespaces: Vec<Arc<str>>,
        /// What was said of the whole.
        message: ApiProblem,
    },
    /// A complete, consistent list of one namespace of a divided kind: whatever of this kind is in that namespace and
    /// not in the list is gone.
    ListedIn {
        /// The kind that was listed.
        kind: Arc<Kind>,
        /// Where.
        namespace: Arc<str>,
        /// All its objects there.
        objects: Vec<Object>,
    },
    /// A divided kind cannot be seen (any more) in this namespace.
    HiddenIn {
        /// The kind.
        kind: Arc<Kind>,
        /// Where.
        namespace: Arc<str>,
        /// Why.
        cause: HiddenCause,
        /// What is wrong.
        message: ApiProblem,
    },
    /// A divided kind is seen again in this namespace.
    VisibleIn {
        /// The kind.
        kind: Arc<Kind>,
        /// Where.
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
    /// The kind is no longer served, after its definition went; so are its objects.
    Withdrawn(Arc<Kind>),
    /// A resource, or a whole group version, cannot be seen (any more).
    Hidden {
        /// The resource, such as `deployments.apps`, or the group version, such as `metrics.k8s.io/v1beta1`.
        resource: String,
        /// Why.
        cause: HiddenCause,
        /// What is wrong.
        message: ApiProblem,
    },
    /// What was blind is seen again.
    Visible {
        /// As it was named in [`Observation::Hidden`].
        resource: String,
    },
    /// The API server answers.
    Reached {
        /// Its version, such as `v1.36.3`.
        version: String,
    },
    /// What the API server's clock shows.
    Time(Timestamp),
    /// How fast the API server's clock goes: so many seconds in one of ours. One where nothing else is said.
    Pace(u32),
    /// The cluster is only played, and this is how the game stands.
    Demo(Demo),
    /// The API server does not answer, or not as it should.
    Unreachable {
        /// In which way.
        cause: AwayCause,
        /// What is wrong.
        message: ApiProblem,
    },
}

/// Why a kind cannot be seen.
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

/// In which way the API server is away. What helps differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AwayCause {
    /// No answer: no connection, or none in time.
    #[default]
    Silent,
    /// It does not know who we are: 401.
    Unauthorized,
    /// It answers with an error, or something else answers in its place.
    Failing,
}

/// Since when the API server has not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    /// The first failure in a row.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub since: Timestamp,
    /// In which way.
    #[serde(default)]
    pub cause: AwayCause,
    /// What is wrong.
    pub message: ApiProblem,
}
