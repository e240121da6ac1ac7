//! The names that specs refer to.

use teardown::object::{References, Sidecars};

use super::*;

/// The references of an object of a kind: kind, namespace and name, and the field.
fn names(of: &str, spec: &str) -> Vec<String> {
    let references = references(of, &format!(r#""spec": {spec}"#));
    let line = |it: &teardown::object::Reference| {
        let namespace = it.namespace.as_deref().map(|it| format!("{it}/")).unwrap_or_default();
        let group = if it.group.is_empty() { String::new() } else { format!(".{}", it.group) };
        format!("{}{group} {namespace}{} by {}", it.kind, it.name, it.field)
    };
    references.names.iter().map(line).collect()
}

fn references(of: &str, rest: &str) -> References {
    match read(of, rest).facts {
        Facts::References(references) => *references,
        Facts::Parent(parent) => References { names: parent.names, ..References::default() },
        Facts::None => References::default(),
        _ => panic!("no references"),
    }
}

#[test]
fn routes_and_gateways() {
    assert_eq!(
        names(
            "gateway.networking.k8s.io/v1 HTTPRoute",
            r#"{"parentRefs": [{"name": "public", "namespace": "edge"}, {"kind": "Service", "group": "", "name": "mesh"}],
                "hostnames": ["shop.example"],
                "rules": [{"backendRefs": [{"name": "web", "port": 80, "weight": 9}, {"name": "web", "port": 81}]},
                          {"filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "copy"}}}],
                           "backendRefs": [{"group": "example.com", "kind": "Bucket", "name": "static"}]}]}"#
        ),
        [
            "Gateway.gateway.networking.k8s.io edge/public by spec.parentRefs[0]",
            "Service mesh by spec.parentRefs[1]",
            "Service web by spec.rules[0].backendRefs[0]",
            "Bucket.example.com static by spec.rules[1].backendRefs[0]",
            "Service copy by spec.rules[1].filters[0].requestMirror.backendRef",
        ]
    );
    assert_eq!(
        names(
            "gateway.networking.k8s.io/v1 Gateway",
            r#"{"gatewayClassName": "envoy", "listeners": [{"tls": {"certificateRefs": [{"name": "tls"}]}}, {"tls": null}]}"#
        ),
        [
            "GatewayClass.gateway.networking.k8s.io envoy by spec.gatewayClassName",
            "Secret tls by spec.listeners[0].tls.certificateRefs[0]",
        ]
    );
    assert_eq!(
        names(
            "networking.istio.io/v1 VirtualService",
            r#"{"gateways": ["mesh", "edge/public"], "http": [{"route": [
                {"destination": {"host": "web"}}, {"destination": {"host": "api.other.svc.cluster.local"}},
                {"destination": {"host": "www.example.com"}}, {"destination": {"host": 7}}]}]}"#
        ),
        [
            "Gateway.networking.istio.io mesh by spec.gateways[0]",
            "Gateway.networking.istio.io edge/public by spec.gateways[1]",
            "Service web by spec.http[0].route[0].destination.host",
            "Service other/api by spec.http[0].route[1].destination.host",
        ]
    );
}

