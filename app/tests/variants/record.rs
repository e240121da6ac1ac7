//! The records of a view and their keys.

use std::sync::Arc;

use teardown::{
    demo::{Demo, FaultSwitch},
    diagnosis::{Cause, Confidence, Diagnosis, Impact, Waiting},
    message::{
        AwayCause, ClusterCard, Detail, DetailName, DiagnosisCard, EdgeCard, FeedEntry,
        HiddenCause, HiddenKindCard, Key, Membership, NodeHealth, ObjectCard, Record, RunCard,
        State, StepCard, UnitCard, Unreachable,
    },
    object::{Deletion, Uid},
    plan::{Fate, KeptReason, PlanId, StepId},
    proof::Proof,
    relation::{DeletionPhase, EdgeKind, Strength},
    run::{Creator, FeedEvent, LeftSuspended, Refusals, RunId, RunState, StepProblem},
    unit::{UnitId, UnitOrigin},
    unknown_reason::{UnconfirmedObject, UnknownReason},
};

use super::{
    at, cause::causes, demo_faults, edge_kinds, every, kept_reasons, node, object, phases,
    problems, reason, strengths, text,
};

fn states() -> Vec<State> {
    every! { State:
        State::Present => State::Present,
        State::Kept => State::Kept,
        State::Planned => State::Planned,
        State::Waiting => State::Waiting,
        State::Requested => State::Requested,
        State::Terminating => State::Terminating,
        State::Finalizing => State::Finalizing,
        State::Slow => State::Slow,
        State::Stuck => State::Stuck,
        State::Refused => State::Refused,
        State::Gone => State::Gone,
        State::CameBack => State::CameBack,
        State::Skipped => State::Skipped,
        State::Unknown => State::Unknown,
    }
}

fn details() -> Vec<Detail> {
    let names = every! { DetailName:
        DetailName::Phase => DetailName::Phase,
        DetailName::Node => DetailName::Node,
        DetailName::Replicas => DetailName::Replicas,
        DetailName::Capacity => DetailName::Capacity,
        DetailName::Class => DetailName::Class,
        DetailName::Reclaim => DetailName::Reclaim,
        DetailName::Source => DetailName::Source,
        DetailName::Selector => DetailName::Selector,
        DetailName::Target => DetailName::Target,
        DetailName::LoadBalancer => DetailName::LoadBalancer,
        DetailName::Owner => DetailName::Owner,
    };
    names.into_iter().map(|name| Detail { name, value: text("value") }).collect()
}

fn cluster(cause: AwayCause) -> ClusterCard {
    let switches = demo_faults().into_iter().map(|what| FaultSwitch {
        what,
        subject: text("node"),
        on: true,
        label: text("label"),
        story: text("story"),
    });
    ClusterCard {
        name: text("cluster"),
        version: Some(text("v1.36")),
        synced: true,
        kinds: 71,
        objects: 4_212,
        diagnoses: 3,
        in_time: 4,
        unreachable: Some(Unreachable { since: at(), cause, message: "refused".into() }),
        demo: Some(Demo { speed: 10, switches: switches.collect() }),
        switched_off: 2,
        journal: 1,
        notifications: 1,
    }
}

fn clusters() -> Vec<ClusterCard> {
    let causes = every! { AwayCause:
        AwayCause::Silent => AwayCause::Silent,
        AwayCause::Unauthorized => AwayCause::Unauthorized,
        AwayCause::Failing => AwayCause::Failing,
    };
    causes.into_iter().map(cluster).collect()
}

fn unit(origin: UnitOrigin) -> UnitCard {
    UnitCard {
        id: UnitId::new(text("unit")),
        origin,
        namespaces: vec![text("shop")],
        counts: states().into_iter().zip(1..).collect(),
        shared: 2,
        newest: Some(at()),
        run: Some(RunId::new("1f")),
        same_as: Some(UnitId::new("other")),
    }
}

fn units() -> Vec<UnitCard> {
    let origins = every! { UnitOrigin:
        UnitOrigin::PartOf => UnitOrigin::PartOf,
        UnitOrigin::Release => UnitOrigin::Release,
        UnitOrigin::ArgoCd => UnitOrigin::ArgoCd,
        UnitOrigin::Flux => UnitOrigin::Flux,
        UnitOrigin::Kapp => UnitOrigin::Kapp,
        UnitOrigin::Namespace => UnitOrigin::Namespace,
    };
    origins.into_iter().map(unit).collect()
}

fn run(state: RunState) -> RunCard {
    RunCard {
        id: RunId::new("1f"),
        unit: UnitId::new(text("unit")),
        plan: PlanId::new("2f"),
        state,
        halted_by: Some(object("a")),
        by: text("lena"),
        started: at(),
        ended: Some(at()),
        counts: states().into_iter().zip(1..).collect(),
        total: 7,
        kept: 1,
        left_to_cluster: 2,
        recovered: 3,
        beside: Some(RunId::new("2f")),
    }
}

