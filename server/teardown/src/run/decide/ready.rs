//! Checks whether a step may start: whether its blockers are finished, and whether objects outside the plan need its
//! object.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;

use super::{LateObjects, Progress, ReconcileContext, Run};
use crate::{
    deadlines::{Overdue, Work},
    index::Index,
    object::{Facts, Object, ObjectRef, Uid},
    plan::{
        Propagation, Step, StepAction, StepId, destroyed_with, is_created_by_controllers,
        mark_to_keep,
    },
    relation::{DeletionPhase, EdgeKind, goes_after_pods, is_needed, may_own, served_namespaces},
    unit::named_unit,
    unknown_reason::{ATTACHMENTS, UnconfirmedObject, UnknownReason},
};

/// One condition that must hold before a step may start.
type Check = fn(&Run, &Step, &mut ReconcileContext<'_>) -> Result<bool, UnknownReason>;

/// Everything that a step waits for, in the order in which it is checked.
const CHECKS: [Check; 18] = [
    Run::check_ends_confirmed,
    Run::check_parents_suspended,
    Run::check_blockers_gone,
    Run::check_recreating_owners_gone,
    Run::check_workloads_have_no_pods,
    Run::check_still_in_unit,
    Run::check_not_asked_to_keep,
    Run::check_storage_released,
    Run::check_nothing_pruned,
    Run::check_needed_by_no_late_object,
    Run::check_data_listed,
    Run::check_volume_unclaimed,
    Run::check_nothing_else_collected,
    Run::check_needed_by_no_pod,
    Run::check_needed_by_no_older_object,
    Run::check_definition_unused,
    Run::check_guards_no_other_object,
    Run::check_namespace_empty,
];

impl Run {
    /// Whether everything that a step waits for has come.
    ///
    /// # Errors
    /// The reason why one of the checks has no answer, or an answer that a person has to know.
    pub(super) fn check_ready(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        for check in CHECKS {
            if !check(self, step, context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn is_gone_for_good(&self, step: StepId) -> bool {
        self.progress(step).is_some_and(Progress::is_gone_for_good)
    }

    /// Whether every object in front of a step is proven gone. What came back and goes with its namespace does not hold that
    /// namespace.
    ///
    /// A Service waits until the Ingress that routes to it is gone.
    fn check_blockers_gone(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let is_namespace = step.kind.is("", "Namespace");
        let left = step.after.iter().map(|blocker| blocker.step).find(|blocker| {
            !(self.is_gone_for_good(*blocker)
                || is_namespace && self.goes_with_namespace(*blocker, context.index))
        });
        // Whether what came back goes with its namespace is a question to the index.
        let has_come_back =
            |step: &StepId| self.progress(*step).is_some_and(Progress::has_come_back);
        context.held_by = left.filter(|left| !(is_namespace && has_come_back(left)));
        Ok(left.is_none())
    }

    /// Whether no owner is left that would re-create an object in front of a step.
    ///
    /// A ConfigMap waits for the Pod that mounts it, and for the Deployment that would make the Pod again.
    fn check_recreating_owners_gone(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let owners = self.recreating_owners(step.id).iter();
        context.held_by = owners.copied().find(|owner| !self.is_gone_for_good(*owner));
        Ok(context.held_by.is_none())
    }

    /// Whether no Pod is left of the workloads in front of a step that must have none.
    ///
    /// A ServiceAccount waits until the last Pod of the Deployment has gone, which is later than the Deployment.
    fn check_workloads_have_no_pods(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let blockers = step.after.iter().filter(|it| it.phase == DeletionPhase::PodsGone);
        for workload in blockers.filter_map(|blocker| self.plan.step(blocker.step)) {
            if !self.check_pods_gone(workload, context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the object's own labels and annotations still name the unit that they named when the plan was made, or those of the
    /// object through which it belongs.
    ///
    /// A ConfigMap whose label `app.kubernetes.io/part-of` was changed to another application is not deleted, nor is one without
    /// labels in a namespace whose label was changed.
    fn check_still_in_unit(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let Some(object) = context.index.get(&step.uid) else { return Ok(true) };
        let named = named_unit(object);
        if named != step.named {
            return Err(UnknownReason::GivenAway { to: named.map(|unit| unit.to_string()) });
        }
        let named_by = step.named_by.as_ref().and_then(|uid| context.index.get(uid));
        match named_by.map(|object| named_unit(object)) {
            Some(named) if named.as_ref() != Some(&self.plan.unit) => {
                Err(UnknownReason::GivenAway { to: named.map(|unit| unit.to_string()) })
            }
            _ => Ok(true),
        }
    }

    /// Whether no mark asks to keep the object since the plan was made. A step without a call of its own is not held: the mark
    /// does not reach the controller that removes its object.
    ///
    /// Somebody set the annotation `helm.sh/resource-policy: keep` of a ConfigMap while the run was under way.
    fn check_not_asked_to_keep(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let object = context.index.get(&step.uid).filter(|_| step.action != StepAction::Await);
        let mark = object.and_then(|object| mark_to_keep(object, &self.plan.choices));
        mark.map_or(Ok(true), |mark| Err(UnknownReason::AskedToKeep { mark }))
    }

    /// Whether the volume of a claim, or a volume, is attached to no node.
    ///
    /// A VolumeAttachment says that a disk is still attached to a node whose kubelet has stopped.
    fn check_storage_released(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let ReconcileContext { index, now, .. } = *context;
        let object = index.get(&step.uid).map(|object| &object.facts);
        let volume = match object {
            Some(Facts::Volume(_)) => Some(&*step.object.name),
            Some(Facts::Claim(claim)) => claim.volume.as_deref(),
            _ => None,
        };
        let is_answered_for = self.progress(step.id).is_some_and(|it| it.detached);
        if volume.is_some() && !is_answered_for {
            index.check_visible(ATTACHMENTS, None)?;
        }
        if let Some((volume, node)) = volume.and_then(|it| Some((it, index.attached_to(it)?))) {
            let gone = step.after.iter().filter_map(|it| self.progress(it.step)?.gone);
            let since = gone.max().unwrap_or(self.started);
            let waited =
                index.deadlines(&step.kind, Work::Volume, 0).overdue(now.duration_since(since));
            let (volume, node) = (volume.to_owned(), node.to_string());
            return match waited {
                Overdue::No => Ok(false),
                Overdue::Slow | Overdue::Stuck => {
                    Err(UnknownReason::StillAttached { volume, node })
                }
            };
        }
        Ok(true)
    }

    /// For a claim, a volume or a namespace: whether what stood in front of it has ended, and did not only vanish from the API, or
    /// whether a person takes that on. It is asked before everything else, so that the journal has such an object before the
    /// process that saw it go may end.
    ///
    /// A Pod was deleted by force from a node that is silent: its containers may still write to the claim's volume. A node of a
    /// virtual kubelet never reports anything; a person names it in the plan. Or a finalizer was removed by hand from an attachment,
    /// and its volume may still be attached; or from a custom resource, and what its operator would have ended may go on.
    pub(super) fn check_ends_confirmed(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        // A volume that its controller deletes is not held by a run.
        let is_deleted = matches!(step.action, StepAction::Delete { .. });
        let holds_others = step.kind.is("", "PersistentVolume") || step.kind.is("", "Namespace");
        let may_wait = step.holds_storage || holds_others && is_deleted;
        if !may_wait {
            return Ok(true);
        }
        let objects = self.unconfirmed_in_front(step, context);
        if objects.is_empty() { Ok(true) } else { Err(UnknownReason::Unconfirmed { objects }) }
    }

    /// The objects that stood in front of a step, are gone from the API alone, and that no person answers for. Pods matter to the
    /// claims that they mounted.
    fn unconfirmed_in_front(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Vec<UnconfirmedObject> {
        let Some(progress) = self.progress(step.id) else { return Vec::new() };
        let index = context.index;
        let seen = index.unconfirmed_users(&step.object, &step.uid).map(|gone| UnconfirmedObject {
            uid: gone.object.uid.clone(),
            object: gone.object.reference(),
            node: match &gone.object.facts {
                Facts::Pod(pod) => pod.node.as_deref().map(str::to_owned),
                _ => None,
            },
        });
        let by_hand = index.ends_by_hand(&step.object, &step.uid).map(|end| UnconfirmedObject {
            uid: end.uid.clone(),
            object: end.object.clone(),
            node: end.node.as_deref().map(str::to_owned),
        });
        let in_front = step.after.iter().map(|it| (it.step, it.has(EdgeKind::Mounts)));
        let owners = self.recreating_owners(step.id).iter().map(|owner| (*owner, false));
        let planned = in_front.chain(owners).filter_map(|(first, mounts)| {
            let first = self.plan.step(first).filter(|it| mounts || !it.kind.is("", "Pod"))?;
            self.progress(first.id)?.unconfirmed.then(|| UnconfirmedObject {
                uid: first.uid.clone(),
                object: first.object.clone(),
                node: first.node.clone(),
            })
        });
        let remembered = progress.unconfirmed_in_front.iter().cloned();
        let volume = match index.get(&step.uid).map(|object| &object.facts) {
            Some(Facts::Claim(claim)) => claim.volume.clone(),
            _ => None,
        };
        // Where the node was deleted and the volume detached from it, nothing is left that could write.
        let is_released = |user: &UnconfirmedObject| {
            let is_detached = volume.as_ref().is_some_and(|it| index.is_detached(it));
            is_detached && user.node.as_ref().is_some_and(|it| index.is_missing_node(it))
        };
        let mut users: Vec<UnconfirmedObject> = remembered
            .chain(seen)
            .chain(by_hand)
            .chain(planned)
            .filter(|user| !self.answered_for.contains(&user.uid))
            .filter(|user| !index.is_answered_for(&user.uid))
            .filter(|user| !self.plan.unreported().any(|node| user.node.as_deref() == Some(node)))
            .collect();
        context.reads_more |= !users.is_empty() || index.has_ends_by_hand();
        users.retain(|user| !is_released(user));
        users.sort_by(|a, b| (&a.object, &a.uid).cmp(&(&b.object, &b.uid)));
        users.dedup_by(|a, b| a.uid == b.uid);
        users
    }

    /// For a definition: whether the objects of its kind are visible, and none is left that is in no step. The age of such an
    /// object does not matter: an API server whose clock is behind may have dated it before the plan.
    ///
    /// Where `topics.queue.example` cannot be listed, Topics may exist, and would go with their definition.
    fn check_definition_unused(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if !step.kind.is_definition() {
            return Ok(true);
        }
        context.index.check_kind_visible(&step.object.name)?;
        let of_kind = context.index.of_resource(&step.object.name);
        let unplanned = of_kind.filter(|object| !self.is_planned(&object.uid));
        let first = unplanned.map(|object| object.reference()).min();
        first.map_or(Ok(true), |by| Err(UnknownReason::InUse { by }))
    }

    /// Whether no Pod is left of a workload that is gone.
    ///
    /// # Errors
    /// If this is unknown, or if a Pod is left that is not in the plan. A Pod that the workload's DELETE orphaned is
    /// reported at once, because no garbage collector deletes it; any other only if its deletion takes long.
    fn check_pods_gone(
        &self,
        workload: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let ReconcileContext { index, now, .. } = *context;
        context
            .pods_gone
            .entry(workload.id)
            .or_insert_with(|| {
                let namespace = workload.object.namespace.as_deref();
                let pods = index.pods_of(&workload.uid, namespace, workload.pods.as_ref())?;
                match pods
                    .iter()
                    .filter(|pod| self.is_stray(pod, workload, index, now))
                    .min_by_key(|pod| pod.reference())
                {
                    Some(stray) => {
                        let of = Box::new(workload.object.clone());
                        Err(UnknownReason::PodsLeft { pod: stray.reference(), of })
                    }
                    None => Ok(pods.is_empty()),
                }
            })
            .clone()
    }

    fn is_stray(&self, pod: &Object, workload: &Step, index: &Index, now: Timestamp) -> bool {
        let takes_long = || {
            let going = pod.deletion.as_deref();
            let grace = going.map_or(0, |deletion| deletion.grace);
            let gone = self.progress(workload.id).and_then(|progress| progress.gone);
            let since = going.map(|held| held.accepted()).or(gone).unwrap_or(now);
            let limits = index.deadlines(&pod.kind, Work::Pod, grace);
            limits.overdue(now.duration_since(since)) > Overdue::No
        };
        let is_orphaned = self.propagation(workload, index) == Propagation::Orphan;
        !self.is_planned(&pod.uid) && (is_orphaned && pod.deletion.is_none() || takes_long())
    }

    /// Checks that no object newer than the plan has to go before the step's object.
    ///
    /// An Ingress that was created after the plan sends traffic to the Service: the Service waits for it.
    fn check_needed_by_no_late_object(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let index = context.index;
        let Some(object) = index.get(&step.uid) else { return Ok(true) };
        let late_objects = context.late_objects.get_or_insert_with(|| LateObjects::of(self, index));
        match late_objects.before(object, &self.plan) {
            Some(user) => Err(UnknownReason::InUse { by: user.reference() }),
            None => Ok(true),
        }
    }

    /// Checks that the deletion destroys only data that the plan lists.
    ///
    /// The reclaim policy of a claim's volume was `Retain` when the plan was made, and is `Delete` now; or the deletion policy of
    /// a snapshot's content, or of a custom resource that stands for data elsewhere.
    fn check_data_listed(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let index = context.index;
        let Some(object) = index.get(&step.uid) else { return Ok(true) };
        let is_listed = |volume: &ObjectRef| {
            let mut data = self.plan.data.iter();
            data.any(|data| data.volume == *volume && data.fate.may_be_destroyed())
        };
        let unlisted = destroyed_with(object, index).into_iter().find(|it| !is_listed(it));
        unlisted.map_or(Ok(true), |volume| Err(UnknownReason::WouldDestroyData { volume }))
    }

    /// For a volume: checks that no claim outside the plan belongs to it. A claim with another volume does not wait for this
    /// one.
    ///
    /// Somebody created a claim that the volume's `spec.claimRef` names.
    fn check_volume_unclaimed(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        let index = context.index;
        let Some(object) = index.get(&step.uid) else { return Ok(true) };
        let Facts::Volume(volume) = &object.facts else { return Ok(true) };
        let waits_for_it = |claim: &Object| match &claim.facts {
            Facts::Claim(facts) => facts.volume.as_ref().is_none_or(|name| **name == *object.name),
            _ => false,
        };
        let claim = index
            .claim_of(volume)?
            .filter(|claim| waits_for_it(claim) && !self.is_planned(&claim.uid));
        claim.map_or(Ok(true), |claim| Err(UnknownReason::InUse { by: claim.reference() }))
    }

    /// Checks that the garbage collector deletes nothing with the step's object that nobody confirmed.
    ///
    /// A person made a Secret whose `ownerReferences` name the Deployment; or asked to keep one that is a step.
    fn check_nothing_else_collected(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if step.holds_storage {
            return Ok(true);
        }
        let index = context.index;
        let collected = self.collected_with(step, context).into_iter();
        let unconfirmed = collected.filter(|it| match self.step_of(&it.uid) {
            Some(step) => self.plan.step(step).is_some_and(|step| self.is_to_stay(it, step)),
            None => needs_confirmation(it, index),
        });
        match unconfirmed.map(|it| it.reference()).min() {
            Some(it) => Err(UnknownReason::WouldCollect { it }),
            None => Ok(true),
        }
    }

    /// Whether a planned object was given to another unit since, or somebody asked to keep it.
    fn is_to_stay(&self, object: &Object, step: &Step) -> bool {
        named_unit(object) != step.named || mark_to_keep(object, &self.plan.choices).is_some()
    }

    /// Checks that no Pod outside the plan needs the step's object, or one that the garbage collector deletes with it. For a
    /// claim, a consistent read of Pods follows instead (`sequence.rs`).
    ///
    /// A Pod of another application mounts the ConfigMap since a minute ago. One that did so when the plan was made does not count
    /// where a person waived the ConfigMap.
    fn check_needed_by_no_pod(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if step.holds_storage {
            return Ok(true);
        }
        let index = context.index;
        if step.object.namespace.is_some() && goes_after_pods(&step.kind) {
            index.check_pods_visible(step.object.namespace.as_deref())?;
        }
        let collected = self.collected_with(step, context).into_iter();
        let needed = collected.filter(|it| goes_after_pods(&it.kind));
        let own = index.get(&step.uid).map(|object| &**object);
        let mut users = vec![];
        for object in own.into_iter().chain(needed) {
            for namespace in served_namespaces(object) {
                if goes_after_pods(&object.kind) || matches!(object.facts, Facts::Binding(_)) {
                    index.check_pods_visible(Some(namespace))?;
                }
                let unplanned = context.users(namespace).iter().filter(|pod| {
                    is_needed(object, pod)
                        && !self.is_planned(&pod.uid)
                        && !goes_with(pod, step, object, index)
                        && !self.plan.is_waived(&object.uid, &pod.uid, None, index)
                });
                users.extend(unplanned.map(|pod| pod.reference()));
            }
        }
        users.into_iter().min().map_or(Ok(true), |pod| Err(UnknownReason::InUse { by: pod }))
    }

    /// Checks that no older object outside the plan has begun to need the step's object. Where a read is made just before the
    /// DELETE, this is asked together with its answer (`sequence.rs`).
    ///
    /// An Ingress of another application routes to the Service since a minute ago.
    fn check_needed_by_no_older_object(
        &self,
        step: &Step,
        context: &mut ReconcileContext<'_>,
    ) -> Result<bool, UnknownReason> {
        if step.is_read_first() || step.action == StepAction::Await {
            return Ok(true);
        }
        self.user_outside(step, context).map_or(Ok(true), |by| Err(UnknownReason::InUse { by }))
    }

    /// The objects that the garbage collector deletes with a step's object.
    fn collected_with<'a>(&self, step: &Step, context: &ReconcileContext<'a>) -> Vec<&'a Object> {
        match self.propagation(step, context.index) {
            Propagation::Background => context.owned_by(&step.uid),
            Propagation::Orphan => vec![],
        }
    }

    pub(super) fn is_planned(&self, uid: &Uid) -> bool {
        self.step_of(uid).is_some()
    }
}

impl<'a> ReconcileContext<'a> {
    /// The Pods of a namespace that may use something. Pods that have run to completion use nothing.
    pub(super) fn users(&mut self, namespace: &Arc<str>) -> &[&'a Object] {
        let index = self.index;
        self.users
            .entry(namespace.clone())
            .or_insert_with(|| index.running_pods(namespace).collect())
    }

    /// The objects that the garbage collector deletes with an owner, directly or indirectly: those whose owners are all
    /// deleted with it. An owner that is not in the index does not count.
    fn owned_by(&self, owner: &Uid) -> Vec<&'a Object> {
        let index = self.index;
        let mut going = HashSet::from([owner]);
        let mut taken = vec![];
        let mut open = vec![owner];
        while let Some(uid) = open.pop() {
            for object in index.dependents(uid) {
                let mut owners = object
                    .owners
                    .iter()
                    .filter_map(|reference| index.get(&reference.uid))
                    .filter(|owner| may_own(owner, object))
                    .peekable();
                if owners.peek().is_some()
                    && owners.all(|owner| going.contains(&owner.uid))
                    && going.insert(&object.uid)
                {
                    taken.push(&**object);
                    open.push(&object.uid);
                }
            }
        }
        taken
    }
}

/// Whether a person must have confirmed that an object is deleted with its owner. This is not needed for objects that
/// the controllers of Kubernetes create and remove all the time, nor for objects that a Pod owns, such as its ephemeral
/// claims and the objects of its network plugin, nor for those of kinds without the verb `delete`, which the garbage collector
/// leaves alone.
fn needs_confirmation(object: &Object, index: &Index) -> bool {
    let mut owners = object.owners.iter().filter_map(|owner| index.get(&owner.uid));
    let is_a_pods_own = owners.any(|owner| matches!(owner.facts, Facts::Pod(_)));
    let is_left = object.is_made_by_cluster() || index.is_undeletable(&object.kind);
    !is_left && !is_created_by_controllers(&object.kind) && !is_a_pods_own
}

/// Whether a Pod that needs an object is deleted with the step's owner too, so that the step would wait for itself.
/// This does not apply to storage, unless the Pod owns the claim.
pub(super) fn goes_with(pod: &Object, step: &Step, object: &Object, index: &Index) -> bool {
    let is_its_own_or_no_storage =
        !matches!(object.facts, Facts::Claim(_)) || index.descends(&object.uid, &pod.uid);
    is_its_own_or_no_storage && index.descends(&pod.uid, &step.uid)
}
