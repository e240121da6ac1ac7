//! The ways out of a deletion that waits, in the order of the harm they do: wait or look, repair, a supported way round,
//! removal of the blocker, force.
//!
//! # Decisions
//! - To wait stands first only where the cause may end while nobody does anything (`waiting`); elsewhere it stands behind the repairs.
//! - A family of causes is one plain function. The match in `of_cause` has them all.
//! - A remedy is one change of one object. Nothing is done in bulk: for many objects the first few get a remedy each.
//! - What must not be done now, but could be once its needs hold, is shown and withheld with the reason. What nobody does by
//!   hand is not shown: finalizers that guard what is in use (`kubernetes.io/pvc-protection`, an attached volume's), those of
//!   the garbage collector, and a definition's `customresourcecleanup.apiextensions.k8s.io`.
//! - Where data may be lost, everything that the remedy could hit must be visible: Pods, nodes, claims, volumes, attachments.
//! - A remedy says what the index shows at one moment. It is checked again when it is done: each command has its own guards,
//!   and the server computes it anew before it sends the same request (`attempt`), and once more when its other reads are done
//!   (`last_look`).

mod act;
mod attempt;
mod case;
mod collected;
mod command;
mod control_plane;
mod delete_user;
mod driver_part;
mod finalizer;
mod halt;
mod job;
mod last_look;
mod leak;
mod loss;
mod namespace;
mod node;
mod permission;
mod permit;
mod plugin;
mod pod;
mod premise;
mod put_back;
mod reach;
mod request;
mod retain;
mod scale_down;
mod stamp;
mod start_node;
mod statement;
mod storage;
mod switched;
mod unconfirmed;
mod waiting;

use std::sync::Arc;

use jiff::Timestamp;

use self::case::Case;
pub(crate) use self::statement::is_statement;
pub use self::{
    act::{
        DriverPart, Harm, Holds, Loss, Need, NeedCode, Remedy, RemedyAct, Undo, WaitReason,
        Withheld,
    },
    attempt::{Attempt, AttemptOutcome, Confirmation, RemedyRefusal, switched_off},
    command::{Command, Place, Purpose},
    last_look::Basis,
    permit::{Permit, PermitAnswer},
    premise::{Expected, List, Premise, has_same_claim_policy, has_same_data_fate, keeps_claims},
    put_back::{PutBack, put_backs},
    reach::{GoingClaim, Reach, ReachedClaim, ReachedPod},
    request::{Request, Verb},
    stamp::Stamps,
    switched::SwitchedOff,
};
use crate::{
    diagnosis::{AttachedVolume, Cause, Diagnosis},
    graph::Graph,
    index::Index,
};

/// The resources that a remedy that may lose data could hit.
const AT_RISK: [&str; 5] = [
    "pods",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "volumeattachments.storage.k8s.io",
];

/// The ways out of a diagnosis, the least harmful first. `now` is written into an annotation, so that it differs each time.
pub fn remedies(
    diagnosis: &Diagnosis,
    index: &Index,
    graph: &Graph,
    now: Timestamp,
) -> Vec<Remedy> {
    let case = Case { diagnosis, index, graph, now };
    let mut found = of_cause(&case);
    found.extend(finalizer::owners_again(&case));
    let mut found: Vec<Remedy> = found.into_iter().map(|remedy| guarded(&case, remedy)).collect();
    let waits_in_vain = !waiting::may_end_alone(&case);
    found.sort_by_key(|remedy| (remedy.harm, waits_in_vain && remedy.act.is_wait()));
    found
}

/// The commands that show what the kubelet says of the Pod of a diagnosis: its log on its node and through the API server, what its
/// container runtime runs, and what it counts. Of a volume that is still attached its log alone says anything.
pub fn kubelet_commands(diagnosis: &Diagnosis) -> Vec<Command> {
    let log = |node: &Arc<str>, mark: &str| {
        [command::journal(node, mark), command::journal_by_proxy(node, mark)].into_iter().flatten()
    };
    if let Some(AttachedVolume { node, volume, .. }) = diagnosis.volume_of_kubelet() {
        return log(node, volume).collect();
    }
    let Some((pod, node)) = diagnosis.pod_of_kubelet() else { return Vec::new() };
    let others = [command::running_pods(node), command::kubelet_metrics(node)];
    log(node, &pod.to_string()).chain(others.into_iter().flatten()).collect()
}

