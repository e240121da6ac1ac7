//! The plugin of a CSI driver on a node, which the kubelet calls to unmount.
//!
//! # Decisions
//! - A driver that the node's CSINode does not list is not registered with the kubelet, whatever runs: that comes first.
//! - Of a driver that is registered, the Pod of its plugin on the node tells more. One that is not ready may not answer, while the
//!   registration stays as long as the registrar's socket does
//!   (<https://kubernetes-csi.github.io/docs/node-driver-registrar.html>).
//! - A DaemonSet is known as a driver's plugin by the folder among the kubelet's plugins that it mounts. One ready Pod of any of them is
//!   enough, and a driver of which no Pod is seen on the node may run there as a process of the host: nothing speaks against it.
//! - A driver works without a CSIDriver. That there is none is a hint that the driver was uninstalled, and only beside other facts.

use std::sync::Arc;

use super::{
    cause::Evidence,
    program::{readiness, ready},
};
use crate::{
    index::Index,
    object::{Claim, Facts, Object, ObjectRef, Pod, PodReferenceKind},
};

/// A driver that cannot unmount on a node.
pub(crate) struct Missing<'a> {
    pub(crate) driver: Arc<str>,
    /// The CSINode that does not list it, or the Pod of its plugin that is not ready.
    pub(super) root: &'a Arc<Object>,
    pub(super) evidence: Vec<Evidence>,
}

impl Missing<'_> {
    /// The Pod of the plugin, if it is the reason.
    pub(crate) fn plugin(&self) -> Option<ObjectRef> {
        matches!(self.root.facts, Facts::Pod(_)).then(|| self.root.reference())
    }
}

/// The first of these drivers that cannot unmount on a node, if there is one.
pub(super) fn missing<'a>(
    index: &'a Index,
    node: &str,
    drivers: &[Arc<str>],
) -> Option<Missing<'a>> {
    let absent =
        drivers.iter().find_map(|driver| Some((unregistered(index, node, driver)?, driver)));
    if let Some((csi_node, driver)) = absent {
        let mut evidence = vec![listed(csi_node)];
        evidence.extend(on_node(index, node, driver).map(|pod| readiness(pod)));
        evidence.extend(uninstalled(index, driver));
        return Some(Missing { driver: driver.clone(), root: csi_node, evidence });
    }
    drivers.iter().find_map(|driver| {
        let down: Vec<&Arc<Object>> = on_node(index, node, driver).collect();
        if down.iter().any(|pod| ready(pod) == Some(true)) {
            return None;
        }
        let (root, driver) = (*down.first()?, driver.clone());
        let mut evidence: Vec<Evidence> = down.iter().map(|pod| readiness(pod)).collect();
        evidence.extend(uninstalled(index, &driver));
        Some(Missing { driver, root, evidence })
    })
}

/// A CSI driver that a Pod needs to unmount an inline volume or the volume of a claim, and that cannot do so on its node.
pub(crate) fn missing_driver<'a>(
    index: &'a Index,
    object: &Object,
    pod: &Pod,
) -> Option<Missing<'a>> {
    missing(index, pod.node.as_ref()?, &drivers_of(index, object, pod))
}

/// The CSI drivers of the volumes of a Pod: the inline ones, and those of its claims.
pub(crate) fn drivers_of(index: &Index, object: &Object, pod: &Pod) -> Vec<Arc<str>> {
    let named = |what| pod.uses.iter().filter(move |used| used.what == what);
    let inline = named(PodReferenceKind::Driver).map(|used| used.name.clone());
    let namespace = object.namespace.as_deref();
    let claims = named(PodReferenceKind::Claim)
        .filter_map(|used| index.find("", "PersistentVolumeClaim", namespace, &used.name));
    inline.chain(claims.filter_map(|claim| driver_of(index, claim))).collect()
}

/// The CSI driver of the volume that a claim is bound to.
fn driver_of(index: &Index, claim: &Object) -> Option<Arc<str>> {
    let Facts::Claim(facts) = &claim.facts else { return None };
    let Claim { volume: Some(volume), .. } = &**facts else { return None };
    match &index.find("", "PersistentVolume", None, volume)?.facts {
        Facts::Volume(volume) => volume.driver.clone(),
        _ => None,
    }
}

/// The Pods of a driver's plugin on a node, by the DaemonSets that run it.
pub(crate) fn on_node<'a>(
    index: &'a Index,
    node: &str,
    driver: &str,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let is_here = move |object: &&Arc<Object>| matches!(&object.facts, Facts::Pod(pod) if pod.node.as_deref() == Some(node));
    let sets = index.plugins_of(driver).filter(|set| set.kind.is("apps", "DaemonSet"));
    sets.flat_map(|set| index.dependents(&set.uid)).filter(is_here)
}

/// The CSINode of this name if it does not list the driver. One that cannot be seen says nothing against it.
fn unregistered<'a>(index: &'a Index, node: &str, driver: &Arc<str>) -> Option<&'a Arc<Object>> {
    let found = index.find("storage.k8s.io", "CSINode", None, node)?;
    let Facts::CsiNode(facts) = &found.facts else { return None };
    (!facts.drivers.contains(driver)).then_some(found)
}

/// The drivers that a CSINode lists.
fn listed(csi_node: &Object) -> Evidence {
    let drivers = match &csi_node.facts {
        Facts::CsiNode(facts) => facts.drivers.join(", "),
        _ => String::new(),
    };
    Evidence::field(csi_node, "spec.drivers", drivers)
}

/// The evidence that a driver has no CSIDriver.
fn uninstalled(index: &Index, driver: &Arc<str>) -> Option<Evidence> {
    let group = "storage.k8s.io";
    let is_there = index.find(group, "CSIDriver", None, driver).is_some();
    let is_known = index.check_visible("csidrivers.storage.k8s.io", None).is_ok();
    (is_known && !is_there).then(|| {
        Evidence::absent(ObjectRef {
            group: group.into(),
            kind: "CSIDriver".into(),
            namespace: None,
            name: driver.clone(),
        })
    })
}
