//! Remedies in a race: for each one the cluster changes so that its decision is false, once before its premises are read and
//! once in the last moment before the request arrives. Nothing that a request can carry may be acted on when it is false; the rest
//! is reported. `race` runs one remedy in all its races, and `table` says that every remedy has them.

mod annotation;
mod api;
mod conversion;
mod finalizer;
mod grace;
mod halt;
mod in_use;
mod last_look;
mod namespace;
mod node;
mod owner;
mod pod;
mod put_back;
mod race;
mod rights;
mod scale_down;
mod spec_finalizer;
mod table;
mod webhook;

use std::time::Duration;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    control_plane::ControlPlane,
    demo::Demo,
    object,
    store::Key,
};
use serde_json::{Value, json};
use server::hub::Refusal;
use teardown::{
    diagnosis::Diagnosis,
    message::{Message, Record, Topic},
    remedy::{AttemptOutcome, Confirmation, PermitAnswer, Remedy, RemedyAct, RemedyRefusal},
};

use super::setup::{Server, create};

fn li() -> Actor {
    Actor { name: "li".into(), ..Actor::admin() }
}

fn modify(world: &mut ControlPlane, key: &Key, of: &str, change: impl FnOnce(&mut Value)) {
    world.cluster.modify(&Actor::admin(), key, of, change).map(drop).unwrap();
}

fn label(world: &mut ControlPlane, key: &Key) {
    modify(world, key, "", |it| object::set(it, &["metadata", "labels", "moved"], json!("yes")));
}

fn delete(world: &mut ControlPlane, key: &Key) {
    world.cluster.delete(&Actor::admin(), key, &DeleteOptions::default()).map(drop).unwrap();
}

/// Removes an object as if it had never been: a resource, and the name behind its namespace.
fn erase(world: &mut ControlPlane, object: &str) {
    schedule(world, &format!("at 0s erase {object}"));
    world.run_until_idle();
}

fn has(world: &ControlPlane, group: &str, plural: &str, namespace: &str, name: &str) -> bool {
    world.cluster.get(&Key::new(group, plural, namespace, name)).is_some()
}

/// Has faults happen; their times count from now.
fn schedule(world: &mut ControlPlane, script: &str) {
    let faults = world.parse_faults(script).unwrap();
    world.cluster.faults.extend(faults);
}

/// A world of the demo, with its incident under way.
fn incident(world: &mut ControlPlane, name: &'static str) {
    let mut demo = Demo::named(name).unwrap().unwrap();
    demo.set_up(world).unwrap();
    demo.start_incident(world, name).unwrap();
}

impl Server {
    /// The diagnosis and the remedy, once it can be confirmed.
    async fn offer(&self, is_it: impl Fn(&RemedyAct) -> bool) -> (Diagnosis, Remedy) {
        self.offered(is_it).await.expect("the remedy is never offered")
    }

    /// The same; `None` if it is never offered.
    async fn offered(&self, is_it: impl Fn(&RemedyAct) -> bool) -> Option<(Diagnosis, Remedy)> {
        for _ in 0..1_000 {
            let message = self.hub.query(Topic::Trouble).await.unwrap();
            let records = match message {
                Ok(Message::Snapshot { records, .. }) => records,
                _ => Vec::new(),
            };
            for record in records {
                let Record::Diagnosis(card) = record else { continue };
                let id = card.diagnosis.id.clone();
                let Ok(found) = self.hub.remedies(id).await.unwrap() else { continue };
                let offered = |it: &Remedy| is_it(&it.act) && it.check_offered().is_ok();
                if let Some(remedy) = found.remedies.into_iter().find(offered) {
                    return Some(((*found.card.diagnosis).clone(), remedy));
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        None
    }

    /// The remedies of all diagnoses, as a reader of their cards sees them.
    async fn shown(&self) -> Vec<Remedy> {
        let mut shown = Vec::new();
        let Ok(Message::Snapshot { records, .. }) = self.hub.query(Topic::Trouble).await.unwrap()
        else {
            return shown;
        };
        for record in records {
            let Record::Diagnosis(card) = record else { continue };
            let id = card.diagnosis.id.clone();
            shown.extend(self.hub.remedies(id).await.unwrap().map_or(vec![], |it| it.remedies));
        }
        shown
    }

    /// Confirms a remedy.
    async fn confirm(&self, offer: &(Diagnosis, Remedy)) -> String {
        self.confirmed(offer).await.unwrap()
    }

    /// The same; an `Err` if the hub refuses.
    async fn confirmed(
        &self,
        (diagnosis, remedy): &(Diagnosis, Remedy),
    ) -> Result<String, Refusal> {
        let given = Confirmation {
            diagnosis: diagnosis.id.clone(),
            remedy: remedy.hash(diagnosis),
            confirm: remedy.request().unwrap().object.name.to_string(),
            statement: "Li looked at the consoles of node-a and node-z".into(),
        };
        self.hub.remedy(given, "Li".into()).await.unwrap()
    }

    async fn outcome(&self, id: &str) -> AttemptOutcome {
        for _ in 0..400 {
            let attempts = self.hub.attempts().await.unwrap();
            let attempt = attempts.into_iter().find(|it| it.id == id).unwrap();
            if !attempt.is_open() {
                return attempt.outcome;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the remedy never ends");
    }

    /// The changes that the server had an effect with, other than reviews.
    fn effects(&self) -> Vec<String> {
        let relevant = |entry: &sandbox::log::Entry| {
            let key = entry.key.as_ref()?;
            let is_change = matches!(entry.verb.as_str(), "create" | "delete" | "patch" | "update");
            let is_ours = entry.actor == "li" && entry.effect && !entry.dry_run;
            (is_change && is_ours && !key.plural.ends_with("reviews"))
                .then(|| format!("{} {}/{}", entry.verb, key.plural, key.name))
        };
        self.sandbox.with(|world| world.cluster.log.entries().iter().filter_map(relevant).collect())
    }
}
