//! The eviction and binding subresources of Pods (`kubernetes/pkg/registry/core/pod/storage`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Actor, Cluster, DeleteOptions, Write, delete};
use crate::{
    clock, object,
    selector::Labels,
    status::{Cause, Status},
    store::Key,
};

impl Cluster {
    /// Evicts a Pod: deletes it if its disruption budget allows that.
    ///
    /// # Errors
    ///
    /// The refusal of the API server: 429 where the budget is used up, 500 where there are two budgets.
    pub fn evict(
        &mut self,
        actor: &Actor,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let pod = self.get(key).cloned();
        let pod = pod.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        let phase = object::text(&pod, &["status", "phase"]);
        if ["Succeeded", "Failed", "Pending"].contains(&phase) || object::is_deleting(&pod) {
            return self.evict_now(actor, key, options);
        }
        let budgets: Vec<Arc<Value>> = self
            .list("policy", "poddisruptionbudgets", Some(&key.namespace))
            .filter(|budget| {
                Labels::from_object(&budget["spec"]["selector"])
                    .is_some_and(|labels| labels.matches(&pod))
            })
            .cloned()
            .collect();
        match budgets.as_slice() {
            [] => {}
            [budget] => {
                if !self.may_go_unhealthy(&pod, budget) {
                    self.decrement(actor, key, budget, options.dry_run)?;
                }
            }
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::plain(500, message));
            }
        }
        self.evict_now(actor, key, options)
    }

    /// Whether a Pod that is not ready may be evicted regardless of the number of allowed disruptions.
    fn may_go_unhealthy(&self, pod: &Value, budget: &Value) -> bool {
        if object::condition(pod, "Ready")["status"] == "True" {
            return false;
        }
        if budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" {
            return true;
        }
        let number = |field: &str| budget["status"][field].as_i64().unwrap_or_default();
        let desired = number("desiredHealthy");
        number("currentHealthy") >= desired && desired > 0
    }

    fn decrement(
        &mut self,
        actor: &Actor,
        pod: &Key,
        budget: &Value,
        dry_run: bool,
    ) -> Result<(), Status> {
        const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
        let name = object::name(budget);
        let number = |field: &str| budget["status"][field].as_i64().unwrap_or_default();
        let because = |message: String| Cause {
            reason: "DisruptionBudget".into(),
            message,
            field: String::new(),
        };
        if number("observedGeneration") < object::generation(budget) {
            let message =
                format!("The disruption budget {name} is still being processed by the server.");
            return Err(Status::too_many_requests(REFUSED, 10).because(because(message)));
        }
        let allowed = number("disruptionsAllowed");
        if allowed < 0 {
            let why = "pdb disruptions allowed is negative";
            return Err(Status::forbidden("policy", "poddisruptionbudget", name, why));
        }
        if allowed == 0 {
            let condition = object::condition(budget, "DisruptionAllowed");
            let (reason, said) =
                (object::text(condition, &["reason"]), object::text(condition, &["message"]));
            let is_false = condition["status"] == "False" && !said.is_empty();
            let (healthy, desired) = (number("currentHealthy"), number("desiredHealthy"));
            let start = format!("The disruption budget {name}");
            let message = if is_false && reason == "SyncFailed" {
                format!(
                    "{start} does not allow evicting pods currently because it failed sync: {said}"
                )
            } else if healthy <= desired {
                format!("{start} needs {desired} healthy pods and has {healthy} currently")
            } else if is_false {
                format!("{start} does not allow evicting pods currently ({reason}): {said}")
            } else {
                format!("{start} does not allow evicting pods currently")
            };
            return Err(Status::too_many_requests(REFUSED, 0).because(because(message)));
        }
        if dry_run {
            return Ok(());
        }
        let now = self.now();
        let key = Key::new("policy", "poddisruptionbudgets", &pod.namespace, name);
        self.modify(actor, &key, "status", |budget| {
            object::set(budget, &["status", "disruptionsAllowed"], json!(allowed - 1));
            object::set(budget, &["status", "disruptedPods", &pod.name], clock::written(now));
            if allowed == 1 {
                object::set_condition(
                    budget,
                    "DisruptionAllowed",
                    "False",
                    "InsufficientPods",
                    "",
                    now,
                );
            }
        })?;
        Ok(())
    }

    fn evict_now(
        &mut self,
        actor: &Actor,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let mut options = options.clone();
        let kind = self.kind(key)?;
        let pod =
            self.get(key).ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        delete::precondition(&kind, pod, &options)?;
        if !options.dry_run {
            let now = self.now();
            let write = Write { field_manager: "kube-apiserver".into(), ..Write::default() };
            let mut marked = Value::clone(pod);
            object::set_condition(
                &mut marked,
                "DisruptionTarget",
                "True",
                "EvictionByEvictionAPI",
                "Eviction API: evicting",
                now,
            );
            let marked = self.update_with(actor, &write, key, "status", marked)?;
            if options.resource_version.is_some() {
                options.resource_version = Some(object::resource_version(&marked).into());
            }
        }
        self.delete(actor, key, &options)?;
        Ok(())
    }

    /// Binds a Pod to a node.
    ///
    /// # Errors
    ///
    /// The refusal of the API server: 409 if the Pod is bound already or being deleted.
    pub fn bind(&mut self, key: &Key, node: &str, dry_run: bool) -> Result<(), Status> {
        let pod = self.get(key).cloned();
        let pod = pod.ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
        let name = &key.name;
        let refuse = |why: &str| Err(Status::conflict("", "pods/binding", name, why));
        if object::is_deleting(&pod) {
            return refuse(&format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        let bound = object::text(&pod, &["spec", "nodeName"]);
        if !bound.is_empty() {
            return refuse(&format!("pod {name} is already assigned to node {bound:?}"));
        }
        let now = self.now();
        let mut object = Value::clone(&pod);
        object::set(&mut object, &["spec", "nodeName"], json!(node));
        object::set_condition(&mut object, "PodScheduled", "True", "", "", now);
        self.put(key, &pod, object, dry_run)?;
        Ok(())
    }
}
