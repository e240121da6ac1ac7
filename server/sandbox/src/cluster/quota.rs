//! Admission by ResourceQuota: refuses a write that would exceed a quota of the namespace
//! (`apiserver/pkg/admission/plugin/resourcequota/controller.go`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Actor, Cluster, Write};
use crate::{
    object,
    quantity::Quantity,
    quota::{self, Evaluator, ResourceList},
    status::Status,
    store::Key,
};

impl Cluster {
    /// Charges a new object, or the increase of a changed one, to the quotas of its namespace. As in Kubernetes, the
    /// charge stays if the object is refused after all, until the quota controller counts again.
    ///
    /// # Errors
    ///
    /// 403 if the quota would be exceeded, or has not been counted yet.
    pub(super) fn charge(
        &mut self,
        write: &Write,
        key: &Key,
        subresource: &str,
        object: &Value,
        existing: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(evaluator) = Evaluator::of(&key.group, &key.plural) else { return Ok(()) };
        if key.namespace.is_empty() || !evaluator.handles(existing.is_none(), subresource) {
            return Ok(());
        }
        if self.list("", "resourcequotas", Some(&key.namespace)).next().is_none() {
            return Ok(());
        }
        let refuse = |why: &str| Status::forbidden(&key.group, &key.plural, &key.name, why);
        let now = self.now();
        let usage = evaluator.usage(object, now);
        let negative = usage.iter().filter(|(_, amount)| amount.is_negative());
        let negative: Vec<&str> = negative.map(|(name, _)| name.as_str()).collect();
        let mut charged: Vec<(Key, ResourceList)> = vec![];
        for quota in self.list("", "resourcequotas", Some(&key.namespace)) {
            let name = object::name(quota);
            let hard = quota::list(&quota["status"]["hard"]);
            let mut used = quota::list(&quota["status"]["used"]);
            let limited: Vec<String> =
                hard.keys().filter(|name| evaluator.measures(name)).cloned().collect();
            if limited.is_empty() || !evaluator.is_in_scope(quota, object) {
                continue;
            }
            if let Some(why) = evaluator.unasked(&limited, object) {
                return Err(refuse(&format!("failed quota: {name}: {why}")));
            }
            if limited.iter().any(|name| !used.contains_key(name)) {
                let all = limited.join(",");
                return Err(refuse(&format!("status unknown for quota: {name}, resources: {all}")));
            }
            if !negative.is_empty() {
                let all = negative.join(",");
                return Err(refuse(&format!("quota usage is negative for resource(s): {all}")));
            }
            let before = existing.filter(|existing| evaluator.is_in_scope(quota, existing));
            let before = before.map(|existing| evaluator.usage(existing, now)).unwrap_or_default();
            let asked = requested(&usage, &before, &hard);
            quota::add(&mut used, &asked);
            let exceeded: Vec<&str> = asked
                .keys()
                .filter(|name| used.get(*name) > hard.get(*name))
                .map(String::as_str)
                .collect();
            if !exceeded.is_empty() && subresource != "status" {
                let of = |list: &ResourceList| shown(list, &exceeded);
                return Err(refuse(&format!(
                    "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
                    of(&asked),
                    of(&quota::list(&quota["status"]["used"])),
                    of(&hard)
                )));
            }
            if !asked.is_empty() {
                charged.push((Key::new("", "resourcequotas", &key.namespace, name), used));
            }
        }
        if write.dry_run {
            return Ok(());
        }
        for (quota, used) in charged {
            let used = quota::written(&used);
            self.modify(&Actor::admin(), &quota, "status", |quota| {
                object::set(quota, &["status", "used"], used);
            })?;
        }
        Ok(())
    }
}

/// The increase of the limited resources.
fn requested(usage: &ResourceList, before: &ResourceList, hard: &ResourceList) -> ResourceList {
    let more = usage.iter().map(|(name, amount)| {
        let before = before.get(name).copied().unwrap_or(Quantity::ZERO);
        (name.clone(), amount.less(before))
    });
    more.filter(|(name, amount)| !amount.is_zero() && hard.contains_key(name)).collect()
}

