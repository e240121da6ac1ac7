//! The kubelet of each node: registers the Node and renews its Lease, starts the Pods that are bound to it, and ends
//! them in the order of a real kubelet: grace period, containers, terminal phase, volumes, cgroup, DELETE with grace 0
//! for this UID (`SyncTerminatingPod` and `SyncTerminatedPod` in pkg/kubelet/kubelet.go,
//! pkg/kubelet/status/status_manager.go).
//!
//! A kubelet's own state is kept apart from the API: a Pod that was deleted by force still has its mounts.
//!
//! Annotations on a Pod control its end, as they do on the nodes of `end2end/cluster/stages`: see [`pod_status`].

mod pod_status;
mod node_status;
mod csi_node;
mod hook;
mod kill;
mod mount;
mod shutdown;
mod sidecar;
mod stop;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::client::{Client, Deletion, EventType};
use super::queue::{Queue, later};
use super::read::{ended, is_deleting, list, number, text, time, uid};
use super::resource::{CSI_DRIVERS, NODES, PODS, VOLUMES};
use super::timing::{CONTAINER_START, Timing, UNMOUNT, UNMOUNT_RETRY, UNMOUNT_WAIT};
use super::{Next, Reconcile};
use crate::fault::NodeFault;
use crate::status::Status;
use crate::store::{Change, Event, Key};
use kill::KillFailure;
use mount::{Mount, Unmounted};
use sidecar::Turn;
use words::still_mounted;

/// The period at which a kubelet checks for changes that no event announces: missing volumes, and its own fault.
const LOOK: Duration = Duration::from_millis(500);

/// The longest wait before a refused request is tried again (`backOffPeriod` in pkg/kubelet/kubelet.go).
const BACK_OFF: Duration = Duration::from_secs(10);

pub(super) struct Kubelets {
    /// The Pods on all nodes, by UID.
    pods: BTreeMap<String, Held>,
    nodes: BTreeMap<String, node_status::NodeStatus>,
    /// The changes that slow kubelets have observed, and the time at which they act on each.
    late: BTreeMap<Work, Timestamp>,
    /// The number of addresses that Pods were given.
    addresses: u32,
    timing: Timing,
}

/// A node, or a Pod on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// The list of nodes.
    Machines,
    NodeStatus(String),
    Pod {
        key: Key,
        uid: String,
        node: String,
    },
}

/// A Pod on a node.
struct Held {
    key: Key,
    uid: String,
    node: String,
    stage: Stage,
    mounts: Vec<Mount>,
    address: String,
    started: Timestamp,
    /// The reason why its volumes cannot be mounted, which an event reports once.
    last_error: String,
    /// The power losses of the node that this state takes into account.
    power_losses: u32,
    /// How many times its containers were started again after a power loss.
    restarts: u32,
    /// The time at which it reports the volumes that are still mounted, while the unmount of one hangs.
    reports_mounts: Option<Timestamp>,
    /// The seconds that the shutdown of its node gives it at most, once that ends it.
    shutdown: Option<i64>,
}

/// The state of a Pod on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The Pod's volumes are not all there.
    Waiting,
    Starting {
        until: Timestamp,
    },
    Running {
        since: Timestamp,
    },
    /// preStop hooks run, and the Pod's containers have not got SIGTERM.
    PreStop {
        since: Timestamp,
        until: Timestamp,
        /// The seconds that the hooks and the containers have together.
        grace: i64,
    },
    /// The Pod's containers have got SIGTERM.
    Stopping(Stop),
    /// The runtime could not end the Pod's containers, or its sandbox once they had ended.
    Unkilled {
        next: Timestamp,
        failure: KillFailure,
    },
    /// The Pod's containers are gone, and its volumes are still mounted.
    Unmounting {
        next: Timestamp,
        failures: u32,
    },
    /// Nothing of the Pod is left on the node, except perhaps its cgroup.
    Clean,
}

/// The end of a Pod's containers, or of its sidecars after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stop {
    /// The time at which the end of the Pod began.
    began: Timestamp,
    /// The time of SIGTERM.
    since: Timestamp,
    until: Timestamp,
    /// The time of SIGKILL: the end of the grace period, or of what a preStop hook has left of it. A Pod that was deleted by force
    /// before its end began has none.
    limit: Option<Timestamp>,
    /// The end of the Pod's grace period, if it is not the time of SIGKILL.
    grace_end: Option<Timestamp>,
    /// The time that the hooks took.
    hooks: Duration,
    turn: Turn,
}

