//! A unit as it is met in practice: a consortium of three organisations and an orderer, each in a namespace of its own,
//! about seventy objects with their edges, a plan, and a run in its middle.

mod plan;
pub(crate) mod trouble;

use std::sync::Arc;

use app::PageSeed;
use jiff::{SignedDuration, Timestamp};
use teardown::{
    advice::{Advice, Way},
    api_problem::ProblemCode,
    message::{
        AwayCause, ClusterCard, Counts, Detail, DetailName, EdgeCard, FeedEntry, HiddenCause,
        HiddenKindCard, Membership, Message, ObjectCard, Record, Revision, RunCard, State,
        StepCard, UnitCard, Unreachable,
    },
    object::{Deletion, ObjectRef, Uid},
    plan::{KeptReason, Plan, PlanId},
    relation::{DeletionPhase, EdgeKind, Reason, Strength},
    remedy::Harm,
    right::Right,
    run::{Creator, FeedEvent, Refusals, RunId, RunState, StepProblem},
    unit::{UnitId, UnitOrigin},
    unknown_reason::UnknownReason,
};

use self::plan::{plan, steps};

/// A claim with edges on both sides and a finalizer.
pub(crate) const CLAIM: &str = "consortium-org1.persistentvolumeclaim.data-peer0";

fn now() -> Timestamp {
    "2026-11-21T12:03:41Z".parse().unwrap()
}

fn before(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn seed(records: Vec<Record>) -> PageSeed {
    let revision = Revision { boot: 0xfeed, count: 7 };
    PageSeed {
        message: Some(Message::Snapshot { revision, records }),
        plan: None,
        refusal: None,
        now: now(),
        advice: vec![],
        build: "abc123".to_owned(),
        signed_in: true,
        right: Right::Act,
    }
}

fn cluster() -> Record {
    Record::Cluster(ClusterCard {
        switched_off: 0,
        journal: 0,
        notifications: 0,
        name: "staging-eu-1".to_owned(),
        version: Some("v1.36.3".to_owned()),
        synced: true,
        kinds: 71,
        objects: 4_212,
        diagnoses: 0,
        in_time: 0,
        unreachable: None,
        demo: None,
    })
}

/// The objects and edges, being put together.
#[derive(Default)]
struct World {
    objects: Vec<ObjectCard>,
    edges: Vec<EdgeCard>,
}

fn group_of(kind: &str) -> &'static str {
    match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" => "apps",
        "Ingress" | "NetworkPolicy" => "networking.k8s.io",
        "Role" | "RoleBinding" => "rbac.authorization.k8s.io",
        "PodDisruptionBudget" => "policy",
        "StorageClass" => "storage.k8s.io",
        "HorizontalPodAutoscaler" => "autoscaling",
        _ => "",
    }
}

impl World {
    fn add(&mut self, namespace: Option<&str>, kind: &str, name: &str, wave: u32) -> Uid {
        let uid = match namespace {
            Some(namespace) => format!("{namespace}.{}.{name}", kind.to_lowercase()),
            None => format!("{}.{name}", kind.to_lowercase()),
        };
        let uid = Uid::new(uid);
        self.objects.push(ObjectCard {
            uid: uid.clone(),
            object: ObjectRef {
                group: group_of(kind).into(),
                kind: kind.into(),
                namespace: namespace.map(Arc::from),
                name: name.into(),
            },
            version: "v1".to_owned(),
            state: State::Present,
            since: None,
            membership: Membership::Member,
            created: Some(before(86_400 * 12)),
            deletion: None,
            due: None,
            finalizers: Vec::new(),
            labels: [("app.kubernetes.io/part-of".into(), "consortium".into())].into(),
            node: None,
            details: Vec::new(),
            phase: DeletionPhase::Present,
            final_phase: DeletionPhase::Gone,
            step: None,
            wave: Some(wave),
        });
        uid
    }

    fn edge(&mut self, from: &Uid, kind: EdgeKind, to: &Uid, field: &str, value: &str) {
        let reason = Reason { field: field.into(), value: value.into(), attribution: None };
        let strength = Strength::Hard;
        self.edges.push(EdgeCard {
            from: from.clone(),
            to: to.clone(),
            kind,
            strength,
            reason,
            given_up: false,
        });
    }

