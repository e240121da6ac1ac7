//! Objects that their own program keeps by design, as long as others depend on them. Rook writes so into a condition of the object:
//! `DeletionIsBlocked` with the reason `ObjectHasDependents` and a message that lists them
//! (`ReportDeletionBlockedDueToDependents` in `pkg/operator/ceph/reporting/reporting.go` of `rook/rook`).
//!
//! # Decisions
//! - The program does its work, so it is not said to be slow with the finalizers that may be its own. One that is not ready or gone
//!   stays a cause beside this one: it would not notice that the last dependent goes.
//! - The message lists dependents as `CephBlockPool: [a b], CephObjectStoreUsers: [c]` (`StringWithHeader` in
//!   `pkg/util/dependents/dependents.go` there): by a kind of the object's own group and namespace, in the singular or the plural,
//!   or in words, such as buckets. Those that are found are named, and those that are being deleted are waited for.
//! - A dependent that is gone says nothing: Rook looks again within 10 s and writes the message anew.

use std::sync::Arc;

use super::{
    case::{Case, condition, names, part},
    cause::{Cause, Confidence, Finding, Link, Verdict},
};
use crate::object::{Condition, Object};

/// The reason of Rook's condition.
const HAS_DEPENDENTS: &str = "ObjectHasDependents";

/// The dependents that a condition lists and that are left.
#[derive(Default)]
struct Dependents<'a> {
    /// The objects that are found.
    objects: Vec<&'a Arc<Object>>,
    /// Some are listed that are no objects that could be found.
    has_others: bool,
}

/// The program of an object keeps it for its dependents.
pub(super) fn listed<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let Some((said, left)) = left(case, object) else { return };
    let (going, staying) = part(left.objects);
    if left.has_others || !staying.is_empty() {
        let cause = Cause::KeptForDependents { dependents: names(&staying) };
        let verdict = Verdict::new(cause, object, Confidence::Confirmed);
        found.push(verdict.with([condition(object, said)]).into());
    }
    if !going.is_empty() {
        found.push(Finding::WaitsFor(Link::Use, going));
    }
}

/// Whether the program that clears a finalizer keeps the object by design, so that it is not to blame: a finalizer in the domain of
/// the object's own group, or the only one.
pub(super) fn is_kept(case: &Case<'_>, object: &Object, finalizer: &str) -> bool {
    let domain = finalizer.split('/').next().unwrap_or_default();
    let above = domain.strip_suffix(&*object.kind.group);
    let is_own = above.is_some_and(|above| above.is_empty() || above.ends_with('.'));
    (is_own || object.finalizers.len() == 1) && left(case, object).is_some()
}

/// The condition of an object that its program keeps for its dependents, with those that are left. None once all are gone.
fn left<'a, 'o>(case: &Case<'a>, object: &'o Object) -> Option<(&'o Condition, Dependents<'a>)> {
    let said = object.blocked().filter(|it| &*it.reason == HAS_DEPENDENTS)?;
    let mut left = Dependents::default();
    let mut is_listed = false;
    for (kind, name) in read(&said.message) {
        is_listed = true;
        match find(case, object, kind, name) {
            Some(dependent) => left.objects.push(dependent),
            None => left.has_others |= !is_gone(case, object, kind),
        }
    }
    left.has_others |= !is_listed;
    (left.has_others || !left.objects.is_empty()).then_some((said, left))
}

/// The kinds and names in the message of the condition.
fn read(message: &str) -> impl Iterator<Item = (&str, &str)> {
    let lists = message.split(']').filter_map(|text| text.rsplit_once(": ["));
    lists.flat_map(|(before, names)| {
        let kind = before.rsplit([',', ':']).next().unwrap_or_default().trim();
        names.split(' ').filter(|name| !name.is_empty()).map(move |name| (kind, name))
    })
}

/// A dependent in the group and the namespace of the object, by its kind in the singular or the plural.
fn find<'a>(case: &Case<'a>, object: &Object, kind: &str, name: &str) -> Option<&'a Arc<Object>> {
    let (group, namespace) = (&*object.kind.group, object.namespace.as_deref());
    let kinds = [Some(kind), kind.strip_suffix('s')];
    kinds.into_iter().flatten().find_map(|kind| case.index.find(group, kind, namespace, name))
}

/// Whether a dependent of this kind that is not found is gone: its definition is there, and its objects are visible. The name of a
/// definition is that of its resource.
fn is_gone(case: &Case<'_>, object: &Object, kind: &str) -> bool {
    let (lower, group) = (kind.to_ascii_lowercase(), &object.kind.group);
    let resources = [format!("{lower}s.{group}"), format!("{lower}.{group}")];
    resources.iter().any(|resource| {
        let (definitions, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
        case.index.find(definitions, kind, None, resource).is_some()
            && case.index.check_visible(resource, object.namespace.as_deref()).is_ok()
    })
}
