//! Notes: what a preflight found, as codes with their parameters.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    api_problem::ApiProblem, diagnosis::Diagnosis, object::ObjectRef, unknown_reason::UnknownReason,
};

/// The weight of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing; nothing is held by it, or nothing can be predicted.
    Info,
    /// It may hold the objects, or refuse their deletion.
    Warning,
    /// As things are, the objects are not deleted, or their deletion does not end by itself.
    Refusal,
}

/// One finding, with all objects of the plan that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its weight.
    pub severity: Severity,
    /// The finding.
    pub code: NoteCode,
    /// The objects that it concerns, in the order in which they were found; in a view only
    /// the first ones.
    pub objects: Vec<ObjectRef>,
    /// The number of all of them.
    pub total: usize,
}

/// A finding. Texts from the cluster are bounded and have no line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteCode {
    /// A webhook that is asked has nobody to answer.
    WebhookDown {
        /// The name of the webhook in its configuration.
        webhook: Arc<str>,
        /// The configuration.
        configuration: ObjectRef,
        /// The Service that should answer.
        service: ObjectRef,
        /// Whether the Service exists, and only has no ready Pod.
        exists: bool,
        /// The request about which it is asked.
        asked: Asked,
        /// `failurePolicy` is `Fail`.
        refuses: bool,
        /// No `matchConditions` and no selector may exclude the objects, as far as these can be evaluated.
        certain: bool,
    },
    /// The webhook that converts the objects of a kind has nobody to answer.
    ConverterDown {
        /// The definition of the kind.
        definition: ObjectRef,
        /// The Service that should answer.
        service: ObjectRef,
        /// Whether the Service exists, and only has no ready Pod.
        exists: bool,
    },
    /// The API server behind a group version does not answer, so no namespace can be proven empty.
    ApiDown {
        /// The group version, such as `metrics.k8s.io/v1beta1`.
        group_version: String,
    },
    /// A kind that would show that nothing is left is hidden.
    Hidden {
        /// The reason.
        why: UnknownReason,
        /// The part that has to be repaired.
        by: HiddenBy,
    },
    /// The API has no verb `delete` for the kind.
    NoDeleteVerb {
        /// The resource, as kubectl writes it.
        resource: String,
    },
    /// Nothing in the cluster is known to clear the finalizer.
    FinisherGone {
        /// The finalizer.
        finalizer: Arc<str>,
        /// Workloads that were deleted lately and may have been the program.
        deleted: Vec<ObjectRef>,
    },
    /// The program that clears the finalizer has no ready Pod.
    FinisherNotReady {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The program.
        finisher: ObjectRef,
    },
    /// It is not known which of several programs clears the finalizer, and none of them is ready.
    FinishersNotReady {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The programs.
        possible: Vec<ObjectRef>,
    },
    /// The kinds that would show who clears the finalizer are hidden.
    FinisherHidden {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The hidden resource.
        resource: Arc<str>,
    },
    /// The finalizer is one that a cloud controller clears, and none can be seen: it may run outside of the cluster.
    CloudControllerUnseen,
    /// The kube-controller-manager, which has to finish the deletion of the objects, does not renew the lease by which it leads.
    ManagerSilent {
        /// The time at which we saw the lease change last, or saw it first.
        since: Timestamp,
    },
    /// Whether the kube-controller-manager runs is not known.
    ManagerUnseen {
        /// The reason why its lease cannot be read; none if it can, and did not change for too short a time to tell.
        said: Option<ApiProblem>,
    },
    /// The kubelet of the Pods' node has stopped reporting.
    NodeSilent {
        /// The node.
        node: Arc<str>,
    },
    /// The Pods' node reports that it is not ready.
    NodeNotReady {
        /// The node.
        node: Arc<str>,
    },
    /// The Pods stay because they are static: the kubelet of their node runs them from files, and would show each again after a DELETE.
    StaticPods {
        /// The node.
        node: Arc<str>,
    },
    /// The driver that has to unmount the Pods' volumes is not registered on their node.
    DriverMissing {
        /// The CSI driver.
        driver: Arc<str>,
        /// The node.
        node: Arc<str>,
    },
    /// The driver that has to unmount the Pods' volumes has a Pod on their node that is not ready.
    DriverNotReady {
        /// The CSI driver.
        driver: Arc<str>,
        /// The node.
        node: Arc<str>,
        /// The Pod of the driver.
        plugin: ObjectRef,
    },
    /// The Jobs are left to another controller, which has to release their Pods.
    ManagedElsewhere {
        /// The controller, as `spec.managedBy` names it.
        manager: Arc<str>,
    },
    /// A claim that the Pods mount does not exist any more, so their volumes may not be unmounted.
    ClaimMissing {
        /// The claim.
        claim: ObjectRef,
    },
    /// The driver that has to delete the storage behind the volumes is not installed.
    ProvisionerMissing {
        /// The CSI driver.
        driver: Arc<str>,
    },
    /// The driver that has to clear a finalizer of the volumes is not installed. Their storage stays in any case.
    DriverGone {
        /// The CSI driver.
        driver: Arc<str>,
        /// The finalizer.
        finalizer: Arc<str>,
    },
    /// The objects are being deleted already, and wait.
    Waits {
        /// The diagnosis.
        diagnosis: Box<Diagnosis>,
    },
    /// An object outside the plan declares the objects, and would make them again.
    Declared {
        /// The parent.
        parent: ObjectRef,
    },
    /// A parent has to be suspended first, and an object outside the plan, its owner, makes it active again.
    Reverted {
        /// The owner.
        by: ObjectRef,
    },
    /// The objects say that another object declares them, and that object cannot be seen.
    DeclaredElsewhere {
        /// The kind of the parent.
        kind: &'static str,
        /// Its name.
        name: Arc<str>,
    },
    /// Disruption budgets cover Pods of the plan. No DELETE asks them.
    Budgets,
    /// Resources that would show whether something holds the objects cannot be seen.
    Unchecked {
        /// The hidden resources, as kubectl writes them, some with a namespace: `pods in guards`.
        resources: Vec<String>,
    },
    /// The API server says that the caller may not delete the objects.
    MayNotDelete {
        /// The resource, as kubectl writes it.
        resource: String,
        /// The words of the API server, if it gave any.
        said: Option<ApiProblem>,
    },
    /// The API server says that the caller may not patch the objects, so that what they declare waits for ever.
    MayNotSuspend {
        /// The resource, as kubectl writes it.
        resource: String,
        /// The words of the API server, if it gave any.
        said: Option<ApiProblem>,
    },
    /// A webhook or a policy denies the request.
    Denied {
        /// The request.
        request: Predicted,
        /// The name of the webhook in its configuration; none for a policy.
        webhook: Option<String>,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// The API server could not call a webhook, and refuses because of that.
    WebhookFails {
        /// The request that is refused because of that.
        request: Predicted,
        /// The name of the webhook in its configuration.
        webhook: String,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// The API server refuses the request for another reason.
    Refused {
        /// The request.
        request: Predicted,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// The objects are gone, or other objects have their names.
    PlanIsOld,
    /// The API server did not answer the question, or with an error.
    NoAnswer {
        /// The problem.
        said: ApiProblem,
    },
    /// A webhook that is asked does not support a dry run, so the answer to the request cannot be predicted.
    NoDryRun {
        /// The request.
        request: Predicted,
        /// The words of the answer.
        said: ApiProblem,
    },
    /// Another API server stores the objects, so only the right to make the request was asked for, and its answer cannot be
    /// predicted.
    OnlyReviewed {
        /// The request.
        request: Predicted,
        /// The resource, as kubectl writes it.
        resource: String,
    },
    /// The API server was not asked about the objects.
    NotAsked {
        /// The reason.
        why: Unasked,
    },
}

/// The request about which a webhook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The DELETE of the object.
    Deletion,
    /// The UPDATE that clears the finalizers of the object.
    Finalizers,
    /// The DELETE of something that goes with the namespace, or the UPDATE that clears its finalizers.
    Contents,
}

/// The request of a run whose answer the API server predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Predicted {
    /// The DELETE of the object.
    Deletion,
    /// The PATCH that suspends the object, a declaring parent.
    Suspension,
}

