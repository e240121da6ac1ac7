//! The sandbox as a game: worlds with what can go wrong in them, to be lived through and begun anew.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    cluster::{Actor, DeleteOptions},
    controller::{Controllers, operator::FINALIZES, timing::Timing},
    fault::{Faults, NodeFault},
    object,
    patch::Patch,
    printed,
    store::Key,
    world::{BadWorld, World},
};

/// Replicas of the metrics server of world `s3`.
const REPLICAS: u64 = 1;
/// How fast time may go: what happens faster, nobody can watch.
const SPEEDS: std::ops::RangeInclusive<u32> = 1..=10;

/// Something that can be broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mishap {
    /// The operator of this key, a Deployment, is not there: what only its Pods finalize is not.
    Operator(Key),
    /// The kubelet of this node says and does nothing.
    Node(String),
    /// The server behind the metrics API has no Pod.
    Metrics,
    /// This NFS server answers every handle with `ESTALE`.
    Nfs(String),
    /// This PersistentVolume cannot be unmounted: something has it open.
    Volume(String),
}

/// What cannot be done in a game.
#[derive(Debug, thiserror::Error)]
pub enum NoSuchPlay {
    #[error("there is nothing of that name to be broken here")]
    Mishap,
    #[error("no incident of this world is called {0:?}")]
    Incident(String),
    #[error("time goes 1 to 10 times as fast, not {0} times")]
    Speed(u32),
    #[error("it cannot be installed again: {0}")]
    Install(BadWorld),
    #[error("the world cannot be set up again")]
    World(#[from] BadWorld),
}

/// One part of a game: objects, and the script of what happens to them.
#[derive(Debug, Clone)]
struct Scene {
    name: String,
    objects: Vec<Value>,
    faults: String,
}

/// What a game begins with, and how far it is.
#[derive(Debug, Clone)]
pub struct Game {
    scenes: Vec<Scene>,
    begun: BTreeSet<String>,
}

impl Game {
    /// All worlds there are, beside each other in one cluster.
    ///
    /// # Errors
    /// [`BadWorld`], never with the worlds of a release.
    pub fn everything() -> Result<Self, BadWorld> {
        Self::of(
            World::names().filter_map(|name| {
                World::text(name).map(|(objects, faults)| (name, objects, faults))
            }),
        )
    }

    /// The world of this name; none where there is none.
    ///
    /// # Errors
    /// As [`Game::everything`].
    pub fn named(name: &str) -> Option<Result<Self, BadWorld>> {
        World::text(name).map(|(objects, faults)| Self::of([(name, objects, faults)]))
    }

    /// A world of one's own: objects as `kubectl get -o json` prints them, or a JSON list; and a script of faults, empty
    /// for none.
    ///
    /// # Errors
    /// What cannot be read. Whether the API takes the objects is only seen by [`Game::begin`].
    pub fn from_text(name: &str, objects: &str, faults: &str) -> Result<Self, BadWorld> {
        Self::of([(name, objects, faults)])
    }

    fn of<'a>(
        texts: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    ) -> Result<Self, BadWorld> {
        let mut seen = BTreeSet::new();
        let mut scenes = Vec::new();
        for (name, objects, faults) in texts {
            Faults::parse(faults, jiff::Timestamp::UNIX_EPOCH).map_err(BadWorld::Faults)?;
            let mut objects = printed::read(objects)?;
            // Worlds may share a driver or a class.
            objects.retain(|it| seen.insert(identity(it)));
            scenes.push(Scene { name: name.into(), objects, faults: faults.into() });
        }
        Ok(Self { scenes, begun: BTreeSet::new() })
    }

    /// Puts the game's objects into a world that is empty.
    ///
    /// # Errors
    /// What the API refuses.
    pub fn set_up(&self, world: &mut World) -> Result<(), BadWorld> {
        for scene in &self.scenes {
            world.furnish(scene.objects.clone())?;
        }
        Ok(())
    }

