//! Finds out whether an object's controller is hidden.

use jiff::{SignedDuration, Timestamp};

use super::{Index, kind_watch::Watch, visibility::Visibility};
use crate::object::{Object, OwnerRef};

/// The watches of two kinds are not synchronised: the controller of a new object may arrive in the index up to this
/// much later. Any watch that lags further behind is about to be restarted.
const BEHIND: SignedDuration = SignedDuration::from_secs(60);

impl Index {
    /// The controller of an object, if it is not in the index but may still exist: either its kind is hidden, or the
    /// object is so new that the watch of its controller may lag behind. A controller of a visible kind that is not in
    /// the index is gone, and the garbage collector is about to remove the object.
    pub fn hidden_controller<'a>(
        &self,
        object: &'a Object,
        now: Timestamp,
    ) -> Option<&'a OwnerRef> {
        let owner = object.controller()?;
        if self.get(&owner.uid).is_some() || self.tombstones.contains_key(&owner.uid) {
            return None;
        }
        let is_new = || {
            object
                .created
                .is_some_and(|created| now.duration_since(Timestamp::from(created)) < BEHIND)
        };
        (self.may_hide(owner, object) || is_new()).then_some(owner)
    }

    /// An owner is in the namespace of its dependent, or it is cluster-scoped.
    fn may_hide(&self, owner: &OwnerRef, owned: &Object) -> bool {
        let of_owner = |watch: &Watch| {
            watch.kind.as_ref().is_some_and(|kind| kind.is(&owner.group, &owner.kind))
        };
        let is_hidden = |(resource, watch): (&String, &Watch)| {
            let namespace = owned.namespace.as_deref().filter(|_| watch.namespaced);
            of_owner(watch) && !matches!(self.visibility(resource, namespace), Visibility::Visible)
        };
        let is_watched = self.kinds.values().any(of_owner);
        self.kinds.iter().any(is_hidden)
            || self.hidden.keys().any(|hidden| match hidden.split_once('/') {
                Some((group, _)) => *group == *owner.group,
                // Of a hidden kind that was never watched, only the plural is known.
                None => {
                    !is_watched && !self.kinds.contains_key(hidden) && is_of(hidden, &owner.group)
                }
            })
    }
}

/// Whether a resource, or a version of the core group, belongs to a group.
fn is_of(hidden: &str, group: &str) -> bool {
    hidden.split_once('.').map_or("", |(_, group)| group) == group
}
