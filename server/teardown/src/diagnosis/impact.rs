//! The harm that a deletion that waits does to what should go on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    case::{Case, NAMED},
    cause::Cause,
    replacement,
};
use crate::{
    object::{Attachment, Facts, Object, ObjectRef, Phase, Pod, PodReferenceKind, Uid},
    relation::EdgeKind,
};

/// The most Pods of a silent node whose Services are looked at. A kubelet runs 110 unless it is told otherwise.
const ON_NODE: usize = 500;

/// The harm that a waiting deletion does to what should go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Workloads that start no replacement before the waiting Pod is gone.
    pub replacements_blocked: Vec<ObjectRef>,
    /// Services without a ready Pod.
    pub without_endpoints: Vec<ObjectRef>,
    /// Pods that run on a claim that is being deleted.
    #[serde(skip)]
    pub losing_claim: Vec<ObjectRef>,
    /// Pods that cannot start before their disk is detached from another node.
    #[serde(skip)]
    pub waiting_for_disk: Vec<ObjectRef>,
    /// The resource whose objects may be harmed and cannot be seen.
    #[serde(skip)]
    pub unseen: Option<Arc<str>>,
}

impl Impact {
    /// Whether no workload, no Service and no Pod that is to start is affected.
    pub fn is_none(&self) -> bool {
        self.replacements_blocked.is_empty()
            && self.without_endpoints.is_empty()
            && self.waiting_for_disk.is_empty()
    }

    /// The harm of these objects, which wait for this cause.
    pub(super) fn of<'a>(
        case: &Case<'a>,
        cause: &Cause,
        waiting: impl Iterator<Item = &'a Arc<Object>>,
    ) -> Self {
        let mut found = Found::default();
        for object in waiting {
            match &object.facts {
                Facts::Pod(_) if object.deletion.is_none() => found.add_replacement(case, object),
                Facts::Pod(pod) => found.add_pod(case, object, pod),
                Facts::Claim(_) => found.add_claim(case, object),
                Facts::Attachment(facts) => found.add_attachment(case, facts),
                _ => {}
            }
        }
        if let Cause::NodeSilent { node, .. } = cause {
            found.add_silent_node(case, node);
        }
        let first = |found: BTreeSet<ObjectRef>| found.into_iter().take(NAMED).collect();
        Self {
            replacements_blocked: first(found.blocked),
            without_endpoints: first(found.without),
            losing_claim: first(found.losing),
            waiting_for_disk: first(found.starting),
            unseen: found.unseen,
        }
    }
}

#[derive(Default)]
struct Found {
    blocked: BTreeSet<ObjectRef>,
    without: BTreeSet<ObjectRef>,
    losing: BTreeSet<ObjectRef>,
    starting: BTreeSet<ObjectRef>,
    unseen: Option<Arc<str>>,
}

impl Found {
    fn look(&mut self, case: &Case<'_>, resource: &str, namespace: Option<&str>) {
        if self.unseen.is_none() && case.index.check_visible(resource, namespace).is_err() {
            self.unseen = Some(resource.into());
        }
    }

    /// A Service loses the Pods of a silent node at once, and those that nobody has evicted yet too.
    fn add_silent_node(&mut self, case: &Case<'_>, name: &str) {
        let Some((node, _)) = case.node(name) else { return };
        let is_over = |pod: &Object| matches!(&pod.facts, Facts::Pod(it) if it.phase.is_some_and(Phase::is_over));
        // Hundreds of Pods may be behind a few Services.
        let mut services: BTreeMap<&Uid, &Arc<Object>> = BTreeMap::new();
        for pod in case.sources(node, EdgeKind::RunsOn).filter(|it| !is_over(it)).take(ON_NODE) {
            self.look(case, "services", pod.namespace.as_deref());
            services.extend(case.services_of(pod).map(|it| (&it.uid, it)));
        }
        let without = services.into_values().filter(|service| case.is_without_pods(service));
        self.without.extend(without.map(|service| service.reference()));
    }

    /// A claim that is being deleted stays while Pods run on it, and no Pod starts with it any more.
    fn add_claim(&mut self, case: &Case<'_>, claim: &Object) {
        self.look(case, "pods", claim.namespace.as_deref());
        let runs = |pod: &Pod| pod.node.is_some() && !pod.phase.is_some_and(Phase::is_over);
        let users = case.sources(claim, EdgeKind::Mounts).filter(|user| user.deletion.is_none());
        let users = users.filter(|user| matches!(&user.facts, Facts::Pod(pod) if runs(pod)));
        self.losing.extend(users.map(|user| user.reference()));
    }

    /// A Pod that is not being deleted waits to start, and with it the Services that have no other.
    fn add_replacement(&mut self, case: &Case<'_>, pod: &Object) {
        self.look(case, "services", pod.namespace.as_deref());
        self.without.extend(case.services_without_pods(pod).map(|it| it.reference()));
        self.starting.insert(pod.reference());
    }

