//! Privilege escalation: the checks by which the storage of roles and bindings refuses rights that the user does not
//! have (`kubernetes/pkg/registry/rbac/*/policybased/storage.go` and `escalation_check.go`, `validation/rule.go`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    cluster::{
        Actor, Cluster,
        rbac::{self, Attributes, GROUP, allows, is_master},
    },
    object,
    status::Status,
    store::Key,
};

/// One verb on one resource or path: exactly one of `resource` and `path` is empty. `resource_name` may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Right<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    resource_name: &'a str,
    path: &'a str,
}

/// Refuses a role, or a binding to a role, that grants rights which its writer does not have.
pub(super) fn check(
    cluster: &Cluster,
    actor: &Actor,
    key: &Key,
    existing: Option<&Value>,
    object: &Value,
) -> Result<(), Status> {
    if &*key.group != GROUP || is_master(actor) {
        return Ok(());
    }
    if existing.is_some_and(|existing| differ_for_collection_only(existing, object)) {
        return Ok(());
    }
    match &*key.plural {
        "roles" | "clusterroles" => of_role(cluster, actor, key, existing, object),
        "rolebindings" | "clusterrolebindings" => of_binding(cluster, actor, key, object),
        _ => Ok(()),
    }
}

fn of_role(
    cluster: &Cluster,
    actor: &Actor,
    key: &Key,
    existing: Option<&Value>,
    role: &Value,
) -> Result<(), Status> {
    let escalate = Attributes {
        verb: "escalate",
        group: GROUP,
        resource: &key.plural,
        namespace: &key.namespace,
        // A create request has no name.
        name: if existing.is_some() { &key.name } else { "" },
        ..Attributes::default()
    };
    if allows(cluster, actor, &escalate) {
        return Ok(());
    }
    confirm(cluster, actor, key, role)?;
    // A role that aggregates the rules of others may come to grant anything.
    let gathers = |role: &Value| {
        let selectors = object::at(role, &["aggregationRule", "clusterRoleSelectors"]).as_array();
        selectors.is_some_and(|all| !all.is_empty())
    };
    if &*key.plural == "clusterroles" && (gathers(role) || existing.is_some_and(gathers)) {
        let everything = [
            Right { verb: "*", group: "*", resource: "*", resource_name: "", path: "" },
            Right { verb: "*", group: "", resource: "", resource_name: "", path: "*" },
        ];
        if !missing(cluster, actor, &key.namespace, everything.into()).is_empty() {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Status::forbidden(GROUP, &key.plural, &key.name, why));
        }
    }
    Ok(())
}

fn of_binding(cluster: &Cluster, actor: &Actor, key: &Key, binding: &Value) -> Result<(), Status> {
    let reference = |field: &str| object::text(binding, &["roleRef", field]);
    let (resource, namespace) = match reference("kind") {
        "Role" => ("roles", &*key.namespace),
        "ClusterRole" => ("clusterroles", ""),
        odd => {
            let why = format!("unsupported role reference kind: {odd:?}");
            return Err(Status::plain(500, &why));
        }
    };
    let bind = Attributes {
        verb: "bind",
        group: GROUP,
        resource,
        namespace: &key.namespace,
        name: reference("name"),
        ..Attributes::default()
    };
    if allows(cluster, actor, &bind) {
        return Ok(());
    }
    let role = cluster.get(&Key::new(GROUP, resource, namespace, reference("name")));
    // kube-apiserver looks up the role, but its error names the resource of the binding.
    let role = role.ok_or_else(|| Status::not_found(GROUP, &key.plural, reference("name")))?;
    confirm(cluster, actor, key, role)
}

/// `IsOnlyMutatingGCFields`: whether two objects differ at most in finalizers and owner references.
fn differ_for_collection_only(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in ["finalizers", "ownerReferences"] {
            object::unset(&mut object, &["metadata", field]);
        }
        object
    };
    rest(old) == rest(new)
}

