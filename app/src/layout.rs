//! Graph to positions: layered, in lanes, deterministic and stable. Plain functions over plain numbers.
//!
//! A column is a rank on the longest path, so left is earlier; a lane is a group, stacked top to bottom in the groups'
//! order. What holds for every answer: no two nodes overlap; every edge leads to a column further right, except one that
//! closes a circle; and the same graph gives the same positions whatever order it is given in. A layout that goes on from
//! an earlier one moves no node of it, whether nodes come or go, so its edges may lead back; where it has become much
//! larger than it was made, it is made anew.

mod extend;
mod order;
mod place;
mod rank;
mod route;

use std::{collections::BTreeMap, sync::Arc};

use crate::sort::{sort, sort_places};

/// The graph to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The boxes, in any order; keys are unique.
    pub nodes: Vec<Node>,
    /// The node in front and the node behind, as places in `nodes`.
    pub edges: Vec<(usize, usize)>,
}

/// A box to be placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name; decides ties.
    pub key: Arc<str>,
    /// The lane it lives in.
    pub group: Arc<str>,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Whether the two share a point that is not on a border.
    pub fn meets(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A placed box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where it is.
    pub area: Area,
    /// Its column.
    pub rank: usize,
}

/// A lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The group.
    pub group: Arc<str>,
    /// Its box, heading included.
    pub area: Area,
}

/// The points an edge runs through; between two points of equal height it is straight.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The node in front.
    pub from: Arc<str>,
    /// The node behind.
    pub to: Arc<str>,
    /// At least two points.
    pub points: Vec<(f64, f64)>,
}

/// A column in which nodes stand. A rank that was folded has several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Its rank.
    pub rank: usize,
    /// The left of its nodes.
    pub left: f64,
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Nodes by key.
    pub nodes: BTreeMap<Arc<str>, Place>,
    /// Lanes, top to bottom.
    pub lanes: Vec<Lane>,
    /// Edges, in the order of their ends.
    pub edges: Vec<Route>,
    /// All columns from left to right, also those where nothing stands any more.
    pub columns: Vec<Column>,
    /// The drawing's width.
    pub width: f64,
    /// The drawing's height.
    pub height: f64,
    /// Width and height when it was last made anew.
    pub made: (f64, f64),
}

/// Distances.
pub(crate) mod gap {
    /// Around the drawing.
    pub(crate) const EDGE: f64 = 16.0;
    /// Between columns: room for an edge to bend.
    pub(crate) const COLUMN: f64 = 56.0;
    /// Between the parts of a column that was folded because it is long.
    pub(crate) const FOLD: f64 = 16.0;
    /// Between boxes of a column.
    pub(crate) const ROW: f64 = 14.0;
    /// The height an edge takes where it passes a column.
    pub(crate) const PASSAGE: f64 = 10.0;
    /// Inside a lane's border.
    pub(crate) const LANE: f64 = 16.0;
    /// A lane's heading.
    pub(crate) const HEAD: f64 = 40.0;
    /// Between lanes.
    pub(crate) const BETWEEN: f64 = 24.0;
}

/// Places a graph. The nodes that `previous` has stay where they were, unless most nodes are new or the drawing would
/// become much larger than it was made.
pub fn layout(graph: &Graph, previous: Option<&Layout>) -> Layout {
    let graph = in_order(graph);
    if let Some(extended) = previous.and_then(|previous| extend::extend(&graph, previous)) {
        return extended;
    }
    let ranks = rank::ranks(&graph);
    let ordered = order::order(&graph, &ranks);
    let placed = place::place(&graph, &ordered);
    route::route(&graph, &ordered, &placed)
}

/// The same graph with nodes by group and key and edges by their ends, so that nothing depends on the order given.
fn in_order(graph: &Graph) -> Graph {
    let mut by: Vec<usize> = (0..graph.nodes.len()).collect();
    sort_places(&mut by, &|a, b| {
        let (a, b) = (&graph.nodes[a], &graph.nodes[b]);
        (&a.group, &a.key).cmp(&(&b.group, &b.key))
    });
    let mut at = vec![0; by.len()];
    for (new, old) in by.iter().enumerate() {
        at[*old] = new;
    }
    let mut edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (at[*from], at[*to]))
        .collect();
    sort(&mut edges, Ord::cmp);
    edges.dedup();
    Graph { nodes: by.into_iter().map(|old| graph.nodes[old].clone()).collect(), edges }
}
