//! A value of every variant that travels to a page, or from it. A list matches its type exhaustively, so a new variant does
//! not compile until it has a line here.

pub(crate) mod cause;
mod record;

use std::sync::Arc;

use app::PageSeed;
use jiff::Timestamp;
use teardown::{
    advice::{Advice, Fact, Line, LogBox, Way, WayCommand, WayNeed, WayOffer},
    api_problem::{ApiProblem, ProblemCode},
    demo::{DemoCommand, DemoFault},
    message::{Message, Revision, Topic},
    object::{Kind, ObjectRef, Reclaim, Uid},
    plan::{
        Blocker, BlockingEdge, Choice, Choices, ClaimDeleter, DataFate, Fate, GivenUp, Kept,
        KeptReason, Plan, PlanId, Propagation, Step, StepAction, StepId, Unlistable, Waived,
    },
    relation::{DeletionPhase, EdgeKind, Reason, Strength},
    remedy::{Harm, Holds},
    right::Right,
    run::RunId,
    selector::{Operator, Requirement, Selector},
    unit::UnitId,
};

pub(crate) use self::record::{keys, records};

/// The values, each checked to be of the variant that it stands for.
macro_rules! every {
    ($type:ty: $($variant:pat => $value:expr),+ $(,)?) => {{
        let _ = |value: &$type| match value { $($variant => ()),+ };
        vec![$({
            let value: $type = $value;
            assert!(matches!(&value, $variant), "{value:?} stands for another variant");
            value
        }),+]
    }};
}
use every;

fn at() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

fn text(of: &str) -> String {
    format!("{of} \"<\u{202e}é\u{1f600}")
}

fn shared(of: &str) -> Arc<str> {
    text(of).into()
}

fn object(name: &str) -> ObjectRef {
    ObjectRef {
        group: "apps".into(),
        kind: "Deployment".into(),
        namespace: Some("shop".into()),
        name: shared(name),
    }
}

/// An object without a namespace.
fn node() -> ObjectRef {
    ObjectRef { group: "".into(), kind: "Node".into(), namespace: None, name: "node-a".into() }
}

fn reason() -> Reason {
    Reason { field: "spec.volumes[0]".into(), value: shared("data"), attribution: None }
}

fn problems() -> Vec<ApiProblem> {
    let codes = every! { ProblemCode:
        ProblemCode::Timeout { .. } => ProblemCode::Timeout { seconds: 30 },
        ProblemCode::Credentials => ProblemCode::Credentials,
        ProblemCode::TooLarge { .. } => ProblemCode::TooLarge { mebibytes: 64 },
        ProblemCode::Status { .. } => ProblemCode::Status { code: 503, said: text("down") },
        ProblemCode::Unreadable { .. } => ProblemCode::Unreadable { why: text("eof") },
        ProblemCode::NotAnApiServer => ProblemCode::NotAnApiServer,
        ProblemCode::NotDiscovery { .. } => ProblemCode::NotDiscovery { path: text("/apis"), why: text("eof") },
        ProblemCode::Stale => ProblemCode::Stale,
        ProblemCode::InvalidName { .. } => ProblemCode::InvalidName { name: text("a/b") },
        ProblemCode::Unlisted { .. } => ProblemCode::Unlisted { resource: text("pods"), why: Box::new(text("no").into()) },
        ProblemCode::NoPath => ProblemCode::NoPath,
        ProblemCode::NoResourceVersion => ProblemCode::NoResourceVersion,
        ProblemCode::NoUid => ProblemCode::NoUid,
        ProblemCode::TooManyNamespaces => ProblemCode::TooManyNamespaces,
        ProblemCode::QueueFull => ProblemCode::QueueFull,
        ProblemCode::HiddenInNamespaces { .. } => ProblemCode::HiddenInNamespaces {
            hidden: 1,
            of: 3,
            named: vec![text("a")],
            whole: Box::new(ProblemCode::Stale.into()),
        },
        ProblemCode::NamespacesUnknown { .. } => ProblemCode::NamespacesUnknown {
            seen: 2,
            whole: Box::new("forbidden".into()),
        },
    };
    let quoted = every! { ApiProblem:
        ApiProblem::Quoted(_) => ApiProblem::Quoted(text("denied")),
        ApiProblem::Code(_) => ProblemCode::NoUid.into(),
    };
    quoted.into_iter().chain(codes.into_iter().map(ApiProblem::from)).collect()
}

