//! Sends the request of a remedy that a person has confirmed, as one guarded sequence: try the request where that is
//! safe, read its premises, send it, and read them again. It never retries.
//!
//! # Decisions
//! - The reads and the request are less than [`FRESH`] apart. If the reads took longer, nothing is sent. The content of a
//!   namespace is read before them, in whatever time that takes up to [`LONG`]: it can only get less.
//! - An object that is not exactly as the index had it when the person confirmed ends the sequence: the decision was about
//!   another cluster.
//! - The API server takes the options of a DELETE from its body alone, so the dry run of one is asked for there
//!   (`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go`).
//! - The version of the target that was read travels in the request: whatever changes it in between refuses the request. The refusal
//!   does not say what changed, so the target is read once more: a race that was lost at the API server is reported as the change that
//!   it is, and not as an error in the request. The same holds for a dry run.
//! - The hub looks at the index once more: right before the request, and after it once the watches have had a second to show what
//!   happened before it. Only the index shows some of what a decision rests on (`teardown::remedy::Basis`).
//! - A request of which nobody knows whether it was done is treated as one that was: the premises are read again and the hub looks again,
//!   at once. Nobody asks whether it was done: the next diagnosis is made of the cluster as it is then.
//! - A copy that is needed to put the target back is in the journal before the request leaves: the server may end before the
//!   answer comes.
//! - A dry run that cannot be made, because a webhook has side effects, predicts nothing and ends nothing.

mod premise;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use http::Method;

use serde_json::{Value, json};
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    object::ObjectRef,
    remedy::{AttemptOutcome, Basis, Expected, Premise, Request, Verb},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::premise::Found;
use super::{
    interner::Interner,
    request::{self, Answer, ApiClient, Failure},
    text::chain,
};
use crate::hub::{Incoming, NotKept, RemedyCall};

/// The deadline of each request.
const DEADLINE: Duration = Duration::from_secs(10);
/// The longest time between the start of the reads and the request.
const FRESH: Duration = Duration::from_secs(1);
/// The time within which the watches show what happened before the request.
const SHOWN: Duration = Duration::from_secs(1);
/// The longest time for a read of a namespace's content.
const LONG: Duration = Duration::from_secs(30);
/// The most reads at one time.
const AT_ONCE: usize = 16;

/// Sends remedies until `drain` is cancelled or the hub is gone. Those on their way are awaited.
pub(super) async fn send(
    client: ApiClient,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    mut calls: mpsc::Receiver<RemedyCall>,
    drain: CancellationToken,
) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = drain.cancelled() => break,
            Some(done) = under_way.join_next() => propagate(done),
            call = calls.recv() => match call {
                Some(call) => {
                    under_way.spawn(send_one(client.clone(), names.clone(), mailbox.clone(), call));
                }
                None => break,
            },
        }
    }
    // Those that still wait are never sent, and the journal is to say so.
    calls.close();
    while let Some(call) = calls.recv().await {
        complete(&mailbox, call.attempt, AttemptOutcome::Interrupted).await;
    }
    while let Some(done) = under_way.join_next().await {
        propagate(done);
    }
}

