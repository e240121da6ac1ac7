//! Webhooks. No network is used: a script gives the decision of a webhook, and its Service and the Service's endpoints
//! decide whether it can be reached, as in a cluster.
//!
//! # Decisions
//! - A Pod answers at its address with whatever the script says, because no program runs in it. Nobody answers at an address that no
//!   Pod has: a person wrote it, or the controller of EndpointSlices is behind.

use serde_json::Value;

use super::{
    Cluster, Write,
    admission::{Attributes, Operation},
    validate,
};
use crate::{
    fault::AdmissionDecision, kind::Kind, object, patch::Patch, selector::Labels, status::Status,
    store::Key,
};

/// The reason of a call that nobody answers in time.
const NO_ANSWER: &str = "context deadline exceeded";

impl Cluster {
    /// Calls the validating webhooks.
    pub(super) fn ask_webhooks(&self, asked: &Attributes<'_>) -> Result<(), Status> {
        for webhook in self.webhooks("validatingwebhookconfigurations") {
            if self.is_meant(webhook, asked)? {
                self.ask(webhook, asked.write)?;
            }
        }
        Ok(())
    }

    /// Calls the mutating webhooks. Each one gets the object as those before it left it.
    pub(super) fn mutate(
        &self,
        kind: &Kind,
        asked: Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        for webhook in self.webhooks("mutatingwebhookconfigurations") {
            if !self.is_meant(webhook, &Attributes { object, ..asked })? {
                continue;
            }
            let Some(patch) = self.ask(webhook, asked.write)? else { continue };
            if asked.operation == Operation::Delete {
                return Err(Status::internal(&format!(
                    "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                    object::text(webhook, &["name"])
                )));
            }
            *object = patch.apply(kind, object)?;
            validate::shape(kind, object)?;
        }
        Ok(())
    }

    fn webhooks(&self, configurations: &str) -> impl Iterator<Item = &Value> {
        let configurations = self.list("admissionregistration.k8s.io", configurations, None);
        configurations.flat_map(|it| it["webhooks"].as_array().into_iter().flatten())
    }

    fn is_meant(&self, webhook: &Value, asked: &Attributes<'_>) -> Result<bool, Status> {
        if asked.is_about_gates()
            || !self.is_about(&webhook["rules"], asked)
            || !self.is_selected(webhook, asked)
        {
            return Ok(false);
        }
        match self.conditions_hold(&webhook["matchConditions"], asked) {
            Err(why) if webhook["failurePolicy"] != "Ignore" => {
                let Key { group, plural, .. } = asked.key;
                Err(Status::forbidden(group, plural, asked.name, &why))
            }
            holds => Ok(holds.unwrap_or(false)),
        }
    }

    /// Whether one of the rules matches the request.
    pub(super) fn is_about(&self, rules: &Value, asked: &Attributes<'_>) -> bool {
        let Attributes { operation, key, subresource, .. } = *asked;
        let Some(kind) = self.kinds.get(&key.group, &key.plural) else { return false };
        let has = |rule: &Value, field: &str, wanted: &str| {
            object::texts(rule, &[field]).any(|one| one == "*" || one == wanted)
        };
        let resource = match subresource {
            "" => key.plural.to_string(),
            _ => format!("{}/{subresource}", key.plural),
        };
        let fits = |rule: &Value| {
            let resources =
                object::texts(rule, &["resources"]).any(|one| match one.split_once('/') {
                    None if one == "*" => subresource.is_empty(),
                    None => one == resource,
                    Some((plural, sub)) => {
                        (plural == "*" || *plural == *key.plural)
                            && (sub == "*" || sub == subresource)
                    }
                });
            let scope = match object::text(rule, &["scope"]) {
                "Namespaced" => kind.namespaced,
                "Cluster" => !kind.namespaced,
                _ => true,
            };
            // matchPolicy Equivalent: a rule for any served version matches.
            let versions = object::texts(rule, &["apiVersions"])
                .any(|one| one == "*" || self.kinds.served(&key.group, one, &key.plural).is_some());
            let mut names = object::texts(rule, &["resourceNames"]).peekable();
            (names.peek().is_none() || names.any(|name| name == asked.name))
                && resources
                && scope
                && versions
                && has(rule, "operations", operation.name())
                && has(rule, "apiGroups", &key.group)
        };
        rules.as_array().into_iter().flatten().any(fits)
    }

    /// Whether the `namespaceSelector` and the `objectSelector` match the request.
    pub(super) fn is_selected(&self, selectors: &Value, asked: &Attributes<'_>) -> bool {
        let Attributes { key, object, existing, .. } = *asked;
        let selects = |selector: &Value, object: &Value| {
            selector.is_null()
                || Labels::from_object(selector).is_some_and(|labels| labels.matches(object))
        };
        let namespace = if key.is_of("", "namespaces") {
            existing.or(Some(object))
        } else if !key.namespace.is_empty() {
            self.get(&Key::new("", "namespaces", "", &key.namespace)).map(|one| &**one)
        } else {
            None
        };
        let of_object = &selectors["objectSelector"];
        // A deleted object has no new state, and a state that does not exist matches no selector (`matchObject`).
        let mut states = [Some(object).filter(|object| !object.is_null()), existing].into_iter();
        namespace.is_none_or(|namespace| selects(&selectors["namespaceSelector"], namespace))
            && states.any(|state| state.is_some_and(|state| selects(of_object, state)))
    }

