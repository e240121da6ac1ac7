//! Webhook configurations guard objects: the API server asks them before it deletes one, and before it clears a finalizer.
//! `matchConditions` are not evaluated: where one excludes an object, the configuration goes later than it could.
//! Code that says that a webhook is asked about an object checks [`unevaluated`] first.

use std::sync::Arc;

use super::Reason;
use crate::{
    index::Index,
    object::{Facts, Guard, Object},
    selector::Selector,
};

/// The rule by which a configuration has to stay until an object is gone. What the cluster makes and removes by itself orders
/// nothing, although a webhook is asked about it as well.
pub(crate) fn guarding_rule(
    configuration: &Object,
    object: &Object,
    index: &Index,
) -> Option<Reason> {
    let Facts::Webhooks(webhooks) = &configuration.facts else { return None };
    if object.is_made_by_cluster() {
        return None;
    }
    let guard = webhooks.guards.iter().find(|guard| is_guarded_by(object, guard, index))?;
    let operation = if guard.deletes { "DELETE" } else { "UPDATE" };
    let value = format!("{operation} {}", object.kind.resource());
    Some(Reason { field: guard.field.clone(), value: value.into(), attribution: None })
}

/// Whether a rule of a webhook is asked when an object is deleted, or when its finalizers are cleared.
pub(crate) fn is_guarded_by(object: &Object, guard: &Guard, index: &Index) -> bool {
    let is_asked = guard.deletes || guard.updates && !object.finalizers.is_empty();
    is_asked && is_covered_by(object, guard, index)
}

/// Whether a rule of a webhook is asked about this object, if the operation is one of its own. Configurations themselves are
/// never sent to a webhook
/// (<https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>).
pub(crate) fn is_covered_by(object: &Object, guard: &Guard, index: &Index) -> bool {
    if &*object.kind.group == "admissionregistration.k8s.io" {
        return false;
    }
    let is_one =
        |list: &[Arc<str>], name: &str| list.iter().any(|it| &**it == "*" || **it == *name);
    let resources = &guard.covers.resources;
    let is_covered = is_one(&guard.covers.groups, &object.kind.group)
        && (is_one(resources, &object.kind.plural) || resources.iter().any(|it| &**it == "*/*"));
    let is_in_scope = guard.namespaced.is_none_or(|wanted| wanted == object.namespace.is_some());
    is_covered
        && is_in_scope
        && guard.objects.matches(&object.labels)
        && is_in_namespace(guard, object, index)
}

/// The field by which a rule that covers an object may still exclude it: `matchConditions` are expressions, and a namespace that
/// is not seen may have any labels.
pub(crate) fn unevaluated(object: &Object, guard: &Guard, index: &Index) -> Option<String> {
    let namespace = object.namespace.as_deref();
    let is_hidden = namespace.is_some_and(|name| index.find("", "Namespace", None, name).is_none());
    let field = if guard.is_conditional {
        "matchConditions"
    } else if is_hidden && guard.namespaces != Selector::default() {
        "namespaceSelector"
    } else {
        return None;
    };
    let webhook = guard.field.split_once(".rules").map_or(&*guard.field, |(webhook, _)| webhook);
    Some(format!("{webhook}.{field}"))
}

/// The namespace selector concerns an object by the labels of its namespace, a namespace by its own, and no other object
/// without a namespace. A namespace that is hidden may have any labels.
fn is_in_namespace(guard: &Guard, object: &Object, index: &Index) -> bool {
    let namespace = match (&object.namespace, &object.facts) {
        (Some(name), _) => index.find("", "Namespace", None, name).map(|it| &**it),
        (None, Facts::Namespace(_)) => Some(object),
        (None, _) => return true,
    };
    namespace.is_none_or(|namespace| guard.namespaces.matches(&namespace.labels))
}
