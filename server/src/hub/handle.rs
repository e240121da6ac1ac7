//! The hub's mailbox and the handle that everybody else holds of it.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use teardown::{
    action::{Action, Outcome},
    message::{FeedEntry, Message, Revision, Topic},
    object::ObjectRef,
    observation::Observation,
    plan::{Difference, Plan, PlanError, PlanId, StepId},
    run::RunId,
    unit::UnitId,
    unknown_reason::UnknownReason,
};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Everything that can reach the hub.
#[derive(Debug)]
pub enum Incoming {
    /// What the watches saw, in order.
    Observed(Vec<Observation>),
    /// What came of a call.
    CallCompleted {
        /// The run that asked for it.
        run: RunId,
        /// The call.
        action: Action,
        /// What came of it.
        outcome: Outcome,
    },
    /// Somebody wants to follow a topic.
    Subscribe {
        /// Which.
        topic: Topic,
        /// The revision the reader already has.
        after: Option<Revision>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Subscription, Refusal>>,
    },
    /// Somebody wants to see a topic once.
    Query {
        /// Which.
        topic: Topic,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Message, Refusal>>,
    },
    /// Somebody wants to know the time.
    Time {
        /// Where the answer goes.
        reply: oneshot::Sender<Timestamp>,
    },
    /// Somebody wants a plan.
    MakePlan {
        /// For this unit.
        unit: UnitId,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Arc<Plan>, Refusal>>,
    },
    /// Somebody wants to read a plan.
    ReadPlan {
        /// Which.
        plan: PlanId,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Arc<Plan>, Refusal>>,
    },
    /// Somebody wants to read all that a run's feed tells.
    ReadEventLog {
        /// Which run's.
        run: RunId,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Vec<FeedEntry>, Refusal>>,
    },
    /// Somebody starts a run.
    Start {
        /// What they confirmed.
        start: Start,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<RunId, Refusal>>,
    },
    /// Somebody steers a run.
    Steer {
        /// Which.
        run: RunId,
        /// How.
        steer: Steer,
        /// Who.
        by: String,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
}

/// What a person confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The plan.
    pub plan: PlanId,
    /// Its hash, as it was shown.
    pub hash: String,
    /// The unit's name, as it was typed.
    pub confirm: String,
    /// Who.
    pub by: String,
}

/// How a run is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Steer {
    /// Send nothing until resumed.
    Pause,
    /// Go on.
    Resume,
    /// Send nothing any more.
    Stop,
    /// Leave one step out, and everything behind it: what may not go before it may not go while it stays.
    Skip(StepId),
}

/// Why the hub did not do as asked; each is something a person can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No unit of that name is known.
    UnknownUnit(UnitId),
    /// No plan of that id is known.
    UnknownPlan(PlanId),
    /// No run of that id is known.
    UnknownRun(RunId),
    /// The run has no such step.
    UnknownStep(StepId),
    /// The first lists of the cluster are not complete yet.
    NotReady,
    /// No plan can be made.
    Unplannable(PlanError),
    /// The cluster has moved since the plan was made.
    Stale(Vec<Difference>),
    /// The Pods of one of the plan's namespaces cannot be seen; why.
    PodsHidden(UnknownReason),
    /// The hash is not the plan's.
    WrongHash,
    /// The typed name is not the unit's.
    WrongName,
    /// A run of an overlapping plan is open; the object it already holds.
    Overlap {
        /// The open run.
        run: RunId,
        /// One of the objects both would touch.
        object: ObjectRef,
    },
    /// The run is over.
    Ended,
    /// The step is past the point where it could be left out.
    TooLate(StepId),
    /// The journal cannot be written, so nothing may be done.
    Journal(String),
}

/// The hub has ended; the process is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is shutting down")]
pub struct HubClosed;

/// A call the hub asks for.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The run it is for.
    pub run: RunId,
    /// The call.
    pub action: Action,
    /// Cancelled once the run is paused or stopped: a call that has not left by then does not leave.
    pub recall: CancellationToken,
}

