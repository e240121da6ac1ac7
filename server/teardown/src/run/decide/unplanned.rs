//! Finds the objects that a run waits for and that its plan does not know, so that a person can confirm a plan of them alone
//! and run it beside the open run. When they are gone, the open run continues by itself.
//!
//! # Decisions
//! - An object is found once a step waits for it and for nothing that the run deletes itself. Until then its cause may be on
//!   its way out: an operator makes Secrets again until its own step has come. The operator is known by the field manager that
//!   created the object, and has to be gone with all its Pods. An operator that a person skipped is not on its way out, nor is one
//!   that waits for the step itself: neither would go before the other.
//! - In place of an object stands the topmost of its owners, because a controller would make the object again: a Deployment
//!   that was created again in place of its Pod, which mounts a claim of the plan. If one of the owners is a step, the object goes
//!   with it, and nothing is found.
//! - An object that names another unit is not found, nor is one in a namespace that the plan does not touch. A plan of their own
//!   unit deletes them, under the name of that unit.
//! - An object that would be collected together with a step's object is not found either: it cannot go before its owner.
//! - The plan has what belongs to the objects as well: what they own, the claims of a StatefulSet and their volumes, an autoscaler,
//!   the content of a namespace. It never has an object of this run or of another open one. Such an object stays for this
//!   plan, so that what it needs is kept: a ConfigMap that a Pod of the open run mounts.
//! - Nobody said that these objects belong to the unit, so a person confirms claims and custom resources among them by name,
//!   unless their own labels say so.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{
    Progress, Run, StepProblem,
    late_objects::{holds, is_late},
    ready::goes_with,
};
use crate::{
    graph::Graph,
    index::Index,
    object::{Facts, Object, Uid},
    plan::{Step, StepId},
    relation::{
        DeletionPhase, EdgeKind, has_name_of, is_a_program, is_called, is_needed, may_own,
        served_namespaces,
    },
    unit::{Unit, UnitId, UnitOrigin, named_unit},
    unknown_reason::UnknownReason,
};

/// The longest chain of owners that is followed. Real chains are shorter, and a cycle must not loop forever.
const OWNERS: usize = 16;

/// An object that the plan of a run does not know, and a step that waits for it.
#[derive(Clone, Copy, Debug)]
pub struct Unplanned<'a> {
    /// The object.
    pub object: &'a Arc<Object>,
    /// The first step that waits for it, or for an object that it owns. The problem of the step is the reason.
    pub step: StepId,
}

