//! Controllers of the control plane that may be at work, and those of a kube-controller-manager that does not run.

use jiff::SignedDuration;

use super::*;
use crate::{
    fetched::{Answer, Lease, MANAGER, Question},
    observation::Observation,
};

#[test]
fn collector_has_a_minute_before_it_counts_as_silent() {
    let found = |seconds: i64, finalizer: &str| {
        verdicts(&diagnose_text(&format!(
            "deploy shop/web deleted={seconds} finalizers={finalizer}\nrs shop/web-1 owner=deploy/web"
        )))
    };
    for finalizer in ["orphan", "foregroundDeletion"] {
        assert_eq!(found(20, finalizer), "", "it is not late");
        let early = "controllerSilent at Deployment shop/web (Unknown)";
        assert_eq!(found(40, finalizer), early);
        let late = "controllerSilent at Deployment shop/web (Inferred)";
        assert_eq!(found(80, finalizer), late);
    }
    assert_eq!(found(40, "example.com/x").split(' ').next(), Some("finisherGone"));
    assert_eq!(
        found(40, "orphan,example.com/x").split(' ').next(),
        Some("finisherGone"),
        "something else explains it"
    );
}

#[test]
fn owner_is_not_deleted_again_while_the_collector_may_be_at_work() {
    let acts = |seconds: i64| {
        let index = fixture::index(&format!(
            "deploy shop/web deleted={seconds} finalizers=orphan\nrs shop/web-1 owner=deploy/web"
        ));
        let graph = Graph::of(&index);
        let found = diagnose(&index, &graph, fixture::now());
        let ways = crate::remedy::remedies(&found[0], &index, &graph, fixture::now());
        ways.iter().map(|it| it.harm).collect::<Vec<_>>()
    };
    use crate::remedy::Harm::{DataLoss, None};
    assert_eq!(acts(40), [None, None]);
    assert_eq!(acts(80), [None, DataLoss]);
}

#[test]
fn controllers_of_a_silent_manager_are_part_of_its_card() {
    let mut index = fixture::index(
        "
        cm shop/parent deleted=200 finalizers=foregroundDeletion
        crd topics.queue.example defines=Topic.queue.example deleted=200 finalizers=customresourcecleanup.apiextensions.k8s.io
        Db.example.com shop/db deleted=200 finalizers=example.com/db
    ",
    );
    let cards = |index: &Index| {
        let found = joined(diagnose(index, &Graph::of(index), fixture::now()));
        let facts = found[0].evidence.iter().any(|it| &*it.of.name == "parent");
        (verdicts(&found), facts)
    };
    assert!(cards(&index).0.contains("controllerSilent at ConfigMap shop/parent"), "none leads");
    for ago in [60, 20] {
        let lease = Lease { name: MANAGER.into(), renewed: "a".into(), duration: None };
        let answer = Ok(Answer::Leases(vec![lease]));
        let answered = Observation::Fetched { question: Question::ManagerLease, answer };
        index.apply([answered], fixture::now() - SignedDuration::from_secs(ago));
    }
    let (verdicts, has_facts) = cards(&index);
    assert!(verdicts.starts_with("managerSilent"), "{verdicts}");
    assert!(!verdicts.contains("ConfigMap shop/parent"), "{verdicts}");
    assert!(has_facts, "the facts of the part are on the card");
    assert!(
        verdicts.contains("controllerSilent at CustomResourceDefinition"),
        "the API server is another program: {verdicts}"
    );
    assert!(verdicts.contains("finisherGone"), "{verdicts}");
}

#[test]
fn definition_is_late_only_after_its_last_object_went() {
    let definition = "crd topics.queue.example defines=Topic.queue.example deleted=200 finalizers=customresourcecleanup.apiextensions.k8s.io";
    let after = |seconds: i64| {
        let mut index =
            fixture::index(&format!("{definition}\nTopic.queue.example shop/a deleted=200"));
        let topic = fixture::object("Topic.queue.example shop/a");
        let gone = Observation::Deleted { kind: topic.kind, uid: topic.uid };
        index.apply([gone], fixture::now() - SignedDuration::from_secs(seconds));
        verdicts(&diagnose(&index, &Graph::of(&index), fixture::now()))
    };
    let silent = "controllerSilent at CustomResourceDefinition topics.queue.example (Inferred)";
    assert_eq!(after(2), "");
    assert_eq!(after(60), silent);
    assert_eq!(verdicts(&diagnose_text(definition)), silent, "nobody saw one");
}

fn diagnose_text(text: &str) -> Vec<Diagnosis> {
    let index = fixture::index(text);
    diagnose(&index, &Graph::of(&index), fixture::now())
}
