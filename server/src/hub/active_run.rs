//! A run with its position in the journal.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use teardown::{
    action::Action,
    index::Index,
    plan::Plan,
    run::{Run, RunEvent, RunId},
};
use tokio_util::sync::CancellationToken;

use super::{CallRequest, HubError};
use crate::journal::{ClusterId, Journal, JournalError, RunHead};

/// One event as the journal stores it.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    at: Timestamp,
    event: RunEvent,
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
        journal.put_plan(&plan)?;
        let event = RunEvent::Started { by: by.to_owned() };
        let head = RunHead {
            run: id.clone(),
            plan: plan.id.clone(),
            started: now,
            cluster: cluster.clone(),
        };
        journal.begin(&head, &[Entry { at: now, event: event.clone() }])?;
        let mut run = Run::new(id, plan);
        run.apply(now, &event).unwrap_or_default();
        let recall = CancellationToken::new();
        Ok(Self { run, is_recovering: false, cluster, recall, journaled: 1 })
    }

    /// Restores the run from the journal.
    pub(super) fn replay(journal: &Journal, head: &RunHead) -> Result<Self, HubError> {
        let damaged = || HubError::Damaged(head.run.clone());
        let plan = journal.plan(&head.plan)?.ok_or_else(damaged)?;
        let entries: Vec<Entry> = journal.replay(&head.run)?;
        let mut run = Run::new(head.run.clone(), Arc::new(plan));
        for entry in &entries {
            run.apply(entry.at, &entry.event).map_err(|_| damaged())?;
        }
        let is_recovering = !run.state().is_ended();
        let cluster = head.cluster.clone();
        let recall = CancellationToken::new();
        Ok(Self { run, is_recovering, cluster, recall, journaled: entries.len() as u64 })
    }

    /// Whether the run may be reconciled: only on its own cluster, only before its end, and after a restart only once
    /// every visible kind has been listed.
    pub(super) fn is_active(&self, index: &Index, cluster: &ClusterId) -> bool {
        let is_ready = !self.is_recovering || index.is_synced() && self.cluster.is(cluster);
        !self.run.state().is_ended() && is_ready
    }

    /// The request for an action of the run.
    pub(super) fn call(&self, action: Action) -> CallRequest {
        CallRequest { run: self.run.id.clone(), action, recall: self.recall.clone() }
    }

    /// Writes events to the journal, and then applies them.
    pub(super) fn record(
        &mut self,
        journal: &mut Journal,
        now: Timestamp,
        events: Vec<RunEvent>,
    ) -> Result<(), HubError> {
        let entries: Vec<Entry> =
            events.into_iter().map(|event| Entry { at: now, event }).collect();
        journal.append(&self.run.id, self.journaled, &entries)?;
        self.journaled += entries.len() as u64;
        for entry in &entries {
            if matches!(entry.event, RunEvent::Paused { .. } | RunEvent::Stopping { .. }) {
                std::mem::take(&mut self.recall).cancel();
            }
            self.is_recovering &= entry.event != RunEvent::Recovered;
            self.run
                .apply(entry.at, &entry.event)
                .map_err(|_| HubError::Damaged(self.run.id.clone()))?;
        }
        Ok(())
    }
}
