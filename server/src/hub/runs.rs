//! The runs: their start, a person's commands to them, and everything that they decide by themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use teardown::{
    action::Outcome,
    api_problem::ProblemCode,
    plan::{Plan, PlanError, PlanId, StepId, differences},
    run::{CommandError, Input, Run, RunCommand, RunId},
};
use tokio::sync::mpsc::{self, error::TrySendError};

use super::{
    CallRequest, HubError, Refusal, Start, TakenOn, active_run::ActiveRun, attempts::Attempts,
    cluster_state::ClusterState, plans::plan_of,
};
use crate::{chance::Chance, journal::Journal};

/// The most decisions of a run in one reconciliation. More would mean that the run never settles.
const MAX_DECISIONS: usize = 10_000;

/// All runs of the journal, also those of other clusters.
pub(super) struct Runs {
    by_id: BTreeMap<RunId, ActiveRun>,
    /// The remedies, which are in the same journal.
    attempts: Attempts,
    journal: Journal,
    calls: mpsc::Sender<CallRequest>,
    changed: bool,
    journal_failures: u64,
}

impl Runs {
    /// Restores the runs from the journal.
    pub(super) fn open(
        mut journal: Journal,
        calls: mpsc::Sender<CallRequest>,
    ) -> Result<Self, HubError> {
        let mut attempts = Attempts::open(&mut journal, Timestamp::now())?;
        let mut by_id = BTreeMap::new();
        for head in journal.runs()? {
            let active = ActiveRun::replay(&journal, &head)?;
            attempts.follow(&active.run, &active.cluster);
            by_id.insert(head.run, active);
        }
        Ok(Self { by_id, attempts, journal, calls, changed: false, journal_failures: 0 })
    }

