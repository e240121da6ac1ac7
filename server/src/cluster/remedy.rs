//! Sends the request of a remedy that a person has confirmed, as one guarded sequence: try the request where that is
//! safe, read its premises, send it, and read them again. It never retries.
//!
//! # Decisions
//! - The reads and the request are less than [`FRESH`] apart. If the reads took longer, nothing is sent.
//! - An object that is not exactly as the index had it when the person confirmed ends the sequence: the decision was about
//!   another cluster.
//! - The API server takes the options of a DELETE from its body alone, so the dry run of one is asked for there
//!   (`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go`).
//! - The version of the target that was read travels in the request: whatever changes it in between refuses the request.
//! - A copy that is needed to put the target back is in the journal before the request leaves: the server may end before the
//!   answer comes.
//! - A dry run that cannot be made, because a webhook has side effects, predicts nothing and ends nothing.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use http::Method;

use serde_json::{Value, json};
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    object::{Object, ObjectRef},
    remedy::{AttemptOutcome, Request, Verb},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    convert,
    interner::Interner,
    request::{self, Answer, ApiClient, Failure},
    text::chain,
};
use crate::hub::{Incoming, RemedyCall};

/// The deadline of each request.
const DEADLINE: Duration = Duration::from_secs(10);
/// The longest time between the start of the reads and the request.
const FRESH: Duration = Duration::from_secs(1);

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
    let outcome = guarded(&client, &names, &call, keep).await.unwrap_or_else(|outcome| outcome);
    tracing::info!(attempt.id = %call.attempt, outcome = name(&outcome), "remedy ended");
    // A closed mailbox means that the process ends; the next one counts the effect as unknown.
    let _ = mailbox.send(Incoming::RemedyCompleted { attempt: call.attempt, outcome }).await;
}

/// Has the hub keep the copy of the target. An `Err` means that it is not kept, so nothing may be sent.
async fn keep(
    mailbox: &mpsc::Sender<Incoming>,
    call: &RemedyCall,
    copy: Value,
) -> Result<(), AttemptOutcome> {
    let (reply, kept) = oneshot::channel();
    let copied = Incoming::RemedyCopied { attempt: call.attempt.clone(), copy, reply };
    let ends = |_| AttemptOutcome::Unknown { message: None };
    mailbox.send(copied).await.map_err(|_| AttemptOutcome::Unknown { message: None })?;
    kept.await.map_err(ends)?
}

/// The name of an outcome; no other part of it is logged.
fn name(outcome: &AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Sending => "sending",
        AttemptOutcome::Changed { .. } => "changed",
        AttemptOutcome::NotSent { .. } => "not sent",
        AttemptOutcome::Refused { .. } => "refused",
        AttemptOutcome::Accepted { .. } => "accepted",
        AttemptOutcome::Unknown { .. } => "unknown",
    }
}

