//! Provisioners that are no CSI drivers, and volumes of Kubernetes' own plugins.

use super::*;

/// The provisioners that a Deployment with this container is told to be.
fn told(container: &str) -> Vec<String> {
    let spec =
        format!(r#""spec": {{"template": {{"spec": {{"containers": [{{}}, {container}]}}}}}}"#);
    let Facts::Workload(workload) = read("apps/v1 Deployment", &spec).facts else { panic!() };
    workload.provisioners.iter().map(ToString::to_string).collect()
}

#[test]
fn container_is_told_its_provisioner_by_a_variable_or_an_argument() {
    for container in [
        r#"{"env": [{"name": "NFS_SERVER", "value": "10.0.0.1"}, {"name": "PROVISIONER_NAME", "value": "example.com/nfs"}]}"#,
        r#"{"args": ["-provisioner=example.com/nfs"]}"#,
        r#"{"args": ["-v=3", "--provisioner", "example.com/nfs", "-x"]}"#,
        r#"{"command": ["local-path-provisioner", "start", "--provisioner-name", "example.com/nfs", "--config", "a"]}"#,
        r#"{"args": ["--provisioner=$(PROVISIONER_NAME)"], "env": [{"name": "PROVISIONER_NAME", "value": "example.com/nfs"}]}"#,
    ] {
        assert_eq!(told(container), ["example.com/nfs"], "{container}");
    }
    let two = r#"{"args": ["--provisioner=b", "--provisioner-name=a", "--provisioner=b"]}"#;
    assert_eq!(told(two), ["a", "b"]);
}

#[test]
fn no_other_argument_or_value_of_a_container_is_kept() {
    let long = format!(r#"{{"args": ["--provisioner={}"]}}"#, "x".repeat(254));
    for container in [
        r#"{"env": [{"name": "PASSWORD", "value": "S3cr3t"}], "args": ["--password=S3cr3t", "--token", "S3cr3t"]}"#,
        r#"{"env": [{"name": "PROVISIONER_NAME", "valueFrom": {"configMapKeyRef": {"name": "efs", "key": "provisioner.name"}}}]}"#,
        r#"{"env": [{"name": "MY_PROVISIONER_NAME", "value": "S3cr3t"}, {"name": "PROVISIONER_NAME", "value": ""}]}"#,
        r#"{"args": ["provisioner=S3cr3t", "--provisioners=S3cr3t", "--provisioner", "--provisioner="], "env": null}"#,
        r#"{"args": null, "command": null, "env": [{}]}"#,
        &long,
    ] {
        assert_eq!(told(container), [""; 0], "{container}");
    }
}

fn volume(rest: &str) -> teardown::object::Volume {
    let json = format!(
        r#"{{"metadata": {{"name": "pv", "uid": "u", "annotations": {rest}, "status": {{}}}}"#
    );
    let volume = object(&kind("v1 PersistentVolume"), &json, &Interner::default());
    let Facts::Volume(volume) = volume.unwrap().unwrap().facts else { panic!() };
    *volume
}

#[test]
fn volume_keeps_the_provisioner_that_made_it() {
    let provisioner = |annotations: &str| {
        volume(&format!(r#"{annotations}}}, "spec": {{"nfs": {{}}}}"#)).provisioner
    };
    let made = r#"{"pv.kubernetes.io/provisioned-by": "example.com/nfs", "pv.kubernetes.io/bound-by-controller": "yes"}"#;
    assert_eq!(provisioner(made).as_deref(), Some("example.com/nfs"));
    assert_eq!(provisioner("{}"), None);
    assert_eq!(provisioner("null"), None);
    assert_eq!(provisioner(r#"{"volume.kubernetes.io/provisioned-by": "example.com/nfs"}"#), None);
    assert_eq!(provisioner(r#"{"pv.kubernetes.io/provisioned-by": ""}"#), None);
    // Another kind has no use for it.
    let claim = r#"{"metadata": {"name": "c", "namespace": "shop", "uid": "u",
        "annotations": {"pv.kubernetes.io/provisioned-by": "example.com/nfs"}}}"#;
    let claim = object(&kind("v1 PersistentVolumeClaim"), claim, &Interner::default());
    assert_eq!(claim.unwrap().unwrap().annotations, None);
}

#[test]
fn volume_of_a_plugin_of_kubernetes_has_the_driver_that_it_was_migrated_to() {
    let driver = |spec: &str| volume(&format!(r#"null}}, "spec": {spec}"#)).driver;
    for (source, expected) in [
        ("awsElasticBlockStore", "ebs.csi.aws.com"),
        ("azureDisk", "disk.csi.azure.com"),
        ("azureFile", "file.csi.azure.com"),
        ("cinder", "cinder.csi.openstack.org"),
        ("gcePersistentDisk", "pd.csi.storage.gke.io"),
        ("portworxVolume", "pxd.portworx.com"),
        ("vsphereVolume", "csi.vsphere.vmware.com"),
    ] {
        let found = driver(&format!(r#"{{"{source}": {{"volumeID": "v"}}}}"#));
        assert_eq!(found.as_deref(), Some(expected), "{source}");
    }
    for source in ["nfs", "hostPath", "local", "iscsi", "rbd", "cephfs", "ebs"] {
        assert_eq!(driver(&format!(r#"{{"{source}": {{}}}}"#)), None, "{source}");
    }
    let own = r#"{"csi": {"driver": "disk.example"}}"#;
    assert_eq!(driver(own).as_deref(), Some("disk.example"));
}
