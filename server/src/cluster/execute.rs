//! The in_flight a run asks for: calls in, outcomes out, as many at once as the [`ConcurrencyLimit`] allows. Nothing is retried and
//! nothing is decided here: an answer is judged ([`outcome`]) and sent to the hub.
//!
//! ```text
//! hub ─Order─► queue ─(concurrency)─► call ─► API server
//!  ▲                              │
//!  └────── Incoming::CallCompleted ◄──┘
//! ```
//!
//! Orders are taken in at once and wait here, so that the hub never waits for the cluster. What waits can be recalled:
//! no call leaves once its run is paused or stopped. A claim's DELETE follows a read of Pods, which the concurrency has let
//! through already: it stands first and waits for no other call, or reads would keep each other's DELETEs queued for
//! ever. One that has to wait all the same, as the API server asks for to_signed, is sent back, and Pods are read anew. On
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
    concurrency::ConcurrencyLimit,
    convert::{self, Page},
    interner::Interner,
    request::{self, Failure},
};
use crate::hub::{CallRequest, Incoming};

/// For a DELETE or a GET: webhooks may take up to 10 s each by default, but what has not answered by then is better
/// observed than waited for.
const CALL: Duration = Duration::from_secs(10);
/// For all pages of a list.
const LIST: Duration = Duration::from_secs(30);
/// How long a claim's DELETE may wait here after the read of Pods that it follows.
const MAX_READ_AGE: Duration = Duration::from_secs(2);
/// Pods per page; what client-go's pager uses.
const PAGE: usize = 500;

/// Performs calls until told to drain or the hub is gone; a panic in a call is passed on.
pub(super) async fn execute(
    client: Client,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    mut calls: mpsc::Receiver<CallRequest>,
    drain: CancellationToken,
) {
    let start = Instant::now();
    let mut concurrency = ConcurrencyLimit::new();
    let mut queue = VecDeque::new();
    let mut in_flight = JoinSet::new();
    loop {
        let mut hold = None;
        send_back_recalled(&mut queue, &mailbox).await;
        while !queue.is_empty() {
            let follows = queue.front().is_some_and(|next| follows_pod_read(&next.call.action));
            let under_way = if follows { 0 } else { in_flight.len() };
            match concurrency.wait(under_way, start.elapsed()) {
                Some(Duration::ZERO) => {
                    if let Some(Queued { call, since }) = queue.pop_front() {
                        let is_stale =
                            follows_pod_read(&call.action) && since.elapsed() > MAX_READ_AGE;
                        if call.recall.is_cancelled() || is_stale {
                            send_back(&mailbox, call).await;
                            continue;
                        }
                        in_flight.spawn(execute_call(
                            client.clone(),
                            names.clone(),
                            mailbox.clone(),
                            call,
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
            Some(done) = in_flight.join_next() => adjust(&mut concurrency, done),
            call = calls.recv() => match call {
                Some(call) => enqueue(&mut queue, call),
                None => break,
            },
            () = first_recall(&queue), if !queue.is_empty() => {}
            () = sleep(hold.unwrap_or_default()), if hold.is_some() => {}
        }
    }
    while let Some(done) = in_flight.join_next().await {
        adjust(&mut concurrency, done);
    }
}

/// An call that has not had its turn.
struct Queued {
    call: CallRequest,
    since: Instant,
}

fn enqueue(queue: &mut VecDeque<Queued>, call: CallRequest) {
    let place = if follows_pod_read(&call.action) {
        queue.iter().take_while(|queued| follows_pod_read(&queued.call.action)).count()
    } else {
        queue.len()
    };
    queue.insert(place, Queued { call, since: Instant::now() });
}

fn follows_pod_read(action: &Action) -> bool {
    matches!(action, Action::Delete { kind, .. } if kind.is("", "PersistentVolumeClaim"))
}

/// Until the call that is next is recalled.
async fn first_recall(queue: &VecDeque<Queued>) {
    match queue.front() {
        Some(queued) => queued.call.recall.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Answers for every call that is recalled. They are looked for when the next one is: others wait their turn anyway.
async fn send_back_recalled(queue: &mut VecDeque<Queued>, mailbox: &mpsc::Sender<Incoming>) {
    let is_recalled = |queued: &Queued| queued.call.recall.is_cancelled();
    if !queue.front().is_some_and(is_recalled) {
        return;
    }
    let (recalled, left): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(is_recalled);
    *queue = left;
    for queued in recalled {
        send_back(mailbox, queued.call).await;
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
    /// Answered in good call by a call whose latency can be compared with its likes'.
    Normal,
    /// 429, or another answer that asks for to_signed.
    Throttled(Option<Duration>),
    /// No answer, or 5xx.
    Unanswered,
    /// Nothing: its latency depends on how much was asked for.
    Unknown,
}

/// A call that is over: its load, and when it began and ended.
type Completed = (Load, Duration, Duration);

fn adjust(concurrency: &mut ConcurrencyLimit, done: Result<Completed, tokio::task::JoinError>) {
    let (load, began, ended) = match done {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => return,
    };
    match load {
        Load::Normal => concurrency.answered(began, ended),
        Load::Throttled(after) => concurrency.throttled(began, ended, after),
        Load::Unanswered => concurrency.unanswered(began, ended),
        Load::Unknown => {}
    }
}

async fn execute_call(
    client: Client,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    CallRequest { run, action, recall: _ }: CallRequest,
    start: Instant,
) -> Completed {
    let began = start.elapsed();
    let outcome = call_api(&client, &names, &action).await;
    let ended = start.elapsed();
    tracing::debug!(run.id = %run, step = %action.step(), outcome = outcome::name(&outcome), "performed");
    let load = match (&outcome, &action) {
        (Outcome::Throttled { after } | Outcome::Unanswered { after: after @ Some(_), .. }, _) => {
            Load::Throttled(after.and_then(|after| Duration::try_from(after).ok()))
        }
        (Outcome::Unanswered { .. }, _) => Load::Unanswered,
        (_, Action::ReadPods { .. }) => Load::Unknown,
        (_, Action::Delete { .. } | Action::Read { .. }) => Load::Normal,
    };
    // A closed mailbox means that the process ends; nobody is left to tell.
    let _ = mailbox.send(Incoming::CallCompleted { run, action, outcome }).await;
    (load, began, ended)
}

/// Performs one action.
async fn call_api(client: &Client, names: &Interner, action: &Action) -> Outcome {
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
    let Some(path) = object_path(kind, object) else { return no_path() };
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
    let accept = convert::metadata_media_type(kind);
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
    let Some(path) = object_path(kind, object) else { return no_path() };
    let answer = match request::get(&path, convert::metadata_media_type(kind)) {
        Ok(request) => request::ask(client, request, CALL).await,
        Err(failure) => Err(failure),
    };
    match answer {
        Ok(answer) if answer.is_success() => match convert::metadata(&answer.body) {
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
fn no_path() -> Outcome {
    Outcome::Unknown { message: ProblemCode::NoPath.into() }
}

/// `after` as the journal keeps it.
fn to_signed(after: Duration) -> Option<SignedDuration> {
    SignedDuration::try_from(after).ok()
}

#[cfg(test)]
mod tests;