    fn object(&mut self, uid: &Uid) -> &mut ObjectCard {
        self.objects.iter_mut().find(|card| card.uid == *uid).unwrap()
    }

    fn records(self) -> Vec<Record> {
        let mut records = vec![cluster()];
        records.push(Record::Unit(unit_card(&self.objects, None)));
        records.extend(self.objects.into_iter().map(Record::Object));
        records.extend(self.edges.into_iter().map(Record::Edge));
        records
    }
}

fn unit_card(objects: &[ObjectCard], run: Option<&str>) -> UnitCard {
    let mut counts = Counts::new();
    for card in objects.iter().filter(|card| card.membership != Membership::Outside) {
        *counts.entry(card.state).or_default() += 1;
    }
    let mut namespaces: Vec<String> = objects
        .iter()
        .filter_map(|card| card.object.namespace.as_deref().map(str::to_owned))
        .collect();
    namespaces.retain(|namespace| namespace.starts_with("consortium"));
    namespaces.sort();
    namespaces.dedup();
    UnitCard {
        id: UnitId::new("consortium"),
        origin: UnitOrigin::PartOf,
        namespaces,
        counts,
        shared: 2,
        newest: Some(before(7_300)),
        run: run.map(RunId::new),
        same_as: None,
    }
}

fn world() -> World {
    let mut world = World::default();
    let class = world.add(None, "StorageClass", "fast-ssd", 9);
    let card = world.object(&class);
    card.membership = Membership::Outside;
    card.wave = None;
    let monitor = world.add(Some("monitoring"), "Deployment", "ledger-exporter", 1);
    let card = world.object(&monitor);
    card.membership = Membership::Outside;
    card.wave = None;
    for (organisation, peers) in [("org1", 3), ("org2", 2), ("org3", 2)] {
        part(&mut world, organisation, "peer", peers, &class);
    }
    part(&mut world, "orderer", "orderer", 2, &class);
    let shared = world.add(Some("consortium-orderer"), "Secret", "shared-ca", 5);
    world.object(&shared).wave = None;
    let user = world.objects.iter().find(|card| card.uid == monitor).unwrap().object.clone();
    let reason = Reason {
        field: "spec.template.spec.volumes[1].secret.secretName".into(),
        value: "shared-ca".into(),
        attribution: None,
    };
    world.object(&shared).membership = Membership::Kept(KeptReason::UsedBy {
        user,
        edge: EdgeKind::Mounts,
        reason: reason.clone(),
    });
    world.edge(&monitor, EdgeKind::Mounts, &shared, &reason.field, &reason.value);
    world
}