fn runs() -> Vec<RunCard> {
    let states = every! { RunState:
        RunState::Running => RunState::Running,
        RunState::Paused => RunState::Paused,
        RunState::Stopping => RunState::Stopping,
        RunState::Finished => RunState::Finished,
        RunState::Stopped => RunState::Stopped,
    };
    states.into_iter().map(run).collect()
}

fn card(state: State, membership: Membership, phase: DeletionPhase) -> ObjectCard {
    ObjectCard {
        uid: Uid::new("0b51c9d1-77aa-4c1e-9f8a-1f2f3f4f5f6f"),
        object: object("object"),
        version: "v1".to_owned(),
        state,
        since: Some(at()),
        membership,
        created: Some(at()),
        deletion: Some(Deletion { at: at(), grace: 30 }),
        due: Some(at()),
        finalizers: vec![text("a/b")],
        labels: [("app".into(), "web".into())].into(),
        node: Some(NodeHealth { ready: true, changed: Some(at()), seen: Some(at()) }),
        details: details(),
        phase,
        final_phase: DeletionPhase::PodsGone,
        step: Some(StepId(3)),
        wave: Some(2),
    }
}

fn objects() -> Vec<ObjectCard> {
    let memberships = every! { Membership:
        Membership::Member => Membership::Member,
        Membership::Kept(_) => Membership::Kept(KeptReason::Protected),
        Membership::Outside => Membership::Outside,
    };
    let memberships =
        memberships.into_iter().chain(kept_reasons().into_iter().map(Membership::Kept));
    let present = DeletionPhase::Present;
    memberships
        .map(|membership| card(State::Kept, membership, present))
        .chain(states().into_iter().map(|state| card(state, Membership::Member, present)))
        .chain(phases().into_iter().map(|phase| card(State::Gone, Membership::Member, phase)))
        .collect()
}

fn edges() -> Vec<EdgeCard> {
    let edge = |kind, strength| EdgeCard {
        from: Uid::new("from"),
        to: Uid::new("to"),
        kind,
        strength,
        reason: reason(),
        given_up: strength == Strength::Hint,
    };
    let kinds = edge_kinds().into_iter().map(|kind| edge(kind, Strength::Hard));
    kinds.chain(strengths().into_iter().map(|strength| edge(EdgeKind::Owns, strength))).collect()
}

fn hidden_kinds() -> Vec<HiddenKindCard> {
    let hidden = |cause, message| HiddenKindCard {
        resource: text("pods.metrics.k8s.io"),
        cause,
        message,
        since: at(),
    };
    let causes = every! { HiddenCause:
        HiddenCause::Forbidden => HiddenCause::Forbidden,
        HiddenCause::Discovery => HiddenCause::Discovery,
        HiddenCause::Failing => HiddenCause::Failing,
    };
    let problems = problems().into_iter().map(|problem| hidden(HiddenCause::Failing, problem));
    causes.into_iter().map(|cause| hidden(cause, "denied".into())).chain(problems).collect()
}

fn unknown_reasons() -> Vec<UnknownReason> {
    let (uid, object_of) = (Uid::new("pod"), object("pod"));
    let objects = vec![UnconfirmedObject { uid, object: object_of, node: Some(text("node")) }];
    every! { UnknownReason:
        UnknownReason::Hidden { .. } => UnknownReason::Hidden {
            resource: text("pods"),
            namespace: Some(text("shop")),
            message: "denied".into(),
        },
        UnknownReason::NotListed { .. } => UnknownReason::NotListed { resource: text("pods") },
        UnknownReason::NotServed { .. } => UnknownReason::NotServed { resource: text("pods") },
        UnknownReason::PodsLeft { .. } => UnknownReason::PodsLeft { pod: object("pod"), of: Box::new(object("set")) },
        UnknownReason::Unconfirmed { .. } => UnknownReason::Unconfirmed { objects },
        UnknownReason::StillAttached { .. } => UnknownReason::StillAttached { volume: text("pv"), node: text("node") },
        UnknownReason::GivenAway { .. } => UnknownReason::GivenAway { to: Some(text("unit")) },
        UnknownReason::AskedToKeep { .. } => UnknownReason::AskedToKeep { mark: "a/b: keep".into() },
        UnknownReason::ParentActive { .. } => UnknownReason::ParentActive { parent: object("web") },
        UnknownReason::InUse { .. } => UnknownReason::InUse { by: node() },
        UnknownReason::StillGuards { .. } => UnknownReason::StillGuards { it: object("guarded") },
        UnknownReason::WouldCollect { .. } => UnknownReason::WouldCollect { it: object("dependent") },
        UnknownReason::WouldDestroyData { .. } => UnknownReason::WouldDestroyData { volume: node() },
        UnknownReason::NamespaceNotEmpty { .. } => UnknownReason::NamespaceNotEmpty { by: object("late") },
        UnknownReason::Inconclusive { .. } => UnknownReason::Inconclusive { message: "eof".into() },
    }
}

