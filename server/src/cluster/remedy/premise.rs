//! Reads one premise of a remedy. Each read is consistent: it names no resource version, so the API server answers from its
//! storage, and all pages of a list show the same moment.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use teardown::{
    action::Outcome,
    api_problem::{ApiProblem, ProblemCode},
    object::{Kind, Object, ObjectRef, Uid},
    remedy::{Expected, List, Premise, has_same_claim_policy, has_same_data_fate, keeps_claims},
};
use tokio::time::timeout;

use super::{FRESH, LONG};
use crate::cluster::{
    convert::{self, Page, Unreadable},
    execute::{self, ContentReader},
    fetch,
    interner::Interner,
    request::{self, Answer, ApiClient},
    text::chain,
};

/// Objects per page of a list.
const PAGE: usize = 500;

/// The result of a read.
pub(super) enum Found {
    /// It is as expected. An object comes with its version, and as the API server wrote it.
    AsExpected(Option<(String, Bytes)>),
    /// This object is not.
    Other(ObjectRef),
}

/// Whether a premise may take longer to read than the time before the request in which the others are read.
pub(super) fn is_long(premise: &Premise) -> bool {
    matches!(premise.expected, Expected::Content { .. })
}

/// Reads a premise within [`FRESH`], or [`LONG`].
pub(super) async fn read(
    client: &ApiClient,
    names: &Interner,
    premise: &Premise,
) -> Result<Found, ApiProblem> {
    let limit = if is_long(premise) { LONG } else { FRESH };
    let late = |_| Err(ProblemCode::Timeout { seconds: limit.as_secs() }.into());
    timeout(limit, look(client, names, premise)).await.unwrap_or_else(late)
}

async fn look(
    client: &ApiClient,
    names: &Interner,
    premise: &Premise,
) -> Result<Found, ApiProblem> {
    let Premise { object, kind, expected, changes_with_it: _ } = premise;
    let is_so = match expected {
        Expected::Unchanged(was) => return unchanged(client, names, was).await,
        Expected::SameDataFate(was) => has_data_fate(client, names, was).await?,
        Expected::SameClaimPolicy(was) => is_set(client, names, was, has_same_claim_policy).await?,
        Expected::KeepsClaims(was) => is_set(client, names, was, keeps_claims).await?,
        Expected::Content { known } => return content(client, object, known).await,
        Expected::Only { list, known } => {
            return only(client, names, (object, kind), *list, known).await;
        }
        Expected::Absent => is_absent(client, kind, object).await?,
        Expected::NotRenewed(renewed) => {
            // A lease that went with its Node is not renewed.
            let lease = fetch::node_lease(client, &object.name).await?;
            lease.is_none_or(|lease| lease.renewed == *renewed)
        }
        Expected::NoReadyEndpoints => {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            fetch::ready_endpoints(client, namespace, &object.name).await? == 0
        }
    };
    Ok(if is_so { Found::AsExpected(None) } else { Found::Other(object.clone()) })
}

/// Whether the API server says that there is no object of this name. 404 also says that the kind is not served, or that a
/// proxy answered.
async fn is_absent(
    client: &ApiClient,
    kind: &Kind,
    object: &ObjectRef,
) -> Result<bool, ApiProblem> {
    let path = request::object_path(kind, object).ok_or(ProblemCode::NoPath)?;
    let answer = get(client, &path, convert::metadata_media_type(kind)).await?;
    if answer.is_success() {
        return Ok(false);
    }
    match execute::of_answer(&answer, Some((kind, object))) {
        Outcome::NotFound => Ok(true),
        _ => Err(answer.message()),
    }
}

/// An object that is gone is not as it was.
async fn unchanged(
    client: &ApiClient,
    names: &Interner,
    was: &Arc<Object>,
) -> Result<Found, ApiProblem> {
    let answer = get_object(client, was).await?;
    if answer.code == 404 {
        return Ok(Found::Other(was.reference()));
    }
    let now = object_of(&answer, was, names)?.filter(|(now, _)| *now == **was);
    Ok(match now {
        Some((_, version)) => Found::AsExpected(Some((version, answer.body))),
        None => Found::Other(was.reference()),
    })
}

/// Whether a claim that goes decides over the data of a volume as it did. A volume that is gone holds none.
async fn has_data_fate(
    client: &ApiClient,
    names: &Interner,
    was: &Object,
) -> Result<bool, ApiProblem> {
    let answer = get_object(client, was).await?;
    if !answer.is_success()
        && execute::of_answer(&answer, Some((&was.kind, &was.reference()))) == Outcome::NotFound
    {
        return Ok(true);
    }
    let now = object_of(&answer, was, names)?;
    Ok(now.is_some_and(|(now, _)| has_same_data_fate(was, &now)))
}

