//! A run with its position in the journal.

use std::{cmp::Reverse, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use teardown::{
    action::Action,
    index::Index,
    plan::{Plan, PlanId},
    run::{ReplayError, Run, RunEvent, RunId, compact},
};
use tokio_util::sync::CancellationToken;

use super::{CallRequest, HubError};
use crate::journal::{Batch, ClusterId, Journal, JournalError, RunHead};

/// One event as the journal stores it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    at: Timestamp,
    event: RunEvent,
}

/// The reasons why a run cannot be restored.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnreadableRun {
    /// Its records cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its plan is missing.
    #[error("its plan {0} is missing")]
    NoPlan(PlanId),
    /// Its events do not fit its plan, or do not fit each other.
    #[error("its records do not fit together: {0}")]
    Unfit(#[from] ReplayError),
    /// It stands for all runs of a journal that cannot be read at all.
    #[error(
        "the whole journal is damaged, and its file is kept under this name beside the new one; its runs are not known. Once nobody \
         needs the file, remove it"
    )]
    WholeJournal,
    /// It can be read again, and a person has released it meanwhile.
    #[error("it was released while it could not be read")]
    Released,
}

impl UnreadableRun {
    /// The error of a disk that fails: nothing is known of the run's records. A damaged page is no such error: it belongs to
    /// this run, and others may be whole.
    pub(super) fn of_disk(self) -> Result<JournalError, Self> {
        match self {
            Self::Journal(JournalError::Store(error)) if !error.is_damage() => Ok(error.into()),
            other => Err(other),
        }
    }
}

/// A run, and the number of its events in the journal.
pub(super) struct ActiveRun {
    pub(super) run: Run,
    /// Whether it was open when the server started and has not continued yet.
    pub(super) is_recovering: bool,
    /// The cluster of the run; on another cluster it is not shown, steered or executed.
    pub(super) cluster: ClusterId,
    /// Recalls queued calls when the run is paused or stopped. A new token follows for later calls.
    recall: CancellationToken,
    journaled: u64,
    /// Whether this process has tried to shorten its journal.
    pub(super) is_compacted: bool,
}

impl ActiveRun {
    /// Begins a run: it exists only once the journal has it.
    pub(super) fn begin(
        journal: &mut Journal,
        id: RunId,
        plan: Arc<Plan>,
        by: &str,
        cluster: ClusterId,
        now: Timestamp,
    ) -> Result<Self, JournalError> {
        let event = RunEvent::Started { by: by.to_owned() };
        let head = RunHead {
            run: id.clone(),
            plan: plan.id.clone(),
            started: now,
            cluster: cluster.clone(),
        };
        journal.begin(&head, &plan, &[Entry { at: now, event: event.clone() }])?;
        let mut run = Run::new(id, plan);
        #[expect(clippy::expect_used, reason = "its first event can follow in every new run")]
        run.apply(now, &event).expect("a new run can start");
        let recall = CancellationToken::new();
        Ok(Self { run, is_recovering: false, cluster, recall, journaled: 1, is_compacted: false })
    }

    /// Restores the run from the journal.
    pub(super) fn replay(journal: &Journal, head: &RunHead) -> Result<Self, UnreadableRun> {
        let plan = journal.plan(&head.plan)?;
        let plan = plan.ok_or_else(|| UnreadableRun::NoPlan(head.plan.clone()))?;
        let entries: Vec<Entry> = journal.replay(&head.run)?;
        let mut run = Run::new(head.run.clone(), Arc::new(plan));
        for entry in &entries {
            run.apply(entry.at, &entry.event)?;
        }
        let is_recovering = !run.state().is_ended();
        let cluster = head.cluster.clone();
        let recall = CancellationToken::new();
        let journaled = entries.len() as u64;
        Ok(Self { run, is_recovering, cluster, recall, journaled, is_compacted: false })
    }

    /// The shorter journal of the run, if it has ended and there is one.
    pub(super) fn compacted(&self, journal: &Journal) -> Option<Vec<Entry>> {
        let entries: Vec<Entry> = journal.replay(&self.run.id).ok()?;
        let recorded: Vec<_> = entries.into_iter().map(|it| (it.at, it.event)).collect();
        let shorter = compact(&self.run.id, &self.run.plan, &recorded)?;
        Some(shorter.into_iter().map(|(at, event)| Entry { at, event }).collect())
    }

    /// Whether the last record of a run is its end. It can be, although the run cannot be restored.
    pub(super) fn has_recorded_end(journal: &Journal, run: &RunId) -> bool {
        let last: Option<Entry> = journal.last(run);
        last.is_some_and(|last| matches!(last.event, RunEvent::Finished | RunEvent::Stopped))
    }

    /// The run as the journal has it, if that differs from this one.
    pub(super) fn changed_in(&self, journal: &Journal) -> Result<Option<Self>, UnreadableRun> {
        if journal.count(&self.run.id)? == self.journaled {
            return Ok(None);
        }
        let head = self.head();
        Self::replay(journal, &head).map(Some)
    }

    /// The fields of the run that are known from its start.
    pub(super) fn head(&self) -> RunHead {
        RunHead {
            run: self.run.id.clone(),
            plan: self.run.plan.id.clone(),
            started: self.run.started(),
            cluster: self.cluster.clone(),
        }
    }

    /// Whether the run may be reconciled: only on its own cluster, only before its end, and after a restart only once
    /// every visible kind has been listed.
    pub(super) fn is_active(&self, index: &Index, cluster: &ClusterId) -> bool {
        let is_ready = !self.is_recovering || index.is_synced() && self.cluster.is(cluster);
        !self.run.state().is_ended() && is_ready
    }

    /// The requests for actions of the run, the one with the most steps behind it first.
    pub(super) fn calls(&self, actions: Vec<Action>) -> Vec<CallRequest> {
        let mut calls: Vec<_> = actions.into_iter().map(|action| self.call(action)).collect();
        calls.sort_by_key(|call| Reverse(call.steps_behind));
        calls
    }

    fn call(&self, action: Action) -> CallRequest {
        let steps_behind = action.step().map_or(0, |step| self.run.steps_behind(step));
        CallRequest { run: self.run.id.clone(), action, steps_behind, recall: self.recall.clone() }
    }

    /// Recalls the calls that are queued: another value takes the run's place.
    pub(super) fn recall_calls(&self) {
        self.recall.cancel();
    }

    /// Events as the journal stores them.
    pub(super) fn entries(now: Timestamp, events: Vec<RunEvent>) -> Vec<Entry> {
        events.into_iter().map(|event| Entry { at: now, event }).collect()
    }

    /// The write that adds these entries to the run.
    pub(super) fn batch<'a>(&'a self, entries: &'a [Entry]) -> Batch<'a, Entry> {
        Batch { run: &self.run.id, first: self.journaled, events: entries }
    }

    /// Applies entries that the journal has.
    pub(super) fn apply(&mut self, entries: &[Entry]) -> Result<(), HubError> {
        self.journaled += entries.len() as u64;
        for entry in entries {
            if matches!(entry.event, RunEvent::Paused { .. } | RunEvent::Stopping { .. }) {
                std::mem::take(&mut self.recall).cancel();
            }
            self.is_recovering &= entry.event != RunEvent::Recovered;
            self.run
                .apply(entry.at, &entry.event)
                .map_err(|error| HubError::Damaged(self.run.id.clone(), error))?;
        }
        Ok(())
    }
}
