//! Nodes and storage drivers that have to do their part in a deletion, and budgets that have none.

use std::collections::BTreeSet;

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::missing_driver,
    object::{ConditionStatus, Facts, Reclaim},
    relation::{EdgeKind, is_a_drivers},
};

/// Nodes that do not end their Pods: the kubelet has stopped reporting, or says that it is not ready. The Pod garbage
/// collector removes the Pods of a node that does not exist.
pub(super) fn nodes(subject: &Subject<'_>, notes: &mut Notes) {
    for (object, pod) in subject.running_pods() {
        let Some(name) = &pod.node else { continue };
        let Some((_, node)) = subject.case.node(name) else { continue };
        let node_name = name.clone();
        let (severity, code) = match node.ready.as_ref().map(|ready| ready.status) {
            Some(ConditionStatus::Unknown) => {
                (Severity::Refusal, NoteCode::NodeSilent { node: node_name })
            }
            Some(ConditionStatus::False) => {
                (Severity::Warning, NoteCode::NodeNotReady { node: node_name })
            }
            Some(ConditionStatus::True) | None => continue,
        };
        notes.add(severity, code, object.reference());
    }
}

/// Drivers that have to unmount volumes, and are not registered on the node of the Pod. One whose own Pod there is not ready may be
/// ready by then, so that is a warning.
pub(super) fn drivers(subject: &Subject<'_>, notes: &mut Notes) {
    for (object, pod) in subject.running_pods() {
        if let Some(node) = pod.node.clone()
            && let Some(missing) = missing_driver(subject.index(), object, pod)
        {
            let (plugin, driver) = (missing.plugin(), missing.driver);
            let (severity, code) = match plugin {
                None => (Severity::Refusal, NoteCode::DriverMissing { driver, node }),
                Some(plugin) => {
                    (Severity::Warning, NoteCode::DriverNotReady { driver, node, plugin })
                }
            };
            notes.add(severity, code, object.reference());
        }
    }
}

/// Drivers that have to delete the storage behind volumes, or only to clear a finalizer of theirs, and of which the cluster knows
/// nothing: there is no CSIDriver, and no node has one registered. A driver needs no CSIDriver, so this is a warning.
pub(super) fn provisioners(subject: &Subject<'_>, notes: &mut Notes) {
    let index = subject.index();
    let kinds = ["csidrivers.storage.k8s.io", "csinodes.storage.k8s.io"];
    if kinds.iter().any(|resource| index.check_visible(resource, None).is_err()) {
        return;
    }
    let registered: BTreeSet<_> = index
        .of_resource("csinodes.storage.k8s.io")
        .filter_map(|object| match &object.facts {
            Facts::CsiNode(node) => Some(&node.drivers),
            _ => None,
        })
        .flatten()
        .collect();
    for (_, object) in subject.objects() {
        if let Facts::Volume(volume) = &object.facts
            && let Some(driver) = &volume.driver
            && !registered.contains(driver)
            && index.find("storage.k8s.io", "CSIDriver", None, driver).is_none()
        {
            let driver = driver.clone();
            // The external-attacher holds a volume whose storage stays as well.
            let held = object.finalizers.iter().find(|it| is_a_drivers(it)).cloned();
            let code = match (volume.reclaim, held) {
                (Reclaim::Delete, _) => NoteCode::ProvisionerMissing { driver },
                (_, Some(finalizer)) => NoteCode::DriverGone { driver, finalizer },
                _ => continue,
            };
            notes.add(Severity::Warning, code, object.reference());
        }
    }
}

/// Budgets that cover Pods of the plan. Only the eviction API asks them.
pub(super) fn budgets(subject: &Subject<'_>, notes: &mut Notes) {
    let mut found = BTreeSet::new();
    for (object, _) in subject.running_pods() {
        let selecting = subject.case.graph.to(&object.uid);
        for edge in selecting.filter(|edge| edge.kind == EdgeKind::Selects) {
            if let Some(budget) = subject.index().get(edge.from)
                && matches!(budget.facts, Facts::Disruption(_))
            {
                found.insert(budget.reference());
            }
        }
    }
    for budget in found {
        notes.add(Severity::Info, NoteCode::Budgets, budget);
    }
}
