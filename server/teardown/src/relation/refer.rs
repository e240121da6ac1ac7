//! The edges from what an object's spec names: an object goes before what it refers to.
//!
//! # Decisions
//! - A reference is an edge only to an object that exists, of the right group, in the namespace that the reference says, or
//!   else that of the object that refers to it, or in none.
//! - These edges yield, but for routes and autoscalers: a route goes before its backends, as an Ingress does, and an autoscaler
//!   before the workload that it would scale up again.
//! - A policy and a set of listeners belong to the Service or Gateway that they name, and carry no traffic themselves: their order
//!   yields.
//! - The Secrets of an Istio Gateway are in the namespaces of the Pods that it selects, which is often not its own. A Gateway without
//!   a selector is for all proxies of the mesh, which nothing here names: its Secrets are looked for in its own namespace.
//! - What names the object's own owner orders nothing: the owner goes first.
//! - A workload goes before the operator's object that owns a Secret, ConfigMap or claim that it uses, but not before one of which it
//!   uses only a Service. No field of a Pod names a Service: its name is a part of an argument, a file, or the value of an environment
//!   variable, which may be a password and is not read. An application that reaches its database without any credentials from a Secret
//!   of the operator is deleted beside it, and both are gone in the end. The `serviceName` of a StatefulSet is its own Service.
//! - A provider of Crossplane defines its ProviderConfig in a group above those of its resources: `s3.aws.upbound.io` and
//!   `aws.upbound.io`. So a kind of the object's own group is looked up in the groups above it too.

use std::{collections::HashSet, sync::Arc};

use super::{
    DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, Precedence, Strength, final_phase, may_own,
    used_object, uses,
};
use crate::{
    index::Index,
    object::{Facts, Object, Reference},
    selector::Selector,
};

pub(crate) const GATEWAY_API: &str = "gateway.networking.k8s.io";

const ISTIO: &str = "networking.istio.io";

/// The label by which the objects of Strimzi name their cluster
/// (<https://strimzi.io/docs/operators/latest/deploying#proc-configuring-kafka-topic-str>).
const STRIMZI_CLUSTER: &str = "strimzi.io/cluster";
const STRIMZI: &str = "kafka.strimzi.io";

/// The edges to all that the spec of an object names.
pub(super) fn references(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let object = found.from;
    let mut seen = HashSet::new();
    let mut to = |target: &Object, reference: &Reference| {
        if seen.insert(target.uid.clone()) && !index.descends(&object.uid, &target.uid) {
            to_named(found, target, reference, lookup);
        }
    };
    for reference in object.references() {
        match proxies(reference, object) {
            Some(proxies) => secrets_of(proxies, reference, index).for_each(|it| to(it, reference)),
            None => resolve(reference, object, index).into_iter().for_each(|it| to(it, reference)),
        }
    }
    if &*object.kind.group == STRIMZI
        && let Some(cluster) = object.labels.get(STRIMZI_CLUSTER)
        && let Some(target) = strimzi_cluster(object, cluster, index)
    {
        let order = Precedence::FromFirst(DeletionPhase::Gone);
        let field = format!("metadata.labels[{STRIMZI_CLUSTER}]");
        found.push_with(
            Strength::Yielding,
            target,
            EdgeKind::Refers,
            order,
            field,
            cluster.clone(),
        );
    }
}

/// The Pods in whose namespaces a reference of an Istio Gateway is looked up.
fn proxies<'a>(reference: &Reference, gateway: &'a Object) -> Option<&'a Selector> {
    let Facts::References(facts) = &gateway.facts else { return None };
    let is_secret = (&*reference.group, &*reference.kind) == ("", "Secret");
    let is_elsewhere = is_secret && reference.namespace.is_none();
    let selector = facts.proxies.as_deref().filter(|_| is_elsewhere)?;
    gateway.kind.is(ISTIO, "Gateway").then_some(selector)
}

/// The Secrets of that name beside the Pods that read it.
fn secrets_of<'a>(
    proxies: &'a Selector,
    reference: &Reference,
    index: &'a Index,
) -> impl Iterator<Item = &'a Arc<Object>> {
    index.secrets_called(&reference.name).filter(|secret| {
        let namespace = secret.namespace.as_deref().unwrap_or_default();
        index.selected(namespace, proxies).next().is_some()
    })
}

/// The cluster that an object of Strimzi belongs to: of connectors the KafkaConnect, of others the Kafka.
fn strimzi_cluster<'a>(object: &Object, name: &str, index: &'a Index) -> Option<&'a Arc<Object>> {
    let kind = if &*object.kind.kind == "KafkaConnector" { "KafkaConnect" } else { "Kafka" };
    index.find(STRIMZI, kind, object.namespace.as_deref(), name)
}

