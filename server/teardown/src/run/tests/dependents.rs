//! Tests of owners and their dependents, which the garbage collector takes or a controller makes again.

use super::script::transcript;

#[test]
fn unconfirmed_dependent_blocks_its_owner() {
    let cluster = "ns shop of=shop\n Widget.example.com shop/w of=shop";
    let script = "pause first
        applied rs shop/w-1 owner=Widget.example.com/w
        applied pod shop/w-a owner=rs/w-1
        applied pvc shop/w-a-scratch owner=pod/w-a
        applied endpoints shop/w-1 owner=Widget.example.com/w
        applied VolumeSnapshot.snapshot.storage.k8s.io shop/s owner=Widget.example.com/w
        resume
        gone VolumeSnapshot.snapshot.storage.k8s.io shop/s";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied rs shop/w-1 owner=Widget.example.com/w
    > applied pod shop/w-a owner=rs/w-1
    > applied pvc shop/w-a-scratch owner=pod/w-a
    > applied endpoints shop/w-1 owner=Widget.example.com/w
    > applied VolumeSnapshot.snapshot.storage.k8s.io shop/s owner=Widget.example.com/w
    > resume
    Widget shop/w would take VolumeSnapshot shop/s along
    > gone VolumeSnapshot.snapshot.storage.k8s.io shop/s
    DELETE Widget shop/w
    ");
}