    /// No Pod of another node can have the disk before it is detached.
    fn add_attachment(&mut self, case: &Case<'_>, Attachment { volume, node, .. }: &Attachment) {
        let volume = volume.iter();
        let pods = volume.flat_map(|volume| replacement::waiting_for(case, volume, node));
        pods.for_each(|pod| self.add_replacement(case, pod));
    }

    /// A Deployment with strategy Recreate starts no Pod of a new template before those of the old one are over: it has scaled
    /// their ReplicaSet to 0 by then. With the same template the ReplicaSet replaces a Pod at once. A StatefulSet starts none
    /// of the same name before the old one is gone, and a DaemonSet none on the same node, which matters on a node that is
    /// ready (`pkg/controller/deployment/recreate.go`, `pkg/controller/statefulset`, `pkg/controller/daemon`).
    fn add_pod(&mut self, case: &Case<'_>, object: &Object, pod: &Pod) {
        self.look(case, "services", object.namespace.as_deref());
        self.without.extend(case.services_without_pods(object).map(|it| it.reference()));
        let is_over = pod.phase.is_some_and(Phase::is_over);
        for owner in object.owners.iter() {
            let Some(owner) = case.index.get(&owner.uid) else {
                if let Some(resource) = workloads(&owner.group, &owner.kind) {
                    self.look(case, resource, object.namespace.as_deref());
                }
                continue;
            };
            if owner.deletion.is_none() {
                self.add_blocked(case, owner, object, pod, is_over);
            }
        }
    }

    fn add_blocked(
        &mut self,
        case: &Case<'_>,
        owner: &Object,
        object: &Object,
        pod: &Pod,
        is_over: bool,
    ) {
        let Facts::Workload(workload) = &owner.facts else { return };
        let replicas = workload.replicas.unwrap_or(1);
        let ordinal = object.name.rsplit('-').next().and_then(|it| it.parse::<i64>().ok());
        let is_on_ready_node = || {
            let node = pod.node.as_ref().and_then(|node| case.node(node));
            node.is_some_and(|(_, node)| node.is_ready())
        };
        if owner.kind.is("apps", "StatefulSet") && ordinal.is_some_and(|it| it < replicas)
            || owner.kind.is("apps", "DaemonSet") && is_on_ready_node()
        {
            self.blocked.insert(owner.reference());
        }
        if replicas > 0 {
            if !is_over && waits_for_disk_of(case, owner, object, pod) {
                let above = owner.owners.iter().find_map(|it| case.index.get(&it.uid));
                self.blocked.insert(above.map_or_else(|| owner.reference(), |it| it.reference()));
            }
            return;
        }
        let above = owner.owners.iter().filter_map(|owner| case.index.get(&owner.uid));
        for deployment in above.filter(|above| above.deletion.is_none() && !is_over) {
            let recreates =
                matches!(&deployment.facts, Facts::Workload(workload) if workload.recreates);
            if recreates {
                self.blocked.insert(deployment.reference());
            }
        }
    }
}

/// The resource of a kind of workloads that may be kept from starting a replacement.
fn workloads(group: &str, kind: &str) -> Option<&'static str> {
    match (group, kind) {
        ("apps", "ReplicaSet") => Some("replicasets.apps"),
        ("apps", "StatefulSet") => Some("statefulsets.apps"),
        ("apps", "DaemonSet") => Some("daemonsets.apps"),
        _ => None,
    }
}

/// Whether another Pod of the same owner waits for a disk that is attached to the node of this one: it can be attached to one
/// node at a time (`Multi-Attach error`, `pkg/controller/volume/attachdetach/reconciler/reconciler.go`).
fn waits_for_disk_of(case: &Case<'_>, owner: &Object, old: &Object, pod: &Pod) -> bool {
    let Some(node) = &pod.node else { return false };
    let claims = |pod: &Pod| -> Vec<Arc<str>> {
        let claims = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
        claims.map(|used| used.name.clone()).collect()
    };
    let disks: Vec<Arc<str>> = claims(pod)
        .into_iter()
        .filter(|claim| {
            let namespace = old.namespace.as_deref();
            let claim = case.index.find("", "PersistentVolumeClaim", namespace, claim);
            match claim.map(|claim| &claim.facts) {
                Some(Facts::Claim(facts)) => {
                    let volume = facts.volume.as_deref();
                    volume.and_then(|it| case.index.attached_to(it)).is_some_and(|on| on == node)
                }
                _ => false,
            }
        })
        .collect();
    if disks.is_empty() {
        return false;
    }
    case.sources(owner, EdgeKind::Owns).any(|other| match &other.facts {
        Facts::Pod(new) => {
            other.deletion.is_none()
                && !new.ready
                && new.node.as_ref().is_some_and(|on| on != node)
                && claims(new).iter().any(|claim| disks.contains(claim))
        }
        _ => false,
    })
}
