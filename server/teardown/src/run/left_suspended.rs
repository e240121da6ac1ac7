//! The parents that a stopped run leaves suspended, as they are now.
//!
//! # Decisions
//! - Only a run that a person stopped offers to put them back. Where a run finished, a parent stays suspended because something
//!   of it stays, and active again it would make anew what went.
//! - A parent that somebody made active meanwhile, or made again under its name, is left alone.

use serde::{Deserialize, Serialize};

use super::{Progress, Run, RunState};
use crate::{
    index::{Index, Presence},
    object::Facts,
    plan::Step,
};

/// A parent that a stopped run suspended, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftSuspended {
    /// It is as the run left it.
    Suspended,
    /// Somebody made it active again.
    Active,
    /// It is being deleted.
    Going,
    /// It is gone, or another object has its name.
    Gone,
    /// Its kind is hidden.
    Unknown,
}

impl Run {
    /// A parent that this run suspended and left so when a person stopped it; `None` for any other step.
    pub fn left_suspended(
        &self,
        step: &Step,
        progress: &Progress,
        index: &Index,
    ) -> Option<LeftSuspended> {
        progress.suspension.as_ref()?;
        if self.state != RunState::Stopped || progress.has_left() {
            return None;
        }
        let namespace = step.object.namespace.as_deref();
        Some(match index.presence(&step.kind, namespace, &step.uid) {
            Presence::Gone => LeftSuspended::Gone,
            Presence::Unknown(_) => LeftSuspended::Unknown,
            Presence::Present(object) if object.deletion.is_some() => LeftSuspended::Going,
            Presence::Present(object) => match &object.facts {
                Facts::Parent(parent) if parent.active.is_some() => LeftSuspended::Active,
                _ => LeftSuspended::Suspended,
            },
        })
    }
}
