//! The objects that go because a person waived that others use them, with those others: a plan says who loses what.
//!
//! # Decisions
//! - A user counts as known if it was one when the plan was made, or if such a user owns it: a Pod that its Deployment made again.
//!   Any other user is a difference when the run is started, and holds the object later. A webhook configuration has no such users:
//!   it is waived with its rules, and not with each object that they match at the time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Plan,
    difference::is_created_by_controllers,
    guards::guarded,
    kept::users,
    kept_reason::KeptReason,
    waiver::{Waivers, may_be_waived},
};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef, Uid},
    relation::EdgeKind,
    unit::Unit,
};

/// The most users of an object that a plan names; it counts the others.
const NAMED: usize = 8;

/// An object that goes although objects that stay use it, with those that use it in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waived {
    /// The object that a person named.
    pub object: ObjectRef,
    /// The kind of the edges by which the others use it, or what controllers made for it.
    pub edge: EdgeKind,
    /// The first of the users, by name, without those that another user owns.
    pub users: Vec<ObjectRef>,
    /// The number of all of them.
    pub count: usize,
    /// The object, and what controllers made for it and goes as well.
    pub covers: Vec<Uid>,
    /// All users, sorted; none of a webhook configuration.
    pub known: Vec<Uid>,
}

/// The users of one waived object by one kind of edge.
#[derive(Default)]
struct Found<'a> {
    covers: BTreeSet<&'a Uid>,
    users: BTreeMap<&'a Uid, &'a Object>,
}

impl Found<'_> {
    fn waived(self, object: ObjectRef, edge: EdgeKind, index: &Index) -> Waived {
        let Self { covers, users } = self;
        let is_anothers =
            |uid: &Uid| index.descends_from(uid, |owner| owner != uid && users.contains_key(owner));
        let first = users.iter().filter(|(uid, _)| !is_anothers(uid));
        let (mut known, mut named): (Vec<Uid>, Vec<ObjectRef>) =
            first.map(|(uid, user)| ((*uid).clone(), user.reference())).unzip();
        let count = named.len();
        named.sort();
        named.truncate(NAMED);
        if edge == EdgeKind::Guards {
            known.clear();
        }
        let covers = covers.into_iter().cloned().collect();
        Waived { object, edge, users: named, count, covers, known }
    }
}

/// The waived objects that go, with those that stay and use them, by name.
pub(super) fn waived(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    waivers: &Waivers,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Vec<Waived> {
    let is_outside = |object: &Object| !unit.members.contains(&object.uid);
    let needs_guards = |object: &Object| match kept.get(&object.uid) {
        Some(reason) => reason.needs_guards(),
        None => is_outside(object),
    };
    let mut found: BTreeMap<(ObjectRef, EdgeKind), Found<'_>> = BTreeMap::new();
    for (uid, named) in waivers.iter().filter(|(uid, _)| !kept.contains_key(*uid)) {
        let (Some(object), Some(named)) = (index.get(uid), index.get(named)) else { continue };
        let uses = users(object, index, graph, unit, kept)
            .filter(|(user, edge)| is_outside(user) && may_be_waived(object, edge.kind))
            .map(|(user, edge)| (edge.kind, user));
        let guards = matches!(object.facts, Facts::Webhooks(_)).then(|| {
            let staying = index.objects().filter(|it| needs_guards(it));
            guarded(object, staying, index).map(|(user, _)| (EdgeKind::Guards, user))
        });
        for (edge, user) in uses.chain(guards.into_iter().flatten()) {
            let found = found.entry((named.reference(), edge)).or_default();
            found.covers.insert(uid);
            found.users.insert(&user.uid, user);
        }
    }
    let rows = found.into_iter();
    rows.map(|((object, edge), found)| found.waived(object, edge, index)).collect()
}

/// The kept objects that a person may waive so that nothing outside the unit keeps them any more, without those that controllers
/// made for one of them.
pub(super) fn waivable(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Vec<ObjectRef> {
    let may_go = |object: &Object, reason: &KeptReason| match reason {
        KeptReason::UsedBy { edge, .. } => {
            let users = users(object, index, graph, unit, kept);
            let mut outside = users.filter(|(user, _)| !unit.members.contains(&user.uid));
            may_be_waived(object, *edge) && outside.all(|(_, it)| may_be_waived(object, it.kind))
        }
        KeptReason::NeededBy { edge, .. } => *edge == EdgeKind::Guards,
        _ => false,
    };
    let objects = kept.iter().filter_map(|(uid, reason)| Some((index.get(uid)?, reason)));
    let found: BTreeMap<&Uid, &Object> = objects
        .filter(|(object, reason)| may_go(object, reason))
        .map(|(object, _)| (&object.uid, &**object))
        .collect();
    let is_covered = |object: &Object| {
        is_created_by_controllers(&object.kind)
            && index.descends_from(&object.uid, |owner| {
                *owner != object.uid && found.contains_key(owner)
            })
    };
    let named = found.values().filter(|object| !is_covered(object));
    let mut named: Vec<ObjectRef> = named.map(|object| object.reference()).collect();
    named.sort();
    named
}

impl Plan {
    /// Whether a person confirmed that a webhook configuration goes although it guards objects of others.
    pub(crate) fn waives_guard(&self, configuration: &Uid) -> bool {
        let mut rows = self.waived.iter().filter(|row| row.edge == EdgeKind::Guards);
        rows.any(|row| row.covers.contains(configuration))
    }

    /// Whether a person confirmed that an object goes although this one uses it, by an edge of this kind or by any.
    pub(crate) fn is_waived(
        &self,
        object: &Uid,
        user: &Uid,
        edge: Option<EdgeKind>,
        index: &Index,
    ) -> bool {
        let mut rows = self
            .waived
            .iter()
            .filter(|row| edge.is_none_or(|edge| row.edge == edge) && row.covers.contains(object));
        rows.any(|row| index.descends_from(user, |uid| row.knows(uid)))
    }
}

impl Waived {
    /// Whether this object was one of the users when the plan was made.
    pub(super) fn knows(&self, user: &Uid) -> bool {
        self.known.binary_search(user).is_ok()
    }
}
