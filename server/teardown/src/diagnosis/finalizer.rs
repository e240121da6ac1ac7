//! Finalizers that a program clears: whether it is there, and ready.

use std::sync::Arc;

use super::{
    admission,
    case::{Case, NAMED, cannot_see_verdict, condition, kind_of, names},
    cause::{Cause, Confidence, Evidence, Finding, Verdict},
    dependents, driver, field_manager, job,
    program::{known, presence, readiness},
    protection,
};
use crate::{
    index::Departure,
    labels::PART_OF,
    object::{Facts, Object, Uid},
    relation::{
        EdgeKind, Strength, is_a_drivers, is_built_in, is_called, is_entitled, is_shipped_with,
        programs_of,
    },
};

/// Set on a Service whose load balancer a cloud controller removes.
const LOAD_BALANCER: &str = "service.kubernetes.io/load-balancer-cleanup";
/// The name of a cloud controller, alone or behind that of its cloud: `aws-cloud-controller-manager`.
const CLOUD_CONTROLLER: &str = "cloud-controller-manager";

/// The most programs that were deleted lately whose rights are looked at, the latest ones.
const ENTITLED: usize = 5;

/// The kinds that show which program clears a finalizer: the programs, and who may update what.
const PROGRAMS: [&str; 7] = [
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
];

/// A finalizer waits for its program.
pub(super) fn program<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    // Whoever clears the finalizer cannot write an object that cannot be converted.
    if !object.finalizers.is_empty()
        && let Err(why) =
            case.index.check_visible(&object.kind.resource(), object.namespace.as_deref())
        && let Some(verdict) = admission::conversion_down(case, &why)
    {
        found.push(verdict.into());
    }
    for finalizer in object.finalizers.iter() {
        if let Some(verdict) = finisher(case, object, finalizer) {
            let is_at_work =
                matches!(verdict.cause, Cause::FinisherBusy { .. } | Cause::FinisherUnknown { .. });
            if is_at_work && dependents::is_kept(case, object, finalizer) {
                continue;
            }
            let said = Evidence::field(object, "metadata.finalizers", &**finalizer);
            let by = field_manager::evidence(object, finalizer);
            let presence = presence(case, object, &verdict);
            let told = object.told().iter().map(|said| condition(object, said));
            let verdict = verdict.part(finalizer).with([said]).with(by).with(presence);
            found.push(verdict.with(told).into());
        }
    }
}

/// The verdict on the program that clears a finalizer; `None` for a finalizer that no program clears. It is the same before
/// the object is deleted and after.
pub(crate) fn finisher(
    case: &Case<'_>,
    object: &Arc<Object>,
    finalizer: &Arc<str>,
) -> Option<Verdict> {
    if &**finalizer == LOAD_BALANCER {
        // Of one that is ready the Events of the Service say more.
        let is_down = |it: &Verdict| matches!(it.cause, Cause::FinisherNotReady { .. });
        let left = || Verdict::new(Cause::LoadBalancerLeft, object, Confidence::Inferred);
        let found = match cloud_controller(case, finalizer) {
            Some(seen) => Some(seen).filter(is_down),
            None => cloud_controller_gone(case, object, finalizer),
        };
        return Some(found.unwrap_or_else(left));
    }
    if &**finalizer == job::TRACKING {
        return job::tracking(case, object, finalizer);
    }
    if is_built_in(finalizer)
        // The detectors of volumes and attachments explain these.
        || is_a_drivers(finalizer)
        || protection::is_source_of_copies(case, object, finalizer)
        || protection::is_for_other_half(case, object, finalizer)
        || protection::is_for_gateways(case, object, finalizer)
    {
        return None;
    }
    // A program that waits for a copy that is not complete, or for a Gateway, would be blamed for it.
    if let Some(why) = protection::unseen_users(case, object, finalizer) {
        return Some(cannot_see_verdict(object, &why));
    }
    if let Some(verdict) = driver::snapshotter(case, object, finalizer) {
        return Some(verdict);
    }
    let (mut attributed, possible) = programs(case, object, finalizer);
    // The rights of a program may be given to a group, and then nobody can tell whose they are.
    if attributed.is_empty() && possible.is_empty() {
        attributed = field_manager::called(case, programs_of(finalizer));
    }
    if attributed.is_empty() {
        attributed = field_manager::programs(case, object, finalizer, &possible);
    }
    if let Some(verdict) = known(&attributed, finalizer) {
        return Some(verdict);
    }
    let finalizer = finalizer.clone();
    // A workload that went lately is blamed only where nothing else can be the program, or where it is known to be: what is
    // left of its rights distinguishes it from those that merely could have been it.
    let mut departed = departed(case, object, &finalizer);
    if !possible.is_empty() {
        let is_other_entitled = possible.iter().any(|it| is_entitled(case.index, it, object));
        let least = if is_other_entitled { Likelihood::Shipped } else { Likelihood::Entitled };
        departed.retain(|(likelihood, _)| *likelihood >= least);
    }
    let departed: Vec<&Departure> = departed.into_iter().map(|(_, departure)| departure).collect();
    if possible.is_empty() || !departed.is_empty() {
        if departed.is_empty()
            && let Some(why) =
                PROGRAMS.iter().find_map(|kind| case.index.check_visible(kind, None).err())
        {
            return Some(cannot_see_verdict(object, &why));
        }
        return Some(program_gone(object, finalizer, &departed));
    }
    let cause = Cause::FinisherUnknown { finalizer, possible: names(&possible) };
    let evidence = possible.iter().take(NAMED).map(|program| readiness(program));
    Some(Verdict::at(cause, kind_of(object), Confidence::Inferred).with(evidence))
}

