//! The client of a controller: the cluster's verbs under the controller's own user, reads that are never refused, and
//! events.

use std::sync::Arc;

use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::node_faults::NodeFaults;
use super::read::{is_true, name, namespace, number, set, text, uid, written};
use super::resource::{API_SERVICES, EVENTS, NAMESPACES, PODS, Resource};
use crate::cluster::{Actor, Cluster, DeleteOptions, Propagation, split_api_version};
use crate::fault::NodeFault;
use crate::kind::Kind;
use crate::patch::Patch;
use crate::status::Status;
use crate::store::Key;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    Normal,
    Warning,
}

/// The options of a DELETE.
#[derive(Debug, Clone, Default)]
pub struct Deletion(DeleteOptions);

impl Deletion {
    /// Deletes this object, and no other of its name.
    pub fn of(object: &Value) -> Self {
        Self(DeleteOptions { uid: Some(uid(object).to_owned()), ..DeleteOptions::default() })
    }

    /// Deletes only this version.
    pub fn at(mut self, version: &str) -> Self {
        self.0.resource_version = Some(version.to_owned());
        self
    }

    pub fn propagation(mut self, propagation: Propagation) -> Self {
        self.0.propagation = Some(propagation);
        self
    }

    pub fn grace(mut self, seconds: i64) -> Self {
        self.0.grace_period_seconds = Some(seconds);
        self
    }
}

/// The namespaced resources that discovery returns.
pub(crate) struct Discovered {
    /// One version of each resource that can be listed and deleted.
    pub(crate) namespaced: Vec<Arc<Kind>>,
    /// The group versions whose server does not answer, as `group/version`.
    pub(crate) stale: Vec<String>,
}

