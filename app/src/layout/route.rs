//! The points edges run through, and the answer put together.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Area, Column, Graph, Lane, Layout, Node, Place, Route, gap, order::Ordered, place::Placed,
};

/// Makes the layout of what was placed.
pub(super) fn route(graph: &Graph, ordered: &Ordered, placed: &Placed) -> Layout {
    let place = |(node, shape): (usize, &Node)| {
        let area = Area {
            x: placed.x[node],
            y: placed.y[node] - shape.height / 2.0,
            width: shape.width,
            height: shape.height,
        };
        (shape.key.clone(), Place { area, rank: ordered.ranks[node] })
    };
    let mut nodes: BTreeMap<Arc<str>, Place> = BTreeMap::new();
    nodes.extend(graph.nodes.iter().enumerate().map(place));
    let edges = graph
        .edges
        .iter()
        .map(|(from, to)| {
            let ends = straight(&graph.nodes[*from].key, &graph.nodes[*to].key, &nodes);
            let mut points = vec![ends.points[0]];
            for column in ordered.ranks[*from] + 1..ordered.ranks[*to] {
                if let Some(passage) = ordered.passages.get(&(*to, column)) {
                    let (left, right) = placed.columns[column];
                    points.push((left, placed.y[*passage]));
                    points.push((right, placed.y[*passage]));
                }
            }
            points.extend(ends.points.last());
            Route { points, ..ends }
        })
        .collect();
    let right = placed.columns.last().map_or(0.0, |column| column.1);
    let lanes: Vec<Lane> = ordered
        .groups
        .iter()
        .zip(&placed.lanes)
        .map(|(group, (top, bottom))| Lane {
            group: group.clone(),
            area: Area {
                x: gap::EDGE,
                y: *top,
                width: right + gap::LANE - gap::EDGE,
                height: bottom - top,
            },
        })
        .collect();
    let height = placed.lanes.last().map_or(0.0, |lane| lane.1) + gap::EDGE;
    let width = right + gap::LANE + gap::EDGE;
    let columns = columns(&nodes);
    Layout { nodes, lanes, edges, columns, width, height, made: (width, height) }
}

/// The columns where nodes are, from left to right.
fn columns(nodes: &BTreeMap<Arc<str>, Place>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for place in nodes.values() {
        let column = Column { rank: place.rank, left: place.area.x };
        let at = columns.partition_point(|other| other.left < column.left);
        if columns.get(at) != Some(&column) {
            columns.insert(at, column);
        }
    }
    columns
}

/// From the right of one node to the left of another.
pub(super) fn straight(from: &Arc<str>, to: &Arc<str>, nodes: &BTreeMap<Arc<str>, Place>) -> Route {
    let area = |key: &Arc<str>| nodes.get(key).map(|place| place.area);
    let (a, b) = (area(from), area(to));
    let start = a.map_or((0.0, 0.0), |a| (a.x + a.width, a.y + a.height / 2.0));
    let end = b.map_or(start, |b| (b.x, b.y + b.height / 2.0));
    Route { from: from.clone(), to: to.clone(), points: vec![start, end] }
}
