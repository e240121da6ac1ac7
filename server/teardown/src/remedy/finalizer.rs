//! Finalizers that a program clears, and those of the garbage collector.
//!
//! # Decisions
//! - A finalizer is removed one at a time and from one object: nothing is done in bulk.
//! - [`remove`] knows those that nobody removes by hand. Instead of those of the garbage collector the DELETE is sent again. That of a
//!   volume's attacher goes from an attachment by [`remove_detached`], with the word of a person who looked into the storage system.

use std::sync::Arc;

use serde_json::json;

use super::{
    act::{Harm, Holds, Loss, NeedCode, Remedy, RemedyAct, Undo, WaitReason, Withheld},
    case::{Case, EACH, has_ended, of_silent_node, powered_off},
    collected::{keep_data, with_collected},
    command::{self, Purpose},
    job::delete_jobs,
    leak::{leak, loses_data},
    reach::Reach,
};
use crate::{
    diagnosis::{Cause, Link, in_use},
    object::{Facts, Object, ObjectRef},
    relation::{EdgeKind, is_built_in},
};

/// Finalizers of Kubernetes itself that may go by hand. Its others guard something that is still in use, or end with a DELETE that
/// is sent again.
const BUILT_IN: [&str; 2] = ["batch.kubernetes.io/job-tracking", "kubernetes.io/pv-controller"];

/// The program that clears the finalizer is gone, not ready, busy, or not known.
pub(super) fn finisher(case: &Case<'_>, cause: &Cause) -> Vec<Remedy> {
    let (finalizer, mut found) = match cause {
        Cause::FinisherGone { finalizer, deleted } => {
            (finalizer, vec![restore(case, finalizer, deleted)])
        }
        Cause::FinisherUnknown { finalizer, possible } => {
            (finalizer, vec![restore(case, finalizer, possible)])
        }
        Cause::ManagedElsewhere { finalizer, .. } => (
            finalizer,
            std::iter::once(restore(case, finalizer, &[])).chain(delete_jobs(case)).collect(),
        ),
        Cause::FinisherNotReady { finalizer, finisher } => {
            (finalizer, vec![repair(case, finalizer, finisher)])
        }
        Cause::FinisherBusy { finalizer, finisher } => {
            let wait = RemedyAct::Wait { reason: WaitReason::Finisher, until: None };
            let wait = Remedy::new(wait).named(Some(finisher.clone()));
            (finalizer, vec![wait, repair(case, finalizer, finisher)])
        }
        _ => return Vec::new(),
    };
    // A program cannot update what is in a namespace that does not exist, however well it runs.
    let mut holders =
        case.waiting().filter(|object| object.finalizers.contains(finalizer)).peekable();
    let has_any = holders.peek().is_some();
    let is_lost = |object: &Arc<Object>| {
        object.namespace.as_deref().is_some_and(|it| is_namespace_gone(case, it))
    };
    if has_any && holders.all(is_lost) {
        found.clear();
    }
    found.extend(without(case, finalizer));
    found
}

/// The cloud's load balancer is not removed.
pub(super) fn load_balancer(case: &Case<'_>) -> Vec<Remedy> {
    let Some(object) = case.root() else { return Vec::new() };
    let mut found = vec![
        Remedy::new(RemedyAct::RepairLoadBalancer).at(object).with([command::describe(object)]),
    ];
    let held = object.finalizers.iter().filter(|it| it.starts_with("service.kubernetes.io/"));
    for finalizer in held {
        found.extend(by_hand(case, object, finalizer));
    }
    found
}

/// Removes the finalizer from each object that waits directly, or creates the namespace again where it is gone.
fn without(case: &Case<'_>, finalizer: &Arc<str>) -> Vec<Remedy> {
    let holds = |object: &&Arc<Object>| object.finalizers.contains(finalizer);
    let mut found = Vec::new();
    let mut namespaces: Vec<Arc<str>> = Vec::new();
    for object in case.waiting().filter(holds).take(EACH) {
        if let Some(namespace) = &object.namespace
            && is_namespace_gone(case, namespace)
            && !namespaces.contains(namespace)
        {
            found.push(recreate(case, namespace));
            namespaces.push(namespace.clone());
        }
        // Two objects may own one claim.
        for remedy in by_hand(case, object, finalizer) {
            if !found.contains(&remedy) {
                found.push(remedy);
            }
        }
    }
    found
}

/// The removal, behind what keeps the data that would go with it.
fn by_hand(case: &Case<'_>, object: &Arc<Object>, finalizer: &Arc<str>) -> Vec<Remedy> {
    let Some(removal) = remove(case, object, finalizer) else { return Vec::new() };
    let removal = removal
        .need(NeedCode::FinisherCannotFinish, Holds::Unknown)
        .need(NeedCode::CleanedUpByHand, Holds::Unknown);
    keep_data(case, object, finalizer).into_iter().chain([removal]).collect()
}

