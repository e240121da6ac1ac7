//! The ways out of a deletion that waits, for somebody who was woken by it.

pub(super) mod attempt;
mod loss;
mod permit;
mod proof;
pub(super) mod reach;
mod request;

use teardown::{
    advice::{Way, WayCommand, WayNeed, WayOffer},
    object::{ObjectRef, Reclaim},
    remedy::{
        Command, DriverPart, Harm, Holds, Need, NeedCode, Place, Purpose, Remedy, RemedyAct, Undo,
        WaitReason, Withheld,
    },
};

pub use self::attempt::{attempt, switched_off_advice};
use self::{
    loss::losses, permit::permit, proof::remedy_proof, reach::remedy_reaches, request::requests,
};
use super::{
    super::{NAMED, absolute, isolated, named, names, some_of, words},
    many,
};

/// Everything that a page shows of a remedy; `context` is the cluster’s name in the kubeconfig.
pub(super) fn way(remedy: &Remedy, context: &str, offer: Option<WayOffer>) -> Way {
    let condition = |it: &Need| WayNeed { what: need(&it.code), holds: it.holds };
    let does = format!("{} {}", remedy_does(&remedy.act), remedy_proof(&remedy.act));
    let sends = requests(remedy, offer.is_some());
    Way {
        title: remedy_title(&remedy.act, remedy.target.as_ref()),
        harm: remedy.harm,
        harms: harm_of(remedy.harm).to_owned(),
        does: sends.map_or_else(|| does.clone(), |sends| format!("{does} {sends}")),
        reaches: remedy_reaches(&remedy.reaches),
        loses: losses(remedy),
        needs: remedy
            .needs
            .iter()
            .map(condition)
            .chain(remedy.permits.iter().map(permit))
            .collect(),
        undo: undoing(remedy),
        withheld: remedy.withheld.as_ref().map(withheld),
        commands: remedy.lines(context).into_iter().map(command_line).collect(),
        offer,
    }
}

/// A command with its line.
pub(super) fn command_line((command, line): (&Command, String)) -> WayCommand {
    WayCommand { what: command_purpose(command), line }
}

