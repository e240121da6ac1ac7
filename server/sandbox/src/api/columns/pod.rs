//! The columns of Pods (`printPod`).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{AGE, Column, NAME, duration, int, length, list, text, text_or, wide};
use crate::{clock, object};

pub(super) fn columns() -> Vec<Column> {
    vec![
        NAME,
        text("Ready", |pod, _| {
            let summary = Summary::of(pod);
            json!(format!("{}/{}", summary.ready, summary.containers))
        }),
        text("Status", |pod, _| json!(Summary::of(pod).status)),
        text("Restarts", |pod, now| json!(Summary::of(pod).restarts.describe(now))),
        AGE,
        wide("IP", |pod, _| {
            let status = &pod["status"];
            let own = &status["podIP"];
            text_or(if own.is_null() { &status["podIPs"][0]["ip"] } else { own }, "<none>")
        }),
        wide("Node", |pod, _| text_or(&pod["spec"]["nodeName"], "<none>")),
        wide("Nominated Node", |pod, _| text_or(&pod["status"]["nominatedNodeName"], "<none>")),
        wide("Readiness Gates", |pod, _| json!(gates(pod))),
    ]
}

/// The cells that sum up the containers of a Pod.
struct Summary {
    ready: usize,
    containers: usize,
    status: String,
    restarts: Restarts,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let first = list(&pod["spec"]["initContainers"]);
        let sidecars: Vec<&str> = first
            .iter()
            .filter(|one| one["restartPolicy"] == "Always")
            .map(|one| object::text(one, &["name"]))
            .collect();
        let mut summary = Self {
            ready: 0,
            containers: length(&pod["spec"]["containers"]) + sidecars.len(),
            status: reason(pod).to_owned(),
            restarts: Restarts::default(),
        };
        let mut of_sidecars = Restarts::default();
        let mut begins = false;
        for (at, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
            summary.restarts.add(container);
            let sidecar = sidecars.contains(&object::text(container, &["name"]));
            if sidecar {
                of_sidecars.add(container);
            }
            let ended = &container["state"]["terminated"];
            if !ended.is_null() && int(&ended["exitCode"]) == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                summary.ready += usize::from(container["ready"] == true);
                continue;
            }
            let why = match object::text(container, &["state", "waiting", "reason"]) {
                _ if !ended.is_null() => end(ended),
                "" | "PodInitializing" => format!("{at}/{}", first.len()),
                waiting => waiting.to_owned(),
            };
            summary.status = format!("Init:{why}");
            begins = true;
            break;
        }
        if !begins || object::condition(pod, "Initialized")["status"] == "True" {
            // Restarts of the other init containers do not count once initialization is complete.
            summary.restarts = of_sidecars;
            summary.run(pod);
        }
        if object::is_deleting(pod) {
            match (object::text(pod, &["status", "reason"]), phase(pod)) {
                ("NodeLost", _) => summary.status = "Unknown".into(),
                (_, "Failed" | "Succeeded") => {}
                _ => summary.status = "Terminating".into(),
            }
        }
        summary
    }

    /// The status of the first container takes precedence.
    fn run(&mut self, pod: &Value) {
        let (mut runs, mut failure) = (false, None);
        for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
            self.restarts.add(container);
            let state = &container["state"];
            match object::text(state, &["waiting", "reason"]) {
                "" if !state["terminated"].is_null() => {
                    self.status = end(&state["terminated"]);
                    if int(&state["terminated"]["exitCode"]) != 0 {
                        failure = Some(self.status.clone());
                    }
                }
                "" if container["ready"] == true && !state["running"].is_null() => {
                    runs = true;
                    self.ready += 1;
                }
                "" => {}
                waiting => waiting.clone_into(&mut self.status),
            }
        }
        if self.status != "Completed" {
            return;
        }
        if runs && object::condition(pod, "Ready")["status"] == "True" {
            self.status = "Running".into();
        } else if let Some(failure) = failure {
            self.status = failure;
        } else if runs {
            self.status = "NotReady".into();
        }
    }
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(int(&container["restartCount"]));
        let ended = clock::read(&container["lastState"]["terminated"]["finishedAt"]);
        self.last = self.last.max(ended);
    }

    fn describe(&self, now: Timestamp) -> String {
        match self.last {
            Some(last) if self.count != 0 => {
                format!("{} ({} ago)", self.count, duration::between(last, now))
            }
            _ => self.count.to_string(),
        }
    }
}

fn phase(pod: &Value) -> &str {
    object::text(pod, &["status", "phase"])
}

/// The reason or phase of the Pod as a whole.
fn reason(pod: &Value) -> &str {
    match object::text(pod, &["status", "reason"]) {
        _ if object::condition(pod, "PodScheduled")["reason"] == "SchedulingGated" => {
            "SchedulingGated"
        }
        "" => phase(pod),
        reason => reason,
    }
}

