//! What the server was told, and when: the versions that its lists and watches had reached, read off the wire.

use std::sync::{Arc, Mutex, PoisonError};

use http::Response;
use http_body_util::BodyExt;
use sandbox::{service::Body, store::Key};

use crate::story::Story;

/// What comes before a version in the API server's JSON.
const VERSION: &str = r#""resourceVersion":""#;

/// Everything that the server was told, over all its lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<Word>>>);

#[derive(Debug)]
struct Word {
    life: u64,
    at: u64,
    /// The path of the collection.
    collection: Arc<str>,
    revision: u64,
}

impl Told {
    /// Notes what a list or a watch of this collection tells, as it tells it.
    pub(crate) fn listen(
        &self,
        answer: Response<Body>,
        life: u64,
        collection: &str,
        story: &Story,
    ) -> Response<Body> {
        let (told, collection, story) = (self.clone(), Arc::<str>::from(collection), story.clone());
        let mut reached = 0;
        answer.map(|body| {
            let noted = body.map_frame(move |frame| {
                let revision = frame.data_ref().and_then(|bytes| last_version(bytes));
                if let Some(revision) = revision.filter(|revision| *revision > reached) {
                    reached = revision;
                    told.hear(life, story.now(), &collection, revision);
                }
                frame
            });
            noted.boxed_unsync()
        })
    }

    /// Notes how far a list or a watch of this collection had come when.
    pub(crate) fn hear(&self, life: u64, at: u64, collection: &Arc<str>, revision: u64) {
        let word = Word { life, at, collection: collection.clone(), revision };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(word);
    }

    /// Whether this life had heard of the object of this key by a time, if it has been there since a revision.
    pub(crate) fn knew(&self, life: u64, by: u64, key: &Key, since: u64) -> bool {
        let group = match &*key.group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/"),
        };
        let everywhere = format!("/{}", key.plural);
        let inside = format!("/namespaces/{}/{}", key.namespace, key.plural);
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().any(|word| {
            let rest = word.collection.strip_prefix(&group);
            word.life == life
                && word.at <= by
                && word.revision >= since
                && rest.is_some_and(|rest| {
                    rest.ends_with(&inside)
                        || rest.ends_with(&everywhere) && !rest.contains("namespaces/")
                })
        })
    }
}

/// The last version in a piece of an answer: of a list, whose own comes after its items', or of a watch's event.
fn last_version(bytes: &[u8]) -> Option<u64> {
    // A fault may have cut it anywhere.
    let text = String::from_utf8_lossy(bytes);
    let (_, rest) = text.rsplit_once(VERSION)?;
    rest.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_counts() {
        let list = br#"{"items":[{"metadata":{"resourceVersion":"7"}}],"metadata":{"resourceVersion":"12"}}"#;
        assert_eq!(last_version(list), Some(12));
        assert_eq!(last_version(b"{}"), None);
        assert_eq!(last_version(br#"{"resourceVersion":""}"#), None);
        assert_eq!(last_version(b"{\"resourceVersion\":\"7\",\"name\":\"\xf0\x9f"), Some(7));
    }

    #[test]
    fn who_was_told_knows() {
        let told = Told::default();
        let word = |life, at, collection: &str, revision| {
            told.hear(life, at, &collection.into(), revision);
        };
        word(0, 1_000, "/api/v1/configmaps", 10);
        word(0, 2_000, "/apis/apps/v1/namespaces/a/deployments", 20);
        let config = Key::new("", "configmaps", "a", "x");
        let deployment = Key::new("apps", "deployments", "a", "x");
        assert!(told.knew(0, 1_000, &config, 10));
        assert!(!told.knew(0, 999, &config, 10), "later");
        assert!(!told.knew(0, 1_000, &config, 11), "of older ones");
        assert!(!told.knew(1, 1_000, &config, 10), "another life");
        assert!(told.knew(0, 2_000, &deployment, 20));
        assert!(!told.knew(0, 2_000, &Key::new("apps", "deployments", "b", "x"), 20), "elsewhere");
        assert!(!told.knew(0, 2_000, &Key::new("", "deployments", "a", "x"), 20), "another group");
    }
}
