//! The field manager that wrote a finalizer: a hint to the program that clears it.
//!
//! # Decisions
//! - A field manager calls itself as it likes, and many operators are called `manager`. So it only chooses among programs that
//!   have the right by name.
//! - Whoever applies manifests or restores a backup writes finalizers that it does not clear.
//! - A workload is its program if it has the same name, alone or behind the name of a release, or a label that says so.

use crate::object::Object;

/// Names that programs without one of their own have, and those of persons' tools and of the control plane.
const SAY_NOTHING: [&str; 16] = [
    "",
    "manager",
    "controller",
    "operator",
    "controller-manager",
    "main",
    "server",
    "app",
    "unknown",
    "helm",
    "curl",
    "Go-http-client",
    "OpenAPI-Generator",
    "before-first-apply",
    "kube-apiserver",
    "kube-controller-manager",
];
/// Programs that write what others declare, or what was there before, finalizers included. They clear none of those.
const APPLY_FOR_OTHERS: [&str; 14] = [
    "argocd-application-controller",
    "argocd-controller",
    "catalog-operator",
    "fleetagent",
    "helm-controller",
    "kapp",
    "kapp-controller",
    "kustomize-controller",
    "olm-operator",
    "pulumi-kubernetes",
    "rancher",
    "terraform",
    "velero",
    "velero-server",
];
/// The labels that name a program.
const LABELS: [&str; 3] = ["app.kubernetes.io/name", "app", "k8s-app"];

/// Whether the name of a field manager distinguishes a program that clears what it writes.
pub(crate) fn is_distinct(name: &str) -> bool {
    is_a_program(name) && !APPLY_FOR_OTHERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether the name of a field manager distinguishes a program of the cluster, be it one that applies what others declare.
pub(crate) fn is_a_program(name: &str) -> bool {
    !SAY_NOTHING.contains(&name) && !name.starts_with("kubectl")
}

/// The name by which a finalizer was written, if it distinguishes a program.
pub(super) fn writer<'a>(object: &'a Object, finalizer: &str) -> Option<&'a str> {
    let writers = object.annotations.iter().flat_map(|it| it.writers.iter());
    let mut names = writers.filter(|(it, _)| &**it == finalizer).map(|(_, name)| &**name);
    names.next().filter(|name| is_distinct(name))
}

/// Whether a workload has the name of a field manager.
pub(crate) fn is_called(program: &Object, name: &str) -> bool {
    let is_labelled =
        || LABELS.iter().any(|it| program.labels.get(it).is_some_and(|it| &**it == name));
    has_name_of(&program.name, name) || is_labelled()
}

/// Whether the name of a workload is that of a field manager, alone or behind the name of a release.
pub(crate) fn has_name_of(program: &str, name: &str) -> bool {
    program.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}
