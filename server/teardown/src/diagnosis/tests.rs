use std::fmt::Write;

mod admission;
mod before;
mod causes;
mod control_plane;
mod course;
mod dependents;
mod detach;
mod driver;
mod evidence;
mod explains;
mod fetched;
mod field_manager;
mod first_way;
mod genuine;
mod impact;
mod incident;
mod kubelet_query;
mod late;
mod left_behind;
mod look_alikes;
mod metamorphic;
mod namespace;
mod plugin;
mod pod;
mod protection;
mod replacement;
mod situations;
mod stamp;
mod variants;
mod ways_out;

use super::*;
use crate::fixture;

/// The diagnoses of a fixture as text: cause, root, confidence, then what waits, then the evidence.
fn diagnoses(text: &str) -> String {
    let index = fixture::index(text);
    describe(&index)
}

/// A verdict as text: the cause and the root.
fn head(diagnosis: &Diagnosis) -> String {
    format!("{} at {}", diagnosis.cause.name(), diagnosis.root)
}

/// Verdicts as one line, each with how sure it is.
fn verdicts(found: &[Diagnosis]) -> String {
    let verdict = |it: &Diagnosis| format!("{} ({:?})", head(it), it.confidence);
    found.iter().map(verdict).collect::<Vec<_>>().join("; ")
}

fn describe(index: &Index) -> String {
    let mut described = String::new();
    for it in diagnose(index, &Graph::of(index), fixture::now()) {
        let state = if it.stuck { "stuck" } else { "waits" };
        writeln!(described, "{} at {} ({:?}, {state})", it.cause.name(), it.root, it.confidence)
            .unwrap();
        for waiting in &it.waiting {
            let on = waiting
                .on
                .map(|(on, link)| format!(" for {:?} of {}", link, it.waiting[on].object));
            let starts = if waiting.starts { " is to start" } else { "" };
            writeln!(described, "  {}{starts}{}", waiting.object, on.unwrap_or_default()).unwrap();
        }
        for object in &it.impact.replacements_blocked {
            writeln!(described, "  ! no replacement of {object}").unwrap();
        }
        for object in &it.impact.without_endpoints {
            writeln!(described, "  ! no endpoints of {object}").unwrap();
        }
        for object in &it.impact.waiting_for_disk {
            writeln!(described, "  ! no disk for {object}").unwrap();
        }
        for fact in &it.evidence {
            let source = match &fact.source {
                Source::Condition(name) => format!("condition {name}"),
                Source::Field(path) => path.to_string(),
                Source::Absent => "absent".to_owned(),
                Source::Deleted => "deleted".to_owned(),
                Source::DeletedByRun { by } => format!("deleted by a run of {by}"),
                Source::RemovedByRemedy { by } => format!("removed by a remedy of {by}"),
                Source::Became(name) => format!("became {name}"),
                Source::Renewed => "renewed".to_owned(),
                Source::NotRenewed => "not renewed".to_owned(),
                Source::NoReadyPod => "no ready Pod".to_owned(),
                Source::NoEndpoints => "no ready endpoint".to_owned(),
                Source::Event { by, reason } => format!("{by} says {reason}:"),
                Source::NoNewEvents => "no new Events".to_owned(),
                Source::Unlistable(_) => "unlistable".to_owned(),
                Source::Refused => "refused".to_owned(),
                Source::WrittenBy { finalizer, manager } => {
                    format!("{finalizer} written by {manager}")
                }
                Source::Hidden(_) => "hidden".to_owned(),
                Source::Kubelet(_, fact) => format!("{:?} {:?}", fact.step, fact.error),
                Source::Unanswered(subject, problem) => format!("{subject:?}: {problem:?}"),
                Source::Runtime { state, .. } => format!("runtime: {state:?}"),
                Source::Failures { failure, count, .. } => format!("{count} {failure:?}"),
                Source::NotInLog(_, rest) => format!("not in {} entries", rest.entries),
            };
            writeln!(described, "  - {}: {source} {}", fact.of, fact.said).unwrap();
        }
    }
    described
}

