//! The kube-controller-manager: without it nothing ends that its controllers have to finish.
//!
//! # Decisions
//! - Its lease is judged as in a diagnosis: by our own clock, once it has stood still for longer than it is valid while we looked. At the
//!   first look nobody can tell, so a preflight runs on until it is known.
//! - Without a lease nothing is said: a manager that runs alone leads by none, and some providers keep the lease where it cannot be
//!   seen.

use jiff::{SignedDuration, Timestamp};

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    index::{Index, Renewal},
    object::{Facts, Object, ObjectRef},
    plan::{Propagation, Step, StepAction},
    relation::is_of_manager,
};

/// The longest time for which a preflight waits for a word about the manager: a lease of its default validity is known after three looks
/// in 43 s.
const LONGEST: SignedDuration = SignedDuration::from_secs(90);

/// The findings of a preflight about the kube-controller-manager.
#[derive(Clone, Debug)]
pub(super) struct ManagerWatch {
    /// The objects of the plan that it has to finish.
    objects: Vec<ObjectRef>,
    began: Timestamp,
    finding: Finding,
}

#[derive(Clone, Debug)]
enum Finding {
    /// Its lease is looked at.
    Open,
    /// It is known, or cannot be known.
    Known(Option<(Severity, NoteCode)>),
}

impl ManagerWatch {
    pub(super) fn new(subject: &Subject<'_>) -> Self {
        let waiting = subject.objects().filter(|(step, object)| is_its_work(step, object));
        let objects: Vec<ObjectRef> = waiting.map(|(_, object)| object.reference()).collect();
        let finding = if objects.is_empty() { Finding::Known(None) } else { Finding::Open };
        let mut watch = Self { objects, began: subject.case.now, finding };
        watch.look(subject.index(), subject.case.now);
        watch
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.finding, Finding::Open)
    }

    /// Looks at what is known of its lease. Returns whether that has ended the watch.
    pub(super) fn look(&mut self, index: &Index, now: Timestamp) -> bool {
        if !self.is_open() {
            return false;
        }
        let unseen = |said| Some((Severity::Info, NoteCode::ManagerUnseen { said }));
        let found = match index.manager_renewal() {
            Renewal::Still(since) => Some((Severity::Refusal, NoteCode::ManagerSilent { since })),
            Renewal::Renewed => None,
            Renewal::Hidden(problem) => unseen(Some(problem)),
            Renewal::Unknown if index.has_no_manager_lease() => None,
            Renewal::Unknown if now.duration_since(self.began) < LONGEST => return false,
            Renewal::Unknown => unseen(None),
        };
        self.finding = Finding::Known(found);
        true
    }

    /// Nobody looks at the lease.
    pub(super) fn give_up(&mut self) {
        if self.is_open() {
            self.finding = Finding::Known(None);
        }
    }

    pub(super) fn add_to(&self, notes: &mut Notes) {
        if let Finding::Known(Some((severity, code))) = &self.finding {
            for object in &self.objects {
                notes.add(*severity, code.clone(), object.clone());
            }
        }
    }
}

/// Whether one of its controllers has to finish an object: the namespace controller, the one of volumes, which frees a volume of its claim,
/// or one that clears a finalizer. The API server sets the finalizer `orphan` at a DELETE with that policy
/// (`staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `deletionFinalizersForGarbageCollection`).
fn is_its_work(step: &Step, object: &Object) -> bool {
    let orphans = StepAction::Delete { propagation: Propagation::Orphan };
    matches!(object.facts, Facts::Namespace(_))
        || step.action == StepAction::Await
        || step.action == orphans
        || object.finalizers.iter().any(|it| is_of_manager(it))
}
