//! What is wrong with a step, what to do about it, and what the cluster said.

use teardown::{object::ObjectRef, run::StepProblem, unknown_reason::UnknownReason};

use super::{super::absolute, api_problem, many};

/// What is wrong with a step.
pub fn step_problem(problem: &StepProblem) -> String {
    match problem {
        StepProblem::Late { finalizers, .. } if finalizers.is_empty() => "It takes longer than expected.".to_owned(),
        StepProblem::Late { finalizers, .. } => {
            format!("It waits for {} to be cleared.", many(finalizers.len(), "finalizer", "finalizers"))
        }
        StepProblem::Refused { code, .. } => format!("The API server refused with {code}."),
        StepProblem::CameBack { .. } => {
            "Something made it again under the same name. The new object is another one; this run does not touch it.".to_owned()
        }
        StepProblem::Unknown { reason } => match reason {
            UnknownReason::PodsLeft { of, .. } => {
                format!("The plan does not know a Pod that is left of {of}, so it waits.")
            }
            UnknownReason::InUse { .. } => "Something that the plan does not know uses it, so it waits.".to_owned(),
            UnknownReason::WouldCollect { .. } => "Something that the plan does not know would go with it, so it waits.".to_owned(),
            UnknownReason::WouldDestroyData { .. } => "Data would be lost with it of which the plan does not say so, so it waits.".to_owned(),
            UnknownReason::NamespaceNotEmpty { .. } => "Something is in it that the plan does not know, so it waits.".to_owned(),
            _ => "It cannot be told whether it may go, or whether it is gone, so it waits.".to_owned(),
        },
        StepProblem::InUse { pods } => {
            format!("A consistent read still shows {} that use it.", many(pods.len(), "Pod", "Pods"))
        }
        StepProblem::Retrying { attempts, .. } => {
            format!("No word yet that the API server accepted it; asked {}, and it is asked again.", many(*attempts as usize, "time", "times"))
        }
    }
}

/// What a person can do about it.
pub fn trouble_do(problem: &StepProblem) -> &'static str {
    match problem {
        StepProblem::Late { finalizers, .. } if finalizers.is_empty() => {
            "Look at the object’s controller, or at the node of its Pods."
        }
        StepProblem::Late { .. } => {
            "Look at the controller that clears the finalizer: is it still running?"
        }
        StepProblem::Refused { .. } => {
            "Grant the right or change the policy that refused: while the run goes on it is tried again every 20 s. Or skip it."
        }
        StepProblem::CameBack { .. } => {
            "Stop whatever re-creates it, such as a GitOps controller or an operator, and plan again."
        }
        StepProblem::Unknown { reason } => match reason {
            UnknownReason::Hidden { .. } | UnknownReason::NotServed { .. } => {
                "Restore the right or the API group that is missing; it goes on by itself then."
            }
            UnknownReason::NotListed { .. } => "Nothing: it goes on once the kind has been listed.",
            UnknownReason::WouldDestroyData { .. } => {
                "Stop the run and make a new plan, which will name the data."
            }
            UnknownReason::PodsLeft { .. }
            | UnknownReason::InUse { .. }
            | UnknownReason::WouldCollect { .. }
            | UnknownReason::NamespaceNotEmpty { .. } => {
                "If the object above may go, delete it, and the run goes on by itself. Or stop the run and make a new plan, which will know it."
            }
            UnknownReason::Inconclusive { .. } => {
                "Look at what the API server says: it is asked again by itself."
            }
        },
        StepProblem::InUse { .. } => "Wait for these Pods to end, or delete what owns them.",
        StepProblem::Retrying { .. } => {
            "Nothing: it goes on by itself. To ask at once, pause and resume."
        }
    }
}

/// What the cluster said about a step in trouble, word for word.
pub fn evidence(problem: &StepProblem) -> Vec<String> {
    match problem {
        StepProblem::Late { since, finalizers } => {
            let mut lines = vec![format!("since {}", absolute(*since))];
            lines.extend(
                finalizers.iter().map(|finalizer| format!("metadata.finalizers: {finalizer}")),
            );
            lines
        }
        StepProblem::Refused { code, message } => {
            vec![format!("HTTP {code}: {}", api_problem(message))]
        }
        StepProblem::CameBack { uid } => vec![format!("metadata.uid is now {uid}")],
        StepProblem::Unknown { reason } => vec![in_doubt(reason)],
        StepProblem::Retrying { message, .. } => vec![api_problem(message)],
        StepProblem::InUse { pods } => pods.iter().map(ObjectRef::to_string).collect(),
    }
}

/// What keeps a question open.
pub fn in_doubt(reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::Hidden { resource, namespace: Some(namespace), message } => {
            format!("{resource} cannot be seen in {namespace}: {}", api_problem(message))
        }
        UnknownReason::Hidden { resource, namespace: None, message } => {
            format!("{resource} cannot be seen: {}", api_problem(message))
        }
        UnknownReason::NotListed { resource } => format!("{resource} has not been listed yet"),
        UnknownReason::NotServed { resource } => format!("{resource} is not served"),
        UnknownReason::PodsLeft { pod: it, .. }
        | UnknownReason::InUse { by: it }
        | UnknownReason::WouldCollect { it }
        | UnknownReason::WouldDestroyData { volume: it }
        | UnknownReason::NamespaceNotEmpty { by: it } => it.to_string(),
        UnknownReason::Inconclusive { message } => api_problem(message),
    }
}
