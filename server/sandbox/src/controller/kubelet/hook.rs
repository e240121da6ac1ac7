//! preStop hooks: `executePreStopHook` in pkg/kubelet/kuberuntime/kuberuntime_container.go, and `Run` in
//! pkg/kubelet/lifecycle/handlers.go. The words are recorded in `recordings/kubelet/pre-stop-failed` and `pre-stop-slow`; those of a
//! hook by HTTP are from the source.
//!
//! Nothing runs in the containers of a sandbox. So a command that sleeps takes that time, `false` fails, and every other command
//! and request ends at once, unless the annotation `unwind.test/pre-stop` says otherwise: `hangs`, `fails`, or a time. A hook that
//! only sleeps can neither hang nor fail: the kubelet itself waits.

use std::time::Duration;

use serde_json::{Value, json};

use super::pod_status;
use super::words::header;
use crate::controller::client::{Client, EventType};
use crate::controller::read::{annotation, list, name, namespace, number, text};

const OUTCOME: &str = "unwind.test/pre-stop";

/// The preStop hook of a container.
pub(super) struct Hook<'a> {
    container: &'a Value,
    /// The list of the Pod's spec that has the container.
    list: &'static str,
    handler: Handler<'a>,
    outcome: Outcome,
}

enum Handler<'a> {
    Exec(Vec<&'a str>),
    Http { path: &'a str, address: String, url: String },
    Sleep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ends(Duration),
    Hangs,
    Fails,
}

/// The preStop hooks of a Pod's containers. A handler that the kubelet cannot run, such as one by TCP, is none.
pub(super) fn hooks<'a>(pod: &'a Value, address: &str) -> Vec<Hook<'a>> {
    let containers = list(pod, "/spec/containers").iter();
    containers.filter_map(|container| Hook::of(pod, container, "containers", address)).collect()
}

/// The preStop hooks of some of a Pod's sidecars.
pub(super) fn sidecar_hooks<'a>(
    pod: &'a Value,
    sidecars: &[&'a Value],
    address: &str,
) -> Vec<Hook<'a>> {
    let of = |container| Hook::of(pod, container, "initContainers", address);
    sidecars.iter().copied().filter_map(of).collect()
}

impl<'a> Hook<'a> {
    fn of(
        pod: &'a Value,
        container: &'a Value,
        list_of: &'static str,
        address: &str,
    ) -> Option<Self> {
        let hook = container.pointer("/lifecycle/preStop")?;
        let forced = match annotation(pod, OUTCOME) {
            Some("hangs") => Some(Outcome::Hangs),
            Some("fails") => Some(Outcome::Fails),
            Some(time) => pod_status::duration(time).map(Outcome::Ends),
            None => None,
        };
        if hook.get("exec").is_some() {
            let words = list(hook, "/exec/command").iter().filter_map(Value::as_str);
            let command: Vec<&str> = words.collect();
            let outcome = forced.unwrap_or_else(|| outcome_of(&command));
            return Some(Self {
                container,
                list: list_of,
                handler: Handler::Exec(command),
                outcome,
            });
        }
        if let Some(request) = hook.get("httpGet") {
            let handler = http(container, request, address);
            let outcome = forced.unwrap_or(Outcome::Ends(Duration::ZERO));
            return Some(Self { container, list: list_of, handler, outcome });
        }
        let seconds = number(hook, "/sleep/seconds")?;
        let time = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let outcome = Outcome::Ends(time);
        Some(Self { container, list: list_of, handler: Handler::Sleep, outcome })
    }

    /// How long it runs; without an end if it hangs.
    pub(super) fn time(&self) -> Option<Duration> {
        match self.outcome {
            Outcome::Ends(time) => Some(time),
            Outcome::Fails => Some(Duration::ZERO),
            Outcome::Hangs => None,
        }
    }

    /// Whether it fails at once.
    pub(super) fn fails(&self) -> bool {
        self.outcome == Outcome::Fails
    }

    /// Reports that it has failed at once.
    pub(super) fn report_failure(&self, pod: &Value, node: &str, client: &mut Client<'_>) {
        let error = match &self.handler {
            Handler::Exec(command) => exited(command, 1),
            Handler::Http { address, url, .. } => {
                format!("Get {url:?}: dial tcp {address}: connect: connection refused")
            }
            Handler::Sleep => return,
        };
        self.report(pod, &error, node, client);
    }

    /// Reports that the end of its container has cut it off: SIGKILL reaches every process of a container, and its connections
    /// end. One that sleeps goes on within the kubelet, and nothing is said of it.
    pub(super) fn report_cut_off(&self, pod: &Value, node: &str, client: &mut Client<'_>) {
        let error = match &self.handler {
            Handler::Exec(command) => exited(command, 137),
            Handler::Http { url, .. } => format!("Get {url:?}: EOF"),
            Handler::Sleep => return,
        };
        self.report(pod, &error, node, client);
    }