/// The cluster as one controller sees it.
pub struct Client<'a> {
    cluster: &'a mut Cluster,
    /// The faults below the API.
    pub(crate) node_faults: &'a mut NodeFaults,
    actor: Actor,
    component: &'static str,
    failing: bool,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        cluster: &'a mut Cluster,
        node_faults: &'a mut NodeFaults,
        user: &str,
        component: &'static str,
        failing: bool,
    ) -> Self {
        Self { cluster, node_faults, actor: Actor::controller(user), component, failing }
    }

    /// A client for the same cluster with the user of a node, for its kubelet.
    pub(crate) fn node(&mut self, node: &str) -> Client<'_> {
        let failing = self.failing || self.node_fault(node) == Some(NodeFault::Failing);
        Client {
            cluster: self.cluster,
            node_faults: self.node_faults,
            actor: Actor::node(node),
            component: "kubelet",
            failing,
        }
    }

    /// The fault of a node.
    pub(crate) fn node_fault(&self, node: &str) -> Option<NodeFault> {
        self.cluster.faults.node(node)
    }

    /// How many times a node has lost its power.
    pub(crate) fn power_losses(&self, node: &str) -> u32 {
        self.cluster.faults.power_losses(node)
    }

    /// The wall clock, for times that are written.
    pub fn now(&self) -> Timestamp {
        self.cluster.now()
    }

    /// The steady clock, for waits.
    pub fn steady(&self) -> Timestamp {
        self.cluster.steady()
    }

    /// The time on the steady clock of a time that was written by the wall clock.
    pub(crate) fn steady_at(&self, written: Timestamp) -> Timestamp {
        let left = written.duration_since(self.now());
        let limit = if left.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
        self.steady().checked_add(left).unwrap_or(limit)
    }

    pub fn random(&mut self) -> &mut Rng {
        &mut self.cluster.rng
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.cluster.get(key).cloned()
    }

    pub fn find(&self, resource: Resource, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get(&resource.key(namespace, name))
    }

    pub fn by_uid(&self, uid: &str) -> Option<(Key, Arc<Value>)> {
        self.cluster.get_by_uid(uid).map(|(key, object)| (key.clone(), object.clone()))
    }

    /// All objects of a resource; those of one namespace if given.
    pub fn list(&self, resource: Resource, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.cluster.list(resource.group, resource.plural, namespace).cloned().collect()
    }

    /// The number of objects of a resource.
    pub(crate) fn count(&self, resource: Resource) -> usize {
        self.cluster.store.count(resource.group, resource.plural)
    }

    /// All objects of a resource by its group and plural.
    pub(crate) fn list_any(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        self.cluster.list(group, plural, None).cloned().collect()
    }

    /// The objects of a resource in a namespace.
    pub(crate) fn list_of(&self, kind: &Kind, namespace: &str) -> Vec<Arc<Value>> {
        self.cluster.list(&kind.group, &kind.plural, Some(namespace)).cloned().collect()
    }

    /// 500 unless all objects of a kind can be read in its version; those of one namespace if given.
    pub(crate) fn check_all_readable(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Result<(), Status> {
        self.cluster.check_all_readable(kind, namespace)
    }

    /// The version of a resource that is stored.
    pub(crate) fn stored(&self, group: &str, plural: &str) -> Option<Arc<Kind>> {
        self.cluster.kinds.get(group, plural).cloned()
    }

    /// All objects with an ownerReference to this UID.
    pub fn owned(&self, uid: &str) -> Vec<(Key, Arc<Value>)> {
        let keys = self.cluster.store.owned_by(uid);
        keys.filter_map(|key| Some((key.clone(), self.cluster.get(key)?.clone()))).collect()
    }

    /// The objects of one resource that an owner controls, by name.
    pub fn controlled(&self, resource: Resource, uid: &str) -> Vec<Arc<Value>> {
        let keys = self.cluster.store.owned_by(uid).filter(|key| resource.has(key));
        let objects = keys.filter_map(|key| self.cluster.get(key));
        objects.filter(|it| super::read::controlled_by(it, uid)).cloned().collect()
    }

    /// The kind that a reference names.
    pub(crate) fn kind_of(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        self.cluster.kinds.by_kind(split_api_version(api_version).0, kind).cloned()
    }

    /// The resources whose objects can be in a namespace, as far as every API group answers.
    pub(crate) fn discover(&self) -> Discovered {
        let kinds = &self.cluster.kinds;
        let deletable = |it: &&Arc<Kind>| it.namespaced && it.has("delete") && it.has("list");
        let preferred = kinds.iter().filter_map(|it| kinds.preferred(&it.group, &it.plural));
        Discovered {
            namespaced: preferred.filter(deletable).cloned().collect(),
            stale: self.stale(),
        }
    }

    /// The group versions whose APIService is not available.
    fn stale(&self) -> Vec<String> {
        let unavailable =
            |it: &&Arc<Value>| it.pointer("/spec/service").is_some() && !is_true(it, "Available");
        let name =
            |it: &Arc<Value>| format!("{}/{}", text(it, "/spec/group"), text(it, "/spec/version"));
        self.cluster
            .list(API_SERVICES.group, API_SERVICES.plural, None)
            .filter(unavailable)
            .map(name)
            .collect()
    }

    /// 500 unless an object can be read in the preferred version, which the controllers of Kubernetes use.
    fn readable(&self, key: &Key) -> Result<(), Status> {
        match (self.cluster.kinds.preferred(&key.group, &key.plural), self.cluster.get(key)) {
            (Some(kind), Some(object)) => self.cluster.check_readable(kind, object),
            _ => Ok(()),
        }
    }

    /// Refuses every request while the controller's mode is `Failing`.
    fn allowed(&self) -> Result<(), Status> {
        if self.failing {
            Err(Status::internal("the sandbox refuses all requests of this controller"))
        } else {
            Ok(())
        }
    }

    /// Creates an object; apiVersion and kind are filled in.
    pub fn create(&mut self, resource: Resource, mut object: Value) -> Result<Arc<Value>, Status> {
        self.allowed()?;
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
        let place = namespace(&object).to_owned();
        self.cluster.create(&self.actor, resource.group, resource.plural, &place, object)
    }

    /// Creates an object unless it exists.
    pub(crate) fn create_if_absent(
        &mut self,
        resource: Resource,
        object: Value,
    ) -> Result<(), Status> {
        match self.create(resource, object) {
            Err(status) if status.reason != "AlreadyExists" && !status.is_not_found() => {
                Err(status)
            }
            _ => Ok(()),
        }
    }

    /// Creates an object of any kind again.
    pub(crate) fn recreate(&mut self, key: &Key, object: Value) -> Result<(), Status> {
        self.allowed()?;
        self.cluster
            .create(&self.actor, &key.group, &key.plural, &key.namespace, object)
            .map(|_| ())
    }

    /// Writes a status unless it is stored already.
    pub fn update_status(
        &mut self,
        resource: Resource,
        object: &Value,
    ) -> Result<Arc<Value>, Status> {
        let key = resource.key(namespace(object), name(object));
        if let Some(stored) = self.cluster.get(&key)
            && stored.get("status") == object.get("status")
        {
            return Ok(stored.clone());
        }
        self.allowed()?;
        self.cluster.update_status(&self.actor, &key, object.clone())
    }

    /// The Scale of an object.
    pub(crate) fn scale(&self, key: &Key) -> Result<Value, Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.scale(key)
    }

    /// Writes another number of replicas into a Scale that was read before.
    pub(crate) fn rescale(&mut self, key: &Key, scale: Value, replicas: i64) -> Result<(), Status> {
        self.allowed()?;
        self.cluster.set_replicas(&self.actor, key, scale, replicas).map(|_| ())
    }

    /// Replaces a namespace's `spec.finalizers`.
    pub(crate) fn finalize(&mut self, namespace: &Value) -> Result<(), Status> {
        self.allowed()?;
        let key = NAMESPACES.key("", name(namespace));
        let finalizers =
            namespace.pointer("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
        let change = |it: &mut Value| set(it, &["spec", "finalizers"], finalizers);
        self.cluster.modify(&self.actor, &key, "finalize", change).map(|_| ())
    }

    pub fn merge(&mut self, key: &Key, patch: &Value) -> Result<Arc<Value>, Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.patch(&self.actor, key, &Patch::Merge(patch.clone()), "")
    }

    pub(crate) fn merge_status(&mut self, key: &Key, patch: &Value) -> Result<Arc<Value>, Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.patch(&self.actor, key, &Patch::Merge(patch.clone()), "status")
    }

    /// Reads, changes and writes an object.
    pub fn modify(
        &mut self,
        key: &Key,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.modify(&self.actor, key, "", change)
    }

    /// Binds a Pod to a node.
    pub(crate) fn bind(&mut self, pod: &Value, node: &str) -> Result<(), Status> {
        self.allowed()?;
        self.cluster.bind(&PODS.key(namespace(pod), name(pod)), node, false)
    }

    pub fn delete(&mut self, key: &Key, deletion: &Deletion) -> Result<(), Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.delete(&self.actor, key, &deletion.0).map(|_| ())
    }

    /// Deletes an object as one of a collection.
    pub(crate) fn delete_of_many(&mut self, key: &Key, deletion: &Deletion) -> Result<(), Status> {
        self.allowed()?;
        self.readable(key)?;
        self.cluster.delete_of_many(&self.actor, key, &deletion.0).map(|_| ())
    }

    /// Deletes an object without admission, as only a controller within the API server can.
    pub(crate) fn delete_in_storage(
        &mut self,
        key: &Key,
        deletion: &Deletion,
    ) -> Result<(), Status> {
        self.allowed()?;
        self.cluster.delete_in_storage(key, &deletion.0).map(|_| ())
    }

    /// Emits an event about an object, or raises its count. As with client-go's recorder, a refusal has no effect.
    pub fn event(&mut self, about: &Value, severity: EventType, reason: &str, message: &str) {
        if self.failing {
            return;
        }
        let place = if namespace(about).is_empty() { "default" } else { namespace(about) };
        let now = written(self.now());
        let seed = [text(about, "/kind"), uid(about), reason, message, self.component].join("/");
        let key = EVENTS.key(place, &format!("{}.{:016x}", name(about), fingerprint(&seed)));
        if let Some(known) = self.cluster.get(&key) {
            let count = number(known, "/count").unwrap_or(1).saturating_add(1);
            // A recorder does not report a refusal.
            drop(self.merge(&key, &json!({"count": count, "lastTimestamp": now})));
            return;
        }
        let severity = match severity {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        let event = json!({
            "metadata": {"name": &*key.name, "namespace": place},
            "involvedObject": {
                "apiVersion": text(about, "/apiVersion"),
                "kind": text(about, "/kind"),
                "namespace": namespace(about),
                "name": name(about),
                "uid": uid(about),
                "resourceVersion": text(about, "/metadata/resourceVersion"),
            },
            "type": severity,
            "reason": reason,
            "message": message,
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        });
        drop(self.create(EVENTS, event));
    }
}

/// FNV-1a, which Kubernetes uses for templates and names. It only has to be the same each time.
pub(crate) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
