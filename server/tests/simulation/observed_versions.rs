//! The versions that the server had observed at each time, read from the answers of its lists and watches.

use std::sync::{Arc, Mutex, PoisonError};

use http::Response;
use http_body_util::BodyExt;
use sandbox::{service::Body, store::Key};

use crate::transcript::Transcript;

/// The text in front of a version in the API server's JSON.
const VERSION: &str = r#""resourceVersion":""#;

/// The observed versions of all server instances.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedVersions(Arc<Mutex<Vec<Observation>>>);

#[derive(Debug)]
struct Observation {
    instance: u64,
    at: u64,
    /// The path of the collection.
    collection: Arc<str>,
    is_watch: bool,
    revision: u64,
}

/// A list that must come just before a DELETE.
#[derive(Clone, Copy)]
pub(crate) enum ReadBefore<'a> {
    /// Of the Pods in a namespace.
    Pods(&'a str),
    /// Of everything in a namespace.
    Namespace(&'a str),
    /// Of all objects of a kind.
    Kind { group: &'a str, plural: &'a str },
}

impl ReadBefore<'_> {
    fn is_of(self, collection: &str) -> bool {
        match self {
            Self::Pods(namespace) => collection == format!("/api/v1/namespaces/{namespace}/pods"),
            Self::Namespace(name) => collection
                .split_once(&format!("/namespaces/{name}/"))
                .is_some_and(|(_, resource)| !resource.contains('/')),
            Self::Kind { group, plural } => {
                let version = collection.strip_prefix(&format!("/apis/{group}/"));
                let resource = version.and_then(|it| it.split_once('/'));
                resource.is_some_and(|(_, resource)| resource == plural)
            }
        }
    }
}

impl ObservedVersions {
    /// Records the versions in the answer to a list or a watch, as the server reads it.
    pub(crate) fn record_answer(
        &self,
        answer: Response<Body>,
        instance: u64,
        (collection, is_watch): (&str, bool),
        transcript: &Transcript,
    ) -> Response<Body> {
        let (observed, collection, transcript) =
            (self.clone(), Arc::<str>::from(collection), transcript.clone());
        let mut reached = 0;
        answer.map(|body| {
            let noted = body.map_frame(move |frame| {
                let revision = frame.data_ref().and_then(|bytes| last_version(bytes));
                if let Some(revision) = revision.filter(|revision| *revision > reached) {
                    reached = revision;
                    observed.record(instance, transcript.now(), (&collection, is_watch), revision);
                }
                frame
            });
            noted.boxed_unsync()
        })
    }

    /// Records the version that a list or a watch of a collection had reached at a time.
    pub(crate) fn record(
        &self,
        instance: u64,
        at: u64,
        (collection, is_watch): (&Arc<str>, bool),
        revision: u64,
    ) {
        let collection = collection.clone();
        let observation = Observation { instance, at, collection, is_watch, revision };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(observation);
    }

    /// The time of the last answer of such a list that an instance had got by a time.
    pub(crate) fn last_read(&self, instance: u64, by: u64, list: ReadBefore<'_>) -> Option<u64> {
        let observations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reads = observations
            .iter()
            .filter(|it| !it.is_watch && it.instance == instance && it.at <= by)
            .filter(|it| list.is_of(&it.collection));
        reads.map(|it| it.at).max()
    }

    /// Whether an instance had observed an object by a time, if the object exists since a revision.
    pub(crate) fn had_observed(&self, instance: u64, by: u64, key: &Key, since: u64) -> bool {
        self.reached(instance, by, key, since, |_| true)
    }

    /// Whether a watch had shown an instance by a time how an object is since a revision. A read just before a DELETE looks at other
    /// things than a watch does.
    pub(crate) fn had_watched(&self, instance: u64, by: u64, key: &Key, since: u64) -> bool {
        self.reached(instance, by, key, since, |it| it.is_watch)
    }

    /// Whether one of these answers about the kind of an object had reached a revision by a time.
    fn reached(
        &self,
        instance: u64,
        by: u64,
        key: &Key,
        since: u64,
        counts: fn(&Observation) -> bool,
    ) -> bool {
        let group = match &*key.group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/"),
        };
        let everywhere = format!("/{}", key.plural);
        let inside = format!("/namespaces/{}/{}", key.namespace, key.plural);
        let observations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        observations.iter().any(|it| {
            let rest = it.collection.strip_prefix(&group);
            it.instance == instance
                && it.at <= by
                && it.revision >= since
                && counts(it)
                && rest.is_some_and(|rest| {
                    rest.ends_with(&inside)
                        || rest.ends_with(&everywhere) && !rest.contains("namespaces/")
                })
        })
    }
}

/// The last version in a chunk of an answer. In a list, the version of the list comes after those of its items.
fn last_version(bytes: &[u8]) -> Option<u64> {
    // A fault may have cut the chunk anywhere.
    let text = String::from_utf8_lossy(bytes);
    let (_, rest) = text.rsplit_once(VERSION)?;
    rest.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_version_of_a_chunk_is_found() {
        let list = br#"{"items":[{"metadata":{"resourceVersion":"7"}}],"metadata":{"resourceVersion":"12"}}"#;
        assert_eq!(last_version(list), Some(12));
        assert_eq!(last_version(b"{}"), None);
        assert_eq!(last_version(br#"{"resourceVersion":""}"#), None);
        assert_eq!(last_version(b"{\"resourceVersion\":\"7\",\"name\":\"\xf0\x9f"), Some(7));
    }

    #[test]
    fn object_is_observed_once_its_collection_has_reached_its_revision() {
        let observed = ObservedVersions::default();
        let observe = |instance, at, collection: &str, revision| {
            observed.record(instance, at, (&collection.into(), true), revision);
        };
        observe(0, 1_000, "/api/v1/configmaps", 10);
        observe(0, 2_000, "/apis/apps/v1/namespaces/a/deployments", 20);
        let config = Key::new("", "configmaps", "a", "x");
        let deployment = Key::new("apps", "deployments", "a", "x");
        assert!(observed.had_observed(0, 1_000, &config, 10));
        assert!(!observed.had_observed(0, 999, &config, 10), "later");
        assert!(!observed.had_observed(0, 1_000, &config, 11), "an older version");
        assert!(!observed.had_observed(1, 1_000, &config, 10), "another instance");
        assert!(observed.had_observed(0, 2_000, &deployment, 20));
        assert!(
            !observed.had_observed(0, 2_000, &Key::new("apps", "deployments", "b", "x"), 20),
            "elsewhere"
        );
        observed.record(0, 3_000, (&"/api/v1/configmaps".into(), false), 30);
        assert!(observed.had_observed(0, 3_000, &config, 30));
        assert!(!observed.had_watched(0, 3_000, &config, 30), "a list");
        assert!(observed.had_watched(0, 3_000, &config, 10));
        assert!(
            !observed.had_observed(0, 2_000, &Key::new("", "deployments", "a", "x"), 20),
            "another group"
        );
    }
}
