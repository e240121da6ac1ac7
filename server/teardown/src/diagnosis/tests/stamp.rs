//! The stamp of a card and the ways out, compared: with each fact of a cluster taken away in turn, and with facts changed.

use super::{
    metamorphic::shortened,
    situations::{self, Situation},
    *,
};
use crate::{
    message::DiagnosisCard,
    observation::Observation,
    remedy::{Stamps, remedies},
    world::diagnosis_card,
};

/// By id of its diagnosis, each card and its ways out as text.
fn cards(index: &Index) -> BTreeMap<String, (DiagnosisCard, String)> {
    let (graph, now) = (Graph::of(index), fixture::now());
    let found = diagnose(index, &graph, now);
    let mut stamps = Stamps::new(index, &graph);
    let card = |it: &Diagnosis| {
        let ways = format!("{:#?}", remedies(it, index, &graph, now));
        (it.id.clone(), (diagnosis_card(&mut stamps, it, now, &[], []), ways))
    };
    found.iter().map(card).collect()
}

/// The diagnoses whose ways out differ, and whose cards do not; and the number of those whose ways out differ.
fn unnoticed(before: &Index, after: &Index) -> (Vec<String>, usize) {
    let (before, after) = (cards(before), cards(after));
    let (mut unnoticed, mut different) = (Vec::new(), 0);
    for (id, (card, ways)) in before {
        let Some((card_now, ways_now)) = after.get(&id) else { continue };
        different += usize::from(ways != *ways_now);
        if ways != *ways_now && card == *card_now {
            let line = ways.lines().zip(ways_now.lines()).find(|(a, b)| a != b);
            unnoticed.push(format!("{id}: {line:?}"));
        }
    }
    (unnoticed, different)
}

/// Workloads with claims, a webhook, a node with Pods, and namespaces with content.
const RICH: &str = r#"
    node n1
    node n2 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
    ns shop
    sts shop/db replicas=2 templates=data whenScaled=Delete whenDeleted=Delete
    pod shop/db-0 owner=sts/db node=n1 uses=claim:data-db-0
    pod shop/db-1 owner=sts/db node=n1 uses=claim:data-db-1
    pvc shop/data-db-0 volume=pv-0 deleted=300 finalizers=kubernetes.io/pvc-protection
    pvc shop/data-db-1 volume=pv-1 access=ReadWriteOnce
    pv pv-0 claim=shop/data-db-0 reclaim=Delete
    pv pv-1 claim=shop/data-db-1 reclaim=Delete
    deploy shop/web replicas=2
    rs shop/web-1 owner=deploy/web replicas=2
    pod shop/web-1-a owner=rs/web-1 node=n1 uses=claim:files
    pvc shop/files deleted=300 finalizers=kubernetes.io/pvc-protection
    pod shop/job node=n1 phase=Succeeded uses=claim:done
    pvc shop/done deleted=300 finalizers=kubernetes.io/pvc-protection
    csinode n1 drivers=disk.example
    ds disk/plugin drivers=disk.example
    pod disk/plugin-a owner=ds/plugin node=n1
    pod shop/reader node=n1 uses=driver:disk.example
    pod shop/mounted node=n1 deleted=400 grace=30 phase=Failed containers=c1:terminated uses=driver:disk.example
    pod shop/late node=n2 deleted=400 grace=30 containers=c1:running uses=claim:data-db-1
    pod shop/stays node=n2
    pod shop/ended node=n1 deleted=400 grace=30 containers=c1:terminated
    node n3 deleted=300 finalizers=example.com/machine
    pod shop/there node=n3
    ns gone deleted=400 conditions=NamespaceDeletionContentFailure:True:ContentDeletionFailed:390:failed_calling_webhook_"gate.example.com":_failed_to_call_webhook:_Post_"https://gate.ops.svc":_service_"gate"_not_found
    webhook gate service=ops/gate guards=configmaps
    cm gone/c
    ns held deleted=400 spec=kubernetes,example.com/hold
    cm held/kept owner=cm/parent
    cm held/parent deleted=200 finalizers=orphan
"#;

