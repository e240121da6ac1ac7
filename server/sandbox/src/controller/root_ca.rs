//! Creates the ConfigMap `kube-root-ca.crt` in every namespace: pkg/controller/certificates/rootcacertpublisher.

use serde_json::json;

use super::client::Client;
use super::queue::Queue;
use super::read::phase;
use super::resource::{CONFIG_MAPS, NAMESPACES};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event};

const NAME: &str = "kube-root-ca.crt";

pub(super) struct RootCa;

impl Reconcile for RootCa {
    /// The namespace's name.
    type Work = String;
    const NAME: &'static str = "root-ca-certificate-publisher-controller";
    const USER: &'static str = "root-ca-cert-publisher";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<String>) {
        if NAMESPACES.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.name.to_string());
        } else if CONFIG_MAPS.has(&event.key)
            && &*event.key.name == NAME
            && event.change == Change::Deleted
        {
            queue.add(event.key.namespace.to_string());
        }
    }

    fn reconcile(
        &mut self,
        place: &String,
        client: &mut Client<'_>,
        _: &mut Queue<String>,
    ) -> Result<Next, Status> {
        let active =
            client.find(NAMESPACES, "", place).is_some_and(|it| phase(&it) != "Terminating");
        if active && client.find(CONFIG_MAPS, place, NAME).is_none() {
            let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                               endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                               guaranteed across distributions of Kubernetes clusters.";
            let config_map = json!({
                "metadata": {
                    "name": NAME,
                    "namespace": place,
                    "annotations": {"kubernetes.io/description": description},
                },
                "data": {"ca.crt": "-----BEGIN CERTIFICATE-----\nthe sandbox has none\n-----END CERTIFICATE-----\n"},
            });
            client.create_if_absent(CONFIG_MAPS, config_map)?;
        }
        Ok(Next::Rest)
    }
}
