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
    complaint::Complaint,
    message::{
        AwayCause, BlindCause, DetailName, Key, Message, Playground, Revision, Standing, State,
    },
    object::Reclaim,
    plan::{Deed, Difference, Fate, KeptReason, Propagation},
    relation::{EdgeKind, Rung},
    run::{Happening, RunState, Trouble},
    selector::{Operator, Selector},
    unit::Found,
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
    let trouble = json!([
        { "trouble": "late", "since": since, "finalizers": ["a", "b"] },
        { "trouble": "refused", "code": 403, "message": "no" },
        { "trouble": "cameBack", "uid": "1" },
        { "trouble": "cannotTell", "doubt": { "why": "hidden", "resource": "pods", "namespace": "shop", "message": "" } },
        { "trouble": "cannotTell", "doubt": { "why": "unlisted", "resource": "pods" } },
        { "trouble": "cannotTell", "doubt": { "why": "unserved", "resource": "pods" } },
        { "trouble": "cannotTell", "doubt": { "why": "left", "pod": object, "of": object } },
        { "trouble": "cannotTell", "doubt": { "why": "used", "by": object } },
        { "trouble": "cannotTell", "doubt": { "why": "occupied", "by": object } },
        { "trouble": "cannotTell", "doubt": { "why": "unclear", "message": "" } },
        { "trouble": "inUse", "pods": [object] },
        { "trouble": "retrying", "attempts": 3, "message": "429" },
    ]);
    let kept = json!([
        { "why": "usedBy", "user": object, "edge": "Mounts", "reason": reason },
        { "why": "neededBy", "user": object, "edge": "Owns", "reason": reason },
        { "why": "retainedVolume" }, { "why": "recycledVolume" }, { "why": "protected" }, { "why": "access" }, { "why": "madeByCluster" },
        { "why": "unseenController", "kind": "Deployment", "name": "web" },
    ]);
    same::<Trouble>(&trouble);
    same::<KeptReason>(&kept);
    same::<Happening>(&json!([
        { "happening": "started", "by": "Li" }, { "happening": "recovered" }, { "happening": "paused", "by": "Li" },
        { "happening": "resumed", "by": "Li" }, { "happening": "stopping", "by": "Li" },
        { "happening": "requested", "step": 1, "object": object },
        { "happening": "terminating", "step": 1, "object": object },
        { "happening": "gone", "step": 1, "object": object },
        { "happening": "trouble", "step": 1, "object": object, "trouble": trouble[0] },
        { "happening": "skipped", "step": 1, "object": object, "by": "Li" }, { "happening": "finished" },
        { "happening": "stopped", "untouched": 1, "irrevocable": 2, "gone": 3 },
    ]));
    same::<Complaint>(&json!([
        "denied", { "fault": "silence", "seconds": 10 }, { "fault": "credentials" },
        { "fault": "tooLarge", "mebibytes": 256 }, { "fault": "answered", "code": 500, "said": "" },
        { "fault": "unreadable", "why": "x" }, { "fault": "noApiServer" },
        { "fault": "noDocument", "path": "/apis", "why": "x" }, { "fault": "stale" },
        { "fault": "badName", "name": "x" }, { "fault": "noPath" }, { "fault": "noVersion" }, { "fault": "noUid" },
        { "fault": "crowded" }, { "fault": "queued" },
        { "fault": "partly", "hidden": 4, "of": 5, "named": ["a", "b"], "whole": "denied" },
        { "fault": "unbounded", "seen": 1, "whole": { "fault": "noUid" } },
    ]));
    same::<Difference>(&json!([
        { "difference": "added", "object": object }, { "difference": "removed", "object": object },
        { "difference": "recreated", "object": object }, { "difference": "changed", "object": object },
    ]));
    same::<Standing>(&json!(["member", "outside", { "kept": kept[0] }]));
    same::<Deed>(&json!(["await", { "delete": { "propagation": "Background" } }]));
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
    same::<Found>(&json!(["partOf", "namespace"]));
    same::<AwayCause>(&json!(["silent", "unauthorized", "failing"]));
    same::<Playground>(&json!([
        { "speed": 10, "levers": [
            { "what": "incident", "subject": "s3", "pulled": true }, { "what": "node", "subject": "a", "pulled": false },
            { "what": "metrics", "subject": "", "pulled": false }, { "what": "nfs", "subject": "n", "pulled": false },
            { "what": "volume", "subject": "v", "pulled": true },
        ] },
    ]));
    same::<BlindCause>(&json!(["forbidden", "discovery", "failing"]));
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
    same::<Rung>(&json!(["present", "accepted", "absent", "childless"]));
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
    assert_eq!(wire::read::<Trouble>(r#"{"trouble":"refused","code":65536,"message":""}"#), None);
    assert_eq!(wire::read::<Key>(r#"{"edge":["1","2","Owns"]}"#), None);
    assert_eq!(wire::read::<Deed>(r#"{"delete":{"propagation":"Background"},"more":1}"#), None);
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
