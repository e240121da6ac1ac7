//! Refusals of the API server, by the text of its answer: webhooks, policies, conversion. The texts are those of
//! `staging/src/k8s.io/apiserver/pkg/admission/plugin` and of
//! `staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go`.

use std::sync::Arc;

use super::{
    case::{Case, NAMED, Serving, names},
    cause::{Cause, Confidence, Evidence, Finding, Source, Verdict},
    unreadable,
};
use crate::{
    api_problem::ApiProblem,
    deadlines::Overdue,
    index::Departure,
    object::{Facts, Guard, Object, ObjectRef, Phase, ServiceRef},
    refusal::{RefusalCause, WEBHOOK_CONFIGURATIONS},
    relation::{EdgeKind, is_covered_by, unevaluated},
    unknown_reason::UnknownReason,
};

/// Set on a definition until no object of its kind is left.
const CLEAN_UP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The API group of webhook configurations and policies.
pub(super) const GROUP: &str = "admissionregistration.k8s.io";

/// The definitions, which name the webhooks that convert.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The policies that may deny a change.
const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";

/// Said of Pods whose grace period is over, and of what was made meanwhile: those are found by themselves
/// (`deleteAllContentForGroupVersionResource` in `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
const REMAIN: &str = "unexpected items still remain in namespace";

/// The verdicts on the refusals that a condition of an object names. Those that are not known by their words are one root more, the
/// object itself.
pub(super) fn refusals(case: &Case<'_>, object: &Object, message: &str) -> Vec<Verdict> {
    let causes = RefusalCause::all_in_text(message).into_iter();
    let mut found: Vec<Verdict> = causes.filter_map(|cause| refusal(case, object, cause)).collect();
    found.extend(unreadable::verdict(message, None));
    found.extend(conversions(case, Some(object), message));
    if has_others(message) {
        found.push(Verdict::new(Cause::ContentRefused, object, Confidence::Confirmed));
    }
    found
}

/// Whether a condition joins errors that no other verdict explains: one of an authorizer, or one whose words are not known.
fn has_others(message: &str) -> bool {
    let causes = RefusalCause::each_in_text(message);
    let known = causes.len()
        + unreadable::count(message)
        + failed_conversions(message).count()
        + message.matches(REMAIN).count();
    let is_forbidden = |cause: &RefusalCause<'_>| matches!(cause, RefusalCause::Forbidden { .. });
    known < least_errors(message) || causes.iter().any(is_forbidden)
}

/// The number of errors that a condition joins, at least. The controller of namespaces counts them (`makeDeleteContentCondition` in
/// `pkg/controller/namespace/deletion/status_condition_utils.go`). Several of a definition stand in brackets (`aggregate` in
/// `staging/src/k8s.io/apimachinery/pkg/util/errors`). Of a message that is cut off nobody knows what else it said.
fn least_errors(message: &str) -> usize {
    if message.ends_with('…') {
        return 1;
    }
    let counted = message
        .strip_prefix("Failed to delete all resource types, ")
        .and_then(|rest| rest.split_once(" remaining: ")?.0.parse().ok());
    let is_several =
        message.starts_with("could not issue all deletes: [") && message.ends_with(']');
    counted.unwrap_or(if is_several { 2 } else { 1 })
}

/// The verdicts on the kinds whose objects could not be converted, as a condition of an object says, or our own list.
fn conversions(case: &Case<'_>, object: Option<&Object>, message: &str) -> Vec<Verdict> {
    let mut found = Vec::new();
    let mut converted: Vec<&str> = Vec::new();
    for (kind, confidence) in failed_conversions(message) {
        if !converted.contains(&kind) {
            converted.push(kind);
            found.push(unconverted(case, object, kind, confidence));
        }
    }
    found
}

