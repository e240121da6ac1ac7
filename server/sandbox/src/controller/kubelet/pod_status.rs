//! A kubelet's reports about a Pod, and the annotations that control it:
//!
//! - `pod-delete.stage.kwok.x-k8s.io/delay`: the time that its containers take to stop (`2s`, `1500ms`); 1 s without
//!   it;
//! - `unwind.test/completes`: its containers succeed by themselves, `true` or after this time;
//!   `unwind.test/completes-after` also gives the time;
//! - `unwind.test/pre-stop`: the course of its preStop hooks: see [`hook`](super::hook);
//! - `unwind.test/hold`: the failure at its end, until the annotation is removed: with `silent` nothing happens at all; with `kill` its
//!   containers cannot be stopped, and with `unkillable` the runtime does not answer; with `network` its network cannot be taken down;
//!   with `unmount` its volumes cannot be unmounted; with `cgroup` its cgroup cannot be removed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::shutdown;
use crate::controller::client::{Client, EventType, fingerprint};
use crate::controller::read::{
    annotation, condition, ended, is_true, list, name, namespace, set, text, uid, written,
};
use crate::controller::resource::PODS;
use crate::controller::timing::CONTAINER_STOP;
use crate::status::Status;

const DELAY: &str = "pod-delete.stage.kwok.x-k8s.io/delay";
const COMPLETES: &str = "unwind.test/completes";
const COMPLETES_AFTER: &str = "unwind.test/completes-after";
const HOLD: &str = "unwind.test/hold";
/// The time that self-ending containers run, unless an annotation gives another.
const COMPLETION: Duration = Duration::from_millis(500);
/// The time that containers get after their Pod is gone from the API: one second in `SyncTerminatingRuntimePod`.
pub(super) const FORCED_STOP: Duration = Duration::from_secs(1);
/// The exit code of a container that SIGTERM ended.
pub(super) const EXIT_CODE: i64 = 143;
/// The runtime of all containers, before their IDs. The words of its failures are those of containerd.
const RUNTIME: &str = "containerd://";
/// The exit code of a container that the runtime finds ended after the node started again: `unknownExitCode`, with reason
/// `Unknown`, in internal/cri/server/restart.go of containerd.
pub(super) const LOST: i64 = 255;

/// How a Pod ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The exit code of its containers.
    pub(super) code: i64,
    /// The time at which they ended, by the wall clock.
    pub(super) at: Timestamp,
    /// The exit code of its sidecars.
    pub(super) sidecars: i64,
    /// The shutdown of its node ended it.
    pub(super) by_shutdown: bool,
}

pub(super) fn hold(pod: &Value) -> Option<&str> {
    annotation(pod, HOLD)
}

/// Whether an init container is a sidecar: `IsRestartableInitContainer` in pkg/kubelet/types/pod_update.go.
pub(super) fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

pub(super) fn stop_time(pod: &Value) -> Duration {
    annotation(pod, DELAY).and_then(duration).unwrap_or(CONTAINER_STOP)
}

/// The time after which its containers end by themselves, if they do.
pub(super) fn completion(pod: &Value) -> Option<Duration> {
    let said = annotation(pod, COMPLETES).filter(|it| *it != "false")?;
    Some(
        annotation(pod, COMPLETES_AFTER)
            .and_then(duration)
            .or_else(|| duration(said))
            .unwrap_or(COMPLETION),
    )
}

/// `2s`, `1500ms`, `1m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    text.parse::<SignedDuration>().ok()?.try_into().ok()
}

/// Reports that a Pod runs, whose containers were started again this many times after their node had lost its power.
pub(super) fn run(
    pod: &Value,
    address: &str,
    started: Timestamp,
    restarts: u32,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let now = client.now();
    let mut changed = pod.clone();
    let ready = |changed: &mut Value, kind: &str| conclude(changed, kind, "True", None, now);
    // The scheduler sets `PodScheduled`, and it is not involved if the Pod names its node.
    for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"] {
        ready(&mut changed, kind);
    }
    let running = |it: &Value| {
        json!({
            "name": text(it, "/name"),
            "image": text(it, "/image"),
            "imageID": "",
            "containerID": format!("{RUNTIME}{}", new_id(pod, text(it, "/name"), restarts)),
            "ready": true,
            "started": true,
            "restartCount": restarts,
            "lastState": if restarts == 0 { json!({}) } else { json!({"terminated": {"exitCode": LOST, "reason": "Unknown"}}) },
            "state": {"running": {"startedAt": written(now)}},
        })
    };
    // An init container that is no sidecar has done its work before the others run.
    let initial = |it: &Value| {
        let mut status = running(it);
        if !is_sidecar(it) {
            status["started"] = json!(false);
            status["state"] = ended_state(None, 0, now);
        }
        status
    };
    set(&mut changed, &["status", "phase"], json!("Running"));
    let containers = list(pod, "/spec/containers").iter().map(running).collect();
    set(&mut changed, &["status", "containerStatuses"], Value::Array(containers));
    let first = list(pod, "/spec/initContainers");
    if !first.is_empty() {
        let first = first.iter().map(initial).collect();
        set(&mut changed, &["status", "initContainerStatuses"], Value::Array(first));
    }
    set(&mut changed, &["status", "hostIP"], json!("192.0.2.1"));
    set(&mut changed, &["status", "podIP"], json!(address));
    set(&mut changed, &["status", "podIPs"], json!([{"ip": address}]));
    set(&mut changed, &["status", "startTime"], written(started));
    client.update_status(PODS, &changed)?;
    Ok(())
}

