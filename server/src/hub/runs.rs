//! The runs: their start, a person's commands to them, and everything that they decide by themselves.

mod compaction;
mod halt;
mod put_back;
mod unplanned;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use teardown::{
    action::{Action, Outcome},
    api_problem::ProblemCode,
    plan::{Plan, PlanError, PlanId, StepId, differences},
    run::{CommandError, Decision, Input, Run, RunCommand, RunId},
};
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::Instant,
};

use self::halt::Halt;
use super::{
    Answered, CallRequest, CompletedCall, HubError, Refusal, Start, TakenOn,
    active_run::{ActiveRun, Entry, UnreadableRun},
    attempts::Attempts,
    cluster_state::ClusterState,
    journal_status::{Failing, JournalStatus},
    plans::plan_of,
    set_aside::UnreadableRuns,
    writer::Writer,
};
use crate::{
    chance::Chance,
    journal::{Batch, Journal, Old},
};

/// The most decisions of a run in one reconciliation. More would mean that the run never settles.
const MAX_DECISIONS: usize = 10_000;

/// The time between two removals of what ended long ago.
const CLEAN_UP: SignedDuration = SignedDuration::from_hours(24);

/// All runs of the journal, also those of other clusters.
pub(super) struct Runs {
    by_id: BTreeMap<RunId, ActiveRun>,
    unreadable: UnreadableRuns,
    /// The remedies, which are in the same journal.
    attempts: Attempts,
    writer: Writer,
    calls: mpsc::Sender<CallRequest>,
    /// Completed calls that no run has taken yet: those of the present batch, and all while the journal cannot be written.
    completed: Vec<CompletedCall>,
    /// Changes that have not halted their runs yet, because the journal cannot be written.
    halts: Vec<Halt>,
    /// Runs that were refused because the journal could not be written, each with the person. The disk may have kept them.
    refused: Vec<(RunId, String)>,
    /// The time for which runs and attempts are kept after their end; `None` for ever.
    keep: Option<SignedDuration>,
    /// The time after their end at which the journals of runs are shortened; `None` for never.
    compact_after: Option<SignedDuration>,
    /// The next time at which those that are older are removed.
    clean_up: Option<Timestamp>,
    changed: bool,
}

impl Runs {
    /// Restores the runs from the journal. One that cannot be read is set aside.
    pub(super) fn open(
        journal: Journal,
        calls: mpsc::Sender<CallRequest>,
        now: Timestamp,
    ) -> Result<Self, HubError> {
        let mut writer = Writer::new(journal, now);
        let mut attempts = Attempts::open(&mut writer, now)?;
        let journal = writer.journal();
        let (mut by_id, mut unreadable) = (BTreeMap::new(), UnreadableRuns::default());
        let released: BTreeSet<String> =
            journal.releases()?.into_iter().map(|(run, _)| run).collect();
        for file in journal.damaged_files() {
            let id = RunId::new(file.as_str());
            unreadable.add(journal, id, None, &UnreadableRun::WholeJournal, now);
        }
        for (id, head) in journal.runs()? {
            let head = match head {
                Ok(head) => head,
                Err(error) => {
                    unreadable.add(journal, id, None, &error.into(), now);
                    continue;
                }
            };
            match ActiveRun::replay(journal, &head) {
                // Others may work on its objects since.
                Ok(active) if active.is_recovering && released.contains(id.as_str()) => {
                    unreadable.add(journal, id, Some(head), &UnreadableRun::Released, now);
                }
                Ok(active) => {
                    attempts.follow(&active.run, &active.cluster);
                    by_id.insert(id, active);
                }
                Err(error) => match error.of_disk() {
                    Ok(error) => return Err(error.into()),
                    Err(error) => unreadable.add(journal, id, Some(head), &error, now),
                },
            }
        }
        unreadable.read_releases(journal)?;
        Ok(Self {
            by_id,
            unreadable,
            attempts,
            writer,
            calls,
            completed: vec![],
            halts: vec![],
            refused: vec![],
            keep: None,
            compact_after: None,
            clean_up: None,
            changed: false,
        })
    }

