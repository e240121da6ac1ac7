//! Each invariant except the order: one history that violates it and one that does not.
#![expect(clippy::needless_pass_by_value, reason = "objects are written where they are given")]

mod answers;
mod run_end;

use jiff::Timestamp;
use sandbox::store::{Change, Key};
use serde_json::json;

use super::*;
use crate::application::{BYSTANDER, CANARY, ENCODED};

/// A cluster's history and a plan, written by hand.
#[derive(Default)]
struct History {
    evidence: Evidence,
    revision: u64,
}

impl History {
    fn new(steps: &[&str]) -> Self {
        let mut history = Self::default();
        let steps: Vec<Value> =
            (0..).zip(steps).map(|(id, uid)| json!({"id": id, "uid": uid})).collect();
        let journal = &mut history.evidence.journal;
        journal.plans.insert("p".into(), json!({"steps": steps, "kept": []}));
        journal.runs.push(("r".into(), "p".into()));
        history.evidence.planned = 100;
        history.journal_event("started");
        history
    }

    fn journal_event(&mut self, name: &str) {
        self.commit(json!({"event": name}), 0, 0);
    }

    /// Adds an event with the instance and the time of its commit.
    fn commit(&mut self, event: Value, instance: u64, at: u64) {
        self.evidence.journal.commit("r", json!({ "event": event }), instance, at);
    }

    /// Announces a DELETE of `a` and sends it at a time.
    fn send_announced(&mut self, instance: u64, at: u64) {
        self.announce();
        self.send(instance, at);
    }

    fn announce(&mut self) {
        self.commit(json!({"event": "callStarted", "step": 0, "call": "delete"}), 0, 0);
    }

    fn send(&mut self, instance: u64, at: u64) {
        let durable = self.evidence.journal.count;
        self.evidence.arrivals.push(Arrival {
            path: "a".into(),
            body: json!({"preconditions": {"uid": "a"}}),
            intents: u64::MAX,
            durable,
            instance,
            at,
            until: Some(at),
        });
    }

    fn event(&mut self, change: Change, uid: &str, unit: &str) {
        let labels = json!({"app.kubernetes.io/part-of": unit});
        self.change(change, json!({"name": uid, "uid": uid, "labels": labels}));
    }

    /// Adds a change of a ConfigMap with this metadata.
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
            instance: 0,
            at: 0,
            until: Some(0),
        });
    }

    /// Adds a DELETE of a server instance that is in flight from one time to another.
    fn call(&mut self, instance: u64, at: u64, until: Option<u64>) {
        let path = format!("/api/v1/{instance}-{at}");
        let (body, intents, durable) = (json!({}), 0, 0);
        let call = Arrival { path, body, intents, durable, instance, at, until };
        self.evidence.arrivals.push(call);
    }

    #[track_caller]
    fn check(&self, expected: &str) {
        let found: Vec<&str> = check(&self.evidence).iter().map(|it| it.invariant).collect();
        assert_eq!(found.join(" "), expected, "{:?}", check(&self.evidence));
    }
}

/// A run of one step without violations.
fn well() -> History {
    let mut history = History::new(&["a"]);
    history.event(Change::Added, "a", UNIT);
    history.event(Change::Deleted, "a", UNIT);
    history.entry("delete", Some("a"), "a", true);
    history.arrival(json!({"preconditions": {"uid": "a"}}), 1);
    history.journal_event("finished");
    history
}

#[test]
fn run_without_violations_passes() {
    well().check("");
}

#[test]
fn delete_without_a_planned_uid_is_a_violation() {
    let mut history = well();
    history.entry("delete", None, "a", false);
    history.check("I2");
    let mut history = well();
    history.entry("delete", Some("b"), "b", false);
    history.check("I2");
    let mut history = well();
    history.event(Change::Added, "b", "");
    history.entry("delete", Some("a"), "b", true);
    history.check("I2");
}

#[test]
fn delete_that_loses_unplanned_data_is_a_violation() {
    let loses = |[own, other]: [&str; 2], observed: u64| {
        let mut history = History::new(&["a"]);
        let data_with = |fate: &str| json!([{"volume": {"name": "v"}, "fate": fate}]);
        let journal = &mut history.evidence.journal;
        journal.plans.get_mut("p").unwrap()["data"] = data_with(own);
        // A run whose plan was never confirmed.
        let steps = json!([{"id": 0, "uid": "a"}]);
        journal
            .plans
            .insert("q".into(), json!({"steps": steps, "kept": [], "data": data_with(other)}));
        history.evidence.planned = 2;
        history.see(
            Change::Added,
            json!({
                "kind": "PersistentVolumeClaim", "metadata": {"name": "a", "uid": "a"},
                "spec": {"volumeName": "v"},
            }),
        );
        history.see(
            Change::Added,
            json!({
                "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"},
                "spec": {"persistentVolumeReclaimPolicy": "Delete", "claimRef": {"uid": "a"}},
            }),
        );
        for collection in ["/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims"] {
            history.evidence.observed.record(0, observed, (&collection.into(), true), 2);
        }
        history.send_announced(0, 5);
        history.entry("delete", Some("a"), "a", true);
        history.evidence.entries[0].time = Timestamp::from_millisecond(5).unwrap();
        check(&history.evidence).iter().any(|it| it.text.ends_with("no plan says so"))
    };
    assert!(!loses(["destroyed", "destroyed"], 5));
    assert!(loses(["kept", "destroyed"], 5));
    assert!(!loses(["kept", "kept"], 6), "observed too late");
}

