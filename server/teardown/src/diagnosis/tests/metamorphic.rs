//! A verdict may weaken where a fact is missing, and never turns to another root: each fact is removed in turn, names are
//! changed, clocks are skewed, a kind is hidden.

use jiff::SignedDuration;

use super::{
    situations::{ALL, Situation},
    *,
};
use crate::{
    object::Facts,
    observation::{HiddenCause, Observation},
};

fn found(index: &Index, now: Timestamp) -> Vec<Diagnosis> {
    diagnose(index, &Graph::of(index), now)
}

/// The verdicts of a situation as it stands, the one that it is about among them.
fn whole(situation: &Situation) -> Vec<Diagnosis> {
    let found = found(&situation.whole(), fixture::now());
    let names: Vec<&str> = found.iter().map(|it| it.cause.name()).collect();
    assert!(names.contains(&situation.cause), "{}: {names:?}", situation.cause);
    found
}

/// The verdicts at another root than those before. A verdict that says that it knows nothing, or that no program was found,
/// is a weaker one; so is one that knows the cause and not the object by its name.
fn turned<'a>(before: &[Diagnosis], after: &'a [Diagnosis]) -> Vec<&'a Diagnosis> {
    let is_weaker = |it: &Diagnosis| {
        it.confidence == Confidence::Unknown
            || matches!(&it.cause, Cause::FinisherGone { deleted, .. } if deleted.is_empty())
    };
    let is_known = |it: &Diagnosis| {
        before.iter().any(|known| known.root == it.root || known.cause.name() == it.cause.name())
    };
    after.iter().filter(|it| !is_weaker(it) && !is_known(it)).collect()
}

/// The changes after which another verdict is the true one: the word or line that is left out, and the cause then. A list is
/// complete, so an object that is not in it does not exist.
const TRUE_THEN: [(&str, &str); 11] = [
    ("node n1", "nodeMissing"),
    // No Pod uses the claim any more, and it is late.
    ("pod shop/web", "controllerSilent"),
    ("node=n1", "controllerSilent"),
    ("uses=claim:data", "controllerSilent"),
    // A namespace without conditions has not been looked at.
    ("conditions=", "controllerSilent"),
    // One of two programs is left that may clear the finalizer.
    ("deploy ops/runner", "finisherBusy"),
    ("deploy ops/other", "finisherBusy"),
    ("uses=account:runner", "finisherBusy"),
    // The controller of the control plane counts the Pods of every other Job, and of one that is gone.
    ("job shop/train", "controllerSilent"),
    ("managedBy=", "controllerSilent"),
    ("owner=job/train", "controllerSilent"),
];

/// The objects without one line, or without one word of a line; what makes an object late stays.
fn shortened(objects: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = objects.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let with = |replaced: Option<String>| {
            let line = |(number, line): (usize, &&str)| match &replaced {
                _ if number != at => Some((*line).to_owned()),
                replaced => replaced.clone(),
            };
            lines.iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
        };
        found.push(((*line).to_owned(), with(None)));
        let words: Vec<&str> = line.split(' ').collect();
        for (place, word) in words.iter().enumerate().skip(2) {
            // A fixture's node without the word is ready: see the test of a node without a condition.
            if ["deleted=", "grace=", "ready=Ready:"].iter().any(|it| word.starts_with(it)) {
                continue;
            }
            let rest = words.iter().enumerate().filter(|(number, _)| *number != place);
            let rest: Vec<&str> = rest.map(|(_, word)| *word).collect();
            found.push(((*word).to_owned(), with(Some(rest.join(" ")))));
        }
    }
    found
}

#[test]
fn causes_all_have_a_situation() {
    assert_eq!(ALL.map(|it| it.cause), Cause::NAMES);
    for situation in &ALL {
        whole(situation);
    }
}

