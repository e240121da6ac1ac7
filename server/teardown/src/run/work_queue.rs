//! The steps that the next look of a run concerns, like the work queue of a controller: what one event changes is looked at, and
//! not every step.
//!
//! # Decisions
//! - Each look at a step says what the step waits for ([`Wait`]). Whatever is not known to be narrow counts as anything, and the
//!   step is then in every look. These are the steps that are held, and those that only wait for the cluster; most steps of a
//!   large run wait for one another, or for the end of a deletion.
//! - A step that waits for several others waits for the first of them. When that is gone, the look finds the next one.
//! - A step for which something was decided stays in the queue until an event of it is applied: the journal may not take it now.
//! - A few changes concern any number of steps, and then all are looked at: a person's command, an object that came back, a parent
//!   that declares others, an object whose end nobody confirmed, a list, a kind that was hidden, a clock that was set back.
//! - With debug assertions, as in every test, each look is compared with a look at all steps.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fmt, mem,
    ops::Bound,
};

use jiff::Timestamp;

use super::{Run, RunEvent};
use crate::{
    bookmark::Bookmark,
    declaration::is_parent,
    index::{Change, Index},
    object::Object,
    plan::{Plan, Step, StepId},
};

/// The event that has to come before the next look at a step may decide something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Its object changes, another one gets its name, or one of its times comes.
    Object,
    /// The same, or the object of this step is gone.
    Step(StepId),
    /// Anything.
    Anything,
}

/// The steps that the next look concerns. A look takes them although it changes nothing of the run: they can always be found
/// again, by a look at all steps.
#[derive(Clone, Default)]
pub(super) struct WorkQueue(RefCell<Queue>);

#[derive(Clone, Default)]
struct Queue {
    /// `None` stands for all of them.
    next: Option<BTreeSet<StepId>>,
    /// Pairs of a step and one that waits for it.
    behind: BTreeSet<(StepId, StepId)>,
    /// The times at which steps that are not in the queue come into it.
    times: BTreeSet<(Timestamp, StepId)>,
    /// The same by step.
    times_of: HashMap<StepId, Vec<Timestamp>>,
    /// The changes of the index that were taken into account.
    bookmark: Bookmark,
    /// The changes of the usual durations of deletions that were taken into account: with them change the times at which a step
    /// is late.
    durations: u64,
    /// The time of the last look.
    looked: Option<Timestamp>,
}

/// It is no part of a run's state: that of a run that was replayed is another.
impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkQueue")
    }
}

impl WorkQueue {
    /// Adds all steps.
    pub(super) fn add_all(&mut self) {
        self.0.get_mut().add_all();
    }

    /// Adds the steps that an event of the run concerns.
    pub(super) fn follow(&mut self, event: &RunEvent, plan: &Plan) {
        let queue = self.0.get_mut();
        match event {
            RunEvent::Started { .. }
            | RunEvent::Recovered
            | RunEvent::Paused { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::Stopping { .. }
            | RunEvent::SuspendStarted { .. }
            | RunEvent::Suspended { .. }
            | RunEvent::StaysSuspended { .. }
            | RunEvent::Gone { unconfirmed: true, .. }
            | RunEvent::TakenOn { .. }
            | RunEvent::CameBack { .. }
            | RunEvent::Skipped { .. } => queue.add_all(),
            RunEvent::Gone { step, .. } => {
                queue.add(*step);
                queue.add_behind(*step);
            }
            RunEvent::CallStarted { step, .. }
            | RunEvent::Accepted { step }
            | RunEvent::Postponed { step, .. }
            | RunEvent::RefusedAgain { step, .. }
            | RunEvent::NoEffect { step }
            | RunEvent::Recalled { step }
            | RunEvent::Unproven { step, .. }
            | RunEvent::BecameUnknown { step, .. }
            | RunEvent::BecameKnown { step }
            | RunEvent::Terminating { step, .. }
            | RunEvent::Overdue { step, .. } => {
                // Objects that a parent declares wait for more than its end.
                if plan.step(*step).is_some_and(Step::is_parent) {
                    queue.add_all();
                } else {
                    queue.add(*step);
                }
            }
            // No step reads them.
            RunEvent::KeptClaim { .. }
            | RunEvent::DataChecked { .. }
            | RunEvent::Finished
            | RunEvent::Stopped => {}
        }
    }
}

impl Queue {
    fn add_all(&mut self) {
        let (bookmark, durations) = (mem::take(&mut self.bookmark), self.durations);
        *self = Self { bookmark, durations, ..Self::default() };
    }

