//! The fields of an object that declares others.

use std::sync::Arc;

/// A parent that applies the objects that it declares, and makes them again, for as long as it is active: a Kustomization or
/// HelmRelease of Flux, or an Application of Argo CD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parent {
    /// The value of the field that keeps it active, as JSON: `spec.suspend`, or `spec.syncPolicy.automated`. `None` while it
    /// is suspended.
    pub active: Option<Arc<str>>,
    /// It applies its objects right now.
    pub applying: bool,
}
