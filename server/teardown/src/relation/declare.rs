//! The order of objects and the parents that declare them.
//!
//! # Decisions
//! - A parent goes last. Its own deletion may prune everything that it declares, in no order and claims included; once nothing
//!   of that is left, it prunes nothing. A run suspends it first (`run/decide/parent.rs`).
//! - The order yields: a parent may live in the namespace that it declares.

use super::{DeletionPhase, EdgeCollector, EdgeKind, Precedence, Strength};
use crate::{
    declaration::{DeclaringParent, declaring_parents},
    index::Index,
    object::Object,
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

/// The parent that an object's marks name, if it exists.
pub(crate) fn parent_of<'a>(parent: &DeclaringParent, index: &'a Index) -> Option<&'a Object> {
    let resource = format!("{}.{}", parent.plural, parent.group);
    let objects = index.of_resource(&resource).map(|object| &**object);
    objects
        .filter(|object| parent.is(object.namespace.as_deref(), &object.name))
        .min_by(|a, b| a.uid.cmp(&b.uid))
}
