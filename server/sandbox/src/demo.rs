//! The demo of the dashboard: worlds in one cluster, switches for their faults, and a reset.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    cluster::{Actor, DeleteOptions},
    control_plane::ControlPlane,
    controller::{Controllers, operator::FINALIZES},
    fault::{Faults, NodeFault, OperatingMode},
    kubectl::export,
    object,
    patch::Patch,
    store::Key,
    world::{self, WorldError},
};

/// The replicas of the metrics server of world `s3`.
const REPLICAS: u64 = 1;
/// The speeds of the cluster's clock. A person cannot follow what happens faster.
const SPEEDS: std::ops::RangeInclusive<u32> = 1..=10;

/// A fault that a person can switch on and off.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultSwitch {
    /// The operator of this key, a Deployment, is not installed: finalizers that only its Pods remove stay.
    Operator(Key),
    /// This node has no power.
    Node(String),
    /// The server behind the metrics API has no Pod.
    Metrics,
    /// This NFS server answers every handle with `ESTALE`, or not at all.
    Nfs(String),
    /// This PersistentVolume cannot be unmounted, because something has it open or left a file in it.
    Volume(String),
    /// The cloud refuses to remove load balancers.
    Cloud,
    /// The kube-controller-manager does not run.
    Manager,
}

/// The words with which the cloud refuses.
const REFUSAL: &str = "the security group is in use";

/// The reason why the demo refuses a request.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("there is nothing of that name to be broken here")]
    FaultSwitch,
    #[error("no incident of this world is called {0:?}")]
    Incident(String),
    #[error("time goes 1 to 10 times as fast, not {0} times")]
    Speed(u32),
    #[error("it cannot be installed again: {0}")]
    Install(WorldError),
    #[error("the world cannot be set up again")]
    World(#[from] WorldError),
}

/// One world of the demo.
#[derive(Debug, Clone)]
struct LoadedWorld {
    name: String,
    objects: Vec<Value>,
    faults: String,
}

/// The worlds of the demo, and the incidents that have started.
#[derive(Debug, Clone)]
pub struct Demo {
    worlds: Vec<LoadedWorld>,
    begun: BTreeSet<String>,
    /// The volumes that were held at some time, so that a switch does not vanish under the hand that flips it.
    held: BTreeSet<String>,
}

impl Demo {
    /// All worlds of a release, side by side in one cluster.
    ///
    /// # Errors
    /// [`WorldError`], never with the worlds of a release.
    pub fn everything() -> Result<Self, WorldError> {
        Self::of(
            world::names().filter_map(|name| {
                world::text(name).map(|(objects, faults)| (name, objects, faults))
            }),
        )
    }

    /// The world of this name; `None` where there is none.
    ///
    /// # Errors
    /// As [`Demo::everything`].
    pub fn named(name: &str) -> Option<Result<Self, WorldError>> {
        world::text(name).map(|(objects, faults)| Self::of([(name, objects, faults)]))
    }

    /// A world from the outside: a JSON list of objects, or the output of `kubectl get -o json`, and a script of
    /// faults, which may be empty.
    ///
    /// # Errors
    /// If a text cannot be read. Whether the API accepts the objects shows only in [`Demo::set_up`].
    pub fn from_text(name: &str, objects: &str, faults: &str) -> Result<Self, WorldError> {
        Self::of([(name, objects, faults)])
    }

