//! Namespaces, and the APIs and webhooks that hold them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    act::{Holds, Loss, NeedCode, Remedy, RemedyAct, Undo, WaitReason, Withheld},
    case::{Case, EACH},
    command,
    finalizer::{nudge, restore},
    reach::Reach,
    request::Request,
};
use crate::{
    diagnosis::repaired,
    object::{ConditionStatus, Facts, Guard, Object, ObjectRef, ServiceRef, Webhooks},
    relation::EdgeKind,
    selector::{Operator, Requirement, Selector},
    unknown_reason::UnknownReason,
};

/// API groups that answer from memory: no object of theirs can be left in a namespace
/// (<https://github.com/kubernetes/metrics>).
const STORE_NOTHING: [&str; 3] =
    ["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"];

/// The field of a definition that says how its objects are converted.
const STRATEGY: &str = "/spec/conversion/strategy";

/// An aggregated API is down: repair it and let the controller look again, else delete its APIService, else finish the namespace
/// without it.
pub(super) fn api_down(
    case: &Case<'_>,
    group_version: &Arc<str>,
    service: Option<&ObjectRef>,
) -> Vec<Remedy> {
    let act = RemedyAct::RepairApi { group_version: group_version.clone() };
    let root = case.root();
    let look = root.and_then(|object| command::look(object));
    let behind = service.map(command::look_at_service).unwrap_or_default();
    let repair = Remedy::new(act).named(service.cloned());
    let mut found = vec![repair.with([look].into_iter().chain(behind.into_iter().map(Some)))];
    let is_repaired =
        if root.is_some_and(|object| is_down(object)) { Holds::No } else { Holds::Unknown };
    found.extend(case.namespaces().map(|namespace| nudge_once(case, namespace, is_repaired)));
    // The API server's own groups have no Service: it serves them again, or creates the APIService again.
    if let Some(object) = root
        && service.is_some()
        && is_down(object)
    {
        found.push(delete_api_service(case, object, group_version));
    }
    found.extend(case.namespaces().map(|namespace| finalize(case, namespace, group_version)));
    found
}

/// Has the controller look again, where the cluster shows whether the cause is over.
fn nudge_once(case: &Case<'_>, namespace: &Object, is_repaired: Holds) -> Remedy {
    let mut remedy = nudge(case, namespace);
    for need in remedy.needs.iter_mut().filter(|need| need.code == NeedCode::CauseRemoved) {
        need.holds = is_repaired;
    }
    remedy
}

fn delete_api_service(case: &Case<'_>, object: &Object, group_version: &Arc<str>) -> Remedy {
    let group = group_version.split_once('/').map_or("", |(group, _)| group);
    let stores_nothing = STORE_NOTHING.contains(&group);
    let may_store = Withheld::GroupMayStoreObjects { group: group.to_owned() };
    // Autoscalers read the groups that answer from memory.
    let scalers = case.index.of_resource("horizontalpodautoscalers.autoscaling");
    let scalers = scalers.filter(|_| stores_nothing).map(|object| object.reference());
    let mut reach = Reach::of(scalers).releasing(case.held_namespaces());
    reach.resources.push(format!("*.{group}"));
    Remedy::new(RemedyAct::DeleteApiService { group_version: group_version.clone() })
        .at(object)
        .with([command::copy(object), command::delete(object, &json!({}))])
        .need(
            NeedCode::GroupStoresNothing,
            if stores_nothing { Holds::Yes } else { Holds::Unknown },
        )
        .reach(reach)
        .loss([Loss::Api, Loss::ComesBack])
        .undo(Undo::CreateAgain)
        .withhold((!stores_nothing).then_some(may_store))
}

/// Finishes a namespace without its controller: every object left in it stays, where nobody can change it.
fn finalize(case: &Case<'_>, namespace: &Object, group_version: &Arc<str>) -> Remedy {
    let remedy = Remedy::new(RemedyAct::FinalizeNamespace)
        .at(namespace)
        .with([command::copy(namespace), command::finalize(namespace, None)]);
    let down = case.root().filter(|object| is_down(object));
    without_content(case, namespace, down.map(|_| group_version), remedy).loss([Loss::Orphans])
}

