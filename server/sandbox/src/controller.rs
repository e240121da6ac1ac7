//! The controllers: those of the controller manager that deletion depends on, the scheduler, a kubelet for each node,
//! and stand-ins for an attacher, a provisioner, operators and a GitOps controller.
//!
//! Each controller implements [`Reconcile`] and runs in a loop like that of client-go: it observes changes, keeps a
//! work queue, and reconciles one work item at a time from the whole state, so that a lost or repeated event does no
//! harm. Time comes from the cluster's clock. The order in which controllers run, and in which each works through its
//! queue, comes from the cluster's seed, because Kubernetes leaves both open.
//!
//! [`Controllers`] can switch a controller off (as if its process had been killed: it forgets everything, and lists
//! everything when it comes back), slow it down, or make all its requests fail. A controller that panics is recorded
//! and restarted after a while, like a process that crashed; the others go on.

pub mod client;
pub mod queue;
pub(crate) mod read;
pub mod resource;
pub mod node_faults;
pub mod timing;
pub(crate) mod runtime;

mod garbage;
mod namespace;
mod service_account;
mod root_ca;
mod deployment;
mod replica_set;
mod stateful_set;
mod daemon_set;
mod revision;
mod pods;
mod job;
mod cron_job;
mod autoscaler;
mod endpoints;
mod endpoint_slice;
mod binder;
mod provisioner;
mod claim_protection;
mod volume_protection;
mod attributes_class_protection;
mod service_cidr;
mod resource_claim;
mod ephemeral_volume;
mod protection;
mod attach_detach;
mod attacher;
mod driver_pods;
mod budget;
mod definition;
mod scheduler;
mod node_lifecycle;
mod taint_eviction;
mod pod_gc;
mod resource_quota;
mod kubelet;
mod gitops;
mod leader_election;
mod load_balancer;
mod kustomize;
pub(crate) mod operator;

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::fault::OperatingMode;
use crate::status::Status;
use crate::store::Event;
use client::Client;
use node_faults::NodeFaults;
use queue::{Queue, later};
use timing::Timing;

/// The number of rounds in which controllers may react to each other at one instant. Only controllers that undo each
/// other's changes reach it.
const ROUNDS_PER_INSTANT: usize = 10_000;

/// The time for which a controller that panicked stays down: the first back-off of a container that crashes.
const RESTART: Duration = Duration::from_secs(10);
/// The number of panics that are kept for [`Controllers::take_panics`].
const MAX_PANICS: usize = 100;

/// When a work item is reconciled again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When something changes.
    Rest,
    /// After this time, or earlier if something changes.
    After(Duration),
}

impl Next {
    /// The earlier of this and a reconciliation after a wait.
    pub(crate) fn or_after(self, wait: Duration) -> Self {
        match self {
            Self::After(earlier) if earlier <= wait => self,
            _ => Self::After(wait),
        }
    }
}

/// The part of a controller that differs from one to the other. [`Controllers::register`] adds one.
pub trait Reconcile: Send {
    /// A work item: usually the key of an object.
    type Work: Ord + Clone + Send;

    /// The name by which [`Controllers::set_mode`] and scripts of faults address it.
    const NAME: &'static str;
    /// The name of its service account in `kube-system`, as which it sends its requests.
    const USER: &'static str;
    /// The component that its events name as their source.
    const COMPONENT: &'static str = Self::NAME;
    /// The longest wait between two tries of a work item that fails.
    const LAST_RETRY: Duration = queue::LAST_RETRY;

    /// A controller that has observed nothing yet.
    fn new(timing: &Timing) -> Self
    where
        Self: Sized;

    /// Is called once, before the first event.
    fn begin(&mut self, _queue: &mut Queue<Self::Work>) {}

    /// Adds the work items that a change concerns. It knows only this change and what it kept of earlier ones.
    fn observe(&mut self, event: &Event, queue: &mut Queue<Self::Work>);

    /// Adds the work items that an object of its first list concerns.
    fn observe_first(&mut self, event: &Event, queue: &mut Queue<Self::Work>) {
        self.observe(event, queue);
    }

    /// Brings the cluster to the desired state of one work item. An error leads to another try, with backoff.
    ///
    /// # Errors
    ///
    /// The first request that the API server refuses.
    fn reconcile(
        &mut self,
        work: &Self::Work,
        client: &mut Client<'_>,
        queue: &mut Queue<Self::Work>,
    ) -> Result<Next, Status>;
}

/// A controller that runs, whatever its work items are.
trait Controller: Send {
    /// Observes changes. Returns the time at which there is work to do.
    fn observe(
        &mut self,
        now: Timestamp,
        news: &mut dyn Iterator<Item = Arc<Event>>,
    ) -> Option<Timestamp>;

