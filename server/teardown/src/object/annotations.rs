//! The annotations that decide about a teardown: who installed an object, whether its data is to be kept, and what it goes
//! before; and the programs that created an object or wrote its finalizers.

use std::sync::Arc;

use super::Hints;

/// The stored annotations of an object, and the programs that `metadata.managedFields` names. Few objects have an annotation of
/// these, and there are few programs, so that equal values are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Annotations {
    /// `meta.helm.sh/release-namespace` and `meta.helm.sh/release-name`.
    pub release: Option<(Arc<str>, Arc<str>)>,
    /// The application in Argo CD's `argocd.argoproj.io/tracking-id`.
    pub application: Option<Arc<str>>,
    /// The annotation that asks the tool which installed the object not to delete it, as `key: value`.
    pub keep: Option<Arc<str>>,
    /// The order that they ask for, in which objects are applied and deleted.
    pub hints: Option<Arc<Hints>>,
    /// It is the StorageClass of claims that name none: `storageclass.kubernetes.io/is-default-class` or its beta form is `true`.
    pub is_default_class: bool,
    /// The field manager that created it, of an object without owners: an owner says more.
    pub creator: Option<Arc<str>>,
    /// The finalizers of an operator's object, each with the field manager that wrote it last.
    pub writers: Box<[(Arc<str>, Arc<str>)]>,
}

/// Whether an annotation asks a tool not to delete the object: Helm, Argo CD, Flux and kapp have one each.
///
/// Sources: `helm.sh/helm/v3/pkg/action/resource_policy.go`, Argo CD's `docs/user-guide/sync-options.md`, Flux's
/// `docs/components/kustomize/kustomizations`, kapp's `apply-ordering` and `apply` pages.
pub fn asks_to_keep(key: &str, value: &str) -> bool {
    let is_option = |option: &str| value.split(',').any(|it| it.trim() == option);
    match key {
        "helm.sh/resource-policy" => value.trim().eq_ignore_ascii_case("keep"),
        "argocd.argoproj.io/sync-options" => is_option("Delete=false") || is_option("Prune=false"),
        "kustomize.toolkit.fluxcd.io/prune" => value == "disabled",
        "kapp.k14s.io/delete-strategy" => value == "orphan",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotation_of_a_tool_keeps_and_a_near_miss_does_not() {
        for (key, value, keeps) in [
            ("helm.sh/resource-policy", "keep", true),
            ("helm.sh/resource-policy", " Keep ", true),
            ("helm.sh/resource-policy", "delete", false),
            ("argocd.argoproj.io/sync-options", "ServerSideApply=true, Delete=false", true),
            ("argocd.argoproj.io/sync-options", "Prune=false", true),
            ("argocd.argoproj.io/sync-options", "PruneLast=true", false),
            ("kustomize.toolkit.fluxcd.io/prune", "disabled", true),
            ("kustomize.toolkit.fluxcd.io/prune", "enabled", false),
            ("kapp.k14s.io/delete-strategy", "orphan", true),
            ("example.com/resource-policy", "keep", false),
        ] {
            assert_eq!(asks_to_keep(key, value), keeps, "{key}: {value}");
        }
    }
}
