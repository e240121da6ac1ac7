//! The facts that detectors ask for, beyond the object itself.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::cause::{Cause, Confidence, Evidence, Finding, Source, Verdict};
use crate::{
    deadlines::Overdue,
    fetched::{MANAGER, NODE_LEASES},
    graph::Graph,
    index::{Index, Renewal, Transition},
    object::{Condition, ConditionStatus, Facts, Node, Object, ObjectRef, ServiceRef},
    relation::EdgeKind,
    unknown_reason::UnknownReason,
};

/// A part of the message of condition Ready while a node shuts down in order.
const SHUTTING_DOWN: &str = "node is shutting down";
/// The most objects that one cause names.
pub(super) const NAMED: usize = 5;

/// The cluster at one moment, with the questions that detectors ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) index: &'a Index,
    pub(crate) graph: &'a Graph,
    pub(crate) now: Timestamp,
}

/// Whether a Service has a Pod that can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// A Pod that is ready, or endpoints that are managed by hand.
    Yes,
    /// The Service does not exist.
    NoService,
    /// No Pod behind it is ready.
    NoReadyPod,
    /// Its EndpointSlices have no endpoint that is ready.
    NoEndpoints,
    /// It cannot be seen.
    Unknown,
}

impl<'a> Case<'a> {
    /// The time since the deletion was accepted; zero for an object that is not being deleted.
    pub(super) fn waited(&self, object: &Object) -> SignedDuration {
        let deletion = object.deletion.as_ref();
        deletion.map_or(SignedDuration::ZERO, |it| self.now.duration_since(it.accepted()))
    }

    /// Whether the deletion takes longer than expected.
    pub(super) fn overdue(&self, object: &Object) -> Overdue {
        // A definition waits for its objects first, and is looked at again within seconds after the last one.
        let emptied = match &object.facts {
            Facts::Definition(it) => self.index.last_went_at(&it.group, &it.kind),
            _ => None,
        };
        let since = emptied.map(|at| self.now.duration_since(at));
        let waited = since.map_or(self.waited(object), |since| since.min(self.waited(object)));
        self.index.deadlines_of(object).overdue(waited)
    }

    /// The sources of the edges of this kind that point at the object.
    pub(super) fn sources(
        &self,
        object: &Object,
        kind: EdgeKind,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let index = self.index;
        let edges = self.graph.to(&object.uid).filter(move |edge| edge.kind == kind);
        edges.filter_map(move |edge| index.get(edge.from))
    }

    /// The Node of this name.
    pub(crate) fn node(&self, name: &str) -> Option<(&'a Arc<Object>, &'a Node)> {
        let object = self.index.find("", "Node", None, name)?;
        match &object.facts {
            Facts::Node(node) => Some((object, node)),
            _ => None,
        }
    }

    /// The verdict on a node whose kubelet has stopped reporting: condition Ready is Unknown. It is confirmed once its lease
    /// has not been renewed for as long as that is valid, while we watched.
    ///
    /// The node controller judges by the moment at which it saw a change, not by the clock of the node
    /// (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`), and so does the index.
    pub(super) fn silent_node(&self, name: &str) -> Option<Verdict> {
        let (object, node) = self.node(name)?;
        let ready = node.ready.as_ref()?;
        if ready.status != ConditionStatus::Unknown {
            return None;
        }
        let renewal = self.index.node_renewal(name);
        let cause = Cause::NodeSilent {
            node: name.into(),
            provider: node.provider.clone(),
            control_plane: object.is_control_plane(),
            silent: self.index.silent_together(name),
            renews: renewal == Renewal::Renewed,
        };
        let confidence = match renewal {
            Renewal::Still(_) => Confidence::Confirmed,
            _ => Confidence::Inferred,
        };
        let taints = node
            .taints
            .iter()
            .map(|(key, effect)| Evidence::field(object, "spec.taints", format!("{key}:{effect}")));
        let verdict = Verdict::new(cause, object, confidence).with(self.shutdown(name));
        Some(verdict.with([condition(object, ready)]).with(taints).with(node_lease(name, renewal)))
    }

