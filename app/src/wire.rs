//! How what the server writes is read, here and in the first render: one table of parts per type. The readers that serde
//! derives made a seventh of the browser's half, mostly for enums with a tag inside; these are a tenth of that. They read
//! exactly what serde writes, which the tests hold them to; a field or variant that is missing here does not build.

mod json;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
pub use json::Json;
use teardown::{
    complaint::{Complaint, Fault},
    doubt::Doubt,
    labels::Labels,
    message::{
        AwayCause, BlindCard, BlindCause, ClusterCard, Detail, DetailName, EdgeCard, EventCard,
        Key, Message, ObjectCard, Record, Revision, RunCard, Standing, State, StepCard, UnitCard,
        Unreachable,
    },
    object::{Deletion, Kind, ObjectRef, Reclaim, Uid},
    plan::{
        Blocker, DataFate, Deed, Difference, Fate, Kept, KeptReason, Plan, PlanId, Propagation,
        Step, StepId,
    },
    playground::{Lever, Mishap, Playground},
    relation::{EdgeKind, Reason, Rung},
    run::{Happening, RunId, RunState, Trouble},
    selector::{Operator, Requirement, Selector},
    unit::{Found, UnitId},
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
    ClusterCard { name, version, synced, kinds, objects, unreachable, playground }
    Playground { speed, levers }
    Lever { what, subject, pulled }
    Unreachable { since, cause, message }
    UnitCard { id, found, namespaces, counts, shared, newest, run }
    ObjectCard {
        uid, object, version, state, since, standing, created, deletion, finalizers, labels, details, rung,
        last_rung, step, wave,
    }
    ObjectRef { group, kind, namespace, name }
    Deletion { at, grace }
    Detail { name, value }
    EdgeCard { from, to, kind, reason }
    Reason { field, value }
    BlindCard { resource, cause, message, since }
    RunCard { id, unit, plan, state, by, started, ended, counts, total, kept, recovered }
    StepCard { id, uid, object, wave, state, requested, gone, waits_for, taken, trouble }
    EventCard { number, at, happening }
    Plan { id, hash, unit, made, steps, kept, data, blind }
    Step { id, uid, object, kind, deed, wave, after, finalizers, pods, holds_storage }
    Kind { group, kind, version, plural, namespaced }
    Blocker { step, rung, edge, on_first, reason }
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
    Found { PartOf "partOf", Namespace "namespace" }
    Mishap { Incident "incident", Operator "operator", Node "node", Metrics "metrics", Nfs "nfs", Volume "volume" }
    AwayCause { Silent "silent", Unauthorized "unauthorized", Failing "failing" }
    BlindCause { Forbidden "forbidden", Discovery "discovery", Failing "failing" }
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
    Rung { Present "present", Accepted "accepted", Absent "absent", Childless "childless" }
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
        UnseenController "unseenController" { kind, name },
        UnseenUsers "unseenUsers" { resource, namespace },
    }
    Doubt "why" {
        Hidden "hidden" { resource, namespace, message },
        Unlisted "unlisted" { resource },
        Unserved "unserved" { resource },
        Left "left" { pod, of },
        Used "used" { by },
        Takes "takes" { it },
        Loses "loses" { volume },
        Occupied "occupied" { by },
        Unclear "unclear" { message },
    }
    Fault "fault" {
        Silence "silence" { seconds },
        Credentials "credentials" {},
        TooLarge "tooLarge" { mebibytes },
        Answered "answered" { code, said },
        Unreadable "unreadable" { why },
        NoApiServer "noApiServer" {},
        NoDocument "noDocument" { path, why },
        Stale "stale" {},
        BadName "badName" { name },
        NoPath "noPath" {},
        NoVersion "noVersion" {},
        NoUid "noUid" {},
        Crowded "crowded" {},
        Queued "queued" {},
        Partly "partly" { hidden, of, named, whole },
        Unbounded "unbounded" { seen, whole },
    }
    Difference "difference" {
        Added "added" { object },
        Removed "removed" { object },
        Recreated "recreated" { object },
        Changed "changed" { object },
        Hidden "hidden" { resource },
    }
    Trouble "trouble" {
        Late "late" { since, finalizers },
        Refused "refused" { code, message },
        CameBack "cameBack" { uid },
        CannotTell "cannotTell" { doubt },
        InUse "inUse" { pods },
        Retrying "retrying" { attempts, message },
    }
    Happening "happening" {
        Started "started" { by },
        Recovered "recovered" {},
        Paused "paused" { by },
        Resumed "resumed" { by },
        Stopping "stopping" { by },
        Requested "requested" { step, object },
        Terminating "terminating" { step, object },
        Gone "gone" { step, object },
        Trouble "trouble" { step, object, trouble },
        Skipped "skipped" { step, object, by },
        Finished "finished" {},
        Stopped "stopped" { untouched, irrevocable, gone },
    }
}

impl Wire for Complaint {
    fn read(json: &Json<'_>) -> Option<Self> {
        match json.text() {
            Some(said) => Some(Self::Said(said.to_owned())),
            None => Wire::read(json).map(Self::Found),
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
            "blind" => Self::Blind(Wire::read(json)?),
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
            "blind" => Self::Blind(Wire::read(key)?),
            "step" => Self::Step(Wire::read(key)?),
            "event" => Self::Event(Wire::read(key)?),
            _ => return None,
        })
    }
}

impl Wire for Standing {
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

impl Wire for Deed {
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
