//! A workload that is scaled to 0, so that its Pods let go of what they use.
//!
//! # Decisions
//! - With `persistentVolumeClaimRetentionPolicy.whenScaled` set to `Delete`, the StatefulSet controller deletes the claims of the
//!   replicas that it removes, and by the reclaim policies of their volumes the data in them (KEP-1847,
//!   `pkg/controller/statefulset/stateful_set_utils.go`). Nobody asked for that, so the claims are named, and where data goes
//!   the remedy stands among those that lose data.
//! - In front of it stands the same remedy with the policy set to `Retain` in the same request. The controller never sees fewer
//!   replicas with the old policy.
//! - Somebody may scale the set up again without the policy. It stays switched off until the policy is put back too, and to take
//!   the remedy back is what is left of it: never the replicas of somebody else's decision.
//! - Every claim that is made from a template of the set counts. `spec.ordinals.start` is not known, and a Pod that is missing now
//!   may be back before the controller acts: a claim too many in the list harms less than one too few.

use serde_json::Value;

use super::{
    act::{Harm, Loss, Remedy, RemedyAct, Undo},
    case::{Case, pods_of},
    command::{self, Purpose},
    reach::{GoingClaim, Reach},
    request::Request,
    switched::SwitchedOff,
};
use crate::{
    object::{Facts, Object, Reclaim, Workload},
    relation::EdgeKind,
};

/// The policy of a StatefulSet for the claims of the replicas that it removes.
const WHEN_SCALED: &str = "/spec/persistentVolumeClaimRetentionPolicy/whenScaled";
const REPLICAS: &str = "/spec/replicas";

/// The ways to scale a workload to 0, that which keeps the claims first. None for a kind that has no replicas.
pub(super) fn scale_down(case: &Case<'_>, owner: &Object) -> Vec<Remedy> {
    let Facts::Workload(workload) = &owner.facts else { return Vec::new() };
    let scales = ["Deployment", "ReplicaSet", "StatefulSet"].contains(&&*owner.kind.kind);
    let replicas = workload.replicas.filter(|_| scales && &*owner.kind.group == "apps");
    let Some(replicas) = replicas else { return Vec::new() };
    let going = going_claims(case, owner, workload);
    let namespace = owner.namespace.as_deref();
    let are_hidden =
        workload.claims_go_when_scaled && case.index.check_claims_visible(namespace).is_err();
    if going.is_empty() && !are_hidden {
        return vec![scaling(case, owner, replicas, false)];
    }
    let plain = scaling(case, owner, replicas, false);
    vec![scaling(case, owner, replicas, true), losing(plain, going, are_hidden)]
}

/// The claims that nobody has deleted and that the controller of a StatefulSet deletes with its replicas.
fn going_claims(case: &Case<'_>, owner: &Object, workload: &Workload) -> Vec<GoingClaim> {
    if !workload.claims_go_when_scaled {
        return Vec::new();
    }
    let made = case.graph.from(&owner.uid).filter(|edge| edge.kind == EdgeKind::Claims);
    let made = made.filter_map(|edge| case.index.get(edge.to));
    let mut going: Vec<GoingClaim> =
        made.filter_map(|claim| GoingClaim::of(case.index, claim)).collect();
    going.sort_by(|a, b| a.claim.cmp(&b.claim));
    going.dedup();
    going
}

fn scaling(case: &Case<'_>, owner: &Object, replicas: i64, keeps_claims: bool) -> Remedy {
    let scale = |[from, to]: [i64; 2], policy: [&str; 2]| {
        let mut operations = Vec::new();
        if keeps_claims {
            let [was, is] = policy;
            operations.push(command::test(WHEN_SCALED, was));
            operations.push(command::set("replace", WHEN_SCALED, is));
        }
        operations.push(command::test(REPLICAS, from));
        operations.push(command::set("replace", REPLICAS, to));
        command::patch(owner, &operations)
    };
    let pods = pods_of(case.index, owner).into_iter();
    Remedy::new(RemedyAct::ScaleDown { replicas, keeps_claims })
        .at(owner)
        .with([
            scale([replicas, 0], ["Delete", "Retain"]),
            scale([0, replicas], ["Retain", "Delete"]).map(|it| it.to(Purpose::Undo)),
        ])
        .reach(Reach::of_pods(case.index, pods.map(|pod| &**pod)))
        .loss([Loss::Workload, Loss::ComesBack])
        .undo(Undo::SetBack)
}

/// The same remedy with the claims that go with it. Nobody knows what hidden claims hold.
fn losing(mut remedy: Remedy, going: Vec<GoingClaim>, are_hidden: bool) -> Remedy {
    let destroys = are_hidden || going.iter().any(GoingClaim::destroys_data);
    let is_kept = going.iter().any(|it| it.reclaim == Some(Reclaim::Retain));
    remedy.harm = if destroys { Harm::DataLoss } else { Harm::Deletion };
    remedy.reaches = remedy.reaches.with_going(going);
    remedy.loss(destroys.then_some(Loss::Data)).loss(is_kept.then_some(Loss::Kept))
}

/// The thing that is still off after a workload was scaled down.
pub(super) fn switched_off(facts: &Facts, keeps_claims: bool) -> Option<SwitchedOff> {
    let Facts::Workload(workload) = facts else { return None };
    if workload.replicas == Some(0) {
        return Some(SwitchedOff::Workload);
    }
    (keeps_claims && !workload.claims_go_when_scaled).then_some(SwitchedOff::ClaimPolicy)
}

/// The request that takes back the keeping of claims, without the parts that somebody has put back since.
pub(super) fn left_to_undo(undo: &Request, facts: &Facts) -> Option<Request> {
    let Facts::Workload(workload) = facts else { return None };
    let is_left = |operation: &&Value| match operation["path"].as_str() {
        Some(WHEN_SCALED) => !workload.claims_go_when_scaled,
        Some(REPLICAS) => workload.replicas == Some(0),
        _ => true,
    };
    let body = undo.body.as_array()?.iter().filter(is_left).cloned().collect();
    Some(Request { body: Value::Array(body), ..undo.clone() })
}
