//! Extensions of the API and its infrastructure: webhook configurations, APIServices, CustomResourceDefinitions, Nodes and
//! Namespaces.

use std::sync::Arc;

use serde::{Deserialize, de::IgnoredAny};
use teardown::{
    object::{
        ApiService, Definition, Facts, Guard, Namespace, Node, ResourceRule, ServiceRef, Webhooks,
    },
    selector::Selector,
};

use super::{LabelSelector, Meta, RawCondition, Unreadable, Whole, condition, or_default};

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
    let guards =
        read.webhooks.iter().enumerate().flat_map(|(i, webhook)| webhook.guards(i)).collect();
    Ok((read.metadata, Facts::Webhooks(Box::new(Webhooks { services, guards }))))
}

/// Reads an APIService. The API server's own groups have no Service.
pub(super) fn read_api_service(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ApiServiceSpec, Conditions> { metadata, spec, status } =
        serde_json::from_str(json)?;
    let api = ApiService {
        service: spec.service.map(|service| service.reference("spec.service")),
        available: condition(&status.conditions, "Available"),
    };
    Ok((metadata, Facts::ApiService(Box::new(api))))
}

/// Reads a CustomResourceDefinition.
pub(super) fn read_definition(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<DefinitionSpec, DefinitionStatus> { metadata, spec, status } =
        serde_json::from_str(json)?;
    let is_converted = &*spec.conversion.strategy == "Webhook";
    let webhook = spec.conversion.webhook.filter(|_| is_converted).unwrap_or_default();
    let converter = webhook
        .client_config
        .service
        .map(|service| Box::new(service.reference("spec.conversion.webhook.clientConfig.service")));
    let terminating = condition(&status.conditions, "Terminating").map(Box::new);
    let definition = Definition {
        group: spec.group,
        kind: spec.names.kind,
        is_converted,
        converter,
        stored_versions: status.stored_versions,
        terminating,
    };
    Ok((metadata, Facts::Definition(Box::new(definition))))
}

/// Reads a Node.
pub(super) fn read_node(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<NodeSpec, NodeStatus> { metadata, spec, status } = serde_json::from_str(json)?;
    let node = Node {
        ready: condition(&status.conditions, "Ready"),
        taints: spec.taints.into_iter().map(|taint| (taint.key, taint.effect)).collect(),
        provider: spec.provider_id.filter(|id| !id.is_empty()),
        in_use: status.volumes_in_use,
    };
    Ok((metadata, Facts::Node(Box::new(node))))
}

/// Reads a Namespace.
pub(super) fn read_namespace(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<NamespaceSpec, Conditions> { metadata, spec, status } = serde_json::from_str(json)?;
    let namespace = Namespace {
        finalizers: spec.finalizers,
        conditions: status.conditions.iter().map(Into::into).collect(),
    };
    Ok((metadata, Facts::Namespace(Box::new(namespace))))
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
    #[serde(deserialize_with = "or_default")]
    name: Arc<str>,
    #[serde(deserialize_with = "or_default")]
    failure_policy: Box<str>,
    client_config: ClientConfig,
    #[serde(deserialize_with = "or_default")]
    rules: Vec<WebhookRule>,
    #[serde(deserialize_with = "or_default")]
    namespace_selector: LabelSelector,
    #[serde(deserialize_with = "or_default")]
    object_selector: LabelSelector,
    #[serde(deserialize_with = "or_default")]
    match_conditions: Vec<IgnoredAny>,
}

impl Webhook {
    /// The rules that concern deletions. `matchConditions` are not evaluated: where they exclude an object, the configuration
    /// only goes later than it could, and nothing says for certain that the webhook is asked.
    fn guards(&self, number: usize) -> Vec<Guard> {
        let namespaces = Selector::from(self.namespace_selector.clone());
        let objects = Selector::from(self.object_selector.clone());
        let service = self.client_config.service.as_ref();
        let service = service
            .map(|service| service.reference(&format!("webhooks[{number}].clientConfig.service")));
        let has = |rule: &WebhookRule, wanted: &str| {
            rule.operations.iter().any(|it| &**it == wanted || &**it == "*")
        };
        let rules = self.rules.iter().enumerate().map(|(i, rule)| Guard {
            field: format!("webhooks[{number}].rules[{i}]").into(),
            webhook: self.name.clone(),
            service: service.clone(),
            fails_closed: &*self.failure_policy != "Ignore",
            covers: ResourceRule {
                groups: rule.api_groups.clone(),
                resources: rule.resources.clone(),
            },
            deletes: has(rule, "DELETE"),
            updates: has(rule, "UPDATE"),
            namespaced: match &*rule.scope {
                "Namespaced" => Some(true),
                "Cluster" => Some(false),
                _ => None,
            },
            namespaces: namespaces.clone(),
            objects: objects.clone(),
            is_conditional: !self.match_conditions.is_empty(),
        });
        rules.filter(|guard| guard.deletes || guard.updates).collect()
    }
}

/// `RuleWithOperations`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WebhookRule {
    #[serde(deserialize_with = "or_default")]
    operations: Vec<Box<str>>,
    #[serde(deserialize_with = "or_default")]
    api_groups: Box<[Arc<str>]>,
    #[serde(deserialize_with = "or_default")]
    resources: Box<[Arc<str>]>,
    #[serde(deserialize_with = "or_default")]
    scope: Box<str>,
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
#[serde(rename_all = "camelCase", default)]
struct NodeSpec {
    #[serde(deserialize_with = "or_default")]
    taints: Vec<Taint>,
    #[serde(rename = "providerID")]
    provider_id: Option<Arc<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "or_default")]
    volumes_in_use: Box<[Arc<str>]>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Taint {
    key: Arc<str>,
    effect: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NamespaceSpec {
    #[serde(deserialize_with = "or_default")]
    finalizers: Box<[Arc<str>]>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DefinitionStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "or_default")]
    stored_versions: Box<[Arc<str>]>,
}

/// A status of which only the conditions are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Conditions {
    #[serde(deserialize_with = "or_default")]
    pub(super) conditions: Vec<RawCondition>,
}
