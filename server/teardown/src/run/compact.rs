//! Shortens the journal of a run that has ended to the events that its outcome rests on: who did what, and per step its deletion
//! phases, its end and the proof. Reads, retries and states that passed are left out; consecutive refusals become one event
//! with their count.
//!
//! # Decisions
//! - The shorter journal has the same events in the same order, so it needs no format of its own, and a restart reads it as any
//!   other.
//! - It is replayed before it is used. Where it does not lead to the same outcome, the run keeps its whole journal.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use super::{Call, Progress, Run, RunEvent, RunId, StepProblem};
use crate::plan::{Plan, StepId};

/// An event of a journal, with its time.
pub type Recorded = (Timestamp, RunEvent);

/// The shorter journal of a run that has ended; `None` if it would not be shorter, or not lead to the same outcome.
pub fn compact(id: &RunId, plan: &Arc<Plan>, journal: &[Recorded]) -> Option<Vec<Recorded>> {
    let mut whole = Run::new(id.clone(), plan.clone());
    let mut last = HashMap::new();
    let mut counted = HashMap::new();
    for (number, (at, event)) in journal.iter().enumerate() {
        whole.apply(*at, event).ok()?;
        let Some(step) = event.step() else { continue };
        last.insert(step, number);
        // The last of consecutive refusals knows their number.
        let refused = whole.progress(step).and_then(|it| it.hold.problem.clone());
        if let (RunEvent::Postponed { .. } | RunEvent::RefusedAgain { .. }, Some(problem)) =
            (event, refused.filter(|it| matches!(it, StepProblem::Refused { .. })))
        {
            let first = match (event, counted.get(&step)) {
                (RunEvent::RefusedAgain { .. }, Some((first, _))) => *first,
                _ => number,
            };
            counted.insert(step, (first, problem));
        }
    }
    if !whole.state().is_ended() {
        return None;
    }
    let mut shorter = Shorter {
        run: Run::new(id.clone(), plan.clone()),
        events: Vec::new(),
        calls: HashMap::new(),
    };
    for (number, (at, event)) in journal.iter().enumerate() {
        let step = event.step();
        let is_last = step.is_some_and(|step| last.get(&step) == Some(&number));
        let refusals = step.and_then(|step| counted.get(&step));
        let refusals = refusals.filter(|(first, _)| *first == number).map(|(_, it)| it.clone());
        if let RunEvent::CallStarted { step, .. } | RunEvent::SuspendStarted { step, .. } = event {
            shorter.calls.insert(*step, (*at, event.clone()));
        }
        match (event, refusals) {
            (
                RunEvent::Postponed { step, until, effect_unknown, .. },
                Some(problem @ StepProblem::Refused { .. }),
            ) => {
                let (step, until, effect_unknown) = (*step, *until, *effect_unknown);
                let event = RunEvent::Postponed { step, until, effect_unknown, problem };
                shorter.keep(*at, &event)?;
            }
            _ if is_kept(&whole, *at, event) || is_last && is_state(event) => {
                shorter.keep(*at, event)?;
            }
            _ => {}
        }
    }
    let is_shorter = shorter.events.len() < journal.len();
    (is_shorter && is_same_outcome(&whole, &shorter.run)).then_some(shorter.events)
}

struct Shorter {
    run: Run,
    events: Vec<Recorded>,
    /// The last call of each step.
    calls: HashMap<StepId, Recorded>,
}

impl Shorter {
    /// Keeps an event, and in front of it the call that it answers.
    fn keep(&mut self, at: Timestamp, event: &RunEvent) -> Option<()> {
        if self.take(at, event).is_none() {
            let (asked, call) = self.calls.get(&event.step()?)?.clone();
            self.take(asked, &call)?;
            self.take(at, event)?;
        }
        Some(())
    }

    fn take(&mut self, at: Timestamp, event: &RunEvent) -> Option<()> {
        self.run.apply(at, event).ok()?;
        self.events.push((at, event.clone()));
        Some(())
    }
}

/// Whether an event tells what a person did, or which phase an object reached.
fn is_kept(whole: &Run, at: Timestamp, event: &RunEvent) -> bool {
    match event {
        RunEvent::CallStarted { step, call: Call::Delete } => {
            whole.progress(*step).is_some_and(|it| it.requested == Some(at))
        }
        RunEvent::CallStarted { .. }
        | RunEvent::Postponed { .. }
        | RunEvent::RefusedAgain { .. }
        | RunEvent::NoEffect { .. }
        | RunEvent::Recalled { .. }
        | RunEvent::KeptClaim { .. }
        | RunEvent::BecameUnknown { .. }
        | RunEvent::BecameKnown { .. }
        | RunEvent::Overdue { .. } => false,
        RunEvent::Started { .. }
        | RunEvent::Recovered
        | RunEvent::Paused { .. }
        | RunEvent::Resumed { .. }
        | RunEvent::Stopping { .. }
        | RunEvent::SuspendStarted { .. }
        | RunEvent::Suspended { .. }
        | RunEvent::StaysSuspended { .. }
        | RunEvent::Accepted { .. }
        | RunEvent::Unproven { .. }
        | RunEvent::Terminating { .. }
        | RunEvent::Gone { .. }
        | RunEvent::TakenOn { .. }
        | RunEvent::CameBack { .. }
        | RunEvent::Skipped { .. }
        | RunEvent::DataChecked { .. }
        | RunEvent::Finished
        | RunEvent::Stopped => true,
    }
}

/// Whether an event says how a step stands, which counts if it is the last one. A repeated refusal is in the count of the first.
fn is_state(event: &RunEvent) -> bool {
    !matches!(event, RunEvent::CallStarted { .. } | RunEvent::RefusedAgain { .. })
}

/// Whether a page shows both runs alike, but for the event log.
fn is_same_outcome(a: &Run, b: &Run) -> bool {
    let of_run = |run: &Run| {
        let end = run.event_log().last().map(|entry| (entry.at, entry.event.clone()));
        (run.state, run.by.clone(), run.started, run.ended, run.recovered, run.taken(), end)
    };
    let of_step = |it: &Progress| {
        let of_object = (it.phase, it.end.clone(), it.requested, it.terminating, it.gone, it.proof);
        let of_storage = (it.unconfirmed, it.unproven.clone(), it.taken_on.clone());
        (of_object, of_storage, it.suspension.clone(), it.hold.problem.clone(), it.effect_unknown)
    };
    of_run(a) == of_run(b)
        && a.steps().zip(b.steps()).all(|((_, a), (_, b))| of_step(a) == of_step(b))
}
