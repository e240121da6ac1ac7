//! Causes that few deletions have, each with a look-alike.

use super::*;
use crate::{
    fetched::{Answer, Event, Lease, Question},
    observation::{HiddenCause, Observation},
};

/// The causes and their roots.
fn causes(index: &Index) -> Vec<String> {
    let found = diagnose(index, &Graph::of(index), fixture::now());
    found.iter().map(|it| format!("{} at {}", it.cause.name(), it.root)).collect()
}

fn fetched(index: &mut Index, question: Question, answer: Answer, ago: i64) {
    let at = fixture::now() - jiff::SignedDuration::from_secs(ago);
    index.apply([Observation::Fetched { question, answer: Ok(answer) }], at);
}

/// The lease of node `n1` is renewed between two looks.
fn renew(index: &mut Index) {
    for (ago, renewed) in [(60, "then"), (20, "now")] {
        let lease = Lease { name: "n1".into(), renewed: renewed.into(), duration: None };
        fetched(index, Question::NodeLeases, Answer::Leases(vec![lease]), ago);
    }
}

fn events(index: &mut Index, events: Vec<Event>) {
    let pod = index.find("", "Pod", Some("shop"), "a").unwrap();
    let question = Question::Events { of: pod.reference(), uid: pod.uid.clone() };
    fetched(index, question, Answer::Events(events), 1);
}

fn event(reason: &str, ago: i64) -> Event {
    Event {
        at: Some(fixture::now() - jiff::SignedDuration::from_secs(ago)),
        warns: false,
        by: "kubelet".into(),
        reason: reason.into(),
        message: "".into(),
    }
}

const RUNNING: &str = "
    node n1
    ns shop
    pod shop/a node=n1 deleted=400 grace=30 containers=web:running,log:running
";

#[test]
fn kubelet_that_has_not_begun_is_told_from_one_that_cannot_end_a_container() {
    let unaware = ["kubeletUnaware at Pod shop/a"];
    let running = ["containersRunning at Pod shop/a"];
    let case = |text: &str, is_renewed: bool, seen: Option<Vec<Event>>| {
        let mut index = fixture::index(text);
        if is_renewed {
            renew(&mut index);
        }
        if let Some(seen) = seen {
            events(&mut index, seen);
        }
        causes(&index)
    };
    assert_eq!(case(RUNNING, true, Some(vec![])), unaware);
    // A container that its probe restarted before the DELETE.
    assert_eq!(case(RUNNING, true, Some(vec![event("Killing", 2_000)])), unaware);
    assert_eq!(case(RUNNING, true, Some(vec![event("Killing", 398)])), running);
    assert_eq!(case(RUNNING, true, Some(vec![event("FailedKillPod", 60)])), running);
    // Without the Events, or without the lease, nothing says that the kubelet is unaware.
    assert_eq!(case(RUNNING, true, None), running);
    assert_eq!(case(RUNNING, false, Some(vec![])), running);
    // Events older than an hour are gone, and a namespace that is going takes none.
    let old = RUNNING.replace("deleted=400", "deleted=4000");
    assert_eq!(case(&old, true, Some(vec![])), running);
    let going = RUNNING.replace("ns shop", "ns shop deleted=400");
    assert_eq!(case(&going, true, Some(vec![])), running);
    let full = vec![event("Pulled", 500); 50];
    assert_eq!(case(RUNNING, true, Some(full)), running, "one may be missing");
}

#[test]
fn mirror_of_a_static_pod_is_ended_on_its_node() {
    let mirror = "
        node n1
        ns kube-system
        pod kube-system/proxy-n1 owner=node/n1 node=n1 deleted=400 grace=30 containers=proxy:running
    ";
    let index = fixture::index(mirror);
    assert_eq!(causes(&index), ["staticPod at Pod kube-system/proxy-n1"]);
    let ended = mirror.replace("proxy:running", "proxy:terminated phase=Failed");
    assert_eq!(causes(&fixture::index(&ended)), ["staticPod at Pod kube-system/proxy-n1"]);
    let of_set = mirror.replace("owner=node/n1", "owner=ds/proxy");
    assert_eq!(causes(&fixture::index(&of_set)), ["containersRunning at Pod kube-system/proxy-n1"]);
    let silent =
        mirror.replace("node n1\n", "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:\n");
    assert_eq!(causes(&fixture::index(&silent)), ["nodeSilent at Node n1"]);
}

