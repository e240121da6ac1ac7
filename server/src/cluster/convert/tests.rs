use std::{num::NonZeroU32, sync::Arc};

use teardown::object::{Claim, Facts, Kind, Object, Phase, Pod, PodReference, Reclaim};

use super::*;

mod access;
mod any_json;
mod data_policy;
mod hints;
mod provisioner;
mod reference;
mod status;
mod templates;

/// A namespaced kind from `group/version Kind`; these tests do not use the plural.
fn kind(text: &str) -> Arc<Kind> {
    let (api, kind) = text.split_once(' ').unwrap();
    let (group, version) = api.rsplit_once('/').unwrap_or(("", api));
    Arc::new(Kind {
        group: group.into(),
        kind: kind.into(),
        version: version.into(),
        plural: format!("{}s", kind.to_lowercase()).into(),
        namespaced: true,
    })
}

/// Reads an object with standard metadata and the given other fields.
fn read(of: &str, rest: &str) -> Object {
    let json = format!(
        r#"{{"metadata": {{"name": "it", "namespace": "shop", "uid": "u-1", "resourceVersion": "7"}}{}{rest}}}"#,
        if rest.is_empty() { "" } else { "," }
    );
    object(&kind(of), &json, &Interner::default()).unwrap().unwrap()
}

fn lines(uses: &[PodReference]) -> Vec<String> {
    uses.iter()
        .map(|used| format!("{} {} by {}", used.what.kind(), used.name, used.field))
        .collect()
}

#[test]
fn metadata_is_kept_without_annotations_and_managed_fields() {
    let json = r#"{
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"password": "secret"},
        "metadata": {
            "name": "settings", "namespace": "shop", "uid": "u-1", "resourceVersion": "42", "generation": 3,
            "labels": {"app": "web"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:data": {}}}],
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "deletionTimestamp": "2026-01-02T03:05:05Z", "deletionGracePeriodSeconds": 30,
            "finalizers": ["example.com/keep"],
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-0", "controller": true},
                {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-9"}
            ]
        }
    }"#;
    let read = object_and_version(&kind("v1 ConfigMap"), json, &Interner::default());
    let (object, version) = read.unwrap().unwrap();
    assert_eq!(object.reference().to_string(), "ConfigMap shop/settings");
    assert_eq!((&object.uid, version.as_str()), (&Uid::new("u-1"), "42"));
    assert_eq!(object.labels.get("app").map(|value| &**value), Some("web"));
    assert_eq!(object.controller().map(|owner| owner.uid.clone()), Some(Uid::new("u-0")));
    assert_eq!(object.owners.len(), 2);
    assert_eq!(*object.finalizers, ["example.com/keep".into()]);
    assert_eq!(Timestamp::from(object.created.unwrap()).to_string(), "2026-01-02T03:04:05Z");
    let deletion = object.deletion.unwrap();
    assert_eq!((deletion.at.to_string().as_str(), deletion.grace), ("2026-01-02T03:05:05Z", 30));
    assert_eq!(object.facts, Facts::None);
}

#[test]
fn secrets_and_config_maps_are_requested_as_metadata_only() {
    for of in ["v1 Secret", "v1 ConfigMap"] {
        assert_eq!(media_type(&kind(of)), METADATA);
        assert_eq!(list_media_type(&kind(of)), METADATA_LIST);
    }
    assert!(media_type(&kind("apps/v1 ControllerRevision")).starts_with(METADATA));
    assert!(list_media_type(&kind("apps/v1 ControllerRevision")).starts_with(METADATA_LIST));
    assert_eq!(media_type(&kind("v1 Pod")), "application/json");
}