fn to_named(
    found: &mut EdgeCollector<'_>,
    target: &Object,
    reference: &Reference,
    lookup: &EdgeLookup<'_>,
) {
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    let kind = role(found.from, target, reference);
    let strength = match kind {
        EdgeKind::Routes | EdgeKind::Scales | EdgeKind::Controls => Strength::Hard,
        _ => Strength::Yielding,
    };
    let (field, name) = (reference.field.clone(), reference.name.clone());
    found.push_with(strength, target, kind, order, field.clone(), name.clone());
    if kind == EdgeKind::Routes {
        for behind in lookup.behind(target) {
            let value = format!("{name} → {}", behind.name);
            found.push(behind, kind, order, field.clone(), value);
        }
    }
}

/// The meaning of a reference.
fn role(from: &Object, target: &Object, reference: &Reference) -> EdgeKind {
    match &*from.kind.group {
        GATEWAY_API if target.kind.is(GATEWAY_API, "GatewayClass") => EdgeKind::Controls,
        GATEWAY_API if matches!(&*from.kind.kind, "BackendTLSPolicy" | "ListenerSet") => {
            EdgeKind::Refers
        }
        GATEWAY_API | ISTIO | "projectcontour.io" | "route.openshift.io"
            if matches!(
                &*target.kind.kind,
                "Service" | "Gateway" | "ListenerSet" | "HTTPProxy"
            ) =>
        {
            EdgeKind::Routes
        }
        "keda.sh" | "autoscaling.k8s.io"
            if reference.field.to_lowercase().ends_with("targetref") =>
        {
            EdgeKind::Scales
        }
        _ => EdgeKind::Refers,
    }
}

/// The object that a reference names.
fn resolve<'a>(reference: &Reference, from: &Object, index: &'a Index) -> Option<&'a Arc<Object>> {
    if reference.kind.is_empty() {
        return parameter(reference, from, index);
    }
    let Reference { group, kind, namespace, name, .. } = reference;
    let own = from.namespace.as_deref();
    let find = |group: &str| match namespace.as_deref() {
        Some(namespace) => index.find(group, kind, Some(namespace), name),
        None => own
            .and_then(|own| index.find(group, kind, Some(own), name))
            .or_else(|| index.find(group, kind, None, name)),
    };
    let is_own = *group == from.kind.group;
    let above = std::iter::successors(Some(&**group), |group| {
        let (_, above) = group.split_once('.').filter(|_| is_own)?;
        above.contains('.').then_some(above)
    });
    above.into_iter().find_map(find)
}

/// The object with the parameters of an admission policy: its binding names it, and the policy says its kind.
fn parameter<'a>(
    reference: &Reference,
    binding: &Object,
    index: &'a Index,
) -> Option<&'a Arc<Object>> {
    let Facts::References(facts) = &binding.facts else { return None };
    let policy = facts.names.iter().find(|it| &*it.field == "spec.policyName")?;
    let policy = index.find(&policy.group, &policy.kind, None, &policy.name)?;
    let Facts::References(facts) = &policy.facts else { return None };
    let of = facts.names.iter().find(|it| &*it.field == "spec.paramKind")?;
    index.find(&of.group, &of.kind, reference.namespace.as_deref(), &reference.name)
}

/// The class of a Gateway.
pub(super) fn gateway_class<'a>(gateway: &Object, index: &'a Index) -> Option<&'a Arc<Object>> {
    let Facts::References(facts) = &gateway.facts else { return None };
    let class = facts.names.iter().find(|it| &*it.field == "spec.gatewayClassName")?;
    index.find(GATEWAY_API, "GatewayClass", None, &class.name)
}

/// A workload goes before the operator's object that owns what it uses: an application before its database, whose Secret it
/// mounts. The operator may delete both at once.
pub(super) fn refers(found: &mut EdgeCollector<'_>, index: &Index) {
    let order = Precedence::FromFirst(final_phase(found.from));
    let mut seen = HashSet::new();
    for used in uses(found.from) {
        let Some(target) = used_object(used, found.namespace(), index) else { continue };
        let owners = target.owners.iter().filter_map(|owner| index.get(&owner.uid));
        for owner in owners.filter(|owner| owner.kind.is_an_operators() && may_own(owner, target)) {
            let is_its_own = index.descends(&found.from.uid, &owner.uid);
            if !is_its_own && seen.insert(owner.uid.clone()) {
                let value = format!("{} → {}", used.name, owner.name);
                let field = used.field.clone();
                found.push_with(Strength::Yielding, owner, EdgeKind::Refers, order, field, value);
            }
        }
    }
}

/// Whether a workload goes before an operator's object because it uses what that object owns.
pub(super) fn uses_what_it_owns(user: &Object, owner: &Object, index: &Index) -> bool {
    let namespace = user.namespace.as_deref();
    let is_owned = |target: &Arc<Object>| {
        target.owners.iter().any(|it| it.uid == owner.uid) && may_own(owner, target)
    };
    owner.kind.is_an_operators()
        && !index.descends(&user.uid, &owner.uid)
        && uses(user).iter().filter_map(|used| used_object(used, namespace, index)).any(is_owned)
}
