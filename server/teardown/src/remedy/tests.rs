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
    insta::assert_snapshot!(told(&fixture::index(SILENT)), @r#"
    nodeSilent at Node n1
      None: startNode:node:n1,provider:aws:///i-1 → Node n1
        ? kubectl --context=prod describe nodes/n1
        ? kubectl --context=prod --namespace=kube-node-lease get leases/n1 --output=yaml
      DataLoss: outOfServiceTaint:node:n1 → Node n1
        needs nodeSilent Yes
        needs leaseStill Unknown
        needs poweredOff Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches Pod shop/agent
        reaches Pod shop/one-1-a
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        loses podsOnNode
        undo takeTaintOff
        ! kubectl --context=prod patch nodes/n1 --type=json -p '[{"op":"test","path":"/metadata/uid","value":"node:n1"},{"op":"add","path":"/spec/taints/-","value":{"effect":"NoExecute","key":"node.kubernetes.io/out-of-service","value":"nodeshutdown"}}]'
        < kubectl --context=prod taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute-
      DataLoss: deleteNode:node:n1 → Node n1
        needs nodeSilent Yes
        needs leaseStill Unknown
        needs poweredOff Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches Pod shop/agent
        reaches Pod shop/one-1-a
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        loses podsOnNode
        loses machine
        undo restartKubelet
        = kubectl --context=prod get nodes/n1 --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"node:n1"}}' | kubectl --context=prod delete --raw=/api/v1/nodes/n1 --filename=-
      DataLoss: forceDeletePod:node:n1 → Pod shop/one-1-a
        needs nodeSilent Yes
        needs leaseStill Unknown
        needs poweredOff Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        ? kubectl --context=prod --namespace=shop get pods/one-1-a --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"pod:shop/one-1-a"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/one-1-a --filename=-
    "#);
}

#[test]
fn silent_node_is_not_given_up_where_the_node_may_live_or_a_pod_cannot_be_seen() {
    let node = "node n1";
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        node,
        "node n1 labels=node-role.kubernetes.io/control-plane:"
    ))), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld controlPlaneNode",
        "deleteNode withheld controlPlaneNode",
        "forceDeletePod withheld controlPlaneNode",
    ]
    "#);
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        "node n2",
        "node n2 ready=Ready:Unknown:NodeStatusUnknown:600:"
    ))), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld severalNodesSilent:silent:2",
        "deleteNode withheld severalNodesSilent:silent:2",
        "forceDeletePod withheld severalNodesSilent:silent:2",
    ]
    "#);
    let mut index = fixture::index(SILENT);
    hide(&mut index, "persistentvolumeclaims");
    insta::assert_debug_snapshot!(acts(&index), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld cannotSee:resource:persistentvolumeclaims",
        "deleteNode withheld cannotSee:resource:persistentvolumeclaims",
        "forceDeletePod withheld cannotSee:resource:persistentvolumeclaims",
    ]
    "#);
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
    ")), @r#"
    claimGone at Pod shop/b
      None: wait:reason:kubeletRetry,until:null → Pod shop/b
      None: restoreExport:node:n1,claims:[lost] → Pod shop/b
        ? [n1] grep -F /pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volume-subpaths -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
      None: freeMount:node:n1 → Pod shop/b
        ? [n1] grep -F /pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volume-subpaths -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
      None: restartKubelet:node:n1 → Node n1
        ! [n1] systemctl restart kubelet
      Interruption: restartNode:node:n1 → Node n1
        reaches Pod shop/a
        reaches PersistentVolumeClaim shop/data
        reaches Pod shop/b
        reaches PersistentVolumeClaim shop/lost
        loses podsOnNode
        ! [n1] systemctl reboot
      DataLoss: forceDeletePod:node:n1 → Pod shop/b
        needs containersEnded Yes
        needs mountsUnused Unknown
        reaches PersistentVolumeClaim shop/lost
        loses secondWriter
        loses mount
        ? kubectl --context=prod --namespace=shop get pods/b --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/b --filename=-
    volumesMounted at Pod shop/a
      None: wait:reason:kubeletRetry,until:null → Pod shop/a
      None: freeMount:node:n1 → Pod shop/a
        ? [n1] grep -F /pods/2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
      None: restartKubelet:node:n1 → Node n1
        ! [n1] systemctl restart kubelet
      Interruption: restartNode:node:n1 → Node n1
        reaches Pod shop/a
        reaches PersistentVolumeClaim shop/data
        reaches Pod shop/b
        reaches PersistentVolumeClaim shop/lost
        loses podsOnNode
        ! [n1] systemctl reboot
      DataLoss: forceDeletePod:node:n1 → Pod shop/a
        needs containersEnded Yes
        needs mountsUnused Unknown
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        loses mount
        ? kubectl --context=prod --namespace=shop get pods/a --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/a --filename=-
    "#);
}

