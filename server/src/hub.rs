//! The actor that owns the index and the open runs. All other tasks send it messages and read the views that it
//! publishes. It depends on neither kube nor axum: it has one mailbox and one channel for calls to the cluster.
//!
//! ```text
//!  cluster ─ Observed, CallCompleted ►┐             ┌──► calls ──► cluster
//!                                     │ process all │
//!  http ──── Subscribe, Start, … ────►┤ messages    ├──► journal, before any call is sent
//!                                     │ as a batch  │
//!  time ──── the next wake ──────────►┘             └──► topics: one view each, at most every 50 ms ──► browsers
//! ```

mod topics;
mod runs;
mod plans;
mod preflights;
mod cluster_state;
mod confirmation;
mod clock;
mod completed_call;
mod delivery_status;
mod frame;
mod handle;
mod incoming;
mod outgoing;
mod topic_channel;
mod active_run;
mod attempts;
mod journal_status;
mod kubelet_answers;
mod not_kept;
mod refusal;
mod set_aside;
mod writer;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use teardown::{
    observation::Observation,
    plan::{Choices, Plan, PlanId, StepId},
    remedy::{Attempt, AttemptOutcome, PutBack},
    run::{ReplayError, RunId},
    unit::UnitId,
    wanted::Wanted,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::{
    cluster_state::ClusterState, completed_call::CompletedCall, plans::Plans,
    preflights::Preflights, runs::Runs, topics::Topics,
};
use crate::{
    chance::Chance,
    journal::{Journal, JournalError},
};

pub use self::{
    confirmation::{Start, TakenOn},
    delivery_status::{DeliveryStatus, FailingDelivery, LostNotification},
    frame::{Frame, FrameKind, Subscription},
    handle::{HubClosed, HubHandle},
    incoming::{DiagnosisTime, Incoming, Reading, Remedies},
    journal_status::{Blocks, Failing, JournalStatus, SetAside},
    not_kept::NotKept,
    outgoing::{CallRequest, PreflightRequest, RemedyCall},
    refusal::Refusal,
};

/// The most messages in the mailbox. A burst of watch events arrives as few large messages, so the mailbox rarely fills
/// up; when it is full, the watches wait.
pub const MAILBOX: usize = 1024;
/// The most calls in the queue to the cluster. A step has at most one call in flight, so this is the number of steps
/// that can run at the same time. A call that does not fit counts as unanswered and is retried.
pub const CALLS: usize = 16 * 1024;
/// The most remedies in the queue to the cluster.
pub const REMEDIES: usize = 16;
/// The most preflights in the queue to the cluster. One that does not fit has only the notes about the index.
pub const PREFLIGHTS: usize = 16;
/// The most messages processed as one batch.
const BATCH: usize = 512;

/// The errors that end the hub.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The journal cannot be read at all, so nobody knows which runs are open.
    #[error("the journal failed")]
    Journal(#[from] JournalError),
    /// An event that a run has decided cannot follow in its state.
    #[error("an event of run {0} cannot follow")]
    Damaged(RunId, #[source] ReplayError),
    /// The operating system gave no random numbers.
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
}

/// The answer to a person: what was asked for, or the reason of the refusal. The outer error ends the hub.
type Answered<T> = Result<Result<T, Refusal>, HubError>;

/// The hub's state. [`Hub::open`] reads the journal, and [`Hub::run`] is the event loop.
pub struct Hub {
    mailbox: mpsc::Receiver<Incoming>,
    chance: Chance,
    cluster: ClusterState,
    plans: Plans,
    preflights: Preflights,
    runs: Runs,
    topics: Topics,
    wanted: Option<watch::Sender<Wanted>>,
    /// Says whether the journal can be written.
    writable: Option<watch::Sender<bool>>,
    /// Whether the cluster knows what the journal says went by force.
    has_told_forced: bool,
}

impl Hub {
    /// Reads the journal and restores the state of the earlier process. Open runs continue once every kind has been
    /// listed. A run that cannot be read is set aside.
    ///
    /// # Errors
    /// [`HubError`] if the journal cannot be read at all.
    pub fn open(
        name: String,
        mailbox: mpsc::Receiver<Incoming>,
        calls: mpsc::Sender<CallRequest>,
        journal: Journal,
    ) -> Result<Self, HubError> {
        let (chance, now) = (Chance::default(), Timestamp::now());
        Ok(Self {
            mailbox,
            cluster: ClusterState::new(name, now),
            plans: Plans::default(),
            preflights: Preflights::default(),
            runs: Runs::open(journal, calls, now)?,
            topics: Topics::new(chance.number()?),
            wanted: None,
            writable: None,
            has_told_forced: false,
            chance,
        })
    }

    /// Makes a simulation repeatable: the clock starts at `now`, and random numbers are derived from `chance`.
    ///
    /// # Errors
    /// [`HubError::Random`] if `chance` yields no random numbers.
    pub fn repeatable(mut self, now: Timestamp, chance: Chance) -> Result<Self, HubError> {
        self.cluster.set_time(now);
        self.topics = Topics::new(chance.number()?);
        self.chance = chance;
        Ok(self)
    }

    /// Sends the requests that persons confirm one by one through `calls`. Without it, nothing that a run suspended is put back.
    #[must_use]
    pub fn sending_remedies(mut self, calls: mpsc::Sender<RemedyCall>) -> Self {
        self.runs.attempts_mut().0.send_through(calls);
        self
    }

    /// Lets persons with the right to do so have remedies done; their requests leave through `calls`.
    #[must_use]
    pub fn allow_remedies(self, calls: mpsc::Sender<RemedyCall>) -> Self {
        let mut hub = self.sending_remedies(calls);
        hub.runs.attempts_mut().0.allow();
        hub
    }

    /// Sends the questions of preflights to the cluster. Without it, a preflight looks at the index alone.
    #[must_use]
    pub fn asking(mut self, requests: mpsc::Sender<PreflightRequest>) -> Self {
        self.preflights.ask(requests);
        self
    }

    /// Says through `wanted` what diagnoses want to know beyond the watches.
    #[must_use]
    pub fn wanting(mut self, wanted: watch::Sender<Wanted>) -> Self {
        self.wanted = Some(wanted);
        self.preflights.watch();
        self
    }

    /// Removes runs and remedies from the journal this long after their end.
    #[must_use]
    pub fn keeping_runs(mut self, keep: SignedDuration) -> Self {
        self.runs.keep(keep);
        self
    }

    /// Shortens the journals of runs to their outcome this long after their end.
    #[must_use]
    pub fn compacting_runs(mut self, after: SignedDuration) -> Self {
        self.runs.compact_after(after);
        self
    }

    /// Says through `writable` whether the journal can be written.
    #[must_use]
    pub fn reporting(mut self, writable: watch::Sender<bool>) -> Self {
        self.writable = Some(writable);
        self
    }

    /// Runs until the drain token is cancelled or all handles are dropped.
    ///
    /// # Errors
    /// [`HubError`] if it cannot continue.
    pub async fn run(mut self, drain: CancellationToken) -> Result<(), HubError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.wake();
            tokio::select! {
                biased;
                () = drain.cancelled() => return self.end().await,
                taken = self.mailbox.recv_many(&mut batch, BATCH) => if taken == 0 { return Ok(()) },
                () = tokio::time::sleep_until(wake) => {}
            }
            for incoming in batch.drain(..) {
                self.take(incoming)?;
            }
            self.runs.reconcile(&mut self.cluster)?;
            if self.runs.take_changed() {
                self.topics.mark_stale();
            }
            self.topics.publish(&mut self.cluster, &self.runs);
            if let Some(writable) = &self.writable {
                let now = self.runs.check_writable().is_ok();
                writable.send_if_modified(|before| std::mem::replace(before, now) != now);
            }
            if let Some(wanted) = &self.wanted {
                let now = self.cluster.wanted();
                wanted.send_if_modified(|before| {
                    let is_other = *before != *now;
                    if is_other {
                        before.clone_from(now);
                    }
                    is_other
                });
            }
        }
    }

