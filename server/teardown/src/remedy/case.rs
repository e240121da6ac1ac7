//! The facts that remedies ask for, and the guards that several of them share.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    act::{Holds, NeedCode, Remedy, Withheld},
    reach::Reach,
    statement::instance,
};
use crate::{
    diagnosis::Diagnosis,
    graph::Graph,
    index::{Index, Renewal},
    object::{ContainerState, Facts, Node, Object, ObjectRef, Pod, PodReferenceKind},
    relation::EdgeKind,
};

/// The most objects of one diagnosis that get a remedy of their own. The others follow once these are solved.
pub(super) const EACH: usize = 5;
/// The most controllers one above the other: a chain of owners is short, and the bound ends a cycle.
const LEVELS: usize = 8;
/// Set by a cloud's node controller once its API says that the machine is off
/// (`staging/src/k8s.io/cloud-provider/api/well_known_taints.go`).
const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// One diagnosis, and the cluster at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) index: &'a Index,
    pub(super) graph: &'a Graph,
    pub(super) now: Timestamp,
}

impl<'a> Case<'a> {
    /// The object where the cause sits, if it exists.
    pub(super) fn root(&self) -> Option<&'a Arc<Object>> {
        self.index.named(&self.diagnosis.root)
    }

    /// The Pod where the cause sits, or the first of those on which a kubelet works for one cause.
    pub(super) fn pod(&self) -> Option<(&'a Arc<Object>, &'a Pod)> {
        let held = self.diagnosis.pod_of_kubelet().and_then(|(pod, _)| self.index.get(pod));
        let object = held.or_else(|| self.root())?;
        match &object.facts {
            Facts::Pod(pod) => Some((object, pod)),
            _ => None,
        }
    }

    /// The Node of this name.
    pub(super) fn node(&self, name: &str) -> Option<(&'a Arc<Object>, &'a Node)> {
        let object = self.index.find("", "Node", None, name)?;
        match &object.facts {
            Facts::Node(node) => Some((object, node)),
            _ => None,
        }
    }

    /// The objects that wait and still exist, by their UIDs.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &'a Arc<Object>> {
        self.diagnosis.waiting.iter().filter_map(|waiting| self.index.get(&waiting.uid))
    }

    /// The namespaces that wait.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = &'a Arc<Object>> {
        self.waiting().filter(|object| object.kind.is("", "Namespace")).take(EACH)
    }

    /// The objects at the other end of edges that point at this one.
    pub(super) fn sources(
        &self,
        object: &Object,
        kind: EdgeKind,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let index = self.index;
        let edges = self.graph.to(&object.uid).filter(move |edge| edge.kind == kind);
        edges.filter_map(move |edge| index.get(edge.from))
    }

    /// The first of these resources that cannot be seen in the whole cluster.
    pub(super) fn hidden(&self, resources: &[&str]) -> Option<Withheld> {
        let hidden = self.index.hidden_kinds();
        let is_hidden = |resource: &&&str| {
            let whole = group_version(resource);
            hidden.contains_key(**resource)
                || hidden.contains_key(whole)
                || self.index.check_visible(resource, None).is_err()
        };
        let resource = (*resources.iter().find(is_hidden)?).to_string();
        Some(Withheld::CannotSee { resource })
    }

    /// The namespaces that wait for the cause, all of them.
    pub(super) fn held_namespaces(&self) -> impl Iterator<Item = ObjectRef> {
        let held = self.diagnosis.held.iter().filter_map(|uid| self.index.get(uid));
        held.filter(|object| object.kind.is("", "Namespace")).map(|object| object.reference())
    }

    /// Every Pod on a node, with its claims.
    pub(super) fn pods_on(&self, node: &str) -> Reach {
        let is_here = |object: &&Arc<Object>| match &object.facts {
            Facts::Pod(pod) => pod.node.as_deref() == Some(node),
            _ => false,
        };
        let pods = self.index.of_resource("pods").filter(is_here);
        Reach::of_pods(self.index, pods.map(|pod| &**pod))
    }
}

/// The version under which the whole group of a resource may be hidden.
fn group_version(resource: &str) -> &str {
    if resource.ends_with(".storage.k8s.io") { "storage.k8s.io/v1" } else { "v1" }
}

