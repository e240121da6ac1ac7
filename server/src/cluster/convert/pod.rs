//! Pods and Pod templates: the names that they refer to in their namespace.

use std::{num::NonZeroU32, sync::Arc};

use serde::Deserialize;
use teardown::object::{
    self, ContainerState, Ending, Facts, Phase, Pod, PodReferenceKind, Seconds, Sidecars,
};

use super::{
    Meta, Named, RawCondition, Unread, Unreadable, Whole,
    container::Container,
    is_ready,
    names::{MOST, is_name},
    or_default,
    uses::Uses,
};
use crate::cluster::text::bounded;

/// Reads a Pod.
pub(super) fn read(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<Spec, Status> { metadata, spec, status } = serde_json::from_str(json)?;
    let phase = status.phase.as_deref().and_then(Phase::named);
    let pod = Pod {
        node: spec.node_name.clone().filter(|node| !node.is_empty()),
        phase,
        ready: is_ready(&status.conditions),
        critical: spec.is_critical(),
        stays_unreachable: spec.stays_unreachable(),
        uses: spec.uses("spec", Some(&metadata.name)).into_list(),
        ending: (metadata.deletion_timestamp.is_some() || phase.is_some_and(Phase::is_over))
            .then(|| Box::new(ending(&spec, &status))),
    };
    Ok((metadata, Facts::Pod(Box::new(pod))))
}

fn ending(spec: &Spec, status: &Status) -> Ending {
    let containers =
        || spec.init_containers.iter().chain(&spec.containers).chain(&spec.ephemeral_containers);
    let reported = [
        &status.init_container_statuses,
        &status.container_statuses,
        &status.ephemeral_container_statuses,
    ];
    let disruption = status.conditions.iter().find(|it| it.is_true("DisruptionTarget"));
    Ending {
        containers: reported.into_iter().flatten().map(ContainerStatus::container).collect(),
        disruption: disruption.map(|condition| bounded(&condition.reason).into()),
        disrupted: disruption
            .and_then(|condition| condition.last_transition_time)
            .map(Seconds::from),
        mounts_sub_paths: containers().any(Container::mounts_sub_path),
        has_devices: !spec.resource_claims.is_empty(),
        has_pre_stop_hook: containers().any(Container::has_pre_stop_hook),
        has_volumes: spec.volumes.iter().any(Volume::is_mounted_from_elsewhere),
    }
}

/// `v1.PodSpec`, of a Pod or of a template.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    node_name: Option<Arc<str>>,
    service_account_name: Option<Arc<str>>,
    priority_class_name: Option<Box<str>>,
    runtime_class_name: Option<Box<str>>,
    #[serde(deserialize_with = "or_default")]
    volumes: Vec<Volume>,
    #[serde(deserialize_with = "or_default")]
    containers: Vec<Container>,
    #[serde(deserialize_with = "or_default")]
    init_containers: Vec<Container>,
    #[serde(deserialize_with = "or_default")]
    ephemeral_containers: Vec<Container>,
    #[serde(deserialize_with = "or_default")]
    image_pull_secrets: Vec<Named>,
    #[serde(deserialize_with = "or_default")]
    resource_claims: Vec<DeviceClaim>,
    scheduling_group: Option<SchedulingGroup>,
    #[serde(deserialize_with = "or_default")]
    tolerations: Vec<Toleration>,
}

/// `v1.Toleration`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Toleration {
    key: Box<str>,
    operator: Box<str>,
    value: Box<str>,
    effect: Box<str>,
    toleration_seconds: Option<i64>,
}

impl Toleration {
    /// Whether it tolerates the taint `node.kubernetes.io/unreachable:NoExecute`, which has no value
    /// (`staging/src/k8s.io/api/core/v1/toleration.go`).
    fn is_of_unreachable(&self) -> bool {
        matches!(&*self.effect, "" | "NoExecute")
            && matches!(&*self.key, "" | "node.kubernetes.io/unreachable")
            && match &*self.operator {
                "Exists" => true,
                "" | "Equal" => self.value.is_empty() && !self.key.is_empty(),
                _ => false,
            }
    }
}

/// `v1.PodSchedulingGroup`, since 1.36.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SchedulingGroup {
    pod_group_name: Option<Box<str>>,
}