/// The remedies of each cause.
fn of_cause(case: &Case<'_>) -> Vec<Remedy> {
    let cause = &case.diagnosis.cause;
    match cause {
        Cause::WithinGrace { until, .. } => pod::within_grace(case, *until),
        Cause::NodeSilent { node, .. } => node::silent(case, node),
        Cause::NodeMissing { node } => node::missing(case, node),
        Cause::ContainersRunning { .. }
        | Cause::KubeletUnaware { .. }
        | Cause::NeverStarted { .. }
        | Cause::SandboxLeft { .. }
        | Cause::DevicesLeft { .. } => pod::not_stopped(case, cause),
        Cause::StaticPod { node } => pod::of_static(case, node),
        Cause::VolumesMounted { .. }
        | Cause::ClaimGone { .. }
        | Cause::DriverMissing { .. }
        | Cause::PodDirectoryLeft { .. } => pod::not_unmounted(case, cause),
        Cause::ClaimInUse { pods } => storage::claim_in_use(case, pods),
        Cause::ClaimHeldByCompletedPods { pods } => storage::claim_held_by_completed(case, pods),
        Cause::InUse { users } => storage::in_use(case, users),
        Cause::KeptForDependents { dependents } => storage::kept_for_dependents(case, dependents),
        Cause::Copied { copies } => storage::copied(case, copies),
        Cause::VolumeBound { claim } => storage::volume_bound(case, claim.as_ref()),
        Cause::DetachFailed { attacher, node, .. } => storage::detach_failed(case, attacher, node),
        Cause::VolumeAttached { attacher, node, detach, .. } => {
            storage::attached(case, attacher, node, *detach)
        }
        Cause::BackendLeft { driver } => storage::backend_left(case, driver.as_ref()),
        Cause::ApiDown { group_version, service } => {
            namespace::api_down(case, group_version, service.as_ref())
        }
        Cause::LooksAgain { group_version, .. } => namespace::looks_again(case, group_version),
        Cause::WebhookDown { webhook, configurations } => {
            namespace::webhook_down(case, webhook, configurations)
        }
        Cause::WebhookDenies { webhook: policy } | Cause::PolicyDenies { policy } => {
            namespace::denied(case, policy)
        }
        Cause::ConversionDown { kind } => namespace::conversion_down(case, kind),
        Cause::Unreadable { resource } => control_plane::unreadable(case, resource),
        Cause::UpdateRejected { webhooks } => namespace::update_rejected(case, webhooks),
        Cause::ContentRefused => namespace::content_refused(case),
        Cause::DiscoveryFailed => namespace::discovery_failed(case),
        Cause::NamespaceFinalizer { finalizer } => namespace::other_finalizer(case, finalizer),
        Cause::ContentUnseen { resources } => control_plane::content_unseen(case, resources),
        Cause::NamespaceGone => vec![finalizer::recreate(case, &case.diagnosis.root.name)],
        Cause::ManagerSilent => control_plane::manager(case),
        Cause::ControllerSilent { controller } => control_plane::silent(case, controller),
        Cause::OwnersCircle { owners } => finalizer::circle(case, owners),
        Cause::FinisherGone { .. }
        | Cause::FinisherNotReady { .. }
        | Cause::FinisherBusy { .. }
        | Cause::FinisherUnknown { .. }
        | Cause::ManagedElsewhere { .. } => finalizer::finisher(case, cause),
        Cause::LoadBalancerLeft => finalizer::load_balancer(case),
        Cause::CannotSee { resource } => control_plane::cannot_see(case, resource),
        Cause::Unknown => control_plane::unknown(case),
    }
}

/// The guards of all remedies: nothing where data may be lost while something that it could hit is hidden, no change without
/// a command, and no command for what is withheld.
fn guarded(case: &Case<'_>, mut remedy: Remedy) -> Remedy {
    if remedy.harm == Harm::DataLoss
        && let Some(hidden) = case.hidden(&AT_RISK)
    {
        remedy.withheld = Some(hidden);
    }
    remedy.checked().permitted(case.index)
}

#[cfg(test)]
mod tests;
