//! Endpoints: the Pods behind a Service in the older form. They have no owner reference, so this controller deletes
//! them with the Service: pkg/controller/endpoint.

use serde_json::{Value, json};

use super::client::{Client, Deletion};
use super::endpoint_slice::{Backends, services_of};
use super::queue::Queue;
use super::read::is_deleting;
use super::resource::{ENDPOINTS, SERVICES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Event, Key};

#[derive(Default)]
pub(super) struct Endpoints {
    backends: Backends,
}

impl Reconcile for Endpoints {
    type Work = Key;
    const NAME: &'static str = "endpoints-controller";
    const USER: &'static str = "endpoint-controller";
    const COMPONENT: &'static str = "endpoint-controller";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        for key in services_of(&mut self.backends, event) {
            queue.add(key);
        }
    }

    /// Lists at its start the Endpoints whose Service went while it was off, whatever created them
    /// (`checkLeftoverEndpoints`).
    fn observe_first(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if ENDPOINTS.has(&event.key) {
            queue.add(SERVICES.key(&event.key.namespace, &event.key.name));
        }
        self.observe(event, queue);
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let place = ENDPOINTS.key(&key.namespace, &key.name);
        let known = client.get(&place);
        let Some(service) = client.find(SERVICES, &key.namespace, &key.name) else {
            if let Some(known) = known
                && let Err(status) = client.delete(&place, &Deletion::of(&known))
                && !status.is_not_found()
            {
                return Err(status);
            }
            return Ok(Next::Rest);
        };
        if service.pointer("/spec/selector").is_none() || is_deleting(&service) {
            return Ok(Next::Rest);
        }
        let subsets = Backends::of(&service, client).subsets(&service);
        match known {
            None => {
                let labels =
                    service.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
                let mut object = json!({
                    "metadata": {"name": &*key.name, "namespace": &*key.namespace, "labels": labels},
                });
                if !subsets.is_empty() {
                    object["subsets"] = Value::Array(subsets);
                }
                client.create_if_absent(ENDPOINTS, object)?;
            }
            Some(known) if super::read::list(&known, "/subsets") != subsets => {
                client.modify(&place, |it| it["subsets"] = Value::Array(subsets))?;
            }
            Some(_) => {}
        }
        Ok(Next::Rest)
    }
}