/// `v1.PodResourceClaim`: a claim, or the template of one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeviceClaim {
    resource_claim_name: Option<Box<str>>,
    resource_claim_template_name: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
    #[serde(deserialize_with = "or_default")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "or_default")]
    init_container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "or_default")]
    container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "or_default")]
    ephemeral_container_statuses: Vec<ContainerStatus>,
}

/// `v1.ContainerStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    name: Arc<str>,
    #[serde(deserialize_with = "or_default")]
    state: RawContainerState,
}

/// `v1.ContainerState`: at most one of its members is present.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawContainerState {
    running: Option<Unread>,
    terminated: Option<Unread>,
}

impl ContainerStatus {
    fn container(&self) -> object::Container {
        let state = match &self.state {
            RawContainerState { terminated: Some(_), .. } => ContainerState::Terminated,
            RawContainerState { running: Some(_), .. } => ContainerState::Running,
            _ => ContainerState::Waiting,
        };
        object::Container { name: bounded(&self.name).into(), state }
    }
}

/// `v1.Volume`: the sources that refer to something in the Pod's namespace.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    name: Box<str>,
    persistent_volume_claim: Option<ClaimSource>,
    ephemeral: Option<Ephemeral>,
    config_map: Option<Named>,
    secret: Option<SecretSource>,
    projected: Option<Projected>,
    csi: Option<CsiSource>,
    azure_file: Option<SecretSource>,
    cephfs: Option<DriverSource>,
    cinder: Option<DriverSource>,
    flex_volume: Option<DriverSource>,
    iscsi: Option<DriverSource>,
    rbd: Option<DriverSource>,
    #[serde(rename = "scaleIO")]
    scale_io: Option<DriverSource>,
    storageos: Option<DriverSource>,
    nfs: Option<Unread>,
    glusterfs: Option<Unread>,
    fc: Option<Unread>,
    host_path: Option<HostPath>,
}

/// `v1.EphemeralVolumeSource`. The claim's name follows from the names of the Pod and the volume.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ephemeral {
    volume_claim_template: Option<ClaimTemplate>,
}

