//! Namespaces that are Terminating. The namespace controller deletes the Pods first, then everything else, and writes its
//! problems to five conditions (`pkg/controller/namespace/deletion/status_condition_utils.go`).

use std::{collections::BTreeSet, sync::Arc};

use jiff::SignedDuration;

use super::{
    admission,
    case::{Case, NAMED, cannot_see, condition, part},
    cause::{Cause, Confidence, Evidence, Finding, Link, Source, Verdict},
    course::repaired,
};
use crate::{
    api_problem::ApiProblem,
    deadlines::Overdue,
    object::{Condition, ConditionStatus, Facts, Namespace, Object, ObjectRef},
    relation::EdgeKind,
};

/// The time after which a namespace has conditions: the controller waits 5 s before its first pass.
const FIRST_PASS: SignedDuration = SignedDuration::from_secs(120);
/// The finalizer in the spec of a namespace that the namespace controller takes off once nothing is left.
const CONTENT: &str = "kubernetes";

/// A namespace waits for its content: while there is a Pod, for the Pods alone (KEP-5080).
///
/// While Pods are left the conditions `NamespaceContentRemaining` and `NamespaceFinalizersRemaining` say that nothing is
/// left, so they are not asked.
pub(super) fn content<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    if !matches!(object.facts, Facts::Namespace(_)) {
        return;
    }
    let (going, _) = part(case.sources(object, EdgeKind::Contains));
    let pods: Vec<&Arc<Object>> =
        going.iter().copied().filter(|content| matches!(content.facts, Facts::Pod(_))).collect();
    let waits_for = if pods.is_empty() { going } else { pods };
    if !waits_for.is_empty() {
        found.push(Finding::WaitsFor(Link::Content, waits_for));
    }
}

/// An aggregated API does not answer, so the controller cannot know that nothing is left.
pub(super) fn discovery_failed<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(failure) = problem(object, "NamespaceDeletionDiscoveryFailure") else { return };
    let group_versions = group_versions(&failure.message);
    if group_versions.is_empty() {
        let verdict = Verdict::new(Cause::DiscoveryFailed, object, Confidence::Confirmed);
        found.push(verdict.with([condition(object, failure)]).into());
    }
    for group_version in group_versions {
        found.push(api_down(case, group_version).with([condition(object, failure)]).into());
    }
}

/// The controller was refused when it deleted or listed the content.
pub(super) fn content_refused<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(failure) = problem(object, "NamespaceDeletionContentFailure") else { return };
    let refused = admission::refusals(case, object, &failure.message);
    let said = condition(object, failure);
    found.extend(refused.into_iter().map(|verdict| verdict.with([said.clone()]).into()));
}

/// A server lists a group version that cannot be parsed, and then the controller knows of no kind but Pods to delete
/// (`deleteAllContent` in `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
pub(super) fn group_version_unparsed<'a>(
    _: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let name = "NamespaceDeletionGroupVersionParsingFailure";
    let Some(failure) = problem(object, name) else { return };
    let verdict = Verdict::new(Cause::DiscoveryFailed, object, Confidence::Confirmed);
    found.push(verdict.with([condition(object, failure)]).into());
}

/// Another program than the namespace controller keeps a finalizer in the spec.
pub(super) fn other_finalizer<'a>(
    _: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Facts::Namespace(namespace) = &object.facts else { return };
    for finalizer in namespace.finalizers.iter().filter(|it| &***it != CONTENT) {
        let cause = Cause::NamespaceFinalizer { finalizer: finalizer.clone() };
        let said = Evidence::field(object, "spec.finalizers", &**finalizer);
        let verdict = Verdict::new(cause, object, Confidence::Confirmed).part(finalizer);
        found.push(verdict.with([said]).into());
    }
}

/// Content of kinds that cannot be seen, such as EndpointSlices, which nobody watches: the controller names what remains.
pub(super) fn unseen_content<'a>(
    case: &Case<'a>,
    object: &'a Arc<Object>,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(remaining) = problem(object, "NamespaceContentRemaining") else { return };
    let is_seen = |resource: &str| {
        case.sources(object, EdgeKind::Contains).any(|it| it.kind.resource() == resource)
    };
    // A kind that is seen and of which nothing is left went since.
    let is_unseen =
        |resource: &&str| !is_seen(resource) && case.index.check_kind_visible(resource).is_err();
    let resources: Vec<Arc<str>> = remaining_resources(&remaining.message)
        .into_iter()
        .filter(is_unseen)
        .take(NAMED)
        .map(Arc::from)
        .collect();
    if resources.is_empty() {
        return;
    }
    let held = problem(object, "NamespaceFinalizersRemaining");
    let said = [Some(remaining), held].into_iter().flatten().map(|it| condition(object, it));
    let cause = Cause::ContentUnseen { resources };
    found.push(Verdict::new(cause, object, Confidence::Confirmed).with(said).into());
}

/// No other reason was found. A hidden kind may hold the reason. Without a single condition the controller has not looked at
/// the namespace at all; with conditions it has, and has not come back to delete what is left, or to take off its finalizer.
pub(super) fn silent<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let Facts::Namespace(namespace) = &object.facts else { return };
    if !found.is_empty() {
        return;
    }
    let Namespace { conditions, finalizers } = &**namespace;
    let cause = || Cause::ControllerSilent { controller: "namespace-controller".into() };
    if conditions.is_empty() && case.waited(object) > FIRST_PASS {
        let said = Evidence::field(object, "status.conditions", "");
        found.push(Verdict::new(cause(), object, Confidence::Inferred).with([said]).into());
    } else if let Err(why) = case.index.check_namespace_visible(&object.name) {
        found.push(cannot_see(object, &why));
    } else if finalizers.iter().any(|it| &**it == CONTENT) && case.overdue(object) > Overdue::No {
        let said = Evidence::field(object, "spec.finalizers", CONTENT);
        let content = case.sources(object, EdgeKind::Contains);
        let (_, left) = part(content.filter(|it| !case.index.is_undeletable(&it.kind)));
        let field = |it: &&Arc<Object>| Evidence::field(it, "metadata.namespace", &*object.name);
        let left: BTreeSet<Evidence> = left.iter().map(field).collect();
        let left = left.into_iter().take(NAMED);
        let verdict = Verdict::new(cause(), object, Confidence::Inferred);
        found.push(verdict.with([said]).with(left).into());
    }
}

