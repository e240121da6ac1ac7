//! Makes the parents active again that a stopped run left suspended.
//!
//! # Decisions
//! - It takes the right to act, not the right to remedies: whoever may start and stop a run may take back what it switched off.
//! - Each parent is an attempt of its own, with its record in the journal before its request leaves. One that somebody changed
//!   meanwhile is left alone.

use teardown::run::{LeftSuspended, RunId, RunState};

use super::{Answered, Refusal, Runs};
use crate::{chance::Chance, hub::cluster_state::ClusterState};

impl Runs {
    /// Begins to put back every parent that the run left suspended and that is still so. Returns the ids of the attempts.
    pub(in crate::hub) fn put_back(
        &mut self,
        run: &RunId,
        by: &str,
        cluster: &ClusterState,
        chance: &Chance,
    ) -> Answered<Vec<String>> {
        let run = match self.get(run, cluster) {
            Ok(active) if active.run.state() == RunState::Stopped => &active.run,
            Ok(_) => return Ok(Err(Refusal::NotStopped)),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let is_off = |it: Option<LeftSuspended>| it == Some(LeftSuspended::Suspended);
        let off: Vec<_> = run
            .steps()
            .filter(|(step, progress)| is_off(run.left_suspended(step, progress, cluster.index())))
            .map(|(step, _)| step.uid.clone())
            .collect();
        let attempts: Vec<String> = run
            .suspensions()
            .filter(|it| it.request.uid.as_ref().is_some_and(|uid| off.contains(uid)))
            .map(|it| it.id)
            .collect();
        let (mut begun, mut refused) = (vec![], Refusal::NothingToUndo);
        for attempt in attempts {
            let by = by.to_owned();
            match self.attempts.put_back(&attempt, by, cluster, &mut self.writer, chance)? {
                Ok(id) => begun.push(id),
                Err(refusal) => refused = refusal,
            }
        }
        Ok(if begun.is_empty() { Err(refused) } else { Ok(begun) })
    }
}
