//! Values computed from the index: its edges, its units, and why deletions wait. Edges and units follow the changes.
//!
//! # Loops that are left
//! Everything else is found through a table. The letters are the parts of `benches/size.rs` that measure a loop, with up to
//! 100,000 objects and 5,000 steps; the others are not measured by themselves.
//!
//! Over all objects:
//! - `Graph::of` and `Units::of`, for the first lists, and after more changes than the index remembers: a search for each
//!   (e);
//! - `find_late_objects`, the first time that a step of a run could start, and again after a list (c);
//! - `check_nothing_pruned`, for each Application of Argo CD that could start: a few in a cluster;
//! - `guards_outsiders`, for each webhook configuration of a unit, in its plan and its card: its rules may match any object;
//! - `guarded_outside`, for each webhook configuration that a run could delete, and in every look while an object outside the plan
//!   holds it;
//! - `remove_with_namespaces`, when a Namespace goes, over the kinds that are watched namespace by namespace; a list of a
//!   kind goes through the objects of that kind.
//!
//! Over all objects that are being deleted: `World::in_time` in the frame of each page, and `diagnose`, once for each state
//! of the index that a publication or a request sees, and once a second (e). Its detectors go through kinds of which a
//! cluster has few: webhook configurations, APIServices, VolumeAttachments.
//!
//! Over all bindings of roles: `Rights::of`, at most once in each `Graph::follow` and each look, and only where a search asks
//! which program clears a finalizer.
//!
//! Over all steps of a run:
//! - a look after a list and after the few events that concern any number of steps (`run/work_queue.rs`), and in it `Run::wake`
//!   (c); steps that are held are in every look; `prevents_stop` while a run is stopping, and `Run::suspensions` after a decision;
//! - `RunPage::follow` at each publication of its page (c): it asks of each step whether it changed and whether it is held, and
//!   after an event `Run::taken`. The cards are made again of those that may differ (`world/run_page.rs`), and
//!   `Publication::advance` compares the others by their addresses. `Limits::of` goes over the steps of all open runs;
//! - the card of a run in the overview, in a unit's page and in its own; a finished run is counted once for the overview;
//! - `Run::skip`, for a person's command, once for each step that is skipped with it; `retry_refused_by` and `next_try`, when
//!   a call is refused or accepted after that; `goes_with_namespace`, for an object that came back; `World::tally`, when
//!   monitoring asks.
//!
//! Over all namespaces: `Index::secrets_called`, for each name of a Secret in the spec of an Istio Gateway, when its edges are searched.
//!
//! Over all units: `OverviewCards::of_units` at each publication of the overview (b). It goes through members only where a
//! card is made again: where something changed, and always for a unit with an open run. `World::unit_with` goes through the
//! members of its unit, and `Publication::advance` compares all records of a topic; a unit is planned again where its plan
//! may differ (`world/memberships.rs`).
//!
//! Over all runs and attempts that are kept: the frame of each page, which says what is switched off, at each publication.
//!
//! Over all kinds, and for those that are watched namespace by namespace over all of these: `Index::hidden_kinds`, in the
//! frame of each page, and `Index::is_synced`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    diagnosis::{Diagnosis, diagnose, joined},
    graph::Graph,
    index::{Changes, Index},
    object::Uid,
    unit::{Unit, UnitId, UnitOrigin, Units},
    world::{KeptMemberships, Memberships, Stale},
};

/// The longest time for which a diagnosis is shown although nothing changed: a deletion becomes late by waiting.
const DIAGNOSED_FOR: SignedDuration = SignedDuration::from_secs(1);

/// Values computed from an index, as of the last call of [`Derived::follow`].
#[derive(Clone, Debug)]
pub struct Derived {
    graph: Graph,
    units: Units,
    stale: Stale,
    memberships: KeptMemberships,
    diagnoses: Vec<Diagnosis>,
    /// The state of the index and the time of the diagnoses.
    diagnosed: Option<(u64, Timestamp)>,
}

