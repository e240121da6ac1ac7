//! The progress of one step of a run.

mod hold;

use jiff::Timestamp;

pub use self::hold::Hold;
use super::{Call, RunEvent, StepProblem};
use crate::{
    deadlines::Overdue,
    proof::Proof,
    relation::DeletionPhase,
    unknown_reason::{UnconfirmedObject, UnknownReason},
};

/// A step's progress. Three facts say how far it is: the object's deletion phase, the call in flight, and why it is held. A
/// step that the run is finished with although its object is there has a fourth.
///
/// ```text
///  phase     Present ────────────────────────► Accepted ──────► Gone
///  call      None ⇄ reads, PATCH, DELETE        none            none
///  hold      refused, in use, no answer …       late            the name belongs to another object
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The deletion phase that its object has reached, as far as the run knows. Whether Pods of a workload are left is asked
    /// of the index, so the run stores [`DeletionPhase::Gone`] for it too.
    pub phase: DeletionPhase,
    /// The call in flight. There is none once a DELETE was accepted.
    pub call: Option<Call>,
    /// The reason why it does not advance.
    pub hold: Hold,
    /// Set when the run is finished with it although its object is not proven gone.
    pub end: Option<StepEnd>,
    /// The time when its DELETE was first sent.
    pub requested: Option<Timestamp>,
    /// Whether the last DELETE that was to be sent was the first.
    is_first_request: bool,
    /// The time since which its object has been terminating.
    pub terminating: Option<Timestamp>,
    /// The grace period of its object, in seconds.
    pub grace: i64,
    /// The time when it was proven gone.
    pub gone: Option<Timestamp>,
    /// The proof that it is gone.
    pub proof: Option<Proof>,
    /// It is gone from the API alone: it is a Pod whose end nobody reported, or lost a finalizer by hand.
    pub unconfirmed: bool,
    /// It is a namespace whose DELETE was sent without proof that it holds none of these kinds.
    pub unproven: Vec<String>,
    /// For a claim, a volume or a namespace: what stood in front of it and is gone from the API alone, as far as any process of
    /// this server saw.
    pub unconfirmed_in_front: Vec<UnconfirmedObject>,
    /// The person who last took it on that nothing of these is left.
    pub taken_on: Option<String>,
    /// A person answered for attachments that are hidden.
    pub detached: bool,
    /// For a parent that the run suspends: what kept it active before.
    pub suspension: Option<Suspension>,
    /// The effect of its DELETE is unknown: a read comes first.
    pub effect_unknown: bool,
}

/// A parent that the run suspends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// The value of the field that kept it active, as JSON.
    pub was: String,
    /// The time when it was asked for.
    pub asked: Timestamp,
    /// The time when the API server accepted it.
    pub since: Option<Timestamp>,
}