/// The API server quotes the kind and not its definition. Without a definition that is known the kind is the root where definitions are
/// hidden; where all can be seen, nothing is converted any more, and the object waits for its own next try.
fn unconverted(
    case: &Case<'_>,
    object: Option<&Object>,
    written: &str,
    confidence: Confidence,
) -> Verdict {
    let cause = Cause::ConversionDown { kind: written.into() };
    let kind = quoted_kind(written);
    let defines = |object: &Object| matches!(&object.facts, Facts::Definition(it) if *it.group == *kind.group && *it.kind == *kind.kind);
    if let Some(definition) = case.index.of_resource(DEFINITIONS).find(|it| defines(it)) {
        let silence = definition.converter().and_then(|service| nobody(case, service));
        return Verdict::new(cause, definition, confidence).with(silence);
    }
    let deleted = case.index.departures().rev().find(|it| defines(&it.object));
    let lost = lost_rule(case, kind.clone(), &[DEFINITIONS]);
    match object.filter(|_| lost.source == Source::Absent) {
        Some(object) => Verdict::new(cause, object, Confidence::Inferred)
            .part(&written.into())
            .with([deleted.map_or(lost, Evidence::deleted)]),
        None => Verdict::at(cause, kind, confidence).with([lost]),
    }
}

/// The kinds of which a message says that they could not be converted.
fn failed_conversions(message: &str) -> impl Iterator<Item = (&str, Confidence)> {
    message.split("conversion webhook for ").skip(1).filter_map(|rest| {
        // One that returned something answers, and what it says cannot be used.
        let failed = rest.split_once(" failed").map(|(kind, _)| (kind, Confidence::Confirmed));
        let returned = || Some((rest.split_once(" returned")?.0, Confidence::Inferred));
        failed.or_else(returned)
    })
}

/// Whether a message says that an object could not be converted.
pub(crate) fn says_unconverted(message: &str) -> bool {
    failed_conversions(message).next().is_some()
}

fn refusal(case: &Case<'_>, object: &Object, cause: RefusalCause<'_>) -> Option<Verdict> {
    match cause {
        RefusalCause::WebhookDown { webhook } => Some(unanswered(case, object, webhook)),
        RefusalCause::WebhookDenies { webhook } => Some(webhook_denies(case, object, webhook)),
        RefusalCause::PolicyDenies { policy } => Some(policy_denies(case, object, policy)),
        RefusalCause::Forbidden { .. } | RefusalCause::Other => None,
    }
}

/// A webhook did not answer when it was asked about the object.
fn unanswered(case: &Case<'_>, object: &Object, webhook: &str) -> Verdict {
    // Several projects may call a webhook alike. Those whose Service nobody serves come before the others. Only a rule that fails
    // closed refuses for that reason.
    let could = |guard: &Guard| guard.deletes && guard.fails_closed;
    let (silent, others): (Vec<_>, Vec<_>) = configurations(case, webhook, could)
        .into_iter()
        .partition(|object| !services(case, object, webhook).is_empty());
    let configurations = if silent.is_empty() { others } else { silent };
    let Some(first) = configurations.first() else {
        return unanswered_unseen(case, object, webhook);
    };
    let evidence: Vec<Evidence> =
        configurations.iter().flat_map(|object| services(case, object, webhook)).collect();
    // A Service with a ready Pod may have been repaired since, or the server in the Pod is dead.
    let confidence = if evidence.is_empty() { Confidence::Inferred } else { Confidence::Confirmed };
    webhook_down(first, &configurations, webhook, confidence).with(evidence)
}

/// No configuration that is known holds the webhook. Where configurations are hidden, one webhook may refuse for many objects,
/// and the root is the webhook by the name that the API server quotes. Where all can be seen, it is asked no more, and each
/// object waits for its own next try.
fn unanswered_unseen(case: &Case<'_>, object: &Object, webhook: &str) -> Verdict {
    let cause = Cause::WebhookDown { webhook: webhook.into(), configurations: Vec::new() };
    let lost = lost_webhook(case, object, webhook);
    let is_hidden = lost.iter().any(|it| matches!(it.source, Source::Hidden(_)));
    let root = if is_hidden { rule("Webhook", webhook) } else { object.reference() };
    Verdict::at(cause, root, Confidence::Inferred).part(&webhook.into()).with(lost)
}

/// A webhook denied a change of the object. Without a configuration that holds the webhook, the object is the root: the API server
/// does not name the configuration.
fn webhook_denies(case: &Case<'_>, object: &Object, webhook: &str) -> Verdict {
    let cause = Cause::WebhookDenies { webhook: webhook.into() };
    let verdict = match configurations(case, webhook, |guard| guard.deletes).first() {
        Some(configuration) => Verdict::new(cause, configuration, Confidence::Confirmed),
        None => {
            let lost = lost_webhook(case, object, webhook);
            Verdict::new(cause, object, Confidence::Inferred).with(lost)
        }
    };
    verdict.part(&webhook.into())
}

