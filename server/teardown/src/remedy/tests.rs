//! Remedies as text. The never-list and the order of harm are tested over a cluster with everything in it.

mod collected;
mod grace;
mod job;
mod kubelet;
mod namespace;
mod order;
mod plugin;
mod premise;
mod scale_down;
mod security;
mod waiting;

use std::{collections::BTreeMap, fmt::Write};

use super::*;
use crate::{
    diagnosis::{AnswerOrigin, RuntimeReport, RuntimeState, add_runtime, diagnose},
    fetched::Question,
    fixture,
    observation::{HiddenCause, Observation},
};

/// The remedies of every diagnosis of a fixture.
pub(super) fn found(index: &Index) -> Vec<(Diagnosis, Vec<Remedy>)> {
    let graph = Graph::of(index);
    let diagnoses = diagnose(index, &graph, fixture::now());
    let with = |it: Diagnosis| {
        let remedies = remedies(&it, index, &graph, fixture::now());
        (it, remedies)
    };
    diagnoses.into_iter().map(with).collect()
}

/// The name of a value on the wire.
fn code<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    json.replace(['"', '{', '}'], "")
}

/// The blast radius as lines: a Pod with its claims, of which `1` may be used by one node at a time and `L` is on a disk of the node.
fn reaches(reach: &Reach) -> Vec<String> {
    let claim = |it: &ReachedClaim| {
        let (one, local) =
            (if it.one_node { " 1" } else { "" }, if it.node_local { " L" } else { "" });
        format!("{}{one}{local}", it.claim)
    };
    let claims = |all: &[ReachedClaim]| all.iter().map(claim).collect::<Vec<_>>().join(", ");
    let pod = |it: &ReachedPod| match it.claims.as_slice() {
        [] => it.pod.to_string(),
        all => format!("{} with {}", it.pod, claims(all)),
    };
    let pods = reach.pods.iter().map(pod).chain(reach.claims.iter().map(claim));
    let released = reach.releases.iter().map(|it| format!("and releases {it}"));
    let going = reach.going.iter().map(|it| format!("and deletes {}", it.claim));
    let others = reach.objects.iter().map(ToString::to_string);
    pods.chain(going).chain(others).chain(reach.resources.iter().cloned()).chain(released).collect()
}

/// The remedies as text: harm and act, then needs, reach, losses, undo, then the commands.
fn describe(index: &Index) -> String {
    let mut described = String::new();
    for (diagnosis, remedies) in found(index) {
        writeln!(described, "{} at {}", diagnosis.cause.name(), diagnosis.root).unwrap();
        for it in remedies {
            let target = it.target.as_ref().map(|target| format!(" → {target}"));
            writeln!(described, "  {:?}: {}{}", it.harm, code(&it.act), target.unwrap_or_default())
                .unwrap();
            if let Some(why) = &it.withheld {
                writeln!(described, "    withheld: {}", code(why)).unwrap();
            }
            for need in &it.needs {
                writeln!(described, "    needs {} {:?}", code(&need.code), need.holds).unwrap();
            }
            for reached in reaches(&it.reaches) {
                writeln!(described, "    reaches {reached}").unwrap();
            }
            for loss in it.loses.iter().map(code) {
                writeln!(described, "    loses {loss}").unwrap();
            }
            if let Some(undo) = it.undo {
                writeln!(described, "    undo {}", code(&undo)).unwrap();
            }
            for (command, line) in it.lines("prod") {
                let sign = match command.purpose {
                    Purpose::Look => '?',
                    Purpose::Copy => '=',
                    Purpose::Act => '!',
                    Purpose::Undo => '<',
                };
                let place = match &command.place {
                    Place::Kubectl => String::new(),
                    Place::Node(node) => format!("[{node}] "),
                };
                writeln!(described, "    {sign} {place}{line}").unwrap();
            }
        }
    }
    described
}

fn hide(index: &mut Index, resource: &str) {
    let hidden = Observation::Hidden {
        resource: resource.into(),
        cause: HiddenCause::Forbidden,
        message: "forbidden".into(),
    };
    index.apply([hidden], fixture::now());
}

/// The index of a fixture whose nodes have leases that stand still.
pub(super) fn watched(text: &str) -> Index {
    let mut index = fixture::index(text);
    fixture::watch_leases(&mut index, &["n1", "n2"], fixture::now());
    index
}

