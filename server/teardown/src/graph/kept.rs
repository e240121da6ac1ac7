//! Numbers that were worked out from an object, the objects with an edge to it, and the claims and volumes of these, kept until one
//! of them may differ: a node has thousands of Pods, and the page of trouble is made again with every event.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use super::Graph;
use crate::{
    object::Uid,
    relation::{Edge, EdgeKind},
};

/// The numbers, by the UID of the object.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(RefCell<HashMap<Uid, u64>>);

impl Graph {
    /// The number of a node, which is worked out if it is not known. It may depend on the Pods on the node, on their claims, and on
    /// the volumes of these, as far as their shapes go (`object/shape.rs`).
    pub(crate) fn kept_of_node(&self, node: &Uid, work_out: impl FnOnce() -> u64) -> u64 {
        if let Some(known) = self.kept.0.borrow().get(node) {
            return *known;
        }
        let number = work_out();
        self.kept.0.borrow_mut().insert(node.clone(), number);
        number
    }

    /// Forgets the numbers that may differ because these objects, or edges of theirs, do.
    pub(super) fn forget_around(&self, moved: &BTreeSet<Uid>) {
        let mut kept = self.kept.0.borrow_mut();
        if kept.is_empty() {
            return;
        }
        for uid in moved {
            kept.remove(uid);
            let of = |kind: EdgeKind| move |edge: &Edge<'_>| edge.kind == kind;
            let bound = self.to(uid).filter(of(EdgeKind::Binds)).map(|edge| edge.from);
            let claims = bound.chain(std::iter::once(uid));
            let mounting = claims.flat_map(|it| self.to(it)).filter(of(EdgeKind::Mounts));
            let pods = mounting.map(|edge| edge.from).chain(std::iter::once(uid));
            for edge in pods.flat_map(|pod| self.from(pod)).filter(of(EdgeKind::RunsOn)) {
                kept.remove(edge.to);
            }
        }
    }
}
