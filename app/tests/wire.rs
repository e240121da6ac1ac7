//! The page's own reader takes exactly what serde writes. Each variant of each enum is here once, and the pages with all
//! they show.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[expect(dead_code, reason = "the pages' test looks for more in it")]
mod consortium;

use std::fmt::Debug;

use app::{
    Seed,
    command::Refusal,
    wire::{self, Wire},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use teardown::{
    api_problem::ApiProblem,
    message::{
        AwayCause, Demo, DetailName, HiddenCause, Key, Membership, Message, Revision, State,
    },
    object::Reclaim,
    plan::{Difference, Fate, KeptReason, Propagation, StepAction},
    relation::{DeletionPhase, EdgeKind},
    run::{FeedEvent, RunState, StepProblem},
    selector::{Operator, Selector},
    unit::UnitOrigin,
};

/// What serde reads and writes, and what we read, is the same value.
fn same<T: Wire + Serialize + DeserializeOwned + PartialEq + Debug>(values: &Value) {
    for value in values.as_array().unwrap() {
        let expected: T = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(wire::read::<T>(&value.to_string()), Some(expected), "{value}");
    }
}

#[test]
fn every_variant() {
    let object = json!({ "group": "", "kind": "Pod", "namespace": null, "name": "web-1" });
    let reason = json!({ "field": "spec.nodeName", "value": "worker\n\"1\" é😀" });
    let since = "2026-11-21T12:03:41.123456789Z";
    let problem = json!([
        { "problem": "late", "since": since, "finalizers": ["a", "b"] },
        { "problem": "refused", "code": 403, "message": "no" },
        { "problem": "cameBack", "uid": "1" },
        { "problem": "unknown", "reason": { "why": "hidden", "resource": "pods", "namespace": "shop", "message": "" } },
        { "problem": "unknown", "reason": { "why": "notListed", "resource": "pods" } },
        { "problem": "unknown", "reason": { "why": "notServed", "resource": "pods" } },
        { "problem": "unknown", "reason": { "why": "left", "pod": object, "of": object } },
        { "problem": "unknown", "reason": { "why": "used", "by": object } },
        { "problem": "unknown", "reason": { "why": "namespaceNotEmpty", "by": object } },
        { "problem": "unknown", "reason": { "why": "inconclusive", "message": "" } },
        { "problem": "inUse", "pods": [object] },
        { "problem": "retrying", "attempts": 3, "message": "429" },
    ]);
    let kept = json!([
        { "why": "usedBy", "user": object, "edge": "Mounts", "reason": reason },
        { "why": "neededBy", "user": object, "edge": "Owns", "reason": reason },
        { "why": "retainedVolume" }, { "why": "recycledVolume" }, { "why": "protected" }, { "why": "access" }, { "why": "madeByCluster" },
        { "why": "unseenController", "kind": "Deployment", "name": "web" },
    ]);
    same::<StepProblem>(&problem);
    same::<KeptReason>(&kept);
    same::<FeedEvent>(&json!([
        { "event": "started", "by": "Li" }, { "event": "recovered" }, { "event": "paused", "by": "Li" },
        { "event": "resumed", "by": "Li" }, { "event": "stopping", "by": "Li" },
        { "event": "requested", "step": 1, "object": object },
        { "event": "terminating", "step": 1, "object": object },
        { "event": "gone", "step": 1, "object": object },
        { "event": "problem", "step": 1, "object": object, "problem": problem[0] },
        { "event": "skipped", "step": 1, "object": object, "by": "Li" }, { "event": "finished" },
        { "event": "stopped", "untouched": 1, "irrevocable": 2, "gone": 3 },
    ]));
    same::<ApiProblem>(&json!([
        "denied", { "problem": "timeout", "seconds": 10 }, { "problem": "credentials" },
        { "problem": "tooLarge", "mebibytes": 256 }, { "problem": "status", "code": 500, "said": "" },
        { "problem": "unreadable", "why": "x" }, { "problem": "notAnApiServer" },
        { "problem": "notDiscovery", "path": "/apis", "why": "x" }, { "problem": "stale" },
        { "problem": "invalidName", "name": "x" }, { "problem": "noPath" }, { "problem": "noResourceVersion" }, { "problem": "noUid" },
        { "problem": "crowded" }, { "problem": "queueFull" },
        { "problem": "hiddenInNamespaces", "hidden": 4, "of": 5, "named": ["a", "b"], "whole": "denied" },
        { "problem": "namespacesUnknown", "seen": 1, "whole": { "problem": "noUid" } },
    ]));
    same::<Difference>(&json!([
        { "difference": "added", "object": object }, { "difference": "removed", "object": object },
        { "difference": "recreated", "object": object }, { "difference": "changed", "object": object },
    ]));
    same::<Membership>(&json!(["member", "outside", { "kept": kept[0] }]));
    same::<StepAction>(&json!(["await", { "delete": { "propagation": "Background" } }]));
    same::<Key>(&json!([
        "cluster", { "unit": "ns:a" }, { "run": "7" }, { "object": "1" }, { "edge": ["1", "2", "RunsOn", "spec"] },
        { "blind": "pods" }, { "step": 3 }, { "event": 4 },
    ]));
    same::<Selector>(&json!([{
        "labels": { "app": "web", "tier": "" },
        "expressions": [{ "key": "a", "operator": "NotIn", "values": ["b"] }],
    }]));
    same::<State>(&serde_json::to_value(State::ALL).unwrap());
    same::<RunState>(&json!(["running", "paused", "stopping", "finished", "stopped"]));
    same::<UnitOrigin>(&json!(["partOf", "namespace"]));
    same::<AwayCause>(&json!(["silent", "unauthorized", "failing"]));
    same::<Demo>(&json!([
        { "speed": 10, "switches": [
            { "what": "incident", "subject": "s3", "on": true }, { "what": "node", "subject": "a", "on": false },
            { "what": "metrics", "subject": "", "on": false }, { "what": "nfs", "subject": "n", "on": false },
            { "what": "volume", "subject": "v", "on": true },
        ] },
    ]));
    same::<HiddenCause>(&json!(["forbidden", "discovery", "failing"]));
    same::<DetailName>(&json!([
        "phase",
        "node",
        "replicas",
        "capacity",
        "class",
        "reclaim",
        "source",
        "selector",
        "target",
        "loadBalancer",
        "ready",
        "owner",
    ]));
    same::<EdgeKind>(&json!([
        "Owns", "Contains", "Mounts", "Claims", "Binds", "Selects", "Routes", "Scales", "RunsOn",
        "RunsAs", "Admits", "Serves", "Defines",
    ]));
    same::<DeletionPhase>(&json!(["present", "accepted", "gone", "podsGone"]));
    same::<Propagation>(&json!(["Background", "Orphan"]));
    same::<Reclaim>(&json!(["Retain", "Delete", "Recycle"]));
    same::<Fate>(&json!(["destroyed", "unknown", "leftBehind", "kept"]));
    same::<Operator>(&json!(["In", "NotIn", "Exists", "DoesNotExist"]));
}

#[test]
fn every_page() {
    for seed in [
        consortium::unit(),
        consortium::all_states(),
        consortium::hostile(),
        consortium::nothing(),
        consortium::no_units(),
        consortium::unreachable(),
        consortium::units(),
        consortium::planned(),
        consortium::run(),
    ] {
        let read: Seed = wire::read(&serde_json::to_string(&seed).unwrap()).unwrap();
        assert_eq!((&read.message, &read.plan), (&seed.message, &seed.plan));
        assert_eq!((read.now, read.hash, read.signed_in), (seed.now, seed.hash, seed.signed_in));
        let Some(Message::Snapshot { revision, records }) = seed.message else { continue };
        let delta = Message::Delta {
            previous: revision,
            revision: Revision::next(revision),
            remove: records.iter().map(teardown::message::Record::key).collect(),
            put: records,
        };
        assert_eq!(wire::read(&serde_json::to_string(&delta).unwrap()), Some(delta));
    }
}

#[test]
fn what_is_missing_or_of_another_kind_is_refused() {
    for text in [
        "",
        "null",
        "[]",
        "7",
        r#"{"message":"snapshot"}"#,
        r#"{"message":"news","revision":"1:1"}"#,
    ] {
        assert_eq!(wire::read::<Message>(text), None, "{text}");
    }
    assert_eq!(
        wire::read::<StepProblem>(r#"{"problem":"refused","code":65536,"message":""}"#),
        None
    );
    assert_eq!(wire::read::<Key>(r#"{"edge":["1","2","Owns"]}"#), None);
    assert_eq!(
        wire::read::<StepAction>(r#"{"delete":{"propagation":"Background"},"more":1}"#),
        None
    );
}

#[test]
fn a_refusal_is_inside_an_error_and_may_lack_parts() {
    let text = r#"{"error":{"code":"stalePlan","what":"w","do":"d","differences":[]}}"#;
    let refusal: Refusal = wire::read(text).unwrap();
    assert!(refusal.is_stale_plan());
    assert_eq!((refusal.what.as_str(), refusal.remedy.as_str()), ("w", "d"));
    assert_eq!(refusal.means, Refusal::default().means);
    assert_eq!(wire::read::<Refusal>("<html>"), None);
}
