//! The cluster's state and the verbs on it. The API and the controllers use the same verbs, so that neither can leave
//! out a rule: validation, admission, finalizers, grace periods, generations, preconditions. The verbs follow
//! `k8s.io/apiserver/pkg/registry/generic/registry/store.go` and the strategies of `kubernetes/pkg/registry`.

mod address;
mod admission;
mod api_service;
mod bootstrap;
mod create;
mod defaults;
mod definition;
mod delete;
mod eviction;
mod readable;
mod managed;
mod policy;
mod quota;
pub(crate) mod rbac;
mod rules;
mod scale;
mod update;
mod validate;
mod webhook;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fastrand::Rng;
use jiff::Timestamp;
use serde_json::{Value, json};

use delete::Admission;
pub use delete::{DeleteOptions, Deleted, Propagation};

use crate::{
    clock::Clock,
    fault::{AdmissionDecision, Faults, ServerFault},
    kind::{Kind, Kinds},
    log::Log,
    object,
    patch::Patch,
    status::Status,
    store::{Key, Store},
    watch_cache::WatchCache,
};

/// The user of a request. The API checks RBAC; the verbs here do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Actor {
    /// The administrator, whom RBAC allows everything.
    #[must_use]
    pub fn admin() -> Self {
        let groups = ["system:masters", "system:authenticated"].map(String::from).to_vec();
        Self { name: "kubernetes-admin".into(), groups, ..Self::default() }
    }

    /// A controller of the controller manager, by the name of its service account: `generic-garbage-collector`.
    #[must_use]
    pub fn controller(name: &str) -> Self {
        Self::service_account("kube-system", name)
    }

    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts",
            &format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ];
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups.map(String::from).to_vec(),
            ..Self::default()
        }
    }

    /// The kubelet of a node.
    #[must_use]
    pub fn node(name: &str) -> Self {
        let groups = ["system:nodes", "system:authenticated"].map(String::from).to_vec();
        Self { name: format!("system:node:{name}"), groups, ..Self::default() }
    }
}

/// An additional check of a write, with the actor, the key, the stored object and the new one.
pub(crate) type Guard = fn(&Cluster, &Actor, &Key, Option<&Value>, &Value) -> Result<(), Status>;

/// The options of a write.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// Everything is checked and answered, but nothing is stored.
    pub dry_run: bool,
    /// The manager in managedFields.
    pub field_manager: String,
    /// The applied configuration of a server-side apply.
    pub(crate) applied: Option<Value>,
    /// Whether the write comes from a client. Of such a write every field is recorded in managedFields.
    pub(crate) tracked: bool,
    /// The escalation checks of RBAC, for writes that come from the API.
    pub(crate) guard: Option<Guard>,
}

/// The state of a cluster.
#[derive(Debug)]
pub struct Cluster {
    pub store: Store,
    pub kinds: Kinds,
    pub clock: Clock,
    /// The only source of randomness.
    pub rng: Rng,
    pub faults: Faults,
    pub log: Log,
    /// The time for which a Pod without tolerations of its own stays on an unreachable node.
    pub toleration: std::time::Duration,
    /// The scripted answers of webhooks: by the name of an admission webhook, and for a conversion webhook by the name
    /// of the definition.
    pub webhook_decisions: BTreeMap<String, AdmissionDecision>,
    /// The faults of the servers behind APIServices, by the name of the APIService.
    server_faults: BTreeMap<String, ServerFault>,
    /// The objects whose stored bytes are corrupted.
    pub(crate) corrupted: BTreeSet<Key>,
    /// The encoded lines of watches.
    pub(crate) watch_cache: WatchCache,
    /// The users that have impersonated another one.
    pub(crate) impersonators: BTreeSet<String>,
}

impl Cluster {
    /// A cluster whose control plane has just started: the four namespaces, their objects, and the APIServices of the
    /// built-in groups.
    #[must_use]
    pub fn new(start: Timestamp, seed: u64) -> Self {
        let mut cluster = Self {
            store: Store::new(),
            kinds: Kinds::new(),
            clock: Clock::new(start),
            rng: Rng::with_seed(seed),
            faults: Faults::default(),
            log: Log::default(),
            toleration: std::time::Duration::from_secs(300),
            webhook_decisions: BTreeMap::new(),
            server_faults: BTreeMap::new(),
            corrupted: BTreeSet::new(),
            watch_cache: WatchCache::default(),
            impersonators: BTreeSet::new(),
        };
        cluster.boot();
        cluster
    }

    /// Removes all objects, whatever finalizers they have, and creates the control plane's own again. Watches observe
    /// both.
    pub(crate) fn reset(&mut self) {
        let mut keys: Vec<Key> = self.store.keys().collect();
        // UIDs are random, so the order by UID must not decide anything.
        keys.sort();
        for key in keys {
            self.store.remove(&key);
        }
        self.kinds = Kinds::new();
        self.faults = Faults::default();
        self.webhook_decisions.clear();
        self.server_faults.clear();
        self.corrupted.clear();
        self.impersonators.clear();
        self.boot();
    }

