//! The requests of the hub to the cluster.

use std::sync::Arc;

use teardown::{
    action::Action,
    plan::PlanId,
    preflight::Question,
    remedy::{Basis, Premise, Request},
    run::RunId,
};
use tokio_util::sync::CancellationToken;

/// A call that the hub requests.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The run that requested it.
    pub run: RunId,
    /// The call.
    pub action: Action,
    /// The number of steps on the longest path behind the step it is for.
    pub steps_behind: u32,
    /// Cancelled when the run is paused or stopped: a call that was not sent before is not sent any more.
    pub recall: CancellationToken,
}

/// The questions of a preflight for the API server.
#[derive(Clone, Debug)]
pub struct PreflightRequest {
    /// The plan.
    pub plan: PlanId,
    /// The number of the preflight, which comes back with each answer.
    pub attempt: u64,
    /// The questions, in the order in which they are asked.
    pub questions: Vec<Question>,
}

/// The request of a remedy, with its guards.
#[derive(Clone, Debug)]
pub struct RemedyCall {
    /// The id of the attempt.
    pub attempt: String,
    /// The request.
    pub request: Request,
    /// Everything that must still be so.
    pub premises: Vec<Premise>,
    /// The facts at which the hub looks once more. None where the premises are everything, as where something is taken back.
    pub basis: Option<Arc<Basis>>,
    /// Whether the request may be dry-run first.
    pub is_dry_run_safe: bool,
    /// Whether the target is read whole before, so that it can be put back.
    pub keeps_copy: bool,
    /// Whether the object that the request creates is deleted at once.
    pub deletes_at_once: bool,
}
