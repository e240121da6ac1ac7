//! The times of changes: of each object, and of the rules by which the API server permits or refuses a request.

use std::{
    borrow::Borrow,
    hash::{Hash, Hasher},
    sync::Arc,
};

use jiff::Timestamp;

use super::Index;
use crate::object::{Kind, Object, Seconds, Uid};

/// An object with the second of its last change, hashed by its UID.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) object: Arc<Object>,
    pub(super) changed: Seconds,
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.object.uid == other.object.uid
    }
}

impl Eq for Kept {}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.object.uid.hash(state);
    }
}

impl Borrow<Uid> for Kept {
    fn borrow(&self) -> &Uid {
        &self.object.uid
    }
}

/// The seconds of the last change of the rules by which the API server decides about a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    admission: Option<Seconds>,
    rights: Option<Seconds>,
}

impl Rules {
    /// Notes that an object of this kind came, changed or went, and returns the second.
    pub(super) fn note(&mut self, kind: &Kind, now: Timestamp) -> Seconds {
        let now = Seconds::from(now);
        match &*kind.group {
            "admissionregistration.k8s.io" => self.admission = Some(now),
            "rbac.authorization.k8s.io" => self.rights = Some(now),
            _ => {}
        }
        now
    }
}

impl Index {
    /// The second of the last change of an object that exists: a watch event, or a list with another content. An object
    /// is new when it is first seen, also after a restart of the server.
    pub fn changed_at(&self, uid: &Uid) -> Option<Seconds> {
        self.objects.get(uid).map(|kept| kept.changed)
    }

    /// The second of the last change of a webhook configuration, or of an admission policy or its binding.
    pub fn admission_changed_at(&self) -> Option<Seconds> {
        self.rules.admission
    }

    /// The second of the last change of a role or a binding.
    pub fn rights_changed_at(&self) -> Option<Seconds> {
        self.rules.rights
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use crate::{
        fixture::{self, now, object, uid},
        index::Index,
        object::Seconds,
        observation::Observation,
    };

    fn after(seconds: i64) -> Seconds {
        (now() + SignedDuration::from_secs(seconds)).into()
    }

    fn see(index: &mut Index, seconds: i64, observation: Observation) {
        index.apply([observation], now() + SignedDuration::from_secs(seconds));
    }

    #[test]
    fn event_is_a_change_and_an_equal_list_is_none() {
        let mut index = fixture::index("cm shop/a");
        let changed = |index: &Index| index.changed_at(&uid("cm:shop/a"));
        assert_eq!(changed(&index), Some(after(0)));
        let list = |line| Observation::Listed {
            kind: object(line).kind.clone(),
            objects: vec![object(line)],
        };
        see(&mut index, 5, list("cm shop/a"));
        assert_eq!(changed(&index), Some(after(0)), "nothing differs");
        see(&mut index, 6, Observation::Applied(Box::new(object("cm shop/a"))));
        assert_eq!(changed(&index), Some(after(6)), "a field that is not stored may differ");
        see(&mut index, 7, list("cm shop/a of=bank"));
        assert_eq!(changed(&index), Some(after(7)));
        assert_eq!(index.changed_at(&uid("cm:shop/b")), None);
    }

    #[test]
    fn rules_change_with_their_objects() {
        let mut index = fixture::index("cm shop/a");
        let times = |index: &Index| (index.admission_changed_at(), index.rights_changed_at());
        assert_eq!(times(&index), (None, None));
        see(&mut index, 1, Observation::Applied(Box::new(object("role shop/a"))));
        assert_eq!(times(&index), (None, Some(after(1))));
        see(&mut index, 2, Observation::Applied(Box::new(object("webhook gate"))));
        let webhook = object("webhook gate");
        see(&mut index, 3, Observation::Deleted { kind: webhook.kind, uid: webhook.uid });
        see(&mut index, 4, Observation::Applied(Box::new(object("cm shop/a"))));
        assert_eq!(times(&index), (Some(after(3)), Some(after(1))));
    }
}
