//! The usual durations of deletions here, so that late and stuck fit this cluster and not only its average.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use super::Index;
use crate::{
    deadlines::{Deadlines, Work},
    object::{Kind, Object, Uid},
};

/// The fewest completed deletions of a kind, with the same work, that are a basis for an estimate.
const FEWEST: usize = 20;
/// The latest ones that are remembered of each.
const KEPT: usize = 100;
/// The most kinds, one for each of its works.
const KINDS: usize = 500;

/// The durations of completed deletions, beyond their grace periods.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations {
    kinds: HashMap<(Arc<str>, Arc<str>, Work), OfKind>,
    changes: u64,
    /// The longest work of the objects whose finalizers do not tell of it any more.
    done: HashMap<Uid, Work>,
}

#[derive(Clone, Debug, Default)]
struct OfKind {
    latest: VecDeque<SignedDuration>,
    percentile: Option<SignedDuration>,
}

impl Durations {
    /// Notes that an object which is being deleted changed.
    pub(super) fn compare(&mut self, before: &Object, after: &Object) {
        if before.deletion.is_none() || before.finalizers == after.finalizers {
            return;
        }
        let longest = self.work_of(before);
        if longest > work_left(after) {
            self.done.insert(after.uid.clone(), longest);
        }
    }

    /// The longest work of an object, of that which is done and that which is left.
    fn work_of(&self, object: &Object) -> Work {
        let done = self.done.get(&object.uid).copied();
        work_left(object).max(done.unwrap_or(Work::Program))
    }

    /// Forgets the work of an object that is gone.
    pub(super) fn forget_work(&mut self, uid: &Uid) {
        self.done.remove(uid);
    }

    /// Notes that a watch saw this object go.
    pub(super) fn note(&mut self, object: &Object, now: Timestamp) {
        let Some(deletion) = &object.deletion else { return };
        let kind = (object.kind.group.clone(), object.kind.kind.clone(), self.work_of(object));
        if self.kinds.len() == KINDS && !self.kinds.contains_key(&kind) {
            return;
        }
        // The time of the deletion is the end of the grace period.
        let took = now.duration_since(deletion.at).max(SignedDuration::ZERO);
        let OfKind { latest, percentile } = self.kinds.entry(kind).or_default();
        if latest.len() == KEPT {
            latest.pop_front();
        }
        latest.push_back(took);
        let before = std::mem::replace(percentile, percentile_95(latest));
        self.changes += u64::from(before != *percentile);
    }

    /// Forgets all of them.
    pub(super) fn forget(&mut self) {
        self.kinds.clear();
        self.done.clear();
        self.changes += 1;
    }
}

fn work_left(object: &Object) -> Work {
    Work::of(&object.kind, object.finalizers.iter().map(|it| &**it))
}

fn percentile_95(latest: &VecDeque<SignedDuration>) -> Option<SignedDuration> {
    if latest.len() < FEWEST {
        return None;
    }
    let mut sorted: Vec<SignedDuration> = latest.iter().copied().collect();
    sorted.sort();
    sorted.get((sorted.len() * 95).div_ceil(100).saturating_sub(1)).copied()
}

impl Index {
    /// The time, beyond its grace period, within which 95 of 100 deletions of this kind that waited for this work were complete;
    /// `None` while fewer than 20 were seen.
    pub fn usual_duration(&self, kind: &Kind, work: Work) -> Option<SignedDuration> {
        let of_kind = self.durations.kinds.get(&(kind.group.clone(), kind.kind.clone(), work))?;
        of_kind.percentile
    }

    /// The limits for an object of this kind that waits for this work and is deleted with this grace period in seconds, as they
    /// fit this cluster.
    pub fn deadlines(&self, kind: &Kind, work: Work, grace: i64) -> Deadlines {
        Deadlines::fitted(kind, work, grace, self.usual_duration(kind, work))
    }

    /// The limits for the deletion of this object, as they fit this cluster.
    pub fn deadlines_of(&self, object: &Object) -> Deadlines {
        let grace = object.deletion.as_ref().map_or(0, |deletion| deletion.grace);
        self.deadlines(&object.kind, self.durations.work_of(object), grace)
    }

    /// The number of times that the usual duration of a kind has changed.
    pub(crate) fn duration_changes(&self) -> u64 {
        self.durations.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, observation::Observation};

    /// Deletes ConfigMaps whose finalizers took these times in seconds.
    fn after(durations: impl IntoIterator<Item = i64>) -> Option<i64> {
        let mut index = Index::default();
        for (number, seconds) in durations.into_iter().enumerate() {
            let object = fixture::object(&format!("cm shop/c{number} deleted={seconds}"));
            let kind = object.kind.clone();
            index.apply([Observation::Watching(kind.clone())], fixture::now());
            let uid = object.uid.clone();
            index.apply([Observation::Applied(Box::new(object))], fixture::now());
            index.apply([Observation::Deleted { kind, uid }], fixture::now());
        }
        let kind = fixture::kind("cm");
        index.usual_duration(&kind, Work::Program).map(|usual| usual.as_secs())
    }

    #[test]
    fn usual_duration_is_known_after_twenty_deletions() {
        assert_eq!(after(1..20), None);
        assert_eq!(after(1..=20), Some(19));
        assert_eq!(after(1..=100), Some(95));
        // Only the latest hundred count.
        assert_eq!(after((0..100).map(|_| 500).chain((0..100).map(|_| 3))), Some(3));
    }

    #[test]
    fn object_that_goes_at_once_says_nothing() {
        let mut index = Index::default();
        for number in 0..30 {
            let object = fixture::object(&format!("cm shop/c{number}"));
            let (kind, uid) = (object.kind.clone(), object.uid.clone());
            index.apply([Observation::Applied(Box::new(object))], fixture::now());
            index.apply([Observation::Deleted { kind, uid }], fixture::now());
        }
        assert_eq!(index.usual_duration(&fixture::kind("cm"), Work::Program), None);
    }
}
