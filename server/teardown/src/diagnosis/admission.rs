//! Refusals of the API server, by the text of its answer: webhooks, policies, conversion. The texts are those of
//! `staging/src/k8s.io/apiserver/pkg/admission/plugin` and of
//! `staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go`.

use std::sync::Arc;

use super::{
    case::{Case, Serving, names},
    cause::{Cause, Confidence, Evidence, Source, Verdict},
};
use crate::{
    api_problem::ApiProblem,
    object::{Facts, Object, ObjectRef, ServiceRef},
    refusal::{RefusalCause, WEBHOOK_CONFIGURATIONS},
    unknown_reason::UnknownReason,
};

/// The verdict on a refusal that is known; `None` for another text.
pub(super) fn refusal(case: &Case<'_>, message: &str) -> Option<Verdict> {
    match RefusalCause::in_text(message) {
        RefusalCause::WebhookDown { webhook } => {
            let configurations = configurations(case, webhook);
            let cause = Cause::WebhookDown {
                webhook: webhook.into(),
                configurations: names(&configurations),
            };
            let evidence: Vec<Evidence> =
                configurations.iter().flat_map(|object| services(case, object, webhook)).collect();
            // A Service with a ready Pod may have been repaired since, or the server in the Pod is dead.
            let confidence =
                if evidence.is_empty() { Confidence::Inferred } else { Confidence::Confirmed };
            let verdict = Verdict::at(cause, root(&configurations, webhook), confidence);
            return Some(verdict.part(&webhook.into()).with(evidence));
        }
        RefusalCause::WebhookDenies { webhook } => {
            let found = configurations(case, webhook);
            let cause = Cause::WebhookDenies { webhook: webhook.into() };
            let verdict = Verdict::at(cause, root(&found, webhook), Confidence::Confirmed);
            return Some(verdict.part(&webhook.into()));
        }
        RefusalCause::PolicyDenies { policy } => {
            let policy: Arc<str> = policy.into();
            let root = ObjectRef {
                group: "admissionregistration.k8s.io".into(),
                kind: "ValidatingAdmissionPolicy".into(),
                namespace: None,
                name: policy.clone(),
            };
            return Some(Verdict::at(Cause::PolicyDenies { policy }, root, Confidence::Confirmed));
        }
        RefusalCause::Forbidden { .. } | RefusalCause::Other => {}
    }
    let (_, rest) = message.split_once("conversion webhook for ")?;
    let (kind, _) = rest.split_once(" failed").or_else(|| rest.split_once(" returned"))?;
    Some(Verdict::at(
        Cause::ConversionDown { kind: kind.into() },
        definition(case, kind),
        Confidence::Confirmed,
    ))
}

/// The verdict where our own list of a kind fails because the webhook that converts its objects does not answer.
pub(super) fn conversion_down(case: &Case<'_>, why: &UnknownReason) -> Option<Verdict> {
    let UnknownReason::Hidden { message: message @ ApiProblem::Quoted(said), .. } = why else {
        return None;
    };
    let verdict = refusal(case, said)?;
    let is_it = matches!(verdict.cause, Cause::ConversionDown { .. });
    let (of, source) = (verdict.root.clone(), Source::Unlistable(message.clone()));
    is_it.then(|| verdict.with([Evidence { of, source, said: String::new(), at: None }]))
}

/// The configurations that hold a webhook of this name. The API server names the webhook, not its configuration.
fn configurations<'a>(case: &Case<'a>, webhook: &str) -> Vec<&'a Arc<Object>> {
    let all = WEBHOOK_CONFIGURATIONS.iter().flat_map(|resource| case.index.of_resource(resource));
    let mut found: Vec<&Arc<Object>> = all
        .filter(|object| match &object.facts {
            Facts::Webhooks(webhooks) => {
                webhooks.guards.iter().any(|guard| &*guard.webhook == webhook)
            }
            _ => false,
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn root(configurations: &[&Arc<Object>], webhook: &str) -> ObjectRef {
    configurations.first().map_or_else(
        || ObjectRef {
            group: "admissionregistration.k8s.io".into(),
            kind: "ValidatingWebhookConfiguration".into(),
            namespace: None,
            name: webhook.into(),
        },
        |object| object.reference(),
    )
}

/// The Services of a webhook that have nobody to answer.
fn services(case: &Case<'_>, configuration: &Object, webhook: &str) -> Vec<Evidence> {
    let Facts::Webhooks(webhooks) = &configuration.facts else { return Vec::new() };
    let guard = webhooks.guards.iter().find(|guard| &*guard.webhook == webhook);
    let Some(service) = guard.and_then(|guard| guard.service.as_ref()) else { return Vec::new() };
    nobody(case, service).into_iter().collect()
}

/// The evidence that nobody behind a Service can answer.
pub(super) fn nobody(case: &Case<'_>, service: &ServiceRef) -> Option<Evidence> {
    let of = ObjectRef {
        group: "".into(),
        kind: "Service".into(),
        namespace: Some(service.namespace.clone()),
        name: service.name.clone(),
    };
    let source = match case.serving(service) {
        Serving::NoService => return Some(Evidence::absent(of)),
        Serving::NoReadyPod => Source::NoReadyPod,
        Serving::NoEndpoints => Source::NoEndpoints,
        Serving::Yes | Serving::Unknown => return None,
    };
    Some(Evidence { of, source, said: String::new(), at: None })
}

/// The definition of a kind as the API server writes it: `GROUP/VERSION, Kind=KIND`.
fn definition(case: &Case<'_>, written: &str) -> ObjectRef {
    let (group_version, kind) = written.split_once(", Kind=").unwrap_or((written, ""));
    let group = group_version.split_once('/').map_or("", |(group, _)| group);
    let defines = |object: &&Arc<Object>| matches!(&object.facts, Facts::Definition(it) if *it.group == *group && *it.kind == *kind);
    let resource = "customresourcedefinitions.apiextensions.k8s.io";
    case.index.of_resource(resource).find(defines).map_or_else(
        || ObjectRef {
            group: "apiextensions.k8s.io".into(),
            kind: "CustomResourceDefinition".into(),
            namespace: None,
            name: written.into(),
        },
        |object| object.reference(),
    )
}
