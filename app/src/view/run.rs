//! A run: where it stands, its steps, what needs attention, what happened, and what a person can tell it.

pub mod row;
pub mod head;
pub mod left_suspended;
pub mod current;
pub mod attention;
pub mod steps;
pub mod event_log;
pub mod stop;
pub mod skip;
pub mod take_on;
