//! Each kind of scheduled fault, seen by an HTTP client under paused time. Rules are in `faults.rs`.
#![expect(clippy::unwrap_used, reason = "a scene that cannot go on fails")]

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use sandbox::{
    control_plane::ControlPlane, controller::timing::Timing, object, service::Sandbox, world,
};
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::ServiceExt;

/// A cluster of three nodes with a namespace `shop`: a Pod on each of two nodes that mounts an NFS export, one without
/// volumes, a ReplicaSet of one, and a ConfigMap with a finalizer.
fn objects() -> Vec<Value> {
    let pod = |name: &str, node: &str, volumes: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "nodeName": node, "terminationGracePeriodSeconds": 5, "volumes": volumes,
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            },
        })
    };
    let export = json!([{"name": "data", "nfs": {"server": "nfs.example", "path": "/data"}}]);
    let claimed = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    let spec = json!({"containers": [{"name": "main", "image": "registry.example/main:1"}]});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                "csi": {"driver": "csi.unwind.test", "volumeHandle": "disk"}, "persistentVolumeReclaimPolicy": "Retain",
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {
                "storageClassName": "none", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk",
            },
        }),
        pod("on-a", "node-a", export.clone()),
        pod("on-b", "node-b", export),
        pod("plain", "node-a", json!([])),
        pod("claimed", "node-c", claimed),
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": "shop", "finalizers": ["example.com/x"]},
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"},
            "data": {"color": "red"},
        }),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }),
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one", "namespace": "shop"},
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "gate"},
            "webhooks": [{
                "name": "gate.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://gate.example.com/"}, "failurePolicy": "Fail",
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["secrets"],
                }],
            }],
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "key", "namespace": "shop"},
        }),
    ]
}

/// An HTTP client.
struct Client {
    sandbox: Sandbox,
    /// The revision from which it watches.
    since: u64,
    uids: BTreeMap<String, String>,
}

impl Client {
    async fn new() -> Self {
        let start: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let mut control_plane = ControlPlane::new(start, 1, Timing::default());
        world::create_all(&mut control_plane, objects()).unwrap();
        let sandbox = Sandbox::of(control_plane);
        sleep(Duration::from_secs(30)).await;
        let since = sandbox.with(|world| world.cluster.store.revision());
        let mut client = Self { sandbox, since, uids: BTreeMap::new() };
        for path in ["configmaps/settings", "pods/on-a"] {
            client.see(Method::GET, path).await;
        }
        client
    }

    /// Schedules a fault for now.
    async fn schedule(&self, line: &str) -> String {
        self.sandbox.with(|world| {
            let faults = world.parse_faults(&format!("at 0s {line}"));
            world.cluster.faults.extend(faults.unwrap());
        });
        self.sandbox.wake();
        sleep(Duration::from_millis(1)).await;
        let failures = self.sandbox.with(ControlPlane::take_failed_faults);
        failures.first().map_or("so be it".into(), |failure| failure.reason.clone())
    }