fn part(world: &mut World, organisation: &str, role: &str, replicas: usize, class: &Uid) {
    let namespace = format!("consortium-{organisation}");
    let at = Some(namespace.as_str());
    let home = world.add(None, "Namespace", &namespace, 8);
    let set = world.add(at, "StatefulSet", role, 2);
    let service = world.add(at, "Service", role, 4);
    let ingress = world.add(at, "Ingress", &format!("{role}-gateway"), 1);
    let config = world.add(at, "ConfigMap", &format!("{role}-config"), 4);
    let secret = world.add(at, "Secret", &format!("{role}-msp"), 4);
    let account = world.add(at, "ServiceAccount", role, 4);
    let binding = world.add(at, "RoleBinding", &format!("{role}-leases"), 4);
    let grants = world.add(at, "Role", &format!("{role}-leases"), 5);
    let budget = world.add(at, "PodDisruptionBudget", role, 4);
    world.edge(
        &ingress,
        EdgeKind::Routes,
        &service,
        "spec.rules[0].http.paths[0].backend.service.name",
        role,
    );
    world.edge(&binding, EdgeKind::RunsAs, &grants, "roleRef.name", &format!("{role}-leases"));
    world.edge(&account, EdgeKind::RunsAs, &binding, "subjects[0].name", role);
    for number in 0..replicas {
        let name = format!("{role}{number}");
        let pod = world.add(at, "Pod", &format!("{role}-{number}"), 3);
        let claim = world.add(at, "PersistentVolumeClaim", &format!("data-{name}"), 5);
        let volume =
            world.add(None, "PersistentVolume", &format!("pvc-{organisation}-{name}-7d9f4c2b"), 6);
        world.edge(&pod, EdgeKind::Owns, &set, "metadata.ownerReferences[0].uid", role);
        world.edge(
            &pod,
            EdgeKind::Mounts,
            &claim,
            "spec.volumes[0].persistentVolumeClaim.claimName",
            &format!("data-{name}"),
        );
        world.edge(
            &pod,
            EdgeKind::Mounts,
            &config,
            "spec.volumes[1].configMap.name",
            &format!("{role}-config"),
        );
        world.edge(
            &pod,
            EdgeKind::Mounts,
            &secret,
            "spec.volumes[2].secret.secretName",
            &format!("{role}-msp"),
        );
        world.edge(&pod, EdgeKind::RunsAs, &account, "spec.serviceAccountName", role);
        world.edge(&service, EdgeKind::Selects, &pod, "spec.selector", &format!("app={role}"));
        world.edge(&budget, EdgeKind::Selects, &pod, "spec.selector", &format!("app={role}"));
        world.edge(
            &claim,
            EdgeKind::Binds,
            &volume,
            "spec.volumeName",
            &format!("pvc-{organisation}-{name}-7d9f4c2b"),
        );
        world.edge(&volume, EdgeKind::RunsOn, class, "spec.storageClassName", "fast-ssd");
        let card = world.object(&claim);
        card.finalizers = vec!["kubernetes.io/pvc-protection".to_owned()];
        card.details = vec![
            Detail { name: DetailName::Phase, value: "Bound".to_owned() },
            Detail { name: DetailName::Capacity, value: "40Gi".to_owned() },
            Detail { name: DetailName::Class, value: "fast-ssd".to_owned() },
        ];
        if organisation == "org3" {
            world.object(&volume).membership = Membership::Kept(KeptReason::RetainedVolume);
            world.object(&volume).wave = None;
        }
    }
    let members: Vec<Uid> = world
        .objects
        .iter()
        .filter(|card| card.object.namespace.as_deref() == at)
        .map(|card| card.uid.clone())
        .collect();
    for member in members {
        world.edge(&member, EdgeKind::Contains, &home, "metadata.namespace", &namespace);
    }
}

/// The unit at rest.
pub(crate) fn unit() -> PageSeed {
    seed(world().records())
}

/// The unit with every state there is.
pub(crate) fn all_states() -> PageSeed {
    let mut world = world();
    let mut states = State::ALL.iter().cycle();
    for card in &mut world.objects {
        card.state = *states.next().unwrap();
        card.since = Some(before(95));
    }
    seed(world.records())
}

/// A name that wants to be markup.
pub(crate) fn hostile() -> PageSeed {
    let mut world = World::default();
    world.add(Some("consortium"), "ConfigMap", "<script>alert(1)</script>\"'&", 1);
    seed(world.records())
}

/// A snapshot without anything.
pub(crate) fn nothing() -> PageSeed {
    seed(vec![cluster()])
}

/// A cluster without units that is still being read.
pub(crate) fn no_units() -> PageSeed {
    let Record::Cluster(card) = cluster() else { unreachable!() };
    seed(vec![Record::Cluster(ClusterCard { synced: false, ..card })])
}

/// A cluster that went away.
pub(crate) fn unreachable() -> PageSeed {
    let Record::Cluster(card) = cluster() else { unreachable!() };
    let gone = Unreachable {
        since: before(75),
        cause: AwayCause::Silent,
        message: "dial tcp 10.0.0.1:6443: connection refused".into(),
    };
    let mut records = units_records();
    records[0] = Record::Cluster(ClusterCard { unreachable: Some(gone), ..card });
    seed(records)
}

