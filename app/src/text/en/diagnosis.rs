//! Why deletions wait: the cause in one sentence, the harm, what happens if nobody acts, and what not to do.

mod confidence;
mod course;
mod data;
mod dependents;
mod evidence;
mod harm;
mod incident;
mod incident_note;
mod kubelet;
mod advice;

use jiff::Timestamp;
use teardown::{
    diagnosis::{Cause, Confidence, DetachState, Diagnosis, Evidence, Link, Source, Waiting},
    object::ObjectRef,
};

pub use self::{
    advice::{advice, resolved_in, stuck_in},
    incident::IF_NOBODY_ACTS,
    incident_note::{CAUSE_HAS_CHANGED, Handling, NoteForm, ROOT_IS_OVER, incident_note},
};
use self::{
    dependents::{depended_on, own_each_other},
    evidence::fact,
    kubelet::kubelet_error,
};
use super::{
    super::{absolute, isolated, named, names, visible, words},
    many,
};

pub const WHY_IT_WAITS: &str = "Why it waits";
pub const HARM: &str = "Harm now";
/// Marks a cause that may be behind others.
pub const SOLVE_FIRST: &str = "Solve first";
pub const WAITING: &str = "What waits";
pub const EVIDENCE: &str = "Evidence";
pub const WAYS_OUT: &str = "Ways out, the least harmful first";
pub const NEEDS: &str = "Before you do it";
pub const ASK_REMEDY: &str = "Have Unwind do it…";
pub const DO_REMEDY: &str = "Do it";
/// In the question before a remedy, where another one would be done than the person was asked about.
pub const ASKED_AGAIN: &str =
    "This has changed since you were asked. Read it again and confirm it again.";
/// In that question, where there is nothing left to do.
pub const REMEDY_IS_OVER: &str = "This is no longer a way out.";
/// In the empty field of a statement.
pub const REQUIRED: &str = "Required";
pub const COPY_COMMAND: &str = "Copy";
pub const COMMAND_COPIED: &str = "Copied";
pub const COPY_NOTE: &str = "Copy incident note";
pub const NOTE_COPIED: &str = "Note copied";
pub const NOTE: &str = "Note as text";
pub const LINK_TO_CARD: &str = "Link to this card";
pub const KUBELET_LOG: &str = "Kubelet log";
pub const WHY: &str = "Why";

/// Before the age of a diagnosis.
pub const DELETION_BEGAN: &str = "deletion began";

/// `3 objects wait`.
pub fn objects_wait(count: usize) -> String {
    if count == 1 { "1 object waits".to_owned() } else { format!("{count} objects wait") }
}

