//! The objects of an application or of a run: as a map, as a list, and one of them at length.

pub mod graph;
pub mod node;
pub mod edge;
pub mod camera;
pub mod list;
pub mod shape;
pub mod drawer;
