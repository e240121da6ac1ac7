//! The first way out of each cause. To wait harms nobody, so it would stand first everywhere; it may only where nothing but time is
//! missing.

use super::{situations, *};
use crate::remedy::{Harm, RemedyAct, remedies};

/// The causes that may end while nobody does anything, in the order of `Cause::NAMES`. Of every other one a person who only waits
/// waits in vain: the driver is not registered again, and the claim does not come back, by itself.
const MAY_END_ALONE: [&str; 8] = [
    "withinGrace",
    "nodeMissing",
    "volumesMounted",
    "podDirectoryLeft",
    "copied",
    "volumeAttached",
    "looksAgain",
    "finisherBusy",
];

fn is_wait(act: &RemedyAct) -> bool {
    matches!(act, RemedyAct::Wait { .. })
}

#[test]
fn waiting_stands_first_only_for_causes_that_may_end_alone() {
    let mut first = Vec::new();
    for situation in &situations::ALL {
        let index = situation.whole();
        let (graph, now) = (Graph::of(&index), fixture::now());
        let found = diagnose(&index, &graph, now);
        let it = found.iter().find(|it| it.cause.name() == situation.cause).unwrap();
        let ways = remedies(it, &index, &graph, now);
        if is_wait(&ways.first().unwrap_or_else(|| panic!("{} has no way out", it.id)).act) {
            first.push(situation.cause);
        }
        if !MAY_END_ALONE.contains(&situation.cause)
            && let Some(place) = ways.iter().position(|it| is_wait(&it.act))
        {
            let is_harmless = |harm| harm == Harm::None;
            assert!(ways[..place].iter().all(|it| is_harmless(it.harm)), "{ways:?}");
            assert!(ways[place + 1..].iter().all(|it| !is_harmless(it.harm)), "{ways:?}");
        }
    }
    assert_eq!(first, MAY_END_ALONE);
    let causes: Vec<&str> = situations::ALL.iter().map(|it| it.cause).collect();
    assert_eq!(causes, Cause::NAMES, "each cause has its situation");
}
