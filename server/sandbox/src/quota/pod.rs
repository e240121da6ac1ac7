//! The usage of Pods: `kubernetes/pkg/quota/v1/evaluator/core/pods.go`, with the sums over containers of
//! `component-helpers/resource` and the QoS classes of `pkg/apis/core/v1/helper/qos`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{ResourceList, add, list, selects};
use crate::{object, quantity::Quantity};

/// The names of cpu, memory and local storage in a quota.
const COMPUTE: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
/// `validationSet`: the resources that every container must specify once a quota limits them.
const DEMANDED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
const HUGE_PAGES: &str = "hugepages-";
const REQUESTS: &str = "requests.";

pub(super) fn measures(name: &str) -> bool {
    let asked = name.strip_prefix(REQUESTS);
    name == "pods"
        || COMPUTE.contains(&name)
        || asked.unwrap_or(name).starts_with(HUGE_PAGES)
        || asked.is_some() && !is_native(name)
}

/// `IsNativeResource`: whether the name is one of Kubernetes' own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether none of a Pod's containers runs again.
pub(super) fn has_ended(pod: &Value) -> bool {
    ["Failed", "Succeeded"].contains(&object::text(pod, &["status", "phase"]))
}

/// `QuotaV1Pod`: whether a Pod is charged for more than its existence. A Pod that has ended is not, nor is one whose
/// deletion is overdue, so that a lost node does not keep other Pods from running.
fn is_charged(pod: &Value, now: Timestamp) -> bool {
    if has_ended(pod) {
        return false;
    }
    let end = object::deletion_timestamp(pod).zip(object::deletion_grace_period(pod));
    end.is_none_or(|(at, grace)| {
        at.checked_add(SignedDuration::from_secs(grace)).is_ok_and(|end| now <= end)
    })
}

pub(super) fn usage(pod: &Value, now: Timestamp) -> ResourceList {
    if !is_charged(pod, now) {
        return ResourceList::new();
    }
    named(&sum(pod, "requests"), &sum(pod, "limits"))
}

