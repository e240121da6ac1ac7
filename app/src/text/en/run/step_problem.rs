//! Why a step does not get on, what to do about it, and the cluster’s own words.

use teardown::{
    run::{Creator, Refusals, StepProblem},
    unknown_reason::{UnconfirmedObject, UnknownReason},
};

use crate::text::{NAMED, absolute, api_problem, isolated, many, named, some_of, visible};

/// The cause that a step does not get on.
pub fn step_problem(problem: &StepProblem) -> String {
    match problem {
        StepProblem::Late { finalizers, .. } => match finalizers.as_slice() {
            [] => "Its deletion takes longer than expected.".to_owned(),
            [one] => format!("The finalizer {} is not removed yet.", isolated(one)),
            many => format!("{} finalizers are not removed yet.", many.len()),
        },
        StepProblem::Refused { code, refusals, .. } => {
            let mut said = format!("The API server refused with {code}.");
            if let Some(Refusals { count, since, next }) = refusals
                && *count > 1
            {
                let (since, next) = (absolute(*since), absolute(*next));
                said += &format!(" {count} times since {since}, next try at {next}.");
            }
            said
        }
        StepProblem::CameBack { by, .. } => {
            let by = match by {
                Some(Creator::Owner(owner)) => named(owner),
                Some(Creator::Manager(manager)) => isolated(manager),
                None => "Something".to_owned(),
            };
            format!(
                "{by} created it again under the same name. This run does not touch the new object."
            )
        }
        StepProblem::Unknown { reason } => match reason {
            UnknownReason::PodsLeft { of, .. } => {
                format!(
                    "{} still has a Pod that is not in the plan, so this object waits.",
                    named(of)
                )
            }
            UnknownReason::Unconfirmed { objects } => format!(
                "{} that had to go first left the API unconfirmed, so this one waits.",
                many(objects.len(), "object", "objects")
            ),
            UnknownReason::StillAttached { .. } => {
                "Its volume is still attached to a node, so it waits.".to_owned()
            }
            UnknownReason::GivenAway { to: Some(_) } => {
                "It belongs to another unit now, so it is not deleted.".to_owned()
            }
            UnknownReason::GivenAway { to: None } => {
                "Nothing marks it as part of the unit any more, so it is not deleted.".to_owned()
            }
            UnknownReason::AskedToKeep { .. } => {
                "It is marked to be kept now, so it is not deleted.".to_owned()
            }
            UnknownReason::ParentActive { .. } => {
                "Its parent is active and would make it again, so it waits.".to_owned()
            }
            UnknownReason::InUse { .. } => {
                "An object that is not in the plan uses it, so it waits.".to_owned()
            }
            UnknownReason::StillGuards { .. } => {
                "Its rules match an object that is not in the plan, so it waits.".to_owned()
            }
            UnknownReason::WouldCollect { .. } => {
                "Deleting it also deletes an object that is not in the plan, so it waits."
                    .to_owned()
            }
            UnknownReason::WouldDestroyData { .. } => {
                "Deleting it destroys data that the plan does not list, so it waits.".to_owned()
            }
            UnknownReason::NamespaceNotEmpty { .. } => {
                "It contains an object that is not in the plan, so it waits.".to_owned()
            }
            _ => "Unwind cannot tell whether it may go, or whether it is gone, so it waits."
                .to_owned(),
        },
        StepProblem::InUse { pods } => {
            format!(
                "Still used by {}, as a consistent read shows.",
                many(pods.len(), "Pod", "Pods")
            )
        }
        StepProblem::Retrying { attempts, .. } => {
            format!(
                "The API server has not accepted the DELETE after {}; Unwind keeps trying.",
                many(*attempts as usize, "attempt", "attempts")
            )
        }
    }
}

/// The advice to a person about it.
pub fn problem_advice(problem: &StepProblem) -> &'static str {
    match problem {
        StepProblem::Late { finalizers, .. } => late_do(finalizers),
        StepProblem::Refused { .. } => {
            "Grant the permission, or change the policy that refused: the DELETE is then tried again at once. Or stop waiting for it."
        }
        StepProblem::CameBack { .. } => {
            "If this run deletes what creates it too, wait for that. Otherwise stop it, such as a GitOps controller or an operator, and make a new plan."
        }
        StepProblem::Unknown { reason } => match reason {
            UnknownReason::Hidden { .. } | UnknownReason::NotServed { .. } => {
                "Restore the missing permission or API group; the run then continues."
            }
            UnknownReason::NotListed { .. } => {
                "Nothing: the run continues once the kind has been listed."
            }
            UnknownReason::WouldDestroyData { .. } => {
                "Stop the run and make a new plan, which lists the data."
            }
            UnknownReason::Unconfirmed { .. } => {
                "For a Pod, check on its node that its containers are gone; for anything else, that the removed finalizer’s work is done. Then confirm it."
            }
            UnknownReason::StillAttached { .. } => {
                "Check the storage driver and the node. Where the node does not report, Kubernetes detaches a volume by force 6 min after no Pod there wants it any more."
            }
            UnknownReason::GivenAway { .. } => {
                "Stop waiting for it, and it stays. Or return it to this unit, and the run continues."
            }
            UnknownReason::AskedToKeep { .. } => {
                "Stop waiting for it, and it stays. Or remove the mark, and the run continues."
            }
            UnknownReason::ParentActive { .. } => {
                "Suspend the parent, and the run continues. Or stop waiting for it."
            }
            UnknownReason::PodsLeft { .. }
            | UnknownReason::InUse { .. }
            | UnknownReason::StillGuards { .. }
            | UnknownReason::WouldCollect { .. }
            | UnknownReason::NamespaceNotEmpty { .. } => {
                "If that object may go, delete it, and the run continues. Otherwise stop the run and make a new plan, which accounts for it."
            }
            UnknownReason::Inconclusive { .. } => {
                "See what the API server says; Unwind asks again by itself."
            }
        },
        StepProblem::InUse { .. } => "Wait until these Pods are gone, or delete their owner.",
        StepProblem::Retrying { .. } => {
            "Nothing: Unwind retries. To retry at once, pause and resume."
        }
    }
}