fn units_records() -> Vec<Record> {
    let world = world();
    let mut records = vec![cluster()];
    records.push(Record::Unit(unit_card(&world.objects, Some("7"))));
    for (name, namespaces, count, shared) in [
        ("checkout", vec!["checkout"], 38, 0),
        ("payments", vec!["payments", "payments-jobs", "payments-vault", "edge"], 112, 4),
    ] {
        records.push(Record::Unit(UnitCard {
            id: UnitId::new(name),
            origin: UnitOrigin::PartOf,
            namespaces: namespaces.into_iter().map(str::to_owned).collect(),
            counts: [
                (State::Present, count),
                (State::Terminating, shared),
                (State::Stuck, shared / 2),
            ]
            .into(),
            shared,
            newest: Some(before(86_400 * 3)),
            run: None,
            same_as: None,
        }));
    }
    records.push(Record::Unit(UnitCard {
        id: UnitId::new("ns:monitoring"),
        origin: UnitOrigin::Namespace,
        namespaces: vec!["monitoring".to_owned()],
        counts: [(State::Present, 64)].into(),
        shared: 0,
        newest: None,
        run: None,
        same_as: None,
    }));
    records.push(Record::Run(run_card()));
    records.push(Record::Run(RunCard {
        id: RunId::new("6"),
        unit: UnitId::new("feature-1432"),
        state: RunState::Finished,
        started: before(90_000),
        ended: Some(before(89_880)),
        counts: [(State::Gone, 23)].into(),
        total: 23,
        ..run_card()
    }));
    records.push(Record::HiddenKind(HiddenKindCard {
        resource: "pods.metrics.k8s.io".to_owned(),
        cause: HiddenCause::Discovery,
        message: "the server is currently unable to handle the request".into(),
        since: before(400),
    }));
    records
}

/// The table of units.
pub(crate) fn units() -> PageSeed {
    seed(units_records())
}

/// A plan page without volumes.
pub(crate) fn planned_without_data() -> PageSeed {
    PageSeed { plan: Some(Plan { data: vec![], ..plan() }), ..unit() }
}

/// The same for somebody who cannot see claims.
pub(crate) fn planned_with_hidden_kinds() -> PageSeed {
    let hidden = vec!["persistentvolumeclaims".to_owned()];
    PageSeed { plan: Some(Plan { data: vec![], hidden, ..plan() }), ..unit() }
}

/// A plan page with a preflight that is done.
pub(crate) fn checked() -> PageSeed {
    let note = |harm, title: &str| Way {
        title: title.to_owned(),
        harm,
        harms: "Refusal".to_owned(),
        does: "It refuses.".to_owned(),
        reaches: vec![],
        loses: vec!["ConfigMap shop/a".to_owned()],
        needs: vec![],
        undo: None,
        withheld: None,
        commands: vec![],
        offer: None,
    };
    let found = Advice {
        log: None,
        attempts: vec![],
        evidence: vec![],
        chain: vec![],
        first: vec![],
        expected: "1 check expects a refusal".to_owned(),
        confidence: "Checked 4 of 4 objects: 1 refusal.".to_owned(),
        ways: vec![note(Harm::DataLoss, "A <dead> webhook"), note(Harm::None, "Budgets")],
        note: "- Refusal".to_owned(),
    };
    PageSeed { advice: vec![(plan().id.to_string(), found)], ..planned() }
}

/// A plan page.
pub(crate) fn planned() -> PageSeed {
    PageSeed { plan: Some(plan()), ..unit() }
}

fn run_card() -> RunCard {
    RunCard {
        id: RunId::new("7"),
        unit: UnitId::new("consortium"),
        plan: PlanId::new("1f3a5c7e9b2d4f60"),
        state: RunState::Running,
        halted_by: None,
        by: "lena".to_owned(),
        started: before(252),
        ended: None,
        counts: [
            (State::Gone, 42),
            (State::Terminating, 6),
            (State::Finalizing, 3),
            (State::Waiting, 14),
            (State::Slow, 1),
            (State::Stuck, 2),
            (State::CameBack, 1),
            (State::Refused, 1),
            (State::Unknown, 1),
        ]
        .into(),
        total: 71,
        kept: 3,
        left_to_cluster: 2,
        recovered: 1,
        beside: None,
    }
}