/// A policy denied a change of the object. Once the policy is gone, the object is the root.
fn policy_denies(case: &Case<'_>, object: &Object, policy: &str) -> Verdict {
    let cause = Cause::PolicyDenies { policy: policy.into() };
    let named = rule("ValidatingAdmissionPolicy", policy);
    if case.index.named(&named).is_some() {
        return Verdict::at(cause, named, Confidence::Confirmed);
    }
    let lost = lost_rule(case, named.clone(), &[POLICIES]);
    let verdict = match lost.source {
        Source::Absent => Verdict::new(cause, object, Confidence::Inferred).part(&policy.into()),
        _ => Verdict::at(cause, named, Confidence::Inferred),
    };
    verdict.with([lost])
}

/// The evidence that no configuration holds the webhook any more, or that it cannot be seen whether one does. The API server
/// does not name the configuration, so one that was deleted lately is named beside what cannot be seen.
fn lost_webhook(case: &Case<'_>, object: &Object, webhook: &str) -> Vec<Evidence> {
    let held = |it: &&Departure| {
        guards_of(&it.object, webhook).next().is_some() && it.may_hold(object, case.now)
    };
    let deleted = case.index.departures().rev().filter(held).map(Evidence::deleted);
    let mut found: Vec<Evidence> = deleted.take(NAMED).collect();
    let lost = lost_rule(case, rule("Webhook", webhook), &WEBHOOK_CONFIGURATIONS);
    if found.is_empty() || matches!(lost.source, Source::Hidden(_)) {
        found.push(lost);
    }
    found
}

/// The evidence that the rule behind a refusal is gone, so that the next try may pass, or that it cannot be seen whether it is.
fn lost_rule(case: &Case<'_>, rule: ObjectRef, resources: &[&str]) -> Evidence {
    let unseen = resources.iter().find_map(|it| case.index.check_visible(it, None).err());
    let message = match unseen {
        None => return Evidence::absent(rule),
        Some(UnknownReason::Hidden { message, .. }) => message,
        Some(_) => ApiProblem::Quoted("".into()),
    };
    Evidence { of: rule, source: Source::Hidden(message), said: String::new(), at: None }
}

fn rule(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { group: GROUP.into(), kind: kind.into(), namespace: None, name: name.into() }
}

fn webhook_down(
    root: &Object,
    configurations: &[&Arc<Object>],
    webhook: &str,
    confidence: Confidence,
) -> Verdict {
    let (webhook, configurations) = (Arc::<str>::from(webhook), names(configurations));
    let cause = Cause::WebhookDown { webhook: webhook.clone(), configurations };
    Verdict::new(cause, root, confidence).part(&webhook)
}

