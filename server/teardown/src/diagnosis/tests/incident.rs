//! The facts on the first screen of a card that the diagnosis itself does not have: whom to call, and whether it grows.

use jiff::SignedDuration;

use super::*;
use crate::{
    incident::Incident,
    observation::Observation,
    plan::{Choices, StepId, plan},
    remedy::{Attempt, Remedy, RemedyAct, Stamps, remedies},
    run::{Call, Run, RunEvent, RunId},
    unit::{UnitId, units},
    world::diagnosis_card,
};

/// The facts about the first diagnosis of a fixture.
fn first(text: &str) -> Incident {
    let index = fixture::index(text);
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    Incident::clone(
        &diagnosis_card(&mut Stamps::new(&index, &graph), &found[0], fixture::now(), &[], [])
            .incident,
    )
}

#[test]
fn node_that_a_remedy_deleted_is_no_suspect() {
    let pod = "pod shop/a node=n1 deleted=400 grace=30 containers=web:running";
    let mut index = fixture::index(&format!("node n1 {SILENT}\n{pod}"));
    fixture::watch_leases(&mut index, &["n1"], fixture::now());
    let found = diagnose(&index, &Graph::of(&index), fixture::now()).remove(0);
    let remedies = remedies(&found, &index, &Graph::of(&index), fixture::now());
    let is_deletion = |it: &&Remedy| matches!(it.act, RemedyAct::DeleteNode { .. });
    let remedy = remedies.iter().find(is_deletion).unwrap();
    let request = remedy.request().unwrap().clone();
    let attempt = remedy.begin("1".into(), &found, request, "Li".into(), "", fixture::now());
    let node = fixture::object("node n1");
    let gone = Observation::Deleted { kind: node.kind, uid: node.uid };
    index.apply([gone], fixture::now());
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now()).remove(0);
    assert_eq!(head(&found), "nodeMissing at Node n1");
    let suspects = |attempts: &[&Attempt]| {
        let mut stamps = Stamps::new(&index, &graph);
        let attempts = attempts.iter().copied();
        diagnosis_card(&mut stamps, &found, fixture::now(), &[], attempts).incident.before.len()
    };
    assert_eq!((suspects(&[]), suspects(&[&attempt])), (1, 0));
}

/// The sources of the changes just before on the first card that has any.
fn sources(index: &Index, runs: &[&Run], attempts: &[&Attempt]) -> Vec<Source> {
    let graph = Graph::of(index);
    let mut stamps = Stamps::new(index, &graph);
    let mut card = |it: &Diagnosis| {
        let attempts = attempts.iter().copied();
        diagnosis_card(&mut stamps, it, fixture::now(), runs, attempts).incident
    };
    let found = diagnose(index, &graph, fixture::now());
    let changes = found.iter().flat_map(|it| card(it).before.clone());
    changes.map(|it| it.source).collect()
}

/// A run that Li started and that has requested the deletion of everything in a unit.
fn run_of(index: &Index, unit: &str) -> Run {
    let (graph, id) = (Graph::of(index), UnitId::new(unit));
    let units = units(index, &graph);
    let plan = plan(index, &graph, &units[&id], &Choices::default(), fixture::now()).unwrap();
    let steps: Vec<StepId> = plan.steps.iter().map(|step| step.id).collect();
    let mut run = Run::new(RunId::new("r"), Arc::new(plan));
    let started = RunEvent::Started { by: "Li".into() };
    let requested =
        steps.into_iter().map(|step| RunEvent::CallStarted { step, call: Call::Delete });
    for event in std::iter::once(started).chain(requested) {
        run.apply(fixture::now(), &event).unwrap();
    }
    run
}

#[test]
fn object_that_a_run_of_this_server_deleted_says_so_and_who_started_the_run() {
    let web = "deploy s4/web of=queue";
    let mut index = fixture::index(&format!(
        "ns s4
        Topic.queue.example s4/orders deleted=90 finalizers=queue.example/topic
        {web}"
    ));
    let run = run_of(&index, "queue");
    let web = fixture::object(web);
    let gone = Observation::Deleted { kind: web.kind, uid: web.uid };
    index.apply([gone], fixture::now() - SignedDuration::from_secs(300));
    assert_eq!(sources(&index, &[], &[]), [Source::Deleted], "somebody else did it");
    assert_eq!(sources(&index, &[&run], &[]), [Source::DeletedByRun { by: "Li".into() }]);
    // A run that has requested nothing yet is not it.
    let idle = Run::new(RunId::new("r"), run.plan.clone());
    assert_eq!(sources(&index, &[&idle], &[]), [Source::Deleted]);
}

