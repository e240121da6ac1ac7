//! The programs of a CSI driver that clear the finalizers of its volumes and attachments.
//!
//! # Decisions
//! - A volume waits for the external-provisioner, which deletes its storage, and for the external-attacher as long as it has that
//!   one's finalizer; an attachment waits for the external-attacher alone. One that is ready says nothing of the other: they may
//!   run in one Deployment, or in two.
//! - The names of containers and images tell them apart, else the rights: the provisioner has to delete volumes and the attacher
//!   to change attachments (`deploy/kubernetes/rbac.yaml` of `kubernetes-csi/external-provisioner` and `external-attacher`). Both
//!   have to change volumes, and so does the external-resizer.
//! - The plugins on the nodes unmount volumes, and most often may not change them.
//! - The content of a snapshot waits for the csi-snapshotter beside the driver, which deletes the snapshot in the storage and takes the
//!   finalizer off (`removeContentFinalizer` in `pkg/sidecar-controller/snapshot_controller.go` of
//!   `kubernetes-csi/external-snapshotter`). The snapshot-controller, which sets it, may change the content too and never does that.

use std::sync::Arc;

use super::{case::Case, cause::Verdict, program::known, protection::BOUND_CONTENT};
use crate::{
    object::{Facts, Object},
    relation::{
        EdgeKind, Strength, is_a_drivers, is_an_attachers, is_entitled, may_attach,
        may_delete_volumes,
    },
};

/// The verdict on the program of a CSI driver that clears a finalizer of a volume or an attachment. `None` where none is known to
/// be the driver's: it may run outside of the cluster, and another program that may change volumes may be of another driver.
pub(crate) fn driver_finisher(
    case: &Case<'_>,
    object: &Object,
    finalizer: &Arc<str>,
) -> Option<Verdict> {
    let driver = match &object.facts {
        Facts::Volume(volume) => volume.driver.as_ref()?,
        Facts::Attachment(attachment) => &attachment.attacher,
        _ => return None,
    };
    if !is_a_drivers(finalizer) {
        return None;
    }
    known(&with_sidecar(case, object, finalizer, programs(case, object, driver)), finalizer)
}

/// The verdict on the program of a CSI driver that clears the finalizer of the content of a snapshot. `None` for another
/// finalizer, and where no program of the driver may change the content.
pub(super) fn snapshotter(
    case: &Case<'_>,
    object: &Object,
    finalizer: &Arc<str>,
) -> Option<Verdict> {
    let Facts::SnapshotContent(content) = &object.facts else { return None };
    if &**finalizer != BOUND_CONTENT {
        return None;
    }
    let mut found = programs(case, object, &content.driver);
    found.retain(|it| is_entitled(case.index, it, object));
    known(&found, finalizer)
}

/// The programs that are the CSI driver of an object.
fn programs<'a>(case: &Case<'a>, object: &Object, driver: &Arc<str>) -> Vec<&'a Arc<Object>> {
    let edges = case.graph.from(&object.uid).filter(|edge| {
        let is_its_own = edge.strength == Strength::Hard && edge.reason.value == *driver;
        edge.kind == EdgeKind::Provisions && is_its_own
    });
    edges
        .filter_map(|edge| case.index.get(edge.to))
        .filter(|it| matches!(it.facts, Facts::Workload(_) | Facts::Pod(_)))
        .collect()
}

/// Those of a driver's programs that run the sidecar which clears the finalizer. Where nothing tells the sidecars apart, each
/// program that may change the object may be it.
fn with_sidecar<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
    programs: Vec<&'a Arc<Object>>,
) -> Vec<&'a Arc<Object>> {
    let is_attachers = is_an_attachers(finalizer);
    let runs = |program: &Object, attacher: bool| match &program.facts {
        Facts::Workload(workload) if attacher => workload.sidecars.attacher,
        Facts::Workload(workload) => workload.sidecars.provisioner,
        _ => false,
    };
    let (named, others): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|it| runs(it, is_attachers));
    if !named.is_empty() {
        return named;
    }
    let others: Vec<&Arc<Object>> = others
        .into_iter()
        .filter(|it| !runs(it, !is_attachers) && is_entitled(case.index, it, object))
        .collect();
    let does = if is_attachers { may_attach } else { may_delete_volumes };
    let entitled: Vec<&Arc<Object>> =
        others.iter().copied().filter(|it| does(case.index, it)).collect();
    if entitled.is_empty() { others } else { entitled }
}
