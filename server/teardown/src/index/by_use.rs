//! The objects by the questions that are asked most: the content of a namespace, its Pods and workloads, its claims, the
//! dependents of an owner, the definition of a kind, the workloads of a CSI driver or a provisioner, the records of a Helm release,
//! and what is being deleted.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    sync::Arc,
};

use super::{
    Index,
    key::{ByName, ByUid, Name},
    reads::Asked,
};
use crate::{
    declaration::{recorded_release, recorded_revision},
    labels::PART_OF,
    object::{Facts, Kind, Object, Uid},
    selector::Selector,
};

/// Objects in the order of their UIDs, so that every search finds them in the same order.
type Sorted = BTreeSet<ByUid>;

/// Tables of the objects by use.
#[derive(Clone, Debug, Default)]
pub(super) struct ByUse {
    namespaces: HashMap<Arc<str>, Content>,
    workers_of: HashMap<Arc<str>, Sorted>,
    /// By the CSI driver that the Pods of a workload are.
    plugins: HashMap<Arc<str>, Sorted>,
    /// By the name of the provisioner that a workload is told to be.
    provisioners: HashMap<Arc<str>, Sorted>,
    definitions: HashMap<(Arc<str>, Arc<str>), Sorted>,
    dependents: HashMap<Uid, Sorted>,
    /// By the namespace and the name of the Helm release.
    records: HashMap<(Arc<str>, Arc<str>), Sorted>,
    going: Sorted,
}

/// The objects of one namespace.
#[derive(Clone, Debug, Default)]
struct Content {
    objects: Sorted,
    /// Pods, and workloads, which make Pods.
    workers: Sorted,
    claims: Sorted,
}

impl ByUse {
    /// Replaces an object by its next state; it has none before it came and after it went.
    pub(super) fn replace(
        &mut self,
        before: Option<&Arc<Object>>,
        after: Option<&Arc<Object>>,
        is_of_status: bool,
    ) {
        // The new state takes the place of the old one, except where the old one had another place.
        if let Some(before) = before {
            if !is_of_status {
                self.remove(before);
            }
            if after.is_none_or(|after| after.deletion.is_none()) {
                self.going.remove(&before.uid);
            }
        }
        if let Some(after) = after {
            self.insert(after);
        }
    }

    fn insert(&mut self, object: &Arc<Object>) {
        let put = |table: &mut Sorted| {
            table.replace(ByUid(object.clone()));
        };
        if object.deletion.is_some() {
            put(&mut self.going);
        }
        for owner in &*object.owners {
            put(self.dependents.entry(owner.uid.clone()).or_default());
        }
        if let Facts::Definition(definition) = &object.facts {
            let of = (definition.group.clone(), definition.kind.clone());
            put(self.definitions.entry(of).or_default());
        }
        if let Facts::Workload(workload) = &object.facts {
            for driver in &workload.drivers {
                put(self.plugins.entry(driver.clone()).or_default());
            }
            for name in &workload.provisioners {
                put(self.provisioners.entry(name.clone()).or_default());
            }
        }
        if let Some((namespace, name)) = recorded_release(object) {
            put(self.records.entry((namespace.clone(), name.clone())).or_default());
        }
        let Some(namespace) = &object.namespace else { return };
        let content = match self.namespaces.get_mut(namespace) {
            Some(content) => content,
            None => self.namespaces.entry(namespace.clone()).or_default(),
        };
        put(&mut content.objects);
        if matches!(object.facts, Facts::Claim(_)) {
            put(&mut content.claims);
        }
        if object.pod_labels().is_some() {
            put(&mut content.workers);
            if let Some(unit) = object.labels.get(PART_OF) {
                put(self.workers_of.entry(unit.clone()).or_default());
            }
        }
    }

    fn remove(&mut self, object: &Object) {
        for owner in &*object.owners {
            remove_from(&mut self.dependents, &owner.uid, &object.uid);
        }
        if let Facts::Definition(definition) = &object.facts {
            let of = (definition.group.clone(), definition.kind.clone());
            remove_from(&mut self.definitions, &of, &object.uid);
        }
        if let Facts::Workload(workload) = &object.facts {
            for driver in &workload.drivers {
                remove_from(&mut self.plugins, driver, &object.uid);
            }
            for name in &workload.provisioners {
                remove_from(&mut self.provisioners, name, &object.uid);
            }
        }
        if let Some((namespace, name)) = recorded_release(object) {
            remove_from(&mut self.records, &(namespace.clone(), name.clone()), &object.uid);
        }
        if let Some(unit) = object.labels.get(PART_OF) {
            remove_from(&mut self.workers_of, unit, &object.uid);
        }
        let Some(namespace) = &object.namespace else { return };
        let Some(content) = self.namespaces.get_mut(namespace) else { return };
        content.objects.remove(&object.uid);
        content.workers.remove(&object.uid);
        content.claims.remove(&object.uid);
        if content.objects.is_empty() {
            self.namespaces.remove(namespace);
        }
    }
}