    /// The last words of a kubelet that it goes because its node shuts down (`pkg/kubelet/nodestatus/setters.go`). The node
    /// controller overwrites them.
    fn shutdown(&self, name: &str) -> Option<Evidence> {
        let mut last = self.index.transitions().rev().filter(|it| *it.node.name == *name);
        let last = last.find(|it| it.ready.status != ConditionStatus::Unknown)?;
        last.ready.message.contains(SHUTTING_DOWN).then(|| became(last))
    }

    /// The lease of a node as evidence, if it says anything.
    pub(super) fn node_lease(&self, name: &str) -> Option<Evidence> {
        node_lease(name, self.index.node_renewal(name))
    }

    /// The lease of the kube-controller-manager as evidence that it does not run.
    pub(super) fn manager_is_silent(&self) -> Option<Evidence> {
        let renewal = self.index.manager_renewal();
        let is_still = matches!(renewal, Renewal::Still(_));
        lease("kube-system", MANAGER, renewal).filter(|_| is_still)
    }

    /// Whether somebody behind this Service can answer: by its endpoints if they were asked for, else by its Pods.
    pub(crate) fn serving(&self, service: &ServiceRef) -> Serving {
        let namespace = Some(&*service.namespace);
        let Some(object) = self.index.find("", "Service", namespace, &service.name) else {
            return match self.index.check_visible("services", namespace) {
                Ok(()) => Serving::NoService,
                Err(_) => Serving::Unknown,
            };
        };
        match self.index.ready_endpoints(&service.namespace, &service.name) {
            Some(0) => return Serving::NoEndpoints,
            Some(_) => return Serving::Yes,
            None => {}
        }
        let Facts::Service(facts) = &object.facts else { return Serving::Unknown };
        if facts.selector.is_none() {
            return Serving::Yes;
        }
        if self.index.check_pods_visible(namespace).is_err() {
            return Serving::Unknown;
        }
        if self.sources_selected(object).any(|pod| is_ready(pod)) {
            Serving::Yes
        } else {
            Serving::NoReadyPod
        }
    }

    /// The Pods that a Service selects.
    fn sources_selected(&self, service: &Object) -> impl Iterator<Item = &'a Arc<Object>> {
        let index = self.index;
        let edges = self.graph.from(&service.uid).filter(|edge| edge.kind == EdgeKind::Selects);
        let selected = edges.filter_map(move |edge| index.get(edge.to));
        selected.filter(|object| matches!(object.facts, Facts::Pod(_)))
    }

    /// Whether an object, or its namespace, is being deleted: then nothing has to run for it.
    pub(super) fn is_going(&self, object: &Object) -> bool {
        let namespace = object.namespace.as_deref();
        let namespace = namespace.and_then(|it| self.index.find("", "Namespace", None, it));
        object.deletion.is_some() || namespace.is_some_and(|it| it.deletion.is_some())
    }

    /// The Services that select this Pod and are to stay.
    pub(super) fn services_of(&self, pod: &Object) -> impl Iterator<Item = &'a Arc<Object>> {
        let case = *self;
        let selecting = self.sources(pod, EdgeKind::Selects);
        selecting
            .filter(|object| matches!(object.facts, Facts::Service(_)))
            .filter(move |service| !case.is_going(service))
    }

    /// Whether no Pod behind a Service is ready. One on a silent node is not: the node controller marks it so in the pass in which
    /// it finds the node silent (`MarkPodsNotReady` in `pkg/controller/util/node/controller_utils.go`).
    pub(super) fn is_without_pods(&self, service: &Object) -> bool {
        let is_on_silent_node = |pod: &Object| {
            let Facts::Pod(pod) = &pod.facts else { return false };
            let node = pod.node.as_ref().and_then(|name| self.node(name));
            node.is_some_and(|(_, node)| node.is_silent())
        };
        !self.sources_selected(service).any(|pod| is_ready(pod) && !is_on_silent_node(pod))
    }

    /// The Services that select this Pod, have no ready Pod, and are to stay.
    pub(super) fn services_without_pods(
        &self,
        pod: &Object,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let case = *self;
        self.services_of(pod).filter(move |service| case.is_without_pods(service))
    }
}