    /// Sends a request, and returns a short form of the answer.
    async fn see(&mut self, method: Method, path: &str) -> String {
        let place = match path.split('/').next().unwrap().split('?').next().unwrap() {
            "nodes" => format!("/api/v1/{path}"),
            "widgets" => format!("/apis/example.com/v1/namespaces/shop/{path}"),
            "replicasets" => format!("/apis/apps/v1/namespaces/shop/{path}"),
            _ => format!("/api/v1/namespaces/shop/{path}"),
        };
        let (body, media) = match method {
            Method::PATCH => {
                (json!({"metadata": {"annotations": {"a": "b"}}}), "application/merge-patch+json")
            }
            Method::POST => (json!({"metadata": {"name": "new"}}), "application/json"),
            _ => (Value::Null, "application/json"),
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder().method(&method).uri(place).header("content-type", media);
        let request = request.body(Full::<Bytes>::from(body)).unwrap();
        let answer = self.sandbox.clone().oneshot(request).await.unwrap();
        let date = answer.headers().get(header::DATE).map(|date| date.to_str().unwrap().to_owned());
        let date = date.unwrap_or_default();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let answers: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
        match answers.as_slice() {
            [] => "nothing".into(),
            [event, ..] if path.contains("watch=1") => format!(
                "{} {}{}",
                event["type"].as_str().unwrap(),
                event["object"]["code"].as_u64().map_or(String::new(), |code| code.to_string()),
                object::name(&event["object"]),
            ),
            [answer, ..] => self.describe(&method, path, answer, &date),
        }
    }

    fn describe(&mut self, method: &Method, path: &str, answer: &Value, date: &str) -> String {
        if let Some(items) = answer["items"].as_array() {
            return format!("{} of them", items.len());
        }
        if answer["kind"] == "Status" && answer["status"] == "Failure" {
            return match answer["code"].as_u64().unwrap() {
                404 => "not there".into(),
                code => format!("{code} {}", object::text(answer, &["message"])),
            };
        }
        let mut parts: Vec<String> = vec![];
        let phase = object::text(answer, &["status", "phase"]);
        parts.extend((!phase.is_empty()).then(|| phase.to_owned()));
        if answer["kind"] == "Node" {
            let ready = object::condition(answer, "Ready");
            parts.push(format!("ready: {}", object::text(ready, &["status"])));
        } else {
            for part in ["data", "metadata/annotations", "spec/replicas"] {
                let value = answer.pointer(&format!("/{part}")).unwrap_or(&Value::Null);
                parts.extend((!value.is_null()).then(|| value.to_string()));
            }
        }
        if object::is_deleting(answer) {
            parts.push("terminating".into());
        }
        if *method == Method::GET && path == "configmaps/settings" {
            let uid = object::uid(answer).to_owned();
            let first = self.uids.entry(path.to_owned()).or_insert_with(|| uid.clone());
            parts.push(if *first == uid { "the same".into() } else { "another".into() });
        }
        if *method == Method::POST {
            let made = object::text(answer, &["metadata", "creationTimestamp"]);
            parts.push(format!("made {made}, Date {date}"));
        }
        if parts.is_empty() { "there".into() } else { parts.join(", ") }
    }

    /// Runs one step.
    async fn step(&mut self, step: &str) -> String {
        let words: Vec<&str> = step.split_whitespace().collect();
        match words.as_slice() {
            ["after", seconds, rest @ ..] => {
                sleep(Duration::from_secs(seconds.trim_end_matches('s').parse().unwrap())).await;
                Box::pin(self.step(&rest.join(" "))).await
            }
            [method @ ("GET" | "DELETE" | "PATCH" | "POST"), path] => {
                let path = path.replace("SINCE", &self.since.to_string());
                self.see(method.parse().unwrap(), &path).await
            }
            _ => self.schedule(step).await,
        }
    }
}

/// Runs a list of steps: each is an action, and after `->` its result.
async fn check(part: &str) {
    let mut client = Client::new().await;
    let mut seen = vec![];
    for line in part.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let step = line.split(" -> ").next().unwrap();
        seen.push(format!("{step} -> {}", client.step(step).await));
    }
    let expected: Vec<&str> = part.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(seen.join("\n"), expected.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn silent_node_keeps_its_pods_terminating_until_it_is_repaired() {
    check(
        "
        node node-a silent -> so be it
        after 60s GET nodes/node-a -> ready: Unknown
        DELETE pods/plain -> Running, terminating
        after 60s GET pods/plain -> Running, terminating
        DELETE pods/on-b -> Running, terminating
        after 60s GET pods/on-b -> not there
        node node-a repaired -> so be it
        after 30s GET nodes/node-a -> ready: True
        GET pods/plain -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn node_that_was_switched_off_comes_back_without_its_mounts() {
    check(
        "
        node node-a off -> so be it
        DELETE pods/on-a -> Running, terminating
        after 60s GET nodes/node-a -> ready: Unknown
        GET pods/on-a -> Running, terminating
        nfs nfs.example dead -> so be it
        node node-a repaired -> so be it
        after 30s GET nodes/node-a -> ready: True
        GET pods/on-a -> not there
        GET pods/plain -> Running
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn dead_nfs_server_holds_the_pod_that_mounts_it_until_it_is_repaired() {
    check(
        "
        nfs nfs.example dead -> so be it
        DELETE pods/on-a -> Running, terminating
        after 200s GET pods/on-a -> Failed, terminating
        nfs nfs.example repaired -> so be it
        after 1s GET pods/on-a -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn busy_node_holds_its_pods_with_volumes_and_no_others() {
    check(
        "
        node node-a busy -> so be it
        DELETE pods/on-a -> Running, terminating
        DELETE pods/on-b -> Running, terminating
        DELETE pods/plain -> Running, terminating
        after 60s GET pods/on-a -> Failed, terminating
        GET pods/on-b -> not there
        GET pods/plain -> not there
        node node-a repaired -> so be it
        after 130s GET pods/on-a -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn unregistered_driver_holds_the_pod_that_mounts_its_volume_on_that_node() {
    check(
        "
        driver csi.unwind.test unregistered node-c -> so be it
        DELETE pods/claimed -> Running, terminating
        DELETE pods/on-a -> Running, terminating
        after 60s GET pods/claimed -> Failed, terminating
        GET pods/on-a -> not there
        driver csi.unwind.test registered node-c -> so be it
        after 130s GET pods/claimed -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn driver_that_is_unregistered_elsewhere_holds_nothing() {
    check(
        "
        driver csi.unwind.test unregistered node-a -> so be it
        driver other.unwind.test unregistered node-c -> so be it
        DELETE pods/claimed -> Running, terminating
        after 60s GET pods/claimed -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn node_stale_nfs() {
    check(
        "
        node node-a stale-nfs -> so be it
        node node-c stale-nfs -> so be it
        DELETE pods/on-a -> Running, terminating
        DELETE pods/on-b -> Running, terminating
        DELETE pods/claimed -> Running, terminating
        after 60s GET pods/on-a -> Failed, terminating
        GET pods/on-b -> not there
        GET pods/claimed -> not there
        node node-a repaired -> so be it
        after 130s GET pods/on-a -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_node_ends_pods_late_and_stops_reporting_when_it_is_too_slow() {
    check(
        "
        node node-a slow 20s -> so be it
        DELETE pods/on-b -> Running, terminating
        DELETE pods/plain -> Running, terminating
        after 15s GET pods/plain -> Running, terminating
        GET pods/on-b -> not there
        after 60s GET pods/plain -> not there
        GET nodes/node-a -> ready: True
        node node-a slow 200s -> so be it
        after 120s GET nodes/node-a -> ready: Unknown
        node node-a repaired -> so be it
        after 30s GET nodes/node-a -> ready: True
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn failing_node_ends_no_pod_and_does_not_report_until_it_is_repaired() {
    check(
        "
        node node-a failing -> so be it
        DELETE pods/on-b -> Running, terminating
        DELETE pods/plain -> Running, terminating
        after 120s GET pods/plain -> Running, terminating
        GET pods/on-b -> not there
        GET nodes/node-a -> ready: Unknown
        GET nodes/node-b -> ready: True
        node node-a repaired -> so be it
        after 30s GET nodes/node-a -> ready: True
        GET pods/plain -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn stale_nfs_server_holds_the_pods_that_mount_it_until_it_is_repaired() {
    check(
        "
        nfs nfs.example stale -> so be it
        DELETE pods/on-a -> Running, terminating
        DELETE pods/on-b -> Running, terminating
        DELETE pods/claimed -> Running, terminating
        DELETE pods/plain -> Running, terminating
        after 60s GET pods/on-a -> Failed, terminating
        GET pods/on-b -> Failed, terminating
        GET pods/claimed -> not there
        GET pods/plain -> not there
        nfs nfs.example repaired -> so be it
        after 130s GET pods/on-a -> not there
        GET pods/on-b -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn nfs_of_another_server() {
    check(
        "
        nfs other.example stale -> so be it
        DELETE pods/on-a -> Running, terminating
        after 60s GET pods/on-a -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn busy_volume_holds_its_pod_until_it_is_free() {
    check(
        "
        volume disk busy -> so be it
        DELETE pods/claimed -> Running, terminating
        DELETE pods/on-a -> Running, terminating
        after 60s GET pods/claimed -> Failed, terminating
        GET pods/on-a -> not there
        volume disk free -> so be it
        after 130s GET pods/claimed -> not there
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn object_that_is_recreated_comes_back_with_another_uid() {
    check(
        "
        recreate configmaps shop/settings -> so be it
        GET configmaps/settings -> {\"color\":\"red\"}, the same
        DELETE configmaps/settings -> there
        after 60s GET configmaps/settings -> {\"color\":\"red\"}, another
        DELETE configmaps/held -> terminating
        after 60s GET configmaps/held -> terminating
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn controller_off_and_on() {
    check(
        "
        controller replicaset-controller off -> so be it
        DELETE pods?labelSelector=app%3Dweb -> 1 of them
        after 60s GET pods?labelSelector=app%3Dweb -> 0 of them
        controller replicaset-controller on -> so be it
        after 1s GET pods?labelSelector=app%3Dweb -> 1 of them
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_controller_replaces_a_deleted_pod_late() {
    check(
        "
        controller replicaset-controller slow 100s -> so be it
        DELETE pods?labelSelector=app%3Dweb -> 1 of them
        after 90s GET pods?labelSelector=app%3Dweb -> 0 of them
        after 20s GET pods?labelSelector=app%3Dweb -> 1 of them
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn failing_controller_replaces_a_deleted_pod_once_it_is_on_again() {
    check(
        "
        controller replicaset-controller failing -> so be it
        DELETE pods?labelSelector=app%3Dweb -> 1 of them
        after 90s GET pods?labelSelector=app%3Dweb -> 0 of them
        controller replicaset-controller on -> so be it
        after 100s GET pods?labelSelector=app%3Dweb -> 1 of them
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn moved_clock_changes_timestamps_and_nothing_else() {
    check(
        "
        POST configmaps -> made 2026-11-21T08:00:30Z, Date Sat, 21 Nov 2026 08:00:30 GMT
        DELETE configmaps/new -> there
        clock -5m -> so be it
        POST configmaps -> made 2026-11-21T07:55:30Z, Date Sat, 21 Nov 2026 07:55:30 GMT
        DELETE configmaps/new -> there
        DELETE pods/plain -> Running, terminating
        after 10s GET pods/plain -> not there
        clock 1h -> so be it
        POST configmaps -> made 2026-11-21T08:55:40Z, Date Sat, 21 Nov 2026 08:55:40 GMT
        GET nodes/node-a -> ready: True
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn compacted_revisions_are_refused_with_410() {
    check(
        "
        DELETE configmaps/settings -> there
        GET configmaps?watch=1&timeoutSeconds=1&resourceVersion=SINCE -> DELETED settings
        compact -> so be it
        GET configmaps?watch=1&timeoutSeconds=1&resourceVersion=SINCE -> ERROR 410
        GET configmaps?resourceVersion=SINCE&resourceVersionMatch=Exact -> 410 The resourceVersion for the provided list is too old.
        GET configmaps -> 2 of them
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn webhook_answers_as_scripted_and_fails_without_a_script() {
    check(
        "
        PATCH secrets/key -> 500 Internal error occurred: failed calling webhook \"gate.example.com\": failed to call webhook: Post \"https://gate.example.com/?timeout=10s\": dial tcp: lookup gate.example.com: no such host
        webhook gate.example.com allow -> so be it
        PATCH secrets/key -> {\"a\":\"b\"}
        webhook gate.example.com deny 403 not on a Friday -> so be it
        PATCH secrets/key -> 403 admission webhook \"gate.example.com\" denied the request: not on a Friday
        webhook gate.example.com fail context deadline exceeded -> so be it
        PATCH secrets/key -> 500 Internal error occurred: failed calling webhook \"gate.example.com\": failed to call webhook: Post \"https://gate.example.com/?timeout=10s\": context deadline exceeded
        webhook gate.example.com patch [{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"c\": \"d\"}}] -> so be it
        PATCH secrets/key -> {\"c\":\"d\"}
        webhook gate.example.com unscripted -> so be it
        PATCH secrets/key -> 500 Internal error occurred: failed calling webhook \"gate.example.com\": failed to call webhook: Post \"https://gate.example.com/?timeout=10s\": dial tcp: lookup gate.example.com: no such host
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn scheduled_requests_of_other_actors() {
    check(
        "
        delete configmaps shop/held -> so be it
        GET configmaps/held -> terminating
        unfinalize configmaps shop/held example.com/x -> so be it
        GET configmaps/held -> not there
        change configmaps shop/settings {\"data\": {\"color\": \"blue\"}} -> so be it
        GET configmaps/settings -> {\"color\":\"blue\"}, the same
        delete configmaps shop/nothing -> configmaps \"nothing\" not found
        ",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn corrupt_entry_fails_its_reads_until_it_is_erased() {
    check(
        "
        GET widgets/one -> there
        corrupt widgets.example.com shop/one -> so be it
        GET widgets/one -> 500 invalid character 'g' looking for beginning of value
        GET widgets -> 500 invalid character 'g' looking for beginning of value
        erase widgets.example.com shop/one -> so be it
        GET widgets/one -> not there
        GET widgets -> 0 of them
        ",
    )
    .await;
}