/// The guards of a change after which a namespace may be gone: every kind can be listed in it, and no Pod is left. `down` is a
/// group version whose API does not answer.
fn without_content(
    case: &Case<'_>,
    namespace: &Object,
    down: Option<&Arc<str>>,
    remedy: Remedy,
) -> Remedy {
    let cannot_list = |resource: String| Withheld::CannotList { resource };
    let unseen = match (down, case.index.check_namespace_visible(&namespace.name)) {
        (Some(down), _) => Some(cannot_list(down.to_string())),
        (None, Ok(())) => None,
        (
            None,
            Err(
                UnknownReason::Hidden { resource, .. }
                | UnknownReason::NotListed { resource }
                | UnknownReason::NotServed { resource },
            ),
        ) => Some(cannot_list(resource)),
        (None, Err(_)) => Some(cannot_list(namespace.name.to_string())),
    };
    let mut inside: Vec<&Arc<Object>> = case.sources(namespace, EdgeKind::Contains).collect();
    inside.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    let has_pods = inside.iter().any(|object| matches!(object.facts, Facts::Pod(_)));
    remedy
        .need(NeedCode::NamespaceListable, unseen.is_none())
        .need(NeedCode::NoPodsInside, !has_pods)
        .reach(Reach::of(inside.iter().map(|object| object.reference())))
        .withhold(unseen)
        .withhold(has_pods.then_some(Withheld::PodsInside))
}

/// Whether an APIService does not say that its API is available.
fn is_down(object: &Object) -> bool {
    let Facts::ApiService(api) = &object.facts else { return false };
    api.available.as_ref().is_none_or(|available| available.status != ConditionStatus::True)
}

/// Another program keeps a finalizer in the spec of the namespace.
pub(super) fn other_finalizer(case: &Case<'_>, finalizer: &Arc<str>) -> Vec<Remedy> {
    let mut found = vec![restore(case, finalizer, &[])];
    let Some(namespace) = case.root() else { return found };
    let Facts::Namespace(facts) = &namespace.facts else { return found };
    let is_last = facts.finalizers.iter().all(|it| it == finalizer);
    let remove = Remedy::new(RemedyAct::RemoveSpecFinalizer { finalizer: finalizer.clone() })
        .at(namespace)
        .with([command::copy(namespace), command::finalize(namespace, Some(finalizer))])
        .need(NeedCode::FinisherCannotFinish, Holds::Unknown)
        .need(NeedCode::CleanedUpByHand, Holds::Unknown)
        .loss([Loss::CleanUp]);
    let remove = without_content(case, namespace, None, remove);
    let orphans = is_last && !remove.reaches.is_none();
    found.push(if orphans { remove.loss([Loss::Orphans]) } else { remove });
    found
}

/// The controller was refused for a reason that only its own words say.
pub(super) fn content_refused(case: &Case<'_>) -> Vec<Remedy> {
    let object = case.root();
    let look = object.and_then(|object| command::describe(object));
    let look = Remedy::new(RemedyAct::Look).named(Some(case.diagnosis.root.clone())).with([look]);
    let mut found = vec![look];
    found.extend(object.map(|object| nudge(case, object)));
    found
}

/// The list of APIs cannot be read, and the error does not name the one that is at fault: look at those that other servers answer for.
pub(super) fn discovery_failed(case: &Case<'_>) -> Vec<Remedy> {
    let apis = command::kubectl(command::Purpose::Look, &["get", "apiservices"]);
    let list = command::kubectl(command::Purpose::Look, &["api-resources"]);
    let mut found = content_refused(case);
    if let Some(look) = found.first_mut() {
        *look = look.clone().with([apis, list]);
    }
    found
}

/// The cause is over: the controller looks again by itself, and a change of the namespace hurries it. To finish the namespace without
/// it stands last. Its guards are those of every such end, that every kind can be listed and no Pod is left; the API does not show
/// whether the controller will look, so that is no guard.
pub(super) fn looks_again(case: &Case<'_>, group_version: &Arc<str>) -> Vec<Remedy> {
    let until = looks_again_by(case);
    let wait = RemedyAct::Wait { reason: WaitReason::ControllerRetry, until };
    let wait = Remedy::new(wait).named(Some(case.diagnosis.root.clone()));
    let hurry = case.namespaces().map(|namespace| nudge_once(case, namespace, Holds::Yes));
    let finish = case.namespaces().map(|namespace| finalize(case, namespace, group_version));
    std::iter::once(wait).chain(hurry).chain(finish).collect()
}

