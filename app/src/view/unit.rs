//! An application: as a row of the table, and the head of its own page.

pub mod row;
pub mod head;
