//! A cluster together with its controllers and the faults that are scheduled for it.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
};

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    cluster::{Actor, Cluster, DeleteOptions},
    controller::{Controllers, panic_message, timing::Timing},
    fault::{BadLine, Faults, NfsFault, OperatingMode, ScheduledFault, VolumeFault},
    object,
    patch::Patch,
    status::Status,
};

/// The whole state of a sandbox. It changes only through its own methods and through the API; it never waits.
pub struct ControlPlane {
    pub cluster: Cluster,
    pub controllers: Controllers,
    failed_faults: VecDeque<FailedFault>,
}

/// A scheduled fault that could not be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedFault {
    pub time: Timestamp,
    pub fault: ScheduledFault,
    pub reason: String,
}

/// The number of failed faults that are kept for [`ControlPlane::take_failed_faults`].
const MAX_FAILED_FAULTS: usize = 100;

/// The nodes of a cluster that does not say which nodes it has.
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

impl ControlPlane {
    /// A cluster right after its control plane came up, with three nodes and no workloads.
    #[must_use]
    pub fn new(start: Timestamp, seed: u64, timing: Timing) -> Self {
        let mut cluster = Cluster::new(start, seed);
        cluster.toleration = timing.toleration;
        let mut controllers = Controllers::new(timing);
        controllers.node_faults.kubelets = NODES.map(String::from).into();
        Self::of(cluster, controllers)
    }

    /// This cluster with these controllers.
    #[must_use]
    pub fn of(cluster: Cluster, controllers: Controllers) -> Self {
        Self { cluster, controllers, failed_faults: VecDeque::new() }
    }

    /// Applies the faults that are due, and then runs the controllers until none of them has anything to do at this
    /// instant. Returns the time at which something is due next.
    pub fn run_until_idle(&mut self) -> Option<Timestamp> {
        let now = self.cluster.steady();
        for fault in self.cluster.faults.take_due(now) {
            // A fault that cannot be applied does not stop the ones after it; it is reported instead.
            let applied = catch_unwind(AssertUnwindSafe(|| self.apply_fault(fault.clone())));
            let reason = match applied {
                Ok(Ok(())) => continue,
                Ok(Err(reason)) => reason,
                Err(panic) => panic_message(&*panic),
            };
            self.failed_faults.push_back(FailedFault { time: now, fault, reason });
            self.failed_faults.drain(..self.failed_faults.len().saturating_sub(MAX_FAILED_FAULTS));
        }
        let due = self.controllers.run_until_idle(&mut self.cluster);
        due.into_iter().chain(self.cluster.faults.next()).min()
    }

    /// Takes the faults that could not be applied since the last call, oldest first.
    pub fn take_failed_faults(&mut self) -> Vec<FailedFault> {
        self.failed_faults.drain(..).collect()
    }

    /// Reads a script of faults, whose times count from now; see [`Faults::parse`].
    ///
    /// # Errors
    ///
    /// The first line that cannot be read.
    pub fn parse_faults(&self, script: &str) -> Result<Faults, BadLine> {
        let controllers: Vec<&str> = self.controllers.names().collect();
        Faults::parse(script, self.cluster.steady(), &controllers)
    }

    /// Repairs everything that is broken: nodes, mounts, exports, controllers, webhooks, corrupted objects, the clock.
    /// Faults that are still scheduled are dropped.
    pub fn repair(&mut self) {
        self.cluster.faults.repair();
        self.cluster.webhook_decisions.clear();
        self.cluster.repair_servers();
        self.cluster.corrupted.clear();
        self.cluster.clock.unskew();
        self.controllers.node_faults.repair();
        let names: Vec<&str> = self.controllers.iter().map(|(name, _)| name).collect();
        for name in names {
            self.controllers.set_mode(name, OperatingMode::Running);
        }
    }

    /// Puts the cluster and its controllers back to their start: every object goes, whatever finalizers it has, and the
    /// control plane's own objects are created again. The nodes, the clock and the seed's sequence go on.
    pub fn reset(&mut self) {
        self.controllers.restart();
        self.cluster.reset();
    }

    fn apply_fault(&mut self, fault: ScheduledFault) -> Result<(), String> {
        let Self { cluster, controllers, .. } = self;
        let node_faults = &mut controllers.node_faults;
        let somebody = Actor::admin();
        let refused = |status: Status| status.message;
        match fault {
            ScheduledFault::ClockJump(by) => cluster.clock.jump(by),
            ScheduledFault::Node { name, fault } => cluster.faults.set_node(&name, fault),
            ScheduledFault::Controller { name, mode } => {
                if !controllers.set_mode(&name, mode) {
                    return Err(format!("no controller is called {name:?}"));
                }
            }
            ScheduledFault::Webhook { name, decision: Some(decision) } => {
                _ = cluster.webhook_decisions.insert(name, decision)
            }
            ScheduledFault::Webhook { name, decision: None } => {
                _ = cluster.webhook_decisions.remove(&name)
            }
            ScheduledFault::Volume { name, fault: None } => node_faults.free(&name),
            ScheduledFault::Volume { name, fault: Some(VolumeFault::Busy) } => {
                _ = node_faults.busy.insert(name)
            }
            ScheduledFault::Volume { name, fault: Some(VolumeFault::Leftover) } => {
                _ = node_faults.leftovers.insert(name)
            }
            ScheduledFault::Nfs { server, fault: None } => node_faults.restore(&server),
            ScheduledFault::Nfs { server, fault: Some(NfsFault::Stale) } => {
                _ = node_faults.stale_servers.insert(server)
            }
            ScheduledFault::Nfs { server, fault: Some(NfsFault::Dead) } => {
                _ = node_faults.dead_servers.insert(server)
            }
            ScheduledFault::Driver { name, node, registered: true } => {
                _ = node_faults.unregistered.remove(&(node, name))
            }
            ScheduledFault::Driver { name, node, registered: false } => {
                _ = node_faults.unregistered.insert((node, name))
            }
            ScheduledFault::Cloud(refusal) => node_faults.cloud = refusal,
            ScheduledFault::Server { api_service, fault } => {
                cluster.set_server_fault(api_service, fault);
            }
            ScheduledFault::Recreate(key) => {
                let now = cluster.get(&key).cloned();
                node_faults.recreated.insert(key, now);
            }
            ScheduledFault::Delete { key, propagation } => {
                let options =
                    DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
                cluster.delete(&somebody, &key, &options).map_err(refused)?;
            }
            ScheduledFault::Finalize(key) => {
                let none = |it: &mut Value| {
                    object::set(it, &["spec", "finalizers"], Value::Array(Vec::new()));
                };
                cluster.modify(&somebody, &key, "finalize", none).map_err(refused)?;
            }
            ScheduledFault::Unfinalize { key, finalizer } => {
                let free = |it: &mut Value| _ = object::remove_finalizer(it, &finalizer);
                cluster.modify(&somebody, &key, "", free).map_err(refused)?;
            }
            ScheduledFault::Change { key, patch } => {
                cluster.patch(&somebody, &key, &Patch::Merge(patch), "").map_err(refused)?;
            }
            ScheduledFault::Corrupt(key) => {
                if cluster.get(&key).is_none() {
                    return Err(format!("there is no {key}"));
                }
                cluster.corrupted.insert(key);
            }
            ScheduledFault::Erase(key) => {
                cluster.erase(&key).ok_or_else(|| format!("there is no {key}"))?;
            }
            ScheduledFault::Compact => cluster.store.compact(cluster.store.revision()),
        }
        Ok(())
    }
}
