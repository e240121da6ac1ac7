//! The calls a run asks for: orders in, outcomes out, as many at once as the [`Window`] allows. Nothing is retried and
//! nothing is decided here: an answer is judged ([`outcome`]) and sent to the hub.
//!
//! ```text
//! hub ─Order─► queue ─(window)─► call ─► API server
//!  ▲                              │
//!  └────── Incoming::CallCompleted ◄──┘
//! ```
//!
//! Orders are taken in at once and wait here, so that the hub never waits for the cluster. What waits can be recalled:
//! no order leaves once its run is paused or stopped. A claim's DELETE follows a read of Pods, which the window has let
//! through already: it stands first and waits for no other call, or reads would keep each other's DELETEs waiting for
//! ever. One that has to wait all the same, as the API server asks for patience, is sent back, and Pods are read anew. On
//! drain what waits is dropped (its intent is journaled and will be observed anew) and what has left is waited for.

mod outcome;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use jiff::SignedDuration;
use kube::Client;
use serde_json::json;
use teardown::{
    action::{Action, Outcome},
    api_problem::ProblemCode,
    object::{Kind, ObjectRef, Uid},
    plan::Propagation,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    convert::{self, Page},
    interner::Interner,
    request::{self, Failure},
    window::Window,
};
use crate::hub::{CallRequest, Incoming};

/// For a DELETE or a GET: webhooks may take up to 10 s each by default, but what has not answered by then is better
/// observed than waited for.
const CALL: Duration = Duration::from_secs(10);
/// For all pages of a list.
const LIST: Duration = Duration::from_secs(30);
/// How long a claim's DELETE may wait here after the read of Pods that it follows.
const FRESH: Duration = Duration::from_secs(2);
/// Pods per page; what client-go's pager uses.
const PAGE: usize = 500;

/// Performs orders until told to drain or the hub is gone; a panic in a call is passed on.
pub(super) async fn perform(
    client: Client,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    mut orders: mpsc::Receiver<CallRequest>,
    drain: CancellationToken,
) {
    let start = Instant::now();
    let mut window = Window::new();
    let mut queue = VecDeque::new();
    let mut calls = JoinSet::new();
    loop {
        let mut hold = None;
        send_back_recalled(&mut queue, &mailbox).await;
        while !queue.is_empty() {
            let follows = queue.front().is_some_and(|next| follows_a_read(&next.order.action));
            let under_way = if follows { 0 } else { calls.len() };
            match window.wait(under_way, start.elapsed()) {
                Some(Duration::ZERO) => {
                    if let Some(Waiting { order, since }) = queue.pop_front() {
                        let is_stale = follows_a_read(&order.action) && since.elapsed() > FRESH;
                        if order.recall.is_cancelled() || is_stale {
                            send_back(&mailbox, order).await;
                            continue;
                        }
                        calls.spawn(carry_out(
                            client.clone(),
                            names.clone(),
                            mailbox.clone(),
                            order,
                            start,
                        ));
                    }
                }
                wait => {
                    hold = wait;
                    break;
                }
            }
        }
        tokio::select! {
            biased;
            () = drain.cancelled() => break,
            Some(done) = calls.join_next() => account(&mut window, done),
            order = orders.recv() => match order {
                Some(order) => take_in(&mut queue, order),
                None => break,
            },
            () = first_recall(&queue), if !queue.is_empty() => {}
            () = sleep(hold.unwrap_or_default()), if hold.is_some() => {}
        }
    }
    while let Some(done) = calls.join_next().await {
        account(&mut window, done);
    }
}

/// An order that has not had its turn.
struct Waiting {
    order: CallRequest,
    since: Instant,
}

fn take_in(queue: &mut VecDeque<Waiting>, order: CallRequest) {
    let place = if follows_a_read(&order.action) {
        queue.iter().take_while(|waiting| follows_a_read(&waiting.order.action)).count()
    } else {
        queue.len()
    };
    queue.insert(place, Waiting { order, since: Instant::now() });
}

