//! Objects that are protected while others use them, or are copied from them.

use super::*;

#[test]
fn class_is_held_by_the_claims_that_use_it() {
    let text = "
        vac fast deleted=300 finalizers=kubernetes.io/vac-protection
        pvc shop/data attributes=fast
        pvc shop/other attributes=slow
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    inUse at VolumeAttributesClass fast (Confirmed, stuck)
      VolumeAttributesClass fast
      - VolumeAttributesClass fast: metadata.finalizers kubernetes.io/vac-protection
      - PersistentVolumeClaim shop/data: spec.volumeAttributesClassName fast
    "#);
    let going = text.replace("pvc shop/data", "pvc shop/data deleted=200 finalizers=a.example/b");
    insta::assert_snapshot!(describe(&fixture::index(&going)), @r#"
    finisherGone at PersistentVolumeClaim  (Inferred, stuck)
      PersistentVolumeClaim shop/data
      VolumeAttributesClass fast for Use of PersistentVolumeClaim shop/data
      - PersistentVolumeClaim shop/data: metadata.finalizers a.example/b
    "#);
    let unused = text.replace("attributes=fast", "attributes=slow");
    insta::assert_snapshot!(heads(&fixture::index(&unused)), @"controllerSilent at VolumeAttributesClass fast (Inferred, stuck)");
    let mut index = fixture::index(&unused);
    hide(&mut index, "persistentvolumeclaims");
    assert!(heads(&index).starts_with("cannotSee at VolumeAttributesClass fast"));
}

#[test]
fn gateway_class_is_held_by_the_gateways_of_any_namespace_that_name_it() {
    let text = "
        gwclass envoy deleted=300 finalizers=gateway-exists-finalizer.gateway.networking.k8s.io controller=gateway.envoyproxy.io/gatewayclass-controller
        gwclass other controller=gateway.envoyproxy.io/gatewayclass-controller
        deploy edge/envoy-gateway ready=1 replicas=1 uses=account:eg
        crb eg role=clusterrole/eg accounts=edge/eg
        clusterrole eg updates=gatewayclasses.gateway.networking.k8s.io
        gateway shop/public refs=spec.gatewayClassName:gwclass/envoy
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    inUse at GatewayClass envoy (Confirmed, stuck)
      GatewayClass envoy
      - GatewayClass envoy: metadata.finalizers gateway-exists-finalizer.gateway.networking.k8s.io
      - Gateway shop/public: spec.gatewayClassName envoy
    "#);
    let going = text
        .replace("gateway shop/public", "gateway shop/public deleted=200 finalizers=a.example/b");
    insta::assert_snapshot!(describe(&fixture::index(&going)), @r#"
    finisherGone at Gateway  (Inferred, stuck)
      Gateway shop/public
      GatewayClass envoy for Use of Gateway shop/public
      - Gateway shop/public: metadata.finalizers a.example/b
    "#);
    // Without Gateways it waits for its controller, as with those of another class or those of other projects.
    let busy = "finisherBusy at Deployment edge/envoy-gateway (Inferred, stuck)";
    for other in [
        "# none",
        "gateway shop/public refs=spec.gatewayClassName:gwclass/other",
        "Gateway.networking.istio.io shop/public refs=spec.gatewayClassName:gwclass/envoy",
        "gateway shop/public refs=spec.gatewayClassName:GatewayClass.example.com/envoy",
    ] {
        let text =
            text.replace("gateway shop/public refs=spec.gatewayClassName:gwclass/envoy", other);
        assert_eq!(heads(&fixture::index(&text)), busy, "{other}");
    }
    let mut index = fixture::index(text);
    hide(&mut index, "gateways.gateway.networking.k8s.io");
    assert!(heads(&index).contains("at GatewayClass envoy"), "{}", heads(&index));
    let unused = text.replace("gateway shop/public refs=spec.gatewayClassName:gwclass/envoy", "");
    let mut index = fixture::index(&unused);
    hide(&mut index, "gateways.gateway.networking.k8s.io");
    insta::assert_snapshot!(heads(&index), @"cannotSee at GatewayClass envoy (Unknown, stuck)");
}

#[test]
fn resource_claim_is_held_by_pods_that_run() {
    let text = "
        node n1
        devices shop/gpu deleted=300 finalizers=resource.kubernetes.io/delete-protection
        pod shop/a node=n1 uses=devices:gpu
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    inUse at ResourceClaim shop/gpu (Confirmed, stuck)
      ResourceClaim shop/gpu
      - ResourceClaim shop/gpu: metadata.finalizers resource.kubernetes.io/delete-protection
      - Pod shop/a: spec.resourceClaims gpu
    "#);
    let ended = text.replace("node=n1 uses", "node=n1 phase=Succeeded uses");
    insta::assert_snapshot!(heads(&fixture::index(&ended)), @"controllerSilent at ResourceClaim shop/gpu (Inferred, stuck)");
}

#[test]
fn source_of_a_copy_waits_for_the_copy_and_not_for_a_program() {
    let clone = "
        pvc shop/data deleted=300 finalizers=provisioner.storage.kubernetes.io/cloning-protection
        pvc shop/copy from=pvc/data phase=Pending
    ";
    insta::assert_snapshot!(describe(&fixture::index(clone)), @r#"
    copied at PersistentVolumeClaim shop/data (Confirmed, waits)
      PersistentVolumeClaim shop/data
      - PersistentVolumeClaim shop/data: metadata.finalizers provisioner.storage.kubernetes.io/cloning-protection
      - PersistentVolumeClaim shop/copy: status.phase Pending
    "#);
    let complete = clone.replace("Pending", "Bound");
    assert!(!heads(&fixture::index(&complete)).contains("copied"));
    let snapshot = "
        pvc shop/data deleted=300 finalizers=snapshot.storage.kubernetes.io/pvc-as-source-protection
        snapshot shop/s claim=data ready=no
        pvc shop/copy from=pvc/data phase=Pending
    ";
    insta::assert_snapshot!(describe(&fixture::index(snapshot)), @r#"
    copied at PersistentVolumeClaim shop/data (Confirmed, waits)
      PersistentVolumeClaim shop/data
      - PersistentVolumeClaim shop/data: metadata.finalizers snapshot.storage.kubernetes.io/pvc-as-source-protection
      - VolumeSnapshot shop/s: status.readyToUse false
    "#);
    let restored = "
        snapshot shop/s deleted=300 finalizers=snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection
        pvc shop/copy from=snapshot/s phase=Pending
    ";
    assert!(heads(&fixture::index(restored)).starts_with("copied at VolumeSnapshot shop/s"));
}

#[test]
fn snapshot_controller_is_not_blamed_while_the_snapshots_cannot_be_seen() {
    let text = "
        pvc shop/data deleted=300 finalizers=snapshot.storage.kubernetes.io/pvc-as-source-protection
        snapshot shop/other claim=other ready=yes
        deploy kube-system/snapshot-controller ready=1
    ";
    let mut index = fixture::index(text);
    insta::assert_snapshot!(heads(&index), @"finisherBusy at Deployment kube-system/snapshot-controller (Inferred, waits)");
    hide(&mut index, "volumesnapshots.snapshot.storage.k8s.io");
    insta::assert_snapshot!(heads(&index), @"cannotSee at PersistentVolumeClaim shop/data (Unknown, waits)");
    let clone = text.replace(
        "snapshot.storage.kubernetes.io/pvc-as-source",
        "provisioner.storage.kubernetes.io/cloning",
    );
    let mut index = fixture::index(&clone);
    hide(&mut index, "persistentvolumeclaims");
    insta::assert_snapshot!(heads(&index), @"cannotSee at PersistentVolumeClaim shop/data (Unknown, waits)");
}

#[test]
fn object_of_a_hidden_kind_is_never_said_to_have_no_cause() {
    let mut index = fixture::index("cm shop/c deleted=300");
    insta::assert_snapshot!(heads(&index), @"unknown at ConfigMap shop/c (Unknown, stuck)");
    hide(&mut index, "configmaps");
    insta::assert_snapshot!(heads(&index), @"cannotSee at ConfigMap shop/c (Unknown, stuck)");
}

#[test]
fn addresses_that_hold_a_range_are_said_to_be_unseen() {
    let text = "ServiceCIDR.networking.k8s.io range deleted=300 finalizers=networking.k8s.io/service-cidr-finalizer";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    cannotSee at ServiceCIDR range (Unknown, stuck)
      ServiceCIDR range
    "#);
}
