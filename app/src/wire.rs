//! How what the server writes is read, here and in the first render: one table of parts per type. The readers that serde
//! derives made a seventh of the browser's half, mostly for enums with a tag inside; these are a tenth of that. They read
//! exactly what serde writes, which the tests hold them to; a field or variant that is missing here does not build.

mod json;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
pub use json::Json;
use teardown::{
    api_problem::{ApiProblem, ProblemCode},
    demo::{Demo, DemoFault, FaultSwitch},
    labels::Labels,
    message::{
        AwayCause, ClusterCard, Detail, DetailName, EdgeCard, FeedEntry, HiddenCause,
        HiddenKindCard, Key, Membership, Message, ObjectCard, Record, Revision, RunCard, State,
        StepCard, UnitCard, Unreachable,
    },
    object::{Deletion, Kind, ObjectRef, Reclaim, Uid},
    plan::{
        Blocker, DataFate, Difference, Fate, Kept, KeptReason, Plan, PlanId, Propagation, Step,
        StepAction, StepId,
    },
    relation::{DeletionPhase, EdgeKind, Reason},
    run::{FeedEvent, RunId, RunState, StepProblem},
    selector::{Operator, Requirement, Selector},
    unit::{UnitId, UnitOrigin},
    unknown_reason::UnknownReason,
};

use crate::{calendar, seed::Seed};

