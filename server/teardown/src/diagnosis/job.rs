//! Pods that wait for the controller of their Job to count them.

use std::sync::Arc;

use super::{
    case::{Case, cannot_see_verdict, kind_of},
    cause::{Cause, Confidence, Evidence, Verdict},
};
use crate::object::{Facts, Object, Phase, Pod};

/// Set on the Pods of a Job until the Job has counted them.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The value of `spec.managedBy` that means the controller of the control plane, as no value does
/// (`JobControllerName` in `staging/src/k8s.io/api/batch/v1/types.go`).
const BUILT_IN: &str = "kubernetes.io/job-controller";
const JOBS: &str = "jobs.batch";

/// Another controller that a Job is left to by `spec.managedBy`.
pub(crate) fn other_manager(job: &Object) -> Option<&Arc<str>> {
    match &job.facts {
        Facts::Workload(workload) => workload.managed_by.as_ref().filter(|it| &***it != BUILT_IN),
        _ => None,
    }
}

/// The verdict on the finalizer by which Jobs count their Pods; none while the Pod has not ended.
pub(super) fn tracking(case: &Case<'_>, object: &Object, finalizer: &Arc<str>) -> Option<Verdict> {
    // The Job counts a Pod once it has ended; until then the Pod waits for its node.
    let is_over = |pod: &Pod| pod.phase.is_some_and(Phase::is_over);
    let has_ended = match &object.facts {
        Facts::Pod(pod) => is_over(pod) || object.deletion.as_ref().is_some_and(|it| it.grace == 0),
        _ => true,
    };
    if !has_ended {
        return None;
    }
    // It leaves the finalizer on a Pod that another controller has taken over (`pkg/controller/job/job_controller.go`).
    let owner = object.controller();
    if let Some(owner) = owner.filter(|owner| &*owner.kind != "Job" || &*owner.group != "batch") {
        let cause = Cause::FinisherGone { finalizer: finalizer.clone(), deleted: Vec::new() };
        let owner = format!("{} {}", owner.kind, owner.name);
        let owner = Evidence::field(object, "metadata.ownerReferences", owner);
        let verdict = Verdict::at(cause, kind_of(object), Confidence::Inferred);
        return Some(verdict.with([owner]));
    }
    // And on those of a Job that is left to another controller (KEP-4368), while the Job exists.
    let job = owner.and_then(|owner| case.index.get(&owner.uid));
    if let Some((job, manager)) = job.and_then(|job| Some((job, other_manager(job)?))) {
        let (finalizer, manager) = (finalizer.clone(), manager.clone());
        let said = Evidence::field(job, "spec.managedBy", &*manager);
        let cause = Cause::ManagedElsewhere { finalizer, manager };
        return Some(Verdict::new(cause, job, Confidence::Inferred).with([said]));
    }
    // A Job that cannot be seen may be left to another controller as well.
    if owner.is_some()
        && job.is_none()
        && let Err(why) = case.index.check_visible(JOBS, object.namespace.as_deref())
    {
        return Some(cannot_see_verdict(object, &why));
    }
    let cause = Cause::ControllerSilent { controller: "job-controller".into() };
    Some(Verdict::new(cause, object, Confidence::Inferred))
}
