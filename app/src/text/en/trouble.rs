//! What is wrong with a step, what to do about it, and what the cluster said.

use teardown::{doubt::Doubt, object::ObjectRef, run::Trouble};

use super::{super::absolute, complaint, many};

/// What is wrong with a step.
pub fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Late { finalizers, .. } if finalizers.is_empty() => "It takes longer than expected.".to_owned(),
        Trouble::Late { finalizers, .. } => {
            format!("It waits for {} to be cleared.", many(finalizers.len(), "finalizer", "finalizers"))
        }
        Trouble::Refused { code, .. } => format!("The API server refused with {code}."),
        Trouble::CameBack { .. } => {
            "Something made it again under the same name. The new object is another one; this run does not touch it.".to_owned()
        }
        Trouble::CannotTell { doubt } => match doubt {
            Doubt::Left { of, .. } => {
                format!("The plan does not know a Pod that is left of {of}, so it waits.")
            }
            Doubt::Used { .. } => "Something that the plan does not know uses it, so it waits.".to_owned(),
            Doubt::Takes { .. } => "Something that the plan does not know would go with it, so it waits.".to_owned(),
            Doubt::Loses { .. } => "Data would be lost with it of which the plan does not say so, so it waits.".to_owned(),
            Doubt::Occupied { .. } => "Something is in it that the plan does not know, so it waits.".to_owned(),
            _ => "It cannot be told whether it may go, or whether it is gone, so it waits.".to_owned(),
        },
        Trouble::InUse { pods } => {
            format!("A consistent read still shows {} that use it.", many(pods.len(), "Pod", "Pods"))
        }
        Trouble::Retrying { attempts, .. } => {
            format!("No word yet that the API server accepted it; asked {}, and it is asked again.", many(*attempts as usize, "time", "times"))
        }
    }
}

/// What a person can do about it.
pub fn trouble_do(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Late { finalizers, .. } if finalizers.is_empty() => {
            "Look at the object’s controller, or at the node of its Pods."
        }
        Trouble::Late { .. } => {
            "Look at the controller that clears the finalizer: is it still running?"
        }
        Trouble::Refused { .. } => {
            "Grant the right or change the policy that refused: while the run goes on it is tried again every 20 s. Or skip it."
        }
        Trouble::CameBack { .. } => {
            "Stop whatever re-creates it, such as a GitOps controller or an operator, and plan again."
        }
        Trouble::CannotTell { doubt } => match doubt {
            Doubt::Hidden { .. } | Doubt::Unserved { .. } => {
                "Restore the right or the API group that is missing; it goes on by itself then."
            }
            Doubt::Unlisted { .. } => "Nothing: it goes on once the kind has been listed.",
            Doubt::Loses { .. } => "Stop the run and make a new plan, which will name the data.",
            Doubt::Left { .. }
            | Doubt::Used { .. }
            | Doubt::Takes { .. }
            | Doubt::Occupied { .. } => {
                "If the object above may go, delete it, and the run goes on by itself. Or stop the run and make a new plan, which will know it."
            }
            Doubt::Unclear { .. } => {
                "Look at what the API server says: it is asked again by itself."
            }
        },
        Trouble::InUse { .. } => "Wait for these Pods to end, or delete what owns them.",
        Trouble::Retrying { .. } => {
            "Nothing: it goes on by itself. To ask at once, pause and resume."
        }
    }
}

/// What the cluster said about a step in trouble, word for word.
pub fn evidence(trouble: &Trouble) -> Vec<String> {
    match trouble {
        Trouble::Late { since, finalizers } => {
            let mut lines = vec![format!("since {}", absolute(*since))];
            lines.extend(
                finalizers.iter().map(|finalizer| format!("metadata.finalizers: {finalizer}")),
            );
            lines
        }
        Trouble::Refused { code, message } => vec![format!("HTTP {code}: {}", complaint(message))],
        Trouble::CameBack { uid } => vec![format!("metadata.uid is now {uid}")],
        Trouble::CannotTell { doubt } => vec![in_doubt(doubt)],
        Trouble::Retrying { message, .. } => vec![complaint(message)],
        Trouble::InUse { pods } => pods.iter().map(ObjectRef::to_string).collect(),
    }
}

/// What keeps a question open.
pub fn in_doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Hidden { resource, namespace: Some(namespace), message } => {
            format!("{resource} cannot be seen in {namespace}: {}", complaint(message))
        }
        Doubt::Hidden { resource, namespace: None, message } => {
            format!("{resource} cannot be seen: {}", complaint(message))
        }
        Doubt::Unlisted { resource } => format!("{resource} has not been listed yet"),
        Doubt::Unserved { resource } => format!("{resource} is not served"),
        Doubt::Left { pod: it, .. }
        | Doubt::Used { by: it }
        | Doubt::Takes { it }
        | Doubt::Loses { volume: it }
        | Doubt::Occupied { by: it } => it.to_string(),
        Doubt::Unclear { message } => complaint(message),
    }
}