#[test]
fn run_without_exactly_one_end_is_a_violation() {
    let mut history = History::new(&[]);
    history.check("I3");
    history.journal_event("stopped");
    history.check("");
    history.journal_event("finished");
    history.check("I3");
}

#[test]
fn finished_run_that_leaves_a_planned_object_is_a_violation() {
    let mut history = well();
    history.event(Change::Added, "a", UNIT);
    history.check("I3");
    let mut history = well();
    history.event(Change::Added, "b", UNIT);
    history.check("I3");
    history.evidence.journal.plans.get_mut("p").unwrap()["kept"] = json!([{"uid": "b"}]);
    history.check("");
}

#[test]
fn kept_claim_that_is_said_to_be_bound_and_was_not_read_is_a_violation() {
    let mut history = History::new(&[]);
    let kept = json!([{"uid": "c", "object": {"kind": "PersistentVolumeClaim"}}]);
    history.evidence.journal.plans.get_mut("p").unwrap()["kept"] = kept;
    history.commit(json!({"event": "dataChecked", "bound": 1}), 0, 0);
    history.journal_event("finished");
    history.entry("get", None, "other", false);
    history.check("I2");
    history.entry("get", None, "c", false);
    history.check("");
}

#[test]
fn deleted_object_of_the_bystander_is_a_violation() {
    let mut history = History::new(&[]);
    history.journal_event("finished");
    history.event(Change::Added, "b", BYSTANDER);
    history.evidence.planned = 1;
    history.check("");
    history.event(Change::Deleted, "b", BYSTANDER);
    history.check("I1");
}

#[test]
fn delete_without_its_own_intent_is_a_violation() {
    let mut history = well();
    history.arrival(json!({"preconditions": {"uid": "a"}}), 2);
    history.check("");
    history.arrival(json!({"preconditions": {"uid": "a"}}), 2);
    history.check("I7");
}

#[test]
fn delete_with_a_grace_period_is_a_violation() {
    let mut history = well();
    history.arrival(json!({"preconditions": {"uid": "a"}, "gracePeriodSeconds": 0}), 2);
    history.check("I8");
    for verb in ["patch", "update", "create", "deletecollection"] {
        let mut history = well();
        history.entry(verb, None, "a", true);
        history.check("I8");
    }
    let mut history = well();
    history.entry("get", None, "a", false);
    history.check("");
}

#[test]
fn secret_in_the_journal_is_a_violation() {
    let mut history = well();
    for secret in [CANARY, ENCODED] {
        history.evidence.journal.bytes = format!("x{secret}y").into_bytes();
        history.check("I10");
    }
}

#[test]
fn overlapping_calls_of_two_instances_are_a_violation() {
    let mut history = well();
    history.call(0, 10, Some(20));
    history.call(0, 15, Some(25));
    history.call(1, 25, Some(30));
    history.check("");
    history.call(2, 29, Some(40));
    history.check("I6");
    let mut history = well();
    history.call(0, 10, None);
    history.call(1, 90, Some(91));
    history.check("I6");
}

#[test]
fn deletion_of_a_parent_that_was_to_be_suspended_and_stay_is_a_violation() {
    let mut history = well();
    let step = json!({"id": 0, "uid": "a", "action": "suspend"});
    history.evidence.journal.plans.insert("p".into(), json!({"steps": [step], "kept": []}));
    history.check("I2");
}

/// A run of one step that nothing starts, and that lasts this long.
fn idle(over: u64) -> History {
    let mut history = History::new(&["a"]);
    let step = json!({"id": 0, "uid": "a", "action": {"delete": {"propagation": "background"}}});
    history.evidence.journal.plans.insert("p".into(), json!({"steps": [step], "kept": []}));
    history.event(Change::Added, "a", UNIT);
    history.evidence.revision_times.note(0, 1);
    (history.evidence.healed, history.evidence.over) = (Some(1_000), over);
    history
}

#[test]
fn step_that_could_start_for_a_minute_is_a_violation() {
    // The missing end of the run is a violation as well.
    idle(61_000).check("I3");
    idle(61_001).check("I9 I3");
    let mut history = idle(90_000);
    history.evidence.lifecycle_times.push(40_000);
    history.check("I3");
    let mut history = idle(90_000);
    history.evidence.healed = None;
    history.check("I3");
    for (held, expected) in [("paused", "I3"), ("resumed", "I9 I3")] {
        let mut history = idle(90_000);
        history.journal_event(held);
        history.check(expected);
    }
    let mut history = idle(90_000);
    history.commit(json!({"event": "skipped", "step": 0}), 0, 0);
    history.check("I3");
}