#[test]
fn recreated_object_of_a_skipped_owner_is_skipped() {
    let cluster = "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db deleted=0";
    // The Pod was evicted before the run.
    let again = "gone pod shop/db-0 owner=sts/db \
        & applied pod shop/db-0 uid=again owner=sts/db labels=app:db";
    let script = format!("refused sts:shop/db\n skip sts:shop/db\n {again}");
    insta::assert_snapshot!(transcript(cluster, &script), @"
    Pod shop/db-0 is terminating
    DELETE StatefulSet shop/db
    > refused sts:shop/db
    StatefulSet shop/db was refused: 403
    > skip sts:shop/db
    StatefulSet shop/db is skipped
    Namespace shop is skipped
    > gone pod shop/db-0 owner=sts/db & applied pod shop/db-0 uid=again owner=sts/db labels=app:db
    Pod shop/db-0 came back as again, made by StatefulSet shop/db
    Pod shop/db-0 is skipped
    the run has finished
    ");
}

/// A GitOps tool re-created the StatefulSet, which re-created its Pods. One command skips all of them.
#[test]
fn dependents_of_a_recreated_object_are_skipped_with_it() {
    let cluster = "ns shop of=shop
         sts shop/db of=shop selector=app:db template=app:db
         pod shop/db-0 owner=sts/db labels=app:db\n pod shop/db-1 owner=sts/db labels=app:db";
    let pod = |name: &str| {
        format!(
            "gone pod shop/{name} owner=sts/db \
             & applied pod shop/{name} uid={name}-again owner=sts/db owner-uid=again labels=app:db"
        )
    };
    let again = "gone sts shop/db \
        & applied sts shop/db uid=again of=shop selector=app:db template=app:db";
    let (first, second) = (pod("db-0"), pod("db-1"));
    let script = format!("accepted sts:shop/db\n {again} & {first} & {second}\n skip sts:shop/db");
    let lines = transcript(cluster, &script);
    let after: Vec<&str> = lines.lines().skip_while(|line| !line.starts_with("> gone")).collect();
    insta::assert_snapshot!(after[1..].join("\n"), @"
    StatefulSet shop/db came back as again
    Pod shop/db-0 came back as db-0-again, made by StatefulSet shop/db
    Pod shop/db-1 came back as db-1-again, made by StatefulSet shop/db
    > skip sts:shop/db
    StatefulSet shop/db is skipped
    Namespace shop is skipped
    Pod shop/db-0 is skipped
    Pod shop/db-1 is skipped
    the run has finished
    ");
}

#[test]
fn dependents_that_the_collector_keeps_block_nothing() {
    let cluster = "cm shop/other\n Widget.example.com shop/w of=shop
         clusterrole w owner=Widget.example.com/w owner-uid=Widget.example.com:shop/w";
    let script = "pause first
        applied secret shop/shared owner=Widget.example.com/w,cm/other
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied secret shop/shared owner=Widget.example.com/w,cm/other
    > resume
    DELETE Widget shop/w
    ");
}

#[test]
fn dependents_of_a_pod_need_no_confirmation() {
    let cluster = "deploy shop/web of=shop selector=app:web\n rs shop/web-1 owner=deploy/web selector=app:web";
    let script = "pause first
        applied pod shop/web-1-b owner=rs/web-1 labels=app:web
        applied CiliumEndpoint.cilium.io shop/web-1-b owner=pod/web-1-b
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > applied pod shop/web-1-b owner=rs/web-1 labels=app:web
    > applied CiliumEndpoint.cilium.io shop/web-1-b owner=pod/web-1-b
    > resume
    DELETE Deployment shop/web
    ");
}

/// The plan looks along each way from an owner to its dependents, of which there are 2^24 here.
#[test]
fn owner_beside_another_takes_nothing_along_and_is_planned_fast() {
    const LAYERS: usize = 24;
    let mut fixture =
        "Widget.example.com shop/l0 of=shop\n Widget.example.com shop/r0 of=shop\n".to_owned();
    for layer in 1..LAYERS {
        let owners = format!("Widget.example.com/l{0},Widget.example.com/r{0}", layer - 1);
        for side in ["l", "r"] {
            fixture += &format!("Widget.example.com shop/{side}{layer} of=shop owner={owners}\n");
        }
    }
    // The other owner may still be there.
    let script = "look at taken
        accepted Widget.example.com:shop/l0
        look at taken";
    insta::assert_snapshot!(transcript(&fixture, script), @"
    DELETE Widget shop/l0 without its dependents
    DELETE Widget shop/r0 without its dependents
    > look at taken
    along with another goes: none
    > accepted Widget.example.com:shop/l0
    > look at taken
    along with another goes: none
    ");
}

/// A Retain volume does not go with its claim: the run itself deletes it, because it is declared.
#[test]
fn volume_that_the_run_deletes_itself_does_not_go_along_with_its_claim() {
    let cluster = "pvc shop/data of=shop volume=pv\n pv pv of=shop claim=shop/data";
    let script = "no pods pvc:shop/data
        accepted pvc:shop/data
        look at taken";
    insta::assert_snapshot!(transcript(cluster, script), @"
    LIST pods in shop
    > no pods pvc:shop/data
    DELETE PersistentVolumeClaim shop/data
    > accepted pvc:shop/data
    > look at taken
    along with another goes: none
    ");
}

/// The collector takes nothing of an owner that is deleted without its dependents, near or far.
#[test]
fn owner_of_a_skipped_grandchild_takes_nothing_along() {
    let cluster = "
        Widget.example.com shop/w of=shop
        deploy shop/web owner=Widget.example.com/w
        rs shop/web-1 owner=deploy/web
        cm shop/a owner=Widget.example.com/w";
    let script = "pause first
        skip rs:shop/web-1
        resume
        accepted Widget.example.com:shop/w
        look at taken";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    > skip rs:shop/web-1
    ReplicaSet shop/web-1 is skipped
    > resume
    DELETE Widget shop/w without its dependents
    > accepted Widget.example.com:shop/w
    > look at taken
    along with another goes: none
    ");
}

/// It goes in any case, and the collector may as well take it.
#[test]
fn owner_does_not_orphan_a_skipped_object_that_is_terminating() {
    let cluster = "
        deploy shop/web of=shop
        rs shop/web-1 owner=deploy/web deleted=0 finalizers=example.com/hold";
    let script = "pause first
        skip rs:shop/web-1
        resume";
    insta::assert_snapshot!(transcript(cluster, script), @"
    > pause first
    ReplicaSet shop/web-1 is terminating
    > skip rs:shop/web-1
    ReplicaSet shop/web-1 is skipped
    > resume
    DELETE Deployment shop/web
    ");
}
