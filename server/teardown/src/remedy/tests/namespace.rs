//! Namespaces, with the APIs and webhooks that hold them.

use super::*;

#[test]
fn api_is_repaired_then_its_namespace_looked_at_again_then_the_api_removed() {
    insta::assert_snapshot!(describe(&fixture::index(API_DOWN)), @r#"
    apiDown at APIService v1beta1.metrics.k8s.io
      None: repairApi:groupVersion:metrics.k8s.io/v1beta1 → Service kube-system/metrics-server
        ? kubectl --context=prod get apiservices.apiregistration.k8s.io/v1beta1.metrics.k8s.io --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=kube-system get services/metrics-server --output=wide
        ? kubectl --context=prod --namespace=kube-system get endpointslices --selector=kubernetes.io/service-name=metrics-server
        ? kubectl --context=prod --namespace=kube-system get pods --output=wide
      Reversible: nudge → Namespace s3
        needs causeRemoved No
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/s3 --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:s3"}}'
        < kubectl --context=prod annotate namespaces/s3 unwind/look-again-
      SwitchesOff: deleteApiService:groupVersion:metrics.k8s.io/v1beta1 → APIService v1beta1.metrics.k8s.io
        needs groupStoresNothing Yes
        reaches *.metrics.k8s.io
        reaches and releases Namespace s3
        loses api
        loses comesBack
        undo createAgain
        = kubectl --context=prod get apiservices.apiregistration.k8s.io/v1beta1.metrics.k8s.io --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"apiservice:v1beta1.metrics.k8s.io"}}' | kubectl --context=prod delete --raw=/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io --filename=-
      Leftovers: finalizeNamespace → Namespace s3
        withheld: cannotList:resource:metrics.k8s.io/v1beta1
        needs namespaceListable No
        needs noPodsInside Yes
        reaches ConfigMap s3/left
        loses orphans
    "#);
}

#[test]
fn denial_of_a_rule_that_is_gone_is_waited_out_and_not_satisfied() {
    let denied = "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:ValidatingAdmissionPolicy_'keep'_with_binding_'all'_denied_request:_no
        cm shop/c";
    assert_eq!(acts(&fixture::index(denied)), ["wait", "nudge"]);
    assert_eq!(acts(&fixture::index(&format!("{denied}\npolicy keep"))), ["satisfyPolicy"]);
    let mut unseen = fixture::index(denied);
    hide(&mut unseen, "validatingadmissionpolicies.admissionregistration.k8s.io");
    assert_eq!(acts(&unseen), ["satisfyPolicy"]);
}