/// The cause in one sentence.
pub fn cause(diagnosis: &Diagnosis) -> String {
    // A claim or a namespace that waits behind a Pod is none of the Pods, and neither is a Pod that is to start.
    let is_pod = |held: &&Waiting| held.on.is_none() && !held.starts && &*held.object.kind == "Pod";
    let count = diagnosis.waiting.iter().filter(is_pod).count();
    let starting = diagnosis.waiting.iter().filter(|held| held.starts);
    let starting: Vec<ObjectRef> = starting.map(|held| held.object.clone()).collect();
    let pods = |one, more| if count > 1 { more } else { one };
    if let Some(node) = diagnosis.cause.node_of_kubelet().filter(|_| diagnosis.may_be_silent()) {
        let ended = match diagnosis.waiting.iter().find(is_pod) {
            Some(_) if count > 1 => format!("{count} Pods"),
            Some(held) => named(&held.object),
            None => named(&diagnosis.root),
        };
        return format!(
            "Node {} cannot be reached and may have gone silent, so nobody confirms that {ended} ended.",
            isolated(node)
        );
    }
    match &diagnosis.cause {
        Cause::WithinGrace { until, pre_stop } => {
            let hook = if *pre_stop { ", and runs its preStop hook" } else { "" };
            let pod = named(&diagnosis.root);
            format!("{pod} has until {} to stop{hook}.", absolute(*until))
        }
        Cause::NodeSilent { node, silent, renews, .. } => {
            let alive = if *renews { " Its lease is renewed: its kubelet lives." } else { "" };
            let others = match silent {
                0 | 1 => String::new(),
                all => format!(
                    " {all} nodes fell silent together: look at the network and the control plane first."
                ),
            };
            let so = if diagnosis.is_of_replacements() {
                let pods = names(&starting);
                format!("and a disk is still attached there, so {pods} cannot start elsewhere")
            } else {
                format!("so nobody confirms that {} ended", pods("its Pod", "its Pods"))
            };
            format!("Node {} stopped reporting, {so}.{alive}{others}", isolated(node))
        }
        Cause::NodeMissing { node } => {
            format!(
                "Node {} does not exist any more, and {} still assigned to it.",
                isolated(node),
                pods("the Pod is", "Pods are")
            )
        }
        Cause::ContainersRunning { node, containers, not_ready } => {
            let (which, have) = match containers.as_slice() {
                [] => ("The containers".to_owned(), "have"),
                [one] => (format!("Container {}", isolated(one)), "has"),
                some => (format!("Containers {}", words(some)), "have"),
            };
            let also = if *not_ready { ", which reports that it is not ready" } else { "" };
            format!(
                "{which} of {} {have} not stopped after the grace period on node {}{also}.",
                named(&diagnosis.root),
                isolated(node)
            )
        }
        Cause::KubeletUnaware { node, .. } => format!(
            "The kubelet of node {} lives, and nothing says that it has begun to stop the containers of {}.",
            isolated(node),
            named(&diagnosis.root)
        ),
        Cause::StaticPod { node } => format!(
            "{} static: the kubelet of node {} runs {} for as long as {} file is there.",
            pods("The Pod is", "The Pods are"),
            isolated(node),
            pods("it", "them"),
            pods("its", "their")
        ),
        Cause::NeverStarted { node } => format!(
            "No container of {} has started on node {}: a mount, an image or its network may hang there.",
            named(&diagnosis.root),
            isolated(node)
        ),
        Cause::SandboxLeft { node } => format!(
            "All containers ended, but node {} has not removed the sandbox and the network of {}{}.",
            isolated(node),
            named(&diagnosis.root),
            failure(diagnosis)
        ),
        Cause::DevicesLeft { node } => format!(
            "All containers ended, but node {} has not released the devices that {} claimed.",
            isolated(node),
            named(&diagnosis.root)
        ),
        Cause::VolumesMounted { node, .. } => format!(
            "All containers ended, but node {} has not unmounted a volume of {}{}.",
            isolated(node),
            named(&diagnosis.root),
            failure(diagnosis)
        ),
        Cause::ClaimGone { node, claims, volumes, .. } => format!(
            "Node {} has not unmounted a volume of {}, and {} deleted before the Pod{}.",
            isolated(node),
            named(&diagnosis.root),
            match (claims.as_slice(), volumes.as_slice()) {
                ([], [one]) => format!("volume {} was", isolated(one)),
                ([], some) => format!("volumes {} were", words(some)),
                ([one], _) => format!("claim {} was", isolated(one)),
                (some, _) => format!("claims {} were", words(some)),
            },
            failure(diagnosis)
        ),
        Cause::DriverMissing { node, driver, plugin } => {
            let least = if diagnosis.total > count && count == diagnosis.waiting.len() {
                "at least "
            } else {
                ""
            };
            let of_pods =
                if count > 1 { format!("s of {least}{count} Pods") } else { String::new() };
            let (node, driver) = (isolated(node), isolated(driver));
            let why = match plugin {
                None => format!("its CSI driver {driver} is not registered there"),
                Some(plugin) => {
                    format!("{} of its CSI driver {driver} is not ready there", named(plugin))
                }
            };
            format!("Node {node} cannot unmount the volume{of_pods}: {why}.")
        }
        Cause::PodDirectoryLeft { node } => format!(
            "All containers ended, but node {} has not cleaned up after {}, which has no volume of its own.",
            isolated(node),
            named(&diagnosis.root)
        ),
        Cause::KeptForDependents { dependents } => depended_on(&diagnosis.root, dependents),
        Cause::OwnersCircle { owners } => own_each_other(owners),
        Cause::ClaimInUse { pods: users } | Cause::InUse { users } => {
            format!("It is in use by {}, which nobody is deleting.", names(users))
        }
        Cause::Copied { copies } => {
            let these = if copies.len() == 1 { "this copy is" } else { "these copies are" };
            format!("It is being copied, and {these} not complete yet: {}.", names(copies))
        }
        Cause::ClaimHeldByCompletedPods { pods } => {
            let hold = match pods.as_slice() {
                [_] => "A completed Pod still holds",
                _ => "Completed Pods still hold",
            };
            format!("{hold} the claim: {}.", names(pods))
        }
        Cause::VolumeBound { claim: Some(claim) } => {
            format!("The volume is bound to {}, which nobody is deleting.", named(claim))
        }
        Cause::VolumeBound { claim: None } => {
            "The volume still counts as bound, and its claim does not exist.".to_owned()
        }
        Cause::DetachFailed { attacher, node, .. } => format!(
            "Driver {} fails to detach the volume from node {}.",
            isolated(attacher),
            isolated(node)
        ),
        Cause::VolumeAttached { node, .. } if diagnosis.kubelet_facts().next().is_some() => {
            still_mounted(diagnosis, node, &starting)
        }
        Cause::VolumeAttached { attacher, node, detach, .. } if !starting.is_empty() => format!(
            "{} cannot start: the disk is still attached to node {}, and one node at a time can have it. {}",
            names(&starting),
            isolated(node),
            detaching(attacher, node, *detach)
        ),
        Cause::VolumeAttached { attacher, node, detach, .. } => detaching(attacher, node, *detach),
        Cause::BackendLeft { driver: Some(driver) } => format!(
            "The storage behind the volume is not deleted yet; driver {} does that.",
            isolated(driver)
        ),
        Cause::BackendLeft { driver: None } => {
            "The storage behind the volume is not deleted yet.".to_owned()
        }
        Cause::ApiDown { group_version, service } => {
            let behind = match service {
                Some(service) => format!(" It is served by {}.", named(service)),
                None => String::new(),
            };
            let hides = if holds_namespace(diagnosis) {
                "the cluster cannot tell that the namespace is empty"
            } else {
                "the garbage collector cannot see whether a dependent is left"
            };
            format!("The API {} does not answer, so {hides}.{behind}", isolated(group_version))
        }
        Cause::LooksAgain { controller, group_version } => format!(
            "The API {} no longer blocks this. The {} has not checked since.",
            isolated(group_version),
            isolated(controller)
        ),
        Cause::WebhookDown { webhook, configurations } if configurations.is_empty() => {
            unanswered_unseen(diagnosis, webhook)
        }
        Cause::WebhookDown { webhook, .. } => format!(
            "Webhook {} does not answer, and the API server refuses the requests that the webhook should check.",
            isolated(webhook)
        ),
        Cause::WebhookDenies { webhook } => denied(diagnosis, "Webhook", webhook),
        Cause::PolicyDenies { policy } => denied(diagnosis, "Admission policy", policy),
        Cause::ConversionDown { kind } => format!(
            "The webhook that converts {} does not answer, so its objects can be neither listed nor deleted.",
            isolated(kind)
        ),
        Cause::Unreadable { resource } => format!(
            "The API server cannot read an object of {} from its storage, so nobody can list that kind: most often its encryption key is missing.",
            match visible(resource) {
                name if name.is_empty() => "some kind".to_owned(),
                name => name,
            }
        ),
        Cause::UpdateRejected { webhooks } => match webhooks.as_slice() {
            [] => {
                "Every update of the Pod is refused, because something changes its spec on the way."
                    .to_owned()
            }
            [one] => format!(
                "Every update of {} is refused, {}because {} changes the spec on the way.",
                pods("the Pod", "the Pods"),
                probably(diagnosis),
                named(one)
            ),
            some => format!(
                "Every update of {} is refused, {}because a webhook changes the spec on the way. These are asked: {}.",
                pods("the Pod", "the Pods"),
                probably(diagnosis),
                names(some)
            ),
        },
        Cause::ContentRefused => {
            "The API server refuses to list or delete some of the content.".to_owned()
        }
        Cause::DiscoveryFailed => {
            "The namespace controller cannot read the list of the APIs that the cluster serves, so it cannot tell that the namespace is empty.".to_owned()
        }
        Cause::NamespaceFinalizer { finalizer } => format!(
            "A program keeps the finalizer {} on the namespace itself.",
            isolated(finalizer)
        ),
        Cause::ContentUnseen { resources } => {
            format!(
                "The namespace still has content that Unwind does not see: {}.",
                words(resources)
            )
        }
        Cause::NamespaceGone => {
            format!(
                "Namespace {} is gone and left objects behind that nobody can change: the API server refuses every update in a namespace that does not exist, so no program can clear a finalizer and no kubelet can report the end of a Pod.",
                isolated(&diagnosis.root.name)
            )
        }
        Cause::ManagerSilent => "The kube-controller-manager does not run.".to_owned(),
        Cause::ControllerSilent { controller } if diagnosis.confidence == Confidence::Unknown => {
            format!("It waits for the {}, which may need up to a minute.", isolated(controller))
        }
        Cause::ControllerSilent { controller } => {
            format!("The {} of the control plane has not done its part.", isolated(controller))
        }
        Cause::FinisherGone { finalizer, deleted } => match deleted.as_slice() {
            [] => format!(
                "Unwind finds no program in this cluster that clears the finalizer {}.",
                isolated(finalizer)
            ),
            some => format!(
                "The finalizer {} is left, and the program that probably cleared it was deleted: {}.",
                isolated(finalizer),
                names(some)
            ),
        },
        Cause::FinisherBusy { finalizer, finisher }
        | Cause::FinisherNotReady { finalizer, finisher }
            if dated(diagnosis, finisher, "metadata.deletionTimestamp").is_some() =>
        {
            format!(
                "{} clears the finalizer {} and is being deleted itself.",
                named(finisher),
                isolated(finalizer)
            )
        }
        Cause::FinisherNotReady { finalizer, finisher } => format!(
            "{} clears the finalizer {} and has no ready Pod.",
            named(finisher),
            isolated(finalizer)
        ),
        Cause::FinisherBusy { finalizer, finisher } => {
            let (finisher, since) =
                (named(finisher), dated(diagnosis, finisher, "metadata.creationTimestamp"));
            let finalizer = isolated(finalizer);
            match since {
                Some(at) => format!(
                    "{finisher} runs, but has not cleared the finalizer {finalizer}. It was created after the deletion, at {}.",
                    absolute(at)
                ),
                None => format!("{finisher} runs, but has not cleared the finalizer {finalizer}."),
            }
        }
        Cause::FinisherUnknown { finalizer, possible } => {
            let may = match possible.as_slice() {
                [one] => format!("{} may clear it.", named(one)),
                some => format!("One of these may clear it: {}.", names(some)),
            };
            format!("The finalizer {} is left. {may}", isolated(finalizer))
        }
        Cause::ManagedElsewhere { manager, .. } => format!(
            "{} Job is left to the controller {}, which has not released {}.",
            pods("The Pod’s", "The Pods’"),
            isolated(manager),
            pods("it", "them")
        ),
        Cause::LoadBalancerLeft => format!(
            "The cloud’s load balancer of the Service is not removed yet{}.",
            refusal(diagnosis)
        ),
        Cause::CannotSee { resource } => {
            format!("Unwind cannot see {}, which would tell why.", visible(resource))
        }
        Cause::Unknown => "No cause that Unwind knows fits what it can see.".to_owned(),
    }
}