/// `podComputeUsageHelper`: requests and limits under the names that quotas have for them.
fn named(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::from([("pods".into(), Quantity::of(1))]);
    for (name, amount) in requests {
        let own = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str())
            || name.starts_with(HUGE_PAGES);
        if own {
            usage.insert(name.clone(), *amount);
        }
        if own || !is_native(name) && !name.starts_with(REQUESTS) {
            usage.insert(format!("{REQUESTS}{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

fn containers<'a>(pod: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    pod["spec"][field].as_array().into_iter().flatten()
}

/// The Pod-level resources (`spec.resources`), as far as they are supported (`IsSupportedPodLevelResource`).
fn whole(pod: &Value, side: &str) -> ResourceList {
    let mut amounts = list(&pod["spec"]["resources"][side]);
    amounts.retain(|name, _| {
        ["cpu", "memory"].contains(&name.as_str()) || name.starts_with(HUGE_PAGES)
    });
    amounts
}

/// The Pod-level requests of a Pod that has only Pod-level limits: the requests of its containers, or else the limit
/// (`defaultPodRequests`).
pub fn default_requests(pod: &Value) -> ResourceList {
    let limits = whole(pod, "limits");
    if limits.is_empty() {
        return ResourceList::new();
    }
    let mut requests = aggregate(pod, "requests");
    requests.retain(|name, _| ["cpu", "memory"].contains(&name.as_str()));
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
    requests
}

/// `PodRequests` or `PodLimits`: Pod-level resources take precedence over the sum over containers. The overhead is
/// added, to limits only for resources that have one.
fn sum(pod: &Value, side: &str) -> ResourceList {
    let mut total = aggregate(pod, side);
    total.extend(whole(pod, side));
    for (name, overhead) in list(&pod["spec"]["overhead"]) {
        if side == "requests" || total.get(&name).is_some_and(|it| !it.is_zero()) {
            add(&mut total, &ResourceList::from([(name, overhead)]));
        }
    }
    total
}

/// The sum of all containers, or, if that is more, an init container together with the sidecars that start before it.
fn aggregate(pod: &Value, side: &str) -> ResourceList {
    let of = |container: &Value| list(&container["resources"][side]);
    let most = |sum: &mut ResourceList, other: &ResourceList| {
        for (name, amount) in other {
            let sum = sum.entry(name.clone()).or_insert(*amount);
            *sum = (*sum).max(*amount);
        }
    };
    let (mut total, mut sidecars, mut starting) =
        (ResourceList::new(), ResourceList::new(), ResourceList::new());
    for container in containers(pod, "containers") {
        add(&mut total, &of(container));
    }
    for container in containers(pod, "initContainers") {
        let mut own = of(container);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            own.clone_from(&sidecars);
        } else {
            add(&mut own, &sidecars);
        }
        most(&mut starting, &own);
    }
    most(&mut total, &starting);
    total
}

/// `must specify …`, if a container does not specify a limited resource, and neither does the Pod as a whole.
pub(super) fn unasked(limited: &[String], pod: &Value) -> Option<String> {
    if !whole(pod, "requests").is_empty() || !whole(pod, "limits").is_empty() {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers(pod, "containers").chain(containers(pod, "initContainers")) {
        let side = |side: &str| list(&container["resources"][side]);
        let says = named(&side("requests"), &side("limits"));
        let demanded = DEMANDED.into_iter().filter(|name| limited.iter().any(|it| it == name));
        for name in demanded.filter(|name| !says.contains_key(*name)) {
            missing.entry(name).or_default().insert(object::text(container, &["name"]));
        }
    }
    let names = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(",");
    let parts: Vec<String> =
        missing.into_iter().map(|(name, who)| format!("{name} for: {}", names(who))).collect();
    (!parts.is_empty()).then(|| format!("must specify {}", parts.join("; ")))
}

/// `podMatchesScopeFunc`.
pub(super) fn is_in_scope(pod: &Value, scope: &str, operator: &str, values: &Value) -> bool {
    let spec = &pod["spec"];
    let terminating = || spec["activeDeadlineSeconds"].as_i64().is_some_and(|it| it >= 0);
    match scope {
        "Terminating" => terminating(),
        "NotTerminating" => !terminating(),
        "BestEffort" => class_of(pod) == "BestEffort",
        "NotBestEffort" => class_of(pod) != "BestEffort",
        "PriorityClass" => selects(operator, values, object::text(spec, &["priorityClassName"])),
        "CrossNamespacePodAffinity" => reaches_other_namespaces(spec),
        _ => false,
    }
}

/// `usesCrossNamespacePodAffinity`: whether an affinity term names or selects namespaces.
fn reaches_other_namespaces(spec: &Value) -> bool {
    ["podAffinity", "podAntiAffinity"].into_iter().any(|side| {
        let terms = |field: &str| {
            let terms = object::at(spec, &["affinity", side, field]).as_array();
            terms.into_iter().flatten()
        };
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution");
        let mut all = required.chain(preferred.map(|it| &it["podAffinityTerm"]));
        all.any(|term| {
            term["namespaces"].as_array().is_some_and(|all| !all.is_empty())
                || !term["namespaceSelector"].is_null()
        })
    })
}

fn class_of(pod: &Value) -> &str {
    match object::text(pod, &["status", "qosClass"]) {
        "" => qos_class(pod),
        class => class,
    }
}

/// The QoS class of a Pod: `ComputePodQOS`.
#[must_use]
pub fn qos_class(pod: &Value) -> &'static str {
    let of = |asks: &Value| {
        let side = |side: &str| {
            let mut amounts = list(&asks["resources"][side]);
            amounts.retain(|name, it| ["cpu", "memory"].contains(&name.as_str()) && !it.is_zero());
            amounts
        };
        let (requests, limits) = (side("requests"), side("limits"));
        match (requests.is_empty() && limits.is_empty(), limits.len() == 2 && requests == limits) {
            (true, _) => "BestEffort",
            (_, true) => "Guaranteed",
            _ => "Burstable",
        }
    };
    if !pod["spec"]["resources"].is_null() {
        return of(&pod["spec"]);
    }
    let mut classes =
        containers(pod, "initContainers").chain(containers(pod, "containers")).map(of);
    let first = classes.next().unwrap_or("BestEffort");
    if classes.all(|class| class == first) { first } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Evaluator, written};
    use super::*;

    fn container(name: &str, requests: &Value, limits: &Value) -> Value {
        json!({"name": name, "resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn init_containers_run_before_the_others() {
        let mut first = container("first", &json!({"cpu": "3"}), &json!({}));
        let sidecar = json!({
            "name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}},
        });
        let main =
            container("main", &json!({"cpu": "500m", "memory": "1Gi"}), &json!({"cpu": "1"}));
        let mut pod = json!({"spec": {
            "containers": [main], "initContainers": [sidecar, first],
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        }});
        let used = |pod: &Value| written(&usage(pod, Timestamp::UNIX_EPOCH));
        assert_eq!(
            used(&pod),
            json!({
                "pods": "1", "cpu": "4100m", "requests.cpu": "4100m", "memory": "1025Mi", "requests.memory": "1025Mi",
                "limits.cpu": "1100m",
            })
        );
        first["resources"]["requests"]["cpu"] = json!("100m");
        pod["spec"]["initContainers"][1] = first;
        assert_eq!(used(&pod)["cpu"], "1600m");
        assert_eq!(qos_class(&pod), "Burstable");
    }

    #[test]
    fn resources_of_the_whole_pod_count() {
        let asks = container("main", &json!({"cpu": "2", "example.com/gpu": "1"}), &json!({}));
        let mut pod = json!({"spec": {"containers": [asks], "resources": {"limits": {"cpu": "3", "memory": "1Gi"}}}});
        assert_eq!(written(&default_requests(&pod)), json!({"cpu": "2", "memory": "1Gi"}));
        pod["spec"]["resources"]["requests"] = json!({"cpu": "1"});
        assert_eq!(
            written(&usage(&pod, Timestamp::UNIX_EPOCH)),
            json!({
                "pods": "1", "cpu": "1", "requests.cpu": "1", "limits.cpu": "3", "limits.memory": "1Gi",
                "requests.example.com/gpu": "1",
            })
        );
        assert_eq!(unasked(&["requests.cpu".into(), "requests.memory".into()], &pod), None);
        assert_eq!(qos_class(&pod), "Burstable");
        pod["spec"]["resources"]["requests"] = pod["spec"]["resources"]["limits"].clone();
        assert_eq!(qos_class(&pod), "Guaranteed");
    }

    #[test]
    fn ended_and_overdue_pods_count_only_as_objects() {
        let pods = Evaluator::of("", "pods").unwrap();
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let ended = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(written(&pods.usage(&ended, at(0))), json!({"count/pods": "1"}));
        let late = json!({"metadata": {
            "deletionTimestamp": "1970-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30,
        }});
        assert!(pods.usage(&late, at(60)).contains_key("pods"));
        assert!(!pods.usage(&late, at(61)).contains_key("pods"));
    }

    #[test]
    fn scopes_distinguish_pods() {
        let quota = |scopes: Value| json!({"spec": {"scopes": scopes}});
        let (pods, secrets) =
            (Evaluator::of("", "pods").unwrap(), Evaluator::of("", "secrets").unwrap());
        let amounts = json!({"cpu": "1", "memory": "1Gi"});
        let best = json!({"spec": {"containers": [{"name": "c"}], "activeDeadlineSeconds": 0}});
        let sure = json!({"spec": {"containers": [container("c", &amounts, &amounts)], "priorityClassName": "high"}});
        assert_eq!((qos_class(&best), qos_class(&sure)), ("BestEffort", "Guaranteed"));
        assert!(pods.is_in_scope(&quota(json!(["BestEffort", "Terminating"])), &best));
        assert!(!pods.is_in_scope(&quota(json!(["BestEffort", "NotTerminating"])), &best));
        assert!(pods.is_in_scope(
            &quota(json!(["NotBestEffort", "NotTerminating", "PriorityClass"])),
            &sure
        ));
        assert!(!secrets.is_in_scope(&quota(json!(["BestEffort"])), &best));
        assert!(secrets.is_in_scope(&quota(json!([])), &best));
        let selects = |operator: &str| {
            let one =
                json!({"scopeName": "PriorityClass", "operator": operator, "values": ["high"]});
            let quota = json!({"spec": {"scopeSelector": {"matchExpressions": [one]}}});
            (pods.is_in_scope(&quota, &best), pods.is_in_scope(&quota, &sure))
        };
        assert_eq!(selects("In"), (false, true));
        assert_eq!(selects("NotIn"), (true, false));
        assert_eq!(selects("DoesNotExist"), (true, false));
    }

    #[test]
    fn pod_must_name_each_limited_resource() {
        let pod = json!({"spec": {
            "containers": [container("b", &json!({}), &json!({})), container("a", &json!({"cpu": "1"}), &json!({}))],
        }});
        let limited = ["requests.cpu", "limits.cpu", "pods"].map(String::from);
        assert_eq!(
            unasked(&limited, &pod).as_deref(),
            Some("must specify limits.cpu for: a,b; requests.cpu for: b")
        );
        assert_eq!(unasked(&["pods".into()], &pod), None);
    }
}
