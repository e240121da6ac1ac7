//! The last look at the index around the request of a remedy. Some of what a decision stands on no single read shows: that no other
//! of many nodes is silent, that no program clears the finalizer, that an owner has no more dependents. The index is asked for those
//! once more, right before the request and after it.
//!
//! # Decisions
//! - Before the request the remedy is computed anew. It has to be the one that the person confirmed, and to rest on nothing else.
//! - After the request that would show the effect of the request too. So only what the request does not change is compared: the
//!   other silent nodes, and the programs that the diagnoses name for the same finalizer, for as long as something else waits for it.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    act::{Remedy, RemedyAct},
    premise::{Expected, List, Premise},
};
use crate::{
    diagnosis::{Cause, Diagnosis},
    index::Index,
    object::{ObjectRef, Uid},
};

/// The facts on which a remedy rests, as the index showed it when a person confirmed it.
#[derive(Clone, Debug)]
pub struct Basis {
    diagnosis: String,
    /// The object that stands for the whole decision: where the cause sits, or the target of the request.
    object: ObjectRef,
    hash: String,
    premises: Vec<Premise>,
    silent: Option<Silent>,
    programs: Option<Programs>,
}

/// The node that a remedy treats as dead, and the other silent ones.
#[derive(Clone, Debug)]
struct Silent {
    node: ObjectRef,
    others: BTreeSet<Uid>,
}

/// The finalizer that a remedy removes, and the programs that clear it, or may.
#[derive(Clone, Debug)]
struct Programs {
    finalizer: Arc<str>,
    known: BTreeSet<ObjectRef>,
}

impl Basis {
    /// The basis of a remedy, with the premises that are read from the API server. `None` for a remedy without a request.
    pub fn of(
        remedy: &Remedy,
        diagnosis: &Diagnosis,
        premises: &[Premise],
        diagnoses: &[Diagnosis],
        index: &Index,
    ) -> Option<Self> {
        let root = Some(&diagnosis.root).filter(|root| !root.name.is_empty());
        Some(Self {
            diagnosis: diagnosis.id.clone(),
            object: root.unwrap_or(&remedy.request()?.object).clone(),
            hash: remedy.hash(diagnosis),
            silent: Silent::of(premises, index),
            programs: Programs::of(&remedy.act, diagnoses),
            premises: premises.to_vec(),
        })
    }

    /// The id of the diagnosis.
    pub fn diagnosis(&self) -> &str {
        &self.diagnosis
    }

    /// Whether something of it is looked at after the request.
    pub fn is_looked_at_after(&self) -> bool {
        self.silent.is_some() || self.programs.is_some()
    }

    /// The first object that is not as it was, before the request. `now` is the diagnosis with its ways out as they are now; `None` if
    /// there is none of its id any more.
    pub fn changed_before(
        &self,
        now: Option<&(Diagnosis, Vec<Remedy>)>,
        diagnoses: &[Diagnosis],
        index: &Index,
    ) -> Option<ObjectRef> {
        let changed = self.changed_after(diagnoses, index);
        if changed.is_some() {
            return changed;
        }
        let premises = now.and_then(|(diagnosis, remedies)| {
            let same = remedies.iter().find(|remedy| remedy.hash(diagnosis) == self.hash)?;
            same.premises(diagnosis, index)
        });
        let Some(premises) = premises else { return Some(self.object.clone()) };
        let is_new = |now: &Premise| !self.premises.iter().any(|then| now.follows_from(then));
        premises.into_iter().find(is_new).map(|premise| premise.object)
    }

    /// The same after the request, of what the request does not change.
    pub fn changed_after(&self, diagnoses: &[Diagnosis], index: &Index) -> Option<ObjectRef> {
        let node = self.silent.as_ref().and_then(|it| it.another(index));
        node.or_else(|| self.programs.as_ref()?.another(diagnoses))
    }
}

impl Silent {
    /// A remedy rests on the silence of a node where it rests on its lease.
    fn of(premises: &[Premise], index: &Index) -> Option<Self> {
        let is_lease = |it: &&Premise| matches!(it.expected, Expected::NotRenewed(_));
        let node = premises.iter().find(is_lease)?.object.clone();
        let silent = index.of_resource("nodes").filter(|it| List::SilentNodes.has(it, &node));
        let others = silent.map(|it| it.uid.clone()).collect();
        Some(Self { node, others })
    }

