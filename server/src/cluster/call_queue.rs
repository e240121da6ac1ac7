//! The queue of calls that wait for the limits of [`super::concurrency`]. It is fair: runs take turns, within a run its targets
//! take turns. Of the calls of one target, the one with the most steps behind it comes first; equal ones keep their
//! order. A target that may start no call is passed over.
//!
//! Urgent calls come before all others, in their own order. Memory is bounded by the queued calls: a run or a target without
//! one is not kept.

use std::{collections::VecDeque, time::Duration};

use teardown::run::RunId;
use tokio::time::Instant;

use super::concurrency::Target;
use crate::hub::CallRequest;

/// A call that has not been sent.
pub(super) struct Queued {
    /// The call.
    pub(super) call: CallRequest,
    /// Its target.
    pub(super) target: Target,
    /// Whether it ignores the number of calls in flight.
    pub(super) is_urgent: bool,
    /// The time when it was queued.
    pub(super) since: Instant,
}

/// The queued calls.
#[derive(Default)]
pub(super) struct CallQueue {
    urgent: VecDeque<Queued>,
    runs: VecDeque<RunQueue>,
}

struct RunQueue {
    run: RunId,
    targets: VecDeque<TargetQueue>,
}

struct TargetQueue {
    target: Target,
    calls: VecDeque<Queued>,
}

impl TargetQueue {
    /// Takes the oldest of the calls with the most steps behind them. The calls themselves stay in the order in which they
    /// came, which [`CallQueue::firsts`] needs.
    fn take_next(&mut self) -> Option<Queued> {
        let steps = self.calls.iter().map(|queued| queued.call.steps_behind);
        // Of equal ones, `max_by_key` takes the last.
        let (place, _) = steps.enumerate().rev().max_by_key(|(_, steps)| *steps)?;
        self.calls.remove(place)
    }
}

impl CallQueue {
    /// Appends a call.
    pub(super) fn push(&mut self, queued: Queued) {
        if queued.is_urgent {
            return self.urgent.push_back(queued);
        }
        let run = match self.runs.iter().position(|it| it.run == queued.call.run) {
            Some(place) => &mut self.runs[place],
            None => {
                let run = queued.call.run.clone();
                self.runs.push_back_mut(RunQueue { run, targets: VecDeque::new() })
            }
        };
        match run.targets.iter_mut().find(|it| it.target == queued.target) {
            Some(target) => target.calls.push_back(queued),
            None => run.targets.push_back(TargetQueue {
                target: queued.target.clone(),
                calls: VecDeque::from([queued]),
            }),
        }
    }

    /// Takes the next call that may start. `wait` is the delay before a call to a target may start, and `None` while its
    /// limit is reached.
    ///
    /// # Errors
    /// The shortest delay after which a call may start, if time alone is missing.
    pub(super) fn pop(
        &mut self,
        wait: impl Fn(&Target, bool) -> Option<Duration>,
    ) -> Result<Queued, Option<Duration>> {
        let mut shortest: Option<Duration> = None;
        let mut is_free = |target: &Target, is_urgent| match wait(target, is_urgent) {
            Some(Duration::ZERO) => true,
            Some(delay) => {
                shortest = Some(shortest.map_or(delay, |shortest| shortest.min(delay)));
                false
            }
            None => false,
        };
        let urgent = self.urgent.iter().position(|queued| is_free(&queued.target, true));
        if let Some(queued) = urgent.and_then(|place| self.urgent.remove(place)) {
            return Ok(queued);
        }
        let found = self.runs.iter().enumerate().find_map(|(run, queue)| {
            let target = queue.targets.iter().position(|it| is_free(&it.target, false))?;
            Some((run, target))
        });
        found.and_then(|(run, target)| self.take(run, target)).ok_or(shortest)
    }

    /// Takes the next call of a target, and lets the run and the target have their next turn last.
    fn take(&mut self, run: usize, target: usize) -> Option<Queued> {
        let mut run = self.runs.remove(run)?;
        let mut target = run.targets.remove(target)?;
        let queued = target.take_next();
        if !target.calls.is_empty() {
            run.targets.push_back(target);
        }
        if !run.targets.is_empty() {
            self.runs.push_back(run);
        }
        queued
    }

    /// Removes every call that was recalled.
    pub(super) fn take_recalled(&mut self) -> Vec<CallRequest> {
        let is_recalled = |queued: &Queued| queued.call.recall.is_cancelled();
        if !self.firsts().any(is_recalled) {
            return Vec::new();
        }
        let mut recalled = Vec::new();
        let mut sort_out = |calls: &mut VecDeque<Queued>| {
            let (out, left): (VecDeque<_>, VecDeque<_>) = calls.drain(..).partition(is_recalled);
            *calls = left;
            recalled.extend(out.into_iter().map(|queued| queued.call));
        };
        sort_out(&mut self.urgent);
        for run in &mut self.runs {
            run.targets.iter_mut().for_each(|target| sort_out(&mut target.calls));
            run.targets.retain(|target| !target.calls.is_empty());
        }
        self.runs.retain(|run| !run.targets.is_empty());
        recalled
    }

