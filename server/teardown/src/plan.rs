//! What will be done: an immutable, hashed list of steps, each with the object's UID, the call, and every edge that puts
//! something in front of it. Performing a plan leaves no choices.

mod kept;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fmt::{self, Write},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::kept::{Kept, KeptReason, shared};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Kind, Object, ObjectRef, Reclaim, Uid},
    relation::{Edge, EdgeKind, Reason, Rung},
    selector::Selector,
    unit::{Unit, UnitId},
};

/// The number of a step in its plan, from 0, in an order that respects every edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A plan's name: the first 16 hexadecimal digits of its hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(String);

impl PlanId {
    /// The id as it stands in a URL.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An immutable plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name.
    pub id: PlanId,
    /// SHA-256 over everything below but `made`, in hexadecimal; what a person confirms.
    pub hash: String,
    /// The unit it takes apart.
    pub unit: UnitId,
    /// When it was made.
    pub made: Timestamp,
    /// What will go, in an order that respects every edge.
    pub steps: Vec<Step>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
    /// What happens to the data on the volumes that are concerned.
    pub data: Vec<DataFate>,
    /// Kinds that cannot be seen and could hold something in front of a step.
    pub blind: Vec<String>,
}

impl Plan {
    /// The step of that number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }

    /// How many waves it is shown in.
    pub fn waves(&self) -> u32 {
        self.steps.iter().map(|step| step.wave).max().unwrap_or_default()
    }
}

/// One object and what will be done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub id: StepId,
    /// The one object this step may touch.
    pub uid: Uid,
    /// What a person calls it.
    pub object: ObjectRef,
    /// Its kind as discovery named it, for the request's path.
    pub kind: Kind,
    /// What is done.
    pub deed: Deed,
    /// Rank on the longest path, from 1. A way of showing; nothing waits for a wave.
    pub wave: u32,
    /// What must be proven before it starts. Empty: it starts at once.
    pub after: Vec<Blocker>,
    /// Finalizers at the time of planning: what else has to happen before it is gone.
    pub finalizers: Vec<String>,
    /// For what makes Pods: how its Pods are recognised once it is gone itself.
    pub pods: Option<Selector>,
    /// For a claim: its Pods must be absent from one consistent read before it is touched.
    pub holds_storage: bool,
}

/// What is done with a step's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// DELETE with the UID as precondition.
    Delete {
        /// `propagationPolicy`, always explicit.
        propagation: Propagation,
    },
    /// Nothing: its controller removes it once what is in front of it is gone, and we wait for that.
    Await,
}

/// `propagationPolicy` of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// The owner goes first, its dependents after it.
    Background,
    /// The dependents stay and lose this owner.
    Orphan,
}

/// Something in front of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// The step that goes first.
    pub step: StepId,
    /// How far it must have got.
    pub rung: Rung,
    /// The kind of the edge that says so.
    pub edge: EdgeKind,
    /// Whether the edge's field is on the object that goes first; else it is on this step's.
    pub on_first: bool,
    /// The field and value the edge comes from.
    pub reason: Reason,
}

/// What happens to the data behind one volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFate {
    /// The volume.
    pub volume: ObjectRef,
    /// The claim bound to it, if there is one.
    pub claim: Option<ObjectRef>,
    /// Its capacity, as written.
    pub capacity: Option<String>,
    /// Where the bytes are.
    pub source: Option<String>,
    /// Its reclaim policy.
    pub reclaim: Reclaim,
    /// What becomes of the bytes.
    pub fate: Fate,
}

/// What becomes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// Destroyed with the volume.
    Destroyed,
    /// The volume object goes or is Released; the bytes stay where they are.
    LeftBehind,
    /// The volume stays in use.
    Kept,
}

/// How the cluster differs from a plan that was made earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "difference", rename_all = "camelCase")]
pub enum Difference {
    /// A new plan would take this object, the old one does not know it.
    Added {
        /// The object.
        object: ObjectRef,
    },
    /// The old plan takes this object, a new one would not: it is gone or kept.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// The name is another object's now.
    Recreated {
        /// The object.
        object: ObjectRef,
    },
    /// The same object would be taken in another way or another place.
    Changed {
        /// The object.
        object: ObjectRef,
    },
}

