//! The premises of each remedy as text.

use std::sync::Arc;

use super::*;
use crate::fetched::{Answer, Question};

fn describe_premise(premise: &Premise) -> String {
    let Premise { object, kind, expected, changes_with_it } = premise;
    let is = match expected {
        Expected::Unchanged(_) => "unchanged".to_owned(),
        Expected::SameDataFate(_) => "has the same data fate".to_owned(),
        Expected::SameClaimPolicy(_) => "has the same claim policy".to_owned(),
        Expected::KeepsClaims(_) => "keeps its claims afterwards".to_owned(),
        Expected::Absent => "absent".to_owned(),
        Expected::NotRenewed(renewed) => format!("lease {renewed}"),
        Expected::NoReadyEndpoints => "no ready endpoints".to_owned(),
        Expected::Content { known } => {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            format!("content: {}", known.join(" "))
        }
        Expected::Only { list, known } => {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            format!("{list:?} {}: {}", kind.resource(), known.join(" "))
        }
    };
    let once = if *changes_with_it { ", once" } else { "" };
    format!("{object} {is}{once}")
}

/// The premises of the remedy whose act has this name.
fn premises(index: &Index, act: &str) -> Option<Vec<String>> {
    let found = found(index);
    let mut all = found.iter().flat_map(|(it, remedies)| remedies.iter().map(move |r| (it, r)));
    let (diagnosis, remedy) =
        all.find(|(_, remedy)| code(&remedy.act).split(':').next() == Some(act)).expect("a remedy");
    let premises = remedy.premises(diagnosis, index)?;
    Some(premises.iter().map(describe_premise).collect())
}

fn silent() -> Index {
    watched(
        "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pod shop/b node=n2
        pvc shop/data
        ",
    )
}

#[test]
fn node_that_is_given_up_rests_on_its_lease_and_the_pods_that_were_listed() {
    for act in ["outOfServiceTaint", "deleteNode"] {
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(premises(&silent(), act), @r#"
            Some(
                [
                    "Node n1 unchanged, once",
                    "Node n1 lease 08:00 n1",
                    "Node n1 SilentNodes nodes: ",
                    "Node n1 OnNode pods: pod:shop/a",
                ],
            )
            "#);
        }
    }
}

#[test]
fn other_nodes_are_read_again_only_where_they_are_few() {
    let rests_on_others = |all: usize| {
        let others: String = (2..=all).map(|n| format!("node n{n}\n")).collect();
        let index = watched(&format!(
            "{others}node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
            pod shop/a node=n1 deleted=400 grace=30 containers=web:running"
        ));
        let found = premises(&index, "deleteNode").unwrap();
        found.iter().any(|it| it.contains("SilentNodes"))
    };
    assert!(rests_on_others(100) && !rests_on_others(101));
}

#[test]
fn list_of_silent_nodes_has_every_other_node_that_does_not_report() {
    let of = fixture::object("node n1").reference();
    for (node, is_listed) in [
        ("node n2 ready=Ready:Unknown:NodeStatusUnknown:0:gone", true),
        ("node n2 ready=Ready:False:KubeletNotReady:600:", false),
        ("node n2", false),
        ("node n1 ready=Ready:Unknown:NodeStatusUnknown:600:gone", false),
        ("pod shop/n2", false),
    ] {
        assert_eq!(List::SilentNodes.has(&fixture::object(node), &of), is_listed, "{node}");
    }
}