/// A run in its middle, with each kind of trouble.
pub(crate) fn run() -> PageSeed {
    let mut world = world();
    let steps = steps(&world);
    let pods = vec![steps.iter().find(|step| &*step.object.kind == "Pod").unwrap().object.clone()];
    let finalizers = vec!["kubernetes.io/pvc-protection".to_owned()];
    let problems = [
        (State::Stuck, StepProblem::InUse { pods }),
        (State::Slow, StepProblem::Late { since: before(140), finalizers: finalizers.clone() }),
        (
            State::Refused,
            StepProblem::Refused {
                code: 403,
                message: "admission webhook \"guard.example\" denied the request: <b>protected</b>"
                    .into(),
                refusals: Some(Refusals { count: 7, since: before(200), next: before(-400) }),
            },
        ),
        (
            State::CameBack,
            StepProblem::CameBack {
                uid: Uid::new("0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f"),
                by: Some(Creator::Manager("helm".to_owned())),
            },
        ),
        (
            State::Unknown,
            StepProblem::Unknown {
                reason: UnknownReason::Hidden {
                    resource: "pods".to_owned(),
                    namespace: Some("consortium-org2".to_owned()),
                    message: "pods is forbidden: User \"system:serviceaccount:unwind:reader\" cannot list resource"
                        .into(),
                },
            },
        ),
        (
            State::Terminating,
            StepProblem::Retrying { attempts: 3, message: ProblemCode::Status { code: 429, said: String::new() }.into() },
        ),
    ];
    let mut problems = problems.into_iter();
    let mut records = Vec::new();
    let total = steps.len();
    for step in &steps {
        let at = step.id.0 as usize;
        let done = at * 100 / total < 58;
        let (state, problem) = match (done, at * 100 / total < 84) {
            (true, _) => (State::Gone, None),
            (false, true) => match problems.next() {
                Some((state, problem)) => (state, Some(problem)),
                None if at.is_multiple_of(3) => (State::Terminating, None),
                None => (State::Finalizing, None),
            },
            (false, false) => (State::Waiting, None),
        };
        let waits = state == State::Waiting;
        records.push(Record::Step(StepCard {
            id: step.id,
            uid: step.uid.clone(),
            object: step.object.clone(),
            wave: step.wave,
            state,
            requested: (!waits).then(|| before(240 - at as i64)),
            gone: done.then(|| before(236 - at as i64)),
            proof: done.then_some(teardown::proof::Proof::DeletedEvent),
            unconfirmed: false,
            left_suspended: None,
            unproven: vec![],
            waits_for: if waits {
                step.after.iter().map(|blocker| blocker.step).collect()
            } else {
                Vec::new()
            },
            taken: false,
            problem,
            fate: None,
            unplanned: Vec::new(),
        }));
        let card = world.object(&step.uid);
        card.state = state;
        card.step = Some(step.id);
        if !waits && !done {
            card.since = Some(before(120));
            card.deletion = Some(Deletion { at: before(90), grace: 30 });
        }
    }
    for card in &mut world.objects {
        if matches!(card.membership, Membership::Kept(_)) {
            card.state = State::Kept;
        }
    }
    records.push(Record::Run(run_card()));
    let mut events = vec![FeedEvent::Started { by: "lena".to_owned() }];
    for step in steps.iter().take(14) {
        events.push(FeedEvent::Requested { step: step.id, object: step.object.clone() });
        let object = step.object.clone();
        events.push(FeedEvent::Gone { step: step.id, object, unconfirmed: false });
    }
    events.push(FeedEvent::Recovered);
    let stuck = &steps[42];
    events.push(FeedEvent::Problem {
        step: stuck.id,
        object: stuck.object.clone(),
        problem: StepProblem::Late { since: before(140), finalizers },
    });
    for (number, event) in events.into_iter().enumerate() {
        let at = before(252 - number as i64 * 4);
        records.push(Record::Event(FeedEntry { number: number as u64, at, event }));
    }
    records.extend(world.records());
    seed(records)
}
