//! The cards of all units, kept between publications: a card is made again only when something that it shows may differ.
//!
//! # Decisions
//! - A card that shows the passing of time is made again each time: one with an object that is being deleted, or that is so
//!   new that its controller may still arrive, and one with an open run. So is one with a webhook configuration, which may
//!   guard any object of the cluster.
//! - Where a list arrives, or a kind is hidden or shown, all cards are made again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::World;
use crate::{
    message::UnitCard,
    object::{Facts, Uid},
    plan,
    unit::{Unit, UnitId},
};

/// The time for which the controller of a new object may be missing, with a margin for the clock.
const NEW: SignedDuration = SignedDuration::from_secs(70);

/// The cards of the units, as they were made last.
#[derive(Clone, Debug, Default)]
pub struct UnitCards(BTreeMap<UnitId, UnitCard>);

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

impl UnitCards {
    /// The card of every unit, in the order of their ids. Goes through all units, and through the members of those whose
    /// cards are made again.
    pub(super) fn of(&mut self, world: &World<'_>, stale: &Stale) -> Vec<UnitCard> {
        match stale {
            Stale::All => self.0.clear(),
            Stale::Units(units) => self.0.retain(|id, _| !units.contains(id)),
        }
        let card = |(id, unit): (&UnitId, &Unit)| {
            let has_run = world.open_run(id).is_some();
            if let Some(card) = self.0.get(id).filter(|_| !has_run) {
                return card.clone();
            }
            let shared = plan::shared(world.index, world.graph, unit, world.now);
            let card = world.unit_card(unit, shared);
            if has_run || !is_lasting(unit, world) {
                self.0.remove(id);
            } else {
                self.0.insert(id.clone(), card.clone());
            }
            card
        };
        world.units.iter().map(card).collect()
    }
}

/// Whether a card of a unit stays the same until something changes.
fn is_lasting(unit: &Unit, world: &World<'_>) -> bool {
    let is_quiet = |uid: &Uid| {
        world.index.get(uid).is_none_or(|object| {
            let is_new = object
                .created
                .is_some_and(|created| world.now.duration_since(Timestamp::from(created)) < NEW);
            object.deletion.is_none() && !is_new && !matches!(object.facts, Facts::Webhooks(_))
        })
    };
    unit.members.iter().all(is_quiet)
}