/// The verdict on a group version that cannot be discovered: its APIService is at the root.
pub(super) fn api_down(case: &Case<'_>, group_version: &str) -> Verdict {
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    let name = format!("{version}.{group}");
    let kind = "APIService";
    let found = case.index.find("apiregistration.k8s.io", kind, None, &name);
    let mut service = None;
    let mut evidence = Vec::new();
    // Every cluster has APIServices: where there is none at all, they were not read.
    let apis = "apiservices.apiregistration.k8s.io";
    let mut answers = found.is_none()
        && case.index.check_visible(apis, None).is_ok()
        && case.index.of_resource(apis).next().is_some();
    if let Some(object) = found
        && let Facts::ApiService(api) = &object.facts
    {
        let status = api.available.as_ref().map(|available| available.status);
        answers = status == Some(ConditionStatus::True);
        // The check of availability asks for one version, and discovery for all: the one may pass for days while the other fails.
        if let Some(problem) = still_stale(case, &object.reference(), group_version) {
            answers = false;
            let (of, source) = (object.reference(), Source::Hidden(problem));
            evidence.push(Evidence { of, source, said: String::new(), at: None });
        }
        service = api.service.as_ref().map(|service| ObjectRef {
            group: "".into(),
            kind: "Service".into(),
            namespace: Some(service.namespace.clone()),
            name: service.name.clone(),
        });
        evidence.extend(api.available.iter().map(|available| condition(object, available)));
        let service = api.service.as_ref().filter(|_| !answers);
        evidence.extend(service.and_then(|service| admission::nobody(case, service)));
    }
    let root = ObjectRef {
        group: "apiregistration.k8s.io".into(),
        kind: kind.into(),
        namespace: None,
        name: name.into(),
    };
    if answers {
        let cause = Cause::LooksAgain {
            controller: "namespace-controller".into(),
            group_version: group_version.into(),
        };
        if found.is_none() {
            evidence.push(Evidence::absent(root.clone()));
        }
        return Verdict::at(cause, root, Confidence::Inferred).with(evidence);
    }
    let cause = Cause::ApiDown { group_version: group_version.into(), service };
    Verdict::at(cause, root, Confidence::Confirmed).with(evidence)
}

/// The problem with the discovery of a group version for longer than it takes to notice a repair.
fn still_stale(case: &Case<'_>, service: &ObjectRef, group_version: &str) -> Option<ApiProblem> {
    let (at, within) = repaired(case.index, service)?;
    let is_over = case.now.duration_since(at) > within;
    case.index.discovery_problem(group_version).filter(|_| is_over).cloned()
}

/// The condition of this type, if it reports a problem.
fn problem<'a>(object: &'a Object, name: &str) -> Option<&'a Condition> {
    let Facts::Namespace(namespace) = &object.facts else { return None };
    namespace
        .conditions
        .iter()
        .find(|condition| &*condition.name == name && condition.status == ConditionStatus::True)
}

/// The group versions that a failed discovery names: `GROUP/VERSION: ERROR`, joined by commas
/// (`staging/src/k8s.io/client-go/discovery/discovery_client.go`). The error may name the group version again.
fn group_versions(message: &str) -> Vec<&str> {
    let list = message.split_once("server APIs: ").map_or(message, |(_, list)| list);
    let mut found: Vec<&str> = Vec::new();
    for part in list.split(", ") {
        let Some((name, _)) = part.split_once(": ") else { continue };
        let is_version = |version: &str| {
            version
                .strip_prefix('v')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let is_group_version = name.split_once('/').is_some_and(|(group, version)| {
            !group.is_empty() && !group.contains(' ') && is_version(version)
        });
        if is_group_version && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The resources that remain: `RESOURCE.GROUP has COUNT resource instances`, joined by commas. The core group has no name.
fn remaining_resources(message: &str) -> Vec<&str> {
    let list = message.split_once(": ").map_or(message, |(_, list)| list);
    let named = list.split(", ").filter_map(|part| part.split_once(" has "));
    let named = named.map(|(resource, _)| resource.trim_end_matches('.'));
    named.filter(|resource| !resource.is_empty() && !resource.contains(' ')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_that_remain_are_read_from_the_condition() {
        let message = "Some resources are remaining: endpointslices.discovery.k8s.io has 2 resource instances, pods. has 1 resource instances";
        assert_eq!(remaining_resources(message), ["endpointslices.discovery.k8s.io", "pods"]);
        assert_eq!(remaining_resources("All content successfully removed"), [""; 0]);
    }

    #[test]
    fn group_versions_are_those_that_discovery_failed_for() {
        for (message, expected) in [
            (
                "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
                 metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
                vec!["metrics.k8s.io/v1beta1"],
            ),
            (
                "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: \
                 a.example/v1: Get \"https://10.0.0.1/apis\": x, y: z, b.example/v2alpha1: gone",
                vec!["a.example/v1", "b.example/v2alpha1"],
            ),
            ("connection refused", vec![]),
        ] {
            assert_eq!(group_versions(message), expected, "{message}");
        }
    }
}