    /// Makes everything as it was at the start, with new objects.
    ///
    /// # Errors
    /// [`NoSuchPlay::World`], never where it could be set up before.
    pub fn reset(&mut self, world: &mut World) -> Result<(), NoSuchPlay> {
        let machines = std::mem::take(&mut world.controllers.breakage.machines);
        world.controllers = Controllers::new(Timing::default());
        world.controllers.breakage.machines = machines;
        world.cluster.reset();
        self.begun.clear();
        Ok(self.set_up(world)?)
    }

    /// The incidents, and whether they have begun.
    pub fn incidents(&self) -> impl Iterator<Item = (&str, bool)> {
        let scenes = self.scenes.iter().filter(|scene| !scene.faults.trim().is_empty());
        scenes.map(|scene| (scene.name.as_str(), self.begun.contains(&scene.name)))
    }

    /// Lets an incident begin: what its script says happens from now on.
    ///
    /// # Errors
    /// [`NoSuchPlay::Incident`].
    pub fn begin(&mut self, world: &mut World, name: &str) -> Result<(), NoSuchPlay> {
        let unknown = || NoSuchPlay::Incident(name.chars().take(64).collect());
        let scene = self.scenes.iter().find(|it| it.name == name && !it.faults.trim().is_empty());
        let scene = scene.ok_or_else(unknown)?;
        if self.begun.insert(name.to_owned()) {
            let faults =
                Faults::parse(&scene.faults, world.cluster.steady()).map_err(|_| unknown())?;
            world.cluster.faults.join(faults);
        }
        Ok(())
    }

    /// What can be broken in a world, and whether it is; of the volumes only those that are, of the operators those whose
    /// namespace is there.
    #[must_use]
    pub fn mishaps(&self, world: &World) -> Vec<(Mishap, bool)> {
        let breakage = &world.controllers.breakage;
        let mut mishaps: Vec<(Mishap, bool)> = Vec::new();
        for (key, _) in self.operators(world) {
            let missing = world.cluster.get(&key).is_none();
            if world.cluster.get(&Key::new("", "namespaces", "", &key.namespace)).is_some() {
                mishaps.push((Mishap::Operator(key), missing));
            }
        }
        for machine in &breakage.machines {
            let silent = world.cluster.faults.node(machine) == Some(NodeFault::Silent);
            mishaps.push((Mishap::Node(machine.clone()), silent));
        }
        if let Some(server) = metrics_server(world) {
            let none = server["spec"]["replicas"] == 0;
            mishaps.push((Mishap::Metrics, none));
        }
        let volumes = world.cluster.list("", "persistentvolumes", None);
        let servers: BTreeSet<&str> = volumes
            .map(|volume| object::text(volume, &["spec", "nfs", "server"]))
            .filter(|server| !server.is_empty())
            .collect();
        mishaps.extend(servers.into_iter().map(|server| {
            (Mishap::Nfs(server.to_owned()), breakage.stale_servers.contains(server))
        }));
        mishaps.extend(breakage.busy.iter().map(|name| (Mishap::Volume(name.clone()), true)));
        mishaps
    }

    /// Breaks something, or repairs it.
    ///
    /// # Errors
    /// [`NoSuchPlay::Mishap`] where there is no such thing, [`NoSuchPlay::Install`] where its namespace is going.
    pub fn set(&self, world: &mut World, mishap: &Mishap, broken: bool) -> Result<(), NoSuchPlay> {
        let known = match mishap {
            Mishap::Volume(name) => {
                world.cluster.get(&Key::new("", "persistentvolumes", "", name)).is_some()
            }
            mishap => self.mishaps(world).iter().any(|(known, _)| known == mishap),
        };
        if !known {
            return Err(NoSuchPlay::Mishap);
        }
        let breakage = &mut world.controllers.breakage;
        match mishap {
            Mishap::Operator(key) if broken => uninstall(world, key),
            Mishap::Operator(key) => self.install(world, key)?,
            Mishap::Node(name) => {
                world.cluster.faults.set_node(name, broken.then_some(NodeFault::Silent));
            }
            Mishap::Metrics => scale_metrics(world, if broken { 0 } else { REPLICAS }),
            Mishap::Nfs(server) if broken => _ = breakage.stale_servers.insert(server.clone()),
            Mishap::Nfs(server) => breakage.restore(server),
            Mishap::Volume(name) if broken => _ = breakage.busy.insert(name.clone()),
            Mishap::Volume(name) => _ = breakage.busy.remove(name),
        }
        Ok(())
    }

