//! The page of a run. Of the cards of its steps, those are made again that may differ from the last time.
//!
//! # Decisions
//! - The cards of a step are made again after an event about it or about a step that it waits for, and after a change of its object.
//!   A step that waits for the Pods of a workload names them, so it follows whatever comes to the workload's namespace, goes from
//!   it, or changes there in more than its status.
//! - After a list, and after an event about the run as a whole, all cards are made again.
//! - A run that has ended decides nothing any more, and what it left open is shown as it is now: those cards are made each time.
//! - A card that is the same as before stays the same value, so that a publication compares few of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use super::{EVENTS, Shown, World, edge_card};
use crate::{
    bookmark::Bookmark,
    index::Change,
    message::{Counts, Membership, Record, State},
    object::{ObjectRef, Uid},
    plan::{Plan, Step, StepId},
    relation::{DeletionPhase, final_phase_of},
    run::{PodsLeft, Run, RunId},
};

/// The time for which a page is kept without a reader.
const LINGER: SignedDuration = SignedDuration::from_mins(1);

/// The pages of the runs that somebody reads.
#[derive(Debug, Default)]
pub struct RunPages(BTreeMap<RunId, (RunPage, Timestamp)>);

impl RunPages {
    /// The page of a run, which somebody reads now.
    pub fn of(&mut self, run: &RunId, now: Timestamp) -> &mut RunPage {
        let (page, read) = self.0.entry(run.clone()).or_insert_with(|| (RunPage::default(), now));
        *read = now;
        page
    }

    /// Forgets those that nobody reads.
    pub fn forget_unread(&mut self, now: Timestamp) {
        self.0.retain(|_, (_, read)| now.duration_since(*read) < LINGER);
    }
}

/// The cards of the steps of a run, as they were made last.
#[derive(Debug, Default)]
pub struct RunPage {
    cards: Vec<StepCards>,
    concerned: Concerned,
    taken: BTreeSet<StepId>,
    unplanned: BTreeMap<StepId, Vec<ObjectRef>>,
    /// The events of the run and the changes of the index that they show.
    events: Bookmark,
    changes: Bookmark,
    durations: u64,
}

/// The cards of one step.
#[derive(Debug)]
struct StepCards {
    step: Arc<Record>,
    object: Arc<Record>,
    state: State,
    /// Whether the object is being deleted, which is expected to end at some time.
    is_due: bool,
}

/// The steps whose cards depend on more than the step and its object. A plan does not change, nor do these.
#[derive(Debug, Default)]
struct Concerned {
    /// By step: those that wait for it.
    behind: Vec<Vec<StepId>>,
    /// By namespace: those that wait for the Pods of a workload there, and such workloads.
    by_pods: HashMap<Arc<str>, BTreeSet<StepId>>,
}

impl Concerned {
    fn of(run: &Run) -> Self {
        let plan: &Plan = &run.plan;
        let mut behind = vec![Vec::new(); plan.steps.len()];
        let mut by_pods: HashMap<Arc<str>, BTreeSet<StepId>> = HashMap::new();
        let mut note = |workload: &Step, step: StepId| {
            if let Some(namespace) = &workload.object.namespace {
                by_pods.entry(namespace.clone()).or_default().insert(step);
            }
        };
        for step in &plan.steps {
            let blockers = step.after.iter().map(|blocker| blocker.step);
            for first in blockers.chain(run.recreating_owners(step.id).iter().copied()) {
                if let Some(behind) = behind.get_mut(first.0 as usize) {
                    behind.push(step.id);
                }
            }
            let of_pods = step.after.iter().filter(|it| it.phase == DeletionPhase::PodsGone);
            for workload in of_pods.filter_map(|blocker| plan.step(blocker.step)) {
                note(workload, step.id);
            }
            if final_phase_of(&step.kind) == DeletionPhase::PodsGone {
                note(step, step.id);
            }
        }
        Self { behind, by_pods }
    }

    fn behind(&self, step: StepId) -> impl Iterator<Item = StepId> {
        self.behind.get(step.0 as usize).into_iter().flatten().copied()
    }
}

impl RunPage {
    /// Brings the cards up to date.
    fn follow(&mut self, world: &World<'_>, run: &Run) {
        let mut stale = self.stale(world, run).unwrap_or_else(|| {
            *self = Self { concerned: Concerned::of(run), ..Self::default() };
            run.plan.steps.iter().map(|step| step.id).collect()
        });
        if run.has_changed_since(&self.events) {
            let before = mem::replace(&mut self.taken, run.taken());
            stale.extend(before.symmetric_difference(&self.taken));
        }
        let before = mem::replace(&mut self.unplanned, world.unplanned_of(run));
        let named = before.keys().chain(self.unplanned.keys());
        stale.extend(named.filter(|step| before.get(step) != self.unplanned.get(step)));
        let shown = Shown { world, run: Some(run) };
        let mut left = PodsLeft::default();
        for step in stale.iter().filter_map(|step| run.plan.step(*step)) {
            let card = world.step_card(
                run,
                step,
                self.taken.contains(&step.id),
                self.unplanned.get(&step.id).cloned().unwrap_or_default(),
                &mut left,
            );
            let state = card.state;
            let object = match world.index.get(&step.uid) {
                Some(object) => shown.card(object, Membership::Member, Some(step.wave)),
                None => shown.card_of_gone_object(run, step, &mut left),
            };
            let is_due = object.deletion.is_some();
            let (card, object) = (Record::Step(card), Record::Object(object));
            match self.cards.get_mut(step.id.0 as usize) {
                Some(cards) => {
                    replace(&mut cards.step, card);
                    replace(&mut cards.object, object);
                    (cards.state, cards.is_due) = (state, is_due);
                }
                None => {
                    let (step, object) = (Arc::new(card), Arc::new(object));
                    self.cards.push(StepCards { step, object, state, is_due });
                }
            }
        }
        (self.events, self.changes) = (run.bookmark(), world.index.bookmark());
        self.durations = world.index.duration_changes();
    }