/// The acts of all remedies of a fixture with the reason why each is withheld.
fn acts(index: &Index) -> Vec<String> {
    let all = found(index).into_iter().flat_map(|(_, remedies)| remedies);
    all.map(|it| {
        let name = code(&it.act);
        let name = name.split([':', ',']).next().unwrap_or_default().to_owned();
        it.withheld.map_or(name.clone(), |why| format!("{name} withheld {}", code(&why)))
    })
    .collect()
}

const SILENT: &str = "
    node n1 provider=aws:///i-1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped_posting_node_status. taints=node.kubernetes.io/unreachable:NoExecute
    node n2
    pod shop/one-1-a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
    pod shop/agent node=n1
    pod shop/else node=n2
    pvc shop/data
";

#[test]
fn silent_node_is_started_then_tainted_then_deleted_then_its_pod_is_forced() {
    insta::assert_snapshot!(describe(&watched(SILENT)), @r#"
    nodeSilent at Node n1
      None: startNode:node:n1,provider:aws:///i-1 → Node n1
        ? kubectl --context=prod describe nodes/n1
        ? kubectl --context=prod --namespace=kube-node-lease get leases/n1 --output=yaml
      DataLoss: outOfServiceTaint:node:n1 → Node n1
        needs nodeSilent Yes
        needs leaseStill Yes
        needs poweredOff:node:n1,instance:null Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches Pod shop/one-1-a with PersistentVolumeClaim shop/data
        reaches Pod shop/agent
        loses secondWriter
        loses podsOnNode
        undo takeTaintOff
        ! kubectl --context=prod patch nodes/n1 --type=json -p '[{"op":"test","path":"/metadata/uid","value":"node:n1"},{"op":"add","path":"/spec/taints/-","value":{"effect":"NoExecute","key":"node.kubernetes.io/out-of-service","value":"nodeshutdown"}}]'
        < kubectl --context=prod taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute-
      DataLoss: deleteNode:node:n1 → Node n1
        needs nodeSilent Yes
        needs leaseStill Yes
        needs poweredOff:node:n1,instance:null Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches Pod shop/one-1-a with PersistentVolumeClaim shop/data
        reaches Pod shop/agent
        loses secondWriter
        loses podsOnNode
        loses machine
        undo restartKubelet
        = kubectl --context=prod get nodes/n1 --output=yaml
        ! printf %s '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"node:n1"}}' | kubectl --context=prod delete --raw=/api/v1/nodes/n1 --filename=-
      DataLoss: forceDeletePod:node:n1 → Pod shop/one-1-a
        needs nodeSilent Yes
        needs leaseStill Yes
        needs poweredOff:node:n1,instance:null Unknown
        needs onlySilentNode Yes
        needs notControlPlane Yes
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        ? kubectl --context=prod --namespace=shop get pods/one-1-a --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"pod:shop/one-1-a"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/one-1-a --filename=-
    "#);
}

#[test]
fn every_pod_of_a_node_is_listed_those_with_volumes_of_one_node_first() {
    let pods: String = (0..80).map(|n| format!("pod shop/web-{n:02} node=n1\n")).collect();
    let index = fixture::index(&format!(
        "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:
        pod shop/shared node=n1 uses=claim:shared
        pod shop/zoo node=n1 uses=claim:disk,claim:local deleted=400 grace=30 containers=web:running
        {pods}
        pvc shop/shared volume=pv-1
        pvc shop/disk volume=pv-2 access=ReadWriteOnce
        pvc shop/local volume=pv-3
        pv pv-1
        pv pv-2
        pv pv-3 disk=local"
    ));
    for (_, remedies) in found(&index) {
        let all = |it: &&Remedy| {
            matches!(it.act, RemedyAct::OutOfServiceTaint { .. } | RemedyAct::DeleteNode { .. })
        };
        for remedy in remedies.iter().filter(all) {
            let lines = reaches(&remedy.reaches);
            assert_eq!(lines.len(), 82);
            assert_eq!(
                lines[..3],
                [
                    "Pod shop/zoo with PersistentVolumeClaim shop/disk 1, PersistentVolumeClaim shop/local L",
                    "Pod shop/shared with PersistentVolumeClaim shop/shared",
                    "Pod shop/web-00",
                ]
            );
        }
        assert_eq!(remedies.iter().filter(all).count(), 2);
    }
}

#[test]
fn silent_node_is_not_given_up_where_the_node_may_live_or_a_pod_cannot_be_seen() {
    let node = "node n1";
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        node,
        "node n1 labels=node-role.kubernetes.io/control-plane:"
    ))), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld controlPlaneNode",
        "deleteNode withheld controlPlaneNode",
        "forceDeletePod withheld controlPlaneNode",
    ]
    "#);
    insta::assert_debug_snapshot!(acts(&fixture::index(&SILENT.replace(
        "node n2",
        "node n2 ready=Ready:Unknown:NodeStatusUnknown:600:"
    ))), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld severalNodesSilent:silent:2",
        "deleteNode withheld severalNodesSilent:silent:2",
        "forceDeletePod withheld severalNodesSilent:silent:2",
    ]
    "#);
    let mut index = watched(SILENT);
    hide(&mut index, "persistentvolumeclaims");
    insta::assert_debug_snapshot!(acts(&index), @r#"
    [
        "startNode",
        "outOfServiceTaint withheld cannotSee:resource:persistentvolumeclaims",
        "deleteNode withheld cannotSee:resource:persistentvolumeclaims",
        "forceDeletePod withheld cannotSee:resource:persistentvolumeclaims",
    ]
    "#);
}