    /// Removes runs and attempts this long after their end.
    pub(super) fn keep(&mut self, keep: SignedDuration) {
        self.keep = Some(keep);
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
    pub(super) fn attempts_mut(&mut self) -> (&mut Attempts, &mut Writer) {
        (&mut self.attempts, &mut self.writer)
    }

    /// The state of the journal.
    pub(super) fn journal_status(&self) -> JournalStatus {
        JournalStatus {
            failing: self.writer.failing().cloned(),
            failures: self.writer.failures(),
            set_aside: self.unreadable.list(),
            remedies: self.attempts.unreadable().to_vec(),
        }
    }

    /// The number of things about the journal that a person of this cluster should see to.
    pub(super) fn journal_problems(&self, cluster: &ClusterState) -> usize {
        usize::from(self.writer.failing().is_some()) + self.set_aside(cluster)
    }

    /// The number of runs of this cluster that cannot be read and that nobody has released.
    pub(super) fn set_aside(&self, cluster: &ClusterState) -> usize {
        self.unreadable.unreleased(&cluster.id())
    }

    /// Releases a run that cannot be read.
    pub(super) fn release(
        &mut self,
        run: &RunId,
        by: String,
        cluster: &ClusterState,
    ) -> Result<(), Refusal> {
        self.changed = true;
        self.unreadable.release(run, by, cluster.now(), &mut self.writer)
    }

    /// Refuses while nothing can be started, because the journal cannot be written.
    pub(super) fn check_writable(&self) -> Result<(), Refusal> {
        let failing = self.writer.failing();
        failing.map_or(Ok(()), |failing| Err(Refusal::Journal(failing.why.clone())))
    }

    /// Refuses a plan with an object that a run may have worked on which cannot be read.
    pub(super) fn check_plan(&self, plan: &Plan, cluster: &ClusterState) -> Result<(), Refusal> {
        self.unreadable.check(plan, cluster)
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
    pub(super) fn wake(&self, cluster: &ClusterState) -> Option<Instant> {
        if let Some(retry) = self.writer.next_retry() {
            return Some(retry);
        }
        let (now, id, index) = (cluster.now(), cluster.id(), cluster.index());
        let runs = self.by_id.values().filter(|active| active.is_active(index, &id));
        runs.filter_map(|active| active.run.wake(index, now)).min().map(|at| cluster.instant(at))
    }

    /// Starts a run of the plan that a person has confirmed.
    pub(super) fn start(
        &mut self,
        start: &Start,
        plan: Arc<Plan>,
        cluster: &mut ClusterState,
        chance: &Chance,
    ) -> Answered<RunId> {
        if let Err(refusal) = self.check_start(start, &plan, cluster) {
            return Ok(Err(refusal));
        }
        let id = RunId::new(format!("{:016x}", chance.number()?));
        let (now, cluster) = (cluster.now(), cluster.id());
        self.changed = true;
        let begun = self.writer.write(now, |journal| {
            ActiveRun::begin(journal, id.clone(), plan, &start.by, cluster, now)
        });
        Ok(match begun {
            Ok(active) => {
                self.by_id.insert(id.clone(), active);
                Ok(id)
            }
            Err(Failing { why, .. }) => {
                self.refused.push((id, start.by.clone()));
                Err(Refusal::Journal(why))
            }
        })
    }

    /// Refuses a start unless the journal can be written, the plan is the confirmed one, its objects are in no other open
    /// run, and a new plan of the unit does not differ from it.
    fn check_start(
        &self,
        start: &Start,
        plan: &Plan,
        cluster: &mut ClusterState,
    ) -> Result<(), Refusal> {
        self.check_writable()?;
        self.check_plan(plan, cluster)?;
        if plan.hash != start.hash {
            return Err(Refusal::WrongHash);
        }
        if plan.unit.as_str() != start.confirm.trim() {
            return Err(Refusal::WrongName);
        }
        plan.check_confirmed(&start.parts).map_err(Refusal::Unconfirmed)?;
        // Objects that hidden Pods use would be in the plan as if they were unused.
        let namespaces: BTreeSet<&str> =
            plan.steps.iter().filter_map(|step| step.object.namespace.as_deref()).collect();
        for namespace in namespaces {
            cluster.index().check_pods_visible(Some(namespace)).map_err(Refusal::PodsHidden)?;
        }
        let open = self.by_id.values().filter(|active| !active.run.state().is_ended());
        let ours = plan.objects();
        for active in open {
            let mut theirs = active.run.plan.steps.iter();
            if let Some(step) = theirs.find(|step| ours.contains(&step.uid)) {
                return Err(Refusal::Overlap {
                    run: active.run.id.clone(),
                    object: step.object.clone(),
                });
            }
        }
        let unplanned = self.unplanned(&plan.unit, &plan.choices, cluster)?;
        let now = match plan_of(&plan.unit, &plan.choices, unplanned.as_ref(), cluster) {
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
    ) -> Answered<()> {
        if let Err(refusal) = self.get(run, cluster) {
            return Ok(Err(refusal));
        }
        self.steer(run, &Input::Command { command, by }, cluster)
    }

    /// Gives a run a person's input.
    fn steer(&mut self, run: &RunId, input: &Input, cluster: &ClusterState) -> Answered<()> {
        if let Err(refusal) = self.check_writable() {
            return Ok(Err(refusal));
        }
        let now = cluster.now();
        let decision = match self.decide(run, input, cluster, now) {
            Ok(decision) => decision,
            Err(error) => return Ok(Err(refusal(error))),
        };
        let committed = self.commit(vec![(run.clone(), decision)], now)?;
        Ok(committed.map_err(|failing| Refusal::Journal(failing.why)))
    }

    /// Takes it on that no Pod writes to the storage of a step, if the person typed the name of its object.
    pub(super) fn take_on(
        &mut self,
        run: &RunId,
        step: StepId,
        answer: &TakenOn,
        by: String,
        cluster: &ClusterState,
    ) -> Answered<()> {
        let object = match self.get(run, cluster) {
            Ok(active) => active.run.plan.step(step),
            Err(refusal) => return Ok(Err(refusal)),
        };
        if object.is_some_and(|step| *step.object.name != *answer.confirm.trim()) {
            return Ok(Err(Refusal::WrongObjectName));
        }
        self.steer(run, &Input::TakeOn { step, pods: answer.pods.clone(), by }, cluster)
    }

    /// Takes a completed call, for the next [`Runs::settle`].
    pub(super) fn complete(&mut self, call: CompletedCall) {
        self.completed.push(call);
    }

    /// Gives the runs the outcomes of their calls, in their order. While the journal cannot be written they wait.
    pub(super) fn settle(&mut self, cluster: &mut ClusterState) -> Result<(), HubError> {
        while !self.completed.is_empty() {
            let mut runs = BTreeSet::new();
            let calls = mem::take(&mut self.completed).into_iter();
            let (round, rest): (Vec<_>, Vec<_>) =
                calls.partition(|call| runs.insert(call.run.clone()));
            let inputs: Vec<_> = round.iter().map(CompletedCall::input).collect();
            let is_done = self.advance(&inputs, cluster)?.is_ok();
            // A call that finds no place while these are applied comes last.
            let new = mem::take(&mut self.completed);
            let kept = if is_done { vec![] } else { round };
            self.completed = kept.into_iter().chain(rest).chain(new).collect();
            if !is_done {
                break;
            }
        }
        Ok(())
    }

    /// Reconciles every open run until none has anything left to do. While the journal cannot be written, nothing is
    /// decided.
    pub(super) fn reconcile(&mut self, cluster: &mut ClusterState) -> Result<(), HubError> {
        if self.writer.retry(cluster.now()) {
            self.catch_up(cluster)?;
        }
        self.halt(cluster)?;
        self.settle(cluster)?;
        if self.writer.failing().is_some() {
            return Ok(());
        }
        self.clean_up(cluster);
        let id = cluster.id();
        let open = self.by_id.iter();
        let open = open.filter(|(_, active)| active.is_active(cluster.index(), &id));
        let input_of = |(run, active): (&RunId, &ActiveRun)| {
            (run.clone(), if active.is_recovering { Input::Recover } else { Input::Reconcile })
        };
        let mut inputs: Vec<(RunId, Input)> = open.map(input_of).collect();
        for _ in 0..MAX_DECISIONS {
            let Ok(moved) = self.advance(&inputs, cluster)? else { return Ok(()) };
            self.settle(cluster)?;
            if moved.is_empty() {
                return Ok(());
            }
            inputs = moved.into_iter().map(|run| (run, Input::Reconcile)).collect();
        }
        let runs: Vec<&str> = inputs.iter().map(|(run, _)| run.as_str()).collect();
        tracing::error!(?runs, "runs decide again and again without a change in the cluster");
        Ok(())
    }

    /// Removes what ended long ago, once a day. An open run stays, and so does one that cannot be read. Before the cluster has
    /// been read, nobody knows which effects of remedies are still there.
    fn clean_up(&mut self, cluster: &ClusterState) {
        let now = cluster.now();
        let is_due = self.clean_up.is_none_or(|at| at <= now) && cluster.index().is_synced();
        let Some(keep) = self.keep.filter(|_| is_due) else { return };
        self.clean_up = now.checked_add(CLEAN_UP).ok();
        self.compact(cluster);
        let Ok(before) = now.checked_sub(keep) else { return };
        // A parent that it suspended is named until somebody puts it back. Whether that is still so on another cluster, nobody
        // knows.
        let here = cluster.id();
        let may_be_off = |active: &ActiveRun| {
            active
                .run
                .suspensions()
                .any(|it| !active.cluster.is(&here) || it.switched_off(cluster.index()).is_some())
        };
        let is_old = |active: &&ActiveRun| {
            active.run.ended().is_some_and(|ended| ended < before) && !may_be_off(active)
        };
        let (old, kept): (Vec<_>, Vec<_>) = self.by_id.values().partition(is_old);
        let is_needed = |plan: &PlanId| {
            kept.iter().any(|it| it.run.plan.id == *plan) || self.unreadable.has_plan(plan)
        };
        let plans = old.iter().map(|it| it.run.plan.id.clone());
        let old = Old {
            plans: plans.filter(|plan| !is_needed(plan)).collect(),
            runs: old.iter().map(|it| it.run.id.clone()).collect(),
            attempts: self.attempts.ended_before(before, cluster),
        };
        if old == Old::default() || self.writer.write(now, |it| it.remove(&old)).is_err() {
            return;
        }
        tracing::info!(
            runs = old.runs.len(),
            remedies = old.attempts.len(),
            "removed what ended long ago from the journal"
        );
        old.runs.iter().for_each(|run| drop(self.by_id.remove(run)));
        old.attempts.iter().for_each(|attempt| self.attempts.forget(attempt));
        self.changed = true;
    }

    /// Brings the runs and the remedies up to date with a journal that can be written again. The write that failed may have
    /// reached the disk.
    fn catch_up(&mut self, cluster: &ClusterState) -> Result<(), HubError> {
        self.changed = true;
        let (journal, now) = (self.writer.journal(), cluster.now());
        let open = self.by_id.iter().filter(|(_, active)| !active.run.state().is_ended());
        let (mut changes, mut unreadable_heads) = (vec![], vec![]);
        for (run, active) in open {
            if let Some(change) = active.changed_in(journal).transpose() {
                changes.push((run.clone(), active.head(), change));
            }
        }
        let mut refused = vec![];
        for (run, by) in &self.refused {
            let head = match journal.head(run) {
                Ok(None) => continue,
                Ok(Some(head)) => head,
                Err(error) => {
                    unreadable_heads.push((run.clone(), error.into()));
                    continue;
                }
            };
            changes.push((run.clone(), head.clone(), ActiveRun::replay(journal, &head)));
            refused.push((run.clone(), by.clone()));
        }
        let (mut changed, mut unreadable) = (vec![], vec![]);
        for (run, head, change) in changes {
            match change {
                Ok(active) => changed.push((run, active)),
                Err(error) => unreadable.push((run, Some(head), error)),
            }
        }
        unreadable.extend(unreadable_heads.into_iter().map(|(run, error)| (run, None, error)));
        let mut damaged = vec![];
        for (run, head, error) in unreadable {
            match error.of_disk() {
                // It fails again. Everything stays as it is until it can be read.
                Ok(error) => {
                    self.writer.fail(now, &error);
                    return Ok(());
                }
                Err(error) => damaged.push((run, head, error)),
            }
        }
        self.refused.clear();
        for (run, active) in changed {
            self.attempts.follow(&active.run, &active.cluster);
            if let Some(before) = self.by_id.insert(run, active) {
                before.recall_calls();
            }
        }
        for (run, head, error) in damaged {
            self.by_id.remove(&run);
            self.unreadable.add(self.writer.journal(), run, head, &error, now);
        }
        // Its person learnt that it does not start.
        for (run, by) in refused {
            let stop = Input::Command { command: RunCommand::Stop, by: by.clone() };
            if let Err(Refusal::Journal(_)) = self.steer(&run, &stop, cluster)? {
                self.by_id.remove(&run);
                self.refused.push((run, by));
            }
        }
        self.attempts.write_ended(&mut self.writer, now);
        Ok(())
    }

    /// Gives each of these runs an input that is not a person's command: their events are one write. Returns the runs that
    /// something followed for.
    fn advance(
        &mut self,
        inputs: &[(RunId, Input)],
        cluster: &mut ClusterState,
    ) -> Result<Result<Vec<RunId>, Failing>, HubError> {
        if !inputs.is_empty() {
            cluster.follow_edges();
        }
        // Only a person's command can come too late.
        let now = cluster.now();
        let decide = |(run, input): &(RunId, Input)| {
            (run.clone(), self.decide(run, input, cluster, now).unwrap_or_default())
        };
        let decisions = inputs.iter().map(decide).filter(|(_, decision)| !decision.is_empty());
        let decisions: Vec<_> = decisions.collect();
        let runs = decisions.iter().map(|(run, _)| run.clone()).collect();
        Ok(self.commit(decisions, now)?.map(|()| runs))
    }

    fn decide(
        &self,
        run: &RunId,
        input: &Input,
        cluster: &ClusterState,
        now: Timestamp,
    ) -> Result<Decision, CommandError> {
        let active = self.by_id.get(run);
        active.map_or_else(
            || Ok(Decision::default()),
            |active| active.run.decide(input, cluster.index(), cluster.graph(), now),
        )
    }

    /// Carries decisions out, each of another run: all events are written to the journal, then applied, and only then are
    /// the actions sent.
    fn commit(
        &mut self,
        decisions: Vec<(RunId, Decision)>,
        now: Timestamp,
    ) -> Result<Result<(), Failing>, HubError> {
        if decisions.iter().all(|(_, decision)| decision.is_empty()) {
            return Ok(self.writer.failing().cloned().map_or(Ok(()), Err));
        }
        let decided: Vec<(RunId, Vec<Entry>, Vec<Action>)> = decisions
            .into_iter()
            .map(|(run, it)| (run, ActiveRun::entries(now, it.events), it.actions))
            .collect();
        let batches: Vec<Batch<'_, Entry>> = decided
            .iter()
            .filter_map(|(run, entries, _)| Some(self.by_id.get(run)?.batch(entries)))
            .collect();
        self.changed = true;
        if let Err(failing) = self.writer.write(now, |journal| journal.append(&batches)) {
            return Ok(Err(failing));
        }
        for (run, entries, actions) in decided {
            let Some(active) = self.by_id.get_mut(&run) else { continue };
            active.apply(&entries)?;
            self.attempts.follow(&active.run, &active.cluster);
            for call in active.calls(actions) {
                if let Err(error) = self.calls.try_send(call) {
                    let (TrySendError::Full(call) | TrySendError::Closed(call)) = error;
                    let message = ProblemCode::QueueFull.into();
                    let outcome = Outcome::Unanswered { message, after: None };
                    let (run, action, answered) = (run.clone(), call.action, Instant::now());
                    self.completed.push(CompletedCall { run, action, outcome, answered });
                }
            }
        }
        Ok(Ok(()))
    }
}

fn refusal(error: CommandError) -> Refusal {
    match error {
        CommandError::Ended => Refusal::Ended,
        CommandError::UnknownStep(step) => Refusal::UnknownStep(step),
        CommandError::TooLate(step) => Refusal::TooLate(step),
        CommandError::NothingToTakeOn(step) => Refusal::NothingToTakeOn(step),
        CommandError::OtherPods(step) => Refusal::OtherPods(step),
    }
}
