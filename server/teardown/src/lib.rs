//! What a teardown means, as plain functions: no input or output, no clock, no random source. The server decides with
//! it, the browser folds and draws with it, and both agree because it is the same code.
//!
//! Reading order: [`object`] is what is known of one object, [`relation`] finds the edges between two of them,
//! [`graph`] holds them all, [`index`] keeps up with the cluster, [`unit`] says what belongs together, [`plan`] orders
//! it, [`run`] performs the plan one decision at a time, [`message`] is what a browser is told.
#![warn(missing_docs)]

pub mod action;
pub mod graph;
pub mod index;
pub mod message;
pub mod object;
pub mod observation;
pub mod patience;
pub mod plan;
pub mod relation;
pub mod run;
pub mod selector;
pub mod unit;
pub mod view;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