/// The verdict on the cloud controller that removes a load balancer; `None` where none is seen: most run outside of the cluster.
pub(crate) fn cloud_controller(case: &Case<'_>, finalizer: &Arc<str>) -> Option<Verdict> {
    known(&field_manager::called(case, &[CLOUD_CONTROLLER]), finalizer)
}

/// The verdict where every cloud controller was deleted lately; `None` where none was: most run outside of the cluster.
fn cloud_controller_gone(
    case: &Case<'_>,
    object: &Object,
    finalizer: &Arc<str>,
) -> Option<Verdict> {
    let is_one = |it: &&Departure| {
        let is_workload = matches!(it.object.facts, Facts::Workload(_));
        is_workload
            && it.object.owners.is_empty()
            && is_cloud_controller(&it.object)
            && it.may_hold(object, case.now)
    };
    let departed: Vec<&Departure> = case.index.departures().rev().filter(is_one).collect();
    (!departed.is_empty()).then(|| program_gone(object, finalizer.clone(), &departed))
}

/// The verdict that the program was one of these, the likeliest first, or is none that is known.
fn program_gone(object: &Object, finalizer: Arc<str>, departed: &[&Departure]) -> Verdict {
    let named = || departed.iter().take(NAMED);
    let deleted = named().map(|it| it.object.reference()).collect();
    let evidence: Vec<Evidence> = named().map(|it| Evidence::deleted(it)).collect();
    let cause = Cause::FinisherGone { finalizer, deleted };
    Verdict::at(cause, kind_of(object), Confidence::Inferred).with(evidence)
}

/// Whether a workload is called as cloud controllers are.
fn is_cloud_controller(program: &Object) -> bool {
    is_called(program, CLOUD_CONTROLLER)
}

/// The programs that clear a finalizer, and those that possibly do, by the edges that a plan orders them by.
fn programs<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
) -> (Vec<&'a Arc<Object>>, Vec<&'a Arc<Object>>) {
    let (mut attributed, mut possible) = (Vec::new(), Vec::new());
    for edge in case.graph.from(&object.uid).filter(|edge| edge.kind == EdgeKind::Finishes) {
        // The owners of a program have the program in the value.
        if &*edge.reason.value != finalizer {
            continue;
        }
        let Some(program) = case.index.get(edge.to) else { continue };
        match edge.strength {
            Strength::Hard => attributed.push(program),
            // A program that is being deleted itself clears nothing for long.
            _ if program.deletion.is_some() => {}
            _ => possible.push(program),
        }
    }
    (attributed, possible)
}

/// How likely it is that a workload was the program that clears a finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likelihood {
    /// It was called an operator, a controller or a manager, and belonged to the unit of the object or of its definition, or
    /// to the namespace of the object.
    Called,
    /// It has the name of the field manager that wrote the finalizer.
    Wrote,
    /// Its ServiceAccount is left with a right to change the object.
    Entitled,
    /// The finalizer's project ships it.
    Shipped,
}

/// Workloads that were deleted lately and may have been the program, the likeliest first.
fn departed<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
) -> Vec<(Likelihood, &'a Departure)> {
    let definition = case
        .graph
        .from(&object.uid)
        .filter(|edge| edge.kind == EdgeKind::Defines)
        .find_map(|edge| case.index.get(edge.to));
    let unit = |of: &Object| of.labels.get(PART_OF).cloned();
    let units: Vec<Arc<str>> =
        definition.and_then(|it| unit(it)).into_iter().chain(unit(object)).collect();
    let is_workload = |it: &&Departure| {
        matches!(it.object.facts, Facts::Workload(_)) && it.may_hold(object, case.now)
    };
    let is_program = |program: &Object| program.owners.is_empty() && &*program.kind.group == "apps";
    let workloads = || case.index.departures().filter(is_workload);
    let entitled: Vec<&Uid> = workloads()
        .rev()
        .filter(|it| is_program(&it.object))
        .take(ENTITLED)
        .filter(|it| is_entitled(case.index, &it.object, object))
        .map(|it| &it.object.uid)
        .collect();
    let written = field_manager::name(object, finalizer);
    let likelihood = |program: &Object| {
        let is_called_so =
            ["operator", "controller", "manager"].iter().any(|word| program.name.contains(word));
        let is_near = program.namespace == object.namespace
            || unit(program).is_some_and(|unit| units.contains(&unit));
        if is_shipped_with(finalizer, program) {
            Some(Likelihood::Shipped)
        } else if entitled.contains(&&program.uid) {
            Some(Likelihood::Entitled)
        } else if written.is_some_and(|name| is_called(program, name)) {
            Some(Likelihood::Wrote)
        } else {
            (is_near && is_program(program) && is_called_so).then_some(Likelihood::Called)
        }
    };
    let mut found: Vec<(Likelihood, &Departure)> =
        workloads().filter_map(|it| Some((likelihood(&it.object)?, it))).collect();
    found.sort_by(|(a, x), (b, y)| (b, y.at).cmp(&(a, x.at)));
    found
}
