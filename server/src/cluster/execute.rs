//! Executes the API calls that runs request, as many at once as [`Limits`] allows. This module never retries
//! and never decides: it translates each answer to an [`Outcome`] ([`outcome`]) and sends that to the hub.
//!
//! ```text
//! hub ──CallRequest──► CallQueue ──(Limits)──► call ──► API server
//!  ▲                                            │
//!  └────────── Incoming::CallCompleted ◄────────┘
//! ```
//!
//! The queue accepts every request at once, so that the hub never waits for the cluster, and it is fair between runs and
//! between resources. Queued calls can be recalled: no call is sent after its run was paused or stopped. The DELETE of a
//! PersistentVolumeClaim, a Namespace or a definition follows lists that have already passed the limits. It goes to the front of
//! the queue and ignores the number of calls in flight; otherwise reads could delay each other's DELETEs for ever. If it has to wait
//! nevertheless, because the API server answered with `Retry-After`, it is sent back and the lists are read again. On drain,
//! queued calls are dropped (their intents are in the journal, and the next process observes the objects) and the calls in
//! flight are awaited. An answer which says that the kind is served no longer, or has lost its verb, asks for discovery
//! (`ApiClient::noticing`): the next try of the call then goes to the version that is served.

mod content;
mod outcome;

use std::{convert::identity, sync::Arc, time::Duration};

