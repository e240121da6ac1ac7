//! A controller that panics, beside others.

use serde_json::json;

use super::read::text;
use super::*;
use crate::cluster::Actor;
use crate::store::Key;

/// Panics on a ConfigMap that asks for it, and answers every other one.
struct Fragile;

impl Reconcile for Fragile {
    type Work = Key;
    const NAME: &'static str = "fragile-controller";
    const USER: &'static str = "fragile-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if event.key.is_of("", "configmaps") {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        if let Some(map) = client.get(key) {
            assert_ne!(text(&map, "/data/mood"), "bad", "a bad mood");
            client.modify(key, |it| it["data"]["seen"] = json!("yes"))?;
        }
        Ok(Next::Rest)
    }
}

fn mood(cluster: &mut Cluster, name: &str, mood: &str) -> Key {
    let object = json!({"metadata": {"name": name}, "data": {"mood": mood}});
    cluster.create(&Actor::admin(), "", "configmaps", "default", object).unwrap();
    Key::new("", "configmaps", "default", name)
}

#[test]
fn panic_stops_one_controller_for_a_while() {
    let mut cluster = Cluster::new("2026-11-21T08:00:00Z".parse().unwrap(), 1);
    cluster.clock.set_speed(0);
    let processes = vec![process::<Fragile>(), process::<service_account::ServiceAccounts>()];
    let mut controllers = Controllers::of(processes, Timing::default());
    controllers.run_until_idle(&mut cluster);
    let bad = mood(&mut cluster, "bad", "bad");
    let start = cluster.now();
    assert_eq!(controllers.run_until_idle(&mut cluster), Some(later(start, RESTART)));
    let panics: Vec<_> = controllers.panics().map(|it| it.controller).collect();
    assert_eq!(panics, ["fragile-controller"]);
    assert!(controllers.panics().all(|it| it.time == start && it.message.contains("a bad mood")));

    // The other controllers continue at once. The one that panicked restarts after its back-off, and observes what
    // it missed.
    let made = json!({"metadata": {"name": "shop"}});
    cluster.create(&Actor::admin(), "", "namespaces", "", made).unwrap();
    let good = mood(&mut cluster, "good", "good");
    controllers.run_until_idle(&mut cluster);
    assert!(cluster.get(&Key::new("", "serviceaccounts", "shop", "default")).is_some());
    assert_eq!(cluster.get(&good).unwrap()["data"]["seen"], json!(null));
    let better = |it: &mut serde_json::Value| it["data"]["mood"] = json!("good");
    cluster.modify(&Actor::admin(), &bad, "", better).unwrap();
    cluster.clock.advance(RESTART);
    controllers.run_until_idle(&mut cluster);
    for key in [&bad, &good] {
        assert_eq!(cluster.get(key).unwrap()["data"]["seen"], "yes");
    }
    assert_eq!(controllers.panics().count(), 1);
}
