//! Facts that no watch brings, because their objects change too often or are too many: leases, Events, EndpointSlices. The
//! cluster is asked for them while a deletion is late and somebody looks, and only for what a diagnosis can use, or the ways out of
//! it; for leases whether somebody looks or not, for those of nodes also while a page draws nodes, and for that of the
//! kube-controller-manager also while the checks of a plan are looked at.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

use crate::object::{ObjectRef, Uid};

/// The namespace of the leases that kubelets renew (`pkg/kubelet/kubelet.go`).
pub const NODE_LEASES: &str = "kube-node-lease";
/// The lease of the leading kube-controller-manager, in `kube-system`.
pub const MANAGER: &str = "kube-controller-manager";

/// A question to the cluster. Its order is that in which questions are asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// The name by which the API server knows our credentials.
    Identity,
    /// The leases of all nodes.
    NodeLeases,
    /// The lease of the leading kube-controller-manager.
    ManagerLease,
    /// The ready endpoints of a Service, by its EndpointSlices.
    Endpoints {
        /// The Service's namespace.
        namespace: Arc<str>,
        /// The Service's name.
        name: Arc<str>,
    },
    /// The Events about an object.
    Events {
        /// The object.
        of: ObjectRef,
        /// Its UID.
        uid: Uid,
    },
    /// Whether our credentials have a right.
    Permission(Permission),
}

/// A right, as a SelfSubjectAccessReview asks for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permission {
    /// The verb, such as `patch`.
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The version.
    pub version: Arc<str>,
    /// The plural of the kind.
    pub resource: Arc<str>,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
    /// The namespace; none for a kind without.
    pub namespace: Option<Arc<str>>,
    /// The name; empty for all names.
    pub name: Arc<str>,
}

/// Writes the right as `kubectl auth can-i` takes it: `update namespaces/finalize shop`, `patch pods web in shop`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

/// Questions to a kubelet about Pods that it works on: the lines of its log, what its runtime runs, the failures that it counts. A
/// node is asked for all its Pods at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubeletQuery {
    /// The node.
    pub node: Arc<str>,
    /// The Pods.
    pub pods: Vec<Uid>,
    /// Volumes that are still attached to the node, by the first object that waits for each.
    pub volumes: Vec<(Uid, Arc<str>)>,
    /// The time before which lines of its log say nothing.
    pub since: Timestamp,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A user's name.
    Identity(Arc<str>),
    /// Leases.
    Leases(Vec<Lease>),
    /// The number of endpoints that are ready.
    Endpoints(usize),
    /// Events, the latest last.
    Events(Vec<Event>),
    /// Whether a right is given.
    Review(Review),
}

/// The answer to an access review.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Review {
    /// The right is given.
    pub allowed: bool,
    /// The reason, in the words of the authorizer; mostly empty.
    pub said: Arc<str>,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its name.
    pub name: Arc<str>,
    /// `spec.renewTime` as it is written. It is the holder's clock, so it is compared with itself alone.
    pub renewed: Arc<str>,
    /// `spec.leaseDurationSeconds` as it is written: the seconds for which its holder is to be believed alive after it renewed
    /// the lease; none if it is not written.
    pub duration: Option<i64>,
}

/// An Event about an object. Its texts are bounded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// The time at which it happened last.
    pub at: Option<Timestamp>,
    /// It is of type Warning.
    pub warns: bool,
    /// The component that reports it, such as `kubelet`.
    pub by: Arc<str>,
    /// The reason, such as `FailedKillPod`.
    pub reason: Arc<str>,
    /// The message.
    pub message: Arc<str>,
}
