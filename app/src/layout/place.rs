//! Coordinates: columns from the widest node, rows from the median of the neighbours, as far as the order allows.

use super::{
    Graph, gap,
    order::{Ordered, Slot},
};
use crate::sort::sort;

/// How often a column is moved towards its neighbours.
const PASSES: usize = 4;
/// A cell with more nodes than this is folded into several parts side by side.
const TALL: usize = 14;

/// Where slots are, and how large lanes and columns are.
#[derive(Debug)]
pub(super) struct Placed {
    /// Left of each slot.
    pub(super) x: Vec<f64>,
    /// Vertical centre of each slot.
    pub(super) y: Vec<f64>,
    /// Left and right of each column.
    pub(super) columns: Vec<(f64, f64)>,
    /// Top and bottom of each lane.
    pub(super) lanes: Vec<(f64, f64)>,
}

/// Places all slots.
pub(super) fn place(graph: &Graph, ordered: &Ordered) -> Placed {
    let columns = columns(graph, ordered);
    let mut x = vec![0.0; ordered.slots.len()];
    let mut y = vec![0.0; ordered.slots.len()];
    let mut lanes = Vec::with_capacity(ordered.groups.len());
    let mut top = gap::EDGE;
    for lane in 0..ordered.groups.len() {
        let height = place_lane(graph, ordered, lane, &columns, &mut x, &mut y);
        let first = top + gap::HEAD;
        for cell in &ordered.cells[lane] {
            for slot in cell {
                y[*slot] += first;
            }
        }
        lanes.push((top, first + height + gap::LANE));
        top = first + height + gap::LANE + gap::BETWEEN;
    }
    Placed { x, y, columns, lanes }
}

/// In how many parts a cell of so many nodes is folded, and how many rows each has.
fn fold(nodes: usize) -> (usize, usize) {
    if nodes <= TALL {
        return (1, nodes);
    }
    let rows = TALL.max((nodes as f64).sqrt().ceil() as usize);
    (nodes.div_ceil(rows), rows)
}

fn nodes_of<'a>(ordered: &'a Ordered, cell: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    cell.iter().copied().filter(|slot| matches!(ordered.slots[*slot], Slot::Node(_)))
}

fn columns(graph: &Graph, ordered: &Ordered) -> Vec<(f64, f64)> {
    let mut left = gap::EDGE + gap::LANE;
    (0..ordered.columns)
        .map(|column| {
            let mut width: f64 = 0.0;
            for cells in &ordered.cells {
                let cell = &cells[column];
                let (parts, _) = fold(nodes_of(ordered, cell).count());
                let widest =
                    nodes_of(ordered, cell).map(|node| graph.nodes[node].width).fold(0.0, f64::max);
                width = width.max(parts as f64 * (widest + gap::FOLD) - gap::FOLD);
            }
            let right = left + width;
            let span = (left, right);
            left = right + gap::COLUMN;
            span
        })
        .collect()
}

fn height_of(graph: &Graph, ordered: &Ordered, slot: usize) -> f64 {
    match ordered.slots[slot] {
        Slot::Node(node) => graph.nodes[node].height,
        Slot::Passage(_) => gap::PASSAGE,
    }
}

/// Places one lane with its top at 0; answers its height.
fn place_lane(
    graph: &Graph,
    ordered: &Ordered,
    lane: usize,
    columns: &[(f64, f64)],
    x: &mut [f64],
    y: &mut [f64],
) -> f64 {
    let cells = &ordered.cells[lane];
    let mut folded = vec![false; columns.len()];
    for (column, cell) in cells.iter().enumerate() {
        folded[column] = fold(nodes_of(ordered, cell).count()).0 > 1;
        stack(graph, ordered, cell, columns[column].0, x, y);
    }
    let height = |y: &[f64]| {
        cells
            .iter()
            .flatten()
            .map(|slot| y[*slot] + height_of(graph, ordered, *slot) / 2.0)
            .fold(0.0, f64::max)
    };
    let limit = height(y);
    for pass in 0..PASSES {
        let run: Vec<usize> = if pass % 2 == 0 {
            (0..cells.len()).collect()
        } else {
            (0..cells.len()).rev().collect()
        };
        for column in run {
            if !folded[column] {
                align(graph, ordered, lane, &cells[column], limit, y);
            }
        }
    }
    height(y)
}