/// The action, in a few words.
pub(super) fn remedy_title(act: &RemedyAct, target: Option<&ObjectRef>) -> String {
    let target = target.map_or_else(|| "the object".to_owned(), named);
    match act {
        RemedyAct::Wait { .. } => "Wait".to_owned(),
        RemedyAct::Look => format!("Look at {target}"),
        RemedyAct::DeleteDependents => format!("Delete the dependents of {target}"),
        RemedyAct::StartNode { node, .. } => format!("Bring node {} back", isolated(node)),
        RemedyAct::FreeMount { node, .. } => {
            format!("End what holds the mount on node {}", isolated(node))
        }
        RemedyAct::RestoreExport { .. } => "Bring back the storage behind the mount".to_owned(),
        RemedyAct::EmptyDirectory { node } => {
            format!("Move the files out of the Pod’s directory on node {}", isolated(node))
        }
        RemedyAct::EndProcess { node, .. } => {
            format!("Find out on node {} why the container does not end", isolated(node))
        }
        RemedyAct::FindHang { node } => {
            format!("Find out on node {} why the Pod has not started", isolated(node))
        }
        RemedyAct::RepairNetwork { node } => {
            format!("Repair the network agent on node {}", isolated(node))
        }
        RemedyAct::RepairDevices { node } => {
            format!("Repair the device driver on node {}", isolated(node))
        }
        RemedyAct::RepairDriver { driver: Some(driver), .. } => {
            format!("Repair the storage driver {}", isolated(driver))
        }
        RemedyAct::RepairDriver { driver: None, .. } => "Repair the storage driver".to_owned(),
        RemedyAct::RestartDriver { driver, node } => format!(
            "Restart the Pod of the storage driver {} on node {}",
            isolated(driver),
            isolated(node)
        ),
        RemedyAct::RestartKubelet { node } => {
            format!("Restart the kubelet on node {}", isolated(node))
        }
        RemedyAct::RestartNode { node } => format!("Restart node {}", isolated(node)),
        RemedyAct::RestoreFinisher { finalizer, .. } => {
            format!("Reinstall the program that clears {}", isolated(finalizer))
        }
        RemedyAct::RepairFinisher { .. } => format!("Repair {target}"),
        RemedyAct::RepairApi { group_version } => {
            format!("Repair the API {}", isolated(group_version))
        }
        RemedyAct::RepairWebhook { webhook } => {
            format!("Repair the webhook {}", isolated(webhook))
        }
        RemedyAct::RepairConverter { kind } => {
            format!("Repair the conversion webhook for {}", isolated(kind))
        }
        RemedyAct::RemoveManifest { node } => {
            format!("Remove the manifest of the static Pod from node {}", isolated(node))
        }
        RemedyAct::RepairStorage { .. } => {
            "Restore the API server’s key or decoder for the object".to_owned()
        }
        RemedyAct::ExemptPods => format!("Let {target} skip terminating Pods"),
        RemedyAct::RepairController { controller } => format!("Repair {}", isolated(controller)),
        RemedyAct::RepairLoadBalancer => "Let the cloud remove the load balancer".to_owned(),
        RemedyAct::SatisfyPolicy { policy } => {
            format!("Meet or change the rule {}", isolated(policy))
        }
        RemedyAct::MakeVisible { resource } => format!("Let Unwind see {}", isolated(resource)),
        RemedyAct::Nudge => format!("Have {target} looked at again"),
        RemedyAct::ExemptNamespaces { webhook, namespaces } => {
            let these = if namespaces.len() == 1 { "namespace" } else { "namespaces" };
            format!("Let {} of {target} leave out {these} {}", isolated(webhook), words(namespaces))
        }
        RemedyAct::IgnoreWebhook { webhook } => {
            format!("Let requests pass while {} of {target} is down", isolated(webhook))
        }
        RemedyAct::DeleteWebhookConfiguration
        | RemedyAct::DeleteApiService { .. }
        | RemedyAct::DeleteUser => format!("Delete {target}"),
        RemedyAct::RetainVolume { .. } => format!("Keep the data: set {target} to Retain"),
        RemedyAct::ScaleDown { keeps_claims: true, .. } => {
            format!("Scale {target} to 0 and keep its claims")
        }
        RemedyAct::ScaleDown { .. } => format!("Scale {target} to 0"),
        RemedyAct::ShortenGrace { .. } => format!("Shorten the grace period of {target}"),
        RemedyAct::SuspendParent => format!("Suspend {target}"),
        RemedyAct::DeleteAgain { .. } => {
            format!("Delete {target} again, with its dependents in the background")
        }
        RemedyAct::RecreateNamespace { namespace, .. } => {
            format!("Create namespace {} again and delete it", isolated(namespace))
        }
        RemedyAct::RemoveFinalizer { finalizer } => {
            format!("Remove the finalizer {} from {target}", isolated(finalizer))
        }
        RemedyAct::RemoveSpecFinalizer { finalizer } => {
            format!("Remove {} from the spec of {target}", isolated(finalizer))
        }
        RemedyAct::FinalizeNamespace => format!("Finish {target} without its controller"),
        RemedyAct::StopConversion => format!("Turn off conversion in {target}"),
        RemedyAct::OutOfServiceTaint { node } => {
            format!("Mark node {} as out of service", isolated(node))
        }
        RemedyAct::DeleteNode { node } => format!("Delete the Node object {}", isolated(node)),
        RemedyAct::ForceDeletePod { .. } => format!("Remove {target} from the API by force"),
    }
}

