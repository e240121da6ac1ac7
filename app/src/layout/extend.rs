//! A layout that goes on from an earlier one: no node that was there moves, so that a person finds again what they looked
//! at. A new node goes to a free place of its lane, in the column that its edges ask for or in one further right; where
//! there is none, the drawing becomes wider. Columns stay when their nodes go, so what comes and goes all day, like the
//! Pods of a CronJob, has its places there and does not move the drawing's end further each time.

use std::{collections::BTreeMap, sync::Arc};

use super::{Area, Column, Graph, Lane, Layout, Node, Place, Route, gap, route};

/// How much wider and higher than it was made a drawing may become.
const GROWTH: f64 = 1.5;

/// Places a graph whose nodes are in order. `None` where a drawing made anew is clearer: most nodes are new, one of them
/// does not fit into its lane, or the drawing has become half as large again and more.
pub(super) fn extend(graph: &Graph, previous: &Layout) -> Option<Layout> {
    let stays = |node: &Node| -> Option<Place> {
        let place = previous.nodes.get(&node.key)?;
        let lane = previous.lanes.iter().find(|lane| lane.group == node.group)?;
        let size = (place.area.width, place.area.height);
        (lane.area.meets(&place.area) && size == (node.width, node.height)).then_some(*place)
    };
    let kept: Vec<Option<Place>> = graph.nodes.iter().map(stays).collect();
    let count = kept.iter().flatten().count();
    if count * 2 < graph.nodes.len() {
        return None;
    }
    let is_used = |lane: &&Lane| graph.nodes.iter().any(|node| node.group == lane.group);
    let mut drawing = Drawing {
        lanes: previous.lanes.iter().filter(is_used).cloned().collect(),
        places: kept,
        columns: previous.columns.clone(),
        width: previous.width,
        height: previous.height,
    };
    for node in 0..graph.nodes.len() {
        if drawing.places[node].is_none() {
            drawing.add(graph, node)?;
            if drawing.outgrows(previous.made, &graph.nodes[node]) {
                return None;
            }
        }
    }
    Some(drawing.into_layout(graph, previous))
}

struct Drawing {
    lanes: Vec<Lane>,
    places: Vec<Option<Place>>,
    columns: Vec<Column>,
    width: f64,
    height: f64,
}

impl Drawing {
    /// Places a new node; `None` where its lane is too low for it, and has another lane below.
    fn add(&mut self, graph: &Graph, number: usize) -> Option<()> {
        let node = &graph.nodes[number];
        let lane = self.lane(node);
        let first = self.first_rank(graph, number);
        let place = self.free_from(node, lane, first).unwrap_or_else(|| self.widen(node, lane));
        let bottom = place.area.y + place.area.height + gap::LANE;
        let (is_lowest, area) = (self.is_lowest(lane), &mut self.lanes[lane].area);
        if !is_lowest && bottom > area.y + area.height {
            return None;
        }
        area.height = area.height.max(bottom - area.y);
        self.height = self.height.max(area.y + area.height + gap::EDGE);
        self.places[number] = Some(place);
        Some(())
    }

    /// Whether it is much larger than it was made. A column or a lane for the node is allowed beside that, for small drawings.
    fn outgrows(&self, (width, height): (f64, f64), node: &Node) -> bool {
        let column = gap::COLUMN + node.width;
        let lane = gap::BETWEEN + gap::HEAD + node.height + gap::LANE;
        self.width > width * GROWTH + column || self.height > height * GROWTH + lane
    }

    fn is_lowest(&self, lane: usize) -> bool {
        self.lanes.iter().all(|other| other.area.y <= self.lanes[lane].area.y)
    }

    /// The place of the node's lane; a new one goes below the others.
    fn lane(&mut self, node: &Node) -> usize {
        if let Some(lane) = self.lanes.iter().position(|lane| lane.group == node.group) {
            return lane;
        }
        let bottom = |lane: &Lane| lane.area.y + lane.area.height + gap::BETWEEN;
        let top = self.lanes.iter().map(bottom).fold(gap::EDGE, f64::max);
        let area = Area {
            x: gap::EDGE,
            y: top,
            width: self.width - 2.0 * gap::EDGE,
            height: gap::HEAD + node.height + gap::LANE,
        };
        self.lanes.push(Lane { group: node.group.clone(), area });
        self.lanes.len() - 1
    }

