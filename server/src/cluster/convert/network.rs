//! Services, Ingresses and NetworkPolicies.

use std::sync::Arc;

use serde::Deserialize;
use teardown::{
    object::{Facts, Ingress, PodReference, PodReferenceKind, Service},
    selector::{Labels, Selector},
};

use super::{LabelSelector, Meta, Named, Unread, Unreadable, Whole, or_default};

/// Reads a Service. A Service without a selector selects no Pod, because its endpoints are maintained by hand. One of
/// type ExternalName selects no Pod either, whatever its selector.
pub(super) fn read_service(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ServiceSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let kind = spec.kind.as_deref();
    let selects = !spec.selector.is_empty() && kind != Some("ExternalName");
    let service = Service {
        selector: selects.then(|| Selector::of_labels(spec.selector)),
        load_balancer: kind == Some("LoadBalancer"),
    };
    Ok((metadata, Facts::Service(Box::new(service))))
}

/// Reads an Ingress.
pub(super) fn read_ingress(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<IngressSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let mut backends = Vec::new();
    let mut route = |backend: &Backend, field: String| {
        if let Some(service) = backend.service.as_ref().and_then(Named::get) {
            backends.push((format!("{field}.service.name").into(), service.into()));
        }
    };
    if let Some(backend) = &spec.default_backend {
        route(backend, "spec.defaultBackend".to_owned());
    }
    for (i, rule) in spec.rules.iter().enumerate() {
        for (j, path) in rule.http.iter().flat_map(|http| &http.paths).enumerate() {
            route(&path.backend, format!("spec.rules[{i}].http.paths[{j}].backend"));
        }
    }
    let mut uses = Vec::new();
    for (i, tls) in spec.tls.iter().enumerate() {
        if let Some(name) = tls.secret_name.as_deref().filter(|name| !name.is_empty()) {
            let field = format!("spec.tls[{i}].secretName").into();
            uses.push(PodReference { what: PodReferenceKind::Secret, name: name.into(), field });
        }
    }
    let ingress = Ingress {
        backends: backends.into(),
        uses: uses.into(),
        class: spec.ingress_class_name.filter(|class| !class.is_empty()),
    };
    Ok((metadata, Facts::Ingress(Box::new(ingress))))
}

/// Reads a NetworkPolicy. An empty `podSelector` selects every Pod of its namespace.
pub(super) fn read_policy(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<PolicySpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    Ok((metadata, Facts::NetworkPolicy(Box::new(spec.pod_selector.into()))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServiceSpec {
    #[serde(deserialize_with = "or_default")]
    selector: Labels,
    #[serde(rename = "type")]
    kind: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IngressSpec {
    ingress_class_name: Option<Arc<str>>,
    default_backend: Option<Backend>,
    #[serde(deserialize_with = "or_default")]
    rules: Vec<Rule>,
    #[serde(deserialize_with = "or_default")]
    tls: Vec<Tls>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Rule {
    http: Option<Http>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Http {
    #[serde(deserialize_with = "or_default")]
    paths: Vec<Path>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Path {
    backend: Backend,
}

/// A backend. A `resource` backend has no Service and gives no edge.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Backend {
    service: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Tls {
    secret_name: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PolicySpec {
    #[serde(deserialize_with = "or_default")]
    pod_selector: LabelSelector,
}
