//! The preflights that people have asked for: the last one of each plan, and the channel by which their questions reach the
//! cluster.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use teardown::{
    plan::{Plan, PlanId},
    preflight::{Answer, CheckState, Preflight, PreflightView, QuestionId, Unasked, preflight},
};
use tokio::sync::mpsc;

use super::{PreflightRequest, Refusal, cluster_state::ClusterState};

/// The most preflights kept for reading.
const PREFLIGHTS: usize = 64;

/// The last preflight of each plan.
#[derive(Default)]
pub(super) struct Preflights {
    by_plan: HashMap<PlanId, (u64, Preflight)>,
    by_age: VecDeque<PlanId>,
    /// The channel to the cluster; without one, only the index is asked.
    requests: Option<mpsc::Sender<PreflightRequest>>,
    /// Whether the cluster is asked what [`ClusterState::wanted`] says.
    is_watching: bool,
    /// The number of preflights so far. An answer that belongs to an earlier one of the same plan is dropped.
    attempts: u64,
}

impl Preflights {
    /// Sends the questions to this channel from now on.
    pub(super) fn ask(&mut self, requests: mpsc::Sender<PreflightRequest>) {
        self.requests = Some(requests);
    }

    /// The cluster is asked for leases from now on.
    pub(super) fn watch(&mut self) {
        self.is_watching = true;
    }

    /// Starts a preflight of a plan, unless one is running.
    pub(super) fn start(
        &mut self,
        plan: &Plan,
        cluster: &mut ClusterState,
    ) -> Result<PreflightView, Refusal> {
        let known = self.read(&plan.id, cluster);
        if known.state == CheckState::Running {
            return Ok(known);
        }
        if !cluster.index().is_synced() {
            return Err(Refusal::NotReady);
        }
        let current = cluster.current();
        let now = current.now;
        let mut started = preflight(plan, current.index, current.graph, current.diagnoses, now);
        cluster.note_checked();
        if !self.is_watching {
            started.leave_manager();
        }
        self.attempts += 1;
        if started.is_asking() {
            let questions = started.questions().to_vec();
            let request =
                PreflightRequest { plan: plan.id.clone(), attempt: self.attempts, questions };
            let is_sent = self.requests.as_ref().is_some_and(|it| it.try_send(request).is_ok());
            if !is_sent {
                started.end(Some(Unasked::Busy), now);
            }
        }
        let view = started.view();
        self.keep(plan.id.clone(), started);
        Ok(view)
    }

    fn keep(&mut self, plan: PlanId, started: Preflight) {
        if self.by_plan.insert(plan.clone(), (self.attempts, started)).is_none() {
            self.by_age.push_back(plan);
        }
        if self.by_age.len() > PREFLIGHTS
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.by_plan.remove(&oldest);
        }
    }

    /// The last preflight of a plan, as it is shown.
    pub(super) fn read(&mut self, plan: &PlanId, cluster: &mut ClusterState) -> PreflightView {
        let Some((_, preflight)) = self.by_plan.get_mut(plan) else {
            return PreflightView::default();
        };
        preflight.look_at_manager(cluster.index(), cluster.now());
        if preflight.is_running() {
            cluster.note_checked();
        }
        preflight.view()
    }

    /// Takes an answer of the API server.
    pub(super) fn answer(
        &mut self,
        plan: &PlanId,
        attempt: u64,
        question: QuestionId,
        answer: Answer,
        now: Timestamp,
    ) {
        if let Some(preflight) = self.running(plan, attempt) {
            preflight.answer(question, answer, now);
        }
    }

    /// No more answers come.
    pub(super) fn end(
        &mut self,
        plan: &PlanId,
        attempt: u64,
        why: Option<Unasked>,
        now: Timestamp,
    ) {
        if let Some(preflight) = self.running(plan, attempt) {
            preflight.end(why, now);
        }
    }

    fn running(&mut self, plan: &PlanId, attempt: u64) -> Option<&mut Preflight> {
        let (of, preflight) = self.by_plan.get_mut(plan)?;
        (*of == attempt).then_some(preflight)
    }
}