/// Reports again that a Pod runs if the node lifecycle controller has marked it as not ready meanwhile.
pub(super) fn keep_running(
    pod: &Value,
    address: &str,
    started: Timestamp,
    restarts: u32,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    if is_true(pod, "Ready") || ended(pod) {
        return Ok(());
    }
    run(pod, address, started, restarts, client)
}

/// Reports that the end of containers in this list of a Pod's spec begins.
pub(super) fn announce<'a>(
    pod: &Value,
    list: &str,
    containers: impl IntoIterator<Item = &'a Value>,
    client: &mut Client<'_>,
) {
    for container in containers {
        let container = text(container, "/name");
        let field = format!("spec.{list}{{{container}}}");
        let message = format!("Stopping container {container}");
        client.event_of(pod, &field, EventType::Normal, "Killing", &message);
    }
}

/// Reports that a Pod's containers have ended. A Pod that has ended keeps its status.
pub(super) fn terminate(
    pod: &Value,
    end: End,
    address: &str,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    if ended(pod) {
        return Ok(());
    }
    let now = client.now();
    let mut changed = pod.clone();
    let well = end.code == 0 && !end.by_shutdown;
    let phase = if well { "Succeeded" } else { "Failed" };
    let reason = if well { "PodCompleted" } else { "PodFailed" };
    // The sandbox of a Pod that ended by itself stays until the Pod is deleted.
    let kinds = ["Ready", "ContainersReady", "PodReadyToStartContainers"];
    for kind in &kinds[..if well { 2 } else { 3 }] {
        conclude(&mut changed, kind, "False", Some(reason), now);
    }
    let containers = list(pod, "/spec/containers").iter();
    let containers = containers.map(|it| {
        let status = status_of(pod, "/status/containerStatuses", it);
        ended_status(it, status, end.code, end.at)
    });
    let containers = Value::Array(containers.collect());
    let first = list(pod, "/spec/initContainers").iter();
    let first: Vec<Value> = first
        .filter_map(|it| {
            let status = status_of(pod, "/status/initContainerStatuses", it)?;
            Some(ended_status(it, Some(status), end.sidecars, now))
        })
        .collect();
    set(&mut changed, &["status", "phase"], json!(phase));
    set(&mut changed, &["status", "containerStatuses"], containers);
    if !first.is_empty() {
        set(&mut changed, &["status", "initContainerStatuses"], Value::Array(first));
    }
    if text(pod, "/status/podIP").is_empty() && !address.is_empty() {
        set(&mut changed, &["status", "podIP"], json!(address));
    }
    if end.by_shutdown {
        shutdown::mark(&mut changed, now);
    }
    client.update_status(PODS, &changed)?;
    Ok(())
}

/// The status of a container in a list of them.
fn status_of<'a>(pod: &'a Value, statuses: &str, container: &Value) -> Option<&'a Value> {
    list(pod, statuses).iter().find(|status| text(status, "/name") == text(container, "/name"))
}

/// The status of a container that has ended: the one that it has, if that says so.
fn ended_status(container: &Value, status: Option<&Value>, code: i64, at: Timestamp) -> Value {
    if let Some(ended) = status.filter(|it| it.pointer("/state/terminated").is_some()) {
        return ended.clone();
    }
    json!({
        "name": text(container, "/name"),
        "image": text(container, "/image"),
        "imageID": "",
        "ready": false,
        "started": false,
        "restartCount": 0,
        "lastState": {},
        "state": ended_state(status, code, at),
    })
}

