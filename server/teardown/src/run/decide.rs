//! What a run does next.

mod free;
mod newcomers;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use self::newcomers::Newcomers;
use super::{Call, Progress, Run, RunEvent, RunState, Stage, Trouble};
use crate::{
    action::{Action, Outcome},
    complaint::Fault,
    doubt::Doubt,
    index::{Index, Presence},
    object::{Deletion, Facts, Object, Uid},
    patience::{Overdue, Patience},
    plan::{Deed, Propagation, Step, StepId},
    relation::{EdgeKind, Rung},
};

/// Between two consistent reads while a Pod nobody planned still uses a claim: doubled with each, from the first to the
/// second; from the first on it is read as soon as none of those Pods is known any more.
const READ_AGAIN: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_secs(30));
/// After a refusal: a person may have given the missing right, or mended the webhook.
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(20);
/// After no answer: doubled with each try, from the first to the second.
const RETRY: (SignedDuration, SignedDuration) =
    (SignedDuration::from_millis(250), SignedDuration::from_secs(30));
/// The longest `Retry-After` that is honoured to the second: who names more does not mean this request.
const PATIENT: SignedDuration = SignedDuration::from_hours(1);
/// The same where a DELETE may have had its effect: nobody can stop the run before that is known.
const ANXIOUS: SignedDuration = SignedDuration::from_mins(2);
/// The most Pods named in one trouble.
const NAMED: usize = 8;

/// What can reach a run.
#[derive(Clone, Debug)]
pub enum Input {
    /// What is known has changed, or time has passed.
    Look,
    /// What came of a call.
    Performed {
        /// The call.
        action: Action,
        /// What came of it.
        outcome: Outcome,
    },
    /// The server was restarted, and the index is complete again.
    Recover,
    /// A person wants no more calls until they say so.
    Pause {
        /// Who.
        by: String,
    },
    /// A person wants it to go on.
    Resume {
        /// Who.
        by: String,
    },
    /// A person wants no more calls.
    Stop {
        /// Who.
        by: String,
    },
    /// A person leaves a step out, and all that may not go while it stays.
    Skip {
        /// Which step.
        step: StepId,
        /// Who.
        by: String,
    },
}

/// Why a person's word changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// The run is over, or about to be.
    #[error("the run is over")]
    Ended,
    /// The plan has no such step.
    #[error("the run has no step {0}")]
    UnknownStep(StepId),
    /// The step is gone, left out already, or its call is on its way; or what it goes with was asked for.
    #[error("step {0} can no longer be left out")]
    TooLate(StepId),
}

/// What happened and what to do: journal the events, apply them, then perform the actions. In that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Turn {
    /// What happened, in order.
    pub events: Vec<RunEvent>,
    /// What to do, in no order.
    pub actions: Vec<Action>,
}

impl Turn {
    /// Whether there is nothing to journal and nothing to do.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.actions.is_empty()
    }

    fn event(event: RunEvent) -> Self {
        Self { events: vec![event], actions: Vec::new() }
    }

    fn ask(&mut self, step: &Step, call: Call, propagation: Propagation) {
        let (id, object) = (step.id, step.object.clone());
        let action = match call {
            Call::ReadPods => {
                Action::ReadPods { step: id, namespace: object.namespace.unwrap_or_default() }
            }
            Call::Read => {
                Action::Read { step: id, kind: step.kind.clone(), object, uid: step.uid.clone() }
            }
            Call::Delete => Action::Delete {
                step: id,
                kind: step.kind.clone(),
                object,
                uid: step.uid.clone(),
                propagation,
            },
        };
        self.events.push(RunEvent::Asked { step: id, call });
        self.actions.push(action);
    }
}