/// A webhook that is asked before the object can go cannot answer, and nobody has quoted its refusal: controllers, operators
/// and kubelets keep it in their logs. Each of these requests reaches a webhook: the UPDATE that takes a finalizer off, the
/// last DELETE of a Pod that has ended, and those of the garbage collector to the dependents of an owner.
pub(super) fn webhooks_down<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    if case.overdue(object) == Overdue::No {
        return;
    }
    let has = |finalizer: &str| object.finalizers.iter().any(|it| &**it == finalizer);
    // The API server itself takes this one off, without a webhook.
    let is_updated = object.finalizers.iter().any(|it| &**it != CLEAN_UP);
    let is_ended =
        matches!(&object.facts, Facts::Pod(pod) if pod.phase.is_some_and(Phase::is_over));
    let orphans = has("orphan");
    let blocks = |dependent: &Object| {
        orphans || dependent.owners.iter().any(|owner| owner.uid == object.uid && owner.blocks)
    };
    let dependents: Vec<&Arc<Object>> = if orphans || has("foregroundDeletion") {
        // The collector takes the reference to an owner off a dependent that is being deleted, too.
        let of_owner = case.sources(object, EdgeKind::Owns);
        of_owner.filter(|it| (orphans || it.deletion.is_none()) && blocks(it)).collect()
    } else {
        Vec::new()
    };
    if !is_updated && !is_ended && dependents.is_empty() {
        return;
    }
    let all = WEBHOOK_CONFIGURATIONS.iter().flat_map(|resource| case.index.of_resource(resource));
    for configuration in all {
        let Facts::Webhooks(webhooks) = &configuration.facts else { continue };
        for guard in webhooks.guards.iter().filter(|guard| guard.fails_closed) {
            let covers = |it: &Object| is_covered_by(it, guard, case.index);
            let of_dependent = if orphans { guard.updates } else { guard.deletes };
            let asked = if guard.updates && is_updated && covers(object) {
                Some(("UPDATE", object))
            } else if guard.deletes && is_ended && covers(object) {
                Some(("DELETE", object))
            } else if of_dependent {
                let operation = if orphans { "UPDATE" } else { "DELETE" };
                let dependent = dependents.iter().copied().find(|it| covers(it));
                dependent.map(|dependent| (operation, dependent))
            } else {
                None
            };
            if let Some((operation, asked)) = asked
                && let Some(silence) = guard.service.as_ref().and_then(|it| nobody(case, it))
            {
                let rule = format!("{operation} {}", asked.kind.resource());
                let rule = Evidence::field(configuration, &guard.field, rule);
                let unevaluated = unevaluated_part(case, configuration, asked, guard);
                let verdict = webhook_down(
                    configuration,
                    &[configuration],
                    &guard.webhook,
                    Confidence::Inferred,
                );
                found.push(verdict.with([silence, rule]).with(unevaluated).into());
            }
        }
    }
}

/// The field by which a webhook may not be asked about an object that one of its rules covers.
pub(super) fn unevaluated_part(
    case: &Case<'_>,
    configuration: &Object,
    object: &Object,
    guard: &Guard,
) -> Option<Evidence> {
    let field = unevaluated(object, guard, case.index)?;
    Some(Evidence::field(configuration, &field, ""))
}

/// The verdict where our own list of a kind fails because the webhook that converts its objects does not answer.
pub(super) fn conversion_down(case: &Case<'_>, why: &UnknownReason) -> Option<Verdict> {
    let UnknownReason::Hidden { message: message @ ApiProblem::Quoted(said), .. } = why else {
        return None;
    };
    let verdict = conversions(case, None, said).into_iter().next()?;
    let (of, source) = (verdict.root.clone(), Source::Unlistable(message.clone()));
    Some(verdict.with([Evidence { of, source, said: String::new(), at: None }]))
}

/// The configurations that hold a webhook of this name. The API server names the webhook, not its configuration, and two may have
/// webhooks of one name, as cert-manager's have. It was a DELETE that was refused: those that are asked about DELETE come before
/// the others.
fn configurations<'a>(
    case: &Case<'a>,
    webhook: &str,
    could: impl Fn(&Guard) -> bool,
) -> Vec<&'a Arc<Object>> {
    let all = WEBHOOK_CONFIGURATIONS.iter().flat_map(|resource| case.index.of_resource(resource));
    let mut found: Vec<&Arc<Object>> =
        all.filter(|it| guards_of(it, webhook).next().is_some()).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let (asked, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|it| guards_of(it, webhook).any(&could));
    if asked.is_empty() { others } else { asked }
}

/// The rules of a configuration's webhook.
fn guards_of<'a>(configuration: &'a Object, webhook: &'a str) -> impl Iterator<Item = &'a Guard> {
    let guards: &[Guard] = match &configuration.facts {
        Facts::Webhooks(webhooks) => &webhooks.guards,
        _ => &[],
    };
    guards.iter().filter(move |guard| &*guard.webhook == webhook)
}

/// The Services of a webhook that have nobody to answer.
fn services(case: &Case<'_>, configuration: &Object, webhook: &str) -> Vec<Evidence> {
    let guard = guards_of(configuration, webhook).next();
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

/// A kind as the API server writes it: `GROUP/VERSION, Kind=KIND`.
fn quoted_kind(written: &str) -> ObjectRef {
    let (group_version, kind) = written.split_once(", Kind=").unwrap_or((written, ""));
    let group = group_version.split_once('/').map_or("", |(group, _)| group);
    ObjectRef { group: group.into(), kind: kind.into(), namespace: None, name: "".into() }
}
