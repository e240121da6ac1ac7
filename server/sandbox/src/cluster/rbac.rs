//! RBAC authorization by the roles and bindings in the store (`kubernetes/plugin/pkg/auth/authorizer/rbac`). The rules
//! of an aggregated ClusterRole are used as they are stored. The API asks it about every request, and the client of a program
//! that runs in Pods about every write.

use serde_json::Value;

use super::{Actor, Cluster};
use crate::{object, status::Status, store::Key};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
/// The group whose members may do everything, whatever the roles say.
const MASTERS: &str = "system:masters";

/// The attributes of a request that authorization decides on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The path of a request that is not for a resource.
    pub(crate) path: &'a str,
}

impl<'a> Attributes<'a> {
    /// The attributes of a request for an object; for a collection the name is empty.
    pub(crate) fn of_resource(
        verb: &'a str,
        (group, resource, subresource): (&'a str, &'a str, &'a str),
        namespace: &'a str,
        name: &'a str,
    ) -> Self {
        // A request for a Namespace is authorized within that namespace.
        let is_namespace = group.is_empty() && resource == "namespaces";
        let namespace = if is_namespace { name } else { namespace };
        Self { verb, group, resource, subresource, namespace, name, path: "" }
    }
}

/// The refusal in kube-apiserver's words.
pub(crate) fn refusal(actor: &Actor, attributes: &Attributes<'_>) -> Status {
    let Attributes { verb, group, resource, subresource, namespace, name, path } = attributes;
    let user = &actor.name;
    if resource.is_empty() {
        return Status::forbidden(
            "",
            "",
            "",
            &format!("User {user:?} cannot {verb} path {path:?}"),
        );
    }
    let full = if subresource.is_empty() {
        (*resource).to_owned()
    } else {
        format!("{resource}/{subresource}")
    };
    let place = match *namespace {
        "" => "at the cluster scope".into(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let why =
        format!("User {user:?} cannot {verb} resource {full:?} in API group {group:?} {place}");
    Status::forbidden(group, resource, name, &why)
}

/// Whether a user may make the request.
pub(crate) fn allows(cluster: &Cluster, actor: &Actor, attributes: &Attributes<'_>) -> bool {
    reason(cluster, actor, attributes).is_some()
}

/// Whether a user may do everything, whatever the roles say.
pub(crate) fn is_master(actor: &Actor) -> bool {
    actor.groups.iter().any(|group| group == MASTERS)
}

/// The reason why a user may make the request; empty if no role is needed.
pub(crate) fn reason(
    cluster: &Cluster,
    actor: &Actor,
    attributes: &Attributes<'_>,
) -> Option<String> {
    if is_master(actor) {
        return Some(String::new());
    }
    // The node authorizer, without its graph.
    if actor.groups.iter().any(|group| group == "system:nodes") && !attributes.resource.is_empty() {
        return Some(String::new());
    }
    let namespace = attributes.namespace;
    let of_cluster = cluster.list(GROUP, "clusterrolebindings", None);
    let here =
        (!namespace.is_empty()).then(|| cluster.list(GROUP, "rolebindings", Some(namespace)));
    of_cluster.chain(here.into_iter().flatten()).find_map(|binding| {
        let subject = subject(binding, actor)?;
        grants(cluster, binding, object::namespace(binding), attributes)
            .then(|| because(binding, subject))
    })
}

/// The reason that RBAC gives: `RBAC: allowed by …`.
fn because(binding: &Value, subject: &Value) -> String {
    let text = |of: &Value, field: &str| object::text(of, &[field]).to_owned();
    let (name, namespace) = (object::name(binding), object::namespace(binding));
    let binding_of = if namespace.is_empty() {
        format!("ClusterRoleBinding {name:?}")
    } else {
        let full = format!("{name}/{namespace}");
        format!("RoleBinding {full:?}")
    };
    let role = &binding["roleRef"];
    let (sort, mut who) = (text(subject, "kind"), text(subject, "name"));
    if sort == "ServiceAccount" {
        who = format!("{who}/{}", text(subject, "namespace"));
    }
    format!(
        "RBAC: allowed by {binding_of} of {} {:?} to {sort} {who:?}",
        text(role, "kind"),
        text(role, "name")
    )
}

/// Every rule that applies to a user in a namespace.
pub(crate) fn rules<'a>(
    cluster: &'a Cluster,
    actor: &'a Actor,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let of_cluster = cluster.list(GROUP, "clusterrolebindings", None);
    let here = cluster.list(GROUP, "rolebindings", Some(namespace));
    of_cluster
        .chain(here)
        .filter(|binding| binds(binding, actor))
        .filter_map(|binding| role(cluster, binding, object::namespace(binding)))
        .flat_map(|role| role["rules"].as_array().into_iter().flatten())
}

fn binds(binding: &Value, actor: &Actor) -> bool {
    subject(binding, actor).is_some()
}

/// The subject of a binding that matches a user.
fn subject<'a>(binding: &'a Value, actor: &Actor) -> Option<&'a Value> {
    binding["subjects"].as_array().into_iter().flatten().find(|subject| {
        let name = object::text(subject, &["name"]);
        match object::text(subject, &["kind"]) {
            "User" => actor.name == name,
            "Group" => actor.groups.iter().any(|group| group == name),
            "ServiceAccount" => {
                let namespace = match object::text(subject, &["namespace"]) {
                    "" => object::namespace(binding),
                    namespace => namespace,
                };
                actor.name == format!("system:serviceaccount:{namespace}:{name}")
            }
            _ => false,
        }
    })
}

fn role<'a>(cluster: &'a Cluster, binding: &Value, namespace: &str) -> Option<&'a Value> {
    let reference = &binding["roleRef"];
    let name = object::text(reference, &["name"]);
    let key = match object::text(reference, &["kind"]) {
        "Role" => Key::new(GROUP, "roles", namespace, name),
        _ => Key::new(GROUP, "clusterroles", "", name),
    };
    cluster.get(&key).map(|role| &**role)
}

fn grants(
    cluster: &Cluster,
    binding: &Value,
    namespace: &str,
    attributes: &Attributes<'_>,
) -> bool {
    let Some(role) = role(cluster, binding, namespace) else { return false };
    role["rules"].as_array().into_iter().flatten().any(|rule| covers(rule, attributes))
}

fn covers(rule: &Value, attributes: &Attributes<'_>) -> bool {
    let has = |field: &str, wanted: &str| {
        object::texts(rule, &[field]).any(|one| one == "*" || one == wanted)
    };
    if !has("verbs", attributes.verb) {
        return false;
    }
    if attributes.resource.is_empty() {
        return object::texts(rule, &["nonResourceURLs"]).any(|one| match one.strip_suffix('*') {
            Some(prefix) => attributes.path.starts_with(prefix),
            None => one == attributes.path,
        });
    }
    let full = match attributes.subresource {
        "" => attributes.resource.to_owned(),
        subresource => format!("{}/{subresource}", attributes.resource),
    };
    let resources = object::texts(rule, &["resources"]).any(|one| {
        one == "*"
            || one == full
            || one
                .strip_prefix("*/")
                .is_some_and(|sub| !sub.is_empty() && sub == attributes.subresource)
    });
    let mut names = object::texts(rule, &["resourceNames"]).peekable();
    let names = names.peek().is_none() || names.any(|one| one == attributes.name);
    has("apiGroups", attributes.group) && resources && names
}