/// What one look at everything shares: the moment, and per workload whether a Pod is left of it.
struct Look<'a> {
    index: &'a Index,
    now: Timestamp,
    childless: HashMap<StepId, Result<bool, Doubt>>,
    /// By namespace: the Pods in it that run or will.
    users: HashMap<Arc<str>, Vec<&'a Object>>,
    /// By owner: what names it.
    owned: Option<HashMap<&'a Uid, Vec<&'a Object>>>,
    newcomers: Option<Newcomers<'a>>,
    turn: Turn,
}

impl Run {
    /// Decides what follows from an input. Changes nothing: the caller journals and applies the events.
    ///
    /// # Errors
    /// [`SteerError`] where a person's word comes too late; every other input has an answer.
    pub fn decide(&self, input: &Input, index: &Index, now: Timestamp) -> Result<Turn, SteerError> {
        if self.state.is_ended() {
            return match input {
                Input::Look | Input::Performed { .. } | Input::Recover => Ok(Turn::default()),
                Input::Pause { .. }
                | Input::Resume { .. }
                | Input::Stop { .. }
                | Input::Skip { .. } => Err(SteerError::Ended),
            };
        }
        match input {
            Input::Look => Ok(self.look(index, now)),
            Input::Performed { action, outcome } => Ok(self.performed(action, outcome, index, now)),
            Input::Recover => Ok(Turn::event(RunEvent::Recovered)),
            Input::Pause { by } => {
                self.steer(RunState::Running, RunEvent::Paused { by: by.clone() })
            }
            Input::Resume { by } => {
                self.steer(RunState::Paused, RunEvent::Resumed { by: by.clone() })
            }
            Input::Stop { .. } if self.state == RunState::Stopping => Ok(Turn::default()),
            Input::Stop { by } => Ok(Turn::event(RunEvent::Stopping { by: by.clone() })),
            Input::Skip { step, by } => self.skip(*step, by, index),
        }
    }

    /// A word that is said twice changes nothing; one to a run that is stopping comes too late.
    fn steer(&self, from: RunState, event: RunEvent) -> Result<Turn, SteerError> {
        match self.state {
            RunState::Stopping => Err(SteerError::Ended),
            state if state == from => Ok(Turn::event(event)),
            _ => Ok(Turn::default()),
        }
    }

    /// Leaves out a step and everything that waits for it: what may not go before it may not go while it stays. A volume
    /// is left out with its claim, which decides over the data.
    fn skip(&self, step: StepId, by: &str, index: &Index) -> Result<Turn, SteerError> {
        let progress = self.progress(step).ok_or(SteerError::UnknownStep(step))?;
        let is_late = progress.is_settled() || matches!(progress.stage, Stage::Asked(_));
        let taken = self.taken();
        let is_collected = |id: StepId| {
            let (Some(step), Some(progress)) = (self.plan.step(id), self.progress(id)) else {
                return false;
            };
            // One that was asked for by itself, and refused, a person may give up.
            let was_never_asked = progress.stage == Stage::Waiting && progress.requested.is_none();
            was_never_asked && step.deed != Deed::Await && taken.contains(&id)
        };
        if is_late || is_collected(step) {
            return Err(SteerError::TooLate(step));
        }
        let mut left_out = vec![step];
        for claim in self.claims_of(step) {
            match self.progress(claim).map(|progress| progress.stage) {
                Some(Stage::Waiting) if !is_collected(claim) => left_out.push(claim),
                Some(Stage::Gone | Stage::Skipped | Stage::CameBack) => {}
                _ => return Err(SteerError::TooLate(step)),
            }
        }
        for (behind, progress) in self.steps() {
            let waits = left_out.iter().any(|step| self.is_behind(behind, *step, index));
            let is_new = !left_out.contains(&behind.id);
            if waits && is_new && progress.stage == Stage::Waiting {
                left_out.push(behind.id);
            }
        }
        let events = left_out
            .into_iter()
            .map(|step| RunEvent::Skipped { step, by: by.to_owned() })
            .collect();
        Ok(Turn { events, actions: Vec::new() })
    }