fn edge_kinds() -> Vec<EdgeKind> {
    every! { EdgeKind:
        EdgeKind::Owns => EdgeKind::Owns,
        EdgeKind::Contains => EdgeKind::Contains,
        EdgeKind::Mounts => EdgeKind::Mounts,
        EdgeKind::Claims => EdgeKind::Claims,
        EdgeKind::Binds => EdgeKind::Binds,
        EdgeKind::Selects => EdgeKind::Selects,
        EdgeKind::Routes => EdgeKind::Routes,
        EdgeKind::Scales => EdgeKind::Scales,
        EdgeKind::RunsOn => EdgeKind::RunsOn,
        EdgeKind::RunsAs => EdgeKind::RunsAs,
        EdgeKind::Admits => EdgeKind::Admits,
        EdgeKind::Serves => EdgeKind::Serves,
        EdgeKind::Defines => EdgeKind::Defines,
        EdgeKind::Finishes => EdgeKind::Finishes,
        EdgeKind::Converts => EdgeKind::Converts,
        EdgeKind::Guards => EdgeKind::Guards,
        EdgeKind::Refers => EdgeKind::Refers,
        EdgeKind::Snapshots => EdgeKind::Snapshots,
        EdgeKind::Attaches => EdgeKind::Attaches,
        EdgeKind::Provisions => EdgeKind::Provisions,
        EdgeKind::Controls => EdgeKind::Controls,
        EdgeKind::Declares => EdgeKind::Declares,
        EdgeKind::Hints => EdgeKind::Hints,
    }
}

fn strengths() -> Vec<Strength> {
    every! { Strength:
        Strength::Hint => Strength::Hint,
        Strength::Yielding => Strength::Yielding,
        Strength::Hard => Strength::Hard,
    }
}

fn phases() -> Vec<DeletionPhase> {
    every! { DeletionPhase:
        DeletionPhase::Present => DeletionPhase::Present,
        DeletionPhase::Accepted => DeletionPhase::Accepted,
        DeletionPhase::Gone => DeletionPhase::Gone,
        DeletionPhase::PodsGone => DeletionPhase::PodsGone,
    }
}

fn kept_reasons() -> Vec<KeptReason> {
    let edge = EdgeKind::Mounts;
    every! { KeptReason:
        KeptReason::UsedBy { .. } => KeptReason::UsedBy { user: object("user"), edge, reason: reason() },
        KeptReason::NeededBy { .. } => KeptReason::NeededBy { user: node(), edge, reason: reason() },
        KeptReason::RetainedVolume => KeptReason::RetainedVolume,
        KeptReason::RecycledVolume => KeptReason::RecycledVolume,
        KeptReason::Protected => KeptReason::Protected,
        KeptReason::Unclaimed => KeptReason::Unclaimed,
        KeptReason::LeftOut => KeptReason::LeftOut,
        KeptReason::OtherNamespace => KeptReason::OtherNamespace,
        KeptReason::KeptData => KeptReason::KeptData,
        KeptReason::KeepAnnotation { .. } => KeptReason::KeepAnnotation { annotation: shared("keep: yes") },
        KeptReason::Access => KeptReason::Access,
        KeptReason::MadeByCluster => KeptReason::MadeByCluster,
        KeptReason::NoDeleteVerb => KeptReason::NoDeleteVerb,
        KeptReason::HiddenController { .. } => KeptReason::HiddenController { kind: shared("Job"), name: shared("a") },
        KeptReason::HiddenUsers { .. } => KeptReason::HiddenUsers { resource: text("pods"), namespace: Some("a".into()) },
    }
}

