//! An immutable, hashed list of steps. Each step has the object's UID, the call, and every edge that makes it wait for
//! another step, so a run has no choices left.
//!
//! # Decisions
//! - Nodes are never steps, whatever their labels say.
//! - An owner is deleted with `Orphan` if the garbage collector would take too much with it: an object that stays, or one
//!   that waits for more than its owners, as a claim waits for its Pods. So is a StatefulSet whose claims go with it, because
//!   the claims may exist and be hidden. Steps of their own delete the orphans.
//! - A binding of people (User, Group) that does not carry the unit's label is no step: it goes with its namespace. The
//!   person who runs the plan may hold their rights through it.
//! - A load balancer of the unit goes first even if it selects Pods of another application: the Service is the unit's.
//! - A workload that clears finalizers goes after the objects that have them, and so does an owner of it. Edges that are
//!   only inferred yield where they would close a cycle; the plan names those that it gave up.
//! - A parent that stays because it declares something that stays is suspended by a step of its own, and is left so: active,
//!   it would make again what goes. A parent is not touched that stays for another reason: a person left it or its namespace out,
//!   nobody declared it part of the unit, or it declares objects of others.
//! - An object of a kind without the verb `delete` is no step, because every DELETE would be refused. It stays, and so does what it
//!   needs, but for its namespace and the API that serves it: those would stay for ever.
//! - A plan does not know what a hidden kind would have kept or ordered; it names those kinds. An object that a hidden
//!   controller owns is kept, and so is one younger than a minute whose controller has not been seen.

mod address;
mod choices;
mod confirmed;
mod data;
mod difference;
mod disposition;
mod guards;
mod kept;
mod kept_reason;
mod order;
mod step_action;
mod steps_behind;
mod unlistable;
mod unproven;
mod waived;
mod waiver;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
};

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::{
    address::ObjectAddress,
    choices::{Choice, ChoiceError, Choices},
    confirmed::Parts,
    data::{ClaimDeleter, DataFate, Fate},
    difference::{Difference, differences},
    disposition::Disposition,
    kept::{Kept, mark_to_keep, shared},
    kept_reason::KeptReason,
    order::GivenUp,
    step_action::{Propagation, StepAction},
    unlistable::Unlistable,
    waived::Waived,
};
pub(crate) use self::{
    data::destroyed_with, difference::is_created_by_controllers, guards::goes_after,
};
use self::{order::Ordered, step_action::action, waiver::Waivers};
use crate::{
    declaration::is_parent,
    graph::Graph,
    index::Index,
    object::{Facts, Kind, Object, ObjectRef, Uid},
    relation::{DeletionPhase, EdgeKind, Reason, Strength, hints_among},
    selector::Selector,
    unit::{Unit, UnitId, named_unit},
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

/// A plan's id: the first 16 hexadecimal digits of its hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(String);

impl PlanId {
    /// The id from its text in a URL.
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
    /// The id.
    pub id: PlanId,
    /// SHA-256 of the unit, the choices, the steps, the kept objects, the fate of the data, what others lose, what was given up
    /// and what is hidden, in hexadecimal. A person confirms this hash.
    pub hash: String,
    /// The unit that it tears down.
    pub unit: UnitId,
    /// The choices of the person who made it.
    #[serde(default)]
    pub choices: Choices,
    /// The time when it was made.
    #[serde(with = "crate::millis::required")]
    pub made: Timestamp,
    /// The steps, in an order that respects every edge.
    pub steps: Vec<Step>,
    /// The objects that stay, with the reasons.
    pub kept: Vec<Kept>,
    /// Objects of the unit that the cluster creates and removes by itself, so that they need no step and do not stay.
    /// They are listed so that the numbers add up. The hash does not cover them, because nothing is decided about them.
    #[serde(default)]
    pub left_to_cluster: Vec<Kept>,
    /// The fate of the data on every affected volume.
    pub data: Vec<DataFate>,
    /// Claims and custom resources to delete that belong only because their namespace does. A person confirms each by name.
    #[serde(default)]
    pub by_name: Vec<ObjectRef>,
    /// Claims that a person chose to keep and that go all the same, because a Pod owns them.
    #[serde(default)]
    pub ephemeral: Vec<ObjectRef>,
    /// Edges whose order is not kept, because they would close a cycle of harder ones.
    #[serde(default)]
    pub given_up: Vec<GivenUp>,
    /// The kinds that may not be listed in a namespace of the plan. It waits for them, unless a person chooses that it goes
    /// all the same. The hash does not cover them, because it covers the choices and what is hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlistable: Vec<Unlistable>,
    /// The objects that go although objects that stay use them, because a person waived that by name, each with its users.
    /// A page gets them as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(target_family = "wasm", serde(skip))]
    pub waived: Vec<Waived>,
    /// The same as sentences that say what the others lose; the server makes them. The hash does not cover them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
    /// The kept objects of which a person may waive that others use them. The hash does not cover them, because it covers the
    /// choices and what is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivable: Vec<ObjectRef>,
    /// Hidden kinds. No step deletes an object of them, and an object that they may need waits until they are visible.
    pub hidden: Vec<String>,
}

impl Plan {
    /// The step with that number.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id.0 as usize)
    }

    /// The objects of its steps.
    pub fn objects(&self) -> HashSet<&Uid> {
        self.steps.iter().map(|step| &step.uid).collect()
    }

    /// Whether claims may be hidden, and with them data that the plan does not list.
    pub fn hides_claims(&self) -> bool {
        self.hidden.iter().any(|resource| resource == "persistentvolumeclaims")
    }

    /// The names of the namespaces that go.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let namespaces = self.steps.iter().filter(|step| step.kind.is("", "Namespace"));
        namespaces.map(|step| &*step.object.name)
    }

    /// The number of objects that go.
    pub fn deletions(&self) -> usize {
        self.steps.iter().filter(|step| step.disposition().is_going()).count()
    }

    /// The number of waves in which it is shown.
    pub fn waves(&self) -> u32 {
        self.steps.iter().map(|step| step.wave).max().unwrap_or_default()
    }
}