    /// Waits until a run recalls its calls. It waits for ever if none is queued.
    pub(super) async fn recalled(&self) {
        let firsts: Vec<_> =
            self.firsts().map(|queued| Box::pin(queued.call.recall.cancelled())).collect();
        if firsts.is_empty() {
            return std::future::pending().await;
        }
        futures::future::select_all(firsts).await;
    }

    /// The urgent calls, and the first call of each run's first target: a run recalls all of its calls at once, and those that
    /// it makes later are behind them.
    fn firsts(&self) -> impl Iterator<Item = &Queued> {
        let of_runs = self.runs.iter().filter_map(|run| run.targets.front()?.calls.front());
        self.urgent.iter().chain(of_runs)
    }
}

#[cfg(test)]
mod tests {
    use teardown::{action::Action, run::RunId};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::cluster::fake;

    fn queued(run: &str, namespace: &str, resource: &str) -> Queued {
        let action = fake::read_pods_action(namespace);
        let recall = CancellationToken::new();
        let call = CallRequest { run: RunId::new(run), action, steps_behind: 0, recall };
        let target = Target::new(resource);
        Queued { call, target, is_urgent: false, since: Instant::now() }
    }

    fn name(queued: Queued) -> String {
        match queued.call.action {
            Action::ReadPods { target, .. } => target.object.namespace.unwrap().to_string(),
            action => panic!("{action:?}"),
        }
    }

    fn queue(calls: &[(&str, &str, &str)]) -> CallQueue {
        let mut queue = CallQueue::default();
        for (run, namespace, resource) in calls {
            queue.push(queued(run, namespace, resource));
        }
        queue
    }

    /// The order of the calls while targets that `wait` names no delay for are passed over.
    fn order(
        queue: &mut CallQueue,
        wait: impl Fn(&Target, bool) -> Option<Duration>,
    ) -> Vec<String> {
        std::iter::from_fn(|| queue.pop(&wait).ok()).map(name).collect()
    }

    const CALLS: [(&str, &str, &str); 7] = [
        ("r1", "a1", "a"),
        ("r1", "a2", "a"),
        ("r1", "a3", "a"),
        ("r1", "b1", "b"),
        ("r2", "c1", "a"),
        ("r2", "c2", "a"),
        ("r2", "c3", "a"),
    ];

    #[test]
    fn runs_take_turns_and_then_their_targets_and_each_target_keeps_its_order() {
        let order = order(&mut queue(&CALLS), |_, _| Some(Duration::ZERO));
        assert_eq!(order, ["a1", "c1", "b1", "c2", "a2", "c3", "a3"]);
    }

    #[test]
    fn call_with_most_steps_behind_it_comes_first() {
        let mut queue = CallQueue::default();
        for (name, steps) in [("a1", 0), ("a2", 3), ("a3", 1), ("a4", 3)] {
            let mut call = queued("r1", name, "a");
            call.call.steps_behind = steps;
            queue.push(call);
        }
        let order = order(&mut queue, |_, _| Some(Duration::ZERO));
        assert_eq!(order, ["a2", "a4", "a3", "a1"]);
    }

    #[test]
    fn target_at_its_limit_is_passed_over() {
        let mut queue = queue(&CALLS);
        let only_b = |target: &Target, _| (*target == Target::new("b")).then_some(Duration::ZERO);
        assert_eq!(order(&mut queue, only_b), ["b1"]);
        assert_eq!(queue.pop(only_b).err(), Some(None), "time alone changes nothing");
        let later = |seconds| move |_: &Target, _| Some(Duration::from_secs(seconds));
        assert_eq!(queue.pop(later(3)).err(), Some(Some(Duration::from_secs(3))));
        let left = order(&mut queue, |_, _| Some(Duration::ZERO));
        assert_eq!(left, ["c1", "a1", "c2", "a2", "c3", "a3"], "the first run had its turn");
        assert!(queue.runs.is_empty(), "no run is kept without a call");
    }

    #[test]
    fn urgent_calls_come_first_in_their_own_order() {
        let mut queue = queue(&CALLS[..1]);
        for namespace in ["u1", "u2"] {
            queue.push(Queued { is_urgent: true, ..queued("r1", namespace, "a") });
        }
        let order = order(&mut queue, |_, is_urgent| is_urgent.then_some(Duration::ZERO));
        assert_eq!(order, ["u1", "u2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn run_recalls_its_own_calls_only() {
        let mut queue = queue(&CALLS[4..]);
        let recall = CancellationToken::new();
        for mut call in CALLS[..4].iter().map(|(run, name, of)| queued(run, name, of)) {
            call.call.recall = recall.clone();
            queue.push(call);
        }
        assert!(queue.take_recalled().is_empty());
        recall.cancel();
        queue.recalled().await;
        assert_eq!(queue.take_recalled().len(), 4);
        let left = order(&mut queue, |_, _| Some(Duration::ZERO));
        assert_eq!(left, ["c1", "c2", "c3"]);
    }
}