    /// Reconciles all work items that are due. Returns the time at which the next one is.
    fn reconcile_due(&mut self, client: &mut Client<'_>) -> Option<Timestamp>;
}

struct ReconcileLoop<R: Reconcile> {
    reconcile: R,
    queue: Queue<R::Work>,
    has_listed: bool,
}

impl<R: Reconcile> Controller for ReconcileLoop<R> {
    fn observe(
        &mut self,
        now: Timestamp,
        news: &mut dyn Iterator<Item = Arc<Event>>,
    ) -> Option<Timestamp> {
        self.queue.advance(now);
        let observe = if self.has_listed { R::observe } else { R::observe_first };
        for event in news {
            observe(&mut self.reconcile, &event, &mut self.queue);
        }
        self.has_listed = true;
        self.queue.next()
    }

    fn reconcile_due(&mut self, client: &mut Client<'_>) -> Option<Timestamp> {
        let mut ready = self.queue.take();
        client.random().shuffle(&mut ready);
        for work in ready {
            match self.reconcile.reconcile(&work, client, &mut self.queue) {
                Ok(Next::Rest) => self.queue.forget(&work),
                Ok(Next::After(wait)) => {
                    self.queue.forget(&work);
                    self.queue.add_after(work, wait);
                }
                Err(_) => self.queue.retry(work),
            }
        }
        self.queue.next()
    }
}

/// One controller, its operating mode and the state of its process.
struct ControllerProcess {
    name: &'static str,
    user: &'static str,
    component: &'static str,
    /// The program that it is part of, if that has more than one controller.
    program: Option<&'static str>,
    start: fn(&Timing, Timestamp) -> Box<dyn Controller>,
    /// `None` while it does not run.
    running: Option<Box<dyn Controller>>,
    mode: OperatingMode,
    /// The last revision that it observed; `None` before its first list.
    seen: Option<u64>,
    due: Option<Timestamp>,
    /// The time until which it observes nothing, because it is slow.
    late: Option<Timestamp>,
    /// The time until which it stays down after a panic.
    down: Option<Timestamp>,
}

/// A panic of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerPanic {
    pub controller: &'static str,
    pub time: Timestamp,
    pub message: String,
}

/// The program that most controllers are part of. This name addresses all of them.
const MANAGER: &str = "kube-controller-manager";
/// The program of the scheduler and its lease.
const SCHEDULER: &str = "kube-scheduler";
/// The program of a cloud's controllers.
const CLOUD: &str = "cloud-controller-manager";
/// The controllers that are a program of their own or part of the API server.
const OUTSIDE: [&str; 7] = [
    definition::Definitions::NAME,
    kubelet::Kubelets::NAME,
    attacher::Attacher::NAME,
    provisioner::Provisioner::NAME,
    gitops::GitOps::NAME,
    kustomize::Kustomize::NAME,
    operator::Operators::NAME,
];

/// All controllers, and the faults of the nodes under them.
pub struct Controllers {
    processes: Vec<ControllerProcess>,
    timing: Timing,
    panics: VecDeque<ControllerPanic>,
    /// The faults below the API, which kubelets and drivers run into.
    pub node_faults: NodeFaults,
}

impl Default for Controllers {
    fn default() -> Self {
        Self::new(Timing::default())
    }
}