    fn of<'a>(
        texts: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) -> Result<Self, WorldError> {
        let built_in: Vec<&str> = Controllers::built_in_names().collect();
        let mut seen = BTreeSet::new();
        let mut worlds = Vec::new();
        for (name, objects, faults) in texts {
            Faults::parse(faults, jiff::Timestamp::UNIX_EPOCH, &built_in)
                .map_err(WorldError::Faults)?;
            let mut objects = export::read(objects)?;
            // Worlds may share a driver or a class.
            objects.retain(|it| seen.insert(identity(it)));
            worlds.push(LoadedWorld { name: name.into(), objects, faults: faults.into() });
        }
        Ok(Self { worlds, begun: BTreeSet::new(), held: BTreeSet::new() })
    }

    /// Creates the objects of the demo in an empty cluster.
    ///
    /// # Errors
    /// The first object that the API refuses.
    pub fn set_up(&self, control_plane: &mut ControlPlane) -> Result<(), WorldError> {
        for world in &self.worlds {
            world::create_all(control_plane, world.objects.clone())?;
        }
        Ok(())
    }

    /// Resets the cluster and creates the objects of the demo again.
    ///
    /// # Errors
    /// [`DemoError::World`], never where the demo could be set up before.
    pub fn reset(&mut self, control_plane: &mut ControlPlane) -> Result<(), DemoError> {
        control_plane.reset();
        self.begun.clear();
        self.held.clear();
        Ok(self.set_up(control_plane)?)
    }

    /// The incidents, and whether they have started.
    pub fn incidents(&self) -> impl Iterator<Item = (&str, bool)> {
        let worlds = self.worlds.iter().filter(|world| !world.faults.trim().is_empty());
        worlds.map(|world| (world.name.as_str(), self.begun.contains(&world.name)))
    }

    /// Starts an incident: schedules the faults of its script from now on.
    ///
    /// # Errors
    /// [`DemoError::Incident`].
    pub fn start_incident(
        &mut self,
        control_plane: &mut ControlPlane,
        name: &str,
    ) -> Result<(), DemoError> {
        let unknown = || DemoError::Incident(name.chars().take(64).collect());
        let world = self.worlds.iter().find(|it| it.name == name && !it.faults.trim().is_empty());
        let world = world.ok_or_else(unknown)?;
        if self.begun.insert(name.to_owned()) {
            let faults = control_plane.parse_faults(&world.faults).map_err(|_| unknown())?;
            control_plane.cluster.faults.extend(faults);
        }
        Ok(())
    }

    /// The fault switches of a cluster, and whether they are on. It lists only volumes that are or were held, last, and only
    /// operators whose namespace exists.
    #[must_use]
    pub fn fault_switches(&mut self, control_plane: &ControlPlane) -> Vec<(FaultSwitch, bool)> {
        let node_faults = &control_plane.controllers.node_faults;
        let mut fault_switches: Vec<(FaultSwitch, bool)> = Vec::new();
        for (key, _) in self.operators(control_plane) {
            let missing = control_plane.cluster.get(&key).is_none();
            if control_plane.cluster.get(&Key::new("", "namespaces", "", &key.namespace)).is_some()
            {
                fault_switches.push((FaultSwitch::Operator(key), missing));
            }
        }
        for node in &node_faults.kubelets {
            let fault = control_plane.cluster.faults.node(node);
            let silent = fault.is_some_and(NodeFault::is_silent);
            fault_switches.push((FaultSwitch::Node(node.clone()), silent));
        }
        if let Some(server) = metrics_server(control_plane) {
            let none = server["spec"]["replicas"] == 0;
            fault_switches.push((FaultSwitch::Metrics, none));
        }
        let volumes = control_plane.cluster.list("", "persistentvolumes", None);
        let servers: BTreeSet<&str> = volumes
            .map(|volume| object::text(volume, &["spec", "nfs", "server"]))
            .filter(|server| !server.is_empty())
            .collect();
        fault_switches.extend(servers.into_iter().map(|server| {
            let is_broken = node_faults.stale_servers.contains(server)
                || node_faults.dead_servers.contains(server);
            (FaultSwitch::Nfs(server.to_owned()), is_broken)
        }));
        let mut services = control_plane.cluster.list("", "services", None);
        let is_refusing = node_faults.cloud.is_some();
        if is_refusing || services.any(|it| it["spec"]["type"] == "LoadBalancer") {
            fault_switches.push((FaultSwitch::Cloud, is_refusing));
        }
        fault_switches.push((FaultSwitch::Manager, control_plane.controllers.is_manager_off()));
        let is_held =
            |name: &String| node_faults.busy.contains(name) || node_faults.leftovers.contains(name);
        let exists = |name: &&String| {
            let key = Key::new("", "persistentvolumes", "", name);
            is_held(name) || control_plane.cluster.get(&key).is_some()
        };
        self.held.extend(node_faults.busy.iter().chain(&node_faults.leftovers).cloned());
        let volumes = self.held.iter().filter(exists);
        fault_switches
            .extend(volumes.map(|name| (FaultSwitch::Volume(name.clone()), is_held(name))));
        fault_switches
    }

    /// Switches a fault on or off.
    ///
    /// # Errors
    /// [`DemoError::FaultSwitch`] where there is no such switch, [`DemoError::Install`] where the operator's namespace
    /// is terminating.
    pub fn set(
        &mut self,
        control_plane: &mut ControlPlane,
        switch: &FaultSwitch,
        broken: bool,
    ) -> Result<(), DemoError> {
        let known = match switch {
            FaultSwitch::Volume(name) => {
                control_plane.cluster.get(&Key::new("", "persistentvolumes", "", name)).is_some()
            }
            switch => self.fault_switches(control_plane).iter().any(|(known, _)| known == switch),
        };
        if !known {
            return Err(DemoError::FaultSwitch);
        }
        let node_faults = &mut control_plane.controllers.node_faults;
        match switch {
            FaultSwitch::Operator(key) if broken => uninstall(control_plane, key),
            FaultSwitch::Operator(key) => self.install(control_plane, key)?,
            FaultSwitch::Node(name) => {
                control_plane.cluster.faults.set_node(name, broken.then_some(NodeFault::Off));
            }
            FaultSwitch::Metrics => scale_metrics(control_plane, if broken { 0 } else { REPLICAS }),
            FaultSwitch::Nfs(server) if broken => {
                _ = node_faults.stale_servers.insert(server.clone())
            }
            FaultSwitch::Nfs(server) => node_faults.restore(server),
            FaultSwitch::Volume(name) if broken => _ = node_faults.busy.insert(name.clone()),
            FaultSwitch::Volume(name) => node_faults.free(name),
            FaultSwitch::Cloud => node_faults.cloud = broken.then(|| REFUSAL.to_owned()),
            FaultSwitch::Manager => {
                let mode = if broken { OperatingMode::Off } else { OperatingMode::Running };
                control_plane.controllers.set_manager(mode);
            }
        }
        Ok(())
    }

    /// Repairs everything. Faults that are still scheduled are dropped.
    pub fn repair(&mut self, control_plane: &mut ControlPlane) {
        control_plane.repair();
        scale_metrics(control_plane, REPLICAS);
        for (switch, _) in self.fault_switches(control_plane) {
            if let FaultSwitch::Operator(key) = switch {
                // An operator cannot be installed in a namespace that is terminating.
                drop(self.install(control_plane, &key));
            }
        }
    }

    /// The operators of the demo: Deployments whose Pods remove finalizers.
    fn operators<'a>(
        &'a self,
        control_plane: &'a ControlPlane,
    ) -> impl Iterator<Item = (Key, &'a Value)> {
        let objects = self.worlds.iter().flat_map(|world| &world.objects);
        objects
            .filter(|it| {
                let annotations = &it["spec"]["template"]["metadata"]["annotations"];
                it["kind"] == "Deployment" && annotations[FINALIZES].is_string()
            })
            .filter_map(|it| Some((control_plane.cluster.key_of(it)?, it)))
    }

    fn install(&self, control_plane: &mut ControlPlane, key: &Key) -> Result<(), DemoError> {
        let found = self.operators(control_plane).find(|(known, _)| known == key);
        let operator = found.map(|(_, object)| object.clone()).ok_or(DemoError::FaultSwitch)?;
        let cluster = &control_plane.cluster;
        if cluster.get(key).is_some() {
            return Ok(());
        }
        let is_missing =
            |it: &&Value| cluster.key_of(it).is_some_and(|key| cluster.get(&key).is_none());
        let rights = self.rights_of(&operator).into_iter().filter(is_missing).cloned();
        let missing: Vec<Value> = rights.chain([operator.clone()]).collect();
        world::create_all(control_plane, missing).map_err(DemoError::Install)
    }

    /// The ServiceAccount of an operator, its bindings and their roles. A teardown without the operator deletes them at once,
    /// and an operator that is installed again can do nothing without them.
    fn rights_of(&self, operator: &Value) -> Vec<&Value> {
        let path = ["spec", "template", "spec", "serviceAccountName"];
        let (namespace, account) = (object::namespace(operator), object::text(operator, &path));
        let is_account = |it: &Value| {
            it["kind"] == "ServiceAccount"
                && object::name(it) == account
                && object::namespace(it) == namespace
        };
        let binds = |it: &Value| {
            it["subjects"].as_array().into_iter().flatten().any(|subject| {
                subject["kind"] == "ServiceAccount"
                    && subject["name"] == account
                    && subject["namespace"] == namespace
            })
        };
        let objects = || self.worlds.iter().flat_map(|world| &world.objects);
        let bindings: Vec<&Value> = objects().filter(|it| binds(it)).collect();
        let is_role = |it: &Value| {
            bindings.iter().any(|binding| {
                let role = &binding["roleRef"];
                it["kind"] == role["kind"]
                    && role["name"] == object::name(it)
                    && ["", object::namespace(binding)].contains(&object::namespace(it))
            })
        };
        objects().filter(|it| is_account(it) || is_role(it) || binds(it)).collect()
    }

    /// Sets how many times faster than real time the cluster's clock runs.
    ///
    /// # Errors
    /// [`DemoError::Speed`] outside 1 to 10.
    pub fn set_speed(control_plane: &mut ControlPlane, speed: u32) -> Result<(), DemoError> {
        if !SPEEDS.contains(&speed) {
            return Err(DemoError::Speed(speed));
        }
        control_plane.cluster.clock.set_speed(speed);
        Ok(())
    }
}

