//! The claims whose data is kept, and how far their reads at the end of a run are. They are no steps: a run never changes them.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use super::{ClaimRead, RunEvent, StepProblem};
use crate::{
    object::{ObjectRef, Uid},
    plan::{Fate, Plan},
};

/// The claims that somebody chose to keep, and that were bound when the plan was made.
#[derive(Clone, Debug)]
pub(super) struct KeptClaims {
    /// Whether data is kept by choice, although there may be no such claim.
    pub(super) is_chosen: bool,
    claims: BTreeMap<Uid, KeptClaim>,
}

/// One claim whose data is kept.
#[derive(Clone, Debug)]
pub(super) struct KeptClaim {
    /// Its kind, namespace and name.
    pub(super) object: ObjectRef,
    /// Whether a read of it is in flight.
    pub(super) is_being_read: bool,
    /// Whether it is bound, once a read has shown it.
    pub(super) bound: Option<bool>,
    /// The time of the answer that showed it.
    pub(super) read_at: Option<Timestamp>,
    /// The reads in a row that said nothing about it.
    pub(super) failures: u32,
    /// Those of them that the API server refused.
    pub(super) refusals: u32,
    /// The earliest time of the next read.
    pub(super) next: Option<Timestamp>,
    problem: Option<StepProblem>,
}

impl KeptClaims {
    /// The claims of a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let is_claim = |object: &ObjectRef| {
            object.group.is_empty() && &*object.kind == "PersistentVolumeClaim"
        };
        let chosen = plan.kept.iter().filter(|it| it.reason.is_chosen() && is_claim(&it.object));
        let data = plan.data.iter().filter(|data| data.fate == Fate::Kept);
        let bound: HashSet<&ObjectRef> = data.filter_map(|data| data.claim.as_ref()).collect();
        let kept = chosen.clone().filter(|kept| bound.contains(&kept.object));
        Self {
            is_chosen: plan.choices.keeps_data() || chosen.clone().next().is_some(),
            claims: kept.map(|it| (it.uid.clone(), KeptClaim::new(it.object.clone()))).collect(),
        }
    }

    /// All claims with their identities, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Uid, &KeptClaim)> {
        self.claims.iter()
    }

    /// One claim.
    pub(super) fn get(&self, claim: &Uid) -> Option<&KeptClaim> {
        self.claims.get(claim)
    }

    /// The name of a claim.
    pub(super) fn object(&self, claim: &Uid) -> Option<&ObjectRef> {
        self.get(claim).map(|claim| &claim.object)
    }

    /// The problem with the last read of a claim.
    pub(super) fn problem(&self, claim: &Uid) -> Option<&StepProblem> {
        self.get(claim)?.problem.as_ref()
    }

    /// The times at which claims are read again.
    pub(super) fn next_reads(&self) -> impl Iterator<Item = Timestamp> {
        self.claims.values().filter_map(|claim| claim.next)
    }

    /// Whether this event can follow: a read begins where none is in flight and none has shown that the claim is lost, and
    /// everything else is the end of a read.
    pub(super) fn allow(&self, event: &RunEvent) -> bool {
        let RunEvent::KeptClaim { claim, read } = event else { return true };
        self.get(claim).is_some_and(|claim| match read {
            ClaimRead::Started => !claim.is_being_read && claim.bound != Some(false),
            ClaimRead::Recalled | ClaimRead::Bound | ClaimRead::Lost | ClaimRead::Failed { .. } => {
                claim.is_being_read
            }
        })
    }

    /// Applies an event about a claim.
    pub(super) fn take(&mut self, claim: &Uid, read: &ClaimRead, at: Timestamp) {
        if let Some(claim) = self.claims.get_mut(claim) {
            claim.take(read, at);
        }
    }

    /// Applies a restart of the server: no read is in flight any more.
    pub(super) fn recover(&mut self) {
        self.claims.values_mut().for_each(|claim| claim.is_being_read = false);
    }

    /// Ends every delay: a person wants the next try now.
    pub(super) fn retry_at_once(&mut self) {
        self.claims.values_mut().for_each(|claim| claim.next = None);
    }
}

impl KeptClaim {
    fn new(object: ObjectRef) -> Self {
        Self {
            object,
            is_being_read: false,
            bound: None,
            read_at: None,
            failures: 0,
            refusals: 0,
            next: None,
            problem: None,
        }
    }

    fn take(&mut self, read: &ClaimRead, at: Timestamp) {
        self.is_being_read = *read == ClaimRead::Started;
        self.next = None;
        match read {
            // An earlier answer has become too old.
            ClaimRead::Started => self.bound = None,
            ClaimRead::Recalled => {}
            ClaimRead::Bound => (self.bound, self.read_at) = (Some(true), Some(at)),
            ClaimRead::Lost => (self.bound, self.read_at) = (Some(false), Some(at)),
            ClaimRead::Failed { until, problem } => {
                self.failures += 1;
                self.refusals += u32::from(matches!(problem, StepProblem::Refused { .. }));
                self.next = Some(*until);
                self.problem = Some(problem.clone());
            }
        }
    }
}
