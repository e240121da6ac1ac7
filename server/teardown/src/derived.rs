//! What is computed from the index: its edges, its units, and why deletions wait.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::{
    diagnosis::{Diagnosis, diagnose},
    graph::Graph,
    index::Index,
    unit::{Unit, UnitId, units},
};

/// The longest time for which a diagnosis is shown although nothing changed: a deletion becomes late by waiting.
const DIAGNOSED_FOR: SignedDuration = SignedDuration::from_secs(1);

/// What is computed from an index, as of the last call of [`Derived::follow`].
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// The state of the index from which the edges and the units were computed.
    computed: Option<u64>,
    graph: Graph,
    units: BTreeMap<UnitId, Unit>,
    diagnoses: Vec<Diagnosis>,
    /// The time of the diagnoses.
    diagnosed: Option<Timestamp>,
}

impl Derived {
    /// Brings everything up to date with the index.
    pub fn follow(&mut self, index: &mut Index, now: Timestamp) {
        let changes = Some(index.changes());
        let has_changed = self.computed != changes;
        if has_changed {
            self.graph = Graph::of(index);
            self.units = units(index, &self.graph);
            self.computed = changes;
        }
        let is_old = |at: Timestamp| now.duration_since(at) >= DIAGNOSED_FOR || now < at;
        if has_changed || self.diagnosed.is_none_or(is_old) {
            // Before every kind is listed, what is not known yet would look as if it were not there.
            self.diagnoses =
                if index.is_synced() { diagnose(index, &self.graph, now) } else { Vec::new() };
            self.diagnosed = Some(now);
        }
    }

    /// All edges.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All units.
    pub fn units(&self) -> &BTreeMap<UnitId, Unit> {
        &self.units
    }

    /// Why deletions wait, the worst first.
    pub fn diagnoses(&self) -> &[Diagnosis] {
        &self.diagnoses
    }
}
