//! What the sandbox's lock protects, and the verbs on it. The API and the controllers go through the same verbs, so
//! that nobody can leave out a rule: validation, admission, finalizers, grace periods, generations, preconditions.
//! They follow `k8s.io/apiserver/pkg/registry/generic/registry/store.go` and the strategies of
//! `kubernetes/pkg/registry`.

mod address;
mod admission;
mod api_service;
mod bootstrap;
mod create;
mod defaults;
mod definition;
mod delete;
mod eviction;
mod legible;
mod managed;
mod policy;
mod quota;
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
pub(crate) use validate::{LABEL_VALUE, has_the_form, sort_of};
pub use webhook::Decider;

use crate::{
    clock::Clock,
    fault::Faults,
    kind::{Kind, Kinds},
    line::Lines,
    log::Log,
    object,
    patch::Patch,
    status::Status,
    store::{Key, Store},
};

/// Who asks. RBAC is the API's business: the verbs here let everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Actor {
    /// The one who may do everything.
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

/// What who brings a write asks before it is taken: from who writes, the key, what is there and what shall be.
pub(crate) type Guard = fn(&Cluster, &Actor, &Key, Option<&Value>, &Value) -> Result<(), Status>;

/// How a write is meant, beside what is written.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// Everything is checked and answered, nothing is stored.
    pub dry_run: bool,
    /// Who is noted in managedFields.
    pub field_manager: String,
    /// What is applied, where it is a server-side apply.
    pub(crate) applied: Option<Value>,
    /// Whether a client writes, who is noted with all that it writes.
    pub(crate) tracked: bool,
    /// RBAC's own rules, where the API is who brings it.
    pub(crate) guard: Option<Guard>,
}

/// The whole cluster at this moment.
#[derive(Debug)]
pub struct Cluster {
    pub store: Store,
    pub kinds: Kinds,
    pub clock: Clock,
    /// The only source of chance.
    pub rng: Rng,
    pub faults: Faults,
    pub log: Log,
    /// How long a Pod stays on a lost node, unless it says.
    pub toleration: std::time::Duration,
    /// What answers for webhooks: for those of admission by the name of the webhook, for one that converts by the name of
    /// the definition.
    pub deciders: BTreeMap<String, Decider>,
    /// Objects of which what is kept is none any more.
    pub(crate) damaged: BTreeSet<Key>,
    /// What watches were told lately.
    pub(crate) lines: Lines,
    /// Who could speak as somebody else.
    pub(crate) impersonators: BTreeSet<String>,
}

impl Cluster {
    /// A cluster as it is right after its control plane came up: the four namespaces, what they hold, and the
    /// APIServices of what is served.
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
            deciders: BTreeMap::new(),
            damaged: BTreeSet::new(),
            lines: Lines::default(),
            impersonators: BTreeSet::new(),
        };
        cluster.boot();
        cluster
    }

    /// Makes everything as it was at first: all objects go, whatever holds them, and the control plane's own come anew.
    /// Who watches hears of both.
    pub(crate) fn reset(&mut self) {
        let mut keys: Vec<Key> = self.store.keys().collect();
        // UIDs are drawn: their order is nobody's.
        keys.sort();
        for key in keys {
            self.store.remove(&key);
        }
        self.kinds = Kinds::new();
        self.faults = Faults::default();
        self.deciders.clear();
        self.damaged.clear();
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

    /// What the cluster's clock reads.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What the clock would read had nobody set it: what waits counts by this one.
    #[must_use]
    pub fn steady(&self) -> Timestamp {
        self.clock.steady()
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.store.get(key)
    }

    /// The object that has this UID, wherever it is.
    #[must_use]
    pub fn get_by_uid(&self, uid: &str) -> Option<(&Key, &Arc<Value>)> {
        let key = self.store.by_uid(uid)?;
        Some((key, self.store.get(key)?))
    }

    /// The objects of a resource, by namespace and name; of one namespace if given. Select with
    /// [`crate::selector::Labels`].
    pub fn list(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Value>> {
        self.store.list(group, plural, namespace)
    }

    /// The key of an object, as it says itself what it is. `None` if its kind is not served.
    #[must_use]
    pub fn key_of(&self, object: &Value) -> Option<Key> {
        let kind = self.kind_of(object)?;
        let namespace = if kind.namespaced { object::namespace(object) } else { "" };
        Some(Key::new(&kind.group, &kind.plural, namespace, object::name(object)))
    }

    /// The kind that an object says it is of.
    #[must_use]
    pub fn kind_of(&self, object: &Value) -> Option<&Arc<Kind>> {
        let (group, _) = split_api_version(object::text(object, &["apiVersion"]));
        self.kinds.by_kind(group, object::text(object, &["kind"]))
    }

    /// Asks what is to be asked before a write is taken.
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
    /// As the API server's.
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
    /// As the API server's.
    pub fn update(
        &mut self,
        actor: &Actor,
        key: &Key,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.update_with(actor, &manager_of(actor), key, "", object)
    }

    /// Replaces an object's status (PUT of the subresource); the rest of `object` does not count.
    ///
    /// # Errors
    ///
    /// As the API server's.
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
    /// As the API server's.
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
    /// As the API server's.
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

    /// Reads an object, changes it and puts it back: what a controller does that retries on conflicts. Nothing is
    /// written if nothing changed.
    ///
    /// # Errors
    ///
    /// As the API server's.
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

    /// Deletes an object, or begins to.
    ///
    /// # Errors
    ///
    /// As the API server's.
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

    /// Deletes an object, or begins to, in the storage itself: what the API server does on its own behalf, which no
    /// webhook hears of.
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

    /// A random end for a generated name, of the letters that the real one uses.
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
