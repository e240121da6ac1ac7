//! Graph to positions: layered, in lanes, deterministic and stable. Plain functions over plain numbers.
//!
//! A column is a rank on the longest path, so left is earlier; a lane is a group, stacked top to bottom in the groups'
//! order. What holds for every answer: no two nodes overlap; every edge leads to a column further right, except one that
//! closes a circle; the same graph gives the same positions whatever order it is given in; and a graph that only lost
//! nodes keeps every survivor where it was.

mod order;
mod place;
mod rank;
mod route;

use std::{collections::BTreeMap, sync::Arc};

use crate::sorted::sorted;

/// What is to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The boxes, in any order; keys are unique.
    pub nodes: Vec<Node>,
    /// Which node is in front of which, as places in `nodes`.
    pub edges: Vec<(usize, usize)>,
}

/// A box to be placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is called; decides ties.
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

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Nodes by key.
    pub nodes: BTreeMap<Arc<str>, Place>,
    /// Lanes, top to bottom.
    pub lanes: Vec<Lane>,
    /// Edges, in the order of their ends.
    pub edges: Vec<Route>,
    /// The drawing's width.
    pub width: f64,
    /// The drawing's height.
    pub height: f64,
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

/// Places a graph. Where `previous` already has every node, what is left keeps its place.
pub fn layout(graph: &Graph, previous: Option<&Layout>) -> Layout {
    if let Some(kept) = previous.and_then(|previous| survivors(graph, previous)) {
        return kept;
    }
    let graph = in_order(graph);
    let ranks = rank::ranks(&graph);
    let ordered = order::order(&graph, &ranks);
    let placed = place::place(&graph, &ordered);
    route::route(&graph, &ordered, &placed)
}

/// The same graph with nodes by group and key and edges by their ends, so that nothing depends on the order given.
fn in_order(graph: &Graph) -> Graph {
    let by = sorted((0..graph.nodes.len()).collect(), |a: &usize, b: &usize| {
        let (a, b) = (&graph.nodes[*a], &graph.nodes[*b]);
        (&a.group, &a.key).cmp(&(&b.group, &b.key))
    });
    let mut at = vec![0; by.len()];
    for (new, old) in by.iter().enumerate() {
        at[*old] = new;
    }
    let edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (at[*from], at[*to]))
        .collect();
    let mut edges = sorted(edges, Ord::cmp);
    edges.dedup();
    Graph { nodes: by.into_iter().map(|old| graph.nodes[old].clone()).collect(), edges }
}

/// What is left of a layout; `None` where the graph has a node it does not know, or one that changed its lane.
fn survivors(graph: &Graph, previous: &Layout) -> Option<Layout> {
    let mut nodes = BTreeMap::new();
    for node in &graph.nodes {
        let place = previous.nodes.get(&node.key)?;
        let lane = previous.lanes.iter().find(|lane| lane.group == node.group)?;
        if !lane.area.meets(&place.area)
            || (place.area.width, place.area.height) != (node.width, node.height)
        {
            return None;
        }
        nodes.insert(node.key.clone(), *place);
    }
    // One by one, as in route.rs.
    let mut known: BTreeMap<(&str, &str), &Route> = BTreeMap::new();
    for route in &previous.edges {
        known.insert((&route.from, &route.to), route);
    }
    let edges = in_order(graph);
    let edges = edges
        .edges
        .iter()
        .map(|(from, to)| {
            let (from, to) = (&edges.nodes[*from].key, &edges.nodes[*to].key);
            match known.get(&(&**from, &**to)) {
                Some(route) => (*route).clone(),
                None => route::straight(from, to, &nodes),
            }
        })
        .collect();
    let used = |lane: &&Lane| graph.nodes.iter().any(|node| node.group == lane.group);
    Some(Layout {
        lanes: previous.lanes.iter().filter(used).cloned().collect(),
        nodes,
        edges,
        width: previous.width,
        height: previous.height,
    })
}