/// Deletes an operator, as `kubectl delete deployment` does.
fn uninstall(control_plane: &mut ControlPlane, operator: &Key) {
    // The DELETE fails only if the operator is being deleted already.
    drop(control_plane.cluster.delete(&Actor::admin(), operator, &DeleteOptions::default()));
}

fn metrics_key() -> Key {
    Key::new("apps", "deployments", "kube-system", "metrics-server")
}

fn metrics_server(control_plane: &ControlPlane) -> Option<&Value> {
    control_plane.cluster.get(&metrics_key()).map(|server| &**server)
}

fn scale_metrics(control_plane: &mut ControlPlane, replicas: u64) {
    if metrics_server(control_plane).is_some_and(|server| server["spec"]["replicas"] != replicas) {
        let scaled = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        // The patch fails only if the server is being deleted.
        drop(control_plane.cluster.patch(&Actor::admin(), &metrics_key(), &scaled, ""));
    }
}

/// The key by which two worlds have the same object.
fn identity(it: &Value) -> [String; 4] {
    let metadata = |field: &str| object::text(it, &["metadata", field]).to_owned();
    let own = |field: &str| object::text(it, &[field]).to_owned();
    [own("apiVersion"), own("kind"), metadata("namespace"), metadata("name")]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::controller::timing::Timing;

    fn control_plane() -> ControlPlane {
        let mut control_plane =
            ControlPlane::new("2026-01-01T00:00:00Z".parse().unwrap(), 1, Timing::default());
        control_plane.cluster.clock.set_speed(0);
        control_plane
    }

    fn pass(control_plane: &mut ControlPlane, seconds: i64) {
        for _ in 0..seconds {
            control_plane.cluster.clock.advance(Duration::from_secs(1));
            control_plane.run_until_idle();
        }
    }

    fn names(control_plane: &ControlPlane, plural: &str, group: &str) -> Vec<String> {
        control_plane
            .cluster
            .list(group, plural, None)
            .map(|it| object::name(it).to_owned())
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn worlds_side_by_side_run_and_can_be_reset() {
        let mut control_plane = control_plane();
        let mut demo = Demo::everything().unwrap();
        demo.set_up(&mut control_plane).unwrap();
        pass(&mut control_plane, 60);
        let pods = control_plane.cluster.list("", "pods", None);
        let not_ready: Vec<&str> = pods
            .filter(|pod| {
                !matches!(object::text(pod, &["status", "phase"]), "Running" | "Succeeded")
            })
            .map(|pod| object::name(pod))
            .collect();
        assert_eq!(not_ready, Vec::<&str>::new());
        let before = names(&control_plane, "deployments", "apps");
        assert_eq!(
            demo.incidents().map(|(name, begun)| format!("{name} {begun}")).collect::<Vec<_>>(),
            [
                "s1 false",
                "s2 false",
                "s3 false",
                "s4 false",
                "s4-forced false",
                "s5 false",
                "s5-cut-off false",
                "shutdown false",
                "load-balancer false",
                "manager false"
            ]
        );

        demo.start_incident(&mut control_plane, "s4").unwrap();
        pass(&mut control_plane, 40);
        assert!(demo.incidents().any(|it| it == ("s4", true)));
        assert_ne!(names(&control_plane, "deployments", "apps"), before);
        pass(&mut control_plane, 600);
        assert_eq!(
            names(&control_plane, "topics", "queue.example").len(),
            3,
            "no operator removes their finalizers"
        );
        demo.repair(&mut control_plane);
        pass(&mut control_plane, 60);
        assert_eq!(names(&control_plane, "topics", "queue.example"), Vec::<String>::new());

        let uids: BTreeSet<String> = control_plane
            .cluster
            .store
            .keys()
            .filter_map(|key| control_plane.cluster.get(&key).cloned())
            .map(|it| object::uid(&it).to_owned())
            .collect();
        demo.reset(&mut control_plane).unwrap();
        pass(&mut control_plane, 60);
        assert_eq!(names(&control_plane, "deployments", "apps"), before);
        assert!(demo.incidents().all(|(_, begun)| !begun));
        let again = control_plane
            .cluster
            .store
            .keys()
            .filter_map(|key| control_plane.cluster.get(&key).cloned());
        assert!(again.into_iter().all(|it| !uids.contains(object::uid(&it))), "all are new");
    }

    #[tokio::test(start_paused = true)]
    async fn fault_switches_are_listed_take_effect_and_are_repaired() {
        let mut control_plane = control_plane();
        let mut demo = Demo::everything().unwrap();
        demo.set_up(&mut control_plane).unwrap();
        pass(&mut control_plane, 60);
        let all = demo.fault_switches(&control_plane);
        for wanted in ["Node(\"node-a\")", "Metrics", "Nfs(", "Cloud", "Manager"] {
            assert!(
                all.iter().any(|(it, on)| format!("{it:?}").starts_with(wanted) && !on),
                "{wanted}: {all:?}"
            );
        }
        // Without the manager nothing follows from the others.
        for (switch, _) in all.iter().filter(|(switch, _)| *switch != FaultSwitch::Manager) {
            demo.set(&mut control_plane, switch, true).unwrap();
        }
        demo.set(&mut control_plane, &FaultSwitch::Volume("s2-archive".into()), true).unwrap();
        pass(&mut control_plane, 10);
        assert!(!control_plane.cluster.is_available("v1beta1.metrics.k8s.io"));
        demo.set(&mut control_plane, &FaultSwitch::Manager, true).unwrap();
        assert!(demo.fault_switches(&control_plane).iter().all(|(_, on)| *on));
        assert_eq!(demo.fault_switches(&control_plane).len(), all.len() + 1);
        demo.repair(&mut control_plane);
        let repaired = demo.fault_switches(&control_plane);
        assert!(repaired.iter().all(|(_, on)| !on));
        let held = FaultSwitch::Volume("s2-archive".into());
        assert_eq!(repaired.last(), Some(&(held, false)), "its switch stays, at the end");
        pass(&mut control_plane, 30);
        assert!(control_plane.cluster.is_available("v1beta1.metrics.k8s.io"));
        let unknown = demo.set(&mut control_plane, &FaultSwitch::Node("node-z".into()), true);
        assert!(matches!(unknown, Err(DemoError::FaultSwitch)));
        assert!(matches!(Demo::set_speed(&mut control_plane, 0), Err(DemoError::Speed(0))));
        Demo::set_speed(&mut control_plane, 10).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn operator_that_is_installed_again_has_its_account_and_its_rights() {
        let mut control_plane = control_plane();
        let mut demo = Demo::named("s4").unwrap().unwrap();
        demo.set_up(&mut control_plane).unwrap();
        pass(&mut control_plane, 30);
        let named = |group: &str, plural: &str, namespace: &str| {
            Key::new(group, plural, namespace, "queue-operator")
        };
        let rbac = "rbac.authorization.k8s.io";
        let rights = [
            named("", "serviceaccounts", "s4"),
            named(rbac, "clusterroles", ""),
            named(rbac, "clusterrolebindings", ""),
        ];
        let operator = named("apps", "deployments", "s4");
        for key in rights.iter().chain([&operator]) {
            let options = DeleteOptions::default();
            control_plane.cluster.delete(&Actor::admin(), key, &options).map(drop).unwrap();
        }
        pass(&mut control_plane, 30);
        demo.set(&mut control_plane, &FaultSwitch::Operator(operator), false).unwrap();
        assert!(rights.iter().all(|key| control_plane.cluster.get(key).is_some()));
        pass(&mut control_plane, 30);
        let topic = Key::new("queue.example", "topics", "s4", "orders");
        let options = DeleteOptions::default();
        control_plane.cluster.delete(&Actor::admin(), &topic, &options).map(drop).unwrap();
        pass(&mut control_plane, 30);
        assert!(control_plane.cluster.get(&topic).is_none());
    }

    #[test]
    fn own_world_may_be_a_list_of_either_kind_and_its_errors_are_named() {
        for good in ["[]", r#"{"kind": "List", "items": []}"#, r#"{"kind": "Namespace"}"#] {
            assert!(Demo::from_text("own", good, "").is_ok(), "{good}");
        }
        for bad in ["", "{", "7", r#"{"items": 7}"#] {
            assert!(Demo::from_text("own", bad, "").is_err(), "{bad}");
        }
        let script = Demo::from_text("own", "[]", "at noon nothing").map(|_| ()).unwrap_err();
        assert!(matches!(script, WorldError::Faults(_)), "{script}");
    }
}