    /// Repairs everything that is broken; nothing more happens by itself.
    pub fn repair(&self, world: &mut World) {
        world.repair();
        scale_metrics(world, REPLICAS);
        for (mishap, _) in self.mishaps(world) {
            if let Mishap::Operator(key) = mishap {
                // In a namespace that is going there is no place for it any more.
                drop(self.install(world, &key));
            }
        }
    }

    /// The operators of the game: Deployments whose Pods finalize.
    fn operators<'a>(&'a self, world: &'a World) -> impl Iterator<Item = (Key, &'a Value)> {
        let objects = self.scenes.iter().flat_map(|scene| &scene.objects);
        objects
            .filter(|it| {
                let annotations = &it["spec"]["template"]["metadata"]["annotations"];
                it["kind"] == "Deployment" && annotations[FINALIZES].is_string()
            })
            .filter_map(|it| Some((world.cluster.key_of(it)?, it)))
    }

    fn install(&self, world: &mut World, key: &Key) -> Result<(), NoSuchPlay> {
        let found = self.operators(world).find(|(known, _)| known == key);
        let object = found.map(|(_, object)| object.clone()).ok_or(NoSuchPlay::Mishap)?;
        if world.cluster.get(key).is_none() {
            world.furnish(vec![object]).map_err(NoSuchPlay::Install)?;
        }
        Ok(())
    }

    /// Lets time go this many times as fast.
    ///
    /// # Errors
    /// [`NoSuchPlay::Speed`] outside 1 to 10.
    pub fn set_speed(world: &mut World, speed: u32) -> Result<(), NoSuchPlay> {
        if !SPEEDS.contains(&speed) {
            return Err(NoSuchPlay::Speed(speed));
        }
        world.cluster.clock.set_speed(speed);
        Ok(())
    }
}

/// As `kubectl delete deployment` does.
fn uninstall(world: &mut World, operator: &Key) {
    // One that is being deleted already need not be.
    drop(world.cluster.delete(&Actor::admin(), operator, &DeleteOptions::default()));
}

fn metrics_key() -> Key {
    Key::new("apps", "deployments", "kube-system", "metrics-server")
}

fn metrics_server(world: &World) -> Option<&Value> {
    world.cluster.get(&metrics_key()).map(|server| &**server)
}

fn scale_metrics(world: &mut World, replicas: u64) {
    if metrics_server(world).is_some_and(|server| server["spec"]["replicas"] != replicas) {
        let scaled = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        // One that is just being deleted need not be scaled.
        drop(world.cluster.patch(&Actor::admin(), &metrics_key(), &scaled, ""));
    }
}