/// Nobody but a person can say which program it was. The managed fields of an object that waits name the one that wrote the
/// finalizer; the workloads of the cluster, and what is left of the candidates, show whether it is there.
pub(super) fn restore(case: &Case<'_>, finalizer: &Arc<str>, candidates: &[ObjectRef]) -> Remedy {
    let holds = |object: &&Arc<Object>| object.finalizers.contains(finalizer);
    let waiting = case.waiting().find(holds).or_else(|| case.waiting().next());
    let programs = ["get", "deployments,statefulsets", "--all-namespaces"];
    let left = candidates.iter().filter_map(|it| case.index.named(it)).take(EACH);
    let look = [
        waiting.and_then(|object| command::look(object)),
        command::kubectl(Purpose::Look, &programs),
    ];
    let look = look.into_iter().chain(left.map(|program| command::describe(program)));
    let (finalizer, candidates) = (finalizer.clone(), candidates.to_vec());
    let target = candidates.first().cloned();
    Remedy::new(RemedyAct::RestoreFinisher { finalizer, candidates }).named(target).with(look)
}

fn repair(case: &Case<'_>, finalizer: &Arc<str>, finisher: &ObjectRef) -> Remedy {
    let program = case.index.named(finisher);
    let describe = program.and_then(|program| command::describe(program));
    let log = program.and_then(|program| {
        command::about(Purpose::Look, program, "logs", &["--all-containers", "--tail=200"])
    });
    Remedy::new(RemedyAct::RepairFinisher { finalizer: finalizer.clone() })
        .named(Some(finisher.clone()))
        .with([describe, log])
}

/// Removes one finalizer from one object. `None` for a finalizer that nobody removes by hand: one of Kubernetes itself that
/// guards what is in use, one of an attachment whose volume is attached by its record, one that keeps a volume until its attachments are
/// gone, and any of an object that nobody deletes.
pub(super) fn remove(
    case: &Case<'_>,
    object: &Arc<Object>,
    finalizer: &Arc<str>,
) -> Option<Remedy> {
    let is_kept = match &object.facts {
        Facts::Attachment(attachment) => attachment.attached,
        _ => finalizer.starts_with("external-attacher/"),
    };
    if is_kept {
        return None;
    }
    removal(case, object, finalizer)
}

/// Removes the finalizer of an attachment once somebody has checked in the storage system that the volume is detached. The record may
/// say that it is attached: it does so for ever where the attacher was uninstalled, or where the machine is gone and its driver
/// gets an error for it. It is withheld while the node itself says that it uses the volume.
pub(super) fn remove_detached(
    case: &Case<'_>,
    object: &Arc<Object>,
    finalizer: &Arc<str>,
) -> Option<Remedy> {
    let Facts::Attachment(attachment) = &object.facts else { return None };
    let is_used = in_use(case.index, attachment).is_some();
    let why = is_used.then(|| Withheld::Attached { node: attachment.node.clone() });
    let remedy = removal(case, object, finalizer)?;
    Some(remedy.need(NeedCode::DetachChecked, Holds::Unknown).withhold(why))
}

/// The removal itself, whoever asks for it. `None` for what is never removed, and for an object that nobody deletes.
fn removal(case: &Case<'_>, object: &Arc<Object>, finalizer: &Arc<str>) -> Option<Remedy> {
    let is_never = is_built_in(finalizer) && !BUILT_IN.contains(&&**finalizer);
    if object.deletion.is_none() || is_never {
        return None;
    }
    let loss = leak(finalizer);
    let gone = object.namespace.as_deref().is_some_and(|it| is_namespace_gone(case, it));
    let remedy = Remedy::new(RemedyAct::RemoveFinalizer { finalizer: finalizer.clone() })
        .at(object)
        .with([command::copy(object), command::remove_finalizer(object, finalizer)])
        .loss([loss])
        .withhold(gone.then_some(Withheld::NamespaceGone));
    let harm = if loses_data(loss) { Harm::DataLoss } else { remedy.harm };
    let remedy = Remedy { harm, ..remedy };
    Some(match &object.facts {
        Facts::Attachment(_) => Remedy { harm: Harm::DataLoss, ..remedy },
        // Without a grace period only its finalizers keep the Pod in the API, whatever runs on its node.
        Facts::Pod(pod) if pod.node.is_some() && is_forced(object) && !has_ended(object) => {
            let remedy = with_collected(case, object, finalizer, remedy);
            let remedy = remedy.loss([Loss::SecondWriter]).withhold(Some(Withheld::ContainersRun));
            Remedy { harm: Harm::DataLoss, ..remedy }
        }
        Facts::Node(_) => of_node(case, object, remedy),
        Facts::Volume(_) => of_volume(case, object, remedy),
        _ => with_collected(case, object, finalizer, remedy),
    })
}

/// Whether somebody deleted a Pod with a grace period of 0, or its kubelet has ended it.
fn is_forced(pod: &Object) -> bool {
    pod.deletion.as_ref().is_some_and(|deletion| deletion.grace == 0)
}

