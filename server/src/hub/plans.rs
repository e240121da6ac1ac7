//! The plans that people have asked for.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use app::text;
use teardown::{
    plan::{self, Choices, Plan, PlanError, PlanId},
    unit::{Unit, UnitId},
};

use super::{Refusal, cluster_state::ClusterState};

/// The most plans kept for reading; the journal keeps those of runs as well.
const PLANS: usize = 256;

/// The last plans that were made.
#[derive(Default)]
pub(super) struct Plans {
    by_id: HashMap<PlanId, Arc<Plan>>,
    by_age: VecDeque<PlanId>,
}

impl Plans {
    /// Makes a plan of a unit in its current state, or of the unplanned objects of one of its runs, and keeps it.
    pub(super) fn make(
        &mut self,
        unit: &UnitId,
        choices: &Choices,
        unplanned: Option<&Unit>,
        cluster: &mut ClusterState,
    ) -> Result<Arc<Plan>, Refusal> {
        if cluster.index().is_synced() {
            let current = cluster.current();
            if let Some(unit) = unplanned.or_else(|| current.units.get(unit)) {
                let unknown = |choice| Refusal::Unplannable(PlanError::UnknownChoice { choice });
                choices.check(unit, current.index).map_err(unknown)?;
            }
        }
        let mut plan = plan_of(unit, choices, unplanned, cluster)?;
        plan.losses = plan.waived.iter().map(text::goes_waived).collect();
        let plan = Arc::new(plan);
        self.keep(&plan);
        Ok(plan)
    }

    fn keep(&mut self, plan: &Arc<Plan>) {
        if self.by_id.insert(plan.id.clone(), plan.clone()).is_none() {
            self.by_age.push_back(plan.id.clone());
        }
        if self.by_age.len() > PLANS
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    pub(super) fn get(&self, id: &PlanId) -> Option<&Arc<Plan>> {
        self.by_id.get(id)
    }
}

/// A plan of a unit in its current state, or of the unplanned objects of one of its runs.
pub(super) fn plan_of(
    unit: &UnitId,
    choices: &Choices,
    unplanned: Option<&Unit>,
    cluster: &mut ClusterState,
) -> Result<Plan, Refusal> {
    if !cluster.index().is_synced() {
        return Err(Refusal::NotReady);
    }
    let current = cluster.current();
    let unit = unplanned
        .or_else(|| current.units.get(unit))
        .ok_or_else(|| Refusal::UnknownUnit(unit.clone()))?;
    plan::plan(current.index, current.graph, unit, choices, current.now)
        .map_err(Refusal::Unplannable)
}
