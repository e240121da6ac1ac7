//! Controllers that create Pods, and the objects that scale and protect them.

use std::sync::Arc;

use serde::{Deserialize, de::DeserializeOwned};
use teardown::{
    object::{Facts, Target, Workload},
    selector::{Labels, Selector},
};

use super::{LabelSelector, Meta, Unread, Unreadable, Whole, or_default, pod};

/// Reads a Deployment, ReplicaSet or StatefulSet. `replicas` defaults to one, and the API server omits `readyReplicas`
/// while it is zero.
pub(super) fn read_replicated(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let (meta, mut workload) = templated::<LabelSelector>(json)?;
    workload.replicas.get_or_insert(1);
    workload.ready.get_or_insert(0);
    Ok((meta, Facts::Workload(Box::new(workload))))
}

/// Reads a ReplicationController, whose selector is plain labels.
pub(super) fn read_replication_controller(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let (meta, mut workload) = templated::<Labels>(json)?;
    workload.replicas.get_or_insert(1);
    workload.ready.get_or_insert(0);
    Ok((meta, Facts::Workload(Box::new(workload))))
}

/// Reads a DaemonSet or a Job, which have no `spec.replicas`.
pub(super) fn read(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let (meta, workload) = templated::<LabelSelector>(json)?;
    Ok((meta, Facts::Workload(Box::new(workload))))
}

/// Reads a CronJob. Its Pods are those of the Jobs that it creates.
pub(super) fn read_cron_job(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<CronSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let template = spec.job_template.spec.template;
    let workload = Workload {
        critical: template.spec.is_critical(),
        uses: template.spec.uses("spec.jobTemplate.spec.template.spec", None).into_list(),
        template_labels: template.metadata.labels,
        ..Workload::default()
    };
    Ok((metadata, Facts::Workload(Box::new(workload))))
}

/// Reads a HorizontalPodAutoscaler.
pub(super) fn read_autoscaler(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<ScalerSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    let target = spec.scale_target_ref;
    // The core group's apiVersion is its version alone.
    let group = target.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let target = Target { group: group.into(), kind: target.kind, name: target.name };
    Ok((metadata, Facts::Autoscaler(Box::new(target))))
}

/// Reads a PodDisruptionBudget. In `policy/v1` an absent selector matches no Pod and an empty one every Pod.
pub(super) fn read_disruption_budget(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<BudgetSpec, Unread> { metadata, spec, .. } = serde_json::from_str(json)?;
    Ok((metadata, Facts::Disruption(spec.selector.map(|selector| Box::new(selector.into())))))
}

fn templated<L: DeserializeOwned + Into<Selector>>(
    json: &str,
) -> Result<(Meta, Workload), Unreadable> {
    let Whole::<Spec<L>, Status> { metadata, spec, status } = serde_json::from_str(json)?;
    let retention = spec.persistent_volume_claim_retention_policy.unwrap_or_default();
    let mut uses = spec.template.spec.uses("spec.template.spec", None);
    pod::add_classes(&mut uses, &spec.volume_claim_templates);
    let workload = Workload {
        replicas: spec.replicas,
        ready: status.ready_replicas.or(status.number_ready),
        selector: spec.selector.map(L::into),
        critical: spec.template.spec.is_critical(),
        uses: uses.into_list(),
        template_labels: spec.template.metadata.labels,
        claim_templates: spec
            .volume_claim_templates
            .into_iter()
            .map(|template| template.metadata.name.unwrap_or_default())
            .collect(),
        claims_go_with_it: retention.when_deleted.as_deref() == Some("Delete"),
        claims_go_when_scaled: retention.when_scaled.as_deref() == Some("Delete"),
        managed_by: spec.managed_by.filter(|it| !it.is_empty()),
        drivers: spec.template.spec.drivers(),
        provisioners: spec.template.spec.provisioners(),
        sidecars: spec.template.spec.sidecars(),
        recreates: spec.strategy.is_some_and(|strategy| &*strategy.kind == "Recreate"),
    };
    Ok((metadata, workload))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound = "L: DeserializeOwned")]
struct Spec<L> {
    #[serde(default)]
    replicas: Option<i64>,
    #[serde(default = "Option::default")]
    selector: Option<L>,
    #[serde(default, deserialize_with = "or_default")]
    template: Template,
    #[serde(default, deserialize_with = "or_default")]
    volume_claim_templates: Vec<pod::ClaimTemplate>,
    #[serde(default)]
    persistent_volume_claim_retention_policy: Option<Retention>,
    #[serde(default)]
    strategy: Option<Strategy>,
    #[serde(default)]
    managed_by: Option<Arc<str>>,
}

/// `strategy` of a Deployment.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Strategy {
    #[serde(rename = "type", deserialize_with = "or_default")]
    kind: Box<str>,
}

impl<L> Default for Spec<L> {
    fn default() -> Self {
        Self {
            replicas: None,
            selector: None,
            template: Template::default(),
            volume_claim_templates: Vec::new(),
            persistent_volume_claim_retention_policy: None,
            strategy: None,
            managed_by: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "or_default")]
    metadata: TemplateMeta,
    #[serde(deserialize_with = "or_default")]
    spec: pod::Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TemplateMeta {
    #[serde(deserialize_with = "or_default")]
    labels: Labels,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Retention {
    when_deleted: Option<Box<str>>,
    when_scaled: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    ready_replicas: Option<i64>,
    number_ready: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CronSpec {
    job_template: JobTemplate,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    spec: JobSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobSpec {
    template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScalerSpec {
    scale_target_ref: TargetRef,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TargetRef {
    #[serde(deserialize_with = "or_default")]
    api_version: Arc<str>,
    kind: Arc<str>,
    name: Arc<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BudgetSpec {
    selector: Option<LabelSelector>,
}
