//! The dashboard without a cluster: the sandbox in this process in place of one, and the game that is played with it.
//! Nothing else of the server knows that it is not a real one.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

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

/// What begins by itself, such as the end of an incident's script, is told this soon.
const LOOK: Duration = Duration::from_millis(500);
/// The seed of all chance: everybody plays the same game.
const SEED: u64 = 1;
/// The name of the cluster.
const NAME: &str = "sandbox";

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum DemoClusterError {
    /// It is neither a world nor a file.
    #[error("--sandbox {0:?} is neither a world ({known}) nor a file", known = world::names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is there, and is no world.
    #[error(
        "{world} is no world of the sandbox: it is a JSON list of objects, or what `kubectl get -o json` prints; beside it may lie a script of faults with the ending .faults"
    )]
    Broken {
        /// Its name or path.
        world: String,
        /// What is wrong with it.
        source: WorldError,
    },
    /// There is no port for kubectl.
    #[error("the sandbox finds no port to listen on")]
    Port(#[source] std::io::Error),
}

/// A sandbox and the game that is played with it. Clones play the same one.
#[derive(Clone)]
pub struct DemoCluster {
    sandbox: Sandbox,
    game: Arc<Mutex<Demo>>,
    changed: Arc<Notify>,
}

impl DemoCluster {
    /// Sets a world up: of this name, of this file, or all worlds side by side.
    ///
    /// # Errors
    /// [`DemoClusterError`].
    pub fn open(world: Option<&str>) -> Result<Self, DemoClusterError> {
        let name = world.unwrap_or("the sandbox");
        let broken = |source| DemoClusterError::Broken { world: name.to_owned(), source };
        let game = match world {
            None => Demo::everything().map_err(broken)?,
            Some(name) => match Demo::named(name) {
                Some(game) => game.map_err(broken)?,
                None => of_file(Path::new(name))?,
            },
        };
        let mut control_plane = ControlPlane::new(Timestamp::now(), SEED, Timing::default());
        // It would grow for as long as this runs, and nobody asks for it.
        control_plane.cluster.log.stop();
        control_plane.run_until_idle();
        game.set_up(&mut control_plane).map_err(broken)?;
        Ok(Self {
            sandbox: Sandbox::of(control_plane),
            game: Arc::new(Mutex::new(game)),
            changed: Arc::default(),
        })
    }

    /// The cluster to serve.
    pub fn cluster(&self) -> Cluster {
        Cluster::served_by(self.sandbox.clone(), NAME)
    }

    /// Listens for kubectl on a free port of this machine, and writes the kubeconfig that leads there.
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

    /// Tells the hub how the game stands, now and whenever that changes, for ever or until the hub has ended.
    pub async fn tell(self, mailbox: mpsc::Sender<Incoming>) {
        let mut told = None;
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
            if told.as_ref() == Some(&card) {
                continue;
            }
            told = Some(card.clone());
            let seen = vec![Observation::Pace(card.speed), Observation::Demo(card)];
            if mailbox.send(Incoming::Observed(seen)).await.is_err() {
                return;
            }
        }
    }

    /// Plays.
    ///
    /// # Errors
    /// [`DemoError`] where there is nothing of that name.
    pub fn play(&self, play: &DemoCommand) -> Result<(), DemoError> {
        let mut game = self.game();
        let played = self.sandbox.with(|world| match play {
            DemoCommand::TurnOn { what: DemoFault::Incident, subject } => {
                game.start_incident(world, subject)
            }
            DemoCommand::TurnOn { what, subject } => {
                game.set(world, &fault_switch(*what, subject)?, true)
            }
            DemoCommand::TurnOff { what, subject } => {
                game.set(world, &fault_switch(*what, subject)?, false)
            }
            DemoCommand::Repair {} => {
                game.repair(world);
                Ok(())
            }
            DemoCommand::Speed { times } => Demo::set_speed(world, *times),
            DemoCommand::Reset {} => game.reset(world),
        });
        drop(game);
        self.sandbox.wake();
        self.changed.notify_one();
        played
    }

    fn card(&self) -> Card {
        let game = self.game();
        let switch =
            |what, subject: &str, on| FaultSwitch { what, subject: subject.to_owned(), on };
        let mut switches: Vec<FaultSwitch> = game
            .incidents()
            .map(|(name, begun)| switch(DemoFault::Incident, name, begun))
            .collect();
        self.sandbox.with(|world| {
            switches.extend(game.fault_switches(world).into_iter().map(|(mishap, broken)| {
                match mishap {
                    demo::FaultSwitch::Operator(key) => switch(
                        DemoFault::Operator,
                        &format!("{}/{}", key.namespace, key.name),
                        broken,
                    ),
                    demo::FaultSwitch::Node(name) => switch(DemoFault::Node, &name, broken),
                    demo::FaultSwitch::Metrics => switch(DemoFault::Metrics, "", broken),
                    demo::FaultSwitch::Nfs(server) => switch(DemoFault::Nfs, &server, broken),
                    demo::FaultSwitch::Volume(name) => switch(DemoFault::Volume, &name, broken),
                }
            }));
            Card { speed: world.cluster.clock.speed(), switches }
        })
    }

    fn game(&self) -> MutexGuard<'_, Demo> {
        self.game.lock().unwrap_or_else(PoisonError::into_inner)
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
        // What has happened has happened.
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
