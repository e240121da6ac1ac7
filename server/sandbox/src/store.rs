//! The objects, in place of kube-apiserver's etcd and watch cache. The store numbers every change and keeps the latest
//! ones. It does not decide which changes are allowed; [`crate::cluster`] does.

mod history;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Bound,
    sync::Arc,
};

use serde_json::{Value, json};

use self::history::History;
pub use self::history::HistoryEntry;

/// The key of an object. `namespace` is empty for cluster-scoped kinds. Keys have etcd's order: by resource, namespace,
/// name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub group: Arc<str>,
    pub plural: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    #[must_use]
    pub fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        Self {
            group: group.into(),
            plural: plural.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Whether the key is of this resource.
    #[must_use]
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        &*self.group == group && &*self.plural == plural
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, plural, namespace, name } = self;
        let dot = if group.is_empty() { "" } else { "." };
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{plural}{dot}{group} {namespace}{slash}{name}")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The type of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// One change. Revisions have no gaps.
#[derive(Debug, Clone)]
pub struct Event {
    pub revision: u64,
    pub key: Key,
    pub change: Change,
    /// The object after the change; for a deletion its last state, with the revision of the deletion.
    pub object: Arc<Value>,
    /// The object before the change.
    pub previous: Option<Arc<Value>>,
}

/// Some of the requested changes have been compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Compacted {
    pub asked: u64,
    /// The oldest revision after which all changes are known.
    pub oldest: u64,
}

type Table = BTreeMap<(Arc<str>, Arc<str>), Arc<Value>>;

/// All objects, and the history of their changes.
#[derive(Debug, Default)]
pub struct Store {
    /// The table of each resource, by group and plural.
    tables: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Table>>,
    by_uid: BTreeMap<String, Key>,
    by_owner: BTreeMap<String, BTreeSet<Key>>,
    history: History,
    revision: u64,
}

impl Store {
    #[must_use]
    pub fn new() -> Self {
        // Resource version 0 means "any", so nothing may have it.
        Self { revision: 1, ..Self::default() }
    }

    /// The revision of the latest change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.table(&key.group, &key.plural)?.get(&(key.namespace.clone(), key.name.clone()))
    }

    fn table(&self, group: &str, plural: &str) -> Option<&Table> {
        self.tables.get(group)?.get(plural)
    }

    fn tables(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &Table)> {
        let of_group = |(group, tables)| {
            let tables: &BTreeMap<Arc<str>, Table> = tables;
            tables.iter().map(move |(plural, table)| (group, plural, table))
        };
        self.tables.iter().flat_map(of_group)
    }

    /// The keys of all objects.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.by_uid.values().cloned()
    }

    /// The objects of a resource by namespace and name; those of one namespace if given.
    pub fn list(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &Arc<Value>> {
        self.table(group, plural)
            .into_iter()
            .flat_map(move |table| within(table, namespace).map(|(_, object)| object))
    }

    /// The number of objects of a resource.
    #[must_use]
    pub fn count(&self, group: &str, plural: &str) -> usize {
        self.table(group, plural).map_or(0, BTreeMap::len)
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_uid.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_uid.is_empty()
    }

    /// The keys of everything in a namespace, by resource.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = Key> {
        self.tables().flat_map(move |(group, plural, table)| {
            within(table, Some(namespace)).map(move |((namespace, name), _)| Key {
                group: group.clone(),
                plural: plural.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            })
        })
    }

    #[must_use]
    pub fn by_uid(&self, uid: &str) -> Option<&Key> {
        self.by_uid.get(uid)
    }

    /// The objects that have an ownerReference to this UID.
    pub fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.by_owner.get(uid).into_iter().flatten()
    }

    /// The objects of a resource at a revision, with their keys.
    ///
    /// # Errors
    ///
    /// If the changes since then have been compacted.
    pub fn list_at(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Value>>, Compacted> {
        let later = self.since(revision)?;
        let mut table: Table = self
            .table(group, plural)
            .into_iter()
            .flat_map(|table| within(table, namespace))
            .map(|(name, object)| (name.clone(), object.clone()))
            .collect();
        let mut changed = BTreeSet::new();
        for change in later.filter(|change| change.key().is_of(group, plural)) {
            let key = change.key();
            if namespace.is_some_and(|namespace| *key.namespace != *namespace) {
                continue;
            }
            // The first change since then holds the state at that revision.
            let name = (key.namespace.clone(), key.name.clone());
            if !changed.insert(name.clone()) {
                continue;
            }
            match change.previous() {
                Some(previous) => table.insert(name, previous),
                None => table.remove(&name),
            };
        }
        Ok(table.into_values().collect())
    }

    /// The changes after a revision, oldest first.
    ///
    /// # Errors
    ///
    /// If some of them have been compacted.
    pub fn since(
        &self,
        revision: u64,
    ) -> Result<impl ExactSizeIterator<Item = HistoryEntry<'_>>, Compacted> {
        let oldest = self.oldest();
        if revision < oldest {
            return Err(Compacted { asked: revision, oldest });
        }
        Ok(self.history.after(usize::try_from(revision - oldest).unwrap_or(usize::MAX)))
    }

    /// The revision before the oldest change that is kept.
    fn oldest(&self) -> u64 {
        self.revision - self.history.len() as u64
    }

    /// The changes since `seen` for a controller that has observed everything up to there; where they are not known,
    /// every object as an addition.
    pub fn changes_since(&self, seen: Option<u64>) -> impl Iterator<Item = Arc<Event>> {
        let since = seen.and_then(|seen| self.since(seen).ok());
        let all = since.is_none().then(|| self.tables().flat_map(|table| self.added(table)));
        let changes = since.into_iter().flatten().map(|change| change.event());
        changes.chain(all.into_iter().flatten())
    }

    /// Every object of a resource as an addition.
    fn added<'a>(
        &self,
        (group, plural, table): (&'a Arc<str>, &'a Arc<str>, &'a Table),
    ) -> impl Iterator<Item = Arc<Event>> + use<'a> {
        let revision = self.revision;
        table.iter().map(move |((namespace, name), object)| {
            let key = Key {
                group: group.clone(),
                plural: plural.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            };
            let (change, object) = (Change::Added, object.clone());
            Arc::new(Event { revision, key, change, object, previous: None })
        })
    }

    /// Compacts all changes up to a revision, as etcd does.
    pub fn compact(&mut self, revision: u64) {
        let count = revision.saturating_sub(self.oldest());
        self.history.forget(usize::try_from(count).unwrap_or(usize::MAX));
    }

    /// Adds an object. The caller has checked that there is none with this key.
    pub fn create(&mut self, key: &Key, object: Value) -> Arc<Value> {
        self.put(key, Change::Added, object)
    }

    /// Replaces an object.
    pub fn replace(&mut self, key: &Key, object: Value) -> Arc<Value> {
        self.put(key, Change::Modified, object)
    }

    /// Removes an object. Returns its last state with the revision of the deletion.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let place = (key.namespace.clone(), key.name.clone());
        let table = self.tables.get_mut(&key.group)?.get_mut(&key.plural)?;
        let previous = table.remove(&place)?;
        self.unlink(key, &previous);
        let mut last = Value::clone(&previous);
        self.revision += 1;
        stamp(&mut last, self.revision);
        let last = Arc::new(last);
        self.append(key, Change::Deleted, last.clone(), Some(previous));
        Some(last)
    }

    fn put(&mut self, key: &Key, change: Change, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        stamp(&mut object, self.revision);
        let object = Arc::new(object);
        let place = (key.namespace.clone(), key.name.clone());
        let of_group = self.tables.entry(key.group.clone()).or_default();
        let table = of_group.entry(key.plural.clone()).or_default();
        let previous = table.insert(place, object.clone());
        if let Some(previous) = &previous {
            self.unlink(key, previous);
        }
        self.by_uid.insert(uid(&object).into(), key.clone());
        for owner in owners(&object) {
            self.by_owner.entry(owner.into()).or_default().insert(key.clone());
        }
        self.append(key, change, object.clone(), previous);
        object
    }

    fn unlink(&mut self, key: &Key, object: &Value) {
        self.by_uid.remove(uid(object));
        for owner in owners(object) {
            if let Some(keys) = self.by_owner.get_mut(owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_owner.remove(owner);
                }
            }
        }
    }

    fn append(
        &mut self,
        key: &Key,
        change: Change,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
    ) {
        let revision = self.revision;
        self.history.push(Event { revision, key: key.clone(), change, object, previous });
    }
}

