//! Mutants of the server, made at its seams, so that the server itself holds no code for them. Each breaks one promise;
//! an oracle that does not notice is blind.

use std::sync::{Arc, Mutex, PoisonError};

use server::hub::{CallRequest, Incoming};
use teardown::{
    action::{Action, Outcome},
    observation::{HiddenCause, Observation},
    plan::{Plan, Propagation, StepAction},
};
use tokio::sync::mpsc;

use crate::application::{CANARY, ENCODED};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saboteur {
    /// DELETEs insist on no UID.
    NoPrecondition,
    /// The first order of a run brings the DELETE of every step with it.
    NoGate,
    /// Whether a Pod still uses a claim is asked of a cache that is behind.
    CachedGone,
    /// The journal acknowledges what is not durable yet.
    LateIntent,
    /// Every DELETE is repeated by name a little later, as if its answer had been lost.
    RepeatByName,
    /// Calls go on when the process that made them is dead.
    CallOutlives,
    /// Somebody who is not signed in has the cookie of somebody who is.
    BorrowedCookie,
    /// The steps of a run that come free are not started.
    Idle,
    /// DELETEs wait for a while before they leave, whatever is said meanwhile.
    DeafToPause,
    /// DELETEs leave Pods no time.
    NoGrace,
    /// One thing that changed is not told to who follows a page.
    MissedDelta,
    /// What the API server is said to have answered first has a secret in it.
    Blabber,
    /// That a namespace is gone is not told to the server.
    Unheard,
    /// What the API server is said to have answered when it was asked for Pods has a secret in it, and so has the name of a
    /// kind that it hides.
    Gossip,
}

/// The plan that was confirmed last.
pub(crate) type Confirmed = Arc<Mutex<Option<Arc<Plan>>>>;

/// Passes orders from the hub to the cluster, as the saboteur likes them.
pub(crate) async fn relay(
    saboteur: Option<Saboteur>,
    mut from: mpsc::Receiver<CallRequest>,
    to: mpsc::Sender<CallRequest>,
    mailbox: mpsc::Sender<Incoming>,
    confirmed: Confirmed,
) {
    let mut is_next = false;
    while let Some(order) = from.recv().await {
        let is_first = !std::mem::replace(&mut is_next, true);
        if !is_first && saboteur == Some(Saboteur::Idle) {
            continue;
        }
        if saboteur == Some(Saboteur::NoGate) {
            let plan = confirmed.lock().unwrap_or_else(PoisonError::into_inner).take();
            for action in plan.map(|plan| all(&plan)).unwrap_or_default() {
                if to.send(CallRequest { action, ..order.clone() }).await.is_err() {
                    return;
                }
            }
        }
        if is_first && saboteur == Some(Saboteur::Gossip) {
            let blind = |resource: &str, message: &str| Observation::Hidden {
                resource: resource.to_owned(),
                cause: HiddenCause::Forbidden,
                message: message.into(),
            };
            let seen = vec![blind("pods", ENCODED), blind(&format!("{CANARY}.example.com"), "")];
            if mailbox.send(Incoming::Observed(seen)).await.is_err() {
                return;
            }
        }
        if is_first && saboteur == Some(Saboteur::Blabber) {
            let CallRequest { run, action, recall: _ } = order;
            let outcome = Outcome::Refused { code: 403, message: format!("no: {ENCODED}").into() };
            let told = mailbox.send(Incoming::CallCompleted { run, action, outcome }).await;
            if told.is_err() {
                return;
            }
            continue;
        }
        if to.send(order).await.is_err() {
            return;
        }
    }
}

fn all(plan: &Plan) -> Vec<Action> {
    let steps = plan.steps.iter();
    let actions =
        steps.filter(|step| step.action != StepAction::Await).map(|step| Action::Delete {
            step: step.id,
            kind: step.kind.clone(),
            object: step.object.clone(),
            uid: step.uid.clone(),
            propagation: Propagation::Background,
        });
    actions.collect()
}