use http::Request;
use jiff::SignedDuration;
use kube::client::Body;
use teardown::{
    action::{Action, ActionTarget, Outcome},
    api_problem::ProblemCode,
    object::{Kind, ObjectRef},
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub(super) use self::content::ContentReader;
pub(super) use self::outcome::{of_answer, of_failure, of_patch_answer};
use super::{
    call_queue::{CallQueue, Queued},
    concurrency::{Limits, Load, Target},
    convert::{self, Page},
    delete::{DeleteOptions, delete},
    interner::Interner,
    request::{self, Answer, ApiClient, Failure},
    suspend::suspend,
};
use crate::hub::{CallRequest, Incoming};

/// The deadline of a DELETE or a GET. Webhooks may take 10 s each by default. After that it is better to observe the
/// object than to wait.
const CALL: Duration = Duration::from_secs(10);
/// The deadline for all pages of a list.
const LIST: Duration = Duration::from_secs(30);
/// The longest time that a DELETE may be queued after the lists that it follows.
const MAX_READ_AGE: Duration = Duration::from_secs(2);
/// Pods per page, as in client-go's pager.
const PAGE: usize = 500;

/// Executes calls until `drain` is cancelled or the hub is gone. A panic in a call is propagated.
pub(super) async fn execute(
    client: ApiClient,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    mut calls: mpsc::Receiver<CallRequest>,
    drain: CancellationToken,
) {
    let start = Instant::now();
    let mut limits = Limits::new();
    let mut queue = CallQueue::default();
    let mut in_flight = JoinSet::new();
    let context = CallContext { client, names, content: ContentReader::default() };
    loop {
        for call in queue.take_recalled() {
            send_back(&mailbox, call).await;
        }
        let hold = loop {
            let now = start.elapsed();
            match queue.pop(|target, is_urgent| limits.wait(target, is_urgent, now)) {
                Ok(Queued { call, target, is_urgent, since }) => {
                    let is_stale = is_urgent && since.elapsed() > MAX_READ_AGE;
                    if call.recall.is_cancelled() || is_stale {
                        send_back(&mailbox, call).await;
                        continue;
                    }
                    limits.started(&target, is_list(&call.action), now);
                    let (context, mailbox) = (context.clone(), mailbox.clone());
                    let times = (start, now);
                    in_flight.spawn(execute_call(context, mailbox, call, target, times));
                }
                Err(hold) => break hold,
            }
        };
        tokio::select! {
            biased;
            () = drain.cancelled() => break,
            Some(done) = in_flight.join_next() => adjust(&mut limits, done),
            call = calls.recv() => match call {
                Some(call) => queue.push(Queued {
                    target: Target::of(&call.action),
                    is_urgent: follows_lists(&call.action),
                    since: Instant::now(),
                    call,
                }),
                None => break,
            },
            () = queue.recalled() => {}
            () = sleep(hold.unwrap_or_default()), if hold.is_some() => {}
        }
    }
    while let Some(done) = in_flight.join_next().await {
        adjust(&mut limits, done);
    }
}

fn follows_lists(action: &Action) -> bool {
    let is_one = |kind: &Kind| {
        kind.is("", "PersistentVolumeClaim") || kind.is("", "Namespace") || kind.is_definition()
    };
    matches!(action, Action::Delete { target, .. } if is_one(&target.kind))
}

async fn send_back(
    mailbox: &mpsc::Sender<Incoming>,
    CallRequest { run, action, steps_behind: _, recall: _ }: CallRequest,
) {
    // A closed mailbox means that the process ends.
    let (outcome, answered) = (Outcome::Recalled, Instant::now());
    let _ = mailbox.send(Incoming::CallCompleted { run, action, outcome, answered }).await;
}

/// A completed call.
struct Completed {
    target: Target,
    load: Load,
    began: Duration,
    ended: Duration,
}

fn adjust(limits: &mut Limits, done: Result<Completed, tokio::task::JoinError>) {
    match done {
        Ok(Completed { target, load, began, ended }) => limits.ended(&target, load, began, ended),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {}
    }
}

/// The means of all calls.
#[derive(Clone)]
struct CallContext {
    client: ApiClient,
    names: Arc<Interner>,
    content: ContentReader,
}

impl CallContext {
    /// Sends a request about one object. An `Err` is the outcome without a successful answer, as `judge` has it.
    async fn ask(
        &self,
        request: Result<Request<Body>, Failure>,
        target: &ActionTarget,
        judge: fn(&Answer, &Kind, &ObjectRef) -> Outcome,
    ) -> Result<Answer, Outcome> {
        let answer = request::ask(&self.client, request, CALL).await;
        let answer = answer.map_err(|failure| of_failure(&failure))?;
        if answer.is_success() {
            return Ok(answer);
        }
        Err(judge(&answer, &target.kind, &target.object))
    }
}

fn of_object(answer: &Answer, kind: &Kind, object: &ObjectRef) -> Outcome {
    of_answer(answer, Some((kind, object)))
}

fn is_list(action: &Action) -> bool {
    match action {
        Action::ReadPods { .. } | Action::ReadContent { .. } => true,
        Action::Delete { .. }
        | Action::Suspend { .. }
        | Action::Read { .. }
        | Action::ReadClaim { .. } => false,
    }
}

async fn execute_call(
    context: CallContext,
    mailbox: mpsc::Sender<Incoming>,
    CallRequest { run, action, steps_behind: _, recall: _ }: CallRequest,
    target: Target,
    (start, began): (Instant, Duration),
) -> Completed {
    let outcome = call_api(&context, &action).await;
    let answered = Instant::now();
    let ended = answered.duration_since(start);
    tracing::debug!(run.id = %run, step = action.step().map(|step| step.0), outcome = outcome::name(&outcome), "call completed");
    let to_std = |after: &SignedDuration| Duration::try_from(*after).ok();
    let load = match (&outcome, &action) {
        (Outcome::Throttled { after }, _) => Load::Throttled(after.as_ref().and_then(to_std)),
        (Outcome::Unanswered { after, .. }, _) => {
            after.as_ref().and_then(to_std).map_or(Load::Unanswered, Load::Unavailable)
        }
        (_, action) if is_list(action) => Load::Unknown,
        _ => Load::Normal,
    };
    // A closed mailbox means that the process ends.
    let _ = mailbox.send(Incoming::CallCompleted { run, action, outcome, answered }).await;
    Completed { target, load, began, ended }
}

/// Makes the API call of one action.
async fn call_api(context: &CallContext, action: &Action) -> Outcome {
    let CallContext { client, names, content } = context;
    match action {
        Action::Delete { step: _, target, propagation } => {
            let ActionTarget { kind, object, uid, version } = target;
            let (version, propagation) = (version.as_deref(), *propagation);
            let options = DeleteOptions { uid, version, propagation, dry_run: false };
            let Some(request) = delete(kind, object, &options) else { return no_path() };
            let answered = context.ask(request, target, of_object).await;
            answered.map_or_else(|outcome| outcome, |_| Outcome::Accepted)
        }
        Action::Suspend { step: _, target, patch } => {
            let ActionTarget { kind, object, .. } = target;
            let Some(request) = suspend(kind, object, patch, false) else { return no_path() };
            let answered = context.ask(request, target, of_patch_answer).await;
            answered.map_or_else(|outcome| outcome, |_| Outcome::Suspended)
        }
        Action::Read { step: _, target } => read(context, target).await.unwrap_or_else(identity),
        Action::ReadClaim { target } => read_claim(context, target).await.unwrap_or_else(identity),
        Action::ReadPods { step: _, target } => {
            let Some(namespace) = &target.object.namespace else { return no_path() };
            timeout(LIST, read_pods(client, names, namespace))
                .await
                .unwrap_or_else(|_| of_failure(&Failure::Silence(LIST)))
        }
        Action::ReadContent { step: _, target, unproven } => {
            let name = &*target.object.name;
            if target.kind.is("", "Namespace") {
                content.read(client, name, unproven).await
            } else {
                content.read_kind(client, name).await
            }
        }
    }
}

/// Reads the metadata of an object. An `Err` is the outcome without them.
async fn read(context: &CallContext, target: &ActionTarget) -> Result<Outcome, Outcome> {
    let ActionTarget { kind, object, uid, .. } = target;
    let path = request::object_path(kind, object).ok_or_else(no_path)?;
    let request = request::get(&path, convert::metadata_media_type(kind));
    let answer = context.ask(request, target, of_object).await?;
    let metadata = convert::metadata(kind, &answer.body);
    let metadata = metadata.map_err(|error| outcome::unreadable(&error))?;
    Ok(match metadata.uid {
        Some(found) if found == *uid => {
            let convert::Metadata { uid: _, terminating, version, named, keep } = metadata;
            Outcome::Present { terminating, version: version.into(), named, keep }
        }
        Some(found) => Outcome::OtherUid { uid: Some(found) },
        None => Outcome::Unknown { message: ProblemCode::NoUid.into() },
    })
}

/// Reads a claim, to which the phase belongs that its metadata does not show.
async fn read_claim(context: &CallContext, target: &ActionTarget) -> Result<Outcome, Outcome> {
    let ActionTarget { kind, object, uid, .. } = target;
    let path = request::object_path(kind, object).ok_or_else(no_path)?;
    let answer = context.ask(request::get(&path, request::JSON), target, of_object).await?;
    let claim = convert::claim_sight(&answer.body);
    let claim = claim.map_err(|error| outcome::unreadable(&error))?;
    Ok(match claim.uid {
        Some(found) if found == *uid => {
            Outcome::Claim { phase: claim.phase, terminating: claim.terminating }
        }
        Some(found) => Outcome::OtherUid { uid: Some(found) },
        None => Outcome::Unknown { message: ProblemCode::NoUid.into() },
    })
}

/// Reads all Pods of the namespace, page by page. All pages show the same moment, so an expired page ends the read.
async fn read_pods(client: &ApiClient, names: &Interner, namespace: &str) -> Outcome {
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
        let answer =
            request::ask(client, request::get(&path, convert::list_media_type(&kind)), LIST).await;
        let answer = match answer {
            Ok(answer) if answer.is_success() => answer,
            Ok(answer) => return of_answer(&answer, None),
            Err(failure) => return of_failure(&failure),
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

/// The outcome for a name that no path can hold. No request was sent.
fn no_path() -> Outcome {
    Outcome::Unknown { message: ProblemCode::NoPath.into() }
}

/// Converts a delay to the type of the journal.
fn to_signed(after: Duration) -> Option<SignedDuration> {
    SignedDuration::try_from(after).ok()
}

#[cfg(test)]
mod tests;
