//! Extensions of the API and its infrastructure: webhook configurations, APIServices, CustomResourceDefinitions, Nodes.

use std::sync::Arc;

use serde::Deserialize;
use teardown::object::{Definition, Facts, ServiceRef, Webhooks};

use super::{Condition, Meta, Unread, Unreadable, Whole, is_ready, or_default};

/// Reads a ValidatingWebhookConfiguration or MutatingWebhookConfiguration. Webhooks called by URL have no Service.
pub(super) fn read_webhooks(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let read: WebhooksObject = serde_json::from_str(json)?;
    let services = read
        .webhooks
        .iter()
        .enumerate()
        .filter_map(|(i, webhook)| {
            let service = webhook.client_config.service.as_ref()?;
            Some(service.reference(&format!("webhooks[{i}].clientConfig.service")))
        })
        .collect();
    Ok((read.metadata, Facts::Webhooks(Box::new(Webhooks { services }))))
}

/// Reads an APIService. The API server's own groups have no Service.
pub(super) fn read_api_service(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ApiServiceSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let service = spec.service.map(|service| Box::new(service.reference("spec.service")));
    Ok((metadata, Facts::ApiService(service)))
}

/// Reads a CustomResourceDefinition.
pub(super) fn read_definition(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<DefinitionSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let converts = &*spec.conversion.strategy == "Webhook";
    let webhook = spec.conversion.webhook.filter(|_| converts).unwrap_or_default();
    let converter = webhook
        .client_config
        .service
        .map(|service| Box::new(service.reference("spec.conversion.webhook.clientConfig.service")));
    let definition = Definition { group: spec.group, kind: spec.names.kind, converter };
    Ok((metadata, Facts::Definition(Box::new(definition))))
}

/// Reads a Node.
pub(super) fn read_node(json: &str) -> Result<(Meta, Facts), Unreadable> {
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
    fn reference(&self, field: &str) -> ServiceRef {
        ServiceRef {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            field: field.into(),
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
    #[serde(deserialize_with = "or_default")]
    conversion: Conversion,
}

/// `spec.conversion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conversion {
    strategy: Box<str>,
    webhook: Option<Webhook>,
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