/// Formats the amounts of these resources: `pods=1,requests.cpu=500m`.
fn shown(list: &ResourceList, names: &[&str]) -> String {
    let amounts: BTreeMap<&str, &Quantity> =
        names.iter().filter_map(|name| Some((*name, list.get(*name)?))).collect();
    let parts: Vec<String> = amounts.iter().map(|(name, it)| format!("{name}={it}")).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::DeleteOptions;

    fn quota(cluster: &mut Cluster, spec: &Value, used: &Value) -> Key {
        let key = Key::new("", "resourcequotas", "default", "q");
        let object = json!({"metadata": {"name": "q"}, "spec": spec});
        cluster.create(&Actor::admin(), "", "resourcequotas", "default", object).unwrap();
        let change = |quota: &mut Value| {
            quota["status"] = json!({"hard": spec["hard"], "used": used});
        };
        cluster.modify(&Actor::admin(), &key, "status", change).unwrap();
        key
    }

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new("2026-11-21T08:00:00Z".parse().unwrap(), 1);
        cluster.clock.set_speed(0);
        cluster
    }

    fn make(cluster: &mut Cluster, plural: &str, object: Value) -> Result<(), String> {
        let made = cluster.create(&Actor::admin(), "", plural, "default", object);
        made.map(|_| ()).map_err(|status| status.message)
    }

    fn used(cluster: &Cluster, key: &Key) -> Value {
        cluster.get(key).unwrap()["status"]["used"].clone()
    }

    #[test]
    fn request_over_the_quota_is_refused_and_one_within_is_charged() {
        let mut cluster = cluster();
        let hard = json!({"requests.cpu": "1", "pods": "5", "count/secrets": "0"});
        let none = json!({"requests.cpu": "0", "pods": "0", "count/secrets": "0"});
        let key = quota(&mut cluster, &json!({"hard": hard}), &none);
        let pod = |name: &str, cpu: &str| {
            json!({
                "metadata": {"name": name},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": cpu}}}]},
            })
        };
        make(&mut cluster, "pods", pod("a", "0.75")).unwrap();
        assert_eq!(
            used(&cluster, &key),
            json!({"requests.cpu": "750m", "pods": "1", "count/secrets": "0"})
        );
        assert_eq!(
            make(&mut cluster, "pods", pod("b", "500m")).unwrap_err(),
            "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=750m, \
             limited: requests.cpu=1"
        );
        let silent = json!({"metadata": {"name": "c"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        assert_eq!(
            make(&mut cluster, "pods", silent).unwrap_err(),
            "pods \"c\" is forbidden: failed quota: q: must specify requests.cpu for: c"
        );
        assert!(make(&mut cluster, "secrets", json!({"metadata": {"name": "s"}})).is_err());
        make(&mut cluster, "configmaps", json!({"metadata": {"name": "m"}})).unwrap();
        // Only the controller reduces a charge.
        let pod = Key::new("", "pods", "default", "a");
        cluster.delete(&Actor::admin(), &pod, &DeleteOptions::default()).unwrap();
        assert_eq!(used(&cluster, &key)["pods"], "1");
    }

    #[test]
    fn growth_of_an_object_is_charged() {
        let mut cluster = cluster();
        let hard = json!({"services.nodeports": "1", "services": "9"});
        let none = json!({"services.nodeports": "0", "services": "0"});
        let key = quota(&mut cluster, &json!({"hard": hard}), &none);
        let ports = json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}]);
        let service = json!({"metadata": {"name": "s"}, "spec": {"ports": ports}});
        make(&mut cluster, "services", service).unwrap();
        let service = Key::new("", "services", "default", "s");
        let open = |service: &mut Value| service["spec"]["type"] = json!("NodePort");
        let refused = cluster.modify(&Actor::admin(), &service, "", open).unwrap_err();
        assert_eq!(
            refused.message,
            "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=2, \
             used: services.nodeports=0, limited: services.nodeports=1"
        );
        let open = |service: &mut Value| {
            service["spec"]["type"] = json!("NodePort");
            service["spec"]["ports"] = json!([{"port": 1}]);
        };
        cluster.modify(&Actor::admin(), &service, "", open).unwrap();
        assert_eq!(used(&cluster, &key), json!({"services.nodeports": "1", "services": "1"}));
        let same =
            |service: &mut Value| object::set(service, &["metadata", "labels"], json!({"a": "b"}));
        cluster.modify(&Actor::admin(), &service, "", same).unwrap();
        assert_eq!(used(&cluster, &key)["services.nodeports"], "1");
    }

    #[test]
    fn uncounted_quota_refuses_all_and_a_dry_run_costs_nothing() {
        let mut cluster = cluster();
        let key = quota(&mut cluster, &json!({"hard": {"secrets": "1"}}), &json!({}));
        let secret = json!({"metadata": {"name": "s"}});
        assert_eq!(
            make(&mut cluster, "secrets", secret.clone()).unwrap_err(),
            "secrets \"s\" is forbidden: status unknown for quota: q, resources: secrets"
        );
        let counted = |quota: &mut Value| quota["status"]["used"] = json!({"secrets": "0"});
        cluster.modify(&Actor::admin(), &key, "status", counted).unwrap();
        let trial = Write { dry_run: true, ..Write::default() };
        cluster
            .create_with(&Actor::admin(), &trial, "", "secrets", "default", secret.clone())
            .unwrap();
        assert_eq!(used(&cluster, &key)["secrets"], "0");
        make(&mut cluster, "secrets", secret).unwrap();
        assert_eq!(used(&cluster, &key)["secrets"], "1");
    }
}
