//! The facts on which the ways out of a diagnosis hang, as one number, without working the ways out. The hub makes each card anew
//! with every change of the cluster, and the commands of a thousand diagnoses are too much for that.
//!
//! # Decisions
//! - What several diagnoses share is hashed once for all of them: the Pods on a node, those of a workload with their claims, and
//!   what is left in namespaces that are gone.
//! - A fact too many has a page read its advice once more, a fact too few leaves old advice on it. So every object that a way out
//!   may be about is hashed with all facts that any way out asks of its kind. A test takes every fact away from a situation of each
//!   cause, and compares the ways out with the stamp (`diagnosis/tests/stamp.rs`).

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    mem::discriminant,
    sync::Arc,
};

use super::{
    AT_RISK,
    case::{EACH, claims, has_ended, pods_of, workload_of},
    namespace::concerned,
    plugin::users,
    reach::{GoingClaim, ReachedClaim},
};
use crate::{
    diagnosis::{Cause, Diagnosis, Link, drivers_of, on_node},
    fetched::{Answer, Permission},
    graph::Graph,
    index::{Index, Renewal},
    object::{Facts, Guard, Object, ObjectRef, ServiceRef, Uid},
    relation::EdgeKind,
};

/// The stamps of many diagnoses at one moment.
#[derive(Debug)]
pub struct Stamps<'a> {
    pub(crate) index: &'a Index,
    pub(crate) graph: &'a Graph,
    hidden: u64,
    nodes: HashMap<Arc<str>, u64>,
    workloads: HashMap<Uid, u64>,
    /// By node and CSI driver.
    drivers: HashMap<(Arc<str>, Arc<str>), u64>,
    /// By namespace that does not exist, the objects in it.
    left: HashMap<Arc<str>, u64>,
}

impl<'a> Stamps<'a> {
    /// None yet.
    pub fn new(index: &'a Index, graph: &'a Graph) -> Self {
        let mut hasher = DefaultHasher::new();
        for resource in AT_RISK {
            index.check_visible(resource, None).is_ok().hash(&mut hasher);
        }
        index.check_visible("namespaces", None).is_ok().hash(&mut hasher);
        index.of_resource("namespaces").next().is_some().hash(&mut hasher);
        index.hidden_kinds().keys().for_each(|resource| resource.hash(&mut hasher));
        let hidden = hasher.finish();
        let (nodes, workloads, drivers, left) = Default::default();
        Self { index, graph, hidden, nodes, workloads, drivers, left }
    }

    /// Hashes the facts on which the needs, the guards, the reach and the losses of the ways out hang.
    pub(crate) fn hash(&mut self, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
        let index = self.index;
        self.hidden.hash(hasher);
        let root = index.named(&diagnosis.root);
        let named = named(&diagnosis.cause).iter().map(|it| index.named(it));
        for object in std::iter::once(root).chain(named) {
            object.map(|object| self.of_object(object)).hash(hasher);
        }
        if let Some(name) = diagnosis.cause.node() {
            self.of_node(name).hash(hasher);
        }
        self.hash_users(diagnosis, hasher);
        self.hash_waiting(diagnosis, hasher);
        if let Some(pod) = root {
            self.hash_volumes(&diagnosis.cause, pod, hasher);
        }
        self.hash_drivers(diagnosis, hasher);
        self.hash_held(diagnosis, hasher);
        hash_rights(index, diagnosis, hasher);
    }

    /// The workloads of the users, and what goes with them.
    fn hash_users(&mut self, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
        let (Cause::ClaimInUse { pods: users }
        | Cause::ClaimHeldByCompletedPods { pods: users }
        | Cause::InUse { users }) = &diagnosis.cause
        else {
            let Cause::VolumeBound { claim: Some(claim) } = &diagnosis.cause else { return };
            if let Some(claim) = self.index.named(claim) {
                self.sources(&claim.uid, EdgeKind::Mounts).hash(hasher);
                self.of_workload(claim).hash(hasher);
            }
            return;
        };
        let mut tops: BTreeSet<&Uid> = BTreeSet::new();
        for user in users.iter().filter_map(|user| self.index.named(user)) {
            let top = workload_of(self.index, user);
            if tops.len() < EACH && tops.insert(&top.uid) {
                self.of_workload(top).hash(hasher);
            }
        }
    }