fn remove_from<K: Eq + Hash>(tables: &mut HashMap<K, Sorted>, key: &K, uid: &Uid) {
    if let Some(table) = tables.get_mut(key) {
        table.remove(uid);
        if table.is_empty() {
            tables.remove(key);
        }
    }
}

fn all(table: Option<&Sorted>) -> impl Iterator<Item = &Arc<Object>> {
    table.into_iter().flatten().map(|ByUid(object)| object)
}

impl Index {
    /// The objects of a namespace, by UID.
    pub(crate) fn in_namespace<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::Content(namespace));
        all(self.by_use.namespaces.get(namespace).map(|content| &content.objects))
    }

    /// The Pods and workloads of a namespace, by UID.
    pub(crate) fn workers_in<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::Workers(namespace));
        self.workers(namespace)
    }

    fn workers<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        all(self.by_use.namespaces.get(namespace).map(|content| &content.workers))
    }

    /// The Pods that a selector matches, and the workloads whose Pods it will match, by UID.
    pub(crate) fn selected<'a>(
        &'a self,
        namespace: &str,
        selector: &'a Selector,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        self.ask(match selector.labels.iter().next() {
            Some((key, value)) => Asked::Labelled(namespace, key, value),
            None => Asked::Workers(namespace),
        });
        let matches = |object: &Object| object.pod_labels().is_some_and(|it| selector.matches(it));
        self.workers(namespace).filter(move |object| matches(object))
    }

    /// The Pods and workloads whose label names this unit, by UID.
    pub(crate) fn workers_of<'a>(
        &'a self,
        unit: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::WorkersOf(unit));
        all(self.by_use.workers_of.get(unit))
    }

    /// The workloads whose Pods are the plugin of a CSI driver, by UID.
    pub(crate) fn plugins_of<'a>(
        &'a self,
        driver: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::Plugins(driver));
        all(self.by_use.plugins.get(driver))
    }

    /// The workloads that are told to be the provisioner of this name, by UID.
    pub(crate) fn provisioners_of<'a>(
        &'a self,
        name: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::Provisioners(name));
        all(self.by_use.provisioners.get(name))
    }

    /// The claims of a namespace, by UID.
    pub(crate) fn claims_in<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        self.ask(Asked::Claims(namespace));
        all(self.by_use.namespaces.get(namespace).map(|content| &content.claims))
    }

    /// The Secrets with this name, in the order of their namespaces.
    pub(crate) fn secrets_called(&self, name: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.ask(Asked::Secrets(name));
        let namespaces = self.by_use.namespaces.keys();
        let found = namespaces.filter_map(|namespace| {
            let secret = Name { group: "", kind: "Secret", namespace: Some(namespace), name };
            self.names.get(&secret).map(|ByName(object)| object)
        });
        let mut found: Vec<&Arc<Object>> = found.collect();
        found.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        found.into_iter()
    }

    /// The definition of a kind, if it is a custom one.
    pub(crate) fn definition_of(&self, kind: &Kind) -> Option<&Arc<Object>> {
        self.ask(Asked::Definition(&kind.group, &kind.kind));
        let of = (kind.group.clone(), kind.kind.clone());
        all(self.by_use.definitions.get(&of)).next()
    }

    /// The objects whose `ownerReferences` name this owner, by UID.
    pub(crate) fn dependents(&self, owner: &Uid) -> impl Iterator<Item = &Arc<Object>> {
        self.ask(Asked::Dependents(owner));
        all(self.by_use.dependents.get(owner))
    }

    /// The records of a Helm release, the newest first.
    pub(crate) fn records_of(&self, namespace: &Arc<str>, name: &Arc<str>) -> Vec<&Arc<Object>> {
        self.ask(Asked::Records(namespace, name));
        let mut records: Vec<&Arc<Object>> =
            all(self.by_use.records.get(&(namespace.clone(), name.clone()))).collect();
        records.sort_by_key(|record| std::cmp::Reverse(recorded_revision(record)));
        records
    }

    /// The objects that are being deleted, by UID.
    pub(crate) fn going(&self) -> impl Iterator<Item = &Arc<Object>> {
        all(Some(&self.by_use.going))
    }
}
