//! Parents outside the plan that declare its objects, and would make them again.

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    index::Index,
    object::Object,
    unit::{DeclaringParent, declaring_parents},
};

/// A parent that exists and stays is a refusal. One that cannot be seen may be in another cluster, as Argo CD often is.
/// One that is in the plan, or does not exist where it would be seen, is no finding.
pub(super) fn declaring(subject: &Subject<'_>, notes: &mut Notes) {
    // Many objects have the same few parents.
    let mut known: Vec<(DeclaringParent, Option<(Severity, NoteCode)>)> = Vec::new();
    for (_, object) in subject.objects() {
        for parent in declaring_parents(object) {
            let finding = match known.iter().find(|(it, _)| *it == parent) {
                Some((_, finding)) => finding.clone(),
                None => {
                    let finding = judge(&parent, subject);
                    known.push((parent, finding.clone()));
                    finding
                }
            };
            if let Some((severity, code)) = finding {
                notes.add(severity, code, object.reference());
            }
        }
    }
}

fn judge(parent: &DeclaringParent, subject: &Subject<'_>) -> Option<(Severity, NoteCode)> {
    match find(parent, subject.index()) {
        Some(found) => is_outside(found, subject)
            .then(|| (Severity::Refusal, NoteCode::Declared { parent: found.reference() })),
        None if is_visible(parent, subject.index()) => None,
        None => {
            let (kind, name) = (parent.kind, parent.name.clone());
            Some((Severity::Warning, NoteCode::DeclaredElsewhere { kind, name }))
        }
    }
}

/// Argo CD names an application of another namespace than its own `NAMESPACE_NAME`
/// (<https://argo-cd.readthedocs.io/en/stable/operator-manual/app-any-namespace/>).
fn find<'a>(parent: &DeclaringParent, index: &'a Index) -> Option<&'a Object> {
    let resource = format!("{}.{}", parent.plural, parent.group);
    let is_it = |object: &&Object| match &parent.namespace {
        Some(namespace) => {
            object.namespace.as_ref() == Some(namespace) && *object.name == *parent.name
        }
        None => {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            *object.name == *parent.name
                || parent
                    .name
                    .strip_prefix(namespace)
                    .and_then(|rest| rest.strip_prefix('_'))
                    .is_some_and(|name| *name == *object.name)
        }
    };
    let objects = index.of_resource(&resource).map(|object| &**object);
    objects.filter(is_it).min_by(|a, b| a.uid.cmp(&b.uid))
}

/// The name of a definition is the name of its resource.
fn is_visible(parent: &DeclaringParent, index: &Index) -> bool {
    index.check_kind_visible(&format!("{}.{}", parent.plural, parent.group)).is_ok()
}

fn is_outside(parent: &Object, subject: &Subject<'_>) -> bool {
    parent.deletion.is_none() && subject.step_of(&parent.uid).is_none()
}