/// One object and the action on it. A page reads no more than it shows: each field costs code in its module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub id: StepId,
    /// The one object this step may touch.
    pub uid: Uid,
    /// Its kind, namespace and name.
    pub object: ObjectRef,
    /// Its kind as discovery named it, for the request's path.
    pub kind: Kind,
    /// The action on the object.
    pub action: StepAction,
    /// Rank on the longest path, from 1. It is for display only; no step waits for a wave.
    pub wave: u32,
    /// The steps that must be finished before this one starts. If there are none, it starts at once.
    pub after: Vec<Blocker>,
    /// Finalizers at the time of planning, which also have to be removed before the object is gone.
    pub finalizers: Vec<String>,
    /// For a workload: the selector of its Pods, because they must be found even after the workload is gone.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub pods: Option<Selector>,
    /// For a claim: a consistent read must show that no Pod uses it before it is deleted.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub holds_storage: bool,
    /// For a Pod: its node at the time of planning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub node: Option<String>,
    /// The unit that its own labels and annotations named at the time of planning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub named: Option<UnitId>,
    /// The object whose marks name the unit for it, where its own do not and that object does not go first: its namespace, or the
    /// workload that an autoscaler scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub named_by: Option<Uid>,
    /// For a namespace: the kinds of which it need not be proven empty, because a person chose so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
}

impl Step {
    /// The end that the plan has for the object.
    pub fn disposition(&self) -> Disposition {
        match self.action {
            StepAction::Delete { .. } => Disposition::Delete,
            StepAction::Await => Disposition::Awaited,
            StepAction::Suspend => Disposition::Suspended,
        }
    }

    /// Whether the object declares others and would make them again, or prune them all when it goes, so that it is suspended
    /// first.
    pub fn is_parent(&self) -> bool {
        is_parent(&self.kind)
    }

    /// Whether the object is read just before its DELETE, which then carries the version that was read: claims, volumes,
    /// custom resources, definitions and namespaces, because much goes with each of them.
    pub fn is_read_first(&self) -> bool {
        let (kind, core) = (&self.kind, ["PersistentVolumeClaim", "PersistentVolume", "Namespace"]);
        kind.is_custom_resource() || kind.is_definition() || core.iter().any(|it| kind.is("", it))
    }
}

/// A step that another step waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// The step that goes first.
    pub step: StepId,
    /// The deletion phase that it must have reached.
    pub phase: DeletionPhase,
    /// The edges that require this, at least one, the strongest first.
    pub edges: Vec<BlockingEdge>,
}

impl Blocker {
    /// Whether an edge of this kind is among the reasons.
    pub fn has(&self, kind: EdgeKind) -> bool {
        self.edges.iter().any(|edge| edge.kind == kind)
    }
}