/// The time in a field of an object, if that is among the evidence.
fn dated(diagnosis: &Diagnosis, of: &ObjectRef, field: &str) -> Option<Timestamp> {
    let is_it = |it: &&Evidence| {
        it.of == *of && matches!(&it.source, Source::Field(path) if &**path == field)
    };
    diagnosis.evidence.iter().find(is_it)?.at
}

/// A volume that its node cannot unmount, by the kubelet’s log.
fn still_mounted(diagnosis: &Diagnosis, node: &str, starting: &[ObjectRef]) -> String {
    let (node, why) = (isolated(node), failure(diagnosis));
    if starting.is_empty() {
        return format!(
            "The volume is still attached to node {node}, which cannot unmount its device{why}."
        );
    }
    let starting = names(starting);
    format!(
        "{starting} cannot start: the disk is still attached to node {node}, which cannot unmount its device{why}."
    )
}

/// A webhook that did not answer, and of which no configuration is seen.
fn unanswered_unseen(diagnosis: &Diagnosis, webhook: &str) -> String {
    let webhook = isolated(webhook);
    if diagnosis.is_of_lost_rule() {
        let (root, gone) = (named(&diagnosis.root), gone_rule(diagnosis));
        return format!(
            "The deletion of {root} was refused because webhook {webhook} did not answer, and {gone}: the next try may pass."
        );
    }
    format!(
        "Webhook {webhook} did not answer, and the API server refused the requests that it should check. Unwind cannot see whether its configuration still exists."
    )
}