impl Controllers {
    /// All built-in controllers, none of which has observed anything yet.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self::of(built_in(), timing)
    }

    /// Adds a controller, which runs from the next instant on.
    ///
    /// # Panics
    ///
    /// If there is a controller of this name.
    pub fn register<R: Reconcile + 'static>(&mut self) {
        assert!(self.names().all(|name| name != R::NAME), "{} is registered already", R::NAME);
        self.processes.push(ControllerProcess::new::<R>(None));
    }

    /// Adds a cloud, whose controller gives Services of type LoadBalancer their load balancers. A cluster on bare machines has none.
    pub fn add_cloud(&mut self) {
        self.processes.push(ControllerProcess::new::<load_balancer::LoadBalancers>(Some(CLOUD)));
    }

    /// Has the kubelets report their CSI drivers in CSINodes, as the plugins of drivers have them do. The nodes of `end2end/cluster` have no
    /// kubelet, and no CSINode.
    pub fn add_csi_nodes(&mut self) {
        self.node_faults.has_csi_nodes = true;
    }

    /// Has the programs of the control plane renew the leases by which they lead. Without it nothing changes in an idle cluster
    /// but the reports of its nodes.
    pub fn add_leader_election(&mut self) {
        use leader_election::{CloudManager, LeaderElection, Manager, Scheduler};
        self.processes.extend([
            ControllerProcess::new::<LeaderElection<Manager>>(Some(MANAGER)),
            ControllerProcess::new::<LeaderElection<Scheduler>>(Some(SCHEDULER)),
        ]);
        if self.processes.iter().any(|process| process.program == Some(CLOUD)) {
            self.processes
                .push(ControllerProcess::new::<LeaderElection<CloudManager>>(Some(CLOUD)));
        }
    }

    /// The names of the built-in controllers, and of the controller manager that most of them are part of.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        built_in().into_iter().map(|process| process.name).chain([MANAGER])
    }

    /// The names of the controllers, and of the programs that they are part of.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        let programs: BTreeSet<&str> = self.processes.iter().filter_map(|it| it.program).collect();
        self.processes.iter().map(|process| process.name).chain(programs)
    }

    fn of(processes: Vec<ControllerProcess>, timing: Timing) -> Self {
        Self { processes, timing, panics: VecDeque::new(), node_faults: NodeFaults::default() }
    }

    /// The controllers and their operating modes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, OperatingMode)> {
        self.processes.iter().map(|process| (process.name, process.mode))
    }

    /// The latest panics of controllers, oldest first.
    pub fn panics(&self) -> impl Iterator<Item = &ControllerPanic> {
        self.panics.iter()
    }

    /// Takes the panics since the last call, oldest first.
    pub fn take_panics(&mut self) -> Vec<ControllerPanic> {
        self.panics.drain(..).collect()
    }

    /// Sets the operating mode of a controller. Returns whether there is one of this name. The name of a
    /// program addresses all controllers that are part of it.
    pub fn set_mode(&mut self, name: &str, mode: OperatingMode) -> bool {
        let is_meant =
            |process: &ControllerProcess| process.name == name || process.program == Some(name);
        let mut is_there = false;
        for process in self.processes.iter_mut().filter(|process| is_meant(process)) {
            if mode == OperatingMode::Off {
                process.running = None;
            }
            (process.late, process.down) = (None, None);
            process.mode = mode;
            is_there = true;
        }
        is_there
    }

    /// Whether the kube-controller-manager is off.
    pub fn is_manager_off(&self) -> bool {
        let mut of_it = self.processes.iter().filter(|it| it.program == Some(MANAGER));
        of_it.all(|it| it.mode == OperatingMode::Off)
    }

    /// Turns the kube-controller-manager on or off, with all controllers in it and the lease by which it leads.
    pub fn set_manager(&mut self, mode: OperatingMode) {
        // It is there in every cluster.
        let _ = self.set_mode(MANAGER, mode);
    }

    /// Ends every process and starts it again, repairs the nodes and forgets the panics. The nodes stay.
    pub fn restart(&mut self) {
        for process in &mut self.processes {
            process.stop();
            process.mode = OperatingMode::Running;
        }
        self.panics.clear();
        let kubelets = std::mem::take(&mut self.node_faults.kubelets);
        let has_csi_nodes = self.node_faults.has_csi_nodes;
        self.node_faults = NodeFaults { kubelets, has_csi_nodes, ..NodeFaults::default() };
    }

    /// Runs the controllers that have something to do, until nothing is left to do at this instant. Returns the time at
    /// which there will be something next.
    pub fn run_until_idle(&mut self, cluster: &mut Cluster) -> Option<Timestamp> {
        let start = cluster.steady();
        for _ in 0..ROUNDS_PER_INSTANT {
            let now = cluster.steady();
            let mut ready: Vec<usize> = (0..self.processes.len())
                .filter(|&at| self.processes[at].ready(cluster, now))
                .collect();
            if ready.is_empty() {
                return self.processes.iter().filter_map(ControllerProcess::next).min();
            }
            cluster.rng.shuffle(&mut ready);
            for at in ready {
                let panic = self.processes[at].run(cluster, &mut self.node_faults, &self.timing);
                if let Some(panic) = panic {
                    self.panics.push_back(panic);
                    self.panics.drain(..self.panics.len().saturating_sub(MAX_PANICS));
                }
            }
        }
        Some(later(start, Duration::from_millis(1)))
    }
}

