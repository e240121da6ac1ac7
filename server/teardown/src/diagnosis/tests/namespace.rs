//! Namespaces whose controller does not come back, and content of kinds that nobody watches.

use super::*;

#[test]
fn controller_that_does_not_come_back_after_its_first_pass_is_named() {
    let text = "
        ns shop deleted=400 conditions=NamespaceContentRemaining:False:ContentRemoved:390:All_content_removed
        cm shop/c
    ";
    let mut index = fixture::index(text);
    insta::assert_snapshot!(describe(&index), @r#"
    controllerSilent at Namespace shop (Inferred, stuck)
      Namespace shop
      - Namespace shop: spec.finalizers kubernetes
      - ConfigMap shop/c: metadata.namespace shop
    "#);
    stand_still(&mut index);
    insta::assert_snapshot!(heads(&index), @r#"
    managerSilent at Lease kube-system/kube-controller-manager (Confirmed, stuck)
    controllerSilent at Namespace shop (Inferred, stuck)
    "#);
    // Before it is late nobody is blamed.
    let mut index = fixture::index(&text.replace("deleted=400", "deleted=20"));
    stand_still(&mut index);
    assert_eq!(heads(&index), "");
    // Somebody else keeps it.
    let other = text.replace("conditions", "spec=kubernetes,example.com/hold conditions");
    insta::assert_snapshot!(heads(&fixture::index(&other)), @"namespaceFinalizer at Namespace shop (Confirmed, stuck)");
}

#[test]
fn manager_is_blamed_for_volumes_that_are_its_own_work() {
    let with_manager = |text: &str| {
        let mut index = fixture::index(text);
        stand_still(&mut index);
        let heads = heads(&index);
        heads.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let volume = "pv pv deleted=300 phase=Failed finalizers=kubernetes.io/pv-controller";
    assert_eq!(with_manager(volume), ["managerSilent", "backendLeft"]);
    let driver = "pv pv deleted=300 phase=Failed finalizers=external-provisioner.volume.kubernetes.io/finalizer driver=disk.example";
    assert_eq!(with_manager(driver), ["backendLeft"]);
    let bound = "pv pv deleted=300 finalizers=kubernetes.io/pv-protection";
    assert_eq!(with_manager(bound), ["managerSilent", "volumeBound"]);
    let attached = "
        node n1
        pv pv deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=pv node=n1 attacher=disk.example
    ";
    assert_eq!(with_manager(attached), ["managerSilent", "volumeAttached"]);
    let asked = attached.replace("a1 ", "a1 deleted=200 ");
    assert_eq!(with_manager(&asked), ["volumeAttached"], "the driver has to answer");
}

#[test]
fn content_of_a_kind_that_nobody_watches_is_named_by_the_condition() {
    let text = "
        ns shop deleted=400 conditions=NamespaceContentRemaining:True:SomeResourcesRemain:390:Some_resources_are_remaining:_configmaps._has_1_resource_instances,_leases.coordination.k8s.io_has_2_resource_instances;NamespaceFinalizersRemaining:True:SomeFinalizersRemain:390:Some_content_in_the_namespace_has_finalizers_remaining:_example.com/x_in_2_resource_instances
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    contentUnseen at Namespace shop (Confirmed, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances, leases.coordination.k8s.io has 2 resource instances
      - Namespace shop: condition NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/x in 2 resource instances
    "#);
    // A kind that is watched and has nothing left went since the condition was written.
    let watched = text.replace(",_leases.coordination.k8s.io_has_2_resource_instances", "");
    assert!(!heads(&fixture::index(&watched)).contains("contentUnseen"));
    // One that cannot be listed is not seen either.
    let mut index = fixture::index(&watched);
    hide(&mut index, "configmaps");
    assert!(heads(&index).starts_with("contentUnseen at Namespace shop (Confirmed"));
}

#[test]
fn list_of_apis_that_cannot_be_read_is_no_refusal_of_the_content() {
    let world = |condition: &str| format!("ns shop deleted=400 conditions={condition}\ncm shop/c");
    let unread = "discoveryFailed at Namespace shop (Confirmed, stuck)";
    for condition in [
        "NamespaceDeletionGroupVersionParsingFailure:True:GroupVersionParsingFailed:390:unexpected_GroupVersion_string:_a/b/c",
        "NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:Discovery_failed_for_some_groups,_1_failing:_the_server_could_not_find_the_requested_resource",
    ] {
        assert_eq!(heads(&fixture::index(&world(condition))), unread, "{condition}");
    }
    // One that names the group version has its API as the root, and a refused deletion is another thing.
    let named = "NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_metrics.k8s.io/v1beta1:_stale";
    assert_eq!(
        heads(&fixture::index(&world(named))),
        "apiDown at APIService v1beta1.metrics.k8s.io (Confirmed, stuck)"
    );
    let refused = "NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:odd";
    assert_eq!(
        heads(&fixture::index(&world(refused))),
        "contentRefused at Namespace shop (Confirmed, stuck)"
    );
}
