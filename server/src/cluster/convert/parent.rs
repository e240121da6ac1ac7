//! GitOps objects that declare others: whether they are active, whether they apply their objects right now, and the names in
//! their specs. A field of another type than the definition of the kind says counts as absent: the parent is then active.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teardown::object::{Facts, ObjectRef, Parent};

use super::{
    Meta, RawCondition, Unreadable, Whole, or_default,
    reference::{Field, Form, listed},
};

/// The most objects of an Application that are kept.
const MOST: usize = 5_000;

const ARGO: &str = "argoproj.io";
const HELM: &str = "helm.toolkit.fluxcd.io";
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";

/// <https://fluxcd.io/flux/components/kustomize/kustomizations/>
const KUSTOMIZATION: &[Field] = &[
    ("sourceRef", Form::Object, SOURCE, "GitRepository"),
    ("dependsOn[]", Form::Object, KUSTOMIZE, "Kustomization"),
    ("decryption.secretRef", Form::Object, "", "Secret"),
    ("kubeConfig.secretRef", Form::Object, "", "Secret"),
    ("kubeConfig.configMapRef", Form::Object, "", "ConfigMap"),
    ("postBuild.substituteFrom[]", Form::Object, "", "ConfigMap"),
    ("serviceAccountName", Form::Name, "", "ServiceAccount"),
];
/// <https://fluxcd.io/flux/components/helm/helmreleases/>
const HELM_RELEASE: &[Field] = &[
    ("chartRef", Form::Object, SOURCE, "OCIRepository"),
    ("chart.spec.sourceRef", Form::Object, SOURCE, "HelmRepository"),
    ("dependsOn[]", Form::Object, HELM, "HelmRelease"),
    ("kubeConfig.secretRef", Form::Object, "", "Secret"),
    ("kubeConfig.configMapRef", Form::Object, "", "ConfigMap"),
    ("valuesFrom[]", Form::Object, "", "ConfigMap"),
    ("serviceAccountName", Form::Name, "", "ServiceAccount"),
];
/// <https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/>
const APPLICATION: &[Field] = &[("project", Form::Name, ARGO, "AppProject")];

/// Reads a Kustomization of Flux.
pub(super) fn read_kustomization(json: &str) -> Result<(Meta, Facts), Unreadable> {
    read_flux(json, KUSTOMIZATION)
}

/// Reads a HelmRelease of Flux.
pub(super) fn read_helm_release(json: &str) -> Result<(Meta, Facts), Unreadable> {
    read_flux(json, HELM_RELEASE)
}

/// Reads a parent of Flux (<https://fluxcd.io/flux/components/kustomize/kustomizations/#suspend>, the condition `Reconciling` is
/// of <https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus>).
fn read_flux(json: &str, fields: &[Field]) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<Value, FluxStatus> { metadata, spec, status } = serde_json::from_str(json)?;
    let active = (spec["suspend"] != true).then(|| "false".into());
    let applying = status.conditions.iter().any(|it| it.is_true("Reconciling"));
    let names = listed(fields, &spec).into_list();
    let manages = Box::default();
    Ok((metadata, Facts::Parent(Box::new(Parent { active, applying, names, manages }))))
}

/// Reads an Application of Argo CD (<https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/>). An operation is asked for
/// in `operation`, and under way once `status.operationState` says so.
pub(super) fn read_application(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Application { metadata, spec, status, operation } = serde_json::from_str(json)?;
    let automated = &spec["syncPolicy"]["automated"];
    let is_active = automated.is_object() && automated["enabled"] != false;
    let active = is_active.then(|| automated.to_string().into());
    let applying = operation.is_object() || &*status.operation_state.phase == "Running";
    let names = listed(APPLICATION, &spec).into_list();
    let manages = status.resources.into_iter().take(MOST).map(ObjectRef::from).collect();
    Ok((metadata, Facts::Parent(Box::new(Parent { active, applying, names, manages }))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FluxStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
}

#[derive(Deserialize)]
struct Application {
    metadata: Meta,
    #[serde(default)]
    spec: Value,
    #[serde(default, deserialize_with = "or_default")]
    status: ApplicationStatus,
    #[serde(default)]
    operation: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApplicationStatus {
    #[serde(deserialize_with = "or_default")]
    operation_state: OperationState,
    #[serde(deserialize_with = "or_default")]
    resources: Vec<Managed>,
}

/// An object that an Application manages; without a namespace if it has none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Managed {
    group: Arc<str>,
    kind: Arc<str>,
    namespace: Option<Arc<str>>,
    name: Arc<str>,
}

impl From<Managed> for ObjectRef {
    fn from(Managed { group, kind, namespace, name }: Managed) -> Self {
        let namespace = namespace.filter(|name| !name.is_empty());
        Self { group, kind, namespace, name }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OperationState {
    #[serde(deserialize_with = "or_default")]
    phase: Box<str>,
}
