//! The deletion of something that the stuck object waits for.

use serde_json::json;

use super::{
    act::{Harm, Loss, Remedy, RemedyAct},
    case::Case,
    command,
    reach::{GoingClaim, Reach},
};
use crate::{
    object::{Facts, Object, ObjectRef},
    relation::EdgeKind,
};

/// Deletes what the waiting object waits for, with what the garbage collector takes along.
pub(super) fn delete_user(case: &Case<'_>, object: &Object, loss: Option<Loss>) -> Remedy {
    let owned = case.sources(object, EdgeKind::Owns).map(|dependent| dependent.reference());
    let mut dependents: Vec<ObjectRef> = owned.collect();
    dependents.sort();
    let takes_claims =
        matches!(&object.facts, Facts::Workload(workload) if workload.claims_go_with_it);
    let owned = case.sources(object, EdgeKind::Owns).filter(|_| takes_claims);
    let mut going: Vec<_> = owned.filter_map(|claim| GoingClaim::of(case.index, claim)).collect();
    going.sort_by(|a, b| a.claim.cmp(&b.claim));
    let remedy = Remedy::new(RemedyAct::DeleteUser)
        .at(object)
        .with([
            command::copy(object),
            command::delete(object, &json!({ "propagationPolicy": "Background" })),
        ])
        .reach(Reach::of(dependents).with_going(going))
        .loss(loss);
    if takes_claims { destroys_data(remedy) } else { remedy }
}

/// The data of volumes goes with it.
pub(super) fn destroys_data(mut remedy: Remedy) -> Remedy {
    remedy.harm = Harm::DataLoss;
    remedy.loss([Loss::Data])
}
