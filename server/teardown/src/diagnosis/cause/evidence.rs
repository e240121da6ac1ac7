//! The facts that speak for a cause, each with where it was read.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    api_problem::ApiProblem,
    diagnosis::{
        kubelet_answer::{AnswerOrigin, KubeletProblem, KubeletSubject},
        kubelet_log::{KubeletFact, RestOfLog},
        kubelet_metrics::NodeFailure,
        running_pods::RuntimeState,
    },
    index::Departure,
    object::{Object, ObjectRef},
};

/// One fact that speaks for a cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Evidence {
    /// The object that it was read on.
    pub of: ObjectRef,
    /// The field or condition that it was read from.
    pub source: Source,
    /// The text, as the cluster wrote it; empty where the source alone says it.
    pub said: String,
    /// The time when it began, if the cluster records it.
    pub at: Option<Timestamp>,
}

/// Where a fact was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A condition, by its type.
    Condition(Arc<str>),
    /// A field, by its path.
    Field(Arc<str>),
    /// The object does not exist.
    Absent,
    /// The object was deleted lately.
    Deleted,
    /// The object was deleted lately, and a run of Unwind had requested it.
    DeletedByRun {
        /// The person who started the run; empty if that is not known.
        by: Arc<str>,
    },
    /// The object went lately through a remedy of Unwind.
    RemovedByRemedy {
        /// The person who confirmed the remedy.
        by: Arc<str>,
    },
    /// A condition of this type changed lately, to the status that is said.
    Became(Arc<str>),
    /// The lease is renewed while we watch.
    Renewed,
    /// The lease has not been renewed while we watched, since the time of the fact.
    NotRenewed,
    /// No Pod behind the Service is ready.
    NoReadyPod,
    /// The Service has no endpoint that is ready.
    NoEndpoints,
    /// An Event about the object.
    Event {
        /// The component that reports it.
        by: Arc<str>,
        /// The reason.
        reason: Arc<str>,
    },
    /// The namespace is Terminating, so it has accepted no Events since the time of the fact.
    NoNewEvents,
    /// This field manager wrote a finalizer of the object, by `metadata.managedFields`.
    WrittenBy {
        /// The finalizer.
        finalizer: Arc<str>,
        /// The name that the field manager gave itself.
        manager: Arc<str>,
    },
    /// The API server refused an update of the object, with the answer that is said.
    Refused,
    /// The object cannot be read.
    Hidden(ApiProblem),
    /// The objects of the kind that it defines cannot be listed.
    Unlistable(ApiProblem),
    /// The kubelet's log says that a step of the Pod's end fails.
    Kubelet(AnswerOrigin, Box<KubeletFact>),
    /// The kubelet's log says nothing about the Pod that is understood.
    NotInLog(AnswerOrigin, Box<RestOfLog>),
    /// The kubelet does not answer about this.
    Unanswered(KubeletSubject, Box<KubeletProblem>),
    /// The container runtime of the Pod's node runs this of the Pod.
    Runtime {
        /// The node.
        node: Arc<str>,
        /// The part that runs.
        state: RuntimeState,
        /// The way by which the answer came here.
        origin: AnswerOrigin,
    },
    /// The kubelet has counted a failure, of all Pods of its node.
    Failures {
        /// The failure.
        failure: NodeFailure,
        /// The count.
        count: u64,
        /// The number of them since an earlier look, and the seconds between the two.
        since: Option<(u64, u64)>,
        /// The way by which the answer came here.
        origin: AnswerOrigin,
    },
}

impl Evidence {
    /// A field of an object.
    pub(in crate::diagnosis) fn field(of: &Object, path: &str, said: impl Into<String>) -> Self {
        let source = Source::Field(path.into());
        Self { of: of.reference(), source, said: said.into(), at: None }
    }

    /// An object that is not there.
    pub(in crate::diagnosis) fn absent(of: ObjectRef) -> Self {
        Self { of, source: Source::Absent, said: String::new(), at: None }
    }

    /// An object that was deleted lately.
    pub(in crate::diagnosis) fn deleted(it: &Departure) -> Self {
        let (of, source) = (it.object.reference(), Source::Deleted);
        Self { of, source, said: String::new(), at: Some(it.at) }
    }

    /// The same fact, which began at this time.
    pub(in crate::diagnosis) fn since(mut self, at: Option<Timestamp>) -> Self {
        self.at = at;
        self
    }
}