/// The effect of an action, and the events that follow.
fn remedy_does(act: &RemedyAct) -> String {
    match act {
        RemedyAct::Wait { reason: WaitReason::ControllerRetry, until: Some(by) } => format!(
            "The controller looks again by {}, and the namespace goes then if nothing else holds it.",
            absolute(*by)
        ),
        RemedyAct::Wait { reason, until } => {
            let by = until.map_or_else(String::new, |at| format!(" That is at {}.", absolute(at)));
            format!("{}{by}", wait(*reason))
        }
        RemedyAct::Look => "Look at its finalizers, its conditions and its Events.".to_owned(),
        RemedyAct::DeleteDependents => {
            "Its condition DeletionIsBlocked lists them. Save the data that is still needed, and delete them. The program then lets it go by itself. Without the finalizer it would go at once, and they would lose what they depend on.".to_owned()
        }
        RemedyAct::StartNode { provider: Some(provider), .. } => format!(
            "Start or reconnect the machine {}. Its kubelet then ends the Pods, and nothing is lost.",
            isolated(provider)
        ),
        RemedyAct::StartNode { provider: None, .. } => {
            "Start or reconnect the machine. Its kubelet then ends the Pods, and nothing is lost.".to_owned()
        }
        RemedyAct::FreeMount { volumes, .. } => format!(
            "{}The kubelet names the mount but not its holder. Run the commands on the node: they show this Pod’s mounts, the processes that use them, and the kubelet’s last errors. End the holder, and the kubelet unmounts within 2 min 2 s.",
            mounted(volumes)
        ),
        RemedyAct::RestoreExport { claims, volumes, .. } => format!(
            "{} disappeared while the volume was mounted. Start the storage server, or rename the directory back (some provisioners keep it as archived-…). The kubelet then unmounts within 2 min 2 s. Do not delete the directories of the Pod by hand: that can delete data through the mount. If neither the storage comes back nor the node can be restarted, a lazy unmount on the node (umount --lazy) is an administrator’s last resort: writes that the storage has not confirmed are lost.",
            gone(claims, volumes)
        ),
        RemedyAct::EmptyDirectory { .. } => {
            "The kubelet removes only an empty directory, and this one has files in it. If the first command prints a line, the path is still a mount: stop, and unmount it first. If it prints nothing, move the files elsewhere; they may be the only copy. The kubelet tries again within 2 min 2 s.".to_owned()
        }
        RemedyAct::EndProcess { containers, .. } => format!(
            "{} past the grace period. Most often a process waits for storage that does not answer, or the container runtime hangs. Repair that, and the kubelet continues.",
            match containers.as_slice() {
                [] => "A container runs".to_owned(),
                [one] => format!("Container {} runs", isolated(one)),
                many => format!("{} containers run", many.len()),
            }
        ),
        RemedyAct::FindHang { .. } => {
            "Its Events and the kubelet’s log say what the kubelet waits for: most often a mount that hangs, an image or the network. Repair that, and the kubelet continues.".to_owned()
        }
        RemedyAct::RepairNetwork { .. } => {
            "The containers have ended, and the network of the Pod has not been removed. Check that the network agent’s Pod on this node is ready and reaches the API server.".to_owned()
        }
        RemedyAct::RepairDevices { .. } => {
            "The containers have ended, and their devices have not been released. Check the Pod of the device driver on this node.".to_owned()
        }
        RemedyAct::RepairDriver { part, .. } => driver(*part).to_owned(),
        RemedyAct::RestartDriver { .. } => {
            "Its DaemonSet starts the Pod anew, and the kubelet tries the unmount again within 2 min 2 s. That helps where the driver itself hangs or holds the mount; its log says whether it does.".to_owned()
        }
        RemedyAct::RestartKubelet { .. } => {
            "Containers go on running while the kubelet restarts. It then reads the state of its Pods afresh.".to_owned()
        }
        RemedyAct::RestartNode { .. } => {
            "The last resort that is safe for data: after a restart nothing holds a mount any more. Drain the node first if you can.".to_owned()
        }
        RemedyAct::RestoreFinisher { candidates, .. } => match candidates.as_slice() {
            [] => "Unwind finds no program that clears this finalizer. Install the version that set it, with its definitions and credentials, and let it finish.".to_owned(),
            candidates => format!(
                "It may have been {}. Reinstall the same version, with its definitions and credentials, and let it finish its clean-up. Then nothing is left over.",
                names(candidates)
            ),
        },
        RemedyAct::RepairFinisher { .. } => {
            "This program clears the finalizer. Its log says why it has not. Once it works, the deletion continues.".to_owned()
        }
        RemedyAct::RepairApi { .. } => {
            "Make the Pods behind its Service ready. While the API does not answer, nobody can say that a namespace is empty. After the repair namespaces go on within 150 s.".to_owned()
        }
        RemedyAct::RepairWebhook { .. } => {
            "Make the Pods behind its Service ready. Until then the API server refuses every request that the webhook should check.".to_owned()
        }
        RemedyAct::RepairConverter { .. } => {
            "Make the Pods behind its Service ready. Until then the API server cannot read these objects, and no namespace can finish.".to_owned()
        }
        RemedyAct::RepairController { .. } => {
            "This controller of the control plane has not done its part. Check that kube-controller-manager runs and holds its lease, and that nothing refuses its requests.".to_owned()
        }
        RemedyAct::RemoveManifest { .. } => {
            "Its file is in the kubelet’s staticPodPath, mostly /etc/kubernetes/manifests. Move it out, and the kubelet ends the containers and removes the Pod.".to_owned()
        }
        RemedyAct::RepairStorage { .. } => {
            "Put the key back into the API server’s encryption configuration, with its provider, and restart every API server. Once the object can be read, the list succeeds and everything continues. Deleting it unread is a last resort for the owner of the control plane.".to_owned()
        }
        RemedyAct::ExemptPods => {
            "Change its namespaceSelector, its objectSelector or its matchConditions, or change its program to leave the spec of a terminating Pod alone. The next update then passes.".to_owned()
        }
        RemedyAct::RepairLoadBalancer => {
            "The Events of the Service, or the log of the cloud controller manager, say why the cloud refuses. If there are none, the cloud controller manager does not run.".to_owned()
        }
        RemedyAct::SatisfyPolicy { .. } => {
            "It denies the request on purpose. Meet its condition, or ask its owner to change it. Unwind never bypasses it.".to_owned()
        }
        RemedyAct::MakeVisible { .. } => {
            "The cause may be hidden there. Grant Unwind get, list and watch on it, or restore its API. Until then, Unwind offers nothing by force.".to_owned()
        }
        RemedyAct::Nudge => {
            "Writes a harmless annotation. After a repair, the controller then checks within seconds instead of after its back-off, which can be minutes.".to_owned()
        }
        RemedyAct::ExemptNamespaces { .. } => {
            "Adds the name to the exceptions of the webhook’s namespaceSelector. Requests in there then pass without the webhook, and it still checks all others. For objects without a namespace it changes nothing. Take it back once the webhook answers.".to_owned()
        }
        RemedyAct::IgnoreWebhook { .. } => {
            "Sets its failurePolicy to Ignore. Requests that it cannot check are accepted until you set it back.".to_owned()
        }
        RemedyAct::DeleteWebhookConfiguration => {
            "Removes all webhooks of this configuration. No webhook can refuse that.".to_owned()
        }
        RemedyAct::DeleteApiService { .. } => {
            "Takes the API away, so that nobody waits for it. Namespaces go on within 75 s.".to_owned()
        }
        RemedyAct::RetainVolume { was } => format!(
            "Sets the volume’s reclaim policy from {} to Retain. This interrupts nothing, and when the claim goes, the volume and its data stay. Do this first if the data may still be needed.",
            reclaim_policy(*was)
        ),
        RemedyAct::ShortenGrace { node } => format!(
            "A second DELETE ends the grace period a minute from now. A kubelet that already stops the containers keeps to the old period (Kubernetes issue 83916, up to 1.36 at least): then restart the kubelet on node {}. It runs a preStop hook again and counts from its start: a minute and the time since the first DELETE. After that it cuts the hook off, and containers that still run get SIGKILL. A copied line leaves less with each second, and once its minute is over only 1 s.",
            isolated(node)
        ),
        RemedyAct::SuspendParent => "It does not make its objects again until it is resumed.".to_owned(),
        RemedyAct::ScaleDown { replicas, keeps_claims } => format!(
            "Its Pods end in order and let go of the claim. It has {} now.{}",
            many(usize::try_from(*replicas).unwrap_or_default(), "replica", "replicas"),
            if *keeps_claims {
                " The same request sets whenScaled in its persistentVolumeClaimRetentionPolicy from Delete to Retain, so its controller does not delete the claims of these replicas."
            } else {
                ""
            }
        ),
        RemedyAct::DeleteUser => {
            "What is stuck waits for this to go. This is an ordinary deletion, in order and with the grace period.".to_owned()
        }
        RemedyAct::DeleteAgain { instead_of } => format!(
            "A second DELETE with policy Background takes {} off. Kubernetes supports this; removing the finalizer by hand would skip the garbage collector.",
            isolated(instead_of)
        ),
        RemedyAct::RecreateNamespace { has_labels, .. } => format!(
            "Objects in a namespace that does not exist cannot be changed. It is created and deleted at once: then their finalizers can be removed, and the rest goes with the namespace. {}",
            if *has_labels {
                "It gets its old labels; its annotations are not known."
            } else {
                "Its old labels and annotations are not known: rules that look at them do not apply."
            }
        ),
        RemedyAct::RemoveFinalizer { .. } => {
            "Once no finalizer is left, the object goes, and the garbage collector deletes what only it owned. Whatever the finalizer guarded is never cleaned up. The patch is refused if the object or its list of finalizers has changed.".to_owned()
        }
        RemedyAct::RemoveSpecFinalizer { .. } => {
            "The namespace no longer waits for this program, and the program’s clean-up is never done. The command is refused if this finalizer is no longer at its place, or if the namespace changes while it runs.".to_owned()
        }
        RemedyAct::FinalizeNamespace => {
            "The namespace goes at once. Whatever is left in it stays, where nobody can see or change it. The command is refused if the finalizers in its spec are others by then.".to_owned()
        }
        RemedyAct::StopConversion => {
            "Objects are then read as they are stored. This is safe only if all of them are stored in one version. Every page shows this until it is put back.".to_owned()
        }
        RemedyAct::OutOfServiceTaint { .. } => {
            "Kubernetes then removes every Pod of the node that does not tolerate the taint, DaemonSets too, and detaches their volumes at once. Only for a machine that is off.".to_owned()
        }
        RemedyAct::DeleteNode { .. } => {
            "Kubernetes then removes every Pod of the node, and detaches their volumes by force after 6 min. Only for a machine that is off.".to_owned()
        }
        RemedyAct::ForceDeletePod { .. } => {
            "Only the API object goes. Nobody checks that the node has released the Pod, and its volumes are detached by force after 6 min.".to_owned()
        }
    }
}