/// `v1.PersistentVolumeClaimTemplate`, or a claim in a StatefulSet's `volumeClaimTemplates`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaimTemplate {
    #[serde(deserialize_with = "or_default")]
    pub(super) metadata: Named,
    #[serde(deserialize_with = "or_default")]
    spec: ClaimSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSpec {
    storage_class_name: Option<Box<str>>,
    volume_attributes_class_name: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HostPath {
    #[serde(deserialize_with = "or_default")]
    path: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSource {
    claim_name: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecretSource {
    secret_name: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Projected {
    #[serde(deserialize_with = "or_default")]
    sources: Vec<Projection>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Projection {
    config_map: Option<Named>,
    secret: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CsiSource {
    driver: Arc<str>,
    node_publish_secret_ref: Option<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DriverSource {
    secret_ref: Option<Named>,
}

/// The volume that the ServiceAccount admission plugin adds to every Pod, and the ConfigMap that it takes from each
/// namespace (`plugin/pkg/admission/serviceaccount/admission.go`). The cluster creates both, so neither is an edge.
const INJECTED_VOLUME: &str = "kube-api-access-";
const INJECTED_CONFIG_MAP: &str = "kube-root-ca.crt";

impl Spec {
    /// Whether the priority class is one of those that Kubernetes reserves for what a cluster cannot do without
    /// (`pkg/apis/scheduling/types.go`).
    pub(super) fn is_critical(&self) -> bool {
        let class = self.priority_class_name.as_deref();
        matches!(class, Some("system-node-critical" | "system-cluster-critical"))
    }

    /// Seconds for which the Pod stays on an unreachable node; `None` if for ever. The first toleration that fits counts
    /// (`pkg/apis/core/v1/helper/helpers.go`). The API server gives a Pod without one 300 s
    /// (`plugin/pkg/admission/defaulttolerationseconds/admission.go`).
    fn stays_unreachable(&self) -> Option<NonZeroU32> {
        let seconds = match self.tolerations.iter().find(|it| it.is_of_unreachable()) {
            Some(toleration) => u32::try_from(toleration.toleration_seconds?.max(1)),
            None => Ok(300),
        };
        NonZeroU32::new(seconds.unwrap_or(u32::MAX))
    }

    /// The CSI drivers whose folder among the kubelet's plugins the spec mounts from the node, whatever the kubelet's own
    /// folder is: `/var/lib/kubelet/plugins/disk.csi.example`
    /// (<https://kubernetes-csi.github.io/docs/deploying.html#driver-volume-mounts>).
    pub(super) fn drivers(&self) -> Box<[Arc<str>]> {
        let paths =
            self.volumes.iter().filter_map(|volume| Some(&*volume.host_path.as_ref()?.path));
        let drivers = paths.filter_map(|path| {
            let (root, folder) = path.split_once("/plugins/")?;
            let name = folder.split('/').next().filter(|name| name.contains('.'))?;
            // The kubelet's own plugins have that folder.
            (root.ends_with("/kubelet") && name != "kubernetes.io").then(|| bounded(name).into())
        });
        let mut found: Vec<Arc<str>> = drivers.collect();
        found.sort();
        found.dedup();
        found.into()
    }

    /// The CSI sidecars among the containers, by their names or those of their images: `csi-provisioner`, `external-attacher`
    /// (<https://kubernetes-csi.github.io/docs/sidecar-containers.html>).
    pub(super) fn sidecars(&self) -> Sidecars {
        let runs = |word: &str| {
            let mut containers = self.init_containers.iter().chain(&self.containers);
            containers.any(|it| it.name.contains(word) || it.image_name().contains(word))
        };
        Sidecars { provisioner: runs("provisioner"), attacher: runs("attacher") }
    }

    /// The names of the provisioners that the containers are told to be.
    pub(super) fn provisioners(&self) -> Box<[Arc<str>]> {
        let containers = self.init_containers.iter().chain(&self.containers);
        let mut found: Vec<Arc<str>> = containers.flat_map(Container::provisioners).collect();
        found.sort();
        found.dedup();
        found.truncate(MOST);
        found.into()
    }

    /// Every name that the spec refers to, once, with the first field that names it. `prefix` is the path of this spec
    /// in its object. `pod` is the Pod's name; `None` for a template.
    pub(super) fn uses<'a>(&self, prefix: &'a str, pod: Option<&str>) -> Uses<'a> {
        let mut uses = Uses::of(prefix);
        if let Some(account) = &self.service_account_name {
            uses.add(PodReferenceKind::ServiceAccount, Some(account), || {
                "serviceAccountName".to_owned()
            });
        }
        uses.add(PodReferenceKind::PriorityClass, self.priority_class_name.as_deref(), || {
            "priorityClassName".to_owned()
        });
        uses.add(PodReferenceKind::RuntimeClass, self.runtime_class_name.as_deref(), || {
            "runtimeClassName".to_owned()
        });
        for (i, claim) in self.resource_claims.iter().enumerate() {
            let DeviceClaim { resource_claim_name, resource_claim_template_name } = claim;
            uses.add(PodReferenceKind::ResourceClaim, resource_claim_name.as_deref(), || {
                format!("resourceClaims[{i}].resourceClaimName")
            });
            let template = resource_claim_template_name.as_deref();
            uses.add(PodReferenceKind::ResourceClaimTemplate, template, || {
                format!("resourceClaims[{i}].resourceClaimTemplateName")
            });
        }
        let group = self.scheduling_group.as_ref().and_then(|it| it.pod_group_name.as_deref());
        uses.add(PodReferenceKind::PodGroup, group, || "schedulingGroup.podGroupName".to_owned());
        for (i, secret) in self.image_pull_secrets.iter().enumerate() {
            uses.add(PodReferenceKind::Secret, secret.get(), || {
                format!("imagePullSecrets[{i}].name")
            });
        }
        for (i, volume) in self.volumes.iter().enumerate() {
            volume.uses(&mut uses, i, pod);
        }
        for (list, containers) in [
            ("initContainers", &self.init_containers),
            ("containers", &self.containers),
            ("ephemeralContainers", &self.ephemeral_containers),
        ] {
            for (i, container) in containers.iter().enumerate() {
                container.uses(&mut uses, list, i);
            }
        }
        uses
    }
}

impl Volume {
    /// Whether the kubelet mounts it from a server or a disk. Claims and drivers are counted by themselves.
    fn is_mounted_from_elsewhere(&self) -> bool {
        let drivers = [
            &self.cephfs,
            &self.cinder,
            &self.flex_volume,
            &self.iscsi,
            &self.rbd,
            &self.scale_io,
            &self.storageos,
        ];
        self.nfs.is_some()
            || self.glusterfs.is_some()
            || self.fc.is_some()
            || self.azure_file.is_some()
            || drivers.iter().any(|source| source.is_some())
    }

    fn uses(&self, uses: &mut Uses<'_>, i: usize, pod: Option<&str>) {
        if let Some(claim) = &self.persistent_volume_claim {
            uses.add(PodReferenceKind::Claim, Some(&claim.claim_name), || {
                format!("volumes[{i}].persistentVolumeClaim.claimName")
            });
        }
        if let (Some(_), Some(pod)) = (&self.ephemeral, pod) {
            let claim = format!("{pod}-{}", self.name);
            uses.add(PodReferenceKind::Claim, Some(&claim), || format!("volumes[{i}].ephemeral"));
        }
        if let Some(Ephemeral { volume_claim_template: Some(template) }) = &self.ephemeral {
            let prefix = uses.prefix();
            template.add_classes(uses, || {
                format!("{prefix}.volumes[{i}].ephemeral.volumeClaimTemplate")
            });
        }
        if let Some(source) = &self.config_map {
            uses.add(PodReferenceKind::ConfigMap, source.get(), || {
                format!("volumes[{i}].configMap.name")
            });
        }
        if let Some(source) = &self.secret {
            uses.add(PodReferenceKind::Secret, Some(&source.secret_name), || {
                format!("volumes[{i}].secret.secretName")
            });
        }
        for (j, source) in
            self.projected.iter().flat_map(|projected| &projected.sources).enumerate()
        {
            let config_map = source.config_map.as_ref().and_then(Named::get).filter(|name| {
                *name != INJECTED_CONFIG_MAP || !self.name.starts_with(INJECTED_VOLUME)
            });
            uses.add(PodReferenceKind::ConfigMap, config_map, || {
                format!("volumes[{i}].projected.sources[{j}].configMap.name")
            });
            let secret = source.secret.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::Secret, secret, || {
                format!("volumes[{i}].projected.sources[{j}].secret.name")
            });
        }
        if let Some(source) = &self.azure_file {
            uses.add(PodReferenceKind::Secret, Some(&source.secret_name), || {
                format!("volumes[{i}].azureFile.secretName")
            });
        }
        if let Some(source) = &self.csi {
            uses.add(PodReferenceKind::Driver, Some(&source.driver), || {
                format!("volumes[{i}].csi.driver")
            });
            let secret = source.node_publish_secret_ref.as_ref().and_then(Named::get);
            uses.add(PodReferenceKind::Secret, secret, || {
                format!("volumes[{i}].csi.nodePublishSecretRef.name")
            });
        }
        for (field, source) in [
            ("cephfs", &self.cephfs),
            ("cinder", &self.cinder),
            ("flexVolume", &self.flex_volume),
            ("iscsi", &self.iscsi),
            ("rbd", &self.rbd),
            ("scaleIO", &self.scale_io),
            ("storageos", &self.storageos),
        ] {
            let secret = source.as_ref().and_then(|source| source.secret_ref.as_ref());
            uses.add(PodReferenceKind::Secret, secret.and_then(Named::get), || {
                format!("volumes[{i}].{field}.secretRef.name")
            });
        }
    }
}

/// Adds the classes of the claims that are made from a StatefulSet's templates.
pub(super) fn add_classes(uses: &mut Uses<'_>, templates: &[ClaimTemplate]) {
    for (i, template) in templates.iter().enumerate() {
        template.add_classes(uses, || format!("spec.volumeClaimTemplates[{i}]"));
    }
}

impl ClaimTemplate {
    /// Adds the classes of the claims that are made from a template, which is in this field: the default class if the template names
    /// none. With an empty name nothing is provisioned (<https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class-1>).
    /// There is no default VolumeAttributesClass.
    fn add_classes(&self, uses: &mut Uses<'_>, field: impl Fn() -> String) {
        let ClaimSpec { storage_class_name, volume_attributes_class_name } = &self.spec;
        let class = match storage_class_name.as_deref() {
            None => Some((PodReferenceKind::DefaultStorageClass, "")),
            Some(name) => is_name(name).then_some((PodReferenceKind::StorageClass, name)),
        };
        let attributes = volume_attributes_class_name.as_deref().filter(|name| is_name(name));
        let attributes = attributes.map(|name| (PodReferenceKind::VolumeAttributesClass, name));
        for (found, name) in
            [(class, "storageClassName"), (attributes, "volumeAttributesClassName")]
        {
            if let Some((what, class)) = found {
                uses.add_class(what, class, || format!("{}.spec.{name}", field()));
            }
        }
    }
}