impl Reconcile for Kubelets {
    type Work = Work;
    const NAME: &'static str = "kubelet";
    const USER: &'static str = "kubelet";
    const LAST_RETRY: Duration = BACK_OFF;

    fn new(timing: &Timing) -> Self {
        let timing = timing.clone();
        Self {
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            late: BTreeMap::new(),
            addresses: 0,
            timing,
        }
    }

    fn begin(&mut self, queue: &mut Queue<Work>) {
        queue.add(Work::Machines);
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Work>) {
        if PODS.has(&event.key) {
            let node = text(&event.object, "/spec/nodeName");
            if !node.is_empty() {
                let uid = uid(&event.object).to_owned();
                queue.add(Work::Pod { key: event.key.clone(), uid, node: node.to_owned() });
            }
        } else if NODES.has(&event.key) && event.change != Change::Modified {
            queue.add(Work::NodeStatus(event.key.name.to_string()));
        } else if (CSI_DRIVERS.has(&event.key) || VOLUMES.has(&event.key))
            && event.change == Change::Added
        {
            // A driver may be new.
            for name in self.nodes.keys() {
                queue.add(Work::NodeStatus(name.clone()));
            }
        }
    }

    fn reconcile(
        &mut self,
        work: &Work,
        client: &mut Client<'_>,
        queue: &mut Queue<Work>,
    ) -> Result<Next, Status> {
        if let Some(wait) = self.lag(work, client) {
            return Ok(Next::After(wait));
        }
        match work {
            Work::Machines => {
                for name in client.node_faults.kubelets.clone() {
                    if !self.nodes.contains_key(&name) {
                        queue.add(Work::NodeStatus(name));
                    }
                }
                Ok(Next::After(self.timing.lease_renewal()))
            }
            Work::NodeStatus(name) => self.report_node(name, client, queue),
            Work::Pod { key, uid, node } => {
                if !client.node_faults.kubelets.contains(node) {
                    return Ok(Next::Rest);
                }
                // A silence may be shorter than the kubelet's own period.
                if client.node_fault(node).is_some_and(NodeFault::is_silent) {
                    return Ok(Next::After(LOOK));
                }
                let mut client = client.node(node);
                let next = self.tend_pod(key, uid, node, &mut client);
                if client.node_faults.driver_pods.is_plugin(uid) {
                    queue.add(Work::NodeStatus(node.clone()));
                }
                self.report_in_use(node, &mut client)?;
                next
            }
        }
    }
}

impl Kubelets {
    /// The time at which a slow kubelet acts on a change.
    fn lag(&mut self, work: &Work, client: &Client<'_>) -> Option<Duration> {
        let (Work::NodeStatus(node) | Work::Pod { node, .. }) = work else { return None };
        let Some(NodeFault::Slow(by)) = client.node_fault(node) else {
            self.late.remove(work);
            return None;
        };
        let now = client.steady();
        let due = *self.late.entry(work.clone()).or_insert_with(|| later(now, by));
        if due > now {
            // The node may be repaired meanwhile.
            return due.duration_since(now).try_into().ok().map(|wait: Duration| wait.min(LOOK));
        }
        self.late.remove(work);
        None
    }

    fn report_node(
        &mut self,
        name: &str,
        client: &mut Client<'_>,
        queue: &mut Queue<Work>,
    ) -> Result<Next, Status> {
        if !client.node_faults.kubelets.contains(name) {
            return Ok(Next::Rest);
        }
        let machine = self.nodes.entry(name.to_owned()).or_default();
        if client.node_fault(name).is_some_and(NodeFault::is_silent) {
            machine.silent = true;
            return Ok(Next::After(LOOK));
        }
        let is_shutting_down = client.node_fault(name) == Some(NodeFault::ShuttingDown);
        // A machine may be off for less than the kubelet's own period.
        let losses = client.power_losses(name);
        let rebooted = std::mem::replace(&mut machine.power_losses, losses) != losses;
        if std::mem::take(&mut machine.silent) || rebooted {
            machine.reported = None;
            (machine.shutdown, machine.is_shutting_down) = (None, false);
            self.look_at_pods(name, client, queue);
        }
        let next = self.shut_down(name, is_shutting_down, &mut client.node(name), queue)?;
        let machine = self.nodes.entry(name.to_owned()).or_default();
        let wait = machine.report_due(name, &self.timing, &mut client.node(name))?;
        // The kubelet may fall silent at any moment.
        Ok(Next::After(next.map_or(wait, |next| wait.min(next))))
    }

