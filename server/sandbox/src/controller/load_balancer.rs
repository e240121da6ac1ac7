//! The load balancers of Services, and the finalizer that keeps a Service until its load balancer is gone:
//! k8s.io/cloud-provider/controllers/service/controller.go. The cloud is [`NodeFaults::cloud`](super::node_faults::NodeFaults).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, EventType};
use super::queue::Queue;
use super::read::{add_finalizer, has_finalizer, is_deleting, list, remove_finalizer, set, text};
use super::resource::SERVICES;
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// `LoadBalancerCleanupFinalizer` in k8s.io/cloud-provider/service/helpers.
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// `minRetryDelay` and `maxRetryDelay`.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

#[derive(Default)]
pub(super) struct LoadBalancers {
    /// The number of tries of each Service that failed in a row.
    failures: BTreeMap<Key, u32>,
    /// The number of addresses that load balancers were given.
    addresses: u8,
}

impl Reconcile for LoadBalancers {
    type Work = Key;
    const NAME: &'static str = "service-lb-controller";
    const USER: &'static str = "service-controller";
    const COMPONENT: &'static str = "service-controller";

    fn new(_: &Timing) -> Self {
        Self::default()
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if !SERVICES.has(&event.key) {
            return;
        }
        if event.change == Change::Deleted {
            self.failures.remove(&event.key);
        } else if wants(&event.object) || has_finalizer(&event.object, FINALIZER) {
            queue.add(event.key.clone());
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(service) = client.get(key) else { return Ok(Next::Rest) };
        if wants(&service) && !is_deleting(&service) {
            self.ensure(key, &service, client)?;
            return Ok(Next::Rest);
        }
        if !has_finalizer(&service, FINALIZER) {
            return Ok(Next::Rest);
        }
        if !list(&service, "/status/loadBalancer/ingress").is_empty() {
            client.event(
                &service,
                EventType::Normal,
                "DeletingLoadBalancer",
                "Deleting load balancer",
            );
            if let Some(why) = client.node_faults.cloud.clone() {
                let message =
                    format!("Error syncing load balancer: failed to delete load balancer: {why}");
                client.event(&service, EventType::Warning, "SyncLoadBalancerFailed", &message);
                let failures = self.failures.entry(key.clone()).or_default();
                let wait = RETRY.0.saturating_mul(1 << (*failures).min(10)).min(RETRY.1);
                *failures += 1;
                return Ok(Next::After(wait));
            }
        }
        self.failures.remove(key);
        client.modify(key, |it| _ = remove_finalizer(it, FINALIZER))?;
        client.event(&service, EventType::Normal, "DeletedLoadBalancer", "Deleted load balancer");
        if let Some(left) = client.get(key) {
            let mut left = Value::clone(&left);
            set(&mut left, &["status", "loadBalancer"], json!({}));
            client.update_status(SERVICES, &left)?;
        }
        Ok(Next::Rest)
    }
}

impl LoadBalancers {
    /// Creates the load balancer of a Service. The finalizer comes first.
    fn ensure(
        &mut self,
        key: &Key,
        service: &Value,
        client: &mut Client<'_>,
    ) -> Result<(), Status> {
        let has_address = !list(service, "/status/loadBalancer/ingress").is_empty();
        if has_address && has_finalizer(service, FINALIZER) {
            return Ok(());
        }
        client.event(service, EventType::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
        let marked = client.modify(key, |it| _ = add_finalizer(it, FINALIZER))?;
        if !has_address {
            let mut marked = Value::clone(&marked);
            self.addresses = self.addresses.wrapping_add(1);
            let address = json!([{"ip": format!("203.0.113.{}", self.addresses), "ipMode": "VIP"}]);
            set(&mut marked, &["status", "loadBalancer", "ingress"], address);
            client.update_status(SERVICES, &marked)?;
        }
        client.event(service, EventType::Normal, "EnsuredLoadBalancer", "Ensured load balancer");
        Ok(())
    }
}

/// Whether the cloud's controller makes a load balancer for a Service.
fn wants(service: &Value) -> bool {
    text(service, "/spec/type") == "LoadBalancer"
        && text(service, "/spec/loadBalancerClass").is_empty()
}
