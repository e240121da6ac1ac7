//! Reads the claims whose data is kept once more, when nothing else is left for a run to do.
//!
//! # Decisions
//! - Each claim is read by a GET of its own, which the API server answers from its storage. A watch whose connection died shows a
//!   claim as Bound that somebody deleted a moment ago.
//! - The run ends when every claim was read. A read without an answer is made again until there is one: what a person is told at
//!   the end is worth the wait.
//! - A refusal does not end by itself, nor does a claim become readable that the API server cannot decrypt. After a few of these
//!   answers the claim counts as one that could not be read, so that it keeps no run open.
//! - An answer that came long before the end, because another claim was not answered or a step came back, is asked for again.
//! - A paused run ends too, as one without kept data does: a GET changes nothing. A run that is being stopped waits for no second
//!   try.

use jiff::{SignedDuration, Timestamp};

use super::{
    Decision,
    answer::{doubled, wait},
};
use crate::{
    action::{Action, ActionTarget, Outcome},
    api_problem::{ApiProblem, ProblemCode},
    object::{Kind, Uid},
    preflight::is_read_failure,
    run::{ClaimRead, Run, RunEvent, RunState, StepProblem, kept_claims::KeptClaim},
    unknown_reason::UnknownReason,
};

/// The first and the longest delay after a refusal; the delay doubles with each.
const REFUSED: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(5), SignedDuration::from_secs(20));
/// The number of refusals after which a claim counts as one that could not be read.
const MOST_REFUSALS: u32 = 4;
/// The number of reads without an answer after which the next ones are rare, so that the journal of a run that waits stays small.
const MANY_FAILURES: u32 = 20;
const RARELY: SignedDuration = SignedDuration::from_mins(10);
/// The longest `Retry-After` that is followed.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(2);
/// The age of an answer from which on it says nothing about the end of the run.
const OLD: SignedDuration = SignedDuration::from_secs(60);

impl Run {
    /// Ends a run that has nothing else to do, once each claim whose data is kept was read.
    pub(super) fn end(&self, end: RunEvent, now: Timestamp) -> Decision {
        let mut decision = Decision::default();
        let is_open = self.kept_claims.iter().any(|(_, claim)| !self.is_over(claim));
        let is_to_read = |claim: &KeptClaim| {
            if is_open { !self.is_over(claim) } else { self.is_old(claim, now) }
        };
        let unread = self.kept_claims.iter().filter(|(_, claim)| is_to_read(claim));
        let mut is_open = false;
        for (uid, claim) in unread {
            is_open = true;
            if !claim.is_being_read && claim.next.is_none_or(|next| next <= now) {
                let (object, read) = (claim.object.clone(), ClaimRead::Started);
                let target =
                    ActionTarget { kind: claims(), object, uid: uid.clone(), version: None };
                decision.events.push(RunEvent::KeptClaim { claim: uid.clone(), read });
                decision.actions.push(Action::ReadClaim { target });
            }
        }
        if !is_open {
            decision.events.extend(self.data_checked());
            decision.events.push(end);
        }
        decision
    }

    /// Whether a claim need not be read any more.
    fn is_over(&self, claim: &KeptClaim) -> bool {
        let is_given_up = claim.refusals >= MOST_REFUSALS
            || self.state == RunState::Stopping && claim.failures > 0;
        claim.bound.is_some() || is_given_up && !claim.is_being_read
    }

    fn is_old(&self, claim: &KeptClaim, now: Timestamp) -> bool {
        let age = claim.read_at.map(|at| now.duration_since(at));
        self.state != RunState::Stopping
            && claim.bound == Some(true)
            && age.is_some_and(|age| age > OLD)
    }

    /// The event that says whether the claims that somebody chose to keep, and that were bound when the plan was made, are bound
    /// now; none if no data was to be kept.
    fn data_checked(&self) -> Option<RunEvent> {
        let with = |bound: Option<bool>| {
            self.kept_claims.iter().map(|(_, claim)| claim).filter(move |it| it.bound == bound)
        };
        let named = |bound: Option<bool>| {
            let mut named: Vec<_> = with(bound).map(|claim| claim.object.clone()).collect();
            named.sort();
            named
        };
        self.kept_claims.is_chosen.then(|| RunEvent::DataChecked {
            bound: with(Some(true)).count(),
            lost: named(Some(false)),
            unknown: named(None),
        })
    }

    /// The event that follows from the answer to the read of a claim.
    pub(super) fn claim_read(
        &self,
        target: &ActionTarget,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Decision {
        let claim = self.kept_claims.get(&target.uid).filter(|claim| claim.is_being_read);
        // The answer may belong to a read before a restart.
        let Some(claim) = claim else { return Decision::default() };
        let read = answered(&target.uid, claim, outcome, now);
        Decision::event(RunEvent::KeptClaim { claim: target.uid.clone(), read })
    }
}

fn answered(uid: &Uid, claim: &KeptClaim, outcome: &Outcome, now: Timestamp) -> ClaimRead {
    let failed = |after: SignedDuration, problem: StepProblem| ClaimRead::Failed {
        until: now.checked_add(after).unwrap_or(now),
        problem,
    };
    let attempts = claim.failures + 1;
    let again = |after: Option<SignedDuration>| match attempts {
        ..MANY_FAILURES => wait(after.map(|after| after.min(LONGEST_WAIT)), attempts, false),
        _ => RARELY,
    };
    let refused = |code: u16, message: ApiProblem| {
        let problem = StepProblem::Refused { code, message, refusals: None };
        failed(doubled(REFUSED, claim.refusals), problem)
    };
    let retrying = |after: Option<SignedDuration>, message: ApiProblem| match &message {
        ApiProblem::Quoted(said) if is_read_failure(said) => refused(500, message),
        _ => failed(again(after), StepProblem::Retrying { attempts, message }),
    };
    let unknown = |message: ApiProblem| {
        let reason = UnknownReason::Inconclusive { message };
        failed(again(None), StepProblem::Unknown { reason })
    };
    match outcome {
        Outcome::Claim { phase, terminating } => {
            let is_bound = phase.as_deref() == Some("Bound") && !terminating;
            if is_bound { ClaimRead::Bound } else { ClaimRead::Lost }
        }
        Outcome::NotFound => ClaimRead::Lost,
        Outcome::OtherUid { uid: other } if other.as_ref() != Some(uid) => ClaimRead::Lost,
        Outcome::Recalled => ClaimRead::Recalled,
        Outcome::Refused { code, message } => refused(*code, message.clone()),
        Outcome::Throttled { after } => {
            retrying(*after, ProblemCode::Status { code: 429, said: String::new() }.into())
        }
        Outcome::Unanswered { message, after } => retrying(*after, message.clone()),
        Outcome::Changed { message } | Outcome::Unknown { message } => unknown(message.clone()),
        // No read of a claim has these outcomes.
        Outcome::OtherUid { .. }
        | Outcome::Accepted
        | Outcome::Suspended
        | Outcome::Present { .. }
        | Outcome::Pods(_)
        | Outcome::Content { .. }
        | Outcome::Unlisted { .. } => unknown(ProblemCode::NotAnApiServer.into()),
    }
}

/// The kind of claims.
fn claims() -> Kind {
    Kind {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        version: "v1".into(),
        plural: "persistentvolumeclaims".into(),
        namespaced: true,
    }
}
