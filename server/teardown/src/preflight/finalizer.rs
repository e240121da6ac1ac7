//! Finalizers whose program is absent or not ready.

use std::sync::Arc;

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::{Cause, cloud_controller, driver_finisher, finisher},
    index::Index,
    object::{Facts, Object, ObjectRef},
};

/// The detector that says why a finalizer stays, asked before the deletion. A program that is ready is no finding.
pub(super) fn finishers(subject: &Subject<'_>, notes: &mut Notes) {
    for (_, object) in subject.objects() {
        for finalizer in object.finalizers.iter() {
            let Some(cause) = cause(subject, object, finalizer) else { continue };
            let finalizer = finalizer.clone();
            let (severity, code) = match cause {
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
                Cause::LoadBalancerLeft => (Severity::Info, NoteCode::CloudControllerUnseen),
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

/// A diagnosis knows a volume by its attachments and its phase, and a load balancer by the Events of its Service. Before the
/// deletion there are none, so the programs are asked about instead.
fn cause(subject: &Subject<'_>, object: &Arc<Object>, finalizer: &Arc<str>) -> Option<Cause> {
    let case = &subject.case;
    let Some(verdict) = finisher(case, object, finalizer) else {
        return Some(driver_finisher(case, object, finalizer)?.cause);
    };
    let seen = match verdict.cause {
        Cause::LoadBalancerLeft => cloud_controller(case, finalizer),
        _ => None,
    };
    Some(seen.unwrap_or(verdict).cause)
}

fn may_be_ready(program: &ObjectRef, index: &Index) -> bool {
    match index.named(program).map(|object| &object.facts) {
        Some(Facts::Workload(workload)) => workload.ready.is_none_or(|ready| ready > 0),
        Some(Facts::Pod(pod)) => pod.ready,
        _ => true,
    }
}