    /// Looks at all Pods of a node, also at those that are gone from the API.
    fn look_at_pods(&self, node: &str, client: &Client<'_>, queue: &mut Queue<Work>) {
        for (uid, held) in self.pods.iter().filter(|(_, held)| held.node == node) {
            let (key, uid) = (held.key.clone(), uid.clone());
            queue.add(Work::Pod { key, uid, node: node.to_owned() });
        }
        for pod in client.list(PODS, None).iter().filter(|it| text(it, "/spec/nodeName") == node) {
            let key = PODS.key(super::read::namespace(pod), super::read::name(pod));
            queue.add(Work::Pod { key, uid: uid(pod).to_owned(), node: node.to_owned() });
        }
    }

    fn tend_pod(
        &mut self,
        key: &Key,
        uid_of: &str,
        node: &str,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        let object = client.get(key).filter(|it| uid(it) == uid_of);
        if !self.pods.contains_key(uid_of) {
            let Some(pod) = &object else { return Ok(Next::Rest) };
            let is_refused = self.nodes.get(node).is_some_and(|it| it.is_shutting_down);
            if !is_deleting(pod) && (ended(pod) || is_refused) {
                return Ok(Next::Rest);
            }
            client.node_faults.driver_pods.note(pod);
            self.addresses += 1;
            let held = Held {
                key: key.clone(),
                node: node.to_owned(),
                uid: uid(pod).to_owned(),
                stage: Stage::Waiting,
                mounts: Vec::new(),
                address: format!("10.244.{}.{}", self.addresses >> 8 & 0xff, self.addresses & 0xff),
                started: client.now(),
                last_error: String::new(),
                power_losses: client.power_losses(node),
                restarts: 0,
                reports_mounts: None,
                shutdown: None,
            };
            // A kubelet that comes back finds its running containers and its mounts.
            let held = if text(pod, "/status/phase") == "Running" {
                held.found(pod, client)
            } else if ended(pod) {
                held.found_ended(pod, client)
            } else {
                held
            };
            self.pods.insert(uid_of.to_owned(), held);
        }
        let Some(held) = self.pods.get_mut(uid_of) else { return Ok(Next::Rest) };
        let losses = client.power_losses(node);
        if std::mem::replace(&mut held.power_losses, losses) != losses {
            held.lose_power();
        }
        let next = held.advance(object.as_deref(), client);
        held.update_runtime(object.as_deref(), client);
        if object.is_none() && held.stage == Stage::Clean {
            self.pods.remove(uid_of);
        }
        next
    }

    /// Reports the attached volumes that a node has mounted.
    fn report_in_use(&self, node: &str, client: &mut Client<'_>) -> Result<(), Status> {
        let on_node = self.pods.values().filter(|it| it.node == node && it.stage != Stage::Clean);
        let in_use: BTreeSet<&str> =
            on_node.flat_map(|it| &it.mounts).filter_map(|it| it.unique_name.as_deref()).collect();
        let Some(object) = client.find(NODES, "", node) else { return Ok(()) };
        let reported: BTreeSet<&str> =
            list(&object, "/status/volumesInUse").iter().filter_map(Value::as_str).collect();
        if reported != in_use {
            let patch = serde_json::json!({"status": {"volumesInUse": in_use}});
            client.merge_status(&NODES.key("", node), &patch)?;
        }
        Ok(())
    }
}

impl Held {
    fn found(mut self, pod: &Value, client: &mut Client<'_>) -> Self {
        let started = time(pod, "/status/startTime").unwrap_or_else(|| client.now());
        self.mounts = mount::found(pod, client).unwrap_or_default();
        self.address = text(pod, "/status/podIP").to_owned();
        self.started = started;
        self.stage = Stage::Running { since: client.steady_at(started) };
        self
    }

    fn found_ended(mut self, pod: &Value, client: &mut Client<'_>) -> Self {
        self.mounts = mount::found(pod, client).unwrap_or_default();
        self.stage = Stage::Unmounting { next: client.steady(), failures: 0 };
        self
    }

