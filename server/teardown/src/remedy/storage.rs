//! Claims, volumes and their attachments.

use std::sync::Arc;

use super::{
    act::{DriverPart, Harm, Loss, Remedy, RemedyAct, WaitReason},
    case::{Case, EACH, workload_of},
    command::{self, Command, Purpose},
    control_plane,
    delete_user::{delete_user, destroys_data},
    finalizer::{nudge, remove, remove_detached},
    pod::restart_kubelet,
    reach::Reach,
    retain::retain,
    scale_down::scale_down,
};
use crate::{
    diagnosis::DetachState,
    object::{Facts, Object, ObjectRef, Reclaim},
    relation::EdgeKind,
};

/// Set on a volume by its CSI provisioner, and by the controller of volumes for in-tree ones.
const PROVISIONERS: [&str; 2] =
    ["external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-controller"];

/// The controller that requests detaches, by the name that kube-controller-manager gives it.
const ATTACH_DETACH: &str = "persistentvolume-attach-detach-controller";

/// Pods that nobody deletes use the claim: end their workload, or delete Pods that have none.
pub(super) fn claim_in_use(case: &Case<'_>, pods: &[ObjectRef]) -> Vec<Remedy> {
    let mut owners: Vec<&Arc<Object>> = Vec::new();
    for pod in pods.iter().filter_map(|pod| case.index.named(pod)) {
        let owner = workload_of(case.index, pod);
        if owners.iter().all(|known| known.uid != owner.uid) {
            owners.push(owner);
        }
    }
    let mut found: Vec<Remedy> =
        case.root().and_then(|claim| retain(case, claim)).into_iter().collect();
    for owner in owners.into_iter().take(EACH) {
        found.extend(scale_down(case, owner));
        // An operator creates the workload again.
        found.push(delete_user(case, owner, owner.controller().map(|_| Loss::ComesBack)));
    }
    found
}

/// Only Pods that have run to completion use the claim: delete them.
pub(super) fn claim_held_by_completed(case: &Case<'_>, pods: &[ObjectRef]) -> Vec<Remedy> {
    let pods = pods.iter().filter_map(|pod| case.index.named(pod)).take(EACH);
    let found = pods.map(|pod| delete_user(case, pod, Some(Loss::Output)));
    case.root().and_then(|claim| retain(case, claim)).into_iter().chain(found).collect()
}

/// Others use the object: end the workloads of Pods, and look at the rest, which may hold data.
pub(super) fn in_use(case: &Case<'_>, users: &[ObjectRef]) -> Vec<Remedy> {
    let (pods, others): (Vec<ObjectRef>, Vec<ObjectRef>) =
        users.iter().cloned().partition(|user| user.group.is_empty() && &*user.kind == "Pod");
    let mut found: Vec<Remedy> = others.iter().take(EACH).map(|it| look(case, it)).collect();
    found.extend(claim_in_use(case, &pods));
    found
}

/// The object's own program keeps it for its dependents. Those are for a person to delete: some are no objects, and data goes with
/// most. Its finalizer is not offered: without it the program's guard is void, and they lose what they depend on.
pub(super) fn kept_for_dependents(case: &Case<'_>, dependents: &[ObjectRef]) -> Vec<Remedy> {
    let Some(object) = case.root() else { return Vec::new() };
    let delete = Remedy::new(RemedyAct::DeleteDependents)
        .at(object)
        .with([command::describe(object)])
        .loss([Loss::DependentData]);
    dependents.iter().take(EACH).map(|it| look(case, it)).chain([delete]).collect()
}

/// The object stays until its copies are complete: wait, and look at why they are not. A copy that will never be complete is given up
/// by deleting it.
pub(super) fn copied(case: &Case<'_>, copies: &[ObjectRef]) -> Vec<Remedy> {
    let wait = RemedyAct::Wait { reason: WaitReason::Finisher, until: None };
    let wait = Remedy::new(wait).named(Some(case.diagnosis.root.clone()));
    let copies = || copies.iter().take(EACH);
    let given_up =
        copies().filter_map(|copy| case.index.named(copy)).filter(|it| it.deletion.is_none());
    let given_up = given_up
        .map(|copy| Remedy { harm: Harm::DataLoss, ..delete_user(case, copy, Some(Loss::Copy)) });
    std::iter::once(wait).chain(copies().map(|copy| look(case, copy))).chain(given_up).collect()
}

