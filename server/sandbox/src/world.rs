//! A whole sandbox at one moment, and the worlds it can begin with.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::{Actor, Cluster, DeleteOptions, Propagation};
use crate::controller::{Condition, Controllers, message, timing::Timing};
use crate::fault::{BadLine, Faults, Happening};
use crate::object;
use crate::patch::Patch;
use crate::printed;
use crate::status::Status;

/// Everything in the sandbox that moves.
pub struct World {
    pub cluster: Cluster,
    pub controllers: Controllers,
    failures: VecDeque<Failure>,
}

/// Something that was to happen to the cluster, and could not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub time: Timestamp,
    pub happening: Happening,
    pub why: String,
}

/// How many failures are kept in mind.
const FAILURES: usize = 100;

/// The machines of a world that does not say which it has.
const MACHINES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// The worlds by name: objects as a JSON list, and what happens to them.
const TEXTS: [(&str, &str, &str); 7] = [
    ("consortium", include_str!("world/consortium.json"), ""),
    ("shop", include_str!("world/shop.json"), ""),
    ("s1", include_str!("world/s1.json"), include_str!("world/s1.faults")),
    ("s2", include_str!("world/s2.json"), include_str!("world/s2.faults")),
    ("s3", include_str!("world/s3.json"), include_str!("world/s3.faults")),
    ("s4", include_str!("world/s4.json"), include_str!("world/s4.faults")),
    ("s5", include_str!("world/s5.json"), include_str!("world/s5.faults")),
];

