//! Fetched facts confirm a diagnosis or add to it. Without it a verdict is weaker, and never another one.

use jiff::SignedDuration;

use super::*;
use crate::{
    api_problem::ApiProblem,
    fetched::{Answer, Event, Lease, MANAGER, Question},
    observation::Observation,
};

/// Answers a question some seconds ago.
fn answer(index: &mut Index, question: Question, answer: Result<Answer, ApiProblem>, ago: i64) {
    let at = fixture::now() - SignedDuration::from_secs(ago);
    index.apply([Observation::Fetched { question, answer }], at);
}

/// Looks at one lease, which has this `renewTime`.
pub(super) fn look(index: &mut Index, question: Question, name: &str, renewed: &str, ago: i64) {
    let lease = Lease { name: name.into(), renewed: renewed.into(), duration: None };
    answer(index, question, Ok(Answer::Leases(vec![lease])), ago);
}

/// Looks at a lease of this validity in seconds, which has the same `renewTime` each time.
fn look_again(index: &mut Index, question: &Question, duration: Option<i64>, ago: i64) {
    let name = if *question == Question::ManagerLease { MANAGER } else { "n1" };
    let lease = Lease { name: name.into(), renewed: "a".into(), duration };
    answer(index, question.clone(), Ok(Answer::Leases(vec![lease])), ago);
}