/// A message as it goes out: serialised once, shared by all readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The revision a reader is at after it.
    pub revision: Revision,
    /// Which of the two messages it is.
    pub kind: FrameKind,
    /// The message as JSON.
    pub json: Arc<str>,
}

/// Which message a frame holds; the name of the server-sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// `snapshot`
    Snapshot,
    /// `delta`
    Delta,
}

/// What a reader gets: first what brings them up to date, then what comes after it, without a seam. A receiver that
/// fell behind subscribes again.
#[derive(Debug)]
pub struct Subscription {
    /// A snapshot, or the deltas since the revision the reader named; empty where they missed nothing.
    pub first: Vec<Frame>,
    /// The deltas after those.
    pub rest: broadcast::Receiver<Frame>,
}

/// A handle of the hub.
#[derive(Clone, Debug)]
pub struct HubHandle {
    mailbox: mpsc::Sender<Incoming>,
}

impl HubHandle {
    /// A handle that sends into this mailbox.
    pub fn new(mailbox: mpsc::Sender<Incoming>) -> Self {
        Self { mailbox }
    }

    /// Follows a topic.
    ///
    /// # Errors
    /// [`Refusal`] where the topic does not exist, [`HubClosed`] when the process ends.
    pub async fn subscribe(
        &self,
        topic: Topic,
        after: Option<Revision>,
    ) -> Result<Result<Subscription, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::Subscribe { topic, after, reply }).await
    }

    /// Reads a topic once: always a snapshot.
    ///
    /// # Errors
    /// As [`HubHandle::subscribe`].
    pub async fn query(&self, topic: Topic) -> Result<Result<Message, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::Query { topic, reply }).await
    }

    /// The cluster's time, as far as it is known: what every age is reckoned from.
    ///
    /// # Errors
    /// [`HubClosed`] when the process ends.
    pub async fn time(&self) -> Result<Timestamp, HubClosed> {
        self.ask(|reply| Incoming::Time { reply }).await
    }

    /// Makes a plan of a unit as it is now.
    ///
    /// # Errors
    /// [`Refusal`] where none can be made, [`HubClosed`] when the process ends.
    pub async fn make_plan(&self, unit: UnitId) -> Result<Result<Arc<Plan>, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::MakePlan { unit, reply }).await
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`Refusal::UnknownPlan`], [`HubClosed`] when the process ends.
    pub async fn plan(&self, plan: PlanId) -> Result<Result<Arc<Plan>, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::ReadPlan { plan, reply }).await
    }

    /// Reads a run's feed from its first line: a topic holds the last lines alone.
    ///
    /// # Errors
    /// [`Refusal::UnknownRun`], [`Refusal::NotReady`], [`HubClosed`] when the process ends.
    pub async fn feed(&self, run: RunId) -> Result<Result<Vec<FeedEntry>, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::ReadEventLog { run, reply }).await
    }

    /// Starts a run of a plan, if its premise still holds.
    ///
    /// # Errors
    /// [`Refusal`] where it may not start, [`HubClosed`] when the process ends.
    pub async fn start(&self, start: Start) -> Result<Result<RunId, Refusal>, HubClosed> {
        self.ask(|reply| Incoming::Start { start, reply }).await
    }

    /// Pauses, resumes or stops a run, or leaves out one of its steps.
    ///
    /// # Errors
    /// [`Refusal`] where it cannot be done, [`HubClosed`] when the process ends.
    pub async fn steer(
        &self,
        run: RunId,
        steer: Steer,
        by: String,
    ) -> Result<Result<(), Refusal>, HubClosed> {
        self.ask(|reply| Incoming::Steer { run, steer, by, reply }).await
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Incoming,
    ) -> Result<T, HubClosed> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(message(reply)).await.map_err(|_| HubClosed)?;
        answer.await.map_err(|_| HubClosed)
    }
}