fn propagate(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

async fn send_one(
    client: ApiClient,
    names: Arc<Interner>,
    mailbox: mpsc::Sender<Incoming>,
    call: RemedyCall,
) {
    let keep = async |copy| keep(&mailbox, &call, copy).await;
    let look = |is_sent| look(mailbox.clone(), call.basis.clone(), is_sent).boxed();
    let outcome = guarded(&client, &names, &call, keep, look).await;
    let outcome = outcome.unwrap_or_else(|outcome| outcome);
    complete(&mailbox, call.attempt, outcome).await;
}

async fn complete(mailbox: &mpsc::Sender<Incoming>, attempt: String, outcome: AttemptOutcome) {
    tracing::info!(attempt.id = %attempt, outcome = name(&outcome), "remedy ended");
    // A closed mailbox means that the process ends; the next one judges by what the journal has.
    let _ = mailbox.send(Incoming::RemedyCompleted { attempt, outcome }).await;
}

/// Has the hub keep the copy of the target, or of the object that was made. An `Err` means that it is not kept, so nothing may be
/// sent.
async fn keep(
    mailbox: &mpsc::Sender<Incoming>,
    call: &RemedyCall,
    copy: Value,
) -> Result<(), NotKept> {
    let (reply, kept) = oneshot::channel();
    let copied = Incoming::RemedyCopied { attempt: call.attempt.clone(), copy, reply };
    mailbox.send(copied).await.map_err(|_| NotKept::Ended)?;
    kept.await.map_err(|_| NotKept::Ended)?
}

/// Asks the hub whether the index still shows what a remedy rests on. An `Err` is the outcome if it does not, or if the hub has
/// ended; then nothing may be sent.
async fn look(
    mailbox: mpsc::Sender<Incoming>,
    basis: Option<Arc<Basis>>,
    is_sent: bool,
) -> Result<(), AttemptOutcome> {
    let Some(basis) = basis else { return Ok(()) };
    let ended = || AttemptOutcome::Interrupted;
    let (reply, looked) = oneshot::channel();
    let question = Incoming::RemedyLooked { basis, is_sent, reply };
    mailbox.send(question).await.map_err(|_| ended())?;
    match looked.await.map_err(|_| ended())? {
        Some(object) => Err(AttemptOutcome::Changed { object }),
        None => Ok(()),
    }
}

/// The outcome of an attempt whose target could not be kept, so that nothing was sent.
fn before_the_request(why: NotKept) -> AttemptOutcome {
    match why {
        NotKept::Ended => AttemptOutcome::Interrupted,
        NotKept::OtherObject(object) => AttemptOutcome::Changed { object },
        NotKept::Journal(message) => AttemptOutcome::NotSent { message },
    }
}

/// The outcome of an attempt whose first request made an object that could not be kept, so that the second was not sent.
fn between_the_requests(why: NotKept) -> AttemptOutcome {
    match why {
        NotKept::Ended => AttemptOutcome::Unknown { message: None, meanwhile: None },
        NotKept::OtherObject(object) => AttemptOutcome::MadeOther { object },
        NotKept::Journal(message) => AttemptOutcome::Unfinished { message, meanwhile: None },
    }
}

/// The name of an outcome; no other part of it is logged.
fn name(outcome: &AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Sending => "sending",
        AttemptOutcome::Changed { .. } => "changed",
        AttemptOutcome::NotSent { .. } => "not sent",
        AttemptOutcome::Interrupted => "interrupted before it was sent",
        AttemptOutcome::Refused { .. } => "refused",
        AttemptOutcome::Accepted { .. } => "accepted",
        AttemptOutcome::Unfinished { .. } => "unfinished",
        AttemptOutcome::MadeOther { .. } => "made another object",
        AttemptOutcome::Unknown { .. } => "unknown",
    }
}

