//! The demo: the dashboard with a simulated cluster in this process, and the faults that can be switched on in it. No
//! other module of the server knows that the cluster is not real, except for the demo's controls on the page.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use app::text;
use jiff::Timestamp;
use sandbox::{
    control_plane::ControlPlane,
    controller::timing::Timing,
    demo::{self, Demo, DemoError},
    service::{Port, Sandbox},
    store::Key,
    world::{self, WorldError},
};
use teardown::{
    demo::{Demo as Card, DemoCommand, DemoFault, FaultSwitch},
    observation::Observation,
};
use tokio::{
    sync::{Notify, mpsc},
    time::MissedTickBehavior,
};

use crate::{cluster::Cluster, hub::Incoming};

/// The time between two reports of changes that the simulation makes by itself, such as the end of an incident.
const LOOK: Duration = Duration::from_millis(500);
/// The seed of the simulation, so that every demo is the same.
const SEED: u64 = 1;
/// The cluster's name.
const NAME: &str = "sandbox";

/// The reason why the demo cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DemoClusterError {
    /// The argument is neither a world nor a file.
    #[error("--sandbox {0:?} is neither a world ({known}) nor a file", known = world::names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is not a world.
    #[error(
        "{world} cannot be read as a world of the sandbox; give a JSON list of objects as `kubectl get -o json` prints it, and optionally a file of faults beside it with the ending .faults"
    )]
    Broken {
        /// The name or path of the world.
        world: String,
        /// The problem in the file.
        source: WorldError,
    },
    /// The operating system gives no port for kubectl.
    #[error("the sandbox cannot listen on a port of this machine for kubectl")]
    Port(#[source] std::io::Error),
}

/// A simulated cluster and its fault switches. Clones share both.
#[derive(Clone)]
pub struct DemoCluster {
    sandbox: Sandbox,
    demo: Arc<Mutex<Demo>>,
    changed: Arc<Notify>,
}

impl DemoCluster {
    /// Starts a world by its name or from a file, or all worlds together.
    ///
    /// # Errors
    /// [`DemoClusterError`].
    pub fn open(world: Option<&str>) -> Result<Self, DemoClusterError> {
        let name = world.unwrap_or("the sandbox");
        let broken = |source| DemoClusterError::Broken { world: name.to_owned(), source };
        let demo = match world {
            None => Demo::everything().map_err(broken)?,
            Some(name) => match Demo::named(name) {
                Some(demo) => demo.map_err(broken)?,
                None => of_file(Path::new(name))?,
            },
        };
        let mut control_plane = ControlPlane::new(Timestamp::now(), SEED, Timing::default());
        control_plane.controllers.add_cloud();
        control_plane.controllers.add_leader_election();
        control_plane.controllers.add_csi_nodes();
        // The log would grow as long as the process runs, and nothing reads it.
        control_plane.cluster.log.stop();
        control_plane.run_until_idle();
        demo.set_up(&mut control_plane).map_err(broken)?;
        Ok(Self {
            sandbox: Sandbox::of(control_plane),
            demo: Arc::new(Mutex::new(demo)),
            changed: Arc::default(),
        })
    }

    /// The cluster to serve. Its kubelets are asked: no credentials of anybody are at risk.
    pub fn cluster(&self) -> Cluster {
        Cluster::served_by(self.sandbox.clone(), NAME).reading_kubelet_logs()
    }

    /// Listens for kubectl on a free port of this machine, and writes a kubeconfig for it.
    ///
    /// # Errors
    /// [`DemoClusterError::Port`], [`DemoClusterError::Unreadable`] where the kubeconfig cannot be written.
    pub async fn listen(
        &self,
        path: &Path,
    ) -> Result<impl Future<Output = ()> + use<>, DemoClusterError> {
        let port = Port::bind(0).await.map_err(DemoClusterError::Port)?;
        port.write_kubeconfig(path)
            .map_err(|source| DemoClusterError::Unreadable { path: path.to_owned(), source })?;
        let sandbox = self.sandbox.clone();
        Ok(async move { port.serve(&sandbox).await })
    }

