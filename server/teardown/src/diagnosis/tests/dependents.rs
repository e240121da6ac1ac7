//! Objects that their own program keeps for those that depend on them.

use super::*;
use crate::remedy::remedies;

/// A cluster of Rook that is being deleted, its operator, and a condition with a place for its list.
fn rook(conditions: &str) -> String {
    format!(
        "ns rook
        deploy rook/rook-ceph-operator ready=1 replicas=1 uses=account:operator
        crb operator role=clusterrole/operator accounts=rook/operator
        clusterrole operator updates=cephclusters.ceph.rook.io
        CephCluster.ceph.rook.io rook/ceph deleted=4000 finalizers=cephcluster.ceph.rook.io conditions={conditions}
        "
    )
}

fn blocked(list: &str) -> String {
    rook(&format!(
        "DeletionIsBlocked:True:ObjectHasDependents:290:CephCluster_will_not_be_deleted_until_all_dependents_are_removed:_{list}"
    ))
}

const POOL: &str = "CephBlockPool.ceph.rook.io rook/a";

#[test]
fn operator_that_keeps_an_object_for_its_dependents_is_not_said_to_be_slow() {
    let text = blocked("CephBlockPool:_[a],_CephFilesystems:_[b_c]");
    let text = format!("{text}\n{POOL}\nCephFilesystem.ceph.rook.io rook/c");
    insta::assert_snapshot!(diagnoses(&text), @r#"
    keptForDependents at CephCluster rook/ceph (Confirmed, stuck)
      CephCluster rook/ceph
      - CephCluster rook/ceph: condition DeletionIsBlocked True ObjectHasDependents: CephCluster will not be deleted until all dependents are removed: CephBlockPool: [a], CephFilesystems: [b c]
    "#);
    // Buckets are no objects of the cluster.
    let text = blocked("buckets_in_the_object_store_(could_be_COSI):_[logs]");
    insta::assert_snapshot!(diagnoses(&text), @r#"
    keptForDependents at CephCluster rook/ceph (Confirmed, stuck)
      CephCluster rook/ceph
      - CephCluster rook/ceph: condition DeletionIsBlocked True ObjectHasDependents: CephCluster will not be deleted until all dependents are removed: buckets in the object store (could be COSI): [logs]
    "#);
}

#[test]
fn dependents_that_are_being_deleted_are_waited_for() {
    let text = blocked("CephBlockPool:_[a]");
    let going = format!("{text}\n{POOL} deleted=200 finalizers=pool.example/x");
    insta::assert_snapshot!(diagnoses(&going), @r#"
    finisherUnknown at CephBlockPool  (Inferred, stuck)
      CephBlockPool rook/a
      CephCluster rook/ceph for Use of CephBlockPool rook/a
      - Deployment rook/rook-ceph-operator: status.readyReplicas 1 / 1
      - CephBlockPool rook/a: metadata.finalizers pool.example/x
    "#);
    let both = going.replace("[a]", "[a_b]");
    let both = format!("{both}\nCephBlockPool.ceph.rook.io rook/b");
    insta::assert_snapshot!(heads(&fixture::index(&both)), @r#"
    finisherUnknown at CephBlockPool  (Inferred, stuck)
    keptForDependents at CephCluster rook/ceph (Confirmed, stuck)
    "#);
}

#[test]
fn condition_that_blocks_nothing_leaves_the_operator_to_blame() {
    let busy = "finisherBusy at Deployment rook/rook-ceph-operator (Inferred, stuck)";
    let text = blocked("CephBlockPool:_[a]");
    let definition = "crd cephblockpools.ceph.rook.io defines=CephBlockPool.ceph.rook.io";
    for (text, why) in [
        (rook("Ready:True:ClusterCreated:290:created"), "another condition"),
        (text.replace(":True:", ":False:") + POOL, "it is False"),
        (format!("{text}\n{definition}\n{POOL}2"), "the last dependent is gone"),
        (text.replace("ObjectHasDependents", "Maintenance"), "another reason"),
        (
            text.replace("conditions=", "x=")
                + POOL
                + " conditions=DeletionIsBlocked:True:ObjectHasDependents:9:CephCluster:_[ceph]",
            "of another object, which nobody deletes",
        ),
    ] {
        assert_eq!(heads(&fixture::index(&text)), busy, "{why}");
    }
    let other = text.replace("ObjectHasDependents", "Maintenance");
    assert!(diagnoses(&other).contains("condition DeletionIsBlocked True Maintenance"));
}

#[test]
fn dependents_of_a_hidden_kind_another_namespace_or_another_group_are_not_said_to_be_gone() {
    let definition = "crd cephblockpools.ceph.rook.io defines=CephBlockPool.ceph.rook.io";
    let text = format!("{}\n{definition}\n{POOL}2", blocked("CephBlockPool:_[a]"));
    let mut index = fixture::index(&text);
    hide(&mut index, "cephblockpools.ceph.rook.io");
    assert!(
        heads(&index).starts_with("keptForDependents at CephCluster rook/ceph"),
        "{}",
        heads(&index)
    );
    for other in ["CephBlockPool.ceph.rook.io other/a", "CephBlockPool.example.com rook/a"] {
        let text = format!("{}\n{other}", blocked("CephBlockPool:_[a]"));
        let found = diagnose_all(&fixture::index(&text));
        assert!(
            matches!(&found[0].cause, Cause::KeptForDependents { dependents } if dependents.is_empty()),
            "{other}"
        );
    }
}

#[test]
fn operator_that_is_not_there_stays_a_cause_beside_the_dependents() {
    let text = format!("{}\n{POOL}", blocked("CephBlockPool:_[a]"));
    let down = text.replace("ready=1", "ready=0");
    insta::assert_snapshot!(heads(&fixture::index(&down)), @r"
    finisherNotReady at Deployment rook/rook-ceph-operator (Inferred, stuck)
    keptForDependents at CephCluster rook/ceph (Confirmed, stuck)
    ");
    // A finalizer of another program has nothing to do with it.
    let other = text.replace(
        "finalizers=cephcluster.ceph.rook.io",
        "finalizers=cephcluster.ceph.rook.io,acme.cert-manager.io/x",
    );
    let other = format!("{other}\ndeploy ops/cert-manager ready=1 replicas=1");
    insta::assert_snapshot!(heads(&fixture::index(&other)), @r"
    finisherBusy at Deployment rook/rook-ceph-operator (Inferred, stuck)
    keptForDependents at CephCluster rook/ceph (Confirmed, stuck)
    ");
}

#[test]
fn way_out_is_through_the_dependents_and_never_through_the_finalizer() {
    for list in ["CephBlockPool:_[a]", "buckets:_[logs]"] {
        let index = fixture::index(&format!("{}\n{POOL}", blocked(list)));
        let (graph, now) = (Graph::of(&index), fixture::now());
        let found = diagnose(&index, &graph, now);
        let ways = remedies(&found[0], &index, &graph, now);
        let last = ways.last().unwrap();
        assert_eq!(serde_json::to_value(&last.act).unwrap(), "deleteDependents");
        assert_eq!(last.withheld, None);
        let lines: Vec<String> = last.lines("").into_iter().map(|(_, line)| line).collect();
        assert_eq!(
            lines,
            ["kubectl --context= --namespace=rook describe cephclusters.ceph.rook.io/ceph"]
        );
        let wire = serde_json::to_string(&ways).unwrap();
        assert!(!wire.contains("removeFinalizer"), "{wire}");
    }
}

fn diagnose_all(index: &Index) -> Vec<Diagnosis> {
    diagnose(index, &Graph::of(index), fixture::now())
}

/// An operator writes into the object why it cannot delete what is behind it: a cloud that refuses, or a hook that nobody has run.
#[test]
fn words_of_the_operator_stand_on_the_card_of_its_finalizer() {
    let said = |conditions: &str| {
        let found = diagnoses(&format!(
            "crd buckets.s3.example defines=Bucket.s3.example
            deploy ops/provider-s3 replicas=1 ready=1 uses=account:provider
            clusterrole provider updates=buckets.s3.example
            crb provider role=clusterrole/provider accounts=ops/provider
            Bucket.s3.example logs deleted=400 finalizers=s3.example/bucket conditions={conditions}"
        ));
        assert!(found.starts_with("finisherBusy at Deployment ops/provider-s3"), "{found}");
        found
            .lines()
            .filter(|line| line.contains("condition"))
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(said("Synced:False:ReconcileError:900:delete_failed:_AccessDenied"), @"- Bucket logs: condition Synced False ReconcileError: delete failed: AccessDenied");
    insta::assert_snapshot!(said("Deleting:True:WaitingForPreDrainHook:390:hooks:_backup;Ready:True:Available:900:"), @"- Bucket logs: condition Deleting True WaitingForPreDrainHook: hooks: backup");
}
