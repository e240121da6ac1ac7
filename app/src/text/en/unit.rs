//! The texts of a unit's page.

use teardown::message::State;

use super::{many, state};

pub const MAP: &str = "Map";
pub const LIST: &str = "List";
pub const VIEW: &str = "View";
pub const PLAN_TEARDOWN: &str = "Plan teardown…";
pub const PLANNING: &str = "Planning…";
pub const SEARCH_OBJECTS: &str = "Search objects";
pub const ZOOM_IN: &str = "Zoom in";
pub const ZOOM_OUT: &str = "Zoom out";
pub const ZOOM_FIT: &str = "Fit the whole graph";
pub const ZOOM_ONE: &str = "Actual size";
pub const MAP_HINT: &str = "Arrow keys walk along edges, Enter opens, f fits, + and − zoom. The list shows the same objects as a table.";
pub const NO_OBJECTS: &str = "This unit has no objects";
pub const NO_OBJECTS_MEANS: &str = "Everything is gone, or no object carries its name any more.";
pub const COLUMN_OBJECT: &str = "Object";
pub const COLUMN_STATE: &str = "State";
pub const COLUMN_WAVE: &str = "Step";
pub const COLUMN_SINCE: &str = "Since";
pub const COLUMN_STANDING: &str = "Notes";
pub const LANE_CLUSTER: &str = "Cluster-wide";
pub const LANE_OUTSIDE: &str = "Outside this unit";
pub const OUTSIDE: &str =
    "Not part of this unit; shown because something in it refers to this object";
pub const GRAPH_LABEL: &str = "Dependency graph";

/// A lane's heading.
pub fn namespace(name: &str) -> String {
    format!("Namespace {name}")
}

/// The rest of a long list.
pub fn show_all(hidden: usize) -> String {
    format!("Show {hidden} more")
}

/// Said under the graph, so that the number of objects can be compared with the head of the page.
pub fn drawn(objects: usize, outside: usize, edges: usize) -> String {
    let outside =
        if outside == 0 { String::new() } else { format!(" · {outside} outside this unit") };
    format!("{}{outside} · {}", super::objects(objects), many(edges, "edge", "edges"))
}

/// A node, for a screen reader.
pub fn node_label(seen: &str, of: State, path: &str, before: usize, after: usize) -> String {
    format!("{seen} {}: {path}, {before} before it, {after} after it", state(of))
}
