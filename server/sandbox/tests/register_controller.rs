//! A controller that is implemented outside the crate, and runs among the built-in ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use sandbox::{
    cluster::Actor,
    control_plane::ControlPlane,
    controller::{
        Next, Reconcile, client::Client, queue::Queue, resource::Resource, timing::Timing,
    },
    fault::OperatingMode,
    status::Status,
    store::{Event, Key},
};
use serde_json::json;

const CONFIG_MAPS: Resource = Resource::new("", "v1", "configmaps", "ConfigMap");

/// Creates `NAME-copy` for each ConfigMap that is labelled `copy: wanted`.
struct Copies;

impl Reconcile for Copies {
    type Work = Key;
    const NAME: &'static str = "copy-controller";
    const USER: &'static str = "copy-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if CONFIG_MAPS.has(&event.key) && event.object["metadata"]["labels"]["copy"] == "wanted" {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let name = format!("{}-copy", key.name);
        if let Some(map) = client.get(key)
            && client.find(CONFIG_MAPS, &key.namespace, &name).is_none()
        {
            let metadata = json!({"name": name, "namespace": &*key.namespace});
            client.create(CONFIG_MAPS, json!({"metadata": metadata, "data": map["data"]}))?;
        }
        Ok(Next::Rest)
    }
}

fn control_plane() -> ControlPlane {
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut control_plane = ControlPlane::new(start, 1, Timing::default());
    control_plane.cluster.clock.set_speed(0);
    control_plane.controllers.register::<Copies>();
    control_plane.run_until_idle();
    control_plane
}

fn create(control_plane: &mut ControlPlane, name: &str) {
    let map = json!({"metadata": {"name": name, "labels": {"copy": "wanted"}}, "data": {"a": "b"}});
    let cluster = &mut control_plane.cluster;
    cluster.create(&Actor::admin(), "", "configmaps", "default", map).unwrap();
    control_plane.run_until_idle();
}

fn copy_of(control_plane: &ControlPlane, name: &str) -> bool {
    let key = Key::new("", "configmaps", "default", &format!("{name}-copy"));
    control_plane.cluster.get(&key).is_some_and(|copy| copy["data"]["a"] == "b")
}

#[test]
fn registered_controller_reconciles_what_it_observes() {
    let mut control_plane = control_plane();
    create(&mut control_plane, "one");
    assert!(copy_of(&control_plane, "one"));
}

#[test]
fn registered_controller_has_operating_modes_and_is_known_to_scripts() {
    let mut control_plane = control_plane();
    let script = "at 0s controller copy-controller off\nat 10s controller copy-controller on";
    let faults = control_plane.parse_faults(script).unwrap();
    control_plane.cluster.faults.extend(faults);
    control_plane.run_until_idle();
    create(&mut control_plane, "one");
    assert!(!copy_of(&control_plane, "one"));
    let is_off = |it| it == ("copy-controller", OperatingMode::Off);
    assert!(control_plane.controllers.iter().any(is_off));
    control_plane.cluster.clock.advance(Duration::from_secs(10));
    control_plane.run_until_idle();
    assert!(copy_of(&control_plane, "one"));
}

#[test]
fn registered_controller_is_not_part_of_the_controller_manager() {
    let mut control_plane = control_plane();
    assert!(control_plane.controllers.set_mode("kube-controller-manager", OperatingMode::Off));
    create(&mut control_plane, "one");
    assert!(copy_of(&control_plane, "one"));
}

#[test]
fn reset_keeps_a_registered_controller() {
    let mut control_plane = control_plane();
    create(&mut control_plane, "one");
    control_plane.reset();
    control_plane.run_until_idle();
    assert!(!copy_of(&control_plane, "one"));
    create(&mut control_plane, "two");
    assert!(copy_of(&control_plane, "two"));
}

#[test]
#[should_panic(expected = "copy-controller is registered already")]
fn registering_a_controller_twice_is_refused() {
    control_plane().controllers.register::<Copies>();
}
