//! The cards of the overview, kept between publications: a card is made again only when something that it shows may differ.
//!
//! # Decisions
//! - A card of a unit that shows the passing of time is made again each time: one with an object that is being deleted, or that is so
//!   new that its controller, which is not there, may still arrive, and one with an open run. So is one with a webhook configuration, which may
//!   guard any object of the cluster.
//! - Where a list arrives, or a kind is hidden or shown, all cards of units are made again.
//! - The card of a finished run never changes: no step of it is open, and nothing follows the end. Ended runs are kept for weeks, and a
//!   card counts all steps. A stopped run has open steps, whose objects somebody may delete later.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::World;
use crate::{
    message::{RunCard, UnitCard},
    object::{Facts, Uid},
    plan,
    run::{Run, RunId, RunState},
    unit::{Unit, UnitId},
};

/// The time for which the controller of a new object may be missing, with a margin for the clock.
const NEW: SignedDuration = SignedDuration::from_secs(70);

/// The cards of the units and of the finished runs, as they were made last.
#[derive(Clone, Debug, Default)]
pub struct OverviewCards {
    units: BTreeMap<UnitId, UnitCard>,
    runs: BTreeMap<RunId, RunCard>,
}

/// The units whose cards may differ from those that were made last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// All of them.
    All,
    /// These.
    Units(BTreeSet<UnitId>),
}

impl Stale {
    /// No unit.
    pub fn nothing() -> Self {
        Self::Units(BTreeSet::new())
    }

    /// Adds units to those that are stale.
    pub(crate) fn extend(&mut self, units: impl IntoIterator<Item = UnitId>) {
        if let Self::Units(stale) = self {
            stale.extend(units);
        }
    }
}

impl OverviewCards {
    /// The card of every unit, in the order of their ids. Goes through all units, and through the members of those whose
    /// cards are made again.
    pub(super) fn of_units(&mut self, world: &World<'_>, stale: &Stale) -> Vec<UnitCard> {
        match stale {
            Stale::All => self.units.clear(),
            Stale::Units(units) => self.units.retain(|id, _| !units.contains(id)),
        }
        let card = |(id, unit): (&UnitId, &Unit)| {
            let has_run = world.open_run(id).is_some();
            if let Some(card) = self.units.get(id).filter(|_| !has_run) {
                return card.clone();
            }
            let shared = plan::shared(world.index, world.graph, unit, world.now);
            let card = world.unit_card(unit, shared);
            if has_run || !is_lasting(unit, world) {
                self.units.remove(id);
            } else {
                self.units.insert(id.clone(), card.clone());
            }
            card
        };
        world.units.iter().map(card).collect()
    }

    /// The card of every run, in the order of the world. Goes through all runs, and through the steps of those that are not
    /// finished.
    pub(super) fn of_runs(&mut self, world: &World<'_>) -> Vec<RunCard> {
        let mut before = std::mem::take(&mut self.runs);
        let card = |run: &&Run| {
            let card = before.remove(&run.id).unwrap_or_else(|| world.run_card(run));
            if run.state() == RunState::Finished {
                self.runs.insert(run.id.clone(), card.clone());
            }
            card
        };
        world.runs.iter().map(card).collect()
    }
}

/// Whether a card of a unit stays the same until something changes.
fn is_lasting(unit: &Unit, world: &World<'_>) -> bool {
    let is_quiet = |uid: &Uid| {
        world.index.get(uid).is_none_or(|object| {
            let misses_controller =
                object.controller().is_some_and(|owner| world.index.get(&owner.uid).is_none());
            let is_new = object
                .created
                .is_some_and(|created| world.now.duration_since(Timestamp::from(created)) < NEW);
            let may_change = misses_controller && is_new;
            object.deletion.is_none() && !may_change && !matches!(object.facts, Facts::Webhooks(_))
        })
    };
    unit.members.iter().all(is_quiet)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        fixture::{self, now},
        graph::Graph,
        index::Index,
        plan::{Choices, StepId},
        run::RunEvent,
        unit::units,
    };

    fn world<'a>(
        index: &'a Index,
        graph: &'a Graph,
        units: &'a BTreeMap<UnitId, Unit>,
        runs: &'a [&'a Run],
    ) -> World<'a> {
        let (attempts, diagnoses) = (&[], &[]);
        World {
            cluster: "test",
            demo: None,
            index,
            graph,
            units,
            runs,
            attempts,
            diagnoses,
            now: now(),
        }
    }

    /// Whether the card of a run that has come so far is made again at the next publication.
    fn is_made_again(events: &[RunEvent]) -> bool {
        let index = fixture::index("ns shop of=shop\n cm shop/a of=shop");
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let plan =
            plan::plan(&index, &graph, &units[&UnitId::new("shop")], &Choices::default(), now());
        let mut run = Run::new(RunId::new("r"), Arc::new(plan.unwrap()));
        run.apply(now(), &RunEvent::Started { by: "li".into() }).unwrap();
        events.iter().for_each(|event| run.apply(now(), event).unwrap());
        let runs = [&run];
        let world = world(&index, &graph, &units, &runs);
        let mut cards = OverviewCards::default();
        let [card] = &cards.of_runs(&world)[..] else { panic!("one run") };
        assert_eq!(*card, world.run_card(&run));
        cards.runs.values_mut().for_each(|card| card.by = "kept".into());
        cards.of_runs(&world)[0].by != "kept"
    }

    /// Whether the card of unit `shop` is made again at the next publication.
    fn is_unit_made_again(text: &str) -> bool {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let world = world(&index, &graph, &units, &[]);
        !is_lasting(&units[&UnitId::new("shop")], &world)
    }

    #[test]
    fn card_of_a_unit_is_made_again_while_a_new_object_misses_its_controller() {
        let pod = |age: &str| format!("ns shop of=shop\n pod shop/a of=shop owner=rs/web {age}");
        assert!(is_unit_made_again(&pod("age=10")));
        assert!(!is_unit_made_again(&pod("age=100")));
        let whole = "ns shop of=shop age=10\n rs shop/web of=shop age=10\n pod shop/a of=shop owner=rs/web age=10";
        assert!(!is_unit_made_again(whole), "age changes nothing about it");
        assert!(is_unit_made_again("ns shop of=shop\n cm shop/a of=shop deleted=10"));
    }

    #[test]
    fn card_of_a_run_is_kept_once_it_is_finished() {
        let by = || "li".to_owned();
        assert!(is_made_again(&[]));
        let stopped = [RunEvent::Stopping { by: by() }, RunEvent::Stopped];
        assert!(is_made_again(&stopped), "somebody may delete what is left");
        let mut finished: Vec<RunEvent> =
            [0, 1].map(|step| RunEvent::Skipped { step: StepId(step), by: by() }).into();
        finished.push(RunEvent::Finished);
        assert!(!is_made_again(&finished));
    }
}
