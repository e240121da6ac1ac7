//! Whether the controller of an object can be seen.

use jiff::{SignedDuration, Timestamp};

use super::{Index, Visibility, Watch};
use crate::object::{Object, OwnerRef};

/// Watches of two kinds do not keep step: for this long the controller of a new object may not have been seen yet. It is
/// far longer than a watch is behind that is not about to be given up.
const BEHIND: SignedDuration = SignedDuration::from_secs(60);

impl Index {
    /// The controller of an object, where it is not known and may be there all the same: its kind is hidden, or the object
    /// is so new that its controller's watch may be behind. One whose kind can be seen is gone, and the garbage collector
    /// is about to see that.
    pub fn hidden_controller<'a>(
        &self,
        object: &'a Object,
        now: Timestamp,
    ) -> Option<&'a OwnerRef> {
        let owner = object.controller()?;
        if self.objects.contains(&owner.uid) || self.tombstones.contains_key(&owner.uid) {
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
        let of_owner = |watch: &Watch| watch.of.0 == owner.group && watch.of.1 == owner.kind;
        let is_hidden = |(resource, watch): (&String, &Watch)| {
            let namespace = owned.namespace.as_deref().filter(|_| watch.namespaced);
            of_owner(watch) && !matches!(self.visibility(resource, namespace), Visibility::Visible)
        };
        let is_watched = self.kinds.values().any(of_owner);
        self.kinds.iter().any(is_hidden)
            || self.hidden.keys().any(|hidden| match hidden.split_once('/') {
                Some((group, _)) => *group == *owner.group,
                // A kind that cannot be seen and was never watched is named by its plural alone.
                None => {
                    !is_watched && !self.kinds.contains_key(hidden) && is_of(hidden, &owner.group)
                }
            })
    }
}

/// Whether a resource, or a version of the core group, is of a group.
fn is_of(hidden: &str, group: &str) -> bool {
    hidden.split_once('.').map_or("", |(_, group)| group) == group
}