/// Puts a cell's slots under each other; a long one in several parts, its passages below.
fn stack(
    graph: &Graph,
    ordered: &Ordered,
    cell: &[usize],
    left: f64,
    x: &mut [f64],
    y: &mut [f64],
) {
    let nodes: Vec<usize> = nodes_of(ordered, cell).collect();
    let (parts, rows) = fold(nodes.len());
    if parts <= 1 {
        let mut top = 0.0;
        for slot in cell {
            let height = height_of(graph, ordered, *slot);
            x[*slot] = left;
            y[*slot] = top + height / 2.0;
            top += height + gap::ROW;
        }
        return;
    }
    let widest = nodes.iter().map(|node| graph.nodes[*node].width).fold(0.0, f64::max);
    let tallest = nodes.iter().map(|node| graph.nodes[*node].height).fold(0.0, f64::max);
    for (place, node) in nodes.iter().enumerate() {
        x[*node] = left + (place / rows) as f64 * (widest + gap::FOLD);
        y[*node] = (place % rows) as f64 * (tallest + gap::ROW) + tallest / 2.0;
    }
    let mut top = rows as f64 * (tallest + gap::ROW);
    for slot in cell.iter().filter(|slot| matches!(ordered.slots[**slot], Slot::Passage(_))) {
        x[*slot] = left;
        y[*slot] = top + gap::PASSAGE / 2.0;
        top += gap::PASSAGE + gap::ROW;
    }
}

/// Moves a cell's slots towards the median of their neighbours in the same lane; order and distance stay. Slots that
/// want the same room form a block that goes to the mean of what its members want.
fn align(graph: &Graph, ordered: &Ordered, lane: usize, cell: &[usize], limit: f64, y: &mut [f64]) {
    struct Block {
        /// The sum of what the members want of the block's first slot, and how many want something.
        wanted: f64,
        wishes: f64,
        /// The members' offsets from the first slot's centre.
        members: Vec<(usize, f64)>,
        /// From the first slot's centre to the next slot's.
        extent: f64,
        at: f64,
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (place, slot) in cell.iter().enumerate() {
        let height = height_of(graph, ordered, *slot);
        let next = cell.get(place + 1).map_or(0.0, |next| height_of(graph, ordered, *next));
        let step = height / 2.0 + gap::ROW + next / 2.0;
        let wish = median(ordered, lane, *slot, y);
        let (wanted, wishes) = wish.map_or((y[*slot] * 0.05, 0.05), |wish| (wish, 1.0));
        let mut block = Block {
            wanted,
            wishes,
            members: vec![(*slot, 0.0)],
            extent: step,
            at: wanted / wishes,
        };
        while let Some(above) = blocks.pop() {
            if above.at + above.extent <= block.at {
                blocks.push(above);
                break;
            }
            let shift = above.extent;
            let mut members = above.members;
            members.extend(block.members.iter().map(|(slot, offset)| (*slot, offset + shift)));
            let wanted = above.wanted + block.wanted - shift * block.wishes;
            let wishes = above.wishes + block.wishes;
            block = Block {
                at: wanted / wishes,
                wanted,
                wishes,
                members,
                extent: shift + block.extent,
            };
        }
        blocks.push(block);
    }
    let mut centres: Vec<(usize, f64)> = blocks
        .iter()
        .flat_map(|block| block.members.iter().map(|(slot, offset)| (*slot, block.at + offset)))
        .collect();
    keep_inside(graph, ordered, &mut centres, limit);
    for (slot, centre) in centres {
        y[slot] = centre;
    }
}

/// Pushes up what hangs below the lane, then down what sticks out above it.
fn keep_inside(graph: &Graph, ordered: &Ordered, centres: &mut [(usize, f64)], limit: f64) {
    let mut floor = limit;
    for (slot, centre) in centres.iter_mut().rev() {
        let half = height_of(graph, ordered, *slot) / 2.0;
        *centre = centre.min(floor - half);
        floor = *centre - half - gap::ROW;
    }
    let mut ceiling: f64 = 0.0;
    for (slot, centre) in centres.iter_mut() {
        let half = height_of(graph, ordered, *slot) / 2.0;
        *centre = centre.max(ceiling + half);
        ceiling = *centre + half + gap::ROW;
    }
}

fn median(ordered: &Ordered, lane: usize, slot: usize, y: &[f64]) -> Option<f64> {
    let lane_of = |slot: usize| match ordered.slots[slot] {
        Slot::Node(node) | Slot::Passage(node) => ordered.lanes[node],
    };
    let mut at: Vec<f64> = ordered.neighbours[slot]
        .iter()
        .filter(|neighbour| lane_of(**neighbour) == lane)
        .map(|neighbour| y[*neighbour])
        .collect();
    if at.is_empty() {
        return None;
    }
    sort(&mut at, f64::total_cmp);
    let middle = at.len() / 2;
    Some(if at.len() % 2 == 1 { at[middle] } else { f64::midpoint(at[middle - 1], at[middle]) })
}