    /// The claims in front of a volume.
    fn claims_of(&self, volume: StepId) -> impl Iterator<Item = StepId> {
        let step = self.plan.step(volume);
        let blockers = step.into_iter().flat_map(|step| &step.after);
        blockers.filter(|blocker| blocker.edge == EdgeKind::Binds).map(|blocker| blocker.step)
    }

    /// What becomes of what a step's object owns: all is left by the garbage collector where something of it was left out
    /// that nothing else has begun to end.
    fn propagation(&self, step: &Step, index: &Index) -> Propagation {
        let stays = |uid: &Uid| index.get(uid).is_some_and(|object| object.deletion.is_none());
        let owns_what_was_left_out = || {
            self.steps().any(|(it, progress)| {
                progress.stage == Stage::Skipped
                    && it.id != step.id
                    && stays(&it.uid)
                    && index.descends(&it.uid, &step.uid)
            })
        };
        match step.deed {
            Deed::Delete { propagation: Propagation::Orphan } => Propagation::Orphan,
            Deed::Delete { .. } if owns_what_was_left_out() => Propagation::Orphan,
            Deed::Delete { .. } | Deed::Await => Propagation::Background,
        }
    }

    /// When, after now, something may follow from nothing but the passing of time. What lies before was looked at.
    pub fn wake(&self, now: Timestamp) -> Option<Timestamp> {
        if self.state.is_ended() {
            return None;
        }
        self.steps()
            .filter(|(_, progress)| !progress.is_settled())
            .flat_map(|(step, progress)| {
                let again = progress.put_off.as_ref().map(|span| span.end);
                [again, self.overdue_at(step, progress)]
            })
            .flatten()
            .filter(|at| *at > now)
            .min()
    }

    fn overdue_at(&self, step: &Step, progress: &Progress) -> Option<Timestamp> {
        let patience = Patience::of(&step.kind, progress.grace);
        let since =
            progress.terminating.or(progress.requested).or_else(|| self.awaited_since(step))?;
        match progress.overdue {
            Overdue::No => since.checked_add(patience.slow).ok(),
            Overdue::Slow => since.checked_add(patience.stuck).ok(),
            Overdue::Stuck => None,
        }
    }

    /// For a step that only waits for its controller: since when nothing is in front of it.
    fn awaited_since(&self, step: &Step) -> Option<Timestamp> {
        if step.deed != Deed::Await {
            return None;
        }
        let gone = step.after.iter().map(|blocker| self.progress(blocker.step)?.gone);
        let last = gone.collect::<Option<Vec<Timestamp>>>()?.into_iter().max();
        Some(last.unwrap_or(self.started))
    }

    fn look(&self, index: &Index, now: Timestamp) -> Turn {
        let mut look = Look {
            index,
            now,
            childless: HashMap::new(),
            users: HashMap::new(),
            owned: None,
            newcomers: None,
            turn: Turn::default(),
        };
        for (step, progress) in self.steps() {
            self.look_at(step, progress, &mut look);
        }
        let mut turn = look.turn;
        if turn.is_empty() {
            // A DELETE without an answer is one: it may yet have had its effect.
            let is_open = |progress: &Progress| match progress.stage {
                Stage::Asked(_) => true,
                Stage::Waiting => progress.unsure,
                _ => false,
            };
            let on_its_way = self.steps.iter().any(is_open);
            if self.steps.iter().all(Progress::is_settled) {
                turn.events.push(RunEvent::Finished);
            } else if self.state == RunState::Stopping && !on_its_way {
                turn.events.push(RunEvent::Stopped);
            }
        }
        turn
    }

