//! The reasons why an object of the unit stays, and the needs that it then has.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::disposition::Disposition;
use crate::{
    object::ObjectRef,
    relation::{Edge, EdgeKind, Reason},
};

/// The reasons why an object of the unit stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeptReason {
    /// An object outside the unit uses it.
    UsedBy {
        /// The object that uses it.
        user: ObjectRef,
        /// The kind of the edge between them.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// A kept object needs it.
    NeededBy {
        /// The object that needs it.
        user: ObjectRef,
        /// The kind of the edge between them.
        edge: EdgeKind,
        /// The field and value the edge comes from.
        reason: Reason,
    },
    /// A Retain volume that is not declared part of the unit: it becomes Released, and its data is kept. Or the content of a
    /// snapshot with the deletion policy Retain.
    RetainedVolume,
    /// A Recycle volume that is not declared part of the unit: it stays and is offered again, but its data is scrubbed.
    RecycledVolume,
    /// The cluster needs it, or the server: a node, a namespace that is `default` or begins with `kube-`, a workload of a
    /// priority class `system-*-critical`, and everything in the server's own namespace.
    Protected,
    /// Nobody declared it part of the unit, and no person included it.
    Unclaimed,
    /// A person left it out, or its kind.
    LeftOut,
    /// It is not in the namespaces that a person chose.
    OtherNamespace,
    /// A person chose to keep the data.
    KeptData,
    /// An annotation says so, and no person overrode it.
    KeepAnnotation {
        /// The annotation, as `key: value`.
        annotation: Arc<str>,
    },
    /// It gives people, or all accounts of another namespace, rights in a namespace and is not declared part of the unit. It
    /// goes with the namespace, because the person who runs the teardown may have their rights through it.
    Access,
    /// The cluster creates and removes it by itself.
    MadeByCluster,
    /// Discovery lists no verb `delete` for its kind, so that no call can delete it. It holds neither its namespace, which the
    /// namespace controller lets go all the same, nor the API that serves it.
    NoDeleteVerb,
    /// Its controller is hidden and may exist. The controller would re-create it after its deletion.
    HiddenController {
        /// The owner's kind, as the object names it.
        kind: Arc<str>,
        /// The owner's name.
        name: Arc<str>,
    },
    /// It may have users of a kind that is hidden: Pods that mount a claim, Pods of a ServiceAccount that a binding
    /// gives rights, the claim that a volume names, or objects of a definition's kind.
    HiddenUsers {
        /// The hidden kind, as a path names it.
        resource: String,
        /// The namespace in which it is hidden; none if it is hidden everywhere.
        namespace: Option<Arc<str>>,
    },
}

impl KeptReason {
    /// The end that a plan has for an object that has no step for this reason.
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Access | Self::MadeByCluster => Disposition::GoesAlong,
            Self::RetainedVolume | Self::NoDeleteVerb => Disposition::LeftBehind,
            Self::UsedBy { .. }
            | Self::NeededBy { .. }
            | Self::RecycledVolume
            | Self::Protected
            | Self::Unclaimed
            | Self::LeftOut
            | Self::OtherNamespace
            | Self::KeptData
            | Self::KeepAnnotation { .. }
            | Self::HiddenController { .. }
            | Self::HiddenUsers { .. } => Disposition::Kept,
        }
    }

    /// Whether an object that stays for this reason needs the object behind it on this edge.
    pub(crate) fn needs(&self, edge: Edge<'_>) -> bool {
        match self {
            // Its namespace and its API would stay for ever, because it can never go before them.
            Self::NoDeleteVerb => !edge.is_about_deletion(),
            // Once a volume is Released, it needs neither its class nor its driver: its data stays in its place.
            Self::RetainedVolume => edge.kind != EdgeKind::Provisions,
            // Access to a namespace must not keep the namespace.
            _ => !self.disposition().is_going(),
        }
    }

    /// Whether an object that stays for this reason keeps the webhook configurations that guard it. One that is kept as access
    /// goes with its namespace, and no call deletes one without the verb.
    pub(crate) fn needs_guards(&self) -> bool {
        !matches!(self, Self::Access | Self::NoDeleteVerb)
    }

    /// Whether a person or an annotation chose to keep the object.
    pub fn is_chosen(&self) -> bool {
        matches!(
            self,
            Self::KeptData | Self::LeftOut | Self::Unclaimed | Self::KeepAnnotation { .. }
        )
    }
}
