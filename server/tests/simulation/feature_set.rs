//! Features that only some runs have, chosen by the number of the seed. They were added later, and this way the older
//! seeds keep their runs.

use teardown::plan::{Choice, Choices};

/// The features that a run has beyond those that every run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeatureSet {
    /// The application refers to ConfigMaps and Secrets in every possible way.
    pub(crate) has_settings_references: bool,
    pub(crate) has_rare_faults: bool,
    /// Faults start before the server does.
    pub(crate) has_early_faults: bool,
    pub(crate) has_rare_components: bool,
    /// API extensions of other teams reach into its namespaces.
    pub(crate) has_neighbours: bool,
    /// The operator leaves unclaimed objects alone. In all other runs the operator includes them.
    pub(crate) leaves_unclaimed: bool,
    /// A user deletes Pods by force.
    pub(crate) has_forced_deletions: bool,
    /// The operator keeps the data.
    pub(crate) keeps_data: bool,
    /// The journal's disk fails until the repair.
    pub(crate) has_failing_disk: bool,
    /// Objects appear in the namespaces whose kinds no watch shows.
    pub(crate) has_unseen_content: bool,
    /// The custom resources may not be listed from the start of the run to the repair.
    pub(crate) has_hidden_kind: bool,
    /// An Ingress appears just before the plan, and no watch shows it in time.
    pub(crate) has_late_ingress: bool,
    /// The bystander has a custom resource with a finalizer.
    pub(crate) has_outsiders_finalizer: bool,
    /// DELETEs are answered with 408 after they had their effect.
    pub(crate) has_late_answers: bool,
    /// The Pods of the Deployments have a long grace period, and use half of it.
    pub(crate) has_long_grace: bool,
    /// The server has rights in one namespace of the unit, and no others.
    pub(crate) has_rights_in_one_namespace: bool,
    /// The CSI driver of the volumes is part of the unit.
    pub(crate) has_driver: bool,
    /// A controller still sees workloads that are gone, and creates Pods for them.
    pub(crate) has_lagging_controller: bool,
    /// Somebody asks to keep objects of the plan while the run goes on, and takes some of that back.
    pub(crate) has_keep_marks: bool,
    /// Annotations of tools ask for an order.
    pub(crate) has_hints: bool,
    /// The operator waives that others use objects of the unit, wherever the plan offers it.
    pub(crate) waives: bool,
}

impl FeatureSet {
    /// The choices of the operator who makes the plan.
    pub(crate) fn choices(self) -> Choices {
        // A person with rights in one namespace cannot tell whose the rest of it is.
        let includes = !self.leaves_unclaimed && !self.has_rights_in_one_namespace;
        let include = includes.then_some(Choice::IncludeAll);
        include.into_iter().chain(self.keeps_data.then_some(Choice::KeepData)).collect()
    }

    /// The features of the run with this seed.
    pub(crate) fn of(seed: u64) -> Self {
        let number = seed % 8;
        Self {
            has_settings_references: matches!(number, 1 | 2 | 7),
            has_rare_faults: matches!(number, 1 | 6 | 7),
            has_early_faults: matches!(number, 2 | 6),
            has_rare_components: matches!(number, 1 | 2 | 6 | 7),
            has_neighbours: matches!(seed % 16, 1 | 2 | 6 | 7 | 9 | 11 | 12 | 13),
            leaves_unclaimed: matches!(seed % 32, 1 | 6 | 11 | 18 | 28),
            has_forced_deletions: matches!(seed % 32, 9 | 12 | 22 | 25),
            keeps_data: matches!(seed % 32, 2 | 11 | 23 | 29),
            has_failing_disk: matches!(seed % 32, 0 | 16 | 17 | 27),
            has_unseen_content: matches!(seed % 32, 3 | 15 | 21 | 28),
            has_hidden_kind: matches!(seed % 32, 13 | 23),
            has_late_ingress: matches!(seed % 32, 9 | 22 | 25),
            has_outsiders_finalizer: matches!(seed % 32, 1 | 7 | 12 | 26),
            has_late_answers: matches!(seed % 32, 11 | 18),
            has_long_grace: matches!(seed % 32, 6 | 29),
            has_rights_in_one_namespace: matches!(seed % 32, 17 | 26),
            has_driver: matches!(seed % 32, 2 | 12 | 27),
            has_lagging_controller: matches!(seed % 32, 0 | 7 | 16 | 18),
            has_keep_marks: matches!(seed % 32, 16 | 21 | 27 | 29),
            has_hints: matches!(seed % 32, 18 | 21 | 22 | 28),
            waives: matches!(seed % 32, 7 | 25),
        }
    }
}