#[test]
fn changes_by_controllers_do_not_count_as_progress() {
    let mut history = idle(90_000);
    history.event(Change::Added, "made-every-minute", "");
    history.event(Change::Modified, "a", UNIT);
    history.evidence.revision_times.note(40_000, 3);
    history.check("I9 I3");
    let mut history = idle(90_000);
    history.event(Change::Added, "b", UNIT);
    history.event(Change::Deleted, "b", UNIT);
    history.evidence.revision_times.note(40_000, 3);
    let steps = &mut history.evidence.journal.plans.get_mut("p").unwrap()["steps"];
    steps.as_array_mut().unwrap().push(json!({"id": 1, "uid": "b"}));
    history.check("I3");
}

#[test]
fn step_freed_late_has_a_minute_from_then_on() {
    for (freed, expected) in [(20_000, "I9 I3"), (40_000, "I3")] {
        let mut history = History::new(&["a"]);
        let step = json!({"id": 0, "uid": "a", "action": {"delete": {}}});
        history.evidence.journal.plans.insert("p".into(), json!({"steps": [step], "kept": []}));
        history.event(Change::Added, "owner", "");
        let owners = json!([{"uid": "owner"}]);
        history.change(Change::Added, json!({"name": "a", "uid": "a", "ownerReferences": owners}));
        history.evidence.revision_times.note(0, 2);
        history.event(Change::Deleted, "owner", "");
        history.evidence.revision_times.note(freed, 3);
        (history.evidence.healed, history.evidence.over) = (Some(1_000), 90_000);
        history.check(expected);
    }
}

/// A Pod that was created after the plan belongs to its workload, whichever controller created it.
#[test]
fn step_that_waits_for_the_last_pod_of_a_workload_is_not_late() {
    for (root, expected) in [("set", "I3"), ("of-nobody", "I9 I3")] {
        let mut history = History::new(&["set", "a"]);
        let after = json!([{"step": 0, "phase": "podsGone"}]);
        let steps = json!([
            {"id": 0, "uid": "set", "action": {"delete": {}}},
            {"id": 1, "uid": "a", "action": {"delete": {}}, "after": after}
        ]);
        history.evidence.journal.plans.insert("p".into(), json!({"steps": steps, "kept": []}));
        history.change(Change::Added, json!({"name": "a", "uid": "a"}));
        let owners = json!([{"uid": root}]);
        history
            .change(Change::Added, json!({"name": "mid", "uid": "mid", "ownerReferences": owners}));
        history.change(Change::Deleted, json!({"name": "mid", "uid": "mid"}));
        let pod = json!({
            "name": "late", "uid": "late", "ownerReferences": [{"uid": "mid"}],
            "deletionTimestamp": "2026-01-01T00:00:00Z"
        });
        history.change_of("Pod", Change::Added, pod);
        history.evidence.revision_times.note(0, 4);
        (history.evidence.healed, history.evidence.over) = (Some(1_000), 90_000);
        history.check(expected);
    }
}

#[test]
fn delete_after_a_pause_is_a_violation() {
    let paused = || {
        let mut history = well();
        history.announce();
        history.commit(json!({"event": "paused"}), 0, 5_000);
        history
    };
    let mut history = paused();
    history.send(0, 5_000);
    history.check("I3");
    let mut history = paused();
    history.send(0, 5_001);
    history.check("I8 I3");
    let mut history = paused();
    history.send(1, 5_000);
    history.check("I8 I3");
    let mut history = paused();
    history.journal_event("resumed");
    history.send(0, 9_000);
    history.check("I3");
    let mut history = paused();
    for _ in 0..=commands::MAX_CONCURRENT_CALLS {
        history.send(0, 5_000);
    }
    history.check("I8 I3");
}

#[test]
fn delete_after_a_stop_is_a_violation() {
    let mut history = well();
    history.send_announced(0, 1_000);
    history.commit(json!({"event": "stopping"}), 0, 2_000);
    history.send(0, 2_001);
    history.check("I8 I3");
}

#[test]
fn delete_for_a_skipped_step_is_a_violation() {
    let mut history = well();
    history.send_announced(0, 1_000);
    history.commit(json!({"event": "skipped", "step": 1}), 0, 2_000);
    history.send(0, 3_000);
    history.check("I3");
    history.commit(json!({"event": "skipped", "step": 0}), 0, 4_000);
    history.send(0, 4_000);
    history.check("I8 I3");
}

#[test]
fn object_that_outlives_its_namespace_is_a_violation() {
    let mut history = History::new(&[]);
    history.journal_event("stopped");
    history.change(Change::Added, json!({"namespace": "n", "name": "s", "uid": "s"}));
    history.check("I1");
}

#[test]
fn unplanned_object_deleted_by_name_is_a_violation() {
    let mut history = well();
    history.event(Change::Added, "b", "");
    history.entry("delete", None, "b", true);
    let violations = check(&history.evidence);
    assert_eq!(violations[0].text, "DELETE of configmaps b deleted an object of no confirmed plan");
}
