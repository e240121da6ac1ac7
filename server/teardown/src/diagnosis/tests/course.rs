//! The acts of the cluster itself, and their times.

use super::*;
use crate::{
    diagnosis::{course::course, kubelet_log},
    fetched::{Answer, Lease, MANAGER, Question},
    index::Index,
    observation::{HiddenCause, Observation},
};

fn span(at: Timestamp) -> String {
    format!("{:+} s", at.duration_since(fixture::now()).as_secs())
}

/// The course of each diagnosis of an index: its cause, then what comes, with times against now.
fn courses(index: &Index) -> String {
    courses_with(index, &mut diagnose(index, &Graph::of(index), fixture::now()))
}

fn courses_with(index: &Index, diagnoses: &mut [Diagnosis]) -> String {
    let mut described = String::new();
    for it in diagnoses {
        writeln!(described, "{}", it.cause.name()).unwrap();
        for upcoming in course(index, &Graph::of(index), it, fixture::now()) {
            let text = format!("{upcoming:?}");
            let name = text.split([' ', '(']).next().unwrap_or_default();
            let due = |due: Due| match due {
                Due::By(at) => format!("by {}", span(at)),
                Due::Overdue(at) => format!("overdue {}", span(at)),
                Due::Within(wait) => format!("within {} s", wait.as_secs()),
            };
            let rest = match upcoming {
                Upcoming::GraceEnds { due: at, .. } | Upcoming::KubeletRetries { due: at, .. } => {
                    due(at)
                }
                Upcoming::OrphansCollected { due: at, .. }
                | Upcoming::OutOfServiceCollected { due: at, .. } => due(at),
                Upcoming::Eviction { pods, due: at, .. } => {
                    let pods: Vec<String> = pods.iter().map(|pod| pod.to_string()).collect();
                    format!("{} {}", pods.join(", "), due(at))
                }
                Upcoming::ForcedDetach { volumes, at_once, due: at, .. } => {
                    let at = if at_once { "at once".to_owned() } else { due(at) };
                    format!("{} {at}", volumes.join(", "))
                }
                Upcoming::ControllerLooks { controller, due: at } => {
                    format!("{controller} {}", due(at))
                }
                Upcoming::DriverRetries { driver, due: at } => format!("{driver} {}", due(at)),
                Upcoming::ProgramRetries { programs } => format!("{} programs", programs.len()),
                Upcoming::KubeletWaits { .. } | Upcoming::NoManager => String::new(),
            };
            writeln!(described, "  {name} {rest}").unwrap();
        }
    }
    described
}

fn of(text: &str) -> String {
    courses(&fixture::index(text))
}

fn deleted(line: &str) -> Observation {
    let object = fixture::object(line);
    Observation::Deleted { kind: object.kind, uid: object.uid }
}

fn ago(seconds: i64) -> Timestamp {
    fixture::now() - jiff::SignedDuration::from_secs(seconds)
}

/// Has two looks find a lease as it is, a minute apart.
fn still(index: &mut Index, question: &Question, name: &str) {
    let lease = Lease { name: name.into(), renewed: "then".into(), duration: None };
    for at in [60, 0] {
        let answer = Ok(Answer::Leases(vec![lease.clone()]));
        let fetched = Observation::Fetched { question: question.clone(), answer };
        index.apply([fetched], ago(at));
    }
}