#[test]
fn absurd_objects_do_no_harm() {
    let label = "x".repeat(1 << 20);
    let json = format!(
        r#"{{"metadata": {{"name": "ü/\u0000\u202e", "uid": "u", "labels": {{"{label}": "{label}"}},
            "annotations": {{"a": "{label}"}}, "finalizers": null, "ownerReferences": null,
            "creationTimestamp": null}}, "spec": null, "status": null}}"#
    );
    let pod = object(&kind("v1 Pod"), &json, &Interner::default()).unwrap().unwrap();
    let plain = Pod { stays_unreachable: NonZeroU32::new(300), ..Pod::default() };
    assert_eq!(pod.facts, Facts::Pod(Box::new(plain)));
    assert_eq!(&*pod.name, "ü/\0\u{202e}");
    for broken in ["", "null", "[]", "{}", r#"{"metadata": 3}"#, r#"{"metadata": {"labels": [1]}}"#]
    {
        assert!(object(&kind("v1 Pod"), broken, &Interner::default()).is_err(), "{broken}");
    }
    let unstored = r#"{"metadata": {"name": "projection"}}"#;
    assert_eq!(object(&kind("example.com/v1 View"), unstored, &Interner::default()).unwrap(), None);
}

#[test]
fn pod_is_read_with_its_node_its_phase_and_every_name_that_it_uses() {
    let pod = read(
        "v1 Pod",
        r#""spec": {
            "nodeName": "n1", "serviceAccountName": "web",
            "imagePullSecrets": [{"name": "registry"}, {}],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "cfg", "configMap": {"name": "settings"}},
                {"name": "tls", "secret": {"secretName": "cert"}},
                {"name": "mix", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "mixed"}}, {"secret": {"name": "mixed"}}]}},
                {"name": "kube-api-access-x7k2p", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "kube-root-ca.crt"}}, {"downwardAPI": {}}]}},
                {"name": "csi", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "publish"}}},
                {"name": "old", "rbd": {"secretRef": {"name": "ceph"}}},
                {"name": "az", "azureFile": {"secretName": "azure"}},
                {"name": "tmp", "emptyDir": {}}
            ],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "init"}}]}],
            "containers": [
                {"env": [{"name": "A", "value": "plain"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}},
                         {"name": "C", "valueFrom": {"secretKeyRef": {"name": "db", "key": "l"}}}]},
                {"envFrom": [{"secretRef": {"name": "all"}}],
                 "env": [{"name": "D", "valueFrom": {"configMapKeyRef": {"name": "one", "key": "k"}}},
                         {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]}
            ],
            "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "debug"}}]}]
        },
        "status": {"phase": "Running", "conditions": [{"type": "Initialized", "status": "False"}, {"type": "Ready", "status": "True"}]}"#,
    );
    let Facts::Pod(pod) = pod.facts else { panic!("no Pod") };
    assert_eq!(
        (pod.node.as_deref(), pod.phase, pod.ready),
        (Some("n1"), Some(Phase::Running), true)
    );
    assert_eq!(
        lines(&pod.uses),
        [
            "ServiceAccount web by spec.serviceAccountName",
            "Secret registry by spec.imagePullSecrets[0].name",
            "PersistentVolumeClaim data-0 by spec.volumes[0].persistentVolumeClaim.claimName",
            "PersistentVolumeClaim it-scratch by spec.volumes[1].ephemeral",
            "StorageClass  by spec.volumes[1].ephemeral.volumeClaimTemplate.spec.storageClassName",
            "ConfigMap settings by spec.volumes[2].configMap.name",
            "Secret cert by spec.volumes[3].secret.secretName",
            "ConfigMap mixed by spec.volumes[4].projected.sources[1].configMap.name",
            "Secret mixed by spec.volumes[4].projected.sources[2].secret.name",
            "CSIDriver d by spec.volumes[6].csi.driver",
            "Secret publish by spec.volumes[6].csi.nodePublishSecretRef.name",
            "Secret ceph by spec.volumes[7].rbd.secretRef.name",
            "Secret azure by spec.volumes[8].azureFile.secretName",
            "ConfigMap init by spec.initContainers[0].envFrom[0].configMapRef.name",
            "Secret db by spec.containers[0].env[1].valueFrom.secretKeyRef.name",
            "Secret all by spec.containers[1].envFrom[0].secretRef.name",
            "ConfigMap one by spec.containers[1].env[0].valueFrom.configMapKeyRef.name",
            "Secret debug by spec.ephemeralContainers[0].envFrom[0].secretRef.name",
        ]
    );
}