fn follows_a_read(action: &Action) -> bool {
    matches!(action, Action::Delete { kind, .. } if kind.is("", "PersistentVolumeClaim"))
}

/// Until the order that is next is recalled.
async fn first_recall(queue: &VecDeque<Waiting>) {
    match queue.front() {
        Some(waiting) => waiting.order.recall.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Answers for every order that is recalled. They are looked for when the next one is: others wait their turn anyway.
async fn send_back_recalled(queue: &mut VecDeque<Waiting>, mailbox: &mpsc::Sender<Incoming>) {
    let is_recalled = |waiting: &Waiting| waiting.order.recall.is_cancelled();
    if !queue.front().is_some_and(is_recalled) {
        return;
    }
    let (recalled, left): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(is_recalled);
    *queue = left;
    for waiting in recalled {
        send_back(mailbox, waiting.order).await;
    }
}

async fn send_back(
    mailbox: &mpsc::Sender<Incoming>,
    CallRequest { run, action, recall: _ }: CallRequest,
) {
    // A closed mailbox means that the process ends; nobody is left to tell.
    let _ = mailbox.send(Incoming::CallCompleted { run, action, outcome: Outcome::Recalled }).await;
}

/// What a call says of the API server's load.
enum Load {
    /// Answered in good order by a call whose latency can be compared with its likes'.
    Light,
    /// 429, or another answer that asks for patience.
    Throttled(Option<Duration>),
    /// No answer, or 5xx.
    Unanswered,
    /// Nothing: its latency depends on how much was asked for.
    Silent,
}

/// A call that is over: its load, and when it began and ended.
type Done = (Load, Duration, Duration);

fn account(window: &mut Window, done: Result<Done, tokio::task::JoinError>) {
    let (load, began, ended) = match done {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => return,
    };
    match load {
        Load::Light => window.answered(began, ended),
        Load::Throttled(after) => window.throttled(began, ended, after),
        Load::Unanswered => window.unanswered(began, ended),
        Load::Silent => {}
    }
}

async fn carry_out(
    client: Client,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    CallRequest { run, action, recall: _ }: CallRequest,
    start: Instant,
) -> Done {
    let began = start.elapsed();
    let outcome = call(&client, &names, &action).await;
    let ended = start.elapsed();
    tracing::debug!(run.id = %run, step = %action.step(), outcome = outcome::name(&outcome), "performed");
    let load = match (&outcome, &action) {
        (Outcome::Throttled { after } | Outcome::Unanswered { after: after @ Some(_), .. }, _) => {
            Load::Throttled(after.and_then(|after| Duration::try_from(after).ok()))
        }
        (Outcome::Unanswered { .. }, _) => Load::Unanswered,
        (_, Action::ReadPods { .. }) => Load::Silent,
        (_, Action::Delete { .. } | Action::Read { .. }) => Load::Light,
    };
    // A closed mailbox means that the process ends; nobody is left to tell.
    let _ = mailbox.send(Incoming::CallCompleted { run, action, outcome }).await;
    (load, began, ended)
}

/// Performs one action.
async fn call(client: &Client, names: &Interner, action: &Action) -> Outcome {
    match action {
        Action::Delete { step: _, kind, object, uid, propagation } => {
            delete(client, kind, object, uid, *propagation).await
        }
        Action::Read { step: _, kind, object, uid } => read(client, kind, object, uid).await,
        Action::ReadPods { step: _, namespace } => {
            timeout(LIST, read_pods(client, names, namespace))
                .await
                .unwrap_or_else(|_| outcome::of_failure(&Failure::Silence(LIST)))
        }
    }
}

async fn delete(
    client: &Client,
    kind: &Kind,
    object: &ObjectRef,
    uid: &Uid,
    propagation: Propagation,
) -> Outcome {
    let Some(path) = object_path(kind, object) else { return nameless() };
    // Explicit, because the default is Orphan for Jobs and ReplicationControllers. `v1` is understood by every group.
    let options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": { "uid": uid },
        "propagationPolicy": match propagation {
            Propagation::Background => "Background",
            Propagation::Orphan => "Orphan",
        },
    });
    let accept = convert::sight_media_type(kind);
    let request = match request::delete(&path, accept, options.to_string().into_bytes()) {
        Ok(request) => request,
        Err(failure) => return outcome::of_failure(&failure),
    };
    match request::ask(client, request, CALL).await {
        Ok(answer) if answer.is_success() => Outcome::Accepted,
        Ok(answer) => outcome::of_answer(&answer, Some((kind, object))),
        Err(failure) => outcome::of_failure(&failure),
    }
}

