//! Observations and outcomes that are not what the cluster shows, for the mutants that conclude something else from it.

use std::sync::Arc;

use jiff::SignedDuration;
use server::hub::Incoming;
use teardown::{
    action::Outcome,
    fixture,
    object::{Deletion, Facts, Object, PodReference, PodReferenceKind, Seconds},
    observation::Observation,
};
use tokio::sync::mpsc;

use super::Mutant;
use crate::application::{OPERATOR, late_object::UNPLANNED};

/// The resource that is hidden in some runs.
const HIDDEN: &str = "widgets.example.com";
/// The time by which the server counts objects older than its plan as late.
const LATE_WINDOW: SignedDuration = SignedDuration::from_mins(2);
/// The ServiceAccount that operators without one seem to have, and its rights.
const ACCOUNT: &str = "forged";
const ROLE: &str = "clusterrole forged updates=widgets.example.com";
const BINDING: &str = "crb forged accounts=alpha-1/forged,alpha-2/forged,alpha-3/forged,alpha-4/forged,\
                       alpha-5/forged,alpha-6/forged role=clusterrole/forged";

/// Whether a mutant changes observations.
pub(crate) fn forges_observations(mutant: Mutant) -> bool {
    use Mutant::{
        HiddenAsEmpty, IgnoredGrace, IgnoredHints, IgnoredMarks, IgnoredNewcomers,
        PossibleAsFinisher,
    };
    matches!(
        mutant,
        HiddenAsEmpty
            | IgnoredGrace
            | IgnoredHints
            | IgnoredMarks
            | IgnoredNewcomers
            | PossibleAsFinisher
    )
}

/// Passes messages from the cluster to the hub, with changed observations.
pub(crate) async fn forge(
    mutant: Mutant,
    mut from: mpsc::Receiver<Incoming>,
    to: mpsc::Sender<Incoming>,
) {
    while let Some(message) = from.recv().await {
        let message = match message {
            Incoming::Observed(seen) => {
                Incoming::Observed(seen.into_iter().map(|it| forged(mutant, it)).collect())
            }
            Incoming::CallCompleted { run, action, outcome, answered } => {
                let outcome = forged_outcome(mutant, outcome);
                Incoming::CallCompleted { run, action, outcome, answered }
            }
            other => other,
        };
        if to.send(message).await.is_err() {
            return;
        }
    }
}

fn forged_outcome(mutant: Mutant, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Unlisted { resource, .. }
            if mutant == Mutant::HiddenAsEmpty && resource == HIDDEN =>
        {
            Outcome::Content { objects: vec![], unlisted: vec![] }
        }
        Outcome::Present { terminating, version, named, .. } if mutant == Mutant::IgnoredMarks => {
            Outcome::Present { terminating, version, named, keep: None }
        }
        other => other,
    }
}

fn forged(mutant: Mutant, observation: Observation) -> Observation {
    match observation {
        Observation::PerNamespace { kind, .. }
            if mutant == Mutant::HiddenAsEmpty && kind.resource() == HIDDEN =>
        {
            Observation::Listed { kind, objects: vec![] }
        }
        Observation::Listed { kind, mut objects } => {
            objects.iter_mut().for_each(|it| change(mutant, it));
            if mutant == Mutant::PossibleAsFinisher {
                let rights = match &*kind.kind {
                    "ClusterRole" => fixture::objects(ROLE),
                    "ClusterRoleBinding" => fixture::objects(BINDING),
                    _ => vec![],
                };
                objects.extend(rights);
            }
            Observation::Listed { kind, objects }
        }
        Observation::Applied(mut object) => {
            change(mutant, &mut object);
            Observation::Applied(object)
        }
        other => other,
    }
}

fn change(mutant: Mutant, object: &mut Object) {
    match mutant {
        Mutant::IgnoredNewcomers if &*object.name == UNPLANNED => {
            let earlier = |at: Seconds| {
                jiff::Timestamp::from(at).checked_sub(LATE_WINDOW).ok().map(Seconds::from)
            };
            object.created = object.created.and_then(earlier);
            // An older object that begins to use one holds its step as well, so nothing may say what it uses either.
            if matches!(object.facts, Facts::Ingress(_)) {
                object.facts = Facts::None;
            }
        }
        Mutant::IgnoredMarks => {
            if let Some(annotations) = &mut object.annotations {
                Arc::make_mut(annotations).keep = None;
            }
        }
        Mutant::IgnoredHints => {
            if let Some(annotations) = &mut object.annotations {
                Arc::make_mut(annotations).hints = None;
            }
        }
        Mutant::IgnoredGrace => {
            let deletion = object.deletion.as_mut().filter(|_| object.kind.is("", "Pod"));
            if let Some(deletion) = deletion {
                deletion.deletion = Deletion { at: deletion.accepted(), grace: 0 };
            }
        }
        Mutant::PossibleAsFinisher if object.labels.get(OPERATOR).is_some() => {
            let Facts::Workload(workload) = &mut object.facts else { return };
            let is_account = |it: &PodReference| it.what == PodReferenceKind::ServiceAccount;
            if workload.uses.iter().any(is_account) {
                return;
            }
            let account = PodReference {
                what: PodReferenceKind::ServiceAccount,
                name: ACCOUNT.into(),
                field: "spec.template.spec.serviceAccountName".into(),
            };
            workload.uses = workload.uses.iter().cloned().chain([account]).collect();
        }
        _ => {}
    }
}