/// `ConfirmNoEscalation`.
fn confirm(cluster: &Cluster, actor: &Actor, key: &Key, role: &Value) -> Result<(), Status> {
    let rules = role["rules"].as_array().into_iter().flatten();
    let missing = missing(cluster, actor, &key.namespace, rules.flat_map(rights).collect());
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        actor.name,
        quoted(actor.groups.iter().map(String::as_str)),
        compact(&missing).join("\n")
    );
    Err(Status::forbidden(GROUP, &key.plural, &key.name, &why))
}

/// The rights among these that a user does not have in a namespace (`Covers`).
fn missing<'a>(
    cluster: &Cluster,
    actor: &Actor,
    namespace: &str,
    mut rights: Vec<Right<'a>>,
) -> Vec<Right<'a>> {
    let own: Vec<&Value> = rbac::rules(cluster, actor, namespace).collect();
    rights.retain(|right| !own.iter().any(|rule| covers(rule, right)));
    rights
}

/// The single rights that a rule grants (`BreakdownRule`).
fn rights(rule: &Value) -> Vec<Right<'_>> {
    let texts = |field: &str| object::texts(rule, &[field]).collect::<Vec<_>>();
    let mut names = texts("resourceNames");
    if names.is_empty() {
        names.push("");
    }
    let mut rights = vec![];
    for group in texts("apiGroups") {
        for resource in texts("resources") {
            for verb in texts("verbs") {
                for &resource_name in &names {
                    rights.push(Right { verb, group, resource, resource_name, path: "" });
                }
            }
        }
    }
    for path in texts("nonResourceURLs") {
        for verb in texts("verbs") {
            rights.push(Right { verb, group: "", resource: "", resource_name: "", path });
        }
    }
    rights
}

/// Whether a rule grants a right (`ruleCovers`).
fn covers(rule: &Value, right: &Right<'_>) -> bool {
    let has = |field: &str, wanted: &str| object::texts(rule, &[field]).any(|one| one == wanted);
    if !has("verbs", "*") && !has("verbs", right.verb) {
        return false;
    }
    if !right.path.is_empty() {
        return object::texts(rule, &["nonResourceURLs"]).any(|one| {
            one == right.path
                || one.ends_with('*') && right.path.starts_with(one.trim_end_matches('*'))
        });
    }
    let of_all = || {
        let subresource = right.resource.split_once('/').map(|(_, subresource)| subresource);
        subresource.is_some_and(|subresource| has("resources", &format!("*/{subresource}")))
    };
    let names = object::texts(rule, &["resourceNames"]).next().is_some();
    (has("apiGroups", "*") || has("apiGroups", right.group))
        && (has("resources", "*") || has("resources", right.resource) || of_all())
        && (!names || !right.resource_name.is_empty() && has("resourceNames", right.resource_name))
}

