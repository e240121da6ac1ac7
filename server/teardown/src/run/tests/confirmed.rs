//! Tests of storage that waits until its Pods have ended, and of the proofs that objects are gone.

use super::script::{endings, transcript};

const SHOP: &str = "
    ns shop of=shop
    node n1
    pod shop/web of=shop node=n1 uses=claim:data
    pvc shop/data of=shop volume=pv-1
    pv pv-1 claim=shop/data reclaim=Delete
";
const POD: &str = "pod shop/web of=shop node=n1 uses=claim:data";
/// The kubelet reported the end of the Pod, and then it is gone.
const REPORTED: &str = "applied pod shop/web of=shop node=n1 uses=claim:data deleted=1 phase=Failed containers=web:terminated & gone pod shop/web";

#[test]
fn storage_opens_once_the_kubelet_reported_the_end_of_the_pod() {
    let cells = [
        "deleted=1 phase=Failed containers=web:terminated",
        "phase=Succeeded containers=web:terminated,init:terminated",
        // Its init containers never ended, so it never started.
        "deleted=1 phase=Failed containers=init:terminated,web:waiting",
        // The kubelet rejected it.
        "deleted=1 phase=Failed",
        "deleted=1 phase=Failed containers=web:terminated disruption=DeletionByPodGC",
        // Between two restarts.
        "deleted=1 containers=web:terminated",
        "deleted=1 phase=Failed containers=web:terminated,side:running",
        "deleted=1 containers=web:waiting",
        "deleted=1",
        "",
    ];
    let script = |ending: &str| {
        format!("accepted pod:shop/web\n applied {POD} {ending} & gone pod shop/web")
    };
    insta::assert_snapshot!(endings(SHOP, cells, script), @"
    deleted=1 phase=Failed containers=web:terminated
        Pod shop/web is gone
        LIST pods in shop
    phase=Succeeded containers=web:terminated,init:terminated
        Pod shop/web is gone
        LIST pods in shop
    deleted=1 phase=Failed containers=init:terminated,web:waiting
        Pod shop/web is gone
        LIST pods in shop
    deleted=1 phase=Failed
        Pod shop/web is gone
        LIST pods in shop
    deleted=1 phase=Failed containers=web:terminated disruption=DeletionByPodGC
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    deleted=1 containers=web:terminated
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    deleted=1 phase=Failed containers=web:terminated,side:running
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    deleted=1 containers=web:waiting
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    deleted=1
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    nothing
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    ");
}

#[test]
fn pod_that_failed_on_a_node_out_of_service_may_have_been_ended_by_the_collector() {
    let script = |phase: &str| {
        format!(
            "accepted pod:shop/web
            applied node n1 taints=node.kubernetes.io/out-of-service:NoExecute
            applied {POD} deleted=1 {phase} containers=web:terminated & gone pod shop/web"
        )
    };
    insta::assert_snapshot!(endings(SHOP, ["phase=Failed", "phase=Succeeded"], script), @"
    phase=Failed
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    phase=Succeeded
        Pod shop/web is gone
        LIST pods in shop
    ");
}

#[test]
fn pod_that_never_had_a_node_has_ended() {
    let cluster = SHOP.replace(" node=n1", "");
    let script = "accepted pod:shop/web
        gone pod shop/web";
    insta::assert_snapshot!(transcript(&cluster, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > gone pod shop/web
    Pod shop/web is gone
    LIST pods in shop
    ");
}

#[test]
fn pod_that_went_unwatched_has_ended_if_its_node_is_ready() {
    let nodes = ["node n1", "node n1 ready=no", "node n2"];
    let script = |node: &str| format!("accepted pod:shop/web\n listed node: {node} & listed pod:");
    insta::assert_snapshot!(endings(SHOP, nodes, script), @"
    node n1
        Pod shop/web is gone, as it is not listed
        LIST pods in shop
    node n1 ready=no
        Pod shop/web is gone from the API alone, as it is not listed
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    node n2
        Pod shop/web is gone from the API alone, as it is not listed
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    ");
    // The same if the server was away meanwhile.
    let script = |node: &str| {
        format!(
            "accepted pod:shop/web
            restart anew without pod shop/web; node n1 & listed node: {node}"
        )
    };
    insta::assert_snapshot!(endings(SHOP, nodes, script), @"
    node n1
        Pod shop/web is gone, as it is not listed
        LIST pods in shop
    node n1 ready=no
        Pod shop/web is gone from the API alone, as it is not listed
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    node n2
        Pod shop/web is gone from the API alone, as it is not listed
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    ");
}

#[test]
fn person_takes_on_that_a_pod_has_ended() {
    let script = "accepted pod:shop/web
        take on pvc:shop/data for pod:shop/web
        gone pod shop/web
        take on pvc:shop/data for pod:shop/web & look at pvc:shop/data";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > take on pvc:shop/data for pod:shop/web
    refused: step 1 waits for nothing that a person could take on
    > gone pod shop/web
    Pod shop/web is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > take on pvc:shop/data for pod:shop/web & look at pvc:shop/data
    PersistentVolumeClaim shop/data is waiting, taken on by Li
    PersistentVolumeClaim shop/data is taken on
    LIST pods in shop
    ");
}

#[test]
fn unconfirmed_pod_is_remembered_after_a_restart() {
    let script = "accepted pod:shop/web
        gone pod shop/web
        restart anew without pod shop/web
        look at pvc:shop/data";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > gone pod shop/web
    Pod shop/web is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > restart anew without pod shop/web
    > look at pvc:shop/data
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    ");
}

#[test]
fn attached_volume_keeps_its_claim_and_a_detach_from_a_deleted_node_is_a_proof() {
    // It may have been detached by force. Without the node nothing is left that could write.
    let script = "accepted pod:shop/web
        applied attachment a volume=pv-1 node=n1
        gone pod shop/web
        gone attachment a
        look at pvc:shop/data
        gone node n1";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > applied attachment a volume=pv-1 node=n1
    > gone pod shop/web
    Pod shop/web is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > gone attachment a
    > look at pvc:shop/data
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > gone node n1
    LIST pods in shop
    ");
    let of_another_volume = format!(
        "accepted pod:shop/web
        applied attachment b volume=pv-2 node=n1
        {REPORTED}"
    );
    insta::assert_snapshot!(transcript(SHOP, &of_another_volume), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > applied attachment b volume=pv-2 node=n1
    > applied pod shop/web of=shop node=n1 uses=claim:data deleted=1 phase=Failed containers=web:terminated & gone pod shop/web
    Pod shop/web is gone
    LIST pods in shop
    ");
}

#[test]
fn pod_that_used_another_claim_does_not_matter() {
    let others = ["pod shop/x node=n1 uses=claim:other", "pod lab/x node=n1 uses=claim:data"];
    let script = |other: &str| {
        format!("accepted pod:shop/web\n applied {other} & gone {other}\n {REPORTED}")
    };
    insta::assert_snapshot!(endings(SHOP, others, script), @"
    pod shop/x node=n1 uses=claim:other
        Pod shop/web is gone
        LIST pods in shop
    pod lab/x node=n1 uses=claim:data
        Pod shop/web is gone
        LIST pods in shop
    ");
}

#[test]
fn gone_object_carries_its_proof() {
    let cluster = "ns shop of=shop\n cm shop/a of=shop\n cm shop/b of=shop\n cm shop/c of=shop";
    let script = "missing cm:shop/a & replaced cm:shop/b & listed cm:";
    insta::assert_snapshot!(transcript(cluster, script), @"
    DELETE ConfigMap shop/a
    DELETE ConfigMap shop/b
    DELETE ConfigMap shop/c
    > missing cm:shop/a & replaced cm:shop/b & listed cm:
    ConfigMap shop/a is gone, as it was not found
    ConfigMap shop/b is gone, as another has its name
    ConfigMap shop/c is gone, as it is not listed
    DELETE Namespace shop
    ");
}

#[test]
fn volume_that_stays_attached_is_named_once_its_pods_have_ended() {
    let script = format!(
        "accepted pod:shop/web
        applied attachment a volume=pv-1 node=n1
        {REPORTED}
        look at pvc:shop/data
        +61"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > applied attachment a volume=pv-1 node=n1
    > applied pod shop/web of=shop node=n1 uses=claim:data deleted=1 phase=Failed containers=web:terminated & gone pod shop/web
    Pod shop/web is gone
    > look at pvc:shop/data
    PersistentVolumeClaim shop/data is waiting
    > +61
    PersistentVolumeClaim shop/data waits until pv-1 is detached from n1
    ");
}

#[test]
fn storage_waits_while_attachments_are_hidden_until_a_person_answers_for_them() {
    let script = format!(
        "accepted pod:shop/web
        hidden volumeattachments.storage.k8s.io
        {REPORTED}
        take on pvc:shop/data for none"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > hidden volumeattachments.storage.k8s.io
    > applied pod shop/web of=shop node=n1 uses=claim:data deleted=1 phase=Failed containers=web:terminated & gone pod shop/web
    Pod shop/web is gone
    PersistentVolumeClaim shop/data cannot be told without volumeattachments.storage.k8s.io
    > take on pvc:shop/data for none
    PersistentVolumeClaim shop/data is taken on
    LIST pods in shop
    ");
}

/// A Pod that mounted an earlier claim `data` was deleted by force, and then the claim was made again.
#[test]
fn pod_of_an_earlier_claim_of_the_same_name_holds_the_claim_only_on_the_same_volume() {
    let old = "pod shop/old node=n1 uses=claim:data";
    let script = |earlier: &str| {
        format!(
            "pause first
            applied pvc shop/data of=shop uid=earlier {earlier} & applied {old} & gone {old} & applied pvc shop/data of=shop volume=pv-1
            resume
            accepted pod:shop/web
            {REPORTED}
            look at pvc:shop/data"
        )
    };
    insta::assert_snapshot!(endings(SHOP, ["volume=pv-0", "", "volume=pv-1"], script), @"
    volume=pv-0
        Pod shop/web is gone
        LIST pods in shop
        PersistentVolumeClaim shop/data is waiting
    nothing
        Pod shop/web is gone
        LIST pods in shop
        PersistentVolumeClaim shop/data is waiting
    volume=pv-1
        Pod shop/web is gone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/old on n1
    ");
}

#[test]
fn pod_of_a_node_that_the_plan_names_counts_as_ended_and_one_of_another_node_does_not() {
    let cluster = format!("{SHOP}\n node n2\n pod shop/other of=shop node=n2");
    let choices = ["choose unreported=n1", "choose unreported=n2"];
    // Either way it stays said that the Pod is gone from the API alone.
    let script = |choice: &str| format!("{choice}\n accepted pod:shop/web\n gone pod shop/web");
    insta::assert_snapshot!(endings(&cluster, choices, script), @"
    choose unreported=n1
        Pod shop/web is gone from the API alone
        LIST pods in shop
    choose unreported=n2
        Pod shop/web is gone from the API alone
        PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    ");
}

#[test]
fn person_answers_for_the_pods_that_were_named_and_for_no_later_one() {
    let script = "accepted pod:shop/web
        gone pod shop/web
        take on pvc:shop/data for pod:shop/web & applied pod shop/late node=n2 uses=claim:data & gone pod shop/late";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > gone pod shop/web
    Pod shop/web is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > take on pvc:shop/data for pod:shop/web & applied pod shop/late node=n2 uses=claim:data & gone pod shop/late
    PersistentVolumeClaim shop/data is taken on
    PersistentVolumeClaim shop/data waits for a report of Pod shop/late on n2
    ");
}

#[test]
fn person_who_looked_before_another_pod_joined_answers_for_none() {
    let script = "accepted pod:shop/web
        gone pod shop/web
        applied pod shop/late node=n2 uses=claim:data & gone pod shop/late
        take on pvc:shop/data for pod:shop/web
        take on pvc:shop/data for pod:shop/late
        take on pvc:shop/data for none
        take on pvc:shop/data for pod:shop/late pod:shop/web";
    insta::assert_snapshot!(transcript(SHOP, script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > gone pod shop/web
    Pod shop/web is gone from the API alone
    PersistentVolumeClaim shop/data waits for a report of Pod shop/web on n1
    > applied pod shop/late node=n2 uses=claim:data & gone pod shop/late
    PersistentVolumeClaim shop/data waits for a report of Pod shop/late on n2, Pod shop/web on n1
    > take on pvc:shop/data for pod:shop/web
    refused: step 1 waits for other objects now
    > take on pvc:shop/data for pod:shop/late
    refused: step 1 waits for other objects now
    > take on pvc:shop/data for none
    refused: step 1 waits for other objects now
    > take on pvc:shop/data for pod:shop/late pod:shop/web
    PersistentVolumeClaim shop/data is taken on
    LIST pods in shop
    ");
}

#[test]
fn forced_pod_outside_the_plan_is_remembered_although_the_claim_waits_for_others() {
    let script = format!(
        "accepted pod:shop/web
        applied pod shop/late node=n2 uses=claim:data & gone pod shop/late
        restart anew & applied pvc shop/data of=shop volume=pv-1 labels=x:y
        {REPORTED}
        look at pvc:shop/data"
    );
    insta::assert_snapshot!(transcript(SHOP, &script), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > applied pod shop/late node=n2 uses=claim:data & gone pod shop/late
    PersistentVolumeClaim shop/data waits for a report of Pod shop/late on n2
    > restart anew & applied pvc shop/data of=shop volume=pv-1 labels=x:y
    > applied pod shop/web of=shop node=n1 uses=claim:data deleted=1 phase=Failed containers=web:terminated & gone pod shop/web
    Pod shop/web is gone
    > look at pvc:shop/data
    PersistentVolumeClaim shop/data waits for a report of Pod shop/late on n2
    ");
}

/// Pods and claims may not be listed in the whole cluster, and somebody empties the finalizers of their namespace.
#[test]
fn namespace_that_goes_by_force_opens_no_storage_and_ends_no_step() {
    let conditions = ["", "conditions=NamespaceContentRemaining:True:SomeResourcesRemain:5:"];
    let script = |conditions: &str| {
        format!(
            "accepted pod:shop/web
            limited pod to shop & listed pod in shop: {POD}
            limited pvc to shop & listed pvc in shop: pvc shop/data of=shop volume=pv-1
            applied ns shop of=shop deleted=60 {conditions} & gone ns shop & limited pod to nothing & limited pvc to nothing
            look at pod:shop/web & look at pvc:shop/data"
        )
    };
    insta::assert_snapshot!(transcript(SHOP, &script(conditions[1])), @"
    DELETE Pod shop/web
    > accepted pod:shop/web
    > limited pod to shop & listed pod in shop: pod shop/web of=shop node=n1 uses=claim:data
    > limited pvc to shop & listed pvc in shop: pvc shop/data of=shop volume=pv-1
    > applied ns shop of=shop deleted=60 conditions=NamespaceContentRemaining:True:SomeResourcesRemain:5: & gone ns shop & limited pod to nothing & limited pvc to nothing
    Pod shop/web cannot be told without pods in shop
    PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop
    Namespace shop is gone
    > look at pod:shop/web & look at pvc:shop/data
    Pod shop/web cannot be told without pods in shop
    PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop, after Pod shop/web
    ");
    insta::assert_snapshot!(endings(SHOP, conditions, script), @"
    nothing
        Pod shop/web cannot be told without pods in shop
        PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop
        Namespace shop is gone
        Pod shop/web cannot be told without pods in shop
        PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop, after Pod shop/web
    conditions=NamespaceContentRemaining:True:SomeResourcesRemain:5:
        Pod shop/web cannot be told without pods in shop
        PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop
        Namespace shop is gone
        Pod shop/web cannot be told without pods in shop
        PersistentVolumeClaim shop/data cannot be told without persistentvolumeclaims in shop, after Pod shop/web
    ");
}

#[test]
fn each_forced_pod_outside_the_plan_is_remembered() {
    let forced = |name: &str| {
        let pod = format!("pod shop/{name} node=n2 uses=claim:data");
        format!("applied {pod} & gone {pod}\n")
    };
    let script = format!(
        "accepted pod:shop/web
        {}{}restart anew & applied pvc shop/data of=shop volume=pv-1 labels=x:y
        {REPORTED}
        look at pvc:shop/data",
        forced("first"),
        forced("second")
    );
    let transcript = transcript(SHOP, &script);
    insta::assert_snapshot!(transcript.lines().last().unwrap(), @"PersistentVolumeClaim shop/data waits for a report of Pod shop/first on n2, Pod shop/second on n2");
}