#[test]
fn pod_whose_containers_run_is_not_forced() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        pod shop/b node=n1 deleted=400 grace=30
    ")), @r#"
    [
        "endProcess",
        "restartKubelet",
        "restartNode",
        "forceDeletePod withheld containersRun",
        "endProcess",
        "restartKubelet",
        "restartNode",
        "forceDeletePod withheld containersRun",
    ]
    "#);
}

const API_DOWN: &str = "
    ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_metrics.k8s.io/v1beta1
    apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:210:no_addresses
    cm s3/left
";

#[test]
fn api_is_repaired_then_removed_then_the_namespace_is_looked_at_again() {
    insta::assert_snapshot!(told(&fixture::index(API_DOWN)), @r#"
    apiDown at APIService v1beta1.metrics.k8s.io
      None: repairApi:groupVersion:metrics.k8s.io/v1beta1 → Service kube-system/metrics-server
        ? kubectl --context=prod get apiservices.apiregistration.k8s.io/v1beta1.metrics.k8s.io --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=kube-system get services/metrics-server --output=wide
        ? kubectl --context=prod --namespace=kube-system get endpointslices --selector=kubernetes.io/service-name=metrics-server
        ? kubectl --context=prod --namespace=kube-system get pods --output=wide
      Reversible: deleteApiService:groupVersion:metrics.k8s.io/v1beta1 → APIService v1beta1.metrics.k8s.io
        needs groupStoresNothing Yes
        reaches *.metrics.k8s.io
        loses api
        loses comesBack
        undo createAgain
        = kubectl --context=prod get apiservices.apiregistration.k8s.io/v1beta1.metrics.k8s.io --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"apiservice:v1beta1.metrics.k8s.io"}}' | kubectl --context=prod delete --raw=/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io --filename=-
      Reversible: nudge → Namespace s3
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/s3 --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:s3"}}'
        < kubectl --context=prod annotate namespaces/s3 unwind/look-again-
      Leftovers: finalizeNamespace → Namespace s3
        withheld: cannotList:resource:metrics.k8s.io/v1beta1
        needs namespaceListable No
        needs noPodsInside Yes
        reaches ConfigMap s3/left
        loses orphans
    "#);
}

