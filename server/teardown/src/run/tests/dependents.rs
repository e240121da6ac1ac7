//! Tests of owners and their dependents, which the garbage collector takes or a controller makes again.

use super::*;

#[test]
fn unconfirmed_dependent_blocks_its_owner() {
    let mut scenario = Scenario::of("ns shop of=shop\n Widget.example.com shop/w of=shop");
    let transient = [
        "rs shop/w-1 owner=Widget.example.com/w",
        "pod shop/w-a owner=rs/w-1",
        "pvc shop/w-a-scratch owner=pod/w-a",
        "endpoints shop/w-1 owner=Widget.example.com/w",
    ];
    transient.into_iter().for_each(|line| scenario.applied(line));
    scenario.applied("VolumeSnapshot.snapshot.storage.k8s.io shop/s owner=Widget.example.com/w");
    assert!(scenario.reconcile().is_empty());
    assert_eq!(collected_with(&scenario, "Widget.example.com:shop/w"), "VolumeSnapshot shop/s");
    scenario.gone("VolumeSnapshot.snapshot.storage.k8s.io shop/s");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn recreated_object_of_a_skipped_owner_is_skipped() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db deleted=0",
    );
    assert_eq!(scenario.reconcile(), ["DELETE StatefulSet shop/db"]);
    scenario.answer("sts:shop/db", Outcome::Refused { code: 403, message: "no".into() });
    let step = scenario.id("sts:shop/db");
    scenario.steer(&command(RunCommand::Skip(step)));
    assert_eq!(scenario.progress("pod:shop/db-0").stage, Stage::Terminating, "it was evicted");
    scenario.gone("pod shop/db-0 owner=sts/db");
    scenario.applied("pod shop/db-0 uid=again owner=sts/db labels=app:db");
    scenario.reconcile();
    assert_eq!(scenario.progress("pod:shop/db-0").stage, Stage::Skipped);
    assert_eq!(
        scenario.progress("pod:shop/db-0").furthest_stage(),
        Stage::CameBack,
        "it was gone before"
    );
    assert_eq!(scenario.run.state(), RunState::Finished);
}

/// A GitOps tool re-created the StatefulSet, which re-created its Pods. One command skips all of them.
#[test]
fn dependents_of_a_recreated_object_are_skipped_with_it() {
    let mut scenario = Scenario::of(
        "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db\n pod shop/db-1 owner=sts/db labels=app:db",
    );
    scenario.reconcile();
    accepted(&mut scenario, "sts:shop/db");
    scenario.gone("sts shop/db");
    for pod in ["db-0", "db-1"] {
        scenario.gone(&format!("pod shop/{pod} owner=sts/db"));
    }
    scenario.applied("sts shop/db uid=again of=shop selector=app:db template=app:db");
    for pod in ["db-0", "db-1"] {
        let owner = "owner=sts/db owner-uid=again";
        scenario.applied(&format!("pod shop/{pod} uid={pod}-again {owner} labels=app:db"));
    }
    scenario.reconcile();
    let step = scenario.id("sts:shop/db");
    scenario.steer(&command(RunCommand::Skip(step)));
    scenario.reconcile();
    assert_eq!(scenario.run.state(), RunState::Finished);
    assert!(scenario.run.steps().all(|(_, progress)| progress.stage == Stage::Skipped));
}

#[test]
fn dependents_that_the_collector_keeps_block_nothing() {
    let mut scenario = Scenario::of(
        "cm shop/other\n Widget.example.com shop/w of=shop
         clusterrole w owner=Widget.example.com/w owner-uid=Widget.example.com:shop/w",
    );
    scenario.applied("secret shop/shared owner=Widget.example.com/w,cm/other");
    assert_eq!(scenario.reconcile(), ["DELETE Widget shop/w"]);
}

#[test]
fn dependents_of_a_pod_need_no_confirmation() {
    let mut scenario = Scenario::of(
        "deploy shop/web of=shop selector=app:web\n rs shop/web-1 owner=deploy/web selector=app:web",
    );
    scenario.applied("pod shop/web-1-b owner=rs/web-1 labels=app:web");
    scenario.applied("CiliumEndpoint.cilium.io shop/web-1-b owner=pod/web-1-b");
    assert_eq!(scenario.reconcile(), ["DELETE Deployment shop/web"]);
}

#[test]
fn taken_is_fast_for_many_owners() {
    const LAYERS: usize = 24;
    let mut fixture =
        "Widget.example.com shop/l0 of=shop\n Widget.example.com shop/r0 of=shop\n".to_owned();
    for layer in 1..LAYERS {
        let owners = format!("Widget.example.com/l{0},Widget.example.com/r{0}", layer - 1);
        for side in ["l", "r"] {
            fixture += &format!("Widget.example.com shop/{side}{layer} of=shop owner={owners}\n");
        }
    }
    let mut scenario = Scenario::of(&fixture);
    assert_eq!(scenario.run.taken().len(), 0);
    scenario.reconcile();
    accepted(&mut scenario, "Widget.example.com:shop/l0");
    assert_eq!(scenario.run.taken().len(), 2 * (LAYERS - 1));
}
