//! Pods on a node that reports: the containers, then the volumes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::{
    act::{Holds, Loss, NeedCode, Remedy, RemedyAct, WaitReason, Withheld},
    case::{Case, claims, has_ended},
    command::{self, Command, Purpose},
    finalizer::recreate,
    plugin,
    reach::Reach,
    start_node::start,
};
use crate::{
    diagnosis::{Cause, RuntimeState, is_mirror, kubelet_log::KubeletError},
    object::{Facts, Object, ObjectRef},
};

/// The seconds that a shortened grace period leaves: the default of `terminationGracePeriodSeconds`, and the half minute by which the
/// lines of a page may be behind. Without any, the DELETE would be one by force, which nobody confirms.
const LEFT: i64 = 60;

/// The grace period is not over.
pub(super) fn within_grace(case: &Case<'_>, until: Timestamp) -> Vec<Remedy> {
    let wait = RemedyAct::Wait { reason: WaitReason::GracePeriod, until: Some(until) };
    let wait = Remedy::new(wait).named(Some(case.diagnosis.root.clone()));
    let shorter = case.pod().and_then(|(object, pod)| shorten(case, object, pod.node.as_ref()?));
    [wait].into_iter().chain(shorter).collect()
}

/// Sends DELETE again with a shorter grace period, for a preStop hook that hangs or a program that does not heed SIGTERM.
///
/// The API server counts the period from the first DELETE, and makes one that is over by then one second (`BeforeDelete` in
/// `staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go`). So the time that has passed is added, and an old line
/// leaves less.
///
/// A kubelet that is stopping the containers keeps to the longer period, although `pkg/kubelet/pod_workers.go` cancels the context of
/// that: `SyncTerminatingPod` in `pkg/kubelet/kubelet.go` has one of its own, up to 1.36 at least
/// (<https://github.com/kubernetes/kubernetes/issues/83916>). One that was restarted stops them anew, with the whole period as it is
/// then. So a period that would end no earlier that way is not offered, nor is one where no container is left to stop.
fn shorten(case: &Case<'_>, pod: &Object, node: &Arc<str>) -> Option<Remedy> {
    let deletion = pod.deletion.as_deref()?;
    let passed = case.now.duration_since(deletion.accepted()).as_secs().max(0);
    let (seconds, left) = (passed + LEFT, deletion.at.duration_since(case.now).as_secs());
    if seconds >= left || has_ended(pod) || is_mirror(pod) || case.index.is_in_gone_namespace(pod) {
        return None;
    }
    let shorter = json!({ "gracePeriodSeconds": seconds });
    let remedy = Remedy::new(RemedyAct::ShortenGrace { node: node.clone() })
        .at(pod)
        .with([command::describe(pod), command::delete(pod, &shorter)])
        .loss([Loss::Unfinished]);
    Some(remedy)
}

/// Whatever the kubelet does, it cannot report it in a namespace that does not exist.
fn in_gone_namespace(case: &Case<'_>, object: &Object) -> Vec<Remedy> {
    object.namespace.iter().map(|namespace| recreate(case, namespace)).collect()
}

/// Containers, the sandbox or devices are left.
pub(super) fn not_stopped(case: &Case<'_>, cause: &Cause) -> Vec<Remedy> {
    let Some((object, _)) = case.pod() else { return Vec::new() };
    if case.index.is_in_gone_namespace(object) {
        return in_gone_namespace(case, object);
    }
    let (repair, name, loss) = match cause {
        Cause::ContainersRunning { node, containers, .. } => {
            let (node, containers) = (node.clone(), containers.clone());
            (RemedyAct::EndProcess { node: node.clone(), containers }, node, Loss::SecondWriter)
        }
        Cause::NeverStarted { node } => return never_started(case, object, node),
        Cause::KubeletUnaware { node, .. } => return unaware(case, object, node),
        Cause::DevicesLeft { node } => {
            (RemedyAct::RepairDevices { node: node.clone() }, node.clone(), Loss::Device)
        }
        Cause::SandboxLeft { node } => {
            (RemedyAct::RepairNetwork { node: node.clone() }, node.clone(), Loss::Network)
        }
        _ => return Vec::new(),
    };
    let mut found = vec![Remedy::new(repair).at(object).with([
        command::describe(object),
        kubelet_log(&name),
        command::running_pods(&name),
    ])];
    found.extend(restarts(case, &name));
    found.push(force_ended(case, object, &name, [loss]));
    found
}

/// The kubelet has not begun: restart it, else the node. Force is withheld while containers run, as they do.
fn unaware(case: &Case<'_>, object: &Object, node: &Arc<str>) -> Vec<Remedy> {
    let look = [command::describe(object), kubelet_log(node), command::running_pods(node)];
    let mut found = vec![restart_kubelet(case, node).with(look)];
    found.extend(restart_node(case, node));
    found.push(force_ended(case, object, node, [Loss::SecondWriter]));
    found
}

