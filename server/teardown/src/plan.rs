//! What will be done: an immutable, hashed list of steps, each with the object's UID, the call, and every edge that puts
//! something in front of it. Performing a plan leaves no choices.

mod data;
mod difference;
mod kept;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt::{self, Write},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use self::{data::volume_called, difference::is_made_in_passing};
pub use self::{
    data::{DataFate, Fate},
    difference::{Difference, differences},
    kept::{Kept, KeptReason, shared},
};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Kind, Object, ObjectRef, Reclaim, Uid},
    relation::{DeletionPhase, Edge, EdgeKind, Reason},
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
    /// SHA-256 over the unit, what goes, what stays and the data, in hexadecimal; what a person confirms.
    pub hash: String,
    /// The unit it takes apart.
    pub unit: UnitId,
    /// When it was made.
    #[serde(with = "jiff::fmt::serde::timestamp::millisecond::required")]
    pub made: Timestamp,
    /// What will go, in an order that respects every edge.
    pub steps: Vec<Step>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
    /// Objects of the unit that neither go by a step nor stay: the cluster makes them and removes them by itself. They are
    /// told so that the numbers add up; nothing is decided about them, so the hash leaves them out.
    #[serde(default)]
    pub left_to_cluster: Vec<Kept>,
    /// What happens to the data on the volumes that are concerned.
    pub data: Vec<DataFate>,
    /// Kinds that cannot be seen: whatever is of them is in no step, and nothing that it may need goes before it is seen.
    pub hidden: Vec<String>,
}

impl Plan {
    /// The step of that number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }

