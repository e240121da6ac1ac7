//! The edges of rights: Pods before the bindings that give them rights, bindings before their role, and an aggregated role before
//! the roles whose rules it has. A program that clears finalizers loses its rights with the first of them.
//!
//! # Decisions
//! - The roles that Kubernetes itself aggregates (`admin`, `edit`, `view`) are given to people, and collect a role of nearly every
//!   operator. They are no reason to keep those.
//! - An object goes before the roles from which its finisher has the right to change it through an aggregated role, also where that
//!   one is another application's and stays (`finish.rs`). It keeps them.
//! - A RoleBinding that names all accounts of another namespace, and one that names those of the whole cluster, go after the Pods of
//!   their own unit only: nothing says which others use the right.

use std::sync::Arc;

use super::{
    DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, PodReferenceKind, Precedence, Strength,
    edge::AGGREGATION, final_phase, rights::is_made_by_kubernetes, uses,
};
use crate::{
    index::Index,
    labels::PART_OF,
    object::{Binding, Facts, Object, RBAC},
};

/// A binding goes before its role, and after the Pods that have rights through it.
pub(super) fn gives(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let object = found.from;
    let Facts::Binding(binding) = &object.facts else { return };
    let namespace = if &*binding.role_kind == "Role" { found.namespace() } else { None };
    if let Some(role) = index.find(RBAC, &binding.role_kind, namespace, &binding.role) {
        let order = Precedence::FromFirst(DeletionPhase::Gone);
        found.push(role, EdgeKind::RunsAs, order, "roleRef.name", binding.role.clone());
    }
    for (i, (namespace, name)) in binding.accounts.iter().enumerate() {
        let field: Arc<str> = format!("subjects[{i}].name").into();
        if let Some(account) = index.find("", "ServiceAccount", Some(namespace), name) {
            let order = Precedence::Unordered;
            found.push(account, EdgeKind::RunsAs, order, field.clone(), name.clone());
        }
        let runs_as_it = |user: &&Arc<Object>| {
            uses(user)
                .iter()
                .any(|used| used.what == PodReferenceKind::ServiceAccount && used.name == *name)
        };
        let users = lookup.in_namespace(namespace).filter(runs_as_it);
        users.for_each(|user| after(found, user, &field, name));
    }
    to_groups(found, binding, index, lookup);
}

/// The edges to the Pods and workloads whose accounts a binding names as groups.
fn to_groups(
    found: &mut EdgeCollector<'_>,
    binding: &Binding,
    index: &Index,
    lookup: &EdgeLookup<'_>,
) {
    let field: Arc<str> = "subjects".into();
    let own = found.from.namespace.as_ref();
    for namespace in binding.served_groups(own) {
        let group = format!("system:serviceaccounts:{namespace}");
        lookup.in_namespace(namespace).for_each(|user| after(found, user, &field, &group));
    }
    let Some(unit) = found.from.labels.get(PART_OF) else { return };
    for namespace in binding.other_groups(own) {
        let group = format!("system:serviceaccounts:{namespace}");
        let users =
            index.workers_of(unit).filter(|user| user.namespace.as_ref() == Some(namespace));
        users.for_each(|user| after(found, user, &field, &group));
    }
    if binding.all_accounts {
        let users = index.workers_of(unit);
        users.for_each(|user| after(found, user, &field, "system:serviceaccounts"));
    }
}

fn after(found: &mut EdgeCollector<'_>, user: &Object, field: &Arc<str>, subject: &str) {
    let (order, value) =
        (Precedence::ToFirst(final_phase(user)), format!("{subject} → {}", user.name));
    found.push(user, EdgeKind::RunsAs, order, field.clone(), value);
}

/// An aggregated ClusterRole goes before the ClusterRoles whose rules it has: its controller takes those away that are gone
/// (`pkg/controller/clusterroleaggregation`). Knative and Cluster API give their operators rights in this way. Two roles may select
/// each other, so the order yields.
pub(super) fn aggregates(found: &mut EdgeCollector<'_>, index: &Index) {
    let object = found.from;
    let Facts::Role(role) = &object.facts else { return };
    if role.aggregates.is_empty() || object.namespace.is_some() || is_made_by_kubernetes(object) {
        return;
    }
    for source in index.of_resource("clusterroles.rbac.authorization.k8s.io") {
        let matching = role.aggregates.iter().position(|it| it.matches(&source.labels));
        if let Some(i) = matching {
            let (kind, order) = (EdgeKind::RunsAs, Precedence::FromFirst(DeletionPhase::Gone));
            let field = format!("{AGGREGATION}[{i}]");
            let selector = role.aggregates[i].to_string();
            found.push_with(Strength::Yielding, source, kind, order, field, selector);
        }
    }
}
