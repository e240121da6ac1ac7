//! Pods and Jobs that do not end as others do.

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::{is_mirror, other_manager},
    object::{Facts, ObjectRef, PodReferenceKind},
};

/// Static Pods of the unit. A plan keeps them, as all that an owner outside it would make again: a DELETE ends none of their containers,
/// and the kubelet shows each again under a new UID (`pkg/kubelet/pod/mirror_client.go`). Only their node can end them.
pub(super) fn static_pods(subject: &Subject<'_>, notes: &mut Notes) {
    let kept = subject.plan.kept.iter().filter_map(|kept| subject.index().get(&kept.uid));
    for object in kept.filter(|object| is_mirror(object)) {
        if let Facts::Pod(pod) = &object.facts
            && let Some(node) = pod.node.clone()
        {
            notes.add(Severity::Info, NoteCode::StaticPods { node }, object.reference());
        }
    }
}

/// Jobs whose Pods another controller counts, and so has to release.
pub(super) fn managed_jobs(subject: &Subject<'_>, notes: &mut Notes) {
    for (_, object) in subject.objects() {
        if let Some(manager) = other_manager(object) {
            let code = NoteCode::ManagedElsewhere { manager: manager.clone() };
            // Once the Job is gone, the controller of the control plane releases them.
            notes.add(Severity::Info, code, object.reference());
        }
    }
}

/// Pods whose claim went before them: the kubelet may not be able to unmount what is no longer there.
pub(super) fn missing_claims(subject: &Subject<'_>, notes: &mut Notes) {
    for (object, pod) in subject.running_pods().filter(|(_, pod)| pod.node.is_some()) {
        let namespace = object.namespace.as_deref();
        if subject.index().check_claims_visible(namespace).is_err() {
            continue;
        }
        for used in pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim) {
            let kind = used.what.kind();
            if subject.index().find("", kind, namespace, &used.name).is_none() {
                let claim = ObjectRef {
                    group: "".into(),
                    kind: kind.into(),
                    namespace: object.namespace.clone(),
                    name: used.name.clone(),
                };
                notes.add(Severity::Warning, NoteCode::ClaimMissing { claim }, object.reference());
            }
        }
    }
}