fn is_ready(object: &Object) -> bool {
    matches!(&object.facts, Facts::Pod(pod) if pod.ready) && object.deletion.is_none()
}

/// A condition as evidence, in the words of the cluster.
pub(super) fn condition(of: &Object, condition: &Condition) -> Evidence {
    Evidence {
        of: of.reference(),
        source: Source::Condition(condition.name.clone()),
        said: in_words(condition),
        at: condition.since.map(Timestamp::from),
    }
}

/// A change of condition Ready, in the words of the cluster then: they tell a planned shutdown from a broken network.
pub(super) fn became(it: &Transition) -> Evidence {
    let (of, said) = (it.node.clone(), in_words(&it.ready));
    Evidence { of, source: Source::Became("Ready".into()), said, at: Some(it.at) }
}

/// The status, the reason and the message of a condition.
fn in_words(condition: &Condition) -> String {
    let status = match condition.status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    if condition.message.is_empty() {
        format!("{status} {}", condition.reason)
    } else {
        format!("{status} {}: {}", condition.reason, condition.message)
    }
}

fn node_lease(name: &str, renewal: Renewal) -> Option<Evidence> {
    lease(NODE_LEASES, name, renewal)
}

/// A lease as evidence; none while it says nothing yet.
fn lease(namespace: &str, name: &str, renewal: Renewal) -> Option<Evidence> {
    let (source, at) = match renewal {
        Renewal::Renewed => (Source::Renewed, None),
        Renewal::Still(since) => (Source::NotRenewed, Some(since)),
        Renewal::Hidden(problem) => (Source::Hidden(problem), None),
        Renewal::Unknown => return None,
    };
    let of = ObjectRef {
        group: "coordination.k8s.io".into(),
        kind: "Lease".into(),
        namespace: Some(namespace.into()),
        name: name.into(),
    };
    Some(Evidence { of, source, said: String::new(), at })
}

/// Parts objects into those that are being deleted and the others.
pub(super) fn part<'a>(
    objects: impl IntoIterator<Item = &'a Arc<Object>>,
) -> (Vec<&'a Arc<Object>>, Vec<&'a Arc<Object>>) {
    objects.into_iter().partition(|object| object.deletion.is_some())
}

/// The names of the first few objects.
pub(super) fn names(objects: &[&Arc<Object>]) -> Vec<ObjectRef> {
    let mut names: Vec<ObjectRef> = objects.iter().map(|object| object.reference()).collect();
    names.sort();
    names.truncate(NAMED);
    names
}

/// The finding where the resource that would show it is hidden.
pub(super) fn cannot_see<'a>(object: &Object, why: &UnknownReason) -> Finding<'a> {
    cannot_see_verdict(object, why).into()
}

/// The verdict where the resource that would show it is hidden.
pub(super) fn cannot_see_verdict(object: &Object, why: &UnknownReason) -> Verdict {
    let resource: Arc<str> = match why {
        UnknownReason::Hidden { resource, .. }
        | UnknownReason::NotListed { resource }
        | UnknownReason::NotServed { resource } => resource.as_str().into(),
        _ => object.kind.resource().into(),
    };
    let cause = Cause::CannotSee { resource: resource.clone() };
    Verdict::new(cause, object, Confidence::Unknown).part(&resource)
}

/// The kind of an object, so that all objects that wait for one program are one card.
pub(super) fn kind_of(object: &Object) -> ObjectRef {
    ObjectRef { namespace: None, name: "".into(), ..object.reference() }
}
