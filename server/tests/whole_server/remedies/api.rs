//! An API that does not answer, and whose APIService is deleted.

use sandbox::{control_plane::ControlPlane, store::Key};
use serde_json::{Value, json};

use super::{
    incident, label, modify,
    race::{ANY, Race, refused, reported, run},
};
use crate::setup::{answer_at, create};

pub(super) fn api() -> Key {
    Key::new("apiregistration.k8s.io", "apiservices", "", "v1beta1.metrics.k8s.io")
}

/// The endpoints of a Service, one of which is ready.
fn slice(namespace: &str, service: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("{service}-x"), "namespace": namespace,
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
    })
}

pub(super) fn gets_an_endpoint(world: &mut ControlPlane, namespace: &str, service: &str) {
    answer_at(world, namespace, "10.0.0.1");
    let endpoints = slice(namespace, service);
    create(world, "discovery.k8s.io", "endpointslices", namespace, endpoints);
}

pub(super) const RACES: &[Race] = &[Race {
    act: "deleteApiService",
    is_it: ANY,
    set_up: |world| incident(world, "s3"),
    cases: &[
        refused("the API is available again", |world| {
            modify(world, &api(), "status", |api| {
                api["status"]["conditions"][0]["status"] = json!("True");
            });
        }),
        reported("its Service has changed", |world| {
            label(world, &Key::new("", "services", "kube-system", "metrics-server"));
        }),
        // The API is found available at once.
        refused("an endpoint is ready", |world| {
            gets_an_endpoint(world, "kube-system", "metrics-server");
        }),
    ],
}];

#[tokio::test(start_paused = true)]
async fn api_is_not_switched_off_on_a_false_premise() {
    run(RACES).await;
}
