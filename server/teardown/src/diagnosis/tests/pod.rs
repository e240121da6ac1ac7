//! Pods: nodes that fell silent at other times, containers that were never reported, claims that were made again, namespaces
//! that are gone.

use super::*;

#[test]
fn node_that_was_forgotten_long_ago_is_not_silent_together_with_this_one() {
    let silent = |text: &str| {
        let index = fixture::index(text);
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        found.iter().find_map(|it| match &it.cause {
            Cause::NodeSilent { silent, .. } => Some(*silent),
            _ => None,
        })
    };
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:gone
        node n2 ready=Ready:Unknown:NodeStatusUnknown:2592000:gone
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    ";
    assert_eq!(silent(text), Some(1));
    assert_eq!(silent(&text.replace("2592000", "1200")), Some(2), "10 min apart");
    assert_eq!(silent(&text.replace("2592000", "0")), Some(2));
}

#[test]
fn pod_that_was_too_slow_for_the_shutdown_of_its_node_waits_for_the_node() {
    let text = "
        node n1 ready=Ready:False:KubeletNotReady:40:node_is_shutting_down
        pod shop/a node=n1 deleted=60 grace=30 containers=web:running uses=claim:data
        pvc shop/data deleted=50 finalizers=kubernetes.io/pvc-protection volume=pv-1
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    containersRunning at Pod shop/a (Inferred, waits)
      Pod shop/a
      PersistentVolumeClaim shop/data for Mount of Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Running; web running
      - Node n1: condition Ready False KubeletNotReady: node is shutting down
    "#);
    // The node controller overwrites what the kubelet said once it is silent.
    let silent = text.replace(
        "Ready:False:KubeletNotReady:40:node_is_shutting_down",
        "Ready:Unknown:NodeStatusUnknown:40:Kubelet_stopped_posting_node_status.",
    );
    assert_eq!(heads(&fixture::index(&silent)), "nodeSilent at Node n1 (Inferred, waits)");
}

#[test]
fn claim_of_a_pod_that_the_shutdown_of_its_node_ended_is_held_by_that_pod() {
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
        pod shop/a node=n1 phase=Failed containers=web:terminated disruption=TerminationByKubelet uses=claim:data
        pvc shop/data deleted=400 finalizers=kubernetes.io/pvc-protection volume=pv-1
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    claimHeldByCompletedPods at PersistentVolumeClaim shop/data (Confirmed, stuck)
      PersistentVolumeClaim shop/data
      - Pod shop/a: spec.volumes persistentVolumeClaim data
    "#);
}

