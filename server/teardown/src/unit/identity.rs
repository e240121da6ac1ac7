//! The marks by which an object names its application, the strongest first: its label part-of, then the release or the
//! application of a tool that installed it.
//!
//! # Decisions
//! - The name of a release is unique only in its namespace: two namespaces may hold a release called `redis` each. So the id
//!   of such a unit has the namespace in it.
//! - An object without a namespace that has only the label instance names no release, because the label says no namespace.

use std::sync::Arc;

use crate::{labels::PART_OF, object::Object};

use super::UnitOrigin;

const ARGO_CD: &str = "argocd.argoproj.io/instance";
const KUSTOMIZATION: &str = "kustomize.toolkit.fluxcd.io/name";
const HELM_RELEASE: &str = "helm.toolkit.fluxcd.io/name";

/// The id of the unit that an object's label part-of names.
pub(super) fn part_of(object: &Object) -> Option<Arc<str>> {
    object.labels.get(PART_OF).filter(|name| !name.is_empty()).cloned()
}

/// An object that declares others, as the others name it, and makes them again while it exists: of Argo CD or of Flux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaringParent {
    /// Its group.
    pub(crate) group: &'static str,
    /// Its kind.
    pub(crate) kind: &'static str,
    /// Its plural.
    pub(crate) plural: &'static str,
    /// Its namespace, if the mark says it.
    pub(crate) namespace: Option<Arc<str>>,
    /// Its name.
    pub(crate) name: Arc<str>,
    /// The field of the object that names it.
    pub(crate) field: &'static str,
}

impl DeclaringParent {
    /// Whether an object of its kind with this name is meant. Argo CD names an application of another namespace than its own
    /// `NAMESPACE_NAME` (<https://argo-cd.readthedocs.io/en/stable/operator-manual/app-any-namespace/>).
    pub(crate) fn is(&self, namespace: Option<&str>, name: &str) -> bool {
        match &self.namespace {
            Some(own) => namespace == Some(&**own) && *name == *self.name,
            None => {
                let namespace = namespace.unwrap_or_default();
                let rest = self.name.strip_prefix(namespace).and_then(|it| it.strip_prefix('_'));
                *name == *self.name || rest == Some(name)
            }
        }
    }
}

/// The objects by which Argo CD or Flux declares an object, according to its marks.
pub(crate) fn declaring_parents(object: &Object) -> impl Iterator<Item = DeclaringParent> {
    let application = argo_cd_application(object).map(|name| DeclaringParent {
        group: "argoproj.io",
        kind: "Application",
        plural: "applications",
        namespace: None,
        name,
        field: ARGO_CD,
    });
    let of_flux = [
        ("kustomize", KUSTOMIZATION, "Kustomization", "kustomizations"),
        ("helm", HELM_RELEASE, "HelmRelease", "helmreleases"),
    ];
    let of_flux = of_flux.into_iter().filter_map(|(tool, field, kind, plural)| {
        let (namespace, name) = flux_owner(object, tool)?;
        let group = field.strip_suffix("/name").unwrap_or_default();
        Some(DeclaringParent { group, kind, plural, namespace: Some(namespace), name, field })
    });
    application.into_iter().chain(of_flux)
}

fn label(object: &Object, key: &str) -> Option<Arc<str>> {
    object.labels.get(key).filter(|value| !value.is_empty()).cloned()
}

/// The name of the Argo CD application that an object belongs to.
fn argo_cd_application(object: &Object) -> Option<Arc<str>> {
    let tracked = object.annotations.as_deref().and_then(|it| it.application.clone());
    tracked.or_else(|| label(object, ARGO_CD))
}

/// The namespace and the name of the Kustomization or HelmRelease of Flux that an object belongs to.
fn flux_owner(object: &Object, tool: &str) -> Option<(Arc<str>, Arc<str>)> {
    let field = |field: &str| label(object, &format!("{tool}.toolkit.fluxcd.io/{field}"));
    Some((field("namespace")?, field("name")?))
}

/// The id of the unit that a tool installed an object with.
pub(super) fn installed_with(object: &Object) -> Option<Arc<str>> {
    let annotations = object.annotations.as_deref();
    let release = || {
        let named = annotations.and_then(|it| it.release.clone());
        let labelled =
            || Some((object.namespace.clone()?, label(object, "app.kubernetes.io/instance")?));
        let (namespace, name) = named.or_else(labelled)?;
        Some(format!("release:{namespace}/{name}"))
    };
    let argo_cd = || Some(format!("argocd:{}", argo_cd_application(object)?));
    let flux = || {
        let owner = ["kustomize", "helm"].iter().find_map(|tool| flux_owner(object, tool));
        owner.map(|(namespace, name)| format!("flux:{namespace}/{name}"))
    };
    let kapp = || Some(format!("kapp:{}", label(object, "kapp.k14s.io/app")?));
    release().or_else(argo_cd).or_else(flux).or_else(kapp).map(Arc::from)
}

/// The way in which the unit with this id is recognised. The value of a label has no colon, so that no label part-of makes
/// such an id.
pub(super) fn origin_of(id: &str) -> UnitOrigin {
    match id.split_once(':').map(|(tool, _)| tool) {
        Some("release") => UnitOrigin::Release,
        Some("argocd") => UnitOrigin::ArgoCd,
        Some("flux") => UnitOrigin::Flux,
        Some("kapp") => UnitOrigin::Kapp,
        _ => UnitOrigin::PartOf,
    }
}