fn ended_state(status: Option<&Value>, code: i64, at: Timestamp) -> Value {
    let started = status.and_then(|it| it.pointer("/state/running/startedAt")).cloned();
    json!({"terminated": {
        "exitCode": code,
        "reason": match code {
            0 => "Completed",
            LOST => "Unknown",
            _ => "Error",
        },
        "startedAt": started.unwrap_or_else(|| written(at)),
        "finishedAt": written(at),
    }})
}

/// Reports that the containers of a Pod have ended while its sandbox is left, so that its phase stays.
pub(super) fn end_containers(pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    let now = client.now();
    let mut changed = pod.clone();
    let mut of_containers = list(pod, "/status/containerStatuses").to_vec();
    let mut of_sidecars = list(pod, "/status/initContainerStatuses").to_vec();
    for status in of_containers.iter_mut().chain(&mut of_sidecars) {
        if status.pointer("/state/terminated").is_some() {
            continue;
        }
        let started = status.pointer("/state/running/startedAt").cloned();
        let id = text(status, "/containerID").to_owned();
        status["ready"] = json!(false);
        status["started"] = json!(false);
        status["state"] = json!({"terminated": {
            "exitCode": EXIT_CODE,
            "reason": "Error",
            "startedAt": started.unwrap_or_else(|| written(now)),
            "finishedAt": written(now),
            "containerID": id,
        }});
    }
    let names: Vec<&str> =
        list(pod, "/spec/containers").iter().map(|it| text(it, "/name")).collect();
    let message = format!("containers with unready status: [{}]", names.join(" "));
    for kind in ["Ready", "ContainersReady"] {
        conclude(&mut changed, kind, "False", Some("ContainersNotReady"), now);
        let conditions = changed["status"]["conditions"].as_array_mut().into_iter().flatten();
        for condition in conditions.filter(|it| it["type"] == kind) {
            condition["message"] = json!(message);
        }
    }
    set(&mut changed, &["status", "containerStatuses"], Value::Array(of_containers));
    if !of_sidecars.is_empty() {
        set(&mut changed, &["status", "initContainerStatuses"], Value::Array(of_sidecars));
    }
    client.update_status(PODS, &changed)?;
    Ok(())
}

/// Reports that a Pod's sandbox has been stopped, although its containers run.
pub(super) fn lose_sandbox(pod: &Value, client: &mut Client<'_>) -> Result<(), Status> {
    if !is_true(pod, "PodReadyToStartContainers") {
        return Ok(());
    }
    let mut changed = pod.clone();
    conclude(&mut changed, "PodReadyToStartContainers", "False", None, client.now());
    client.update_status(PODS, &changed)?;
    Ok(())
}

/// The ID of a container in the runtime.
pub(super) fn container_id(pod: &Value, container: &str) -> String {
    let initial = list(pod, "/status/initContainerStatuses").iter();
    let mut statuses = list(pod, "/status/containerStatuses").iter().chain(initial);
    let id = statuses.find(|it| text(it, "/name") == container).map(|it| text(it, "/containerID"));
    match id.and_then(|id| id.strip_prefix(RUNTIME)) {
        Some(id) => id.to_owned(),
        None => new_id(pod, container, 0),
    }
}

/// The ID of a Pod's sandbox in the runtime.
pub(super) fn sandbox_id(pod: &Value) -> String {
    new_id(pod, "", 0)
}

/// An ID of 64 digits, as that of a real runtime. These determine it.
fn new_id(pod: &Value, container: &str, restarts: u32) -> String {
    let seed = format!("{}/{container}/{restarts}", uid(pod));
    (0..4).map(|part| format!("{:016x}", fingerprint(&format!("{part}{seed}")))).collect()
}

/// The names of a container in an entry of the log.
pub(super) fn in_log(pod: &Value, container: &Value) -> String {
    let container = text(container, "/name");
    format!(
        "pod=\"{}/{}\" podUID={:?} containerName={container:?} containerID=\"{RUNTIME}{}\"",
        namespace(pod),
        name(pod),
        uid(pod),
        container_id(pod, container),
    )
}

/// Sets a Pod's condition, which has no message and often no reason.
fn conclude(pod: &mut Value, kind: &str, status: &str, reason: Option<&str>, now: Timestamp) {
    let old = condition(pod, kind);
    if old["status"] == status {
        return;
    }
    let mut new = json!({"type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": written(now)});
    if let Some(reason) = reason {
        new["reason"] = json!(reason);
    }
    let mut all = list(pod, "/status/conditions").to_vec();
    all.retain(|it| it["type"] != kind);
    all.push(new);
    set(pod, &["status", "conditions"], Value::Array(all));
}