impl Run {
    /// The objects that the run waits for now and that its plan does not know, by step and then by name. `runs` are the runs
    /// of the server: what another open run deletes is not among them, nor is what terminates already.
    pub fn unplanned<'a>(
        &self,
        index: &'a Index,
        graph: &Graph,
        runs: &[&Run],
    ) -> Vec<Unplanned<'a>> {
        // Pages ask after each change, and as a rule nothing holds a run.
        let held: Vec<_> = self.steps().filter(|(_, progress)| is_held(progress)).collect();
        if held.is_empty() || self.state.is_ended() {
            return Vec::new();
        }
        let limits = Limits::of(self, runs);
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for (step, progress) in held {
            let holders = self.holders(step, progress, index, graph).into_iter();
            let causes = holders.filter_map(|it| limits.cause(it, index));
            let mut causes: Vec<_> =
                causes.filter(|it| !self.is_made_by_step(it, step, index)).collect();
            causes.sort_by_cached_key(|object| object.reference());
            causes.retain(|object| seen.insert(&object.uid));
            found.extend(causes.into_iter().map(|object| Unplanned { object, step: step.id }));
        }
        found
    }

    /// The same objects with all that belongs to them, as the unit of a plan of their own. It has the name of the run's unit,
    /// which a person types to confirm it, although their own labels may name no unit.
    pub fn unplanned_unit(&self, index: &Index, graph: &Graph, runs: &[&Run]) -> Unit {
        let limits = Limits::of(self, runs);
        let found = self.unplanned(index, graph, runs);
        let undeclared = found
            .iter()
            .map(|it| it.object)
            .filter(|object| named_unit(object).is_none_or(|named| !limits.units.contains(&named)));
        let content = undeclared.map(|object| object.uid.clone()).collect();
        let mut members: BTreeSet<Uid> = found.iter().map(|it| it.object.uid.clone()).collect();
        let mut open: Vec<Uid> = members.iter().cloned().collect();
        while let Some(uid) = open.pop() {
            for follower in followers(&uid, graph) {
                let is_free = index.get(follower).is_some_and(|object| limits.allows(object));
                if is_free && members.insert(follower.clone()) {
                    open.push(follower.clone());
                }
            }
        }
        // A plan does not ask how its unit was recognised.
        let origin = UnitOrigin::PartOf;
        let (id, unclaimed) = (self.plan.unit.clone(), BTreeSet::new());
        Unit { id, origin, members, unclaimed, content }
    }

    /// The objects outside the plan that a step waits for.
    fn holders<'a>(
        &self,
        step: &Step,
        progress: &Progress,
        index: &'a Index,
        graph: &Graph,
    ) -> Vec<&'a Arc<Object>> {
        if progress.has_come_back() {
            let again =
                index.named(&step.object).filter(|_| !self.goes_with_namespace(step.id, index));
            return again.into_iter().collect();
        }
        match &progress.hold.problem {
            Some(StepProblem::InUse { pods }) => {
                let mut holders = self.users(step, index, graph);
                holders.extend(self.pods_in_front(step, index));
                holders.extend(pods.iter().filter_map(|pod| index.named(pod)));
                holders
            }
            Some(StepProblem::Unknown { reason }) => match reason {
                UnknownReason::InUse { by } | UnknownReason::StillGuards { it: by } => {
                    let mut holders = self.users(step, index, graph);
                    holders.extend(index.named(by));
                    holders
                }
                UnknownReason::PodsLeft { .. } => self.pods_in_front(step, index),
                UnknownReason::NamespaceNotEmpty { .. } => {
                    self.content(&step.object.name, index).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The late objects that have to go before a step's object, those that it guards, and the Pods that need it.
    fn users<'a>(&self, step: &Step, index: &'a Index, graph: &Graph) -> Vec<&'a Arc<Object>> {
        let edges = graph.around(&step.uid).filter(|edge| holds(*edge, index));
        let firsts = edges.filter_map(|edge| {
            let (first, then, _) = edge.ordered()?;
            let is_waived = self.plan.is_waived(then, first, Some(edge.kind), index);
            index.get(first).filter(|it| *then == step.uid && is_late(it, &self.plan) && !is_waived)
        });
        let mut users: Vec<_> = firsts.collect();
        users.extend(self.guarded_outside(step, index, graph));
        let Some(object) = index.get(&step.uid) else { return users };
        for namespace in served_namespaces(object) {
            let pods = index.running_pods(namespace);
            let pods = pods.filter(|pod| {
                is_needed(object, pod)
                    && !goes_with(pod, step, object, index)
                    && !self.plan.is_waived(&object.uid, &pod.uid, None, index)
            });
            users.extend(pods.filter_map(|pod| index.get(&pod.uid)));
        }
        users
    }

    /// Whether a workload of the plan made an object and may make it again, and goes without waiting for the step that the object
    /// holds.
    fn is_made_by_step(&self, object: &Object, held: &Step, index: &Index) -> bool {
        let creator = object.annotations.as_ref().and_then(|it| it.creator.as_deref());
        let Some(creator) = creator.filter(|it| is_a_program(it)) else { return false };
        let is_its_name = |step: &Step| match index.get(&step.uid) {
            Some(program) => {
                matches!(program.facts, Facts::Workload(_) | Facts::Pod(_))
                    && is_called(program, creator)
            }
            None => step.pods.is_some() && has_name_of(&step.object.name, creator),
        };
        self.steps().any(|(step, progress)| {
            step.id != held.id
                && progress.end.is_none()
                && is_its_name(step)
                && (!progress.is_gone_for_good() || has_pods(step, index))
                && !self.is_behind(step, held.id)
        })
    }

    /// Whether a step waits for another one, however many are left between them.
    fn is_behind(&self, step: &Step, first: StepId) -> bool {
        let mut seen = HashSet::from([step.id]);
        let mut open = vec![step];
        while let Some(step) = open.pop() {
            let in_front = step.after.iter().map(|blocker| blocker.step);
            for id in in_front.chain(self.recreating_owners(step.id).iter().copied()) {
                if id == first {
                    return true;
                }
                let is_left = !self.is_gone_for_good(id);
                open.extend(self.plan.step(id).filter(|_| is_left && seen.insert(id)));
            }
        }
        false
    }

    /// The Pods of the workloads that must have none before a step.
    fn pods_in_front<'a>(&self, step: &Step, index: &'a Index) -> Vec<&'a Arc<Object>> {
        let blockers = step.after.iter().filter(|it| it.phase == DeletionPhase::PodsGone);
        let workloads = blockers.filter_map(|blocker| self.plan.step(blocker.step));
        let pods = workloads.filter_map(|workload| {
            let namespace = workload.object.namespace.as_deref();
            index.pods_of(&workload.uid, namespace, workload.pods.as_ref()).ok()
        });
        pods.flatten().collect()
    }
}

