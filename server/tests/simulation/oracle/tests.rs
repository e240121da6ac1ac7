//! What is not about order: each promise is broken once and kept once.
#![expect(clippy::needless_pass_by_value, reason = "objects are written where they are given")]

mod ending;

use jiff::Timestamp;
use sandbox::store::{Change, Key};
use serde_json::json;

use super::*;
use crate::application::{CANARY, ENCODED};

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
        hand.evidence.planned = 100;
        hand.tell("started");
        hand
    }

    fn tell(&mut self, name: &str) {
        self.say(json!({"event": name}), 0, 0);
    }

    /// An event, and by whom and when it was made durable.
    fn say(&mut self, event: Value, life: u64, at: u64) {
        self.evidence.known.mark("r", json!({ "event": event }), life, at);
    }

    /// A DELETE of `a` that is announced, and leaves at a time.
    fn leave(&mut self, life: u64, at: u64) {
        self.announce();
        self.arrive(life, at);
    }

    fn announce(&mut self) {
        self.say(json!({"event": "callStarted", "step": 0, "call": "delete"}), 0, 0);
    }

    fn arrive(&mut self, life: u64, at: u64) {
        let durable = self.evidence.known.count;
        self.evidence.arrivals.push(Arrival {
            path: "a".into(),
            body: json!({"preconditions": {"uid": "a"}}),
            intents: u64::MAX,
            durable,
            life,
            at,
            until: Some(at),
        });
    }

    fn event(&mut self, change: Change, uid: &str, unit: &str) {
        let labels = json!({"app.kubernetes.io/part-of": unit});
        self.change(change, json!({"name": uid, "uid": uid, "labels": labels}));
    }

    /// What becomes of a ConfigMap with this metadata.
    fn change(&mut self, change: Change, metadata: Value) {
        self.change_of("ConfigMap", change, metadata);
    }

    fn change_of(&mut self, kind: &str, change: Change, metadata: Value) {
        self.see(change, json!({"kind": kind, "metadata": metadata}));
    }

    fn see(&mut self, change: Change, object: Value) {
        self.revision += 1;
        let plural = format!("{}s", kind(&object).to_lowercase());
        let key = Key::new("", &plural, namespace(&object), name(&object));
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
        self.evidence.arrivals.push(Arrival {
            path: "x".into(),
            body,
            intents,
            durable: 0,
            life: 0,
            at: 0,
            until: Some(0),
        });
    }

    /// A DELETE of a life of the server, from when to when it was on its way.
    fn call(&mut self, life: u64, at: u64, until: Option<u64>) {
        let path = format!("/api/v1/{life}-{at}");
        let (body, intents, durable) = (json!({}), 0, 0);
        let call = Arrival { path, body, intents, durable, life, at, until };
        self.evidence.arrivals.push(call);
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
fn a_delete_loses_no_data_but_what_its_plan_says() {
    let loses = |[own, other]: [&str; 2], told: u64| {
        let mut hand = Hand::new(&["a"]);
        let said = |fate: &str| json!([{"volume": {"name": "v"}, "fate": fate}]);
        let known = &mut hand.evidence.known;
        known.plans.get_mut("p").unwrap()["data"] = said(own);
        // One that nobody ever confirmed.
        let steps = json!([{"id": 0, "uid": "a"}]);
        known.plans.insert("q".into(), json!({"steps": steps, "kept": [], "data": said(other)}));
        hand.evidence.planned = 2;
        hand.see(
            Change::Added,
            json!({
                "kind": "PersistentVolumeClaim", "metadata": {"name": "a", "uid": "a"},
                "spec": {"volumeName": "v"},
            }),
        );
        hand.see(
            Change::Added,
            json!({
                "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"},
                "spec": {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "a"}},
            }),
        );
        for collection in ["/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims"] {
            hand.evidence.told.hear(0, told, &collection.into(), 2);
        }
        hand.leave(0, 5);
        hand.entry("delete", Some("a"), "a", true);
        hand.evidence.entries[0].time = Timestamp::from_millisecond(5).unwrap();
        judge(&hand.evidence).iter().any(|it| it.text.ends_with("no plan says so"))
    };
    assert!(!loses(["destroyed", "destroyed"], 5));
    assert!(loses(["kept", "destroyed"], 5));
    assert!(!loses(["kept", "kept"], 6), "told too late");
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
    for secret in [CANARY, ENCODED] {
        hand.evidence.known.bytes = format!("x{secret}y").into_bytes();
        hand.check("I10");
    }
}

#[test]
fn two_lives_never_call_at_once() {
    let mut hand = well();
    hand.call(0, 10, Some(20));
    hand.call(0, 15, Some(25));
    hand.call(1, 25, Some(30));
    hand.check("");
    hand.call(2, 29, Some(40));
    hand.check("I6");
    let mut hand = well();
    hand.call(0, 10, None);
    hand.call(1, 90, Some(91));
    hand.check("I6");
}

/// A run of one step that nobody started, at rest for so long.
fn idle(over: u64) -> Hand {
    let mut hand = Hand::new(&["a"]);
    let step = json!({"id": 0, "uid": "a", "action": {"delete": {"propagation": "background"}}});
    hand.evidence.known.plans.insert("p".into(), json!({"steps": [step], "kept": []}));
    hand.event(Change::Added, "a", UNIT);
    hand.evidence.moments.note(0, 1);
    (hand.evidence.healed, hand.evidence.over) = (Some(1_000), over);
    hand
}

