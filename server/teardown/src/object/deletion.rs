//! The deletion of an object, and the programs that hold it.

use std::{ops::Deref, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// `metadata.deletionTimestamp` and its grace period: set once, never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// `metadata.deletionTimestamp`. For a Pod this is the time at which its grace period *ends*.
    #[serde(with = "crate::millis::required")]
    pub at: Timestamp,
    /// `metadata.deletionGracePeriodSeconds`, in seconds.
    pub grace: i64,
}

impl Deletion {
    /// The time when the DELETE was accepted: the timestamp minus the grace period that was added to it.
    pub fn accepted(&self) -> Timestamp {
        let grace = jiff::SignedDuration::from_secs(self.grace.clamp(0, 31_536_000));
        self.at.checked_sub(grace).unwrap_or(self.at)
    }
}

/// The deletion of an object with the field managers of its finalizers, which is kept of an object while it is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The deletion.
    pub deletion: Deletion,
    /// The entries of `metadata.managedFields` that have finalizers.
    pub managers: Box<[FinalizerManager]>,
}

impl From<Deletion> for Held {
    fn from(deletion: Deletion) -> Self {
        Self { deletion, managers: [].into() }
    }
}

impl Deref for Held {
    type Target = Deletion;

    fn deref(&self) -> &Deletion {
        &self.deletion
    }
}

/// An entry of `metadata.managedFields` that has a finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizerManager {
    /// The finalizer.
    pub finalizer: Arc<str>,
    /// The field manager: the name that a program gives itself, or the first part of its user agent.
    pub manager: Arc<str>,
    /// The time at which it last changed one of its fields.
    pub at: Option<Seconds>,
}
