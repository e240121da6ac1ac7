//! What some games have that was not drawn when the first seeds were named: by their number, so that these mean what they
//! meant.

/// What a game has beyond what every game may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variety {
    /// Its application refers to settings and secrets in every way there is.
    pub(crate) is_dressed: bool,
    /// More goes wrong, and other things.
    pub(crate) is_worse: bool,
    /// What goes wrong does so before the server starts.
    pub(crate) is_early: bool,
    /// Its application has something of what few have.
    pub(crate) is_rich: bool,
    /// What others have reaches into its namespaces.
    pub(crate) is_neighbourly: bool,
}

impl Variety {
    /// What the game of this number has.
    pub(crate) fn of(seed: u64) -> Self {
        let number = seed % 8;
        Self {
            is_dressed: matches!(number, 1 | 2 | 7),
            is_worse: matches!(number, 1 | 6 | 7),
            is_early: matches!(number, 2 | 6),
            is_rich: matches!(number, 1 | 2 | 6 | 7),
            is_neighbourly: matches!(seed % 16, 1 | 2 | 6 | 7 | 9 | 11 | 12 | 13),
        }
    }
}

/// Whether this is one of the games with somebody at the router: it costs as much as the rest.
pub(crate) fn has_door(seed: u64) -> bool {
    seed % 16 == 3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use teardown::relation::EdgeKind;

    use super::*;
    use crate::{
        NAMED,
        game::{draw, forms},
        state::{kind, list, text},
    };

    #[test]
    fn what_was_named_first_is_as_it_was() {
        let plain = Variety {
            is_dressed: false,
            is_worse: false,
            is_early: false,
            is_rich: false,
            is_neighbourly: false,
        };
        for seed in [20, 115, 293, 504, 1796] {
            assert_eq!(Variety::of(seed), plain, "{seed}");
        }
        for (seed, _) in NAMED {
            assert!(!Variety::of(seed).is_neighbourly, "{seed}");
        }
    }

    /// Within so many games everything is drawn.
    const GAMES: u64 = 400;

    #[test]
    fn applications_are_of_all_sizes() {
        let mut namespaces = BTreeSet::new();
        let (mut smallest, mut largest) = (usize::MAX, 0);
        for seed in 0..GAMES {
            let (_, application, _) = draw(seed);
            let ours = application.objects.iter().filter(|it| kind(it) == "Namespace").count() - 1;
            namespaces.insert(ours);
            smallest = smallest.min(application.objects.len());
            largest = largest.max(application.objects.len());
        }
        assert!(namespaces.iter().eq(&[1, 2, 3, 4, 5, 6]), "{namespaces:?}");
        assert!(smallest <= 10 && largest >= 120, "{smallest} to {largest}");
    }

    /// What no edge tells of: kinds without any, and two forms of one.
    #[test]
    fn what_stands_alone_is_drawn() {
        let is_drawn = |is_it: fn(&serde_json::Value) -> bool| {
            (0..GAMES).any(|seed| draw(seed).1.objects.iter().any(is_it))
        };
        assert!(is_drawn(|it| kind(it) == "CSIDriver"));
        assert!(is_drawn(|it| text(it, "/spec/type") == "LoadBalancer"));
        assert!(is_drawn(|it| !list(it, "/metadata/finalizers").is_empty()));
        assert!(is_drawn(|it| kind(it) == "VolumeSnapshot"));
        assert!(is_drawn(|it| kind(it) == "HTTPRoute"));
        assert!(is_drawn(|it| kind(it) == "ScaledObject"));
        assert!(is_drawn(|it| text(it, "/apiVersion") == "argoproj.io/v1alpha1"));
        assert!(is_drawn(|it| kind(it) == "Kustomization"));
    }

    /// One after the other: a new kind of edge does not compile before it has a place here.
    fn after(kind: Option<EdgeKind>) -> Option<EdgeKind> {
        use EdgeKind::{
            Admits, Binds, Claims, Contains, Defines, Mounts, Owns, Routes, RunsAs, RunsOn, Scales,
            Selects, Serves,
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
            Some(Defines) => None,
        }
    }

    /// Edges as objects make them; what a template has, Pods have as well. An object that an aggregated API serves has one
    /// to its APIService: none is drawn.
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
    ";

    #[test]
    fn every_kind_of_edge_is_drawn_in_each_of_its_forms() {
        let all = FORMS.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut missing: BTreeSet<String> = all.map(str::to_owned).collect();
        for kind in std::iter::successors(after(None), |kind| after(Some(*kind))) {
            let word = format!(" {kind:?} ");
            assert!(missing.iter().any(|form| form.contains(&word)), "no form of {kind:?}");
        }
        for seed in 0..GAMES {
            for form in forms(seed) {
                missing.remove(&form);
            }
            if missing.is_empty() {
                return;
            }
        }
        panic!("none of {GAMES} games has {missing:#?}");
    }
}
