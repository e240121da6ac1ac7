//! The facts that speak for a cause. Only the server asks for them: see `teardown::advice`.

use teardown::{
    api_problem::ApiProblem,
    diagnosis::{Evidence, Source},
};

use super::kubelet::{failures, kubelet_fact, not_in_log, runtime, unanswered};
use crate::text::{en::api_problem::api_problem, isolated, named, visible};

/// The object and field of a fact, and the cluster’s own words.
pub(super) fn fact(fact: &Evidence) -> String {
    let of = match (&fact.of.namespace, fact.of.name.is_empty()) {
        (_, false) => named(&fact.of),
        (Some(namespace), true) => {
            format!("{} in {}", visible(&fact.of.kind), isolated(namespace))
        }
        (None, true) => visible(&fact.of.kind),
    };
    let said = visible(&fact.said);
    match &fact.source {
        Source::Condition(name) => format!("{of}: condition {} is {said}", visible(name)),
        Source::Field(path) if said.is_empty() => format!("{of}: {}", visible(path)),
        Source::Field(path) => format!("{of}: {} = {said}", visible(path)),
        Source::Absent => format!("{of} does not exist"),
        Source::Deleted => format!("{of} was deleted"),
        Source::DeletedByRun { by } if by.is_empty() => {
            format!("{of} was deleted by a run of Unwind")
        }
        Source::DeletedByRun { by } => {
            format!("{of} was deleted by a run of Unwind (started by {})", isolated(by))
        }
        Source::RemovedByRemedy { by } if by.is_empty() => {
            format!("{of} was removed by a remedy of Unwind")
        }
        Source::RemovedByRemedy { by } => {
            format!("{of} was removed by a remedy of Unwind (confirmed by {})", isolated(by))
        }
        Source::Became(name) => format!("{of} became {}: {said}", visible(name)),
        Source::NoReadyPod => format!("{of} has no ready Pod"),
        Source::NoEndpoints => format!("{of} has no ready endpoint"),
        Source::Event { by, reason } if said.is_empty() => {
            format!("{of}: {} reports {}", visible(by), visible(reason))
        }
        Source::Event { by, reason } => {
            format!("{of}: {} says {}: {said}", visible(by), visible(reason))
        }
        Source::NoNewEvents => {
            format!("{of} is Terminating and accepts no new Events, so their absence says nothing")
        }
        Source::Renewed => format!("{of} is renewed while Unwind watches: its holder lives"),
        Source::NotRenewed => format!("{of} has not been renewed while Unwind watched, since"),
        Source::Unlistable(problem) => {
            format!("{of}: its objects cannot be listed{}", because(problem))
        }
        Source::WrittenBy { finalizer, manager } => format!(
            "{of}: the field manager {}, which wrote the finalizer {}, last changed the object",
            isolated(manager),
            isolated(finalizer)
        ),
        Source::Refused => format!("The API server refused an update of {of}: {said}"),
        Source::Hidden(problem) => {
            format!("Unwind cannot see {of}{}", because(problem))
        }
        Source::Kubelet(origin, fact) => kubelet_fact(origin, fact),
        Source::NotInLog(origin, rest) => not_in_log(origin, &fact.of, rest),
        Source::Unanswered(subject, problem) => unanswered(&fact.of.name, *subject, problem),
        Source::Runtime { node, state, origin } => runtime(origin, &fact.of, node, state),
        Source::Failures { failure, count, since, origin } => {
            failures(origin, &fact.of.name, failure, *count, *since)
        }
    }
}

/// The end of a sentence about a problem; empty where its words are left out.
fn because(problem: &ApiProblem) -> String {
    let why = api_problem(problem);
    if why.is_empty() { why } else { format!(": {}", visible(&why)) }
}