/// Why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "camelCase")]
pub enum PlanError {
    /// The unit has no object that could go.
    #[error("nothing of the unit can be deleted")]
    Empty,
    /// Hard edges close a circle; the path leads back to its first object.
    #[error("the objects wait for each other in a circle: {}", path_text(path))]
    Cycle {
        /// Each object goes before the next.
        path: Vec<ObjectRef>,
    },
}

fn path_text(path: &[ObjectRef]) -> String {
    path.iter().map(ObjectRef::to_string).collect::<Vec<_>>().join(" → ")
}

/// Makes the plan of a unit.
///
/// What something outside the unit still needs is kept, and so is whatever a kept object needs: an object may only go
/// if everything that goes before it goes.
///
/// # Errors
/// [`PlanError::Empty`] where nothing could go, [`PlanError::Cycle`] where edges close a circle.
pub fn plan(index: &Index, graph: &Graph, unit: &Unit, now: Timestamp) -> Result<Plan, PlanError> {
    let kept = kept::reasons(index, graph, unit);
    let going: BTreeSet<&Uid> =
        unit.members.iter().filter(|uid| !kept.contains_key(*uid)).collect();
    if going.is_empty() {
        return Err(PlanError::Empty);
    }
    let order = Ordered::of(index, graph, &going)?;
    let numbers: HashMap<&Uid, StepId> =
        (0u32..).zip(&order.sequence).map(|(number, uid)| (*uid, StepId(number))).collect();
    let steps: Vec<Step> = order
        .sequence
        .iter()
        .filter_map(|uid| index.get(uid))
        .map(|object| step(object, index, graph, &order, &numbers))
        .collect();
    let data = data(index, graph, unit, &kept);
    let kept = kept
        .into_iter()
        .filter(|(_, reason)| !matches!(reason, KeptReason::MadeByCluster))
        .filter_map(|(uid, reason)| index.get(&uid).map(|object| (object.reference(), uid, reason)))
        .map(|(object, uid, reason)| Kept { uid, object, reason });
    let mut kept: Vec<Kept> = kept.collect();
    kept.sort_by(|a, b| a.object.cmp(&b.object));
    let blind = index.blind().into_keys().collect();
    let hash = hash(&unit.id, &steps, &kept, &data);
    let id = PlanId::new(&hash[..16]);
    Ok(Plan { id, hash, unit: unit.id.clone(), made: now, steps, kept, data, blind })
}

fn hash(unit: &UnitId, steps: &[Step], kept: &[Kept], data: &[DataFate]) -> String {
    let content = serde_json::to_vec(&(unit, steps, kept, data)).unwrap_or_default();
    let digest = Sha256::digest(&content);
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing into a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The objects that go, in an order that respects every edge, with their rank on the longest path.
struct Ordered<'a> {
    sequence: Vec<&'a Uid>,
    waves: HashMap<&'a Uid, u32>,
}

impl<'a> Ordered<'a> {
    fn of(index: &Index, graph: &'a Graph, going: &BTreeSet<&'a Uid>) -> Result<Self, PlanError> {
        let mut before: HashMap<&Uid, BTreeSet<&Uid>> =
            going.iter().map(|uid| (*uid, BTreeSet::new())).collect();
        let mut after: HashMap<&Uid, BTreeSet<&Uid>> = HashMap::new();
        for (first, then, _) in graph.edges().iter().filter_map(Edge::ordered) {
            if going.contains(first) && going.contains(then) {
                before.entry(then).or_default().insert(first);
                after.entry(first).or_default().insert(then);
            }
        }
        let mut waves: HashMap<&Uid, u32> = HashMap::new();
        let mut open: HashMap<&Uid, usize> =
            before.iter().map(|(uid, firsts)| (*uid, firsts.len())).collect();
        let mut ready: VecDeque<&Uid> =
            going.iter().copied().filter(|uid| open[uid] == 0).collect();
        while let Some(uid) = ready.pop_front() {
            let wave = 1 + before[uid]
                .iter()
                .filter_map(|first| waves.get(first))
                .max()
                .copied()
                .unwrap_or(0);
            waves.insert(uid, wave);
            for then in after.get(uid).into_iter().flatten() {
                if let Some(left) = open.get_mut(then) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push_back(then);
                    }
                }
            }
        }
        if waves.len() < going.len() {
            let stuck = going.iter().copied().filter(|uid| !waves.contains_key(uid)).collect();
            return Err(PlanError::Cycle { path: circle(index, &before, &stuck) });
        }
        let mut sequence: Vec<&Uid> = going.iter().copied().collect();
        sequence.sort_by_cached_key(|uid| {
            (waves[uid], index.get(uid).map(|object| object.reference()), (*uid).clone())
        });
        Ok(Self { sequence, waves })
    }
}

