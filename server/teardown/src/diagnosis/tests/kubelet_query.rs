//! The queries to kubelets: which are asked, about which Pods and volumes, and for how long a time.

use super::{
    fetched::{REPORTING, SILENT, look},
    *,
};
use crate::fetched::Question;

/// The queries to kubelets: node, Pods, and the minutes since their beginning.
fn queries(index: &Index) -> Vec<String> {
    let graph = Graph::of(index);
    let diagnoses = diagnose(index, &graph, fixture::now());
    let logs =
        crate::wanted::wanted(index, &graph, &diagnoses, &[], false, fixture::now()).kubelets;
    let line = |query: &crate::fetched::KubeletQuery| {
        let pods: Vec<String> = query.pods.iter().map(ToString::to_string).collect();
        let since = fixture::now().duration_since(query.since).as_mins();
        format!("{}: {} since {since} min", query.node, pods.join(" "))
    };
    logs.iter().map(line).collect()
}

#[test]
fn kubelets_that_live_are_asked_about_the_pods_that_they_hold_and_no_others() {
    let asked = |text: &str| queries(&fixture::index(text));
    assert_eq!(asked("node n1\npod shop/a node=n1 containers=web:running"), [""; 0]);
    // The kubelet holds the containers, the volumes, the directory.
    for held in ["containers=web:running", "phase=Failed containers=web:terminated"] {
        let pod = format!("pod shop/a node=n1 deleted=400 grace=30 {held}");
        assert_eq!(asked(&format!("node n1\n{pod}")), ["n1: pod:shop/a since 6 min"], "{held}");
        assert_eq!(asked(&format!("{SILENT}\n{pod}")), [""; 0], "the node is silent");
        assert_eq!(asked(&pod), [""; 0], "the node does not exist");
    }
    // Its lease says that it lives, or that it does not, whatever condition Ready says.
    let mut index = fixture::index(REPORTING);
    assert_eq!(queries(&index), ["n1: pod:shop/a since 6 min"]);
    look(&mut index, Question::NodeLeases, "n1", "a", 60);
    look(&mut index, Question::NodeLeases, "n1", "b", 50);
    assert_eq!(queries(&index), ["n1: pod:shop/a since 6 min"]);
    look(&mut index, Question::NodeLeases, "n1", "b", 5);
    assert_eq!(queries(&index), [""; 0]);
    // Others hold it: the grace period, a finalizer, an owner.
    for (why, other) in [
        ("grace", "pod shop/a node=n1 deleted=-100 grace=600 containers=web:running"),
        ("finalizer", "pod shop/a node=n1 deleted=400 grace=0 finalizers=example.com/x"),
        ("claim", "pvc shop/a deleted=400 finalizers=kubernetes.io/pvc-protection"),
    ] {
        assert_eq!(asked(&format!("node n1\n{other}")), [""; 0], "{why}");
    }
}

#[test]
fn node_is_asked_about_a_volume_that_it_keeps_attached_by_the_name_of_the_volume() {
    let text = "
        node n1
        pv pvc-7 deleted=400 phase=Released finalizers=external-attacher/disk driver=disk.example.com
        attachment a1 volume=pvc-7 node=n1 attacher=disk.example.com
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running";
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    let wanted = crate::wanted::wanted(&index, &graph, &found, &[], false, fixture::now());
    let queries: Vec<_> = wanted.kubelets.into_iter().collect();
    let [query] = &queries[..] else { panic!("{queries:?}") };
    assert_eq!(query.pods, [fixture::uid("pod:shop/a")]);
    assert_eq!(query.volumes, [(fixture::uid("pv:pvc-7"), "pvc-7".into())]);
}

#[test]
fn node_is_asked_once_about_a_bounded_number_of_pods_and_hours() {
    let asked = |text: &str| queries(&fixture::index(text));
    let pod = |name: &str, node: &str, deleted: u32| {
        format!("pod shop/{name} node={node} deleted={deleted} grace=30 containers=web:running\n")
    };
    let two = format!("node n1\n{}{}", pod("b", "n1", 400), pod("a", "n1", 900));
    assert_eq!(asked(&two), ["n1: pod:shop/a pod:shop/b since 15 min"]);
    let days = asked(&format!("node n1\n{}", pod("a", "n1", 300_000)));
    let minutes: i64 = days[0].split(' ').rev().nth(1).unwrap().parse().unwrap();
    assert!((60..=120).contains(&minutes), "{days:?}");
    let pods: String = (0..30).map(|number| pod(&format!("p{number}"), "n1", 400)).collect();
    assert_eq!(asked(&format!("node n1\n{pods}"))[0].matches("pod:").count(), 8);
    let nodes: String = (0..30)
        .map(|it| format!("node m{it}\n{}", pod(&format!("p{it}"), &format!("m{it}"), 400)))
        .collect();
    assert_eq!(asked(&nodes).len(), 6);
}
