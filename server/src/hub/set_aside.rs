//! Runs of the journal that cannot be read. Such a run is never performed. If its end is not recorded, a call of it may have
//! had its effect, so nobody may plan with its objects until a person has looked at them and releases it.
//!
//! # Decisions
//! - Other runs go on, and the process starts: whoever has to repair something needs the page.
//! - The objects are those of the stored plan. Without it they could be any of the cluster, and if the head is lost too, of
//!   any cluster.
//! - Nothing of the run is removed from the journal. A release is a record beside it.
//! - A journal that cannot be read at all counts as one such run, with the name of its file. The release is in the journal that took
//!   its place.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use teardown::{
    plan::{Plan, PlanId},
    run::RunId,
};

use super::{
    Refusal,
    active_run::{ActiveRun, UnreadableRun},
    cluster_state::ClusterState,
    journal_status::{Blocks, SetAside},
    writer::{Writer, chain},
};
use crate::journal::{ClusterId, Journal, JournalError, Release, RunHead};

/// A run that cannot be read, with what is known of it.
struct Unreadable {
    why: String,
    found: Timestamp,
    head: Option<RunHead>,
    plan: Option<Arc<Plan>>,
    is_ended: bool,
    released: Option<Release>,
}

/// All runs that cannot be read, also those of other clusters.
#[derive(Default)]
pub(super) struct UnreadableRuns(BTreeMap<RunId, Unreadable>);

impl UnreadableRuns {
    /// Keeps a run that cannot be read for this reason.
    pub(super) fn add(
        &mut self,
        journal: &Journal,
        run: RunId,
        head: Option<RunHead>,
        error: &UnreadableRun,
        found: Timestamp,
    ) {
        let why = chain(error);
        tracing::error!(run = %run, error = why, "a run cannot be read, and is set aside");
        let plan = head.as_ref().and_then(|head| journal.plan(&head.plan).ok()?);
        let is_ended = ActiveRun::has_recorded_end(journal, &run);
        let plan = plan.map(Arc::new);
        self.0.insert(run, Unreadable { why, found, head, plan, is_ended, released: None });
    }

    /// Reads which of them persons have released.
    pub(super) fn read_releases(&mut self, journal: &Journal) -> Result<(), JournalError> {
        if self.0.is_empty() {
            return Ok(());
        }
        for (run, release) in journal.releases()? {
            if let (Some(unreadable), Ok(release)) = (self.0.get_mut(&RunId::new(run)), release) {
                unreadable.released = Some(release);
            }
        }
        Ok(())
    }

    /// Whether one of them has this plan.
    pub(super) fn has_plan(&self, plan: &PlanId) -> bool {
        self.0.values().any(|it| it.head.as_ref().is_some_and(|head| head.plan == *plan))
    }

    /// The number of those in this cluster, as far as that is known, that nobody has released.
    pub(super) fn unreleased(&self, cluster: &ClusterId) -> usize {
        self.0.values().filter(|it| it.released.is_none() && it.may_be_of(cluster)).count()
    }

    /// Refuses a plan with an object that a run in this cluster may have worked on.
    pub(super) fn check(&self, plan: &Plan, cluster: &ClusterState) -> Result<(), Refusal> {
        let (id, ours) = (cluster.id(), plan.objects());
        let open = self.0.iter().filter(|(_, it)| !it.is_ended && it.released.is_none());
        for (run, unreadable) in open.filter(|(_, it)| it.may_be_of(&id)) {
            let refuse = |object| Err(Refusal::SetAside { run: run.clone(), object });
            let Some(theirs) = &unreadable.plan else { return refuse(None) };
            let mut theirs = theirs.steps.iter();
            let shared = theirs.find(|step| ours.contains(&step.uid));
            if let Some(step) = shared {
                return refuse(Some(step.object.clone()));
            }
        }
        Ok(())
    }

    /// Releases a run. A second release changes nothing.
    pub(super) fn release(
        &mut self,
        run: &RunId,
        by: String,
        now: Timestamp,
        writer: &mut Writer,
    ) -> Result<(), Refusal> {
        let known = self.0.get_mut(run);
        let unreadable = known.ok_or_else(|| Refusal::UnknownRun(run.clone()))?;
        if unreadable.released.is_none() {
            let release = Release { by, at: now };
            let written = writer.write(now, |journal| journal.put_release(run, &release));
            written.map_err(|failing| Refusal::Journal(failing.why))?;
            unreadable.released = Some(release);
        }
        Ok(())
    }

    /// All of them, as a person reads them.
    pub(super) fn list(&self) -> Vec<SetAside> {
        self.0.iter().map(|(run, unreadable)| unreadable.shown(run)).collect()
    }
}

impl Unreadable {
    fn may_be_of(&self, cluster: &ClusterId) -> bool {
        self.head.as_ref().is_none_or(|head| head.cluster.is(cluster))
    }

    fn shown(&self, run: &RunId) -> SetAside {
        let blocks = match &self.plan {
            _ if self.is_ended => Blocks::Nothing,
            Some(plan) => Blocks::Objects {
                unit: plan.unit.clone(),
                objects: plan.steps.iter().map(|step| step.object.clone()).collect(),
            },
            None => Blocks::Cluster,
        };
        let cluster = self.head.as_ref().map(|head| &head.cluster);
        SetAside {
            run: run.clone(),
            why: self.why.clone(),
            found: self.found,
            started: self.head.as_ref().map(|head| head.started),
            cluster: cluster.map(|it| it.context.clone().unwrap_or_else(|| it.cluster.clone())),
            blocks,
            released: self.released.clone(),
        }
    }
}