#[test]
fn pod_stays_on_an_unreachable_node_as_it_tolerates() {
    let stays = |tolerations: &str| {
        let pod = read(
            "v1 Pod",
            &format!(r#""spec": {{"nodeName": "n1", "tolerations": {tolerations}}}"#),
        );
        let Facts::Pod(pod) = pod.facts else { panic!("no Pod") };
        pod.stays_unreachable.map(u32::from)
    };
    let unreachable = |rest: &str| {
        format!(
            r#"[{{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}}, {{"key": "node.kubernetes.io/unreachable", {rest}}}]"#
        )
    };
    for (tolerations, expected) in [
        ("null".to_owned(), Some(300)),
        (
            unreachable(r#""operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30"#),
            Some(30),
        ),
        (unreachable(r#""operator": "Exists", "tolerationSeconds": -1"#), Some(1)),
        (unreachable(r#""operator": "Exists", "effect": "NoExecute""#), None),
        (unreachable(r#""operator": "Exists", "effect": "NoSchedule""#), Some(300)),
        (unreachable(r#""effect": "NoExecute", "tolerationSeconds": 5"#), Some(5)),
        (unreachable(r#""value": "x", "tolerationSeconds": 5"#), Some(300)),
        (r#"[{"operator": "Exists"}]"#.to_owned(), None),
    ] {
        assert_eq!(stays(&tolerations), expected, "{tolerations}");
    }
}

#[test]
fn pod_sight_names_its_claims() {
    let json = r#"{"metadata": {"name": "web-0", "namespace": "shop", "uid": "u", "labels": {"app": "web"},
        "ownerReferences": [{"kind": "StatefulSet", "name": "web", "uid": "o", "controller": true}]},
        "spec": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "b", "ephemeral": {}},
                             {"name": "c", "secret": {"secretName": "s"}}]}}"#;
    let sight = pod_sight(&kind("v1 Pod"), json, &Interner::default()).unwrap().unwrap();
    assert_eq!(sight.claims, ["data".into(), "web-0-b".into()]);
    assert_eq!((sight.object.to_string().as_str(), sight.owners.len()), ("Pod shop/web-0", 1));
}

#[test]
fn other_workloads_are_read_with_the_replicas_and_selector_of_their_kind() {
    let check = |of: &str, rest: &str, expected: (Option<i64>, Option<i64>, Option<&str>)| {
        let Facts::Workload(workload) = read(of, rest).facts else { panic!("no Workload") };
        let selector = workload.selector.map(|selector| selector.to_string());
        assert_eq!((workload.replicas, workload.ready, selector.as_deref()), expected, "{of}");
        assert!(!workload.claims_go_with_it);
    };
    let spec = r#""spec": {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": {}}, "status": {"readyReplicas": 2}"#;
    check("apps/v1 Deployment", spec, (Some(3), Some(2), Some("a=b")));
    check("apps/v1 ReplicaSet", spec, (Some(3), Some(2), Some("a=b")));
    check(
        "v1 ReplicationController",
        r#""spec": {"selector": {"a": "b"}}"#,
        (Some(1), Some(0), Some("a=b")),
    );
    check(
        "apps/v1 DaemonSet",
        r#""spec": {"selector": {}}, "status": {"numberReady": 4}"#,
        (None, Some(4), Some("{}")),
    );
    check("batch/v1 Job", r#""spec": {"template": {"spec": {}}}"#, (None, None, None));
}

#[test]
fn cron_job_uses_what_its_jobs_pods_will_use() {
    let job = read(
        "batch/v1 CronJob",
        r#""spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"metadata": {"labels": {"job": "x"}}, "spec": {
            "serviceAccountName": "runner", "containers": [{"envFrom": [{"secretRef": {"name": "s"}}]}]}}}}}"#,
    );
    let Facts::Workload(job) = job.facts else { panic!("no Workload") };
    assert_eq!(
        lines(&job.uses),
        [
            "ServiceAccount runner by spec.jobTemplate.spec.template.spec.serviceAccountName",
            "Secret s by spec.jobTemplate.spec.template.spec.containers[0].envFrom[0].secretRef.name",
        ]
    );
    assert_eq!(job.template_labels.len(), 1);
}

#[test]
fn autoscaler_and_disruption_budget() {
    let of = |api: &str| {
        let rest = format!(
            r#""spec": {{"scaleTargetRef": {{"apiVersion": "{api}", "kind": "K", "name": "web"}}}}"#
        );
        let Facts::Autoscaler(target) = read("autoscaling/v2 HorizontalPodAutoscaler", &rest).facts
        else {
            panic!()
        };
        target.group.to_string()
    };
    assert_eq!((of("apps/v1"), of("v1")), ("apps".to_owned(), String::new()));
    let budget = |spec: &str| {
        let Facts::Disruption(selector) = read("policy/v1 PodDisruptionBudget", spec).facts else {
            panic!()
        };
        selector.map(|selector| selector.to_string())
    };
    assert_eq!(budget(r#""spec": {"minAvailable": 1}"#), None);
    assert_eq!(budget(r#""spec": {"selector": null}"#), None);
    assert_eq!(budget(r#""spec": {"selector": {}}"#), Some("{}".to_owned()));
    assert_eq!(
        budget(r#""spec": {"selector": {"matchLabels": {"a": "b"}}}"#),
        Some("a=b".to_owned())
    );
}

#[test]
fn claim_is_read_with_its_volume_unless_the_name_is_empty() {
    let claim = read(
        "v1 PersistentVolumeClaim",
        r#""spec": {"volumeName": "pv-1", "storageClassName": "fast"}, "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}}"#,
    );
    let Facts::Claim(claim) = claim.facts else { panic!() };
    assert_eq!(
        [claim.volume, claim.class, claim.capacity, claim.phase]
            .map(|text| text.unwrap().to_string()),
        ["pv-1", "fast", "10Gi", "Bound"]
    );
    assert_eq!(
        read("v1 PersistentVolumeClaim", r#""spec": {"volumeName": ""}"#).facts,
        Facts::Claim(Box::<Claim>::default())
    );
}

#[test]
fn storage_that_one_node_alone_can_use_is_known() {
    let one_node = |modes: &str| {
        let rest = format!(r#""spec": {{"accessModes": {modes}}}"#);
        let Facts::Claim(claim) = read("v1 PersistentVolumeClaim", &rest).facts else { panic!() };
        claim.one_node
    };
    assert!(one_node(r#"["ReadWriteOnce"]"#) && one_node(r#"["ReadWriteOncePod"]"#));
    assert!(!one_node(r#"["ReadWriteOnce", "ReadWriteMany"]"#) && !one_node("[]"));
    let node_local = |spec: &str| {
        let rest = format!(r#""spec": {{{spec}}}"#);
        let Facts::Volume(volume) = read("v1 PersistentVolume", &rest).facts else { panic!() };
        volume.node_local
    };
    let affinity = |label: &str| {
        format!(
            r#""csi": {{"driver": "d"}}, "nodeAffinity": {{"required": {{"nodeSelectorTerms": [{{"matchExpressions": [{{"key": "{label}", "operator": "In", "values": ["a"]}}]}}]}}}}"#
        )
    };
    for label in ["kubernetes.io/hostname", "topology.topolvm.io/node", "openebs.io/nodename"] {
        assert!(node_local(&affinity(label)), "{label}");
    }
    assert!(!node_local(&affinity("topology.kubernetes.io/zone")));
    assert!(node_local(r#""hostPath": {"path": "/data"}"#));
    assert!(node_local(r#""local": {"path": "/mnt/a"}"#));
    assert!(!node_local(r#""nfs": {"server": "s", "path": "/a"}, "nodeAffinity": null"#));
}

#[test]
fn volume_says_where_the_bytes_are() {
    let source = |source: &str| {
        let rest = format!(r#""spec": {{"persistentVolumeReclaimPolicy": "Delete", {source}}}"#);
        let Facts::Volume(volume) = read("v1 PersistentVolume", &rest).facts else { panic!() };
        volume.source.unwrap().to_string()
    };
    assert_eq!(
        source(r#""nfs": {"server": "10.0.0.1", "path": "/exports/a"}"#),
        "nfs 10.0.0.1:/exports/a"
    );
    assert_eq!(
        source(
            r#""csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1", "volumeAttributes": {"password": "x"}}"#
        ),
        "csi ebs.csi.aws.com vol-1"
    );
    assert_eq!(source(r#""hostPath": {"path": "/data", "type": ""}"#), "hostPath /data");
    assert_eq!(
        source(r#""iscsi": {"targetPortal": "p:3260", "iqn": "iqn.x", "lun": 2}"#),
        "iscsi p:3260 iqn.x 2"
    );
    assert_eq!(source(r#""cephfs": {"monitors": ["a", "b"], "path": "/"}"#), "cephfs a,b /");

    let rest = r#""spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "c-1"}, "storageClassName": "fast",
        "capacity": {"storage": "1Ti"}}, "status": {"phase": "Released"}"#;
    let Facts::Volume(volume) = read("v1 PersistentVolume", rest).facts else { panic!() };
    let claim = volume.claim.unwrap();
    assert_eq!(
        (&*claim.namespace, &*claim.name, claim.uid),
        ("shop", "data", Some(Uid::new("c-1")))
    );
    assert_eq!((volume.reclaim, volume.source), (Reclaim::Retain, None));
    assert_eq!(
        (volume.capacity.as_deref(), volume.phase.as_deref()),
        (Some("1Ti"), Some("Released"))
    );
}

#[test]
fn service_without_selector_or_with_an_external_name_selects_nothing() {
    let check = |spec: &str, selects: bool, load_balancer: bool| {
        let Facts::Service(service) = read("v1 Service", &format!(r#""spec": {spec}"#)).facts
        else {
            panic!()
        };
        assert_eq!(
            (service.selector.is_some(), service.load_balancer),
            (selects, load_balancer),
            "{spec}"
        );
    };
    check(r#"{"type": "LoadBalancer", "selector": {"app": "web"}}"#, true, true);
    check(r#"{"type": "ClusterIP", "selector": {}}"#, false, false);
    check(r#"{"type": "ClusterIP", "selector": null}"#, false, false);
    check(r#"{"type": "ExternalName", "selector": {"app": "web"}}"#, false, false);
}

#[test]
fn ingress_is_read_with_its_services_its_secrets_and_its_class() {
    let ingress = read(
        "networking.k8s.io/v1 Ingress",
        r#""spec": {"ingressClassName": "nginx", "defaultBackend": {"service": {"name": "fallback"}},
            "rules": [{"host": "a"}, {"http": {"paths": [
                {"backend": {"resource": {"kind": "Bucket", "name": "b"}}}, {"backend": {"service": {"name": "web"}}}]}}],
            "tls": [{"hosts": ["a"]}, {"secretName": "cert"}]}"#,
    );
    let Facts::Ingress(ingress) = ingress.facts else { panic!() };
    assert_eq!(
        *ingress.backends,
        [
            ("spec.defaultBackend.service.name".into(), "fallback".into()),
            ("spec.rules[1].http.paths[1].backend.service.name".into(), "web".into()),
        ]
    );
    assert_eq!(lines(&ingress.uses), ["Secret cert by spec.tls[1].secretName"]);
    assert_eq!(ingress.class.as_deref(), Some("nginx"));
}

#[test]
fn network_policy_is_read_with_its_selector_of_pods() {
    let policy = |spec: &str| {
        let Facts::NetworkPolicy(selector) = read("networking.k8s.io/v1 NetworkPolicy", spec).facts
        else {
            panic!()
        };
        selector.to_string()
    };
    assert_eq!(policy(r#""spec": {"podSelector": {}}"#), "{}");
    assert_eq!(policy(r#""spec": {"podSelector": {"matchLabels": {"a": "b"}}}"#), "a=b");
}

#[test]
fn bindings_and_accounts() {
    let binding = read(
        "rbac.authorization.k8s.io/v1 RoleBinding",
        r#""roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
           "subjects": [{"kind": "User", "name": "ann"}, {"kind": "ServiceAccount", "name": "web", "namespace": "other"},
                        {"kind": "ServiceAccount", "name": "web"}]"#,
    );
    let Facts::Binding(binding) = binding.facts else { panic!() };
    assert_eq!((&*binding.role_kind, &*binding.role), ("ClusterRole", "edit"));
    assert_eq!(*binding.accounts, [("other".into(), "web".into()), ("shop".into(), "web".into())]);

    let unbound = read(
        "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
        r#""roleRef": {"kind": "ClusterRole", "name": "x"}"#,
    );
    let Facts::Binding(unbound) = unbound.facts else { panic!() };
    assert!(unbound.accounts.is_empty());

    let rest = r#""secrets": [{"name": "token"}], "imagePullSecrets": [{"name": "token"}, {"name": "registry"}]"#;
    let Facts::ServiceAccount(account) = read("v1 ServiceAccount", rest).facts else { panic!() };
    assert_eq!(
        lines(&account.uses),
        ["Secret token by secrets[0].name", "Secret registry by imagePullSecrets[1].name"]
    );
}

#[test]
fn role_keeps_the_rules_by_which_a_finalizer_can_be_removed() {
    for of in ["Role", "ClusterRole"] {
        let role = read(
            &format!("rbac.authorization.k8s.io/v1 {of}"),
            r#""rules": [
                {"apiGroups": ["q.example"], "resources": ["topics/finalizers"], "verbs": ["get", "patch"]},
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
                {"nonResourceURLs": ["/metrics"], "verbs": ["*"]},
                {"apiGroups": null, "resources": ["topics"], "verbs": ["update"]}]"#,
        );
        let Facts::Role(role) = role.facts else { panic!() };
        let rules: Vec<String> = role
            .updates
            .iter()
            .map(|rule| format!("{:?} {:?}", rule.groups, rule.resources))
            .collect();
        assert_eq!(
            rules,
            [r#"["q.example"] ["topics/finalizers"]"#, r#"["*"] ["*"]"#, r#"[] ["topics"]"#]
        );
    }
    let bare = read("rbac.authorization.k8s.io/v1 Role", r#""rules": null"#);
    assert_eq!(bare.facts, Facts::Role(Box::default()));
}

#[test]
fn role_keeps_whether_a_rule_by_name_lets_its_holders_delete_volumes() {
    let deletes = |rule: &str| {
        let rules = format!(r#""rules": [{{{rule}}}]"#);
        let Facts::Role(role) = read("rbac.authorization.k8s.io/v1 ClusterRole", &rules).facts
        else {
            panic!()
        };
        role.deletes_volumes
    };
    let rule = |group: &str, resource: &str, verb: &str| {
        deletes(&format!(
            r#""apiGroups": ["{group}"], "resources": ["nodes", "{resource}"], "verbs": ["get", "{verb}"]"#
        ))
    };
    assert!(rule("", "persistentvolumes", "delete") && rule("", "persistentvolumes", "*"));
    assert!(!rule("", "persistentvolumes", "patch"), "an attacher and a resizer");
    assert!(!rule("", "*", "*") && !rule("example.com", "persistentvolumes", "delete"));
}

#[test]
fn webhook_keeps_the_rules_that_concern_deletions() {
    let hooks = read(
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        r#""webhooks": [{
            "clientConfig": {"url": "https://x"},
            "namespaceSelector": {"matchLabels": {"team": "a"}},
            "objectSelector": null,
            "rules": [
                {"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]},
                {"operations": ["UPDATE", "DELETE"], "apiGroups": ["*"], "apiVersions": ["v1"],
                 "resources": ["*/*"], "scope": "Namespaced"},
                {"operations": ["*"], "apiGroups": [""], "resources": ["nodes"], "scope": "*"}]}]"#,
    );
    let Facts::Webhooks(webhooks) = hooks.facts else { panic!() };
    let seen: Vec<_> = webhooks
        .guards
        .iter()
        .map(|guard| (&*guard.field, guard.deletes, guard.updates, guard.namespaced))
        .collect();
    assert_eq!(
        seen,
        [
            ("webhooks[0].rules[1]", true, true, Some(true)),
            ("webhooks[0].rules[2]", true, true, None),
        ]
    );
    assert_eq!(webhooks.guards[0].namespaces.to_string(), "team=a");
    assert_eq!(&*webhooks.guards[0].covers.resources, ["*/*".into()]);
}

#[test]
fn definition_names_its_converter_only_while_it_converts() {
    let read_converter = |strategy: &str| {
        let spec = format!(
            r#""spec": {{"group": "a.example", "names": {{"kind": "A"}}, "conversion": {{"strategy": "{strategy}",
                "webhook": {{"clientConfig": {{"service": {{"namespace": "ops", "name": "convert"}}}}}}}}}}"#
        );
        let facts = read("apiextensions.k8s.io/v1 CustomResourceDefinition", &spec).facts;
        let Facts::Definition(definition) = facts else { panic!() };
        definition.converter.map(|service| format!("{}/{}", service.namespace, service.name))
    };
    assert_eq!(read_converter("Webhook"), Some("ops/convert".to_owned()));
    assert_eq!(read_converter("None"), None);
}

#[test]
fn extensions_of_the_api_are_read_with_the_services_and_kinds_that_they_name() {
    for of in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let hooks = read(
            &format!("admissionregistration.k8s.io/v1 {of}"),
            r#""webhooks": [{"clientConfig": {"url": "https://x"}},
                {"clientConfig": {"caBundle": "x", "service": {"namespace": "ops", "name": "hook", "port": 443}}}]"#,
        );
        let Facts::Webhooks(webhooks) = hooks.facts else { panic!() };
        let services = webhooks.services;
        assert_eq!(services.len(), 1);
        assert_eq!((&*services[0].namespace, &*services[0].name), ("ops", "hook"));
        assert_eq!(&*services[0].field, "webhooks[1].clientConfig.service");
    }
    let api = |spec: &str| {
        let Facts::ApiService(api) = read("apiregistration.k8s.io/v1 APIService", spec).facts
        else {
            panic!()
        };
        api.service
            .map(|service| format!("{}/{} {}", service.namespace, service.name, service.field))
    };
    assert_eq!(api(r#""spec": {"group": "", "version": "v1"}"#), None);
    assert_eq!(
        api(r#""spec": {"service": {"namespace": "kube-system", "name": "metrics"}}"#),
        Some("kube-system/metrics spec.service".to_owned())
    );
    let crd = r#""spec": {"group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "versions": []}"#;
    let Facts::Definition(definition) =
        read("apiextensions.k8s.io/v1 CustomResourceDefinition", crd).facts
    else {
        panic!()
    };
    assert_eq!((&*definition.group, &*definition.kind), ("example.com", "Widget"));
}
