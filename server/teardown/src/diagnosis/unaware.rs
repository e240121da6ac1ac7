//! Kubelets that have not noticed that a Pod is being deleted.
//!
//! A kubelet writes an Event for each container that it stops, before it does (`killContainer` in
//! `pkg/kubelet/kuberuntime/kuberuntime_container.go`). A kubelet that lives, on a node that is ready, and that has written none
//! since the DELETE, has not begun: its watch is stale, or its loop is blocked. That no Event is there proves it only where
//! Events can be read, the namespace accepts new ones, and they are not old enough to be gone.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{
    case::{Case, condition},
    cause::{Cause, Finding},
    ended::{Ended, reporting},
};
use crate::{
    fetched::Event,
    index::Renewal,
    object::{ContainerState, Object},
};

/// The life of an Event, `--event-ttl` of the API server.
const EVENT_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// The most by which the clock of a node is thought to be behind that of the API server.
pub(super) const SKEW: SignedDuration = SignedDuration::from_mins(1);
/// The reasons of the Events by which a kubelet says that it stops a Pod (`pkg/kubelet/events/event.go`).
const STOPS: [&str; 3] = ["Killing", "FailedKillPod", "FailedPreStopHook"];
/// The most Events that are read of one object: with as many, one may be missing.
const MOST: usize = 50;

/// A kubelet that lives has not begun to stop the containers.
pub(super) fn kubelet<'a>(case: &Case<'a>, object: &'a Arc<Object>, found: &mut Vec<Finding<'a>>) {
    let Some(pod) = Ended::of(object) else { return };
    if !has_not_noticed(case, &pod) {
        return;
    }
    let ready = case
        .node(pod.node)
        .and_then(|(object, node)| node.ready.as_ref().map(|ready| condition(object, ready)));
    let running = pod.in_state(ContainerState::Running).map(|it| it.name.clone()).collect();
    let cause = Cause::KubeletUnaware { node: pod.node.clone(), containers: running };
    found.push(pod.verdict(cause).with(ready).with(case.node_lease(pod.node)).into());
}

/// Whether nothing says that the kubelet of a Pod has begun to stop it, where something would.
pub(super) fn has_not_noticed(case: &Case<'_>, pod: &Ended<'_>) -> bool {
    let accepted = pod.deletion.accepted();
    let is_young = case.now.duration_since(accepted) < EVENT_LIFE;
    let lives = reporting(case, pod).is_some_and(|(_, node)| node.is_ready())
        && case.index.node_renewal(pod.node) == Renewal::Renewed;
    let runs = !pod.is_over() && pod.in_state(ContainerState::Running).next().is_some();
    let is_quiet = || match case.index.events(pod.object) {
        Some(Ok(events)) if events.len() < MOST => {
            let is_its = |it: &&Event| STOPS.contains(&&*it.reason);
            let is_late = |it: &Event| it.at.is_none_or(|at| at + SKEW >= accepted);
            !events.iter().filter(is_its).any(is_late)
        }
        _ => false,
    };
    is_young && lives && runs && !is_namespace_going(case, pod.object) && is_quiet()
}

/// A namespace that is being deleted accepts no new Events.
fn is_namespace_going(case: &Case<'_>, object: &Object) -> bool {
    let name = object.namespace.as_deref();
    let namespace = name.and_then(|name| case.index.find("", "Namespace", None, name));
    namespace.is_none_or(|namespace| namespace.deletion.is_some())
}