/// A static Pod ends with its file. Force would show it again under another UID, and end nothing.
pub(super) fn of_static(case: &Case<'_>, node: &Arc<str>) -> Vec<Remedy> {
    let Some((object, _)) = case.pod() else { return Vec::new() };
    let list = command::on_node(Purpose::Look, node, &["ls", "/etc/kubernetes/manifests"]);
    let remove = Remedy::new(RemedyAct::RemoveManifest { node: node.clone() });
    vec![remove.at(object).with([command::look(object), list]), restart_kubelet(case, node)]
}

/// No container has started. Force is not offered: what the kubelet waits for may start later and write.
fn never_started(case: &Case<'_>, object: &Object, node: &Arc<str>) -> Vec<Remedy> {
    let look = [command::describe(object), kubelet_log(node), command::running_pods(node)];
    let find = Remedy::new(RemedyAct::FindHang { node: node.clone() }).at(object).with(look);
    [find].into_iter().chain(restarts(case, node)).collect()
}

fn kubelet_log(node: &Arc<str>) -> Option<Command> {
    let log = ["journalctl", "--unit=kubelet", "--since=-10min", "--no-pager"];
    command::on_node(Purpose::Look, node, &log)
}

/// The containers have ended, and the kubelet has not unmounted the volumes or removed the directory of the Pod.
///
/// The kubelet tries again by itself, at first after 500 ms and at most after 2m2s
/// (`pkg/util/goroutinemap/exponentialbackoff`), so nothing but the cause has to be removed.
pub(super) fn not_unmounted(case: &Case<'_>, cause: &Cause) -> Vec<Remedy> {
    let Some((object, _)) = case.pod() else { return Vec::new() };
    if case.index.is_in_gone_namespace(object) {
        return in_gone_namespace(case, object);
    }
    let wait = RemedyAct::Wait { reason: WaitReason::KubeletRetry, until: None };
    let mut found = vec![Remedy::new(wait).at(object)];
    let is_unmounted = is_unmounted(case);
    let name = match cause {
        Cause::VolumesMounted { node, .. }
        | Cause::ClaimGone { node, .. }
        | Cause::PodDirectoryLeft { node }
            if is_unmounted =>
        {
            found.push(empty_directory(case, object, node));
            node
        }
        Cause::VolumesMounted { node, sub_paths } => {
            found.push(free_mount(case, object, node, *sub_paths));
            node
        }
        Cause::ClaimGone { node, claims, volumes, sub_paths } => {
            let (claims, volumes) = (claims.clone(), volumes.clone());
            let act = RemedyAct::RestoreExport { node: node.clone(), claims, volumes };
            let look = command::look_for_mounts(node, &object.uid, *sub_paths);
            found.push(Remedy::new(act).at(object).with(look.into_iter().map(Some)));
            found.push(free_mount(case, object, node, *sub_paths));
            node
        }
        Cause::DriverMissing { node, driver, .. } => {
            found.push(plugin::repair(case, object, node, driver));
            node
        }
        Cause::PodDirectoryLeft { node } => node,
        _ => return Vec::new(),
    };
    if !is_unmounted && !case.diagnosis.may_be_silent() {
        found.extend(plugin::restart(case, object, name));
    }
    found.extend(restarts(case, name));
    found.push(match cause {
        Cause::PodDirectoryLeft { .. } => force_ended(case, object, name, [Loss::Directory]),
        _ => force_ended(case, object, name, [Loss::SecondWriter, Loss::Mount])
            .need(NeedCode::MountsUnused, Holds::Unknown),
    });
    found
}

/// Whether all that the kubelet's log names are directories with files in them: it removes one after its unmount, and never one that
/// is still a mount (`CleanupMountPoint` in `mount-utils`, `doCleanSubPath` in `pkg/volume/util/subpath`).
fn is_unmounted(case: &Case<'_>) -> bool {
    let mut facts = case.diagnosis.kubelet_facts().peekable();
    facts.peek().is_some() && facts.all(|fact| fact.error == KubeletError::NotEmpty)
}

/// The files stay: they may be the only copy of what a container wrote while its volume was not mounted.
fn empty_directory(case: &Case<'_>, object: &Object, name: &Arc<str>) -> Remedy {
    let paths = case.diagnosis.kubelet_facts().filter_map(|fact| fact.path.as_deref());
    let look = paths.filter(|path| path.starts_with('/')).flat_map(|path| {
        [
            command::on_node(Purpose::Look, name, &["grep", "-F", path, "/proc/self/mountinfo"]),
            command::on_node(Purpose::Look, name, &["find", path, "-xdev", "-ls"]),
        ]
    });
    Remedy::new(RemedyAct::EmptyDirectory { node: name.clone() })
        .at(object)
        .with(look.chain([command::journal(name, &object.uid.to_string())]))
}