    /// The steps whose cards may differ, but for what is found anew each time; `None` if all may.
    fn stale(&self, world: &World<'_>, run: &Run) -> Option<BTreeSet<StepId>> {
        let index = world.index;
        let mut stale = BTreeSet::new();
        for step in run.changed_since(&self.events)? {
            stale.insert(step);
            stale.extend(self.concerned.behind(step));
        }
        let in_namespace = |namespace: &Arc<str>| self.concerned.by_pods.get(namespace);
        for Change { object, is_of_status } in index.changed_since(&self.changes)? {
            stale.extend(run.step_of(&object.uid));
            if *is_of_status {
                continue;
            }
            match &object.namespace {
                Some(namespace) => stale.extend(in_namespace(namespace).into_iter().flatten()),
                // It may own a Pod.
                None => {
                    let dependents = index.dependents(&object.uid);
                    let namespaces = dependents.filter_map(|object| object.namespace.as_ref());
                    stale.extend(namespaces.filter_map(in_namespace).flatten());
                }
            }
        }
        let steps = || run.plan.steps.iter().map(|step| step.id).zip(&self.cards);
        if self.durations != index.duration_changes() {
            stale.extend(steps().filter(|(_, cards)| cards.is_due).map(|(step, _)| step));
        }
        if run.state().is_ended() {
            let is_open = |state: State| {
                !matches!(state, State::Gone | State::Kept | State::Skipped | State::CameBack)
            };
            let steps = run.plan.steps.iter().filter(|step| is_open(run.shown(step)));
            stale.extend(steps.map(|step| step.id));
        }
        Some(stale)
    }
}

/// Replaces a record by another one, unless it is the same.
fn replace(record: &mut Arc<Record>, by: Record) {
    if **record != by {
        *record = Arc::new(by);
    }
}

impl World<'_> {
    /// One run with its steps, its objects, and the end of its event log, without the [`edges_of_plan`](super::edges_of_plan).
    pub fn run(&self, run: &Run) -> Vec<Record> {
        let records = self.run_with(run, &mut RunPage::default());
        records.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// The same, with the cards that were kept since the last time.
    pub fn run_with(&self, run: &Run, page: &mut RunPage) -> Vec<Arc<Record>> {
        page.follow(self, run);
        let mut counts = Counts::new();
        for state in page.cards.iter().map(|cards| cards.state) {
            *counts.entry(state).or_default() += 1;
        }
        let mut records = Vec::with_capacity(2 * page.cards.len() + EVENTS);
        records.extend(self.frame().into_iter().map(Arc::new));
        records.push(Arc::new(Record::Run(self.run_card_with(run, counts))));
        records.extend(page.cards.iter().map(|cards| cards.step.clone()));
        records.extend(page.cards.iter().map(|cards| cards.object.clone()));
        records.extend(self.kept_records(run).into_iter().map(Arc::new));
        records.extend(self.diagnoses_of(|uid| run.step_of(uid).is_some()).map(Arc::new));
        let skip = run.event_log().len().saturating_sub(EVENTS);
        let events = run.event_log().iter().skip(skip).cloned();
        records.extend(events.map(|event| Arc::new(Record::Event(event))));
        records
    }

    /// The objects that a run keeps, with their edges.
    fn kept_records(&self, run: &Run) -> Vec<Record> {
        let shown = Shown { world: self, run: Some(run) };
        let all = || run.plan.kept.iter().chain(&run.plan.left_to_cluster);
        let cards = all().map(|kept| match self.index.get(&kept.uid) {
            Some(object) => shown.card(object, Membership::Kept(kept.reason.clone()), None),
            None => shown.card_of_missing_object(kept),
        });
        let mut records: Vec<Record> = cards.map(Record::Object).collect();
        let kept: BTreeSet<&Uid> = all().map(|kept| &kept.uid).collect();
        let is_drawn = |uid: &Uid| {
            run.step_of(uid).is_some() || kept.contains(uid) && self.index.get(uid).is_some()
        };
        for uid in &kept {
            // An edge between two kept objects is drawn from its source alone.
            let to = self.graph.to(uid).filter(|edge| !kept.contains(edge.from));
            let edges = self.graph.from(uid).chain(to);
            let both = edges.filter(|edge| is_drawn(edge.from) && is_drawn(edge.to));
            records.extend(both.map(|edge| Record::Edge(edge_card(edge))));
        }
        records
    }
}
