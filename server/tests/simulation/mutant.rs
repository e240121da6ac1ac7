//! Mutants of the server, made at its interfaces, so that the server holds no code for them. Each breaks an invariant,
//! and the oracle must notice. README.md lists the defects that a change of the code could bring, and the mutant of each.

mod forgery;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use server::hub::{CallRequest, Incoming};
use teardown::{
    action::{Action, ActionTarget, Outcome},
    object::Kind,
    observation::{HiddenCause, Observation},
    plan::{Plan, Propagation, Step, StepAction, StepId},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

pub(crate) use self::forgery::{forge, forges_observations};
use crate::application::{CANARY, ENCODED, driver::PLUGIN_NAME};

/// The time for which a DELETE waits with [`Mutant::OldRead`]: twice as long as it may, by the server's rule.
const READ_AGE: Duration = Duration::from_secs(4);

/// The defect of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// DELETEs do not carry the version that was read.
    NoVersion,
    /// DELETEs carry no UID precondition.
    NoPrecondition,
    /// The first call of a run brings the DELETEs of all steps with it.
    NoOrder,
    /// The first call of a run brings the DELETE of the driver with it, which then goes before the Pods whose volumes it unmounts.
    DriverFirst,
    /// The Pods of a namespace are read from a stale cache.
    StaleRead,
    /// The journal acknowledges writes before they are durable.
    LateIntent,
    /// The journal acknowledges writes that failed.
    IgnoredFailure,
    /// Every DELETE is repeated by name, as if its answer had been lost.
    RepeatByName,
    /// Calls go on after the crash of the process that made them.
    CallOutlivesServer,
    /// A client without a session has the cookie of an operator.
    StolenCookie,
    /// Steps that become free are not started.
    NoFurtherStep,
    /// DELETEs wait before they leave, whatever the operator commands meanwhile.
    IgnoredCommands,
    /// DELETEs set a grace period of zero.
    NoGracePeriod,
    /// One delta does not reach the readers of pages.
    MissedDelta,
    /// The first call of a run brings DELETEs of the claims that its plan keeps.
    TakesKept,
    /// The first refusal of the API server contains a secret.
    LeakInRefusal,
    /// The server learns that every volume is retained.
    ForgedRetention,
    /// The server learns that every Kustomization is suspended.
    ForgedSuspension,
    /// The server gets no attachments of volumes.
    NoAttachments,
    /// The server learns that the containers of each deleted Pod have ended.
    ForgedEnd,
    /// The server does not get the deletions of namespaces.
    DroppedNamespaceDeletion,
    /// The reason for which Pods are hidden contains a secret, and so does the name of another hidden kind.
    LeakInHiddenKind,
    /// A DELETE that orphans the dependents has them collected.
    OrphanAsBackground,
    /// The same, where only a skipped dependent is the reason to orphan.
    CollectsSkipped,
    /// A DELETE without an answer in time, 408, counts as refused.
    TimeoutAsRefusal,
    /// A kind that may not be listed counts as empty.
    HiddenAsEmpty,
    /// Objects that others create around the time of the plan count as older, and nothing says what they use.
    IgnoredNewcomers,
    /// The grace period of a Pod is ignored.
    IgnoredGrace,
    /// The DELETE of a claim leaves twice as long after its read as it may.
    OldRead,
    /// A workload that may be the finisher of an outsider's object counts as its finisher.
    PossibleAsFinisher,
    /// The content of another namespace is read.
    OtherContent,
    /// The server does not learn which objects somebody asks to keep.
    IgnoredMarks,
    /// The server does not learn the order that annotations ask for.
    IgnoredHints,
}

/// The plan that was confirmed last.
pub(crate) type Confirmed = Arc<Mutex<Option<Arc<Plan>>>>;

