//! Containers and sandboxes that the runtime cannot end, in the words of a real kubelet (`recordings/kubelet/kill`, `unkillable`
//! and `network`): `SyncTerminatingPod` in pkg/kubelet/kubelet.go, `killContainer` in
//! pkg/kubelet/kuberuntime/kuberuntime_container.go. The runtime's own words are those of containerd.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::pod_status::{self, container_id, in_log};
use super::words::header;
use crate::controller::client::{Client, EventType};
use crate::controller::read::{list, name, namespace, number, text, uid};
use crate::status::Status;

/// The wait until a Pod that could not be ended is tried again: `backOffPeriod` of 10 s in pkg/kubelet/kubelet.go, and up to half as much
/// by `workerBackOffPeriodJitterFactor`.
pub(super) const RETRY: Duration = Duration::from_secs(12);
/// The time for which the kubelet waits for the runtime beyond the grace period: `runtimeRequestTimeout`,
/// pkg/kubelet/apis/config/v1beta1/defaults.go.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(120);

/// A failure of the runtime, by the annotation `unwind.test/hold`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillFailure {
    /// It may not signal the containers, and says so at once.
    Refused,
    /// It does not answer, as with a process that waits for a device.
    TimedOut,
    /// The containers end, and the network of the sandbox cannot be taken down.
    Network,
}

impl KillFailure {
    /// The failure that a Pod is to meet.
    pub(super) fn of(pod: &Value) -> Option<Self> {
        match pod_status::hold(pod)? {
            "kill" => Some(Self::Refused),
            "unkillable" => Some(Self::TimedOut),
            "network" => Some(Self::Network),
            _ => None,
        }
    }

    /// The time at which the kubelet learns of it: `until` is the end of the containers if they ended, and `limit` that of their
    /// grace period.
    pub(super) fn due(self, since: Timestamp, until: Timestamp, limit: Timestamp) -> Timestamp {
        match self {
            Self::Refused => since,
            Self::TimedOut => crate::controller::queue::later(limit.max(since), RUNTIME_TIMEOUT),
            Self::Network => until,
        }
    }

    /// Reports it in the log, in an event, and in the status of the Pod.
    pub(super) fn report(
        self,
        pod: &Value,
        node: &str,
        client: &mut Client<'_>,
    ) -> Result<(), Status> {
        let now = client.now();
        let failed: Vec<String> = if self == Self::Network {
            vec![sandbox_error(pod)]
        } else {
            let containers = list(pod, "/spec/containers").iter();
            containers
                .map(|container| self.container_error(pod, container, now, node, client))
                .collect()
        };
        let failed = aggregate(&failed);
        let entry = format!(
            "{} \"Error syncing pod, skipping\" err={:?} pod=\"{}/{}\" podUID={:?}",
            header('E', now, "pod_workers.go:1338"),
            format!("error killing terminating pod: {failed}"),
            namespace(pod),
            name(pod),
            uid(pod),
        );
        client.node_faults.log(node, entry);
        let message = format!("error killing pod: {failed}");
        client.event(pod, EventType::Warning, "FailedKillPod", &message);
        match self {
            Self::Network => pod_status::end_containers(pod, client),
            // The sandbox itself has been stopped.
            Self::Refused | Self::TimedOut => pod_status::lose_sandbox(pod, client),
        }
    }