/// Nodes behind one broken switch fall silent over hours.
#[test]
fn node_is_not_given_up_while_another_has_been_silent_for_less_than_a_day() {
    let is_withheld = |ago: u32| {
        let other = format!("node n2 ready=Ready:Unknown:NodeStatusUnknown:{ago}:");
        let acts = acts(&watched(&SILENT.replace("node n2", &other)));
        let withheld = acts.iter().filter(|it| it.contains("severalNodesSilent")).count();
        assert!([0, 3].contains(&withheld), "{acts:?}");
        withheld > 0
    };
    for (ago, expected) in [(1_200, true), (2_000, true), (86_399, true), (86_400, false)] {
        assert_eq!(is_withheld(ago), expected, "{ago} s ago");
    }
}

#[test]
fn shutdown_that_the_kubelet_announced_stands_beside_the_question_for_the_machine() {
    let announced = |message: &str| {
        let mut index = fixture::index(
            "node n1\npod shop/a node=n1 deleted=400 grace=30 containers=web:running",
        );
        for ready in [
            &format!("Ready:False:KubeletNotReady:300:{message}"),
            "Ready:Unknown:NodeStatusUnknown:200:gone",
        ] {
            let node = fixture::object(&format!("node n1 ready={ready}"));
            index.apply([Observation::Applied(Box::new(node))], fixture::now());
        }
        let (_, ways) = found(&index).remove(0);
        let needs = ways.iter().flat_map(|it| &it.needs).map(|it| &it.code);
        let mut said = needs.filter_map(|code| match code {
            NeedCode::PoweredOff { announced, .. } => Some(*announced),
            _ => None,
        });
        said.next().unwrap()
    };
    assert!(announced("node_is_shutting_down"));
    assert!(!announced("container_runtime_is_down"));
}

#[test]
fn silent_node_is_not_given_up_before_its_lease_was_watched_long_enough() {
    let withheld = |index: &Index| {
        let mut found: Vec<String> =
            acts(index).into_iter().filter(|act| act != "startNode").collect();
        found.dedup_by_key(|act| act.split(' ').next_back().map(str::to_owned));
        found
    };
    let mut index = fixture::index(SILENT);
    assert_eq!(withheld(&index), ["outOfServiceTaint withheld leaseNotWatched"]);
    let ago = |seconds| fixture::now() - jiff::SignedDuration::from_secs(seconds);
    index.apply([fixture::leases(&["n1"])], ago(39));
    index.apply([fixture::leases(&["n1"])], ago(0));
    assert_eq!(withheld(&index), ["outOfServiceTaint withheld leaseNotWatched"]);
    let mut index = fixture::index(SILENT);
    index.apply([fixture::leases(&["n1"])], ago(40));
    index.apply([fixture::leases(&["n1"])], ago(0));
    assert_eq!(acts(&index), ["startNode", "outOfServiceTaint", "deleteNode", "forceDeletePod"]);
    let answer = Err("leases is forbidden".into());
    let hidden = Observation::Fetched { question: Question::NodeLeases, answer };
    index.apply([hidden], fixture::now());
    assert_eq!(withheld(&index), ["outOfServiceTaint withheld leaseHidden"]);
    // A kubelet with leases of 5 min renews every 75 s.
    let mut index = fixture::index(SILENT);
    let long = || fixture::leases_valid_for(&["n1"], Some(300));
    index.apply([long()], ago(299));
    index.apply([long()], ago(1));
    assert_eq!(withheld(&index), ["outOfServiceTaint withheld leaseNotWatched"]);
    index.apply([long()], ago(-1));
    assert_eq!(acts(&index), ["startNode", "outOfServiceTaint", "deleteNode", "forceDeletePod"]);
}

