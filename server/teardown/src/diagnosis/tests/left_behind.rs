//! Objects in namespaces that do not exist: the programs that would clear their finalizers run, and are refused.

use super::*;
use crate::observation::Observation;

/// A Topic whose operator runs in another namespace; that of the Topic does not exist.
const TOPIC: &str = "
    ns ops
    crd topics.queue.example defines=Topic.queue.example
    Topic.queue.example shop/orders deleted=200 finalizers=queue.example/topic
    deploy ops/operator uses=account:operator ready=1 replicas=1
    crb operator role=clusterrole/topics accounts=ops/operator
    clusterrole topics updates=topics.queue.example
";

/// The causes and their roots.
fn causes(text: &str) -> Vec<String> {
    let index = fixture::index(text);
    let found = diagnose(&index, &Graph::of(&index), fixture::now());
    found.iter().map(|it| format!("{} at {}", it.cause.name(), it.root)).collect()
}

const GONE: &str = "namespaceGone at Namespace shop";

#[test]
fn finalizer_in_a_namespace_that_is_gone_waits_for_the_namespace_and_not_for_its_program() {
    insta::assert_snapshot!(diagnoses(TOPIC), @r#"
    namespaceGone at Namespace shop (Inferred, stuck)
      Topic shop/orders
      - Namespace shop: absent 
      - Topic shop/orders: metadata.finalizers queue.example/topic
    "#);
    // The program is not to blame, whether it is known or one of two.
    let two = format!("{TOPIC}deploy ops/other uses=account:operator ready=1 replicas=1");
    assert_eq!(causes(&two), [GONE]);
    let exists = |text: &str| causes(&format!("{text}\nns shop"));
    assert_eq!(exists(TOPIC), ["finisherBusy at Deployment ops/operator"]);
    assert_eq!(exists(&two), ["finisherUnknown at Topic "]);
    let ways = |text: &str| {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let found = diagnose(&index, &graph, fixture::now());
        let ways =
            found.iter().flat_map(|it| crate::remedy::remedies(it, &index, &graph, fixture::now()));
        ways.map(|it| it.act).collect::<Vec<_>>()
    };
    let again =
        crate::remedy::RemedyAct::RecreateNamespace { namespace: "shop".into(), has_labels: false };
    assert_eq!(ways(TOPIC), [again]);
}

/// Its namespace alone would not let the object go.
#[test]
fn program_that_could_not_clear_the_finalizer_anyway_is_a_root_too() {
    let not_ready = causes(&TOPIC.replace("ready=1", "ready=0"));
    assert_eq!(not_ready, [GONE, "finisherNotReady at Deployment ops/operator"]);
    let gone = causes(&TOPIC.replace("deploy ops/operator", "cm ops/operator"));
    assert_eq!(gone, [GONE, "finisherGone at Topic "]);
    let used = "
        ns ops
        node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/web node=n1 uses=claim:data
    ";
    assert_eq!(causes(used), [GONE, "claimInUse at PersistentVolumeClaim shop/data"]);
}

#[test]
fn controllers_are_not_to_blame_for_what_the_api_server_refuses_them() {
    for held in [
        "pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection",
        "cm shop/owner deleted=200 finalizers=foregroundDeletion",
        "svc shop/front type=LoadBalancer deleted=200 finalizers=service.kubernetes.io/load-balancer-cleanup",
        "job shop/train managedBy=kueue.x-k8s.io/multikueue
         pod shop/web owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking",
    ] {
        assert_eq!(causes(&format!("ns ops\nnode n1\n{held}")), [GONE], "{held}");
        let exists = causes(&format!("ns ops\nns shop\nnode n1\n{held}"));
        assert!(exists.len() == 1 && exists[0] != GONE, "{held}: {exists:?}");
    }
}

#[test]
fn namespace_is_blamed_only_where_it_is_known_to_be_gone_and_the_object_is_late() {
    assert_eq!(causes(&TOPIC.replace("deleted=200", "deleted=10")), [""; 0]);
    let held = TOPIC.replace("deleted=200 finalizers=queue.example/topic", "deleted=200");
    assert_eq!(causes(&held), ["unknown at Topic shop/orders"], "nobody has to change it");
    assert_eq!(
        causes(&TOPIC.replace("ns ops", "")),
        ["finisherBusy at Deployment ops/operator"],
        "where there is no namespace at all, they were not read"
    );
    let mut index = fixture::index(TOPIC);
    hide(&mut index, "namespaces");
    assert!(!heads(&index).contains("namespaceGone"), "it may be there");
}

/// The watch of Namespaces may be ahead of that of the Topics.
#[test]
fn rest_of_a_namespace_that_ended_in_order_is_no_trouble() {
    let ended = |remaining: &str| {
        let conditions = [
            "NamespaceDeletionDiscoveryFailure:False",
            "NamespaceDeletionGroupVersionParsingFailure:False",
            "NamespaceDeletionContentFailure:False",
            "NamespaceContentRemaining:False",
            remaining,
        ];
        let conditions = conditions.map(|it| format!("{it}:Reason:10:")).join(";");
        let namespace = format!("ns shop deleted=300 conditions={conditions}");
        let mut index = fixture::index(&format!("{TOPIC}{namespace}"));
        let object = fixture::object(&namespace);
        let deleted = Observation::Deleted { kind: object.kind, uid: object.uid };
        index.apply([deleted], fixture::now());
        heads(&index)
    };
    assert!(!ended("NamespaceFinalizersRemaining:False").contains("namespaceGone"));
    let forced = ended("NamespaceFinalizersRemaining:True");
    assert_eq!(forced, "namespaceGone at Namespace shop (Inferred, stuck)");
}
