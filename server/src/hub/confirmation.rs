//! The answers by which persons confirm that something is deleted.

use serde::{Deserialize, Serialize};
use teardown::{
    object::Uid,
    plan::{Parts, PlanId},
};

/// A person's confirmation of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The plan.
    pub plan: PlanId,
    /// Its hash, as the page showed it.
    pub hash: String,
    /// The unit's name, as the person typed it.
    pub confirm: String,
    /// The parts of the plan that the person confirmed one by one.
    pub parts: Parts,
    /// The person's name.
    pub by: String,
}

/// A person's answer for objects whose end nobody confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenOn {
    /// The name of the step's object, as the person typed it.
    pub confirm: String,
    /// The UIDs of the objects that the person saw, Pods or what lost a finalizer by hand.
    pub pods: Vec<Uid>,
}
