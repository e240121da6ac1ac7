//! Plans and runs teardowns with pure functions: no input or output, no clock, no random source. The server decides
//! with this crate, and the browser applies deltas and draws with it, so both follow the same rules.
//!
//! Reading order: [`object`] has the known fields of one object, [`interner`] shares values between objects, [`index`]
//! tracks the state of the cluster, [`relation`] finds the edges between two objects, [`graph`] has all edges,
//! [`mod@unit`] groups objects into applications, [`plan`] orders the deletion of a unit, [`mod@preflight`] says what would
//! refuse or hold it, [`run`] executes a plan one decision at a time, [`diagnosis`] says why a deletion waits, [`mod@wanted`] what
//! the cluster is asked for to confirm it, [`remedy`] has the ways out of it, [`message`] has the messages to the browser, and [`tally`] the counts for monitoring.
#![warn(missing_docs)]

pub mod millis;
pub mod labels;
pub mod selector;
pub mod object;
mod bookmark;
mod declaration;
pub mod interner;
pub mod demo;
pub mod right;
pub mod api_problem;
mod refusal;
pub mod observation;
pub mod state;
pub mod unknown_reason;
pub mod proof;
pub mod fetched;
pub mod index;
pub mod relation;
pub mod graph;
pub mod unit;
mod run_id;
pub mod deadlines;
pub mod diagnosis;
pub mod wanted;
pub mod derived;
mod suspension;
pub mod remedy;
pub mod incident;
pub mod plan;
pub mod action;
pub mod preflight;
pub mod advice;
pub mod run;
pub mod message;
pub mod fold;
pub mod world;
pub mod tally;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
