//! The creator of an object that has the name of one that is gone.

use serde::{Deserialize, Serialize};

use crate::{
    index::Index,
    object::{Object, ObjectRef, OwnerRef},
};

/// The creator of an object, as the object itself says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Creator {
    /// Its owner, which makes it again as long as it exists: a ReplicaSet its Pods.
    Owner(ObjectRef),
    /// The field manager of its creation: the name that a program gives itself, or the first part of its user agent.
    Manager(String),
}

impl Creator {
    /// The creator of an object; none if nothing in it says so.
    pub(super) fn of(object: &Object, index: &Index) -> Option<Self> {
        let owner = object.controller().or_else(|| object.owners.first());
        let creator = object.annotations.as_ref().and_then(|it| it.creator.as_deref());
        let manager = || creator.map(|it| Self::Manager(it.to_owned()));
        owner.map(|it| Self::Owner(reference(it, object, index))).or_else(manager)
    }
}

/// An owner that is not known is taken for a neighbour, for most are.
fn reference(owner: &OwnerRef, object: &Object, index: &Index) -> ObjectRef {
    index.get(&owner.uid).map_or_else(
        || ObjectRef {
            group: owner.group.clone(),
            kind: owner.kind.clone(),
            namespace: object.namespace.clone(),
            name: owner.name.clone(),
        },
        |it| it.reference(),
    )
}
