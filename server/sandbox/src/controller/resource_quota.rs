//! ResourceQuotas: counts the usage of a namespace: pkg/controller/resourcequota/resource_quota_controller.go.
//! Admission charges for new objects. This controller counts after a quota changed, after an object was deleted, and
//! periodically.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::Client;
use super::queue::Queue;
use super::resource::RESOURCE_QUOTAS;
use super::timing::{QUOTA_PERIOD, Timing};
use super::{Next, Reconcile};
use crate::kind::Kind;
use crate::quantity::Quantity;
use crate::quota::{self, Evaluator, ResourceList};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The limits of each quota.
pub(super) struct ResourceQuotas(BTreeMap<Key, ResourceList>);

impl Reconcile for ResourceQuotas {
    type Work = Key;
    const NAME: &'static str = "resourcequota-controller";
    const USER: &'static str = "resourcequota-controller";

    fn new(_: &Timing) -> Self {
        Self(BTreeMap::new())
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if RESOURCE_QUOTAS.has(&event.key) {
            let hard = quota::list(&event.object["spec"]["hard"]);
            if event.change == Change::Deleted {
                self.0.remove(&event.key);
            } else if self.0.get(&event.key) != Some(&hard) {
                self.0.insert(event.key.clone(), hard);
                queue.add(event.key.clone());
            }
        }
        if self.0.is_empty() {
            return;
        }
        let Some(evaluator) = Evaluator::of(&event.key.group, &event.key.plural) else { return };
        let freed = match (event.change, &event.previous) {
            (Change::Deleted, _) => true,
            (Change::Modified, Some(previous)) => evaluator.frees(previous, &event.object),
            _ => false,
        };
        if freed {
            for (key, hard) in &self.0 {
                if key.namespace == event.key.namespace
                    && hard.keys().any(|name| evaluator.measures(name))
                {
                    queue.add(key.clone());
                }
            }
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(quota) = client.get(key) else { return Ok(Next::Rest) };
        let hard = quota::list(&quota["spec"]["hard"]);
        // A resource that cannot be counted keeps its last count.
        let mut used = quota::list(&quota["status"]["used"]);
        used.retain(|name, _| hard.contains_key(name));
        used.extend(count(&quota, &hard, key, client));
        let mut counted = Value::clone(&quota);
        counted["status"] = json!({"hard": quota::written(&hard), "used": quota::written(&used)});
        client.update_status(RESOURCE_QUOTAS, &counted)?;
        Ok(Next::After(QUOTA_PERIOD))
    }
}

/// `CalculateUsage`: the usage of the limited resources by the objects within a quota's scopes.
fn count(quota: &Value, hard: &ResourceList, key: &Key, client: &Client<'_>) -> ResourceList {
    let kinds: Vec<Arc<Kind>> = client.discover().namespaced;
    let mut sum = ResourceList::new();
    for kind in &kinds {
        let Some(evaluator) = Evaluator::of(&kind.group, &kind.plural) else { continue };
        let limited = || hard.keys().filter(|name| evaluator.measures(name));
        if limited().next().is_none() {
            continue;
        }
        for name in limited() {
            sum.entry(name.clone()).or_insert(Quantity::ZERO);
        }
        for object in client.list_of(kind, &key.namespace) {
            if evaluator.is_in_scope(quota, &object) {
                quota::add(&mut sum, &evaluator.usage(&object, client.now()));
            }
        }
    }
    sum.retain(|name, _| hard.contains_key(name));
    sum
}
