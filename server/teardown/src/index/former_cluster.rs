//! Forgets a cluster whose place another one has taken: at the same address, with other objects of the same names.
//!
//! # Decisions
//! - The namespace `kube-system` is as old as its cluster, and cannot be deleted (`NamespaceLifecycle` forbids it). One with
//!   another UID is of another cluster.
//! - The objects of the former cluster may leave the watches of their kinds only after that. Each that is older than this cluster is
//!   one of them: its end accuses nobody, and no claim or volume of its name waits for it.
//! - Tombstones stay, because no UID is used again.

use jiff::Timestamp;

use super::{Departures, Index};
use crate::object::Object;

impl Index {
    /// Forgets how the objects of the former cluster went, if this one shows that there is another now.
    pub(super) fn follow_cluster(&mut self, object: &Object) {
        if !object.kind.is("", "Namespace") || &*object.name != "kube-system" {
            return;
        }
        let former = self.system.replace(object.uid.clone());
        if former.is_none_or(|former| former == object.uid) {
            return;
        }
        self.began = object.created.map(Timestamp::from);
        self.unconfirmed.clear();
        self.by_hand.clear();
        self.ends_by_hand.clear();
        self.answered_for.clear();
        self.departures = Departures::default();
        self.durations.forget();
        self.former.clear();
        self.former_by_age.clear();
        self.forced.clear();
        self.forcing.clear();
        self.unseen_ends.clear();
        self.recent.note_everything();
    }

    /// Whether an object is older than this cluster.
    pub(super) fn is_of_former_cluster(&self, object: &Object) -> bool {
        let created = object.created.map(Timestamp::from);
        self.began.zip(created).is_some_and(|(began, created)| created < began)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{self, kind, now, object, uid},
        index::Index,
        observation::Observation,
    };

    const WORLD: &str = "ns kube-system age=600 uid=old
        ns shop age=600
        node n1 age=600
        pv disk age=600 uid=old-disk
        pvc shop/data age=600 uid=old-data volume=disk
        pod shop/a node=n1 age=600 phase=Running containers=web:running uses=claim:data";

    fn applied(line: &str) -> Observation {
        Observation::Applied(Box::new(object(line)))
    }

    fn deleted(word: &str, of: &str) -> Observation {
        Observation::Deleted { kind: kind(word), uid: uid(of) }
    }

    /// The Pods of which nobody knows that they ended, in front of the claim of this UID.
    fn accused(index: &Index, claim: &str) -> usize {
        let of = object("pvc shop/data").reference();
        index.unconfirmed_users(&of, &uid(claim)).count()
    }

    #[test]
    fn pod_of_a_former_cluster_holds_no_claim_of_its_name() {
        let anew = || {
            [
                deleted("ns", "old"),
                applied("ns kube-system age=0 uid=new"),
                applied("pv disk age=0 uid=new-disk"),
                applied("pvc shop/data age=0 uid=new-data volume=disk"),
            ]
        };
        let gone = || deleted("pod", "pod:shop/a");
        // The watch of the Pods may be ahead of that of the namespaces, or behind.
        for is_first in [true, false] {
            let mut index = fixture::index(WORLD);
            if is_first {
                index.apply([gone()], now());
                assert_eq!(accused(&index, "old-data"), 1);
            }
            index.apply(anew(), now());
            index.apply([gone()], now());
            assert!(index.get(&uid("pod:shop/a")).is_none());
            assert_eq!(accused(&index, "new-data"), 0, "{is_first}");
            assert!(!index.has_unconfirmed());
        }
    }

    #[test]
    fn pod_that_goes_from_the_present_cluster_is_still_accused() {
        let mut index = fixture::index(WORLD);
        let pod = "pod shop/b node=n1 age=0 phase=Running containers=web:running uses=claim:data";
        index.apply([applied("ns kube-system age=0 uid=new"), applied(pod)], now());
        index.apply([deleted("pod", "pod:shop/b")], now());
        assert_eq!(accused(&index, "old-data"), 1);
    }

    #[test]
    fn deletions_of_a_former_cluster_are_no_news_of_this_one() {
        let mut index = fixture::index(
            "ns kube-system age=600 uid=old\n deploy shop/a age=600\n deploy shop/b age=600",
        );
        index.apply([deleted("deploy", "deploy:shop/a")], now());
        assert_eq!(index.departures().count(), 1);
        let anew = [deleted("ns", "old"), applied("ns kube-system age=0 uid=new")];
        index.apply(anew, now());
        index.apply([deleted("deploy", "deploy:shop/b")], now());
        assert_eq!(index.departures().count(), 0);
    }
}
