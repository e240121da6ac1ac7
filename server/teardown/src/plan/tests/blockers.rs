//! The reasons of a step that waits for another one: all are kept, in one blocker.

use super::*;
use crate::object::{PodReference, PodReferenceKind};

/// The phase that the second of two steps waits for, and its reasons: each edge with its strength, its field and the
/// object of the field.
fn second_waits_for(objects: &[Object]) -> (DeletionPhase, Vec<String>) {
    let mut index = Index::default();
    index.apply(fixture::listing(objects), fixture::now());
    let graph = Graph::of(&index);
    let unit = &units(&index, &graph)[&UnitId::new("shop")];
    let plan = plan(&index, &graph, unit, &Choices::default(), fixture::now()).unwrap();
    let [first, then] = &plan.steps[..] else { panic!("{}", text(&plan)) };
    let [blocker] = &then.after[..] else { panic!("{}", text(&plan)) };
    assert_eq!(blocker.step, first.id);
    let edges = blocker.edges.iter().map(|edge| {
        let on = if edge.on_first { &first.uid } else { &then.uid };
        format!("{:?} {:?} by {} of {on}", edge.strength, edge.kind, edge.reason.field)
    });
    (blocker.phase, edges.collect())
}

/// The server reads one field for each object that a Pod names, so this Pod is made by hand.
#[test]
fn config_map_of_two_fields_of_a_pod_has_one_blocker_with_both_reasons() {
    let mut pod = fixture::object("pod shop/web of=shop");
    let Facts::Pod(facts) = &mut pod.facts else { panic!("no Pod") };
    let fields =
        ["spec.volumes[0].configMap.name", "spec.containers[0].envFrom[0].configMapRef.name"];
    facts.uses = fields
        .map(|field| PodReference {
            what: PodReferenceKind::ConfigMap,
            name: "settings".into(),
            field: field.into(),
        })
        .into();
    let (phase, reasons) = second_waits_for(&[fixture::object("cm shop/settings of=shop"), pod]);
    assert_eq!(phase, DeletionPhase::Gone);
    assert_eq!(
        reasons,
        [
            "Hard Mounts by spec.containers[0].envFrom[0].configMapRef.name of pod:shop/web",
            "Hard Mounts by spec.volumes[0].configMap.name of pod:shop/web",
        ]
    );
}

#[test]
fn claim_that_its_pod_owns_and_mounts_has_one_blocker_with_the_stronger_reason_first() {
    let objects = fixture::objects(
        "pod shop/web of=shop uses=claim:web-scratch
         pvc shop/web-scratch owner=pod/web",
    );
    let (phase, reasons) = second_waits_for(&objects);
    assert_eq!(phase, DeletionPhase::Gone);
    assert_eq!(
        reasons,
        [
            "Hard Mounts by spec.claim of pod:shop/web",
            "Yielding Owns by metadata.ownerReferences[0] of pvc:shop/web-scratch",
        ]
    );
}

#[test]
fn claim_that_its_statefulset_owns_and_made_has_one_blocker_with_the_later_phase() {
    let objects = fixture::objects(
        "sts shop/db of=shop selector=app:db template=app:db templates=data whenDeleted=Delete
         pvc shop/data-db-0 owner=sts/db",
    );
    let (phase, reasons) = second_waits_for(&objects);
    assert_eq!(phase, DeletionPhase::PodsGone);
    assert_eq!(
        reasons,
        [
            "Hard Owns by metadata.ownerReferences[0] of pvc:shop/data-db-0",
            "Hard Claims by spec.volumeClaimTemplates[0].metadata.name of sts:shop/db",
        ]
    );
}