fn built_in() -> Vec<ControllerProcess> {
    vec![
        process::<garbage::Garbage>(),
        process::<namespace::Namespaces>(),
        process::<service_account::ServiceAccounts>(),
        process::<root_ca::RootCa>(),
        process::<deployment::Deployments>(),
        process::<replica_set::ReplicaSets>(),
        process::<replica_set::ReplicationControllers>(),
        process::<stateful_set::StatefulSets>(),
        process::<daemon_set::DaemonSets>(),
        process::<job::Jobs>(),
        process::<cron_job::CronJobs>(),
        process::<autoscaler::Autoscalers>(),
        process::<endpoints::Endpoints>(),
        process::<endpoint_slice::EndpointSlices>(),
        process::<binder::Binder>(),
        process::<provisioner::Provisioner>(),
        process::<claim_protection::ClaimProtection>(),
        process::<volume_protection::VolumeProtection>(),
        process::<attributes_class_protection::AttributesClassProtection>(),
        process::<service_cidr::ServiceCidrs>(),
        process::<resource_claim::ResourceClaims>(),
        process::<ephemeral_volume::EphemeralVolumes>(),
        process::<attach_detach::AttachDetach>(),
        process::<attacher::Attacher>(),
        process::<budget::Budgets>(),
        process::<definition::Definitions>(),
        process::<scheduler::Scheduler>(),
        process::<node_lifecycle::NodeLifecycle>(),
        process::<taint_eviction::TaintEviction>(),
        process::<pod_gc::PodGc>(),
        process::<resource_quota::ResourceQuotas>(),
        process::<kubelet::Kubelets>(),
        process::<gitops::GitOps>(),
        process::<kustomize::Kustomize>(),
        process::<operator::Operators>(),
    ]
}

fn process<R: Reconcile + 'static>() -> ControllerProcess {
    let program = match R::NAME {
        scheduler::Scheduler::NAME => Some(SCHEDULER),
        name => (!OUTSIDE.contains(&name)).then_some(MANAGER),
    };
    ControllerProcess::new::<R>(program)
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

impl ControllerProcess {
    fn new<R: Reconcile + 'static>(program: Option<&'static str>) -> Self {
        Self {
            name: R::NAME,
            user: R::USER,
            component: R::COMPONENT,
            start: |timing, now| {
                let mut queue = Queue::new(now, R::LAST_RETRY);
                let mut reconcile = R::new(timing);
                reconcile.begin(&mut queue);
                Box::new(ReconcileLoop { reconcile, queue, has_listed: false })
            },
            running: None,
            mode: OperatingMode::default(),
            program,
            seen: None,
            due: None,
            late: None,
            down: None,
        }
    }

    fn stop(&mut self) {
        self.running = None;
        (self.seen, self.due, self.late, self.down) = (None, None, None, None);
    }

    /// Whether it has something to do now. A slow one only notes when it will.
    fn ready(&mut self, cluster: &Cluster, now: Timestamp) -> bool {
        if self.mode == OperatingMode::Off || self.down.is_some_and(|down| down > now) {
            return false;
        }
        if self.running.is_some()
            && self.seen == Some(cluster.store.revision())
            && self.due.is_none_or(|due| due > now)
        {
            return false;
        }
        let OperatingMode::Slow(by) = self.mode else { return true };
        match self.late {
            Some(late) => late <= now,
            None => {
                self.late = Some(now.checked_add(by).unwrap_or(Timestamp::MAX));
                by.is_zero()
            }
        }
    }

    fn next(&self) -> Option<Timestamp> {
        if self.mode == OperatingMode::Off { None } else { self.down.or(self.late).or(self.due) }
    }

    /// Reconciles what is due. A controller that panics is taken down, because its own state may be inconsistent; the
    /// cluster's is not, since each of its verbs changes one object.
    fn run(
        &mut self,
        cluster: &mut Cluster,
        node_faults: &mut NodeFaults,
        timing: &Timing,
    ) -> Option<ControllerPanic> {
        let now = cluster.steady();
        let work = AssertUnwindSafe(|| self.sync(cluster, node_faults, timing));
        let panic = catch_unwind(work).err()?;
        self.running = None;
        self.due = None;
        self.down = Some(later(now, RESTART));
        Some(ControllerPanic { controller: self.name, time: now, message: panic_message(&*panic) })
    }

    fn sync(&mut self, cluster: &mut Cluster, node_faults: &mut NodeFaults, timing: &Timing) {
        (self.late, self.down) = (None, None);
        let now = cluster.steady();
        if self.running.is_none() {
            // A process that starts lists everything.
            self.seen = None;
            self.running = Some((self.start)(timing, now));
        }
        let Some(running) = &mut self.running else { return };
        self.due = running.observe(now, &mut cluster.store.changes_since(self.seen));
        self.seen = Some(cluster.store.revision());
        // Most changes concern only a few controllers.
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let mut client = Client::new(
            cluster,
            node_faults,
            self.user,
            self.component,
            self.mode == OperatingMode::Failing,
        );
        self.due = running.reconcile_due(&mut client);
    }
}

#[cfg(test)]
mod tests;
