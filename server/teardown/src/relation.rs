//! The edges between objects, one function per kind of edge.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How far an object has got towards being gone; the ladder every object climbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rung {
    /// It is there.
    Present,
    /// DELETE was accepted: `deletionTimestamp` is set.
    Accepted,
    /// This UID is proven gone.
    Absent,
    /// Absent, and no Pod is left of it: none whose chain of owners ends at its UID, none that its selector matches.
    Childless,
}

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EdgeKind {
    /// The object's `ownerReferences` name the target.
    Owns,
    /// The object lives in the target, a namespace.
    Contains,
    /// A Pod, or what makes Pods, refers to the target: a claim, ConfigMap or Secret.
    Mounts,
    /// A StatefulSet made the target, a claim, from its template.
    Claims,
    /// The object, a claim, is bound to the target, a volume.
    Binds,
    /// The object's selector matches the target, a Pod or what makes Pods.
    Selects,
    /// The object, an Ingress, sends traffic to the target, a Service.
    Routes,
    /// The object, an autoscaler, sets the target's replicas.
    Scales,
    /// The object, a Pod, runs on the target, a Node.
    RunsOn,
    /// The object runs under the target: Pod under ServiceAccount, which a binding gives a Role.
    RunsAs,
    /// The object, a webhook configuration, is answered by the target.
    Admits,
    /// The object, an APIService, is answered by the target.
    Serves,
    /// The object is of the kind that the target, a CustomResourceDefinition, defines.
    Defines,
}

/// Where an edge comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reason {
    /// The field, such as `spec.volumes[0].persistentVolumeClaim.claimName`.
    pub field: Arc<str>,
    /// Its value.
    pub value: Arc<str>,
}
