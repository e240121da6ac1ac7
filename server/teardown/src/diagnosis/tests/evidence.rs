//! The fact that proves a cause is listed, however many facts of others there are.

use super::*;

fn with(many: impl Fn(usize) -> String, rest: &str) -> String {
    let all: Vec<String> = (0..14).map(many).collect();
    describe(&fixture::index(&format!("{}\n{rest}", all.join("\n"))))
}

#[test]
fn api_that_is_down_is_proven_behind_many_namespaces() {
    let namespace = |n: usize| {
        format!(
            "ns s{n} deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale_{n}"
        )
    };
    let rest = "apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:210:no_addresses";
    let described = with(namespace, rest);
    let facts: Vec<&str> = described.lines().filter(|line| line.starts_with("  - ")).collect();
    assert_eq!(
        facts[0],
        "  - APIService v1beta1.metrics.k8s.io: condition Available False MissingEndpoints: no addresses"
    );
    assert!(facts.contains(&"  - Service kube-system/metrics-server: absent "), "{described}");
    assert_eq!(facts.iter().filter(|fact| fact.contains("Namespace s")).count(), 3, "{described}");
}

#[test]
fn silent_node_is_proven_behind_many_evicted_pods() {
    let pod = |n: usize| {
        format!(
            "pod shop/p{n} node=n1 deleted=400 grace=30 containers=c:running disruption=DeletionByTaintManager"
        )
    };
    let node = "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped taints=node.kubernetes.io/unreachable:NoExecute";
    let described = with(pod, node);
    let facts: Vec<&str> = described.lines().filter(|line| line.starts_with("  - ")).collect();
    assert!(facts[0].starts_with("  - Node n1: condition Ready Unknown"), "{described}");
    assert!(facts[1].starts_with("  - Node n1: spec.taints"), "{described}");
    assert_eq!(facts.len(), 5, "{described}");
}

#[test]
fn operator_that_went_is_named_behind_many_objects() {
    let map = |n: usize| format!("cm shop/c{n} deleted=300 finalizers=queue.example/x");
    let all: Vec<String> = (0..14).map(map).collect();
    let mut index = fixture::index(&format!("deploy shop/queue-operator\n{}", all.join("\n")));
    let operator = fixture::object("deploy shop/queue-operator");
    let deleted =
        crate::observation::Observation::Deleted { kind: operator.kind, uid: operator.uid };
    index.apply([deleted], fixture::now());
    let described = describe(&index);
    assert!(described.contains("  - Deployment shop/queue-operator: deleted"), "{described}");
}

#[test]
fn fact_of_a_status_has_the_time_that_the_cluster_wrote() {
    let ages = |text: &str| {
        let index = fixture::index(text);
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        let facts = found.into_iter().flat_map(|it| it.evidence).filter_map(|fact| {
            let name = match &fact.source {
                Source::Condition(name) => name.to_string(),
                Source::Field(path) => path.to_string(),
                _ => return None,
            };
            let seconds = fixture::now().duration_since(fact.at?).as_secs();
            Some(format!("{name} {seconds} s ago"))
        });
        facts.collect::<Vec<_>>()
    };
    let attachment =
        "node n1\nattachment a1 volume=pv node=n1 attacher=disk.example deleted=200 error=busy";
    assert_eq!(ages(attachment), [""; 0]);
    let failed = format!("{attachment} failed=30");
    assert_eq!(ages(&failed), ["status.detachError.message 30 s ago"]);
    let pod = "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=c:running disruption=DeletionByTaintManager";
    assert_eq!(ages(pod), ["Ready 600 s ago"]);
    let disrupted = format!("{pod} disrupted=430");
    assert_eq!(ages(&disrupted), ["Ready 600 s ago", "DisruptionTarget 430 s ago"]);
}
