//! Owners that wait for the garbage collector, and definitions that wait for their objects.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{
    admission,
    case::{Case, cannot_see, cannot_see_verdict, condition, part},
    cause::{Cause, Confidence, Evidence, Finding, Link, Verdict},
    circle, collector,
};
use crate::{
    deadlines::Overdue,
    object::{Facts, Object},
    relation::EdgeKind,
    unknown_reason::UnknownReason,
};

/// The garbage collector looks at an object again within a second or so; a minute of silence means that it does not.
const COLLECTOR: SignedDuration = SignedDuration::from_mins(1);
/// The finalizers that it takes off.
const COLLECTED: [&str; 2] = ["foregroundDeletion", "orphan"];

/// `foregroundDeletion`: the owner waits for the dependents that block it (`pkg/controller/garbagecollector`).
pub(super) fn foreground<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    if !object.has_finalizer("foregroundDeletion") {
        return;
    }
    let blocks = |dependent: &&Arc<Object>| {
        dependent.owners.iter().any(|owner| owner.uid == object.uid && owner.blocks)
    };
    let (going, staying) = part(case.sources(object, EdgeKind::Owns).filter(blocks));
    if !going.is_empty() {
        found.push(Finding::WaitsFor(Link::Dependent, going));
    } else if let Some(verdict) = circle::of_itself(case, object) {
        found.push(verdict.into());
    } else if case.waited(object) > COLLECTOR {
        // A dependent that stays is one that the collector should have deleted.
        collector_waits(case, object, "foregroundDeletion", &staying, found);
    }
}

/// `orphan`: the garbage collector removes the reference to the owner from each dependent first, and keeps the owner while one of
/// those changes is refused (`orphanDependents` in `pkg/controller/garbagecollector/garbagecollector.go`). It says so in its log alone.
pub(super) fn orphan<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    if object.has_finalizer("orphan") && case.waited(object) > COLLECTOR {
        let left: Vec<_> = case.sources(object, EdgeKind::Owns).collect();
        collector_waits(case, object, "orphan", &left, found);
    }
}

/// Nothing else explains the object, and the collector has had less than a minute: it may be at work.
pub(super) fn collector_at_work<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let mut its = COLLECTED.into_iter().filter(|it| object.has_finalizer(it));
    let Some(finalizer) = its.next() else { return };
    if !found.is_empty() || case.overdue(object) == Overdue::No {
        return;
    }
    let left: Vec<_> = case.sources(object, EdgeKind::Owns).collect();
    collector_waits(case, object, finalizer, &left, found);
    for finding in found {
        if let Finding::Root(verdict) = finding
            && matches!(verdict.cause, Cause::ControllerSilent { .. })
        {
            verdict.confidence = Confidence::Unknown;
        }
    }
}

/// The garbage collector has not done its part, with the dependents that it has left; or it waits for an API, if all that are left
/// may be of that. While a kind is hidden, one of it may be left that somebody else holds.
fn collector_waits<'a>(
    case: &Case<'a>,
    object: &Object,
    finalizer: &str,
    left: &[&Arc<Object>],
    found: &mut Vec<Finding<'a>>,
) {
    let said = || Evidence::field(object, "metadata.finalizers", finalizer);
    let unseen = if left.is_empty() { collector::unseen(case) } else { Vec::new() };
    // Without a manager there is no collector, whatever is hidden.
    let hidden = if left.is_empty() && unseen.is_empty() && case.manager_is_silent().is_none() {
        hidden_kind(case, object)
    } else {
        None
    };
    if let Some(why) = hidden {
        found.push(cannot_see_verdict(object, &why).with([said()]).into());
    } else if unseen.is_empty() {
        let left = left.iter().take(3).map(|dependent| {
            Evidence::field(dependent, "metadata.ownerReferences", object.name.to_string())
        });
        found.push(silent(object, [said()].into_iter().chain(left)));
    }
    found.extend(unseen.into_iter().map(|it| it.with([said()]).into()));
}

/// The reason why a kind cannot be seen that a dependent of the object may be of. The dependents of an object in a namespace are
/// in the same one (`pkg/controller/garbagecollector/graph_builder.go`).
fn hidden_kind(case: &Case<'_>, object: &Object) -> Option<UnknownReason> {
    let index = case.index;
    match &object.namespace {
        Some(namespace) => index.check_namespace_visible(namespace).err(),
        // The collector leaves out kinds without the verb `delete` (`GetDeletableResources`).
        None => {
            let hidden = index.hidden_kinds();
            let mut seen_by_it = hidden.keys().filter(|it| !index.cannot_delete(it));
            seen_by_it.find_map(|it| index.check_kind_visible(it).err())
        }
    }
}

/// `customresourcecleanup.apiextensions.k8s.io`: a definition waits for the objects of its kind
/// (`staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go`).
pub(super) fn instances<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Facts::Definition(definition) = &object.facts else { return };
    if let Err(why @ UnknownReason::Hidden { .. }) = case.index.check_kind_visible(&object.name) {
        let verdict = admission::conversion_down(case, &why);
        found.push(verdict.map_or_else(|| cannot_see(object, &why), Finding::from));
        return;
    }
    let (going, _) = part(case.sources(object, EdgeKind::Defines));
    let waits = !going.is_empty();
    if waits {
        found.push(Finding::WaitsFor(Link::Instance, going));
    }
    let failed = definition
        .terminating
        .as_deref()
        .filter(|condition| &*condition.reason == "InstanceDeletionFailed");
    if let Some(failed) = failed {
        let said = condition(object, failed);
        let refused = admission::refusals(case, object, &failed.message);
        found.extend(refused.into_iter().map(|verdict| verdict.with([said.clone()]).into()));
    } else if !waits && case.overdue(object) > Overdue::No {
        let cause = Cause::ControllerSilent { controller: "kube-apiserver".into() };
        let said = definition.terminating.iter().map(|it| condition(object, it));
        found.push(Verdict::new(cause, object, Confidence::Inferred).with(said).into());
    }
}

fn silent<'a>(object: &Object, evidence: impl IntoIterator<Item = Evidence>) -> Finding<'a> {
    let cause = Cause::ControllerSilent { controller: "garbage-collector-controller".into() };
    Verdict::new(cause, object, Confidence::Inferred).with(evidence).into()
}