/// The mounts that the kubelet's log names come first.
fn free_mount(case: &Case<'_>, object: &Object, name: &Arc<str>, sub_paths: bool) -> Remedy {
    let named = case.diagnosis.kubelet_facts().filter_map(|fact| fact.path.as_deref());
    let named = named.filter_map(|path| command::holders(name, path));
    let look = named.chain(command::look_for_mounts(name, &object.uid, sub_paths));
    let is_gone = |claim: &ObjectRef| match &case.diagnosis.cause {
        Cause::ClaimGone { claims, .. } => claims.contains(&claim.name),
        _ => false,
    };
    let volumes = claims(object).into_iter().filter_map(|claim| {
        let newer = case.index.named(&claim);
        let claim_now = newer.filter(|_| !is_gone(&claim));
        let volume = match claim_now.map(|object| &object.facts) {
            Some(Facts::Claim(facts)) => facts.volume.clone(),
            // A volume that is kept still names the claim that is gone.
            _ => case.index.of_resource("persistentvolumes").find_map(|object| {
                let Facts::Volume(facts) = &object.facts else { return None };
                let of = facts.claim.as_ref()?;
                let is_newer =
                    newer.is_some_and(|it| of.uid.as_ref().is_none_or(|of| *of == it.uid));
                let is_it = Some(&of.namespace) == claim.namespace.as_ref()
                    && of.name == claim.name
                    && !is_newer;
                is_it.then(|| (*object.name).into())
            }),
        };
        Some((volume?, claim.name))
    });
    Remedy::new(RemedyAct::FreeMount { node: name.clone(), volumes: volumes.collect() })
        .at(object)
        .with(look.map(Some).chain([command::running_pods(name), command::kubelet_metrics(name)]))
}

/// The restarts of a node that reports; of one whose kubelet may be away, bringing it back instead.
fn restarts(case: &Case<'_>, name: &Arc<str>) -> Vec<Remedy> {
    if case.diagnosis.may_be_silent() {
        return case.node(name).map(|(object, node)| start(object, node)).into_iter().collect();
    }
    let kubelet = restart_kubelet(case, name);
    [kubelet].into_iter().chain(restart_node(case, name)).collect()
}

/// Containers go on while the kubelet restarts.
pub(super) fn restart_kubelet(case: &Case<'_>, name: &Arc<str>) -> Remedy {
    let restart = command::on_node(Purpose::Act, name, &["systemctl", "restart", "kubelet"]);
    Remedy::new(RemedyAct::RestartKubelet { node: name.clone() })
        .named(case.node(name).map(|(node, _)| node.reference()))
        .with([restart])
}

/// Restarts a node that reports, as the last resort before force. Every Pod on it ends in order, and nothing writes any more.
fn restart_node(case: &Case<'_>, name: &Arc<str>) -> Option<Remedy> {
    let (object, _) = case.node(name)?;
    let remedy = Remedy::new(RemedyAct::RestartNode { node: name.clone() })
        .at(object)
        .with([command::on_node(Purpose::Act, name, &["systemctl", "reboot"])])
        .reach(case.pods_on(name))
        .loss([Loss::PodsOnNode]);
    Some(remedy)
}

/// Removes a Pod from the API without the kubelet's confirmation. Its node may still have what belongs to it: that is the
/// person's decision, after the losses.
pub(super) fn force(
    case: &Case<'_>,
    pod: &Object,
    name: &Arc<str>,
    loses: impl IntoIterator<Item = Loss>,
) -> Remedy {
    let at_once = json!({ "gracePeriodSeconds": 0 });
    Remedy::new(RemedyAct::ForceDeletePod { node: name.clone() })
        .at(pod)
        .with([command::look(pod), command::delete(pod, &at_once)])
        .reach(Reach::of_claims(case.index, pod))
        .loss(loses)
}

/// The same for a node that reports: never while a container runs, by the Pod's status or by the runtime of its node.
fn force_ended(
    case: &Case<'_>,
    pod: &Object,
    name: &Arc<str>,
    loses: impl IntoIterator<Item = Loss>,
) -> Remedy {
    let runs = matches!(case.diagnosis.runtime_state(), Some(RuntimeState::Containers(_)));
    let has_ended = has_ended(pod) && !runs;
    let why = if has_ended {
        case.diagnosis.may_be_silent().then_some(Withheld::KubeletUnreachable)
    } else {
        Some(Withheld::ContainersRun)
    };
    force(case, pod, name, loses).need(NeedCode::ContainersEnded, has_ended).withhold(why)
}