/// The reclaim policy of a volume, as Kubernetes writes it.
pub(super) fn reclaim_policy(policy: Reclaim) -> &'static str {
    match policy {
        Reclaim::Retain => "Retain",
        Reclaim::Delete => "Delete",
        Reclaim::Recycle => "Recycle",
    }
}

fn wait(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::GracePeriod => "Its containers still have time to end.",
        WaitReason::KubeletRetry => {
            "The kubelet retries at most 2 min 2 s after its last try. It writes no Event about that."
        }
        WaitReason::PodCollector => {
            "The Pod garbage collector removes the Pod within about a minute."
        }
        WaitReason::ControllerRetry => {
            "The controller looks again by itself: mostly within 150 s, at the latest after about 1000 s."
        }
        WaitReason::Finisher => "The program that clears the finalizer runs and may need time.",
        WaitReason::Detach => {
            "The attach-detach controller asks for the detach once the node no longer reports the volume as in use. Then the driver detaches it."
        }
    }
}

fn driver(part: DriverPart) -> &'static str {
    match part {
        DriverPart::Node => {
            "The kubelet cannot unmount without the driver’s own Pod on this node. Install the driver again, or make that Pod ready; the driver then registers with the kubelet."
        }
        DriverPart::Attacher => {
            "The external-attacher has to detach the volume and clear the finalizer of its VolumeAttachment. Check that it runs, holds its lease and reaches the storage system, and that the node no longer uses the volume."
        }
        DriverPart::Provisioner => {
            "The storage behind the volume is not deleted. The Events of the volume say why: most often credentials, or a volume that is still attached."
        }
    }
}

