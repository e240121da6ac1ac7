//! Whether the controller of an object can be seen.

use jiff::{SignedDuration, Timestamp};

use super::{Index, Outlook};
use crate::object::{Object, OwnerRef};

/// Watches of two kinds do not keep step: for this long the controller of a new object may not have been seen yet. It is
/// far longer than a watch is behind that is not about to be given up.
const BEHIND: SignedDuration = SignedDuration::from_secs(60);

impl Index {
    /// The controller of an object, where it is not known and may be there all the same: its kind is hidden, or the object
    /// is so new that its controller's watch may be behind. One whose kind can be seen is gone, and the garbage collector
    /// is about to see that.
    pub fn unseen_controller<'a>(
        &self,
        object: &'a Object,
        now: Timestamp,
    ) -> Option<&'a OwnerRef> {
        let owner = object.controller()?;
        if self.objects.contains(&owner.uid) || self.graves.contains_key(&owner.uid) {
            return None;
        }
        let is_new = || {
            object
                .created
                .is_some_and(|created| now.duration_since(Timestamp::from(created)) < BEHIND)
        };
        (self.may_hide(owner, object) || is_new()).then_some(owner)
    }

    /// An owner is in the namespace of what it owns, or in none.
    fn may_hide(&self, owner: &OwnerRef, owned: &Object) -> bool {
        let mut is_known = false;
        for (resource, watch) in &self.kinds {
            if watch.kind != owner.kind {
                continue;
            }
            is_known = true;
            let namespace = owned.namespace.as_deref().filter(|_| watch.namespaced);
            if !matches!(self.outlook(resource, namespace), Outlook::Clear) {
                return true;
            }
        }
        // It may be of a group that cannot be discovered.
        !is_known && self.blind.keys().any(|name| !self.kinds.contains_key(name))
    }
}
