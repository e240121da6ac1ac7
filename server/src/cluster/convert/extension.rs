//! What extends the API or carries it: webhook configurations, APIServices, definitions, Nodes.

use std::sync::Arc;

use serde::Deserialize;
use teardown::object::{Definition, Facts, ServiceRef};

use super::{Condition, Meta, Unread, Unreadable, Whole, is_ready, or_default};
use crate::cluster::interner::Interner;

/// Reads a ValidatingWebhookConfiguration or MutatingWebhookConfiguration. Webhooks called by URL have no Service.
pub(super) fn read_webhooks(json: &str, names: &Interner) -> Result<(Meta, Facts), Unreadable> {
    let read: WebhooksObject = serde_json::from_str(json)?;
    let services = read
        .webhooks
        .iter()
        .enumerate()
        .filter_map(|(i, webhook)| {
            let service = webhook.client_config.service.as_ref()?;
            Some(service.reference(names, &format!("webhooks[{i}].clientConfig.service")))
        })
        .collect();
    Ok((read.metadata, Facts::Webhooks(services)))
}

/// Reads an APIService; the API server's own groups have no Service behind them.
pub(super) fn read_api_service(json: &str, names: &Interner) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ApiServiceSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let service = spec.service.map(|service| service.reference(names, "spec.service"));
    Ok((metadata, Facts::ApiService(service)))
}

/// Reads a CustomResourceDefinition.
pub(super) fn read_definition(json: &str, names: &Interner) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<DefinitionSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let definition =
        Definition { group: names.share(&spec.group), kind: names.share(&spec.names.kind) };
    Ok((metadata, Facts::Definition(definition)))
}

/// Reads a Node.
pub(super) fn read_node(json: &str, _names: &Interner) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<Unread, NodeStatus> { metadata, status, .. } = serde_json::from_str(json)?;
    Ok((metadata, Facts::Node { ready: is_ready(&status.conditions) }))
}

#[derive(Deserialize)]
struct WebhooksObject {
    metadata: Meta,
    #[serde(default, deserialize_with = "or_default")]
    webhooks: Vec<Webhook>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Webhook {
    client_config: ClientConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClientConfig {
    service: Option<ServiceName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServiceName {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl ServiceName {
    fn reference(&self, names: &Interner, field: &str) -> ServiceRef {
        ServiceRef {
            namespace: names.share(&self.namespace),
            name: names.share(&self.name),
            field: names.share(field),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiServiceSpec {
    service: Option<ServiceName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionSpec {
    group: Arc<str>,
    names: DefinitionNames,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionNames {
    kind: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<Condition>,
}