impl Default for Derived {
    fn default() -> Self {
        Self {
            graph: Graph::default(),
            units: Units::default(),
            stale: Stale::All,
            memberships: KeptMemberships::default(),
            diagnoses: Vec::new(),
            diagnosed: None,
        }
    }
}

impl Derived {
    /// Brings the edges and the units up to date with the index.
    pub fn follow_edges(&mut self, index: &mut Index) {
        let changes = index.take_changes();
        if !changes.is_empty() {
            match self.graph.follow(index, &changes) {
                Some(moved) => {
                    let mut units = self.units.follow(index, &self.graph, &changes, &moved);
                    self.stale.extend(self.concerned(&changes, &moved, &units));
                    self.stale.extend(units.iter().cloned());
                    units.extend(moved.iter().flat_map(|uid| self.units.around(uid)).cloned());
                    self.memberships.follow(&changes, &units);
                }
                None => {
                    self.units = Units::of(index, &self.graph);
                    self.stale = Stale::All;
                    self.memberships.clear();
                }
            }
        }
        if changes.listed {
            self.stale = Stale::All;
            self.memberships.clear();
        }
        self.stale.extend(changes.seen.iter().flat_map(|uid| self.units.around(uid)).cloned());
    }

    /// Brings everything up to date with the index. Returns whether the diagnoses were made again.
    pub fn follow(&mut self, index: &mut Index, now: Timestamp) -> bool {
        self.follow_edges(index);
        self.memberships.forget_unread(now);
        let is_old = |at: Timestamp| now.duration_since(at) >= DIAGNOSED_FOR || now < at;
        let seen = index.changes();
        let is_due = self.diagnosed.is_none_or(|(then, at)| then != seen || is_old(at));
        if is_due {
            // Before every kind is listed, what is not known yet would look as if it were not there.
            self.diagnoses = if index.is_synced() {
                joined(diagnose(index, &self.graph, now))
            } else {
                Vec::new()
            };
            self.diagnosed = Some((seen, now));
        }
        is_due
    }

    /// Has the diagnoses made again by the next [`Derived::follow`].
    pub fn diagnose_again(&mut self) {
        self.diagnosed = None;
    }

    /// The units whose cards may show something else because objects, their edges or the members of units changed: those of
    /// these objects and their neighbours, and the namespaces that may have the same members as a unit.
    fn concerned(
        &self,
        changes: &Changes,
        moved: &BTreeSet<Uid>,
        units: &BTreeSet<UnitId>,
    ) -> Vec<UnitId> {
        let neighbours = changes.objects.iter().flat_map(|uid| self.graph.around(uid));
        let neighbours = neighbours.flat_map(|edge| [edge.from, edge.to]);
        let members = units.iter().filter_map(|unit| self.units.by_id().get(unit));
        let members = members.filter(|unit| unit.origin != UnitOrigin::Namespace);
        let members = members.flat_map(|unit| &unit.members);
        let objects = moved.iter().chain(neighbours).chain(members);
        objects.flat_map(|uid| self.units.around(uid)).cloned().collect()
    }

    /// The units whose cards may differ from those that were made when this was last called.
    pub fn take_stale(&mut self) -> Stale {
        std::mem::replace(&mut self.stale, Stale::nothing())
    }

    /// The relations of the members of a unit, for its page; `None` if there is no such unit. The index must be the one that
    /// was followed, without changes since.
    pub fn memberships(
        &mut self,
        index: &Index,
        unit: &UnitId,
        now: Timestamp,
    ) -> Option<Arc<Memberships>> {
        let unit = self.units.by_id().get(unit)?;
        Some(self.memberships.of(index, &self.graph, unit, now))
    }

    /// All edges.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All units.
    pub fn units(&self) -> &BTreeMap<UnitId, Unit> {
        self.units.by_id()
    }

    /// Why deletions wait, the worst first.
    pub fn diagnoses(&self) -> &[Diagnosis] {
        &self.diagnoses
    }

    /// The diagnoses, for facts that are no part of the index.
    pub fn diagnoses_mut(&mut self) -> &mut [Diagnosis] {
        &mut self.diagnoses
    }
}