#[test]
fn missing_fact_never_turns_a_verdict_to_another_root() {
    let mut failed = Vec::new();
    for situation in &ALL {
        let before = whole(situation);
        let objects = shortened(situation.objects)
            .into_iter()
            .map(|(what, objects)| (what, situation.index(&objects, situation.gone, None)));
        let others = (0..situation.others()).map(|left_out| {
            let index = situation.index(situation.objects, situation.gone, Some(left_out));
            (format!("fact {left_out}"), index)
        });
        for (what, index) in objects.chain(others) {
            let after = found(&index, fixture::now());
            let is_true = |it: &&Diagnosis| {
                TRUE_THEN
                    .iter()
                    .any(|(left, cause)| what.starts_with(left) && it.cause.name() == *cause)
            };
            failed.extend(
                turned(&before, &after)
                    .into_iter()
                    .filter(|it| !is_true(it))
                    .map(|it| format!("{}: without {what}: {}", situation.cause, it.id)),
            );
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn node_without_a_condition_turns_no_verdict_to_the_pod() {
    for situation in ALL.iter().filter(|it| it.objects.contains("node n1")) {
        let before = whole(situation);
        let mut index = situation.whole();
        let node = index.find("", "Node", None, "n1").unwrap();
        let mut node = Object::clone(node);
        if let Facts::Node(facts) = &mut node.facts {
            facts.ready = None;
        }
        index.apply([Observation::Applied(Box::new(node))], fixture::now());
        let after = found(&index, fixture::now());
        let turned = turned(&before, &after);
        assert!(turned.is_empty(), "{}: {turned:?}", situation.cause);
    }
}

#[test]
fn hidden_kind_never_turns_a_verdict_to_another_root() {
    let mut failed = Vec::new();
    for situation in &ALL {
        let before = whole(situation);
        let listed = fixture::listing(&fixture::objects(situation.objects));
        let resources = listed.into_iter().filter_map(|observation| match observation {
            Observation::Listed { kind, .. } => Some(kind.resource()),
            _ => None,
        });
        for resource in resources {
            let mut index = situation.whole();
            let (cause, message) = (HiddenCause::Forbidden, "forbidden".into());
            index.apply(
                [Observation::Hidden { resource: resource.clone(), cause, message }],
                fixture::now(),
            );
            let after = found(&index, fixture::now());
            failed.extend(
                turned(&before, &after)
                    .iter()
                    .map(|it| format!("{}: {resource} hidden: {}", situation.cause, it.id)),
            );
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The names in the situations that a person has chosen, each with another one.
const NAMES: [(&str, &str); 18] = [
    ("shop", "zoo"),
    ("ops", "a"),
    ("n1", "ip-10-0-0-7.internal"),
    ("n2", "worker"),
    ("n9", "shop"),
    ("data", "web"),
    ("web", "data"),
    ("c1", "sidecar"),
    ("disk-1", "pvc-7"),
    ("a1", "csi-77"),
    ("front", "pods"),
    ("alone", "n1"),
    ("kept", "alone"),
    ("c", "kube-root"),
    ("w", "widget"),
    ("orders", "operator"),
    ("runner", "r"),
    ("other", "o"),
];

/// The text with other names. A name is a whole word of it, in the first or second part of an object's name or in a field.
fn renamed(objects: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut text = String::new();
    let mut rest = objects;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end.max(1));
        // A domain, a word in front of `=` and one of a kind's name are no names.
        let is_name = !text.ends_with('.')
            && !behind.starts_with(['.', '='])
            && !text.ends_with(['_', '"'])
            && text.chars().rev().find(|c| *c != ' ').is_some_and(|c| c != '\n');
        let other = NAMES.iter().find(|(name, _)| *name == word).filter(|_| is_name);
        text.push_str(other.map_or(word, |(_, other)| other));
        rest = behind;
    }
    text
}

#[test]
fn names_do_not_matter() {
    for situation in &ALL {
        let summary = |index: &Index| {
            let found = found(index, fixture::now());
            let mut all: Vec<(&str, Confidence, String, usize, usize, bool)> = found
                .iter()
                .map(|it| {
                    let kind = it.root.kind.to_string();
                    let total = it.total;
                    (it.cause.name(), it.confidence, kind, total, it.evidence.len(), it.stuck)
                })
                .collect();
            all.sort();
            all
        };
        let other = renamed(situation.objects);
        let index = situation.index(&other, &renamed(situation.gone), None);
        assert_eq!(summary(&index), summary(&situation.whole()), "{}\n{other}", situation.cause);
    }
}

/// The text with the ages of conditions moved, as by a component whose clock is off.
fn skewed(objects: &str, seconds: i64) -> String {
    let part = |word: &str| {
        let mut parts: Vec<String> = word.split(':').map(str::to_owned).collect();
        let is_condition = parts.len() >= 5
            && parts.get(1).is_some_and(|it| matches!(&**it, "True" | "False" | "Unknown"));
        if let Some(age) = parts.get_mut(3).filter(|_| is_condition)
            && let Ok(known) = age.parse::<i64>()
        {
            *age = (known + seconds).to_string();
        }
        parts.join(":")
    };
    objects.split(' ').map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn skewed_clocks_never_turn_a_verdict_to_another_root() {
    for situation in &ALL {
        let before = whole(situation);
        for seconds in [-3_000, -150, 150, 3_000] {
            // The clock of those who write conditions.
            let index = situation.index(&skewed(situation.objects, seconds), situation.gone, None);
            let after = found(&index, fixture::now());
            let names = |found: &[Diagnosis]| -> Vec<(String, Confidence)> {
                found.iter().map(|it| (it.id.clone(), it.confidence)).collect()
            };
            assert_eq!(names(&after), names(&before), "{} {seconds}", situation.cause);
            // Our own clock.
            let index = situation.whole();
            let now = fixture::now() + SignedDuration::from_secs(seconds);
            let after = found(&index, now);
            let turned = turned(&before, &after);
            assert!(turned.is_empty(), "{} {seconds}: {turned:?}", situation.cause);
        }
    }
}
