//! The edges of what sends requests to Pods: Ingresses, webhook configurations, APIServices and converters.

use std::collections::HashSet;

use super::{DeletionPhase, EdgeCollector, EdgeKind, EdgeLookup, Precedence};
use crate::{
    index::Index,
    object::{Facts, ServiceRef},
};

/// Traffic stops before its backends: an Ingress goes before its Services and before the Pods behind them.
pub(super) fn routes(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    let Facts::Ingress(ingress) = &found.from.facts else { return };
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    let mut seen = HashSet::new();
    for (field, name) in &ingress.backends {
        let Some(service) = index.find("", "Service", found.namespace(), name) else { continue };
        if !seen.insert(service.uid.clone()) {
            continue;
        }
        found.push(service, EdgeKind::Routes, order, field.clone(), name.clone());
        for target in lookup.behind(service) {
            found.push(
                target,
                EdgeKind::Routes,
                order,
                field.clone(),
                format!("{name} → {}", target.name),
            );
        }
    }
    if let Some(class) = &ingress.class
        && let Some(target) = index.find("networking.k8s.io", "IngressClass", None, class)
    {
        found.push(target, EdgeKind::Routes, order, "spec.ingressClassName", class.clone());
    }
}

/// A webhook goes before its backend: without one it would reject every request that matches it.
pub(super) fn admits(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    if let Facts::Webhooks(webhooks) = &found.from.facts {
        for service in &webhooks.services {
            answered_by(found, service, EdgeKind::Admits, index, lookup);
        }
    }
}

/// An APIService goes before its backend: without one it breaks discovery, and so the deletion of every namespace.
pub(super) fn serves(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    if let Facts::ApiService(api) = &found.from.facts
        && let Some(service) = &api.service
    {
        answered_by(found, service, EdgeKind::Serves, index, lookup);
    }
}

fn answered_by(
    found: &mut EdgeCollector<'_>,
    service: &ServiceRef,
    kind: EdgeKind,
    index: &Index,
    lookup: &EdgeLookup<'_>,
) {
    let order = Precedence::FromFirst(DeletionPhase::Gone);
    let Some(target) = index.find("", "Service", Some(&service.namespace), &service.name) else {
        return;
    };
    let value = format!("{}/{}", service.namespace, service.name);
    found.push(target, kind, order, service.field.clone(), value.clone());
    for answering in lookup.behind(target) {
        found.push(
            answering,
            kind,
            order,
            service.field.clone(),
            format!("{value} → {}", answering.name),
        );
    }
}

/// A definition goes before the Pods that convert its objects: without them no object of it could be read or deleted.
pub(super) fn converts(found: &mut EdgeCollector<'_>, index: &Index, lookup: &EdgeLookup<'_>) {
    if let Facts::Definition(definition) = &found.from.facts
        && let Some(converter) = &definition.converter
    {
        answered_by(found, converter, EdgeKind::Converts, index, lookup);
    }
}
