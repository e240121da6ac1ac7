//! Pods that keep the finalizer by which their Job counts them.

use std::sync::Arc;

use super::{
    act::{Loss, Remedy},
    case::{Case, EACH},
    delete_user::delete_user,
};
use crate::{diagnosis::TRACKING, object::Object};

/// Delete the Jobs of the Pods that wait: the controller of the control plane clears the finalizer of a Pod whose Job is gone, whoever
/// the Job was left to (`syncOrphanPod` in `pkg/controller/job/job_controller.go`).
pub(super) fn delete_jobs(case: &Case<'_>) -> Vec<Remedy> {
    let mut jobs: Vec<&Arc<Object>> = Vec::new();
    for pod in case.waiting().filter(|it| it.finalizers.iter().any(|it| &**it == TRACKING)) {
        let owner = pod.controller().and_then(|owner| case.index.get(&owner.uid));
        let job = owner.filter(|it| it.kind.is("batch", "Job") && it.deletion.is_none());
        jobs.extend(job.filter(|job| jobs.iter().all(|known| known.uid != job.uid)));
    }
    let delete = |job: &Arc<Object>| {
        // The Job of a CronJob is not made again.
        let comes_back = job.controller().filter(|owner| &*owner.kind != "CronJob");
        let losses = [Some(Loss::Output), comes_back.map(|_| Loss::ComesBack)];
        delete_user(case, job, None).loss(losses.into_iter().flatten())
    };
    jobs.into_iter().take(EACH).map(delete).collect()
}
