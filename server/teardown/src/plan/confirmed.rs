//! The parts of a plan that a person confirms one by one, beside its hash and the name of its unit.
//!
//! # Decisions
//! - Data is confirmed by the claim where there is one: people know `shop/data`, not the volume's UUID.
//! - The page asks for the same with a box for each, so that neither way says yes to less than the other.

use std::{collections::BTreeSet, sync::Arc};

use super::{Choice, Fate, ObjectAddress, Plan, Unlistable};
use crate::object::ObjectRef;

/// Parts of a plan: those that a person confirms, or those that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Parts {
    /// The claims, volumes, snapshots and custom resources whose data is or may be destroyed, and claims and custom resources
    /// that belong to the unit only because their namespace does.
    pub destroys: Vec<ObjectAddress>,
    /// The kinds of which a namespace is not proven empty.
    pub unproven: Vec<Unlistable>,
    /// The nodes whose Pods count as ended although nobody reports it.
    pub unreported: Vec<Arc<str>>,
    /// The objects that go although others use them.
    pub waived: Vec<ObjectAddress>,
}

impl Parts {
    fn is_empty(&self) -> bool {
        let Self { destroys, unproven, unreported, waived } = self;
        destroys.is_empty() && unproven.is_empty() && unreported.is_empty() && waived.is_empty()
    }
}

impl Plan {
    /// The objects that a person confirms by name.
    fn destroys(&self) -> Vec<&ObjectRef> {
        let lost = self.data.iter().filter(|it| matches!(it.fate, Fate::Destroyed | Fate::Unknown));
        let lost = lost.map(|it| it.claim.as_ref().unwrap_or(&it.volume));
        let mut seen = BTreeSet::new();
        lost.chain(&self.by_name).filter(|object| seen.insert(*object)).collect()
    }

    /// The nodes of which a person chose that their Pods count as ended once they are gone from the API.
    pub fn unreported(&self) -> impl Iterator<Item = &Arc<str>> {
        self.choices.iter().filter_map(|choice| match choice {
            Choice::Unreported(node) => Some(node),
            _ => None,
        })
    }

    /// The objects that go although others use them, each once. A page has the choices alone, and confirms all that it was shown.
    fn waived(&self) -> Vec<ObjectAddress> {
        let mut waived: Vec<ObjectAddress> = Vec::new();
        for row in &self.waived {
            if waived.last().is_none_or(|it| it.0 != row.object) {
                waived.push(ObjectAddress(row.object.clone()));
            }
        }
        if cfg!(target_family = "wasm") {
            for choice in self.choices.iter() {
                if let Choice::Waive(object) = choice {
                    waived.push(ObjectAddress(object.clone()));
                }
            }
        }
        waived
    }

    /// Everything that a person confirms one by one.
    pub fn parts(&self) -> Parts {
        Parts {
            destroys: self.destroys().into_iter().cloned().map(ObjectAddress).collect(),
            unproven: self.unproven().collect(),
            unreported: self.unreported().cloned().collect(),
            waived: self.waived(),
        }
    }

    /// Checks that a person confirmed each part.
    ///
    /// # Errors
    /// The parts that are missing. A name that is not in the plan says nothing.
    pub fn check_confirmed(&self, confirmed: &Parts) -> Result<(), Parts> {
        let named: BTreeSet<&ObjectRef> = confirmed.destroys.iter().map(|it| &it.0).collect();
        let Parts { destroys, unproven, unreported, waived } = self.parts();
        let missing = Parts {
            destroys: destroys.into_iter().filter(|it| !named.contains(&it.0)).collect(),
            unproven: unproven.into_iter().filter(|it| !confirmed.unproven.contains(it)).collect(),
            unreported: unreported
                .into_iter()
                .filter(|it| !confirmed.unreported.contains(it))
                .collect(),
            waived: waived.into_iter().filter(|it| !confirmed.waived.contains(it)).collect(),
        };
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }
}