    /// Journals the answers that have arrived, because nobody else knows them: the cluster's tasks have ended. Nothing more is
    /// decided.
    async fn end(mut self) -> Result<(), HubError> {
        self.mailbox.close();
        while let Some(incoming) = self.mailbox.recv().await {
            match incoming {
                Incoming::CallCompleted { run, action, outcome, answered } => {
                    let call = CompletedCall { run, action, outcome, answered };
                    self.runs.complete(call.without_read());
                }
                Incoming::RemedyCompleted { .. } => self.take(incoming)?,
                _ => {}
            }
        }
        self.runs.settle(&mut self.cluster)
    }

    fn observe(&mut self, observations: Vec<Observation>) {
        self.cluster.observe(observations);
        self.tell_forced();
        let (attempts, writer) = self.runs.attempts_mut();
        attempts.settle(&mut self.cluster, writer);
        self.topics.mark_stale();
    }

    /// Once the index is complete, and so the cluster is known, lets it know what the journal says went by force.
    fn tell_forced(&mut self) {
        if !self.has_told_forced && self.cluster.index().is_synced() {
            self.has_told_forced = true;
            let attempts = self.runs.attempts();
            let forced = attempts.forced_namespaces(&self.cluster);
            attempts.tell_by_hand(&mut self.cluster);
            self.cluster.note_forced(forced);
        }
    }

