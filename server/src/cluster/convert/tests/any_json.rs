//! No JSON makes the conversion panic.

use super::*;

/// Any JSON, which often holds the field names that are read.
fn any_json() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    let word = prop_oneof![
        proptest::sample::select(vec![
            "metadata",
            "name",
            "namespace",
            "uid",
            "labels",
            "finalizers",
            "ownerReferences",
            "deletionTimestamp",
            "spec",
            "status",
            "template",
            "selector",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
            "values",
            "volumes",
            "containers",
            "args",
            "--provisioner",
            "env",
            "PROVISIONER_NAME",
            "value",
            "envFrom",
            "valueFrom",
            "secretKeyRef",
            "persistentVolumeClaim",
            "claimName",
            "projected",
            "sources",
            "jobTemplate",
            "scaleTargetRef",
            "apiVersion",
            "kind",
            "claimRef",
            "nfs",
            "csi",
            "capacity",
            "rules",
            "http",
            "paths",
            "backend",
            "service",
            "tls",
            "roleRef",
            "subjects",
            "webhooks",
            "clientConfig",
            "group",
            "names",
            "conditions",
            "type",
            "imagePullSecrets",
            "secrets",
            "volumeClaimTemplates",
            "volumeClaimTemplate",
            "storageClassName",
            "ephemeral",
            "dataSourceRef",
            "source",
            "persistentVolumeClaimName",
            "boundVolumeSnapshotContentName",
            "parentRefs",
            "backendRefs",
            "issuerRef",
            "secretName",
            "destination",
            "host",
            "hostPath",
            "path",
        ])
        .prop_map(str::to_owned),
        ".*",
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        word.clone().prop_map(serde_json::Value::from),
        Just(serde_json::Value::from("2026-01-02T03:04:05Z")),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map(word.clone(), inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn nothing_that_is_sent_makes_it_panic(
        of in proptest::sample::select(vec![
            "v1 Pod", "apps/v1 StatefulSet", "v1 ReplicationController", "batch/v1 Job", "batch/v1 CronJob", "v1 Service",
            "v1 PersistentVolumeClaim", "v1 PersistentVolume", "networking.k8s.io/v1 Ingress", "v1 ServiceAccount",
            "networking.k8s.io/v1 NetworkPolicy", "autoscaling/v2 HorizontalPodAutoscaler", "v1 Node", "v1 Secret",
            "policy/v1 PodDisruptionBudget", "rbac.authorization.k8s.io/v1 RoleBinding", "v1 Namespace",
            "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "apiregistration.k8s.io/v1 APIService",
            "apiextensions.k8s.io/v1 CustomResourceDefinition", "snapshot.storage.k8s.io/v1 VolumeSnapshot",
            "snapshot.storage.k8s.io/v1 VolumeSnapshotContent", "storage.k8s.io/v1 StorageClass",
            "gateway.networking.k8s.io/v1 HTTPRoute", "cert-manager.io/v1 Certificate",
            "networking.istio.io/v1 VirtualService", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        ]),
        spec in any_json(), status in any_json(), other in any_json(),
    ) {
        let names = Interner::default();
        let json = serde_json::json!({
            "metadata": {"name": "it", "uid": "u"}, "spec": spec, "status": status,
            "roleRef": {"kind": "Role", "name": "r"}, "subjects": other, "webhooks": other, "secrets": other,
            "provisioner": "p", "driver": "d",
        })
        .to_string();
        let _ = object(&kind(of), &json, &names);
        let _ = object(&kind(of), &other.to_string(), &names);
        let _ = pod_sight(&kind("v1 Pod"), &json, &names);
        let _ = metadata(&kind(of), json.as_bytes());
        crate::cluster::status::message(500, other.to_string().as_bytes());
    }
}