/// What can be read from the wire.
pub trait Wire: Sized {
    /// Reads a value; `None` where it is not what this type is written as.
    fn read(json: &Json<'_>) -> Option<Self>;
}

/// Reads a whole text; `None` where it is not what this type is written as.
pub fn read<T: Wire>(text: &str) -> Option<T> {
    T::read(&Json::parse(text)?)
}

/// The part of that name.
pub fn part<T: Wire>(json: &Json<'_>, name: &str) -> Option<T> {
    T::read(json.get(name))
}

/// Structs: written as a map from their fields' names.
macro_rules! structs {
    ($($type:ident { $($field:ident),+ $(,)? })+) => { $(
        impl Wire for $type {
            fn read(json: &Json<'_>) -> Option<Self> {
                Some(Self { $($field: part(json, stringify!($field))?),+ })
            }
        }
    )+ };
}
pub(crate) use structs;

/// Enums without fields: written as a text.
macro_rules! names {
    ($($type:ident { $($variant:ident $name:literal),+ $(,)? })+) => { $(
        impl Wire for $type {
            fn read(json: &Json<'_>) -> Option<Self> {
                const _: fn(&$type) = |value| match value { $($type::$variant => ()),+ };
                match json.text()? {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    )+ };
}

/// Enums with fields: written as a map of the fields and of the variant's name under a name of its own.
macro_rules! tagged {
    ($($type:ident $tag:literal { $($variant:ident $name:literal { $($field:ident),* }),+ $(,)? })+) => { $(
        impl Wire for $type {
            fn read(json: &Json<'_>) -> Option<Self> {
                const _: fn(&$type) = |value| match value { $($type::$variant { .. } => ()),+ };
                match json.get($tag).text()? {
                    $($name => Some(Self::$variant { $($field: part(json, stringify!($field))?),* }),)+
                    _ => None,
                }
            }
        }
    )+ };
}

/// Texts of a kind of their own.
macro_rules! texts {
    ($($type:ty: $new:expr;)+) => { $(
        impl Wire for $type {
            fn read(json: &Json<'_>) -> Option<Self> {
                json.text().map($new)
            }
        }
    )+ };
}

/// Whole numbers.
macro_rules! numbers {
    ($($type:ty)+) => { $(
        impl Wire for $type {
            fn read(json: &Json<'_>) -> Option<Self> {
                if let Json::Number(number) = json { (*number).try_into().ok() } else { None }
            }
        }
    )+ };
}

numbers! { u16 u32 u64 usize i64 }

texts! {
    String: str::to_owned;
    Arc<str>: Arc::from;
    Uid: Uid::new;
    UnitId: UnitId::new;
    RunId: RunId::new;
    PlanId: PlanId::new;
}

structs! {
    Seed { message, plan, refusal, now, hash, signed_in }
    ClusterCard { name, version, synced, kinds, objects, unreachable, demo }
    Demo { speed, switches }
    FaultSwitch { what, subject, on }
    Unreachable { since, cause, message }
    UnitCard { id, origin, namespaces, counts, shared, newest, run, same_as }
    ObjectCard {
        uid, object, version, state, since, membership, created, deletion, finalizers, labels, details, phase,
        final_phase, step, wave,
    }
    ObjectRef { group, kind, namespace, name }
    Deletion { at, grace }
    Detail { name, value }
    EdgeCard { from, to, kind, reason }
    Reason { field, value }
    HiddenKindCard { resource, cause, message, since }
    RunCard { id, unit, plan, state, by, started, ended, counts, total, kept, left_to_cluster, recovered }
    StepCard { id, uid, object, wave, state, requested, gone, waits_for, taken, problem }
    FeedEntry { number, at, event }
    Plan { id, hash, unit, made, steps, kept, left_to_cluster, data, hidden }
    Step { id, uid, object, kind, action, wave, after, finalizers, pods, holds_storage }
    Kind { group, kind, version, plural, namespaced }
    Blocker { step, phase, edge, on_first, reason }
    Kept { uid, object, reason }
    DataFate { volume, claim, capacity, source, reclaim, fate }
    Selector { labels, expressions }
    Requirement { key, operator, values }
}

names! {
    State {
        Present "Present", Kept "Kept", Planned "Planned", Waiting "Waiting", Requested "Requested",
        Terminating "Terminating", Finalizing "Finalizing", Slow "Slow", Stuck "Stuck", Refused "Refused",
        Gone "Gone", CameBack "CameBack", Skipped "Skipped", Unknown "Unknown",
    }
    RunState {
        Running "running", Paused "paused", Stopping "stopping", Finished "finished", Stopped "stopped",
    }
    UnitOrigin { PartOf "partOf", Namespace "namespace" }
    DemoFault { Incident "incident", Operator "operator", Node "node", Metrics "metrics", Nfs "nfs", Volume "volume" }
    AwayCause { Silent "silent", Unauthorized "unauthorized", Failing "failing" }
    HiddenCause { Forbidden "forbidden", Discovery "discovery", Failing "failing" }
    DetailName {
        Phase "phase", Node "node", Replicas "replicas", Capacity "capacity", Class "class", Reclaim "reclaim",
        Source "source", Selector "selector", Target "target", LoadBalancer "loadBalancer", Ready "ready",
        Owner "owner",
    }
    EdgeKind {
        Owns "Owns", Contains "Contains", Mounts "Mounts", Claims "Claims", Binds "Binds", Selects "Selects",
        Routes "Routes", Scales "Scales", RunsOn "RunsOn", RunsAs "RunsAs", Admits "Admits", Serves "Serves",
        Defines "Defines",
    }
    DeletionPhase { Present "present", Accepted "accepted", Gone "gone", PodsGone "podsGone" }
    Propagation { Background "Background", Orphan "Orphan" }
    Reclaim { Retain "Retain", Delete "Delete", Recycle "Recycle" }
    Fate { Destroyed "destroyed", Unknown "unknown", LeftBehind "leftBehind", Kept "kept" }
    Operator { In "In", NotIn "NotIn", Exists "Exists", DoesNotExist "DoesNotExist" }
}

tagged! {
    Message "message" {
        Snapshot "snapshot" { revision, records },
        Delta "delta" { previous, revision, put, remove },
    }
    KeptReason "why" {
        UsedBy "usedBy" { user, edge, reason },
        NeededBy "neededBy" { user, edge, reason },
        RetainedVolume "retainedVolume" {},
        RecycledVolume "recycledVolume" {},
        Protected "protected" {},
        Access "access" {},
        MadeByCluster "madeByCluster" {},
        HiddenController "hiddenController" { kind, name },
        HiddenUsers "hiddenUsers" { resource, namespace },
    }
    UnknownReason "why" {
        Hidden "hidden" { resource, namespace, message },
        NotListed "notListed" { resource },
        NotServed "notServed" { resource },
        PodsLeft "podsLeft" { pod, of },
        InUse "inUse" { by },
        WouldCollect "wouldCollect" { it },
        WouldDestroyData "wouldDestroyData" { volume },
        NamespaceNotEmpty "namespaceNotEmpty" { by },
        Inconclusive "inconclusive" { message },
    }
    ProblemCode "problem" {
        Timeout "timeout" { seconds },
        Credentials "credentials" {},
        TooLarge "tooLarge" { mebibytes },
        Status "status" { code, said },
        Unreadable "unreadable" { why },
        NotAnApiServer "notAnApiServer" {},
        NotDiscovery "notDiscovery" { path, why },
        Stale "stale" {},
        InvalidName "invalidName" { name },
        NoPath "noPath" {},
        NoResourceVersion "noResourceVersion" {},
        NoUid "noUid" {},
        TooManyNamespaces "tooManyNamespaces" {},
        QueueFull "queueFull" {},
        HiddenInNamespaces "hiddenInNamespaces" { hidden, of, named, whole },
        NamespacesUnknown "namespacesUnknown" { seen, whole },
    }
    Difference "difference" {
        Added "added" { object },
        Removed "removed" { object },
        Recreated "recreated" { object },
        Changed "changed" { object },
        Hidden "hidden" { resource },
    }
    StepProblem "problem" {
        Late "late" { since, finalizers },
        Refused "refused" { code, message },
        CameBack "cameBack" { uid },
        Unknown "unknown" { reason },
        InUse "inUse" { pods },
        Retrying "retrying" { attempts, message },
    }
    FeedEvent "event" {
        Started "started" { by },
        Recovered "recovered" {},
        Paused "paused" { by },
        Resumed "resumed" { by },
        Stopping "stopping" { by },
        Requested "requested" { step, object },
        Terminating "terminating" { step, object },
        Gone "gone" { step, object },
        Problem "problem" { step, object, problem },
        Skipped "skipped" { step, object, by },
        Finished "finished" {},
        Stopped "stopped" { untouched, requested, already_terminating, effect_unknown, gone },
    }
}

impl Wire for ApiProblem {
    fn read(json: &Json<'_>) -> Option<Self> {
        match json.text() {
            Some(said) => Some(Self::Quoted(said.to_owned())),
            None => Wire::read(json).map(Self::Code),
        }
    }
}

impl Wire for bool {
    fn read(json: &Json<'_>) -> Option<Self> {
        if let Json::Bool(value) = json { Some(*value) } else { None }
    }
}

impl Wire for StepId {
    fn read(json: &Json<'_>) -> Option<Self> {
        Wire::read(json).map(Self)
    }
}

impl Wire for Timestamp {
    fn read(json: &Json<'_>) -> Option<Self> {
        calendar::parse(json.text()?)
    }
}

impl Wire for Revision {
    fn read(json: &Json<'_>) -> Option<Self> {
        json.text()?.parse().ok()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn read(json: &Json<'_>) -> Option<Self> {
        if *json == Json::Null { Some(None) } else { T::read(json).map(Some) }
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(json: &Json<'_>) -> Option<Self> {
        T::read(json).map(Self::new)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(json: &Json<'_>) -> Option<Self> {
        // By hand, as with maps: collecting what can fail costs as much again per type.
        let list = json.list()?;
        let mut values = Self::with_capacity(list.len());
        for value in list {
            values.push(T::read(value)?);
        }
        Some(values)
    }
}

impl<T: Wire> Wire for Box<[T]> {
    fn read(json: &Json<'_>) -> Option<Self> {
        Vec::read(json).map(Vec::into_boxed_slice)
    }
}

impl Wire for Labels {
    fn read(json: &Json<'_>) -> Option<Self> {
        let mut labels: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (key, value) in json.map()? {
            labels.push((Arc::from(&**key), Wire::read(value)?));
        }
        Some(labels.into_iter().collect())
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn read(json: &Json<'_>) -> Option<Self> {
        // One by one: collecting sorts, and each type that is sorted costs four kilobytes.
        let mut map = Self::new();
        for (name, value) in json.map()? {
            map.insert(K::read(&Json::Text(Cow::Borrowed(name)))?, V::read(value)?);
        }
        Some(map)
    }
}

/// The one variant of an enum with fields that is written under its name, as `{"name": fields}`.
fn variant<'j, 'a>(json: &'j Json<'a>) -> Option<(&'j str, &'j Json<'a>)> {
    match json.map()? {
        [(name, fields)] => Some((name, fields)),
        _ => None,
    }
}

impl Wire for Record {
    fn read(json: &Json<'_>) -> Option<Self> {
        Some(match json.get("record").text()? {
            "cluster" => Self::Cluster(Wire::read(json)?),
            "unit" => Self::Unit(Wire::read(json)?),
            "run" => Self::Run(Wire::read(json)?),
            "object" => Self::Object(Wire::read(json)?),
            "edge" => Self::Edge(Wire::read(json)?),
            "hiddenKind" => Self::HiddenKind(Wire::read(json)?),
            "step" => Self::Step(Wire::read(json)?),
            "event" => Self::Event(Wire::read(json)?),
            _ => return None,
        })
    }
}

impl Wire for Key {
    fn read(json: &Json<'_>) -> Option<Self> {
        if json.text() == Some("cluster") {
            return Some(Self::Cluster);
        }
        let (name, key) = variant(json)?;
        Some(match name {
            "unit" => Self::Unit(Wire::read(key)?),
            "run" => Self::Run(Wire::read(key)?),
            "object" => Self::Object(Wire::read(key)?),
            "edge" => {
                let [from, to, kind, field] = key.list()? else { return None };
                Self::Edge(
                    Wire::read(from)?,
                    Wire::read(to)?,
                    Wire::read(kind)?,
                    Wire::read(field)?,
                )
            }
            "hiddenKind" => Self::HiddenKind(Wire::read(key)?),
            "step" => Self::Step(Wire::read(key)?),
            "event" => Self::Event(Wire::read(key)?),
            _ => return None,
        })
    }
}

impl Wire for Membership {
    fn read(json: &Json<'_>) -> Option<Self> {
        match json.text() {
            Some("member") => return Some(Self::Member),
            Some("outside") => return Some(Self::Outside),
            _ => {}
        }
        match variant(json)? {
            ("kept", reason) => Wire::read(reason).map(Self::Kept),
            _ => None,
        }
    }
}

impl Wire for StepAction {
    fn read(json: &Json<'_>) -> Option<Self> {
        if json.text() == Some("await") {
            return Some(Self::Await);
        }
        match variant(json)? {
            ("delete", fields) => Some(Self::Delete { propagation: part(fields, "propagation")? }),
            _ => None,
        }
    }
}