#[test]
fn policies_listeners_and_certificates_of_gateway_api() {
    for (of, spec, expected) in [
        (
            "gateway.networking.k8s.io/v1 BackendTLSPolicy",
            r#"{"targetRefs": [{"group": "", "kind": "Service", "name": "web", "sectionName": "https"}],
                "validation": {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}], "hostname": "web"}}"#,
            vec![
                "Service web by spec.targetRefs[0]",
                "ConfigMap ca by spec.validation.caCertificateRefs[0]",
            ],
        ),
        (
            "gateway.networking.k8s.io/v1 ListenerSet",
            r#"{"parentRef": {"name": "public", "namespace": "edge"},
                "listeners": [{"name": "https", "tls": {"certificateRefs": [{"name": "tls"}]}}]}"#,
            vec![
                "Gateway.gateway.networking.k8s.io edge/public by spec.parentRef",
                "Secret tls by spec.listeners[0].tls.certificateRefs[0]",
            ],
        ),
        (
            "gateway.networking.x-k8s.io/v1alpha1 XListenerSet",
            r#"{"parentRef": {"name": "public"}}"#,
            vec!["Gateway.gateway.networking.k8s.io public by spec.parentRef"],
        ),
        (
            "gateway.networking.k8s.io/v1 Gateway",
            r#"{"tls": {"backend": {"clientCertificateRef": {"name": "client"}},
                "frontend": {"default": {"validation": {"caCertificateRefs": [{"kind": "ConfigMap", "name": "ca", "group": ""}]}},
                    "perPort": [{"port": 444, "tls": {"validation": {"caCertificateRefs": [{"kind": "Secret", "name": "ca2", "group": ""}]}}}]}}}"#,
            vec![
                "Secret client by spec.tls.backend.clientCertificateRef",
                "ConfigMap ca by spec.tls.frontend.default.validation.caCertificateRefs[0]",
                "Secret ca2 by spec.tls.frontend.perPort[0].tls.validation.caCertificateRefs[0]",
            ],
        ),
    ] {
        assert_eq!(names(of, spec), expected, "{of}");
    }
}