    /// Logs that a container could not be stopped, and returns the error of its part.
    fn container_error(
        self,
        pod: &Value,
        container: &Value,
        now: Timestamp,
        node: &str,
        client: &mut Client<'_>,
    ) -> String {
        let id = container_id(pod, text(container, "/name"));
        let error = match self {
            Self::TimedOut => "rpc error: code = DeadlineExceeded desc = stream terminated by RST_STREAM with error code: CANCEL".to_owned(),
            Self::Refused | Self::Network => format!(
                "rpc error: code = Unknown desc = failed to stop container {id:?}: failed to kill container {id:?}: unknown error \
                 after kill: runc did not terminate successfully: exit status 1: unable to signal init: permission denied"
            ),
        };
        let named = in_log(pod, container);
        let (named_until_id, _) = named.rsplit_once(" containerID=").unwrap_or((&named, ""));
        let grace = number(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or(1).max(MIN_GRACE);
        let stopped = format!(
            "{} \"Container termination failed with gracePeriod\" err={error:?} {named} gracePeriod={grace}",
            header('E', now, "kuberuntime_container.go:914"),
        );
        let killed = format!(
            "{} \"Kill container failed\" err={error:?} {named_until_id} containerID={{\"Type\":\"containerd\",\"ID\":{id:?}}}",
            header('E', now, "kuberuntime_container.go:952"),
        );
        client.node_faults.log(node, stopped);
        client.node_faults.log(node, killed);
        part("KillContainer", text(container, "/name"), &error)
    }
}

/// The seconds that a container always gets: `minimumGracePeriodInSeconds` in pkg/kubelet/kuberuntime/kuberuntime_container.go.
pub(super) const MIN_GRACE: i64 = 2;

fn sandbox_error(pod: &Value) -> String {
    let error = format!(
        "rpc error: code = Unknown desc = failed to destroy network for sandbox {:?}: plugin type=\"calico\" failed (delete): error \
         getting ClusterInformation: connection is unauthorized: Unauthorized",
        pod_status::sandbox_id(pod),
    );
    part("KillPodSandbox", uid(pod), &error)
}

/// One part of a failed synchronisation (`PodSyncResult` in pkg/kubelet/container/sync_result.go).
fn part(action: &str, target: &str, error: &str) -> String {
    format!("failed to {action:?} for {target:?} with {action}Error: {error:?}")
}

/// Several errors as one (`NewAggregate` of apimachinery).
fn aggregate(errors: &[String]) -> String {
    match errors {
        [one] => one.clone(),
        errors => format!("[{}]", errors.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded_pod(name: &str) -> Value {
        let status = json!([{"name": "orderer", "containerID": "containerd://ID"}]);
        json!({
            "kind": "Pod",
            "metadata": {
                "name": "orderer-0", "namespace": name, "uid": "UID", "deletionGracePeriodSeconds": 2,
            },
            "spec": {"containers": [{"name": "orderer"}]},
            "status": {"containerStatuses": status},
        })
    }

    fn cluster(namespace: &str) -> crate::cluster::Cluster {
        let mut cluster = crate::cluster::Cluster::new(Timestamp::UNIX_EPOCH, 1);
        let namespace = json!({"metadata": {"name": namespace}});
        let admin = crate::cluster::Actor::admin();
        cluster.create(&admin, "", "namespaces", "", namespace).unwrap();
        cluster
    }

    /// The failing entries of a recording, without times, and with the names that the Pod above has.
    fn recorded(log: &str, uid: &str, ids: &[&str]) -> Vec<String> {
        let wanted =
            ["kuberuntime_container.go:914", "kuberuntime_container.go:952", "pod_workers.go:1338"];
        let lines = log.lines().filter(|line| wanted.iter().any(|place| line.contains(place)));
        let mut lines: Vec<String> = lines
            .map(|line| {
                let line = line.split_once("   ").unwrap().1.replace(uid, "UID");
                ids.iter().fold(line, |line, id| line.replace(id, "ID"))
            })
            .collect();
        lines.dedup();
        lines
    }

    /// The log and the events of the sandbox for the same failure.
    fn said(failure: KillFailure, name: &str) -> (Vec<String>, String) {
        let mut cluster = cluster(name);
        let mut node_faults = crate::controller::node_faults::NodeFaults::default();
        let mut client = Client::new(&mut cluster, &mut node_faults, "node", "kubelet", false);
        let pod = recorded_pod(name);
        // The Pod is not stored, so its status cannot be written.
        drop(failure.report(&pod, "node-a", &mut client));
        let event = cluster.list("", "events", None).next().unwrap();
        let message = text(event, "/message").replace(&pod_status::sandbox_id(&pod), "ID");
        let log = node_faults.kubelet_logs["node-a"].iter();
        let log = log.map(|line| {
            let line = line.split_once("   ").unwrap().1.to_owned();
            line.replace(&pod_status::sandbox_id(&pod), "ID")
        });
        (log.collect(), message)
    }

    /// The first FailedKillPod of a recording.
    fn event(events: &str, uid: &str, ids: &[&str]) -> String {
        let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let event = events.find(|it| it["reason"] == "FailedKillPod").unwrap();
        let message = text(&event, "/message").replace(uid, "UID");
        ids.iter().fold(message, |message, id| message.replace(id, "ID"))
    }

    #[test]
    fn failed_kill_is_told_in_the_words_of_a_real_kubelet() {
        let recordings = [
            (
                KillFailure::Refused,
                "kill",
                include_str!("../../../recordings/kubelet/kill/log.txt"),
                include_str!("../../../recordings/kubelet/kill/events.json"),
            ),
            (
                KillFailure::TimedOut,
                "unkillable",
                include_str!("../../../recordings/kubelet/unkillable/log.txt"),
                include_str!("../../../recordings/kubelet/unkillable/events.json"),
            ),
            (
                KillFailure::Network,
                "network",
                include_str!("../../../recordings/kubelet/network/log.txt"),
                include_str!("../../../recordings/kubelet/network/events.json"),
            ),
        ];
        for (failure, name, log, events) in recordings {
            let between = |before: &str, after: char| {
                log.split_once(before).map(|(_, rest)| rest.split(after).next().unwrap())
            };
            let uid = between("podUID=\"", '"').unwrap();
            let container = between("containerID=\"containerd://", '"').unwrap();
            let sandbox =
                between("for sandbox \\\\\\\"", '\\').or(between("for sandbox \\\"", '\\'));
            let ids: Vec<&str> = [Some(container), sandbox].into_iter().flatten().collect();
            let (entries, message) = said(failure, name);
            let recorded = recorded(log, uid, &ids);
            assert_eq!(entries, recorded.get(..entries.len()).unwrap(), "{name}");
            assert_eq!(message, event(events, uid, &ids), "{name}");
        }
    }

    #[test]
    fn several_containers_are_reported_as_one_error() {
        let mut pod = recorded_pod("kill");
        pod["spec"]["containers"] = json!([{"name": "a"}, {"name": "b"}]);
        let mut cluster = cluster("kill");
        let mut node_faults = crate::controller::node_faults::NodeFaults::default();
        let mut client = Client::new(&mut cluster, &mut node_faults, "node", "kubelet", false);
        drop(KillFailure::TimedOut.report(&pod, "node-a", &mut client));
        let event = cluster.list("", "events", None).next().unwrap();
        let message = text(event, "/message");
        assert!(
            message.starts_with("error killing pod: [failed to \"KillContainer\" for \"a\" with"),
            "{message}"
        );
        assert!(message.contains(", failed to \"KillContainer\" for \"b\" with"), "{message}");
    }
}