    /// The next time at which the passing of time alone may have an effect.
    fn wake(&self) -> Instant {
        let publication = self.topics.next_publication();
        let run = self.runs.wake(&self.cluster);
        run.map_or(publication, |at| publication.min(at))
    }

    fn take(&mut self, incoming: Incoming) -> Result<(), HubError> {
        // Outcomes of calls that arrive one after another are one write. Any other message must find them applied.
        if !matches!(incoming, Incoming::CallCompleted { .. }) {
            self.runs.settle(&mut self.cluster)?;
        }
        match incoming {
            Incoming::Observed(observations) => self.observe(observations),
            Incoming::Demo(demo) => {
                self.cluster.set_demo(demo);
                self.topics.mark_stale();
            }
            Incoming::CallCompleted { run, action, outcome, answered } => {
                self.runs.complete(CompletedCall { run, action, outcome, answered });
            }
            // The reply must reflect every message that arrived before the query.
            Incoming::Subscribe { topic, after, reply } => {
                self.runs.reconcile(&mut self.cluster)?;
                let subscription =
                    self.topics.subscribe(&topic, after, &mut self.cluster, &self.runs);
                send_reply(reply, subscription);
            }
            Incoming::Query { topic, reply } => {
                self.runs.reconcile(&mut self.cluster)?;
                send_reply(reply, self.topics.query(&topic, &mut self.cluster, &self.runs));
            }
            Incoming::ReadTally { reply } => send_reply(reply, self.reading()),
            Incoming::Time { reply } => send_reply(reply, self.cluster.now()),
            Incoming::MakePlan { unit, choices, reply } => {
                send_reply(reply, self.make_plan(&unit, &choices));
            }
            Incoming::ReadPlan { plan, reply } => send_reply(reply, self.read_plan(&plan)),
            Incoming::Remedy { given, by, reply } => {
                let (attempts, writer) = self.runs.attempts_mut();
                let begun = attempts.begin(&given, by, &mut self.cluster, writer, &self.chance)?;
                send_reply(reply, begun);
            }
            Incoming::ResumeParent { attempt, confirm, by, reply } => {
                let (attempts, writer) = self.runs.attempts_mut();
                let begun =
                    attempts.resume(&attempt, &confirm, by, &self.cluster, writer, &self.chance)?;
                send_reply(reply, begun);
            }
            Incoming::UndoRemedy { attempt, confirm, by, reply } => {
                let (attempts, writer) = self.runs.attempts_mut();
                let begun =
                    attempts.undo(&attempt, &confirm, by, &self.cluster, writer, &self.chance)?;
                send_reply(reply, begun);
            }
            Incoming::RemedyCopied { attempt, copy, reply } => {
                let (attempts, writer) = self.runs.attempts_mut();
                send_reply(reply, attempts.keep_copy(&attempt, &copy, &self.cluster, writer));
            }
            Incoming::RemedyLooked { basis, is_sent, reply } => {
                send_reply(reply, self.cluster.changed(&basis, is_sent));
            }
            Incoming::RemedyCompleted { attempt, outcome } => {
                self.complete_remedy(&attempt, outcome)?;
            }
            Incoming::ReadSwitchedOff { reply } => send_reply(reply, self.switched_off()),
            Incoming::ReadAttempts { reply } => {
                let attempts = self.runs.attempts().latest_first(&self.cluster);
                send_reply(reply, attempts.into_iter().cloned().collect());
            }
            Incoming::StartPreflight { plan, reply } => {
                let plan = self.read_plan(&plan);
                let started = plan.and_then(|plan| self.preflights.start(&plan, &mut self.cluster));
                send_reply(reply, started);
            }
            Incoming::ReadPreflight { plan, reply } => {
                let known = self.read_plan(&plan);
                send_reply(reply, known.map(|_| self.preflights.read(&plan, &mut self.cluster)));
            }
            Incoming::Answered { plan, attempt, question, answer } => {
                let now = self.cluster.now();
                self.preflights.answer(&plan, attempt, question, answer, now);
            }
            Incoming::PreflightEnded { plan, attempt, why } => {
                self.preflights.end(&plan, attempt, why, self.cluster.now());
            }
            Incoming::KubeletPasted { diagnosis, answer, by, reply } => {
                let kept = self.cluster.keep_pasted(&diagnosis, &answer, &by);
                self.topics.mark_stale();
                send_reply(reply, kept.ok_or(Refusal::UnknownDiagnosis(diagnosis)));
            }
            Incoming::KubeletAnswered { pods, subject, answer } => {
                self.cluster.keep_kubelet_answer(&pods, subject, &answer);
                self.topics.mark_stale();
            }
            Incoming::ReadRemedies { diagnosis, reply } => {
                send_reply(reply, self.remedies(diagnosis));
            }
            Incoming::ReadEventLog { run, reply } => {
                self.runs.reconcile(&mut self.cluster)?;
                let active = self.runs.get(&run, &self.cluster);
                send_reply(reply, active.map(|it| it.run.event_log().to_vec()));
            }
            Incoming::Start { start, reply } => {
                let run = self.start(&start)?;
                send_reply(reply, run);
            }
            Incoming::Command { run, command, by, reply } => {
                let accepted = self.runs.command(&run, command, by, &self.cluster)?;
                send_reply(reply, accepted);
            }
            Incoming::PutBack { run, by, reply } => {
                let begun = self.runs.put_back(&run, &by, &self.cluster, &self.chance)?;
                send_reply(reply, begun);
            }
            Incoming::Delivery(status) => {
                self.cluster.set_delivery(status);
                self.topics.mark_stale();
            }
            Incoming::ReadDelivery { reply } => {
                send_reply(reply, self.cluster.delivery().clone());
            }
            Incoming::ReadJournal { reply } => send_reply(reply, self.runs.journal_status()),
            Incoming::Release { run, by, reply } => {
                send_reply(reply, self.runs.release(&run, by, &self.cluster));
            }
            Incoming::TakeOn { run, step, answer, by, reply } => {
                let accepted = self.take_on(&run, step, &answer, by)?;
                send_reply(reply, accepted);
            }
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        let latest = self.runs.latest_first(&self.cluster);
        let tally = self.cluster.current().world(&latest, &[]).tally();
        let status = self.runs.journal_status();
        Reading {
            tally,
            journal_failures: status.failures,
            is_journal_failing: status.failing.is_some(),
            set_aside: self.runs.set_aside(&self.cluster),
            diagnosis_time: self.cluster.diagnosis_time(),
        }
    }

    fn complete_remedy(&mut self, attempt: &str, outcome: AttemptOutcome) -> Result<(), HubError> {
        // If the server is killed between the two writes, the run is paused for a remedy of unknown effect.
        self.runs.note_change(attempt, &outcome);
        self.runs.halt(&mut self.cluster)?;
        let (attempts, writer) = self.runs.attempts_mut();
        attempts.complete(attempt, outcome, &mut self.cluster, writer);
        self.topics.mark_stale();
        Ok(())
    }

    /// The things that remedies switched off and nobody has put back.
    fn switched_off(&mut self) -> Vec<PutBack> {
        let attempts = self.runs.attempts();
        let is_allowed = attempts.are_allowed();
        let latest: Vec<Attempt> =
            attempts.latest_first(&self.cluster).into_iter().cloned().collect();
        self.cluster.put_backs(&latest, is_allowed)
    }

    fn remedies(&mut self, diagnosis: String) -> Result<Remedies, Refusal> {
        let attempts = self.runs.attempts();
        let are_allowed = attempts.are_allowed();
        let attempts = attempts.latest_first(&self.cluster).into_iter().cloned().collect();
        let runs = self.runs.latest_first(&self.cluster);
        let remedies = self.cluster.remedies(&diagnosis, &runs, attempts, are_allowed);
        remedies.ok_or(Refusal::UnknownDiagnosis(diagnosis))
    }

    /// Takes it on that the Pods of the answer have ended, for the run and for the remedies.
    fn take_on(&mut self, run: &RunId, step: StepId, answer: &TakenOn, by: String) -> Answered<()> {
        let accepted = self.runs.take_on(run, step, answer, by, &self.cluster)?;
        if accepted.is_ok() {
            self.cluster.answer_for(&answer.pods);
            let (attempts, writer) = self.runs.attempts_mut();
            attempts.take_on(&answer.pods, &mut self.cluster, writer);
        }
        Ok(accepted)
    }

    /// Makes a plan, unless it could not be started.
    fn make_plan(&mut self, unit: &UnitId, choices: &Choices) -> Result<Arc<Plan>, Refusal> {
        self.runs.check_writable()?;
        let unplanned = self.runs.unplanned(unit, choices, &mut self.cluster)?;
        let plan = self.plans.make(unit, choices, unplanned.as_ref(), &mut self.cluster)?;
        self.runs.check_plan(&plan, &self.cluster)?;
        Ok(plan)
    }

    /// A plan that is kept, or the plan of a run.
    fn read_plan(&self, id: &PlanId) -> Result<Arc<Plan>, Refusal> {
        let plan = self.plans.get(id).or_else(|| self.runs.plan(id, &self.cluster));
        plan.cloned().ok_or_else(|| Refusal::UnknownPlan(id.clone()))
    }

    fn start(&mut self, start: &Start) -> Answered<RunId> {
        match self.read_plan(&start.plan) {
            Ok(plan) => self.runs.start(start, plan, &mut self.cluster, &self.chance),
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

/// Sends a reply. If the caller is gone, nobody needs it.
fn send_reply<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

#[cfg(test)]
mod tests;
