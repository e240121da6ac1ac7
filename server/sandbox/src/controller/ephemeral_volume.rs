//! Creates the claims of generic ephemeral volumes, which their Pods own: pkg/controller/volume/ephemeral.

use serde_json::{Value, json};

use super::client::Client;
use super::queue::Queue;
use super::read::{controller_reference, is_deleting, list, name, namespace, set, text};
use super::resource::{CLAIMS, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

pub(super) struct EphemeralVolumes;

impl Reconcile for EphemeralVolumes {
    type Work = Key;
    const NAME: &'static str = "ephemeral-volume-controller";
    const USER: &'static str = "ephemeral-volume-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        // The volumes of a Pod never change.
        if PODS.has(&event.key) && event.change == Change::Added {
            queue.add(event.key.clone());
        } else if CLAIMS.has(&event.key) && event.change == Change::Deleted {
            let owners = list(&event.object, "/metadata/ownerReferences").iter();
            for pod in owners.filter(|it| text(it, "/kind") == "Pod") {
                queue.add(PODS.key(&event.key.namespace, text(pod, "/name")));
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(pod) = client.get(key).filter(|pod| !is_deleting(pod)) else {
            return Ok(Next::Rest);
        };
        for volume in list(&pod, "/spec/volumes") {
            let Some(template) = volume.pointer("/ephemeral/volumeClaimTemplate") else { continue };
            let claim = format!("{}-{}", name(&pod), text(volume, "/name"));
            if client.find(CLAIMS, namespace(&pod), &claim).is_none() {
                client.create_if_absent(CLAIMS, made(&claim, template, &pod))?;
            }
        }
        Ok(Next::Rest)
    }
}

fn made(claim: &str, template: &Value, pod: &Value) -> Value {
    let mut object = json!({
        "metadata": {
            "name": claim,
            "namespace": namespace(pod),
            "ownerReferences": [controller_reference(pod)],
        },
        "spec": template["spec"],
    });
    for field in ["labels", "annotations"] {
        if let Some(value) = template.pointer(&format!("/metadata/{field}")) {
            set(&mut object, &["metadata", field], value.clone());
        }
    }
    object
}
