//! The fields of an object that declares others.

use std::sync::Arc;

use super::{ObjectRef, Reference};

/// A parent that applies the objects that it declares, and makes them again, for as long as it is active: a Kustomization or
/// HelmRelease of Flux, an Application of Argo CD, an App or PackageInstall of kapp-controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parent {
    /// The value of the field that keeps it active, as JSON: `spec.suspend`, or `spec.syncPolicy.automated`; of kapp-controller
    /// an object with `paused` and `noopDelete`. `None` while it is suspended.
    pub active: Option<Arc<str>>,
    /// It applies its objects right now.
    pub applying: bool,
    /// The names in its spec: its source, the Secrets and ConfigMaps that it reads, the parents that it waits for.
    pub names: Box<[Reference]>,
    /// The objects that an Application of Argo CD says it manages: `status.resources`. Flux marks its objects instead.
    pub manages: Box<[ObjectRef]>,
    /// The value of the label by which kapp marks what an App applied: `status.deploy.kapp.associatedResources.label`.
    pub mark: Option<Arc<str>>,
}
