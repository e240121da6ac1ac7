//! The ways out of volumes that a CSI driver has to unmount.

use super::*;

/// A Pod that has ended, with the driver's own Pod and others on its node.
const MOUNTED: &str = "
    node n1
    node n2
    csinode n1 drivers=disk.example
    ds disk/csi-node drivers=disk.example
    pod disk/csi-node-a owner=ds/csi-node node=n1
    pod disk/csi-node-b owner=ds/csi-node node=n2
    pvc shop/data volume=disk-1
    pv disk-1 claim=shop/data driver=disk.example
    pvc shop/other volume=disk-2
    pv disk-2 claim=shop/other driver=disk.example
    pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data
    pod shop/reads node=n1 uses=claim:other
    pod shop/inline node=n1 uses=driver:disk.example
    pod shop/over node=n1 phase=Succeeded uses=claim:other
    pod shop/elsewhere node=n2 uses=claim:other
    pod shop/without node=n1
";

fn restarts(index: &Index) -> Vec<Remedy> {
    let found = found(index).into_iter().flat_map(|(_, remedies)| remedies);
    found.filter(|it| matches!(it.act, RemedyAct::RestartDriver { .. })).collect()
}

#[test]
fn driver_is_restarted_by_a_person_who_sees_which_pods_it_may_cut_off() {
    let index = fixture::index(MOUNTED);
    assert_eq!(
        acts(&index),
        ["wait", "freeMount", "restartKubelet", "restartDriver", "restartNode", "forceDeletePod"]
    );
    let [restart] = &restarts(&index)[..] else { panic!() };
    assert_eq!(restart.target.as_ref().unwrap().to_string(), "Pod disk/csi-node-a");
    let reached: Vec<String> = restart.reaches.objects.iter().map(ToString::to_string).collect();
    assert_eq!(reached, ["Pod shop/inline", "Pod shop/reads"]);
    assert_eq!(restart.loses, [Loss::ServedMounts]);
    assert!(restart.commands.iter().all(|it| it.request.is_none()), "a person alone sends it");
    let lines: Vec<String> = restart.lines("prod").into_iter().map(|(_, line)| line).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    kubectl --context=prod --namespace=disk describe pods/csi-node-a
    printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pod:disk/csi-node-a"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/disk/pods/csi-node-a --filename=-
    "#);
}

#[test]
fn driver_that_serves_nobody_else_costs_nothing_and_one_without_a_pod_is_not_restarted() {
    let alone = MOUNTED
        .replace("pod shop/reads", "rs shop/reads")
        .replace("pod shop/inline", "rs shop/inline");
    let [restart] = &restarts(&fixture::index(&alone))[..] else { panic!() };
    assert!(restart.reaches.is_none() && restart.loses.is_empty());
    let without = MOUNTED.replace("pod disk/csi-node-a", "rs disk/csi-node-a");
    assert!(restarts(&fixture::index(&without)).is_empty());
    let going = MOUNTED.replace("csi-node-a owner", "csi-node-a deleted=5 owner");
    assert!(restarts(&fixture::index(&going)).is_empty(), "it goes already");
    let gone = MOUNTED.replace("pvc shop/data volume=disk-1", "pvc shop/third");
    assert!(restarts(&fixture::index(&gone)).is_empty(), "the claim is what is missing");
}

#[test]
fn driver_that_is_not_ready_is_repaired_where_its_pod_is() {
    let index = fixture::index(&MOUNTED.replace("csi-node-a owner", "csi-node-a ready=no owner"));
    let found = found(&index).into_iter().flat_map(|(_, remedies)| remedies).collect::<Vec<_>>();
    let repair = &found[0];
    assert!(matches!(repair.act, RemedyAct::RepairDriver { .. }), "{:?}", repair.act);
    assert_eq!(repair.target.as_ref().unwrap().to_string(), "Pod disk/csi-node-a");
    let lines: Vec<String> = repair.lines("prod").into_iter().map(|(_, line)| line).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    kubectl --context=prod get csinodes.storage.k8s.io/n1 --output=yaml --show-managed-fields
    kubectl --context=prod --namespace=disk describe pods/csi-node-a
    kubectl --context=prod --namespace=disk logs pods/csi-node-a --all-containers --tail=200
    ");
    assert_eq!(restarts(&index).len(), 1);
}