/// An edge that puts one step in front of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockingEdge {
    /// Its kind.
    pub kind: EdgeKind,
    /// Whether its order could have been given up.
    pub strength: Strength,
    /// Whether its field is on the object that goes first. Otherwise it is on the object of the step that waits.
    pub on_first: bool,
    /// The field and value the edge comes from.
    pub reason: Reason,
}

/// The reasons why no plan can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "camelCase")]
pub enum PlanError {
    /// The unit has no object that can be deleted.
    Empty,
    /// Edges form a cycle; the path returns to its first object.
    Cycle {
        /// Each object goes before the next.
        path: Vec<ObjectRef>,
    },
    /// The data is to be kept, and an operator would delete claims together with an object that goes.
    DeletesClaims {
        /// The object.
        object: ObjectRef,
        /// Its finalizer or field that says so.
        mark: String,
    },
    /// A choice names nothing that it could be about.
    UnknownChoice {
        /// The choice.
        choice: Choice,
    },
}

/// Makes the plan of a unit.
///
/// An object that something outside the unit needs is kept, unless a person waived that, and so is every object that a kept object needs: an object
/// may only be deleted if everything that has to go before it is deleted too.
///
/// # Errors
/// [`PlanError::DeletesClaims`] if the data is to be kept and would not be, [`PlanError::Empty`] if no object can be deleted, [`PlanError::Cycle`] if edges form a cycle.
pub fn plan(
    index: &Index,
    graph: &Graph,
    unit: &Unit,
    choices: &Choices,
    now: Timestamp,
) -> Result<Plan, PlanError> {
    let waivers = Waivers::of(choices, unit, index);
    let kept = kept::reasons(index, graph, unit, choices, &waivers, now);
    let going: BTreeSet<&Uid> =
        unit.members.iter().filter(|uid| !kept.contains_key(*uid)).collect();
    if going.is_empty() {
        return Err(PlanError::Empty);
    }
    let claims_stay_in = kept::namespaces_of_chosen_claims(index, &kept);
    let is_near = |namespace: &str| choices.keeps_data() || claims_stay_in.contains(namespace);
    let stays = |uid: &Uid| kept.get(uid).is_some_and(KeptReason::is_chosen);
    if let Some(data::ClaimDeleter { object, mark }) =
        data::claim_deleter(index, &going, is_near, stays)
    {
        return Err(PlanError::DeletesClaims { object, mark });
    }
    let mut added = guards::guards(index, graph, &going);
    added.extend(hints_among(going.iter().filter_map(|uid| index.get(uid)), index));
    let order = Ordered::of(index, graph, &added, &going)?;
    let suspended: Vec<&Object> = kept::suspended(index, graph, &kept, &going);
    let numbers: HashMap<&Uid, StepId> = (0u32..)
        .skip(suspended.len())
        .zip(&order.sequence)
        .map(|(number, uid)| (*uid, StepId(number)))
        .collect();
    let suspensions = (0u32..).zip(&suspended).map(|(number, it)| suspension(StepId(number), it));
    let deletions = order.sequence.iter().filter_map(|uid| index.get(uid));
    let deletions = deletions.map(|object| step(object, unit, index, graph, &order, &numbers));
    let mut steps: Vec<Step> = suspensions.chain(deletions).collect();
    for step in steps.iter_mut().filter(|step| step.kind.is("", "Namespace")) {
        step.unproven = choices.unproven_in(&step.object.name);
    }
    let unlistable = unproven::unlistable(&steps, choices, index);
    let data = data::fates(index, graph, unit, &kept);
    let waived = waived::waived(index, graph, unit, &waivers, &kept);
    let waivable = waived::waivable(index, graph, unit, &kept);
    let named = |is_one: &dyn Fn(&Object) -> bool| {
        let objects = going.iter().filter_map(|uid| index.get(uid));
        let mut named: Vec<ObjectRef> =
            objects.filter(|it| is_one(it)).map(|it| it.reference()).collect();
        named.sort();
        named
    };
    let by_name = named(&|it| {
        let is_worth_a_look = matches!(it.facts, Facts::Claim(_)) || it.kind.is_custom_resource();
        is_worth_a_look && unit.content.contains(&it.uid) && it.owners.is_empty()
    });
    let ephemeral = named(&|it| choices.keeps_data() && kept::is_ephemeral(it));
    let kept = kept
        .into_iter()
        .filter_map(|(uid, reason)| index.get(&uid).map(|object| (object.reference(), uid, reason)))
        .map(|(object, uid, reason)| Kept { uid, object, reason });
    let mut kept: Vec<Kept> = kept.collect();
    kept.sort_by(|a, b| a.object.cmp(&b.object));
    let (left_to_cluster, kept): (Vec<Kept>, Vec<Kept>) =
        kept.into_iter().partition(|kept| kept.reason == KeptReason::MadeByCluster);
    let plan = Plan {
        id: PlanId::new(""),
        hash: String::new(),
        unit: unit.id.clone(),
        choices: choices.clone(),
        made: now,
        steps,
        kept,
        left_to_cluster,
        data,
        by_name,
        ephemeral,
        given_up: order.given_up(index),
        unlistable,
        waived,
        losses: Vec::new(),
        waivable,
        hidden: index.hidden_kinds().into_keys().collect(),
    };
    let hash = hash(&plan);
    Ok(Plan { id: PlanId::new(&hash[..16]), hash, ..plan })
}

