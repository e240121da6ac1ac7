//! The pages of trouble.

use app::PageSeed;
use teardown::{
    advice::{Advice, Fact, Line, SWITCHED_OFF, Way, WayCommand, WayNeed},
    diagnosis::{Cause, Confidence, Diagnosis, Evidence, Impact, Link, Source, Waiting},
    incident::Incident,
    message::{
        AwayCause, ClusterCard, DiagnosisCard, Membership, Message, NodeHealth, Record, State,
        Unreachable,
    },
    object::{ObjectRef, Uid},
    relation::{Attribution, EdgeKind, Strength},
    remedy::{Harm, Holds},
    right::Right,
};

use super::{World, before, cluster, seed};

/// A Pod on a silent node holds its claim; and a name that wants to be markup.
pub(crate) fn trouble() -> PageSeed {
    let object = |kind: &str, name: &str| ObjectRef {
        group: "".into(),
        kind: kind.into(),
        namespace: (kind != "Node").then(|| "consortium".into()),
        name: name.into(),
    };
    let (node, pod) = (object("Node", "worker-7"), object("Pod", "<b>peer-0</b>"));
    let held = |uid: &str, object: &ObjectRef, on| Waiting {
        uid: Uid::new(uid),
        object: object.clone(),
        since: before(600),
        on,
        starts: false,
    };
    let diagnosis = Diagnosis {
        id: "nodeSilent//Node//worker-7/".into(),
        cause: Cause::NodeSilent {
            node: "worker-7".into(),
            provider: Some("aws:///eu-1a/i-07".into()),
            control_plane: false,
            silent: 1,
            renews: false,
        },
        root: node.clone(),
        confidence: Confidence::Confirmed,
        evidence: vec![Evidence {
            of: node,
            source: Source::Condition("Ready".into()),
            said: "Unknown NodeStatusUnknown: Kubelet stopped posting node status.".into(),
            at: Some(before(640)),
        }],
        waiting: vec![
            held("u-1", &pod, None),
            held("u-2", &object("PersistentVolumeClaim", "ledger"), Some((0, Link::Mount))),
        ],
        total: 2,
        held: vec![],
        since: before(600),
        stuck: true,
        impact: Impact { without_endpoints: vec![object("Service", "peer")], ..Impact::default() },
    };
    let contact = vec![("team".to_owned(), "ledger-sre".to_owned())];
    let Record::Cluster(card) = cluster() else { unreachable!() };
    let shown = DiagnosisCard {
        said: app::text::cause(&diagnosis),
        explains: false,
        harms: true,
        diagnosis: diagnosis.into(),
        namespaces: vec!["consortium".to_owned()],
        incident: std::sync::Arc::new(Incident { contact, ..Incident::default() }),
        stamp: 0,
    };
    let line = |name: &str, said: &str, warns| Line {
        name: name.to_owned(),
        said: vec![said.to_owned().into()],
        warns,
    };
    let need = |what: &str, holds| WayNeed { what: what.to_owned(), holds };
    let advice = Advice {
        log: None,
        first: vec![
            line("Harm now", "Service consortium/peer has no ready Pod.", false),
            line("If nobody acts", "Nothing.", false),
            line("Do not", "force the deletion while the machine may still run", true),
            line("Whose it is", "team: ledger-sre", false),
        ],
        confidence: "Confirmed: the cluster says so itself.".to_owned(),
        evidence: vec![Fact {
            text: "Node worker-7: condition Ready is Unknown NodeStatusUnknown: Kubelet stopped posting node status.".to_owned(),
            at: Some(before(640)),
        }],
        chain: vec!["".to_owned(), "waits for Pod consortium/<b>peer-0</b>, which mounts it".to_owned()],
        ways: vec![Way {
            title: "Bring node worker-7 back".to_owned(),
            harm: Harm::None,
            harms: "Loses nothing".to_owned(),
            does: "Start the machine.".to_owned(),
            reaches: vec![],
            loses: vec![],
            needs: vec![
                need("The node has stopped reporting.", Holds::Yes),
                need("The machine is off.", Holds::Unknown),
            ],
            undo: None,
            withheld: None,
            commands: vec![WayCommand {
                what: "To look".to_owned(),
                line: "kubectl --context=staging-eu-1 get nodes/worker-7".to_owned(),
            }],
            offer: None,
        }],
        expected: String::new(),
        attempts: vec![],
        note: String::new(),
    };
    let id = shown.diagnosis.id.clone();
    let records =
        vec![Record::Cluster(ClusterCard { diagnoses: 1, ..card }), Record::Diagnosis(shown)];
    PageSeed { advice: vec![(id, advice)], ..seed(records) }
}

