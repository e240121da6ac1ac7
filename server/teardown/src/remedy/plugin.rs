//! The plugin of a CSI driver on a node, which unmounts for the kubelet.
//!
//! # Decisions
//! - A restart of its Pod is a person's to do, behind a restart of the kubelet: a driver that serves its volumes from its own Pod, as
//!   those with FUSE do, cuts them off from every Pod of the node that uses one, and the API does not show which drivers do.
//!   Those Pods are listed.
//! - Where a claim or the storage behind a volume is gone, the driver is not what is missing.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use super::{
    act::{DriverPart, Loss, Remedy, RemedyAct},
    case::{Case, EACH, has_ended},
    command::{self, Command, Purpose},
    reach::Reach,
};
use crate::{
    diagnosis::{Cause, drivers_of, on_node},
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef, Phase},
    relation::EdgeKind,
};

/// The driver is not registered on the node, or its Pod there is not ready.
pub(super) fn repair(
    case: &Case<'_>,
    object: &Object,
    node: &Arc<str>,
    driver: &Arc<str>,
) -> Remedy {
    let plugins: Vec<&Arc<Object>> = on_node(case.index, node, driver).take(EACH).collect();
    let target = plugins.first().map_or(object, |plugin| plugin);
    let csi_node = case.index.find("storage.k8s.io", "CSINode", None, node);
    let look = csi_node.map(|it| command::look(it)).into_iter();
    let look = look.chain(plugins.iter().flat_map(|plugin| {
        let log = ["--all-containers", "--tail=200"];
        [command::describe(plugin), command::about(Purpose::Look, plugin, "logs", &log)]
    }));
    let (part, driver) = (DriverPart::Node, Some(driver.clone()));
    Remedy::new(RemedyAct::RepairDriver { driver, part, node: Some(node.clone()) })
        .at(target)
        .with(look)
}

/// Restarts the drivers of a Pod that has not been unmounted, each by the deletion of its own Pod on the node.
pub(super) fn restart(case: &Case<'_>, object: &Object, node: &Arc<str>) -> Vec<Remedy> {
    let Facts::Pod(pod) = &object.facts else { return Vec::new() };
    if !matches!(case.diagnosis.cause, Cause::VolumesMounted { .. } | Cause::DriverMissing { .. }) {
        return Vec::new();
    }
    let drivers = drivers_of(case.index, object, pod);
    let plugins = drivers.iter().flat_map(|driver| {
        on_node(case.index, node, driver)
            .filter(|plugin| plugin.deletion.is_none())
            .map(move |plugin| (driver, plugin))
    });
    let mut found: Vec<Remedy> = Vec::new();
    for (driver, plugin) in plugins {
        let remedy = restart_one(case, plugin, node, driver);
        // One Pod may run two drivers.
        if found.len() < EACH && found.iter().all(|it| it.target != remedy.target) {
            found.push(remedy);
        }
    }
    found
}

fn restart_one(case: &Case<'_>, plugin: &Object, node: &Arc<str>, driver: &Arc<str>) -> Remedy {
    let act = RemedyAct::RestartDriver { driver: driver.clone(), node: node.clone() };
    // A person alone sends it.
    let by_hand = command::delete(plugin, &json!({}));
    let by_hand = by_hand.map(|command| Command { request: None, ..command });
    let served = users(case.index, case.graph, node, driver);
    let served: BTreeSet<ObjectRef> = served.map(|pod| pod.reference()).collect();
    let served = Reach::of(served);
    let loss = (!served.is_none()).then_some(Loss::ServedMounts);
    Remedy::new(act).at(plugin).with([command::describe(plugin), by_hand]).reach(served).loss(loss)
}

/// The Pods of a node that run with a volume of the driver.
pub(super) fn users<'a>(
    index: &'a Index,
    graph: &'a Graph,
    node: &str,
    driver: &Arc<str>,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let node = index.find("", "Node", None, node);
    let edges = node.into_iter().flat_map(|node| graph.to(&node.uid));
    let pods = edges.filter(|edge| edge.kind == EdgeKind::RunsOn);
    pods.filter_map(|edge| index.get(edge.from)).filter(move |object| match &object.facts {
        Facts::Pod(pod) => {
            let is_over = has_ended(object) || pod.phase.is_some_and(Phase::is_over);
            !is_over && drivers_of(index, object, pod).contains(driver)
        }
        _ => false,
    })
}
