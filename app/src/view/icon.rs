//! Icons from the sprite.

use leptos::prelude::*;

use crate::ICONS;
pub use crate::state::mark::of_state;

/// A symbol of the sprite, as decoration: the word stands beside it.
pub fn icon(name: &str) -> AnyView {
    let href = format!("{ICONS}#{name}");
    view! { <svg class="icon" width="16" height="16" aria-hidden="true"><use href=href></use></svg> }.into_any()
}

/// The symbol of a kind; one for all kinds that have none of their own.
pub fn of_kind(kind: &str) -> &'static str {
    match kind {
        "Pod" => "kind-pod",
        "Deployment" => "kind-deployment",
        "ReplicaSet" | "ReplicationController" => "kind-replicaset",
        "StatefulSet" => "kind-statefulset",
        "DaemonSet" => "kind-daemonset",
        "Job" => "kind-job",
        "CronJob" => "kind-cronjob",
        "Service" | "Endpoints" | "EndpointSlice" => "kind-service",
        "Ingress" | "HTTPRoute" | "Gateway" | "GRPCRoute" => "kind-ingress",
        "IngressClass" | "StorageClass" | "GatewayClass" | "PriorityClass" => "kind-class",
        "ConfigMap" => "kind-configmap",
        "Secret" => "kind-secret",
        "PersistentVolumeClaim" => "kind-claim",
        "PersistentVolume" | "VolumeAttachment" => "kind-volume",
        "Namespace" => "kind-namespace",
        "Node" => "kind-node",
        "ServiceAccount" => "kind-account",
        "Role" | "ClusterRole" => "kind-role",
        "RoleBinding" | "ClusterRoleBinding" => "kind-binding",
        "HorizontalPodAutoscaler" | "ScaledObject" => "kind-autoscaler",
        "PodDisruptionBudget" => "kind-budget",
        "NetworkPolicy" => "kind-policy",
        "CustomResourceDefinition" => "kind-definition",
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => "kind-webhook",
        "APIService" => "kind-apiservice",
        "VolumeSnapshot" | "VolumeSnapshotContent" => "kind-snapshot",
        "Lease" => "kind-lease",
        "ResourceQuota" | "LimitRange" => "kind-quota",
        _ => "kind-other",
    }
}
