use std::fmt::Write;

use super::*;
use crate::{
    diagnosis::diagnose,
    fixture,
    observation::{HiddenCause, Observation},
};

/// The remedies of every diagnosis of a fixture.
fn found(index: &Index) -> Vec<(Diagnosis, Vec<Remedy>)> {
    let graph = Graph::of(index);
    let diagnoses = diagnose(index, &graph, fixture::now());
    let with = |it: Diagnosis| {
        let remedies = remedies(&it, index, &graph, fixture::now());
        (it, remedies)
    };
    diagnoses.into_iter().map(with).collect()
}

/// The name of a value on the wire.
fn code<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    json.replace(['"', '{', '}'], "")
}

/// The remedies as text: harm and act, then needs, reach, losses, undo, then the commands.
fn told(index: &Index) -> String {
    let mut told = String::new();
    for (diagnosis, remedies) in found(index) {
        writeln!(told, "{} at {}", diagnosis.cause.name(), diagnosis.root).unwrap();
        for it in remedies {
            let target = it.target.as_ref().map(|target| format!(" → {target}"));
            writeln!(told, "  {:?}: {}{}", it.harm, code(&it.act), target.unwrap_or_default())
                .unwrap();
            if let Some(why) = &it.withheld {
                writeln!(told, "    withheld: {}", code(why)).unwrap();
            }
            for need in &it.needs {
                writeln!(told, "    needs {} {:?}", code(&need.code), need.holds).unwrap();
            }
            let reaches = it.reaches.objects.iter().map(ToString::to_string);
            for reached in reaches.chain(it.reaches.resources.iter().cloned()) {
                writeln!(told, "    reaches {reached}").unwrap();
            }
            for loss in it.loses.iter().map(code) {
                writeln!(told, "    loses {loss}").unwrap();
            }
            if let Some(undo) = it.undo {
                writeln!(told, "    undo {}", code(&undo)).unwrap();
            }
            for (command, line) in it.lines("prod") {
                let sign = match command.purpose {
                    Purpose::Look => '?',
                    Purpose::Copy => '=',
                    Purpose::Act => '!',
                    Purpose::Undo => '<',
                };
                let place = match &command.place {
                    Place::Kubectl => String::new(),
                    Place::Node(node) => format!("[{node}] "),
                };
                writeln!(told, "    {sign} {place}{line}").unwrap();
            }
        }
    }
    told
}

fn hide(index: &mut Index, resource: &str) {
    let hidden = Observation::Hidden {
        resource: resource.into(),
        cause: HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    index.apply([hidden], fixture::now());
}

/// The acts of all remedies of a fixture with the reason why each is withheld.
fn acts(index: &Index) -> Vec<String> {
    let all = found(index).into_iter().flat_map(|(_, remedies)| remedies);
    all.map(|it| {
        let name = code(&it.act);
        let name = name.split([':', ',']).next().unwrap_or_default().to_owned();
        it.withheld.map_or(name.clone(), |why| format!("{name} withheld {}", code(&why)))
    })
    .collect()
}

const SILENT: &str = "
    node n1 provider=aws:///i-1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped_posting_node_status. taints=node.kubernetes.io/unreachable:NoExecute
    node n2
    pod shop/one-1-a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
    pod shop/agent node=n1
    pod shop/else node=n2
    pvc shop/data
";

#[test]
fn silent_node_is_started_then_tainted_then_deleted_then_its_pod_is_forced() {
    insta::assert_snapshot!(told(&fixture::index(SILENT)), @"");
}

#[test]
fn silent_node_is_not_given_up_where_the_node_may_live_or_a_pod_cannot_be_seen() {
    let node = "node n1";
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        node,
        "node n1 labels=node-role.kubernetes.io/control-plane:"
    ))), @"");
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        "node n2",
        "node n2 ready=Ready:Unknown:NodeStatusUnknown:600:"
    ))), @"");
    let mut index = fixture::index(SILENT);
    hide(&mut index, "persistentvolumeclaims");
    insta::assert_debug_snapshot!(acts(&index), @"");
}

#[test]
fn node_that_is_tainted_already_only_waits_for_its_pods() {
    let tainted = SILENT.replace("taints=", "taints=node.kubernetes.io/out-of-service:NoExecute,");
    let acts = acts(&fixture::index(&tainted));
    assert!(acts.iter().all(|act| act != "outOfServiceTaint"), "{acts:?}");
    assert!(acts.contains(&"wait".to_owned()), "{acts:?}");
}

