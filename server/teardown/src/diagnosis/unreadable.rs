//! Objects that the API server cannot read from its storage: their encryption key or their decoder is missing. One of them makes
//! every list of its kind fail, so no namespace can be found empty.

use std::sync::Arc;

use super::{
    case::Case,
    cause::{Cause, Confidence, Evidence, Finding, Source, Verdict},
};
use crate::{
    api_problem::ApiProblem,
    object::{Object, ObjectRef},
    unknown_reason::UnknownReason,
};

/// Words of the API server about an object that it cannot read: those of KEP-3926
/// (`staging/src/k8s.io/apiserver/pkg/registry/generic/registry/corrupt_obj_deleter.go`, `…/storage/errors.go`), and those of
/// versions without it (`…/storage/etcd3/store.go`, `…/storage/value/transformer.go`, `…/encrypt/identity/identity.go` and
/// `…/encrypt/aes/aes.go` beside it).
const WORDS: [&str; 8] = [
    "StorageReadError",
    "corrupt object has been detected",
    "failed to read one or more",
    "unable to transform key",
    "no matching prefix found",
    "no matching key was found for the provided",
    "identity transformer tried to read encrypted data",
    "invalid padding on input",
];

/// The verdict on a refusal that says so; `seen` is the resource that was read, where that is known.
pub(super) fn verdict(message: &str, seen: Option<&str>) -> Option<Verdict> {
    if !says_unreadable(message) {
        return None;
    }
    let resource: Arc<str> = named(message).or(seen).unwrap_or_default().into();
    let root =
        ObjectRef { group: "".into(), kind: resource.clone(), namespace: None, name: "".into() };
    Some(Verdict::at(Cause::Unreadable { resource }, root, Confidence::Confirmed))
}

/// Whether a message says that the API server cannot read an object from its storage.
pub(crate) fn says_unreadable(message: &str) -> bool {
    WORDS.iter().any(|words| message.contains(words))
}

/// The number of errors in a message that say so, each of which may do it in several words.
pub(super) fn count(message: &str) -> usize {
    WORDS.iter().map(|words| message.matches(words).count()).max().unwrap_or_default()
}

/// The object is of a kind whose list fails for that.
pub(super) fn own_kind<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let resource = object.kind.resource();
    let Err(UnknownReason::Hidden { message: ApiProblem::Quoted(said), .. }) =
        case.index.check_visible(&resource, object.namespace.as_deref())
    else {
        return;
    };
    let Some(verdict) = self::verdict(&said, Some(&resource)) else { return };
    let of = verdict.root.clone();
    let source = Source::Hidden(ApiProblem::Quoted(said));
    found.push(verdict.with([Evidence { of, source, said: String::new(), at: None }]).into());
}

/// The resource that a message names: by the key in the storage, `/registry/secrets/shop/a` or
/// `/registry/apps/deployments/…`, or in words, `failed to read one or more secrets from the storage`.
fn named(message: &str) -> Option<&str> {
    let in_words = message.split_once("failed to read one or more ");
    if let Some((resource, _)) = in_words.and_then(|(_, rest)| rest.split_once(" from the storage"))
    {
        return Some(resource);
    }
    let (_, key) = message.split_once("/registry/")?;
    let end = key.find(['"', ' ', ':', ',']).unwrap_or(key.len());
    let mut parts = key.get(..end)?.split('/');
    let first = parts.next().filter(|part| !part.is_empty())?;
    // A group has a dot, and its resource follows.
    if first.contains('.') { parts.next() } else { Some(first) }
}
