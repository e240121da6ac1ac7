//! The words of the cluster's components in Events about the root of a diagnosis and the objects that wait for it.
//!
//! An Event adds a fact, or confirms a cause that the objects' state only suggests. It never names another root, for Events
//! are lost, merged and removed after an hour.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use super::{
    Diagnosis,
    cause::{Cause, Confidence, Evidence, Source},
    unaware::SKEW,
};
use crate::{
    fetched::Event,
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef},
    relation::EdgeKind,
};

/// The most waiting objects of one diagnosis whose Events are read.
const WAITING: usize = 3;
/// The most Pods that cannot start because of those that wait.
const BLOCKED: usize = 2;
/// The most Events about one object that are shown, the latest ones.
const EACH: usize = 2;
/// The most Events of one diagnosis that are shown.
const ALL: usize = 6;
/// The Events that are not warnings and report an end all the same.
const RELEVANT: [&str; 4] =
    ["Killing", "TaintManagerEviction", "DeletingLoadBalancer", "DeletedLoadBalancer"];

/// The objects about which Events may say more: the root, the first that wait, and the Pods that wait for their volumes.
pub(crate) fn subjects<'a>(
    index: &'a Index,
    graph: &Graph,
    diagnosis: &Diagnosis,
) -> Vec<&'a Arc<Object>> {
    let waiting = diagnosis.waiting.iter().take(WAITING).filter_map(|it| index.get(&it.uid));
    let mut found: Vec<&Arc<Object>> =
        index.named(&diagnosis.root).into_iter().chain(waiting).collect();
    let blocked: Vec<&Arc<Object>> = found
        .iter()
        .filter(|object| matches!(object.facts, Facts::Pod(_)))
        .flat_map(|pod| graph.from(&pod.uid).filter(|edge| edge.kind == EdgeKind::Mounts))
        .flat_map(|edge| graph.to(edge.to).filter(|edge| edge.kind == EdgeKind::Mounts))
        .filter_map(|edge| index.get(edge.from))
        .filter(|other| other.deletion.is_none())
        .filter(|other| matches!(&other.facts, Facts::Pod(pod) if !pod.ready))
        .take(BLOCKED)
        .collect();
    found.extend(blocked);
    let mut known = BTreeSet::new();
    found.retain(|object| known.insert(&object.uid));
    found
}

/// Adds what Events say.
pub(super) fn add(diagnosis: &mut Diagnosis, index: &Index, graph: &Graph) {
    let mut evidence = Vec::new();
    let mut unseen: BTreeSet<Evidence> = BTreeSet::new();
    for object in subjects(index, graph, diagnosis) {
        match index.events(object) {
            None => {}
            Some(Err(problem)) => {
                let of = events_of(object);
                let source = Source::Hidden(problem.clone());
                unseen.insert(Evidence { of, source, said: String::new(), at: None });
            }
            Some(Ok(events)) => {
                let is_relevant =
                    |event: &&Event| event.warns || RELEVANT.contains(&&*event.reason);
                let relevant: Vec<&Event> = events.iter().filter(is_relevant).collect();
                let is_root = object.reference() == diagnosis.root;
                let is_telling =
                    |event: &&Event| is_root && confirms(&diagnosis.cause, object, event);
                let telling = relevant.iter().rposition(is_telling);
                if telling.is_some() {
                    diagnosis.confidence = Confidence::Confirmed;
                }
                unseen.extend(relevant.is_empty().then(|| refused(index, object)).flatten());
                evidence.extend(shown(&relevant, telling).map(|event| said(object, event)));
            }
        }
    }
    evidence.truncate(ALL);
    diagnosis.evidence.extend(evidence);
    diagnosis.evidence.extend(unseen);
}

/// The latest of these Events, in their order. The one that tells the cause is among them, whatever came after it.
fn shown<'a>(events: &[&'a Event], telling: Option<usize>) -> impl Iterator<Item = &'a Event> {
    let latest = events.len().saturating_sub(EACH);
    let before = telling.filter(|at| *at < latest);
    let latest = latest + usize::from(before.is_some());
    before.into_iter().chain(latest..events.len()).filter_map(|at| events.get(at).copied())
}

fn said(object: &Object, event: &Event) -> Evidence {
    let source = Source::Event { by: event.by.clone(), reason: event.reason.clone() };
    Evidence { of: object.reference(), source, said: event.message.to_string(), at: event.at }
}

/// The API server refuses new objects in a namespace that is Terminating, Events among them, so none says nothing.
fn refused(index: &Index, object: &Object) -> Option<Evidence> {
    let name = object.namespace.as_deref()?;
    let namespace = index.find("", "Namespace", None, name)?;
    let deletion = namespace.deletion.as_ref()?;
    let (of, source) = (namespace.reference(), Source::NoNewEvents);
    Some(Evidence { of, source, said: String::new(), at: Some(deletion.accepted()) })
}

fn events_of(object: &Object) -> ObjectRef {
    let namespace = object.namespace.clone().or_else(|| Some("default".into()));
    ObjectRef { group: "".into(), kind: "Events".into(), namespace, name: "".into() }
}

/// Whether an Event says of this cause what the state of the objects only suggests. The reasons and words are those of
/// `pkg/kubelet/kubelet.go`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go`,
/// `pkg/controller/volume/persistentvolume/pv_controller.go` and
/// `staging/src/k8s.io/cloud-provider/controllers/service/controller.go`. A container that was restarted, and a load balancer that
/// could not be made, have the same Events as an end that fails: those count since the deletion.
fn confirms(cause: &Cause, object: &Object, event: &Event) -> bool {
    let accepted = object.deletion.as_ref().map(|it| it.accepted());
    let is_before = |(accepted, at): (Timestamp, Timestamp)| accepted.duration_since(at) > SKEW;
    let is_since = !accepted.zip(event.at).is_some_and(is_before);
    match (cause, &*event.reason) {
        (Cause::WithinGrace { .. }, "Killing") => is_since,
        (Cause::ContainersRunning { .. }, "FailedKillPod") => {
            is_since && event.message.contains("KillContainerError")
        }
        (Cause::SandboxLeft { .. }, "FailedKillPod") => {
            is_since && event.message.contains("KillPodSandboxError")
        }
        (Cause::LoadBalancerLeft, "SyncLoadBalancerFailed" | "DeleteLoadBalancerFailed") => {
            is_since
        }
        (
            Cause::NeverStarted { .. },
            "FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox",
        )
        | (Cause::BackendLeft { .. }, "VolumeFailedDelete") => true,
        _ => false,
    }
}
