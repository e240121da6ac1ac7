//! All races, and the proof that every remedy that Unwind sends has some, every way to put something back, and every condition that
//! the page shows of a remedy.

use serde::de::DeserializeOwned;
use serde_json::json;
use teardown::remedy::{NeedCode, RemedyAct, SwitchedOff};

use super::{
    annotation, api, conversion, finalizer, grace, in_use, namespace, node, owner, pod, put_back,
    race::{BY_A_PERSON, BY_A_RUN, BY_HAND, BY_NAME, Case, LEFT_OFF, Race},
    scale_down, spec_finalizer, webhook,
};

/// The races of every file. The test of each file runs its own.
const RACES: [&[Race]; 13] = [
    annotation::RACES,
    api::RACES,
    conversion::RACES,
    finalizer::RACES,
    grace::RACES,
    in_use::RACES,
    namespace::RACES,
    node::RACES,
    owner::RACES,
    pod::RACES,
    scale_down::RACES,
    spec_finalizer::RACES,
    webhook::RACES,
];

fn all() -> impl Iterator<Item = &'static Race> {
    RACES.into_iter().flatten()
}

/// The codes of all variants of a type, as serde names them to whoever sends another one.
fn codes<T: DeserializeOwned>() -> Vec<String> {
    let Err(error) = serde_json::from_value::<T>(json!("?")) else { return Vec::new() };
    let error = error.to_string();
    let (_, expected) = error.split_once("expected").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_remedy_is_done_by_hand_or_has_its_races() {
    let acts = codes::<RemedyAct>();
    assert!(acts.len() > 40, "{acts:?}");
    let is_raced = |act: &str| all().any(|race| race.act == act);
    let is_sent = |act: &str| !BY_HAND.contains(&act) && !BY_A_RUN.contains(&act);
    for act in &acts {
        assert_eq!(is_raced(act), is_sent(act), "{act}");
    }
    let listed = BY_HAND.into_iter().chain(BY_A_RUN).chain(all().map(|race| race.act));
    for act in listed {
        assert!(acts.iter().any(|it| it == act), "there is no remedy {act}");
    }
}

/// All things that can be switched off. One that comes to the type does not compile here until it has its place.
fn switched_off() -> [SwitchedOff; 10] {
    use SwitchedOff::{
        Api, ClaimPolicy, Configuration, Conversion, Namespace, Node, Parent, Reclaim, Webhook,
        Workload,
    };
    let place = |what: SwitchedOff| match what {
        Node => 0,
        Webhook => 1,
        Configuration => 2,
        Api => 3,
        Workload => 4,
        ClaimPolicy => 5,
        Reclaim => 6,
        Parent => 7,
        Conversion => 8,
        Namespace => 9,
    };
    let all = [
        Node,
        Webhook,
        Configuration,
        Api,
        Workload,
        ClaimPolicy,
        Reclaim,
        Parent,
        Conversion,
        Namespace,
    ];
    assert!(all.into_iter().map(place).eq(0..all.len()));
    all
}

/// The race of a remedy fails where the remedy leaves something off that [`LEFT_OFF`] does not name.
#[test]
fn everything_that_is_switched_off_is_put_back_in_a_race() {
    for what in switched_off() {
        assert!(put_back::RACES.iter().any(|race| race.what == what), "{what:?}");
    }
    for (act, what) in LEFT_OFF {
        let is_put_back = put_back::RACES.iter().any(|it| it.act == act && it.what == what);
        assert!(is_put_back && all().any(|race| race.act == act), "{act}: {what:?}");
    }
    for race in put_back::RACES {
        let is_done = all().any(|it| it.act == race.act) || BY_A_RUN.contains(&race.act);
        assert!(is_done, "{}", race.act);
    }
}

#[test]
fn every_condition_is_a_persons_word_or_falsified_in_a_race() {
    let needs = codes::<NeedCode>();
    assert!(needs.len() > 10, "{needs:?}");
    let is_falsified =
        |need: &str| all().flat_map(|race| race.cases).any(|case| case.falsifies.contains(&need));
    for need in &needs {
        let is_known =
            BY_A_PERSON.contains(&&**need) || BY_NAME.contains(&&**need) || is_falsified(need);
        assert!(is_known, "nothing falsifies {need}");
    }
    let named = |case: &'static Case| case.falsifies.iter().copied();
    let listed = all().flat_map(|race| race.cases).flat_map(named);
    for need in listed.chain(BY_A_PERSON).chain(BY_NAME) {
        assert!(needs.iter().any(|it| it == need), "there is no condition {need}");
    }
}
