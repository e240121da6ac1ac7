//! Finalizers whose program is absent or not ready.

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::{Cause, finisher},
    index::Index,
    object::{Facts, ObjectRef},
};

/// The detector that says why a finalizer stays, asked before the deletion. A program that is ready is no finding.
pub(super) fn finishers(subject: &Subject<'_>, notes: &mut Notes) {
    for (_, object) in subject.objects() {
        for finalizer in object.finalizers.iter() {
            let Some(verdict) = finisher(&subject.case, object, finalizer) else { continue };
            let finalizer = finalizer.clone();
            let (severity, code) = match verdict.cause {
                Cause::FinisherGone { deleted, .. } => {
                    (Severity::Refusal, NoteCode::FinisherGone { finalizer, deleted })
                }
                Cause::FinisherNotReady { finisher, .. } => {
                    (Severity::Refusal, NoteCode::FinisherNotReady { finalizer, finisher })
                }
                Cause::FinisherUnknown { possible, .. }
                    if !possible.iter().any(|it| may_be_ready(it, subject.index())) =>
                {
                    (Severity::Warning, NoteCode::FinishersNotReady { finalizer, possible })
                }
                Cause::CannotSee { resource } => {
                    (Severity::Warning, NoteCode::FinisherHidden { finalizer, resource })
                }
                // The others hold an object only once it is being deleted.
                _ => continue,
            };
            notes.add(severity, code, object.reference());
        }
    }
}

fn may_be_ready(program: &ObjectRef, index: &Index) -> bool {
    match index.named(program).map(|object| &object.facts) {
        Some(Facts::Workload(workload)) => workload.ready.is_none_or(|ready| ready > 0),
        Some(Facts::Pod(pod)) => pod.ready,
        _ => true,
    }
}