/// The volumes that are still mounted; empty if none is known.
fn mounted(volumes: &[(std::sync::Arc<str>, std::sync::Arc<str>)]) -> String {
    let names: Vec<String> = volumes
        .iter()
        .map(|(volume, claim)| format!("{} of claim {}", isolated(volume), isolated(claim)))
        .collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("Volume {one} is still mounted. "),
        some => format!("These volumes may still be mounted: {}. ", some_of(some, NAMED)),
    }
}

/// The claims that are gone, or else the volumes.
fn gone(claims: &[std::sync::Arc<str>], volumes: &[std::sync::Arc<str>]) -> String {
    match (claims, volumes) {
        ([], [one]) => format!("The volume {}", isolated(one)),
        ([], _) => many(volumes.len(), "volume", "volumes"),
        ([one], _) => format!("The claim {}", isolated(one)),
        _ => many(claims.len(), "claim", "claims"),
    }
}

/// The worst that a remedy does, as a heading.
fn harm_of(harm: Harm) -> &'static str {
    match harm {
        Harm::None => "Loses nothing",
        Harm::Reversible => "Can be taken back",
        Harm::Interruption => "Interrupts what runs",
        Harm::SwitchesOff => "Switches off, cluster-wide",
        Harm::Deletion => "Deletes more, in order",
        Harm::Leftovers => "Leaves something behind",
        Harm::DataLoss => "May lose or damage data",
    }
}

