//! Parents outside the plan that declare its objects, and would make them again; and the owners of parents, which would make
//! these active again.
//!
//! # Decisions
//! - An ApplicationSet of Argo CD writes the specs of its Applications again at once
//!   (<https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Controlling-Resource-Modification/>), and so does a
//!   PackageInstall that of its App (`pkg/packageinstall/app.go` of kapp-controller). Of another owner it is not known whether it
//!   does, so it is a warning.

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    declaration::{DeclaringParent, declaring_parents, is_of_kapp},
    index::Index,
    object::{Facts, Object},
    relation::parent_of,
};

/// A parent that exists, is active and stays is a refusal. One that cannot be seen may be in another cluster, as Argo CD often is.
/// One that is in the plan, or does not exist where it would be seen, is no finding.
pub(super) fn declaring(subject: &Subject<'_>, notes: &mut Notes) {
    // Many objects have the same few parents.
    let mut known: Vec<(DeclaringParent, Option<(Severity, NoteCode)>)> = Vec::new();
    for (_, object) in subject.objects() {
        for parent in declaring_parents(object) {
            let found = parent_of(&parent, object, subject.index());
            if parent.is_guess && found.is_none() {
                continue;
            }
            let finding = match known.iter().find(|(it, _)| *it == parent) {
                Some((_, finding)) => finding.clone(),
                None => {
                    let finding = judge(&parent, found, subject);
                    if let Some(found) = found {
                        reverted(found, subject, notes);
                    }
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

/// Notes the owner that stays and looks after the spec of a parent, which has to be suspended.
fn reverted(parent: &Object, subject: &Subject<'_>, notes: &mut Notes) {
    let is_to_be_suspended = is_active(parent) && parent.deletion.is_none();
    let owner = parent.controller().and_then(|owner| subject.index().get(&owner.uid));
    let Some(owner) = owner.filter(|it| is_to_be_suspended && is_outside(it, subject)) else {
        return;
    };
    let is_known = owner.kind.is("argoproj.io", "ApplicationSet") || is_of_kapp(&owner.kind);
    let severity = if is_known { Severity::Refusal } else { Severity::Warning };
    notes.add(severity, NoteCode::Reverted { by: owner.reference() }, parent.reference());
}

fn judge(
    parent: &DeclaringParent,
    found: Option<&Object>,
    subject: &Subject<'_>,
) -> Option<(Severity, NoteCode)> {
    match found {
        Some(found) => (is_outside(found, subject) && is_active(found))
            .then(|| (Severity::Refusal, NoteCode::Declared { parent: found.reference() })),
        None if is_visible(parent, subject.index()) => None,
        None => {
            let (kind, name) = (parent.kind, parent.name.clone());
            Some((Severity::Warning, NoteCode::DeclaredElsewhere { kind, name }))
        }
    }
}

/// The name of a definition is the name of its resource.
fn is_visible(parent: &DeclaringParent, index: &Index) -> bool {
    index.check_kind_visible(parent.resource).is_ok()
}

fn is_outside(parent: &Object, subject: &Subject<'_>) -> bool {
    parent.deletion.is_none() && subject.step_of(&parent.uid).is_none()
}

/// A suspended parent makes nothing again.
fn is_active(parent: &Object) -> bool {
    !matches!(&parent.facts, Facts::Parent(parent) if parent.active.is_none())
}