    fn hash_waiting(&mut self, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
        let index = self.index;
        let finishes = matches!(
            diagnosis.cause,
            Cause::ApiDown { .. } | Cause::LooksAgain { .. } | Cause::NamespaceFinalizer { .. }
        );
        let mut namespaces = 0;
        let of_kubelet = diagnosis.pod_of_kubelet().map(|(pod, _)| pod);
        for held in &diagnosis.waiting {
            let Some(object) = index.get(&held.uid) else { continue };
            self.of_object(object).hash(hasher);
            if let Some(namespace) = gone_namespace(index, object) {
                self.of_gone(namespace).hash(hasher);
            }
            let is_freed = held.object == diagnosis.root || of_kubelet == Some(&held.uid);
            if matches!(held.on, Some((_, Link::Dependent))) || is_freed {
                self.sources(&object.uid, EdgeKind::Owns).hash(hasher);
            }
            match &object.facts {
                Facts::Volume(_) => index.attached_to(&object.name).hash(hasher),
                Facts::Node(_) => self.of_node(&(*object.name).into()).hash(hasher),
                Facts::Namespace(_) if finishes && namespaces < EACH => {
                    namespaces += 1;
                    self.sources(&object.uid, EdgeKind::Contains).hash(hasher);
                    let seen = index.check_namespace_visible(&object.name);
                    format!("{seen:?}").hash(hasher);
                }
                _ => {}
            }
        }
        if matches!(diagnosis.cause, Cause::NamespaceGone) {
            self.of_gone(&diagnosis.root.name).hash(hasher);
        }
    }

    /// The volumes of the claims of a Pod whose mounts hold it. One that is kept names a claim that is gone.
    fn hash_volumes(&self, cause: &Cause, pod: &Object, hasher: &mut DefaultHasher) {
        if !matches!(cause, Cause::VolumesMounted { .. } | Cause::ClaimGone { .. }) {
            return;
        }
        for claim in claims(pod) {
            let found = self.index.named(&claim);
            found.map(|claim| self.of_object(claim)).hash(hasher);
            if found.is_some() && !matches!(cause, Cause::ClaimGone { .. }) {
                continue;
            }
            let is_its = |object: &&Arc<Object>| match &object.facts {
                Facts::Volume(volume) => volume.claim.as_ref().is_some_and(|it| {
                    it.name == claim.name && Some(&it.namespace) == claim.namespace.as_ref()
                }),
                _ => false,
            };
            let volumes = self.index.of_resource("persistentvolumes").filter(is_its);
            sum(volumes.map(|volume| self.of_object(volume))).hash(hasher);
        }
    }

    /// The drivers of a Pod whose mounts hold it, and what a restart of each would hit.
    fn hash_drivers(&mut self, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
        let (Cause::VolumesMounted { node, .. } | Cause::DriverMissing { node, .. }) =
            &diagnosis.cause
        else {
            return;
        };
        let pod = diagnosis.pod_of_kubelet().and_then(|(pod, _)| self.index.get(pod));
        let Some(object) = pod else { return };
        let Facts::Pod(pod) = &object.facts else { return };
        for driver in drivers_of(self.index, object, pod) {
            self.of_driver(node, driver).hash(hasher);
        }
    }

    fn of_driver(&mut self, node: &Arc<str>, driver: Arc<str>) -> u64 {
        let key = (node.clone(), driver);
        if let Some(known) = self.drivers.get(&key) {
            return *known;
        }
        let plugins = on_node(self.index, node, &key.1);
        let plugins = sum(plugins.map(|pod| hash_of(&(&pod.uid, pod.deletion.is_some()))));
        let users = users(self.index, self.graph, node, &key.1);
        let found = hash_of(&(&key.1, plugins, sum(users.map(|pod| hash_of(&pod.uid)))));
        self.drivers.insert(key, found);
        found
    }

    /// Everything that waits, and the autoscalers that read an API, where a way out lets all go on.
    fn hash_held(&self, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
        match &diagnosis.cause {
            Cause::ApiDown { .. } => {
                let scalers = self.index.of_resource("horizontalpodautoscalers.autoscaling");
                sum(scalers.map(|object| hash_of(&object.uid))).hash(hasher);
                diagnosis.held.hash(hasher);
            }
            Cause::WebhookDown { .. } => {
                diagnosis.held.hash(hasher);
                let waiting = diagnosis.waiting.iter().filter_map(|it| self.index.get(&it.uid));
                let names: BTreeSet<&str> = waiting.filter_map(|it| concerned(it)).collect();
                for name in names {
                    let namespace = self.index.find("", "Namespace", None, name);
                    namespace.map(|it| (&it.uid, &it.labels)).hash(hasher);
                }
            }
            _ => {}
        }
    }

