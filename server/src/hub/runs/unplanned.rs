//! The objects that an open run waits for and that its plan does not know, for a plan of their own.

use teardown::{
    plan::{Choice, Choices, PlanError},
    run::Run,
    unit::{Unit, UnitId},
};

use super::Runs;
use crate::hub::{Refusal, cluster_state::ClusterState};

impl Runs {
    /// The unplanned objects of the run that the choices name, as a unit; `None` if the choices name no run.
    ///
    /// # Errors
    /// [`Refusal::NotReady`] before the first complete lists, [`Refusal::UnknownRun`] if this cluster has no such run,
    /// [`Refusal::Ended`] if it waits for nothing any more, [`PlanError::UnknownChoice`] if it is the run of another unit.
    pub(in crate::hub) fn unplanned(
        &self,
        unit: &UnitId,
        choices: &Choices,
        cluster: &mut ClusterState,
    ) -> Result<Option<Unit>, Refusal> {
        let Some(id) = choices.unplanned() else { return Ok(None) };
        if !cluster.index().is_synced() {
            return Err(Refusal::NotReady);
        }
        let run = &self.get(id, cluster)?.run;
        if run.plan.unit != *unit {
            let choice = Choice::Unplanned(id.clone());
            return Err(Refusal::Unplannable(PlanError::UnknownChoice { choice }));
        }
        if run.state().is_ended() {
            return Err(Refusal::Ended);
        }
        let runs: Vec<&Run> = self.latest_first(cluster);
        let current = cluster.current();
        Ok(Some(run.unplanned_unit(current.index, current.graph, &runs)))
    }
}
