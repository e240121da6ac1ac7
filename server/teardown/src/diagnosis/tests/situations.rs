//! One situation for each cause.

use crate::{
    fetched::{Answer, Lease, MANAGER, Question},
    fixture,
    index::Index,
    object::Facts,
    observation::{HiddenCause, Observation},
};

/// A cluster in which a deletion waits for one cause.
pub(super) struct Situation {
    /// The name of the cause.
    pub(super) cause: &'static str,
    /// The objects.
    pub(super) objects: &'static str,
    /// Objects that were deleted lately.
    pub(super) gone: &'static str,
    /// A resource that cannot be listed, and the message.
    hidden: Option<(&'static str, &'static str)>,
    /// The lease of the kube-controller-manager stands still.
    manager_is_away: bool,
    /// The lease of the Pod's node is renewed, and there are no Events about the Pod.
    quiet: bool,
    /// An update of the Pod was refused, as it changes too much.
    rewritten: bool,
}

impl Situation {
    /// The index with these objects instead of its own, and without the other fact of this number.
    pub(super) fn index(&self, objects: &str, gone: &str, left_out: Option<usize>) -> Index {
        let gone = fixture::objects(gone);
        let mut all = fixture::objects(objects);
        all.extend(gone.iter().cloned());
        let now = fixture::now();
        let mut index = Index::default();
        index.apply(fixture::listing(&all), now);
        let deleted = gone
            .into_iter()
            .map(|object| vec![Observation::Deleted { kind: object.kind, uid: object.uid }]);
        let hidden = self.hidden.map(|(resource, message)| {
            let (resource, cause) = (resource.to_owned(), HiddenCause::Failing);
            vec![Observation::Hidden { resource, cause, message: message.into() }]
        });
        let lease = || {
            let lease = Lease { name: MANAGER.into(), renewed: "then".into(), duration: None };
            let answer = Ok(Answer::Leases(vec![lease]));
            Observation::Fetched { question: Question::ManagerLease, answer }
        };
        let still = self.manager_is_away.then(|| vec![lease()]);
        let pod = all.iter().find(|object| object.kind.is("", "Pod"));
        let quiet = pod.filter(|_| self.quiet).map(|pod| {
            let node = match &pod.facts {
                Facts::Pod(pod) => pod.node.clone().unwrap_or_default(),
                _ => "".into(),
            };
            let lease = move |renewed: &str| {
                let lease = Lease { name: node.clone(), renewed: renewed.into(), duration: None };
                let answer = Ok(Answer::Leases(vec![lease]));
                Observation::Fetched { question: Question::NodeLeases, answer }
            };
            let question = Question::Events { of: pod.reference(), uid: pod.uid.clone() };
            let events = Observation::Fetched { question, answer: Ok(Answer::Events(vec![])) };
            [vec![lease("then"), lease("now")], vec![events]]
        });
        let facts = deleted.chain(hidden).chain(still).chain(quiet.into_iter().flatten());
        for (_, fact) in facts.enumerate().filter(|(number, _)| Some(*number) != left_out) {
            index.apply(fact.clone(), now - jiff::SignedDuration::from_secs(60));
            // A lease is still only once it was looked at again.
            if matches!(fact.as_slice(), [Observation::Fetched { .. }]) {
                index.apply(fact, now);
            }
        }
        if let Some(pod) = pod.filter(|_| self.rewritten && left_out.is_none()) {
            let said = "spec: Forbidden: pod updates may not change fields other than";
            index.note_refused_update(pod.uid.clone(), said, now);
        }
        index
    }

    /// The index of the situation as it stands.
    pub(super) fn whole(&self) -> Index {
        self.index(self.objects, self.gone, None)
    }

    /// The number of its facts that are no objects.
    pub(super) fn others(&self) -> usize {
        fixture::objects(self.gone).len()
            + usize::from(self.hidden.is_some())
            + usize::from(self.manager_is_away)
            + 2 * usize::from(self.quiet)
            + usize::from(self.rewritten)
    }
}

const fn of(cause: &'static str, objects: &'static str) -> Situation {
    Situation {
        cause,
        objects,
        gone: "",
        hidden: None,
        manager_is_away: false,
        quiet: false,
        rewritten: false,
    }
}

