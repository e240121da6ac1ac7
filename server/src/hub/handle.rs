//! The hub's handle for other tasks.

use std::sync::Arc;

use jiff::Timestamp;
use teardown::{
    diagnosis::KubeletAnswer,
    message::{FeedEntry, Message, Revision, Topic},
    plan::{Choices, Plan, PlanId, StepId},
    preflight::PreflightView,
    remedy::{Attempt, Confirmation, PutBack},
    run::{RunCommand, RunId},
    unit::UnitId,
};
use tokio::sync::{mpsc, oneshot};

use super::{
    DeliveryStatus, JournalStatus, Refusal, Start, TakenOn,
    frame::Subscription,
    incoming::{Incoming, Reading, Remedies},
};

/// The hub has ended, and the process is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is shutting down")]
pub struct HubClosed;

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

    /// Says that the state of the notifications has changed.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn note_delivery(&self, status: DeliveryStatus) -> Result<(), HubClosed> {
        self.mailbox.send(Incoming::Delivery(status)).await.map_err(|_| HubClosed)
    }

    /// The state of the notifications.
    ///
    /// # Errors
    /// [`HubClosed`] if the process is ending.
    pub async fn delivery(&self) -> Result<DeliveryStatus, HubClosed> {
        self.request(|reply| Incoming::ReadDelivery { reply }).await
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