/// The sequence. An `Err` ends it before its last part.
async fn guarded(
    client: &ApiClient,
    names: &Interner,
    call: &RemedyCall,
    keep: impl AsyncFnOnce(Value) -> Result<(), AttemptOutcome>,
) -> Result<AttemptOutcome, AttemptOutcome> {
    let RemedyCall { request, premises, .. } = call;
    if call.is_dry_run_safe {
        let tried = perform(client, &dry(request), "?dryRun=All").await;
        if let Err(message) = tried.map_err(Problem::message)
            && !predicts_nothing(&message)
        {
            return Err(AttemptOutcome::NotSent { message });
        }
    }
    let began = Instant::now();
    let reads = join_all(premises.iter().map(|premise| unchanged(client, names, premise))).await;
    let mut request = request.clone();
    for (premise, read) in premises.iter().zip(reads) {
        match read {
            Ok(Some(version)) if Some(&premise.uid) == request.uid.as_ref() => {
                pin(&mut request, &version);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Err(AttemptOutcome::Changed { object: premise.reference() }),
            Err(message) => return Err(AttemptOutcome::NotSent { message }),
        }
    }
    if call.keeps_copy {
        let answer = ask(client, Method::GET, &request.path, None).await;
        keep(read_copy(answer).map_err(|message| AttemptOutcome::NotSent { message })?).await?;
    }
    if began.elapsed() > FRESH {
        let message = ProblemCode::Timeout { seconds: FRESH.as_secs() }.into();
        return Err(AttemptOutcome::NotSent { message });
    }
    match perform(client, &request, "").await {
        Err(Problem::Refused(message)) => return Err(AttemptOutcome::Refused { message }),
        Err(Problem::Unknown(message)) => {
            return Err(AttemptOutcome::Unknown { message: Some(message) });
        }
        Ok(()) => {}
    }
    let others = premises.iter().filter(|it| Some(&it.uid) != request.uid.as_ref());
    let mut meanwhile: Option<ObjectRef> = None;
    for premise in others {
        // One that cannot be read may have changed as well.
        if !matches!(unchanged(client, names, premise).await, Ok(Some(_))) {
            meanwhile = Some(premise.reference());
        }
    }
    Ok(AttemptOutcome::Accepted { meanwhile })
}

/// The same request as a dry run.
fn dry(request: &Request) -> Request {
    let mut request = request.clone();
    if request.verb == Verb::Delete {
        request.body["dryRun"] = json!(["All"]);
    }
    request
}

/// Lets the API server refuse the request if the target has another version.
fn pin(request: &mut Request, version: &str) {
    match (request.verb, request.body.as_array_mut()) {
        (Verb::Delete, _) => request.body["preconditions"]["resourceVersion"] = json!(version),
        (Verb::JsonPatch, Some(operations)) => {
            let test =
                json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
            operations.insert(0, test);
        }
        // The other changes are harmless, or have no earlier version.
        (Verb::JsonPatch | Verb::MergePatch | Verb::Create, _) => {}
    }
}

/// The version of the object if it is still exactly as it was. An object that is gone is not.
async fn unchanged(
    client: &ApiClient,
    names: &Interner,
    object: &Object,
) -> Result<Option<String>, ApiProblem> {
    let kind = &object.kind;
    let namespace = object.namespace.as_deref();
    let path = request::path(kind, namespace).zip(request::segment(&object.name));
    let Some((list, name)) = path else { return Err(ProblemCode::NoPath.into()) };
    let sent = match request::get(&format!("{list}/{name}"), convert::media_type(kind)) {
        Ok(request) => request::ask(client, request, FRESH).await,
        Err(failure) => Err(failure),
    };
    let answer = sent.map_err(|failure| ApiProblem::from(&failure))?;
    if answer.code == 404 {
        return Ok(None);
    }
    if !answer.is_success() {
        return Err(answer.message());
    }
    let unreadable = |why: String| -> ApiProblem { ProblemCode::Unreadable { why }.into() };
    let text = std::str::from_utf8(&answer.body).map_err(|error| unreadable(chain(&error)))?;
    let now = convert::object_and_version(kind, text, names)
        .map_err(|error| unreadable(chain(&error)))?;
    Ok(now.filter(|(now, _)| now == object).map(|(_, version)| version))
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
    /// The API server refused, so there was no effect.
    Refused(ApiProblem),
    /// The effect is unknown.
    Unknown(ApiProblem),
}

impl Problem {
    fn message(self) -> ApiProblem {
        match self {
            Self::Refused(message) | Self::Unknown(message) => message,
        }
    }
}

/// Sends the request with this query.
async fn perform(client: &ApiClient, request: &Request, query: &str) -> Result<(), Problem> {
    let method = match request.verb {
        Verb::JsonPatch | Verb::MergePatch => Method::PATCH,
        Verb::Delete => Method::DELETE,
        Verb::Create => Method::POST,
    };
    let content = match request.verb {
        Verb::JsonPatch => request::JSON_PATCH,
        Verb::MergePatch => "application/merge-patch+json",
        Verb::Delete | Verb::Create => request::JSON,
    };
    let path = format!("{}{query}", request.path);
    judged(ask(client, method, &path, Some((content, &request.body))).await)
}

fn judged(answer: Result<Answer, Failure>) -> Result<(), Problem> {
    match answer {
        Ok(answer) if answer.is_success() => Ok(()),
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

async fn ask(
    client: &ApiClient,
    method: Method,
    path: &str,
    body: Option<(&'static str, &Value)>,
) -> Result<Answer, Failure> {
    request::ask(client, request::with_body(method, path, body)?, DEADLINE).await
}

#[cfg(test)]
mod tests;