#[test]
fn api_that_may_store_objects_is_never_removed() {
    let stores = API_DOWN.replace("metrics.k8s.io", "apps.example.com");
    insta::assert_debug_snapshot!(acts(&fixture::index(&stores)), @r#"
    [
        "repairApi",
        "deleteApiService withheld groupMayStoreObjects:group:apps.example.com",
        "nudge",
        "finalizeNamespace withheld cannotList:resource:apps.example.com/v1beta1",
    ]
    "#);
}

#[test]
fn namespace_is_finished_only_when_it_can_be_listed_and_has_no_pod() {
    let up = API_DOWN.replace("Available:False:MissingEndpoints", "Available:True:Passed");
    insta::assert_debug_snapshot!(acts(&fixture::index(&up)), @r#"
    [
        "repairApi",
        "nudge",
        "finalizeNamespace",
    ]
    "#);
    let mut index = fixture::index(&up);
    hide(&mut index, "secrets");
    insta::assert_debug_snapshot!(acts(&index), @r#"
    [
        "repairApi",
        "nudge",
        "finalizeNamespace withheld cannotList:resource:secrets",
    ]
    "#);
    let with_pod = format!("{up}\npod s3/a node=n1\nnode n1");
    insta::assert_debug_snapshot!(acts(&fixture::index(&with_pod)), @r#"
    [
        "repairApi",
        "nudge",
        "finalizeNamespace withheld podsInside",
    ]
    "#);
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
    insta::assert_snapshot!(told(&index), @r#"
    finisherGone at Topic 
      None: restoreFinisher:finalizer:a.example/x,candidates:[group:apps,kind:Deployment,namespace:s4,name:queue-operator] → Deployment s4/queue-operator
      Deletion: deleteAgain:insteadOf:foregroundDeletion → Topic s4/orders
        reaches Topic s4/child
        loses ownerFirst
        = kubectl --context=prod --namespace=s4 get topics.queue.example/orders --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"Topic.queue.example:s4/orders"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/queue.example/v1/namespaces/s4/topics/orders --filename=-
      Leftovers: removeFinalizer:finalizer:a.example/x → Topic s4/child
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml
        ! kubectl --context=prod --namespace=s4 patch topics.queue.example/child --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Topic.queue.example:s4/child"},{"op":"test","path":"/metadata/finalizers/0","value":"a.example/x"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    finisherGone at Topic 
      None: restoreFinisher:finalizer:queue.example/topic,candidates:[group:apps,kind:Deployment,namespace:s4,name:queue-operator] → Deployment s4/queue-operator
      Deletion: deleteAgain:insteadOf:foregroundDeletion → Topic s4/orders
        reaches Topic s4/child
        loses ownerFirst
        = kubectl --context=prod --namespace=s4 get topics.queue.example/orders --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"Topic.queue.example:s4/orders"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/queue.example/v1/namespaces/s4/topics/orders --filename=-
      Leftovers: removeFinalizer:finalizer:queue.example/topic → Topic s4/child
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod --namespace=s4 get topics.queue.example/child --output=yaml
        ! kubectl --context=prod --namespace=s4 patch topics.queue.example/child --type=json -p '[{"op":"test","path":"/metadata/uid","value":"Topic.queue.example:s4/child"},{"op":"test","path":"/metadata/finalizers/1","value":"queue.example/topic"},{"op":"remove","path":"/metadata/finalizers/1"}]'
    "#);
}

#[test]
fn object_of_a_namespace_that_is_gone_gets_its_namespace_back_first() {
    insta::assert_snapshot!(told(&fixture::index("
        Topic.queue.example gone/orders deleted=90 finalizers=queue.example/topic
        cm gone/left
    ")), @r#"
    finisherGone at Topic 
      None: restoreFinisher:finalizer:queue.example/topic,candidates:[]
      Deletion: recreateNamespace:namespace:gone → Namespace gone
        reaches ConfigMap gone/left
        reaches Topic gone/orders
        loses workloadsStart
        ! kubectl --context=prod create namespace gone
        ! kubectl --context=prod delete namespaces/gone --wait=false
      Leftovers: removeFinalizer:finalizer:queue.example/topic → Topic gone/orders
        withheld: namespaceGone
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
    "#);
}

#[test]
fn collector_that_is_silent_gets_the_delete_again() {
    insta::assert_snapshot!(told(&fixture::index("
        ns shop
        cm shop/kept owner=cm/parent
        cm shop/parent deleted=200 finalizers=orphan
    ")), @r#"
    controllerSilent at ConfigMap shop/parent
      None: repairController:controller:garbage-collector-controller → ConfigMap shop/parent
        ? kubectl --context=prod --namespace=shop get configmaps/parent --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=kube-system get leases/kube-controller-manager --output=yaml
      DataLoss: deleteAgain:insteadOf:orphan → ConfigMap shop/parent
        reaches ConfigMap shop/kept
        loses dependents
        = kubectl --context=prod --namespace=shop get configmaps/parent --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"cm:shop/parent"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/configmaps/parent --filename=-
    "#);
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
    ")), @r#"
    claimHeldByCompletedPods at PersistentVolumeClaim shop/done
      Deletion: deleteUser → Pod shop/job
        loses output
        = kubectl --context=prod --namespace=shop get pods/job --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pod:shop/job"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/job --filename=-
    claimInUse at PersistentVolumeClaim shop/live
      Interruption: scaleDown:replicas:2 → Deployment shop/web
        loses workload
        loses comesBack
        undo setBack
        ! kubectl --context=prod --namespace=shop patch deployments.apps/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"deploy:shop/web"},{"op":"replace","path":"/spec/replicas","value":0}]'
        < kubectl --context=prod --namespace=shop patch deployments.apps/web --type=json -p '[{"op":"test","path":"/metadata/uid","value":"deploy:shop/web"},{"op":"replace","path":"/spec/replicas","value":2}]'
      Deletion: deleteUser → Pod shop/static
        loses comesBack
        = kubectl --context=prod --namespace=shop get pods/static --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pod:shop/static"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/static --filename=-
      Deletion: deleteUser → Deployment shop/web
        reaches ReplicaSet shop/web-1
        = kubectl --context=prod --namespace=shop get deployments.apps/web --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"deploy:shop/web"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/apis/apps/v1/namespaces/shop/deployments/web --filename=-
    "#);
}

#[test]
fn storage_of_a_volume_stays_behind_a_finalizer_that_goes() {
    insta::assert_snapshot!(told(&fixture::index("
        pv old deleted=300 phase=Released finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer driver=disk.example reclaim=Delete
    ")), @r#"
    backendLeft at PersistentVolume old
      None: repairDriver:driver:disk.example,part:provisioner,node:null → PersistentVolume old
        ? kubectl --context=prod describe persistentvolumes/old
      Reversible: nudge → PersistentVolume old
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch persistentvolumes/old --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"pv:old"}}'
        < kubectl --context=prod annotate persistentvolumes/old unwind/look-again-
      Leftovers: removeFinalizer:finalizer:external-provisioner.volume.kubernetes.io/finalizer → PersistentVolume old
        needs notAttached Yes
        loses storage
        = kubectl --context=prod get persistentvolumes/old --output=yaml
        ! kubectl --context=prod patch persistentvolumes/old --type=json -p '[{"op":"test","path":"/metadata/uid","value":"pv:old"},{"op":"test","path":"/metadata/finalizers/1","value":"external-provisioner.volume.kubernetes.io/finalizer"},{"op":"remove","path":"/metadata/finalizers/1"}]'
    "#);
}

#[test]
fn attachment_keeps_its_finalizer_while_the_volume_is_attached() {
    let attachment = "
        node n1
        attachment a1 volume=pv node=n1 attacher=disk.example deleted=200 error=disk_is_busy finalizers=external-attacher/disk-example
    ";
    insta::assert_debug_snapshot!(acts(&fixture::index(attachment)), @r#"
    [
        "repairDriver",
    ]
    "#);
    let detached = attachment.replace("error=", "attached=no error=");
    insta::assert_debug_snapshot!(acts(&fixture::index(&detached)), @r#"
    [
        "repairDriver",
        "removeFinalizer",
    ]
    "#);
}

#[test]
fn webhook_is_repaired_then_ignored_then_removed() {
    insta::assert_snapshot!(told(&fixture::index(r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps,deployments.apps
        cm shop/c
    "#)), @r#"
    webhookDown at ValidatingWebhookConfiguration gate
      None: repairWebhook:webhook:gate.example.com → ValidatingWebhookConfiguration gate
        ? kubectl --context=prod --namespace=ops get services/gate --output=wide
        ? kubectl --context=prod --namespace=ops get endpointslices --selector=kubernetes.io/service-name=gate
        ? kubectl --context=prod --namespace=ops get pods --output=wide
      Reversible: ignoreWebhook:webhook:gate.example.com → ValidatingWebhookConfiguration gate
        reaches configmaps
        reaches deployments.apps
        loses checks
        loses comesBack
        undo setBack
        ! kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]'
        < kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]'
      Reversible: deleteWebhookConfiguration → ValidatingWebhookConfiguration gate
        reaches configmaps
        reaches deployments.apps
        loses checks
        loses comesBack
        undo createAgain
        = kubectl --context=prod get validatingwebhookconfigurations.admissionregistration.k8s.io/gate --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"webhook:gate"}}' | kubectl --context=prod delete --raw=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gate --filename=-
      Reversible: nudge → Namespace shop
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/shop --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:shop"}}'
        < kubectl --context=prod annotate namespaces/shop unwind/look-again-
    "#);
}

#[test]
fn finalizer_in_the_spec_goes_alone() {
    insta::assert_snapshot!(told(&fixture::index("
        ns shop of=shop deleted=400 spec=kubernetes,example.com/keep finalizers=example.com/meta
    ")), @r#"
    finisherGone at Namespace 
      None: restoreFinisher:finalizer:example.com/meta,candidates:[]
      Leftovers: removeFinalizer:finalizer:example.com/meta → Namespace shop
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod get namespaces/shop --output=yaml
        ! kubectl --context=prod patch namespaces/shop --type=json -p '[{"op":"test","path":"/metadata/uid","value":"ns:shop"},{"op":"test","path":"/metadata/finalizers/0","value":"example.com/meta"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    namespaceFinalizer at Namespace shop
      None: restoreFinisher:finalizer:example.com/keep,candidates:[]
      Leftovers: removeSpecFinalizer:finalizer:example.com/keep → Namespace shop
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod get namespaces/shop --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"Namespace","metadata":{"finalizers":["example.com/meta"],"labels":{"app.kubernetes.io/part-of":"shop"},"name":"shop","uid":"ns:shop"},"spec":{"finalizers":["kubernetes"]}}' | kubectl --context=prod replace --raw=/api/v1/namespaces/shop/finalize --filename=-
    "#);
}

#[test]
fn converter_is_repaired_or_switched_off() {
    insta::assert_snapshot!(told(&fixture::index("
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_queue.example/v1,_Kind=Topic_failed:_Post_refused
        crd topics.queue.example defines=Topic.queue.example service=s4/converter
    ")), @r#"
    conversionDown at CustomResourceDefinition topics.queue.example
      None: repairConverter:kind:queue.example/v1, Kind=Topic → Service s4/converter
        ? kubectl --context=prod --namespace=s4 get services/converter --output=wide
        ? kubectl --context=prod --namespace=s4 get endpointslices --selector=kubernetes.io/service-name=converter
        ? kubectl --context=prod --namespace=s4 get pods --output=wide
      Reversible: nudge → Namespace shop
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/shop --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:shop"}}'
        < kubectl --context=prod annotate namespaces/shop unwind/look-again-
      DataLoss: stopConversion → CustomResourceDefinition topics.queue.example
        needs oneStoredVersion Unknown
        loses fields
        loses comesBack
        undo setBack
        ? kubectl --context=prod get customresourcedefinitions.apiextensions.k8s.io/topics.queue.example '--output=jsonpath={.status.storedVersions}'
        = kubectl --context=prod get customresourcedefinitions.apiextensions.k8s.io/topics.queue.example --output=yaml
        ! kubectl --context=prod patch customresourcedefinitions.apiextensions.k8s.io/topics.queue.example --type=json -p '[{"op":"test","path":"/metadata/uid","value":"crd:topics.queue.example"},{"op":"test","path":"/spec/conversion/strategy","value":"Webhook"},{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'
    "#);
}

#[test]
fn hidden_kind_is_made_visible_and_nothing_else() {
    let mut index =
        fixture::index("pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection");
    hide(&mut index, "pods");
    insta::assert_snapshot!(told(&index), @r#"
    cannotSee at PersistentVolumeClaim shop/data
      None: makeVisible:resource:pods → PersistentVolumeClaim shop/data
        ? kubectl --context=prod auth can-i list pods --all-namespaces
    "#);
}

#[test]
fn load_balancer_stays_behind_its_finalizer() {
    insta::assert_snapshot!(told(&fixture::index("
        ns shop
        svc shop/front deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
    ")), @r#"
    loadBalancerLeft at Service shop/front
      None: repairLoadBalancer → Service shop/front
        ? kubectl --context=prod --namespace=shop describe services/front
      Leftovers: removeFinalizer:finalizer:service.kubernetes.io/load-balancer-cleanup → Service shop/front
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses loadBalancer
        = kubectl --context=prod --namespace=shop get services/front --output=yaml
        ! kubectl --context=prod --namespace=shop patch services/front --type=json -p '[{"op":"test","path":"/metadata/uid","value":"svc:shop/front"},{"op":"test","path":"/metadata/finalizers/0","value":"service.kubernetes.io/load-balancer-cleanup"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    "#);
}

#[test]
fn volume_that_is_bound_needs_its_claim_to_go() {
    insta::assert_snapshot!(told(&fixture::index("
        node n1
        pvc shop/data volume=pv
        pod shop/a node=n1 uses=claim:data
        pv pv deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/data reclaim=Delete
    ")), @r#"
    volumeBound at PersistentVolume pv
      DataLoss: deleteUser → PersistentVolumeClaim shop/data
        reaches Pod shop/a
        loses data
        = kubectl --context=prod --namespace=shop get persistentvolumeclaims/data --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"pvc:shop/data"},"propagationPolicy":"Background"}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/persistentvolumeclaims/data --filename=-
    "#);
}

#[test]
fn definition_is_never_robbed_of_its_finalizer() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        crd topics.queue.example defines=Topic.queue.example deleted=400 finalizers=customresourcecleanup.apiextensions.k8s.io
    ")), @r#"
    [
        "repairController",
        "nudge",
    ]
    "#);
}

#[test]
fn finalizer_of_a_forced_pod_may_end_it_while_it_runs() {
    let forced = "
        ns shop
        pod shop/a node=n1 deleted=400 finalizers=example.com/x containers=web:running
    ";
    let harm = |text: &str| found(&fixture::index(text)).remove(0).1.last().unwrap().harm;
    assert_eq!(harm(forced), Harm::DataLoss);
    assert_eq!(harm(&forced.replace("running", "terminated")), Harm::Leftovers);
}

#[test]
fn node_that_reports_keeps_the_finalizer_that_drains_it() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1 deleted=400 finalizers=karpenter.sh/termination
        pod shop/a node=n1
    ")), @r#"
    [
        "restoreFinisher",
        "removeFinalizer withheld nodeReports",
    ]
    "#);
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
    assert_eq!(remedies.last().unwrap().lines("a\nb"), []);
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
            let may_act = remedy.withheld.is_none();
            assert!(may_act || remedy.commands.iter().all(|it| it.purpose == Purpose::Look));
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
