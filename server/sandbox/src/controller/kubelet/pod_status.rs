//! A kubelet's reports about a Pod, and the annotations that control it:
//!
//! - `pod-delete.stage.kwok.x-k8s.io/delay`: the time that its containers take to stop (`2s`, `1500ms`); 1 s without
//!   it;
//! - `unwind.test/completes`: its containers succeed by themselves, `true` or after this time;
//!   `unwind.test/completes-after` also gives the time;
//! - `unwind.test/hold`: the failure at its end, until the annotation is removed: with `silent` nothing happens at all,
//!   with `kill` its containers cannot be stopped and an event says so, with `unmount` its volumes cannot be unmounted,
//!   with `cgroup` its cgroup cannot be removed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::client::{Client, EventType};
use crate::controller::read::{annotation, condition, ended, is_true, list, set, text, written};
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
/// The exit code of a container that the runtime finds ended after the node started again: `unknownExitCode`, with reason
/// `Unknown`, in internal/cri/server/restart.go of containerd.
pub(super) const LOST: i64 = 255;

pub(super) fn hold(pod: &Value) -> Option<&str> {
    annotation(pod, HOLD)
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
fn duration(text: &str) -> Option<Duration> {
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
    let containers: Vec<Value> = list(pod, "/spec/containers")
        .iter()
        .map(|it| {
            json!({
                "name": text(it, "/name"),
                "image": text(it, "/image"),
                "imageID": "",
                "containerID": format!("sandbox://{}", text(it, "/name")),
                "ready": true,
                "started": true,
                "restartCount": restarts,
                "lastState": if restarts == 0 { json!({}) } else { json!({"terminated": {"exitCode": LOST, "reason": "Unknown"}}) },
                "state": {"running": {"startedAt": written(now)}},
            })
        })
        .collect();
    set(&mut changed, &["status", "phase"], json!("Running"));
    set(&mut changed, &["status", "containerStatuses"], Value::Array(containers));
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

/// Reports that a Pod's containers have got SIGTERM.
pub(super) fn announce(pod: &Value, client: &mut Client<'_>) {
    for container in list(pod, "/spec/containers") {
        let message = format!("Stopping container {}", text(container, "/name"));
        client.event(pod, EventType::Normal, "Killing", &message);
    }
}

/// Reports that a Pod's containers have ended, all with this code. A Pod that has ended keeps its status.
pub(super) fn terminate(
    pod: &Value,
    code: i64,
    address: &str,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    if ended(pod) {
        return Ok(());
    }
    let now = client.now();
    let mut changed = pod.clone();
    let well = code == 0;
    let phase = if well { "Succeeded" } else { "Failed" };
    let reason = if well { "PodCompleted" } else { "PodFailed" };
    // The sandbox of a Pod that ended by itself stays until the Pod is deleted.
    let kinds = ["Ready", "ContainersReady", "PodReadyToStartContainers"];
    for kind in &kinds[..if well { 2 } else { 3 }] {
        conclude(&mut changed, kind, "False", Some(reason), now);
    }
    let statuses = list(pod, "/status/containerStatuses");
    let containers: Vec<Value> = list(pod, "/spec/containers")
        .iter()
        .map(|it| {
            let status = statuses.iter().find(|status| text(status, "/name") == text(it, "/name"));
            let started = status.and_then(|it| it.pointer("/state/running/startedAt")).cloned();
            json!({
                "name": text(it, "/name"),
                "image": text(it, "/image"),
                "imageID": "",
                "ready": false,
                "started": false,
                "restartCount": 0,
                "lastState": {},
                "state": {"terminated": {
                    "exitCode": code,
                    "reason": match code {
                        0 => "Completed",
                        LOST => "Unknown",
                        _ => "Error",
                    },
                    "startedAt": started.unwrap_or_else(|| written(now)),
                    "finishedAt": written(now),
                }},
            })
        })
        .collect();
    set(&mut changed, &["status", "phase"], json!(phase));
    set(&mut changed, &["status", "containerStatuses"], Value::Array(containers));
    if text(pod, "/status/podIP").is_empty() && !address.is_empty() {
        set(&mut changed, &["status", "podIP"], json!(address));
    }
    client.update_status(PODS, &changed)?;
    Ok(())
}

/// Reports once that a Pod's sandbox cannot be stopped. A condition records that, as in
/// `end2end/cluster/stages/pod-end.yaml`.
pub(super) fn report_failed_kill(
    pod: Option<&Value>,
    client: &mut Client<'_>,
) -> Result<(), Status> {
    let Some(pod) = pod.filter(|it| is_true(it, "PodReadyToStartContainers")) else {
        return Ok(());
    };
    let message = "error killing pod: failed to \"KillPodSandbox\" with KillPodSandboxError: \"rpc error: code = Unknown \
                   desc = failed to destroy network for sandbox: plugin type=\\\"bridge\\\" failed (delete): connection \
                   refused\"";
    client.event(pod, EventType::Warning, "FailedKillPod", message);
    let mut changed = pod.clone();
    conclude(&mut changed, "PodReadyToStartContainers", "False", None, client.now());
    client.update_status(PODS, &changed)?;
    Ok(())
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