/// The claims that a Pod names.
pub(super) fn claims(pod: &Object) -> Vec<ObjectRef> {
    let Facts::Pod(facts) = &pod.facts else { return Vec::new() };
    let claims = facts.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
    let named = claims.map(|used| ObjectRef {
        group: "".into(),
        kind: used.what.kind().into(),
        namespace: pod.namespace.clone(),
        name: used.name.clone(),
    });
    named.collect()
}

/// The workload at the top of the chain of controllers that exist and stay; the Pod itself where it has none. The owner of a
/// static Pod is its Node, and the owner of a workload may be an operator's object with much more behind it.
pub(super) fn workload_of<'a>(index: &'a Index, pod: &'a Arc<Object>) -> &'a Arc<Object> {
    let mut top = pod;
    for _ in 0..LEVELS {
        let owner = top.controller().and_then(|owner| index.get(&owner.uid));
        let is_workload = |owner: &&Arc<Object>| {
            matches!(owner.facts, Facts::Workload(_)) && owner.deletion.is_none()
        };
        let Some(owner) = owner.filter(is_workload) else { break };
        top = owner;
    }
    top
}

/// The Pods whose chain of controllers ends at such a workload.
pub(super) fn pods_of<'a>(index: &'a Index, workload: &Object) -> Vec<&'a Arc<Object>> {
    let (mut found, mut level) = (Vec::new(), vec![workload.uid.clone()]);
    for _ in 0..LEVELS {
        let mut below = Vec::new();
        for parent in &level {
            let is_its = |object: &&Arc<Object>| {
                object.namespace == workload.namespace
                    && object.controller().is_some_and(|owner| owner.uid == *parent)
            };
            for object in index.dependents(parent).filter(is_its) {
                match &object.facts {
                    Facts::Pod(_) => found.push(object),
                    Facts::Workload(_) if object.deletion.is_none() => {
                        below.push(object.uid.clone());
                    }
                    _ => {}
                }
            }
        }
        level = below;
    }
    found
}

/// Whether the kubelet has reported that all containers of a Pod have ended.
pub(super) fn has_ended(pod: &Object) -> bool {
    let Facts::Pod(facts) = &pod.facts else { return false };
    facts.ending.as_ref().is_some_and(|ending| {
        !ending.containers.is_empty()
            && ending.containers.iter().all(|it| it.state == ContainerState::Terminated)
    })
}

/// The machine of a node is off.
pub(super) fn powered_off(case: &Case<'_>, name: &str) -> NeedCode {
    let provider = case.node(name).and_then(|(_, node)| node.provider.as_deref());
    NeedCode::PoweredOff {
        node: name.into(),
        instance: provider.and_then(instance).map(Into::into),
        announced: case.diagnosis.is_shutdown_of(name),
    }
}

/// The guard of everything that treats a silent node as dead: expired certificates of a kubelet and a broken network look
/// the same from the API server, and then its Pods still run.
///
/// A lease that is renewed says that the kubelet lives. One that was not watched for as long as it is valid, or that cannot be read,
/// says nothing, and no person's word stands in for it: only as to the machine itself a person has to check.
pub(super) fn of_silent_node(case: &Case<'_>, name: &str, remedy: Remedy) -> Remedy {
    let silent = case.index.silent_with(name);
    let control_plane = case.node(name).is_some_and(|(object, _)| object.is_control_plane());
    let node = case.node(name).map(|(_, node)| node);
    let is_silent = node.is_some_and(Node::is_silent);
    let is_off = node.is_some_and(|node| node.taints.iter().any(|(key, _)| &**key == SHUT_DOWN));
    let (lease, unwatched) = match case.index.node_renewal(name) {
        Renewal::Still(_) => (Holds::Yes, None),
        Renewal::Renewed => (Holds::No, None),
        Renewal::Unknown => (Holds::Unknown, Some(Withheld::LeaseNotWatched)),
        Renewal::Hidden(_) => (Holds::Unknown, Some(Withheld::LeaseHidden)),
    };
    let why = match () {
        () if !is_silent || lease == Holds::No => Some(Withheld::NodeReports),
        () if control_plane => Some(Withheld::ControlPlaneNode),
        () if silent > 1 => Some(Withheld::SeveralNodesSilent { silent }),
        () => unwatched,
    };
    remedy
        .need(NeedCode::NodeSilent, is_silent)
        .need(NeedCode::LeaseStill, lease)
        .need(powered_off(case, name), if is_off { Holds::Yes } else { Holds::Unknown })
        .need(NeedCode::OnlySilentNode, silent <= 1)
        .need(NeedCode::NotControlPlane, !control_plane)
        .withhold(why)
}