#[test]
fn object_that_a_remedy_for_another_card_removed_is_a_suspect_and_says_so() {
    // The claim is kept by a Pod; a person has its finalizer removed. A Pod of another node then hangs.
    let claim = "pvc shop/data deleted=900 finalizers=example.com/copy";
    let mut index = fixture::index(&format!(
        "ns shop
        node n1
        {claim}
        pod shop/a node=n1 deleted=400 grace=30 phase=Failed containers=web:terminated uses=claim:data"
    ));
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    let of_claim = found.iter().find(|it| it.cause.name() == "finisherGone").unwrap();
    let remedies = remedies(of_claim, &index, &graph, fixture::now());
    let is_removal = |it: &&Remedy| matches!(it.act, RemedyAct::RemoveFinalizer { .. });
    let remedy = remedies.iter().find(is_removal).unwrap();
    let request = remedy.request().unwrap().clone();
    let attempt = remedy.begin("1".into(), of_claim, request, "Li".into(), "", fixture::now());
    let gone = fixture::object(claim);
    let gone = Observation::Deleted { kind: gone.kind, uid: gone.uid };
    index.apply([gone], fixture::now() - SignedDuration::from_secs(500));
    assert_eq!(sources(&index, &[], &[]), [Source::Deleted]);
    assert_eq!(sources(&index, &[], &[&attempt]), [Source::RemovedByRemedy { by: "Li".into() }]);
}

/// The names and values that say whom to call.
fn contact(text: &str) -> Vec<String> {
    let found = first(text).contact;
    found.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

const SILENT: &str = "ready=Ready:Unknown:NodeStatusUnknown:900:stopped";

#[test]
fn card_of_a_node_has_its_owner_its_zone_and_its_machine() {
    let pod = "pod shop/a node=n1 labels=team:shop deleted=400 grace=30 containers=web:running";
    let node = format!("node n1 {SILENT}");
    assert_eq!(contact(&format!("{node}\n{pod}")), [""; 0], "it is the node's, and that has none");
    let labels = "labels=team:infra,topology.kubernetes.io/zone:eu-1a,disk:ssd";
    assert_eq!(
        contact(&format!("{node} {labels} provider=aws:///eu-1a/i-07\n{pod}")),
        ["team=infra", "topology.kubernetes.io/zone=eu-1a", "spec.providerID=aws:///eu-1a/i-07"]
    );
}

#[test]
fn card_of_a_pod_has_its_owner_labels_and_the_place_of_its_node() {
    let pod = |labels: &str| {
        format!("pod shop/a node=n1 {labels} deleted=400 grace=30 containers=web:running")
    };
    let place = "node n1 labels=team:infra,topology.kubernetes.io/zone:eu-1a provider=gce://p/z/vm";
    assert_eq!(contact(&format!("node n1\n{}", pod("labels=app:web"))), [""; 0]);
    let labels = "labels=owner:li,team:shop,helm.sh/chart:web-1.2,app.kubernetes.io/managed-by:Helm,app:web of=front";
    assert_eq!(
        contact(&format!("{place}\n{}", pod(labels))),
        [
            "app.kubernetes.io/part-of=front",
            "app.kubernetes.io/managed-by=Helm",
            "helm.sh/chart=web-1.2",
            "team=shop",
            "owner=li",
            "topology.kubernetes.io/zone=eu-1a",
            "spec.providerID=gce://p/z/vm",
        ]
    );
}

#[test]
fn card_of_an_object_that_does_not_exist_has_the_owner_of_what_waits_for_it() {
    let pod = "pod shop/a node=n9 labels=team:shop deleted=400 grace=30 containers=web:running";
    assert_eq!(contact(&format!("node n1\n{pod}")), ["team=shop"], "node n9 is missing");
}

#[test]
fn deletions_that_joined_an_old_one_within_ten_minutes_are_counted() {
    let joined = |ages: &[u32]| {
        let pods = ages.iter().enumerate().map(|(number, age)| {
            format!("pod shop/p{number} node=n1 deleted={age} grace=30 containers=web:running\n")
        });
        first(&format!("node n1 {SILENT}\n{}", pods.collect::<String>())).joined
    };
    assert_eq!(joined(&[900]), 0, "nothing has joined it");
    assert_eq!(joined(&[900, 601]), 0, "that was longer ago");
    assert_eq!(joined(&[900, 601, 599, 300]), 2);
    assert_eq!(joined(&[500, 300, 60]), 0, "the first one is as young");
}
