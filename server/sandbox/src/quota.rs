//! The usage of an object under a ResourceQuota: the evaluators of `kubernetes/pkg/quota/v1/evaluator/core` and
//! `apiserver/pkg/quota/v1/generic`. Admission charges this usage, and the quota controller sums it up.

mod pod;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

pub use pod::{default_requests, qos_class};

use crate::{object, quantity::Quantity};

/// Amounts by resource name: `v1.ResourceList`.
pub type ResourceList = BTreeMap<String, Quantity>;

/// `storageClassSuffix`: the text between the name of a class and the name of the limited resource.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// The amounts in a map of an object. An amount that cannot be read is left out; validation has refused it.
#[must_use]
pub fn list(map: &Value) -> ResourceList {
    let amounts = map.as_object().into_iter().flatten();
    let read =
        |(name, value): (&String, &Value)| Some((name.clone(), Quantity::from_value(value).ok()?));
    amounts.filter_map(read).collect()
}

/// Amounts in the form in which objects have them.
#[must_use]
pub fn written(list: &ResourceList) -> Value {
    list.iter().map(|(name, amount)| (name.clone(), amount.to_value())).collect()
}

/// Adds amounts to a sum.
pub fn add(sum: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_insert(Quantity::ZERO);
        *sum = sum.plus(*amount);
    }
}

/// The way in which objects of a resource are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evaluator<'a> {
    group: &'a str,
    plural: &'a str,
    sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Pods,
    Services,
    Claims,
    /// Objects that are only counted. The older resources also have a plain name for their count.
    Objects {
        plain: bool,
    },
}

impl<'a> Evaluator<'a> {
    /// `None` for a resource that quotas ignore (`DefaultIgnoredResources`).
    #[must_use]
    pub fn of(group: &'a str, plural: &'a str) -> Option<Self> {
        let sort = match (group, plural) {
            ("" | "events.k8s.io", "events") | ("", "bindings") => return None,
            ("authentication.k8s.io" | "authorization.k8s.io", _) => return None,
            ("", "pods") => Sort::Pods,
            ("", "services") => Sort::Services,
            ("", "persistentvolumeclaims") => Sort::Claims,
            ("", "configmaps" | "resourcequotas" | "replicationcontrollers" | "secrets") => {
                Sort::Objects { plain: true }
            }
            _ => Sort::Objects { plain: false },
        };
        Some(Self { group, plural, sort })
    }

    /// The name under which all objects of the resource are counted: `count/deployments.apps`.
    fn count(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("count/{}{dot}{}", self.plural, self.group)
    }

    /// Whether objects of the resource can use the quota resource of this name (`MatchingResources`).
    #[must_use]
    pub fn measures(&self, name: &str) -> bool {
        if name.strip_prefix("count/").is_some() {
            return name == self.count();
        }
        match self.sort {
            Sort::Pods => pod::measures(name),
            Sort::Services => {
                ["services", "services.nodeports", "services.loadbalancers"].contains(&name)
            }
            Sort::Claims => {
                let name = name.split_once(OF_CLASS).map_or(name, |(_, of_class)| of_class);
                ["persistentvolumeclaims", "requests.storage"].contains(&name)
            }
            Sort::Objects { plain } => plain && name == self.plural,
        }
    }

    /// Whether a create, or a write of this `subresource`, can raise the usage (`Handles`).
    #[must_use]
    pub fn handles(&self, creates: bool, subresource: &str) -> bool {
        match self.sort {
            // Only `resize`, which is not served, can raise the usage of an existing Pod.
            Sort::Pods => creates && subresource.is_empty(),
            Sort::Services => true,
            Sort::Claims => ["", "status"].contains(&subresource),
            Sort::Objects { .. } => creates,
        }
    }

    /// Whether an object is within the scopes of a quota. Only Pods and claims can be within a scope.
    #[must_use]
    pub fn is_in_scope(&self, quota: &Value, object: &Value) -> bool {
        let spec = &quota["spec"];
        let within = |scope: &str, operator: &str, values: &Value| match self.sort {
            Sort::Pods => pod::is_in_scope(object, scope, operator, values),
            Sort::Claims => is_claim_in_scope(object, scope, operator, values),
            Sort::Services | Sort::Objects { .. } => false,
        };
        let selectors = object::at(spec, &["scopeSelector", "matchExpressions"]).as_array();
        object::texts(spec, &["scopes"]).all(|scope| within(scope, "Exists", &Value::Null))
            && selectors.into_iter().flatten().all(|one| {
                let text = |field: &str| object::text(one, &[field]);
                within(text("scopeName"), text("operator"), &one["values"])
            })
    }

    /// The limited cpu and memory resources that a Pod does not specify, by container (`Constraints`).
    #[must_use]
    pub fn unasked(&self, limited: &[String], object: &Value) -> Option<String> {
        if self.sort == Sort::Pods { pod::unasked(limited, object) } else { None }
    }

    /// The usage of an object at this time.
    #[must_use]
    pub fn usage(&self, object: &Value, now: Timestamp) -> ResourceList {
        let one = Quantity::of(1);
        let mut usage = ResourceList::from([(self.count(), one)]);
        match self.sort {
            Sort::Pods => add(&mut usage, &pod::usage(object, now)),
            Sort::Services => add(&mut usage, &of_service(object)),
            Sort::Claims => add(&mut usage, &of_claim(object)),
            Sort::Objects { plain: true } => _ = usage.insert(self.plural.into(), one),
            Sort::Objects { plain: false } => {}
        }
        usage
    }