#[test]
fn premise_with_fewer_objects_follows_from_the_one_that_was_shown_and_with_more_does_not() {
    let volume = |more: &str| {
        let volume = fixture::object(&format!("pv pv-1 claim=shop/data {more}"));
        Premise {
            expected: Expected::SameDataFate(Arc::new(volume.clone())),
            ..Premise::unchanged(&Arc::new(volume))
        }
    };
    let listed = |pods: &[&str]| {
        let known = pods.iter().map(|pod| fixture::uid(pod)).collect();
        let expected = Expected::Only { list: List::OnNode, known };
        Premise { expected, ..Premise::unchanged(&Arc::new(fixture::object("node n1"))) }
    };
    let node = |text: &str| Premise::unchanged(&Arc::new(fixture::object(text)));
    for (now, earlier, follows) in [
        (listed(&["a"]), listed(&["a", "b"]), true),
        (listed(&["a", "b"]), listed(&["a", "b"]), true),
        (listed(&["a", "c"]), listed(&["a", "b"]), false),
        (volume("reclaim=Delete phase=Released"), volume("reclaim=Delete"), true),
        (volume("reclaim=Delete"), volume("reclaim=Retain"), false),
        (node("node n1"), node("node n1"), true),
        (node("node n1 labels=a:b"), node("node n1"), false),
        (node("node n2"), node("node n1"), false),
        (node("node n1"), listed(&["a"]), false),
    ] {
        assert_eq!(now.follows_from(&earlier), follows, "{now:?} from {earlier:?}");
    }
}

#[test]
fn node_is_not_given_up_by_unwind_without_its_lease() {
    let index = fixture::index(
        "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        ",
    );
    for act in ["outOfServiceTaint", "deleteNode", "forceDeletePod"] {
        assert_eq!(premises(&index, act), None, "{act}");
    }
}

