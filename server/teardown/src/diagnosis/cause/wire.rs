//! A cause as it travels: its name, and beside it the parameters that this cause has. One struct with optional fields, because
//! the code that reads an enum of thirty variants with fields would cost the page ten kilobytes.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Cause, DetachState};
use crate::object::ObjectRef;

/// The name of a cause and its parameters. A name that is not known, as of a newer server, is read as [`Cause::Unknown`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FlatCause {
    code: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_version: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizer: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Arc<str>>,
    /// Containers, claims or resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volumes: Vec<Arc<str>>,
    /// The claim, the Service or the finisher.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectRef>,
    /// Pods and other users, copies, configurations or workloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<ObjectRef>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pre_stop: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    control_plane: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_ready: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    renews: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sub_paths: bool,
    /// The number of nodes that fell silent together.
    #[serde(skip_serializing_if = "is_zero")]
    silent: usize,
    #[serde(with = "crate::millis::optional", skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detach: Option<DetachState>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl From<Cause> for FlatCause {
    fn from(cause: Cause) -> Self {
        let flat = Self { code: cause.name().into(), ..Self::default() };
        match cause {
            Cause::WithinGrace { until, pre_stop } => Self { until: Some(until), pre_stop, ..flat },
            Cause::NodeSilent { node, provider, control_plane, silent, renews } => {
                Self { node: Some(node), provider, control_plane, silent, renews, ..flat }
            }
            Cause::NodeMissing { node }
            | Cause::StaticPod { node }
            | Cause::NeverStarted { node }
            | Cause::SandboxLeft { node }
            | Cause::DevicesLeft { node }
            | Cause::PodDirectoryLeft { node } => Self { node: Some(node), ..flat },
            Cause::ContainersRunning { node, containers, not_ready } => {
                Self { node: Some(node), names: containers, not_ready, ..flat }
            }
            Cause::KubeletUnaware { node, containers: names } => {
                Self { node: Some(node), names, ..flat }
            }
            Cause::VolumesMounted { node, sub_paths } => {
                Self { node: Some(node), sub_paths, ..flat }
            }
            Cause::ClaimGone { node, claims, volumes, sub_paths } => {
                Self { node: Some(node), names: claims, volumes, sub_paths, ..flat }
            }
            Cause::DriverMissing { node, driver, plugin: object } => {
                Self { node: Some(node), driver: Some(driver), object, ..flat }
            }
            Cause::ClaimInUse { pods: objects }
            | Cause::ClaimHeldByCompletedPods { pods: objects }
            | Cause::InUse { users: objects }
            | Cause::KeptForDependents { dependents: objects }
            | Cause::OwnersCircle { owners: objects }
            | Cause::UpdateRejected { webhooks: objects }
            | Cause::Copied { copies: objects } => Self { objects, ..flat },
            Cause::ContentUnseen { resources: names } => Self { names, ..flat },
            Cause::VolumeBound { claim } => Self { object: claim, ..flat },
            Cause::DetachFailed { attacher, node, said } => {
                Self { driver: Some(attacher), node: Some(node), said: Some(said), ..flat }
            }
            Cause::VolumeAttached { attacher, node, volume, detach } => {
                let (driver, node, detach) = (Some(attacher), Some(node), Some(detach));
                Self { driver, node, volume, detach, ..flat }
            }
            Cause::BackendLeft { driver } => Self { driver, ..flat },
            Cause::ApiDown { group_version, service } => {
                Self { group_version: Some(group_version), object: service, ..flat }
            }
            Cause::LooksAgain { controller, group_version } => {
                Self { controller: Some(controller), group_version: Some(group_version), ..flat }
            }
            Cause::WebhookDown { webhook, configurations } => {
                Self { webhook: Some(webhook), objects: configurations, ..flat }
            }
            Cause::WebhookDenies { webhook } => Self { webhook: Some(webhook), ..flat },
            Cause::PolicyDenies { policy } => Self { policy: Some(policy), ..flat },
            Cause::ConversionDown { kind } => Self { kind: Some(kind), ..flat },
            Cause::NamespaceFinalizer { finalizer } => Self { finalizer: Some(finalizer), ..flat },
            Cause::ControllerSilent { controller } => Self { controller: Some(controller), ..flat },
            Cause::FinisherGone { finalizer, deleted: objects }
            | Cause::FinisherUnknown { finalizer, possible: objects } => {
                Self { finalizer: Some(finalizer), objects, ..flat }
            }
            Cause::FinisherNotReady { finalizer, finisher }
            | Cause::FinisherBusy { finalizer, finisher } => {
                Self { finalizer: Some(finalizer), object: Some(finisher), ..flat }
            }
            Cause::ManagedElsewhere { finalizer, manager } => {
                Self { finalizer: Some(finalizer), controller: Some(manager), ..flat }
            }
            Cause::CannotSee { resource } | Cause::Unreadable { resource } => {
                Self { resource: Some(resource), ..flat }
            }
            Cause::ContentRefused
            | Cause::DiscoveryFailed
            | Cause::NamespaceGone
            | Cause::ManagerSilent
            | Cause::LoadBalancerLeft
            | Cause::Unknown => flat,
        }
    }
}