/// A plan with every variant that plans have.
fn plan() -> Plan {
    let propagations = every! { Propagation:
        Propagation::Background => Propagation::Background,
        Propagation::Orphan => Propagation::Orphan,
    };
    let mut actions = every! { StepAction:
        StepAction::Delete { .. } => StepAction::Delete { propagation: Propagation::Background },
        StepAction::Await => StepAction::Await,
        StepAction::Suspend => StepAction::Suspend,
    };
    actions.extend(propagations.into_iter().map(|propagation| StepAction::Delete { propagation }));
    let operators = every! { Operator:
        Operator::In => Operator::In,
        Operator::NotIn => Operator::NotIn,
        Operator::Exists => Operator::Exists,
        Operator::DoesNotExist => Operator::DoesNotExist,
    };
    let expressions = operators.into_iter().map(|operator| Requirement {
        key: "tier".into(),
        operator,
        values: [shared("web")].into(),
    });
    let selector = Selector {
        labels: [("app".into(), shared("web"))].into(),
        expressions: expressions.collect(),
    };
    let strengths = strengths();
    let edges = edge_kinds().into_iter().zip(strengths.into_iter().cycle());
    let edges = edges.map(|(kind, strength)| BlockingEdge {
        kind,
        strength,
        on_first: true,
        reason: reason(),
    });
    let edges: Vec<BlockingEdge> = edges.collect();
    let blockers =
        phases().into_iter().map(|phase| Blocker { step: StepId(0), phase, edges: edges.clone() });
    let after: Vec<Blocker> = blockers.collect();
    let steps = (0..).zip(actions).map(|(number, action)| Step {
        id: StepId(number),
        uid: Uid::new(format!("u-{number}")),
        object: object("step"),
        kind: Kind {
            group: "apps".into(),
            kind: "Deployment".into(),
            version: "v1".into(),
            plural: "deployments".into(),
            namespaced: true,
        },
        action,
        wave: number + 1,
        after: after.clone(),
        finalizers: vec![text("a/b")],
        pods: Some(selector.clone()),
        holds_storage: true,
        node: Some(text("node")),
        named: Some(UnitId::new(text("unit"))),
        named_by: Some(Uid::new("namespace")),
        unproven: vec![text("secrets")],
    });
    let kept = |reason| Kept { uid: Uid::new("kept"), object: object("kept"), reason };
    let fates = every! { Fate:
        Fate::Destroyed => Fate::Destroyed,
        Fate::Unknown => Fate::Unknown,
        Fate::LeftBehind => Fate::LeftBehind,
        Fate::Kept => Fate::Kept,
    };
    let policies = every! { Reclaim:
        Reclaim::Retain => Reclaim::Retain,
        Reclaim::Delete => Reclaim::Delete,
        Reclaim::Recycle => Reclaim::Recycle,
    };
    let data = fates.into_iter().zip(policies.into_iter().map(Some).chain([None]));
    let choices = every! { Choice:
        Choice::IncludeAll => Choice::IncludeAll,
        Choice::Include(_) => Choice::Include(node()),
        Choice::WithoutKind { .. } => Choice::WithoutKind { group: "apps".into(), kind: "Deployment".into() },
        Choice::Without(_) => Choice::Without(node()),
        Choice::Namespace(_) => Choice::Namespace("shop".into()),
        Choice::KeepData => Choice::KeepData,
        Choice::Delete(_) => Choice::Delete(node()),
        Choice::Waive(_) => Choice::Waive(node()),
        Choice::Unproven(_) => Choice::Unproven(unlistable()),
        Choice::Unreported(_) => Choice::Unreported("virtual".into()),
        Choice::Unplanned(_) => Choice::Unplanned(RunId::new("1f")),
    };
    Plan {
        id: PlanId::new("1f"),
        hash: text("hash"),
        unit: UnitId::new(text("unit")),
        choices: choices.into_iter().collect::<Choices>(),
        made: at(),
        steps: steps.collect(),
        kept: kept_reasons().into_iter().map(kept).collect(),
        left_to_cluster: vec![kept(KeptReason::MadeByCluster)],
        data: data
            .map(|(fate, reclaim)| DataFate {
                volume: node(),
                claim: Some(object("claim")),
                capacity: Some(text("1Gi")),
                source: Some(text("nfs")),
                reclaim,
                fate,
                deleted_by: Some(ClaimDeleter { object: node(), mark: text("spec.a: true") }),
            })
            .collect(),
        by_name: vec![object("named")],
        ephemeral: vec![object("ephemeral")],
        given_up: vec![GivenUp {
            first: node(),
            then: object("then"),
            edge: EdgeKind::Owns,
            reason: reason(),
        }],
        unlistable: vec![unlistable()],
        waived: edge_kinds().into_iter().map(waived).collect(),
        losses: vec![text("lost")],
        waivable: vec![object("waivable")],
        hidden: vec![text("pods")],
    }
}

fn waived(edge: EdgeKind) -> Waived {
    let covers = vec![Uid::new("waived")];
    let known = vec![Uid::new("user")];
    Waived { object: node(), edge, users: vec![object("user")], count: 3, covers, known }
}

fn unlistable() -> Unlistable {
    Unlistable { namespace: "shop".into(), resource: "secrets".into() }
}

