//! The worlds of a release.

use sandbox::cluster::Propagation::Background;
use sandbox::object;
use serde_json::{Value, json};

use crate::test_cluster::TestCluster;

fn load(name: &str) -> TestCluster {
    let mut test = TestCluster::new();
    let (objects, faults) = sandbox::world::text(name).unwrap();
    sandbox::world::load(&mut test, objects, faults).unwrap();
    test
}

fn part_of(object: &Value) -> &str {
    object::label(object, "app.kubernetes.io/part-of")
}

/// Whether all requested Pods run and every claim has its volume.
fn is_settled(test: &TestCluster) -> bool {
    let bound = |it: &&Value| it["status"]["phase"] == "Bound";
    let complete = |it: &&Value| it["status"]["readyReplicas"] == it["spec"]["replicas"];
    let done = |it: &&Value| it["status"]["succeeded"] == 1;
    test.list("persistentvolumeclaims").iter().all(bound)
        && test.list("persistentvolumes").iter().all(bound)
        && test.list("apps/deployments").iter().all(complete)
        && test.list("apps/statefulsets").iter().all(complete)
        && test.list("batch/jobs").iter().all(done)
        && test
            .list("storage.k8s.io/volumeattachments")
            .iter()
            .all(|it| it["status"]["attached"] == true)
}

#[test]
fn worlds_settle_before_their_faults() {
    for name in sandbox::world::names() {
        let mut test = TestCluster::new();
        sandbox::world::load(&mut test, sandbox::world::text(name).unwrap().0, "").unwrap();
        test.until(30, name, is_settled);
        assert!(!test.list("pods").is_empty(), "{name}");
        let labelled = test.list("apps/deployments").into_iter().any(|it| part_of(it) == name);
        assert!(labelled, "{name} is the name of its application");
    }
}

#[test]
fn consortium_matches_the_sample_application_of_the_real_cluster() {
    let mut test = load("consortium");
    test.until(30, "settled", is_settled);
    let pods = |of: &str| test.list("pods").into_iter().filter(|it| part_of(it) == of).count();
    assert_eq!((pods("consortium"), pods("bystander")), (3 + 2 * (4 + 1 + 1), 2));
    assert_eq!(test.list("persistentvolumes").len(), 3 + 3 + 1);
    assert_eq!(test.list("storage.k8s.io/volumeattachments").len(), 1);
}

#[test]
fn shop_is_deleted_in_order_and_nothing_stays() {
    let mut test = load("shop");
    test.until(30, "settled", is_settled);
    test.delete("namespaces//shop", Background);
    test.until(120, "the end", |it| {
        !it.has("namespaces//shop")
            && it.list("persistentvolumes").is_empty()
            && it.list("storage.k8s.io/volumeattachments").is_empty()
            && it.list("pods").is_empty()
    });
}

fn stuck(test: &TestCluster, namespace: &str) -> usize {
    let past =
        |it: &&Value| object::deletion_timestamp(it).is_some_and(|at| at < test.cluster.now());
    test.list("pods")
        .into_iter()
        .filter(|it| object::namespace(it) == namespace)
        .filter(past)
        .count()
}

#[test]
fn s1_is_stuck_within_a_minute_and_each_mount_has_its_own_end() {
    let mut test = load("s1");
    test.run(60);
    assert_eq!(stuck(&test, "s1"), 4);
    assert!(!test.has("persistentvolumeclaims/s1/ledger"));
    test.run(300);
    assert_eq!(stuck(&test, "s1"), 4);
    let logs = &test.controllers.node_faults.kubelet_logs;
    let said = |word: &str| logs.values().flatten().any(|line| line.contains(word));
    assert!(said("Stale file handle") && said("directory not empty"));
    assert!(said("context deadline exceeded"), "an unmount that hangs names what is left mounted");
    test.controllers.node_faults.restore("nfs.s1.example");
    test.until(123, "the stale mounts end", |it| stuck(it, "s1") == 2);
    test.controllers.node_faults.restore("old-nfs.s1.example");
    test.until(2, "the hanging mount ends at once", |it| stuck(it, "s1") == 1);
    test.controllers.node_faults.free("s1-tools");
    test.until(123, "the last mount ends", |it| stuck(it, "s1") == 0);
    let twin = test.pods("peer").into_iter().filter(|it| part_of(it) == "s1-twin").count();
    assert_eq!(twin, 2, "nothing has happened to the twin");
}