/// Without its last finalizer a Node that is being deleted goes, and the Pod garbage collector removes its Pods from the API
/// without asking its kubelet. So it is guarded as the deletion of the Node is, as long as a Pod is on it.
fn of_node(case: &Case<'_>, object: &Object, remedy: Remedy) -> Remedy {
    let reach = case.pods_on(&object.name);
    let has_pods = !reach.pods.is_empty();
    let remedy = remedy.reach(reach).loss([Loss::SecondWriter, Loss::PodsOnNode, Loss::Machine]);
    let remedy = Remedy { harm: Harm::DataLoss, ..remedy };
    if !has_pods {
        return remedy.need(powered_off(case, &object.name), Holds::Unknown);
    }
    of_silent_node(case, &object.name, remedy)
}

/// A volume that is attached to a node must not go from the API.
fn of_volume(case: &Case<'_>, object: &Object, remedy: Remedy) -> Remedy {
    let attached = case.index.attached_to(&object.name);
    let why = attached.map(|node| Withheld::Attached { node: node.clone() });
    let hidden = case.hidden(&["volumeattachments.storage.k8s.io"]);
    let holds = if hidden.is_some() { Holds::Unknown } else { attached.is_none().into() };
    remedy.need(NeedCode::NotAttached, holds).withhold(why).withhold(hidden)
}

/// Owners that the garbage collector holds for a dependent: once the dependent is solved they follow, and a second DELETE
/// lets them go first.
pub(super) fn owners_again(case: &Case<'_>) -> Vec<Remedy> {
    let waits = case.diagnosis.waiting.iter();
    let owners = waits.filter(|it| matches!(it.on, Some((_, Link::Dependent))));
    let owners = owners.filter_map(|it| case.index.get(&it.uid)).take(EACH);
    owners.filter_map(|owner| again(case, owner)).collect()
}

/// An owner that owns itself. Of a circle of several, each that waits for another is among the [`owners_again`], and one is enough:
/// once it goes, nothing that the next one owns is left.
pub(super) fn circle(case: &Case<'_>, owners: &[ObjectRef]) -> Vec<Remedy> {
    let [_] = owners else { return Vec::new() };
    case.root().and_then(|owner| again(case, owner)).into_iter().collect()
}

/// Sends DELETE again with Background, which takes `foregroundDeletion` and `orphan` off
/// (`deletionFinalizersForGarbageCollection` in `staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go`).
pub(super) fn again(case: &Case<'_>, object: &Object) -> Option<Remedy> {
    let is_collectors = |it: &&Arc<str>| ["foregroundDeletion", "orphan"].contains(&&***it);
    let held = object.finalizers.iter().find(is_collectors)?.clone();
    let orphans = &*held == "orphan";
    let dependents = case.sources(object, EdgeKind::Owns).map(|dependent| dependent.reference());
    let mut remedy = Remedy::new(RemedyAct::DeleteAgain { instead_of: held })
        .at(object)
        .with([
            command::copy(object),
            command::delete(object, &json!({ "propagationPolicy": "Background" })),
        ])
        .reach(Reach::of(dependents))
        .loss([if orphans { Loss::Dependents } else { Loss::OwnerFirst }]);
    if orphans {
        remedy.harm = Harm::DataLoss;
    }
    Some(remedy)
}

/// Changes an object so that its controller looks at it again.
pub(super) fn nudge(case: &Case<'_>, object: &Object) -> Remedy {
    Remedy::new(RemedyAct::Nudge)
        .at(object)
        .with([command::annotate(object, case.now), command::take_annotation_off(object)])
        .need(NeedCode::CauseRemoved, Holds::Unknown)
        .undo(Undo::TakeAnnotationOff)
}

fn is_namespace_gone(case: &Case<'_>, namespace: &str) -> bool {
    case.index.check_visible("namespaces", None).is_ok()
        && case.index.find("", "Namespace", None, namespace).is_none()
}

/// The namespace was finished by force. While it exists again its objects can be changed, and its deletion deletes them.
pub(super) fn recreate(case: &Case<'_>, namespace: &Arc<str>) -> Remedy {
    let mut inside: Vec<ObjectRef> =
        case.index.in_namespace(namespace).map(|object| object.reference()).collect();
    inside.sort();
    let target = ObjectRef {
        group: "".into(),
        kind: "Namespace".into(),
        namespace: None,
        name: namespace.clone(),
    };
    let former = case.index.former_namespace(namespace);
    let commands = command::recreate(&target, former.map(|it| &it.labels), case.now);
    let has_claims = inside.iter().any(|object| &*object.kind == "PersistentVolumeClaim")
        || case.index.check_visible("persistentvolumeclaims", Some(namespace)).is_err();
    let (namespace, has_labels) = (namespace.clone(), former.is_some());
    let remedy = Remedy::new(RemedyAct::RecreateNamespace { namespace, has_labels })
        .named(Some(target))
        .with(commands.into_iter().map(Some))
        .reach(Reach::of(inside))
        .loss([Loss::WorkloadsStart]);
    if !has_claims {
        return remedy;
    }
    Remedy { harm: Harm::DataLoss, ..remedy.loss([Loss::Data]) }
}