#[test]
fn machine_is_named_by_its_node_and_by_its_instance() {
    let given = SILENT.replace("provider=aws:///i-1", "provider=aws:///eu-west-1a/i-0abc");
    for (_, remedies) in found(&watched(&given)) {
        for remedy in remedies.iter().filter(|it| it.harm == Harm::DataLoss) {
            assert_eq!(remedy.machine(), ["n1", "i-0abc"], "{:?}", remedy.act);
        }
    }
}

#[test]
fn node_that_is_tainted_already_only_waits_for_its_pods() {
    let tainted = SILENT.replace("taints=", "taints=node.kubernetes.io/out-of-service:NoExecute,");
    let acts = acts(&fixture::index(&tainted));
    assert!(acts.iter().all(|act| act != "outOfServiceTaint"), "{acts:?}");
    assert!(acts.contains(&"wait".to_owned()), "{acts:?}");
}

#[test]
fn machine_that_the_cloud_says_is_off_counts_as_proof() {
    let off =
        SILENT.replace("taints=", "taints=node.cloudprovider.kubernetes.io/shutdown:NoSchedule,");
    let (_, remedies) = found(&fixture::index(&off)).remove(0);
    let needs = remedies.iter().flat_map(|it| &it.needs);
    let proof: Vec<Holds> = needs
        .filter(|it| matches!(it.code, NeedCode::PoweredOff { .. }))
        .map(|it| it.holds)
        .collect();
    assert_eq!(proof, [Holds::Yes; 3]);
}