#[test]
fn force_rests_on_the_pod_its_node_and_the_lease() {
    insta::assert_debug_snapshot!(premises(&silent(), "forceDeletePod"), @r#"
    Some(
        [
            "Pod shop/a unchanged, once",
            "Node n1 unchanged",
            "Node n1 lease 08:00 n1",
            "Node n1 SilentNodes nodes: ",
        ],
    )
    "#);
}

#[test]
fn shorter_grace_period_rests_on_the_pod_and_its_node() {
    let index = fixture::index(
        "
        node n1
        ns shop deleted=100
        pod shop/a node=n1 deleted=100 grace=3600 containers=web:running
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "shortenGrace"), @r#"
    Some(
        [
            "Pod shop/a unchanged, once",
            "Node n1 unchanged",
        ],
    )
    "#);
}

#[test]
fn force_where_the_node_is_gone_rests_on_its_absence() {
    let index = fixture::index(
        "
        node n1
        pod shop/a node=n2 deleted=400 grace=30 containers=web:running
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "forceDeletePod"), @r#"
    Some(
        [
            "Pod shop/a unchanged, once",
            "Node n2 absent",
        ],
    )
    "#);
}

#[test]
fn removal_of_a_finalizer_rests_on_the_absence_of_the_program_that_was_deleted() {
    let mut index = fixture::index(
        "
        ns s4
        crd topics.queue.example defines=Topic.queue.example
        deploy s4/queue-operator
        Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
        ",
    );
    let operator = index.find("apps", "Deployment", Some("s4"), "queue-operator").unwrap();
    let (kind, uid) = (operator.kind.clone(), operator.uid.clone());
    index.apply([Observation::Deleted { kind, uid }], fixture::now());
    insta::assert_debug_snapshot!(premises(&index, "removeFinalizer"), @r#"
    Some(
        [
            "Topic s4/orders unchanged, once",
            "Deployment s4/queue-operator absent",
        ],
    )
    "#);
}

#[test]
fn removal_of_a_volumes_finalizer_rests_on_its_claim_and_its_attachments() {
    let index = fixture::index(
        "
        pv pv-1 claim=shop/data phase=Released driver=csi.example reclaim=Delete deleted=400 finalizers=external-provisioner.volume.kubernetes.io/finalizer
        pvc shop/other
        attachment a-2 volume=pv-2 node=n1
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "removeFinalizer"), @r#"
    Some(
        [
            "PersistentVolume pv-1 unchanged, once",
            "PersistentVolumeClaim shop/data absent",
            "PersistentVolume pv-1 OfVolume volumeattachments.storage.k8s.io: ",
        ],
    )
    "#);
}

#[test]
fn api_that_is_switched_off_rests_on_its_service_and_on_that_nothing_answers() {
    let mut index = fixture::index(&format!("{API_DOWN}\nsvc kube-system/metrics-server"));
    let question =
        Question::Endpoints { namespace: "kube-system".into(), name: "metrics-server".into() };
    let fetched = Observation::Fetched { question, answer: Ok(Answer::Endpoints(0)) };
    index.apply([fetched], fixture::now());
    insta::assert_debug_snapshot!(premises(&index, "deleteApiService"), @r#"
    Some(
        [
            "APIService v1beta1.metrics.k8s.io unchanged, once",
            "Service kube-system/metrics-server unchanged",
            "Service kube-system/metrics-server no ready endpoints",
        ],
    )
    "#);
}

#[test]
fn webhook_that_is_switched_off_rests_on_its_service() {
    let hook = r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_service_"gate"_not_found
        webhook gate service=ops/gate guards=configmaps,deployments.apps
        cm shop/c
        svc ops/other
    "#;
    insta::assert_debug_snapshot!(premises(&fixture::index(hook), "ignoreWebhook"), @r#"
    Some(
        [
            "ValidatingWebhookConfiguration gate unchanged, once",
            "Service ops/gate absent",
        ],
    )
    "#);
}

/// The card says that no Pod behind the Service is ready. Nobody has counted its endpoints yet.
#[test]
fn webhook_that_is_switched_off_rests_on_that_no_endpoint_has_come() {
    let hook = r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:Internal_error_occurred:_failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/":_no_endpoints_available_for_service_"gate"
        webhook gate service=ops/gate guards=configmaps,deployments.apps
        cm shop/c
        svc ops/gate selector=app:gate
        pod ops/other
    "#;
    insta::assert_debug_snapshot!(premises(&fixture::index(hook), "ignoreWebhook"), @r#"
    Some(
        [
            "ValidatingWebhookConfiguration gate unchanged, once",
            "Service ops/gate unchanged",
            "Service ops/gate no ready endpoints",
        ],
    )
    "#);
}

#[test]
fn namespace_that_is_finished_rests_on_the_content_that_was_shown() {
    let up = API_DOWN.replace("Available:False:MissingEndpoints", "Available:True:Passed");
    let index = fixture::index(&format!("{up}\npod other/a\nsecret other/b"));
    insta::assert_debug_snapshot!(premises(&index, "finalizeNamespace").unwrap(), @r#"
    [
        "Namespace s3 unchanged, once",
        "APIService v1beta1.metrics.k8s.io unchanged",
        "Namespace s3 content: cm:s3/left, once",
    ]
    "#);
}

const USED: &str = "
    node n1
    pvc shop/live volume=pv-1 deleted=300 finalizers=kubernetes.io/pvc-protection
    pv pv-1 claim=shop/live reclaim=Delete
    deploy shop/web replicas=2
    rs shop/web-1 owner=deploy/web replicas=2
    pod shop/web-1-a owner=rs/web-1 node=n1 uses=claim:live
    pod shop/done phase=Succeeded node=n1 uses=claim:live
    pod shop/other node=n1 uses=claim:other
    pod lab/other node=n1 uses=claim:live
";

#[test]
fn end_of_a_claims_user_rests_on_its_other_users_and_on_the_fate_of_its_data() {
    for act in ["scaleDown", "deleteUser"] {
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(premises(&fixture::index(USED), act), @r#"
            Some(
                [
                    "Deployment shop/web unchanged, once",
                    "PersistentVolumeClaim shop/live unchanged, once",
                    "PersistentVolumeClaim shop/live Users pods: pod:shop/done pod:shop/web-1-a",
                    "PersistentVolume pv-1 has the same data fate",
                ],
            )
            "#);
        }
    }
}

#[test]
fn deletion_of_a_claim_rests_on_its_users_and_on_the_fate_of_its_data() {
    let index = fixture::index(
        "
        node n1
        pvc shop/data volume=pv
        pod shop/a node=n1 uses=claim:data
        pv pv deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/data reclaim=Delete
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "deleteUser"), @r#"
    Some(
        [
            "PersistentVolumeClaim shop/data unchanged, once",
            "PersistentVolume pv unchanged, once",
            "PersistentVolumeClaim shop/data Users pods: pod:shop/a",
            "PersistentVolume pv has the same data fate",
        ],
    )
    "#);
}

#[test]
fn workload_whose_claims_go_with_it_rests_on_the_fate_of_their_data() {
    let index = fixture::index(
        "
        node n1
        pvc shop/live deleted=300 finalizers=kubernetes.io/pvc-protection
        sts shop/db whenDeleted=Delete
        pod shop/db-0 owner=sts/db node=n1 uses=claim:live,claim:data-db-0
        pvc shop/data-db-0 owner=sts/db volume=pv-1
        pv pv-1 claim=shop/data-db-0 reclaim=Delete
        pvc shop/new-db-0 owner=sts/db
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "deleteUser"), @r#"
    Some(
        [
            "StatefulSet shop/db unchanged, once",
            "PersistentVolumeClaim shop/live unchanged, once",
            "PersistentVolumeClaim shop/live Users pods: pod:shop/db-0",
            "PersistentVolume pv-1 has the same data fate",
            "PersistentVolumeClaim shop/new-db-0 unchanged, once",
        ],
    )
    "#);
}

#[test]
fn namespace_that_is_created_again_rests_on_the_fate_of_the_data_in_it() {
    let claims: String = (0..60)
        .map(|n| format!("pvc gone/c-{n} volume=pv-{n}\n pv pv-{n} claim=gone/c-{n}\n"))
        .collect();
    let index = fixture::index(&format!(
        "ns other
        Topic.queue.example gone/orders deleted=400 finalizers=queue.example/topic
        {claims}"
    ));
    let premises = premises(&index, "recreateNamespace").unwrap();
    let fates = premises.iter().filter(|it| it.ends_with("has the same data fate")).count();
    assert_eq!(fates, 50, "{premises:?}");
}

#[test]
fn volume_that_is_set_to_keep_its_data_rests_on_no_policy_but_its_own() {
    let premises = premises(&fixture::index(USED), "retainVolume").unwrap();
    assert_eq!(
        premises,
        [
            "PersistentVolume pv-1 unchanged, once",
            "PersistentVolumeClaim shop/live unchanged, once"
        ]
    );
}

#[test]
fn claim_is_not_deleted_by_unwind_where_its_users_cannot_be_seen() {
    let mut index = fixture::index(
        "
        pvc shop/data volume=pv
        pv pv deleted=400 finalizers=kubernetes.io/pv-protection claim=shop/data
        ",
    );
    hide(&mut index, "pods");
    assert_eq!(premises(&index, "deleteUser"), None);
}

#[test]
fn fate_of_data_is_another_with_another_policy_claim_or_volume() {
    let was = fixture::object("pv pv-1 claim=shop/data reclaim=Delete");
    for (now, is_same) in [
        ("pv pv-1 claim=shop/data reclaim=Delete", true),
        ("pv pv-1 claim=shop/data reclaim=Delete phase=Released labels=a:b deleted=1", true),
        ("pv pv-1 claim=shop/data", false),
        ("pv pv-1 claim=shop/other reclaim=Delete", false),
        ("pv pv-1 reclaim=Delete", false),
        ("pv pv-1 uid=again claim=shop/data reclaim=Delete", false),
    ] {
        assert_eq!(has_same_data_fate(&was, &fixture::object(now)), is_same, "{now}");
    }
}

#[test]
fn second_delete_of_an_owner_rests_on_its_dependents() {
    let index = fixture::index(
        "
        cm shop/parent deleted=400 finalizers=foregroundDeletion
        cm shop/child owner=cm/parent deleted=400 finalizers=example.com/x
        ",
    );
    insta::assert_debug_snapshot!(premises(&index, "deleteAgain"), @r#"
    Some(
        [
            "ConfigMap shop/parent unchanged, once",
            "ConfigMap shop/child unchanged, once",
        ],
    )
    "#);
}
