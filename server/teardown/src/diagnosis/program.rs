//! A program that clears a finalizer: whether it is ready, and for how long it is there.
//!
//! # Decisions
//! - A program that is newer than the deletion may not have looked yet, and one that is being deleted may never. A person who gave an
//!   operator back a moment ago is not told that it does nothing.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    case::Case,
    cause::{Cause, Confidence, Evidence, Verdict},
};
use crate::object::{Facts, Object};

/// The verdict on programs each of which clears the finalizer; `None` if there are none.
pub(super) fn known(programs: &[&Arc<Object>], finalizer: &Arc<str>) -> Option<Verdict> {
    let finalizer = finalizer.clone();
    let ready = programs.iter().find(|program| ready(program) == Some(true));
    let evidence = programs.iter().map(|program| readiness(program));
    let (cause, root) = match ready {
        Some(finisher) => {
            (Cause::FinisherBusy { finalizer, finisher: finisher.reference() }, finisher)
        }
        None => {
            let finisher = programs.first()?;
            (Cause::FinisherNotReady { finalizer, finisher: finisher.reference() }, finisher)
        }
    };
    Some(Verdict::new(cause, root, Confidence::Inferred).with(evidence))
}

/// The evidence that the program of a verdict is being deleted, or came after the deletion of the object.
pub(super) fn presence(case: &Case<'_>, object: &Object, verdict: &Verdict) -> Option<Evidence> {
    let (Cause::FinisherBusy { finisher, .. } | Cause::FinisherNotReady { finisher, .. }) =
        &verdict.cause
    else {
        return None;
    };
    let program = case.index.named(finisher)?;
    let field = |path: &str, at| Evidence::field(program, path, "").since(Some(at));
    if let Some(deletion) = &program.deletion {
        return Some(field("metadata.deletionTimestamp", deletion.accepted()));
    }
    let (created, deletion) = (Timestamp::from(program.created?), object.deletion.as_ref()?);
    (created > deletion.accepted()).then(|| field("metadata.creationTimestamp", created))
}

/// Whether a program has a ready Pod; `None` where its kind does not say.
pub(super) fn ready(program: &Object) -> Option<bool> {
    match &program.facts {
        Facts::Workload(workload) => workload.ready.map(|ready| ready > 0),
        Facts::Pod(pod) => Some(pod.ready && program.deletion.is_none()),
        _ => None,
    }
}

/// The evidence of it.
pub(super) fn readiness(program: &Object) -> Evidence {
    match &program.facts {
        Facts::Workload(workload) => {
            let ready = workload.ready.unwrap_or_default();
            let wanted = workload.replicas.unwrap_or(ready);
            let is_daemon_set = program.kind.is("apps", "DaemonSet");
            let path = if is_daemon_set { "status.numberReady" } else { "status.readyReplicas" };
            Evidence::field(program, path, format!("{ready} / {wanted}"))
        }
        _ if program.deletion.is_some() => {
            Evidence::field(program, "metadata.deletionTimestamp", "")
        }
        _ => {
            let is_ready = ready(program).unwrap_or_default();
            let said = if is_ready { "Ready True" } else { "Ready False" };
            Evidence::field(program, "status.conditions", said)
        }
    }
}