#[test]
fn mount_is_freed_and_a_pod_is_forced_last() {
    insta::assert_snapshot!(describe(&fixture::index("
        node n1
        pvc shop/data volume=pv
        pv pv claim=shop/data
        pod shop/a uid=2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10 node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data
        pod shop/b uid=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10 node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:lost subPath=yes
    ")), @r#"
    claimGone at Pod shop/b
      None: restoreExport:node:n1,claims:[lost] → Pod shop/b
        ? [n1] grep -F /pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volume-subpaths -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
      None: freeMount:node:n1,volumes:[] → Pod shop/b
        ? [n1] grep -F /pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes /var/lib/kubelet/pods/3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volume-subpaths -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
        ? kubectl --context=prod get --raw=/api/v1/nodes/n1/proxy/runningpods/
        ? kubectl --context=prod get --raw=/api/v1/nodes/n1/proxy/metrics
      None: restartKubelet:node:n1 → Node n1
        ! [n1] systemctl restart kubelet
      None: wait:reason:kubeletRetry,until:null → Pod shop/b
      Interruption: restartNode:node:n1 → Node n1
        reaches Pod shop/a with PersistentVolumeClaim shop/data
        reaches Pod shop/b with PersistentVolumeClaim shop/lost
        loses podsOnNode
        ! [n1] systemctl reboot
      DataLoss: forceDeletePod:node:n1 → Pod shop/b
        needs containersEnded Yes
        needs mountsUnused Unknown
        reaches PersistentVolumeClaim shop/lost
        loses secondWriter
        loses mount
        ? kubectl --context=prod --namespace=shop get pods/b --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"3b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/b --filename=-
    volumesMounted at Pod shop/a
      None: wait:reason:kubeletRetry,until:null → Pod shop/a
      None: freeMount:node:n1,volumes:[[pv,data]] → Pod shop/a
        ? [n1] grep -F /pods/2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/ /proc/self/mountinfo
        ? [n1] timeout --signal=KILL 20 find /var/lib/kubelet/pods/2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10/volumes -xdev -mindepth 2 -maxdepth 3 -exec fuser --verbose --ismountpoint --mount '{}' ';'
        ? [n1] journalctl --unit=kubelet --since=-10min --no-pager --grep=2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10
        ? kubectl --context=prod get --raw=/api/v1/nodes/n1/proxy/runningpods/
        ? kubectl --context=prod get --raw=/api/v1/nodes/n1/proxy/metrics
      None: restartKubelet:node:n1 → Node n1
        ! [n1] systemctl restart kubelet
      Interruption: restartNode:node:n1 → Node n1
        reaches Pod shop/a with PersistentVolumeClaim shop/data
        reaches Pod shop/b with PersistentVolumeClaim shop/lost
        loses podsOnNode
        ! [n1] systemctl reboot
      DataLoss: forceDeletePod:node:n1 → Pod shop/a
        needs containersEnded Yes
        needs mountsUnused Unknown
        reaches PersistentVolumeClaim shop/data
        loses secondWriter
        loses mount
        ? kubectl --context=prod --namespace=shop get pods/a --output=yaml --show-managed-fields
        ! printf %s '{"apiVersion":"v1","gracePeriodSeconds":0,"kind":"DeleteOptions","preconditions":{"uid":"2b9c4fa4-8f14-4c1c-9d3b-0f1f4a4b9d10"}}' | kubectl --context=prod delete --raw=/api/v1/namespaces/shop/pods/a --filename=-
    "#);
}

#[test]
fn pod_whose_containers_run_is_not_forced() {
    insta::assert_debug_snapshot!(acts(&fixture::index("
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        pod shop/b node=n1 deleted=400 grace=30
    ")), @r#"
    [
        "endProcess",
        "restartKubelet",
        "restartNode",
        "forceDeletePod withheld containersRun",
        "endProcess",
        "restartKubelet",
        "restartNode",
        "forceDeletePod withheld containersRun",
    ]
    "#);
}

#[test]
fn pod_that_its_runtime_still_runs_is_not_forced_whatever_its_status_says() {
    let index = fixture::index(
        "node n1
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated",
    );
    let graph = Graph::of(&index);
    let forced = |state: RuntimeState| {
        let mut found = diagnose(&index, &graph, fixture::now());
        let report = RuntimeReport::new(state, AnswerOrigin::Queried, fixture::now());
        let pod = found[0].waiting[0].uid.clone();
        add_runtime(&mut found, &mut BTreeMap::from([(pod, report)]));
        remedies(&found[0], &index, &graph, fixture::now()).pop().unwrap().withheld
    };
    assert_eq!(forced(RuntimeState::Nothing), None);
    let running = RuntimeState::Containers(vec!["web".into()]);
    assert_eq!(forced(running), Some(Withheld::ContainersRun));
}

const API_DOWN: &str = "
    ns s3 deleted=200 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:190:Discovery_failed_for_some_groups,_1_failing:_unable_to_retrieve_the_complete_list_of_server_APIs:_metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery:_metrics.k8s.io/v1beta1
    apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:210:no_addresses
    cm s3/left
";

#[test]
fn name_that_the_api_could_not_hold_makes_no_command() {
    for name in ["--all", "a;reboot", "a'b", "a/../b", "a%2fb", "a\u{202e}b"] {
        let text = format!(
            "Topic.queue.example s4/{name} deleted=90 finalizers=queue.example/topic\nns s4"
        );
        let (_, remedies) = found(&fixture::index(&text)).remove(0);
        let removal = remedies.last().unwrap();
        assert_eq!(removal.withheld, Some(Withheld::UnsafeName), "{name}");
        assert_eq!(removal.commands, [], "{name}");
    }
    let quotes = "Topic.queue.example s4/a deleted=90 finalizers=x'$(reboot)\nns s4";
    let (_, remedies) = found(&fixture::index(quotes)).remove(0);
    assert_eq!(remedies.last().unwrap().lines("a\nb"), []);
    let lines = remedies.last().unwrap().lines("prod");
    assert!(lines[1].1.contains(r#""value":"x'\''$(reboot)""#), "{lines:?}");
}

/// Every kind of cause at once.
const EVERYTHING: &str = "
    ns shop deleted=400 spec=kubernetes,example.com/keep
    pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection,example.com/a
    pod shop/web node=n2 uses=claim:live
    cm shop/parent deleted=400 finalizers=foregroundDeletion
    cm shop/orphans deleted=400 finalizers=orphan
    cm shop/child owner=cm/parent deleted=400 finalizers=example.com/x
    pv bound deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/live
    pv old deleted=400 phase=Released finalizers=kubernetes.io/pv-protection,external-provisioner.volume.kubernetes.io/finalizer
    attachment a1 volume=old node=n2 attacher=disk.example deleted=400 finalizers=external-attacher/disk-example
    crd topics.queue.example defines=Topic.queue.example deleted=400 finalizers=customresourcecleanup.apiextensions.k8s.io
    pod shop/counted node=n2 deleted=400 phase=Failed containers=web:terminated finalizers=batch.kubernetes.io/job-tracking
    svc shop/front deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
";

#[test]
fn nothing_that_guards_what_is_in_use_is_ever_removed_by_hand() {
    const NEVER: [&str; 5] = [
        "kubernetes.io/pvc-protection",
        "kubernetes.io/pv-protection",
        "foregroundDeletion",
        "orphan",
        "customresourcecleanup.apiextensions.k8s.io",
    ];
    let checked = Need { code: NeedCode::DetachChecked, holds: Holds::Unknown };
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    let mut removed = 0;
    for (diagnosis, remedies) in found(&fixture::index(&everything)) {
        for remedy in remedies {
            if let RemedyAct::RemoveFinalizer { finalizer } = &remedy.act {
                removed += 1;
                assert!(!NEVER.contains(&&**finalizer), "{finalizer} for {}", diagnosis.id);
                if finalizer.starts_with("external-attacher/") {
                    assert_eq!(&*remedy.target.as_ref().unwrap().kind, "VolumeAttachment");
                    assert!(remedy.needs.contains(&checked), "{}", diagnosis.id);
                }
            }
        }
    }
    assert!(removed >= 5, "{removed} finalizers were to be removed");
}

#[test]
fn repair_that_is_not_ours_has_a_command_to_look_with() {
    let url = "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_\"gate.example.com\":_failed_to_call_webhook:_Post_\"https://gate.example.com/\":_EOF
        webhook gate guards=configmaps";
    let converted = "ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_queue.example/v1,_Kind=Topic_failed:_Post_refused
        crd topics.queue.example defines=Topic.queue.example";
    let finisher = "pvc shop/data deleted=300 finalizers=example.com/a
        deploy shop/program";
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    let mut seen = Vec::new();
    for text in [url, converted, finisher, &everything] {
        for remedy in found(&fixture::index(text)).into_iter().flat_map(|(_, remedies)| remedies) {
            if remedy.harm != Harm::None || matches!(remedy.act, RemedyAct::Wait { .. }) {
                continue;
            }
            // A restart of the kubelet is a command of its own, and stands behind one that looks.
            let looks = remedy.commands.iter().any(|it| it.purpose == Purpose::Look);
            let is_restart = matches!(remedy.act, RemedyAct::RestartKubelet { .. });
            assert!(looks || is_restart, "{remedy:?}");
            seen.push(code(&remedy.act).split(':').next().unwrap_or_default().to_owned());
        }
    }
    for act in ["repairWebhook", "repairConverter", "restoreFinisher", "repairApi", "startNode"] {
        assert!(seen.iter().any(|it| it == act), "{act} is not among {seen:?}");
    }
}

#[test]
fn nothing_that_may_lose_data_is_offered_while_pods_are_hidden() {
    let everything = format!("{SILENT}{API_DOWN}{EVERYTHING}");
    for resource in ["pods", "nodes", "v1", "volumeattachments.storage.k8s.io"] {
        let mut index = fixture::index(&everything);
        hide(&mut index, resource);
        for remedy in found(&index).into_iter().flat_map(|(_, remedies)| remedies) {
            assert!(remedy.harm < Harm::DataLoss || remedy.withheld.is_some(), "{remedy:?}");
        }
    }
}