/// The sequence. An `Err` ends it where nothing was done.
async fn guarded(
    client: &ApiClient,
    names: &Interner,
    call: &RemedyCall,
    keep: impl AsyncFnOnce(Value) -> Result<(), NotKept>,
    look: impl Fn(bool) -> BoxFuture<'static, Result<(), AttemptOutcome>>,
) -> Result<AttemptOutcome, AttemptOutcome> {
    let RemedyCall { request, premises, .. } = call;
    // No remedy keeps both a copy of its target and the object that it made.
    let mut keep = Some(keep);
    if call.is_dry_run_safe {
        try_first(client, names, call).await?;
    }
    let before = premises.iter().filter(|it| it.is_read_before());
    let (long, short): (Vec<_>, Vec<_>) = before.partition(|it| premise::is_long(it));
    for premise in long {
        as_expected(premise::read(client, names, premise).await)?;
    }
    let began = Instant::now();
    let reads: Vec<_> = short.iter().map(|it| premise::read(client, names, it)).collect();
    let reads: Vec<_> = stream::iter(reads).buffered(AT_ONCE).collect().await;
    let (mut pinned, mut version) = (request.clone(), None);
    for (premise, read) in short.into_iter().zip(reads) {
        let target = as_expected(read)?;
        if is_target(request, premise) {
            pinned = pin(request, target.as_ref())?;
            // A merge patch names none.
            version =
                target.filter(|_| request.verb != Verb::MergePatch).map(|(version, _)| version);
        }
    }
    let request = pinned;
    if call.keeps_copy
        && let Some(keep) = keep.take()
    {
        let answer = ask(client, Method::GET, &request.path, None).await;
        let copy = read_copy(answer).map_err(|message| AttemptOutcome::NotSent { message })?;
        keep(copy).await.map_err(before_the_request)?;
    }
    look(false).await?;
    if began.elapsed() > FRESH {
        let message = ProblemCode::Timeout { seconds: FRESH.as_secs() }.into();
        return Err(AttemptOutcome::NotSent { message });
    }
    let outcome = match perform(client, &request, "").await {
        Err(Problem::Guarded(message)) => {
            let refused = AttemptOutcome::Refused { message };
            let lost = lost_race(client, names, call, version.as_deref()).await;
            return Err(lost.unwrap_or(refused));
        }
        Err(Problem::Refused(message)) => return Err(AttemptOutcome::Refused { message }),
        Err(Problem::Unknown(message)) => {
            AttemptOutcome::Unknown { message: Some(message), meanwhile: None }
        }
        Ok(answer) => {
            let deleted = match keep.take().filter(|_| call.deletes_at_once) {
                Some(keep) => delete_made(client, &request, &answer, keep).await,
                None => Ok(()),
            };
            deleted.err().unwrap_or(AttemptOutcome::Accepted { meanwhile: None })
        }
    };
    let meanwhile = match changed_meanwhile(client, names, premises).await {
        None => changed_in_index(call, look).await,
        changed => changed,
    };
    Ok(outcome.with_change(meanwhile))
}

/// The dry run of the request. An `Err` says why nothing is sent after it.
async fn try_first(
    client: &ApiClient,
    names: &Interner,
    call: &RemedyCall,
) -> Result<(), AttemptOutcome> {
    let request = dry(client, names, call).await?;
    let Err(problem) = perform(client, &request, "?dryRun=All").await else { return Ok(()) };
    if matches!(problem, Problem::Guarded(_))
        && let Some(changed) = lost_race(client, names, call, None).await
    {
        return Err(changed);
    }
    let message = problem.message();
    if predicts_nothing(&message) { Ok(()) } else { Err(AttemptOutcome::NotSent { message }) }
}

/// The change that made the API server refuse a request by one of its guards, as one look at the target shows it. `None` if the target
/// is as it was, and still has the version that the request named: then the request itself was wrong. `None` too if it cannot be
/// read: then the refusal is all that is known.
async fn lost_race(
    client: &ApiClient,
    names: &Interner,
    call: &RemedyCall,
    version: Option<&str>,
) -> Option<AttemptOutcome> {
    let target = call.premises.iter().find(|it| is_target(&call.request, it))?;
    let object = match premise::read(client, names, target).await {
        Ok(Found::Other(object)) => object,
        // A change of something that the index does not keep is one as well.
        Ok(Found::AsExpected(Some((now, _)))) if version.is_some_and(|it| *it != now) => {
            target.object.clone()
        }
        Ok(Found::AsExpected(_)) | Err(_) => return None,
    };
    Some(AttemptOutcome::Changed { object })
}