fn step_problems() -> Vec<StepProblem> {
    let refusals = Some(Refusals { count: 7, since: at(), next: at() });
    let problems = every! { StepProblem:
        StepProblem::Late { .. } => StepProblem::Late { since: at(), finalizers: vec![text("a/b")] },
        StepProblem::Refused { .. } => StepProblem::Refused { code: 403, message: "denied".into(), refusals },
        StepProblem::CameBack { .. } => StepProblem::CameBack { uid: Uid::new("other"), by: None },
        StepProblem::Unknown { .. } => StepProblem::Unknown { reason: UnknownReason::GivenAway { to: None } },
        StepProblem::InUse { .. } => StepProblem::InUse { pods: vec![object("pod")] },
        StepProblem::Retrying { .. } => StepProblem::Retrying { attempts: 3, message: "eof".into() },
    };
    let unknown = unknown_reasons().into_iter().map(|reason| StepProblem::Unknown { reason });
    let creators = every! { Creator:
        Creator::Owner(_) => Creator::Owner(object("owner")),
        Creator::Manager(_) => Creator::Manager(text("helm")),
    };
    let again = creators.into_iter();
    let again = again.map(|it| StepProblem::CameBack { uid: Uid::new("other"), by: Some(it) });
    problems.into_iter().chain(unknown).chain(again).collect()
}

fn step(state: State, proof: Option<Proof>, problem: Option<StepProblem>) -> StepCard {
    StepCard {
        id: StepId(4),
        uid: Uid::new("step"),
        object: object("step"),
        wave: 2,
        state,
        requested: Some(at()),
        gone: Some(at()),
        proof,
        unconfirmed: true,
        left_suspended: None,
        unproven: vec!["secrets".to_owned()],
        waits_for: vec![StepId(1), StepId(2)],
        taken: true,
        problem,
        fate: Some(Fate::Destroyed),
        unplanned: vec![object("unplanned")],
    }
}

fn steps() -> Vec<StepCard> {
    let proofs = every! { Proof:
        Proof::DeletedEvent => Proof::DeletedEvent,
        Proof::List => Proof::List,
        Proof::NotFound => Proof::NotFound,
        Proof::OtherUid => Proof::OtherUid,
        Proof::KindGone => Proof::KindGone,
        Proof::NamespaceGone => Proof::NamespaceGone,
    };
    let proven = proofs.into_iter().map(|proof| step(State::Gone, Some(proof), None));
    let stuck = step_problems().into_iter().map(|it| step(State::Stuck, None, Some(it)));
    let left = every! { LeftSuspended:
        LeftSuspended::Suspended => LeftSuspended::Suspended,
        LeftSuspended::Active => LeftSuspended::Active,
        LeftSuspended::Going => LeftSuspended::Going,
        LeftSuspended::Gone => LeftSuspended::Gone,
        LeftSuspended::Unknown => LeftSuspended::Unknown,
    };
    let left = left
        .into_iter()
        .map(|it| StepCard { left_suspended: Some(it), ..step(State::Present, None, None) });
    let all = states().into_iter().map(|state| step(state, None, None)).chain(proven);
    all.chain(stuck).chain(left).collect()
}

fn events() -> Vec<FeedEntry> {
    let (id, by) = (StepId(4), text("lena"));
    let problem = StepProblem::CameBack { uid: Uid::new("other"), by: None };
    let events = every! { FeedEvent:
        FeedEvent::Started { .. } => FeedEvent::Started { by: by.clone() },
        FeedEvent::Recovered => FeedEvent::Recovered,
        FeedEvent::Paused { .. } => FeedEvent::Paused { by: by.clone(), changed: Some(object("a")) },
        FeedEvent::Resumed { .. } => FeedEvent::Resumed { by: by.clone() },
        FeedEvent::Stopping { .. } => FeedEvent::Stopping { by: by.clone() },
        FeedEvent::Suspended { .. } => FeedEvent::Suspended { step: id, object: object("a") },
        FeedEvent::Requested { .. } => FeedEvent::Requested { step: id, object: object("a") },
        FeedEvent::Terminating { .. } => FeedEvent::Terminating { step: id, object: node() },
        FeedEvent::Gone { .. } => FeedEvent::Gone { step: id, object: object("a"), unconfirmed: true },
        FeedEvent::TakenOn { .. } => FeedEvent::TakenOn { step: id, object: object("a"), by: by.clone() },
        FeedEvent::Problem { .. } => FeedEvent::Problem { step: id, object: object("a"), problem: problem.clone() },
        FeedEvent::ClaimUnread { .. } => FeedEvent::ClaimUnread { object: object("claim"), problem },
        FeedEvent::Skipped { .. } => FeedEvent::Skipped { step: id, object: object("a"), by },
        FeedEvent::DataChecked { .. } => FeedEvent::DataChecked {
            bound: 2,
            lost: vec![object("lost")],
            unknown: vec![object("unknown")],
        },
        FeedEvent::Finished => FeedEvent::Finished,
        FeedEvent::Stopped { .. } => FeedEvent::Stopped {
            untouched: 1,
            requested: 2,
            already_terminating: 3,
            effect_unknown: 4,
            gone: 5,
        },
    };
    let problems = step_problems().into_iter().map(|problem| FeedEvent::Problem {
        step: id,
        object: object("a"),
        problem,
    });
    (0..)
        .zip(events.into_iter().chain(problems))
        .map(|(number, event)| FeedEntry { number, at: at(), event })
        .collect()
}