impl From<FlatCause> for Cause {
    fn from(flat: FlatCause) -> Self {
        read(flat).unwrap_or(Self::Unknown)
    }
}

/// The cause; none if it is not known or lacks a parameter.
fn read(flat: FlatCause) -> Option<Cause> {
    let FlatCause { node, driver, finalizer, webhook, object, objects, names, sub_paths, .. } =
        flat;
    Some(match &*flat.code {
        "withinGrace" => Cause::WithinGrace { until: flat.until?, pre_stop: flat.pre_stop },
        "nodeSilent" => Cause::NodeSilent {
            node: node?,
            provider: flat.provider,
            control_plane: flat.control_plane,
            silent: flat.silent,
            renews: flat.renews,
        },
        "nodeMissing" => Cause::NodeMissing { node: node? },
        "kubeletUnaware" => Cause::KubeletUnaware { node: node?, containers: names },
        "staticPod" => Cause::StaticPod { node: node? },
        "neverStarted" => Cause::NeverStarted { node: node? },
        "sandboxLeft" => Cause::SandboxLeft { node: node? },
        "devicesLeft" => Cause::DevicesLeft { node: node? },
        "podDirectoryLeft" => Cause::PodDirectoryLeft { node: node? },
        "containersRunning" => {
            Cause::ContainersRunning { node: node?, containers: names, not_ready: flat.not_ready }
        }
        "volumesMounted" => Cause::VolumesMounted { node: node?, sub_paths },
        "claimGone" => {
            Cause::ClaimGone { node: node?, claims: names, volumes: flat.volumes, sub_paths }
        }
        "driverMissing" => Cause::DriverMissing { node: node?, driver: driver?, plugin: object },
        "claimInUse" => Cause::ClaimInUse { pods: objects },
        "claimHeldByCompletedPods" => Cause::ClaimHeldByCompletedPods { pods: objects },
        "inUse" => Cause::InUse { users: objects },
        "keptForDependents" => Cause::KeptForDependents { dependents: objects },
        "copied" => Cause::Copied { copies: objects },
        "volumeBound" => Cause::VolumeBound { claim: object },
        "detachFailed" => Cause::DetachFailed { attacher: driver?, node: node?, said: flat.said? },
        "volumeAttached" => {
            let (attacher, node, volume) = (driver?, node?, flat.volume);
            Cause::VolumeAttached { attacher, node, volume, detach: flat.detach? }
        }
        "backendLeft" => Cause::BackendLeft { driver },
        "apiDown" => Cause::ApiDown { group_version: flat.group_version?, service: object },
        "looksAgain" => {
            Cause::LooksAgain { controller: flat.controller?, group_version: flat.group_version? }
        }
        "webhookDown" => Cause::WebhookDown { webhook: webhook?, configurations: objects },
        "webhookDenies" => Cause::WebhookDenies { webhook: webhook? },
        "policyDenies" => Cause::PolicyDenies { policy: flat.policy? },
        "conversionDown" => Cause::ConversionDown { kind: flat.kind? },
        "unreadable" => Cause::Unreadable { resource: flat.resource? },
        "updateRejected" => Cause::UpdateRejected { webhooks: objects },
        "contentRefused" => Cause::ContentRefused,
        "discoveryFailed" => Cause::DiscoveryFailed,
        "namespaceFinalizer" => Cause::NamespaceFinalizer { finalizer: finalizer? },
        "contentUnseen" => Cause::ContentUnseen { resources: names },
        "namespaceGone" => Cause::NamespaceGone,
        "managerSilent" => Cause::ManagerSilent,
        "controllerSilent" => Cause::ControllerSilent { controller: flat.controller? },
        "finisherGone" => Cause::FinisherGone { finalizer: finalizer?, deleted: objects },
        "finisherNotReady" => Cause::FinisherNotReady { finalizer: finalizer?, finisher: object? },
        "finisherBusy" => Cause::FinisherBusy { finalizer: finalizer?, finisher: object? },
        "finisherUnknown" => Cause::FinisherUnknown { finalizer: finalizer?, possible: objects },
        "ownersCircle" => Cause::OwnersCircle { owners: objects },
        "managedElsewhere" => {
            Cause::ManagedElsewhere { finalizer: finalizer?, manager: flat.controller? }
        }
        "loadBalancerLeft" => Cause::LoadBalancerLeft,
        "cannotSee" => Cause::CannotSee { resource: flat.resource? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Cause> {
        let text = || Arc::<str>::from("x");
        let object = || ObjectRef {
            group: "apps".into(),
            kind: "Deployment".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        };
        vec![
            Cause::WithinGrace { until: Timestamp::UNIX_EPOCH, pre_stop: true },
            Cause::NodeSilent {
                node: text(),
                provider: None,
                control_plane: true,
                silent: 2,
                renews: true,
            },
            Cause::NodeMissing { node: text() },
            Cause::ContainersRunning { node: text(), containers: vec![text()], not_ready: true },
            Cause::KubeletUnaware { node: text(), containers: vec![text()] },
            Cause::StaticPod { node: text() },
            Cause::NeverStarted { node: text() },
            Cause::SandboxLeft { node: text() },
            Cause::DevicesLeft { node: text() },
            Cause::VolumesMounted { node: text(), sub_paths: true },
            Cause::ClaimGone {
                node: text(),
                claims: vec![text()],
                volumes: vec![text()],
                sub_paths: false,
            },
            Cause::DriverMissing { node: text(), driver: text(), plugin: Some(object()) },
            Cause::PodDirectoryLeft { node: text() },
            Cause::ClaimInUse { pods: vec![object()] },
            Cause::ClaimHeldByCompletedPods { pods: vec![object()] },
            Cause::InUse { users: vec![object()] },
            Cause::KeptForDependents { dependents: vec![object()] },
            Cause::Copied { copies: vec![object()] },
            Cause::VolumeBound { claim: Some(object()) },
            Cause::DetachFailed { attacher: text(), node: text(), said: text() },
            Cause::VolumeAttached {
                attacher: text(),
                node: text(),
                volume: Some(text()),
                detach: DetachState::NotAttached,
            },
            Cause::BackendLeft { driver: None },
            Cause::ApiDown { group_version: text(), service: Some(object()) },
            Cause::LooksAgain { controller: text(), group_version: text() },
            Cause::WebhookDown { webhook: text(), configurations: vec![object()] },
            Cause::WebhookDenies { webhook: text() },
            Cause::PolicyDenies { policy: text() },
            Cause::ConversionDown { kind: text() },
            Cause::Unreadable { resource: text() },
            Cause::UpdateRejected { webhooks: vec![object()] },
            Cause::ContentRefused,
            Cause::DiscoveryFailed,
            Cause::NamespaceFinalizer { finalizer: text() },
            Cause::ContentUnseen { resources: vec![text()] },
            Cause::NamespaceGone,
            Cause::ManagerSilent,
            Cause::ControllerSilent { controller: text() },
            Cause::FinisherGone { finalizer: text(), deleted: vec![object()] },
            Cause::OwnersCircle { owners: vec![object()] },
            Cause::FinisherNotReady { finalizer: text(), finisher: object() },
            Cause::FinisherBusy { finalizer: text(), finisher: object() },
            Cause::FinisherUnknown { finalizer: text(), possible: vec![object()] },
            Cause::ManagedElsewhere { finalizer: text(), manager: text() },
            Cause::LoadBalancerLeft,
            Cause::CannotSee { resource: text() },
            Cause::Unknown,
        ]
    }

    #[test]
    fn cause_is_read_as_it_was_written() {
        let names: std::collections::BTreeSet<&str> = all().iter().map(Cause::name).collect();
        assert_eq!(names.len(), all().len(), "each cause once");
        assert_eq!(names, Cause::NAMES.into(), "all names are listed");
        for cause in all() {
            let json = serde_json::to_string(&cause).unwrap();
            assert_eq!(serde_json::from_str::<Cause>(&json).unwrap(), cause, "{json}");
        }
    }

    #[test]
    fn cause_of_a_newer_server_is_unknown() {
        let read = |json: &str| serde_json::from_str::<Cause>(json).unwrap();
        assert_eq!(read(r#"{"code":"newCause","node":"x"}"#), Cause::Unknown);
        assert_eq!(read(r#"{"code":"nodeMissing"}"#), Cause::Unknown, "a parameter is missing");
    }
}