/// The way to take it back, and whatever does not come back with that.
fn undoing(remedy: &Remedy) -> Option<String> {
    let way = remedy.undo.map(undo).or_else(|| no_undo(remedy))?;
    if remedy.undo.is_some() && !remedy.reaches.going.is_empty() {
        return Some(format!("{way} The claims do not come back with it."));
    }
    Some(way.to_owned())
}

/// A precondition.
fn need(code: &NeedCode) -> String {
    let said = match code {
        NeedCode::PoweredOff { node, instance, announced } => {
            return powered_off(node, instance.as_deref(), *announced);
        }
        NeedCode::NodeSilent => "The node has stopped reporting.",
        NeedCode::LeaseStill => "Its lease is not renewed while you watch.",
        NeedCode::OnlySilentNode => "No other node fell silent lately or together with it.",
        NeedCode::NotControlPlane => "The node does not run the control plane.",
        NeedCode::ContainersEnded => "The kubelet has reported that all containers have ended.",
        NeedCode::MountsUnused => "On the node no process uses the Pod’s mounts.",
        NeedCode::CauseRemoved => "The cause is repaired or removed. Otherwise it changes nothing.",
        NeedCode::GroupStoresNothing => "The API answers from memory and stores no objects.",
        NeedCode::NamespaceListable => "Every kind in the namespace can be listed.",
        NeedCode::NoPodsInside => "No Pod is left in the namespace.",
        NeedCode::FinisherCannotFinish => {
            "The program cannot come back, or cannot do its work any more."
        }
        NeedCode::CleanedUpByHand => "Its clean-up was done by hand, or the leftovers may stay.",
        NeedCode::DetachChecked => "The storage system itself shows the volume as detached.",
        NeedCode::NotAttached => "No node has the volume attached.",
        NeedCode::OneStoredVersion => "storedVersions of the definition has one entry.",
    };
    said.to_owned()
}

fn powered_off(node: &str, instance: Option<&str>, announced: bool) -> String {
    let instance = instance.map_or_else(String::new, |it| format!(" (instance {})", isolated(it)));
    let announced =
        if announced { " Its kubelet said that the node is shutting down." } else { "" };
    format!(
        "The machine of node {}{instance} is off.{announced} A broken network looks the same from here, so somebody has to check.",
        isolated(node)
    )
}

/// Whether a precondition holds.
pub fn holds(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "Yes",
        Holds::No => "Not so",
        Holds::Unknown => "Check this",
    }
}

/// The way to take it back.
fn undo(undo: Undo) -> &'static str {
    match undo {
        Undo::TakeAnnotationOff => "The annotation can stay, or be taken off.",
        Undo::TakeTaintOff => {
            "Remove the taint once the node is back. That does not bring removed Pods back."
        }
        Undo::CreateAgain => {
            "Keep the copy, and create the object from it again, without its uid and resourceVersion."
        }
        Undo::SetBack => "Set the field back to its old value.",
        Undo::RestartKubelet => {
            "Restart the kubelet on the machine: it registers the Node again. That does not bring the Pods back."
        }
    }
}

/// The remark on a remedy that cannot be taken back; none for one that changes nothing.
fn no_undo(remedy: &Remedy) -> Option<&'static str> {
    let changes = remedy.undo.is_none() && remedy.harm > Harm::None;
    changes.then_some("This cannot be taken back.")
}

