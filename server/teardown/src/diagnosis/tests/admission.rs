//! Webhooks: several in one condition, and one that nobody quotes.

use jiff::SignedDuration;

use super::*;
use crate::observation::Observation;

#[test]
fn two_webhooks_in_one_condition_are_two_roots() {
    let text = r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_3_remaining:_Internal_error_occurred:_failed_calling_webhook_"a.example.com":_failed_to_call_webhook:_Post_"https://a.ops.svc:443/":_service_"a"_not_found,_admission_webhook_"b.example.com"_denied_the_request:_no,_unexpected_items_still_remain_in_namespace:_shop_for_gvr:_/v1,_Resource=pods
        cm shop/c
    "#;
    let heads = heads(&fixture::index(text));
    insta::assert_snapshot!(heads, @r#"
    webhookDenies at Namespace shop (Inferred, stuck)
    webhookDown at Namespace shop (Inferred, stuck)
    "#);
    // Pods that remain are found by themselves.
    let only = r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:unexpected_items_still_remain_in_namespace:_shop_for_gvr:_/v1,_Resource=pods
    "#;
    assert!(!describe(&fixture::index(only)).contains("contentRefused"));
}

#[test]
fn rule_that_is_gone_denies_nothing_any_more() {
    let denied = |said: &str, rule: &str| {
        format!(
            "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:{said}
            {rule}
            cm shop/c"
        )
    };
    let webhook = "admission_webhook_\"gate.example.com\"_denied_the_request:_no";
    let policy = "ValidatingAdmissionPolicy_'keep'_with_binding_'all'_denied_request:_no";
    let configuration = "webhook gate service=ops/gate guards=configmaps";
    assert_eq!(
        heads(&fixture::index(&denied(webhook, configuration))).trim(),
        "webhookDenies at ValidatingWebhookConfiguration gate (Confirmed, stuck)"
    );
    insta::assert_snapshot!(describe(&fixture::index(&denied(webhook, "cm shop/b"))), @r#"
    webhookDenies at Namespace shop (Inferred, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceDeletionContentFailure True ContentDeletionFailed: admission webhook "gate.example.com" denied the request: no
      - Webhook gate.example.com: absent
    "#);
    insta::assert_snapshot!(describe(&fixture::index(&denied(policy, "cm shop/b"))), @r#"
    policyDenies at Namespace shop (Inferred, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceDeletionContentFailure True ContentDeletionFailed: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: no
      - ValidatingAdmissionPolicy keep: absent
    "#);
    // An object that cannot be listed may still be there.
    let hidden = |said: &str, resource: &str| {
        let mut index = fixture::index(&denied(said, "cm shop/b"));
        hide(&mut index, resource);
        describe(&index).trim().to_owned()
    };
    let unseen = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
    let found = hidden(webhook, unseen);
    assert!(found.starts_with("webhookDenies at Namespace shop (Inferred, stuck)"), "{found}");
    assert!(!found.contains("absent"), "{found}");
    let unseen = "validatingadmissionpolicies.admissionregistration.k8s.io";
    let found = hidden(policy, unseen);
    let head = "policyDenies at ValidatingAdmissionPolicy keep (Inferred, stuck)";
    assert!(found.starts_with(head) && !found.contains("absent"), "{found}");
}

/// A namespace of this name, whose content a webhook kept that did not answer.
fn unanswered(namespace: &str) -> String {
    format!(
        "ns {namespace} deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_\"gate.example.com\":_EOF
        cm {namespace}/c
        "
    )
}

#[test]
fn webhook_that_no_configuration_has_any_more_is_no_root_of_its_own() {
    let text = unanswered("shop");
    let index = fixture::index(&text);
    insta::assert_snapshot!(describe(&index), @r#"
    webhookDown at Namespace shop (Inferred, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceDeletionContentFailure True ContentDeletionFailed: failed calling webhook "gate.example.com": EOF
      - Webhook gate.example.com: absent
    "#);
    let found = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    assert!(found.is_of_lost_rule() && !found.explains_others());
    assert_eq!(found.deleted_rule(), None);
}

#[test]
fn webhook_whose_configuration_was_deleted_names_the_configuration_and_the_time() {
    let configuration = "webhook gate service=ops/gate guards=configmaps";
    let mut index = fixture::index(&(unanswered("shop") + configuration));
    let gone = fixture::object(configuration);
    let deleted = Observation::Deleted { kind: gone.kind.clone(), uid: gone.uid.clone() };
    index.apply([deleted], fixture::now() - SignedDuration::from_secs(60));
    let found = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    insta::assert_snapshot!(describe(&index), @r#"
    webhookDown at Namespace shop (Inferred, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceDeletionContentFailure True ContentDeletionFailed: failed calling webhook "gate.example.com": EOF
      - ValidatingWebhookConfiguration gate: deleted
    "#);
    assert_eq!(found.deleted_rule(), Some(&gone.reference()));
    assert!(found.is_of_lost_rule());
    // Another configuration, which cannot be seen, may have a webhook of this name.
    hide(&mut index, "mutatingwebhookconfigurations.admissionregistration.k8s.io");
    let found = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    assert!(!found.is_of_lost_rule() && found.explains_others(), "{:?}", found.evidence);
    assert_eq!(found.deleted_rule(), Some(&gone.reference()));
}

#[test]
fn webhook_that_cannot_be_seen_is_one_root_by_the_name_that_is_quoted() {
    let mut index = fixture::index(&(unanswered("shop") + &unanswered("zoo")));
    hide(&mut index, "validatingwebhookconfigurations.admissionregistration.k8s.io");
    let found = diagnose(&index, &Graph::of(&index), fixture::now());
    assert_eq!(found.len(), 1, "{}", heads(&index));
    assert_eq!(head(&found[0]), "webhookDown at Webhook gate.example.com");
    assert_eq!((found[0].confidence, found[0].total), (Confidence::Inferred, 2));
    let is_unseen = |it: &Evidence| {
        it.of == found[0].root && matches!(it.source, Source::Hidden(_)) && it.said.is_empty()
    };
    assert!(found[0].evidence.iter().any(is_unseen), "{:?}", found[0].evidence);
    assert!(found[0].explains_others() && !found[0].is_of_lost_rule());
}

#[test]
fn webhook_that_is_not_asked_about_deletes_is_not_blamed_for_one_of_the_same_name() {
    for (said, cause) in [
        ("admission_webhook_\"gate.example.com\"_denied_the_request:_no", "webhookDenies"),
        ("failed_calling_webhook_\"gate.example.com\":_no_endpoints", "webhookDown"),
    ] {
        let text = format!(
            "
            ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:{said}
            mutating ahead service=ops/gate guards=configmaps asked=UPDATE
            webhook gate service=ops/gate guards=configmaps
            cm shop/c
            "
        );
        let one = format!("{cause} at ValidatingWebhookConfiguration gate (Confirmed, stuck)");
        assert_eq!(heads(&fixture::index(&text)).trim(), one);
        // With one alone it is known which, whatever it says that it is asked about.
        let other = text.replace("webhook gate service=ops/gate guards=configmaps", "");
        let other = heads(&fixture::index(&other));
        assert!(other.starts_with(&format!("{cause} at MutatingWebhookConfiguration ahead")));
    }
}

#[test]
fn webhook_that_lets_pass_what_it_cannot_answer_is_not_blamed_for_one_of_the_same_name() {
    let text = "
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_\"gate.example.com\":_no_endpoints
        mutating ahead service=ops/gate guards=configmaps policy=Ignore
        webhook gate service=ops/gate guards=configmaps
        cm shop/c
    ";
    let one = "webhookDown at ValidatingWebhookConfiguration gate (Confirmed, stuck)";
    assert_eq!(heads(&fixture::index(text)).trim(), one);
}

/// The diagnoses that blame the webhook.
fn blamed(text: &str) -> Vec<String> {
    let heads = heads(&fixture::index(text));
    heads.lines().filter(|line| line.starts_with("webhookDown")).map(str::to_owned).collect()
}

#[test]
fn webhook_that_nobody_quotes_is_found_by_what_it_guards() {
    let text = "
        ns shop
        ns ops
        job shop/import
        pod shop/a owner=job/import node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking
        node n1
        webhook gate service=ops/gate guards=pods asked=UPDATE
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @r#"
    webhookDown at ValidatingWebhookConfiguration gate (Inferred, stuck)
      Pod shop/a
      - ValidatingWebhookConfiguration gate: webhooks[0].rules[0] UPDATE pods
      - Service ops/gate: absent 
    controllerSilent at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.finalizers batch.kubernetes.io/job-tracking
    "#);
    assert_eq!(blamed(&text.replace("deleted=400", "deleted=5")), [""; 0], "not late");
    assert_eq!(blamed(&text.replace("asked=UPDATE", "asked=UPDATE policy=Ignore")), [""; 0]);
    assert_eq!(blamed(&text.replace("guards=pods", "guards=secrets")), [""; 0]);
    assert_eq!(blamed(&text.replace("guards=pods", "in=team:b guards=pods")), [""; 0]);
    let serves = "svc ops/gate selector=app:gate\npod ops/gate labels=app:gate node=n1\n";
    assert_eq!(blamed(&format!("{text}{serves}")), [""; 0], "it answers");
    let mut index = fixture::index(text);
    hide(&mut index, "services");
    assert!(!heads(&index).contains("webhookDown"), "it may answer");
}

#[test]
fn webhook_that_may_exclude_the_object_is_blamed_with_the_field_that_decides() {
    let text = |namespace: &str, more: &str| {
        format!(
            "
            {namespace}
            node n1
            pod shop/a node=n1 phase=Failed deleted=400 grace=30 containers=web:terminated
            webhook gate service=ops/gate guards=pods {more}
            "
        )
    };
    let unevaluated = |text: &str| {
        assert_eq!(
            blamed(text),
            ["webhookDown at ValidatingWebhookConfiguration gate (Inferred, stuck)"]
        );
        let found = describe(&fixture::index(text));
        ["matchConditions", "namespaceSelector"].map(|it| found.contains(&format!("[0].{it}")))
    };
    assert_eq!(unevaluated(&text("ns shop", "")), [false, false]);
    assert_eq!(unevaluated(&text("ns shop", "matches=cel")), [true, false]);
    let labelled = "ns shop labels=team:b";
    assert_eq!(unevaluated(&text(labelled, "in=team:b")), [false, false]);
    assert_eq!(unevaluated(&text("", "in=team:b")), [false, true], "its labels are not seen");
}

#[test]
fn webhook_keeps_the_last_delete_of_a_pod_and_those_of_the_garbage_collector() {
    let pod = "
        node n1
        pod shop/a node=n1 phase=Failed deleted=400 grace=30 containers=web:terminated
        webhook gate service=ops/gate guards=pods
    ";
    assert_eq!(blamed(pod).len(), 1);
    let runs = pod.replace("phase=Failed ", "").replace("terminated", "running");
    assert_eq!(blamed(&runs), [""; 0], "nobody has sent it yet");
    let owner = "
        deploy shop/web deleted=400 finalizers=foregroundDeletion
        rs shop/web-1 owner=deploy/web
        webhook gate service=ops/gate guards=replicasets.apps
    ";
    assert_eq!(blamed(owner).len(), 1);
    assert_eq!(blamed(&owner.replace("rs shop/web-1", "rs shop/web-1 deleted=9")), [""; 0]);
    // To orphan a dependent is an UPDATE of it.
    let orphan = owner.replace("foregroundDeletion", "orphan");
    assert_eq!(blamed(&orphan), [""; 0]);
    let updates = format!("{} asked=UPDATE", orphan.trim_end());
    assert_eq!(blamed(&updates).len(), 1);
    let goes = updates.replace("rs shop/web-1", "rs shop/web-1 deleted=9");
    assert_eq!(blamed(&goes).len(), 1, "a dependent that is being deleted keeps its owner too");
}

/// The condition of a namespace when the controller was refused for several reasons.
fn refused(errors: usize, said: &str) -> String {
    let said = said.replace(' ', "_");
    format!(
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_{errors}_remaining:_{said}
        webhook gate service=ops/gate guards=configmaps
        cm shop/c"
    )
}

#[test]
fn refusal_that_is_not_known_is_a_root_beside_those_that_are() {
    const DENIED: &str = r#"admission webhook "gate.example.com" denied the request: no"#;
    const FORBIDDEN: &str = r#"configmaps is forbidden: User "system:serviceaccount:kube-system:namespace-controller" cannot deletecollection resource "configmaps" in API group "" in the namespace "shop""#;
    const REMAIN: &str =
        "unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods";
    const TIMEOUT: &str = "etcdserver: request timed out";
    const UNREADABLE: &str = r#"Internal error occurred: unable to transform key "/registry/secrets/shop/a": no matching prefix found"#;
    let denies = "webhookDenies at ValidatingWebhookConfiguration gate";
    let (refuses, unreadable) = ("contentRefused at Namespace shop", "unreadable at secrets ");
    let silent = "controllerSilent at Namespace shop";
    for (errors, said, expected) in [
        (2, [DENIED, FORBIDDEN].join(", "), &[denies, refuses] as &[&str]),
        (2, [DENIED, TIMEOUT].join(", "), &[denies, refuses]),
        (2, [UNREADABLE, TIMEOUT].join(", "), &[unreadable, refuses]),
        (2, [TIMEOUT, REMAIN].join(", "), &[refuses]),
        (2, [FORBIDDEN, REMAIN].join(", "), &[refuses]),
        // All that it says is known.
        (1, DENIED.to_owned(), &[denies]),
        (2, [DENIED, DENIED].join(", "), &[denies]),
        (2, [DENIED, REMAIN].join(", "), &[denies]),
        (2, [DENIED, UNREADABLE].join(", "), &[unreadable, denies]),
        (1, REMAIN.to_owned(), &[silent]),
        // Nobody knows what was cut off.
        (3, format!("{DENIED}, admission webhook…"), &[denies]),
    ] {
        let index = fixture::index(&refused(errors, &said));
        let mut found: Vec<String> =
            diagnose(&index, &Graph::of(&index), fixture::now()).iter().map(head).collect();
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{errors}: {said}");
    }
}

#[test]
fn definition_names_the_refusal_that_is_not_known_beside_those_that_are() {
    let text = |said: &str| {
        let said = said.replace(' ', "_");
        format!(
            "crd widgets.example.com defines=Widget.example.com deleted=300 finalizers=customresourcecleanup.apiextensions.k8s.io service=ops/convert terminating=Terminating:True:InstanceDeletionFailed:290:could_not_issue_all_deletes:_{said}"
        )
    };
    const CONVERTS: &str =
        "conversion webhook for example.com/v1, Kind=Widget failed: no endpoints";
    const OTHER: &str = "conversion webhook for example.com/v2, Kind=Widget failed: no endpoints";
    let down = "conversionDown at CustomResourceDefinition widgets.example.com";
    let refuses = "contentRefused at CustomResourceDefinition widgets.example.com";
    for (said, expected) in [
        (format!("[{CONVERTS}, etcdserver: request timed out]"), &[down, refuses] as &[&str]),
        (CONVERTS.to_owned(), &[down]),
        (format!("[{CONVERTS}, {OTHER}]"), &[down]),
        ("etcdserver: request timed out".to_owned(), &[refuses]),
    ] {
        let index = fixture::index(&text(&said));
        let mut found: Vec<String> =
            diagnose(&index, &Graph::of(&index), fixture::now()).iter().map(head).collect();
        found.sort();
        found.dedup();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{said}");
    }
}
