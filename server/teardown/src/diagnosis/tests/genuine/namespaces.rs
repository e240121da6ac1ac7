//! Namespaces, and what refuses the deletion of their content.

use super::{Genuine, NOTHING_ELSE, Told};
use crate::observation::HiddenCause;

pub(super) const ALL: [Genuine; 9] = [
    Genuine {
        is: "Two metrics APIs are down, and three previews wait for both",
        objects: r#"ns app-preview-417 deleted=4000 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:3990:Discovery_failed_for_some_groups,_2_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_custom.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_custom.metrics.k8s.io/v1beta1,_external.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_external.metrics.k8s.io/v1beta1;{parsed};{deleted};{removed};{finished}
            ns app-preview-418 deleted=3000 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:2990:Discovery_failed_for_some_groups,_2_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_custom.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_custom.metrics.k8s.io/v1beta1,_external.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_external.metrics.k8s.io/v1beta1
            ns app-preview-423 deleted=300 conditions={deleted};NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:290:Discovery_failed_for_some_groups,_2_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_custom.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_custom.metrics.k8s.io/v1beta1,_external.metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_external.metrics.k8s.io/v1beta1
            apiservice v1beta1.custom.metrics.k8s.io service=monitoring/prometheus-adapter available=Available:False:FailedDiscoveryCheck:9000:failing_or_missing_response_from_https://10.96.12.7:443/apis/custom.metrics.k8s.io/v1beta1:_Get_"https://10.96.12.7:443/apis/custom.metrics.k8s.io/v1beta1":_net/http:_request_canceled_while_waiting_for_connection_(Client.Timeout_exceeded_while_awaiting_headers)
            apiservice v1beta1.external.metrics.k8s.io service=keda/keda-operator-metrics-apiserver available=Available:False:ServiceNotFound:8000:service/keda-operator-metrics-apiserver_in_"keda"_is_not_present
            apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:True:Passed:90000:all_checks_passed
            svc monitoring/prometheus-adapter"#,
        told: &[
            Told::Hidden("custom.metrics.k8s.io/v1beta1", HiddenCause::Discovery, "stale"),
            Told::Hidden("external.metrics.k8s.io/v1beta1", HiddenCause::Discovery, "stale"),
        ],
        expected: &[
            "apiDown APIService v1beta1.custom.metrics.k8s.io confirmed RepairApi",
            "apiDown APIService v1beta1.external.metrics.k8s.io confirmed RepairApi",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "An API server passes its check and fails discovery, for a day",
        objects: "ns match-eu-3 deleted=86000 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:85990:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_allocation.agones.dev/v1:_stale_GroupVersion_discovery:_allocation.agones.dev/v1;{parsed};{deleted};{removed};{finished}
            apiservice v1.allocation.agones.dev service=agones-system/agones-controller-service available=Available:True:Passed:400000:all_checks_passed",
        told: &[Told::Hidden("allocation.agones.dev/v1", HiddenCause::Discovery, "stale")],
        expected: &["apiDown APIService v1.allocation.agones.dev * RepairApi"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A policy engine is deleted and guards its own namespace, and others",
        objects: r#"ns kyverno deleted=900 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:880:Failed_to_delete_all_resource_types,_2_remaining:_Internal_error_occurred:_failed_calling_webhook_"validate.kyverno.svc-fail":_failed_to_call_webhook:_Post_"https://kyverno-svc.kyverno.svc:443/validate/fail?timeout=10s":_no_endpoints_available_for_service_"kyverno-svc",_Internal_error_occurred:_failed_calling_webhook_"validate.kyverno.svc-fail":_failed_to_call_webhook:_Post_"https://kyverno-svc.kyverno.svc:443/validate/fail?timeout=10s":_no_endpoints_available_for_service_"kyverno-svc"
            ns team-a deleted=400 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"validate.kyverno.svc-fail":_failed_to_call_webhook:_Post_"https://kyverno-svc.kyverno.svc:443/validate/fail?timeout=10s":_no_endpoints_available_for_service_"kyverno-svc"
            svc kyverno/kyverno-svc selector=app.kubernetes.io/component:admission-controller
            webhook kyverno-resource-validating-webhook-cfg named=validate.kyverno.svc-fail service=kyverno/kyverno-svc guards=configmaps,secrets
            cm kyverno/kyverno-metrics
            cm team-a/settings"#,
        gone: "deploy kyverno/kyverno-admission-controller",
        told: &[Told::Endpoints("kyverno", "kyverno-svc", 0)],
        expected: &[
            "webhookDown ValidatingWebhookConfiguration kyverno-resource-validating-webhook-cfg confirmed RepairWebhook",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A usage protects a database",
        objects: r#"ns prod-db deleted=1200 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:1190:Failed_to_delete_all_resource_types,_1_remaining:_admission_webhook_"nousages.protection.crossplane.io"_denied_the_request:_This_resource_is_in-use_by_1_usage(s),_including_the_*v1beta1.Usage_"db-used-by-app"_by_resource_Deployment/app.;NamespaceContentRemaining:True:SomeResourcesRemain:1190:Some_resources_are_remaining:_postgresqlinstances.db.acme.io_has_1_resource_instances;{finished}
            webhook crossplane-no-usages named=nousages.protection.crossplane.io service=crossplane-system/crossplane-webhooks guards=postgresqlinstances.db.acme.io
            crd postgresqlinstances.db.acme.io defines=PostgreSQLInstance.db.acme.io
            PostgreSQLInstance.db.acme.io prod-db/main"#,
        told: &[Told::Endpoints("crossplane-system", "crossplane-webhooks", 2)],
        expected: &["webhookDenies * * confirmed SatisfyPolicy"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A management plane has left, and its finalizer stays on a namespace",
        objects: "ns team-blue deleted=5000 spec= finalizers=controller.cattle.io/namespace-auth conditions={discovered};{parsed};{deleted};{removed};{finished}
            ns cattle-system",
        gone: "deploy cattle-system/cattle-cluster-agent",
        expected: &["finisherGone Namespace * inferred RestoreFinisher"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A namespace was finalized by force under a living GitOps controller",
        objects: "ns flux-system
            Kustomization.kustomize.toolkit.fluxcd.io tenants-a/apps deleted=7200 finalizers=finalizers.fluxcd.io
            HelmRelease.helm.toolkit.fluxcd.io tenants-a/redis deleted=7199 finalizers=finalizers.fluxcd.io
            deploy flux-system/kustomize-controller replicas=1 ready=1 uses=account:kustomize-controller
            deploy flux-system/helm-controller replicas=1 ready=1 uses=account:helm-controller
            crb cluster-reconciler-flux-system role=clusterrole/cluster-admin accounts=flux-system/kustomize-controller,flux-system/helm-controller
            clusterrole cluster-admin updates=*.*",
        no_namespace: "tenants-a",
        expected: &["namespaceGone Namespace tenants-a inferred RecreateNamespace"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A key of the encryption at rest was replaced too early",
        objects: r#"ns legacy-crm deleted=2500 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:2490:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_unable_to_transform_key_"/registry/secrets/legacy-crm/sh.helm.release.v1.crm.v3":_invalid_padding_on_input;{removed};{finished}"#,
        told: &[Told::Hidden(
            "secrets",
            HiddenCause::Failing,
            r#"Internal error occurred: unable to transform key "/registry/secrets/legacy-crm/sh.helm.release.v1.crm.v3": invalid padding on input"#,
        )],
        expected: &["unreadable * * confirmed RepairStorage"],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "A conversion webhook went with its namespace, and namespaces without such objects wait as well",
        objects: r#"ns qa-1 deleted=800 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:790:Failed_to_delete_all_resource_types,_1_remaining:_storage_is_(re)initializing:_failed_to_list_cluster.x-k8s.io/v1beta2,_Kind=MachineDeployment:_conversion_webhook_for_cluster.x-k8s.io/v1beta1,_Kind=MachineDeployment_failed:_Post_"https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s":_service_"capi-webhook-service"_not_found
            ns qa-2 deleted=700 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:690:Failed_to_delete_all_resource_types,_1_remaining:_conversion_webhook_for_cluster.x-k8s.io/v1beta1,_Kind=MachineDeployment_failed:_Post_"https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s":_service_"capi-webhook-service"_not_found
            crd machinedeployments.cluster.x-k8s.io defines=MachineDeployment.cluster.x-k8s.io service=capi-system/capi-webhook-service stored=v1beta1,v1beta2
            crd machines.cluster.x-k8s.io defines=Machine.cluster.x-k8s.io"#,
        told: &[Told::Hidden(
            "machinedeployments.cluster.x-k8s.io",
            HiddenCause::Failing,
            r#"conversion webhook for cluster.x-k8s.io/v1beta1, Kind=MachineDeployment failed: Post "https://capi-webhook-service.capi-system.svc:443/convert?timeout=30s": service "capi-webhook-service" not found"#,
        )],
        expected: &[
            "conversionDown CustomResourceDefinition machinedeployments.cluster.x-k8s.io confirmed RepairConverter",
        ],
        ..NOTHING_ELSE
    },
    Genuine {
        is: "The API server was started without the key of its Secrets",
        objects: "ns edge-site-4 deleted=2500 conditions={discovered};{parsed};NamespaceDeletionContentFailure:True:ContentDeletionFailed:2490:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_identity_transformer_tried_to_read_encrypted_data;{removed};{finished}",
        expected: &["unreadable * * confirmed RepairStorage"],
        ..NOTHING_ELSE
    },
];
