//! The order of objects and the parents that declare them.
//!
//! # Decisions
//! - A parent goes last. Its own deletion may prune everything that it declares, in no order and claims included; once nothing
//!   of that is left, it prunes nothing. A run suspends it first (`run/decide/parent.rs`).
//! - What the App of a PackageInstall declares goes before both (`pkg/packageinstall/packageinstall.go` of kapp-controller).
//! - The order yields: a parent may live in the namespace that it declares.
//! - The records of a Helm release go last of it, the newest first: without them `helm list` does not know what is left, and
//!   with them `helm install` refuses the name. One that stays because a part of the release stays is never suspended.

use std::sync::Arc;

use super::{DeletionPhase, EdgeCollector, EdgeKind, Precedence, Strength};
use crate::{
    declaration::{DeclaringParent, declaring_parents, is_parent, recorded_release},
    index::Index,
    object::Object,
};

pub(super) fn declares(found: &mut EdgeCollector<'_>, index: &Index) {
    for named in declaring_parents(found.from) {
        if let Some(parent) = parent_of(&named, found.from, index) {
            let order = Precedence::FromFirst(DeletionPhase::Gone);
            let (kind, field) = (EdgeKind::Declares, named.field);
            found.push_with(Strength::Yielding, parent, kind, order, field, named.name.clone());
            for owner in owning_parents(parent, index) {
                let value = format!("{} → {}", named.name, parent.name);
                found.push_with(Strength::Yielding, owner, kind, order, field, value);
            }
        }
    }
}

/// The owners of a parent that are parents themselves. A PackageInstall gives its App what it has: suspended or not, and
/// whether it prunes.
fn owning_parents<'a>(parent: &Object, index: &'a Index) -> impl Iterator<Item = &'a Arc<Object>> {
    let owners = parent.owners.iter().filter_map(|owner| index.get(&owner.uid));
    owners.filter(|owner| is_parent(&owner.kind))
}

/// The edges to the records of the object's Helm release.
pub(super) fn records(found: &mut EdgeCollector<'_>, index: &Index) {
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    let object = found.from;
    let release = object.annotations.as_deref().and_then(|it| it.release.as_ref());
    if let Some((namespace, name)) = release
        && let Some(newest) = index.records_of(namespace, name).first()
    {
        let field = "metadata.annotations[meta.helm.sh/release-name]";
        found.push_with(Strength::Yielding, newest, EdgeKind::Declares, order, field, name.clone());
    }
    if let Some((namespace, name)) = recorded_release(object)
        && let [newest, earlier @ ..] = index.records_of(namespace, name).as_slice()
        && newest.uid == object.uid
    {
        for record in earlier {
            let (kind, field) = (EdgeKind::Refers, "metadata.labels.name");
            found.push_with(Strength::Yielding, record, kind, order, field, name.clone());
        }
    }
}

/// The parent that a mark of an object names, if it exists.
pub(crate) fn parent_of<'a>(
    named: &DeclaringParent,
    object: &Object,
    index: &'a Index,
) -> Option<&'a Object> {
    let parents = index.of_resource(named.resource).map(|parent| &**parent);
    parents.filter(|parent| named.is_meant(parent, object)).min_by(|a, b| a.uid.cmp(&b.uid))
}