#[test]
fn s2_is_stuck_within_a_minute_and_ends_when_the_volume_is_free() {
    let mut test = load("s2");
    test.run(60);
    assert_eq!(stuck(&test, "s2"), 1);
    assert_eq!(test.ready("front"), 2);
    test.controllers.node_faults.busy.remove("s2-archive");
    test.until(123, "no Pods", |it| it.pods("archive").is_empty());
}

#[test]
fn s3_is_stuck_within_a_minute_and_ends_when_the_metrics_are_back() {
    let mut test = load("s3");
    test.run(60);
    let failure = object::condition(test.at("namespaces//s3"), "NamespaceDeletionDiscoveryFailure");
    assert_eq!(failure["status"], "True");
    assert!(!test.has("configmaps/s3/settings"));
    test.change("apps/deployments/kube-system/metrics-server", |it| {
        it["spec"]["replicas"] = json!(1)
    });
    test.until(90, "the end", |it| !it.has("namespaces//s3"));
}

#[test]
fn s4_is_stuck_within_a_minute_and_ends_when_the_operator_is_back() {
    let mut test = load("s4");
    let operator = test.at("apps/deployments/s4/queue-operator").clone();
    test.run(60);
    let definition = "apiextensions.k8s.io/customresourcedefinitions//topics.queue.example";
    assert_eq!(object::condition(test.at(definition), "Terminating")["status"], "True");
    assert!(test.list("queue.example/topics").iter().all(|it| object::is_deleting(it)));
    test.create([json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "queue-operator", "namespace": "s4"},
        "spec": operator["spec"],
    })]);
    test.until(30, "the definition gone", |it| !it.has(definition));
}

#[test]
fn s4_forced_leaves_an_object_that_can_be_finished_only_in_a_namespace() {
    let mut test = load("s4-forced");
    test.run(60);
    let (namespace, mailbox) = ("namespaces//s4-forced", "mail.example/mailboxes/s4-forced/sales");
    assert!(!test.has(namespace));
    assert!(object::is_deleting(test.at(mailbox)));
    assert_eq!(test.ready("mail-operator"), 1, "it is back, and cannot update the mailbox");
    test.run(120);
    assert!(test.has(mailbox));
    test.create([json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s4-forced"},
    })]);
    test.delete(namespace, Background);
    test.until(120, "both are gone", |it| !it.has(mailbox) && !it.has(namespace));
}

#[test]
fn s5_is_stuck_within_a_minute_and_ends_when_the_node_is_back() {
    let mut test = load("s5");
    test.run(75);
    assert_eq!(stuck(&test, "s5"), 1);
    assert_eq!(test.pods("singleton").len(), 1, "no replacement");
    assert_eq!(object::condition(test.at("nodes//node-a"), "Ready")["status"], "Unknown");
    test.revive();
    test.until(60, "a new one", |it| it.ready("singleton") == 1 && it.pods("singleton").len() == 1);
}

#[test]
fn node_of_a_world_that_has_registered_gets_its_labels_and_the_name_of_its_machine() {
    let mut test = load("s5");
    test.run(2);
    let node = test.at("nodes//node-a");
    assert_eq!(object::label(node, "team"), "ledger-sre");
    assert_eq!(object::label(node, "topology.kubernetes.io/zone"), "zone-1");
    assert_eq!(object::label(node, "kubernetes.io/hostname"), "node-a", "its kubelet's own");
    assert_eq!(node["spec"]["providerID"], "rack:///zone-1/machine-07");
    assert_eq!(object::condition(node, "Ready")["status"], "True");
}