/// The side that a detach waits for.
fn detaching(attacher: &str, node: &str, detach: DetachState) -> String {
    let (attacher, node) = (isolated(attacher), isolated(node));
    match detach {
        DetachState::InUse => format!(
            "Node {node} still reports the volume as in use, so the attach-detach controller does not ask driver {attacher} to detach it."
        ),
        DetachState::NotRequested => format!(
            "The attach-detach controller has not asked driver {attacher} to detach the volume from node {node}."
        ),
        DetachState::Requested => format!(
            "The volume is still attached to node {node}: the external-attacher of driver {attacher} was asked to detach it, and has not."
        ),
        DetachState::NotAttached => format!(
            "The volume is not attached to node {node}, but the external-attacher of driver {attacher} has not cleared the finalizer of its VolumeAttachment."
        ),
    }
}

/// A rule that denies; or one that denied and is gone, or is not seen.
fn denied(diagnosis: &Diagnosis, kind: &str, name: &str) -> String {
    let name = isolated(name);
    if diagnosis.is_of_lost_rule() {
        let (root, gone) = (named(&diagnosis.root), gone_rule(diagnosis));
        return format!(
            "{kind} {name} denied the deletion of {root}, and {gone}: the next try may pass."
        );
    }
    match diagnosis.confidence {
        Confidence::Confirmed => format!("{kind} {name} denies the deletion."),
        _ => format!(
            "{kind} {name} denied the deletion, and Unwind cannot see whether it still exists."
        ),
    }
}

