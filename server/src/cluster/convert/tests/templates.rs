//! StatefulSets, and the classes of the claims that are made from a template.

use teardown::object::PodReferenceKind;

use super::*;

#[test]
fn stateful_set_is_read_with_its_selector_its_templates_and_the_fate_of_its_claims() {
    let set = read(
        "apps/v1 StatefulSet",
        r#""spec": {
            "selector": {"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {
                "volumes": [{"name": "c", "configMap": {"name": "settings"}}, {"name": "e", "ephemeral": {}}],
                "containers": [{"name": "db"}]}},
            "volumeClaimTemplates": [
                {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}},
                {"metadata": {"name": "log"}, "spec": {"storageClassName": ""}}],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}
        }, "status": {"replicas": 1}"#,
    );
    let Facts::Workload(set) = set.facts else { panic!("no Workload") };
    assert_eq!((set.replicas, set.ready), (Some(1), Some(0)));
    assert_eq!(set.selector.unwrap().to_string(), "app=db,tier notin (front)");
    assert_eq!(set.template_labels.len(), 1);
    assert_eq!(
        lines(&set.uses),
        [
            "ConfigMap settings by spec.template.spec.volumes[0].configMap.name",
            "StorageClass fast by spec.volumeClaimTemplates[0].spec.storageClassName",
        ]
    );
    assert_eq!(*set.claim_templates, ["data".into(), "log".into()]);
    assert!(set.claims_go_with_it);
    assert!(!set.claims_go_when_scaled);
    let scaled = r#""spec": {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}"#;
    let Facts::Workload(set) = read("apps/v1 StatefulSet", scaled).facts else { panic!() };
    assert_eq!((set.claims_go_with_it, set.claims_go_when_scaled), (false, true));
}

/// The classes of the claims that the Pods of a workload get.
fn classes(of: &str, spec: &str) -> Vec<String> {
    let Facts::Workload(workload) = read(of, &format!(r#""spec": {spec}"#)).facts else { panic!() };
    let mut found = lines(&workload.uses);
    found.retain(|line| line.starts_with("StorageClass"));
    found
}

#[test]
fn class_of_a_template_is_the_default_one_where_it_is_absent_and_none_where_it_is_empty() {
    let set = |class: &str| {
        let spec = format!(
            r#"{{"volumeClaimTemplates": [{{"metadata": {{"name": "data"}}, "spec": {class}}}]}}"#
        );
        let Facts::Workload(set) = read("apps/v1 StatefulSet", &format!(r#""spec": {spec}"#)).facts
        else {
            panic!()
        };
        let used = set.uses.first().map(|used| (used.what, used.name.to_string()));
        assert!(set.uses.len() < 2);
        used
    };
    let named = (PodReferenceKind::StorageClass, "fast".to_owned());
    let default = (PodReferenceKind::DefaultStorageClass, String::new());
    assert_eq!(set(r#"{"storageClassName": "fast"}"#), Some(named));
    assert_eq!(set(r#"{"storageClassName": ""}"#), None);
    for absent in ["{}", "null", r#"{"storageClassName": null}"#] {
        assert_eq!(set(absent), Some(default.clone()), "{absent}");
    }
    let long = "x".repeat(254);
    assert_eq!(set(&format!(r#"{{"storageClassName": "{long}"}}"#)), None);
}

#[test]
fn class_of_an_ephemeral_volume_is_read_of_every_workload() {
    let volumes = r#"{"spec": {"volumes": [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
        {"name": "c", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
        {"name": "d", "ephemeral": {}}]}}"#;
    let field = "volumes[1].ephemeral.volumeClaimTemplate.spec.storageClassName";
    for of in ["apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet", "batch/v1 Job"] {
        let found = classes(of, &format!(r#"{{"template": {volumes}}}"#));
        assert_eq!(found, [format!("StorageClass fast by spec.template.spec.{field}")], "{of}");
    }
    let found = classes(
        "batch/v1 CronJob",
        &format!(r#"{{"jobTemplate": {{"spec": {{"template": {volumes}}}}}}}"#),
    );
    assert_eq!(
        found,
        [format!("StorageClass fast by spec.jobTemplate.spec.template.spec.{field}")]
    );
}

#[test]
fn attributes_class_of_a_template_is_read_and_is_none_where_it_is_absent_or_empty() {
    let attributes = |spec: &str| {
        let Facts::Workload(set) = read("apps/v1 StatefulSet", &format!(r#""spec": {spec}"#)).facts
        else {
            panic!()
        };
        let mut found = lines(&set.uses);
        found.retain(|line| line.starts_with("VolumeAttributesClass"));
        found
    };
    let of_template = |class: &str| {
        attributes(&format!(
            r#"{{"volumeClaimTemplates": [{{"metadata": {{"name": "a"}}}},
                {{"metadata": {{"name": "b"}}, "spec": {{"storageClassName": "", "volumeAttributesClassName": {class}}}}}]}}"#
        ))
    };
    assert_eq!(
        of_template(r#""gold""#),
        [
            "VolumeAttributesClass gold by spec.volumeClaimTemplates[1].spec.volumeAttributesClassName"
        ]
    );
    assert_eq!(of_template(r#""""#), [""; 0]);
    assert_eq!(of_template("null"), [""; 0]);
    let of_volume = attributes(
        r#"{"template": {"spec": {"volumes": [
            {"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeAttributesClassName": "gold"}}}}]}}}"#,
    );
    assert_eq!(
        of_volume,
        [
            "VolumeAttributesClass gold by spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName"
        ]
    );
}

#[test]
fn classes_of_one_object_are_bounded() {
    let template = |i| {
        format!(
            r#"{{"metadata": {{"name": "t{i}"}},
                "spec": {{"storageClassName": "c{i}", "volumeAttributesClassName": "a{i}"}}}}"#
        )
    };
    let templates: Vec<String> = (0..1_000).map(template).collect();
    let spec = format!(r#"{{"volumeClaimTemplates": [{}]}}"#, templates.join(","));
    let Facts::Workload(set) = read("apps/v1 StatefulSet", &format!(r#""spec": {spec}"#)).facts
    else {
        panic!()
    };
    for what in [PodReferenceKind::StorageClass, PodReferenceKind::VolumeAttributesClass] {
        assert_eq!(set.uses.iter().filter(|used| used.what == what).count(), names::MOST);
    }
}

#[test]
fn default_class_is_the_one_with_the_annotation() {
    let is_default = |annotations: &str| {
        let json = format!(
            r#"{{"metadata": {{"name": "fast", "uid": "u", "annotations": {annotations}}},
                "provisioner": "disk.example"}}"#
        );
        let kind = kind("storage.k8s.io/v1 StorageClass");
        let class = object(&kind, &json, &Interner::default()).unwrap().unwrap();
        class.annotations.is_some_and(|it| it.is_default_class)
    };
    assert!(is_default(r#"{"storageclass.kubernetes.io/is-default-class": "true"}"#));
    assert!(is_default(r#"{"storageclass.beta.kubernetes.io/is-default-class": "true"}"#));
    assert!(!is_default(r#"{"storageclass.kubernetes.io/is-default-class": "false"}"#));
    assert!(!is_default(r#"{"ingressclass.kubernetes.io/is-default-class": "true"}"#));
    assert!(!is_default("{}"));
}