/// One circle among objects of which each waits for another of them: walk backwards until one comes again.
fn circle(
    index: &Index,
    before: &HashMap<&Uid, BTreeSet<&Uid>>,
    stuck: &BTreeSet<&Uid>,
) -> Vec<ObjectRef> {
    let mut path: Vec<&Uid> = Vec::new();
    let mut at = stuck.iter().next().copied();
    while let Some(uid) = at {
        if let Some(start) = path.iter().position(|seen| *seen == uid) {
            path.drain(..start);
            path.push(uid);
            break;
        }
        path.push(uid);
        at = before[uid].iter().copied().find(|first| stuck.contains(first));
    }
    path.iter().rev().filter_map(|uid| index.get(uid)).map(|object| object.reference()).collect()
}

fn step(
    object: &Object,
    index: &Index,
    graph: &Graph,
    order: &Ordered<'_>,
    numbers: &HashMap<&Uid, StepId>,
) -> Step {
    let mut after: Vec<Blocker> = graph
        .around(&object.uid)
        .filter_map(|edge| {
            let (first, then, rung) = edge.ordered()?;
            let step = numbers.get(first).filter(|_| *then == object.uid)?;
            let on_first = edge.from == *first;
            Some(Blocker {
                step: *step,
                rung,
                edge: edge.kind,
                on_first,
                reason: edge.reason.clone(),
            })
        })
        .collect();
    after.sort_by(|a, b| (a.step, a.edge, &a.reason).cmp(&(b.step, b.edge, &b.reason)));
    // One object may be in front for several reasons; the first one explains, the highest rung binds.
    let mut merged: Vec<Blocker> = Vec::with_capacity(after.len());
    for blocker in after {
        match merged.last_mut().filter(|last| last.step == blocker.step) {
            Some(last) => last.rung = last.rung.max(blocker.rung),
            None => merged.push(blocker),
        }
    }
    Step {
        id: numbers[&object.uid],
        uid: object.uid.clone(),
        object: object.reference(),
        kind: (*object.kind).clone(),
        deed: deed(object, index, graph),
        wave: order.waves[&object.uid],
        after: merged,
        finalizers: object.finalizers.iter().map(ToString::to_string).collect(),
        pods: match &object.facts {
            Facts::Workload(workload) => workload.selector.clone(),
            _ => None,
        },
        holds_storage: matches!(object.facts, Facts::Claim(_)),
    }
}

fn deed(object: &Object, index: &Index, graph: &Graph) -> Deed {
    match &object.facts {
        // The volume's own controller destroys the bytes and then the object; a DELETE of ours would change nothing.
        Facts::Volume(volume)
            if volume.reclaim == Reclaim::Delete
                && graph.to(&object.uid).any(|edge| edge.kind == EdgeKind::Binds) =>
        {
            Deed::Await
        }
        // With any other policy the garbage collector would delete the claims it owns while its Pods still run.
        Facts::Workload(_) if owns_claims(object, index, graph) => {
            Deed::Delete { propagation: Propagation::Orphan }
        }
        _ => Deed::Delete { propagation: Propagation::Background },
    }
}

fn owns_claims(object: &Object, index: &Index, graph: &Graph) -> bool {
    graph
        .to(&object.uid)
        .filter(|edge| edge.kind == EdgeKind::Owns)
        .filter_map(|edge| index.get(&edge.from))
        .any(|owned| matches!(owned.facts, Facts::Claim(_)))
}

fn data(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    kept: &BTreeMap<Uid, KeptReason>,
) -> Vec<DataFate> {
    let volumes = unit.members.iter().filter_map(|uid| index.get(uid));
    let mut data: Vec<DataFate> = volumes
        .filter_map(|object| {
            let Facts::Volume(volume) = &object.facts else { return None };
            let claim = graph
                .to(&object.uid)
                .find(|edge| edge.kind == EdgeKind::Binds)
                .map(|edge| &edge.from);
            let fate = match (kept.get(&object.uid), volume.reclaim) {
                (Some(KeptReason::RetainedVolume), _)
                    if claim.is_some_and(|claim| kept.contains_key(claim)) =>
                {
                    Fate::Kept
                }
                (Some(KeptReason::RetainedVolume), _) => Fate::LeftBehind,
                (Some(_), _) => Fate::Kept,
                (None, Reclaim::Delete) if claim.is_some() => Fate::Destroyed,
                (None, _) => Fate::LeftBehind,
            };
            Some(DataFate {
                volume: object.reference(),
                claim: claim.and_then(|claim| index.get(claim)).map(|claim| claim.reference()),
                capacity: volume.capacity.as_deref().map(str::to_owned),
                source: volume.source.as_deref().map(str::to_owned),
                reclaim: volume.reclaim,
                fate,
            })
        })
        .collect();
    data.sort_by(|a, b| (a.fate, &a.volume).cmp(&(b.fate, &b.volume)));
    data
}

