//! GitOps objects that declare others: whether they are active, whether they apply their objects right now, and the names in
//! their specs. A field of another type than the definition of the kind says counts as absent: the parent is then active.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teardown::object::{Facts, ObjectRef, Parent};

use super::{
    super::text::bounded,
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
/// <https://carvel.dev/kapp-controller/docs/latest/app-spec/>
const APP: &[Field] = &[
    ("serviceAccountName", Form::Name, "", "ServiceAccount"),
    ("cluster.kubeconfigSecretRef", Form::Object, "", "Secret"),
    ("fetch[].inline.pathsFrom[].secretRef", Form::Object, "", "Secret"),
    ("fetch[].inline.pathsFrom[].configMapRef", Form::Object, "", "ConfigMap"),
    ("fetch[].image.secretRef", Form::Object, "", "Secret"),
    ("fetch[].imgpkgBundle.secretRef", Form::Object, "", "Secret"),
    ("fetch[].http.secretRef", Form::Object, "", "Secret"),
    ("fetch[].git.secretRef", Form::Object, "", "Secret"),
    ("fetch[].helmChart.repository.secretRef", Form::Object, "", "Secret"),
    ("template[].ytt.valuesFrom[].secretRef", Form::Object, "", "Secret"),
    ("template[].ytt.valuesFrom[].configMapRef", Form::Object, "", "ConfigMap"),
    ("template[].helmTemplate.valuesFrom[].secretRef", Form::Object, "", "Secret"),
    ("template[].helmTemplate.valuesFrom[].configMapRef", Form::Object, "", "ConfigMap"),
];
/// <https://carvel.dev/kapp-controller/docs/latest/packaging/#packageinstall>
const PACKAGE_INSTALL: &[Field] = &[
    ("serviceAccountName", Form::Name, "", "ServiceAccount"),
    ("cluster.kubeconfigSecretRef", Form::Object, "", "Secret"),
    ("values[].secretRef", Form::Object, "", "Secret"),
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
    let parent = Parent { active, applying, names, ..Parent::default() };
    Ok((metadata, Facts::Parent(Box::new(parent))))
}

/// Reads an App of kapp-controller.
pub(super) fn read_app(json: &str) -> Result<(Meta, Facts), Unreadable> {
    read_kapp(json, APP)
}

/// Reads a PackageInstall of kapp-controller, which gives its App its own `paused` and `noopDelete`.
pub(super) fn read_package_install(json: &str) -> Result<(Meta, Facts), Unreadable> {
    read_kapp(json, PACKAGE_INSTALL)
}

/// Reads a parent of kapp-controller (`pkg/apis/kappctrl/v1alpha1` and `pkg/apis/packaging/v1alpha1`). It is suspended once it is
/// paused and its deletion deletes nothing else.
fn read_kapp(json: &str, fields: &[Field]) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<Value, KappStatus> { metadata, spec, status } = serde_json::from_str(json)?;
    let (is_paused, prunes_nothing) = (spec["paused"] == true, spec["noopDelete"] == true);
    let active = (!is_paused || !prunes_nothing).then(|| {
        let was = serde_json::json!({"paused": is_paused, "noopDelete": prunes_nothing});
        was.to_string().into()
    });
    let applying = status.conditions.iter().any(|it| it.is_true("Reconciling"));
    let label = &status.deploy.kapp.associated_resources.label;
    let mark = label.strip_prefix("kapp.k14s.io/app=").map(|it| bounded(it).into());
    let names = listed(fields, &spec).into_list();
    let manages = Box::default();
    Ok((metadata, Facts::Parent(Box::new(Parent { active, applying, names, manages, mark }))))
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
    let parent = Parent { active, applying, names, manages, mark: None };
    Ok((metadata, Facts::Parent(Box::new(parent))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KappStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "or_default")]
    deploy: KappDeploy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KappDeploy {
    #[serde(deserialize_with = "or_default")]
    kapp: KappResult,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KappResult {
    #[serde(deserialize_with = "or_default")]
    associated_resources: AssociatedResources,
}

/// The label of the objects that an App applied, as `KEY=VALUE`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AssociatedResources {
    #[serde(deserialize_with = "or_default")]
    label: String,
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