    /// Whether a run has changed since this was last asked.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed) | self.attempts.take_changed()
    }

    /// The remedies that persons had done.
    pub(super) fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// The remedies, to be changed, and the journal that they are kept in.
    pub(super) fn attempts_mut(&mut self) -> (&mut Attempts, &mut Journal) {
        (&mut self.attempts, &mut self.journal)
    }

    /// The number of runs that did not start because the journal could not be written. A failure later in a run ends the
    /// process.
    pub(super) fn journal_failures(&self) -> u64 {
        self.journal_failures
    }

    /// The run with this id, if it belongs to this cluster.
    pub(super) fn get(&self, id: &RunId, cluster: &ClusterState) -> Result<&ActiveRun, Refusal> {
        match self.by_id.get(id) {
            Some(active) if active.cluster.is(&cluster.id()) => Ok(active),
            // The UID that identifies the cluster has not been read yet.
            Some(_) if !cluster.index().is_synced() => Err(Refusal::NotReady),
            _ => Err(Refusal::UnknownRun(id.clone())),
        }
    }

    /// The runs of this cluster, latest first.
    pub(super) fn latest_first(&self, cluster: &ClusterState) -> Vec<&Run> {
        let cluster = cluster.id();
        let ours = self.by_id.values().filter(|active| active.cluster.is(&cluster));
        let mut runs: Vec<&Run> = ours.map(|active| &active.run).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.started()));
        runs
    }

    /// The plan with this id, if a run of this cluster has it.
    pub(super) fn plan(&self, id: &PlanId, cluster: &ClusterState) -> Option<&Arc<Plan>> {
        let cluster = cluster.id();
        let mut ours = self.by_id.values().filter(|active| active.cluster.is(&cluster));
        ours.find(|active| active.run.plan.id == *id).map(|active| &active.run.plan)
    }

    /// The next time at which the passing of time alone lets a run continue.
    pub(super) fn wake(&self, cluster: &ClusterState) -> Option<Timestamp> {
        let (now, id) = (cluster.now(), cluster.id());
        let runs = self.by_id.values().filter(|active| active.is_active(cluster.index(), &id));
        runs.filter_map(|active| active.run.wake(now)).min()
    }

    /// Starts a run of the plan that a person has confirmed.
    pub(super) fn start(
        &mut self,
        start: &Start,
        plan: Arc<Plan>,
        cluster: &mut ClusterState,
        chance: &Chance,
    ) -> Result<Result<RunId, Refusal>, HubError> {
        if let Err(refusal) = self.check_start(start, &plan, cluster) {
            return Ok(Err(refusal));
        }
        let id = RunId::new(format!("{:016x}", chance.number()?));
        let (now, cluster) = (cluster.now(), cluster.id());
        match ActiveRun::begin(&mut self.journal, id.clone(), plan, &start.by, cluster, now) {
            Ok(active) => {
                self.by_id.insert(id.clone(), active);
                self.changed = true;
                Ok(Ok(id))
            }
            Err(error) => {
                self.journal_failures += 1;
                Ok(Err(Refusal::Journal(error.to_string())))
            }
        }
    }

    /// Refuses a start unless the plan is the confirmed one, its objects are in no other open run, and a new plan of
    /// the unit does not differ from it.
    fn check_start(
        &self,
        start: &Start,
        plan: &Plan,
        cluster: &mut ClusterState,
    ) -> Result<(), Refusal> {
        if plan.hash != start.hash {
            return Err(Refusal::WrongHash);
        }
        if plan.unit.as_str() != start.confirm.trim() {
            return Err(Refusal::WrongName);
        }
        // Objects that hidden Pods use would be in the plan as if they were unused.
        let namespaces: BTreeSet<&str> =
            plan.steps.iter().filter_map(|step| step.object.namespace.as_deref()).collect();
        for namespace in namespaces {
            cluster.index().check_pods_visible(Some(namespace)).map_err(Refusal::PodsHidden)?;
        }
        let open = self.by_id.values().filter(|active| !active.run.state().is_ended());
        for active in open {
            let mut theirs = active.run.plan.steps.iter();
            if let Some(step) =
                theirs.find(|step| plan.steps.iter().any(|ours| ours.uid == step.uid))
            {
                return Err(Refusal::Overlap {
                    run: active.run.id.clone(),
                    object: step.object.clone(),
                });
            }
        }
        let now = match plan_of(&plan.unit, &plan.choices, cluster) {
            Ok(now) => now,
            Err(Refusal::Unplannable(PlanError::Empty) | Refusal::UnknownUnit(_)) => {
                Plan { steps: Vec::new(), ..plan.clone() }
            }
            Err(refusal) => return Err(refusal),
        };
        let differences = differences(plan, &now);
        if differences.is_empty() { Ok(()) } else { Err(Refusal::Stale(differences)) }
    }

    /// Carries out a person's command.
    pub(super) fn command(
        &mut self,
        run: &RunId,
        command: RunCommand,
        by: String,
        cluster: &ClusterState,
    ) -> Result<Result<(), Refusal>, HubError> {
        if let Err(refusal) = self.get(run, cluster) {
            return Ok(Err(refusal));
        }
        self.steer(run, &Input::Command { command, by }, cluster)
    }

    /// Gives a run a person's input.
    fn steer(
        &mut self,
        run: &RunId,
        input: &Input,
        cluster: &ClusterState,
    ) -> Result<Result<(), Refusal>, HubError> {
        Ok(match self.apply_input(run, input, cluster)? {
            Ok(_) => Ok(()),
            Err(CommandError::Ended) => Err(Refusal::Ended),
            Err(CommandError::UnknownStep(step)) => Err(Refusal::UnknownStep(step)),
            Err(CommandError::TooLate(step)) => Err(Refusal::TooLate(step)),
            Err(CommandError::NothingToTakeOn(step)) => Err(Refusal::NothingToTakeOn(step)),
            Err(CommandError::OtherPods(step)) => Err(Refusal::OtherPods(step)),
        })
    }

    /// Takes it on that no Pod writes to the storage of a step, if the person typed the name of its object.
    pub(super) fn take_on(
        &mut self,
        run: &RunId,
        step: StepId,
        answer: TakenOn,
        by: String,
        cluster: &ClusterState,
    ) -> Result<Result<(), Refusal>, HubError> {
        let object = match self.get(run, cluster) {
            Ok(active) => active.run.plan.step(step),
            Err(refusal) => return Ok(Err(refusal)),
        };
        if object.is_some_and(|step| *step.object.name != *answer.confirm.trim()) {
            return Ok(Err(Refusal::WrongObjectName));
        }
        self.steer(run, &Input::TakeOn { step, pods: answer.pods, by }, cluster)
    }

    /// Reconciles every open run until none has anything left to do.
    pub(super) fn reconcile(&mut self, cluster: &ClusterState) -> Result<(), HubError> {
        let id = cluster.id();
        let open: Vec<RunId> = self
            .by_id
            .iter()
            .filter(|(_, active)| active.is_active(cluster.index(), &id))
            .map(|(run, _)| run.clone())
            .collect();
        for run in open {
            if self.by_id.get(&run).is_some_and(|active| active.is_recovering) {
                self.advance(&run, &Input::Recover, cluster)?;
            }
            for _ in 0..MAX_DECISIONS {
                if !self.advance(&run, &Input::Reconcile, cluster)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a run an input that is not a person's command. Returns whether anything followed.
    pub(super) fn advance(
        &mut self,
        id: &RunId,
        input: &Input,
        cluster: &ClusterState,
    ) -> Result<bool, HubError> {
        // Only a person's command can come too late.
        Ok(self.apply_input(id, input, cluster)?.unwrap_or(false))
    }

    /// Gives a run an input: its events are written to the journal, then applied, and only then are its actions sent.
    /// Returns whether anything followed.
    fn apply_input(
        &mut self,
        id: &RunId,
        input: &Input,
        cluster: &ClusterState,
    ) -> Result<Result<bool, CommandError>, HubError> {
        let now = cluster.now();
        let Some(active) = self.by_id.get_mut(id) else { return Ok(Ok(false)) };
        let decision = match active.run.decide(input, cluster.index(), now) {
            Ok(decision) => decision,
            Err(error) => return Ok(Err(error)),
        };
        if decision.is_empty() {
            return Ok(Ok(false));
        }
        active.record(&mut self.journal, now, decision.events)?;
        self.attempts.follow(&active.run, &active.cluster);
        self.changed = true;
        let calls: Vec<CallRequest> =
            decision.actions.into_iter().map(|action| active.call(action)).collect();
        for call in calls {
            if let Err(error) = self.calls.try_send(call) {
                let (TrySendError::Full(call) | TrySendError::Closed(call)) = error;
                let message = ProblemCode::QueueFull.into();
                let outcome = Outcome::Unanswered { message, after: None };
                let completed = Input::CallCompleted { action: call.action, outcome };
                self.advance(id, &completed, cluster)?;
            }
        }
        Ok(Ok(true))
    }
}