#[test]
fn end_of_the_grace_period_is_named_and_then_overdue() {
    let pod = |deleted: u32| {
        format!("node n1\npod shop/a node=n1 deleted={deleted} grace=30 containers=web:running")
    };
    let of_grace = |index: &Index| {
        let cause = Cause::WithinGrace { until: ago(-20), pre_stop: false };
        let mut found = diagnose(index, &Graph::of(index), fixture::now());
        found[0].cause = cause;
        courses_with(index, &mut found)
    };
    insta::assert_snapshot!(of_grace(&fixture::index(&pod(400))), @"
    withinGrace
      GraceEnds by +20 s
    ");
    insta::assert_snapshot!(of(&pod(400)), @"
    containersRunning
      GraceEnds overdue -370 s
      KubeletRetries within 15 s
    ");
}

#[test]
fn kubelet_that_does_not_renew_its_lease_promises_nothing() {
    let mut index = fixture::index(
        "node n1\npod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data\npvc shop/data",
    );
    insta::assert_snapshot!(courses(&index), @"
    volumesMounted
      KubeletRetries within 122 s
    ");
    still(&mut index, &Question::NodeLeases, "n1");
    insta::assert_snapshot!(courses(&index), @"volumesMounted");
}

#[test]
fn next_try_of_an_unmount_is_that_of_the_log_and_never_promised_when_past() {
    let index = fixture::index(
        "
        node n1
        pvc shop/data
        pod shop/a uid=11111111-2222-4333-8444-555555555555 node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
    ",
    );
    let with = |retry: Option<i64>, error| {
        let fact = kubelet_log::KubeletFact {
            pod: "11111111-2222-4333-8444-555555555555".into(),
            name: None,
            step: kubelet_log::KubeletStep::Unmount,
            volume: Some("data".into()),
            node: None,
            path: None,
            error,
            said: String::new(),
            retry: retry.map(|ago_| kubelet_log::Retry { at: ago(ago_), wait: None }),
        };
        let mut found = diagnose(&index, &Graph::of(&index), fixture::now());
        let source = Source::Kubelet(AnswerOrigin::Pasted { by: "Li".into() }, Box::new(fact));
        let of = found[0].root.clone();
        found[0].evidence.push(Evidence { of, source, said: String::new(), at: None });
        courses_with(&index, &mut found)
    };
    let busy = kubelet_log::KubeletError::Busy;
    assert_eq!(with(Some(-60), busy), "volumesMounted\n  KubeletRetries by +60 s\n");
    assert_eq!(with(Some(60), busy), "volumesMounted\n  KubeletRetries overdue -60 s\n");
    let waiting = kubelet_log::KubeletError::Waiting;
    assert_eq!(with(None, waiting), "volumesMounted\n  KubeletWaits \n");
}

const SILENT: &str = "
    node n1 ready=Ready:Unknown:NodeStatusUnknown:100:stopped taints=node.kubernetes.io/unreachable:NoExecute
    pvc shop/data volume=pv-1
    pv pv-1 claim=shop/data
    attachment a1 volume=pv-1 node=n1 attacher=disk.example
    pod shop/db-0 node=n1 deleted=400 grace=30 containers=db:running uses=claim:data
";

#[test]
fn pods_of_a_silent_node_are_evicted_after_their_own_tolerations() {
    let text = format!(
        "{SILENT}
        pod shop/web node=n1
        pod shop/quick node=n1 stays=30
        pod shop/agent node=n1 stays=forever
        pod shop/elsewhere node=n2
    "
    );
    insta::assert_snapshot!(of(&text), @"
    nodeSilent
      Eviction Pod shop/quick overdue -70 s
      Eviction Pod shop/web by +200 s
      ForcedDetach pv-1 within 360 s
    ");
    // Without the taint nobody is evicted: no taint is put on when all nodes are silent at once.
    let untainted = text.replace(" taints=node.kubernetes.io/unreachable:NoExecute", "");
    assert!(!of(&untainted).contains("Eviction"), "{}", of(&untainted));
}

#[test]
fn claim_of_a_pod_on_a_silent_node_has_only_its_eviction() {
    insta::assert_snapshot!(of("
        node n1 ready=Ready:Unknown:NodeStatusUnknown:100:stopped taints=node.kubernetes.io/unreachable:NoExecute
        node n2
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/a node=n1 uses=claim:data
        pod shop/b node=n1
        pod shop/c node=n2 uses=claim:data
    "), @"
    claimInUse
      Eviction Pod shop/a by +200 s
    ");
}

#[test]
fn forced_detach_is_counted_from_the_last_pod_that_wanted_the_volume() {
    let mut index = fixture::index(&format!(
        "{SILENT}\npod shop/other node=n1 deleted=400 grace=30 containers=web:running"
    ));
    index.apply([deleted("pod shop/db-0")], ago(100));
    assert!(courses(&index).contains("ForcedDetach pv-1 by +260 s"), "{}", courses(&index));
    let mut index = index.clone();
    let pod = fixture::object("pod shop/db-0 node=n1 uses=claim:data");
    index.apply([Observation::Applied(Box::new(pod))], ago(90));
    let described = courses(&index);
    assert!(
        described.contains("ForcedDetach pv-1 within 360 s"),
        "it is wanted again: {described}"
    );

    let mut index = fixture::index(&format!(
        "{SILENT}\npod shop/other node=n1 deleted=400 grace=30 containers=web:running"
    ));
    index.apply([deleted("pod shop/db-0")], ago(400));
    assert!(courses(&index).contains("ForcedDetach pv-1 overdue -40 s"), "{}", courses(&index));
}

#[test]
fn nothing_is_detached_by_force_from_a_node_that_is_ready() {
    let ended = "pod shop/db-0 node=n1 deleted=400 grace=30 phase=Failed containers=db:terminated uses=claim:data";
    let rest = "
        pvc shop/data volume=pv-1
        pv pv-1 claim=shop/data
        attachment a1 volume=pv-1 node=n1 attacher=disk.example
    ";
    let ready = of(&format!("node n1\n{rest}\n{ended}"));
    assert!(!ready.contains("ForcedDetach"), "{ready}");
    let not_ready = of(&format!("node n1 ready=no\n{rest}\n{ended}"));
    assert!(not_ready.contains("ForcedDetach pv-1 within 360 s"), "{not_ready}");
}

#[test]
fn node_that_is_out_of_service_loses_its_pods_and_volumes_at_once() {
    let tainted = SILENT.replace("taints=", "taints=node.kubernetes.io/out-of-service:NoExecute,");
    insta::assert_snapshot!(of(&format!("{tainted}\npod shop/web node=n1")), @"
    nodeSilent
      OutOfServiceCollected within 20 s
      ForcedDetach pv-1 at once
    ");
}

#[test]
fn orphaned_pod_is_collected_after_quarantine_and_two_looks() {
    let orphan = "pod shop/a node=n9 deleted=400 grace=30 containers=web:running";
    insta::assert_snapshot!(of(orphan), @"
    nodeMissing
      OrphansCollected within 80 s
    ");
    let gone = |seconds| {
        let mut index = fixture::index(&format!("node n9\n{orphan}"));
        index.apply([deleted("node n9")], ago(seconds));
        courses(&index)
    };
    assert_eq!(gone(30), "nodeMissing\n  OrphansCollected by +50 s\n");
    assert_eq!(gone(100), "nodeMissing\n  OrphansCollected overdue -20 s\n");
}

#[test]
fn controllers_promise_nothing_while_no_manager_leads() {
    let mut index = fixture::index(&format!(
        "{SILENT}
        pod shop/orphan node=n9 deleted=400 grace=30 containers=web:running
        pod shop/web node=n1"
    ));
    still(&mut index, &Question::ManagerLease, MANAGER);
    insta::assert_snapshot!(courses(&index), @"
    managerSilent
    nodeMissing
      NoManager 
    nodeSilent
      NoManager 
    ");
}

#[test]
fn namespace_controller_looks_again_by_a_time_once_the_api_is_repaired() {
    let namespace = "ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:server_APIs:_metrics.k8s.io/v1beta1:_stale";
    let api = |available: &str| {
        format!(
            "{namespace}\napiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available={available}"
        )
    };
    assert_eq!(
        of(&api("Available:False:MissingEndpoints:210:no")),
        "apiDown\n  ControllerLooks namespace-controller within 60 s\n"
    );
    assert_eq!(
        of(&api("Available:True:Passed:50:ok")),
        "looksAgain\n  ControllerLooks namespace-controller by +100 s\n"
    );
    assert_eq!(
        of(&api("Available:True:Passed:180:ok")),
        "looksAgain\n  ControllerLooks namespace-controller overdue -30 s\n"
    );
    let mut index =
        fixture::index(&format!("{}\napiservice v1.apps", api("Available:False:X:210:no")));
    index.apply([deleted("apiservice v1beta1.metrics.k8s.io")], ago(10));
    assert_eq!(courses(&index), "looksAgain\n  ControllerLooks namespace-controller by +65 s\n");
}

#[test]
fn tries_that_have_no_time_have_their_longest_wait() {
    insta::assert_snapshot!(of("
        cm shop/alone deleted=200 finalizers=foregroundDeletion
        svc shop/edge deleted=200 finalizers=service.kubernetes.io/load-balancer-cleanup
        node n1
        pv lost deleted=300 phase=Failed finalizers=external-provisioner.volume.kubernetes.io/finalizer driver=disk.example
        pv bare deleted=300 phase=Failed finalizers=kubernetes.io/pv-controller
        attachment a1 volume=other node=n1 attacher=disk.example deleted=200 error=busy
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:odd
        pvc other/kept volume=held
        pv held deleted=300 claim=other/kept finalizers=kubernetes.io/pv-protection
    "), @"
    controllerSilent
      ControllerLooks garbage-collector-controller within 1000 s
    contentRefused
      ControllerLooks namespace-controller within 60 s
    backendLeft
      ControllerLooks persistentvolume-binder-controller within 122 s
    volumeBound
    loadBalancerLeft
      ControllerLooks service-lb-controller within 300 s
    backendLeft
      DriverRetries disk.example within 300 s
    detachFailed
      DriverRetries disk.example within 300 s
    ");
}

#[test]
fn cloud_controller_without_a_ready_pod_promises_no_look() {
    let service =
        "svc shop/edge deleted=200 finalizers=service.kubernetes.io/load-balancer-cleanup";
    let with = |ready: u32| {
        of(&format!("{service}\nds kube-system/openstack-cloud-controller-manager ready={ready}"))
    };
    assert_eq!(with(0), "finisherNotReady\n");
    let looks = "loadBalancerLeft\n  ControllerLooks service-lb-controller within 300 s\n";
    assert_eq!(with(1), looks);
}

#[test]
fn volume_whose_claim_does_not_exist_is_looked_at_again_soon() {
    let text = "
        pvc shop/db volume=disk-1
        pv disk-1 claim=shop/db deleted=300 finalizers=kubernetes.io/pv-protection
    ";
    assert_eq!(of(text), "volumeBound\n");
    assert_eq!(
        of(&text.replace("pvc shop/db volume=disk-1", "pvc shop/other")),
        "volumeBound\n  ControllerLooks persistentvolume-binder-controller within 15 s\n"
    );
}

#[test]
fn hidden_cause_promises_nothing() {
    let mut index =
        fixture::index("pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection");
    let (resource, cause) = ("pods".into(), HiddenCause::Forbidden);
    index.apply(
        [Observation::Hidden { resource, cause, message: "forbidden".into() }],
        fixture::now(),
    );
    assert_eq!(courses(&index), "cannotSee\n");
}

/// The API server refuses every change in a namespace that does not exist, so no program clears the finalizer.
#[test]
fn program_retries_only_while_the_namespace_of_its_object_exists() {
    let text = "
        Topic.queue.example shop/orders deleted=200 finalizers=queue.example/topic
        crd topics.queue.example defines=Topic.queue.example
        deploy ops/runner uses=account:runner ready=1 replicas=1
        deploy ops/other uses=account:runner ready=1 replicas=1
        crb runner role=clusterrole/topics accounts=ops/runner
        clusterrole topics updates=topics.queue.example
        ns ops
    ";
    assert_eq!(of(&format!("{text}ns shop\n")), "finisherUnknown\n  ProgramRetries 2 programs\n");
    assert_eq!(of(text), "namespaceGone\n");
}
