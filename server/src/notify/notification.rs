//! One notification: the fields that a program reads, and the sentences that a person reads.

use app::text::{self, Handling, NoteForm};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use teardown::{
    advice::Standpoint, diagnosis::Confidence, message::DiagnosisCard, object::ObjectRef,
};

/// The event that a notification reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event {
    /// A root holds deletions past their deadline.
    Stuck,
    /// Nothing waits for that root any more.
    Resolved,
}

/// A notification about one root. As JSON it is the body of the format `json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notification {
    /// The event.
    pub(super) event: Event,
    /// The time of the event.
    #[serde(with = "teardown::millis::required")]
    pub(super) at: Timestamp,
    /// The cluster's name in the kubeconfig.
    pub(super) cluster: String,
    /// The root. It stays the same while the cause at it changes, and both events of a root have the same.
    pub(super) id: String,
    /// The code of the cause.
    pub(super) cause: String,
    /// The object where the cause sits; the name is empty where the cause concerns all objects of a kind.
    pub(super) root: ObjectRef,
    /// How sure the cause is.
    pub(super) confidence: Confidence,
    /// The number of objects that waited when the root got stuck.
    pub(super) total: usize,
    /// The time at which the first of them was deleted.
    #[serde(with = "teardown::millis::required")]
    pub(super) since: Timestamp,
    /// The cause in one sentence, as it was when the root got stuck.
    pub(super) sentence: String,
    /// The event, the cluster and the cause.
    pub(super) title: String,
    /// The incident note, as Markdown; empty once it is resolved.
    pub(super) text: String,
}

impl Notification {
    /// The notification that a root is stuck. It holds codes, names and counts: the words of the cluster and of persons, which
    /// may quote a secret, stay on the page.
    pub(super) fn stuck(card: &DiagnosisCard, cluster: &str, at: Timestamp) -> Self {
        let card = &card.without_words();
        let diagnosis = &card.diagnosis;
        let sentence = text::cause(diagnosis);
        let (identity, freshness) = (None, None);
        let nothing = Handling { remedies: &[], attempts: &[], switched_off: &[] };
        let standpoint = Standpoint { cluster: cluster.to_owned(), identity, freshness, now: at };
        Self {
            event: Event::Stuck,
            at,
            cluster: cluster.to_owned(),
            id: diagnosis.root_id().to_owned(),
            cause: diagnosis.cause.name().to_owned(),
            root: diagnosis.root.clone(),
            confidence: diagnosis.confidence,
            total: diagnosis.total,
            since: diagnosis.since,
            title: text::stuck_in(cluster, &sentence),
            sentence,
            text: text::incident_note(card, nothing, &standpoint, NoteForm::Markdown),
        }
    }

    /// The notification that the root of this one is resolved.
    pub(super) fn resolved(self, at: Timestamp) -> Self {
        let title = text::resolved_in(&self.cluster, &self.sentence);
        Self { event: Event::Resolved, at, title, text: String::new(), ..self }
    }
}