    /// Its containers do not run any more, and nothing is mounted. A kubelet starts them again unless the Pod has ended or is
    /// being deleted.
    fn lose_power(&mut self) {
        self.mounts.clear();
        self.shutdown = None;
        self.stage = match self.stage {
            Stage::Unmounting { .. } | Stage::Clean => Stage::Clean,
            Stage::Running { .. }
            | Stage::PreStop { .. }
            | Stage::Stopping(_)
            | Stage::Unkilled { .. } => {
                self.restarts += 1;
                Stage::Waiting
            }
            Stage::Waiting | Stage::Starting { .. } => Stage::Waiting,
        };
    }

    /// Has the runtime of its node run what its stage says. Containers of a Pod that was deleted by force run on until they are
    /// stopped.
    fn update_runtime(&self, pod: Option<&Value>, client: &mut Client<'_>) {
        let runtime = client.node_faults.runtime(&self.node);
        match self.stage {
            Stage::Starting { .. } => runtime.start_sandbox(&self.key, &self.uid),
            Stage::Unkilled { failure: KillFailure::Network, .. } => {
                runtime.start_sandbox(&self.key, &self.uid);
                runtime.stop_containers(&self.uid);
            }
            Stage::Running { .. }
            | Stage::PreStop { .. }
            | Stage::Stopping(_)
            | Stage::Unkilled { .. } => {
                let turn = match self.stage {
                    Stage::Stopping(stop) => stop.turn,
                    _ => Turn::Containers,
                };
                runtime.start_sandbox(&self.key, &self.uid);
                if let Some(pod) = pod {
                    runtime.run_containers(turn.running(pod), &self.uid);
                }
            }
            Stage::Waiting | Stage::Unmounting { .. } | Stage::Clean => runtime.stop(&self.uid),
        }
    }

    /// Advances a Pod as far as possible now.
    fn advance(&mut self, pod: Option<&Value>, client: &mut Client<'_>) -> Result<Next, Status> {
        if pod.is_some_and(|it| is_deleting(it) && pod_status::hold(it) == Some("silent")) {
            return Ok(Next::Rest);
        }
        loop {
            let stage = self.stage;
            let next = match stage {
                Stage::Waiting | Stage::Starting { .. } => self.start(pod, client)?,
                Stage::Running { since } => self.run(pod, since, client)?,
                Stage::PreStop { since, until, grace } => {
                    self.pre_stop(pod, since, until, grace, client)
                }
                Stage::Stopping(stop) => self.stop(pod, stop, client)?,
                Stage::Unkilled { next, failure } => self.kill_again(pod, next, failure, client)?,
                Stage::Unmounting { next, failures } => {
                    self.unmount(pod, next, failures, client)?
                }
                Stage::Clean => return self.finish(pod, client),
            };
            if self.stage == stage {
                return Ok(next);
            }
        }
    }

    fn start(&mut self, pod: Option<&Value>, client: &mut Client<'_>) -> Result<Next, Status> {
        let now = client.steady();
        let is_wanted = |it: &&Value| !is_deleting(it) && self.shutdown.is_none();
        let Some(pod) = pod.filter(is_wanted) else {
            // The Pod never ran here, or not since its node started. Its phase is reported before its volumes are unmounted.
            if let Some(pod) = pod {
                let code = if self.restarts > 0 { pod_status::LOST } else { 137 };
                self.report_end_now(pod, code, client)?;
            }
            self.stage = Stage::Unmounting { next: now, failures: 0 };
            return Ok(Next::Rest);
        };
        if let Stage::Starting { until } = self.stage {
            if now < until {
                return Ok(after(now, until));
            }
            pod_status::run(pod, &self.address, self.started, self.restarts, client)?;
            self.stage = Stage::Running { since: now };
            return Ok(Next::Rest);
        }
        match mount::mounts(pod, client) {
            Ok(mounts) => {
                self.mounts = mounts;
                self.stage = Stage::Starting { until: later(now, CONTAINER_START) };
                Ok(Next::Rest)
            }
            Err(Unmounted::Lacks(what)) => {
                if what != self.last_error {
                    client.event(pod, EventType::Warning, "FailedMount", &what);
                    self.last_error = what;
                }
                Ok(Next::After(LOOK))
            }
            Err(Unmounted::Unattached) => Ok(Next::After(LOOK)),
        }
    }