/// The ways in which a run is finished with a step whose object is not proven gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// A parent is suspended, and stays.
    Suspended,
    /// A person skipped it. The phase says whether its deletion had been requested, which cannot be undone.
    Skipped {
        /// The person's name.
        by: String,
    },
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            phase: DeletionPhase::Present,
            call: None,
            hold: Hold::default(),
            end: None,
            requested: None,
            is_first_request: false,
            terminating: None,
            grace: 0,
            gone: None,
            proof: None,
            unconfirmed: false,
            unproven: Vec::new(),
            unconfirmed_in_front: Vec::new(),
            taken_on: None,
            detached: false,
            suspension: None,
            effect_unknown: false,
        }
    }

    /// Whether the run is finished with this step.
    pub fn is_settled(&self) -> bool {
        self.end.is_some() || self.is_gone_for_good()
    }

    /// Whether its object is proven gone, nothing else has the name, and nobody skipped it before. One whose name came back is not:
    /// what waits for the name has to wait on.
    pub fn is_gone_for_good(&self) -> bool {
        self.has_left() && self.end.is_none() && !self.has_come_back()
    }

    /// Whether its object is gone and the name belongs to another one, for which the run waits.
    pub fn has_come_back(&self) -> bool {
        self.has_left() && matches!(self.hold.problem, Some(StepProblem::CameBack { .. }))
    }

    /// Whether its object is gone, whatever has the name now.
    pub(super) fn has_left(&self) -> bool {
        self.phase >= DeletionPhase::Gone
    }

    /// Whether its object is not known to be gone, and the run is not finished with it.
    pub(super) fn is_open(&self) -> bool {
        self.end.is_none() && !self.has_left()
    }

    /// Whether no DELETE of it was accepted, and the run is not finished with it.
    pub(super) fn is_present(&self) -> bool {
        self.end.is_none() && self.phase == DeletionPhase::Present
    }

    /// Whether the run may make a call for it: none is in flight, and none has had its effect.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_present() && self.call.is_none()
    }

    /// The person who skipped it.
    pub(super) fn skipped_by(&self) -> Option<&str> {
        match &self.end {
            Some(StepEnd::Skipped { by }) => Some(by),
            Some(StepEnd::Suspended) | None => None,
        }
    }

    /// Whether its deletion was requested, or may have been.
    pub(super) fn was_deletion_requested(&self) -> bool {
        self.phase > DeletionPhase::Present
            || self.call == Some(Call::Delete)
            || self.effect_unknown
    }

    /// The time when the API server accepted the suspension of a parent.
    pub(super) fn suspended(&self) -> Option<Timestamp> {
        self.suspension.as_ref()?.since
    }

    /// Applies a restart of the server. A DELETE in flight may have reached the API server, so a read comes first.
    pub(super) fn recover(&mut self) {
        self.effect_unknown |= self.call.take() == Some(Call::Delete);
    }

    /// Whether the run has to wait for this step before it can stop: a call is in flight, or a DELETE may have had an
    /// effect. The run does not wait for an object that it may not read, because its state stays unknown.
    pub(super) fn prevents_stop(&self) -> bool {
        self.call.is_some()
            || self.is_waiting() && self.effect_unknown && !self.hold.cannot_be_read()
    }

    /// Applies an event about this step.
    pub(super) fn take(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::CallStarted { call, .. } => {
                self.call = Some(*call);
                self.hold.try_again(at);
                if *call == Call::Delete {
                    self.is_first_request = self.requested.is_none();
                    self.requested.get_or_insert(at);
                }
            }
            RunEvent::SuspendStarted { was, .. } => {
                self.call = Some(Call::Suspend);
                self.hold.retry_window = None;
                self.is_first_request = self.suspension.is_none();
                self.suspension = Some(Suspension { was: was.clone(), asked: at, since: None });
            }
            RunEvent::Suspended { .. } => {
                if let Some(suspension) = &mut self.suspension {
                    suspension.since = Some(at);
                }
                self.reach(DeletionPhase::Present);
            }
            RunEvent::Accepted { .. } => self.reach(DeletionPhase::Accepted),
            RunEvent::Postponed { until, effect_unknown, problem, .. } => {
                let had_no_effect = matches!(problem, StepProblem::Refused { .. });
                if self.call.take() == Some(Call::Suspend) && had_no_effect {
                    self.undo_suspension();
                }
                self.effect_unknown = *effect_unknown;
                self.remember(problem);
                self.hold.postpone(problem.clone(), at, *until);
            }
            RunEvent::RefusedAgain { until, message, .. } => {
                if self.call.take() == Some(Call::Suspend) {
                    self.undo_suspension();
                }
                self.hold.refuse_again(message.as_ref(), at, *until);
            }
            RunEvent::Unproven { resources, .. } => self.unproven.clone_from(resources),
            RunEvent::NoEffect { .. } => {
                self.call = None;
                self.effect_unknown = false;
            }
            RunEvent::Recalled { .. } => {
                match self.call.take() {
                    // A recalled DELETE was never sent, so it was not requested, unless an earlier one was.
                    Some(Call::Delete) if self.is_first_request => self.requested = None,
                    Some(Call::Suspend) => self.undo_suspension(),
                    _ => {}
                }
            }
            // An overdue step is reported again once its state is known.
            RunEvent::BecameUnknown { reason, .. } => {
                self.hold.overdue = Overdue::No;
                let problem = StepProblem::Unknown { reason: reason.clone() };
                self.remember(&problem);
                self.hold.problem = Some(problem);
            }
            RunEvent::BecameKnown { .. } => self.hold.problem = None,
            RunEvent::Terminating { since, grace, .. } => {
                self.terminating.get_or_insert(*since);
                self.grace = *grace;
                self.reach(DeletionPhase::Accepted);
            }
            RunEvent::Overdue { since, stuck, finalizers, .. } => {
                self.hold.overdue = if *stuck { Overdue::Stuck } else { Overdue::Slow };
                self.hold.problem =
                    Some(StepProblem::Late { since: *since, finalizers: finalizers.clone() });
            }
            RunEvent::TakenOn { by, pods, .. } => {
                self.taken_on = Some(by.clone());
                self.detached |= pods.is_empty();
                self.calm();
            }
            RunEvent::Gone { proof, unconfirmed, .. } => {
                self.gone = Some(at);
                self.proof = Some(*proof);
                self.unconfirmed = *unconfirmed;
                self.reach(DeletionPhase::Gone);
            }
            RunEvent::StaysSuspended { .. } => {
                self.end = Some(StepEnd::Suspended);
                self.calm();
            }
            RunEvent::CameBack { uid, by, .. } => {
                self.phase = DeletionPhase::Gone;
                self.call = None;
                self.hold.problem =
                    Some(StepProblem::CameBack { uid: uid.clone(), by: by.clone() });
            }
            RunEvent::Skipped { by, .. } => {
                self.end = Some(StepEnd::Skipped { by: by.clone() });
                self.hold = Hold::default();
            }
            RunEvent::Started { .. }
            | RunEvent::Recovered
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::KeptClaim { .. }
            | RunEvent::DataChecked { .. }
            | RunEvent::Finished
            | RunEvent::Stopped => {}
        }
    }

    /// The last PATCH had no effect. Its object is as it was, unless an earlier one had an effect.
    fn undo_suspension(&mut self) {
        if self.is_first_request {
            self.suspension = None;
        }
    }

    /// Keeps objects that nobody confirmed, whatever the next problem is: a process that starts again has not seen them.
    fn remember(&mut self, problem: &StepProblem) {
        let StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } } = problem
        else {
            return;
        };
        for object in objects {
            if self.unconfirmed_in_front.iter().all(|known| known.uid != object.uid) {
                self.unconfirmed_in_front.push(object.clone());
            }
        }
    }

    /// Whether it waits for the next try of a call that was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.is_waiting() && self.hold.refusals().is_some()
    }

    /// Ends every delay: a person wants the next try now, or the cause of a refusal is gone.
    pub(super) fn retry_at_once(&mut self) {
        self.hold.retry_at_once();
    }

    /// The object is seen in this phase: no call is in flight any more, and nothing holds the step.
    fn reach(&mut self, phase: DeletionPhase) {
        self.phase = phase;
        self.call = None;
        self.calm();
    }

    fn calm(&mut self) {
        self.hold = Hold::default();
        self.effect_unknown = false;
    }
}