    /// Reports the state of the demo to the hub now and after each change, until the hub ends.
    pub async fn report(self, mailbox: mpsc::Sender<Incoming>) {
        let mut reported = None;
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = self.changed.notified() => {}
            }
            for failure in self.sandbox.with(ControlPlane::take_failed_faults) {
                tracing::error!(fault = ?failure.fault, reason = ?failure.reason, "a fault of the sandbox could not be applied");
            }
            for panic in self.sandbox.with(|world| world.controllers.take_panics()) {
                tracing::error!(controller = panic.controller, why = ?panic.message, "a controller of the sandbox panicked");
            }
            let card = self.card();
            if reported.as_ref() == Some(&card) {
                continue;
            }
            reported = Some(card.clone());
            let pace = Incoming::Observed(vec![Observation::Pace(card.speed)]);
            for incoming in [pace, Incoming::Demo(card)] {
                if mailbox.send(incoming).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Executes a command of the demo's controls.
    ///
    /// # Errors
    /// [`DemoError`] where there is nothing of that name.
    pub fn run_command(&self, command: &DemoCommand) -> Result<(), DemoError> {
        let mut demo = self.demo();
        let result = self.sandbox.with(|world| match command {
            DemoCommand::TurnOn { what: DemoFault::Incident, subject } => {
                demo.start_incident(world, subject)
            }
            DemoCommand::TurnOn { what, subject } => {
                demo.set(world, &fault_switch(*what, subject)?, true)
            }
            DemoCommand::TurnOff { what, subject } => {
                demo.set(world, &fault_switch(*what, subject)?, false)
            }
            DemoCommand::Repair {} => {
                demo.repair(world);
                Ok(())
            }
            DemoCommand::Speed { times } => Demo::set_speed(world, *times),
            DemoCommand::Reset {} => demo.reset(world),
        });
        drop(demo);
        self.sandbox.wake();
        self.changed.notify_one();
        result
    }

    fn card(&self) -> Card {
        let mut demo = self.demo();
        let switch = |what, subject: &str, on| {
            let story = if what == DemoFault::Incident { text::story(subject) } else { "" };
            FaultSwitch {
                what,
                subject: subject.to_owned(),
                on,
                label: text::switch(what, subject),
                story: story.to_owned(),
            }
        };
        let mut switches: Vec<FaultSwitch> = demo
            .incidents()
            .map(|(name, begun)| switch(DemoFault::Incident, name, begun))
            .collect();
        self.sandbox.with(|world| {
            switches.extend(demo.fault_switches(world).into_iter().map(
                |(fault, broken)| match fault {
                    demo::FaultSwitch::Operator(key) => switch(
                        DemoFault::Operator,
                        &format!("{}/{}", key.namespace, key.name),
                        broken,
                    ),
                    demo::FaultSwitch::Node(name) => switch(DemoFault::Node, &name, broken),
                    demo::FaultSwitch::Metrics => switch(DemoFault::Metrics, "", broken),
                    demo::FaultSwitch::Nfs(server) => switch(DemoFault::Nfs, &server, broken),
                    demo::FaultSwitch::Volume(name) => switch(DemoFault::Volume, &name, broken),
                    demo::FaultSwitch::Cloud => switch(DemoFault::Cloud, "", broken),
                    demo::FaultSwitch::Manager => switch(DemoFault::Manager, "", broken),
                },
            ));
            Card { speed: world.cluster.clock.speed(), switches }
        })
    }

    fn demo(&self) -> MutexGuard<'_, Demo> {
        self.demo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fault_switch(what: DemoFault, subject: &str) -> Result<demo::FaultSwitch, DemoError> {
    let owned = || subject.to_owned();
    Ok(match what {
        DemoFault::Operator => {
            let (namespace, name) = subject.split_once('/').ok_or(DemoError::FaultSwitch)?;
            demo::FaultSwitch::Operator(Key::new("apps", "deployments", namespace, name))
        }
        DemoFault::Node => demo::FaultSwitch::Node(owned()),
        DemoFault::Metrics => demo::FaultSwitch::Metrics,
        DemoFault::Nfs => demo::FaultSwitch::Nfs(owned()),
        DemoFault::Volume => demo::FaultSwitch::Volume(owned()),
        DemoFault::Cloud => demo::FaultSwitch::Cloud,
        DemoFault::Manager => demo::FaultSwitch::Manager,
        // An incident that has begun cannot be taken back.
        DemoFault::Incident => return Err(DemoError::FaultSwitch),
    })
}

fn of_file(path: &Path) -> Result<Demo, DemoClusterError> {
    let name = path.display().to_string();
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|source| DemoClusterError::Unreadable { path: path.to_owned(), source })
    };
    if !path.exists() {
        return Err(DemoClusterError::Unknown(name));
    }
    let script = path.with_extension("faults");
    let faults = if script.exists() { read(&script)? } else { String::new() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Demo::from_text(&stem, &read(path)?, &faults)
        .map_err(|source| DemoClusterError::Broken { world: name, source })
}
