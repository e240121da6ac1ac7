//! The messages to the hub, and the answers that are made for them alone.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use teardown::{
    action::{Action, Outcome},
    advice::Standpoint,
    demo::Demo,
    diagnosis::{KubeletAnswer, KubeletProblem, KubeletSubject},
    message::{DiagnosisCard, FeedEntry, Message, Revision, Topic},
    object::{ObjectRef, Uid},
    observation::Observation,
    plan::{Choices, Plan, PlanId, StepId},
    preflight::{Answer, PreflightView, QuestionId, Unasked},
    remedy::{Attempt, AttemptOutcome, Basis, Confirmation, PutBack, Remedy},
    run::{RunCommand, RunId},
    tally::Tally,
    unit::UnitId,
};
use tokio::{sync::oneshot, time::Instant};

use super::{DeliveryStatus, JournalStatus, NotKept, Refusal, Start, TakenOn, frame::Subscription};

/// The messages to the hub.
#[derive(Debug)]
pub enum Incoming {
    /// Observations of the watches, in order.
    Observed(Vec<Observation>),
    /// The cluster is simulated, and this is the state of the simulation.
    Demo(Demo),
    /// The state of the notifications has changed.
    Delivery(DeliveryStatus),
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
        /// The number of the preflight, as in [`PreflightRequest`](super::PreflightRequest).
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
    /// The request of a remedy is about to leave, or was accepted.
    RemedyLooked {
        /// The facts on which the remedy rests.
        basis: Arc<Basis>,
        /// Whether the request was accepted.
        is_sent: bool,
        /// The channel for the reply: an object that is not as it was when the person confirmed the remedy.
        reply: oneshot::Sender<Option<ObjectRef>>,
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
    /// A reader requests the state of the notifications.
    ReadDelivery {
        /// The channel for the reply.
        reply: oneshot::Sender<DeliveryStatus>,
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
    /// The time for the diagnoses.
    pub diagnosis_time: DiagnosisTime,
}

/// The time that the hub has spent on diagnoses since it started. While it makes them, runs and readers wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiagnosisTime {
    /// The number of times that all of them were made again.
    pub rounds: u64,
    /// The time for all rounds together, with the edges and units that they need.
    pub took: Duration,
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
