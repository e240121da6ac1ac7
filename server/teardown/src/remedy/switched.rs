//! The things that are switched off until somebody puts them back.

/// A thing that a remedy, or a run, switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchedOff {
    /// A node has the taint that says that it is out of service.
    Node,
    /// A webhook lets requests pass that it cannot check.
    Webhook,
    /// A webhook configuration is deleted.
    Configuration,
    /// An APIService is deleted.
    Api,
    /// A workload has no replicas.
    Workload,
    /// A StatefulSet with replicas keeps the claims of those that it removes.
    ClaimPolicy,
    /// A volume keeps its data when its claim goes.
    Reclaim,
    /// A GitOps parent is suspended.
    Parent,
    /// The objects of a definition are not converted.
    Conversion,
    /// A namespace was created again and is not deleted.
    Namespace,
}