/// The reason for which it cannot be chosen now.
fn withheld(why: &Withheld) -> String {
    match why {
        Withheld::CannotSee { resource } => format!(
            "Not now: Unwind cannot see {}, so it cannot tell what this would hit.",
            isolated(resource)
        ),
        Withheld::NodeReports => "Not now: the node reports, so its kubelet can end its Pods. Repair it there.".to_owned(),
        Withheld::ControlPlaneNode => "Not from here: the node runs the control plane.".to_owned(),
        Withheld::SeveralNodesSilent { silent } => format!(
            "Not now: {silent} nodes are silent at once. A broken network is more likely than all of them being off."
        ),
        Withheld::LeaseNotWatched => "Not now: Unwind has not yet seen the node’s lease stand still for as long as it is valid, which is at least 40 s, so the kubelet may be alive. It reads the leases every 20 s.".to_owned(),
        Withheld::LeaseHidden => "Not now: Unwind cannot list the leases in namespace kube-node-lease, so the kubelet may be alive. Grant it that right first.".to_owned(),
        Withheld::KubeletUnreachable => "Not now: the API server does not reach the kubelet, so nobody knows what runs there. If the node is silent, this card says so within a minute.".to_owned(),
        Withheld::ContainersRun => "Not now: containers of the Pod run.".to_owned(),
        Withheld::CannotList { resource } => format!(
            "Not now: {} cannot be listed, so nobody knows what would be left in the namespace.",
            isolated(resource)
        ),
        Withheld::PodsInside => "Not now: Pods are left in the namespace, and would keep running without it. Solve the Pods first.".to_owned(),
        Withheld::GroupMayStoreObjects { group } => format!(
            "Not now: {} may store objects in the namespace, which nobody can see while its API is down.",
            isolated(group)
        ),
        Withheld::Attached { node } => {
            format!("Not now: the volume is attached to node {}.", isolated(node))
        }
        Withheld::NamespaceGone => "Not now: its namespace does not exist, so the API server refuses every change. Create the namespace again first.".to_owned(),
        Withheld::UnsafeName => "Not from here: a name in it has characters that do not belong in a command.".to_owned(),
    }
}

/// The purpose of a command, and the place where it belongs.
fn command_purpose(command: &Command) -> String {
    let purpose = match command.purpose {
        Purpose::Look => "To look",
        Purpose::Copy => "To keep a copy",
        Purpose::Act => "To do it",
        Purpose::Undo => "To take it back",
    };
    match &command.place {
        Place::Kubectl => purpose.to_owned(),
        Place::Node(node) => format!("{purpose}, as root on node {}", isolated(node)),
    }
}

#[cfg(test)]
mod tests {
    use teardown::remedy::{Loss, Reach};

    use super::*;

    #[test]
    fn forced_pod_reads_as_a_warning_from_start_to_end() {
        let object = |kind: &str, name: &str| ObjectRef {
            group: "".into(),
            kind: kind.into(),
            namespace: Some("shop".into()),
            name: name.into(),
        };
        let remedy = Remedy {
            harm: Harm::DataLoss,
            act: RemedyAct::ForceDeletePod { node: "n1".into() },
            target: Some(object("Pod", "a\u{202e}")),
            commands: vec![],
            needs: vec![],
            reaches: Reach {
                objects: vec![object("PersistentVolumeClaim", "data")],
                total: 1,
                ..Reach::default()
            },
            loses: vec![Loss::SecondWriter],
            undo: None,
            withheld: Some(Withheld::SeveralNodesSilent { silent: 2 }),
            permits: vec![],
        };
        assert_eq!(
            remedy_title(&remedy.act, remedy.target.as_ref()),
            "Remove Pod shop/a⟨U+202E⟩ from the API by force"
        );
        assert_eq!(
            remedy_reaches(&remedy.reaches),
            ["Also hits 1 object: PersistentVolumeClaim shop/data."]
        );
        assert_eq!(no_undo(&remedy), Some("This cannot be taken back."));
        assert!(withheld(remedy.withheld.as_ref().unwrap()).contains("2 nodes are silent"));
    }
}