/// The reason why a container ended.
fn end(terminated: &Value) -> String {
    match (object::text(terminated, &["reason"]), int(&terminated["signal"])) {
        ("", 0) => format!("ExitCode:{}", int(&terminated["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// The number of readiness gates whose condition is true.
fn gates(pod: &Value) -> String {
    let gates = list(&pod["spec"]["readinessGates"]);
    let holds = |gate: &&Value| {
        object::condition(pod, object::text(gate, &["conditionType"]))["status"] == "True"
    };
    let open = gates.iter().filter(holds).count();
    if gates.is_empty() { "<none>".into() } else { format!("{open}/{}", gates.len()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{NOW, check};

    #[test]
    fn pod_shows_the_state_of_its_containers() {
        let columns = ["Ready", "Status", "Restarts"];
        let container = |ready: bool, state: Value| json!({"name": "c", "ready": ready, "restartCount": 0, "state": state});
        let pod = |phase: &str, containers: Vec<Value>| {
            let spec = vec![json!({"name": "c"}); containers.len()];
            json!({"spec": {"containers": spec}, "status": {"phase": phase, "containerStatuses": containers}})
        };
        let runs = || container(true, json!({"running": {}}));
        let ended = |code: i64, reason: &str| {
            container(false, json!({"terminated": {"exitCode": code, "reason": reason}}))
        };
        for (pod, expected) in [
            (
                json!({"spec": {"containers": [{}]}, "status": {"phase": "Pending"}}),
                json!(["0/1", "Pending", "0"]),
            ),
            (pod("Running", vec![runs(), runs()]), json!(["2/2", "Running", "0"])),
            (
                pod(
                    "Running",
                    vec![
                        runs(),
                        container(false, json!({"waiting": {"reason": "CrashLoopBackOff"}})),
                    ],
                ),
                json!(["1/2", "CrashLoopBackOff", "0"]),
            ),
            (pod("Succeeded", vec![ended(0, "Completed")]), json!(["0/1", "Completed", "0"])),
            (pod("Failed", vec![ended(1, "Error")]), json!(["0/1", "Error", "0"])),
            (pod("Failed", vec![ended(2, "")]), json!(["0/1", "ExitCode:2", "0"])),
            (
                pod("Running", vec![ended(0, "Completed"), ended(1, "Error")]),
                json!(["0/2", "Error", "0"]),
            ),
            (pod("Running", vec![ended(0, "Completed"), runs()]), json!(["1/2", "NotReady", "0"])),
            (
                json!({"status": {"phase": "Failed", "reason": "Evicted"}}),
                json!(["0/0", "Evicted", "0"]),
            ),
            (
                json!({"status": {"phase": "Pending", "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"},
                ]}}),
                json!(["0/0", "SchedulingGated", "0"]),
            ),
        ] {
            check("", "pods", &columns, &pod, &expected);
        }
        for (phase, reason, expected) in [
            ("Running", "", "Terminating"),
            ("Running", "NodeLost", "Unknown"),
            ("Succeeded", "", "Succeeded"),
        ] {
            let status = json!({"phase": phase, "reason": reason});
            let pod = json!({"metadata": {"deletionTimestamp": NOW}, "status": status});
            check("", "pods", &["Status"], &pod, &json!([expected]));
        }
        let mut pod = pod("Running", vec![runs()]);
        pod["status"]["containerStatuses"][0]["restartCount"] = json!(3);
        check("", "pods", &["Restarts"], &pod, &json!(["3"]));
        pod["status"]["containerStatuses"][0]["lastState"] =
            json!({"terminated": {"finishedAt": "2026-01-01T00:55:00Z"}});
        check("", "pods", &["Restarts"], &pod, &json!(["3 (5m ago)"]));
    }

    #[test]
    fn pod_that_starts_shows_its_init_containers() {
        let terminated = |code: i64, reason: &str, signal: i64| json!({"terminated": {"exitCode": code, "reason": reason, "signal": signal}});
        for (statuses, expected) in [
            (vec![json!({"waiting": {"reason": "PodInitializing"}})], "Init:0/2"),
            (vec![json!({"waiting": {"reason": "ErrImagePull"}})], "Init:ErrImagePull"),
            (vec![terminated(0, "Completed", 0), json!({"running": {}})], "Init:1/2"),
            (vec![terminated(1, "Error", 0)], "Init:Error"),
            (vec![terminated(1, "", 9)], "Init:Signal:9"),
            (vec![terminated(1, "", 0)], "Init:ExitCode:1"),
            (vec![terminated(0, "", 0), terminated(0, "", 0)], "Pending"),
        ] {
            let statuses: Vec<_> = statuses
                .into_iter()
                .map(|state| json!({"name": "i", "restartCount": 0, "state": state}))
                .collect();
            let pod = json!({
                "spec": {"initContainers": [{"name": "i"}, {"name": "j"}]},
                "status": {"phase": "Pending", "initContainerStatuses": statuses},
            });
            check("", "pods", &["Status"], &pod, &json!([expected]));
        }
        // A running sidecar counts as a container, and its restarts count. Those of the completed init container do
        // not.
        let pod = json!({
            "spec": {
                "containers": [{"name": "c"}],
                "initContainers": [{"name": "once"}, {"name": "beside", "restartPolicy": "Always"}],
            },
            "status": {
                "phase": "Running",
                "initContainerStatuses": [
                    {"name": "once", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
                    {"name": "beside", "restartCount": 2, "ready": true, "started": true, "state": {"running": {}}},
                ],
                "containerStatuses": [{"name": "c", "restartCount": 1, "ready": true, "state": {"running": {}}}],
            },
        });
        check("", "pods", &["Ready", "Status", "Restarts"], &pod, &json!(["2/2", "Running", "3"]));
    }

    #[test]
    fn wide_table_shows_the_node_of_a_pod() {
        let wide = ["IP", "Node", "Nominated Node", "Readiness Gates"];
        let none = "<none>";
        for (pod, expected) in [
            (json!({"status": {"podIP": ""}}), json!([none, none, none, none])),
            (
                json!({
                    "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
                    "status": {
                        "podIPs": [{"ip": "192.0.2.1"}], "nominatedNodeName": "m",
                        "conditions": [{"type": "a", "status": "False"}, {"type": "b", "status": "True"}],
                    },
                }),
                json!(["192.0.2.1", "n", "m", "1/2"]),
            ),
        ] {
            check("", "pods", &wide, &pod, &expected);
        }
    }
}