/// Whether this is so of a StatefulSet as it was and as it is. Nothing is of one that is gone.
async fn is_set(
    client: &ApiClient,
    names: &Interner,
    was: &Object,
    is_so: fn(&Object, &Object) -> bool,
) -> Result<bool, ApiProblem> {
    let answer = get_object(client, was).await?;
    if answer.code == 404 {
        return Ok(false);
    }
    let now = object_of(&answer, was, names)?;
    Ok(now.is_some_and(|(now, _)| is_so(was, &now)))
}

async fn get_object(client: &ApiClient, was: &Object) -> Result<Answer, ApiProblem> {
    let path = request::object_path(&was.kind, &was.reference()).ok_or(ProblemCode::NoPath)?;
    get(client, &path, convert::media_type(&was.kind)).await
}

/// The object of an answer, with its version.
fn object_of(
    answer: &Answer,
    was: &Object,
    names: &Interner,
) -> Result<Option<(Object, String)>, ApiProblem> {
    convert::object_and_version(&was.kind, body(answer)?, names).map_err(|it| unreadable(&it))
}

/// The first object in a namespace that is not among the known ones, of any kind that can be listed and deleted. The same read
/// precedes the DELETE of a namespace in a run.
async fn content(
    client: &ApiClient,
    namespace: &ObjectRef,
    known: &BTreeSet<Uid>,
) -> Result<Found, ApiProblem> {
    match ContentReader::default().read(client, &namespace.name, &[]).await {
        Outcome::Content { objects, .. } => {
            let mut others = objects.into_iter().filter(|it| !known.contains(&it.uid));
            Ok(others.next().map_or(Found::AsExpected(None), |it| Found::Other(it.object)))
        }
        Outcome::Unlisted { resource, message } => {
            Err(ProblemCode::Unlisted { resource, why: Box::new(message) }.into())
        }
        Outcome::Unanswered { message, .. }
        | Outcome::Unknown { message }
        | Outcome::Refused { message, .. } => Err(message),
        Outcome::Throttled { .. } => {
            Err(ProblemCode::Status { code: 429, said: String::new() }.into())
        }
        // No read of content has another outcome.
        _ => Err(ProblemCode::NotAnApiServer.into()),
    }
}

/// The first object of a list that is not among the known ones.
async fn only(
    client: &ApiClient,
    names: &Interner,
    (of, kind): (&ObjectRef, &Arc<Kind>),
    list: List,
    known: &BTreeSet<Uid>,
) -> Result<Found, ApiProblem> {
    let name = request::segment(&of.name).ok_or(ProblemCode::NoPath)?;
    let filter = match list {
        List::OnNode => format!("&fieldSelector=spec.nodeName%3D{name}"),
        List::SilentNodes | List::OfVolume | List::Users => String::new(),
    };
    let namespace = match list {
        List::Users => of.namespace.as_deref(),
        List::OnNode | List::SilentNodes | List::OfVolume => None,
    };
    let path = request::path(kind, namespace).ok_or(ProblemCode::NoPath)?;
    let mut next = String::new();
    loop {
        let page = format!("{}{filter}", request::page(&path, PAGE, &next));
        let answer = get(client, &page, convert::list_media_type(kind)).await?;
        let page: Page<'_> = serde_json::from_str(body(&answer)?).map_err(|it| unreadable(&it))?;
        for item in page.items.unwrap_or_default() {
            let object = convert::object(kind, item.get(), names).map_err(|it| unreadable(&it))?;
            let is_its = |it: &Object| list.has(it, of) && !known.contains(&it.uid);
            if let Some(object) = object.filter(is_its) {
                return Ok(Found::Other(object.reference()));
            }
        }
        if page.metadata.next.is_empty() {
            return Ok(Found::AsExpected(None));
        }
        next = page.metadata.next;
    }
}

async fn get(client: &ApiClient, path: &str, accept: &str) -> Result<Answer, ApiProblem> {
    let sent = request::ask(client, request::get(path, accept), FRESH).await;
    sent.map_err(|failure| ApiProblem::from(&failure))
}

/// The body of a success.
fn body(answer: &Answer) -> Result<&str, ApiProblem> {
    if !answer.is_success() {
        return Err(answer.message());
    }
    std::str::from_utf8(&answer.body)
        .map_err(|error| ProblemCode::Unreadable { why: chain(&error) }.into())
}

fn unreadable(error: &Unreadable) -> ApiProblem {
    ProblemCode::Unreadable { why: chain(error) }.into()
}