/// Whether Pods of a workload are seen.
fn has_pods(workload: &Step, index: &Index) -> bool {
    let namespace = workload.object.namespace.as_deref();
    let pods = index.pods_of(&workload.uid, namespace, workload.pods.as_ref());
    pods.is_ok_and(|pods| !pods.is_empty())
}

/// Whether an object outside the plan may hold a step. A step that is read again keeps its problem meanwhile.
fn is_held(progress: &Progress) -> bool {
    match &progress.hold.problem {
        Some(StepProblem::CameBack { .. }) => progress.has_left(),
        Some(StepProblem::InUse { .. }) => progress.is_present(),
        Some(StepProblem::Unknown { reason }) => {
            progress.is_present()
                && matches!(
                    reason,
                    UnknownReason::InUse { .. }
                        | UnknownReason::StillGuards { .. }
                        | UnknownReason::PodsLeft { .. }
                        | UnknownReason::NamespaceNotEmpty { .. }
                )
        }
        _ => false,
    }
}

/// The objects that belong to an object, as `unit.rs` has it.
fn followers<'a>(uid: &Uid, graph: &'a Graph) -> impl Iterator<Item = &'a Uid> {
    let led = [EdgeKind::Claims, EdgeKind::Binds];
    let leading = [EdgeKind::Owns, EdgeKind::Scales, EdgeKind::Contains];
    let to = graph.to(uid).filter(move |edge| leading.contains(&edge.kind)).map(|edge| edge.from);
    let from: Vec<&Uid> =
        graph.from(uid).filter(|edge| led.contains(&edge.kind)).map(|edge| edge.to).collect();
    to.chain(from)
}

/// The objects that a plan of unplanned objects leaves alone.
struct Limits<'a> {
    run: &'a Run,
    /// The objects of open runs, and those that the run's plan keeps.
    taken: HashSet<&'a Uid>,
    /// The namespaces of the plan's objects.
    namespaces: HashSet<&'a str>,
    /// The units that the plan's objects name, and the plan's own.
    units: HashSet<&'a UnitId>,
}

impl<'a> Limits<'a> {
    fn of(run: &'a Run, runs: &[&'a Run]) -> Self {
        let others = runs.iter().filter(|it| it.id != run.id && !it.state.is_ended());
        let others = others.flat_map(|it| &it.plan.steps).map(|step| &step.uid);
        let steps = || run.plan.steps.iter();
        let kept = run.plan.kept.iter().map(|kept| &kept.uid);
        let namespaces = steps().filter_map(|step| {
            let own = step.kind.is("", "Namespace").then_some(&step.object.name);
            own.or(step.object.namespace.as_ref()).map(|name| &**name)
        });
        Self {
            run,
            taken: steps().map(|step| &step.uid).chain(kept).chain(others).collect(),
            namespaces: namespaces.collect(),
            units: steps().filter_map(|step| step.named.as_ref()).chain([&run.plan.unit]).collect(),
        }
    }

    /// The object to delete, so that a holder goes and nothing makes it again.
    fn cause<'i>(&self, holder: &'i Arc<Object>, index: &'i Index) -> Option<&'i Arc<Object>> {
        let mut top = holder;
        for _ in 0..OWNERS {
            let owners = top.owners.iter().filter_map(|owner| index.get(&owner.uid));
            let owners: Vec<_> = owners.filter(|owner| may_own(owner, top)).collect();
            if owners.iter().any(|owner| self.taken.contains(&owner.uid)) {
                return None;
            }
            let Some(owner) = owners.first() else { break };
            top = *owner;
        }
        let is_near = match &top.namespace {
            Some(namespace) => self.namespaces.contains(&**namespace),
            None => is_late(top, &self.run.plan),
        };
        (is_near && top.deletion.is_none() && self.allows(top)).then_some(top)
    }

    /// Whether no open run has the object, the plan does not keep it, and it names no other unit. The unit of a namespace has
    /// all of its content.
    fn allows(&self, object: &Object) -> bool {
        let is_content = || {
            let namespace = self.run.plan.unit.namespace();
            namespace.is_some() && namespace == object.namespace.as_deref()
        };
        !self.taken.contains(&object.uid)
            && named_unit(object).is_none_or(|named| self.units.contains(&named) || is_content())
    }
}
