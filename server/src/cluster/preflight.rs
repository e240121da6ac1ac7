//! Asks the API server the questions of preflights: dry runs of DELETE and of the PATCH that suspends, and access reviews. It
//! never retries, and it keeps apart from the calls of runs: eight questions at once over all preflights, each preflight for at
//! most 30 seconds. A request that is broken off does no harm, because none of them changes anything.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use http::Request;
use kube::client::Body;
use teardown::{
    action::Outcome,
    api_problem::{ApiProblem, ProblemCode},
    fetched::{Permission, Review},
    object::{Kind, ObjectRef},
    plan::Propagation,
    preflight::{Answer, Question, QuestionKind, Unasked, is_read_failure},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    access_review,
    delete::{DeleteOptions, delete},
    execute::{of_answer, of_failure, of_patch_answer},
    request::{self, ApiClient, Failure},
    status::Status,
    suspend::suspend,
    text::bounded,
};
use crate::hub::{Incoming, PreflightRequest};

/// Questions in flight at once, over all preflights.
const CONCURRENT: usize = 8;
/// The deadline of one question. Webhooks may take 10 s each by default.
const QUESTION: Duration = Duration::from_secs(10);
/// The deadline of a preflight.
const PREFLIGHT: Duration = Duration::from_secs(30);

/// Answers preflights until `drain` is cancelled or the hub is gone. A panic in a question is propagated.
pub(super) async fn answer_preflights(
    client: ApiClient,
    mailbox: mpsc::Sender<Incoming>,
    mut requests: mpsc::Receiver<PreflightRequest>,
    drain: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(CONCURRENT));
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = drain.cancelled() => return,
            Some(ended) = running.join_next() => propagate(ended),
            request = requests.recv() => match request {
                Some(request) => {
                    let (client, permits, mailbox) = (client.clone(), permits.clone(), mailbox.clone());
                    running.spawn(ask_all(client, permits, mailbox, request));
                }
                None => return,
            },
        }
    }
}