    fn add(&mut self, step: StepId) {
        let Some(next) = &mut self.next else { return };
        next.insert(step);
        for at in self.times_of.remove(&step).into_iter().flatten() {
            self.times.remove(&(at, step));
        }
    }

    fn add_behind(&mut self, first: StepId) {
        let pairs = (first, StepId(0))..=(first, StepId(u32::MAX));
        let waiting: Vec<(StepId, StepId)> = self.behind.range(pairs).copied().collect();
        for pair in waiting {
            self.behind.remove(&pair);
            self.add(pair.1);
        }
    }

    /// Adds the steps that the latest changes of the index concern.
    fn add_changed(&mut self, run: &Run, index: &Index) {
        match index.changed_since(&self.bookmark) {
            Some(mut changed) if self.next.is_some() => {
                let concerns_all = changed.any(|Change { object, .. }| {
                    run.steps_about(object).for_each(|step| self.add(step));
                    is_parent(&object.kind)
                });
                if concerns_all {
                    self.add_all();
                }
            }
            _ => self.add_all(),
        }
        self.bookmark = index.bookmark();
        if self.durations != index.duration_changes() {
            self.durations = index.duration_changes();
            let timed: Vec<StepId> = self.times_of.keys().copied().collect();
            timed.into_iter().for_each(|step| self.add(step));
        }
    }

    /// Adds the steps whose times have come.
    fn add_due(&mut self, now: Timestamp) {
        if self.looked.is_none_or(|looked| now < looked) {
            self.add_all();
        }
        self.looked = Some(now);
        while let Some((_, step)) = self.times.first().filter(|(at, _)| *at <= now).copied() {
            self.add(step);
        }
    }

    /// Takes out a step that was looked at, unless it may wait for anything.
    fn wait(&mut self, step: StepId, wait: Wait, times: Vec<Timestamp>) {
        let next = self.next.get_or_insert_default();
        if wait == Wait::Anything {
            next.insert(step);
            return;
        }
        next.remove(&step);
        if let Wait::Step(first) = wait {
            self.behind.insert((first, step));
        }
        self.times.extend(times.iter().map(|at| (*at, step)));
        if !times.is_empty() {
            self.times_of.insert(step, times);
        }
    }
}

impl Run {
    /// The steps that a look concerns at this time, in their order.
    pub(super) fn due_steps(&self, index: &Index, now: Timestamp) -> Vec<StepId> {
        let queue = &mut *self.queue.0.borrow_mut();
        queue.add_changed(self, index);
        queue.add_due(now);
        match &queue.next {
            Some(next) => next.iter().copied().collect(),
            None => self.plan.steps.iter().map(|step| step.id).collect(),
        }
    }

    /// Notes what the steps that were looked at wait for.
    pub(super) fn note_waits(&self, waits: Vec<(StepId, Wait)>, index: &Index, now: Timestamp) {
        let queue = &mut *self.queue.0.borrow_mut();
        for (step, wait) in waits {
            let times = self.times_of(index, step).filter(|at| *at > now).collect();
            queue.wait(step, wait, times);
        }
    }

    /// The next time, after now, at which the passing of time alone may lead to an event of a step.
    pub(super) fn next_time(&self, index: &Index, now: Timestamp) -> Option<Timestamp> {
        let queue = &*self.queue.0.borrow();
        let later = (Bound::Excluded((now, StepId(u32::MAX))), Bound::Unbounded);
        let waiting = queue.times.range(later).next().map(|(at, _)| *at);
        let first = |steps: &mut dyn Iterator<Item = StepId>| {
            steps.flat_map(|step| self.times_of(index, step)).filter(|at| *at > now).min()
        };
        let of_all = || first(&mut self.plan.steps.iter().map(|step| step.id));
        let next = match &queue.next {
            Some(next) if queue.durations == index.duration_changes() => {
                first(&mut next.iter().copied()).into_iter().chain(waiting).min()
            }
            _ => of_all(),
        };
        debug_assert_eq!(
            next,
            of_all(),
            "the times of a step changed while it was not in the queue"
        );
        next
    }

    /// The steps that a change of an object concerns: its own, and the one whose name it has.
    fn steps_about(&self, object: &Object) -> impl Iterator<Item = StepId> {
        let own = self.step_of(&object.uid);
        own.into_iter().chain(self.names.get(&object.reference()).copied())
    }
}
