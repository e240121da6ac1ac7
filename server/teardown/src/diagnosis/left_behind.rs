//! Objects that were left behind in a namespace that does not exist, as one leaves them that somebody finished by force.
//!
//! The API server looks for the namespace of every object that is created, updated or patched, a status and finalizers included,
//! and answers 404 without one. Only DELETE is admitted, and that takes no finalizer off (`Admit` in
//! `staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go`). So no program clears a finalizer there,
//! however well it runs, and no kubelet reports that a Pod ended, and never sends the last DELETE.
//!
//! # Decisions
//! - It is inferred: that admission plugin can be switched off, and an aggregated API may admit what it likes.
//! - It is a root beside those that hold the object once its namespace exists again: a program that is gone or not ready, a user,
//!   a node. The state of a Pod is that of the time when the namespace went.
//! - A program or controller that merely has not done its part is no root. It may well be at work, and is refused.
//! - Of an object in a namespace that ended in order only the news of its end is missing.

use std::sync::Arc;

use super::{
    case::Case,
    cause::{Cause, Confidence, Evidence, Finding, Verdict},
    ended::Ended,
};
use crate::{
    deadlines::Overdue,
    object::{Object, ObjectRef},
};

/// The namespace does not exist, and the object waits for somebody who would have to change it.
pub(super) fn namespace_gone<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(name) = object.namespace.clone().filter(|_| case.index.is_in_gone_namespace(object))
    else {
        return;
    };
    let said = match Ended::of(object) {
        Some(pod) if case.now >= pod.deletion.at => pod.phase(),
        _ if object.finalizers.is_empty() || !is_left(case, object, &name) => return,
        _ => Evidence::field(object, "metadata.finalizers", object.finalizers.join(", ")),
    };
    found.retain(|finding| !is_refused(finding));
    let namespace = ObjectRef { group: "".into(), kind: "Namespace".into(), namespace: None, name };
    let evidence = [Evidence::absent(namespace.clone()), said];
    let verdict = Verdict::at(Cause::NamespaceGone, namespace, Confidence::Inferred);
    found.push(verdict.with(evidence).into());
}

/// Whether the object is no mere rest of a namespace that is just gone: the watches of two kinds do not keep step.
fn is_left(case: &Case<'_>, object: &Object, namespace: &str) -> bool {
    case.overdue(object) > Overdue::No && !case.index.has_ended_in_order(namespace)
}

/// Whether a finding blames somebody whose every request the API server refuses.
fn is_refused(finding: &Finding<'_>) -> bool {
    let Finding::Root(verdict) = finding else { return false };
    matches!(
        verdict.cause,
        Cause::FinisherBusy { .. }
            | Cause::FinisherUnknown { .. }
            | Cause::ManagedElsewhere { .. }
            | Cause::LoadBalancerLeft
            | Cause::ControllerSilent { .. }
    )
}