#[test]
fn s5_cut_off_keeps_its_disk_until_the_node_reports_again() {
    let mut test = load("s5-cut-off");
    test.run(110);
    assert_eq!(stuck(&test, "s5-cut-off"), 1);
    assert_eq!(test.pods("writer").len(), 2, "its replacement waits for the disk");
    assert_eq!(test.ready("writer"), 0);
    assert!(test.events("FailedAttachVolume")[0].contains("Multi-Attach error"));
    test.revive();
    test.until(60, "one writer", |it| it.ready("writer") == 1 && it.pods("writer").len() == 1);
}

#[test]
fn shutdown_ends_one_pod_in_time_and_the_other_is_lost_until_the_node_starts_again() {
    let mut test = load("shutdown");
    test.run(150);
    let of = |test: &TestCluster, phase: &str| {
        let pods = test.pods("web").into_iter();
        pods.filter(|it| it["status"]["phase"] == phase).count()
    };
    assert_eq!((of(&test, "Failed"), of(&test, "Running")), (1, 1), "ended in time, and replaced");
    assert_eq!(stuck(&test, "shutdown"), 1);
    assert_eq!(test.pods("mail").len(), 2, "its replacement waits for the disk");
    assert!(test.events("FailedAttachVolume")[0].contains("Multi-Attach error"));
    test.revive();
    test.until(60, "one mail server", |it| it.ready("mail") == 1 && it.pods("mail").len() == 1);
}

#[test]
fn incidents_can_be_repaired_at_once() {
    for name in ["s1", "s2", "s5", "s5-cut-off", "shutdown"] {
        let mut test = load(name);
        test.run(110);
        assert!(stuck(&test, name) > 0, "{name}");
        test.repair();
        test.until(130, name, |it| stuck(it, name) == 0);
    }
}

#[test]
fn world_that_cannot_be_loaded_gives_the_reason() {
    for (objects, faults, why) in [
        ("{", "", "its objects are no JSON"),
        ("{}", "", "its objects are no JSON list"),
        (r#"{"items": 1}"#, "", "its objects are no JSON list"),
        (
            r#"[{"kind": "Nonsense", "apiVersion": "v1"}]"#,
            "",
            "nothing is known of kind \"Nonsense\"",
        ),
        ("[]", "at noon tea", "its faults cannot be read"),
    ] {
        let mut test = TestCluster::new();
        assert_eq!(sandbox::world::load(&mut test, objects, faults).unwrap_err().to_string(), why);
    }
}

#[test]
fn load_balancer_stays_until_the_cloud_is_repaired() {
    let mut test = TestCluster::new();
    test.controllers.add_cloud();
    let (objects, faults) = sandbox::world::text("load-balancer").unwrap();
    sandbox::world::load(&mut test, objects, faults).unwrap();
    test.run(300);
    let is_there = |test: &TestCluster| {
        test.list("services").iter().any(|service| service["metadata"]["name"] == "web")
    };
    assert!(is_there(&test));
    test.play("at 0s cloud repaired");
    test.run(600);
    assert!(!is_there(&test));
}

#[test]
fn namespace_stays_until_the_controller_manager_runs_again() {
    let mut test = load("manager");
    test.run(300);
    assert!(!test.list("pods").is_empty(), "nobody empties the namespace");
    let web = test.at("apps/deployments/manager/web");
    assert!(object::is_deleting(web) && object::has_finalizer(web, "orphan"), "nobody collects");
    test.play("at 0s controller kube-controller-manager on");
    test.run(60);
    let names = test.list("namespaces").into_iter().map(|it| object::name(it).to_owned());
    assert!(!names.collect::<Vec<_>>().contains(&"manager".to_owned()));
}
