//! The order of what is above what: cells of (lane, column), with a passage where an edge crosses a column that holds
//! neither of its ends.
//!
//! All edges to one node share their passages, so a ConfigMap that forty Pods use costs one line per column and not forty.

use std::{collections::BTreeMap, sync::Arc};

use super::Graph;
use crate::sort::{sort, sort_places};

/// How often neighbours pull; more changes little.
const SWEEPS: usize = 8;

/// Something in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A node, by place.
    Node(usize),
    /// Where edges to this node pass.
    Passage(usize),
}

/// Nodes and passages in cells.
#[derive(Debug)]
pub(super) struct Ordered {
    /// The groups, in order.
    pub(super) groups: Vec<Arc<str>>,
    /// The lane of each node.
    pub(super) lanes: Vec<usize>,
    /// The column of each node.
    pub(super) ranks: Vec<usize>,
    /// How many columns there are.
    pub(super) columns: usize,
    /// `cells[lane][column]`: slots, top to bottom.
    pub(super) cells: Vec<Vec<Vec<usize>>>,
    /// All slots: nodes first, at their own places, then passages.
    pub(super) slots: Vec<Slot>,
    /// The slots one column to the left and right of each slot.
    pub(super) neighbours: Vec<Vec<usize>>,
    /// The passage of edges to a node in a column.
    pub(super) passages: BTreeMap<(usize, usize), usize>,
}

/// Fills the cells and orders each.
pub(super) fn order(graph: &Graph, ranks: &[usize]) -> Ordered {
    let mut groups: Vec<Arc<str>> = graph.nodes.iter().map(|node| node.group.clone()).collect();
    // The nodes come by group.
    groups.dedup();
    let lanes: Vec<usize> = graph
        .nodes
        .iter()
        .map(|node| groups.binary_search(&node.group).unwrap_or_default())
        .collect();
    let columns = ranks.iter().max().map_or(0, |rank| rank + 1);
    let mut ordered = Ordered {
        cells: vec![vec![Vec::new(); columns]; groups.len()],
        slots: (0..graph.nodes.len()).map(Slot::Node).collect(),
        neighbours: vec![Vec::new(); graph.nodes.len()],
        passages: BTreeMap::new(),
        ranks: ranks.to_vec(),
        groups,
        lanes,
        columns,
    };
    for (node, rank) in ranks.iter().enumerate() {
        ordered.cells[ordered.lanes[node]][*rank].push(node);
    }
    for (from, to) in &graph.edges {
        ordered.connect(*from, *to);
    }
    for neighbours in &mut ordered.neighbours {
        sort_places(neighbours, &|a, b| a.cmp(&b));
        neighbours.dedup();
    }
    ordered.sweep();
    ordered
}

impl Ordered {
    /// The column of a slot is where it was put; passages remember theirs through the key.
    fn connect(&mut self, from: usize, to: usize) {
        let mut last = from;
        for column in self.ranks[from] + 1..self.ranks[to] {
            let passage = self.passage(to, column);
            self.link(last, passage);
            last = passage;
        }
        if self.ranks[from] < self.ranks[to] {
            self.link(last, to);
        }
    }

    fn passage(&mut self, to: usize, column: usize) -> usize {
        if let Some(passage) = self.passages.get(&(to, column)) {
            return *passage;
        }
        let slot = self.slots.len();
        self.slots.push(Slot::Passage(to));
        self.neighbours.push(Vec::new());
        self.cells[self.lanes[to]][column].push(slot);
        self.passages.insert((to, column), slot);
        slot
    }

    fn link(&mut self, left: usize, right: usize) {
        self.neighbours[left].push(right);
        self.neighbours[right].push(left);
    }

    /// Sorts each cell by the mean place of its neighbours, again and again, to the right and back.
    fn sweep(&mut self) {
        let mut at = vec![0.0; self.slots.len()];
        self.number(&mut at);
        for sweep in 0..SWEEPS {
            let columns: Vec<usize> = if sweep % 2 == 0 {
                (0..self.columns).collect()
            } else {
                (0..self.columns).rev().collect()
            };
            for column in columns {
                for lane in 0..self.cells.len() {
                    let mut pulls: Vec<(f64, usize)> = self.cells[lane][column]
                        .iter()
                        .map(|slot| (self.pull(*slot, &at), *slot))
                        .collect();
                    sort(&mut pulls, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    let cell: Vec<usize> = pulls.into_iter().map(|(_, slot)| slot).collect();
                    for (place, slot) in cell.iter().enumerate() {
                        at[*slot] = place_in(lane, place);
                    }
                    self.cells[lane][column] = cell;
                }
            }
        }
    }

    fn number(&self, at: &mut [f64]) {
        for (lane, columns) in self.cells.iter().enumerate() {
            for cell in columns {
                for (place, slot) in cell.iter().enumerate() {
                    at[*slot] = place_in(lane, place);
                }
            }
        }
    }

    fn pull(&self, slot: usize, at: &[f64]) -> f64 {
        let neighbours = &self.neighbours[slot];
        if neighbours.is_empty() {
            return at[slot];
        }
        neighbours.iter().map(|neighbour| at[*neighbour]).sum::<f64>() / neighbours.len() as f64
    }
}

/// A number that grows downwards, through all lanes.
fn place_in(lane: usize, place: usize) -> f64 {
    lane as f64 * 10_000.0 + place as f64
}