fn look(case: &Case<'_>, name: &ObjectRef) -> Remedy {
    let commands = case.index.named(name).and_then(|object| command::describe(object));
    Remedy::new(RemedyAct::Look).named(Some(name.clone())).with([commands])
}

/// A claim that nobody deletes is bound to the volume: the claim is what has to go.
pub(super) fn volume_bound(case: &Case<'_>, claim: Option<&ObjectRef>) -> Vec<Remedy> {
    let Some(claim) = claim.and_then(|claim| case.index.named(claim)) else {
        return super::control_plane::silent(case, "persistentvolume-binder");
    };
    let users = case.sources(claim, EdgeKind::Mounts).map(|user| user.reference());
    let reach = Reach::of(users);
    let remedy = delete_user(case, claim, None).reach(reach);
    let destroys = case.root().is_some_and(
        |object| matches!(&object.facts, Facts::Volume(volume) if volume.reclaim != Reclaim::Retain),
    );
    let keep = retain(case, claim);
    keep.into_iter().chain([if destroys { destroys_data(remedy) } else { remedy }]).collect()
}

/// The detach of the volume has not ended: the way out is with the kubelet of the node, with the attach-detach controller, or with
/// the driver.
pub(super) fn attached(
    case: &Case<'_>,
    attacher: &Arc<str>,
    name: &Arc<str>,
    detach: DetachState,
) -> Vec<Remedy> {
    let Some(object) = case.root() else { return Vec::new() };
    let wait = RemedyAct::Wait { reason: WaitReason::Detach, until: None };
    let wait = Remedy::new(wait).at(object);
    match detach {
        DetachState::InUse => {
            let look = [command::look(object), look_at_use(case, name)];
            vec![wait.with(look), restart_kubelet(case, name)]
        }
        DetachState::NotRequested => {
            let repair = control_plane::repair(case, ATTACH_DETACH);
            vec![wait, repair.with([look_at_use(case, name)])]
        }
        DetachState::Requested => {
            [wait].into_iter().chain(detach_failed(case, attacher, name)).collect()
        }
        DetachState::NotAttached => detach_failed(case, attacher, name),
    }
}

/// The driver has to detach the volume. The finalizer of the attachment goes by hand only once somebody has seen in the storage system
/// that the volume is detached, whatever the record says: with the finalizer gone, the next node attaches it.
pub(super) fn detach_failed(case: &Case<'_>, attacher: &Arc<str>, name: &Arc<str>) -> Vec<Remedy> {
    let Some(object) = case.root() else { return Vec::new() };
    let driver = RemedyAct::RepairDriver {
        driver: Some(attacher.clone()),
        part: DriverPart::Attacher,
        node: Some(name.clone()),
    };
    let look = [command::look(object), look_at_use(case, name)];
    let mut found = vec![Remedy::new(driver).at(object).with(look)];
    found.extend(object.finalizers.iter().filter_map(|it| remove_detached(case, object, it)));
    found
}

/// Shows the volumes that a node says it uses.
fn look_at_use(case: &Case<'_>, name: &str) -> Option<Command> {
    let (node, _) = case.node(name)?;
    command::about(Purpose::Look, node, "get", &["--output=jsonpath={.status.volumesInUse}"])
}

/// The provisioner has not deleted the storage behind the volume.
pub(super) fn backend_left(case: &Case<'_>, driver: Option<&Arc<str>>) -> Vec<Remedy> {
    let Some(object) = case.root() else { return Vec::new() };
    let repair = RemedyAct::RepairDriver {
        driver: driver.cloned(),
        part: DriverPart::Provisioner,
        node: None,
    };
    let mut found = vec![Remedy::new(repair).at(object).with([command::describe(object)])];
    let held = object.finalizers.iter().filter(|it| PROVISIONERS.contains(&&***it));
    found.extend(held.filter_map(|finalizer| remove(case, object, finalizer)));
    found.push(nudge(case, object));
    found
}