/// Hashes everything that the person was shown, hidden kinds included, so that the hash confirms those as well.
fn hash(plan: &Plan) -> String {
    let Plan {
        id: _,
        hash: _,
        unit,
        choices,
        made: _,
        steps,
        kept,
        left_to_cluster: _,
        data,
        by_name,
        ephemeral,
        given_up,
        unlistable: _,
        waived,
        losses: _,
        waivable: _,
        hidden,
    } = plan;
    let shown = (unit, choices, steps, kept, data, (by_name, ephemeral), given_up, hidden);
    // A plan that waives nothing keeps the hash that it had before a plan could.
    let json = if waived.is_empty() {
        serde_json::to_vec(&shown)
    } else {
        serde_json::to_vec(&(shown, waived))
    };
    #[expect(clippy::expect_used, reason = "a plan is made of plain structs with text keys")]
    let json = json.expect("a plan can be serialised");
    digest(&json)
}

/// The SHA-256 of what a person was shown, in hexadecimal.
pub(crate) fn digest(shown: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(shown))
}

fn step(
    object: &Object,
    unit: &Unit,
    index: &Index,
    graph: &Graph,
    order: &Ordered<'_>,
    numbers: &HashMap<&Uid, StepId>,
) -> Step {
    let mut after: BTreeMap<StepId, Blocker> = BTreeMap::new();
    for edge in order.around(&object.uid) {
        let Some((first, then, phase)) = edge.ordered() else { continue };
        let Some(step) = numbers.get(first).filter(|_| *then == object.uid) else { continue };
        if !order.keeps(first, then) {
            continue;
        }
        let blocker =
            after.entry(*step).or_insert_with(|| Blocker { step: *step, phase, edges: Vec::new() });
        blocker.phase = blocker.phase.max(phase);
        blocker.edges.push(BlockingEdge {
            kind: edge.kind,
            strength: edge.strength,
            on_first: edge.from == first,
            reason: edge.reason.clone(),
        });
    }
    let mut after: Vec<Blocker> = after.into_values().collect();
    for blocker in &mut after {
        blocker
            .edges
            .sort_by(|a, b| (b.strength, a.kind, &a.reason).cmp(&(a.strength, b.kind, &b.reason)));
    }
    Step {
        id: numbers[&object.uid],
        uid: object.uid.clone(),
        object: object.reference(),
        kind: (*object.kind).clone(),
        action: action(object, index, graph, order, numbers),
        wave: order.waves[&object.uid],
        after,
        finalizers: object.finalizers.iter().map(ToString::to_string).collect(),
        pods: match &object.facts {
            Facts::Workload(workload) => workload.selector.clone(),
            _ => None,
        },
        holds_storage: matches!(object.facts, Facts::Claim(_)),
        node: match &object.facts {
            Facts::Pod(pod) => pod.node.as_deref().map(str::to_owned),
            _ => None,
        },
        named: named_unit(object),
        named_by: unit.named_by(object, index, graph),
        unproven: Vec::new(),
    }
}

/// The step of a parent that stays.
fn suspension(id: StepId, object: &Object) -> Step {
    Step {
        id,
        uid: object.uid.clone(),
        object: object.reference(),
        kind: (*object.kind).clone(),
        action: StepAction::Suspend,
        wave: 1,
        after: Vec::new(),
        finalizers: Vec::new(),
        pods: None,
        holds_storage: false,
        node: None,
        named: named_unit(object),
        named_by: None,
        unproven: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
