//! GitOps objects that declare others: whether they are active, and whether they apply their objects right now.

use serde::Deserialize;
use serde_json::Value;
use teardown::object::{Facts, Parent};

use super::{Meta, RawCondition, Unreadable, Whole, or_default};

/// Reads a Kustomization or a HelmRelease of Flux (<https://fluxcd.io/flux/components/kustomize/kustomizations/#suspend>,
/// the condition `Reconciling` is of <https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus>).
pub(super) fn read_flux(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<FluxSpec, FluxStatus> { metadata, spec, status } = serde_json::from_str(json)?;
    let applying = status.conditions.iter().any(|it| it.is_true("Reconciling"));
    let active = (!spec.suspend).then(|| "false".into());
    Ok((metadata, Facts::Parent(Box::new(Parent { active, applying }))))
}

/// Reads an Application of Argo CD (<https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/>).
pub(super) fn read_application(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ApplicationSpec, ApplicationStatus> { metadata, spec, status } =
        serde_json::from_str(json)?;
    let automated = spec.sync_policy.automated;
    let is_active = automated.is_object() && automated["enabled"] != Value::Bool(false);
    let active = is_active.then(|| automated.to_string().into());
    let applying = &*status.operation_state.phase == "Running";
    Ok((metadata, Facts::Parent(Box::new(Parent { active, applying }))))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FluxSpec {
    #[serde(deserialize_with = "or_default")]
    suspend: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FluxStatus {
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApplicationSpec {
    #[serde(deserialize_with = "or_default")]
    sync_policy: SyncPolicy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SyncPolicy {
    automated: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApplicationStatus {
    #[serde(deserialize_with = "or_default")]
    operation_state: OperationState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OperationState {
    #[serde(deserialize_with = "or_default")]
    phase: Box<str>,
}