#[test]
fn gateway_of_istio_names_secrets_and_selects_its_proxies() {
    let gateway = "networking.istio.io/v1 Gateway";
    assert_eq!(
        names(
            gateway,
            r#"{"selector": {"istio": "ingressgateway"}, "servers": [
                {"port": {"name": "https", "number": 443}, "tls": {"mode": "MUTUAL", "credentialName": "web"}},
                {"tls": {"credentialNames": ["rsa", "kubernetes://edge/ecdsa"], "caCertCredentialName": "configmap://edge/ca"}},
                {"tls": {"credentialName": "sds://web"}}, {"tls": {"credentialName": ""}}, {"tls": {"credentialName": 7}}]}"#
        ),
        [
            "Secret web by spec.servers[0].tls.credentialName",
            "Secret web-cacert by spec.servers[0].tls.credentialName",
            "Secret rsa by spec.servers[1].tls.credentialNames[0]",
            "Secret rsa-cacert by spec.servers[1].tls.credentialNames[0]",
            "Secret edge/ecdsa by spec.servers[1].tls.credentialNames[1]",
            "Secret edge/ecdsa-cacert by spec.servers[1].tls.credentialNames[1]",
            "ConfigMap edge/ca by spec.servers[1].tls.caCertCredentialName",
        ]
    );
    let proxies = |selector: &str| {
        let spec = format!(
            r#"{{"selector": {selector}, "servers": [{{"tls": {{"credentialName": "web"}}}}]}}"#
        );
        references(gateway, &format!(r#""spec": {spec}"#)).proxies.map(|it| it.to_string())
    };
    assert_eq!(
        proxies(r#"{"istio": "ingressgateway", "odd": 7}"#).as_deref(),
        Some("istio=ingressgateway")
    );
    for none in ["null", "{}", "[]", "7"] {
        assert_eq!(proxies(none), None, "{none}");
    }
}

#[test]
fn classes_name_their_controller_or_driver() {
    let driver = |of: &str, rest: &str| references(of, rest).drivers.first().cloned();
    let of_class = driver("storage.k8s.io/v1 StorageClass", r#""provisioner": "disk.example""#);
    assert_eq!(of_class.as_deref(), Some("disk.example"));
    let of_snapshots = driver("snapshot.storage.k8s.io/v1 VolumeSnapshotClass", r#""driver": "d""#);
    assert_eq!(of_snapshots.as_deref(), Some("d"));
    let of_attributes =
        driver("storage.k8s.io/v1 VolumeAttributesClass", r#""driverName": "d", "driver": null"#);
    assert_eq!(of_attributes.as_deref(), Some("d"));
    assert_eq!(driver("storage.k8s.io/v1 StorageClass", r#""provisioner": """#), None);
    let class = references(
        "networking.k8s.io/v1 IngressClass",
        r#""spec": {"controller": "k8s.io/ingress-nginx",
            "parameters": {"apiGroup": "example.com", "kind": "Params", "name": "p", "scope": "Cluster"}}"#,
    );
    assert_eq!(class.controller.as_deref(), Some("k8s.io/ingress-nginx"));
    assert_eq!((&*class.names[0].kind, &*class.names[0].name), ("Params", "p"));
    let class = references(
        "gateway.networking.k8s.io/v1 GatewayClass",
        r#""spec": {"controllerName": "example.com/c"}"#,
    );
    assert_eq!(class.controller.as_deref(), Some("example.com/c"));
}

#[test]
fn resource_claim_names_the_drivers_of_its_devices() {
    let drivers = |of: &str, driver: &str| {
        let results = format!(
            r#"[{{"driver": {driver}}}, {{"driver": "nic.example"}}, {{"driver": "nic.example"}}, {{}}]"#
        );
        let status = format!(r#"{{"allocation": {{"devices": {{"results": {results}}}}}}}"#);
        references(of, &format!(r#""spec": {{"devices": {{"requests": [{{"deviceClassName": "gpu"}}]}}}}, "status": {status}"#))
            .drivers
    };
    let claim = "resource.k8s.io/v1 ResourceClaim";
    assert_eq!(*drivers(claim, r#""gpu.example""#), ["gpu.example".into(), "nic.example".into()]);
    assert_eq!(*drivers(claim, "7"), ["nic.example".into()]);
    assert_eq!(*drivers("resource.k8s.io/v1 ResourceClaimTemplate", r#""gpu.example""#), []);
    let unallocated = |status: &str| {
        references(claim, &format!(r#""spec": {{"devices": {{"requests": [{{"deviceClassName": "gpu"}}]}}}}, "status": {status}"#))
            .drivers
    };
    for status in ["null", "{}", "[]", r#"{"allocation": null}"#] {
        assert_eq!(*unallocated(status), [], "{status}");
    }
}

#[test]
fn custom_resources_of_widespread_projects() {
    for (of, spec, expected) in [
        (
            "cert-manager.io/v1 Certificate",
            r#"{"secretName": "web-tls", "issuerRef": {"kind": "ClusterIssuer", "name": "ca"}}"#,
            vec![
                "Secret web-tls by spec.secretName",
                "ClusterIssuer.cert-manager.io ca by spec.issuerRef",
            ],
        ),
        (
            "external-secrets.io/v1 ExternalSecret",
            r#"{"target": {"name": "db"}, "secretStoreRef": {"name": "vault", "kind": "SecretStore"}}"#,
            vec![
                "Secret db by spec.target.name",
                "SecretStore.external-secrets.io vault by spec.secretStoreRef",
            ],
        ),
        (
            "keda.sh/v1alpha1 ScaledObject",
            r#"{"scaleTargetRef": {"name": "web"}, "triggers": [{"authenticationRef": {"name": "a"}}, {}]}"#,
            vec![
                "Deployment.apps web by spec.scaleTargetRef",
                "TriggerAuthentication.keda.sh a by spec.triggers[0].authenticationRef",
            ],
        ),
        (
            "autoscaling.k8s.io/v1 VerticalPodAutoscaler",
            r#"{"targetRef": {"apiVersion": "v1", "kind": "ReplicationController", "name": "web"}}"#,
            vec!["ReplicationController web by spec.targetRef"],
        ),
        (
            "s3.aws.upbound.io/v1beta1 Bucket",
            r#"{"providerConfigRef": {"name": "main"}, "writeConnectionSecretToRef": {"name": "c", "namespace": "ops"}}"#,
            vec![
                "ProviderConfig.s3.aws.upbound.io main by spec.providerConfigRef",
                "Config.s3.aws.upbound.io main by spec.providerConfigRef",
                "Secret ops/c by spec.writeConnectionSecretToRef",
            ],
        ),
        (
            "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
            r#"{"policyName": "limits", "paramRef": {"name": "most", "namespace": "ops"}}"#,
            vec![
                "ValidatingAdmissionPolicy.admissionregistration.k8s.io limits by spec.policyName",
                " ops/most by spec.paramRef",
            ],
        ),
        (
            "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
            r#"{"paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}}"#,
            vec!["Limit.example.com  by spec.paramKind"],
        ),
        (
            "route.openshift.io/v1 Route",
            r#"{"to": {"kind": "Service", "name": "web"}, "alternateBackends": [{"kind": "Service", "name": "next"}]}"#,
            vec!["Service web by spec.to", "Service next by spec.alternateBackends[0]"],
        ),
        (
            "keda.sh/v1alpha1 TriggerAuthentication",
            r#"{"secretTargetRef": [{"parameter": "password", "name": "db", "key": "password"}],
                "configMapTargetRef": [{"parameter": "host", "name": "hosts", "key": "db"}]}"#,
            vec![
                "ConfigMap hosts by spec.configMapTargetRef[0]",
                "Secret db by spec.secretTargetRef[0]",
            ],
        ),
        (
            "projectcontour.io/v1 HTTPProxy",
            r#"{"virtualhost": {"tls": {"secretName": "certs/web"}}, "routes": [{"services": [{"name": "web", "port": 80}]}]}"#,
            vec![
                "Service web by spec.routes[0].services[0]",
                "Secret certs/web by spec.virtualhost.tls.secretName",
            ],
        ),
    ] {
        assert_eq!(names(of, spec), expected, "{of}");
    }
}

#[test]
fn odd_specs_name_nothing() {
    let long = "x".repeat(254);
    for spec in [
        "null".to_owned(),
        "7".to_owned(),
        r#"{"secretName": "", "issuerRef": "ca"}"#.to_owned(),
        r#"{"secretName": ["a"], "issuerRef": {"name": {"a": 1}}}"#.to_owned(),
        format!(r#"{{"secretName": "{long}", "issuerRef": {{"name": "ca", "kind": "{long}"}}}}"#),
    ] {
        assert_eq!(names("cert-manager.io/v1 Certificate", &spec), [""; 0], "{spec}");
    }
    let many: Vec<String> = (0..500).map(|i| format!(r#"{{"name": "s{i}"}}"#)).collect();
    let spec = format!(
        r#"{{"rules": [{{"backendRefs": [{0}]}}, {{"backendRefs": [{0}]}}]}}"#,
        many.join(",")
    );
    assert_eq!(names("gateway.networking.k8s.io/v1 HTTPRoute", &spec).len(), 64);
}

#[test]
fn kinds_with_references_are_requested_whole_and_others_are_not() {
    assert_eq!(media_type(&kind("cert-manager.io/v1 Certificate")), "application/json");
    assert_eq!(media_type(&kind("snapshot.storage.k8s.io/v1 VolumeSnapshot")), "application/json");
    assert_eq!(media_type(&kind("example.com/v1 Widget")), "application/json");
    assert!(media_type(&kind("metrics.k8s.io/v1beta1 PodMetrics")).starts_with(METADATA));
    assert!(media_type(&kind("storage.k8s.io/v1 CSIDriver")).starts_with(METADATA));
}

#[test]
fn snapshot_and_copies() {
    let snapshot = |rest: &str| match read("snapshot.storage.k8s.io/v1 VolumeSnapshot", rest).facts
    {
        Facts::Snapshot(snapshot) => *snapshot,
        _ => panic!(),
    };
    let taken = snapshot(
        r#""spec": {"source": {"persistentVolumeClaimName": "data"}, "volumeSnapshotClassName": "snap"},
           "status": {"boundVolumeSnapshotContentName": "c", "readyToUse": true, "restoreSize": "1Gi"}"#,
    );
    assert_eq!((taken.claim.as_deref(), taken.content.as_deref()), (Some("data"), Some("c")));
    assert_eq!((taken.class.as_deref(), taken.ready), (Some("snap"), true));
    let given = snapshot(
        r#""spec": {"source": {"volumeSnapshotContentName": "c"}}, "status": {"readyToUse": null}"#,
    );
    assert_eq!((given.claim, given.content.as_deref(), given.ready), (None, Some("c"), false));
    assert_eq!(snapshot(r#""spec": null"#), teardown::object::Snapshot::default());

    let claim = |rest: &str| match read("v1 PersistentVolumeClaim", rest).facts {
        Facts::Claim(claim) => *claim,
        _ => panic!(),
    };
    let restored = claim(
        r#""spec": {"volumeAttributesClassName": "gold",
            "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"},
            "dataSourceRef": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s", "namespace": "lab"}}"#,
    );
    let source = restored.source.unwrap();
    assert_eq!((&*source.field, source.namespace.as_deref()), ("spec.dataSourceRef", Some("lab")));
    assert_eq!((&*source.group, &*source.name), ("snapshot.storage.k8s.io", "s"));
    assert_eq!(restored.attributes.as_deref(), Some("gold"));
    let cloned = claim(
        r#""spec": {"dataSource": {"apiGroup": null, "kind": "PersistentVolumeClaim", "name": "data"}, "dataSourceRef": {}}"#,
    );
    let source = cloned.source.unwrap();
    assert_eq!((&*source.field, &*source.group), ("spec.dataSource", ""));
    assert_eq!(
        claim(r#""spec": {"dataSource": null, "volumeAttributesClassName": ""}"#),
        Claim::default()
    );
}

#[test]
fn pods_name_their_classes_and_workloads_their_drivers() {
    let spec = r#"{"priorityClassName": "high", "runtimeClassName": "gvisor", "resourceClaims": [
        {"name": "a", "resourceClaimName": "gpu"}, {"name": "b", "resourceClaimTemplateName": "gpus"}, {}],
        "volumes": [{"name": "plugin", "hostPath": {"path": "/var/lib/kubelet/plugins/disk.csi.example/"}},
            {"name": "own", "hostPath": {"path": "/var/lib/kubelet/plugins/kubernetes.io/csi"}},
            {"name": "all", "hostPath": {"path": "/var/lib/kubelet/plugins"}},
            {"name": "other", "hostPath": {"path": "/opt/plugins/a.example"}}, {"name": "odd", "hostPath": {"path": null}}]}"#;
    let Facts::Pod(pod) = read("v1 Pod", &format!(r#""spec": {spec}"#)).facts else { panic!() };
    assert_eq!(
        lines(&pod.uses),
        [
            "PriorityClass high by spec.priorityClassName",
            "RuntimeClass gvisor by spec.runtimeClassName",
            "ResourceClaim gpu by spec.resourceClaims[0].resourceClaimName",
            "ResourceClaimTemplate gpus by spec.resourceClaims[1].resourceClaimTemplateName",
        ]
    );
    let set = read("apps/v1 DaemonSet", &format!(r#""spec": {{"template": {{"spec": {spec}}}}}"#));
    let Facts::Workload(set) = set.facts else { panic!() };
    assert_eq!(*set.drivers, ["disk.csi.example".into()]);
}

#[test]
fn workload_keeps_which_csi_sidecars_its_containers_are() {
    let sidecars = |containers: &str| {
        let template = format!(r#"{{"template": {{"spec": {{"containers": {containers}}}}}}}"#);
        let object = read("apps/v1 Deployment", &format!(r#""spec": {template}"#));
        let Facts::Workload(workload) = object.facts else { panic!() };
        let Sidecars { provisioner, attacher } = workload.sidecars;
        (provisioner, attacher)
    };
    let both = r#"[{"name": "csi-provisioner"}, {"name": "b", "image": "registry.k8s.io/sig-storage/csi-attacher:v4.8.0"}]"#;
    assert_eq!(sidecars(both), (true, true));
    let by_digest =
        r#"[{"name": null, "image": "mirror.example/csi/external-attacher@sha256:0f"}]"#;
    assert_eq!(sidecars(by_digest), (false, true));
    // A folder of a registry is no name.
    let neither = r#"[{"name": "csi-resizer", "image": "mirror.example/provisioner/csi-resizer:v1"}, {"image": null}]"#;
    assert_eq!(sidecars(neither), (false, false));
    let init = r#"[], "initContainers": [{"name": "csi-provisioner", "restartPolicy": "Always"}]"#;
    assert_eq!(sidecars(init), (true, false));
}

#[test]
fn custom_resource_of_an_unknown_kind_names_what_it_needs() {
    for (spec, expected) in [
        (
            r#"{"sourceTopicRef": {"name": "orders"}, "size": 3}"#,
            vec![
                "SourceTopic.example.com orders by spec.sourceTopicRef",
                "Topic.example.com orders by spec.sourceTopicRef",
            ],
        ),
        (r#"{"brokerName": "main"}"#, vec!["Broker.example.com main by spec.brokerName"]),
        (
            r#"{"forProvider": {"vpcIdRef": {"name": "net"}, "vpcId": "vpc-123"}}"#,
            vec![
                "Vpc.example.com net by spec.forProvider.vpcIdRef",
                "VPC.example.com net by spec.forProvider.vpcIdRef",
            ],
        ),
        (
            r#"{"brokerRefs": [{"name": "a", "namespace": "ops"}, {"name": "b"}], "topicNames": ["c", 7]}"#,
            vec![
                "Broker.example.com ops/a by spec.brokerRefs[0]",
                "Broker.example.com b by spec.brokerRefs[1]",
                "Topic.example.com c by spec.topicNames[0]",
            ],
        ),
        (
            r#"{"target": {"apiVersion": "other.example/v1", "kind": "Pool", "name": "p"},
                "workload": {"kind": "StatefulSet", "name": "db"}, "sink": {"kind": "Sink", "name": "s"},
                "backup": {"kind": "Secret", "name": "k"}}"#,
            vec![
                "Secret k by spec.backup",
                "Sink.example.com s by spec.sink",
                "Pool.other.example p by spec.target",
                "StatefulSet.apps db by spec.workload",
            ],
        ),
        (
            r#"{"credentialsSecret": {"name": "a"}, "existingSecret": "b", "tls": {"secretName": "c"},
                "imagePullSecrets": [{"name": "d"}], "serviceAccountName": "e", "configMap": "f",
                "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "g", "key": "k"}}}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "h"}}], "serviceName": "i"}"#,
            vec![
                "ConfigMap f by spec.configMap",
                "Secret a by spec.credentialsSecret",
                "Secret g by spec.env[0].valueFrom.secretKeyRef",
                "Secret b by spec.existingSecret",
                "Secret d by spec.imagePullSecrets[0]",
                "ServiceAccount e by spec.serviceAccountName",
                "Service i by spec.serviceName",
                "Secret c by spec.tls.secretName",
                "PersistentVolumeClaim h by spec.volumes[0].persistentVolumeClaim.claimName",
            ],
        ),
        (
            r#"{"deploymentName": "web", "storageClassName": "fast", "clientSecret": "S3cr3t/Value="}"#,
            vec![
                "Deployment.apps web by spec.deploymentName",
                "StorageClass.storage.k8s.io fast by spec.storageClassName",
                "Class.example.com fast by spec.storageClassName",
            ],
        ),
        (
            r#"{"name": "x", "names": ["y"], "ref": "z", "claimRef": {"kind": "Claim", "name": "c"},
                "displayname": "d", "topicRef": {"namespace": "ops"}, "brokerName": "", "secret": {"key": "k"}}"#,
            vec![],
        ),
    ] {
        assert_eq!(names("example.com/v1 Widget", spec), expected, "{spec}");
    }
}

#[test]
fn huge_spec_of_a_custom_resource_is_read_in_part() {
    let deep = |levels: usize| {
        format!(r#"{}"topicName": "t"{}"#, r#"{"a": "#.repeat(levels) + "{", "}".repeat(levels + 1))
    };
    assert_eq!(names("example.com/v1 Widget", &deep(3)).len(), 1);
    assert_eq!(names("example.com/v1 Widget", &deep(40)), [""; 0]);
    assert_eq!(names("example.com/v1 Widget", &deep(200)), [""; 0], "its kind stays readable");
    let driver = read("example.com/v1 Widget", r#""driver": {"a": 1}, "provisioner": [7]"#);
    assert_eq!(driver.facts, Facts::None);
    let key = |key: &str| format!(r#"{{"{key}": {{"topicName": "t"}}}}"#);
    assert_eq!(names("example.com/v1 Widget", &key(&"k".repeat(300))), [""; 0]);
    assert_eq!(names("example.com/v1 Widget", &key("a\\u202e")), [""; 0]);
    let wide = |values: usize| format!(r#"{{"a": [{}0], "topicName": "t"}}"#, "0,".repeat(values));
    assert_eq!(names("example.com/v1 Widget", &wide(100)).len(), 1);
    assert_eq!(names("example.com/v1 Widget", &wide(20_000)), [""; 0]);
    let many: Vec<String> = (0..500).map(|i| format!(r#"{{"topicName": "t{i}"}}"#)).collect();
    let many = format!(r#"{{"list": [{}]}}"#, many.join(","));
    assert_eq!(names("example.com/v1 Widget", &many).len(), 64);
}

#[test]
fn parents_of_flux_and_argo_cd() {
    assert_eq!(
        names(
            "kustomize.toolkit.fluxcd.io/v1 Kustomization",
            r#"{"suspend": true, "sourceRef": {"kind": "GitRepository", "name": "shop", "namespace": "flux-system"},
                "dependsOn": [{"name": "database"}], "decryption": {"provider": "sops", "secretRef": {"name": "age"}},
                "postBuild": {"substituteFrom": [{"kind": "Secret", "name": "hosts"}, {"kind": "ConfigMap", "name": "sizes"}]},
                "serviceAccountName": "deployer", "targetNamespace": "web"}"#
        ),
        [
            "GitRepository.source.toolkit.fluxcd.io flux-system/shop by spec.sourceRef",
            "Kustomization.kustomize.toolkit.fluxcd.io database by spec.dependsOn[0]",
            "Secret age by spec.decryption.secretRef",
            "Secret hosts by spec.postBuild.substituteFrom[0]",
            "ConfigMap sizes by spec.postBuild.substituteFrom[1]",
            "ServiceAccount deployer by spec.serviceAccountName",
        ]
    );
    assert_eq!(
        names(
            "helm.toolkit.fluxcd.io/v2 HelmRelease",
            r#"{"chart": {"spec": {"chart": "shop", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}},
                "valuesFrom": [{"kind": "ConfigMap", "name": "values"}], "suspend": "odd"}"#
        ),
        [
            "HelmRepository.source.toolkit.fluxcd.io charts by spec.chart.spec.sourceRef",
            "ConfigMap values by spec.valuesFrom[0]",
        ]
    );
    assert_eq!(
        names("argoproj.io/v1alpha1 Application", r#"{"project": "payments", "source": null}"#),
        ["AppProject.argoproj.io payments by spec.project"]
    );
    assert_eq!(names("argoproj.io/v1alpha1 Application", "null"), Vec::<String>::new());
}

#[test]
fn application_of_argo_cd_is_applying_and_manages_its_objects() {
    let parent = |rest: &str| match read("argoproj.io/v1alpha1 Application", rest).facts {
        Facts::Parent(parent) => *parent,
        _ => panic!("no parent"),
    };
    let asked = parent(r#""spec": {}, "operation": {"sync": {}}"#);
    assert!(asked.applying && asked.active.is_none(), "{asked:?}");
    let idle = parent(
        r#""spec": {"syncPolicy": {"automated": {}}}, "operation": null, "status": {"resources": null}"#,
    );
    assert!(!idle.applying && idle.active.as_deref() == Some("{}"), "{idle:?}");
    let managing = parent(
        r#""status": {"operationState": {"phase": "Running"}, "resources": [
            {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web", "version": "v1", "status": "Synced"},
            {"kind": "Namespace", "name": "shop", "version": "v1"}]}"#,
    );
    assert!(managing.applying);
    let managed: Vec<String> = managing.manages.iter().map(ToString::to_string).collect();
    assert_eq!(managed, ["Deployment shop/web", "Namespace shop"]);
}

#[test]
fn app_of_kapp_controller_is_suspended_once_it_is_paused_and_its_deletion_deletes_nothing_else() {
    let parent = |rest: &str| match read("kappctrl.k14s.io/v1alpha1 App", rest).facts {
        Facts::Parent(parent) => *parent,
        _ => panic!("no parent"),
    };
    let active =
        |spec: &str| parent(&format!(r#""spec": {spec}"#)).active.as_deref().map(str::to_owned);
    assert_eq!(active("{}").as_deref(), Some(r#"{"noopDelete":false,"paused":false}"#));
    let paused = active(r#"{"paused": true}"#);
    assert_eq!(paused.as_deref(), Some(r#"{"noopDelete":false,"paused":true}"#));
    assert_eq!(active(r#"{"paused": true, "noopDelete": true}"#), None);
    assert!(active(r#"{"paused": "true", "noopDelete": true}"#).is_some(), "of another type");
    let deployed = parent(
        r#""status": {"conditions": [{"type": "Reconciling", "status": "True"}],
            "deploy": {"kapp": {"associatedResources": {"label": "kapp.k14s.io/app=1701", "namespaces": ["shop"]}}}}"#,
    );
    assert!(deployed.applying && deployed.mark.as_deref() == Some("1701"), "{deployed:?}");
    let odd = r#""status": {"deploy": {"kapp": {"associatedResources": {"label": "app=web"}}}}"#;
    assert_eq!(parent(odd).mark, None);
    assert_eq!(
        names(
            "packaging.carvel.dev/v1alpha1 PackageInstall",
            r#"{"serviceAccountName": "installer", "values": [{"secretRef": {"name": "values"}}]}"#
        ),
        [
            "ServiceAccount installer by spec.serviceAccountName",
            "Secret values by spec.values[0].secretRef",
        ]
    );
}

#[test]
fn subscription_of_olm_names_what_it_installed() {
    let subscription = "operators.coreos.com/v1alpha1 Subscription";
    let references = references(
        subscription,
        r#""spec": {"name": "queue", "source": "community", "sourceNamespace": "olm"},
           "status": {"installedCSV": "queue.v1.2.0", "currentCSV": "queue.v1.3.0"}"#,
    );
    let named: Vec<_> =
        references.names.iter().map(|it| (&*it.kind, &*it.name, &*it.field)).collect();
    assert_eq!(
        named,
        [
            ("ClusterServiceVersion", "queue.v1.2.0", "status.installedCSV"),
            ("ClusterServiceVersion", "queue.v1.3.0", "status.currentCSV"),
            ("CatalogSource", "community", "spec.source"),
        ]
    );
    assert_eq!(names(subscription, "{}"), Vec::<String>::new());
}
