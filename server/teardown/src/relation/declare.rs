//! The order of objects and the parents that declare them.
//!
//! # Decisions
//! - A parent goes last. Its own deletion may prune everything that it declares, in no order and claims included; once nothing
//!   of that is left, it prunes nothing. While it exists, a run keeps it suspended (`run/decide/parent.rs`).
//! - The order yields: a parent may live in the namespace that it declares.

use super::{DeletionPhase, EdgeCollector, EdgeKind, Precedence, Strength};
use crate::{
    index::Index,
    object::Object,
    unit::{DeclaringParent, declaring_parents},
};

pub(super) fn declares(found: &mut EdgeCollector<'_>, index: &Index) {
    for named in declaring_parents(found.from) {
        if let Some(parent) = parent_of(&named, index) {
            found.push_with(
                Strength::Yielding,
                parent,
                EdgeKind::Declares,
                Precedence::FromFirst(DeletionPhase::Gone),
                named.field,
                named.name.clone(),
            );
        }
    }
}

/// The parent that an object's marks name. Argo CD names an application of another namespace than its own `NAMESPACE_NAME`
/// (<https://argo-cd.readthedocs.io/en/stable/operator-manual/app-any-namespace/>).
pub(crate) fn parent_of<'a>(parent: &DeclaringParent, index: &'a Index) -> Option<&'a Object> {
    let resource = format!("{}.{}", parent.plural, parent.group);
    let is_it = |object: &&Object| match &parent.namespace {
        Some(namespace) => {
            object.namespace.as_ref() == Some(namespace) && *object.name == *parent.name
        }
        None => {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            *object.name == *parent.name
                || parent
                    .name
                    .strip_prefix(namespace)
                    .and_then(|rest| rest.strip_prefix('_'))
                    .is_some_and(|name| *name == *object.name)
        }
    };
    let objects = index.of_resource(&resource).map(|object| &**object);
    objects.filter(is_it).min_by(|a, b| a.uid.cmp(&b.uid))
}