    /// Logs that its time is over. No event says so.
    pub(super) fn log_overrun(&self, pod: &Value, grace: i64, node: &str, client: &mut Client<'_>) {
        let entry = format!(
            "{} \"PreStop hook not completed in grace period\" {} gracePeriod={grace}",
            header('I', client.now(), "kuberuntime_container.go:800"),
            pod_status::in_log(pod, self.container),
        );
        client.node_faults.log(node, entry);
    }

    /// The event has no details, so that no secret of a command leaks.
    fn report(&self, pod: &Value, error: &str, node: &str, client: &mut Client<'_>) {
        let container = text(self.container, "/name");
        let place = format!("\"{}/{}\"", namespace(pod), name(pod));
        let now = client.now();
        let ran = match &self.handler {
            Handler::Exec(command) => format!(
                "{} \"Exec lifecycle hook for Container in Pod failed\" execCommand={} containerName={container:?} pod={place} \
                 message=\"\" err={error:?}",
                header('I', now, "handlers.go:86"),
                json!(command),
            ),
            Handler::Http { path, .. } => format!(
                "{} \"HTTP lifecycle hook for Container in Pod failed\" path={path:?} containerName={container:?} pod={place} \
                 err={error:?}",
                header('I', now, "handlers.go:94"),
            ),
            Handler::Sleep => return,
        };
        let failed = format!(
            "{} \"PreStop hook failed\" err={error:?} {}",
            header('E', now, "kuberuntime_container.go:791"),
            pod_status::in_log(pod, self.container),
        );
        client.node_faults.log(node, ran);
        client.node_faults.log(node, failed);
        let field = format!("spec.{}{{{container}}}", self.list);
        let reason = "FailedPreStopHook";
        client.event_of(pod, &field, EventType::Warning, reason, "PreStopHook failed");
    }
}

/// The error of a command, as `RunInContainer` in pkg/kubelet/kuberuntime has it, with nothing on its standard error.
fn exited(command: &[&str], code: u8) -> String {
    format!("command '{}' exited with {code}: ", command.join(" "))
}

/// The effect of a command: sleep, by itself or in a shell, or fail.
fn outcome_of(command: &[&str]) -> Outcome {
    if command == ["false"] {
        return Outcome::Fails;
    }
    let line = command.join(" ");
    let mut words = line.split(|it: char| it.is_whitespace() || ";&|".contains(it));
    let program = |word: &str| word.rsplit('/').next() == Some("sleep");
    let time = words.find(|word| program(word)).and_then(|_| words.next()).and_then(|time| {
        let seconds = time.strip_suffix('s').unwrap_or(time).parse().ok();
        seconds.map(Duration::from_secs).or_else(|| pod_status::duration(time))
    });
    Outcome::Ends(time.unwrap_or_default())
}

