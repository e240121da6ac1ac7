//! A program that clears a finalizer: whether it is ready.

use std::sync::Arc;

use super::cause::{Cause, Confidence, Evidence, Verdict};
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

/// Whether a program has a ready Pod; `None` where its kind does not say.
fn ready(program: &Object) -> Option<bool> {
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
            Evidence::field(program, "status.readyReplicas", format!("{ready} / {wanted}"))
        }
        _ => Evidence::field(
            program,
            "status.conditions",
            ready(program).unwrap_or_default().to_string(),
        ),
    }
}