/// The advice about a deletion that takes long. The finalizers of Kubernetes itself have a cause of their own.
fn late_do(finalizers: &[String]) -> &'static str {
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if finalizers.is_empty() {
        "For a Pod, check the kubelet of its node; otherwise check its controller."
    } else if has("customresourcecleanup.apiextensions.k8s.io") {
        "The API server removes it once every object of this kind is gone: see which are left, and what holds them."
    } else if has("kubernetes.io/pvc-protection") {
        "It is removed once no Pod uses the claim: see which Pods still mount it."
    } else if has("kubernetes.io/pv-protection") {
        "It is removed once no claim is bound to the volume: see what holds the claim."
    } else if has("foregroundDeletion") {
        "It is removed once the object’s dependents are gone: see which are left."
    } else {
        "Check whether the controller that removes the finalizer is running."
    }
}

/// The cluster’s own words about it.
pub fn evidence(problem: &StepProblem) -> Vec<String> {
    match problem {
        StepProblem::Late { since, finalizers } => {
            let mut lines = vec![format!("since {}", absolute(*since))];
            lines.extend(
                finalizers
                    .iter()
                    .map(|finalizer| format!("metadata.finalizers: {}", visible(finalizer))),
            );
            lines
        }
        StepProblem::Refused { code, message, .. } => {
            vec![format!("HTTP {code}: {}", api_problem(message))]
        }
        StepProblem::CameBack { uid, .. } => vec![format!("metadata.uid is now {uid}")],
        StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } } => {
            objects.iter().map(unconfirmed).collect()
        }
        StepProblem::Unknown { reason } => vec![unknown_reason(reason)],
        StepProblem::Retrying { message, .. } => vec![api_problem(message)],
        StepProblem::InUse { pods } => pods.iter().map(named).collect(),
    }
}

/// `Pod shop/web-1 on node n1`.
fn unconfirmed(gone: &UnconfirmedObject) -> String {
    match &gone.node {
        Some(node) => format!("{} on node {}", named(&gone.object), isolated(node)),
        None => named(&gone.object),
    }
}

/// The reason that something is not known.
pub fn unknown_reason(reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::Hidden { resource, namespace: Some(namespace), message } => {
            format!("{resource} cannot be seen in {namespace}: {}", api_problem(message))
        }
        UnknownReason::Hidden { resource, namespace: None, message } => {
            format!("{resource} cannot be seen: {}", api_problem(message))
        }
        UnknownReason::NotListed { resource } => format!("{resource} has not been listed yet"),
        UnknownReason::NotServed { resource } => format!("{resource} is not served"),
        UnknownReason::Unconfirmed { objects } => {
            let objects: Vec<String> = objects.iter().map(unconfirmed).collect();
            some_of(&objects, NAMED)
        }
        UnknownReason::StillAttached { volume, node } => {
            format!("{} is attached to {}", isolated(volume), isolated(node))
        }
        UnknownReason::GivenAway { to: Some(unit) } => {
            format!("it belongs to {} now", isolated(unit))
        }
        UnknownReason::GivenAway { to: None } => "no label names its unit any more".to_owned(),
        UnknownReason::AskedToKeep { mark } => visible(mark),
        UnknownReason::PodsLeft { pod: it, .. }
        | UnknownReason::ParentActive { parent: it }
        | UnknownReason::InUse { by: it }
        | UnknownReason::StillGuards { it }
        | UnknownReason::WouldCollect { it }
        | UnknownReason::WouldDestroyData { volume: it }
        | UnknownReason::NamespaceNotEmpty { by: it } => named(it),
        UnknownReason::Inconclusive { message } => api_problem(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_from_the_second_on() {
        let at = |seconds: i64| jiff::Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        let refused = |count| StepProblem::Refused {
            code: 403,
            message: "no".into(),
            refusals: Some(Refusals { count, since: at(0), next: at(1_680) }),
        };
        assert_eq!(step_problem(&refused(1)), "The API server refused with 403.");
        assert_eq!(
            step_problem(&refused(7)),
            "The API server refused with 403. 7 times since 2027-01-15 08:00:00 UTC, next try at 2027-01-15 08:28:00 UTC."
        );
    }

    #[test]
    fn definition_that_waits_for_its_instances_is_not_blamed_on_a_controller() {
        let late = |finalizer: &str| StepProblem::Late {
            since: jiff::Timestamp::UNIX_EPOCH,
            finalizers: vec![finalizer.to_owned()],
        };
        let advice = problem_advice(&late("customresourcecleanup.apiextensions.k8s.io"));
        assert!(advice.contains("every object of this kind is gone"), "{advice}");
        let advice = problem_advice(&late("queue.example/topic"));
        assert!(advice.contains("controller"), "{advice}");
    }
}