fn within<'a>(
    table: &'a Table,
    namespace: Option<&str>,
) -> impl Iterator<Item = (&'a (Arc<str>, Arc<str>), &'a Arc<Value>)> {
    let namespace: Option<Arc<str>> = namespace.map(Arc::from);
    let from = match &namespace {
        Some(namespace) => Bound::Included((namespace.clone(), Arc::from(""))),
        None => Bound::Unbounded,
    };
    table.range((from, Bound::Unbounded)).take_while(move |((one, _), _)| {
        namespace.as_ref().is_none_or(|namespace| namespace == one)
    })
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let references = object["metadata"]["ownerReferences"].as_array();
    references.into_iter().flatten().filter_map(|reference| reference["uid"].as_str())
}

fn stamp(object: &mut Value, revision: u64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), json!(revision.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, uid: &str, owner: &str) -> (Key, Value) {
        let object =
            json!({"metadata": {"name": name, "uid": uid, "ownerReferences": [{"uid": owner}]}});
        (Key::new("", "pods", "shop", name), object)
    }

    fn names(objects: &[Arc<Value>]) -> Vec<&str> {
        objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect()
    }

    #[test]
    fn list_at_a_revision_has_the_objects_of_that_revision() {
        let mut store = Store::new();
        let (a, object) = pod("a", "1", "rs");
        store.create(&a, object);
        let (b, object) = pod("b", "2", "rs");
        let created = store.create(&b, object);
        assert_eq!(created["metadata"]["resourceVersion"], "3");
        let then = store.revision();
        store.remove(&a);
        let (c, object) = pod("c", "3", "other");
        store.create(&c, object);
        let past = store.list_at("", "pods", Some("shop"), then).unwrap();
        assert_eq!(names(&past), ["a", "b"]);
        assert_eq!(store.list("", "pods", Some("shop")).count(), 2);
        assert_eq!(store.list("", "pods", Some("shops")).count(), 0);
        assert_eq!(store.owned_by("rs").collect::<Vec<_>>(), [&b]);
        assert_eq!(store.in_namespace("shop").collect::<Vec<_>>(), [b, c]);
        store.compact(then + 1);
        assert_eq!(
            store.list_at("", "pods", None, then).err(),
            Some(Compacted { asked: then, oldest: then + 1 })
        );
        assert_eq!(store.since(then + 1).unwrap().len(), 1);
    }
}
