//! Facts that no watch brings, because their objects change too often or are too many: leases, Events, EndpointSlices. The
//! cluster is asked for them while a deletion is late, and only for what a diagnosis can use; for the leases of nodes also while a
//! page draws nodes.

use std::sync::Arc;

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
}

/// Questions to a kubelet about Pods that it works on: the lines of its log, what its runtime runs, the failures that it counts. A
/// node is asked for all its Pods at once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubeletQuery {
    /// The node.
    pub node: Arc<str>,
    /// The Pods.
    pub pods: Vec<Uid>,
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
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its name.
    pub name: Arc<str>,
    /// `spec.renewTime` as it is written. It is the holder's clock, so it is compared with itself alone.
    pub renewed: Arc<str>,
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