#[test]
fn pod_without_a_container_status_is_not_said_to_run() {
    let pod = "node n1\npod shop/a node=n1 deleted=400 grace=30 phase=Pending";
    insta::assert_snapshot!(describe(&fixture::index(pod)), @r#"
    neverStarted at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Pending
      - Node n1: condition Ready True Kubelet
    "#);
    let runs = pod.replace("phase=Pending", "phase=Running containers=web:running");
    assert!(heads(&fixture::index(&runs)).starts_with("containersRunning"));
}

#[test]
fn claim_that_was_made_again_is_not_the_one_that_the_pod_mounts() {
    let text = "
        node n1
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pvc shop/data age=100 volume=pv-2
        pv pv-1 claim=shop/data claim-uid=old phase=Released
        pv pv-2 claim=shop/data
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    claimGone at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Failed; web terminated
      - Node n1: condition Ready True Kubelet
      - PersistentVolumeClaim shop/data: metadata.creationTimestamp
    "#);
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    let ways = crate::remedy::remedies(&found[0], &index, &graph, fixture::now());
    let mount = ways.into_iter().find_map(|it| match it.act {
        crate::remedy::RemedyAct::FreeMount { volumes, .. } => Some(volumes),
        _ => None,
    });
    assert_eq!(mount, Some(vec![("pv-1".into(), "data".into())]));
    let older = text.replace("age=100", "age=1000");
    assert!(heads(&fixture::index(&older)).starts_with("volumesMounted"));
}

#[test]
fn pod_in_a_namespace_that_is_gone_cannot_be_reported() {
    let text = "
        ns ops
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    namespaceGone at Namespace shop (Inferred, stuck)
      Pod shop/a
      - Namespace shop: absent 
      - Pod shop/a: status Running; web running
    containersRunning at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Running; web running
      - Node n1: condition Ready True Kubelet
    "#);
    let exists = heads(&fixture::index(&format!("{text}ns shop\n")));
    assert!(exists.starts_with("containersRunning"), "{exists}");
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    for diagnosis in diagnose(&index, &graph, fixture::now()) {
        let ways = crate::remedy::remedies(&diagnosis, &index, &graph, fixture::now());
        let again = crate::remedy::RemedyAct::RecreateNamespace {
            namespace: "shop".into(),
            has_labels: false,
        };
        assert_eq!(ways.into_iter().map(|it| it.act).collect::<Vec<_>>(), [again]);
    }
    let mut index = fixture::index(text);
    hide(&mut index, "namespaces");
    assert!(!heads(&index).contains("namespaceGone"), "it may be there");
}

#[test]
fn pod_that_another_controller_took_over_is_not_counted_by_its_job() {
    let text = "
        node n1
        job shop/import
        pod shop/a owner=job/import node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking
    ";
    assert!(heads(&fixture::index(text)).starts_with("controllerSilent at Pod shop/a"));
    let other = text.replace("owner=job/import", "owner=rs/web");
    insta::assert_snapshot!(describe(&fixture::index(&other)), @r#"
    finisherGone at Pod  (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.finalizers batch.kubernetes.io/job-tracking
      - Pod shop/a: metadata.ownerReferences ReplicaSet web
    "#);
}

#[test]
fn missing_driver_is_found_by_the_csi_node_and_holds_all_pods_that_use_it() {
    insta::assert_snapshot!(diagnoses("
        node n1
        csinode n1 drivers=other.example
        pvc shop/data volume=pv
        pv pv claim=shop/data driver=disk.example
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pod shop/b node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
    "), @"
    driverMissing at CSINode n1 (Inferred, stuck)
      Pod shop/a
      Pod shop/b
      - CSINode n1: spec.drivers other.example
      - Node n1: condition Ready True Kubelet
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Failed; web terminated
      - Pod shop/b: metadata.deletionTimestamp 
      - Pod shop/b: status Failed; web terminated
      - CSIDriver disk.example: absent
    ");
}

#[test]
fn missing_driver_of_an_inline_volume_is_found_as_well() {
    let with = |drivers: &str| {
        diagnoses(&format!(
            "node n1
             csinode n1 drivers={drivers}
             pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=driver:disk.example"
        ))
    };
    insta::assert_snapshot!(with("other.example"), @"
    driverMissing at CSINode n1 (Inferred, stuck)
      Pod shop/a
      - CSINode n1: spec.drivers other.example
      - Node n1: condition Ready True Kubelet
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Failed; web terminated
      - CSIDriver disk.example: absent
    ");
    assert!(with("disk.example").starts_with("volumesMounted "), "it is registered");
}

#[test]
fn volume_that_was_deleted_under_its_claim_is_gone_as_well() {
    let text = "
        node n1
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pvc shop/data volume=pv-1 phase=Lost
        pv pv-2 claim=shop/other
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    claimGone at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Failed; web terminated
      - Node n1: condition Ready True Kubelet
      - PersistentVolume pv-1: absent 
      - PersistentVolumeClaim shop/data: status.phase Lost
    "#);
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    let cause = serde_json::to_value(&found[0].cause).unwrap();
    assert_eq!(cause["volumes"], serde_json::json!(["pv-1"]));
    assert_eq!(cause["names"], serde_json::Value::Null, "the claim is there");
    let ways = crate::remedy::remedies(&found[0], &index, &graph, fixture::now());
    let restores = |it: &crate::remedy::Remedy| {
        matches!(it.act, crate::remedy::RemedyAct::RestoreExport { .. })
    };
    assert!(ways.iter().any(restores), "{ways:?}");
    // Before the binder has looked, the claim still counts as bound.
    assert!(heads(&fixture::index(&text.replace("Lost", "Bound"))).starts_with("claimGone"));
    let there = format!("{}pv pv-1 claim=shop/data", text.replace("phase=Lost", "phase=Bound"));
    assert!(heads(&fixture::index(&there)).starts_with("volumesMounted"));
    // A volume that cannot be seen may be there.
    let mut unseen = fixture::index(&text.replace("phase=Lost", "phase=Bound"));
    hide(&mut unseen, "persistentvolumes");
    assert!(heads(&unseen).starts_with("volumesMounted"));
    // The Pod has none of the claims that were lost.
    let inline = text.replace("uses=claim:data", "volumes=yes");
    assert!(heads(&fixture::index(&inline)).starts_with("volumesMounted"));
}
