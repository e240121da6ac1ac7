//! Finds objects that are newer than the plan, so that nobody has confirmed their deletion.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    bookmark::Bookmark,
    index::{Change, Index},
    object::{Facts, Object, Uid},
    plan::Plan,
    relation::{Edge, EdgeKind, EdgeLookup, FoundEdge, edges_of},
    run::Run,
};

/// An object created this long before the plan still counts as late, because no watch may have delivered it yet. A watch
/// whose connection is dead is noticed after up to 61 s. Where its successor is dead too, the kind is listed again after
/// another 25 s, or after a minute if a request fails meanwhile; after a second failure the kind is hidden.
const BEHIND: SignedDuration = SignedDuration::from_mins(2);

/// The late objects of a run. They follow the changes of the index, so that a look does not search all objects for them.
#[derive(Clone, Default)]
pub(in crate::run) struct LateUids(RefCell<Followed>);

#[derive(Clone, Default)]
struct Followed {
    uids: BTreeSet<Uid>,
    /// The changes of the index that were taken into account.
    bookmark: Bookmark,
}

/// It is no part of a run's state: it is found again from the index.
impl fmt::Debug for LateUids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateUids")
    }
}

impl Run {
    /// The objects that are newer than the plan and not in it.
    fn late_objects<'a>(&self, index: &'a Index) -> HashMap<&'a Uid, &'a Arc<Object>> {
        let late = &mut *self.late.0.borrow_mut();
        match index.changed_since(&late.bookmark) {
            Some(changed) => {
                for Change { object, .. } in changed {
                    let uid = &object.uid;
                    match index.get(uid).filter(|it| self.is_late_object(it)) {
                        Some(_) => late.uids.insert(uid.clone()),
                        None => late.uids.remove(uid),
                    };
                }
            }
            None => late.uids = self.find_late_objects(index),
        }
        late.bookmark = index.bookmark();
        debug_assert_eq!(
            late.uids,
            self.find_late_objects(index),
            "a late object was not followed"
        );
        let objects = late.uids.iter().filter_map(|uid| index.get(uid));
        objects.map(|object| (&object.uid, object)).collect()
    }

    /// Finds the late objects among all.
    fn find_late_objects(&self, index: &Index) -> BTreeSet<Uid> {
        let late = index.objects().filter(|object| self.is_late_object(object));
        late.map(|object| object.uid.clone()).collect()
    }

    fn is_late_object(&self, object: &Object) -> bool {
        is_late(object, &self.plan) && !self.is_planned(&object.uid) && !self.is_kept(&object.uid)
    }
}

/// Objects that are newer than a plan and in none of its steps, with their edges. Pods are checked elsewhere.
pub(super) struct LateObjects<'a> {
    index: &'a Index,
    objects: HashMap<&'a Uid, &'a Arc<Object>>,
    /// The edges that order something, by the object that goes after.
    edges: HashMap<Uid, Vec<FoundEdge>>,
    lookup: EdgeLookup<'a>,
}

impl<'a> LateObjects<'a> {
    pub(super) fn of(run: &Run, index: &'a Index) -> Self {
        let objects = run.late_objects(index);
        let lookup = EdgeLookup::of(index);
        let mut edges: HashMap<Uid, Vec<FoundEdge>> = HashMap::new();
        for edge in objects.values().flat_map(|object| edges_of(object, index, &lookup)) {
            if let Some((_, then, _)) = edge.edge().ordered() {
                edges.entry(then.clone()).or_default().push(edge);
            }
        }
        Self { index, objects, edges, lookup }
    }

    /// A late object that would have to go before this object and is not deleted with it, and of which nobody confirmed that it
    /// loses this one. The content of a namespace is checked elsewhere.
    pub(super) fn before(&self, object: &Object, plan: &Plan) -> Option<&'a Object> {
        if self.objects.is_empty() {
            return None;
        }
        let own = edges_of(object, self.index, &self.lookup);
        let theirs = self.edges.get(&object.uid).into_iter().flatten();
        let firsts = theirs.chain(&own).map(FoundEdge::edge).filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            let it = self.objects.get(first).filter(|_| *then == object.uid)?;
            let is_waived = plan.is_waived(then, first, Some(edge.kind), self.index);
            (holds(edge, self.index) && !is_waived).then_some(&***it)
        });
        firsts.min_by_key(|first| first.reference())
    }
}

/// Whether an object is newer than a plan, and neither a Pod nor made by the cluster.
pub(super) fn is_late(object: &Object, plan: &Plan) -> bool {
    let since = plan.made.checked_sub(BEHIND).unwrap_or(Timestamp::MIN);
    object.created.is_some_and(|created| Timestamp::from(created) >= since)
        && !object.is_made_by_cluster()
        && !matches!(object.facts, Facts::Pod(_))
}

/// Whether the object at the first end of an edge has to go before the other, and is not deleted with it. The content of a
/// namespace is checked elsewhere. A role that collects the rules of others loses only those of what goes, as in a plan.
pub(super) fn holds(edge: Edge<'_>, index: &Index) -> bool {
    edge.ordered().is_some_and(|(first, then, _)| {
        let is_checked_elsewhere = edge.kind == EdgeKind::Contains;
        let holds = edge.keeps() && !edge.is_aggregation();
        !is_checked_elsewhere && holds && !index.descends(first, then)
    })
}
