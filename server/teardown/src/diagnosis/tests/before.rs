//! The changes just before are chosen by their nearness to the cause.

use jiff::SignedDuration;

use super::*;
use crate::{object::Uid, observation::Observation};

/// Applies an observation some seconds ago.
fn then(index: &mut Index, ago: i64, observation: Observation) {
    index.apply([observation], fixture::now() - SignedDuration::from_secs(ago));
}

fn delete(index: &mut Index, ago: i64, line: &str) {
    let object = fixture::object(line);
    then(index, ago, Observation::Deleted { kind: object.kind, uid: object.uid });
}

/// The changes before the first diagnosis.
fn changes(index: &Index) -> String {
    changes_of(index, |_| None)
}

/// The same where this server had requested some of them.
fn changes_of(index: &Index, remover: impl Fn(&Uid) -> Option<Remover>) -> String {
    let diagnoses = diagnose(index, &Graph::of(index), fixture::now());
    let described = before(index, &diagnoses[0], remover).into_iter().map(|it| {
        let seconds = fixture::now().duration_since(it.at.unwrap()).as_secs();
        format!("{} {:?} {} {seconds} s ago", it.of, it.source, it.said)
    });
    described.collect::<Vec<_>>().join("\n")
}

#[test]
fn operator_and_its_neighbours_come_before_nothing_else() {
    let mut index = fixture::index(
        "
        Topic.queue.example s4/orders deleted=90 finalizers=queue.example/topic
        deploy s4/queue-operator
        deploy s4/web
        svc other/far
        crd widgets.other.example defines=Widget.other.example
        crd groups.queue.example defines=Group.queue.example
    ",
    );
    delete(&mut index, 400, "deploy s4/web");
    delete(&mut index, 300, "deploy s4/queue-operator");
    delete(&mut index, 200, "svc other/far");
    delete(&mut index, 150, "crd widgets.other.example defines=Widget.other.example");
    delete(&mut index, 140, "crd groups.queue.example defines=Group.queue.example");
    insta::assert_snapshot!(changes(&index), @r"
    Deployment s4/queue-operator Deleted  300 s ago
    CustomResourceDefinition groups.queue.example Deleted  140 s ago
    Deployment s4/web Deleted  400 s ago
    ");
}

#[test]
fn node_that_became_silent_is_named_and_another_one_is_not() {
    let silent = "ready=Ready:Unknown:NodeStatusUnknown:300:gone";
    let mut index = fixture::index(
        "
        node n1
        node n2
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    ",
    );
    for name in ["n1", "n2"] {
        let node = fixture::object(&format!("node {name} {silent}"));
        then(&mut index, 200, Observation::Applied(Box::new(node.clone())));
        // The same state again is no change.
        then(&mut index, 100, Observation::Applied(Box::new(node)));
    }
    insta::assert_snapshot!(changes(&index), @r#"Node n1 Became("Ready") Unknown NodeStatusUnknown: gone 200 s ago"#);
}

#[test]
fn node_that_shut_down_in_order_says_so_after_it_fell_silent() {
    let pod = "pod shop/a node=n1 deleted=400 grace=30 containers=web:running";
    let evidence = |message: &str| {
        let mut index = fixture::index(&format!("node n1\n{pod}"));
        let ready = [
            (300, format!("Ready:False:KubeletNotReady:300:{message}")),
            (200, "Ready:Unknown:NodeStatusUnknown:200:gone".to_owned()),
        ];
        for (ago, ready) in ready {
            let node = fixture::object(&format!("node n1 ready={ready}"));
            then(&mut index, ago, Observation::Applied(Box::new(node)));
        }
        // Of a node that comes and goes the latest state tells most.
        let latest = r#"Node n1 Became("Ready") Unknown NodeStatusUnknown: gone 200 s ago"#;
        assert_eq!(changes(&index), latest);
        let found = describe(&index);
        let said = found.lines().find(|line| line.contains("became Ready"));
        said.map(|line| line.trim().to_owned())
    };
    let shutdown =
        "- Node n1: became Ready False KubeletNotReady: node is shutting down".to_owned();
    assert_eq!(evidence("node_is_shutting_down"), Some(shutdown));
    assert_eq!(evidence("container_runtime_is_down"), None, "it may be anything");
}

#[test]
fn workload_of_the_driver_is_found_by_its_name() {
    let mut index = fixture::index(
        "
        node n1
        csinode n1 drivers=other.example
        pvc shop/data volume=pv
        pv pv claim=shop/data driver=ebs.csi.aws.com
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        ds kube-system/ebs-csi-node
        ds kube-system/proxy
    ",
    );
    delete(&mut index, 500, "ds kube-system/ebs-csi-node");
    delete(&mut index, 500, "ds kube-system/proxy");
    insta::assert_snapshot!(changes(&index), @"DaemonSet kube-system/ebs-csi-node Deleted  500 s ago");
}

#[test]
fn workload_behind_a_converter_is_named() {
    let mut index = fixture::index(
        "
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_example.com/v1,_Kind=Widget_failed:_no_endpoints
        crd widgets.example.com defines=Widget.example.com service=ops/convert
        Widget.example.com shop/w
        deploy ops/convert
        deploy other/far
    ",
    );
    delete(&mut index, 500, "deploy ops/convert");
    delete(&mut index, 450, "deploy other/far");
    insta::assert_snapshot!(changes(&index), @"Deployment ops/convert Deleted  500 s ago");
}

#[test]
fn cloud_controller_that_went_is_named_at_a_load_balancer() {
    let mut index = fixture::index(
        "
        svc shop/edge deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
        ds kube-system/openstack-cloud-controller-manager
        ds kube-system/proxy
    ",
    );
    delete(&mut index, 500, "ds kube-system/openstack-cloud-controller-manager");
    delete(&mut index, 450, "ds kube-system/proxy");
    insta::assert_snapshot!(changes(&index), @"DaemonSet kube-system/openstack-cloud-controller-manager Deleted  500 s ago");
    insta::assert_snapshot!(describe(&index), @"
    finisherGone at Service  (Inferred, waits)
      Service shop/edge
      - Service shop/edge: metadata.finalizers service.kubernetes.io/load-balancer-cleanup
      - DaemonSet kube-system/openstack-cloud-controller-manager: deleted
    ");
    // One that is there may be its successor.
    let next = fixture::object("deploy kube-system/aws-cloud-controller-manager ready=1");
    then(&mut index, 10, Observation::Applied(Box::new(next)));
    assert_eq!(heads(&index), "loadBalancerLeft at Service shop/edge (Inferred, waits)");
}

#[test]
fn program_that_went_is_remembered_for_as_long_as_an_object_waits_for_it() {
    let (controller, service) =
        ("ds kube-system/openstack-cloud-controller-manager", "svc shop/edge deleted=7000");
    let cleanup = "finalizers=service.kubernetes.io/load-balancer-cleanup";
    let mut index = fixture::index(&format!(
        "{service} {cleanup}
        {controller}
        deploy ops/late
        rs ops/late-1 owner=deploy/late
        ds kube-system/proxy"
    ));
    delete(&mut index, 7_200, controller);
    delete(&mut index, 7_100, "rs ops/late-1 owner=deploy/late");
    delete(&mut index, 100, "ds kube-system/proxy");
    insta::assert_snapshot!(describe(&index), @"
    finisherGone at Service  (Inferred, stuck)
      Service shop/edge
      - Service shop/edge: metadata.finalizers service.kubernetes.io/load-balancer-cleanup
      - DaemonSet kube-system/openstack-cloud-controller-manager: deleted
    ");
    assert_eq!(
        changes(&index),
        "DaemonSet kube-system/openstack-cloud-controller-manager Deleted  7200 s ago"
    );
    let remembered = |index: &Index| -> Vec<String> {
        index.departures().map(|it| it.object.name.to_string()).collect()
    };
    assert_eq!(remembered(&index), ["openstack-cloud-controller-manager", "proxy"]);
    // A deletion that began long after the controller went is not put down to it.
    let other = format!("svc shop/other deleted=400 {cleanup}");
    then(&mut index, 0, Observation::Applied(Box::new(fixture::object(&other))));
    assert!(heads(&index).contains("loadBalancerLeft at Service shop/other"), "{}", heads(&index));
    // Once nothing waits from that time, it is forgotten.
    delete(&mut index, -61, service);
    delete(&mut index, -122, "deploy ops/late");
    assert_eq!(remembered(&index), ["proxy", "edge", "late"]);
}

#[test]
fn claim_in_the_title_comes_before_neighbours_that_are_nearer_in_time() {
    let mut index = fixture::index(
        "
        node n1
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pvc shop/data
        deploy shop/one
        deploy shop/two
        svc shop/three
        svc shop/four
        svc shop/five
    ",
    );
    delete(&mut index, 1_000, "pvc shop/data");
    let neighbours = ["deploy shop/one", "deploy shop/two", "svc shop/three", "svc shop/four"];
    for (ago, line) in [1_400, 500, 460, 410].into_iter().zip(neighbours) {
        delete(&mut index, ago, line);
    }
    // After the Pod was deleted.
    delete(&mut index, 366, "svc shop/five");
    insta::assert_snapshot!(changes(&index), @r"
    PersistentVolumeClaim shop/data Deleted  1000 s ago
    Service shop/four Deleted  410 s ago
    Service shop/three Deleted  460 s ago
    Deployment shop/two Deleted  500 s ago
    ");
    let four = fixture::uid("svc:shop/four");
    let others = changes_of(&index, |uid| (*uid == four).then_some(Remover::Repair));
    assert!(!others.contains("shop/four") && others.contains("shop/one"), "{others}");
}

#[test]
fn controller_that_went_a_moment_before_comes_before_the_older_change_of_the_node() {
    let mut index = fixture::index(
        "
        node n1
        deploy shop/web
        rs shop/web-1 owner=deploy/web
        deploy shop/other
        pod shop/web-1-a owner=rs/web-1 node=n1 deleted=400 grace=30 containers=web:running
    ",
    );
    for (ago, ready) in [(1_500, " ready=Ready:False:KubeletNotReady:1500:down"), (1_420, "")] {
        let node = fixture::object(&format!("node n1{ready}"));
        then(&mut index, ago, Observation::Applied(Box::new(node)));
    }
    delete(&mut index, 420, "deploy shop/web");
    delete(&mut index, 415, "rs shop/web-1 owner=deploy/web");
    delete(&mut index, 405, "deploy shop/other");
    let found = changes(&index);
    let lines: Vec<&str> = found.lines().collect();
    let [controller, node, other] = lines[..] else { panic!("{found}") };
    assert_eq!(controller, "Deployment shop/web Deleted  420 s ago");
    assert!(node.starts_with(r#"Node n1 Became("Ready") True"#), "{node}");
    assert!(node.ends_with(" 1420 s ago"), "{node}");
    assert_eq!(other, "Deployment shop/other Deleted  405 s ago");
}

#[test]
fn removal_of_an_api_that_no_longer_blocks_is_no_suspect() {
    let mut index = fixture::index(
        "
        ns shop deleted=400 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server conditions=Available:False:MissingEndpoints:500:no_endpoints
        apiservice v1.apps
    ",
    );
    delete(&mut index, 100, "apiservice v1beta1.metrics.k8s.io");
    assert!(heads(&index).starts_with("looksAgain at APIService v1beta1.metrics.k8s.io"));
    assert_eq!(changes(&index), "");
}

#[test]
fn old_changes_are_left_out() {
    let mut index = fixture::index(
        "
        deploy shop/web
        Db.example.com shop/db deleted=90 finalizers=example.com/db
    ",
    );
    delete(&mut index, 3_000, "deploy shop/web");
    assert_eq!(changes(&index), "");
}