/// Why a world cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BadWorld {
    #[error("its objects are no JSON")]
    Objects(#[source] serde_json::Error),
    #[error("its objects are no JSON list")]
    NoList,
    #[error("nothing is known of kind {0:?}")]
    Kind(String),
    #[error("the API refuses {name:?}: {message}")]
    Refused { name: String, message: String },
    #[error("its faults cannot be read")]
    Faults(#[source] BadLine),
}

impl World {
    /// A cluster right after its control plane came up, with machines and nothing on them.
    #[must_use]
    pub fn new(start: Timestamp, seed: u64, timing: Timing) -> Self {
        let mut cluster = Cluster::new(start, seed);
        cluster.toleration = timing.toleration;
        let mut controllers = Controllers::new(timing);
        controllers.breakage.machines = MACHINES.map(String::from).into();
        Self::of(cluster, controllers)
    }

    /// This cluster, and who acts in it.
    #[must_use]
    pub fn of(cluster: Cluster, controllers: Controllers) -> Self {
        Self { cluster, controllers, failures: VecDeque::new() }
    }

    /// The names that [`World::text`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TEXTS.iter().map(|(name, ..)| *name)
    }

    /// The objects and the faults of the world of this name.
    #[must_use]
    pub fn text(name: &str) -> Option<(&'static str, &'static str)> {
        TEXTS
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|(_, objects, faults)| (*objects, *faults))
    }

    /// Creates objects (a JSON list, or what kubectl prints), and plans what a script of faults says,
    /// counted from now.
    ///
    /// # Errors
    ///
    /// The first thing that cannot be read or is refused. What was created before it stays.
    pub fn load(&mut self, objects: &str, faults: &str) -> Result<(), BadWorld> {
        let faults = Faults::parse(faults, self.cluster.steady()).map_err(BadWorld::Faults)?;
        self.furnish(printed::read(objects)?)?;
        self.cluster.faults.join(faults);
        Ok(())
    }

    /// Creates objects in the order in which they are given. One with a UID was printed of another cluster: what it
    /// owned there it owns here, and where there is one of its name already, that one is it.
    ///
    /// # Errors
    ///
    /// The first one that is refused. What was created before it stays.
    pub fn furnish(&mut self, objects: Vec<Value>) -> Result<(), BadWorld> {
        let mut uids = HashMap::new();
        for mut object in objects {
            let there = object::uid(&object).to_owned();
            if there.is_empty() {
                self.create(object)?;
            } else {
                printed::adopt(&mut object, &uids);
                let existing = self.cluster.key_of(&object).and_then(|key| self.cluster.get(&key));
                let here = match existing {
                    Some(existing) => existing.clone(),
                    None => self.create(object)?,
                };
                uids.insert(there, object::uid(&here).to_owned());
            }
            // Namespaces are furnished before Pods come, definitions are served before their objects.
            self.turn();
        }
        Ok(())
    }

    fn create(&mut self, object: Value) -> Result<Arc<Value>, BadWorld> {
        let kind = || BadWorld::Kind(object::text(&object, &["kind"]).to_owned());
        let key = self.cluster.key_of(&object).ok_or_else(kind)?;
        let made =
            self.cluster.create(&Actor::admin(), &key.group, &key.plural, &key.namespace, object);
        let refused = |status: Status| BadWorld::Refused {
            name: key.name.to_string(),
            message: status.message,
        };
        made.map_err(refused)
    }

    /// Lets happen what is due, and controllers act until all is quiet. Says when something is due next.
    pub fn turn(&mut self) -> Option<Timestamp> {
        let now = self.cluster.steady();
        for happening in self.cluster.faults.take_due(now) {
            // Nothing of one that cannot happen ends what follows; it is said instead.
            let done = catch_unwind(AssertUnwindSafe(|| self.happen(happening.clone())));
            let why = match done {
                Ok(Ok(())) => continue,
                Ok(Err(why)) => why,
                Err(panic) => message(&*panic),
            };
            self.failures.push_back(Failure { time: now, happening, why });
            self.failures.drain(..self.failures.len().saturating_sub(FAILURES));
        }
        let due = self.controllers.turn(&mut self.cluster);
        due.into_iter().chain(self.cluster.faults.next()).min()
    }

    /// Takes what could not happen since it was asked last: the latest, oldest first.
    pub fn take_failures(&mut self) -> Vec<Failure> {
        self.failures.drain(..).collect()
    }

    /// Repairs everything that is broken: nodes, mounts, exports, controllers, webhooks, what is kept, the clock; nothing
    /// more happens by itself.
    pub fn repair(&mut self) {
        self.cluster.faults = Faults::default();
        self.cluster.deciders.clear();
        self.cluster.damaged.clear();
        self.cluster.clock.unskew();
        self.controllers.breakage.repair();
        let names: Vec<&str> = self.controllers.iter().map(|(name, _)| name).collect();
        for name in names {
            self.controllers.set(name, Condition::Running);
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        let Self { cluster, controllers, .. } = self;
        let breakage = &mut controllers.breakage;
        let somebody = Actor::admin();
        let refused = |status: Status| status.message;
        match happening {
            Happening::ClockJump(by) => cluster.clock.jump(by),
            Happening::Node { name, fault } => cluster.faults.set_node(&name, fault),
            Happening::Controller { name, condition } => {
                if !controllers.set(&name, condition) {
                    return Err(format!("no controller is called {name:?}"));
                }
            }
            Happening::Webhook { name, decider: Some(decider) } => {
                _ = cluster.deciders.insert(name, decider)
            }
            Happening::Webhook { name, decider: None } => _ = cluster.deciders.remove(&name),
            Happening::Volume { name, busy: true } => _ = breakage.busy.insert(name),
            Happening::Volume { name, busy: false } => _ = breakage.busy.remove(&name),
            Happening::Nfs { server, stale: true } => _ = breakage.stale_servers.insert(server),
            Happening::Nfs { server, stale: false } => breakage.restore(&server),
            Happening::Recreate(key) => {
                let now = cluster.get(&key).cloned();
                breakage.recreated.insert(key, now);
            }
            Happening::Delete(key) => {
                let options = DeleteOptions {
                    propagation: Some(Propagation::Background),
                    ..DeleteOptions::default()
                };
                cluster.delete(&somebody, &key, &options).map_err(refused)?;
            }
            Happening::Unfinalize { key, finalizer } => {
                let free = |it: &mut Value| _ = object::remove_finalizer(it, &finalizer);
                cluster.modify(&somebody, &key, "", free).map_err(refused)?;
            }
            Happening::Change { key, patch } => {
                cluster.patch(&somebody, &key, &Patch::Merge(patch), "").map_err(refused)?;
            }
            Happening::Corrupt(key) => {
                if cluster.get(&key).is_none() {
                    return Err(format!("there is no {key}"));
                }
                cluster.damaged.insert(key);
            }
            Happening::Erase(key) => {
                cluster.erase(&key).ok_or_else(|| format!("there is no {key}"))?;
            }
            Happening::Compact => cluster.store.compact(cluster.store.revision()),
        }
        Ok(())
    }
}
