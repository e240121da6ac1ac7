//! The addresses of Services: an IPAddress for each one, in the range of the server's own ServiceCIDR
//! (`kubernetes/pkg/registry/core/service/ipallocator`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Actor, Cluster};
use crate::{object, store::Key};

const GROUP: &str = "networking.k8s.io";
/// `--service-cluster-ip-range`.
const RANGE: &str = "10.96.0.0/16";
/// The number of random draws for a free address. The range is so large that a draw rarely hits a used address.
const DRAWS: usize = 1_000;

impl Cluster {
    pub(super) fn register_service_range(&mut self) {
        let range = json!({"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [RANGE]}});
        let made = self.create(&Actor::admin(), GROUP, "servicecidrs", "", range);
        debug_assert!(made.is_ok(), "{made:?}");
    }

    /// A free address.
    pub(super) fn free_address(&mut self) -> String {
        let mut address = String::new();
        for _ in 0..DRAWS {
            address = format!("10.96.{}.{}", self.rng.u8(1..), self.rng.u8(1..=254));
            if self.get(&key(&address)).is_none() {
                break;
            }
        }
        address
    }

    /// Records the address of a new Service, and releases that of a deleted one.
    pub(super) fn note_address(&mut self, old: Option<&Arc<Value>>, new: Option<&Arc<Value>>) {
        match (old, new) {
            (None, Some(service)) if has_address(service) => {
                let address = address(service);
                let family = if address.contains(':') { "IPv6" } else { "IPv4" };
                let labels = json!({
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                    "ipaddress.kubernetes.io/ip-family": family,
                });
                let parent = json!({
                    "group": "", "resource": "services",
                    "namespace": object::namespace(service), "name": object::name(service),
                });
                let made = json!({
                    "metadata": {"name": address, "labels": labels},
                    "spec": {"parentRef": parent},
                });
                // The address may be used already if a client chose it; that is not checked here.
                drop(self.create(&Actor::admin(), GROUP, "ipaddresses", "", made));
            }
            (Some(service), None) if has_address(service) => {
                let key = key(address(service));
                let is_its = |it: &Arc<Value>| {
                    let parent = &it["spec"]["parentRef"];
                    parent["name"] == object::name(service)
                        && parent["namespace"] == object::namespace(service)
                };
                if self.get(&key).is_some_and(is_its) {
                    self.erase(&key);
                }
            }
            _ => {}
        }
    }
}

fn address(service: &Value) -> &str {
    object::text(service, &["spec", "clusterIP"])
}

fn has_address(service: &Value) -> bool {
    !["", "None"].contains(&address(service))
}

fn key(address: &str) -> Key {
    Key::new(GROUP, "ipaddresses", "", address)
}
