//! How old the state is that a diagnosis was made from: the watches without an answer, among those that it depends on.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::Diagnosis;
use crate::index::Index;

/// The time without an answer that is no news: a watch is tried again within it, as after a restart of the API server.
const QUIET: SignedDuration = SignedDuration::from_secs(30);

/// The kinds, and group versions of kinds, that a diagnosis depends on and whose watches have had no answer for longer than 30 s,
/// each with the time since which this holds.
pub fn unanswered(
    index: &Index,
    diagnosis: &Diagnosis,
    now: Timestamp,
) -> Vec<(String, Timestamp)> {
    let named = diagnosis.waiting.iter().map(|held| &held.object).chain([&diagnosis.root]);
    let kinds = named.filter_map(|name| index.named(name)).map(|object| &object.kind);
    let mut involved: BTreeSet<String> = kinds
        .flat_map(|kind| {
            let version = match &*kind.group {
                "" => kind.version.to_string(),
                group => format!("{group}/{}", kind.version),
            };
            [kind.resource(), version]
        })
        .collect();
    if diagnosis.cause.node().is_some() {
        let around = ["nodes", "pods", "volumeattachments.storage.k8s.io"];
        involved.extend(around.map(str::to_owned));
    }
    let hidden = index.hidden_kinds().into_iter();
    hidden
        .filter(|(resource, kind)| {
            involved.contains(resource) && now.duration_since(kind.since) > QUIET
        })
        .map(|(resource, kind)| (resource, kind.since))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnosis::diagnose,
        fixture,
        graph::Graph,
        observation::{HiddenCause, Observation},
    };

    #[test]
    fn only_kinds_of_the_card_are_listed_and_only_after_half_a_minute() {
        let mut index = fixture::index(
            "node n1\npod shop/a node=n1 deleted=400 grace=30 containers=web:running\ncm shop/c",
        );
        let since = |seconds: i64| fixture::now() - SignedDuration::from_secs(seconds);
        for (resource, seconds) in [("nodes", 31), ("pods", 30), ("configmaps", 300)] {
            let (cause, message) = (HiddenCause::Failing, "broken".into());
            let hidden = Observation::Hidden { resource: resource.into(), cause, message };
            index.apply([hidden], since(seconds));
        }
        let found = diagnose(&index, &Graph::of(&index), fixture::now());
        let listed = unanswered(&index, &found[0], fixture::now());
        assert_eq!(listed, [("nodes".to_owned(), since(31))]);
    }
}