#[test]
fn what_could_go_does_not_wait_for_a_minute() {
    // That the run has no end is said as well.
    idle(61_000).check("I3");
    idle(61_001).check("I9 I3");
    let mut hand = idle(90_000);
    hand.evidence.turns.push(40_000);
    hand.check("I3");
    let mut hand = idle(90_000);
    hand.evidence.healed = None;
    hand.check("I3");
    for (held, expected) in [("paused", "I3"), ("resumed", "I9 I3")] {
        let mut hand = idle(90_000);
        hand.tell(held);
        hand.check(expected);
    }
    let mut hand = idle(90_000);
    hand.say(json!({"event": "skipped", "step": 0}), 0, 0);
    hand.check("I3");
}

/// What controllers do meanwhile brings no run on.
#[test]
fn others_moves_are_no_moves() {
    let mut hand = idle(90_000);
    hand.event(Change::Added, "made-every-minute", "");
    hand.event(Change::Modified, "a", UNIT);
    hand.evidence.moments.note(40_000, 3);
    hand.check("I9 I3");
    let mut hand = idle(90_000);
    hand.event(Change::Added, "b", UNIT);
    hand.event(Change::Deleted, "b", UNIT);
    hand.evidence.moments.note(40_000, 3);
    let steps = &mut hand.evidence.known.plans.get_mut("p").unwrap()["steps"];
    steps.as_array_mut().unwrap().push(json!({"id": 1, "uid": "b"}));
    hand.check("I3");
}

/// What came free late has its minute from then on.
#[test]
fn what_waits_for_others_is_not_late() {
    for (freed, expected) in [(20_000, "I9 I3"), (40_000, "I3")] {
        let mut hand = Hand::new(&["a"]);
        let step = json!({"id": 0, "uid": "a", "action": {"delete": {}}});
        hand.evidence.known.plans.insert("p".into(), json!({"steps": [step], "kept": []}));
        hand.event(Change::Added, "owner", "");
        let owners = json!([{"uid": "owner"}]);
        hand.change(Change::Added, json!({"name": "a", "uid": "a", "ownerReferences": owners}));
        hand.evidence.moments.note(0, 2);
        hand.event(Change::Deleted, "owner", "");
        hand.evidence.moments.note(freed, 3);
        (hand.evidence.healed, hand.evidence.over) = (Some(1_000), 90_000);
        hand.check(expected);
    }
}

/// A Pod that was made after the plan is its workload's all the same, whoever made it in between.
#[test]
fn what_waits_for_the_last_pod_of_a_workload_is_not_late() {
    for (root, expected) in [("set", "I3"), ("of-nobody", "I9 I3")] {
        let mut hand = Hand::new(&["set", "a"]);
        let after = json!([{"step": 0, "phase": "podsGone"}]);
        let steps = json!([
            {"id": 0, "uid": "set", "action": {"delete": {}}},
            {"id": 1, "uid": "a", "action": {"delete": {}}, "after": after}
        ]);
        hand.evidence.known.plans.insert("p".into(), json!({"steps": steps, "kept": []}));
        hand.change(Change::Added, json!({"name": "a", "uid": "a"}));
        let owners = json!([{"uid": root}]);
        hand.change(Change::Added, json!({"name": "mid", "uid": "mid", "ownerReferences": owners}));
        hand.change(Change::Deleted, json!({"name": "mid", "uid": "mid"}));
        let pod = json!({
            "name": "late", "uid": "late", "ownerReferences": [{"uid": "mid"}],
            "deletionTimestamp": "2026-01-01T00:00:00Z"
        });
        hand.change_of("Pod", Change::Added, pod);
        hand.evidence.moments.note(0, 4);
        (hand.evidence.healed, hand.evidence.over) = (Some(1_000), 90_000);
        hand.check(expected);
    }
}

#[test]
fn nothing_leaves_after_a_pause() {
    let paused = || {
        let mut hand = well();
        hand.announce();
        hand.say(json!({"event": "paused"}), 0, 5_000);
        hand
    };
    let mut hand = paused();
    hand.arrive(0, 5_000);
    hand.check("I3");
    let mut hand = paused();
    hand.arrive(0, 5_001);
    hand.check("I8 I3");
    let mut hand = paused();
    hand.arrive(1, 5_000);
    hand.check("I8 I3");
    let mut hand = paused();
    hand.tell("resumed");
    hand.arrive(0, 9_000);
    hand.check("I3");
    let mut hand = paused();
    for _ in 0..=word::WINDOW {
        hand.arrive(0, 5_000);
    }
    hand.check("I8 I3");
}

#[test]
fn nothing_leaves_after_a_stop() {
    let mut hand = well();
    hand.leave(0, 1_000);
    hand.say(json!({"event": "stopping"}), 0, 2_000);
    hand.arrive(0, 2_001);
    hand.check("I8 I3");
}

#[test]
fn nothing_leaves_for_what_was_left_out() {
    let mut hand = well();
    hand.leave(0, 1_000);
    hand.say(json!({"event": "skipped", "step": 1}), 0, 2_000);
    hand.arrive(0, 3_000);
    hand.check("I3");
    hand.say(json!({"event": "skipped", "step": 0}), 0, 4_000);
    hand.arrive(0, 4_000);
    hand.check("I8 I3");
}

#[test]
fn nothing_outlives_its_namespace() {
    let mut hand = Hand::new(&[]);
    hand.tell("stopped");
    hand.change(Change::Added, json!({"namespace": "n", "name": "s", "uid": "s"}));
    hand.check("I1");
}

#[test]
fn an_object_of_nobody_s_plan_is_not_ended_by_name() {
    let mut hand = well();
    hand.event(Change::Added, "b", "");
    hand.entry("delete", None, "b", true);
    let offences = judge(&hand.evidence);
    assert_eq!(offences[0].text, "DELETE of configmaps b ended an object of no confirmed plan");
}
