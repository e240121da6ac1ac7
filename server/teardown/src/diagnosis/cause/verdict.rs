//! A detector's result for one object.

use std::sync::Arc;

use super::{Cause, Confidence, Evidence};
use crate::object::{Object, ObjectRef};

/// The root of a chain: its cause and the object where that sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) cause: Cause,
    /// The object where the cause sits. Equal causes at one place are one diagnosis.
    pub(in crate::diagnosis) root: ObjectRef,
    /// Sets causes at one object apart: a finalizer, a webhook.
    pub(in crate::diagnosis) part: Arc<str>,
    pub(in crate::diagnosis) confidence: Confidence,
    pub(in crate::diagnosis) evidence: Vec<Evidence>,
}

impl Verdict {
    pub(in crate::diagnosis) fn new(cause: Cause, root: &Object, confidence: Confidence) -> Self {
        Self::at(cause, root.reference(), confidence)
    }

    pub(in crate::diagnosis) fn at(cause: Cause, root: ObjectRef, confidence: Confidence) -> Self {
        Self { cause, root, part: "".into(), confidence, evidence: Vec::new() }
    }

    /// The same at another object.
    pub(in crate::diagnosis) fn rooted(mut self, root: &Object) -> Self {
        self.root = root.reference();
        self
    }

    pub(in crate::diagnosis) fn part(mut self, part: &Arc<str>) -> Self {
        self.part = part.clone();
        self
    }

    pub(in crate::diagnosis) fn with(
        mut self,
        evidence: impl IntoIterator<Item = Evidence>,
    ) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Whether it blames a program that has no ready Pod.
    pub(in crate::diagnosis) fn is_not_ready(&self) -> bool {
        matches!(self.cause, Cause::FinisherNotReady { .. })
    }
}

/// The relation by which one object waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// A namespace waits for its content.
    Content,
    /// A claim waits for a Pod that mounts it.
    Mount,
    /// An object waits for another that uses it, or is copied from it.
    Use,
    /// A volume waits for its claim, or a snapshot for its content.
    Claim,
    /// A volume waits for its detachment from a node.
    Attachment,
    /// An owner that is deleted in the foreground waits for its dependent.
    Dependent,
    /// A definition waits for an object of its kind.
    Instance,
}

/// The result of a detector for one object.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) enum Finding<'a> {
    /// It waits for objects that are being deleted themselves.
    WaitsFor(Link, Vec<&'a Arc<Object>>),
    /// A root.
    Root(Box<Verdict>),
}

impl From<Verdict> for Finding<'_> {
    fn from(verdict: Verdict) -> Self {
        Self::Root(Box::new(verdict))
    }
}