/// Passes calls from the hub to the cluster, with the defect of the mutant.
pub(crate) async fn relay(
    mutant: Option<Mutant>,
    mut from: mpsc::Receiver<CallRequest>,
    to: mpsc::Sender<CallRequest>,
    mailbox: mpsc::Sender<Incoming>,
    confirmed: Confirmed,
) {
    let mut is_next = false;
    while let Some(mut order) = from.recv().await {
        change(mutant, &mut order.action, &confirmed);
        let is_first = !std::mem::replace(&mut is_next, true);
        if !is_first && mutant == Some(Mutant::NoFurtherStep) {
            continue;
        }
        for action in added(mutant, is_first, &confirmed) {
            if to.send(CallRequest { action, ..order.clone() }).await.is_err() {
                return;
            }
        }
        if is_first && mutant == Some(Mutant::LeakInHiddenKind) {
            let hidden = |resource: &str, message: &str| Observation::Hidden {
                resource: resource.to_owned(),
                cause: HiddenCause::Forbidden,
                message: message.into(),
            };
            let seen = vec![hidden("pods", ENCODED), hidden(&format!("{CANARY}.example.com"), "")];
            if mailbox.send(Incoming::Observed(seen)).await.is_err() {
                return;
            }
        }
        if is_first && mutant == Some(Mutant::LeakInRefusal) {
            let CallRequest { run, action, .. } = order;
            let outcome = Outcome::Refused { code: 403, message: format!("no: {ENCODED}").into() };
            let answered = Instant::now();
            let completed = Incoming::CallCompleted { run, action, outcome, answered };
            let sent = mailbox.send(completed).await;
            if sent.is_err() {
                return;
            }
            continue;
        }
        if mutant == Some(Mutant::OldRead) && is_delete_of_claim(&order.action) {
            let to = to.clone();
            tokio::spawn(async move {
                sleep(READ_AGE).await;
                // A cluster that was killed takes no calls.
                _ = to.send(order).await;
            });
            continue;
        }
        if to.send(order).await.is_err() {
            return;
        }
    }
}

/// The DELETEs that a call brings with it.
fn added(mutant: Option<Mutant>, is_first: bool, confirmed: &Confirmed) -> Vec<Action> {
    let deletes: fn(&Plan) -> Vec<Action> = match mutant {
        Some(Mutant::NoOrder) => all,
        Some(Mutant::TakesKept) if is_first => kept_claims,
        Some(Mutant::DriverFirst) if is_first => plugins,
        _ => return vec![],
    };
    let plan = confirmed.lock().unwrap_or_else(PoisonError::into_inner).take();
    plan.map(|plan| deletes(&plan)).unwrap_or_default()
}

/// Changes a DELETE.
fn change(mutant: Option<Mutant>, action: &mut Action, confirmed: &Confirmed) {
    let Action::Delete { target, propagation, .. } = action else { return };
    match mutant {
        Some(Mutant::NoVersion) => target.version = None,
        Some(Mutant::OrphanAsBackground) => *propagation = Propagation::Background,
        Some(Mutant::CollectsSkipped) => {
            let plan = confirmed.lock().unwrap_or_else(PoisonError::into_inner);
            let step = plan.iter().flat_map(|plan| &plan.steps).find(|it| it.uid == target.uid);
            if let Some(StepAction::Delete { propagation: planned }) = step.map(|it| it.action) {
                *propagation = planned;
            }
        }
        _ => {}
    }
}

fn is_delete_of_claim(action: &Action) -> bool {
    let Action::Delete { target, .. } = action else { return false };
    target.kind.is("", "PersistentVolumeClaim")
}

fn kept_claims(plan: &Plan) -> Vec<Action> {
    let kind = Kind {
        group: "".into(),
        kind: "PersistentVolumeClaim".into(),
        version: "v1".into(),
        plural: "persistentvolumeclaims".into(),
        namespaced: true,
    };
    let kept = plan.kept.iter().filter(|kept| kept.object.kind == kind.kind);
    let actions = kept.map(|kept| Action::Delete {
        step: StepId(0),
        target: ActionTarget {
            kind: kind.clone(),
            object: kept.object.clone(),
            uid: kept.uid.clone(),
            version: None,
        },
        propagation: Propagation::Background,
    });
    actions.collect()
}

fn all(plan: &Plan) -> Vec<Action> {
    plan.steps.iter().filter(|step| step.action != StepAction::Await).map(delete).collect()
}

fn plugins(plan: &Plan) -> Vec<Action> {
    let is_plugin = |step: &&Step| {
        step.kind.is("apps", "DaemonSet") && step.object.name.starts_with(PLUGIN_NAME)
    };
    plan.steps.iter().filter(is_plugin).map(delete).collect()
}

fn delete(step: &Step) -> Action {
    let (target, propagation) = (ActionTarget::of(step), Propagation::Background);
    Action::Delete { step: step.id, target, propagation }
}