    fn another(&self, index: &Index) -> Option<ObjectRef> {
        let mut nodes = index.of_resource("nodes");
        let another = nodes
            .find(|it| List::SilentNodes.has(it, &self.node) && !self.others.contains(&it.uid));
        another.map(|node| node.reference())
    }
}

impl Programs {
    fn of(act: &RemedyAct, diagnoses: &[Diagnosis]) -> Option<Self> {
        let RemedyAct::RemoveFinalizer { finalizer } = act else { return None };
        let known = programs(finalizer, diagnoses).cloned().collect();
        Some(Self { finalizer: finalizer.clone(), known })
    }

    fn another(&self, diagnoses: &[Diagnosis]) -> Option<ObjectRef> {
        programs(&self.finalizer, diagnoses).find(|it| !self.known.contains(it)).cloned()
    }
}

/// The programs that clear a finalizer, or may, as the diagnoses name them. One that was deleted clears nothing.
fn programs<'a>(
    of: &'a Arc<str>,
    diagnoses: &'a [Diagnosis],
) -> impl Iterator<Item = &'a ObjectRef> {
    diagnoses.iter().flat_map(move |diagnosis| match &diagnosis.cause {
        Cause::FinisherUnknown { finalizer, possible } if finalizer == of => &possible[..],
        Cause::FinisherNotReady { finalizer, finisher }
        | Cause::FinisherBusy { finalizer, finisher }
            if finalizer == of =>
        {
            std::slice::from_ref(finisher)
        }
        _ => &[],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnosis::diagnose,
        fixture,
        graph::Graph,
        object::Object,
        observation::Observation,
        remedy::tests::{found, watched},
    };

    const SILENT: &str = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:gone
        node n2
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    ";
    const STUCK: &str = "
        ns s4
        crd topics.queue.example defines=Topic.queue.example
        Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
        Topic.queue.example s4/audit deleted=400 finalizers=queue.example/topic
    ";
    const OPERATOR: [&str; 4] = [
        "ns ops",
        "clusterrole topics updates=topics.queue.example",
        "crb topics role=clusterrole/topics accounts=ops/queue-operator",
        "deploy ops/queue-operator uses=account:queue-operator replicas=0 ready=0",
    ];

    fn basis(index: &Index, is_it: fn(&RemedyAct) -> bool) -> Basis {
        let mut all = found(index).into_iter().flat_map(|(diagnosis, remedies)| {
            remedies.into_iter().map(move |remedy| (diagnosis.clone(), remedy))
        });
        let (diagnosis, remedy) = all.find(|(_, remedy)| is_it(&remedy.act)).expect("a remedy");
        let premises = remedy.premises(&diagnosis, index).unwrap();
        let diagnoses = diagnose(index, &Graph::of(index), fixture::now());
        Basis::of(&remedy, &diagnosis, &premises, &diagnoses, index).unwrap()
    }

    /// The objects that are named before the request and after it.
    fn changed(basis: &Basis, index: &Index) -> [Option<String>; 2] {
        let diagnoses = diagnose(index, &Graph::of(index), fixture::now());
        let now = found(index).into_iter().find(|(it, _)| it.id == basis.diagnosis());
        let before = basis.changed_before(now.as_ref(), &diagnoses, index);
        let after = basis.changed_after(&diagnoses, index);
        [before, after].map(|object| object.map(|it| it.to_string()))
    }

    fn named(object: &str) -> Option<String> {
        Some(object.to_owned())
    }

    /// The index with these objects as well.
    fn with(index: &Index, objects: &[&str]) -> Index {
        let mut index = index.clone();
        let applied = |it: &&str| Observation::Applied(Box::new(fixture::object(it)));
        index.apply(objects.iter().map(applied), fixture::now());
        index
    }

    fn without(index: &Index, object: &str) -> Index {
        let mut index = index.clone();
        let Object { kind, uid, .. } = fixture::object(object);
        index.apply([Observation::Deleted { kind, uid }], fixture::now());
        index
    }

    fn is_removal(act: &RemedyAct) -> bool {
        matches!(act, RemedyAct::RemoveFinalizer { .. })
    }

    #[test]
    fn node_that_falls_silent_around_the_request_is_named_before_and_after_it() {
        // The nodes of the second cluster are too many to be read.
        let many: String = (3..110).map(|n| format!("node n{n}\n")).collect();
        for index in [watched(SILENT), watched(&format!("{SILENT}\n{many}"))] {
            for is_it in [
                (|act| matches!(act, RemedyAct::OutOfServiceTaint { .. }))
                    as fn(&RemedyAct) -> bool,
                |act| matches!(act, RemedyAct::DeleteNode { .. }),
                |act| matches!(act, RemedyAct::ForceDeletePod { .. }),
            ] {
                let basis = basis(&index, is_it);
                assert!(basis.is_looked_at_after());
                assert_eq!(changed(&basis, &index), [None, None]);
                let silent = "node n2 ready=Ready:Unknown:NodeStatusUnknown:0:gone";
                let silent = with(&index, &[silent]);
                assert_eq!(changed(&basis, &silent), [named("Node n2"), named("Node n2")]);
                let ready = with(&index, &["node new"]);
                assert_eq!(changed(&basis, &ready), [None, None]);
            }
        }
    }

    #[test]
    fn node_that_was_silent_for_weeks_when_the_person_looked_is_no_change() {
        let old = "node n2 ready=Ready:Unknown:NodeStatusUnknown:2592000:gone";
        let index = watched(&SILENT.replace("node n2", old));
        let basis = basis(&index, |act| matches!(act, RemedyAct::DeleteNode { .. }));
        assert_eq!(changed(&basis, &index), [None, None]);
    }

    #[test]
    fn effect_of_the_request_itself_is_a_change_only_before_it() {
        let index = watched(SILENT);
        let basis = basis(&index, |act| matches!(act, RemedyAct::DeleteNode { .. }));
        let gone = without(&index, "node n1");
        assert_eq!(changed(&basis, &gone), [named("Node n1"), None]);
    }

    #[test]
    fn pod_that_comes_to_the_node_is_a_change_before_the_request() {
        let index = watched(SILENT);
        let basis = basis(&index, |act| matches!(act, RemedyAct::OutOfServiceTaint { .. }));
        let another = with(&index, &["pod shop/late node=n1"]);
        assert_eq!(changed(&basis, &another), [named("Node n1"), None]);
    }

    #[test]
    fn target_that_has_changed_since_the_confirmation_is_named_before_the_request() {
        let index = fixture::index(STUCK);
        let basis = basis(&index, is_removal);
        let topic = "Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic";
        let target = basis.premises[0].object.to_string();
        let topic = topic.replace("s4/orders", target.split(' ').nth(1).unwrap());
        let labelled = with(&index, &[&format!("{topic} labels=a:b")]);
        assert_eq!(changed(&basis, &labelled), [named(&target), None]);
    }

    #[test]
    fn program_that_comes_where_none_was_known_is_named_before_and_after_the_request() {
        let index = fixture::index(STUCK);
        let basis = basis(&index, is_removal);
        assert!(basis.is_looked_at_after());
        assert_eq!(changed(&basis, &index), [None, None]);
        let operator = || named("Deployment ops/queue-operator");
        let installed = with(&index, &OPERATOR);
        assert_eq!(changed(&basis, &installed), [operator(), operator()]);
        // One topic is gone with the request, and the other waits.
        for name in ["orders", "audit"] {
            let topic = format!("Topic.queue.example s4/{name} finalizers=a/b");
            assert_eq!(changed(&basis, &without(&index, &topic))[1], None, "without {name}");
            assert_eq!(changed(&basis, &without(&installed, &topic))[1], operator());
        }
    }

    #[test]
    fn program_that_the_person_was_told_about_is_no_change() {
        let index = with(&fixture::index(STUCK), &OPERATOR);
        let basis = basis(&index, is_removal);
        assert_eq!(changed(&basis, &index), [None, None]);
    }
}