    /// A node with the Pods on it and their claims, and whether it may be dead.
    fn of_node(&mut self, name: &Arc<str>) -> u64 {
        if let Some(known) = self.nodes.get(name) {
            return *known;
        }
        let index = self.index;
        let mut hasher = DefaultHasher::new();
        index.silent_with(name).hash(&mut hasher);
        discriminant::<Renewal>(&index.node_renewal(name)).hash(&mut hasher);
        let csi = index.find("storage.k8s.io", "CSINode", None, name);
        csi.map(|it| &it.uid).hash(&mut hasher);
        if let Some(node) = index.find("", "Node", None, name) {
            self.of_object(node).hash(&mut hasher);
            let of_pods = || {
                let edges = self.graph.to(&node.uid).filter(|edge| edge.kind == EdgeKind::RunsOn);
                let pods = edges.filter_map(|edge| index.get(edge.from));
                hash_of(&sum(pods.map(|pod| self.of_pod(pod))))
            };
            self.graph.kept_of_node(&node.uid, of_pods).hash(&mut hasher);
        }
        self.nodes.insert(name.clone(), hasher.finish());
        hasher.finish()
    }

    /// A workload, or another object that may be deleted because it uses the waiting one, with everything that goes with it.
    fn of_workload(&mut self, object: &Object) -> u64 {
        if let Some(known) = self.workloads.get(&object.uid) {
            return *known;
        }
        let index = self.index;
        let mut hasher = DefaultHasher::new();
        self.of_object(object).hash(&mut hasher);
        self.sources(&object.uid, EdgeKind::Owns).hash(&mut hasher);
        if matches!(object.facts, Facts::Workload(_)) {
            sum(pods_of(index, object).into_iter().map(|pod| self.of_pod(pod))).hash(&mut hasher);
            index.check_claims_visible(object.namespace.as_deref()).is_ok().hash(&mut hasher);
            let of_it = self.graph.from(&object.uid).filter(|it| it.kind == EdgeKind::Claims);
            let owned = self.graph.to(&object.uid).filter(|it| it.kind == EdgeKind::Owns);
            let claims = of_it.map(|edge| edge.to).chain(owned.map(|edge| edge.from));
            let claims = claims.filter_map(|uid| GoingClaim::of(index, index.get(uid)?));
            sum(claims.map(|claim| hash_of(&claim))).hash(&mut hasher);
        }
        self.workloads.insert(object.uid.clone(), hasher.finish());
        hasher.finish()
    }

    /// A namespace that does not exist, with what is left in it.
    fn of_gone(&mut self, namespace: &Arc<str>) -> u64 {
        let index = self.index;
        if let Some(known) = self.left.get(namespace) {
            return *known;
        }
        let mut hasher = DefaultHasher::new();
        let is_gone = index.find("", "Namespace", None, namespace).is_none();
        let left = || sum(index.in_namespace(namespace).map(|object| hash_of(&object.uid)));
        is_gone.then(left).hash(&mut hasher);
        index.former_namespace(namespace).map(|it| &it.labels).hash(&mut hasher);
        let claims = index.check_visible("persistentvolumeclaims", Some(namespace));
        claims.is_ok().hash(&mut hasher);
        self.left.insert(namespace.clone(), hasher.finish());
        hasher.finish()
    }

    /// The objects at the other end of edges that point at this one.
    fn sources(&self, uid: &Uid, kind: EdgeKind) -> (usize, u64) {
        let edges = self.graph.to(uid).filter(|edge| edge.kind == kind);
        sum(edges.filter_map(|edge| self.index.get(edge.from)).map(|object| hash_of(&object.uid)))
    }

    /// A Pod that ends, with its claims.
    fn of_pod(&self, pod: &Object) -> u64 {
        hash_of(&(&pod.uid, ReachedClaim::of_pod(self.index, pod)))
    }

    /// An object, as far as any way out asks for it.
    fn of_object(&self, object: &Object) -> u64 {
        let mut hasher = DefaultHasher::new();
        let Object { uid, kind, finalizers, deletion, .. } = object;
        (uid, &kind.version, finalizers, object.controller().map(|it| &it.uid)).hash(&mut hasher);
        deletion.as_ref().map(|it| it.grace == 0).hash(&mut hasher);
        gone_namespace(self.index, object).is_some().hash(&mut hasher);
        self.hash_facts(object, &mut hasher);
        hasher.finish()
    }

