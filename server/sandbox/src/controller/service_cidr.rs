//! Protects a ServiceCIDR from deletion while one of its addresses is used: pkg/controller/servicecidrs.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;
use serde_json::{Value, json};

use super::client::Client;
use super::protection::protect;
use super::queue::Queue;
use super::read::{is_deleting, label, list, name, set_condition, time};
use super::resource::{IP_ADDRESSES, SERVICE_CIDRS};
use super::timing::{RANGE_GRACE, Timing};
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";

pub(super) struct ServiceCidrs {
    /// The ranges that are being deleted.
    waiting: BTreeSet<Key>,
}

impl Reconcile for ServiceCidrs {
    type Work = Key;
    const NAME: &'static str = "service-cidr-controller";
    const USER: &'static str = "service-cidrs-controller";

    fn new(_: &Timing) -> Self {
        Self { waiting: BTreeSet::new() }
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if SERVICE_CIDRS.has(&event.key) && event.change != Change::Deleted {
            if is_deleting(&event.object) {
                self.waiting.insert(event.key.clone());
            }
            queue.add(event.key.clone());
        } else if SERVICE_CIDRS.has(&event.key) || IP_ADDRESSES.has(&event.key) {
            self.waiting.remove(&event.key);
            // A change of another range may let one of these go.
            for key in &self.waiting {
                queue.add(key.clone());
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(range) = client.get(key) else { return Ok(Next::Rest) };
        let (status, reason, message) = if is_deleting(&range) && is_used(&range, client) {
            let message = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new \
                           ServiceCIDR";
            ("False", "Terminating", message)
        } else {
            ("True", "", "Kubernetes Service CIDR is ready")
        };
        let mut changed = Value::clone(&range);
        if status == "False" || !is_deleting(&range) {
            set_condition(&mut changed, "Ready", status, reason, message, client.now());
            with_reason(&mut changed, reason);
            client.update_status(SERVICE_CIDRS, &changed)?;
        }
        if status == "False" {
            return Ok(Next::Rest);
        }
        // Allocators that have not observed the deletion may still hand out an address.
        let passed = time(&range, "/metadata/deletionTimestamp").and_then(|since| {
            RANGE_GRACE.checked_sub(client.now().duration_since(since).unsigned_abs())
        });
        match passed {
            Some(left) if !left.is_zero() => Ok(Next::After(left)),
            _ => protect(key, client, FINALIZER, |_, _| false),
        }
    }
}

/// A `metav1.Condition` has a reason even where it is empty.
fn with_reason(range: &mut Value, reason: &str) {
    let conditions = range.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter(|it| it["type"] == "Ready") {
        condition["reason"] = json!(reason);
    }
}

/// Whether an address of a range is used that no other range has, even one that is being deleted.
fn is_used(range: &Value, client: &Client<'_>) -> bool {
    let others = client.list(SERVICE_CIDRS, None);
    let others = others.iter().filter(|it| name(it) != name(range));
    let others: Vec<IpNet> = others.flat_map(|it| nets(it)).collect();
    let own: Vec<IpNet> =
        nets(range).filter(|it| !others.iter().any(|other| other.contains(it))).collect();
    let used = client.list(IP_ADDRESSES, None);
    let used = used
        .iter()
        .filter(|it| label(it, "ipaddress.kubernetes.io/managed-by") == Some("ipallocator.k8s.io"));
    let mut used = used.filter_map(|it| name(it).parse::<IpAddr>().ok());
    used.any(|it| {
        own.iter().any(|net| net.contains(&it)) && !others.iter().any(|net| net.contains(&it))
    })
}

fn nets(range: &Value) -> impl Iterator<Item = IpNet> {
    list(range, "/spec/cidrs").iter().filter_map(|it| it.as_str()?.parse().ok())
}
