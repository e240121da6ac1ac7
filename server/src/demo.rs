//! The dashboard without a cluster: the sandbox in this process in place of one, and the game that is played with it.
//! Nothing else of the server knows that it is not a real one.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use sandbox::{
    controller::timing::Timing,
    play::{self, Game, NoSuchPlay},
    service::{Port, Sandbox, kubeconfig},
    store::Key,
    world::{BadWorld, World},
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
pub enum DemoError {
    /// It is neither a world nor a file.
    #[error("--sandbox {0:?} is neither a world ({known}) nor a file", known = World::names().collect::<Vec<_>>().join(", "))]
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
        source: BadWorld,
    },
    /// There is no port for kubectl.
    #[error("the sandbox finds no port to listen on")]
    Port(#[source] std::io::Error),
}

/// A sandbox and the game that is played with it. Clones play the same one.
#[derive(Clone)]
pub struct Demo {
    sandbox: Sandbox,
    game: Arc<Mutex<Game>>,
    changed: Arc<Notify>,
}

impl Demo {
    /// Sets a world up: of this name, of this file, or all worlds side by side.
    ///
    /// # Errors
    /// [`DemoError`].
    pub fn open(world: Option<&str>) -> Result<Self, DemoError> {
        let name = world.unwrap_or("the sandbox");
        let broken = |source| DemoError::Broken { world: name.to_owned(), source };
        let game = match world {
            None => Game::everything().map_err(broken)?,
            Some(name) => match Game::named(name) {
                Some(game) => game.map_err(broken)?,
                None => of_file(Path::new(name))?,
            },
        };
        let mut world = World::new(Timestamp::now(), SEED, Timing::default());
        // It would grow for as long as this runs, and nobody asks for it.
        world.cluster.log.stop();
        world.turn();
        game.set_up(&mut world).map_err(broken)?;
        Ok(Self {
            sandbox: Sandbox::of(world),
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
    /// [`DemoError::Port`], [`DemoError::Unreadable`] where the kubeconfig cannot be written.
    pub async fn listen(&self, path: &Path) -> Result<impl Future<Output = ()> + use<>, DemoError> {
        let port = Port::bind(0).await.map_err(DemoError::Port)?;
        let address = port.address().map_err(DemoError::Port)?;
        std::fs::write(path, kubeconfig(address, None))
            .map_err(|source| DemoError::Unreadable { path: path.to_owned(), source })?;
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
            for failure in self.sandbox.with(World::take_failures) {
                tracing::error!(what = ?failure.happening, why = ?failure.why, "a happening of the sandbox could not happen");
            }
            for fall in self.sandbox.with(|world| world.controllers.take_falls()) {
                tracing::error!(controller = fall.controller, why = ?fall.message, "a controller of the sandbox panicked");
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
    /// [`NoSuchPlay`] where there is nothing of that name.
    pub fn play(&self, play: &DemoCommand) -> Result<(), NoSuchPlay> {
        let mut game = self.game();
        let played = self.sandbox.with(|world| match play {
            DemoCommand::TurnOn { what: DemoFault::Incident, subject } => {
                game.begin(world, subject)
            }
            DemoCommand::TurnOn { what, subject } => {
                game.set(world, &mishap(*what, subject)?, true)
            }
            DemoCommand::TurnOff { what, subject } => {
                game.set(world, &mishap(*what, subject)?, false)
            }
            DemoCommand::Repair {} => {
                game.repair(world);
                Ok(())
            }
            DemoCommand::Speed { times } => Game::set_speed(world, *times),
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
            switches.extend(game.mishaps(world).into_iter().map(|(mishap, broken)| match mishap {
                play::Mishap::Operator(key) => {
                    switch(DemoFault::Operator, &format!("{}/{}", key.namespace, key.name), broken)
                }
                play::Mishap::Node(name) => switch(DemoFault::Node, &name, broken),
                play::Mishap::Metrics => switch(DemoFault::Metrics, "", broken),
                play::Mishap::Nfs(server) => switch(DemoFault::Nfs, &server, broken),
                play::Mishap::Volume(name) => switch(DemoFault::Volume, &name, broken),
            }));
            Card { speed: world.cluster.clock.speed(), switches }
        })
    }

    fn game(&self) -> MutexGuard<'_, Game> {
        self.game.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn mishap(what: DemoFault, subject: &str) -> Result<play::Mishap, NoSuchPlay> {
    let owned = || subject.to_owned();
    Ok(match what {
        DemoFault::Operator => {
            let (namespace, name) = subject.split_once('/').ok_or(NoSuchPlay::Mishap)?;
            play::Mishap::Operator(Key::new("apps", "deployments", namespace, name))
        }
        DemoFault::Node => play::Mishap::Node(owned()),
        DemoFault::Metrics => play::Mishap::Metrics,
        DemoFault::Nfs => play::Mishap::Nfs(owned()),
        DemoFault::Volume => play::Mishap::Volume(owned()),
        // What has happened has happened.
        DemoFault::Incident => return Err(NoSuchPlay::Mishap),
    })
}

fn of_file(path: &Path) -> Result<Game, DemoError> {
    let name = path.display().to_string();
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|source| DemoError::Unreadable { path: path.to_owned(), source })
    };
    if !path.exists() {
        return Err(DemoError::Unknown(name));
    }
    let script = path.with_extension("faults");
    let faults = if script.exists() { read(&script)? } else { String::new() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Game::from_text(&stem, &read(path)?, &faults)
        .map_err(|source| DemoError::Broken { world: name, source })
}
