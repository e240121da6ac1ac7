//! What is not about order: each promise is broken once and kept once.

use jiff::Timestamp;
use sandbox::store::{Change, Key};
use serde_json::json;

use super::*;

/// A cluster's history, and a plan, by hand.
#[derive(Default)]
struct Hand {
    evidence: Evidence,
    revision: u64,
}

impl Hand {
    fn new(steps: &[&str]) -> Self {
        let mut hand = Self::default();
        let steps: Vec<Value> =
            (0..).zip(steps).map(|(id, uid)| json!({"id": id, "uid": uid})).collect();
        let known = &mut hand.evidence.known;
        known.plans.insert("p".into(), json!({"steps": steps, "kept": []}));
        known.runs.push(("r".into(), "p".into()));
        known.events.insert("r".into(), vec![]);
        hand.evidence.planned = 100;
        hand.tell("started");
        hand
    }

    fn tell(&mut self, name: &str) {
        let event = json!({"event": {"event": name}});
        self.evidence.known.events.entry("r".into()).or_default().push(event);
    }

    fn event(&mut self, change: Change, uid: &str, unit: &str) {
        self.revision += 1;
        let object = json!({
            "kind": "ConfigMap",
            "metadata": {"name": uid, "uid": uid, "labels": {"app.kubernetes.io/part-of": unit}},
        });
        let key = Key::new("", "configmaps", "", uid);
        let event = Event {
            revision: self.revision,
            key,
            change,
            object: Arc::new(object),
            previous: None,
        };
        self.evidence.events.push(Arc::new(event));
    }

    fn entry(&mut self, verb: &str, uid: Option<&str>, met: &str, effect: bool) {
        self.evidence.entries.push(Entry {
            time: Timestamp::UNIX_EPOCH,
            actor: USER.into(),
            verb: verb.into(),
            key: Some(Key::new("", "configmaps", "", met)),
            subresource: String::new(),
            uid: uid.map(Into::into),
            met: Some(met.into()),
            dry_run: false,
            code: 200,
            effect,
            revision: self.revision,
            fault: None,
        });
    }

    fn arrival(&mut self, body: Value, intents: u64) {
        self.evidence.arrivals.push(Arrival { path: "x".into(), body, intents });
    }

    #[track_caller]
    fn check(&self, expected: &str) {
        let found: Vec<&str> = judge(&self.evidence).iter().map(|it| it.invariant).collect();
        assert_eq!(found.join(" "), expected, "{:?}", judge(&self.evidence));
    }
}

/// A run of one step that went well.
fn well() -> Hand {
    let mut hand = Hand::new(&["a"]);
    hand.event(Change::Added, "a", UNIT);
    hand.event(Change::Deleted, "a", UNIT);
    hand.entry("delete", Some("a"), "a", true);
    hand.arrival(json!({"preconditions": {"uid": "a"}}), 1);
    hand.tell("finished");
    hand
}

#[test]
fn a_good_run_is_acquitted() {
    well().check("");
}

#[test]
fn a_delete_insists_on_a_planned_uid() {
    let mut hand = well();
    hand.entry("delete", None, "a", false);
    hand.check("I2");
    let mut hand = well();
    hand.entry("delete", Some("b"), "b", false);
    hand.check("I2");
    let mut hand = well();
    hand.event(Change::Added, "b", "");
    hand.entry("delete", Some("a"), "b", true);
    hand.check("I2");
}

#[test]
fn a_run_ends_once() {
    let mut hand = Hand::new(&[]);
    hand.check("I3");
    hand.tell("stopped");
    hand.check("");
    hand.tell("finished");
    hand.check("I3");
}

#[test]
fn a_finished_run_leaves_nothing_without_a_reason() {
    let mut hand = well();
    hand.event(Change::Added, "a", UNIT);
    hand.check("I3");
    let mut hand = well();
    hand.event(Change::Added, "b", UNIT);
    hand.check("I3");
    hand.evidence.known.plans.get_mut("p").unwrap()["kept"] = json!([{"uid": "b"}]);
    hand.check("");
}

#[test]
fn the_bystander_is_as_it_was() {
    let mut hand = Hand::new(&[]);
    hand.tell("finished");
    hand.event(Change::Added, "b", BYSTANDER);
    hand.evidence.planned = 1;
    hand.check("");
    hand.event(Change::Deleted, "b", BYSTANDER);
    hand.check("I1");
}

#[test]
fn each_delete_has_an_intent_of_its_own() {
    let mut hand = well();
    hand.arrival(json!({"preconditions": {"uid": "a"}}), 2);
    hand.check("");
    hand.arrival(json!({"preconditions": {"uid": "a"}}), 2);
    hand.check("I7");
}

#[test]
fn nothing_is_forced() {
    let mut hand = well();
    hand.arrival(json!({"preconditions": {"uid": "a"}, "gracePeriodSeconds": 0}), 2);
    hand.check("I8");
    for verb in ["patch", "update", "create", "deletecollection"] {
        let mut hand = well();
        hand.entry(verb, None, "a", true);
        hand.check("I8");
    }
    let mut hand = well();
    hand.entry("get", None, "a", false);
    hand.check("");
}

#[test]
fn a_secret_in_the_journal_is_found() {
    let mut hand = well();
    hand.evidence.known.bytes = format!("x{CANARY}y").into_bytes();
    hand.check("I10");
}