#[test]
fn machine_that_the_cloud_says_is_off_counts_as_proof() {
    let off =
        SILENT.replace("taints=", "taints=node.cloudprovider.kubernetes.io/shutdown:NoSchedule,");
    let (_, remedies) = found(&fixture::index(&off)).remove(0);
    let needs = remedies.iter().flat_map(|it| &it.needs);
    let proof: Vec<Holds> =
        needs.filter(|it| it.code == NeedCode::PoweredOff).map(|it| it.holds).collect();
    assert_eq!(proof, [Holds::Yes; 3]);
}

#[test]
fn mount_is_freed_and_a_pod_is_forced_last() {
    insta::assert_snapshot!(told(&fixture::index("
        node n1
        pvc shop/data volume=pv
        pod shop/a uid=2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10 node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pod shop/b uid=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10 node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:lost subPath=yes
    ")), @"");
}

#[test]
fn pod_whose_containers_run_is_not_forced() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        pod shop/b node=n1 deleted=400 grace=30
    ")), @"");
}

const API_DOWN: &str = "
    ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_metrics.k8s.io/v1beta1
    apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:210:no_addresses
    cm s3/left
";

#[test]
fn api_is_repaired_then_removed_then_the_namespace_is_looked_at_again() {
    insta::assert_snapshot!(told(&fixture::index(API_DOWN)), @"");
}

#[test]
fn api_that_may_store_objects_is_never_removed() {
    let stores = API_DOWN.replace("metrics.k8s.io", "apps.example.com");
    insta::assert_debug_snapshot!(acts(&fixture::index(&stores)), @"");
}

#[test]
fn namespace_is_finished_only_when_it_can_be_listed_and_has_no_pod() {
    let up = API_DOWN.replace("Available:False:MissingEndpoints", "Available:True:Passed");
    insta::assert_debug_snapshot!(acts(&fixture::index(&up)), @"");
    let mut index = fixture::index(&up);
    hide(&mut index, "secrets");
    insta::assert_debug_snapshot!(acts(&index), @"");
    let with_pod = format!("{up}\npod s3/a node=n1\nnode n1");
    insta::assert_debug_snapshot!(acts(&fixture::index(&with_pod)), @"");
}

#[test]
fn finalizer_goes_after_its_operator_was_given_back_and_the_owner_was_deleted_again() {
    let mut index = fixture::index("
        ns s4
        deploy s4/queue-operator
        Topic.queue.example s4/orders deleted=90 finalizers=foregroundDeletion
        Topic.queue.example s4/child owner=Topic.queue.example/orders deleted=90 finalizers=a.example/x,queue.example/topic
    ");
    let operator = fixture::object("deploy s4/queue-operator");
    let deleted = Observation::Deleted { kind: operator.kind, uid: operator.uid };
    index.apply([deleted], fixture::now());
    insta::assert_snapshot!(told(&index), @"");
}

#[test]
fn object_of_a_namespace_that_is_gone_gets_its_namespace_back_first() {
    insta::assert_snapshot!(told(&fixture::index("
        Topic.queue.example gone/orders deleted=90 finalizers=queue.example/topic
        cm gone/left
    ")), @"");
}

#[test]
fn collector_that_is_silent_gets_the_delete_again() {
    insta::assert_snapshot!(told(&fixture::index("
        ns shop
        cm shop/kept owner=cm/parent
        cm shop/parent deleted=200 finalizers=orphan
    ")), @"");
}

#[test]
fn claim_in_use_needs_its_workload_to_end() {
    insta::assert_snapshot!(told(&fixture::index("
        node n1
        ns shop
        pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection
        deploy shop/web replicas=2
        rs shop/web-1 owner=deploy/web replicas=2
        pod shop/web-1-a owner=rs/web-1 node=n1 uses=claim:live
        pod shop/static owner=node/n1 node=n1 uses=claim:live
        pvc shop/done deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/job node=n1 phase=Succeeded uses=claim:done
    ")), @"");
}

#[test]
fn storage_of_a_volume_stays_behind_a_finalizer_that_goes() {
    insta::assert_snapshot!(told(&fixture::index("
        pv old deleted=300 phase=Released finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer driver=disk.example reclaim=Delete
    ")), @"");
}

#[test]
fn attachment_keeps_its_finalizer_while_the_volume_is_attached() {
    let attachment = "
        node n1
        attachment a1 volume=pv node=n1 attacher=disk.example deleted=200 error=disk_is_busy finalizers=external-attacher/disk-example
    ";
    insta::assert_debug_snapshot!(acts(&fixture::index(attachment)), @"");
    let detached = attachment.replace("error=", "attached=no error=");
    insta::assert_debug_snapshot!(acts(&fixture::index(&detached)), @"");
}

#[test]
fn webhook_is_repaired_then_ignored_then_removed() {
    insta::assert_snapshot!(told(&fixture::index(r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps,deployments.apps
        cm shop/c
    "#)), @"");
}

#[test]
fn definition_is_never_robbed_of_its_finalizer() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        crd topics.queue.example defines=Topic.queue.example deleted=400 finalizers=customresourcecleanup.apiextensions.k8s.io
    ")), @"");
}

#[test]
fn node_that_reports_keeps_the_finalizer_that_drains_it() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1 deleted=400 finalizers=karpenter.sh/termination
        pod shop/a node=n1
    ")), @"");
}

#[test]
fn name_that_the_api_could_not_hold_makes_no_command() {
    for name in ["--all", "a;reboot", "a'b", "a/../b", "a%2fb", "a\u{202e}b"] {
        let text = format!(
            "Topic.queue.example s4/{name} deleted=90 finalizers=queue.example/topic\nns s4"
        );
        let (_, remedies) = found(&fixture::index(&text)).remove(0);
        let removal = remedies.last().unwrap();
        assert_eq!(removal.withheld, Some(Withheld::UnsafeName), "{name}");
        assert_eq!(removal.commands, [], "{name}");
    }
    let quotes = "Topic.queue.example s4/a deleted=90 finalizers=x'$(reboot)\nns s4";
    let (_, remedies) = found(&fixture::index(quotes)).remove(0);
    let lines = remedies.last().unwrap().lines("prod");
    assert!(lines[1].1.contains(r#""value":"x'\''$(reboot)""#), "{lines:?}");
}

/// Every kind of cause at once.
const EVERYTHING: &str = "
    ns shop deleted=400 spec=kubernetes,example.com/keep
    pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection,example.com/a
    pod shop/web node=n2 uses=claim:live
    cm shop/parent deleted=400 finalizers=foregroundDeletion
    cm shop/orphans deleted=400 finalizers=orphan
    cm shop/child owner=cm/parent deleted=400 finalizers=example.com/x
    pv bound deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/live
    pv old deleted=400 phase=Released finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer
    attachment a1 volume=old node=n2 attacher=disk.example deleted=400 finalizers=external-attacher/disk-example
    crd topics.queue.example defines=Topic.queue.example deleted=400 finalizers=customresourcecleanup.apiextensions.k8s.io
    pod shop/counted node=n2 deleted=400 phase=Failed containers=web:terminated finalizers=batch.kubernetes.io/job-tracking
    svc shop/front deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
";

#[test]
fn nothing_that_guards_what_is_in_use_is_ever_removed_by_hand() {
    const NEVER: [&str; 6] = [
        "kubernetes.io/pvc-protection",
        "kubernetes.io/pv-protection",
        "foregroundDeletion",
        "orphan",
        "customresourcecleanup.apiextensions.k8s.io",
        "external-attacher/disk-example",
    ];
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    let mut removed = 0;
    for (diagnosis, remedies) in found(&fixture::index(&everything)) {
        for remedy in remedies {
            if let RemedyAct::RemoveFinalizer { finalizer } = &remedy.act {
                removed += 1;
                assert!(!NEVER.contains(&&**finalizer), "{finalizer} for {}", diagnosis.id);
            }
        }
    }
    assert!(removed >= 5, "{removed} finalizers were to be removed");
}

#[test]
fn every_remedy_is_one_change_and_comes_in_order_of_harm() {
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    for (diagnosis, remedies) in found(&fixture::index(&everything)) {
        assert!(!remedies.is_empty(), "no remedy for {}", diagnosis.id);
        assert!(remedies.is_sorted_by_key(|remedy| remedy.harm), "{}", diagnosis.id);
        for remedy in &remedies {
            let acting = remedy.commands.iter().filter(|it| it.purpose == Purpose::Act);
            assert!(acting.count() <= 1, "{:?}", remedy.act);
            let wire = serde_json::to_string(remedy).unwrap();
            assert_eq!(*remedy, serde_json::from_str(&wire).unwrap());
        }
    }
}

#[test]
fn nothing_that_may_lose_data_is_offered_while_pods_are_hidden() {
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    for resource in ["pods", "nodes", "v1", "volumeattachments.storage.k8s.io"] {
        let mut index = fixture::index(&everything);
        hide(&mut index, resource);
        for remedy in found(&index).into_iter().flat_map(|(_, remedies)| remedies) {
            assert!(remedy.harm < Harm::DataLoss || remedy.withheld.is_some(), "{remedy:?}");
        }
    }
}