#[test]
fn api_that_may_store_objects_is_never_removed() {
    let stores = API_DOWN.replace("metrics.k8s.io", "apps.example.com");
    insta::assert_debug_snapshot!(acts(&fixture::index(&stores)), @r#"
    [
        "repairApi",
        "nudge",
        "deleteApiService withheld groupMayStoreObjects:group:apps.example.com",
        "finalizeNamespace withheld cannotList:resource:apps.example.com/v1beta1",
    ]
    "#);
}

#[test]
fn namespace_is_finished_only_when_it_can_be_listed_and_has_no_pod() {
    let up = API_DOWN.replace("Available:False:MissingEndpoints", "Available:True:Passed");
    insta::assert_debug_snapshot!(acts(&fixture::index(&up)), @r#"
    [
        "wait",
        "nudge",
        "finalizeNamespace",
    ]
    "#);
    let mut index = fixture::index(&up);
    hide(&mut index, "secrets");
    insta::assert_debug_snapshot!(acts(&index), @r#"
    [
        "wait",
        "nudge",
        "finalizeNamespace withheld cannotList:resource:secrets",
    ]
    "#);
    let with_pod = format!("{up}\npod s3/a node=n1\nnode n1");
    insta::assert_debug_snapshot!(acts(&fixture::index(&with_pod)), @r#"
    [
        "wait",
        "nudge",
        "finalizeNamespace withheld podsInside",
    ]
    "#);
}

#[test]
fn controller_that_looks_again_does_so_by_a_time() {
    let by = |available: &str| {
        let up = API_DOWN.replace("Available:False:MissingEndpoints:210", available);
        let (_, remedies) = found(&fixture::index(&up)).remove(0);
        let RemedyAct::Wait { until, .. } = remedies[0].act else { panic!("{remedies:?}") };
        let nudge = remedies.iter().find(|it| it.act == RemedyAct::Nudge).unwrap();
        assert_eq!(nudge.needs[0].holds, Holds::Yes);
        until.map(|until| until.duration_since(fixture::now()).as_secs())
    };
    assert_eq!(by("Available:True:Passed:10"), Some(140));
    assert_eq!(by("Available:True:Passed:149"), Some(1));
    assert_eq!(by("Available:True:Passed:150"), None, "only a longer back-off is left");
}

#[test]
fn controller_looks_again_within_75_seconds_after_the_api_is_removed() {
    let mut index = fixture::index(&format!("{API_DOWN}\napiservice v1.apps"));
    let api = index.find("apiregistration.k8s.io", "APIService", None, "v1beta1.metrics.k8s.io");
    let api = api.unwrap().clone();
    let deleted = Observation::Deleted { kind: api.kind.clone(), uid: api.uid.clone() };
    index.apply([deleted], fixture::now());
    let (_, remedies) = found(&index).remove(0);
    let RemedyAct::Wait { until: Some(until), .. } = remedies[0].act else {
        panic!("{remedies:?}")
    };
    assert_eq!(until.duration_since(fixture::now()).as_secs(), 75);
}

#[test]
fn object_of_a_namespace_that_is_gone_gets_its_namespace_back_first() {
    insta::assert_snapshot!(describe(&fixture::index("
        Topic.queue.example gone/orders deleted=90 finalizers=queue.example/topic
        cm gone/left
    ")), @r#"
    finisherGone at Topic 
      Deletion: recreateNamespace:namespace:gone,hasLabels:false → Namespace gone
        reaches ConfigMap gone/left
        reaches Topic gone/orders
        loses workloadsStart
        ! printf %s '{"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"unwind/recreated":"1800000000"},"name":"gone"}}' | kubectl --context=prod create --filename=-
        ! kubectl --context=prod delete namespaces --selector=unwind/recreated=1800000000 --wait=false
      Leftovers: removeFinalizer:finalizer:queue.example/topic → Topic gone/orders
        withheld: namespaceGone
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
    "#);
}

#[test]
fn webhook_is_repaired_then_its_namespace_looked_at_again_then_the_webhook_switched_off() {
    insta::assert_snapshot!(describe(&fixture::index(r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps,deployments.apps
        cm shop/c
    "#)), @r#"
    webhookDown at ValidatingWebhookConfiguration gate
      None: repairWebhook:webhook:gate.example.com → ValidatingWebhookConfiguration gate
        ? kubectl --context=prod get validatingwebhookconfigurations.admissionregistration.k8s.io/gate --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=ops get services/gate --output=wide
        ? kubectl --context=prod --namespace=ops get endpointslices --selector=kubernetes.io/service-name=gate
        ? kubectl --context=prod --namespace=ops get pods --output=wide
      Reversible: nudge → Namespace shop
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/shop --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:shop"}}'
        < kubectl --context=prod annotate namespaces/shop unwind/look-again-
      Reversible: exemptNamespaces:webhook:gate.example.com,namespaces:[shop] → ValidatingWebhookConfiguration gate
        reaches and releases Namespace shop
        loses checksInNamespaces
        loses comesBack
        undo setBack
        ! kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"test","path":"/webhooks/0/namespaceSelector","value":{}},{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["shop"]}]}}]'
        < kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"test","path":"/webhooks/0/namespaceSelector","value":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["shop"]}]}},{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]'
      SwitchesOff: ignoreWebhook:webhook:gate.example.com → ValidatingWebhookConfiguration gate
        reaches configmaps
        reaches deployments.apps
        reaches *
        reaches and releases Namespace shop
        loses checks
        loses comesBack
        undo setBack
        ! kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]'
        < kubectl --context=prod patch validatingwebhookconfigurations.admissionregistration.k8s.io/gate --type=json -p '[{"op":"test","path":"/metadata/uid","value":"webhook:gate"},{"op":"test","path":"/webhooks/0/name","value":"gate.example.com"},{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]'
      SwitchesOff: deleteWebhookConfiguration → ValidatingWebhookConfiguration gate
        reaches configmaps
        reaches deployments.apps
        reaches *
        reaches and releases Namespace shop
        loses checks
        loses comesBack
        undo createAgain
        = kubectl --context=prod get validatingwebhookconfigurations.admissionregistration.k8s.io/gate --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"webhook:gate"}}' | kubectl --context=prod delete --raw=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gate --filename=-
    "#);
}