/// The part of the cluster that has to be repaired so that a kind can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenBy {
    /// The credentials may not list or watch it.
    Rights,
    /// The webhook that converts its objects fails.
    Conversion,
    /// The API server cannot read one of its objects from the storage.
    Storage,
    /// Something else: the message says what.
    Other,
}

/// The reason why the API server was not asked about some objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// A preflight asks about a limited number of objects.
    Limit,
    /// The time for it was over.
    Time,
    /// The API server asked for fewer requests.
    Throttled,
    /// The server is busy with other preflights, or ends.
    Busy,
}

/// Notes in the making: equal findings become one note.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    /// Adds an object to the note with this finding. The worst severity counts.
    pub(super) fn add(&mut self, severity: Severity, code: NoteCode, object: ObjectRef) {
        match self.0.iter_mut().find(|note| note.code == code) {
            Some(note) => {
                note.severity = note.severity.max(severity);
                note.objects.push(object);
                note.total += 1;
            }
            None => self.0.push(Note { severity, code, objects: vec![object], total: 1 }),
        }
    }

    /// The same for an object that may be in the note already, because two questions are about it.
    pub(super) fn add_once(&mut self, severity: Severity, code: NoteCode, object: ObjectRef) {
        let is_there = |note: &Note| note.code == code && note.objects.contains(&object);
        if !self.0.iter().any(is_there) {
            self.add(severity, code, object);
        }
    }

    /// The notes, the worst first, and of those the one about the most objects. Equal ones stay as they were found.
    pub(super) fn into_list(self) -> Vec<Note> {
        let mut notes = self.0;
        notes.sort_by_key(|note| std::cmp::Reverse((note.severity, note.total)));
        notes
    }
}