/// Rights as a refusal lists them: grouped by resource (`CompactRules`) and sorted as text.
fn compact(rights: &[Right<'_>]) -> Vec<String> {
    let mut simple: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut texts = BTreeSet::new();
    for Right { verb, group, resource, resource_name, path } in rights {
        if !path.is_empty() {
            texts.insert(format!("{{NonResourceURLs:[{path:?}], Verbs:[{verb:?}]}}"));
        } else if resource_name.is_empty() {
            simple.entry((group, resource)).or_default().push(verb);
        } else {
            texts.insert(format!(
                "{{APIGroups:[{group:?}], Resources:[{resource:?}], ResourceNames:[{resource_name:?}], Verbs:[{verb:?}]}}"
            ));
        }
    }
    for ((group, resource), verbs) in simple {
        let verbs = quoted(verbs.into_iter());
        texts.insert(format!("{{APIGroups:[{group:?}], Resources:[{resource:?}], Verbs:{verbs}}}"));
    }
    texts.into_iter().collect()
}

/// Strings as Go's `%q` formats a slice of them.
fn quoted<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", texts.map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(name: &str) -> Actor {
        let groups = vec!["system:authenticated".into()];
        Actor { name: name.into(), groups, ..Actor::default() }
    }

    /// A cluster in which the user `ann` has these rules in the namespace `default`.
    fn cluster(rules: &Value) -> Cluster {
        let mut cluster = Cluster::new("2026-11-21T08:00:00Z".parse().unwrap(), 1);
        let role = json!({"metadata": {"name": "of-ann"}, "rules": rules});
        cluster.create(&Actor::admin(), GROUP, "roles", "default", role).unwrap();
        let binding = json!({
            "metadata": {"name": "of-ann"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": GROUP}],
            "roleRef": {"kind": "Role", "name": "of-ann", "apiGroup": GROUP},
        });
        cluster.create(&Actor::admin(), GROUP, "rolebindings", "default", binding).unwrap();
        cluster
    }

    fn said(own: &Value, plural: &str, object: &Value) -> String {
        let cluster = cluster(own);
        let namespace = if plural.starts_with("cluster") { "" } else { "default" };
        let key = Key::new(GROUP, plural, namespace, "new");
        let answer = check(&cluster, &person("ann"), &key, None, object);
        answer.err().map(|status| status.message).unwrap_or_default()
    }

    fn rule(resources: &[&str], verbs: &[&str]) -> Value {
        json!({"apiGroups": [""], "resources": resources, "verbs": verbs})
    }

    #[test]
    fn role_gives_only_rights_that_its_writer_has() {
        let new = |rule: Value| json!({"rules": [rule]});
        let own = json!([rule(&["pods", "*/log"], &["get", "list"])]);
        assert_eq!(said(&own, "roles", &new(rule(&["pods", "pods/log"], &["get"]))), "");
        assert_eq!(
            said(&own, "roles", &new(rule(&["secrets", "pods"], &["get", "delete"]))),
            "roles.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" (groups=[\"system:authenticated\"]) is \
             attempting to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}"
        );
        let mut named = rule(&["pods"], &["delete"]);
        named["resourceNames"] = json!(["a"]);
        let some = json!([named.clone()]);
        assert_eq!(said(&some, "roles", &new(named)), "");
        assert_ne!(said(&some, "roles", &new(rule(&["pods"], &["delete"]))), "");
        // Rights in one namespace do not count in all namespaces.
        assert_ne!(said(&own, "clusterroles", &new(rule(&["pods"], &["get"]))), "");
        let paths = json!({"nonResourceURLs": ["/version/x"], "verbs": ["get"]});
        assert_ne!(said(&own, "clusterroles", &new(paths)), "");
        let gathers = json!({"aggregationRule": {"clusterRoleSelectors": [{}]}});
        assert!(said(&own, "clusterroles", &gathers).ends_with("to use the aggregationRule"));
    }

    #[test]
    fn escalate_or_bind_allows_any_role() {
        let on = |resources: &[&str], verb: &str| json!([{"apiGroups": [GROUP], "resources": resources, "verbs": [verb]}]);
        let new = json!({"rules": [rule(&["secrets"], &["get"])]});
        assert_eq!(said(&on(&["roles"], "escalate"), "roles", &new), "");
        let to = |name: &str| json!({"roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": GROUP}});
        assert_eq!(said(&on(&["clusterroles"], "bind"), "rolebindings", &to("view")), "");
        assert_ne!(said(&on(&["roles"], "bind"), "rolebindings", &to("view")), "");
        assert_eq!(
            said(&json!([]), "rolebindings", &to("none")),
            "rolebindings.rbac.authorization.k8s.io \"none\" not found"
        );
        // Every user has the rights of `system:basic-user` already.
        assert_eq!(said(&json!([]), "rolebindings", &to("system:basic-user")), "");
    }

    #[test]
    fn masters_and_collectors_are_let_through() {
        let cluster = cluster(&json!([]));
        let key = Key::new(GROUP, "roles", "default", "new");
        let role =
            json!({"metadata": {"finalizers": ["a/b"]}, "rules": [rule(&["pods"], &["get"])]});
        let mut freed = role.clone();
        object::unset(&mut freed, &["metadata", "finalizers"]);
        assert!(check(&cluster, &Actor::admin(), &key, None, &role).is_ok());
        assert!(check(&cluster, &person("ann"), &key, Some(&role), &freed).is_ok());
        freed["metadata"]["labels"] = json!({"a": "b"});
        assert!(check(&cluster, &person("ann"), &key, Some(&role), &freed).is_err());
    }
}
