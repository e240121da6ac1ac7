//! EndpointSlices: the Pods behind a Service. The Service owns them, so the garbage collector deletes them with it:
//! pkg/controller/endpointslice.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::pods;
use super::queue::Queue;
use super::read::{
    controller_reference, ended, flag, is_deleting, label, list, name, namespace, selects_plainly,
    text, uid,
};
use super::resource::{ENDPOINT_SLICES, PODS, SERVICES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

#[derive(Default)]
pub(super) struct EndpointSlices {
    backends: Backends,
}

/// The selectors of Services, by which a change of a Pod leads to its Services; and the Pods of one Service.
#[derive(Default)]
pub(super) struct Backends {
    selectors: BTreeMap<Key, Value>,
    pods: Vec<Arc<Value>>,
}

/// The Services whose endpoints a change may concern.
pub(super) fn services_of(backends: &mut Backends, event: &Event) -> Vec<Key> {
    if SERVICES.has(&event.key) {
        match event.object.pointer("/spec/selector").filter(|_| event.change != Change::Deleted) {
            Some(selector) => backends.selectors.insert(event.key.clone(), selector.clone()),
            None => backends.selectors.remove(&event.key),
        };
        return vec![event.key.clone()];
    }
    if !PODS.has(&event.key)
        || event.previous.as_deref().map(relevant_fields) == Some(relevant_fields(&event.object))
    {
        return Vec::new();
    }
    let objects = || [Some(&*event.object), event.previous.as_deref()].into_iter().flatten();
    let within = backends.selectors.iter().filter(|(key, _)| key.namespace == event.key.namespace);
    within
        .filter(|(_, selector)| objects().any(|it| selects_plainly(Some(selector), it)))
        .map(|(key, _)| key.clone())
        .collect()
}

/// The fields of a Pod that matter to a Service.
fn relevant_fields(pod: &Value) -> (Value, String, bool, bool, bool) {
    let labels = pod["metadata"]["labels"].clone();
    (
        labels,
        text(pod, "/status/podIP").to_owned(),
        pods::is_ready(pod),
        is_deleting(pod),
        ended(pod),
    )
}

impl Backends {
    /// The Pods of a Service that have an address and have not ended.
    pub(super) fn of(service: &Value, client: &Client<'_>) -> Self {
        let selector = service.pointer("/spec/selector");
        let mut pods = client.list(PODS, Some(namespace(service)));
        pods.retain(|it| {
            !text(it, "/status/podIP").is_empty() && !ended(it) && selects_plainly(selector, it)
        });
        Self { selectors: BTreeMap::new(), pods }
    }

    fn reference(pod: &Value) -> Value {
        json!({"kind": "Pod", "namespace": namespace(pod), "name": name(pod), "uid": uid(pod)})
    }

    /// The addresses in the form of Endpoints: ready ones and others; none if there are no Pods.
    pub(super) fn subsets(&self, service: &Value) -> Vec<Value> {
        let all = flag(service, "/spec/publishNotReadyAddresses");
        let of = |ready: bool| -> Vec<Value> {
            // Terminating Pods are left out, unless the Service publishes addresses that are not ready.
            let published = |it: &Value| all || !is_deleting(it);
            let fit = |it: &&Arc<Value>| published(it) && pods::is_ready(it) == ready;
            let address = |it: &Arc<Value>| json!({"ip": text(it, "/status/podIP"), "nodeName": text(it, "/spec/nodeName"), "targetRef": Self::reference(it)});
            self.pods.iter().filter(fit).map(address).collect()
        };
        let (ready, other) = (of(true), of(false));
        let mut subset = json!({});
        if !ready.is_empty() {
            subset["addresses"] = Value::Array(ready);
        }
        if !other.is_empty() {
            subset["notReadyAddresses"] = Value::Array(other);
        }
        if subset.get("addresses").is_none() && subset.get("notReadyAddresses").is_none() {
            return Vec::new();
        }
        subset["ports"] = ports(service);
        vec![subset]
    }

    fn endpoints(&self) -> Vec<Value> {
        let endpoint = |pod: &Arc<Value>| {
            let (ready, terminating) = (pods::is_ready(pod), is_deleting(pod));
            json!({
                "addresses": [text(pod, "/status/podIP")],
                "conditions": {"ready": ready && !terminating, "serving": ready, "terminating": terminating},
                "nodeName": text(pod, "/spec/nodeName"),
                "targetRef": Self::reference(pod),
            })
        };
        self.pods.iter().map(endpoint).collect()
    }
}

fn ports(service: &Value) -> Value {
    let port = |it: &Value| {
        let number =
            it.get("targetPort").filter(|it| it.is_u64()).or_else(|| it.get("port")).cloned();
        let protocol = it.get("protocol").cloned().unwrap_or_else(|| json!("TCP"));
        json!({"name": text(it, "/name"), "port": number, "protocol": protocol})
    };
    list(service, "/spec/ports").iter().map(port).collect()
}

impl Reconcile for EndpointSlices {
    type Work = Key;
    const NAME: &'static str = "endpointslice-controller";
    const USER: &'static str = "endpointslice-controller";
    const COMPONENT: &'static str = "endpoint-slice-controller";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        for key in services_of(&mut self.backends, event) {
            queue.add(key);
        }
        if ENDPOINT_SLICES.has(&event.key)
            && event.change == Change::Deleted
            && let Some(service) = label(&event.object, SERVICE_NAME)
        {
            queue.add(SERVICES.key(&event.key.namespace, service));
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(service) =
            client.find(SERVICES, &key.namespace, &key.name).filter(|it| !is_deleting(it))
        else {
            return Ok(Next::Rest);
        };
        if service.pointer("/spec/selector").is_none()
            || text(&service, "/spec/type") == "ExternalName"
        {
            return Ok(Next::Rest);
        }
        let endpoints = Value::Array(Backends::of(&service, client).endpoints());
        let ports = ports(&service);
        let mut slices = client.controlled(ENDPOINT_SLICES, uid(&service));
        slices.retain(|it| !is_deleting(it));
        match slices.first() {
            None => {
                let object = json!({
                    "metadata": {
                        "generateName": format!("{}-", key.name),
                        "namespace": &*key.namespace,
                        "labels": {SERVICE_NAME: &*key.name, MANAGED_BY: "endpointslice-controller.k8s.io"},
                        "ownerReferences": [controller_reference(&service)],
                    },
                    "addressType": "IPv4",
                    "endpoints": endpoints,
                    "ports": ports,
                });
                client.create(ENDPOINT_SLICES, object)?;
            }
            Some(slice) if slice["endpoints"] != endpoints || slice["ports"] != ports => {
                client.modify(&ENDPOINT_SLICES.key(&key.namespace, name(slice)), |it| {
                    it["endpoints"] = endpoints;
                    it["ports"] = ports;
                })?;
            }
            Some(_) => {}
        }
        Ok(Next::Rest)
    }
}