    /// The first rank behind all nodes that are in front; without any, the last one that is in front of all behind.
    fn first_rank(&self, graph: &Graph, number: usize) -> usize {
        let rank = |node: usize| self.places[node].map(|place| place.rank);
        let before = graph.edges.iter().filter(|(_, to)| *to == number);
        let after = graph.edges.iter().filter(|(from, _)| *from == number);
        let behind = before.filter_map(|(from, _)| rank(*from)).max().map(|rank| rank + 1);
        behind.unwrap_or_else(|| {
            let next = after.filter_map(|(_, to)| rank(*to)).min();
            next.map_or(0, |rank| rank.saturating_sub(1))
        })
    }

    /// The uppermost free place of a lane in the first rank that has one.
    fn free_from(&self, node: &Node, lane: usize, first: usize) -> Option<Place> {
        let mut found: Option<Place> = None;
        for column in self.columns.iter().filter(|column| column.rank >= first) {
            if found.is_some_and(|found| found.rank < column.rank) {
                break;
            }
            if let Some(area) = self.free(node, lane, column.left)
                && found.is_none_or(|found| area.y < found.area.y)
            {
                found = Some(Place { area, rank: column.rank });
            }
        }
        found
    }

    /// The uppermost free place in a column of a lane. Only the lowest lane has room below.
    fn free(&self, node: &Node, lane: usize, left: f64) -> Option<Area> {
        let area = self.lanes[lane].area;
        let most =
            if self.is_lowest(lane) { f64::INFINITY } else { area.y + area.height - gap::LANE };
        let top = area.y + gap::HEAD;
        let taken: Vec<Area> = self.places.iter().flatten().map(|place| place.area).collect();
        let below = taken.iter().map(|area| area.y + area.height + gap::ROW);
        below
            .filter(|y| *y > top)
            .chain([top])
            .map(|y| Area { x: left, y, width: node.width, height: node.height })
            .filter(|area| {
                let right = area.x + area.width + gap::LANE;
                area.y + area.height <= most
                    && right <= self.width - gap::EDGE
                    && !taken.iter().any(|other| other.meets(area))
            })
            .min_by(|a, b| a.y.total_cmp(&b.y))
    }

    /// A new column at the right of the drawing.
    fn widen(&mut self, node: &Node, lane: usize) -> Place {
        let left = self.width - gap::EDGE - gap::LANE + gap::COLUMN;
        let more = gap::COLUMN + node.width;
        self.width += more;
        for lane in &mut self.lanes {
            lane.area.width += more;
        }
        let y = self.lanes[lane].area.y + gap::HEAD;
        let area = Area { x: left, y, width: node.width, height: node.height };
        let rank = self.columns.last().map_or(0, |column| column.rank + 1);
        self.columns.push(Column { rank, left });
        Place { area, rank }
    }

    fn into_layout(self, graph: &Graph, previous: &Layout) -> Layout {
        let placed = graph.nodes.iter().zip(self.places);
        let mut nodes: BTreeMap<Arc<str>, Place> = BTreeMap::new();
        nodes.extend(placed.filter_map(|(node, place)| Some((node.key.clone(), place?))));
        let mut known: BTreeMap<(&str, &str), &Route> = BTreeMap::new();
        known.extend(previous.edges.iter().map(|route| ((&*route.from, &*route.to), route)));
        let edge = |(from, to): &(usize, usize)| {
            let (from, to) = (&graph.nodes[*from].key, &graph.nodes[*to].key);
            match known.get(&(&**from, &**to)) {
                Some(route)
                    if [from, to].iter().all(|key| nodes.get(*key) == previous.nodes.get(*key)) =>
                {
                    (*route).clone()
                }
                _ => route::straight(from, to, &nodes),
            }
        };
        let edges = graph.edges.iter().map(edge).collect();
        Layout {
            edges,
            nodes,
            lanes: self.lanes,
            columns: self.columns,
            width: self.width,
            height: self.height,
            made: previous.made,
        }
    }
}
