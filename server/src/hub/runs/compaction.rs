//! Shortens the journals of runs that ended some time ago. A run that was refused for days has thousands of events, of which its
//! page needs few.

use jiff::SignedDuration;
use teardown::run::RunId;

use super::{ClusterState, Runs};
use crate::hub::active_run::ActiveRun;

impl Runs {
    /// Shortens the journals of runs this long after their end.
    pub(in crate::hub) fn compact_after(&mut self, after: SignedDuration) {
        self.compact_after = Some(after);
    }

    /// Shortens what is due. One that cannot be shortened, or not be written, stays as it is.
    pub(super) fn compact(&mut self, cluster: &ClusterState) {
        let now = cluster.now();
        let before = self.compact_after.and_then(|after| now.checked_sub(after).ok());
        let Some(before) = before else { return };
        let is_due = |active: &ActiveRun| {
            !active.is_compacted && active.run.ended().is_some_and(|ended| ended < before)
        };
        let due: Vec<RunId> =
            self.by_id.values().filter(|it| is_due(it)).map(|it| it.run.id.clone()).collect();
        for run in due {
            let Some(active) = self.by_id.get_mut(&run) else { continue };
            active.is_compacted = true;
            let Some(entries) = active.compacted(self.writer.journal()) else { continue };
            let (head, length) = (active.head(), entries.len());
            if self.writer.write(now, |journal| journal.replace(&run, &entries)).is_err() {
                return;
            }
            if let Ok(mut shorter) = ActiveRun::replay(self.writer.journal(), &head) {
                shorter.is_compacted = true;
                self.by_id.insert(run.clone(), shorter);
                self.changed = true;
                tracing::info!(run.id = %run, events = length, "shortened the journal of a run");
            }
        }
    }
}