    fn look_at(&self, step: &Step, progress: &Progress, look: &mut Look<'_>) {
        let again = look.index.named(&step.object).filter(|object| object.uid != step.uid);
        match (progress.stage, again) {
            (Stage::Skipped, _) | (Stage::Gone, None) => return,
            // As long as what makes it, or needs it, stays, so does this.
            (Stage::CameBack, Some(_)) => {
                if let Some(by) = self.who_left_out_what_is_in_front(step, look.index) {
                    let by = by.to_owned();
                    look.turn.events.push(RunEvent::Skipped { step: step.id, by });
                }
                return;
            }
            (Stage::CameBack, None) => {
                return look.turn.events.push(RunEvent::Gone { step: step.id });
            }
            (_, Some(object)) => {
                let uid = object.uid.clone();
                return look.turn.events.push(RunEvent::CameBack { step: step.id, uid });
            }
            (_, None) => {}
        }
        match look.index.presence(&step.kind, step.object.namespace.as_deref(), &step.uid) {
            Presence::Gone => look.turn.events.push(RunEvent::Gone { step: step.id }),
            Presence::CannotTell(doubt) => look.doubt(step, progress, doubt),
            Presence::Present(object) => match object.deletion.as_deref() {
                Some(deletion) => look.at_the_going(step, progress, object, *deletion),
                None => self.look_at_the_untouched(step, progress, look),
            },
        }
    }

    /// The object is there, and the watch shows nobody who asked for its end.
    fn look_at_the_untouched(&self, step: &Step, progress: &Progress, look: &mut Look<'_>) {
        if progress.stage == Stage::Requested {
            look.is_seen_again(step, progress);
            // Accepted, and the watch has not shown it: only time can tell whether it will.
            if let Some(since) = progress.requested {
                look.overdue(step, progress, since, &[]);
            }
            return;
        }
        if progress.stage != Stage::Waiting {
            return;
        }
        // Its call was on its way when what is in front of it was left out.
        if let Some(by) = self.who_left_out_what_is_in_front(step, look.index) {
            return look.turn.events.push(RunEvent::Skipped { step: step.id, by: by.to_owned() });
        }
        if is_early(progress, look.index, look.now) {
            return;
        }
        if self.state == RunState::Stopping && progress.unsure {
            return look.turn.ask(step, Call::Read, self.propagation(step, look.index));
        }
        if self.state != RunState::Running {
            return;
        }
        let free = self.is_free(step, look);
        if free.is_ok()
            && progress.attempts == 0
            && matches!(progress.trouble, Some(Trouble::CannotTell { .. }))
        {
            look.turn.events.push(RunEvent::Certain { step: step.id });
        }
        match free {
            Err(doubt) => look.doubt(step, progress, doubt),
            Ok(false) => {}
            Ok(true) if step.deed == Deed::Await => {
                if let Some(since) = self.awaited_since(step) {
                    look.overdue(step, progress, since, &step.finalizers);
                }
            }
            Ok(true) => {
                let call = match (progress.unsure, step.holds_storage) {
                    (true, _) => Call::Read,
                    (false, true) => Call::ReadPods,
                    (false, false) => Call::Delete,
                };
                look.turn.ask(step, call, self.propagation(step, look.index));
            }
        }
    }

    fn who_left_out_what_is_in_front(&self, step: &Step, index: &Index) -> Option<&str> {
        self.steps().find_map(|(first, progress)| {
            let left_out = progress.left_out.as_ref()?;
            self.is_behind(step, first.id, index).then_some(left_out.by.as_str())
        })
    }

    /// Whether a step waits for another one: as one in front of it, as what would make that anew, or as a Pod of a workload
    /// in front of it.
    fn is_behind(&self, behind: &Step, first: StepId, index: &Index) -> bool {
        self.makers(behind.id).contains(&first)
            || behind.after.iter().any(|blocker| {
                let is_pod_of = |workload: &Step| {
                    let pod = self.plan.step(first).and_then(|first| index.get(&first.uid));
                    pod.filter(|pod| matches!(pod.facts, Facts::Pod(_))).is_some_and(|pod| {
                        pod.namespace == workload.object.namespace
                            && index.is_pod_of(
                                &pod.owners,
                                &pod.labels,
                                &workload.uid,
                                workload.pods.as_ref(),
                            )
                    })
                };
                blocker.step == first
                    || blocker.rung == Rung::Childless
                        && self.plan.step(blocker.step).is_some_and(is_pod_of)
            })
    }

