//! Keys of the index's tables. A table contains the objects themselves and compares the fields it needs, so that no UID
//! and no name is stored twice.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    hash::{Hash, Hasher},
    sync::Arc,
};

use hashbrown::Equivalent;

use crate::object::{Object, ObjectRef, Uid};

/// An object, hashed and ordered by its UID.
#[derive(Clone, Debug)]
pub(super) struct ByUid(pub(super) Arc<Object>);

impl PartialEq for ByUid {
    fn eq(&self, other: &Self) -> bool {
        self.0.uid == other.0.uid
    }
}

impl Eq for ByUid {}

impl Hash for ByUid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.uid.hash(state);
    }
}

impl PartialOrd for ByUid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByUid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.uid.cmp(&other.0.uid)
    }
}

impl Borrow<Uid> for ByUid {
    fn borrow(&self) -> &Uid {
        &self.0.uid
    }
}

/// An object, hashed by its name.
#[derive(Clone, Debug)]
pub(super) struct ByName(pub(super) Arc<Object>);

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        Name::of(&self.0) == Name::of(&other.0)
    }
}

impl Eq for ByName {}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Name::of(&self.0).hash(state);
    }
}

/// The name of an object, borrowed: an [`ObjectRef`] without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name<'a> {
    pub(super) group: &'a str,
    pub(super) kind: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

impl<'a> Name<'a> {
    pub(super) fn of(object: &'a Object) -> Self {
        Self {
            group: &object.kind.group,
            kind: &object.kind.kind,
            namespace: object.namespace.as_deref(),
            name: &object.name,
        }
    }
}

impl<'a> From<&'a ObjectRef> for Name<'a> {
    fn from(name: &'a ObjectRef) -> Self {
        Self {
            group: &name.group,
            kind: &name.kind,
            namespace: name.namespace.as_deref(),
            name: &name.name,
        }
    }
}

impl Equivalent<ByName> for Name<'_> {
    fn equivalent(&self, key: &ByName) -> bool {
        *self == Name::of(&key.0)
    }
}