/// The time by which the controller of namespaces has looked again. `None` once that has passed: then a back-off of other failures
/// is longer.
fn looks_again_by(case: &Case<'_>) -> Option<Timestamp> {
    let (at, within) = repaired(case.index, &case.diagnosis.root)?;
    at.checked_add(within).ok().filter(|by| *by > case.now)
}

/// A webhook that refuses what it cannot check does not answer: repair it and let the controller look again, else have it leave out the
/// namespaces that wait, and only then let requests pass without it for a while, in the whole cluster.
pub(super) fn webhook_down(
    case: &Case<'_>,
    webhook: &Arc<str>,
    configurations: &[ObjectRef],
) -> Vec<Remedy> {
    if case.diagnosis.is_of_lost_rule() {
        return next_try(case);
    }
    let configurations: Vec<&Arc<Object>> =
        configurations.iter().filter_map(|it| case.index.named(it)).take(EACH).collect();
    let look: Vec<_> = configurations.iter().map(|object| command::look(object)).collect();
    let behind = configurations.iter().flat_map(|object| services(object, webhook));
    let behind: Vec<_> = behind.flat_map(|service| command::look_at_service(&service)).collect();
    let repair = Remedy::new(RemedyAct::RepairWebhook { webhook: webhook.clone() });
    let repair = repair.named(Some(case.diagnosis.root.clone()));
    let mut found = vec![repair.with(look.into_iter().chain(behind.into_iter().map(Some)))];
    found.extend(case.namespaces().map(|namespace| nudge(case, namespace)));
    found.extend(configurations.iter().filter_map(|object| exempt(case, object, webhook)));
    for object in configurations {
        let Facts::Webhooks(webhooks) = &object.facts else { continue };
        found.extend(ignore(case, object, webhooks, webhook));
        let delete = Remedy::new(RemedyAct::DeleteWebhookConfiguration)
            .at(object)
            .with([command::copy(object), command::delete(object, &json!({}))])
            .reach(guarded(webhooks, None).releasing(case.held_namespaces()))
            .loss([Loss::Checks, Loss::ComesBack])
            .undo(Undo::CreateAgain);
        found.push(delete);
    }
    found
}

/// Adds the namespaces that wait to those that the webhook leaves out, if its selector is still the one that was seen. The API server
/// sets the label with the name on every namespace, and nobody can change it (`NamespaceDefaultLabelName`, in every version since 1.22).
/// A selector of namespaces concerns no object without a namespace.
fn exempt(case: &Case<'_>, object: &Object, webhook: &Arc<str>) -> Option<Remedy> {
    let Facts::Webhooks(webhooks) = &object.facts else { return None };
    let guard = webhooks.guards.iter().find(|it| it.webhook == *webhook && it.fails_closed)?;
    let names: BTreeSet<&str> = case.waiting().filter_map(|object| concerned(object)).collect();
    let namespaces: Vec<&Arc<Object>> = names
        .into_iter()
        .filter_map(|name| case.index.find("", "Namespace", None, name))
        .filter(|namespace| guard.namespaces.matches(&namespace.labels))
        .take(EACH)
        .collect();
    if namespaces.is_empty() {
        return None;
    }
    let names: Vec<Arc<str>> = namespaces.iter().map(|it| Arc::from(&*it.name)).collect();
    let mut without = guard.namespaces.clone();
    let other = Requirement {
        key: "kubernetes.io/metadata.name".into(),
        operator: Operator::NotIn,
        values: names.iter().cloned().collect(),
    };
    without.expressions = without.expressions.iter().cloned().chain([other]).collect();
    let (seen, without) = (written(&guard.namespaces), written(&without));
    let place = place_of(guard)?;
    let is_named = command::test(&format!("/webhooks/{place}/name"), &**webhook);
    let selector = format!("/webhooks/{place}/namespaceSelector");
    let change = |from: &Value, to: &Value| {
        let is_seen = command::test(&selector, from.clone());
        let set = command::set("replace", &selector, to.clone());
        command::patch_by_hand(object, &[is_named.clone(), is_seen, set])
    };
    let (act, undo) = (change(&seen, &without), change(&without, &seen));
    let held: Vec<ObjectRef> = case.held_namespaces().collect();
    let (waits, others): (Vec<ObjectRef>, Vec<ObjectRef>) =
        namespaces.iter().map(|it| it.reference()).partition(|it| held.contains(it));
    let remedy =
        Remedy::new(RemedyAct::ExemptNamespaces { webhook: webhook.clone(), namespaces: names })
            .at(object)
            .with([act, undo.map(|it| it.to(command::Purpose::Undo))])
            .reach(Reach::of(others).releasing(waits))
            .loss([Loss::ChecksInNamespaces, Loss::ComesBack])
            .undo(Undo::SetBack);
    Some(remedy)
}