    /// The steps a waiting step waits for, in the plan's order: those in front of it that have not reached their rung, the
    /// Pods that are left of what has to have none, and what would make anew what is in front of it.
    pub fn waits_for(&self, step: &Step, index: &Index) -> Vec<StepId> {
        let mut found = BTreeSet::new();
        for blocker in &step.after {
            let gone =
                self.progress(blocker.step).is_some_and(|progress| progress.stage == Stage::Gone);
            let workload = self.plan.step(blocker.step).filter(|_| blocker.rung == Rung::Childless);
            let pods = workload.and_then(|workload| {
                let namespace = workload.object.namespace.as_deref();
                index.pods_of(&workload.uid, namespace, workload.pods.as_ref()).ok()
            });
            let pods: HashSet<&Uid> = pods.iter().flatten().map(|pod| &pod.uid).collect();
            let planned = self.plan.steps.iter().filter(|step| pods.contains(&step.uid));
            let before = found.len();
            found.extend(planned.map(|step| step.id));
            // Of a workload that is gone the Pods say more, where the plan has them.
            if !gone || !pods.is_empty() && found.len() == before {
                found.insert(blocker.step);
            }
        }
        let is_gone =
            |step: &&StepId| self.progress(**step).is_some_and(|it| it.stage == Stage::Gone);
        found.extend(self.makers(step.id).iter().filter(|step| !is_gone(step)));
        found.into_iter().collect()
    }

    fn performed(&self, action: &Action, outcome: &Outcome, index: &Index, now: Timestamp) -> Turn {
        let id = action.step();
        let (Some(step), Some(progress)) = (self.plan.step(id), self.progress(id)) else {
            return Turn::default();
        };
        // The watch was faster than the answer, or the answer is to a call from before a restart.
        let Stage::Asked(call) = progress.stage else { return Turn::default() };
        let postpone = |after: SignedDuration, unsure: bool, trouble: Trouble| {
            let until = now.checked_add(after).unwrap_or(now);
            Turn::event(RunEvent::Postponed { step: id, until, unsure, trouble })
        };
        let attempts = progress.attempts + 1;
        match outcome {
            Outcome::Accepted | Outcome::Present { terminating: true } => {
                Turn::event(RunEvent::Accepted { step: id })
            }
            Outcome::Present { terminating: false } => {
                Turn::event(RunEvent::Untouched { step: id })
            }
            Outcome::NotFound => Turn::event(RunEvent::Gone { step: id }),
            Outcome::Recalled => Turn::event(RunEvent::Recalled { step: id }),
            Outcome::OtherUid { uid: Some(uid) } if *uid != step.uid => {
                Turn::event(RunEvent::CameBack { step: id, uid: uid.clone() })
            }
            // The name is another object's, so this UID is gone; the watch will show whose it is.
            Outcome::OtherUid { .. } => Turn::event(RunEvent::Gone { step: id }),
            Outcome::Refused { code, message } => postpone(
                ASK_AGAIN,
                false,
                Trouble::Refused { code: *code, message: message.clone() },
            ),
            Outcome::Throttled { after } => {
                let message = Fault::Answered { code: 429, said: String::new() }.into();
                let trouble = Trouble::Retrying { attempts, message };
                let unsure = progress.unsure;
                postpone(wait(*after, attempts, unsure), unsure, trouble)
            }
            Outcome::Unanswered { message, after } => {
                let unsure = progress.unsure || call == Call::Delete;
                let trouble = Trouble::Retrying { attempts, message: message.clone() };
                postpone(wait(*after, attempts, unsure), unsure, trouble)
            }
            Outcome::CannotTell { message } => postpone(
                backoff(progress.attempts),
                progress.unsure,
                Trouble::CannotTell { doubt: Doubt::Unclear { message: message.clone() } },
            ),
            Outcome::Pods(pods) => {
                let using = self.in_the_way(step, pods, index);
                if !using.is_empty() {
                    let tries = match &progress.trouble {
                        Some(Trouble::InUse { .. }) => progress.attempts,
                        _ => 0,
                    };
                    let trouble = Trouble::InUse { pods: using };
                    return postpone(doubled(READ_AGAIN, tries), progress.unsure, trouble);
                }
                let mut turn = Turn::default();
                if self.state == RunState::Running {
                    turn.ask(step, Call::Delete, self.propagation(step, index));
                } else {
                    turn.events.push(RunEvent::Untouched { step: id });
                }
                turn
            }
        }
    }
}