#[test]
fn pod_of_a_job_that_is_left_to_another_controller_waits_for_that_one() {
    let world = |manager: &str| {
        fixture::index(&format!(
            "
            node n1
            job shop/train {manager}
            pod shop/train-0 owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=web:terminated
            "
        ))
    };
    insta::assert_snapshot!(describe(&world("managedBy=kueue.x-k8s.io/multikueue")), @r#"
    managedElsewhere at Job shop/train (Inferred, stuck)
      Pod shop/train-0
      - Job shop/train: spec.managedBy kueue.x-k8s.io/multikueue
      - Pod shop/train-0: metadata.finalizers batch.kubernetes.io/job-tracking
    "#);
    for built_in in ["", "managedBy=kubernetes.io/job-controller"] {
        assert_eq!(
            causes(&world(built_in)),
            ["controllerSilent at Pod shop/train-0"],
            "{built_in}"
        );
    }
}

#[test]
fn job_that_cannot_be_seen_is_not_blamed_on_the_built_in_controller() {
    let pod = "
        node n1
        pod shop/train-0 owner=job/train node=n1 phase=Succeeded deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=web:terminated
    ";
    let mut index = fixture::index(pod);
    assert_eq!(causes(&index), ["controllerSilent at Pod shop/train-0"], "the Job is gone");
    hide(&mut index, "jobs.batch");
    assert_eq!(causes(&index), ["cannotSee at Pod shop/train-0"]);
    // The controller of the control plane cleans up after a Pod without a Job.
    let mut without_owner = fixture::index(&pod.replace("owner=job/train ", ""));
    hide(&mut without_owner, "jobs.batch");
    assert_eq!(causes(&without_owner), ["controllerSilent at Pod shop/train-0"]);
}

#[test]
fn pod_group_waits_for_its_pods_and_no_other() {
    let index = fixture::index(
        "
        node n1
        podgroup shop/gang deleted=400 finalizers=scheduling.k8s.io/podgroup-protection
        podgroup bank/gang deleted=400 finalizers=scheduling.k8s.io/podgroup-protection
        pod shop/a uses=group:gang phase=Pending
        pod shop/b node=n1 uses=group:other
        pod bank/done node=n1 phase=Succeeded uses=group:gang
    ",
    );
    insta::assert_snapshot!(describe(&index), @r#"
    controllerSilent at PodGroup bank/gang (Inferred, stuck)
      PodGroup bank/gang
      - PodGroup bank/gang: metadata.finalizers scheduling.k8s.io/podgroup-protection
    inUse at PodGroup shop/gang (Confirmed, stuck)
      PodGroup shop/gang
      - PodGroup shop/gang: metadata.finalizers scheduling.k8s.io/podgroup-protection
      - Pod shop/a: spec.schedulingGroup.podGroupName gang
    "#);
}

#[test]
fn owner_without_a_dependent_that_can_be_seen_waits_for_the_api_that_is_down() {
    let world = |rest: &str| {
        fixture::index(&format!("cm shop/owner deleted=200 finalizers=foregroundDeletion\n{rest}"))
    };
    let down = "apiservice v1.backup.example service=ops/backup available=Available:False:MissingEndpoints:500:no_addresses";
    insta::assert_snapshot!(describe(&world(down)), @r#"
    apiDown at APIService v1.backup.example (Inferred, stuck)
      ConfigMap shop/owner
      - APIService v1.backup.example: condition Available False MissingEndpoints: no addresses
      - ConfigMap shop/owner: metadata.finalizers foregroundDeletion
      - Service ops/backup: absent 
    "#);
    let up = down.replace("False:MissingEndpoints", "True:Passed");
    let silent = ["controllerSilent at ConfigMap shop/owner"];
    assert_eq!(causes(&world(&up)), silent);
    // The collector sees this dependent, and does nothing about it.
    let staying = format!("{down}\ncm shop/child owner=cm/owner");
    assert_eq!(causes(&world(&staying)), silent);
    // To orphan a dependent is a change of it, which needs its API as well.
    let orphans = "cm shop/owner deleted=200 finalizers=orphan";
    let api = ["apiDown at APIService v1.backup.example"];
    assert_eq!(causes(&fixture::index(&format!("{orphans}\n{down}"))), api);
    assert_eq!(causes(&fixture::index(&format!("{orphans}\n{staying}"))), silent);
}

#[test]
fn owner_waits_for_no_collector_while_a_dependent_may_be_of_a_hidden_kind() {
    let case = |text: &str, hidden: &str| {
        let mut index = fixture::index(text);
        hide(&mut index, hidden);
        causes(&index)
    };
    let silent = ["controllerSilent at ConfigMap shop/owner"];
    for finalizer in ["foregroundDeletion", "orphan"] {
        let owner = format!("cm shop/owner deleted=200 finalizers={finalizer}");
        assert_eq!(case(&owner, "secrets"), ["cannotSee at ConfigMap shop/owner"], "{finalizer}");
        // An object of the cluster is no dependent of one in a namespace.
        assert_eq!(case(&owner, "nodes"), silent, "{finalizer}");
        // The collector sees this dependent, and does nothing about it.
        let staying = format!("{owner}\ncm shop/child owner=cm/owner");
        assert_eq!(case(&staying, "secrets"), silent, "{finalizer}");
        let mut without_manager = fixture::index(&owner);
        hide(&mut without_manager, "secrets");
        stand_still(&mut without_manager);
        assert!(causes(&without_manager)[0].starts_with("managerSilent"), "{finalizer}");
    }
    let of_cluster = "vac fast deleted=200 finalizers=foregroundDeletion";
    assert_eq!(case(of_cluster, "nodes"), ["cannotSee at VolumeAttributesClass fast"]);
    // The collector does not look at objects that nobody can delete.
    let mut undeletable = fixture::index(of_cluster);
    hide(&mut undeletable, "nodes");
    undeletable.apply([Observation::Undeletable(["nodes".to_owned()].into())], fixture::now());
    assert_eq!(causes(&undeletable), ["controllerSilent at VolumeAttributesClass fast"]);
}

#[test]
fn owner_that_orphans_waits_for_the_collector_with_the_dependents_that_it_has_left() {
    let text = "
        deploy shop/web deleted=200 finalizers=orphan
        rs shop/web-1 owner=deploy/web
    ";
    insta::assert_snapshot!(describe(&fixture::index(text)), @"
    controllerSilent at Deployment shop/web (Inferred, stuck)
      Deployment shop/web
      - Deployment shop/web: metadata.finalizers orphan
      - ReplicaSet shop/web-1: metadata.ownerReferences web
    ");
    // It has a minute, and nothing else is blamed meanwhile.
    let early = fixture::index(&text.replace("=200", "=30"));
    let found = diagnose(&early, &Graph::of(&early), fixture::now());
    assert_eq!(verdicts(&found), "controllerSilent at Deployment shop/web (Unknown)");
    let mut without_manager = fixture::index(text);
    stand_still(&mut without_manager);
    assert_eq!(
        causes(&without_manager)[0],
        "managerSilent at Lease kube-system/kube-controller-manager"
    );
    let refuses = "
        ns shop
        ns ops
        webhook gate service=ops/gate guards=replicasets.apps asked=UPDATE
    ";
    let both = [
        "webhookDown at ValidatingWebhookConfiguration gate",
        "controllerSilent at Deployment shop/web",
    ];
    assert_eq!(causes(&fixture::index(&format!("{text}{refuses}"))), both);
}

#[test]
fn object_that_cannot_be_read_from_the_storage_is_named_by_its_resource() {
    let namespace = |said: &str| {
        fixture::index(&format!(
            "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:{said}"
        ))
    };
    for (said, expected) in [
        (
            "Failed_to_delete_all_resource_types,_1_remaining:_Internal_error_occurred:_unable_to_transform_key_\"/registry/secrets/shop/a\":_no_matching_prefix_found",
            "unreadable at secrets ",
        ),
        (
            "Failed_to_delete_all_resource_types,_1_remaining:_failed_to_read_one_or_more_topics.queue.example_from_the_storage",
            "unreadable at topics.queue.example ",
        ),
        (
            "Failed_to_delete_all_resource_types,_1_remaining:_unable_to_transform_key_\"/registry/queue.example/topics/shop/a\":_no_matching_key_was_found_for_the_provided_AES_transformer",
            "unreadable at topics ",
        ),
        (
            "Failed_to_delete_all_resource_types,_1_remaining:_etcdserver:_request_timed_out",
            "contentRefused at Namespace shop",
        ),
    ] {
        assert_eq!(causes(&namespace(said)), [expected], "{said}");
    }
    let mut hidden = fixture::index("Topic.queue.example shop/a deleted=400");
    let message = r#"Internal error occurred: unable to transform key "/registry/queue.example/topics/shop/b": no matching prefix found"#;
    let (resource, cause) = ("topics.queue.example".to_owned(), HiddenCause::Failing);
    let message = message.into();
    hidden.apply([Observation::Hidden { resource, cause, message }], fixture::now());
    assert_eq!(causes(&hidden), ["unreadable at topics "]);
}

#[test]
fn refused_update_of_a_pod_names_the_webhook_that_rewrites_it() {
    let world = |rest: &str| {
        fixture::index(&format!(
            "
            node n1
            ns shop
            pod shop/a node=n1 phase=Failed deleted=400 finalizers=batch.kubernetes.io/job-tracking containers=web:terminated
            {rest}
            "
        ))
    };
    const SAID: &str = "Pod \"a\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`";
    assert!(is_rewritten(SAID));
    assert!(!is_rewritten(
        "Pod \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers"
    ));
    let note = |index: &mut Index| {
        let uid = index.find("", "Pod", Some("shop"), "a").unwrap().uid.clone();
        index.note_refused_update(uid, SAID, fixture::now());
    };
    let of_webhook = |index: &Index| -> Vec<String> {
        causes(index).into_iter().filter(|it| it.starts_with("updateRejected")).collect()
    };
    let sidecar = "mutating sidecar service=ops/sidecar guards=pods asked=UPDATE";
    let mut one = world(sidecar);
    assert_eq!(of_webhook(&one), [""; 0], "nothing was refused");
    note(&mut one);
    assert_eq!(of_webhook(&one), ["updateRejected at MutatingWebhookConfiguration sidecar"]);
    // A webhook that only validates rewrites nothing, and neither does one that is asked about DELETE.
    for other in ["webhook sidecar guards=pods asked=UPDATE", "mutating sidecar guards=pods"] {
        let mut index = world(other);
        note(&mut index);
        assert_eq!(of_webhook(&index), ["updateRejected at Pod shop/a"], "{other}");
    }
    // Its conditions may exclude the Pod, and then something else rewrites it.
    let mut chosen = world(&format!("{sidecar} matches=cel"));
    note(&mut chosen);
    let found = describe(&chosen);
    let head = "updateRejected at MutatingWebhookConfiguration sidecar (Inferred, stuck)";
    assert!(found.contains(head), "{found}");
    assert!(found.contains("sidecar: webhooks[0].matchConditions"), "{found}");
    assert!(describe(&one).contains(&head.replace("Inferred", "Confirmed")));
    let (kind, uid) = (fixture::object("pod shop/a").kind, fixture::uid("pod:shop/a"));
    one.apply([Observation::Deleted { kind, uid: uid.clone() }], fixture::now());
    assert_eq!(one.refused_update(&uid), None);
}

#[test]
fn program_that_is_newer_than_the_deletion_or_is_going_itself_says_so() {
    let text = |program: &str| {
        diagnoses(&format!(
            "Challenge.acme.cert-manager.io shop/c deleted=400 finalizers=acme.cert-manager.io/finalizer
            crb cm role=clusterrole/cm accounts=ops/cert-manager
            clusterrole cm updates=challenges.acme.cert-manager.io
            deploy ops/cert-manager ready=1 replicas=1 uses=account:cert-manager {program}"
        ))
    };
    let fact = |path: &str| format!("Deployment ops/cert-manager: metadata.{path}");
    let has = |program: &str| {
        let found = text(program);
        assert!(found.contains("finisherBusy at Deployment ops/cert-manager"), "{found}");
        ["creationTimestamp", "deletionTimestamp"].map(|path| found.contains(&fact(path)))
    };
    assert_eq!(has("age=401"), [false, false]);
    assert_eq!(has("age=399"), [true, false]);
    assert_eq!(has("age=399 deleted=20 finalizers=foregroundDeletion"), [false, true]);
}