/// A JSON list of objects, or a List as kubectl prints it.
fn identity(it: &Value) -> [String; 4] {
    let metadata = |field: &str| object::text(it, &["metadata", field]).to_owned();
    let own = |field: &str| object::text(it, &[field]).to_owned();
    [own("apiVersion"), own("kind"), metadata("namespace"), metadata("name")]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn world() -> World {
        let mut world = World::new("2026-01-01T00:00:00Z".parse().unwrap(), 1, Timing::default());
        world.cluster.clock.set_speed(0);
        world
    }

    fn pass(world: &mut World, seconds: i64) {
        for _ in 0..seconds {
            world.cluster.clock.advance(Duration::from_secs(1));
            world.turn();
        }
    }

    fn names(world: &World, plural: &str, group: &str) -> Vec<String> {
        world.cluster.list(group, plural, None).map(|it| object::name(it).to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn everything_runs_side_by_side_and_can_be_begun_anew() {
        let mut world = world();
        let mut game = Game::everything().unwrap();
        game.set_up(&mut world).unwrap();
        pass(&mut world, 60);
        let pods = world.cluster.list("", "pods", None);
        let not_ready: Vec<&str> = pods
            .filter(|pod| {
                !matches!(object::text(pod, &["status", "phase"]), "Running" | "Succeeded")
            })
            .map(|pod| object::name(pod))
            .collect();
        assert_eq!(not_ready, Vec::<&str>::new());
        let before = names(&world, "deployments", "apps");
        assert_eq!(
            game.incidents().map(|(name, begun)| format!("{name} {begun}")).collect::<Vec<_>>(),
            ["s1 false", "s2 false", "s3 false", "s4 false", "s5 false"]
        );

        game.begin(&mut world, "s4").unwrap();
        pass(&mut world, 40);
        assert!(game.incidents().any(|it| it == ("s4", true)));
        assert_ne!(names(&world, "deployments", "apps"), before);
        pass(&mut world, 600);
        assert_eq!(names(&world, "topics", "queue.example").len(), 2, "nobody finalizes them");
        game.repair(&mut world);
        pass(&mut world, 60);
        assert_eq!(names(&world, "topics", "queue.example"), Vec::<String>::new());

        let uids: BTreeSet<String> = world
            .cluster
            .store
            .keys()
            .filter_map(|key| world.cluster.get(&key).cloned())
            .map(|it| object::uid(&it).to_owned())
            .collect();
        game.reset(&mut world).unwrap();
        pass(&mut world, 60);
        assert_eq!(names(&world, "deployments", "apps"), before);
        assert!(game.incidents().all(|(_, begun)| !begun));
        let again = world.cluster.store.keys().filter_map(|key| world.cluster.get(&key).cloned());
        assert!(again.into_iter().all(|it| !uids.contains(object::uid(&it))), "all are new");
    }

    #[tokio::test(start_paused = true)]
    async fn what_can_be_broken_is_listed_breaks_and_is_repaired() {
        let mut world = world();
        let game = Game::everything().unwrap();
        game.set_up(&mut world).unwrap();
        pass(&mut world, 60);
        let all = game.mishaps(&world);
        for wanted in ["Node(\"node-a\")", "Metrics", "Nfs("] {
            assert!(
                all.iter().any(|(it, on)| format!("{it:?}").starts_with(wanted) && !on),
                "{wanted}: {all:?}"
            );
        }
        for (mishap, _) in &all {
            game.set(&mut world, mishap, true).unwrap();
        }
        game.set(&mut world, &Mishap::Volume("s2-archive".into()), true).unwrap();
        assert!(game.mishaps(&world).iter().all(|(_, on)| *on));
        assert_eq!(game.mishaps(&world).len(), all.len() + 1);
        pass(&mut world, 10);
        assert!(!world.cluster.is_available("v1beta1.metrics.k8s.io"));
        game.repair(&mut world);
        assert!(game.mishaps(&world).iter().all(|(_, on)| !on));
        pass(&mut world, 30);
        assert!(world.cluster.is_available("v1beta1.metrics.k8s.io"));
        let unknown = game.set(&mut world, &Mishap::Node("node-z".into()), true);
        assert!(matches!(unknown, Err(NoSuchPlay::Mishap)));
        assert!(matches!(Game::set_speed(&mut world, 0), Err(NoSuchPlay::Speed(0))));
        Game::set_speed(&mut world, 10).unwrap();
    }

    #[test]
    fn a_world_of_ones_own_may_be_a_list_of_either_kind_and_says_what_is_wrong_with_it() {
        for good in ["[]", r#"{"kind": "List", "items": []}"#, r#"{"kind": "Namespace"}"#] {
            assert!(Game::from_text("own", good, "").is_ok(), "{good}");
        }
        for bad in ["", "{", "7", r#"{"items": 7}"#] {
            assert!(Game::from_text("own", bad, "").is_err(), "{bad}");
        }
        let script = Game::from_text("own", "[]", "at noon nothing").map(|_| ()).unwrap_err();
        assert!(matches!(script, BadWorld::Faults(_)), "{script}");
    }
}
