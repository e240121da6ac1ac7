//! The words of the cluster's components in Events about the root of a diagnosis and the objects that wait for it.
//!
//! An Event adds a fact, or confirms a cause that the objects' state only suggests. It never names another root, for Events
//! are lost, merged and removed after an hour.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Diagnosis,
    cause::{Cause, Confidence, Evidence, Source},
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
                let latest: Vec<&Event> =
                    events.iter().filter(is_relevant).rev().take(EACH).collect();
                let is_root = object.reference() == diagnosis.root;
                if is_root && latest.iter().any(|event| confirms(&diagnosis.cause, event)) {
                    diagnosis.confidence = Confidence::Confirmed;
                }
                unseen.extend(latest.is_empty().then(|| refused(index, object)).flatten());
                evidence.extend(latest.into_iter().rev().map(|event| said(object, event)));
            }
        }
    }
    evidence.truncate(ALL);
    diagnosis.evidence.extend(evidence);
    diagnosis.evidence.extend(unseen);
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
/// `staging/src/k8s.io/cloud-provider/controllers/service/controller.go`.
fn confirms(cause: &Cause, event: &Event) -> bool {
    match (cause, &*event.reason) {
        (Cause::ContainersRunning { .. }, "FailedKillPod") => {
            event.message.contains("KillContainerError")
        }
        (Cause::SandboxLeft { .. }, "FailedKillPod") => {
            event.message.contains("KillPodSandboxError")
        }
        (
            Cause::NeverStarted { .. },
            "FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox",
        )
        | (Cause::BackendLeft { .. }, "VolumeFailedDelete")
        | (Cause::LoadBalancerLeft, "SyncLoadBalancerFailed") => true,
        _ => false,
    }
}