/// Deletes the object that a request has made. The second request is in the journal before it leaves, as the first was.
async fn delete_made(
    client: &ApiClient,
    request: &Request,
    answer: &[u8],
    keep: impl AsyncFnOnce(Value) -> Result<(), NotKept>,
) -> Result<(), AttemptOutcome> {
    let unfinished = |message| AttemptOutcome::Unfinished { message, meanwhile: None };
    let made: Value = serde_json::from_slice(answer)
        .map_err(|error| unfinished(ProblemCode::Unreadable { why: chain(&error) }.into()))?;
    if made["metadata"]["uid"].as_str().is_none_or(str::is_empty) {
        return Err(unfinished(ProblemCode::NoUid.into()));
    }
    // An admission webhook may have taken the label off by which the object is known.
    let other = || AttemptOutcome::MadeOther { object: request.object.clone() };
    let delete = request.deleting(&made).ok_or_else(other)?;
    keep(made).await.map_err(between_the_requests)?;
    perform(client, &delete, "").await.map(drop).map_err(|problem| unfinished(problem.message()))
}

/// The first object that changed while the request was on its way, other than by the request.
async fn changed_meanwhile(
    client: &ApiClient,
    names: &Interner,
    premises: &[Premise],
) -> Option<ObjectRef> {
    let others = || premises.iter().filter(|it| !it.changes_with_it);
    let reads: Vec<_> = others().map(|it| premise::read(client, names, it)).collect();
    let reads: Vec<_> = stream::iter(reads).buffered(AT_ONCE).collect().await;
    others().zip(reads).find_map(|(premise, read)| match read {
        Ok(Found::AsExpected(_)) => None,
        Ok(Found::Other(object)) => Some(object),
        // One that cannot be read may have changed as well.
        Err(_) => Some(premise.object.clone()),
    })
}

/// The same as the index shows it, once the watches had time to.
async fn changed_in_index(
    call: &RemedyCall,
    look: impl Fn(bool) -> BoxFuture<'static, Result<(), AttemptOutcome>>,
) -> Option<ObjectRef> {
    if !call.basis.as_ref().is_some_and(|basis| basis.is_looked_at_after()) {
        return None;
    }
    tokio::time::sleep(SHOWN).await;
    look(true).await.err()?.changed().cloned()
}

/// Whether a premise is the object that the request changes, or the absence of the one that it creates.
fn is_target(request: &Request, premise: &Premise) -> bool {
    match &premise.expected {
        Expected::Unchanged(it) => Some(&it.uid) == request.uid.as_ref(),
        Expected::Absent => request.uid.is_none() && premise.object == request.object,
        _ => false,
    }
}

/// An `Err` is the outcome of a premise that does not hold, or cannot be read.
fn as_expected(read: Result<Found, ApiProblem>) -> Result<Option<(String, Bytes)>, AttemptOutcome> {
    match read {
        Ok(Found::AsExpected(object)) => Ok(object),
        Ok(Found::Other(object)) => Err(AttemptOutcome::Changed { object }),
        Err(message) => Err(AttemptOutcome::NotSent { message }),
    }
}

/// The same request as a dry run. A replacement is made of the object as it is now.
async fn dry(
    client: &ApiClient,
    names: &Interner,
    call: &RemedyCall,
) -> Result<Request, AttemptOutcome> {
    let mut request = call.request.clone();
    match (request.verb, call.premises.iter().find(|it| is_target(&request, it))) {
        (Verb::Delete, _) => request.body["dryRun"] = json!(["All"]),
        (Verb::Replace, Some(target)) => {
            let read = as_expected(premise::read(client, names, target).await)?;
            request = pin(&request, read.as_ref())?;
        }
        _ => {}
    }
    Ok(request)
}

/// The request for which the target must have the version that was read, so that the API server refuses it on any other. A
/// replacement keeps everything else of the target.
fn pin(request: &Request, target: Option<&(String, Bytes)>) -> Result<Request, AttemptOutcome> {
    let mut pinned = request.clone();
    let Some((version, live)) = target else { return Ok(pinned) };
    match (request.verb, pinned.body.as_array_mut()) {
        (Verb::Delete, _) => pinned.body["preconditions"]["resourceVersion"] = json!(version),
        (Verb::JsonPatch, Some(operations)) => {
            let test =
                json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
            operations.insert(0, test);
        }
        (Verb::Replace, _) => {
            let live = serde_json::from_slice(live).map_err(|error| AttemptOutcome::NotSent {
                message: ProblemCode::Unreadable { why: chain(&error) }.into(),
            })?;
            let changed = || AttemptOutcome::Changed { object: request.object.clone() };
            return request.replacing(&live).ok_or_else(changed);
        }
        // The other changes are harmless, or have no earlier version.
        (Verb::JsonPatch | Verb::MergePatch | Verb::Create, _) => {}
    }
    Ok(pinned)
}

