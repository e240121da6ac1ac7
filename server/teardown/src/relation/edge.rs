//! An edge between two objects that exist.

use super::{DeletionPhase, EdgeKind, Precedence, Reason, Strength};
use crate::object::Uid;

/// The field by which a role has the rules of others.
pub(super) const AGGREGATION: &str = "aggregationRule.clusterRoleSelectors";

/// An edge. A graph stores its parts apart, because a cluster has several for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'a> {
    /// The object whose field contains the reference.
    pub from: &'a Uid,
    /// The object that it refers to.
    pub to: &'a Uid,
    /// The meaning of the edge.
    pub kind: EdgeKind,
    /// The order of the two objects.
    pub order: Precedence,
    /// Whether the order may be given up.
    pub strength: Strength,
    /// The field that the edge is derived from.
    pub reason: &'a Reason,
}

impl<'a> Edge<'a> {
    /// The edge as an order: the object that goes first, the object that follows, and the deletion phase that the first
    /// must reach.
    pub fn ordered(self) -> Option<(&'a Uid, &'a Uid, DeletionPhase)> {
        match self.order {
            Precedence::FromFirst(phase) => Some((self.from, self.to, phase)),
            Precedence::ToFirst(phase) => Some((self.to, self.from, phase)),
            Precedence::Unordered => None,
        }
    }

    /// Whether the order says no more than that the object that goes first is deleted before its namespace, or before the API that
    /// serves it. An object that cannot be deleted holds neither of them.
    pub(crate) fn is_about_deletion(self) -> bool {
        matches!(self.kind, EdgeKind::Contains | EdgeKind::Defines)
    }

    /// Whether an aggregated role goes before a role whose rules it has. A role of others that collects the rules of many loses
    /// only those of what goes.
    pub(crate) fn is_aggregation(self) -> bool {
        self.kind == EdgeKind::RunsAs && self.reason.field.starts_with(AGGREGATION)
    }

    /// Whether the object that goes first, while it stays, keeps the other. A workload that is only a possible finisher,
    /// driver or controller of an object is not kept for it, nor is the source of a copy that is complete. A hint keeps nothing.
    pub fn keeps(self) -> bool {
        let only_delays = matches!(
            self.kind,
            EdgeKind::Finishes | EdgeKind::Snapshots | EdgeKind::Provisions | EdgeKind::Controls
        );
        match self.strength {
            Strength::Hint => false,
            Strength::Yielding => !only_delays,
            Strength::Hard => true,
        }
    }
}

/// An edge as a search finds it, with all that it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEdge {
    /// The object whose field contains the reference.
    pub from: Uid,
    /// The object that it refers to.
    pub to: Uid,
    /// The meaning of the edge.
    pub kind: EdgeKind,
    /// The order of the two objects.
    pub order: Precedence,
    /// Whether the order may be given up.
    pub strength: Strength,
    /// The field that the edge is derived from.
    pub reason: Reason,
}

impl FoundEdge {
    /// The edge.
    pub fn edge(&self) -> Edge<'_> {
        let Self { from, to, kind, order, strength, reason } = self;
        Edge { from, to, kind: *kind, order: *order, strength: *strength, reason }
    }
}