/// The first diagnosis: its cause, root and confidence; then its facts about leases.
fn first(index: &Index) -> String {
    let described = describe(index);
    let is_of_lease = |line: &&str| line.contains("Lease") && line.starts_with("  -");
    let head = described.lines().next().unwrap_or_default();
    let lines = std::iter::once(head).chain(described.lines().filter(is_of_lease));
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The questions to the API server.
fn asked(index: &Index, graph: &Graph) -> std::collections::BTreeSet<Question> {
    let diagnoses = diagnose(index, graph, fixture::now());
    crate::wanted::wanted(index, graph, &diagnoses, &[], false, fixture::now()).questions
}

pub(super) const SILENT: &str = "
    node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
    pod shop/a node=n1 deleted=400 grace=30 containers=web:running
";
pub(super) const REPORTING: &str = "
    node n1 ready=Ready:False:KubeletNotReady:600:PLEG_is_not_healthy
    pod shop/a node=n1 deleted=400 grace=30 containers=web:running
";

#[test]
fn silent_node_is_confirmed_by_a_lease_that_does_not_move() {
    let mut index = fixture::index(SILENT);
    insta::assert_snapshot!(first(&index), @"nodeSilent at Node n1 (Inferred, stuck)");
    look(&mut index, Question::NodeLeases, "n1", "a", 60);
    insta::assert_snapshot!(first(&index), @"nodeSilent at Node n1 (Inferred, stuck)");
    // The clock of the node may be hours away: the text alone counts, and our own time.
    look(&mut index, Question::NodeLeases, "n1", "a", 20);
    insta::assert_snapshot!(first(&index), @r"
    nodeSilent at Node n1 (Confirmed, stuck)
      - Lease kube-node-lease/n1: not renewed
    ");
    // Once nobody looks any more, nothing is known of it.
    index.apply([Observation::Unasked(Question::NodeLeases)], fixture::now());
    insta::assert_snapshot!(first(&index), @"nodeSilent at Node n1 (Inferred, stuck)");
}

#[test]
fn node_whose_lease_is_renewed_is_distinguished_from_a_dead_one() {
    let mut index = fixture::index(SILENT);
    look(&mut index, Question::NodeLeases, "n1", "a", 30);
    look(&mut index, Question::NodeLeases, "n1", "b", 10);
    insta::assert_snapshot!(first(&index), @r"
    nodeSilent at Node n1 (Inferred, stuck)
      - Lease kube-node-lease/n1: renewed
    ");
    let renews = |it: &Diagnosis| matches!(it.cause, Cause::NodeSilent { renews: true, .. });
    assert!(diagnose(&index, &Graph::of(&index), fixture::now()).iter().all(renews));

    let mut index = fixture::index(REPORTING);
    look(&mut index, Question::NodeLeases, "n1", "a", 30);
    look(&mut index, Question::NodeLeases, "n1", "b", 10);
    insta::assert_snapshot!(first(&index), @r"
    containersRunning at Pod shop/a (Inferred, stuck)
      - Lease kube-node-lease/n1: renewed
    ");
}

/// Its kubelet renewed the lease once more after the look before its end, and the next look finds that.
#[test]
fn lease_that_was_renewed_before_the_node_fell_silent_is_no_sign_of_life() {
    let mut index = fixture::index(&SILENT.replace("Unknown:NodeStatusUnknown:600", "True:Ok:900"));
    look(&mut index, Question::NodeLeases, "n1", "a", 650);
    let node = fixture::object(SILENT.lines().nth(1).unwrap());
    let at = fixture::now() - SignedDuration::from_secs(600);
    index.apply([Observation::Applied(Box::new(node))], at);
    look(&mut index, Question::NodeLeases, "n1", "b", 590);
    insta::assert_snapshot!(first(&index), @"nodeSilent at Node n1 (Inferred, stuck)");
    assert!(
        diagnose(&index, &Graph::of(&index), fixture::now())
            .iter()
            .all(|it| matches!(it.cause, Cause::NodeSilent { renews: false, .. }))
    );
    look(&mut index, Question::NodeLeases, "n1", "b", 550);
    insta::assert_snapshot!(first(&index), @r"
    nodeSilent at Node n1 (Confirmed, stuck)
      - Lease kube-node-lease/n1: not renewed
    ");
}

/// A kubelet renews its lease four times in its validity, `nodeLeaseDurationSeconds`: with 300 s, every 75 s.
#[test]
fn lease_stands_still_once_it_is_older_than_its_own_validity() {
    use crate::index::Renewal;
    const DAY: i64 = 86_400;
    for question in [Question::NodeLeases, Question::ManagerLease] {
        let is_still = |duration, watched| {
            let mut index = fixture::index(SILENT);
            look_again(&mut index, &question, duration, watched);
            look_again(&mut index, &question, duration, 0);
            let renewal = match question {
                Question::ManagerLease => index.manager_renewal(),
                _ => index.node_renewal("n1"),
            };
            matches!(renewal, Renewal::Still(_))
        };
        assert!(!is_still(Some(300), 299) && is_still(Some(300), 300), "{question:?}");
        // Two looks are 20 s apart, so a shorter validity is not believed, and one that is none at all neither.
        for duration in [None, Some(40), Some(15), Some(0), Some(-1), Some(i64::MIN)] {
            assert!(!is_still(duration, 39) && is_still(duration, 40), "{question:?} {duration:?}");
        }
        // A lease that is valid for days proves nothing, however long it is watched.
        assert!(is_still(Some(DAY), DAY), "{question:?}");
        for duration in [DAY + 1, i64::from(i32::MAX), i64::MAX] {
            assert!(!is_still(Some(duration), 30 * DAY), "{question:?} {duration}");
        }
    }
}

/// Its kubelet was started again with another validity.
#[test]
fn validity_of_a_lease_is_that_of_the_last_look() {
    let mut index = fixture::index(SILENT);
    look_again(&mut index, &Question::NodeLeases, Some(300), 100);
    look_again(&mut index, &Question::NodeLeases, Some(40), 0);
    insta::assert_snapshot!(first(&index), @r"
    nodeSilent at Node n1 (Confirmed, stuck)
      - Lease kube-node-lease/n1: not renewed
    ");
}

#[test]
fn lease_that_cannot_be_read_is_said_and_confirms_nothing() {
    let mut index = fixture::index(SILENT);
    look(&mut index, Question::NodeLeases, "n1", "a", 60);
    look(&mut index, Question::NodeLeases, "n1", "a", 20);
    answer(&mut index, Question::NodeLeases, Err("leases is forbidden".into()), 0);
    insta::assert_snapshot!(first(&index), @r"
    nodeSilent at Node n1 (Inferred, stuck)
      - Lease kube-node-lease/n1: hidden
    ");
    answer(&mut index, Question::NodeLeases, Ok(Answer::Leases(vec![])), 0);
    insta::assert_snapshot!(first(&index), @"nodeSilent at Node n1 (Inferred, stuck)");
}

#[test]
fn manager_that_does_not_renew_its_lease_stands_before_what_it_explains() {
    let text = "
        cm shop/parent deleted=200 finalizers=foregroundDeletion
        Db.example.com shop/db deleted=200 finalizers=example.com/db
    ";
    let heads = |index: &Index| {
        let described = describe(index);
        let heads = described.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>();
        heads.join("\n")
    };
    let mut index = fixture::index(text);
    look(&mut index, Question::ManagerLease, MANAGER, "a", 60);
    look(&mut index, Question::ManagerLease, MANAGER, "a", 20);
    insta::assert_snapshot!(heads(&index), @r"
    managerSilent at Lease kube-system/kube-controller-manager (Confirmed, stuck)
    controllerSilent at ConfigMap shop/parent (Inferred, stuck)
    finisherGone at Db  (Inferred, stuck)
    ");
    // Another leader took over: it renews.
    look(&mut index, Question::ManagerLease, MANAGER, "b", 0);
    insta::assert_snapshot!(heads(&index), @r"
    controllerSilent at ConfigMap shop/parent (Inferred, stuck)
    finisherGone at Db  (Inferred, stuck)
    ");
}

#[test]
fn manager_is_blamed_where_it_does_not_notice_that_a_node_is_silent() {
    let mut index = fixture::index(REPORTING);
    for ago in [60, 20] {
        look(&mut index, Question::ManagerLease, MANAGER, "a", ago);
    }
    // The node lives, so what its Pod waits for is its own.
    insta::assert_snapshot!(first(&index), @"containersRunning at Pod shop/a (Inferred, stuck)");
    for ago in [60, 20] {
        look(&mut index, Question::NodeLeases, "n1", "a", ago);
    }
    insta::assert_snapshot!(first(&index), @r"
    managerSilent at Lease kube-system/kube-controller-manager (Confirmed, stuck)
      - Lease kube-system/kube-controller-manager: not renewed
      - Lease kube-node-lease/n1: not renewed
    ");
}

/// Events about an object of the index: component, reason, message.
fn events(index: &mut Index, line: &str, events: &[(&str, &str, &str)]) {
    let event = |(by, reason, message): &(&str, &str, &str)| Event {
        at: Some(fixture::now()),
        warns: *reason != "Scheduled",
        by: (*by).into(),
        reason: (*reason).into(),
        message: (*message).into(),
    };
    let events = events.iter().map(event).collect();
    answer(index, events_of(line), Ok(Answer::Events(events)), 0);
}

fn events_of(line: &str) -> Question {
    let object = fixture::object(line);
    Question::Events { of: object.reference(), uid: object.uid }
}

#[test]
fn event_of_the_kubelet_confirms_what_the_state_suggests() {
    let text = "
        node n1
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
    ";
    let mut index = fixture::index(text);
    let killed = "error killing pod: failed to \"KillContainer\" for \"web\" with KillContainerError: \"rpc error\"";
    events(
        &mut index,
        "pod shop/a",
        &[("default-scheduler", "Scheduled", "assigned"), ("kubelet", "FailedKillPod", killed)],
    );
    insta::assert_snapshot!(describe(&index), @r#"
    containersRunning at Pod shop/a (Confirmed, stuck)
      Pod shop/a
      - Pod shop/a: metadata.deletionTimestamp 
      - Pod shop/a: status Running; web running
      - Node n1: condition Ready True Kubelet
      - Pod shop/a: kubelet says FailedKillPod: error killing pod: failed to "KillContainer" for "web" with KillContainerError: "rpc error"
    "#);
    // The sandbox is another matter: it says nothing of the container.
    let other =
        "error killing pod: failed to \"KillPodSandbox\" with KillPodSandboxError: \"rpc error\"";
    let mut index = fixture::index(text);
    events(&mut index, "pod shop/a", &[("kubelet", "FailedKillPod", other)]);
    assert!(describe(&index).starts_with("containersRunning at Pod shop/a (Inferred, stuck)"));
}

#[test]
fn events_that_cannot_be_seen_or_made_are_not_no_events() {
    let text = "
        node n1
        ns shop deleted=400
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        ns other
        pod other/b node=n1 deleted=400 grace=30 containers=web:running
    ";
    let mut index = fixture::index(text);
    events(&mut index, "pod shop/a", &[]);
    answer(&mut index, events_of("pod other/b"), Err("events is forbidden".into()), 0);
    let described = describe(&index);
    assert!(described.contains("  - Namespace shop: no new Events"), "{described}");
    assert!(described.contains("  - Events other/: hidden"), "{described}");
}

#[test]
fn service_without_endpoints_confirms_a_webhook_that_is_down() {
    let text = r#"
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc:443/"
        webhook gate service=ops/gate guards=configmaps
        svc ops/gate selector=app:gate
        pod ops/gate-1 labels=app:gate
        cm shop/c
    "#;
    let question = || Question::Endpoints { namespace: "ops".into(), name: "gate".into() };
    let mut index = fixture::index(text);
    assert!(
        describe(&index)
            .starts_with("webhookDown at ValidatingWebhookConfiguration gate (Inferred")
    );
    answer(&mut index, question(), Ok(Answer::Endpoints(0)), 0);
    let down = describe(&index);
    assert!(
        down.starts_with("webhookDown at ValidatingWebhookConfiguration gate (Confirmed, stuck)"),
        "{down}"
    );
    assert!(down.contains("  - Service ops/gate: no ready endpoint"), "{down}");
    answer(&mut index, question(), Ok(Answer::Endpoints(1)), 0);
    assert!(
        describe(&index)
            .starts_with("webhookDown at ValidatingWebhookConfiguration gate (Inferred")
    );
}

#[test]
fn endpoints_of_a_converter_are_asked_for_and_say_that_nobody_answers() {
    let mut index = fixture::index(
        "
        ns shop deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:conversion_webhook_for_example.com/v1,_Kind=Widget_failed:_timeout
        crd widgets.example.com defines=Widget.example.com service=ops/convert
        Widget.example.com shop/w
        svc ops/convert selector=app:convert
        pod ops/convert-1 labels=app:convert
    ",
    );
    let question = Question::Endpoints { namespace: "ops".into(), name: "convert".into() };
    assert!(asked(&index, &Graph::of(&index)).contains(&question));
    let silence = "  - Service ops/convert: no ready endpoint";
    assert!(!describe(&index).contains(silence));
    answer(&mut index, question, Ok(Answer::Endpoints(0)), 0);
    let down = describe(&index);
    assert!(down.starts_with("conversionDown at CustomResourceDefinition widgets.example.com"));
    assert!(down.contains(silence), "{down}");
}

#[test]
fn nothing_is_asked_unless_a_deletion_is_in_trouble() {
    let questions = |text: &str| {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        asked(&index, &graph)
    };
    assert!(questions("node n1\npod shop/a node=n1 containers=web:running").is_empty());
    let pods: String = (0..100)
        .map(|n| format!("pod shop/p{n} node=n1 deleted=400 grace=30 containers=web:running\n"))
        .collect();
    let asked = questions(&format!("node n1\n{pods}"));
    assert!(asked.contains(&Question::NodeLeases));
    let events = asked.iter().filter(|it| matches!(it, Question::Events { .. })).count();
    assert_eq!(events, 12);
}

#[test]
fn opened_diagnoses_are_asked_about_before_those_that_do_more_harm() {
    let pods: String = (0..20)
        .map(|n| {
            format!(
                "node n{n}\npod shop/p{n} node=n{n} deleted=400 grace=30 containers=web:running\n"
            )
        })
        .collect();
    let index = fixture::index(&pods);
    let graph = Graph::of(&index);
    let diagnoses = diagnose(&index, &graph, fixture::now());
    let wanted = |opened: &[&str]| {
        crate::wanted::wanted(&index, &graph, &diagnoses, opened, false, fixture::now())
    };
    let asked = |wanted: &crate::wanted::Wanted, at: usize| {
        let Diagnosis { root, .. } = &diagnoses[at];
        let is_of = |it: &Question| matches!(it, Question::Events { of, .. } if of == root);
        let node = format!("n{}", root.name.trim_start_matches('p'));
        let has_query = wanted.kubelets.iter().any(|it| *it.node == *node);
        (wanted.questions.iter().any(is_of), has_query)
    };
    assert_eq!(asked(&wanted(&[]), 15), (false, false));
    let opened = wanted(&[&diagnoses[15].id, "of a diagnosis that is over"]);
    assert_eq!(asked(&opened, 15), (true, true));
    assert_eq!(asked(&opened, 0), (true, true));
    assert_eq!(opened.kubelets.len(), 6, "the limit holds");
}

#[test]
fn pod_that_waits_for_the_volume_of_one_that_hangs_is_asked_about_too() {
    let text = format!(
        "{SILENT}
        pvc shop/data
        pod shop/b node=n1 deleted=400 grace=30 containers=web:running uses=claim:data
        pod shop/c node=n2 phase=Pending ready=no uses=claim:data
        pod shop/d node=n2 uses=claim:data"
    );
    let mut index = fixture::index(&text);
    let attach = "Multi-Attach error for volume \"pv\" Volume is already used by pod(s) b";
    events(&mut index, "pod shop/c", &[("attachdetach-controller", "FailedAttachVolume", attach)]);
    let described = describe(&index);
    assert!(
        described.contains(
            "  - Pod shop/c: attachdetach-controller says FailedAttachVolume: Multi-Attach"
        ),
        "{described}"
    );
    let graph = Graph::of(&index);
    let asked = asked(&index, &graph);
    assert!(asked.contains(&events_of("pod shop/c")) && !asked.contains(&events_of("pod shop/d")));
}

/// The roots with their confidence.
fn roots(index: &Index) -> std::collections::BTreeMap<String, Confidence> {
    let diagnoses = diagnose(index, &Graph::of(index), fixture::now());
    diagnoses.into_iter().map(|it| (it.id, it.confidence)).collect()
}

#[test]
fn answer_that_is_missing_weakens_a_verdict_and_never_turns_it_to_another_root() {
    let text = r#"
        ns shop
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        node n2 ready=Ready:False:KubeletNotReady:600:PLEG
        ns gone deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"gate.example.com":_failed_to_call_webhook
        webhook gate service=ops/gate guards=configmaps
        svc ops/gate selector=app:gate
        pod ops/gate-1 labels=app:gate
        cm gone/c
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running
        pod shop/b node=n2 deleted=400 grace=30 containers=web:running
        pod shop/e node=n9 deleted=400 grace=30 containers=web:running
        cm shop/parent deleted=200 finalizers=foregroundDeletion
        svc shop/lb deleted=400 finalizers=service.kubernetes.io/load-balancer-cleanup
    "#;
    let event = |by: &str, reason: &str, message: &str| Event {
        at: Some(fixture::now()),
        warns: true,
        by: by.into(),
        reason: reason.into(),
        message: message.into(),
    };
    let leases = |names: &[&str]| {
        let lease =
            |name: &&str| Lease { name: (*name).into(), renewed: "a".into(), duration: None };
        Answer::Leases(names.iter().map(lease).collect())
    };
    let killed = event("kubelet", "FailedKillPod", "failed with KillContainerError");
    let answers = [
        (Question::NodeLeases, leases(&["n1", "n2"])),
        (Question::ManagerLease, leases(&[MANAGER])),
        (
            Question::Endpoints { namespace: "ops".into(), name: "gate".into() },
            Answer::Endpoints(0),
        ),
        (events_of("pod shop/b"), Answer::Events(vec![killed])),
        (
            events_of("svc shop/lb"),
            Answer::Events(vec![event("service-controller", "SyncLoadBalancerFailed", "denied")]),
        ),
    ];
    let roots_without = |left_out: Option<usize>| {
        let mut index = fixture::index(text);
        for ago in [60, 20] {
            for (number, (question, said)) in answers.iter().enumerate() {
                if left_out != Some(number) {
                    answer(&mut index, question.clone(), Ok(said.clone()), ago);
                }
            }
        }
        roots(&index)
    };
    let whole = roots_without(None);
    assert!(whole.values().filter(|it| **it == Confidence::Confirmed).count() >= 5, "{whole:?}");
    for left_out in 0..answers.len() {
        let without = roots_without(Some(left_out));
        for (root, confidence) in &without {
            assert!(
                whole.get(root).is_some_and(|before| confidence <= before),
                "{left_out}: {root}"
            );
        }
        assert_ne!(without, whole, "the answer {left_out} says nothing");
    }
}

#[test]
fn leases_of_nodes_are_looked_at_while_a_page_draws_nodes_though_nothing_is_late() {
    let index = fixture::index("node n1\npod shop/a node=n1");
    let wanted = |drawn| {
        crate::wanted::wanted(&index, &Graph::of(&index), &[], &[], drawn, fixture::now()).questions
    };
    assert_eq!(wanted(false), [].into());
    assert_eq!(wanted(true), [Question::NodeLeases].into());
}

#[test]
fn leases_alone_are_wanted_while_nobody_reads_of_a_late_deletion() {
    use crate::wanted::{Wanted, wanted_unread};
    let index = fixture::index(SILENT);
    let diagnoses = diagnose(&index, &Graph::of(&index), fixture::now());
    assert!(asked(&index, &Graph::of(&index)).len() > 2, "somebody who reads asks for more");
    let Wanted { questions, kubelets } = wanted_unread(&diagnoses);
    assert_eq!(questions, [Question::NodeLeases, Question::ManagerLease].into());
    assert!(kubelets.is_empty());
    assert_eq!(wanted_unread(&[]), Wanted::default());
}

#[test]
fn node_was_seen_when_we_saw_its_lease_change() {
    let seen = |index: &Index| {
        let seen = index.node_last_seen("n1");
        seen.map(|(at, renews)| (fixture::now().duration_since(at).as_secs(), renews))
    };
    let mut index = fixture::index("node n1");
    look(&mut index, Question::NodeLeases, "n1", "a", 60);
    assert_eq!(seen(&index), None, "one look says nothing");
    look(&mut index, Question::NodeLeases, "n1", "a", 40);
    assert_eq!(seen(&index), Some((60, false)), "not since the first look");
    look(&mut index, Question::NodeLeases, "n1", "b", 20);
    assert_eq!(seen(&index), Some((20, true)));
    look(&mut index, Question::NodeLeases, "n1", "b", 0);
    assert_eq!(seen(&index), Some((20, true)));
    index.apply([Observation::Unasked(Question::NodeLeases)], fixture::now());
    assert_eq!(seen(&index), None, "nobody looks any more");
}

#[test]
fn load_balancer_that_the_cloud_does_not_delete_is_confirmed_by_its_event() {
    let text = "svc shop/lb type=LoadBalancer deleted=700 finalizers=service.kubernetes.io/load-balancer-cleanup";
    for (reason, sure) in [
        ("SyncLoadBalancerFailed", "Confirmed"),
        ("DeleteLoadBalancerFailed", "Confirmed"),
        ("UnAvailableLoadBalancer", "Inferred"),
    ] {
        let mut index = fixture::index(text);
        events(&mut index, "svc shop/lb", &[("service-controller", reason, "denied")]);
        assert_eq!(heads(&index), format!("loadBalancerLeft at Service shop/lb ({sure}, stuck)"));
    }
}