/// A request to the Pod's address, unless it names another host. A port may be that of the container, by its name.
fn http<'a>(container: &Value, request: &'a Value, address: &str) -> Handler<'a> {
    let port = match &request["port"] {
        Value::String(name) => list(container, "/ports")
            .iter()
            .find(|it| text(it, "/name") == name)
            .and_then(|it| number(it, "/containerPort")),
        port => port.as_i64(),
    };
    let host = match text(request, "/host") {
        "" => address,
        host => host,
    };
    let address = format!("{host}:{}", port.unwrap_or(80));
    let path = text(request, "/path");
    let scheme = if text(request, "/scheme") == "HTTPS" { "https" } else { "http" };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let url = format!("{scheme}://{address}{slash}{path}");
    Handler::Http { path, address, url }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(hook: &Value) -> Value {
        json!({
            "kind": "Pod",
            "metadata": {"name": "orderer-0", "namespace": "shop", "uid": "1"},
            "spec": {"containers": [
                {"name": "orderer", "lifecycle": {"preStop": hook}, "ports": [{"name": "stop", "containerPort": 8080}]},
            ]},
        })
    }

    fn time(pod: &Value) -> Option<Duration> {
        let hooks = hooks(pod, "10.244.0.1");
        hooks.first().unwrap().time()
    }

    /// The entries of a recording at these places of the source, without times, and with the names that the Pod above has.
    fn recorded(log: &str, places: &[&str]) -> Vec<String> {
        let between = |before: &str| log.split_once(before).unwrap().1.split('"').next().unwrap();
        let (uid, id) = (between("podUID=\""), between("containerID=\"containerd://"));
        let pod = between("pod=\"");
        let lines = log.lines().filter(|line| places.iter().any(|place| line.contains(place)));
        let without_time = |line: &str| line.split_once("   ").unwrap().1.to_owned();
        lines
            .map(|line| {
                without_time(line)
                    .replace(uid, "1")
                    .replace(id, "ID")
                    .replace(pod, "shop/orderer-0")
            })
            .collect()
    }

    /// The lines that a report logs, and the reasons and messages of its events.
    fn said(
        pod: &Value,
        report: impl Fn(&Hook<'_>, &mut Client<'_>),
    ) -> (Vec<String>, Vec<String>) {
        let mut cluster = crate::cluster::Cluster::new(jiff::Timestamp::UNIX_EPOCH, 1);
        let namespace = json!({"metadata": {"name": "shop"}});
        let admin = crate::cluster::Actor::admin();
        cluster.create(&admin, "", "namespaces", "", namespace).unwrap();
        let mut node_faults = crate::controller::node_faults::NodeFaults::default();
        let mut client = Client::new(&mut cluster, &mut node_faults, "node", "kubelet", false);
        report(hooks(pod, "10.244.0.1").first().unwrap(), &mut client);
        let events = cluster.list("", "events", None);
        let events = events.map(|it| {
            let field = text(it, "/involvedObject/fieldPath");
            format!(
                "{} {field} {}: {}",
                text(it, "/type"),
                text(it, "/reason"),
                text(it, "/message")
            )
        });
        let id = pod_status::container_id(pod, "orderer");
        let log = node_faults.kubelet_logs.get("node-a").into_iter().flatten();
        let log = log.map(|line| line.split_once("   ").unwrap().1.replace(&id, "ID"));
        (log.collect(), events.collect())
    }

    #[test]
    fn hooks_are_told_in_the_words_of_a_real_kubelet() {
        let failed = include_str!("../../../recordings/kubelet/pre-stop-failed/log.txt");
        let slow = include_str!("../../../recordings/kubelet/pre-stop-slow/log.txt");
        let fails = pod(&json!({"exec": {"command": ["false"]}}));
        let (log, events) =
            said(&fails, |hook, client| hook.report_failure(&fails, "node-a", client));
        let places = ["handlers.go:86", "kuberuntime_container.go:791"];
        assert_eq!(log, recorded(failed, &places));
        assert_eq!(
            events,
            ["Warning spec.containers{orderer} FailedPreStopHook: PreStopHook failed"]
        );
        let sleeps = pod(&json!({"exec": {"command": ["sleep", "60"]}}));
        let (log, events) =
            said(&sleeps, |hook, client| hook.log_overrun(&sleeps, 5, "node-a", client));
        assert_eq!(log, recorded(slow, &["kuberuntime_container.go:800"]));
        assert_eq!(events, [""; 0], "no event says that the time is over");
        let (log, _) = said(&sleeps, |hook, client| hook.report_cut_off(&sleeps, "node-a", client));
        let error = "err=\"command 'sleep 60' exited with 137: \"";
        assert!(log.len() == 2 && log.iter().all(|line| line.contains(error)), "{log:?}");
    }

    #[test]
    fn command_that_sleeps_takes_its_time() {
        let seconds = |command: Value| {
            time(&pod(&json!({"exec": {"command": command}}))).map(|it| it.as_secs())
        };
        for (command, lasts) in [
            (json!(["sleep", "5"]), 5),
            (json!(["/bin/sleep", "5s"]), 5),
            (json!(["/bin/sh", "-c", "sleep 15; nginx -s quit"]), 15),
            (json!(["sleep", "1m"]), 60),
            (json!(["nginx", "-s", "quit"]), 0),
            (json!(["sleep"]), 0),
            (json!([]), 0),
        ] {
            assert_eq!(seconds(command.clone()), Some(lasts), "{command}");
        }
    }

    #[test]
    fn annotation_decides_unless_the_kubelet_itself_sleeps() {
        let said = |hook: Value, outcome: &str| {
            let mut pod = pod(&hook);
            pod["metadata"]["annotations"][OUTCOME] = json!(outcome);
            let fails = hooks(&pod, "").first().unwrap().fails();
            (time(&pod), fails)
        };
        let exec = || json!({"exec": {"command": ["true"]}});
        assert_eq!(said(exec(), "hangs"), (None, false));
        assert_eq!(said(exec(), "fails"), (Some(Duration::ZERO), true));
        assert_eq!(said(exec(), "7s"), (Some(Duration::from_secs(7)), false));
        assert_eq!(said(json!({"httpGet": {"port": 80}}), "hangs"), (None, false));
        let sleep = json!({"sleep": {"seconds": 3}});
        assert_eq!(said(sleep, "hangs"), (Some(Duration::from_secs(3)), false));
    }

    #[test]
    fn request_goes_to_the_port_that_the_container_names() {
        let pod = pod(&json!({"httpGet": {"path": "/stop", "port": "stop"}}));
        let hooks = hooks(&pod, "10.244.0.1");
        let Handler::Http { url, .. } = &hooks.first().unwrap().handler else { panic!() };
        assert_eq!(url, "http://10.244.0.1:8080/stop");
    }

    #[test]
    fn handler_that_a_kubelet_cannot_run_is_no_hook() {
        assert!(hooks(&pod(&json!({"tcpSocket": {"port": 80}})), "").is_empty());
    }
}
