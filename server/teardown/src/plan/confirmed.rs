//! The parts of a plan that a person confirms one by one, beside its hash and the name of its unit.
//!
//! # Decisions
//! - Data is confirmed by the claim where there is one: people know `shop/data`, not the volume's UUID.
//! - The page asks for the same with a box for each, so that neither way says yes to less than the other.

use std::collections::BTreeSet;

use super::{Fate, Plan, Unlistable};
use crate::object::ObjectRef;

/// The parts of a plan that nobody confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// The claims, volumes, snapshots and custom resources whose data would be destroyed, or that belong to the unit only
    /// because their namespace does.
    pub destroys: Vec<ObjectRef>,
    /// The kinds of which a namespace would not be proven empty.
    pub unproven: Vec<Unlistable>,
}

impl Plan {
    /// The objects that a person confirms by name: those whose data is or may be destroyed, and claims and custom resources that
    /// belong only because their namespace does.
    pub fn destroys(&self) -> Vec<&ObjectRef> {
        let lost = self.data.iter().filter(|it| matches!(it.fate, Fate::Destroyed | Fate::Unknown));
        let lost = lost.map(|it| it.claim.as_ref().unwrap_or(&it.volume));
        let mut seen = BTreeSet::new();
        lost.chain(&self.by_name).filter(|object| seen.insert(*object)).collect()
    }

    /// Checks that a person confirmed each of these parts.
    ///
    /// # Errors
    /// The parts that are missing. A name that is not in the plan says nothing.
    pub fn check_confirmed<'a>(
        &self,
        destroys: impl IntoIterator<Item = &'a ObjectRef>,
        unproven: &[Unlistable],
    ) -> Result<(), Unconfirmed> {
        let named: BTreeSet<&ObjectRef> = destroys.into_iter().collect();
        let missing = self.destroys().into_iter().filter(|object| !named.contains(object));
        let missing = Unconfirmed {
            destroys: missing.cloned().collect(),
            unproven: self.unproven().filter(|it| !unproven.contains(it)).collect(),
        };
        let is_confirmed = missing.destroys.is_empty() && missing.unproven.is_empty();
        if is_confirmed { Ok(()) } else { Err(missing) }
    }
}