/// The first lines of all diagnoses: cause, root, confidence.
fn heads(index: &Index) -> String {
    let described = describe(index);
    let heads = described.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>();
    heads.join("\n")
}

/// Makes a resource unreadable.
fn hide(index: &mut Index, resource: &str) {
    let hidden = crate::observation::Observation::Hidden {
        resource: resource.into(),
        cause: crate::observation::HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    index.apply([hidden], fixture::now());
}

/// Looks twice at a lease that is not renewed.
fn stand_still(index: &mut Index) {
    for ago in [60, 20] {
        let lease = crate::fetched::Lease {
            name: crate::fetched::MANAGER.into(),
            renewed: "then".into(),
            duration: None,
        };
        let answer = Ok(crate::fetched::Answer::Leases(vec![lease]));
        let question = crate::fetched::Question::ManagerLease;
        let at = fixture::now() - jiff::SignedDuration::from_secs(ago);
        index.apply([crate::observation::Observation::Fetched { question, answer }], at);
    }
}

#[test]
fn pod_on_a_silent_node_holds_its_claim_and_blocks_the_replacement() {
    insta::assert_snapshot!(diagnoses("
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped_posting_node_status. taints=node.kubernetes.io/unreachable:NoExecute
        node n2
        ns shop
        deploy shop/one strategy=Recreate
        rs shop/one-1 owner=deploy/one replicas=0
        pod shop/one-1-a owner=rs/one-1 labels=app:one node=n1 deleted=400 grace=30 containers=web:running disruption=DeletionByTaintManager uses=claim:data
        svc shop/one selector=app:one
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
    "), @r#"
    nodeSilent at Node n1 (Inferred, stuck)
      Pod shop/one-1-a
      PersistentVolumeClaim shop/data for Mount of Pod shop/one-1-a
      ! no replacement of Deployment shop/one
      ! no endpoints of Service shop/one
      - Node n1: condition Ready Unknown NodeStatusUnknown: Kubelet stopped posting node status.
      - Node n1: spec.taints node.kubernetes.io/unreachable:NoExecute
      - Pod shop/one-1-a: condition DisruptionTarget DeletionByTaintManager
    "#);
}

#[test]
fn pod_on_a_node_that_reports_is_not_blamed_on_the_node() {
    insta::assert_snapshot!(diagnoses("
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    "), @r#"
    containersRunning at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Running; web running
      - Node n1: condition Ready True Kubelet
    "#);
}

#[test]
fn pod_with_ended_containers_waits_for_its_volumes() {
    insta::assert_snapshot!(diagnoses("
        node n1
        pvc shop/data volume=pv
        pv pv claim=shop/data
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pod shop/b node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:lost subPath=yes
        pod shop/c node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated
        pod shop/d node=n1 deleted=400 grace=30 containers=web:terminated
        pod shop/e node=n1 deleted=400 grace=30 containers=web:terminated devices=yes
    "), @r#"
    claimGone at Pod shop/b (Inferred, stuck)
      Pod shop/b
      - Pod shop/b: metadata.deletionTimestamp 
      - Pod shop/b: status Failed; web terminated
      - Node n1: condition Ready True Kubelet
      - PersistentVolumeClaim shop/lost: absent 
    devicesLeft at Pod shop/e (Inferred, stuck)
      Pod shop/e
      - Pod shop/e: metadata.deletionTimestamp 
      - Pod shop/e: status Running; web terminated
      - Node n1: condition Ready True Kubelet
    podDirectoryLeft at Pod shop/c (Inferred, stuck)
      Pod shop/c
      - Pod shop/c: metadata.deletionTimestamp 
      - Pod shop/c: status Failed; web terminated
      - Node n1: condition Ready True Kubelet
    sandboxLeft at Pod shop/d (Inferred, stuck)
      Pod shop/d
      - Pod shop/d: metadata.deletionTimestamp 
      - Pod shop/d: status Running; web terminated
      - Node n1: condition Ready True Kubelet
    volumesMounted at Pod shop/a (Inferred, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Failed; web terminated
      - Node n1: condition Ready True Kubelet
    "#);
}

#[test]
fn pod_in_its_grace_period_is_no_trouble() {
    assert_eq!(
        diagnoses(
            "
        node n1
        pod shop/a node=n1 deleted=10 grace=30 containers=web:running
    "
        ),
        ""
    );
}

#[test]
fn pod_of_a_node_that_is_gone_waits_for_the_pod_garbage_collector() {
    insta::assert_snapshot!(diagnoses("
        pod shop/a node=n9 deleted=400 grace=30 containers=web:running
    "), @r#"
    nodeMissing at Node n9 (Confirmed, stuck)
      Pod shop/a
      - Node n9: absent 
      - Pod shop/a: spec.nodeName n9
    "#);
}

#[test]
fn claim_waits_for_live_and_for_completed_pods() {
    insta::assert_snapshot!(diagnoses("
        node n1
        pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/a node=n1 uses=claim:live
        pod other/a node=n1 uses=claim:done
        pvc shop/done deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/job node=n1 phase=Succeeded uses=claim:done
    "), @r#"
    claimInUse at PersistentVolumeClaim shop/live (Confirmed, stuck)
      PersistentVolumeClaim shop/live
      - Pod shop/a: spec.volumes persistentVolumeClaim live
    claimHeldByCompletedPods at PersistentVolumeClaim shop/done (Confirmed, stuck)
      PersistentVolumeClaim shop/done
      - Pod shop/job: spec.volumes persistentVolumeClaim done
    "#);
}

#[test]
fn empty_namespace_waits_for_an_api_that_is_down() {
    insta::assert_snapshot!(diagnoses("
        ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_metrics.k8s.io/v1beta1
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:210:no_addresses
    "), @r#"
    apiDown at APIService v1beta1.metrics.k8s.io (Confirmed, waits)
      Namespace s3
      - APIService v1beta1.metrics.k8s.io: condition Available False MissingEndpoints: no addresses
      - Namespace s3: condition NamespaceDeletionDiscoveryFailure True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1
      - Service kube-system/metrics-server: absent
    "#);
}

#[test]
fn namespace_waits_for_its_pods_before_anything_else() {
    insta::assert_snapshot!(diagnoses("
        node n1
        ns shop deleted=400
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        cm shop/c
    "), @r#"
    containersRunning at Pod shop/a (Inferred, stuck)
      Pod shop/a
      Namespace shop for Content of Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Running; web running
      - Node n1: condition Ready True Kubelet
    "#);
}

#[test]
fn refused_content_names_the_webhook_that_is_down() {
    insta::assert_snapshot!(diagnoses(r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps
        cm shop/c
    "#), @r#"
    webhookDown at ValidatingWebhookConfiguration gate (Confirmed, stuck)
      Namespace shop
      - Namespace shop: condition NamespaceDeletionContentFailure True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: Internal error occurred: failed calling webhook "gate.example.com": failed to call webhook: Post "https://gate.ops.svc:443/": service "gate" not found
      - Service ops/gate: absent
    "#);
}

#[test]
fn finalizer_whose_operator_was_deleted_names_the_operator() {
    let mut index = fixture::index("
        ns s4
        deploy s4/queue-operator
        crd topics.queue.example defines=Topic.queue.example deleted=90 finalizers=customresourcecleanup.apiextensions.k8s.io terminating=Terminating:True:InstanceDeletionInProgress:90:
        Topic.queue.example s4/orders deleted=90 finalizers=queue.example/topic
    ");
    let operator = fixture::object("deploy s4/queue-operator");
    let deleted =
        crate::observation::Observation::Deleted { kind: operator.kind, uid: operator.uid };
    index.apply([deleted], fixture::now());
    insta::assert_snapshot!(describe(&index), @r#"
    finisherGone at Topic  (Inferred, waits)
      Topic s4/orders
      CustomResourceDefinition topics.queue.example for Instance of Topic s4/orders
      - Deployment s4/queue-operator: deleted 
      - Topic s4/orders: metadata.finalizers queue.example/topic
    "#);
}

#[test]
fn finalizer_of_a_program_that_runs_is_blamed_on_it_only_when_late() {
    let rest = "
        deploy ops/cert-manager ready=1 replicas=1 uses=account:cert-manager
        crb cm role=clusterrole/cm accounts=ops/cert-manager
        clusterrole cm updates=challenges.acme.cert-manager.io
    ";
    let challenge = |age: u32| {
        format!(
            "Challenge.acme.cert-manager.io shop/c deleted={age} finalizers=acme.cert-manager.io/finalizer\n{rest}"
        )
    };
    assert_eq!(diagnoses(&challenge(5)), "");
    insta::assert_snapshot!(diagnoses(&challenge(200)), @r#"
    finisherBusy at Deployment ops/cert-manager (Inferred, stuck)
      Challenge shop/c
      - Deployment ops/cert-manager: status.readyReplicas 1 / 1
      - Challenge shop/c: metadata.finalizers acme.cert-manager.io/finalizer
    "#);
    insta::assert_snapshot!(diagnoses(&challenge(200).replace("ready=1", "ready=0")), @r#"
    finisherNotReady at Deployment ops/cert-manager (Inferred, stuck)
      Challenge shop/c
      - Deployment ops/cert-manager: status.readyReplicas 0 / 1
      - Challenge shop/c: metadata.finalizers acme.cert-manager.io/finalizer
    "#);
}

#[test]
fn foreground_deletion_waits_for_the_dependent_that_blocks() {
    insta::assert_snapshot!(diagnoses("
        cm shop/parent deleted=200 finalizers=foregroundDeletion
        cm shop/child owner=cm/parent deleted=200 finalizers=example.com/x
        cm shop/free owner=cm/parent blocks=no
        cm shop/alone deleted=200 finalizers=foregroundDeletion
    "), @r#"
    finisherGone at ConfigMap  (Inferred, stuck)
      ConfigMap shop/child
      ConfigMap shop/parent for Dependent of ConfigMap shop/child
      - ConfigMap shop/child: metadata.finalizers example.com/x
    controllerSilent at ConfigMap shop/alone (Inferred, stuck)
      ConfigMap shop/alone
      - ConfigMap shop/alone: metadata.finalizers foregroundDeletion
    "#);
}

#[test]
fn volume_waits_for_a_detach_that_fails() {
    insta::assert_snapshot!(diagnoses("
        node n1
        pv pv deleted=300 phase=Released finalizers=external-attacher/disk-example driver=disk.example
        attachment a1 volume=pv node=n1 attacher=disk.example deleted=200 error=disk_is_busy
        attachment a2 volume=other node=n1 attacher=disk.example
    "), @r#"
    detachFailed at VolumeAttachment a1 (Confirmed, waits)
      VolumeAttachment a1
      PersistentVolume pv for Attachment of VolumeAttachment a1
      - VolumeAttachment a1: status.detachError.message disk_is_busy
    "#);
}

#[test]
fn hidden_pods_are_never_no_cause() {
    let mut index =
        fixture::index("pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection");
    let hidden = crate::observation::Observation::Hidden {
        resource: "pods".into(),
        cause: crate::observation::HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    index.apply([hidden], fixture::now());
    insta::assert_snapshot!(describe(&index), @r#"
    cannotSee at PersistentVolumeClaim shop/data (Unknown, stuck)
      PersistentVolumeClaim shop/data
    "#);
}

#[test]
fn pod_that_its_replica_set_replaces_at_once_blocks_no_replacement() {
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        deploy shop/one strategy=Recreate
        rs shop/one-1 owner=deploy/one replicas=1
        pod shop/one-1-a owner=rs/one-1 node=n1 deleted=400 grace=30 containers=web:running
        sts shop/db replicas=1
        pod shop/db-0 owner=sts/db node=n1 deleted=400 grace=30 containers=db:running
        pod shop/db-1 owner=sts/db node=n1 deleted=400 grace=30 containers=db:running
    ";
    let described = diagnoses(text);
    let harm: Vec<&str> = described.lines().filter(|line| line.contains('!')).collect();
    assert_eq!(harm, ["  ! no replacement of StatefulSet shop/db"]);
    let none = diagnoses(&text.replace("db replicas=1", "db replicas=0"));
    assert!(!none.contains('!'), "{none}");
}

#[test]
fn replacement_that_waits_for_the_disk_of_the_old_pod_is_harm() {
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        node n2
        deploy shop/one
        rs shop/one-1 owner=deploy/one replicas=1
        pod shop/one-1-a owner=rs/one-1 node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pod shop/one-1-b owner=rs/one-1 node=n2 ready=no uses=claim:data
        pvc shop/data volume=pv
        pv pv claim=shop/data
        attachment a1 volume=pv node=n1 attacher=disk.example
    ";
    let harm = |text: &str| {
        let described = diagnoses(text);
        described.lines().filter(|line| line.contains('!')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(harm(text), ["  ! no replacement of Deployment shop/one"]);
    assert_eq!(harm(&text.replace("volume=pv node=n1", "volume=pv node=n2")), [""; 0]);
    assert_eq!(harm(&text.replace("ready=no uses=claim:data", "ready=no")), [""; 0]);
}

#[test]
fn namespace_whose_api_answers_again_waits_for_the_controller_to_look() {
    let namespace = "ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale";
    let repaired = format!(
        "{namespace}\napiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:True:Passed:5:ok"
    );
    insta::assert_snapshot!(diagnoses(&repaired), @r#"
    looksAgain at APIService v1beta1.metrics.k8s.io (Inferred, waits)
      Namespace s3
      - APIService v1beta1.metrics.k8s.io: condition Available True Passed: ok
      - Namespace s3: condition NamespaceDeletionDiscoveryFailure True DiscoveryFailed: server APIs: metrics.k8s.io/v1beta1: stale
    "#);
    insta::assert_snapshot!(diagnoses(&format!("{namespace}\napiservice v1.apps")), @r#"
    looksAgain at APIService v1beta1.metrics.k8s.io (Inferred, waits)
      Namespace s3
      - APIService v1beta1.metrics.k8s.io: absent 
      - Namespace s3: condition NamespaceDeletionDiscoveryFailure True DiscoveryFailed: server APIs: metrics.k8s.io/v1beta1: stale
    "#);
}

#[test]
fn hidden_nodes_attachments_and_roles_are_never_no_cause() {
    let hidden = |text: &str, resource: &str| {
        let mut index = fixture::index(text);
        let hidden = crate::observation::Observation::Hidden {
            resource: resource.into(),
            cause: crate::observation::HiddenCause::Forbidden,
            message: "forbidden".into(),
        };
        index.apply([hidden], fixture::now());
        describe(&index)
    };
    insta::assert_snapshot!(hidden("pod shop/a node=n1 deleted=400 grace=30 containers=web:running", "nodes"), @r#"
    cannotSee at Pod shop/a (Unknown, stuck)
      Pod shop/a
    "#);
    insta::assert_snapshot!(
        hidden(
            "pv pv deleted=300 phase=Failed finalizers=external-provisioner.volume.kubernetes.io/finalizer driver=disk.example",
            "volumeattachments.storage.k8s.io",
        ),
        @r#"
    cannotSee at PersistentVolume pv (Unknown, waits)
      PersistentVolume pv
    "#
    );
    insta::assert_snapshot!(
        hidden("cm shop/a deleted=300 finalizers=x.example/y", "clusterroles.rbac.authorization.k8s.io"),
        @r#"
    cannotSee at ConfigMap shop/a (Unknown, stuck)
      ConfigMap shop/a
      - ConfigMap shop/a: metadata.finalizers x.example/y
    "#
    );
}

#[test]
fn pod_that_never_started_is_not_said_to_run_or_to_have_ended() {
    let described = diagnoses(
        "
        node n1
        pod shop/a node=n1 deleted=400 grace=30 phase=Pending containers=init:terminated,web:waiting
    ",
    );
    assert!(described.starts_with("neverStarted at Pod shop/a"), "{described}");
}

#[test]
fn application_that_went_lately_is_not_taken_for_the_operator() {
    let mut index = fixture::index(
        "
        ns shop
        Db.example.com shop/db deleted=90 finalizers=example.com/db
        deploy shop/web
    ",
    );
    let web = fixture::object("deploy shop/web");
    let deleted = crate::observation::Observation::Deleted { kind: web.kind, uid: web.uid };
    index.apply([deleted], fixture::now());
    assert!(!describe(&index).contains("web"), "{}", describe(&index));
}

#[test]
fn pod_of_a_job_waits_for_its_node_before_the_job_counts_it() {
    let described = diagnoses("
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running finalizers=batch.kubernetes.io/job-tracking
    ");
    assert!(
        described.starts_with("nodeSilent") && !described.contains("controllerSilent"),
        "{described}"
    );
}

#[test]
fn operator_that_is_gone_is_distinguished_from_a_neighbour_by_the_rights_that_it_left() {
    let text = "
        Topic.queue.example s4/orders of=queue deleted=200 finalizers=queue.example/topic
        crd topics.queue.example defines=Topic.queue.example of=queue
        sts s4/broker of=queue ready=1 replicas=1
        deploy s4/runner uses=account:runner
        deploy s4/web uses=account:web
        crb runner role=clusterrole/topics accounts=s4/runner
        clusterrole topics updates=topics.queue.example
    ";
    let gone = |text: &str, line: &str| {
        let mut index = fixture::index(text);
        let program = fixture::object(line);
        let deleted =
            crate::observation::Observation::Deleted { kind: program.kind, uid: program.uid };
        index.apply([deleted], fixture::now());
        describe(&index)
    };
    let described = gone(text, "deploy s4/runner uses=account:runner");
    assert!(described.starts_with("finisherGone at Topic"), "{described}");
    assert!(described.contains("- Deployment s4/runner: deleted"), "{described}");
    // One that had no such right is not taken for it, and where nothing of the rights is left, it is not known.
    let without = text.replace("accounts=s4/runner", "accounts=s4/other");
    let described = gone(&without, "deploy s4/web uses=account:web");
    assert!(described.starts_with("finisherUnknown at Topic"), "{described}");
    let described = gone(&without, "deploy s4/runner uses=account:runner");
    assert!(described.starts_with("finisherUnknown at Topic"), "{described}");
}

#[test]
fn kind_whose_converter_is_down_is_the_cause_of_its_objects_and_its_definition() {
    let mut index = fixture::index(
        "
        crd widgets.example.com defines=Widget.example.com deleted=200 finalizers=customresourcecleanup.apiextensions.k8s.io
        Widget.example.com shop/w deleted=200 finalizers=example.com/w
    ",
    );
    let hidden = |message: &str| crate::observation::Observation::Hidden {
        resource: "widgets.example.com".into(),
        cause: crate::observation::HiddenCause::Failing,
        message: message.into(),
    };
    let said = "conversion webhook for example.com/v1, Kind=Widget failed: Post \"https://c.ops.svc\": no endpoints available";
    index.apply([hidden(said)], fixture::now());
    let down = describe(&index);
    let head = "conversionDown at CustomResourceDefinition widgets.example.com (Confirmed";
    assert!(down.contains(head), "{down}");
    assert!(!down.contains("cannotSee"), "{down}");
    index.apply([hidden("widgets is forbidden")], fixture::now());
    let forbidden = describe(&index);
    assert!(
        !forbidden.contains("conversionDown") && forbidden.contains("cannotSee"),
        "{forbidden}"
    );
}
