//! PodDisruptionBudgets: computes how many of their Pods may be evicted now: pkg/controller/disruption/disruption.go.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::Client;
use super::pods;
use super::queue::Queue;
use super::read::{
    controller, generation, is_deleting, number, selects, set, set_condition, small, text,
};
use super::resource::{BUDGETS, PODS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// The selectors of all budgets.
pub(super) struct Budgets(BTreeMap<Key, Value>);

impl Reconcile for Budgets {
    type Work = Key;
    const NAME: &'static str = "disruption-controller";
    const USER: &'static str = "disruption-controller";
    const COMPONENT: &'static str = "controllermanager";

    fn new(_: &Timing) -> Self {
        Self(BTreeMap::new())
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if BUDGETS.has(&event.key) {
            if event.change == Change::Deleted {
                self.0.remove(&event.key);
            } else {
                self.0.insert(event.key.clone(), event.object["spec"]["selector"].clone());
                queue.add(event.key.clone());
            }
        } else if PODS.has(&event.key) {
            for (key, selector) in &self.0 {
                if key.namespace == event.key.namespace && selects(Some(selector), &event.object) {
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
        let Some(budget) = client.get(key) else { return Ok(Next::Rest) };
        let mut owned = client.list(PODS, Some(&key.namespace));
        owned.retain(|it| selects(budget.pointer("/spec/selector"), it));
        let healthy = owned.iter().filter(|it| pods::is_ready(it) && !is_deleting(it));
        let healthy = count(healthy.count());
        let is_number = budget.pointer("/spec/minAvailable").is_some_and(Value::is_number);
        let expected = if is_number { count(owned.len()) } else { scale(&owned, client) };
        let desired = if budget.pointer("/spec/maxUnavailable").is_some() {
            expected.saturating_sub(amount(&budget, "/spec/maxUnavailable", expected)).max(0)
        } else {
            amount(&budget, "/spec/minAvailable", expected)
        };
        let allowed = if expected == 0 { 0 } else { healthy.saturating_sub(desired).max(0) };
        let mut changed = Value::clone(&budget);
        for (member, value) in [
            ("currentHealthy", healthy),
            ("desiredHealthy", desired),
            ("expectedPods", expected),
            ("disruptionsAllowed", allowed),
            ("observedGeneration", generation(&budget)),
        ] {
            set(&mut changed, &["status", member], json!(value));
        }
        let (status, reason) =
            if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        set_condition(&mut changed, "DisruptionAllowed", status, reason, "", client.now());
        client.update_status(BUDGETS, &changed)?;
        Ok(Next::Rest)
    }
}

/// The expected number of Pods, from their controllers; Pods without a controller count as none.
fn scale(owned: &[std::sync::Arc<Value>], client: &Client<'_>) -> i64 {
    let mut wanted = BTreeMap::new();
    for owner in owned.iter().filter_map(|it| controller(it)) {
        let scale =
            client.by_uid(text(owner, "/uid")).and_then(|(_, it)| number(&it, "/spec/replicas"));
        wanted.entry(text(owner, "/uid")).or_insert((scale, 0)).1 += 1;
    }
    wanted.into_values().map(|(scale, found)| small(scale.unwrap_or(found))).sum()
}

fn count(pods: usize) -> i64 {
    i64::try_from(pods).unwrap_or(i64::MAX)
}

/// An absolute number or a percentage, rounded up.
fn amount(budget: &Value, pointer: &str, of: i64) -> i64 {
    let percent = text(budget, pointer).strip_suffix('%').and_then(|it| it.parse::<i64>().ok());
    match percent {
        Some(percent) => of.saturating_mul(percent).saturating_add(99) / 100,
        None => number(budget, pointer).unwrap_or_default(),
    }
}
