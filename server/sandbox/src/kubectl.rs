//! Exchange of objects with kubectl.

pub mod export;