/// All of them, in the order of `Cause::NAMES`.
pub(super) const ALL: [Situation; 46] = [
    of(
        "withinGrace",
        "node n1
        pvc shop/data deleted=100 finalizers=kubernetes.io/pvc-protection
        pod shop/web node=n1 deleted=100 grace=300 containers=c1:running preStop=yes uses=claim:data",
    ),
    of(
        "nodeSilent",
        "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:stopped taints=node.kubernetes.io/unreachable:NoExecute
        node n2
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        svc shop/front selector=app:one
        pod shop/web node=n1 labels=app:one deleted=400 grace=30 containers=c1:running disruption=DeletionByTaintManager uses=claim:data",
    ),
    of("nodeMissing", "node n2\npod shop/web node=n9 deleted=400 grace=30 containers=c1:running"),
    of("containersRunning", "node n1\npod shop/web node=n1 deleted=400 grace=30 containers=c1:running"),
    Situation {
        quiet: true,
        ..of(
            "kubeletUnaware",
            "node n1\nns shop\npod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        )
    },
    of(
        "staticPod",
        "node n1\npod shop/web owner=node/n1 node=n1 deleted=400 grace=30 containers=c1:running",
    ),
    of(
        "neverStarted",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 phase=Pending containers=c1:waiting",
    ),
    of("sandboxLeft", "node n1\npod shop/web node=n1 deleted=400 grace=30 containers=c1:terminated"),
    of(
        "devicesLeft",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 containers=c1:terminated devices=yes",
    ),
    of(
        "volumesMounted",
        "node n1
        pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data",
    ),
    of(
        "claimGone",
        "node n1
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data subPath=yes",
    ),
    of(
        "driverMissing",
        "node n1
        csinode n1 drivers=other.example
        pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data driver=disk.example
        pod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=claim:data",
    ),
    of(
        "podDirectoryLeft",
        "node n1\npod shop/web node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated",
    ),
    of(
        "claimInUse",
        "node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/web node=n1 uses=claim:data",
    ),
    of(
        "claimHeldByCompletedPods",
        "node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/web node=n1 phase=Succeeded uses=claim:data",
    ),
    of(
        "inUse",
        "vac fast deleted=300 finalizers=kubernetes.io/vac-protection
        pvc shop/data attributes=fast",
    ),
    of(
        "keptForDependents",
        "ns rook
        deploy rook/operator ready=1 replicas=1 uses=account:operator
        crb operator role=clusterrole/operator accounts=rook/operator
        clusterrole operator updates=cephclusters.ceph.rook.io
        CephCluster.ceph.rook.io rook/ceph deleted=4000 finalizers=cephcluster.ceph.rook.io conditions=DeletionIsBlocked:True:ObjectHasDependents:290:CephBlockPool:_[a]
        CephBlockPool.ceph.rook.io rook/a",
    ),
    of(
        "copied",
        "pvc shop/data deleted=300 finalizers=provisioner.storage.kubernetes.io/cloning-protection
        pvc shop/kept from=pvc/data phase=Pending",
    ),
    of(
        "volumeBound",
        "pvc shop/data volume=disk-1
        pv disk-1 claim=shop/data deleted=300 finalizers=kubernetes.io/pv-protection",
    ),
    of(
        "detachFailed",
        "node n1
        pv disk-1 deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200 error=busy",
    ),
    of(
        "volumeAttached",
        "node n1
        pv disk-1 deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=disk-1 node=n1 attacher=disk.example deleted=200",
    ),
    of(
        "backendLeft",
        "pv disk-1 deleted=300 phase=Failed finalizers=external-provisioner.volume.kubernetes.io/finalizer driver=disk.example",
    ),
    of(
        "apiDown",
        "ns shop deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale
        apiservice v1beta1.metrics.k8s.io service=ops/metrics available=Available:False:MissingEndpoints:210:none",
    ),
    of(
        "looksAgain",
        "ns shop deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale
        apiservice v1beta1.metrics.k8s.io service=ops/metrics available=Available:True:Passed:10:ok",
    ),
    of(
        "webhookDown",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps
        cm shop/c"#,
    ),
    of(
        "webhookDenies",
        r#"ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:admission_webhook_"gate.example.com"_denied_the_request:_no
        webhook gate service=ops/gate guards=configmaps
        cm shop/c"#,
    ),
    of(
        "policyDenies",
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:ValidatingAdmissionPolicy_'keep'_with_binding_'all'_denied_request:_no
        policy keep
        cm shop/c",
    ),
    of(
        "conversionDown",
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_example.com/v1,_Kind=Widget_failed:_no_endpoints
        crd widgets.example.com defines=Widget.example.com service=ops/convert
        Widget.example.com shop/w",
    ),
    of(
        "unreadable",
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:unable_to_transform_key_/registry/secrets/shop/a:_no_matching_prefix_found
        cm shop/c",
    ),
    Situation {
        rewritten: true,
        ..of(
            "updateRejected",
            "node n1
            mutating sidecar service=ops/sidecar guards=pods asked=UPDATE
            pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
        )
    },
    of(
        "contentRefused",
        "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:odd
        cm shop/c",
    ),
    of(
        "discoveryFailed",
        "ns shop deleted=400 conditions=NamespaceDeletionGroupVersionParsingFailure:True:GroupVersionParsingFailed:390:unexpected_GroupVersion_string:_a/b/c
        cm shop/c",
    ),
    of("namespaceFinalizer", "ns shop deleted=400 spec=kubernetes,example.com/hold"),
    of(
        "contentUnseen",
        "ns shop deleted=400 conditions=NamespaceContentRemaining:True:SomeResourcesRemain:390:Some_resources_are_remaining:_leases.coordination.k8s.io_has_1_resource_instances;NamespaceFinalizersRemaining:True:SomeFinalizersRemain:390:Some_content_in_the_namespace_has_finalizers_remaining:_example.com/x_in_1_resource_instances",
    ),
    of(
        "namespaceGone",
        "ns ops
        node n1
        pod shop/web node=n1 deleted=400 grace=30 containers=c1:running",
    ),
    Situation {
        manager_is_away: true,
        ..of("managerSilent", "ns shop deleted=400")
    },
    of("controllerSilent", "cm shop/alone deleted=200 finalizers=foregroundDeletion\ncm shop/kept"),
    of(
        "ownersCircle",
        "cm shop/a owner=cm/b deleted=200 finalizers=foregroundDeletion
        cm shop/b owner=cm/a deleted=200 finalizers=foregroundDeletion",
    ),
    Situation {
        gone: "deploy ops/operator",
        ..of(
            "finisherGone",
            "ns ops
            crd topics.queue.example defines=Topic.queue.example
            Topic.queue.example ops/orders deleted=90 finalizers=queue.example/topic",
        )
    },
    of(
        "finisherNotReady",
        "Challenge.acme.cert-manager.io shop/c deleted=200 finalizers=acme.cert-manager.io/finalizer
        deploy ops/cert-manager ready=0 replicas=1 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io",
    ),
    of(
        "finisherBusy",
        "ns shop
        Challenge.acme.cert-manager.io shop/c deleted=200 finalizers=acme.cert-manager.io/finalizer
        deploy ops/cert-manager ready=1 replicas=1 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io",
    ),
    of(
        "finisherUnknown",
        "Topic.queue.example shop/orders deleted=200 finalizers=queue.example/topic
        crd topics.queue.example defines=Topic.queue.example
        deploy ops/runner uses=account:runner ready=1 replicas=1
        deploy ops/other uses=account:runner ready=1 replicas=1
        crb runner role=clusterrole/topics accounts=ops/runner
        clusterrole topics updates=topics.queue.example",
    ),
    of(
        "managedElsewhere",
        "job shop/train managedBy=kueue.x-k8s.io/multikueue
        pod shop/web owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=c1:terminated",
    ),
    of(
        "loadBalancerLeft",
        "svc shop/front type=LoadBalancer deleted=200 finalizers=service.kubernetes.io/load-balancer-cleanup",
    ),
    Situation {
        hidden: Some(("pods", "pods is forbidden")),
        ..of("cannotSee", "pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection")
    },
    of("unknown", "cm shop/c deleted=300"),
];