fn read_copy(answer: Result<Answer, Failure>) -> Result<Value, ApiProblem> {
    let answer = answer.map_err(|failure| ApiProblem::from(&failure))?;
    if !answer.is_success() {
        return Err(answer.message());
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| ProblemCode::Unreadable { why: chain(&error) }.into())
}

/// Whether the answer to a dry run says nothing about the request itself: a webhook with side effects is not asked
/// (`staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go`).
fn predicts_nothing(message: &ApiProblem) -> bool {
    matches!(message, ApiProblem::Quoted(text) if text.contains("does not support dry run"))
}

/// The reason why a request is not known to have succeeded.
enum Problem {
    /// The API server refused, so there was no effect, and a guard of the request may be the reason.
    Guarded(ApiProblem),
    /// The API server refused for another reason, so there was no effect.
    Refused(ApiProblem),
    /// The effect is unknown.
    Unknown(ApiProblem),
}

impl Problem {
    fn message(self) -> ApiProblem {
        match self {
            Self::Guarded(message) | Self::Refused(message) | Self::Unknown(message) => message,
        }
    }
}

/// Sends the request with this query. Returns the body of the answer.
async fn perform(client: &ApiClient, request: &Request, query: &str) -> Result<Bytes, Problem> {
    let method = match request.verb {
        Verb::JsonPatch | Verb::MergePatch => Method::PATCH,
        Verb::Delete => Method::DELETE,
        Verb::Create => Method::POST,
        Verb::Replace => Method::PUT,
    };
    let content = match request.verb {
        Verb::JsonPatch => request::JSON_PATCH,
        Verb::MergePatch => "application/merge-patch+json",
        Verb::Delete | Verb::Create | Verb::Replace => request::JSON,
    };
    let path = format!("{}{query}", request.path);
    judged(request.verb, ask(client, method, &path, Some((content, &request.body))).await)
}

fn judged(verb: Verb, answer: Result<Answer, Failure>) -> Result<Bytes, Problem> {
    match answer {
        Ok(answer) if answer.is_success() => Ok(answer.body),
        Ok(answer) if is_of_guard(verb, answer.code) => Err(Problem::Guarded(answer.message())),
        // Nothing below 500 was done, except that 408 says only that the API server stopped waiting.
        Ok(answer) if answer.code < 500 && answer.code != 408 => {
            Err(Problem::Refused(answer.message()))
        }
        Ok(answer) => Err(Problem::Unknown(answer.message())),
        // The request was never sent.
        Err(failure @ Failure::Credentials) => Err(Problem::Refused((&failure).into())),
        Err(failure) => Err(Problem::Unknown((&failure).into())),
    }
}

/// Whether the API server may say with this code that the object is gone, or is another one, or that the name is taken. Of a patch it
/// says so with 422 as well: a `test` of a JSON patch failed
/// (`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go`), or the UID in a merge patch is not the object's
/// (`ReleasePod` in `pkg/controller/controller_ref_manager.go`).
fn is_of_guard(verb: Verb, code: u16) -> bool {
    matches!(code, 404 | 409) || code == 422 && matches!(verb, Verb::JsonPatch | Verb::MergePatch)
}

async fn ask(
    client: &ApiClient,
    method: Method,
    path: &str,
    body: Option<(&'static str, &Value)>,
) -> Result<Answer, Failure> {
    request::ask(client, request::with_body(method, path, body), DEADLINE).await
}

#[cfg(test)]
mod tests;
