//! How sure a cause is. Only the server asks for it: see `teardown::advice`.

use teardown::diagnosis::{Cause, Confidence, DetachState, Diagnosis, RuntimeFit, Source};

use crate::text::{NAMED, isolated, named, some_of, visible};

/// How sure the cause is, and what would make it surer.
pub(super) fn confidence(diagnosis: &Diagnosis) -> String {
    match (diagnosis.confidence, diagnosis.cause.node_of_kubelet()) {
        (Confidence::Confirmed, _) if diagnosis.runtime_fit() == Some(RuntimeFit::Confirms) => {
            "Confirmed: the container runtime of the node says so.".to_owned()
        }
        (Confidence::Confirmed, _)
            if diagnosis.kubelet_facts().next().is_some()
                && !matches!(diagnosis.cause, Cause::BackendLeft { .. }) =>
        {
            "Confirmed: the kubelet’s log says so.".to_owned()
        }
        (Confidence::Confirmed, _) => "Confirmed: the cluster says so itself.".to_owned(),
        (Confidence::Inferred, None) if matches!(diagnosis.cause, Cause::NodeSilent { .. }) => {
            "Inferred from condition Ready. A lease that is not renewed for as long as it is valid, at least 40 s, while Unwind watches would confirm it."
                .to_owned()
        }
        (Confidence::Inferred, Some(node))
            if diagnosis.runtime_fit() == Some(RuntimeFit::Contradicts) =>
        {
            format!(
                "Inferred from the state of the objects, and the container runtime of node {} says otherwise. One of the two \
                 is out of date.",
                isolated(node)
            )
        }
        (Confidence::Inferred, Some(_)) if matches!(diagnosis.cause, Cause::NeverStarted { .. }) => {
            "Inferred from the state of the objects. An Event of the kubelet about the Pod, such as FailedMount, would confirm it."
                .to_owned()
        }
        (Confidence::Inferred, Some(node)) => format!(
            "Inferred from the state of the objects. The kubelet’s log on node {} would confirm it.",
            isolated(node)
        ),
        (Confidence::Inferred, None) if is_of_quoted_rule(&diagnosis.cause) => {
            let confirms = if diagnosis.is_of_lost_rule() {
                "The next condition that the controller writes"
            } else {
                "A list of the webhook configurations and admission policies"
            };
            format!("Inferred: a condition quotes an earlier refusal. {confirms} would confirm it or clear it.")
        }
        (Confidence::Inferred, None) => {
            let confirms = match confirming(&diagnosis.cause) {
                Some(what) => format!(" {what} would confirm it."),
                None => String::new(),
            };
            // These stand beside other causes of the same objects.
            let is_beside =
                matches!(diagnosis.cause, Cause::WebhookDown { .. } | Cause::NamespaceGone);
            let fits = if is_beside {
                "this cause, and others may hold them too"
            } else {
                "this cause and no other that Unwind knows"
            };
            let uncertain = unevaluated(diagnosis);
            format!("Inferred: the state of the objects fits {fits}.{uncertain}{confirms}")
        }
        (Confidence::Unknown, _) if matches!(diagnosis.cause, Cause::Unknown) => {
            "Unknown: no fact that Unwind reads shows a fault. The entries of metadata.managedFields and the Events of the object would tell who works on it."
                .to_owned()
        }
        (Confidence::Unknown, _) if matches!(diagnosis.cause, Cause::ControllerSilent { .. }) => {
            "Unknown: it has had less than a minute, and nothing else holds the object.".to_owned()
        }
        (Confidence::Unknown, _) => "Unknown: Unwind cannot see the deciding objects.".to_owned(),
    }
}

/// Whether all that is known of the party which refused is its name in a refusal.
fn is_of_quoted_rule(cause: &Cause) -> bool {
    match cause {
        Cause::WebhookDenies { .. } | Cause::PolicyDenies { .. } => true,
        Cause::WebhookDown { configurations, .. } => configurations.is_empty(),
        _ => false,
    }
}

/// The parts of a webhook by which it may not be asked, in a sentence; empty without any.
fn unevaluated(diagnosis: &Diagnosis) -> String {
    let paths = diagnosis.evidence.iter().filter_map(|fact| match &fact.source {
        Source::Field(path)
            if path.ends_with(".matchConditions") || path.ends_with(".namespaceSelector") =>
        {
            Some(format!("{} of {}", visible(path), named(&fact.of)))
        }
        _ => None,
    });
    let paths: Vec<String> = paths.collect();
    if paths.is_empty() {
        return String::new();
    }
    format!(" Unwind cannot evaluate {}, so the webhook may not be asked.", some_of(&paths, NAMED))
}

/// The fact that would confirm a cause that the state of the objects suggests.
fn confirming(cause: &Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::FinisherGone { .. }
        | Cause::FinisherNotReady { .. }
        | Cause::FinisherBusy { .. }
        | Cause::FinisherUnknown { .. } => {
            "The entry of metadata.managedFields that wrote the finalizer, or the log of the program,"
        }
        Cause::ManagedElsewhere { .. } => "The log of that controller",
        Cause::BackendLeft { .. } => "An Event VolumeFailedDelete about the volume",
        Cause::VolumeAttached { detach: DetachState::InUse, .. } => {
            "The log of the node’s kubelet, or of the attach-detach controller,"
        }
        Cause::VolumeAttached { detach: DetachState::NotRequested, .. } => {
            "The log of the attach-detach controller"
        }
        Cause::VolumeAttached { .. } => {
            "An error in status.detachError, or the log of the external-attacher or of the node’s kubelet,"
        }
        Cause::LooksAgain { .. } => "The next condition that the controller writes",
        Cause::ControllerSilent { .. } => {
            "The log of the controller, or a lease that it does not renew while Unwind watches,"
        }
        Cause::WebhookDown { .. } => "A refusal in a condition, or in the answer to a dry run,",
        Cause::UpdateRejected { .. } => "The log of the webhook",
        Cause::NamespaceGone => {
            "A refused update in the log of the kubelet, or of the program that clears the finalizer,"
        }
        Cause::LoadBalancerLeft => "An Event SyncLoadBalancerFailed about the Service",
        Cause::ApiDown { .. } => "A dependent of this API, listed once its server answers,",
        Cause::ConversionDown { .. } => "The log of the converter",
        _ => return None,
    })
}