fn diagnosis(cause: Cause, confidence: Confidence) -> DiagnosisCard {
    let diagnosis = Diagnosis {
        id: text("id"),
        cause,
        root: node(),
        confidence,
        evidence: vec![],
        waiting: vec![Waiting {
            uid: Uid::new("pod"),
            object: object("pod"),
            since: at(),
            on: None,
            starts: false,
        }],
        total: 2,
        held: vec![],
        since: at(),
        stuck: true,
        impact: Impact {
            replacements_blocked: vec![object("set")],
            without_endpoints: vec![object("service")],
            ..Impact::default()
        },
    };
    DiagnosisCard {
        diagnosis: Arc::new(diagnosis),
        said: text("said"),
        explains: true,
        harms: true,
        namespaces: vec![text("shop")],
        incident: Arc::default(),
        stamp: 7,
    }
}

fn diagnoses() -> Vec<DiagnosisCard> {
    let confidences = every! { Confidence:
        Confidence::Unknown => Confidence::Unknown,
        Confidence::Inferred => Confidence::Inferred,
        Confidence::Confirmed => Confidence::Confirmed,
    };
    let sure = confidences.into_iter().map(|confidence| diagnosis(Cause::Unknown, confidence));
    causes().into_iter().map(|cause| diagnosis(cause, Confidence::Inferred)).chain(sure).collect()
}

/// Every record, with every variant of its parts.
pub(crate) fn records() -> Vec<Record> {
    let mut records = every! { Record:
        Record::Cluster(_) => Record::Cluster(cluster(AwayCause::Silent)),
        Record::Unit(_) => Record::Unit(unit(UnitOrigin::PartOf)),
        Record::Run(_) => Record::Run(run(RunState::Running)),
        Record::Object(_) => Record::Object(card(State::Present, Membership::Member, DeletionPhase::Present)),
        Record::Edge(_) => Record::Edge(edges().remove(0)),
        Record::HiddenKind(_) => Record::HiddenKind(hidden_kinds().remove(0)),
        Record::Step(_) => Record::Step(step(State::Waiting, None, None)),
        Record::Event(_) => Record::Event(events().remove(0)),
        Record::Diagnosis(_) => Record::Diagnosis(diagnosis(Cause::Unknown, Confidence::Unknown)),
    };
    records.extend(clusters().into_iter().map(Record::Cluster));
    records.extend(units().into_iter().map(Record::Unit));
    records.extend(runs().into_iter().map(Record::Run));
    records.extend(objects().into_iter().map(Record::Object));
    records.extend(edges().into_iter().map(Record::Edge));
    records.extend(hidden_kinds().into_iter().map(Record::HiddenKind));
    records.extend(steps().into_iter().map(Record::Step));
    records.extend(events().into_iter().map(Record::Event));
    records.extend(diagnoses().into_iter().map(Record::Diagnosis));
    records
}

/// Every key, with every kind of edge.
pub(crate) fn keys() -> Vec<Key> {
    let edge = |kind| Key::Edge(Uid::new("from"), Uid::new("to"), kind, text("spec"));
    let mut keys = every! { Key:
        Key::Cluster => Key::Cluster,
        Key::Unit(_) => Key::Unit(UnitId::new(text("unit"))),
        Key::Run(_) => Key::Run(RunId::new("1f")),
        Key::Object(_) => Key::Object(Uid::new("object")),
        Key::Edge(..) => edge(EdgeKind::Owns),
        Key::HiddenKind(_) => Key::HiddenKind(text("pods")),
        Key::Step(_) => Key::Step(StepId(4)),
        Key::Event(_) => Key::Event(u64::MAX),
        Key::Diagnosis(_) => Key::Diagnosis(text("id")),
    };
    keys.extend(edge_kinds().into_iter().map(edge));
    keys
}