fn advice() -> Advice {
    let harms = every! { Harm:
        Harm::None => Harm::None,
        Harm::Reversible => Harm::Reversible,
        Harm::Interruption => Harm::Interruption,
        Harm::SwitchesOff => Harm::SwitchesOff,
        Harm::Deletion => Harm::Deletion,
        Harm::Leftovers => Harm::Leftovers,
        Harm::DataLoss => Harm::DataLoss,
    };
    let holds = every! { Holds:
        Holds::Yes => Holds::Yes,
        Holds::No => Holds::No,
        Holds::Unknown => Holds::Unknown,
    };
    let needs: Vec<WayNeed> =
        holds.into_iter().map(|holds| WayNeed { what: text("need"), holds }).collect();
    let commands = vec![WayCommand { what: text("look"), line: text("kubectl") }];
    let ways = harms.into_iter().map(|harm| Way {
        title: text("title"),
        harm,
        harms: text("harm"),
        does: text("does"),
        reaches: vec![text("reaches")],
        loses: vec![text("loss")],
        needs: needs.clone(),
        undo: Some(text("undo")),
        withheld: Some(text("withheld")),
        commands: commands.clone(),
        offer: Some(WayOffer {
            diagnosis: text("id"),
            hash: text("hash"),
            name: text("name"),
            statement: Some(text("label")),
            machine: vec![text("n1")],
        }),
    });
    Advice {
        first: vec![Line { name: text("now"), said: vec![text("said").into()], warns: true }],
        expected: text("expected"),
        chain: vec![text("waits")],
        evidence: vec![Fact { text: text("fact"), at: Some(at()) }],
        confidence: text("sure"),
        ways: ways.collect(),
        attempts: vec![text("done")],
        log: Some(LogBox {
            diagnosis: text("id"),
            label: text("label"),
            button: text("button"),
            commands: commands.clone(),
        }),
        note: text("note"),
    }
}

/// Every message, with every record and every key.
pub(crate) fn messages() -> Vec<Message> {
    let revision = Revision { boot: u64::MAX, count: 7 };
    every! { Message:
        Message::Snapshot { .. } => Message::Snapshot { revision, records: records() },
        Message::Delta { .. } => Message::Delta {
            previous: revision,
            revision: revision.next(),
            put: records(),
            remove: keys(),
        },
    }
}

/// The data of a page for a reader with each right.
pub(crate) fn seeds() -> Vec<PageSeed> {
    let rights = every! { Right:
        Right::Look => Right::Look,
        Right::Act => Right::Act,
        Right::Force => Right::Force,
    };
    let seed = |right| PageSeed {
        message: messages().pop(),
        plan: Some(plan()),
        refusal: Some(text("noPlan")),
        now: at(),
        advice: vec![(text("id"), advice())],
        build: text("build"),
        signed_in: true,
        right,
    };
    rights.into_iter().map(seed).collect()
}

/// Every topic that a page asks for.
pub(crate) fn topics() -> Vec<Topic> {
    every! { Topic:
        Topic::Units => Topic::Units,
        Topic::Unit(_) => Topic::Unit(UnitId::new(text("ns:shop"))),
        Topic::Run(_) => Topic::Run(RunId::new("1f")),
        Topic::Trouble => Topic::Trouble,
    }
}

fn demo_faults() -> Vec<DemoFault> {
    every! { DemoFault:
        DemoFault::Incident => DemoFault::Incident,
        DemoFault::Operator => DemoFault::Operator,
        DemoFault::Node => DemoFault::Node,
        DemoFault::Metrics => DemoFault::Metrics,
        DemoFault::Nfs => DemoFault::Nfs,
        DemoFault::Volume => DemoFault::Volume,
        DemoFault::Cloud => DemoFault::Cloud,
        DemoFault::Manager => DemoFault::Manager,
    }
}

/// Every command to the sandbox.
pub(crate) fn demo_commands() -> Vec<DemoCommand> {
    let what = DemoFault::Node;
    every! { DemoCommand:
        DemoCommand::TurnOn { .. } => DemoCommand::TurnOn { what, subject: text("node") },
        DemoCommand::TurnOff { .. } => DemoCommand::TurnOff { what, subject: text("node") },
        DemoCommand::Repair {} => DemoCommand::Repair {},
        DemoCommand::Speed { .. } => DemoCommand::Speed { times: 10 },
        DemoCommand::Reset {} => DemoCommand::Reset {},
    }
}
