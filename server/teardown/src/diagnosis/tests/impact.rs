//! The harm that a wait does: what should run and is affected, as far as it can be seen.

use super::*;

fn impact(index: &Index) -> Vec<Impact> {
    let found = diagnose(index, &Graph::of(index), fixture::now());
    found.into_iter().map(|it| it.impact).collect()
}

#[test]
fn pods_that_run_on_a_deleted_claim_are_harmed_and_completed_ones_are_not() {
    let text = "
        node n1
        pvc shop/data deleted=300 finalizers=kubernetes.io/pvc-protection
        pod shop/db node=n1 uses=claim:data
    ";
    let losing = |text: &str| {
        let all = impact(&fixture::index(text));
        all.iter().flat_map(|it| &it.losing_claim).map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(losing(text), ["Pod shop/db"]);
    assert_eq!(losing(&text.replace("uses", "phase=Succeeded uses")), [""; 0]);
    // It comes before a card of which only leftovers wait.
    let index = fixture::index(&format!("{text}cm shop/a deleted=9000\n"));
    let found = diagnose(&index, &Graph::of(&index), fixture::now());
    assert_eq!(found[0].cause.name(), "claimInUse");
    assert!(found[0].harm() > found[1].harm());
}

#[test]
fn services_that_cannot_be_seen_are_not_said_to_be_well() {
    let mut index = fixture::index(
        "
        node n1
        pod shop/a labels=app:a node=n1 deleted=400 grace=30 containers=web:running
        svc shop/a selector=app:a
    ",
    );
    assert_eq!(impact(&index)[0].unseen, None);
    assert_eq!(impact(&index)[0].without_endpoints.len(), 1);
    index =
        fixture::index("node n1\npod shop/a node=n1 deleted=400 grace=30 containers=web:running");
    hide(&mut index, "services");
    assert_eq!(impact(&index)[0].unseen.as_deref(), Some("services"));
}

#[test]
fn owner_that_cannot_be_seen_may_wait_for_the_pod() {
    let mut index = fixture::index(
        "node n1\npod shop/a-0 owner=sts/a node=n1 deleted=400 grace=30 containers=web:running",
    );
    assert_eq!(impact(&index)[0].unseen, None, "it is gone");
    hide(&mut index, "statefulsets.apps");
    assert_eq!(impact(&index)[0].unseen.as_deref(), Some("statefulsets.apps"));
}

#[test]
fn daemon_set_starts_no_replacement_on_a_node_that_is_ready() {
    let text = "
        node n1
        ds shop/agent
        pod shop/agent-x owner=ds/agent node=n1 deleted=400 grace=30 containers=web:running
    ";
    let blocked = |text: &str| {
        let all = impact(&fixture::index(text));
        all.iter()
            .flat_map(|it| &it.replacements_blocked)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(blocked(text), ["DaemonSet shop/agent"]);
    let silent =
        text.replace("node n1\n", "node n1 ready=Ready:Unknown:NodeStatusUnknown:600:gone\n");
    assert_eq!(blocked(&silent), [""; 0], "nothing could start there");
    assert_eq!(blocked(&text.replace("ds shop/agent\n", "ds shop/agent deleted=10\n")), [""; 0]);
}

#[test]
fn service_whose_pods_are_all_on_a_silent_node_is_harmed_before_they_are_evicted() {
    let text = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:100:stopped
        node n2
        pod shop/old node=n1 deleted=400 grace=30 containers=web:running
        pod shop/a labels=app:a node=n1
        pod shop/b1 labels=app:b node=n1
        pod shop/b2 labels=app:b node=n2
        pod shop/c labels=app:c node=n1 phase=Succeeded
        svc shop/a selector=app:a
        svc shop/b selector=app:b
        svc shop/c selector=app:c
        svc shop/d selector=app:d
    ";
    let without = |text: &str| {
        let all = impact(&fixture::index(text));
        let names = all.iter().flat_map(|it| &it.without_endpoints).map(ToString::to_string);
        names.collect::<Vec<_>>()
    };
    assert_eq!(without(text), ["Service shop/a"]);
    let both = text.replace("labels=app:b node=n2", "labels=app:b node=n2 ready=no");
    assert_eq!(without(&both), ["Service shop/a", "Service shop/b"]);
    assert_eq!(without(&text.replace("svc shop/a", "svc shop/a deleted=5")), [""; 0]);
    // The node reports, so its Pods say themselves whether they are ready.
    let reports = text.replace("ready=Ready:Unknown:NodeStatusUnknown:100:stopped", "ready=no");
    assert_eq!(without(&reports), [""; 0]);
}