/// Whether this run has a client at the router, which takes as long as the rest of the run.
pub(crate) fn has_http_client(seed: u64) -> bool {
    seed % 16 == 3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use teardown::relation::EdgeKind;

    use super::*;
    use crate::{
        REGRESSION_SEEDS,
        simulation::{edge_forms, generate},
        state::{kind, list, text},
    };

    #[test]
    fn oldest_regression_seeds_have_no_added_feature() {
        let plain = FeatureSet {
            has_settings_references: false,
            has_rare_faults: false,
            has_early_faults: false,
            has_rare_components: false,
            has_neighbours: false,
            leaves_unclaimed: false,
            has_forced_deletions: false,
            keeps_data: false,
            has_failing_disk: false,
            has_unseen_content: false,
            has_hidden_kind: false,
            has_late_ingress: false,
            has_outsiders_finalizer: false,
            has_late_answers: false,
            has_long_grace: false,
            has_rights_in_one_namespace: false,
            has_driver: false,
            has_lagging_controller: false,
            has_keep_marks: false,
            has_hints: false,
            waives: false,
        };
        for seed in [20, 115, 293, 504, 1796] {
            assert_eq!(FeatureSet::of(seed), plain, "{seed}");
        }
        for (seed, _) in REGRESSION_SEEDS {
            let features = FeatureSet::of(seed);
            assert!(!features.has_neighbours && !features.leaves_unclaimed, "{seed}");
            assert!(!features.keeps_data && !features.has_forced_deletions, "{seed}");
            assert!(!features.has_unseen_content && !features.has_hidden_kind, "{seed}");
            assert!(!features.has_late_ingress && !features.has_outsiders_finalizer, "{seed}");
            assert!(!features.has_rights_in_one_namespace && !features.has_driver, "{seed}");
            assert!(!features.has_lagging_controller, "{seed}");
            assert!(!features.has_keep_marks && !features.has_hints, "{seed}");
            assert!(!features.has_late_answers && !features.has_long_grace, "{seed}");
            assert!(!features.waives, "{seed}");
        }
    }

    /// Within this number of runs every form is generated.
    const RUNS: u64 = 400;

    #[test]
    fn generated_applications_have_all_sizes() {
        let mut namespaces = BTreeSet::new();
        let (mut smallest, mut largest) = (usize::MAX, 0);
        for seed in 0..RUNS {
            let (_, application, _) = generate(seed);
            let ours = application.objects.iter().filter(|it| kind(it) == "Namespace").count() - 1;
            namespaces.insert(ours);
            smallest = smallest.min(application.objects.len());
            largest = largest.max(application.objects.len());
        }
        assert!(namespaces.iter().eq(&[1, 2, 3, 4, 5, 6]), "{namespaces:?}");
        assert!(smallest <= 10 && largest >= 120, "{smallest} to {largest}");
    }

    /// Kinds without edges, and forms of one kind that make no edge.
    #[test]
    fn kinds_without_edges_are_generated() {
        let is_generated = |is_it: fn(&serde_json::Value) -> bool| {
            (0..RUNS).any(|seed| generate(seed).1.objects.iter().any(is_it))
        };
        assert!(is_generated(|it| kind(it) == "CSIDriver"));
        assert!(is_generated(|it| text(it, "/spec/type") == "LoadBalancer"));
        assert!(is_generated(|it| !list(it, "/metadata/finalizers").is_empty()));
        assert!(is_generated(|it| kind(it) == "VolumeSnapshot"));
        assert!(is_generated(|it| kind(it) == "HTTPRoute"));
        assert!(is_generated(|it| kind(it) == "ScaledObject"));
        assert!(is_generated(|it| text(it, "/apiVersion") == "argoproj.io/v1alpha1"));
        assert!(is_generated(|it| kind(it) == "Kustomization"));
    }

    /// Lists all kinds of edges. A new kind does not compile before it is added here.
    fn next_kind(kind: Option<EdgeKind>) -> Option<EdgeKind> {
        use EdgeKind::{
            Admits, Attaches, Binds, Claims, Contains, Controls, Converts, Declares, Defines,
            Finishes, Guards, Hints, Mounts, Owns, Provisions, Refers, Routes, RunsAs, RunsOn,
            Scales, Selects, Serves, Snapshots,
        };
        match kind {
            None => Some(Owns),
            Some(Owns) => Some(Contains),
            Some(Contains) => Some(Mounts),
            Some(Mounts) => Some(Claims),
            Some(Claims) => Some(Binds),
            Some(Binds) => Some(Selects),
            Some(Selects) => Some(Routes),
            Some(Routes) => Some(Scales),
            Some(Scales) => Some(RunsOn),
            Some(RunsOn) => Some(RunsAs),
            Some(RunsAs) => Some(Admits),
            Some(Admits) => Some(Serves),
            Some(Serves) => Some(Defines),
            Some(Defines) => Some(Finishes),
            Some(Finishes) => Some(Converts),
            Some(Converts) => Some(Guards),
            Some(Guards) => Some(Refers),
            Some(Refers) => Some(Snapshots),
            Some(Snapshots) => Some(Attaches),
            Some(Attaches) => Some(Provisions),
            Some(Provisions) => Some(Controls),
            Some(Controls) => Some(Declares),
            Some(Declares) => Some(Hints),
            Some(Hints) => None,
        }
    }

    /// The edges that objects have. Pods have the references of their template as well. Edges from objects of an
    /// aggregated API to its APIService are missing, because no such object is generated.
    const FORMS: &str = "
        ReplicaSet Owns Deployment by metadata.ownerReferences[]
        Pod Owns ReplicaSet by metadata.ownerReferences[]
        Pod Owns StatefulSet by metadata.ownerReferences[]
        Pod Owns DaemonSet by metadata.ownerReferences[]
        Pod Owns Job by metadata.ownerReferences[]
        Pod Owns ReplicationController by metadata.ownerReferences[]
        Job Owns CronJob by metadata.ownerReferences[]
        PersistentVolumeClaim Owns StatefulSet by metadata.ownerReferences[]
        PersistentVolumeClaim Owns Pod by metadata.ownerReferences[]
        Deployment Contains Namespace by metadata.namespace
        PersistentVolumeClaim Contains Namespace by metadata.namespace
        Widget Contains Namespace by metadata.namespace
        Pod Mounts PersistentVolumeClaim by spec.volumes[].persistentVolumeClaim.claimName
        Pod Mounts PersistentVolumeClaim by spec.volumes[].ephemeral
        Pod Mounts ConfigMap by spec.volumes[].configMap.name
        Pod Mounts ConfigMap by spec.volumes[].projected.sources[].configMap.name
        Pod Mounts ConfigMap by spec.containers[].envFrom[].configMapRef.name
        Pod Mounts ConfigMap by spec.containers[].env[].valueFrom.configMapKeyRef.name
        Pod Mounts Secret by spec.volumes[].secret.secretName
        Pod Mounts Secret by spec.volumes[].projected.sources[].secret.name
        Pod Mounts Secret by spec.volumes[].csi.nodePublishSecretRef.name
        Pod Mounts CSIDriver by spec.volumes[].csi.driver
        Pod Mounts Secret by spec.containers[].envFrom[].secretRef.name
        Pod Mounts Secret by spec.containers[].env[].valueFrom.secretKeyRef.name
        Pod Mounts Secret by spec.imagePullSecrets[].name
        Deployment Mounts ConfigMap by spec.template.spec.volumes[].configMap.name
        StatefulSet Mounts ConfigMap by spec.template.spec.volumes[].configMap.name
        DaemonSet Mounts ConfigMap by spec.template.spec.volumes[].configMap.name
        Job Mounts ConfigMap by spec.template.spec.volumes[].configMap.name
        ReplicationController Mounts ConfigMap by spec.template.spec.volumes[].configMap.name
        CronJob Mounts Secret by spec.jobTemplate.spec.template.spec.containers[].envFrom[].secretRef.name
        Deployment Mounts PersistentVolumeClaim by spec.template.spec.volumes[].persistentVolumeClaim.claimName
        StatefulSet Mounts StorageClass by spec.volumeClaimTemplates[].spec.storageClassName
        Deployment Mounts StorageClass by spec.template.spec.volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName
        Ingress Mounts Secret by spec.tls[].secretName
        ServiceAccount Mounts Secret by secrets[].name
        ServiceAccount Mounts Secret by imagePullSecrets[].name
        StatefulSet Claims PersistentVolumeClaim by spec.volumeClaimTemplates[].metadata.name
        PersistentVolumeClaim Binds PersistentVolume by spec.volumeName
        Service Selects Pod by spec.selector
        Service Selects Deployment by spec.selector
        Service Selects StatefulSet by spec.selector
        PodDisruptionBudget Selects Pod by spec.selector
        NetworkPolicy Selects Pod by spec.podSelector
        NetworkPolicy Selects ReplicationController by spec.podSelector
        Ingress Routes Service by spec.rules[].http.paths[].backend.service.name
        Ingress Routes Service by spec.defaultBackend.service.name
        Ingress Routes Pod by spec.rules[].http.paths[].backend.service.name
        Ingress Routes IngressClass by spec.ingressClassName
        HorizontalPodAutoscaler Scales Deployment by spec.scaleTargetRef
        HorizontalPodAutoscaler Scales StatefulSet by spec.scaleTargetRef
        HorizontalPodAutoscaler Scales ReplicationController by spec.scaleTargetRef
        Pod RunsOn Node by spec.nodeName
        Pod RunsAs ServiceAccount by spec.serviceAccountName
        Deployment RunsAs ServiceAccount by spec.template.spec.serviceAccountName
        RoleBinding RunsAs Role by roleRef.name
        RoleBinding RunsAs ClusterRole by roleRef.name
        RoleBinding RunsAs ServiceAccount by subjects[].name
        RoleBinding RunsAs Pod by subjects[].name
        ClusterRoleBinding RunsAs ClusterRole by roleRef.name
        ClusterRoleBinding RunsAs Pod by subjects[].name
        ValidatingWebhookConfiguration Admits Service by webhooks[].clientConfig.service
        ValidatingWebhookConfiguration Admits Pod by webhooks[].clientConfig.service
        MutatingWebhookConfiguration Admits Service by webhooks[].clientConfig.service
        MutatingWebhookConfiguration Admits Pod by webhooks[].clientConfig.service
        APIService Serves Service by spec.service
        APIService Serves Pod by spec.service
        Widget Defines CustomResourceDefinition by apiVersion, kind
        Widget Finishes Deployment by metadata.finalizers[]
        CustomResourceDefinition Converts Service by spec.conversion.webhook.clientConfig.service
        CustomResourceDefinition Converts Pod by spec.conversion.webhook.clientConfig.service
        Report Refers ConfigMap by spec.sources[].settingsConfigMap
        VolumeSnapshot Snapshots PersistentVolumeClaim by spec.source.persistentVolumeClaimName
        HTTPRoute Routes Service by spec.rules[].backendRefs[]
        ScaledObject Scales Deployment by spec.scaleTargetRef
        PersistentVolumeClaim Provisions StorageClass by spec.storageClassName
        PersistentVolume Provisions CSIDriver by spec.csi.driver
        StatefulSet Provisions DaemonSet by spec.volumeClaimTemplates[].spec.storageClassName
        ConfigMap Declares Kustomization by kustomize.toolkit.fluxcd.io/name
        Deployment Declares Kustomization by kustomize.toolkit.fluxcd.io/name
        Namespace Declares Kustomization by kustomize.toolkit.fluxcd.io/name
        ConfigMap Hints ConfigMap by metadata.annotations[config.kubernetes.io/depends-on]
    ";

    #[test]
    fn kinds_of_edges_are_generated_in_each_of_their_forms() {
        let all = FORMS.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut missing: BTreeSet<String> = all.map(str::to_owned).collect();
        for kind in std::iter::successors(next_kind(None), |kind| next_kind(Some(*kind))) {
            // An object can name its owner only by a UID, which an application that is generated does not have.
            // Guards are edges of a plan alone. Attachments are on no page, because the cluster makes and removes them. No
            // class that is generated has a controller.
            if matches!(kind, EdgeKind::Guards | EdgeKind::Attaches | EdgeKind::Controls) {
                continue;
            }
            let part = format!(" {kind:?} ");
            assert!(missing.iter().any(|form| form.contains(&part)), "no form of {kind:?}");
        }
        for seed in 0..RUNS {
            for form in edge_forms(seed) {
                missing.remove(&form);
            }
            if missing.is_empty() {
                return;
            }
        }
        panic!("none of {RUNS} runs has {missing:#?}");
    }
}