    fn ask(&self, webhook: &Value, write: &Write) -> Result<Option<Patch>, Status> {
        let name = object::text(webhook, &["name"]);
        let effects = object::text(webhook, &["sideEffects"]);
        if write.dry_run && !["None", "NoneOnDryRun"].contains(&effects) {
            return Err(Status::bad_request(format!(
                "admission webhook {name:?} does not support dry run"
            )));
        }
        let failure = match self.webhook_decisions.get(name) {
            Some(AdmissionDecision::Allow) => return Ok(None),
            Some(AdmissionDecision::Patch(patch)) => return Ok(Some(Patch::Json(patch.clone()))),
            Some(AdmissionDecision::Deny { code, message }) => {
                let said = format!("admission webhook {name:?} denied the request");
                let code = if *code < 400 { 400 } else { *code };
                return Err(match message.as_str() {
                    "" => Status::plain(code, &format!("{said} without explanation")),
                    message => Status::plain(code, &format!("{said}: {message}")),
                });
            }
            Some(AdmissionDecision::Fail(why)) => Some(why.clone()),
            None => self.unreachable(&webhook["clientConfig"]),
        };
        match failure {
            Some(why) if object::text(webhook, &["failurePolicy"]) != "Ignore" => {
                let timeout = webhook["timeoutSeconds"].as_i64().unwrap_or(10);
                let url = url(&webhook["clientConfig"], timeout);
                Err(Status::internal(&format!(
                    "failed calling webhook {name:?}: failed to call webhook: Post {url:?}: {why}"
                )))
            }
            _ => Ok(None),
        }
    }

    /// The reason why the server behind a `clientConfig` cannot be reached.
    pub(super) fn unreachable(&self, config: &Value) -> Option<String> {
        let service = &config["service"];
        if service.is_null() {
            // Nothing exists outside the cluster.
            let url = object::text(config, &["url"]);
            let authority =
                url.split("://").nth(1).unwrap_or(url).split(['/', '?']).next().unwrap_or_default();
            let host = authority.split(':').next().unwrap_or_default();
            // An IP address needs no DNS lookup, but no server listens there.
            return Some(if host.parse::<std::net::Ipv4Addr>().is_ok() {
                let port = if authority.contains(':') { "" } else { ":443" };
                format!("dial tcp {authority}{port}: connect: connection refused")
            } else {
                format!("dial tcp: lookup {host}: no such host")
            });
        }
        let port = service["port"].as_i64().unwrap_or(443);
        self.no_answer_from(
            object::text(service, &["namespace"]),
            object::text(service, &["name"]),
            port,
        )
    }

    /// The reason why nobody answers at a Service. The availability of an APIService depends on it too.
    pub(super) fn no_answer_from(&self, namespace: &str, name: &str, port: i64) -> Option<String> {
        self.no_way_to(namespace, name, port).or_else(|| {
            let mut ready = self.ready_endpoints(namespace, name);
            (!ready.any(|endpoint| self.is_a_pods(endpoint))).then(|| NO_ANSWER.to_owned())
        })
    }

    /// The reason why a Service has no usable endpoint.
    pub(super) fn no_way_to(&self, namespace: &str, name: &str, port: i64) -> Option<String> {
        let Some(service) = self.get(&Key::new("", "services", namespace, name)) else {
            return Some(format!("service {name:?} not found"));
        };
        let ports = service["spec"]["ports"].as_array();
        if !ports.into_iter().flatten().any(|one| one["port"] == port) {
            return Some(format!("no service port {port} found for service {name:?}"));
        }
        let mut ready = self.ready_endpoints(namespace, name);
        ready.next().is_none().then(|| format!("no endpoints available for service {name:?}"))
    }

    fn ready_endpoints(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Value> {
        let slices = self.list("discovery.k8s.io", "endpointslices", Some(namespace));
        slices
            .filter(move |slice| object::label(slice, "kubernetes.io/service-name") == name)
            .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
            .filter(|endpoint| endpoint["conditions"]["ready"] != false)
    }

    /// Whether a Pod has the address of an endpoint. The controller of EndpointSlices names the Pod, a person may not.
    fn is_a_pods(&self, endpoint: &Value) -> bool {
        let has_it = |pod: &Value| {
            let address = object::text(pod, &["status", "podIP"]);
            !address.is_empty() && object::texts(endpoint, &["addresses"]).any(|it| it == address)
        };
        let of = &endpoint["targetRef"];
        if of["kind"] == "Pod" {
            let (namespace, name) = (object::text(of, &["namespace"]), object::text(of, &["name"]));
            return self.get(&Key::new("", "pods", namespace, name)).is_some_and(|pod| has_it(pod));
        }
        self.list("", "pods", None).any(|pod| has_it(pod))
    }
}

/// The URL of a `clientConfig`, with the timeout of the call in seconds.
pub(super) fn url(config: &Value, timeout: i64) -> String {
    let service = &config["service"];
    if service.is_null() {
        return format!("{}?timeout={timeout}s", object::text(config, &["url"]));
    }
    let path = object::text(service, &["path"]);
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!(
        "https://{}.{}.svc:{}{slash}{path}?timeout={timeout}s",
        object::text(service, &["name"]),
        object::text(service, &["namespace"]),
        service["port"].as_i64().unwrap_or(443),
    )
}
