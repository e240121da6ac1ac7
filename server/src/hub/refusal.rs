//! The reasons why the hub refuses a request.

use teardown::{
    object::ObjectRef,
    plan::{Difference, Parts, PlanError, PlanId, StepId},
    remedy::RemedyRefusal,
    run::RunId,
    unit::UnitId,
    unknown_reason::UnknownReason,
};

/// The reasons why the hub refuses a request. A person can act on each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No unit with this name is known.
    UnknownUnit(UnitId),
    /// No plan with this id is known.
    UnknownPlan(PlanId),
    /// No run with this id is known.
    UnknownRun(RunId),
    /// Nothing waits for this cause any more.
    UnknownDiagnosis(String),
    /// The run has no such step.
    UnknownStep(StepId),
    /// The first lists of the cluster are not complete yet.
    NotReady,
    /// No plan can be made.
    Unplannable(PlanError),
    /// The cluster has changed since the plan was made.
    Stale(Vec<Difference>),
    /// The Pods of one of the plan's namespaces are hidden, for this reason.
    PodsHidden(UnknownReason),
    /// The hash is not the plan's.
    WrongHash,
    /// The typed name is not the unit's.
    WrongName,
    /// Parts of the plan were not confirmed one by one.
    Unconfirmed(Parts),
    /// An open run has an overlapping plan.
    Overlap {
        /// The open run.
        run: RunId,
        /// One of the objects in both plans.
        object: ObjectRef,
    },
    /// A run that cannot be read may have worked on an object of the plan, and nobody has released it.
    SetAside {
        /// The run.
        run: RunId,
        /// One of the objects in both plans; `None` if the plan of that run cannot be read either.
        object: Option<ObjectRef>,
    },
    /// The run is over.
    Ended,
    /// The run was not stopped by a person.
    NotStopped,
    /// The step can no longer be skipped.
    TooLate(StepId),
    /// The step does not wait for the end of a Pod that nobody reported.
    NothingToTakeOn(StepId),
    /// The step waits for other objects than those that the person answered for.
    OtherPods(StepId),
    /// The typed name is not that of the step's object.
    WrongObjectName,
    /// The remedy is not done.
    Remedy(RemedyRefusal),
    /// This server does no remedies.
    RemediesOff,
    /// No attempt with this id is known.
    UnknownAttempt(String),
    /// The thing that the attempt switched off is on again, or nothing can put it back.
    NothingToUndo,
    /// The journal cannot be written, so no call may be made.
    Journal(String),
}
