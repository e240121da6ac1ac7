//! A webhook that does not answer, and that is ignored or deleted.

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};

use super::{
    api::gets_an_endpoint,
    delete, label,
    race::{ANY, Case, Race, refused, reported, run},
};
use crate::setup::create;

pub(super) fn gate() -> Key {
    Key::new("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "gate")
}

/// A webhook that guards ConfigMaps and has no Service.
pub(super) fn configuration() -> Value {
    json!({
        "metadata": {"name": "gate"},
        "webhooks": [{
            "name": "gate.example.com",
            "clientConfig": {"service": {"namespace": "ops", "name": "gate", "path": "/"}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"], "operations": ["DELETE"],
            }],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

pub(super) fn shop() -> Key {
    Key::new("", "namespaces", "", "shop")
}

/// A Service that selects Pods of which there are none.
pub(super) fn create_service(world: &mut ControlPlane, name: &str) {
    let spec = json!({"selector": {"app": name}, "ports": [{"port": 443}]});
    let service = json!({"metadata": {"name": name, "namespace": "ops"}, "spec": spec});
    create(world, "", "services", "ops", service);
}

/// A webhook of which there is no more than its configuration, and a namespace with something that it guards.
fn guarded(world: &mut ControlPlane) {
    for name in ["shop", "ops"] {
        create(world, "", "namespaces", "", json!({"metadata": {"name": name}}));
    }
    let map = json!({"metadata": {"name": "settings", "namespace": "shop"}});
    create(world, "", "configmaps", "shop", map);
    let gate = gate();
    create(world, &gate.group, &gate.plural, "", configuration());
    world.run_until_idle();
}

/// A namespace that waits for that webhook.
pub(super) fn dead_webhook(world: &mut ControlPlane) {
    guarded(world);
    delete(world, &shop());
}

/// The same with a Service that nobody serves.
fn unserved_webhook(world: &mut ControlPlane) {
    guarded(world);
    create_service(world, "gate");
    world.run_until_idle();
    delete(world, &shop());
}

const ABSENT: &[Case] = &[
    refused("the configuration has changed", |world| label(world, &gate())),
    refused("another configuration has its name", |world| {
        delete(world, &gate());
        create(world, &gate().group, &gate().plural, "", configuration());
    }),
    reported("its Service is there", |world| create_service(world, "gate")),
];

const UNSERVED: &[Case] = &[
    refused("the configuration has changed", |world| label(world, &gate())),
    reported("its Service has changed", |world| {
        label(world, &Key::new("", "services", "ops", "gate"));
    }),
    reported("an endpoint is ready", |world| gets_an_endpoint(world, "ops", "gate")),
];

pub(super) const RACES: &[Race] = &[
    Race { act: "ignoreWebhook", is_it: ANY, set_up: dead_webhook, cases: ABSENT },
    Race { act: "ignoreWebhook", is_it: ANY, set_up: unserved_webhook, cases: UNSERVED },
    Race { act: "deleteWebhookConfiguration", is_it: ANY, set_up: dead_webhook, cases: ABSENT },
    Race {
        act: "deleteWebhookConfiguration",
        is_it: ANY,
        set_up: unserved_webhook,
        cases: UNSERVED,
    },
];

#[tokio::test(start_paused = true)]
async fn webhook_is_not_switched_off_on_a_false_premise() {
    run(RACES).await;
}
