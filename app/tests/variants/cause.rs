//! The causes for which deletions wait.

use teardown::diagnosis::{Cause, DetachState};

use super::{at, every, node, object, shared};

/// Every cause.
pub(crate) fn causes() -> Vec<Cause> {
    let on = || shared("node");
    every! { Cause:
        Cause::WithinGrace { .. } => Cause::WithinGrace { until: at(), pre_stop: true },
        Cause::NodeSilent { .. } => Cause::NodeSilent {
            node: on(),
            provider: Some(shared("aws:///i-07")),
            control_plane: true,
            silent: 2,
            renews: true,
        },
        Cause::NodeMissing { .. } => Cause::NodeMissing { node: on() },
        Cause::ContainersRunning { .. } => Cause::ContainersRunning {
            node: on(),
            containers: vec![shared("web")],
            not_ready: true,
        },
        Cause::KubeletUnaware { .. } => Cause::KubeletUnaware {
            node: on(),
            containers: vec![shared("web")],
        },
        Cause::StaticPod { .. } => Cause::StaticPod { node: on() },
        Cause::NeverStarted { .. } => Cause::NeverStarted { node: on() },
        Cause::SandboxLeft { .. } => Cause::SandboxLeft { node: on() },
        Cause::DevicesLeft { .. } => Cause::DevicesLeft { node: on() },
        Cause::VolumesMounted { .. } => Cause::VolumesMounted { node: on(), sub_paths: true },
        Cause::ClaimGone { .. } => Cause::ClaimGone {
            node: on(),
            claims: vec![shared("data")],
            volumes: vec![shared("pv")],
            sub_paths: true,
        },
        Cause::DriverMissing { .. } => {
            Cause::DriverMissing { node: on(), driver: shared("csi"), plugin: None }
        },
        Cause::PodDirectoryLeft { .. } => Cause::PodDirectoryLeft { node: on() },
        Cause::ClaimInUse { .. } => Cause::ClaimInUse { pods: vec![object("pod")] },
        Cause::ClaimHeldByCompletedPods { .. } => Cause::ClaimHeldByCompletedPods { pods: vec![object("pod")] },
        Cause::InUse { .. } => Cause::InUse { users: vec![object("claim")] },
        Cause::KeptForDependents { .. } => Cause::KeptForDependents { dependents: vec![object("pool")] },
        Cause::Copied { .. } => Cause::Copied { copies: vec![object("clone")] },
        Cause::VolumeBound { .. } => Cause::VolumeBound { claim: Some(object("claim")) },
        Cause::DetachFailed { .. } => Cause::DetachFailed {
            attacher: shared("csi"),
            node: on(),
            said: shared("timeout"),
        },
        Cause::VolumeAttached { .. } => Cause::VolumeAttached {
            attacher: shared("csi"),
            node: on(),
            volume: Some(shared("pv")),
            detach: DetachState::InUse,
        },
        Cause::BackendLeft { .. } => Cause::BackendLeft { driver: Some(shared("csi")) },
        Cause::ApiDown { .. } => Cause::ApiDown {
            group_version: shared("metrics.k8s.io/v1beta1"),
            service: Some(object("metrics")),
        },
        Cause::LooksAgain { .. } => Cause::LooksAgain {
            controller: shared("namespace-controller"),
            group_version: shared("metrics.k8s.io/v1beta1"),
        },
        Cause::WebhookDown { .. } => Cause::WebhookDown { webhook: shared("guard"), configurations: vec![node()] },
        Cause::WebhookDenies { .. } => Cause::WebhookDenies { webhook: shared("guard") },
        Cause::PolicyDenies { .. } => Cause::PolicyDenies { policy: shared("policy") },
        Cause::ConversionDown { .. } => Cause::ConversionDown { kind: shared("example.com/v1, Kind=Widget") },
        Cause::Unreadable { .. } => Cause::Unreadable { resource: shared("secrets") },
        Cause::UpdateRejected { .. } => Cause::UpdateRejected { webhooks: vec![node()] },
        Cause::ManagedElsewhere { .. } => Cause::ManagedElsewhere {
            finalizer: shared("batch.kubernetes.io/job-tracking"),
            manager: shared("kueue.x-k8s.io/multikueue"),
        },
        Cause::ContentRefused => Cause::ContentRefused,
        Cause::DiscoveryFailed => Cause::DiscoveryFailed,
        Cause::NamespaceFinalizer { .. } => Cause::NamespaceFinalizer { finalizer: shared("a/b") },
        Cause::ContentUnseen { .. } => Cause::ContentUnseen {
            resources: vec![shared("endpointslices.discovery.k8s.io")],
        },
        Cause::NamespaceGone => Cause::NamespaceGone,
        Cause::ManagerSilent => Cause::ManagerSilent,
        Cause::ControllerSilent { .. } => Cause::ControllerSilent { controller: shared("pv-protection") },
        Cause::OwnersCircle { .. } => Cause::OwnersCircle { owners: vec![object("a"), object("b")] },
        Cause::FinisherGone { .. } => Cause::FinisherGone {
            finalizer: shared("a/b"),
            deleted: vec![object("operator")],
        },
        Cause::FinisherNotReady { .. } => Cause::FinisherNotReady {
            finalizer: shared("a/b"),
            finisher: object("operator"),
        },
        Cause::FinisherBusy { .. } => Cause::FinisherBusy {
            finalizer: shared("a/b"),
            finisher: object("operator"),
        },
        Cause::FinisherUnknown { .. } => Cause::FinisherUnknown {
            finalizer: shared("a/b"),
            possible: vec![object("operator")],
        },
        Cause::LoadBalancerLeft => Cause::LoadBalancerLeft,
        Cause::CannotSee { .. } => Cause::CannotSee { resource: shared("pods") },
        Cause::Unknown => Cause::Unknown,
    }
}
