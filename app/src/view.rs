//! One file per thing seen, in a folder for each part of the page. The pieces that every part is made of stand here. A view takes
//! values and signals and returns what is seen; it asks the network for nothing.

pub mod frame;
pub mod unit;
pub mod map;
pub mod plan;
pub mod run;
pub mod diagnosis;
pub mod control;
pub mod banner;
pub mod empty;
pub mod icon;
pub mod moment;
pub mod node_health;
pub mod object_name;
pub mod rows;
pub mod state_badge;
pub mod state_bar;