#[test]
fn card_changes_with_each_fact_that_changes_a_way_out() {
    let mut found = Vec::new();
    let mut different = 0;
    let mut compare = |name: &str, what: &str, before: &Index, after: &Index| {
        let (unnoticed, number) = unnoticed(before, after);
        different += number;
        found.extend(unnoticed.into_iter().map(|it| format!("{name} without {what}: {it}")));
    };
    for situation in &situations::ALL {
        let before = situation.whole();
        for (what, objects) in shortened(situation.objects) {
            compare(
                situation.cause,
                &what,
                &before,
                &situation.index(&objects, situation.gone, None),
            );
        }
        for left_out in 0..Situation::others(situation) {
            let after = situation.index(situation.objects, situation.gone, Some(left_out));
            compare(situation.cause, "another fact", &before, &after);
        }
    }
    let before = fixture::index(RICH);
    for (what, objects) in shortened(RICH.trim()) {
        compare("rich", &what, &before, &fixture::index(&objects));
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(different > 50, "only {different} ways out differ");
}

#[test]
fn card_changes_with_the_policies_replicas_and_rules_that_its_ways_out_hang_on() {
    let before = fixture::index(RICH);
    for (was, is) in [
        ("whenScaled=Delete", "whenScaled=Retain"),
        ("whenDeleted=Delete", "whenDeleted=Retain"),
        ("sts shop/db replicas=2", "sts shop/db replicas=3"),
        ("deploy shop/web replicas=2", "deploy shop/web replicas=1"),
        ("claim=shop/data-db-1 reclaim=Delete", "claim=shop/data-db-1 reclaim=Retain"),
        ("claim=shop/data-db-0 reclaim=Delete", "claim=shop/data-db-0 reclaim=Retain"),
        ("pod shop/db-1 owner", "pod shop/db-2 owner"),
        ("pvc shop/data-db-1 volume", "pvc shop/data-db-1 uid=again volume"),
        ("guards=configmaps", "guards=configmaps policy=Ignore"),
        ("guards=configmaps", "guards=secrets,configmaps"),
        ("pod shop/stays node=n2", "pod shop/stays node=n2 uses=claim:files"),
    ] {
        assert!(RICH.contains(was), "{was}");
        let (unnoticed, different) = unnoticed(&before, &fixture::index(&RICH.replace(was, is)));
        assert!(unnoticed.is_empty(), "{is}: {unnoticed:#?}");
        assert!(different > 0, "{is} changes no way out");
    }
}

#[test]
fn stamp_of_a_card_is_the_same_for_the_same_cluster_in_another_order() {
    let lines: Vec<&str> = RICH.trim().lines().rev().collect();
    let stamps = |text: &str| -> Vec<u32> {
        cards(&fixture::index(text)).into_values().map(|(card, _)| card.stamp).collect()
    };
    assert_eq!(stamps(RICH), stamps(&lines.join("\n")));
}

#[test]
fn kept_stamp_of_a_node_follows_its_pods_claims_and_volumes() {
    let mut index = fixture::index(RICH);
    let mut graph = Graph::of(&index);
    index.take_changes();
    let stamps = |index: &Index, graph: &Graph| -> Vec<(String, u32)> {
        let found = diagnose(index, graph, fixture::now());
        let mut stamps = Stamps::new(index, graph);
        let mut card =
            |it: &Diagnosis| diagnosis_card(&mut stamps, it, fixture::now(), &[], []).stamp;
        found
            .iter()
            .filter(|it| it.cause.node().is_some())
            .map(|it| (it.id.clone(), card(it)))
            .collect()
    };
    let mut before = stamps(&index, &graph);
    assert!(!before.is_empty());
    for (observation, changes) in [
        (applied("pod shop/new node=n2"), true),
        (applied("pod shop/new node=n2 ready=no"), false),
        (applied("pod shop/elsewhere node=n9"), false),
        (applied("pod shop/new node=n2 uses=claim:own"), true),
        (applied("pvc shop/own volume=pv-9"), false),
        (applied("pvc shop/own volume=pv-9 access=ReadWriteOnce"), true),
        (applied("pv pv-9 claim=shop/own"), false),
        (applied("pv pv-9 claim=shop/own disk=local"), true),
        (deleted("pv pv-9"), true),
        (deleted("pvc shop/own"), true),
        (deleted("pod shop/stays node=n2"), true),
    ] {
        let what = format!("{observation:?}");
        index.apply([observation], fixture::now());
        let changed = index.take_changes();
        graph.follow(&index, &changed);
        let after = stamps(&index, &graph);
        assert_eq!(after, stamps(&index, &Graph::of(&index)), "{what}");
        assert_eq!(after != before, changes, "{what}");
        before = after;
    }
}

fn applied(line: &str) -> Observation {
    Observation::Applied(Box::new(fixture::object(line)))
}

fn deleted(line: &str) -> Observation {
    let Object { kind, uid, .. } = fixture::object(line);
    Observation::Deleted { kind, uid }
}
