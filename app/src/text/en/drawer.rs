//! The texts of an object's details.

use teardown::{message::DetailName, plan::KeptReason, relation::DeletionPhase};

use super::{
    super::{isolated, named},
    edge::reason,
};

pub const DETAILS: &str = "Details";
pub const IDENTITY: &str = "Identity";
pub const UID: &str = "UID";
pub const API_VERSION: &str = "API version";
pub const NAMESPACE: &str = "Namespace";
pub const CREATED: &str = "Created";
pub const DELETED: &str = "Deletion accepted";
pub const GRACE: &str = "Grace period";
pub const FINALIZERS: &str = "Finalizers";
pub const FINALIZERS_MEAN: &str =
    "Its controller has to remove each finalizer before the object is gone.";
pub const LABELS: &str = "Labels";
pub const ORDER: &str = "Place in the plan";
pub const DELETION_PROGRESS: &str = "Deletion progress";
pub const ONLY_STATE: &str = "Show only these; select again to show all";
pub const GOES_AFTER: &str = "Goes after";
pub const GOES_BEFORE: &str = "Goes before";
pub const RELATED: &str = "Related, in no order";
pub const WHY_KEPT: &str = "Why it is kept";
pub const NOT_PLANNED: &str = "A plan does not delete it.";
pub const SELECTED_GONE: &str = "The selected object no longer exists.";

/// A place in the plan.
pub fn wave(number: u32) -> String {
    format!("Step {number}")
}

/// A detail's name.
pub fn detail(name: DetailName) -> &'static str {
    match name {
        DetailName::Phase => "Phase",
        DetailName::Node => "Node",
        DetailName::Replicas => "Ready replicas",
        DetailName::Capacity => "Capacity",
        DetailName::Class => "Storage class",
        DetailName::Reclaim => "Reclaim policy",
        DetailName::Source => "Data stored in",
        DetailName::Selector => "Selector",
        DetailName::Target => "Target",
        DetailName::LoadBalancer => "Type",
        DetailName::Owner => "Controlled by",
    }
}

/// Why an object stays.
pub fn kept(why: &KeptReason) -> String {
    match why {
        KeptReason::UsedBy { user, reason: why, .. } => {
            format!("{} uses it and is not part of the unit: {}", named(user), reason(why))
        }
        KeptReason::NeededBy { user, reason: why, .. } => {
            format!("{} is kept and needs it: {}", named(user), reason(why))
        }
        KeptReason::RetainedVolume => {
            "Its policy is Retain, and no label makes it part of the unit: it stays, with its data".to_owned()
        }
        KeptReason::RecycledVolume => {
            "Its reclaim policy is Recycle: it stays, its data is erased, and it becomes available again".to_owned()
        }
        KeptReason::Protected => "The cluster or Unwind itself needs it".to_owned(),
        KeptReason::Unclaimed => {
            "Unclaimed: nothing says that it is part of the unit, and nobody included it".to_owned()
        }
        KeptReason::LeftOut => "Left out of this plan".to_owned(),
        KeptReason::OtherNamespace => {
            "Not in the namespaces that this plan is limited to".to_owned()
        }
        KeptReason::KeptData => "This plan keeps the data".to_owned(),
        KeptReason::KeepAnnotation { annotation } => {
            format!("An annotation says to keep it: {}", isolated(annotation))
        }
        KeptReason::Access => {
            "It grants people or other namespaces access, perhaps yours: it goes with its namespace".to_owned()
        }
        KeptReason::NoDeleteVerb => "Its API has no delete: nobody can delete it".to_owned(),
        KeptReason::HiddenController { kind, name } => {
            format!("{kind} {} controls it and cannot be seen: it would create it again", isolated(name))
        }
        KeptReason::HiddenUsers { resource, namespace } => {
            let within = namespace.as_ref().map(|namespace| format!(" in {namespace}"));
            format!("Something else may use it: {resource}{} cannot be seen", within.unwrap_or_default())
        }
        KeptReason::MadeByCluster => {
            "Left to the cluster, which creates it and removes it by itself".to_owned()
        }
    }
}

/// Whether a node is ready.
pub fn ready(ready: bool) -> &'static str {
    if ready { "Ready" } else { "Not ready" }
}

/// Between that and the time at which it changed.
pub const READY_CHANGED: &str = ", changed ";

/// In front of the time at which a node gave its last sign of life.
pub fn last_seen(ready: bool) -> &'static str {
    if ready { "; last seen " } else { "; not seen since " }
}

/// A phase of a deletion.
pub fn phase_name(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "Not deleted",
        DeletionPhase::Accepted => "Deletion accepted",
        DeletionPhase::Gone => "Gone",
        DeletionPhase::PodsGone => "Pods gone",
    }
}

/// The meaning of a phase of a deletion.
pub fn phase_means(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "The object exists.",
        DeletionPhase::Accepted => "The cluster accepted the DELETE.",
        DeletionPhase::Gone => "This UID is confirmed gone.",
        DeletionPhase::PodsGone => "None of its Pods is left.",
    }
}

/// More of the same.
pub fn more(count: usize) -> String {
    format!("and {count} more")
}