    /// Whether there may be claims that nobody sees, and with them data of which the plan says nothing.
    pub fn hides_claims(&self) -> bool {
        self.hidden.iter().any(|resource| resource == "persistentvolumeclaims")
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
    pub action: StepAction,
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
pub enum StepAction {
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
    pub phase: DeletionPhase,
    /// The kind of the edge that says so.
    pub edge: EdgeKind,
    /// Whether the edge's field is on the object that goes first; else it is on this step's.
    pub on_first: bool,
    /// The field and value the edge comes from.
    pub reason: Reason,
}

/// Why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "camelCase")]
pub enum PlanError {
    /// The unit has no object that could go.
    Empty,
    /// Hard edges close a circle; the path leads back to its first object.
    Cycle {
        /// Each object goes before the next.
        path: Vec<ObjectRef>,
    },
}

/// Makes the plan of a unit.
///
/// What something outside the unit still needs is kept, and so is whatever a kept object needs: an object may only go
/// if everything that goes before it goes.
///
/// # Errors
/// [`PlanError::Empty`] where nothing could go, [`PlanError::Cycle`] where edges close a circle.
pub fn plan(index: &Index, graph: &Graph, unit: &Unit, now: Timestamp) -> Result<Plan, PlanError> {
    let kept = kept::reasons(index, graph, unit, now);
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
    let data = data::fates(index, graph, unit, &kept);
    let kept = kept
        .into_iter()
        .filter_map(|(uid, reason)| index.get(&uid).map(|object| (object.reference(), uid, reason)))
        .map(|(object, uid, reason)| Kept { uid, object, reason });
    let mut kept: Vec<Kept> = kept.collect();
    kept.sort_by(|a, b| a.object.cmp(&b.object));
    let (left_to_cluster, kept): (Vec<Kept>, Vec<Kept>) =
        kept.into_iter().partition(|kept| kept.reason == KeptReason::MadeByCluster);
    let hidden: Vec<String> = index.hidden_kinds().into_keys().collect();
    let hash = hash(&unit.id, &steps, &kept, &data, &hidden);
    let id = PlanId::new(&hash[..16]);
    Ok(Plan {
        id,
        hash,
        unit: unit.id.clone(),
        made: now,
        steps,
        kept,
        left_to_cluster,
        data,
        hidden,
    })
}

/// Of all that a person was told: who starts a plan by its hash knows what could not be seen as well.
fn hash(
    unit: &UnitId,
    steps: &[Step],
    kept: &[Kept],
    data: &[DataFate],
    hidden: &[String],
) -> String {
    let content = serde_json::to_vec(&(unit, steps, kept, data, hidden)).unwrap_or_default();
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
            let (first, then, phase) = edge.ordered()?;
            let step = numbers.get(first).filter(|_| *then == object.uid)?;
            let on_first = edge.from == *first;
            Some(Blocker {
                step: *step,
                phase,
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
            Some(last) => last.phase = last.phase.max(blocker.phase),
            None => merged.push(blocker),
        }
    }
    Step {
        id: numbers[&object.uid],
        uid: object.uid.clone(),
        object: object.reference(),
        kind: (*object.kind).clone(),
        action: action(object, index, graph, numbers),
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

fn action(
    object: &Object,
    index: &Index,
    graph: &Graph,
    numbers: &HashMap<&Uid, StepId>,
) -> StepAction {
    match &object.facts {
        // The volume's own controller destroys the bytes and then the object; a DELETE of ours would change nothing.
        Facts::Volume(volume)
            if volume.reclaim == Reclaim::Delete
                && graph.to(&object.uid).any(|edge| edge.kind == EdgeKind::Binds) =>
        {
            StepAction::Await
        }
        // Its claims may be there and not be seen.
        Facts::Workload(workload) if workload.claims_go_with_it => {
            StepAction::Delete { propagation: Propagation::Orphan }
        }
        _ if hides_its_claims(object, index)
            || collects_too_much(object, index, graph, numbers) =>
        {
            StepAction::Delete { propagation: Propagation::Orphan }
        }
        _ => StepAction::Delete { propagation: Propagation::Background },
    }
}

/// Whether an operator's object may own claims that nobody sees: the garbage collector would take them under their Pods.
fn hides_its_claims(object: &Object, index: &Index) -> bool {
    let group = &*object.kind.group;
    // Kubernetes' own end in `.k8s.io`; what its community defines elsewhere, in `.x-k8s.io`.
    let is_an_operators =
        group.contains('.') && (!group.ends_with(".k8s.io") || group.ends_with(".x-k8s.io"));
    is_an_operators && index.check_claims_visible(object.namespace.as_deref()).is_err()
}

/// Whether the garbage collector, which takes whatever an object owns as soon as the object is gone, would take something
/// that stays, or something that has to wait for more than its owners, as a claim waits for the Pods that mount it.
fn collects_too_much(
    object: &Object,
    index: &Index,
    graph: &Graph,
    numbers: &HashMap<&Uid, StepId>,
) -> bool {
    let firsts = |uid: &Uid| {
        let orders = graph.around(uid).filter_map(|edge| Some((edge.kind, edge.ordered()?)));
        orders
            .filter(|(_, (first, then, _))| *then == uid && numbers.contains_key(first))
            .map(|(kind, (first, _, phase))| (kind, first, phase))
            .collect::<Vec<_>>()
    };
    // What the object itself waits for is no more when the collector comes.
    let awaited = firsts(&object.uid);
    let is_over = |(kind, first, phase): &(EdgeKind, &Uid, DeletionPhase), line: &[&Uid]| {
        *kind == EdgeKind::Owns
            || line.contains(first)
            || awaited.iter().any(|(_, it, furthest_stage)| it == first && furthest_stage >= phase)
    };
    let mut seen = BTreeSet::from([&object.uid]);
    let mut open = vec![vec![&object.uid]];
    while let Some(line) = open.pop() {
        let owned = line.last().into_iter().flat_map(|owner| graph.to(owner));
        for edge in owned.filter(|edge| edge.kind == EdgeKind::Owns) {
            let Some(it) = index.get(&edge.from).filter(|it| !it.is_made_by_cluster()) else {
                continue;
            };
            if !numbers.contains_key(&it.uid)
                || !firsts(&it.uid).iter().all(|first| is_over(first, &line))
            {
                return true;
            }
            if seen.insert(&it.uid) {
                open.push([&line[..], &[&it.uid]].concat());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
