//! Objects of the plan that are being deleted already, and wait.

use std::collections::HashSet;

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::object::Uid;

/// The diagnoses that concern objects of the plan.
pub(super) fn already_deleted(subject: &Subject<'_>, notes: &mut Notes) {
    let planned: HashSet<&Uid> = subject.objects().map(|(step, _)| &step.uid).collect();
    for diagnosis in subject.diagnoses {
        let ends_by_itself = diagnosis.cause.may_pass() && !diagnosis.stuck;
        let severity = if ends_by_itself { Severity::Warning } else { Severity::Refusal };
        let deleted = diagnosis.waiting.iter().filter(|it| !it.starts);
        for waiting in deleted.filter(|it| planned.contains(&it.uid)) {
            let code = NoteCode::Waits { diagnosis: Box::new(diagnosis.clone()) };
            notes.add(severity, code, waiting.object.clone());
        }
    }
}