/// How a new plan of the same unit differs from what a person confirmed; empty where the old one may still be performed.
///
/// What a controller makes or removes on behalf of an object of both plans is no difference: the Job of a CronJob, the
/// Pods of a rollout. The garbage collector takes it with its owner, and what its Pods use waits until its owner has no
/// Pods. A claim always is one: nobody has confirmed the end of its data.
pub fn differences(old: &Plan, new: &Plan) -> Vec<Difference> {
    let olds: BTreeMap<&ObjectRef, &Step> =
        old.steps.iter().map(|step| (&step.object, step)).collect();
    let news: BTreeMap<&ObjectRef, &Step> =
        new.steps.iter().map(|step| (&step.object, step)).collect();
    let vanished = taken_by_owners(old, new);
    let appeared = taken_by_owners(new, old);
    let kept: BTreeSet<&Uid> = new.kept.iter().map(|kept| &kept.uid).collect();
    let gone = olds.iter().filter_map(|(object, before)| match news.get(object) {
        None if vanished.contains(&before.uid) && !kept.contains(&before.uid) => None,
        None => Some(Difference::Removed { object: (*object).clone() }),
        Some(after) if after.uid != before.uid => {
            let replaced = vanished.contains(&before.uid) && appeared.contains(&after.uid);
            (!replaced).then(|| Difference::Recreated { object: (*object).clone() })
        }
        Some(after) => (before.deed != after.deed
            || waits_for_more((old, before), (new, after), &appeared))
        .then(|| Difference::Changed { object: (*object).clone() }),
    });
    let added = news
        .iter()
        .filter(|(object, step)| !olds.contains_key(*object) && !appeared.contains(&step.uid));
    gone.chain(added.map(|(object, _)| Difference::Added { object: (*object).clone() })).collect()
}

/// The objects of a plan that the other one lacks and that the garbage collector takes with an owner both have.
fn taken_by_owners<'a>(plan: &'a Plan, other: &'a Plan) -> BTreeSet<&'a Uid> {
    let others: BTreeMap<&Uid, &Step> = other.steps.iter().map(|step| (&step.uid, step)).collect();
    let with_dependents =
        |step: &Step| step.deed == Deed::Delete { propagation: Propagation::Background };
    let mut taken = BTreeSet::new();
    // Owners stand before what they own.
    for step in &plan.steps {
        if others.contains_key(&step.uid) || step.holds_storage {
            continue;
        }
        let mut owners = step
            .after
            .iter()
            .filter(|blocker| blocker.edge == EdgeKind::Owns)
            .filter_map(|blocker| plan.step(blocker.step))
            .peekable();
        let follows = |owner: &Step| {
            with_dependents(owner)
                && (taken.contains(&owner.uid)
                    || others.get(&owner.uid).is_some_and(|same| with_dependents(same)))
        };
        if owners.peek().is_some() && owners.all(follows) {
            taken.insert(&step.uid);
        }
    }
    taken
}

/// Whether something is in front of a step that was not, by name, or has to get further. Less in front changes nothing:
/// what has gone is proven gone at once.
fn waits_for_more(
    (old, before): (&Plan, &Step),
    (new, after): (&Plan, &Step),
    appeared: &BTreeSet<&Uid>,
) -> bool {
    let known: BTreeMap<&ObjectRef, Rung> = before
        .after
        .iter()
        .filter_map(|blocker| Some((&old.step(blocker.step)?.object, blocker.rung)))
        .collect();
    after.after.iter().any(|blocker| {
        new.step(blocker.step).is_some_and(|first| {
            !appeared.contains(&first.uid)
                && known.get(&first.object).is_none_or(|rung| *rung < blocker.rung)
        })
    })
}

#[cfg(test)]
mod tests;
