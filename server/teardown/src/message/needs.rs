//! The rights that topics and records need. Those of routes stand in the server's table of routes.
//!
//! # Decisions
//! - A message is made once for all readers of a topic, so a topic carries no record that needs more than the topic does.

use super::{Record, Topic};
use crate::right::Right;

impl Topic {
    /// The right that a stream of this topic needs, and every route that reads it.
    pub fn needs(&self) -> Right {
        match self {
            Self::Units | Self::Unit(_) | Self::Run(_) | Self::Trouble => Right::Look,
        }
    }

    /// Whether the readers of this topic may see the record.
    pub fn may_carry(&self, record: &Record) -> bool {
        record.needs() <= self.needs()
    }
}

impl Record {
    /// The right that a reader of this record needs.
    pub fn needs(&self) -> Right {
        match self {
            Self::Cluster(_)
            | Self::Unit(_)
            | Self::Run(_)
            | Self::Object(_)
            | Self::Edge(_)
            | Self::HiddenKind(_)
            | Self::Step(_)
            | Self::Event(_)
            | Self::Diagnosis(_) => Right::Look,
        }
    }
}