    fn boot(&mut self) {
        let server = Actor::admin();
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"metadata": {"name": name}});
            let made = self.create(&server, "", "namespaces", "", namespace);
            debug_assert!(made.is_ok(), "{made:?}");
        }
        self.register_api_services();
        self.register_service_range();
        self.register_bootstrap_roles();
    }

    /// The time of the cluster's wall clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The time of the steady clock, which no fault sets. Waits count by it.
    #[must_use]
    pub fn steady(&self) -> Timestamp {
        self.clock.steady()
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.store.get(key)
    }

    /// The object with this UID.
    #[must_use]
    pub fn get_by_uid(&self, uid: &str) -> Option<(&Key, &Arc<Value>)> {
        let key = self.store.by_uid(uid)?;
        Some((key, self.store.get(key)?))
    }

    /// The objects of a resource by namespace and name; those of one namespace if given. [`crate::selector::Labels`]
    /// selects among them.
    pub fn list(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Value>> {
        self.store.list(group, plural, namespace)
    }

    /// The key of an object, from its own kind and metadata. `None` if its kind is not served.
    #[must_use]
    pub fn key_of(&self, object: &Value) -> Option<Key> {
        let kind = self.kind_of(object)?;
        let namespace = if kind.namespaced { object::namespace(object) } else { "" };
        Some(Key::new(&kind.group, &kind.plural, namespace, object::name(object)))
    }

    /// The kind that an object names.
    #[must_use]
    pub fn kind_of(&self, object: &Value) -> Option<&Arc<Kind>> {
        let (group, _) = split_api_version(object::text(object, &["apiVersion"]));
        self.kinds.by_kind(group, object::text(object, &["kind"]))
    }

    /// Runs the additional check of a write.
    fn ask_guard(
        &self,
        actor: &Actor,
        write: &Write,
        key: &Key,
        existing: Option<&Value>,
        object: &Value,
    ) -> Result<(), Status> {
        write.guard.map_or(Ok(()), |guard| guard(self, actor, key, existing, object))
    }

    /// The kind of a key.
    ///
    /// # Errors
    ///
    /// 404 if the resource is not served.
    pub(crate) fn kind(&self, key: &Key) -> Result<Arc<Kind>, Status> {
        let kind = self.kinds.get(&key.group, &key.plural);
        kind.cloned().ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))
    }

    /// Creates an object. `namespace` is empty for cluster-scoped kinds.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn create(
        &mut self,
        actor: &Actor,
        group: &str,
        plural: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.create_with(actor, &manager_of(actor), group, plural, namespace, object)
    }

    /// Replaces an object (PUT). Its resource version, if it has one, must be the stored one.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn update(
        &mut self,
        actor: &Actor,
        key: &Key,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.update_with(actor, &manager_of(actor), key, "", object)
    }

    /// Replaces an object's status (PUT of the subresource); the rest of `object` is ignored.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn update_status(
        &mut self,
        actor: &Actor,
        key: &Key,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.update_with(actor, &manager_of(actor), key, "status", object)
    }

    /// Patches an object, or its `subresource` (`status`, `finalize`; empty for the object itself).
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn patch(
        &mut self,
        actor: &Actor,
        key: &Key,
        patch: &Patch,
        subresource: &str,
    ) -> Result<Arc<Value>, Status> {
        self.patch_with(actor, &manager_of(actor), key, patch, subresource)
    }

    /// Writes the number of replicas into a Scale that was read before.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub(crate) fn set_replicas(
        &mut self,
        actor: &Actor,
        key: &Key,
        mut scale: Value,
        replicas: i64,
    ) -> Result<Value, Status> {
        object::set(&mut scale, &["spec", "replicas"], json!(replicas));
        self.rescale(actor, &manager_of(actor), key, &scale)
    }

    /// Reads, changes and writes an object, as a controller that retries on conflicts does. Writes nothing if nothing
    /// changed.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn modify(
        &mut self,
        actor: &Actor,
        key: &Key,
        subresource: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Status> {
        let old =
            self.get(key).ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        let mut new = Value::clone(old);
        change(&mut new);
        if new == **old {
            return Ok(old.clone());
        }
        self.update_with(actor, &manager_of(actor), key, subresource, new)
    }

    /// Deletes an object, or marks it for deletion.
    ///
    /// # Errors
    ///
    /// The refusal of the API server.
    pub fn delete(
        &mut self,
        actor: &Actor,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        self.delete_with(Admission::Of(actor), key, options)
    }

    /// Deletes an object as one of a collection.
    ///
    /// # Errors
    ///
    /// As for [`Self::delete`].
    pub fn delete_of_many(
        &mut self,
        actor: &Actor,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        self.delete_with(Admission::OfMany(actor), key, options)
    }

    /// Deletes an object, or marks it for deletion, in the storage itself: without admission, as the API server does on
    /// its own behalf.
    pub(crate) fn delete_in_storage(
        &mut self,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        self.delete_with(Admission::Past, key, options)
    }

    /// A new UID.
    pub(crate) fn uid(&mut self) -> String {
        let bits = self.rng.u128(..);
        let hex = format!("{bits:032x}");
        let variant = ["8", "9", "a", "b"][self.rng.usize(..4)];
        [
            &hex[..8],
            &hex[8..12],
            &format!("4{}", &hex[13..16]),
            &format!("{variant}{}", &hex[17..20]),
            &hex[20..],
        ]
        .join("-")
    }

    /// A random suffix of a generated name, of the letters that Kubernetes uses.
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length).map(|_| char::from(LETTERS[self.rng.usize(..LETTERS.len())])).collect()
    }
}

/// The group and the version of an apiVersion.
#[must_use]
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn manager_of(actor: &Actor) -> Write {
    let manager = match actor.name.strip_prefix("system:") {
        Some(name) if name.starts_with("serviceaccount:kube-system:") => "kube-controller-manager",
        Some(name) if name.starts_with("node:") => "kubelet",
        _ => "sandbox",
    };
    Write { field_manager: manager.into(), ..Write::default() }
}
