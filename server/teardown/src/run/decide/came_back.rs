//! Objects that something created again under the name of a step that was proven gone.
//!
//! # Decisions
//! - A ConfigMap, Secret, ServiceAccount or RoleBinding without finalizers goes with its namespace, once only the namespace waits
//!   for it: controllers make such objects again as long as the namespace is there, and nobody loses anything with them.
//!   Everything else is somebody's, and holds the namespace until it is gone or a person skips it.

use super::{Run, StepId};
use crate::{
    index::Index,
    object::{Object, PodReferenceKind},
};

impl Run {
    /// Whether the object that has a step's name now goes with its namespace: a leader's ConfigMap that an operator made again
    /// before it went.
    pub(super) fn goes_with_namespace(&self, step: StepId, index: &Index) -> bool {
        let (Some(of), Some(progress)) = (self.plan.step(step), self.progress(step)) else {
            return false;
        };
        progress.has_come_back()
            && index.named(&of.object).is_some_and(|object| is_light(object))
            && self.steps().all(|(other, progress)| {
                other.kind.is("", "Namespace")
                    || !progress.is_open()
                    || other.after.iter().all(|blocker| blocker.step != step)
            })
    }

    /// The same for an object in a namespace.
    pub(super) fn came_back_to_go(&self, object: &Object, index: &Index) -> bool {
        is_light(object)
            && self.steps().any(|(step, progress)| {
                progress.has_come_back()
                    && step.object == object.reference()
                    && self.goes_with_namespace(step.id, index)
            })
    }
}

fn is_light(object: &Object) -> bool {
    let is_light_kind = object.kind.is("rbac.authorization.k8s.io", "RoleBinding")
        || matches!(
            PodReferenceKind::of(&object.kind),
            Some(
                PodReferenceKind::ConfigMap
                    | PodReferenceKind::Secret
                    | PodReferenceKind::ServiceAccount
            )
        );
    is_light_kind && object.finalizers.is_empty()
}