async fn read(client: &Client, kind: &Kind, object: &ObjectRef, uid: &Uid) -> Outcome {
    let Some(path) = object_path(kind, object) else { return nameless() };
    let answer = match request::get(&path, convert::sight_media_type(kind)) {
        Ok(request) => request::ask(client, request, CALL).await,
        Err(failure) => Err(failure),
    };
    match answer {
        Ok(answer) if answer.is_success() => match convert::sight(&answer.body) {
            Ok(sight) => match sight.uid {
                Some(found) if found == *uid => Outcome::Present { terminating: sight.terminating },
                Some(found) => Outcome::OtherUid { uid: Some(found) },
                None => Outcome::Unknown { message: ProblemCode::NoUid.into() },
            },
            Err(error) => outcome::unreadable(&error),
        },
        Ok(answer) => outcome::of_answer(&answer, Some((kind, object))),
        Err(failure) => outcome::of_failure(&failure),
    }
}

/// All Pods of the namespace, page by page; every page is of the same moment, so one that has expired ends the read.
async fn read_pods(client: &Client, names: &Interner, namespace: &str) -> Outcome {
    let kind = Arc::new(Kind {
        group: "".into(),
        kind: "Pod".into(),
        version: "v1".into(),
        plural: "pods".into(),
        namespaced: true,
    });
    let Some(path) = request::path(&kind, Some(namespace)) else {
        return Outcome::Unknown { message: ProblemCode::NoPath.into() };
    };
    let mut pods = Vec::new();
    let mut next = String::new();
    loop {
        let path = request::page(&path, PAGE, &next);
        let answer = match request::get(&path, convert::list_media_type(&kind)) {
            Ok(request) => request::ask(client, request, LIST).await,
            Err(failure) => Err(failure),
        };
        let answer = match answer {
            Ok(answer) if answer.is_success() => answer,
            Ok(answer) => return outcome::of_answer(&answer, None),
            Err(failure) => return outcome::of_failure(&failure),
        };
        let page: Page<'_> = match serde_json::from_slice(&answer.body) {
            Ok(page) => page,
            Err(error) => return outcome::unreadable(&error),
        };
        for item in page.items.unwrap_or_default() {
            match convert::pod_sight(&kind, item.get(), names) {
                Ok(pod) => pods.extend(pod),
                Err(error) => return outcome::unreadable(&error),
            }
        }
        if page.metadata.next.is_empty() {
            return Outcome::Pods(pods);
        }
        next = page.metadata.next;
    }
}

fn object_path(kind: &Kind, object: &ObjectRef) -> Option<String> {
    let namespace = if kind.namespaced { Some(object.namespace.as_deref()?) } else { None };
    Some(format!("{}/{}", request::path(kind, namespace)?, request::segment(&object.name)?))
}

/// A name that no path can hold belongs to no object: nothing was sent.
fn nameless() -> Outcome {
    Outcome::Unknown { message: ProblemCode::NoPath.into() }
}

/// `after` as the journal keeps it.
fn patience(after: Duration) -> Option<SignedDuration> {
    SignedDuration::try_from(after).ok()
}

#[cfg(test)]
mod tests;