fn propagate(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// The reply to one question.
enum Reply {
    Answer(Answer),
    /// The API server asks for fewer requests.
    Throttled,
}

async fn ask_all(
    client: ApiClient,
    permits: Arc<Semaphore>,
    mailbox: mpsc::Sender<Incoming>,
    PreflightRequest { plan, attempt, questions }: PreflightRequest,
) {
    let end = Instant::now() + PREFLIGHT;
    let count = questions.len();
    let mut replies = stream::iter(questions)
        .map(|question| {
            let (client, permits) = (&client, &permits);
            async move {
                // The semaphore is never closed.
                let _permit = permits.acquire().await;
                (question.id, ask(client, &question).await)
            }
        })
        .buffer_unordered(CONCURRENT);
    let why = loop {
        match timeout_at(end, replies.next()).await {
            Err(_) => break Some(Unasked::Time),
            Ok(None) => break None,
            Ok(Some((_, Reply::Throttled))) => break Some(Unasked::Throttled),
            Ok(Some((question, Reply::Answer(answer)))) => {
                let answered = Incoming::Answered { plan: plan.clone(), attempt, question, answer };
                if mailbox.send(answered).await.is_err() {
                    // The process ends.
                    return;
                }
            }
        }
    };
    drop(replies);
    tracing::debug!(plan.id = %plan, questions = count, complete = why.is_none(), "preflight ended");
    // A closed mailbox means that the process ends.
    let _ = mailbox.send(Incoming::PreflightEnded { plan, attempt, why }).await;
}

async fn ask(client: &ApiClient, question: &Question) -> Reply {
    match question.id.asks {
        QuestionKind::DryRun { propagation } => dry_run(client, question, propagation).await,
        QuestionKind::MayDelete => review(client, question, "delete").await,
        QuestionKind::DrySuspend => dry_suspension(client, question).await,
        QuestionKind::MaySuspend => review(client, question, "patch").await,
    }
}

async fn dry_run(client: &ApiClient, question: &Question, propagation: Propagation) -> Reply {
    let Question { kind, object, uid, .. } = question;
    let options = DeleteOptions { uid, version: None, propagation, dry_run: true };
    let outcome_of = |answer: &_, kind: &_, object: &_| of_answer(answer, Some((kind, object)));
    try_out(client, question, delete(kind, object, &options), outcome_of).await
}

async fn dry_suspension(client: &ApiClient, question: &Question) -> Reply {
    let Question { kind, object, patch, .. } = question;
    let request = patch.as_ref().and_then(|patch| suspend(kind, object, patch, true));
    try_out(client, question, request, of_patch_answer).await
}

/// Sends a dry run. `outcome_of` translates an answer that is not a success and has none of the texts below.
async fn try_out(
    client: &ApiClient,
    question: &Question,
    request: Option<Result<Request<Body>, Failure>>,
    outcome_of: fn(&request::Answer, &Kind, &ObjectRef) -> Outcome,
) -> Reply {
    let Some(request) = request else {
        return Reply::Answer(Answer::Unknown { said: ProblemCode::NoPath.into() });
    };
    match request::ask(client, request, QUESTION).await {
        Ok(answer) if answer.is_success() => Reply::Answer(Answer::Accepted),
        Ok(answer) => read_refusal(&answer)
            .unwrap_or_else(|| read_outcome(outcome_of(&answer, &question.kind, &question.object))),
        Err(failure) => read_outcome(of_failure(&failure)),
    }
}

/// Reads a refusal of a dry run; `None` if its code alone decides.
///
/// The sentences are those of `k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go`, of
/// `…/webhook/validating/dispatcher.go` and of `…/endpoints/handlers/responsewriters/errors.go`.
fn read_refusal(answer: &request::Answer) -> Option<Reply> {
    let said = || answer.message();
    let status = Status::read(&answer.body)?;
    let message = &*status.message;
    let is_forbidden = || {
        let verbs = [" cannot delete resource ", " cannot patch resource "];
        answer.code == 403 && verbs.iter().any(|verb| message.contains(verb))
    };
    Some(Reply::Answer(if message.contains("does not support dry run") {
        Answer::NoDryRun { said: said() }
    } else if status.is_denial() {
        Answer::Denied { webhook: quoted_after(message, "admission webhook "), said: said() }
    } else if let Some(webhook) = quoted_after(message, "failed calling webhook ") {
        Answer::WebhookFails { webhook, said: said() }
    } else if is_read_failure(message) {
        // Somebody has to repair that first, so the request is refused as well. Another 500 may pass.
        Answer::Refused { said: said() }
    } else if is_forbidden() {
        Answer::Forbidden { said: Some(said()) }
    } else {
        return None;
    }))
}

fn read_outcome(outcome: Outcome) -> Reply {
    Reply::Answer(match outcome {
        Outcome::Throttled { .. } => return Reply::Throttled,
        Outcome::Accepted => Answer::Accepted,
        Outcome::NotFound | Outcome::OtherUid { .. } => Answer::Old,
        Outcome::Refused { message: said, .. } => Answer::Refused { said },
        Outcome::Unanswered { message: said, .. }
        | Outcome::Changed { message: said }
        | Outcome::Unknown { message: said } => Answer::Unknown { said },
        // No dry run has one of these outcomes.
        Outcome::Present { .. }
        | Outcome::Claim { .. }
        | Outcome::Pods(_)
        | Outcome::Content { .. }
        | Outcome::Unlisted { .. }
        | Outcome::Suspended
        | Outcome::Recalled => Answer::Unknown { said: ProblemCode::NotAnApiServer.into() },
    })
}

/// The text between quotes after a word, bounded: `word "text" …`.
fn quoted_after(message: &str, word: &str) -> Option<String> {
    let (_, rest) = message.split_once(word)?;
    let name = rest.strip_prefix('"')?.split('"').next()?;
    Some(bounded(name)).filter(|name| !name.is_empty())
}

async fn review(client: &ApiClient, question: &Question, verb: &'static str) -> Reply {
    let Question { kind, object, .. } = question;
    let permission = Permission {
        verb,
        group: kind.group.clone(),
        version: kind.version.clone(),
        resource: kind.plural.clone(),
        subresource: "".into(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    };
    let answer = match access_review::ask(client, &permission, QUESTION).await {
        Ok(answer) if answer.code == 429 => return Reply::Throttled,
        Ok(answer) => answer,
        Err(failure) => return Reply::Answer(Answer::Unknown { said: (&failure).into() }),
    };
    Reply::Answer(match access_review::read(&answer) {
        Ok(Review { allowed: true, .. }) => Answer::Accepted,
        Ok(Review { said, .. }) => {
            let said = Some(said.to_string()).filter(|said| !said.is_empty());
            Answer::Forbidden { said: said.map(ApiProblem::Quoted) }
        }
        Err(said) => Answer::Unknown { said },
    })
}

#[cfg(test)]
mod tests;
