//! The buttons, questions and fields of every part of the page.

pub mod guard;
pub mod ask;
pub mod typed;
pub mod search;