/// The same, beside an older claim that something in another namespace uses, and a Pod that is being deleted and not late.
pub(crate) fn in_order() -> PageSeed {
    let mut page = trouble();
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    let Some(Record::Diagnosis(first)) = records.get(1) else { unreachable!() };
    let mut second = first.clone();
    let mut diagnosis = Diagnosis::clone(&first.diagnosis);
    diagnosis.id = "nodeSilent//Node//worker-8/".into();
    diagnosis.since = before(9_000);
    diagnosis.impact = Impact::default();
    second.diagnosis = diagnosis.into();
    second.namespaces = vec!["archive".to_owned()];
    records.push(Record::Diagnosis(second));
    let mut world = World::default();
    let uid = world.add(Some("consortium"), "Pod", "leaving-0", 1);
    let card = world.object(&uid);
    card.state = State::Terminating;
    card.since = Some(before(5));
    card.due = Some(before(-55));
    records.extend(world.objects.into_iter().map(Record::Object));
    if let Some(Record::Cluster(card)) = records.first_mut() {
        card.diagnoses = 2;
        card.in_time = 3;
    }
    page
}

/// The page of trouble with a card of each cause, in this order of records and in a namespace of its own; and whether harm is done
/// while it waits.
pub(crate) fn cards(causes: impl IntoIterator<Item = (Cause, bool)>) -> PageSeed {
    let mut page = trouble();
    page.advice.clear();
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    let Some(Record::Diagnosis(first)) = records.pop() else { unreachable!() };
    for (number, (cause, does_harm)) in causes.into_iter().enumerate() {
        let mut diagnosis = Diagnosis::clone(&first.diagnosis);
        diagnosis.id = format!("{}//Node//{number}/", cause.name());
        diagnosis.cause = cause;
        if !does_harm {
            diagnosis.impact = Impact::default();
        }
        let (explains, harms, ..) = diagnosis.harm();
        records.push(Record::Diagnosis(DiagnosisCard {
            said: app::text::cause(&diagnosis),
            explains,
            harms,
            diagnosis: diagnosis.into(),
            namespaces: vec![format!("space-{number}")],
            ..first.clone()
        }));
    }
    page
}

/// The same page while the API server does not answer.
pub(crate) fn away(mut page: PageSeed, cause: AwayCause) -> PageSeed {
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    for record in records {
        if let Record::Cluster(card) = record {
            let message = "dial tcp 10.0.0.1:6443: connection refused".into();
            card.unreachable = Some(Unreachable { since: before(75), cause, message });
        }
    }
    page
}

/// The same page for a session with this right, while a node is marked out of service.
pub(crate) fn switched_off(page: &PageSeed, right: Right) -> PageSeed {
    let mut page = PageSeed { right, ..page.clone() };
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    for record in records {
        if let Record::Cluster(card) = record {
            card.switched_off = 1;
        }
    }
    let text = "Node <b>worker-7 is marked out of service".to_owned();
    let evidence = vec![Fact { text, at: Some(before(200)) }];
    page.advice.push((SWITCHED_OFF.to_owned(), Advice { evidence, ..Advice::default() }));
    page
}

/// The UID of the node of [`with_node`].
pub(crate) const NODE: &str = "node.worker-7";

/// The page of the unit with the node of its Pods, whose readiness changed four minutes ago and which was last seen 38 s ago.
pub(crate) fn with_node(ready: bool) -> PageSeed {
    let mut page = super::unit();
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    let mut world = World::default();
    let uid = world.add(None, "Node", "worker-7", 1);
    assert_eq!(uid.to_string(), NODE);
    let card = world.object(&uid);
    (card.membership, card.wave) = (Membership::Outside, None);
    let (changed, seen) = (Some(before(240)), Some(before(38)));
    card.node = Some(NodeHealth { ready, changed, seen });
    records.extend(world.objects.into_iter().map(Record::Object));
    page
}

/// The UID of the workload of [`with_operator`].
pub(crate) const OPERATOR: &str = "consortium.deployment.queue-operator";

/// The page of the unit with an operator that clears the finalizer of four Topics, may clear that of a Queue, and is used by a
/// ConfigMap whose order is given up.
pub(crate) fn with_operator() -> PageSeed {
    let mut page = super::unit();
    let Some(Message::Snapshot { records, .. }) = &mut page.message else { unreachable!() };
    let mut world = World::default();
    let operator = world.add(Some("consortium"), "Deployment", "queue-operator", 5);
    assert_eq!(operator.to_string(), OPERATOR);
    for name in ["orders", "audit", "mail", "bills"] {
        let topic = world.add(Some("consortium"), "Topic", name, 1);
        let field = "metadata.finalizers[0]";
        world.edge(&topic, EdgeKind::Finishes, &operator, field, "queue.example/topic");
    }
    let queue = world.add(Some("consortium"), "Queue", "main", 1);
    world.edge(
        &queue,
        EdgeKind::Finishes,
        &operator,
        "metadata.finalizers[0]",
        "queue.example/queue",
    );
    let settings = world.add(Some("consortium"), "ConfigMap", "operator-settings", 6);
    world.edge(&operator, EdgeKind::Refers, &settings, "spec.settings", "operator-settings");
    for edge in &mut world.edges {
        if edge.kind == EdgeKind::Finishes {
            let known =
                if edge.from == queue { Attribution::Wildcard } else { Attribution::Rights };
            edge.reason.attribution = Some(known);
        }
        if edge.from == queue || edge.from == operator {
            edge.strength = Strength::Yielding;
        }
        edge.given_up = edge.from == operator;
    }
    records.extend(world.objects.into_iter().map(Record::Object));
    records.extend(world.edges.into_iter().map(Record::Edge));
    page
}