/// The namespace by whose labels a webhook chooses whether it is asked about an object.
pub(super) fn concerned(object: &Object) -> Option<&str> {
    match &object.facts {
        Facts::Namespace(_) => Some(&object.name),
        _ => object.namespace.as_deref(),
    }
}

/// A selector as the API server stores it.
fn written(selector: &Selector) -> Value {
    let mut written = serde_json::Map::new();
    if !selector.labels.is_empty() {
        let labels: BTreeMap<&str, &str> =
            selector.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
        written.insert("matchLabels".to_owned(), json!(labels));
    }
    if !selector.expressions.is_empty() {
        let expressions = selector.expressions.iter().map(|it| {
            let mut written = json!({ "key": it.key, "operator": it.operator });
            if !it.values.is_empty() {
                written["values"] = json!(it.values);
            }
            written
        });
        written.insert("matchExpressions".to_owned(), expressions.collect());
    }
    Value::Object(written)
}

/// The place of a rule's webhook in the list of its configuration.
fn place_of(guard: &Guard) -> Option<usize> {
    let (place, _) = guard.field.strip_prefix("webhooks[")?.split_once(']')?;
    place.parse().ok()
}

/// Sets `failurePolicy` to `Ignore`, if the webhook is still at the same place of the list.
fn ignore(
    case: &Case<'_>,
    object: &Object,
    webhooks: &Webhooks,
    webhook: &Arc<str>,
) -> Option<Remedy> {
    let guard = webhooks.guards.iter().find(|it| it.webhook == *webhook && it.fails_closed)?;
    let place = place_of(guard)?;
    let is_named = command::test(&format!("/webhooks/{place}/name"), &**webhook);
    let policy = format!("/webhooks/{place}/failurePolicy");
    let to = |value: &str| command::set("replace", &policy, value);
    let act = command::patch(object, &[is_named.clone(), to("Ignore")]);
    let undo = command::patch(object, &[is_named, to("Fail")]);
    let remedy = Remedy::new(RemedyAct::IgnoreWebhook { webhook: webhook.clone() })
        .at(object)
        .with([act, undo.map(|it| it.to(command::Purpose::Undo))])
        .reach(guarded(webhooks, Some(webhook)).releasing(case.held_namespaces()))
        .loss([Loss::Checks, Loss::ComesBack])
        .undo(Undo::SetBack);
    Some(remedy)
}

/// The resources that a configuration is asked about, for one of its webhooks or for all.
fn guarded(webhooks: &Webhooks, webhook: Option<&Arc<str>>) -> Reach {
    let mut reach = Reach::default();
    let concerned = |it: &&Guard| webhook.is_none_or(|webhook| it.webhook == *webhook);
    for guard in webhooks.guards.iter().filter(concerned) {
        for group in &guard.covers.groups {
            let suffix = if group.is_empty() { String::new() } else { format!(".{group}") };
            let named = guard.covers.resources.iter().map(|it| format!("{it}{suffix}"));
            reach.resources.extend(named);
        }
    }
    reach.resources.sort();
    reach.resources.dedup();
    // Only the rules about DELETE and UPDATE are known. Others, about CREATE for example, may name anything.
    reach.resources.push("*".to_owned());
    reach
}

fn services(object: &Object, webhook: &Arc<str>) -> Option<ObjectRef> {
    let Facts::Webhooks(webhooks) = &object.facts else { return None };
    let guard = webhooks.guards.iter().find(|guard| guard.webhook == *webhook)?;
    guard.service.as_ref().map(service)
}

fn service(of: &ServiceRef) -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "Service".into(),
        namespace: Some(of.namespace.clone()),
        name: of.name.clone(),
    }
}

/// A rule denies the request. Nobody goes round it: a person meets it or changes it. Once the rule is gone, the controller's next try
/// passes by itself, and a change of the namespace hurries it.
pub(super) fn denied(case: &Case<'_>, policy: &Arc<str>) -> Vec<Remedy> {
    if case.diagnosis.is_of_lost_rule() {
        return next_try(case);
    }
    let is_rule = |root: &&Arc<Object>| &*root.kind.group == "admissionregistration.k8s.io";
    let look = case.root().filter(is_rule).and_then(|object| command::look(object));
    let act = RemedyAct::SatisfyPolicy { policy: policy.clone() };
    vec![Remedy::new(act).named(Some(case.diagnosis.root.clone())).with([look])]
}

