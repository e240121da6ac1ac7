//! Controllers of the control plane that have not done their part, and causes that nobody can see.

use std::sync::Arc;

use super::{
    act::{Remedy, RemedyAct, WaitReason},
    case::Case,
    command::{self, Purpose, is_name},
    finalizer::{again, nudge, remove},
    job::delete_jobs,
};
use crate::diagnosis::{Confidence, TRACKING};

/// Repair the controller; then change the object, so that it is looked at now and not after a back-off of up to 1000 s. The
/// garbage collector is not woken by that, and gets the DELETE again.
pub(super) fn silent(case: &Case<'_>, controller: &str) -> Vec<Remedy> {
    let object = case.root();
    let mut found = vec![repair(case, controller)];
    if case.diagnosis.confidence == Confidence::Unknown {
        let wait = RemedyAct::Wait { reason: WaitReason::ControllerRetry, until: None };
        found.insert(0, Remedy::new(wait).named(object.map(|it| it.reference())));
        return found;
    }
    let Some(object) = object else { return found };
    match controller {
        "garbage-collector-controller" => found.extend(again(case, object)),
        "job-controller" => {
            found.push(nudge(case, object));
            found.extend(delete_jobs(case));
            found.extend(remove(case, object, &TRACKING.into()));
        }
        _ => found.push(nudge(case, object)),
    }
    found
}

/// Have a controller of the control plane do its part.
pub(super) fn repair(case: &Case<'_>, controller: &str) -> Remedy {
    let object = case.root();
    let look = object.and_then(|object| command::look(object));
    let lease = command::list("leases/kube-controller-manager", "kube-system", &["--output=yaml"]);
    let act = RemedyAct::RepairController { controller: controller.into() };
    Remedy::new(act).named(object.map(|it| it.reference())).with([look, lease])
}

/// Objects that cannot be read from the storage. Nothing is offered that changes anything: to delete one unread skips its
/// finalizers, its dependents and every check (KEP-3926).
pub(super) fn unreadable(case: &Case<'_>, resource: &Arc<str>) -> Vec<Remedy> {
    let look = command::kubectl(Purpose::Look, &["get", resource, "--all-namespaces"]);
    let act = RemedyAct::RepairStorage { resource: resource.clone() };
    let repair = Remedy::new(act).named(Some(case.diagnosis.root.clone()));
    let mut found = vec![repair.with([look.filter(|_| is_name(resource))])];
    found.extend(case.namespaces().map(|namespace| nudge(case, namespace)));
    found
}

/// No kube-controller-manager leads: start one, on a node of the control plane or at the provider. Nothing else helps while
/// none does.
pub(super) fn manager(case: &Case<'_>) -> Vec<Remedy> {
    let look = [
        command::list("leases/kube-controller-manager", "kube-system", &["--output=yaml"]),
        command::list("pods", "kube-system", &["--selector=component=kube-controller-manager"]),
    ];
    let act = RemedyAct::RepairController { controller: "kube-controller-manager".into() };
    vec![Remedy::new(act).named(Some(case.diagnosis.root.clone())).with(look)]
}

/// The kinds that would show the cause are hidden: nothing is offered that changes anything.
pub(super) fn cannot_see(case: &Case<'_>, resource: &Arc<str>) -> Vec<Remedy> {
    let look = match resource.split_once('/') {
        Some((group, version)) if is_name(group) && is_name(version) => {
            let path = format!("--raw=/apis/{group}/{version}");
            command::kubectl(Purpose::Look, &["get", &path])
        }
        None if is_name(resource) => command::kubectl(
            Purpose::Look,
            &["auth", "can-i", "list", resource, "--all-namespaces"],
        ),
        _ => None,
    };
    let act = RemedyAct::MakeVisible { resource: resource.clone() };
    vec![Remedy::new(act).named(Some(case.diagnosis.root.clone())).with([look])]
}

/// Content remains of kinds that nobody watches: the finalizers on it say which program has to clear them.
pub(super) fn content_unseen(case: &Case<'_>, resources: &[Arc<str>]) -> Vec<Remedy> {
    let columns = "--output=custom-columns=NAME:.metadata.name,FINALIZERS:.metadata.finalizers";
    let namespace = &case.diagnosis.root.name;
    let look = resources.iter().filter(|resource| is_name(resource));
    let look = look.map(|resource| command::list(resource, namespace, &[columns]));
    let act = Remedy::new(RemedyAct::Look).named(Some(case.diagnosis.root.clone()));
    vec![act.with(look)]
}

/// No known cause fits.
pub(super) fn unknown(case: &Case<'_>) -> Vec<Remedy> {
    let object = case.root();
    let commands = object.map(|object| [command::look(object), command::describe(object)]);
    let look = Remedy::new(RemedyAct::Look).named(Some(case.diagnosis.root.clone()));
    vec![look.with(commands.into_iter().flatten())]
}
