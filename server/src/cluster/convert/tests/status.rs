//! The parts of a status by which a deletion that waits is explained.

use teardown::object::{ConditionStatus, ContainerState, Seconds};

use super::*;

fn time(at: Seconds) -> String {
    Timestamp::from(at).to_string()
}

#[test]
fn node_keeps_its_ready_condition_its_taints_and_the_volumes_that_it_uses() {
    let facts = read(
        "v1 Node",
        r#""spec": {"providerID": "aws:///eu-1a/i-0f", "taints": [
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}]},
           "status": {"volumesInUse": ["kubernetes.io/csi/disk.example^vol-1"], "conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
             "message": "Kubelet stopped posting node status.", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}"#,
    )
    .facts;
    let Facts::Node(node) = facts else { panic!() };
    let ready = node.ready.as_ref().unwrap();
    assert_eq!((ready.status, &*ready.reason), (ConditionStatus::Unknown, "NodeStatusUnknown"));
    assert_eq!(&*ready.message, "Kubelet stopped posting node status.");
    assert_eq!(Timestamp::from(ready.since.unwrap()).to_string(), "2026-01-02T03:04:05Z");
    assert_eq!(*node.taints, [("node.kubernetes.io/unreachable".into(), "NoExecute".into())]);
    assert_eq!(node.provider.as_deref(), Some("aws:///eu-1a/i-0f"));
    assert_eq!(*node.in_use, ["kubernetes.io/csi/disk.example^vol-1".into()]);
    assert!(!node.is_ready());
    let volume = r#""spec": {"csi": {"driver": "disk.example", "volumeHandle": "vol-1"}}"#;
    let Facts::Volume(volume) = read("v1 PersistentVolume", volume).facts else { panic!() };
    assert_eq!(volume.unique_name().as_deref(), Some(&*node.in_use[0]));
    let Facts::Node(new) = read("v1 Node", "").facts else { panic!() };
    assert!(!new.is_ready(), "no kubelet has written its status");
}

#[test]
fn custom_resource_keeps_the_condition_by_which_its_operator_keeps_it() {
    const DELETED: &str = r#""deletionTimestamp": "2026-01-02T03:04:05Z","#;
    let blocked = |metadata: &str, conditions: &str| {
        let json = format!(
            r#"{{"metadata": {{{metadata} "name": "it", "namespace": "rook", "uid": "u-1"}}, "status": {{"conditions": {conditions}}}}}"#
        );
        let of = kind("ceph.rook.io/v1 CephCluster");
        object(&of, &json, &Interner::default()).unwrap().unwrap().blocked().cloned()
    };
    let long = "pool ".repeat(1_000);
    let conditions = |status: &str| {
        format!(
            r#"[{{"type": "Ready", "status": "True"}}, {{"type": "DeletionIsBlocked", "status": "{status}", "reason": "ObjectHasDependents",
                "message": "\u202eCephBlockPool:\n[{long}]", "lastTransitionTime": "2026-01-02T03:04:06Z"}}]"#
        )
    };
    let kept = blocked(DELETED, &conditions("True")).unwrap();
    assert_eq!((&*kept.name, &*kept.reason), ("DeletionIsBlocked", "ObjectHasDependents"));
    assert!(kept.message.starts_with("CephBlockPool: [pool pool "), "{}", kept.message);
    assert!(kept.message.chars().count() <= 512, "bounded");
    assert_eq!(kept.since.map(time).as_deref(), Some("2026-01-02T03:04:06Z"));
    assert_eq!(blocked(DELETED, &conditions("False")), None);
    assert_eq!(blocked("", &conditions("True")), None, "nobody deletes it");
    // An operator may call anything conditions.
    for odd in ["null", "{}", r#""True""#, r#"[["DeletionIsBlocked"]]"#, "[]"] {
        assert_eq!(blocked(DELETED, odd), None, "{odd}");
    }
}