/// The rule that refused no longer exists. The configuration of a webhook has another name than the webhook.
fn gone_rule(diagnosis: &Diagnosis) -> String {
    match diagnosis.deleted_rule() {
        Some(rule) => format!("{} was deleted", named(rule)),
        None if matches!(diagnosis.cause, Cause::WebhookDown { .. }) => {
            "no webhook configuration contains it".to_owned()
        }
        None => "no longer exists".to_owned(),
    }
}

fn probably(diagnosis: &Diagnosis) -> &'static str {
    if diagnosis.confidence == Confidence::Confirmed { "" } else { "probably " }
}

/// Whether a namespace waits.
fn holds_namespace(diagnosis: &Diagnosis) -> bool {
    diagnosis.waiting.iter().any(|held| &*held.object.kind == "Namespace")
}

/// The failure that the kubelet’s log names, in words; nothing where it names none, or several.
fn failure(diagnosis: &Diagnosis) -> &'static str {
    let mut errors = diagnosis.kubelet_facts().map(|fact| fact.error);
    let first = errors.next();
    first.filter(|first| errors.all(|it| it == *first)).map_or("", kubelet_error)
}

/// The words in which the cloud’s controller says why it fails.
fn refusal(diagnosis: &Diagnosis) -> String {
    let said = diagnosis.evidence.iter().rev().find_map(|fact| match &fact.source {
        Source::Event { reason, .. }
            if matches!(&**reason, "SyncLoadBalancerFailed" | "DeleteLoadBalancerFailed") =>
        {
            Some(&fact.said).filter(|said| !said.is_empty())
        }
        _ => None,
    });
    said.map_or_else(String::new, |said| format!(": {}", visible(said.trim_end_matches('.'))))
}

/// The object that another waits for: `waits for Pod shop/a, which mounts it`.
fn waits_for(on: &ObjectRef, link: Link) -> String {
    let how = match link {
        Link::Content => "which is in it",
        Link::Mount => "which mounts it",
        Link::Use => "which uses it",
        Link::Claim => "which is bound to it",
        Link::Attachment => "which attaches it to a node",
        Link::Dependent => "which it owns",
        Link::Instance => "which is of its kind",
    };
    format!("waits for {}, {how}", named(on))
}

/// The object that another one of the chain waits for, and how; empty for one that waits for the root itself.
pub(super) fn waits_on(diagnosis: &Diagnosis, held: &Waiting) -> String {
    if held.starts {
        return "cannot start before its disk is detached".to_owned();
    }
    let on = held.on.and_then(|(at, link)| Some((diagnosis.waiting.get(at)?, link)));
    on.map(|(on, link)| waits_for(&on.object, link)).unwrap_or_default()
}

/// One line of the chain.
pub(super) fn waiting(diagnosis: &Diagnosis, held: &Waiting) -> String {
    let on = waits_on(diagnosis, held);
    let space = if on.is_empty() { "" } else { " " };
    let since = if held.starts { "created" } else { "deleted" };
    format!("{}{space}{on}, {since} {}", named(&held.object), absolute(held.since))
}

/// The rest of a list that is cut off.
pub fn and_more(count: usize) -> String {
    format!("and {}", many(count, "other object", "other objects"))
}

#[cfg(test)]
mod tests;
