//! The marks by which an object names the GitOps parent that declares it.
//!
//! # Decisions
//! - Argo CD before 3.0 tracks its objects by the label `app.kubernetes.io/instance`, which most charts set for themselves. So
//!   the label counts only where an Application of that name says that it manages the object
//!   (<https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/>).
//! - kapp marks its objects with a number that it draws, whoever runs it. So its label counts only where an App of kapp-controller
//!   has that number in its status (`pkg/apis/kappctrl/v1alpha1/types.go`).

use std::sync::Arc;

use crate::object::{Facts, Kind, Object};

const ARGO_CD: &str = "argocd.argoproj.io/instance";
/// The resource of Argo CD's Applications.
pub(crate) const APPLICATIONS: &str = "applications.argoproj.io";
/// The resource of the Apps of kapp-controller.
pub(crate) const APPS: &str = "apps.kappctrl.k14s.io";
/// The label of what kapp applied.
const KAPP: &str = "kapp.k14s.io/app";
/// The label of a release, of Helm or of Argo CD.
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The labels by which Flux marks what a controller of it applied: the parent's namespace and name.
#[derive(Clone, Copy)]
pub(crate) struct FluxMarks {
    namespace: &'static str,
    name: &'static str,
}

/// The labels of the kustomize-controller and of the helm-controller.
pub(crate) const FLUX: [FluxMarks; 2] = [
    FluxMarks {
        namespace: "kustomize.toolkit.fluxcd.io/namespace",
        name: "kustomize.toolkit.fluxcd.io/name",
    },
    FluxMarks {
        namespace: "helm.toolkit.fluxcd.io/namespace",
        name: "helm.toolkit.fluxcd.io/name",
    },
];
/// The kinds and resources of the parents with these labels.
const FLUX_KINDS: [(&str, &str); 2] = [
    ("Kustomization", "kustomizations.kustomize.toolkit.fluxcd.io"),
    ("HelmRelease", "helmreleases.helm.toolkit.fluxcd.io"),
];

/// An object that declares others, as the others name it, and makes them again while it exists: of Argo CD, of Flux or of
/// kapp-controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaringParent {
    /// Its group.
    pub(crate) group: &'static str,
    /// Its kind.
    pub(crate) kind: &'static str,
    /// Its resource, as kubectl writes it. A run asks for it at each look, for every step.
    pub(crate) resource: &'static str,
    /// Its namespace, if the mark says it.
    pub(crate) namespace: Option<Arc<str>>,
    /// Its name; of an App its mark.
    pub(crate) name: Arc<str>,
    /// The field of the object that names it.
    pub(crate) field: &'static str,
    /// Other tools set the same mark, so it counts only where the parent says that it manages the object.
    pub(crate) is_guess: bool,
}

impl DeclaringParent {
    /// Whether this is the parent that the marks of `object` mean.
    pub(crate) fn is_meant(&self, parent: &Object, object: &Object) -> bool {
        let facts = match &parent.facts {
            Facts::Parent(facts) if parent.kind.is(self.group, self.kind) => facts,
            _ => return false,
        };
        if self.field == KAPP {
            return facts.mark.as_ref() == Some(&self.name);
        }
        self.is(parent.namespace.as_deref(), &parent.name)
            && (!self.is_guess || facts.manages.contains(&object.reference()))
    }

    /// Whether an object of its kind with this name is meant. Argo CD names an application of another namespace than its own
    /// `NAMESPACE_NAME` (<https://argo-cd.readthedocs.io/en/stable/operator-manual/app-any-namespace/>).
    fn is(&self, namespace: Option<&str>, name: &str) -> bool {
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

/// The objects by which Argo CD, Flux or kapp-controller declares an object, according to its marks.
pub(crate) fn declaring_parents(object: &Object) -> impl Iterator<Item = DeclaringParent> {
    let application = |name, field, is_guess| DeclaringParent {
        group: "argoproj.io",
        kind: "Application",
        resource: APPLICATIONS,
        namespace: None,
        name,
        field,
        is_guess,
    };
    let application = match argo_cd_application(object) {
        Some(name) => Some(application(name, ARGO_CD, false)),
        None => label(object, INSTANCE).map(|name| application(name, INSTANCE, true)),
    };
    let of_flux = FLUX.into_iter().zip(FLUX_KINDS).filter_map(|(marks, (kind, resource))| {
        let (namespace, name) = flux_owner(object, marks)?;
        let field = marks.name;
        let group = field.strip_suffix("/name").unwrap_or_default();
        let namespace = Some(namespace);
        Some(DeclaringParent { group, kind, resource, namespace, name, field, is_guess: false })
    });
    let of_kapp = kapp_app(object).map(|name| DeclaringParent {
        group: "kappctrl.k14s.io",
        kind: "App",
        resource: APPS,
        namespace: None,
        name,
        field: KAPP,
        is_guess: true,
    });
    application.into_iter().chain(of_flux).chain(of_kapp)
}

/// Whether objects of this kind declare others.
pub(crate) fn is_parent(kind: &Kind) -> bool {
    kind.is("argoproj.io", "Application")
        || kind.is("kustomize.toolkit.fluxcd.io", "Kustomization")
        || kind.is("helm.toolkit.fluxcd.io", "HelmRelease")
        || is_of_kapp(kind)
}

/// Whether kapp-controller looks after objects of this kind: Apps, and the PackageInstalls that own an App of their name.
pub(crate) fn is_of_kapp(kind: &Kind) -> bool {
    kind.is("kappctrl.k14s.io", "App") || kind.is("packaging.carvel.dev", "PackageInstall")
}

/// The value of a label, unless it is empty.
pub(crate) fn label(object: &Object, key: &str) -> Option<Arc<str>> {
    object.labels.get(key).filter(|value| !value.is_empty()).cloned()
}

/// The name of the Argo CD application that an object belongs to.
pub(crate) fn argo_cd_application(object: &Object) -> Option<Arc<str>> {
    let tracked = object.annotations.as_deref().and_then(|it| it.application.clone());
    tracked.or_else(|| label(object, ARGO_CD))
}

/// The mark of the kapp application that an object belongs to.
pub(crate) fn kapp_app(object: &Object) -> Option<Arc<str>> {
    label(object, KAPP)
}

/// The namespace and the name of the Kustomization or HelmRelease of Flux that an object belongs to.
pub(crate) fn flux_owner(object: &Object, marks: FluxMarks) -> Option<(Arc<str>, Arc<str>)> {
    Some((label(object, marks.namespace)?, label(object, marks.name)?))
}

/// The namespace and the name of the Helm release of which an object is the record of one revision
/// (`pkg/storage/driver/secrets.go` and `cfgmaps.go` of Helm).
pub(crate) fn recorded_release(object: &Object) -> Option<(&Arc<str>, &Arc<str>)> {
    let may_be = object.kind.is("", "Secret") || object.kind.is("", "ConfigMap");
    let is_record = may_be
        && object.name.starts_with("sh.helm.release.v1.")
        && object.labels.get("owner").is_some_and(|owner| **owner == *"helm");
    object.namespace.as_ref().zip(object.labels.get("name")).filter(|_| is_record)
}

/// The number of the revision that an object is the record of.
pub(crate) fn recorded_revision(object: &Object) -> u64 {
    object.labels.get("version").and_then(|it| it.parse().ok()).unwrap_or_default()
}