#[test]
fn custom_resource_that_is_deleted_keeps_what_its_operator_says_of_that() {
    let told = |metadata: &str, conditions: &str| {
        let json = format!(
            r#"{{"metadata": {{{metadata} "name": "it", "uid": "u-1"}}, "status": {{"conditions": [{conditions}]}}}}"#
        );
        let of = kind("example.com/v1 Database");
        let read = object(&of, &json, &Interner::default()).unwrap().unwrap();
        read.told().iter().map(|it| it.name.to_string()).collect::<Vec<_>>()
    };
    const DELETED: &str = r#""deletionTimestamp": "2026-01-02T03:04:05Z","#;
    let condition = |name: &str, status: &str, minute: u8| {
        format!(
            r#"{{"type": "{name}", "status": "{status}", "reason": "It", "message": "", "lastTransitionTime": "2026-01-02T03:0{minute}:06Z"}}"#
        )
    };
    let all = [
        condition("Synced", "False", 1),
        condition("Ready", "False", 3),
        condition("Healthy", "True", 4),
        condition("Deleting", "True", 0),
        condition("Stalled", "False", 4),
        condition("ACK.Terminal", "True", 2),
    ];
    let all = all.join(",");
    assert_eq!(told(DELETED, &all), ["Deleting", "Ready", "ACK.Terminal"]);
    assert_eq!(told("", &all), [""; 0], "nobody deletes it");
    let silent = r#"{"type": "Ready", "status": "False"}"#;
    assert_eq!(told(DELETED, silent), [""; 0], "it says nothing");
    // A hook of Cluster API that nobody has run, by either of its versions.
    for hook in [
        condition("PreDrainDeleteHookSucceeded", "False", 1),
        condition("Deleting", "True", 1),
        condition("Deleting", "Unknown", 1),
    ] {
        assert_eq!(told(DELETED, &hook).len(), 1, "{hook}");
    }
    assert_eq!(told(DELETED, &condition("Deleting", "False", 1)), [""; 0]);
}

#[test]
fn namespace_keeps_its_conditions_and_the_finalizers_of_its_spec() {
    let facts = read(
        "v1 Namespace",
        r#""spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating", "conditions": [
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "reason": "DiscoveryFailed",
             "message": "Discovery failed\nfor some groups", "lastTransitionTime": null}]}"#,
    )
    .facts;
    let Facts::Namespace(namespace) = facts else { panic!() };
    assert_eq!(*namespace.finalizers, ["kubernetes".into()]);
    let [condition] = &*namespace.conditions else { panic!() };
    assert_eq!(&*condition.message, "Discovery failed for some groups");
    assert_eq!((condition.status, condition.since), (ConditionStatus::True, None));
}

#[test]
fn pod_keeps_its_containers_only_while_it_is_being_deleted() {
    let rest = r#""spec": {"resourceClaims": [{"name": "gpu"}],
        "containers": [{"name": "db", "volumeMounts": [{"name": "data", "subPath": "pg"}],
                        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}}]},
        "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
                                   "lastTransitionTime": "2026-01-02T03:09:05Z"}],
        "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0}}}],
        "containerStatuses": [{"name": "db", "state": {"running": {}}}, {"name": "web", "state": null}]}"#;
    let Facts::Pod(pod) = read("v1 Pod", rest).facts else { panic!() };
    assert_eq!(pod.ending, None);
    let json = format!(
        r#"{{"metadata": {{"name": "it", "uid": "u", "deletionTimestamp": "2026-01-02T03:04:05Z"}}, {rest}}}"#
    );
    let object = object(&kind("v1 Pod"), &json, &Interner::default()).unwrap().unwrap();
    let Facts::Pod(pod) = object.facts else { panic!() };
    let ending = pod.ending.unwrap();
    let states: Vec<_> = ending.containers.iter().map(|it| (&*it.name, it.state)).collect();
    assert_eq!(
        states,
        [
            ("init", ContainerState::Terminated),
            ("db", ContainerState::Running),
            ("web", ContainerState::Waiting)
        ]
    );
    assert_eq!(ending.disruption.as_deref(), Some("DeletionByTaintManager"));
    assert_eq!(ending.disrupted.map(time), Some("2026-01-02T03:09:05Z".to_owned()));
    assert!(ending.mounts_sub_paths && ending.has_devices && ending.has_pre_stop_hook);
}

