//! The relations of a unit's members to it, as its plan has them. They are kept between publications: a plan depends on the
//! shapes of objects alone (`object/shape.rs`), and most events change no shape.
//!
//! # Decisions
//! - They are found again when an answer changes that the plan got from the index, when an edge of a member does, when a list
//!   arrives, and when a kind is hidden or shown.
//! - A plan in which the controller of a new object may still arrive is not kept, because it changes with time.
//! - They are kept as long as somebody reads them, and a minute longer.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    graph::Graph,
    index::{Changes, Index, Question},
    object::Uid,
    plan::{self, Choices, KeptReason},
    unit::{Unit, UnitId},
};

/// The time for which they are kept without a reader.
const LINGER: SignedDuration = SignedDuration::from_mins(1);

/// The objects that a plan of a unit would keep, and the waves of those that it would delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memberships {
    pub(super) kept: BTreeMap<Uid, KeptReason>,
    pub(super) waves: HashMap<Uid, u32>,
    /// The number of members that other units use.
    pub(super) shared: usize,
}

impl Memberships {
    /// The relations of the members of a unit at this time.
    pub(crate) fn of(index: &Index, graph: &Graph, unit: &Unit, now: Timestamp) -> Self {
        let shared = plan::shared(index, graph, unit, now);
        let Ok(plan) = plan::plan(index, graph, unit, &Choices::default(), now) else {
            return Self { shared, ..Self::default() };
        };
        let kept = plan.kept.into_iter().map(|kept| (kept.uid, kept.reason));
        let mut kept: BTreeMap<Uid, KeptReason> = kept.collect();
        let members = unit.members.iter().filter_map(|uid| index.get(uid));
        let made = members.filter(|object| object.is_made_by_cluster());
        kept.extend(made.map(|object| (object.uid.clone(), KeptReason::MadeByCluster)));
        let waves = plan.steps.into_iter().map(|step| (step.uid, step.wave)).collect();
        Self { kept, waves, shared }
    }
}

/// The relations of the members of the units that somebody reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptMemberships(HashMap<UnitId, Read>);

/// The relations of the members of one unit.
#[derive(Clone, Debug)]
struct Read {
    memberships: Arc<Memberships>,
    /// The questions that were asked to find them.
    asked: Box<[Question]>,
    /// The last time at which somebody read them.
    at: Timestamp,
}

impl KeptMemberships {
    /// The relations of the members of a unit, which are found if they are not known.
    pub(crate) fn of(
        &mut self,
        index: &Index,
        graph: &Graph,
        unit: &Unit,
        now: Timestamp,
    ) -> Arc<Memberships> {
        if let Some(read) = self.0.get_mut(&unit.id) {
            read.at = now;
            return read.memberships.clone();
        }
        let (memberships, asked) = index.noting(|| Memberships::of(index, graph, unit, now));
        let memberships = Arc::new(memberships);
        let mut members = unit.members.iter().filter_map(|uid| index.get(uid));
        if members.all(|object| index.hidden_controller(object, now).is_none()) {
            let read = Read { memberships: memberships.clone(), asked, at: now };
            self.0.insert(unit.id.clone(), read);
        }
        memberships
    }

    /// Forgets those that may differ: of these units, and all that depend on an answer that changed.
    pub(crate) fn follow(&mut self, changes: &Changes, units: &BTreeSet<UnitId>) {
        let is_asked = |asked: &Question| changes.answers.contains(asked);
        self.0.retain(|unit, read| !units.contains(unit) && !read.asked.iter().any(is_asked));
    }

    /// Forgets those that nobody reads.
    pub(crate) fn forget_unread(&mut self, now: Timestamp) {
        self.0.retain(|_, read| now.duration_since(read.at) < LINGER);
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        derived::Derived,
        fixture::{self, now, object},
        observation::Observation,
    };

    const SHOP: &str = "
        ns shop of=shop
        cm shop/settings of=shop
        deploy shop/web of=shop uses=config:settings
        pod shop/web-1 owner=deploy/web uses=config:settings
        pod bank/report
    ";

    /// A reader of the page of a unit.
    struct Reader {
        index: Index,
        derived: Derived,
        before: Option<Arc<Memberships>>,
    }

    impl Reader {
        fn of(fixture: &str) -> Self {
            let mut reader =
                Self { index: fixture::index(fixture), derived: Derived::default(), before: None };
            reader.is_planned_again(0);
            reader
        }

        fn see(&mut self, line: &str) {
            self.index.apply([Observation::Applied(Box::new(object(line)))], now());
        }

        /// Whether the unit is planned again when it is read after so many seconds.
        fn is_planned_again(&mut self, seconds: i64) -> bool {
            let now = now() + SignedDuration::from_secs(seconds);
            self.derived.follow(&mut self.index, now);
            let found = self.derived.memberships(&self.index, &UnitId::new("shop"), now);
            let before = std::mem::replace(&mut self.before, found);
            before.zip(self.before.clone()).is_none_or(|(one, other)| !Arc::ptr_eq(&one, &other))
        }
    }

    #[test]
    fn unit_is_planned_again_only_where_its_plan_may_differ() {
        let mut reader = Reader::of(SHOP);
        assert!(!reader.is_planned_again(1));
        reader.see("pod shop/web-1 owner=deploy/web uses=config:settings ready=no");
        assert!(!reader.is_planned_again(2), "its status is no part of a plan");
        reader.see("cm bank/other");
        assert!(!reader.is_planned_again(3), "it is no part of the unit");
        reader.see("pod shop/web-1 owner=deploy/web uses=config:settings node=n1");
        assert!(reader.is_planned_again(4), "a member changed");
        reader.see("pod shop/cron uses=config:settings");
        assert!(reader.is_planned_again(5), "a member has another user");
        let kind = object("cm a/b").kind;
        reader.index.apply([Observation::Listed { kind, objects: vec![] }], now());
        assert!(reader.is_planned_again(6), "a list arrived");
    }

    #[test]
    fn plan_of_a_unit_that_nobody_reads_is_forgotten() {
        let mut reader = Reader::of(SHOP);
        assert!(!reader.is_planned_again(50));
        assert!(!reader.is_planned_again(100));
        assert!(reader.is_planned_again(160));
    }

    #[test]
    fn plan_that_changes_with_time_is_not_kept() {
        let mut reader = Reader::of(&format!("{SHOP}\n rs shop/new owner=deploy/away age=10"));
        let kept = |reader: &Reader| reader.before.as_ref().unwrap().kept.clone();
        let before = kept(&reader);
        assert!(reader.is_planned_again(1), "its controller may arrive");
        assert_eq!(before, kept(&reader));
        assert!(reader.is_planned_again(55));
        assert_ne!(before, kept(&reader), "its controller is gone");
        assert!(!reader.is_planned_again(56));
    }
}