impl Look<'_> {
    fn doubt(&mut self, step: &Step, progress: &Progress, doubt: Doubt) {
        let known = matches!(&progress.trouble, Some(Trouble::CannotTell { doubt: before }) if *before == doubt);
        if !known {
            self.turn.events.push(RunEvent::Doubted { step: step.id, doubt });
        }
    }

    /// What was asked for and could not be seen for a while can be seen again.
    fn is_seen_again(&mut self, step: &Step, progress: &Progress) {
        if matches!(progress.trouble, Some(Trouble::CannotTell { .. })) {
            self.turn.events.push(RunEvent::Certain { step: step.id });
        }
    }

    fn at_the_going(
        &mut self,
        step: &Step,
        progress: &Progress,
        object: &Object,
        deletion: Deletion,
    ) {
        let since = deletion.accepted();
        if progress.stage == Stage::Terminating {
            self.is_seen_again(step, progress);
            let finalizers: Vec<String> =
                object.finalizers.iter().map(ToString::to_string).collect();
            self.overdue(step, progress, since, &finalizers);
        } else {
            self.turn.events.push(RunEvent::Terminating {
                step: step.id,
                since,
                grace: deletion.grace,
            });
        }
    }

    fn overdue(
        &mut self,
        step: &Step,
        progress: &Progress,
        since: Timestamp,
        finalizers: &[String],
    ) {
        // Nobody can look: what is not seen to end may have ended.
        if self.index.unreachable().is_some() {
            return;
        }
        let overdue =
            Patience::of(&step.kind, progress.grace).overdue(self.now.duration_since(since));
        if overdue > progress.overdue {
            let (step, stuck, finalizers) =
                (step.id, overdue == Overdue::Stuck, finalizers.to_vec());
            self.turn.events.push(RunEvent::Overdue { step, since, stuck, finalizers });
        }
    }
}

/// For how long to wait after a try, of which there were so many, if its answer asked for patience, or did not.
fn wait(asked: Option<SignedDuration>, attempts: u32, unsure: bool) -> SignedDuration {
    let own = backoff(attempts - 1);
    let most = if unsure { ANXIOUS } else { PATIENT };
    asked.map_or(own, |asked| asked.min(most).max(own))
}

fn backoff(attempts: u32) -> SignedDuration {
    doubled(RETRY, attempts)
}

fn doubled((first, last): (SignedDuration, SignedDuration), tries: u32) -> SignedDuration {
    (first * 2_i32.pow(tries.min(10))).min(last)
}

/// Whether the step is put off. One that waits for Pods is so no longer once none of them is known.
fn is_early(progress: &Progress, index: &Index, now: Timestamp) -> bool {
    let Some(span) = progress.put_off.as_ref().filter(|span| span.contains(&now)) else {
        return false;
    };
    let Some(Trouble::InUse { pods }) = &progress.trouble else { return true };
    now.duration_since(span.start) < READ_AGAIN.0
        || pods.iter().any(|pod| index.named(pod).is_some())
}