#[test]
fn api_service_and_definition_keep_the_condition_that_says_why() {
    let status = r#""status": {"conditions": [{"type": "Available", "status": "False", "reason": "MissingEndpoints",
        "message": "no ready endpoints"}, {"type": "Terminating", "status": "True", "reason": "InstanceDeletionFailed"}]}"#;
    let Facts::ApiService(api) = read("apiregistration.k8s.io/v1 APIService", status).facts else {
        panic!()
    };
    let available = api.available.unwrap();
    assert_eq!(
        (available.status, &*available.reason),
        (ConditionStatus::False, "MissingEndpoints")
    );
    let definition = read("apiextensions.k8s.io/v1 CustomResourceDefinition", status).facts;
    let Facts::Definition(definition) = definition else { panic!() };
    assert_eq!(&*definition.terminating.unwrap().reason, "InstanceDeletionFailed");
}

#[test]
fn attachment_and_csi_node_name_their_driver() {
    let attachment = |failed: &str| {
        let rest = format!(
            r#""spec": {{"attacher": "disk.example", "nodeName": "n1", "source": {{"persistentVolumeName": "pv-1"}}}},
               "status": {{"attached": true, "detachError": {{"time": {failed}, "message": "disk is busy"}}}}"#
        );
        let facts = read("storage.k8s.io/v1 VolumeAttachment", &rest).facts;
        let Facts::Attachment(attachment) = facts else { panic!() };
        attachment
    };
    assert_eq!(attachment("null").detach_failed, None);
    let attachment = attachment(r#""2026-01-02T03:09:05Z""#);
    assert_eq!(attachment.detach_failed.map(time), Some("2026-01-02T03:09:05Z".to_owned()));
    assert_eq!((&*attachment.attacher, &*attachment.node), ("disk.example", "n1"));
    assert_eq!(attachment.volume.as_deref(), Some("pv-1"));
    assert!(attachment.attached);
    assert_eq!(attachment.detach_error.as_deref(), Some("disk is busy"));
    let drivers =
        r#""spec": {"drivers": [{"name": "disk.example", "nodeID": "n1", "topologyKeys": null}]}"#;
    let Facts::CsiNode(node) = read("storage.k8s.io/v1 CSINode", drivers).facts else { panic!() };
    assert_eq!(*node.drivers, ["disk.example".into()]);
}

#[test]
fn webhook_rule_says_whether_it_refuses_while_its_service_is_away() {
    let facts = read(
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        r#""webhooks": [
            {"name": "a.example", "clientConfig": {"service": {"namespace": "ops", "name": "a"}},
             "matchConditions": [{"name": "chosen", "expression": "request.name == 'a'"}],
             "rules": [{"operations": ["DELETE"], "apiGroups": [""], "resources": ["pods"]}]},
            {"name": "b.example", "failurePolicy": "Ignore", "clientConfig": {"url": "https://b.example"},
             "matchConditions": null,
             "rules": [{"operations": ["*"], "apiGroups": [""], "resources": ["pods"]}]}]"#,
    )
    .facts;
    let Facts::Webhooks(webhooks) = facts else { panic!() };
    let [a, b] = &*webhooks.guards else { panic!() };
    assert_eq!((&*a.webhook, a.fails_closed), ("a.example", true));
    assert_eq!(a.service.as_ref().map(|service| &*service.name), Some("a"));
    assert_eq!((&*b.webhook, b.fails_closed, &b.service), ("b.example", false, &None));
    assert_eq!((a.is_conditional, b.is_conditional), (true, false));
}