    fn run(
        &mut self,
        pod: Option<&Value>,
        since: Timestamp,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        let Some(pod) = pod else {
            self.terminate(None, now);
            return Ok(Next::Rest);
        };
        if is_deleting(pod) || self.shutdown.is_some() {
            self.kill(pod, client);
            return Ok(Next::Rest);
        }
        if let Some(wait) = pod_status::completion(pod) {
            let due = later(since, wait);
            if due > now {
                pod_status::keep_running(pod, &self.address, self.started, self.restarts, client)?;
                return Ok(after(now, due));
            }
            if self.kill_sidecars(pod, client) {
                return Ok(Next::Rest);
            }
            self.report_end_now(pod, 0, client)?;
            self.stage = Stage::Unmounting { next: later(now, UNMOUNT), failures: 0 };
            return Ok(Next::Rest);
        }
        pod_status::keep_running(pod, &self.address, self.started, self.restarts, client)?;
        Ok(Next::Rest)
    }

    fn unmount(
        &mut self,
        pod: Option<&Value>,
        next: Timestamp,
        failures: u32,
        client: &mut Client<'_>,
    ) -> Result<Next, Status> {
        let now = client.steady();
        if pod.is_some_and(|it| pod_status::hold(it) == Some("unmount")) {
            return Ok(Next::Rest);
        }
        if now < next {
            return Ok(after(now, next));
        }
        let (first, last) = UNMOUNT_RETRY;
        let wait = first.saturating_mul(1 << failures.min(20)).min(last);
        let before = self.mounts.len();
        let (fault, said) = (client.node_fault(&self.node), client.now());
        let (node, node_faults) = (&self.node, &mut *client.node_faults);
        // A Pod that was deleted by force has no object any more.
        let uid = &self.uid;
        self.mounts.retain(|it| {
            // The operation of a hanging unmount stays pending: it ends once the server answers, and no try is logged.
            if it.hangs(node_faults) {
                return true;
            }
            match it.unmount(uid, node, fault, node_faults) {
                Ok(()) => false,
                Err(failed) => {
                    let entry = failed.entry(said, wait);
                    node_faults.runtime(node).count_failed_unmount(failed.plugin());
                    node_faults.log(node, entry);
                    true
                }
            }
        });
        let only_hangs = self.mounts.iter().all(|it| it.hangs(node_faults));
        if self.mounts.iter().any(|it| it.hangs(node_faults)) {
            let due = *self.reports_mounts.get_or_insert(later(now, UNMOUNT_WAIT));
            if due <= now {
                self.reports_mounts = Some(later(due, UNMOUNT_WAIT));
                let volumes: Vec<&str> = self.mounts.iter().map(Mount::name_on_node).collect();
                node_faults.log(node, still_mounted(&self.key, uid, &volumes, said));
            }
        } else {
            self.reports_mounts = None;
        }
        if self.mounts.is_empty() {
            self.stage = Stage::Clean;
            return Ok(Next::Rest);
        }
        let wait = if only_hangs { LOOK } else { wait };
        let failures = if only_hangs || self.mounts.len() < before { 0 } else { failures + 1 };
        self.stage = Stage::Unmounting { next: later(now, wait), failures };
        Ok(Next::After(wait))
    }

    /// Sends the final DELETE, once the API has the Pod's terminal phase and its cgroup is gone.
    fn finish(&mut self, pod: Option<&Value>, client: &mut Client<'_>) -> Result<Next, Status> {
        let Some(pod) = pod.filter(|it| is_deleting(it)) else { return Ok(Next::Rest) };
        if !ended(pod) {
            self.report_end_now(pod, 137, client)?;
        }
        let is_forced = number(pod, "/metadata/deletionGracePeriodSeconds") == Some(0);
        if is_forced || pod_status::hold(pod) == Some("cgroup") {
            return Ok(Next::Rest);
        }
        match client.delete(&self.key, &Deletion::of(pod).grace(0)) {
            Err(status) if !status.is_not_found() && !status.is_conflict() => Err(status),
            _ => Ok(Next::Rest),
        }
    }
}

fn after(now: Timestamp, due: Timestamp) -> Next {
    Next::After(due.duration_since(now).try_into().unwrap_or_default())
}