    /// Whether a change of an object may have lowered its usage (`DefaultUpdateFilter` for updates).
    #[must_use]
    pub fn frees(&self, previous: &Value, object: &Value) -> bool {
        match self.sort {
            Sort::Pods => !pod::has_ended(previous) && pod::has_ended(object),
            Sort::Services => {
                let opens = |one: &Value| {
                    let sort = object::text(one, &["spec", "type"]).to_owned();
                    ["NodePort", "LoadBalancer"].contains(&sort.as_str()).then_some(sort)
                };
                opens(previous) != opens(object)
            }
            // `RequiresQuotaReplenish` (pkg/quota/v1/evaluator/core/persistent_volume_claims.go) compares the pointers
            // that two calls of `AllocatedResources.Storage()` return. They always differ, so every change counts.
            Sort::Claims => true,
            Sort::Objects { .. } => false,
        }
    }
}

fn of_service(service: &Value) -> ResourceList {
    let ports = service["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let chosen = || ports.iter().filter(|port| port["nodePort"].as_i64().is_some_and(|it| it != 0));
    let (ports, balancers) = match object::text(service, &["spec", "type"]) {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if service["spec"]["allocateLoadBalancerNodePorts"] == false => {
            (chosen().count(), 1)
        }
        "LoadBalancer" => (ports.len(), 1),
        _ => (0, 0),
    };
    ResourceList::from([
        ("services".into(), Quantity::of(1)),
        ("services.nodeports".into(), Quantity::of(ports)),
        ("services.loadbalancers".into(), Quantity::of(balancers)),
    ])
}

/// `pvcMatchesScopeFunc`.
fn is_claim_in_scope(claim: &Value, scope: &str, operator: &str, values: &Value) -> bool {
    let mut classes = object::attributes_classes(claim).peekable();
    scope == "VolumeAttributesClass"
        && match classes.peek() {
            Some(_) => classes.any(|class| selects(operator, values, class)),
            None => selects(operator, values, ""),
        }
}

/// Whether a class meets the requirement of a scope. The class is empty for an object that names none.
fn selects(operator: &str, values: &Value, class: &str) -> bool {
    let listed = || values.as_array().is_some_and(|all| all.iter().any(|it| it == class));
    match operator {
        "Exists" => !class.is_empty(),
        "DoesNotExist" => class.is_empty(),
        "In" => !class.is_empty() && listed(),
        "NotIn" => class.is_empty() || !listed(),
        _ => false,
    }
}

fn of_claim(claim: &Value) -> ResourceList {
    let storage = |path: &[&str]| {
        let value = object::at(claim, path);
        Quantity::from_value(value).ok().filter(|_| !value.is_null()).map(Quantity::rounded_up)
    };
    let asked = storage(&["spec", "resources", "requests", "storage"]);
    let given = storage(&["status", "allocatedResources", "storage"]);
    let mut usage = ResourceList::from([("persistentvolumeclaims".into(), Quantity::of(1))]);
    if let Some(asked) = asked {
        usage.insert("requests.storage".into(), given.map_or(asked, |given| given.max(asked)));
    }
    let annotation = "volume.beta.kubernetes.io/storage-class";
    let class = match object::text(claim, &["metadata", "annotations", annotation]) {
        "" => object::text(claim, &["spec", "storageClassName"]),
        class => class,
    };
    if !class.is_empty() {
        let of_class = usage.iter().map(|(name, it)| (format!("{class}{OF_CLASS}{name}"), *it));
        let of_class: ResourceList = of_class.collect();
        usage.extend(of_class);
    }
    usage
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(group: &str, plural: &str, object: &Value, expected: &Value) {
        let usage = Evaluator::of(group, plural).unwrap().usage(object, Timestamp::UNIX_EPOCH);
        assert_eq!(written(&usage), *expected, "{object}");
    }

    #[test]
    fn objects_are_counted_and_measured() {
        check("apps", "deployments", &json!({}), &json!({"count/deployments.apps": "1"}));
        let both = json!({"count/secrets": "1", "secrets": "1"});
        check("", "secrets", &json!({}), &both);
        check(
            "",
            "services",
            &json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}}),
            &json!({"count/services": "1", "services": "1", "services.loadbalancers": "1", "services.nodeports": "2"}),
        );
        let spec =
            json!({"storageClassName": "fast", "resources": {"requests": {"storage": "1.5"}}});
        check(
            "",
            "persistentvolumeclaims",
            &json!({"spec": spec, "status": {"allocatedResources": {"storage": "1Ki"}}}),
            &json!({
                "count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "1Ki",
                "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "fast.storageclass.storage.k8s.io/requests.storage": "1Ki",
            }),
        );
        assert_eq!(Evaluator::of("", "events"), None);
    }

    #[test]
    fn names_belong_to_what_uses_them() {
        let measures = |group, plural, name| Evaluator::of(group, plural).unwrap().measures(name);
        assert!(measures("apps", "deployments", "count/deployments.apps"));
        assert!(!measures("apps", "deployments", "deployments"));
        assert!(measures("", "persistentvolumeclaims", "count/persistentvolumeclaims"));
        assert!(measures(
            "",
            "persistentvolumeclaims",
            "a.storageclass.storage.k8s.io/requests.storage"
        ));
        assert!(measures("", "pods", "limits.memory") && measures("", "pods", "requests.x.io/gpu"));
        assert!(!measures("", "pods", "requests.storage") && !measures("", "secrets", "pods"));
    }
}
