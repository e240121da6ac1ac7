//! The hub's mailbox and its handle for other tasks.

use std::sync::Arc;

use jiff::Timestamp;
use teardown::{
    action::{Action, Outcome},
    advice::Standpoint,
    demo::Demo,
    diagnosis::{KubeletAnswer, KubeletProblem, KubeletSubject},
    message::{DiagnosisCard, FeedEntry, Message, Revision, Topic},
    object::Uid,
    observation::Observation,
    plan::{Choices, Plan, PlanId, StepId},
    preflight::{Answer, PreflightView, Question, QuestionId, Unasked},
    remedy::{Attempt, AttemptOutcome, Confirmation, Premise, PutBack, Remedy, Request},
    run::{RunCommand, RunId},
    tally::Tally,
    unit::UnitId,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{JournalStatus, NotKept, Refusal, Start, TakenOn, frame::Subscription};

/// The messages to the hub.
#[derive(Debug)]
pub enum Incoming {
    /// Observations of the watches, in order.
    Observed(Vec<Observation>),
    /// The cluster is simulated, and this is the state of the simulation.
    Demo(Demo),
    /// A call was completed.
    CallCompleted {
        /// The run that requested it.
        run: RunId,
        /// The call.
        action: Action,
        /// Its outcome.
        outcome: Outcome,
        /// The time of the answer: soon after it, nothing may be decided any more on what a read showed.
        answered: Instant,
    },
    /// A reader follows a topic.
    Subscribe {
        /// The topic.
        topic: Topic,
        /// The revision that the reader already has.
        after: Option<Revision>,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Subscription, Refusal>>,
    },
    /// A reader requests a topic once.
    Query {
        /// The topic.
        topic: Topic,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Message, Refusal>>,
    },
    /// A query for the time.
    Time {
        /// The channel for the reply.
        reply: oneshot::Sender<Timestamp>,
    },
    /// A person requests a plan.
    MakePlan {
        /// The unit.
        unit: UnitId,
        /// The person's choices.
        choices: Choices,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Arc<Plan>, Refusal>>,
    },
    /// A reader requests a plan by its id.
    ReadPlan {
        /// The plan.
        plan: PlanId,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Arc<Plan>, Refusal>>,
    },
    /// A person requests a preflight of a plan.
    StartPreflight {
        /// The plan.
        plan: PlanId,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<PreflightView, Refusal>>,
    },
    /// A reader requests the last preflight of a plan.
    ReadPreflight {
        /// The plan.
        plan: PlanId,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<PreflightView, Refusal>>,
    },
    /// The API server answered a question of a preflight.
    Answered {
        /// The plan.
        plan: PlanId,
        /// The number of the preflight, as in [`PreflightRequest`].
        attempt: u64,
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
    },
    /// No more answers to a preflight come.
    PreflightEnded {
        /// The plan.
        plan: PlanId,
        /// The number of the preflight.
        attempt: u64,
        /// The reason why answers are missing, if some are.
        why: Option<Unasked>,
    },
    /// A reader requests the ways out of a deletion that waits.
    ReadRemedies {
        /// The id of the diagnosis.
        diagnosis: String,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Remedies, Refusal>>,
    },
    /// A person pasted what a kubelet says.
    KubeletPasted {
        /// The id of the diagnosis.
        diagnosis: String,
        /// The facts of the text.
        answer: KubeletAnswer,
        /// The person's name.
        by: String,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// A kubelet was asked.
    KubeletAnswered {
        /// The Pods that it was asked about.
        pods: Vec<Uid>,
        /// The subject that it was asked about.
        subject: KubeletSubject,
        /// The facts that it gave.
        answer: Result<KubeletAnswer, KubeletProblem>,
    },
    /// A person has confirmed a remedy.
    Remedy {
        /// The person's confirmation.
        given: Confirmation,
        /// The person's name.
        by: String,
        /// The channel for the reply: the id of the attempt.
        reply: oneshot::Sender<Result<String, Refusal>>,
    },
    /// A person puts back what a stopped run left suspended.
    PutBack {
        /// The run.
        run: RunId,
        /// The person's name.
        by: String,
        /// The channel for the reply: the ids of the attempts.
        reply: oneshot::Sender<Result<Vec<String>, Refusal>>,
    },
    /// A person makes a parent active again that a run suspended.
    ResumeParent {
        /// The id of the run's request as an attempt.
        attempt: String,
        /// The name of the parent, as the person typed it.
        confirm: String,
        /// The person's name.
        by: String,
        /// The channel for the reply: the id of the new attempt.
        reply: oneshot::Sender<Result<String, Refusal>>,
    },
    /// A person takes back what a remedy switched off.
    UndoRemedy {
        /// The id of the attempt.
        attempt: String,
        /// The name of its object, as the person typed it.
        confirm: String,
        /// The person's name.
        by: String,
        /// The channel for the reply: the id of the new attempt.
        reply: oneshot::Sender<Result<String, Refusal>>,
    },
    /// The request of a remedy has ended.
    RemedyCompleted {
        /// The id of the attempt.
        attempt: String,
        /// The outcome.
        outcome: AttemptOutcome,
    },
    /// The target of a remedy was read in the moment before its request, so that it can be put back.
    RemedyCopied {
        /// The id of the attempt.
        attempt: String,
        /// The target.
        copy: serde_json::Value,
        /// The channel for the reply: the copy is on disk, or the reason why it is not.
        reply: oneshot::Sender<Result<(), NotKept>>,
    },
    /// A reader requests the things that remedies switched off and nobody has put back.
    ReadSwitchedOff {
        /// The channel for the reply.
        reply: oneshot::Sender<Vec<PutBack>>,
    },
    /// A reader requests all remedies that persons had done, the latest first.
    ReadAttempts {
        /// The channel for the reply.
        reply: oneshot::Sender<Vec<Attempt>>,
    },
    /// A reader requests a run's whole event log.
    ReadEventLog {
        /// The run.
        run: RunId,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<Vec<FeedEntry>, Refusal>>,
    },
    /// A scrape requests the counts.
    ReadTally {
        /// The channel for the reply.
        reply: oneshot::Sender<Reading>,
    },
    /// A person starts a run.
    Start {
        /// The person's confirmation.
        start: Start,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<RunId, Refusal>>,
    },
    /// A person gives a run a command.
    Command {
        /// The run.
        run: RunId,
        /// The command.
        command: RunCommand,
        /// The person's name.
        by: String,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// A reader requests the state of the journal.
    ReadJournal {
        /// The channel for the reply.
        reply: oneshot::Sender<JournalStatus>,
    },
    /// A person releases a run that cannot be read.
    Release {
        /// The run.
        run: RunId,
        /// The person's name.
        by: String,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// A person takes it on that no Pod writes to the storage of a step any more.
    TakeOn {
        /// The run.
        run: RunId,
        /// The step.
        step: StepId,
        /// The person's answer.
        answer: TakenOn,
        /// The person's name.
        by: String,
        /// The channel for the reply.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
}

/// The counts for monitoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The counts of the cluster and the runs.
    pub tally: Tally,
    /// The writes of the journal that failed.
    pub journal_failures: u64,
    /// Whether the journal cannot be written now.
    pub is_journal_failing: bool,
    /// The runs that cannot be read and that nobody has released.
    pub set_aside: usize,
}

/// The ways out of a deletion that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedies {
    /// The cluster, and how fresh its state is.
    pub standpoint: Standpoint,
    /// The diagnosis.
    pub card: DiagnosisCard,
    /// The remedies, the least harmful first.
    pub remedies: Vec<Remedy>,
    /// The attempts at them, the latest first.
    pub attempts: Vec<Attempt>,
    /// The things that are switched off in the cluster.
    pub switched_off: Vec<PutBack>,
    /// Whether Unwind does them if a person confirms it.
    pub are_allowed: bool,
}

/// The request of a remedy, with its guards.
#[derive(Clone, Debug)]
pub struct RemedyCall {
    /// The id of the attempt.
    pub attempt: String,
    /// The request.
    pub request: Request,
    /// Everything that must still be so.
    pub premises: Vec<Premise>,
    /// Whether the request may be dry-run first.
    pub is_dry_run_safe: bool,
    /// Whether the target is read whole before, so that it can be put back.
    pub keeps_copy: bool,
    /// Whether the object that the request creates is deleted at once.
    pub deletes_at_once: bool,
}

/// The hub has ended, and the process is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is shutting down")]
pub struct HubClosed;

/// A call that the hub requests.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The run that requested it.
    pub run: RunId,
    /// The call.
    pub action: Action,
    /// The number of steps on the longest path behind the step it is for.
    pub steps_behind: u32,
    /// Cancelled when the run is paused or stopped: a call that was not sent before is not sent any more.
    pub recall: CancellationToken,
}

/// The questions of a preflight for the API server.
#[derive(Clone, Debug)]
pub struct PreflightRequest {
    /// The plan.
    pub plan: PlanId,
    /// The number of the preflight, which comes back with each answer.
    pub attempt: u64,
    /// The questions, in the order in which they are asked.
    pub questions: Vec<Question>,
}

/// A handle to the hub.
#[derive(Clone, Debug)]
pub struct HubHandle {
    mailbox: mpsc::Sender<Incoming>,
}

impl HubHandle {
    /// A handle that sends to this mailbox.
    pub fn new(mailbox: mpsc::Sender<Incoming>) -> Self {
        Self { mailbox }
    }

    /// Follows a topic.
    ///
    /// # Errors
    /// [`Refusal`] if the topic does not exist, [`HubClosed`] if the process is ending.
    pub async fn subscribe(
        &self,
        topic: Topic,
        after: Option<Revision>,
    ) -> Result<Result<Subscription, Refusal>, HubClosed> {
        self.request(|reply| Incoming::Subscribe { topic, after, reply }).await
    }

    /// Reads a topic once; the result is always a snapshot.
    ///
    /// # Errors
    /// As [`HubHandle::subscribe`].
    pub async fn query(&self, topic: Topic) -> Result<Result<Message, Refusal>, HubClosed> {
        self.request(|reply| Incoming::Query { topic, reply }).await
    }

    /// The cluster's time, as far as it is known. Ages are computed from it.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn time(&self) -> Result<Timestamp, HubClosed> {
        self.request(|reply| Incoming::Time { reply }).await
    }

    /// Counts for monitoring.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn reading(&self) -> Result<Reading, HubClosed> {
        self.request(|reply| Incoming::ReadTally { reply }).await
    }

    /// Makes a plan of a unit in its current state, or of the unplanned objects of one of its open runs, with a person's choices.
    ///
    /// # Errors
    /// [`Refusal`] if no plan can be made, [`HubClosed`] if the process is ending.
    pub async fn make_plan(
        &self,
        unit: UnitId,
        choices: Choices,
    ) -> Result<Result<Arc<Plan>, Refusal>, HubClosed> {
        self.request(|reply| Incoming::MakePlan { unit, choices, reply }).await
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`Refusal::UnknownPlan`], [`HubClosed`] if the process is ending.
    pub async fn plan(&self, plan: PlanId) -> Result<Result<Arc<Plan>, Refusal>, HubClosed> {
        self.request(|reply| Incoming::ReadPlan { plan, reply }).await
    }

    /// Starts a preflight of a plan, unless one is running. The notes about the index are there at once.
    ///
    /// # Errors
    /// [`Refusal::UnknownPlan`], [`Refusal::NotReady`], [`HubClosed`] if the process is ending.
    pub async fn start_preflight(
        &self,
        plan: PlanId,
    ) -> Result<Result<PreflightView, Refusal>, HubClosed> {
        self.request(|reply| Incoming::StartPreflight { plan, reply }).await
    }

    /// Reads the last preflight of a plan.
    ///
    /// # Errors
    /// [`Refusal::UnknownPlan`], [`HubClosed`] if the process is ending.
    pub async fn preflight(
        &self,
        plan: PlanId,
    ) -> Result<Result<PreflightView, Refusal>, HubClosed> {
        self.request(|reply| Incoming::ReadPreflight { plan, reply }).await
    }

    /// Reads the ways out of a deletion that waits, by the id of its diagnosis.
    ///
    /// # Errors
    /// [`Refusal::UnknownDiagnosis`], [`HubClosed`] if the process is ending.
    pub async fn remedies(
        &self,
        diagnosis: String,
    ) -> Result<Result<Remedies, Refusal>, HubClosed> {
        self.request(|reply| Incoming::ReadRemedies { diagnosis, reply }).await
    }

    /// Keeps what a person pasted of a kubelet as evidence about a diagnosis, as long as its Pod waits.
    ///
    /// # Errors
    /// [`Refusal::UnknownDiagnosis`] where there is none, or none about which a kubelet says anything; [`HubClosed`] if the
    /// process is ending.
    pub async fn paste_kubelet(
        &self,
        diagnosis: String,
        answer: KubeletAnswer,
        by: String,
    ) -> Result<Result<(), Refusal>, HubClosed> {
        self.request(|reply| Incoming::KubeletPasted { diagnosis, answer, by, reply }).await
    }

    /// Has Unwind do a remedy that a person has confirmed. The reply is the id of the attempt; its outcome follows.
    ///
    /// # Errors
    /// [`Refusal`] if it is not done, [`HubClosed`] if the process is ending.
    pub async fn remedy(
        &self,
        given: Confirmation,
        by: String,
    ) -> Result<Result<String, Refusal>, HubClosed> {
        self.request(|reply| Incoming::Remedy { given, by, reply }).await
    }

    /// Takes back what a remedy switched off.
    ///
    /// # Errors
    /// [`Refusal`] if nothing is to be taken back, [`HubClosed`] if the process is ending.
    pub async fn undo_remedy(
        &self,
        attempt: String,
        confirm: String,
        by: String,
    ) -> Result<Result<String, Refusal>, HubClosed> {
        self.request(|reply| Incoming::UndoRemedy { attempt, confirm, by, reply }).await
    }

    /// Makes a parent active again that a run suspended.
    ///
    /// # Errors
    /// [`Refusal`] if this is no such parent, or it is active again already; [`HubClosed`] if the process is ending.
    pub async fn resume_parent(
        &self,
        attempt: String,
        confirm: String,
        by: String,
    ) -> Result<Result<String, Refusal>, HubClosed> {
        self.request(|reply| Incoming::ResumeParent { attempt, confirm, by, reply }).await
    }

    /// The things that remedies or runs switched off and nobody has put back.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn switched_off(&self) -> Result<Vec<PutBack>, HubClosed> {
        self.request(|reply| Incoming::ReadSwitchedOff { reply }).await
    }

    /// All remedies that persons had done on this cluster, the latest first.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn attempts(&self) -> Result<Vec<Attempt>, HubClosed> {
        self.request(|reply| Incoming::ReadAttempts { reply }).await
    }

    /// Reads a run's event log from its first entry; a topic has only the last entries.
    ///
    /// # Errors
    /// [`Refusal::UnknownRun`], [`Refusal::NotReady`], [`HubClosed`] if the process is ending.
    pub async fn event_log(
        &self,
        run: RunId,
    ) -> Result<Result<Vec<FeedEntry>, Refusal>, HubClosed> {
        self.request(|reply| Incoming::ReadEventLog { run, reply }).await
    }

    /// Starts a run of a plan, provided that the cluster has not changed since.
    ///
    /// # Errors
    /// [`Refusal`] if the run may not start, [`HubClosed`] if the process is ending.
    pub async fn start(&self, start: Start) -> Result<Result<RunId, Refusal>, HubClosed> {
        self.request(|reply| Incoming::Start { start, reply }).await
    }

    /// Gives a run a command.
    ///
    /// # Errors
    /// [`Refusal`] if the command is not possible, [`HubClosed`] if the process is ending.
    pub async fn command(
        &self,
        run: RunId,
        command: RunCommand,
        by: String,
    ) -> Result<Result<(), Refusal>, HubClosed> {
        self.request(|reply| Incoming::Command { run, command, by, reply }).await
    }

    /// The state of the journal.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn journal(&self) -> Result<JournalStatus, HubClosed> {
        self.request(|reply| Incoming::ReadJournal { reply }).await
    }

    /// Releases a run that cannot be read.
    ///
    /// # Errors
    /// [`Refusal`] if no such run is set aside or the journal cannot be written, [`HubClosed`] if the process is ending.
    pub async fn release(&self, run: RunId, by: String) -> Result<Result<(), Refusal>, HubClosed> {
        self.request(|reply| Incoming::Release { run, by, reply }).await
    }

    /// Puts back what a stopped run left suspended. Returns the ids of the attempts.
    ///
    /// # Errors
    /// [`Refusal`] if nothing can be put back, [`HubClosed`] if the process is ending.
    pub async fn put_back(
        &self,
        run: RunId,
        by: String,
    ) -> Result<Result<Vec<String>, Refusal>, HubClosed> {
        self.request(|reply| Incoming::PutBack { run, by, reply }).await
    }

    /// Takes it on that no Pod writes to the storage of a step any more.
    ///
    /// # Errors
    /// [`Refusal`] if the name is another one or the step waits for nothing of the kind or for other Pods, [`HubClosed`] if
    /// the process is ending.
    pub async fn take_on(
        &self,
        run: RunId,
        step: StepId,
        answer: TakenOn,
        by: String,
    ) -> Result<Result<(), Refusal>, HubClosed> {
        self.request(|reply| Incoming::TakeOn { run, step, answer, by, reply }).await
    }

    async fn request<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Incoming,
    ) -> Result<T, HubClosed> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(message(reply)).await.map_err(|_| HubClosed)?;
        answer.await.map_err(|_| HubClosed)
    }
}
