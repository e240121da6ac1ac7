//! The client of a controller: the cluster's verbs under the controller's own user, reads that are never refused, and
//! events. RBAC decides on the writes of a program that runs in Pods. The controllers of the control plane have roles that the
//! store does not hold, so it does not decide on theirs.

use std::sync::Arc;

use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::node_faults::NodeFaults;
use super::read::{is_true, name, namespace, number, set, text, uid, written};
use super::resource::{API_SERVICES, EVENTS, NAMESPACES, PODS, Resource};
use crate::cluster::rbac::{Attributes, allows, refusal};
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
    /// The ServiceAccount of a program that runs in Pods.
    account: Option<Key>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        cluster: &'a mut Cluster,
        node_faults: &'a mut NodeFaults,
        user: &str,
        component: &'static str,
        failing: bool,
    ) -> Self {
        let actor = Actor::controller(user);
        Self { cluster, node_faults, actor, component, failing, account: None }
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
            account: None,
        }
    }

    /// A client for the same cluster with the token of a ServiceAccount, as the containers of its Pods have it. A write without
    /// a right is refused with 403. After the account is gone every write is refused with 401
    /// (`kubernetes/pkg/serviceaccount/claims.go`).
    pub(crate) fn service_account(&mut self, account: &Key) -> Client<'_> {
        Client {
            cluster: self.cluster,
            node_faults: self.node_faults,
            actor: Actor::service_account(&account.namespace, &account.name),
            component: self.component,
            failing: self.failing,
            account: Some(account.clone()),
        }
    }

    /// The fault of a node.
    pub(crate) fn node_fault(&self, node: &str) -> Option<NodeFault> {
        self.cluster.faults.node(node)
    }

    /// Takes the power of a node at the end of its shutdown.
    pub(crate) fn power_off(&mut self, node: &str) {
        self.cluster.faults.set_node(node, Some(NodeFault::Off));
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
    fn check_running(&self) -> Result<(), Status> {
        if self.failing {
            Err(Status::internal("the sandbox refuses all requests of this controller"))
        } else {
            Ok(())
        }
    }

    /// Refuses a request that the controller may not make: any while its mode is `Failing`, and those that RBAC does not allow
    /// its ServiceAccount.
    fn check_allowed(&self, verb: &str, key: &Key, subresource: &str) -> Result<(), Status> {
        self.check_running()?;
        let Some(account) = &self.account else { return Ok(()) };
        if self.cluster.get(account).is_none() {
            return Err(Status::unauthorized());
        }
        // Such a request has no name.
        let is_of_collection =
            verb == "deletecollection" || verb == "create" && subresource.is_empty();
        let name = if is_of_collection { "" } else { &key.name };
        let resource = (&*key.group, &*key.plural, subresource);
        let attributes = Attributes::of_resource(verb, resource, &key.namespace, name);
        if allows(self.cluster, &self.actor, &attributes) {
            Ok(())
        } else {
            Err(refusal(&self.actor, &attributes))
        }
    }

    /// Creates an object; apiVersion and kind are filled in.
    pub fn create(&mut self, resource: Resource, mut object: Value) -> Result<Arc<Value>, Status> {
        let place = namespace(&object).to_owned();
        self.check_allowed("create", &resource.key(&place, ""), "")?;
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
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
        self.check_allowed("create", key, "")?;
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
        self.check_allowed("update", &key, "status")?;
        self.cluster.update_status(&self.actor, &key, object.clone())
    }

    /// The Scale of an object.
    pub(crate) fn scale(&self, key: &Key) -> Result<Value, Status> {
        self.check_allowed("get", key, "scale")?;
        self.readable(key)?;
        self.cluster.scale(key)
    }

    /// Writes another number of replicas into a Scale that was read before.
    pub(crate) fn rescale(&mut self, key: &Key, scale: Value, replicas: i64) -> Result<(), Status> {
        self.check_allowed("update", key, "scale")?;
        self.cluster.set_replicas(&self.actor, key, scale, replicas).map(|_| ())
    }

    /// Replaces a namespace's `spec.finalizers`.
    pub(crate) fn finalize(&mut self, namespace: &Value) -> Result<(), Status> {
        let key = NAMESPACES.key("", name(namespace));
        self.check_allowed("update", &key, "finalize")?;
        let finalizers =
            namespace.pointer("/spec/finalizers").cloned().unwrap_or_else(|| json!([]));
        let change = |it: &mut Value| set(it, &["spec", "finalizers"], finalizers);
        self.cluster.modify(&self.actor, &key, "finalize", change).map(|_| ())
    }

    pub fn merge(&mut self, key: &Key, patch: &Value) -> Result<Arc<Value>, Status> {
        self.check_allowed("patch", key, "")?;
        self.readable(key)?;
        self.cluster.patch(&self.actor, key, &Patch::Merge(patch.clone()), "")
    }

    pub(crate) fn merge_status(&mut self, key: &Key, patch: &Value) -> Result<Arc<Value>, Status> {
        self.check_allowed("patch", key, "status")?;
        self.readable(key)?;
        self.cluster.patch(&self.actor, key, &Patch::Merge(patch.clone()), "status")
    }

    /// Reads, changes and writes an object.
    pub fn modify(
        &mut self,
        key: &Key,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Status> {
        self.check_allowed("update", key, "")?;
        self.readable(key)?;
        self.cluster.modify(&self.actor, key, "", change)
    }

    /// Binds a Pod to a node.
    pub(crate) fn bind(&mut self, pod: &Value, node: &str) -> Result<(), Status> {
        let key = PODS.key(namespace(pod), name(pod));
        self.check_allowed("create", &key, "binding")?;
        self.cluster.bind(&key, node, false)
    }

    pub fn delete(&mut self, key: &Key, deletion: &Deletion) -> Result<(), Status> {
        self.check_allowed("delete", key, "")?;
        self.readable(key)?;
        self.cluster.delete(&self.actor, key, &deletion.0).map(|_| ())
    }

    /// Deletes an object as one of a collection.
    pub(crate) fn delete_of_many(&mut self, key: &Key, deletion: &Deletion) -> Result<(), Status> {
        self.check_allowed("deletecollection", key, "")?;
        self.readable(key)?;
        self.cluster.delete_of_many(&self.actor, key, &deletion.0).map(|_| ())
    }

    /// Deletes an object without admission, as only a controller within the API server can.
    pub(crate) fn delete_in_storage(
        &mut self,
        key: &Key,
        deletion: &Deletion,
    ) -> Result<(), Status> {
        self.check_running()?;
        self.cluster.delete_in_storage(key, &deletion.0).map(|_| ())
    }

    /// Emits an event about an object, or raises its count. As with client-go's recorder, a refusal has no effect.
    pub fn event(&mut self, about: &Value, severity: EventType, reason: &str, message: &str) {
        self.event_of(about, "", severity, reason, message);
    }

    /// Reports an event about a field of an object, such as `spec.containers{web}` of a Pod.
    pub fn event_of(
        &mut self,
        about: &Value,
        field: &str,
        severity: EventType,
        reason: &str,
        message: &str,
    ) {
        if self.failing {
            return;
        }
        let place = if namespace(about).is_empty() { "default" } else { namespace(about) };
        let now = written(self.now());
        let seed = [text(about, "/kind"), uid(about), field, reason, message, self.component];
        let seed = seed.join("/");
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
        let mut event = json!({
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
        if !field.is_empty() {
            event["involvedObject"]["fieldPath"] = json!(field);
        }
        drop(self.create(EVENTS, event));
    }
}

/// FNV-1a, which Kubernetes uses for templates and names. It only has to be the same each time.
pub(crate) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::super::resource::{CONFIG_MAPS, SERVICE_ACCOUNTS};
    use super::*;

    const GROUP: &str = "rbac.authorization.k8s.io";

    #[test]
    fn write_of_a_service_account_needs_a_right_and_the_account() {
        let mut cluster = Cluster::new("2026-11-21T08:00:00Z".parse().unwrap(), 1);
        let mut node_faults = NodeFaults::default();
        let (account, map) =
            (SERVICE_ACCOUNTS.key("default", "operator"), CONFIG_MAPS.key("default", "settings"));
        let admin = Actor::admin();
        for key in [&account, &map] {
            let object = json!({"metadata": {"name": &*key.name}});
            cluster.create(&admin, "", &key.plural, "default", object).unwrap();
        }
        let mut write = |cluster: &mut Cluster, value: &str| {
            let mut client = Client::new(cluster, &mut node_faults, "operator", "operators", false);
            let mut client = client.service_account(&account);
            client.merge(&map, &json!({"data": {"a": value}})).map(drop)
        };
        let refused = write(&mut cluster, "1").unwrap_err();
        assert_eq!(refused.code, 403);
        assert_eq!(
            refused.message,
            "configmaps \"settings\" is forbidden: User \"system:serviceaccount:default:operator\" cannot patch resource \
             \"configmaps\" in API group \"\" in the namespace \"default\""
        );

        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]});
        let role = json!({"metadata": {"name": "operator"}, "rules": [rule]});
        cluster.create(&admin, GROUP, "roles", "default", role).unwrap();
        let binding = json!({
            "metadata": {"name": "operator"},
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "operator"},
            "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": "default"}],
        });
        cluster.create(&admin, GROUP, "rolebindings", "default", binding).unwrap();
        write(&mut cluster, "2").unwrap();
        assert_eq!(cluster.get(&map).unwrap()["data"]["a"], "2");

        cluster.delete(&admin, &account, &DeleteOptions::default()).unwrap();
        assert_eq!(write(&mut cluster, "3").unwrap_err().code, 401);
        assert_eq!(cluster.get(&map).unwrap()["data"]["a"], "2");
    }
}