/// The rule that refused is gone: the controller's next try may pass by itself, and a change of the namespace hurries it.
fn next_try(case: &Case<'_>) -> Vec<Remedy> {
    let wait = RemedyAct::Wait { reason: WaitReason::ControllerRetry, until: None };
    let wait = Remedy::new(wait).named(Some(case.diagnosis.root.clone()));
    let hurry = case.namespaces().map(|namespace| nudge_once(case, namespace, Holds::Yes));
    std::iter::once(wait).chain(hurry).collect()
}

/// Mutating webhooks that rewrite Pods which are being deleted: have them leave those alone. The finalizer, or the status of the
/// kubelet, then passes by itself.
pub(super) fn update_rejected(case: &Case<'_>, webhooks: &[ObjectRef]) -> Vec<Remedy> {
    let configurations = webhooks.iter().filter_map(|it| case.index.named(it)).take(EACH);
    let exempt = |object: &Arc<Object>| {
        Remedy::new(RemedyAct::ExemptPods).at(object).with([command::look(object)])
    };
    let mut found: Vec<Remedy> = configurations.map(exempt).collect();
    if found.is_empty() {
        let look = case.waiting().next().and_then(|object| command::look(object));
        let remedy = Remedy::new(RemedyAct::Look).named(Some(case.diagnosis.root.clone()));
        found.push(remedy.with([look]));
    }
    found
}

/// The webhook that converts objects of a kind does not answer. It holds every Terminating namespace, not only those with
/// such objects.
pub(super) fn conversion_down(case: &Case<'_>, kind: &Arc<str>) -> Vec<Remedy> {
    let definition = case.root();
    let converter = definition.and_then(|object| match &object.facts {
        Facts::Definition(facts) => facts.converter.as_deref().map(service),
        _ => None,
    });
    let behind = converter.as_ref().map(command::look_at_service).unwrap_or_default();
    let repair = Remedy::new(RemedyAct::RepairConverter { kind: kind.clone() });
    let look = definition.and_then(|object| command::look(object));
    let look = [look].into_iter().chain(behind.into_iter().map(Some));
    let mut found = vec![repair.named(converter).with(look)];
    found.extend(case.namespaces().map(|namespace| nudge(case, namespace)));
    found.extend(definition.and_then(|object| stop_conversion(object)));
    found
}

/// Conversion by name alone is right where all stored objects have one version, which the status of the definition says.
fn stop_conversion(object: &Object) -> Option<Remedy> {
    let Facts::Definition(definition) = &object.facts else { return None };
    let versions = "--output=jsonpath={.status.storedVersions}";
    let off = [
        command::test(STRATEGY, "Webhook"),
        command::set("replace", "/spec/conversion", json!({ "strategy": "None" })),
    ];
    let is_one = match definition.stored_versions.len() {
        0 => Holds::Unknown,
        stored => (stored == 1).into(),
    };
    let mut reach = Reach::default();
    reach.resources.push(object.name.to_string());
    let remedy = Remedy::new(RemedyAct::StopConversion)
        .at(object)
        .reach(reach)
        .with([
            command::about(command::Purpose::Look, object, "get", &[versions]),
            command::copy(object),
            command::patch(object, &off),
        ])
        .need(NeedCode::OneStoredVersion, is_one)
        .loss([Loss::Fields, Loss::ComesBack])
        .undo(Undo::SetBack);
    Some(remedy)
}

/// Puts the conversion of a definition back as a copy of the definition has it, unless somebody has set another one since.
pub(super) fn conversion_again(request: &Request, copy: &Value) -> Option<Request> {
    let uid = request.uid.as_ref()?.to_string();
    let conversion = copy.get("spec")?.get("conversion")?;
    if copy.get("metadata")?.get("uid")?.as_str()? != uid || !conversion.is_object() {
        return None;
    }
    let body = json!([
        command::test("/metadata/uid", uid),
        command::test(STRATEGY, "None"),
        command::set("replace", "/spec/conversion", conversion.clone()),
    ]);
    Some(Request { body, ..request.clone() })
}