    fn hash_facts(&self, object: &Object, hasher: &mut DefaultHasher) {
        match &object.facts {
            Facts::Pod(pod) => {
                let claims = ReachedClaim::of_pod(self.index, object);
                (&pod.node, has_ended(object), claims).hash(hasher);
            }
            Facts::Workload(it) => {
                (it.replicas, it.claims_go_with_it, it.claims_go_when_scaled).hash(hasher);
            }
            Facts::Claim(claim) => {
                let name = claim.volume.as_deref();
                let volume = name.and_then(|it| self.index.find("", "PersistentVolume", None, it));
                let volume = volume.map(|volume| self.of_object(volume));
                (name, volume, claim.one_node).hash(hasher);
            }
            Facts::Volume(it) => (it.reclaim, it.node_local).hash(hasher),
            Facts::Attachment(it) => (it.attached, it.detach_error.is_some()).hash(hasher),
            Facts::Namespace(it) => it.finalizers.hash(hasher),
            Facts::Node(node) => {
                let is_control_plane = object.is_control_plane();
                (node.is_silent(), is_control_plane, &node.taints, &node.provider).hash(hasher);
                node.in_use.hash(hasher);
            }
            Facts::ApiService(it) => {
                let available = it.available.as_ref();
                available.map(|available| discriminant(&available.status)).hash(hasher);
                hash_service(it.service.as_ref(), hasher);
            }
            Facts::Webhooks(it) => it.guards.iter().for_each(|guard| hash_guard(guard, hasher)),
            Facts::Definition(it) => {
                it.stored_versions.hash(hasher);
                hash_service(it.converter.as_deref(), hasher);
            }
            _ => {}
        }
    }
}

/// The namespace of an object, if none of that name is known. Where namespaces are hidden, that says nothing to any way out.
fn gone_namespace<'a>(index: &Index, object: &'a Object) -> Option<&'a Arc<str>> {
    let namespace = object.namespace.as_ref()?;
    index.find("", "Namespace", None, namespace).is_none().then_some(namespace)
}

/// The objects that a cause names besides its root.
fn named(cause: &Cause) -> &[ObjectRef] {
    match cause {
        Cause::ClaimInUse { pods: named }
        | Cause::ClaimHeldByCompletedPods { pods: named }
        | Cause::InUse { users: named }
        | Cause::KeptForDependents { dependents: named }
        | Cause::OwnersCircle { owners: named }
        | Cause::Copied { copies: named }
        | Cause::WebhookDown { configurations: named, .. }
        | Cause::UpdateRejected { webhooks: named }
        | Cause::FinisherGone { deleted: named, .. }
        | Cause::FinisherUnknown { possible: named, .. } => named,
        Cause::FinisherNotReady { finisher, .. } | Cause::FinisherBusy { finisher, .. } => {
            std::slice::from_ref(finisher)
        }
        Cause::VolumeBound { claim: named } | Cause::ApiDown { service: named, .. } => {
            named.as_slice()
        }
        _ => &[],
    }
}

fn hash_guard(guard: &Guard, hasher: &mut DefaultHasher) {
    (&guard.field, &guard.webhook, guard.fails_closed, guard.is_conditional).hash(hasher);
    (&guard.covers.groups, &guard.covers.resources).hash(hasher);
    guard.namespaces.to_string().hash(hasher);
    hash_service(guard.service.as_ref(), hasher);
}

fn hash_service(service: Option<&ServiceRef>, hasher: &mut DefaultHasher) {
    service.map(|it| (&it.namespace, &it.name)).hash(hasher);
}

/// The answers about the rights that the ways out need. They are few, and asked for only while somebody reads a card.
fn hash_rights(index: &Index, diagnosis: &Diagnosis, hasher: &mut DefaultHasher) {
    for (permission, answer) in index.reviews().filter(|(it, _)| may_concern(diagnosis, it)) {
        permission.hash(hasher);
        match answer {
            Ok(Answer::Review(review)) => review.allowed.hash(hasher),
            _ => discriminant::<Result<_, _>>(answer).hash(hasher),
        }
    }
}

/// Whether a way out of a diagnosis may need a right. With many cards, one that somebody opens changes no other.
fn may_concern(diagnosis: &Diagnosis, permission: &Permission) -> bool {
    let is_named = |object: &ObjectRef| {
        let of_namespace = object.namespace.as_ref() == Some(&permission.name);
        object.name == permission.name || of_namespace && &*permission.resource == "namespaces"
    };
    match &diagnosis.cause {
        // Their ways out change volumes, workloads, users and configurations.
        Cause::ClaimInUse { .. }
        | Cause::ClaimHeldByCompletedPods { .. }
        | Cause::InUse { .. }
        | Cause::VolumeBound { .. }
        | Cause::WebhookDown { .. }
        | Cause::ConversionDown { .. } => true,
        _ => {
            permission.name.is_empty()
                || is_named(&diagnosis.root)
                || diagnosis.waiting.iter().any(|held| is_named(&held.object))
        }
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A number of objects and the sum of their hashes: edges and lists come in no order of the objects.
fn sum(hashes: impl Iterator<Item = u64>) -> (usize, u64) {
    hashes.fold((0, 0), |(count, sum), hash| (count + 1, sum.wrapping_add(hash)))
}
