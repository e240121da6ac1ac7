//! What a teardown means, as plain functions: no input or output, no clock, no random source. The server decides with
//! it, the browser folds and draws with it, and both agree because it is the same code.
//!
//! Reading order: [`object`] is what is known of one object, [`interner`] lets objects share what they have in common,
//! [`index`] keeps up with the cluster, [`relation`] finds the
//! edges between two objects, [`graph`] holds them all, [`mod@unit`] says what belongs together, [`plan`] orders
//! it, [`run`] performs the plan one decision at a time, [`message`] is what a browser is told.
#![warn(missing_docs)]

pub mod labels;
pub mod selector;
pub mod object;
pub mod interner;
pub mod demo;
pub mod api_problem;
pub mod observation;
pub mod state;
pub mod unknown_reason;
pub mod index;
pub mod relation;
pub mod graph;
pub mod unit;
pub mod deadlines;
pub mod plan;
pub mod action;
pub mod run;
pub mod message;
pub mod view;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