/// A finalizer that another program adds before the line runs makes it fail, and what else the namespace has by then stays.
#[test]
fn namespace_is_finished_as_it_is_when_the_line_runs() {
    let up = API_DOWN.replace("Available:False:MissingEndpoints", "Available:True:Passed");
    let (_, remedies) = found(&fixture::index(&up)).remove(0);
    let finish = remedies.iter().find(|it| it.act == RemedyAct::FinalizeNamespace).unwrap();
    let (_, line) = finish.lines("prod").pop().unwrap();
    assert_eq!(
        line,
        r#"kubectl --context=prod get namespaces/s3 --output=json | kubectl --context=prod patch --local --filename=- --type=json -p '[{"op":"test","path":"/metadata/uid","value":"ns:s3"},{"op":"test","path":"/spec/finalizers","value":["kubernetes"]},{"op":"replace","path":"/spec/finalizers","value":[]}]' --output=json | kubectl --context=prod replace --raw=/api/v1/namespaces/s3/finalize --filename=-"#
    );
    let request = finish.check_offered().unwrap();
    assert_eq!(request.body, serde_json::json!({ "spec": { "finalizers": [] } }));
}

#[test]
fn finalizer_in_the_spec_goes_alone() {
    insta::assert_snapshot!(describe(&fixture::index("
        ns shop of=shop deleted=400 spec=kubernetes,example.com/keep finalizers=example.com/meta
    ")), @r#"
    finisherGone at Namespace 
      None: restoreFinisher:finalizer:example.com/meta,candidates:[]
        ? kubectl --context=prod get namespaces/shop --output=yaml --show-managed-fields
        ? kubectl --context=prod get deployments,statefulsets --all-namespaces
      Leftovers: removeFinalizer:finalizer:example.com/meta → Namespace shop
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        loses cleanUp
        = kubectl --context=prod get namespaces/shop --output=yaml
        ! kubectl --context=prod patch namespaces/shop --type=json -p '[{"op":"test","path":"/metadata/uid","value":"ns:shop"},{"op":"test","path":"/metadata/finalizers/0","value":"example.com/meta"},{"op":"remove","path":"/metadata/finalizers/0"}]'
    namespaceFinalizer at Namespace shop
      None: restoreFinisher:finalizer:example.com/keep,candidates:[]
        ? kubectl --context=prod get namespaces/shop --output=yaml --show-managed-fields
        ? kubectl --context=prod get deployments,statefulsets --all-namespaces
      Leftovers: removeSpecFinalizer:finalizer:example.com/keep → Namespace shop
        needs finisherCannotFinish Unknown
        needs cleanedUpByHand Unknown
        needs namespaceListable Yes
        needs noPodsInside Yes
        loses cleanUp
        = kubectl --context=prod get namespaces/shop --output=yaml
        ! kubectl --context=prod get namespaces/shop --output=json | kubectl --context=prod patch --local --filename=- --type=json -p '[{"op":"test","path":"/metadata/uid","value":"ns:shop"},{"op":"test","path":"/spec/finalizers/1","value":"example.com/keep"},{"op":"remove","path":"/spec/finalizers/1"}]' --output=json | kubectl --context=prod replace --raw=/api/v1/namespaces/shop/finalize --filename=-
    "#);
}

#[test]
fn converter_is_repaired_or_switched_off() {
    insta::assert_snapshot!(describe(&fixture::index("
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_queue.example/v1,_Kind=Topic_failed:_Post_refused
        crd topics.queue.example defines=Topic.queue.example service=s4/converter
    ")), @r#"
    conversionDown at CustomResourceDefinition topics.queue.example
      None: repairConverter:kind:queue.example/v1, Kind=Topic → Service s4/converter
        ? kubectl --context=prod get customresourcedefinitions.apiextensions.k8s.io/topics.queue.example --output=yaml --show-managed-fields
        ? kubectl --context=prod --namespace=s4 get services/converter --output=wide
        ? kubectl --context=prod --namespace=s4 get endpointslices --selector=kubernetes.io/service-name=converter
        ? kubectl --context=prod --namespace=s4 get pods --output=wide
      Reversible: nudge → Namespace shop
        needs causeRemoved Unknown
        undo takeAnnotationOff
        ! kubectl --context=prod patch namespaces/shop --type=merge -p '{"metadata":{"annotations":{"unwind/look-again":"1800000000"},"uid":"ns:shop"}}'
        < kubectl --context=prod annotate namespaces/shop unwind/look-again-
      DataLoss: stopConversion → CustomResourceDefinition topics.queue.example
        needs oneStoredVersion Unknown
        reaches topics.queue.example
        loses fields
        loses comesBack
        undo setBack
        ? kubectl --context=prod get customresourcedefinitions.apiextensions.k8s.io/topics.queue.example '--output=jsonpath={.status.storedVersions}'
        = kubectl --context=prod get customresourcedefinitions.apiextensions.k8s.io/topics.queue.example --output=yaml
        ! kubectl --context=prod patch customresourcedefinitions.apiextensions.k8s.io/topics.queue.example --type=json -p '[{"op":"test","path":"/metadata/uid","value":"crd:topics.queue.example"},{"op":"test","path":"/spec/conversion/strategy","value":"Webhook"},{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'
    "#);
}

#[test]
fn hidden_kind_is_made_visible_and_nothing_else() {
    let mut index =
        fixture::index("pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection");
    hide(&mut index, "pods");
    insta::assert_snapshot!(describe(&index), @r#"
    cannotSee at PersistentVolumeClaim shop/data
      None: makeVisible:resource:pods → PersistentVolumeClaim shop/data
        ? kubectl --context=prod auth can-i list pods --all-namespaces
    "#);
}

#[test]
fn conversion_is_stopped_only_where_one_version_is_stored() {
    for (stored, holds) in [("", Holds::Unknown), ("v1", Holds::Yes), ("v1,v2", Holds::No)] {
        let index = fixture::index(&format!(
            "
            ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_queue.example/v1,_Kind=Topic_failed:_Post_refused
            crd topics.queue.example defines=Topic.queue.example service=ops/converter stored={stored}
            Topic.queue.example shop/orders
            "
        ));
        let found = found(&index);
        let mut all = found.iter().flat_map(|(_, remedies)| remedies);
        let stop = all.find(|it| it.act == RemedyAct::StopConversion).unwrap();
        assert_eq!(stop.needs[0].holds, holds, "{stored}");
        assert_eq!(stop.check_offered().is_ok(), holds != Holds::No, "{stored}");
    }
}

#[test]
fn namespace_is_created_again_with_the_labels_that_it_had() {
    let mut index = fixture::index(
        "
        ns gone labels=team:a,unwind/recreated:7
        Topic.queue.example gone/orders deleted=90 finalizers=queue.example/topic
        ",
    );
    let namespace = fixture::object("ns gone");
    let (kind, uid) = (namespace.kind, namespace.uid);
    index.apply([Observation::Deleted { kind, uid }], fixture::now());
    let found = found(&index);
    let mut all = found.iter().flat_map(|(_, remedies)| remedies);
    let is_it =
        |it: &&Remedy| matches!(it.act, RemedyAct::RecreateNamespace { has_labels: true, .. });
    let request = all.find(is_it).unwrap().check_offered().unwrap();
    let labels = &request.body["metadata"]["labels"];
    assert_eq!(*labels, serde_json::json!({ "team": "a", "unwind/recreated": "1800000000" }));
}

/// The rest of the cluster stays checked, so a person tries it before the webhook is switched off for all.
#[test]
fn namespace_is_exempted_from_a_webhook_before_the_webhook_is_switched_off() {
    let text = |webhook: &str| {
        format!(
            r#"ns shop labels=team:a deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_service_"gate"_not_found
            webhook gate service=ops/gate guards=configmaps {webhook}
            cm shop/c"#
        )
    };
    let all = [
        "repairWebhook",
        "nudge",
        "exemptNamespaces",
        "ignoreWebhook",
        "deleteWebhookConfiguration",
    ];
    assert_eq!(acts(&fixture::index(&text(""))), all);
    // The selector that is there stays.
    let chosen = fixture::index(&text("in=team:a"));
    let (_, remedies) = found(&chosen).remove(0);
    let (_, line) = remedies[2].lines("prod").remove(0);
    assert!(
        line.contains(r#"{"op":"test","path":"/webhooks/0/namespaceSelector","value":{"matchLabels":{"team":"a"}}}"#),
        "{line}"
    );
    assert!(
        line.contains(r#""value":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["shop"]}],"matchLabels":{"team":"a"}}"#),
        "{line}"
    );
    assert!(remedies[2].check_offered().is_err(), "a person does it");
    // A namespace that the selector leaves out already is not what the webhook is asked about.
    let left_out = acts(&fixture::index(&text("in=team:b")));
    assert!(!left_out.contains(&"exemptNamespaces".to_owned()), "{left_out:?}");
    // Nor does a selector of namespaces concern an object without one.
    let of_cluster = r#"
        vac fast deleted=400 finalizers=kubernetes.io/vac-protection
        webhook gate service=ops/gate guards=volumeattributesclasses.storage.k8s.io asked=UPDATE
    "#;
    let of_cluster = acts(&fixture::index(of_cluster));
    assert!(of_cluster.contains(&"ignoreWebhook".to_owned()), "{of_cluster:?}");
    assert!(!of_cluster.contains(&"exemptNamespaces".to_owned()), "{of_cluster:?}");
}
