//! The premises of a remedy: the objects on which its decision stands. They are read again in the moment before the request, and
//! those that the request does not change once more after it.
//!
//! # Decisions
//! - Each premise is one GET, or one consistent list with a condition on its objects. All of them have to be read in the
//!   second before the request, the content of a namespace excepted.
//! - The content of a namespace is one list for each kind that the API server serves in that moment, whether the kind can be
//!   watched or not. With hundreds of kinds that takes longer than a second. It may, because no object is created in a namespace
//!   that is Terminating (`staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go`): the content only
//!   gets less. That the namespace is still the same and Terminating is read in the last second, as its target.
//! - An object is compared as the index has it. A Node whose condition changed, or a workload that became ready again, is another
//!   cause.
//! - An object that is gone is a premise too: a program that was installed again clears its finalizer itself.
//! - A list names the objects that a person saw. Fewer of them harm nobody; one more was in no blast radius.
//! - A claim that goes decides over the data of its volume. Whatever may let claims go rests on the reclaim policies of their
//!   volumes and on the claims that these are bound to, and on nothing else of them: after the request a volume is released, or gone.
//! - A StatefulSet removes the claims of its replicas by the policy that it has when its controller looks, after the request. So
//!   the policy is read after it too. A remedy that has the set keep the claims rests on the new policy after the request alone.
//! - A node is given up only as long as no other falls silent. A list of the nodes says so.
//! - To end one user of a claim frees it only if no other has come. The Pods of the namespace say so.
//!
//! # Not read again
//! - The other nodes, of which none may be silent, where there are more than a hundred: that many are too much for a second. The
//!   index is asked for them once more (`last_look`), and for the programs that clear a finalizer.
//! - The rights and labels by which a finisher was found: they say which program it is, not whether it is there.
//! - The owners and GitOps parents that may put something back, and more than five dependents.
//! - Volumes that cannot be seen, and more than fifty: where their data is said to be lost, all of it is.
//! - Words of the kubelet's log, Events, and the conditions for which a person answered.

use std::{collections::BTreeSet, sync::Arc};

use super::act::{Remedy, RemedyAct};
use crate::{
    diagnosis::{Cause, Diagnosis, Evidence, Source},
    index::Index,
    object::{
        Facts, Kind, Node, Object, ObjectRef, PodReference, PodReferenceKind, ServiceRef, Uid,
        Workload,
    },
};

/// The most dependents, programs or waiting objects that are read again.
const EACH: usize = 5;
/// The most volumes that are read again.
const VOLUMES: usize = 50;
/// The most nodes that are read again. Each is about 15 kB of JSON, most of it the names of images.
const NODES: usize = 100;

/// Something that must still be so.
#[derive(Clone, Debug, PartialEq)]
pub struct Premise {
    /// The object that it is about. For a list it is the object that the list belongs to.
    pub object: ObjectRef,
    /// The kind that is read.
    pub kind: Arc<Kind>,
    /// The expectation.
    pub expected: Expected,
    /// Whether it changes with the request, so that it is not read again after it.
    pub changes_with_it: bool,
}

/// An expectation of one read.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The object is exactly so.
    Unchanged(Arc<Object>),
    /// The volume has this reclaim policy and is bound to this claim, or is gone.
    SameDataFate(Arc<Object>),
    /// The StatefulSet does the same with the claims of replicas that it removes.
    SameClaimPolicy(Arc<Object>),
    /// The StatefulSet keeps the claims of replicas that it removes, as the request has it do.
    KeepsClaims(Arc<Object>),
    /// There is no object of this name.
    Absent,
    /// The lease of this node's kubelet has not been renewed since this: its time of renewal and its holder.
    NotRenewed(Arc<str>),
    /// No endpoint of this Service is ready.
    NoReadyEndpoints,
    /// The namespace holds no other objects than these, of whatever kind.
    Content {
        /// The objects.
        known: BTreeSet<Uid>,
    },
    /// A list has no other objects than these.
    Only {
        /// The list.
        list: List,
        /// The objects.
        known: BTreeSet<Uid>,
    },
}

/// A list of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The Pods on the node.
    OnNode,
    /// The nodes other than this one whose kubelets do not report.
    SilentNodes,
    /// The attachments of the volume.
    OfVolume,
    /// The Pods in the namespace of the object that name it, a claim.
    Users,
}

impl List {
    /// Whether an object that was read is one of the list that belongs to `of`.
    pub fn has(self, object: &Object, of: &ObjectRef) -> bool {
        match (self, &object.facts) {
            (Self::OnNode, Facts::Pod(pod)) => pod.node.as_deref() == Some(&*of.name),
            (Self::SilentNodes, Facts::Node(node)) => node.is_silent() && *object.name != *of.name,
            (Self::OfVolume, Facts::Attachment(it)) => it.volume.as_deref() == Some(&*of.name),
            (Self::Users, Facts::Pod(pod)) => {
                let names = |used: &PodReference| {
                    used.what.group() == &*of.group
                        && used.what.kind() == &*of.kind
                        && used.name == of.name
                };
                object.namespace == of.namespace && pod.uses.iter().any(names)
            }
            _ => false,
        }
    }
}

/// Whether a claim that goes decides the same over the data of a volume that was read as over that of the volume as it was.
pub fn has_same_data_fate(was: &Object, now: &Object) -> bool {
    let (Facts::Volume(before), Facts::Volume(after)) = (&was.facts, &now.facts) else {
        return false;
    };
    was.uid == now.uid && before.reclaim == after.reclaim && before.claim == after.claim
}

/// Whether a StatefulSet that was read does the same with the claims of replicas that it removes as it did.
pub fn has_same_claim_policy(was: &Object, now: &Object) -> bool {
    let (Facts::Workload(before), Facts::Workload(after)) = (&was.facts, &now.facts) else {
        return false;
    };
    was.uid == now.uid && before.claims_go_when_scaled == after.claims_go_when_scaled
}

/// Whether a StatefulSet that was read keeps the claims of replicas that it removes.
pub fn keeps_claims(was: &Object, now: &Object) -> bool {
    let is_kept = |it: &Workload| !it.claims_go_when_scaled;
    was.uid == now.uid && matches!(&now.facts, Facts::Workload(workload) if is_kept(workload))
}

impl Premise {
    /// Whether it holds before the request too; one that the request brings about is read after it alone.
    pub fn is_read_before(&self) -> bool {
        !matches!(self.expected, Expected::KeepsClaims(_))
    }

    /// Whether it says no more than an earlier one. Fewer objects on a list harm nobody; one more was in no blast radius.
    pub(super) fn follows_from(&self, earlier: &Self) -> bool {
        let is_so = match (&self.expected, &earlier.expected) {
            (Expected::SameDataFate(now), Expected::SameDataFate(was)) => {
                has_same_data_fate(was, now)
            }
            (Expected::SameClaimPolicy(now), Expected::SameClaimPolicy(was)) => {
                has_same_claim_policy(was, now)
            }
            (Expected::KeepsClaims(now), Expected::KeepsClaims(was)) => now.uid == was.uid,
            (Expected::Content { known }, Expected::Content { known: before }) => {
                known.is_subset(before)
            }
            (Expected::Only { list, known }, Expected::Only { list: of, known: before }) => {
                list == of && known.is_subset(before)
            }
            (now, was) => now == was,
        };
        is_so && self.object == earlier.object && self.kind == earlier.kind
    }

    /// The object is exactly as the index has it.
    pub fn unchanged(object: &Arc<Object>) -> Self {
        let (kind, expected) = (object.kind.clone(), Expected::Unchanged(object.clone()));
        Self { object: object.reference(), kind, expected, changes_with_it: false }
    }

    /// The same for an object that changes with the request: its target, and what waits for that.
    pub fn unchanged_before(object: &Arc<Object>) -> Self {
        Self { changes_with_it: true, ..Self::unchanged(object) }
    }

    /// There is no object of this name, which the request creates. `None` where its absence is not known.
    pub(super) fn absent_before(object: &ObjectRef, index: &Index) -> Option<Self> {
        let absent = Search { index }.absent(object)?;
        Some(Self { changes_with_it: true, ..absent })
    }

    /// The data of a volume has the same fate once its claim goes.
    fn same_data_fate(volume: &Arc<Object>) -> Self {
        let expected = Expected::SameDataFate(volume.clone());
        Self { expected, ..Self::unchanged(volume) }
    }

    fn only<'a>(
        of: ObjectRef,
        kind: Arc<Kind>,
        list: List,
        known: impl Iterator<Item = &'a Arc<Object>>,
    ) -> Self {
        let known = known.map(|object| object.uid.clone()).collect();
        let expected = Expected::Only { list, known };
        Self { object: of, kind, expected, changes_with_it: false }
    }
}

impl Remedy {
    /// The premises of the remedy; the target is the first. `None` where one of them cannot be read again for sure, so that a
    /// person has to do it.
    pub fn premises(&self, diagnosis: &Diagnosis, index: &Index) -> Option<Vec<Premise>> {
        let request = self.request()?;
        let search = Search { index };
        let (target, mut found) = match &request.uid {
            Some(uid) => {
                let target = index.get(uid)?;
                (Some(target), vec![Premise::unchanged_before(target)])
            }
            None => (None, vec![Premise::absent_before(&request.object, index)?]),
        };
        found.extend(search.root(diagnosis, &request.object));
        match &self.act {
            RemedyAct::OutOfServiceTaint { node } | RemedyAct::DeleteNode { node } => {
                found.extend(search.silent(node)?);
            }
            RemedyAct::ForceDeletePod { node } | RemedyAct::ShortenGrace { node } => {
                found.extend(search.node_of_pod(node)?);
            }
            RemedyAct::RemoveFinalizer { .. } => {
                found.extend(search.programs(&diagnosis.cause)?);
                found.extend(search.in_use(target?)?);
            }
            RemedyAct::DeleteAgain { .. } => {
                // The garbage collector deletes them, or lets go of them, as soon as it sees the new policy.
                let children = self.reaches.objects.iter().filter_map(|it| index.named(it));
                found.extend(children.take(EACH).map(Premise::unchanged_before));
            }
            RemedyAct::IgnoreWebhook { .. }
            | RemedyAct::DeleteWebhookConfiguration
            | RemedyAct::DeleteApiService { .. }
            | RemedyAct::StopConversion => {
                found.extend(search.services(diagnosis, &target?.facts));
            }
            RemedyAct::FinalizeNamespace | RemedyAct::RemoveSpecFinalizer { .. } => {
                found.push(search.content(target?));
            }
            RemedyAct::ScaleDown { .. } | RemedyAct::DeleteUser => {
                found.extend(search.claim_policy(&self.act, target));
                found.extend(search.users(&diagnosis.root)?);
                found.extend(search.users(&request.object)?);
            }
            RemedyAct::RecreateNamespace { namespace, .. } => {
                let waiting = diagnosis.waiting.iter().filter_map(|it| index.get(&it.uid));
                let inside = waiting.filter(|it| it.namespace.as_ref() == Some(namespace));
                found.extend(inside.take(EACH).map(Premise::unchanged_before));
            }
            _ => {}
        }
        found.extend(search.volumes(self, diagnosis, target));
        let mut premises: Vec<Premise> = Vec::with_capacity(found.len());
        for premise in found {
            let is_same = |it: &Premise| it.object == premise.object && it.kind == premise.kind;
            if !premises.iter().any(|it| is_same(it) && it.expected == premise.expected) {
                premises.push(premise);
            }
        }
        Some(premises)
    }
}

/// The search for premises in the index.
#[derive(Clone, Copy)]
struct Search<'a> {
    index: &'a Index,
}

impl<'a> Search<'a> {
    /// The object where the cause sits. It may be the one that the remedy is to free.
    fn root(self, diagnosis: &Diagnosis, target: &ObjectRef) -> Option<Premise> {
        let root = &diagnosis.root;
        // A cause without an object of its own has a kind as its root.
        if root.name.is_empty() || root == target {
            return None;
        }
        let Some(object) = self.index.named(root) else { return self.absent(root) };
        let waits = diagnosis.waiting.iter().any(|it| it.uid == object.uid);
        Some(Premise { changes_with_it: waits, ..Premise::unchanged(object) })
    }

    /// An object that is gone. `None` where its absence is not known.
    fn absent(self, object: &ObjectRef) -> Option<Premise> {
        let kind = self.index.kind(&object.group, &object.kind)?;
        let namespace = object.namespace.as_deref();
        self.index.check_visible(&kind.resource(), namespace).ok()?;
        if self.index.named(object).is_some() {
            return None;
        }
        let (object, expected) = (object.clone(), Expected::Absent);
        Some(Premise { object, kind, expected, changes_with_it: false })
    }

    /// The object as it is, or that it is absent.
    fn as_it_is(self, object: &ObjectRef) -> Option<Premise> {
        self.index.named(object).map(Premise::unchanged).or_else(|| self.absent(object))
    }

    /// A node that is silent: it stays so, and no Pod has come to it.
    fn silent(self, name: &Arc<str>) -> Option<Vec<Premise>> {
        let node = self.index.find("", "Node", None, name)?;
        let pods = self.index.kind("", "Pod")?;
        let is_here = |object: &&Arc<Object>| match &object.facts {
            Facts::Pod(pod) => pod.node.as_ref() == Some(name),
            _ => false,
        };
        let here = self.index.of_resource("pods").filter(is_here);
        let only = Premise::only(node.reference(), pods, List::OnNode, here);
        Some(self.silence(node, name).into_iter().chain([only]).collect())
    }

    /// The node of a Pod that is forced, or whose grace period is shortened, or that there is none.
    fn node_of_pod(self, name: &Arc<str>) -> Option<Vec<Premise>> {
        let reference = ObjectRef {
            group: "".into(),
            kind: "Node".into(),
            namespace: None,
            name: name.clone(),
        };
        let node = self.as_it_is(&reference)?;
        let silence = self.index.named(&reference).map(|node| self.silence(node, name));
        Some([node].into_iter().chain(silence.into_iter().flatten()).collect())
    }

    /// A silent node stays silent, and no other falls silent: its lease is not renewed, if that is known, and the list of silent nodes
    /// gets no longer, if there are few enough nodes.
    fn silence(self, node: &Arc<Object>, name: &Arc<str>) -> Vec<Premise> {
        if !matches!(&node.facts, Facts::Node(facts) if Node::is_silent(facts)) {
            return Vec::new();
        }
        let lease = self.index.node_lease(name).map(|renewed| Premise {
            expected: Expected::NotRenewed(renewed.clone()),
            ..Premise::unchanged(node)
        });
        let of = node.reference();
        let silent = self.index.of_resource("nodes").filter(|it| List::SilentNodes.has(it, &of));
        let others = Premise::only(of.clone(), node.kind.clone(), List::SilentNodes, silent);
        let are_few = self.index.of_resource("nodes").count() <= NODES;
        lease.into_iter().chain(are_few.then_some(others)).collect()
    }

    /// The programs that clear the finalizer, or may.
    fn programs(self, cause: &Cause) -> Option<Vec<Premise>> {
        let programs = match cause {
            Cause::FinisherGone { deleted, .. } => &deleted[..],
            Cause::FinisherUnknown { possible, .. } => &possible[..],
            Cause::FinisherNotReady { finisher, .. } | Cause::FinisherBusy { finisher, .. } => {
                std::slice::from_ref(finisher)
            }
            _ => &[],
        };
        programs.iter().take(EACH).map(|program| self.as_it_is(program)).collect()
    }

    /// The uses of an object whose finalizer is removed.
    fn in_use(self, object: &Arc<Object>) -> Option<Vec<Premise>> {
        match &object.facts {
            Facts::Node(_) => self.silent(&(*object.name).into()),
            Facts::Volume(volume) => {
                let claim = volume.claim.as_ref().map(|claim| ObjectRef {
                    group: "".into(),
                    kind: "PersistentVolumeClaim".into(),
                    namespace: Some(claim.namespace.clone()),
                    name: claim.name.clone(),
                });
                let claim = claim.and_then(|claim| self.as_it_is(&claim));
                let attachments = self.attachments(object.reference(), &object.name);
                Some(claim.into_iter().chain(attachments).collect())
            }
            // Its node may come to use the volume.
            Facts::Attachment(attachment) => {
                let node = ObjectRef {
                    group: "".into(),
                    kind: "Node".into(),
                    namespace: None,
                    name: attachment.node.clone(),
                };
                Some(vec![self.as_it_is(&node)?])
            }
            Facts::Claim(claim) => {
                let Some(volume) = &claim.volume else { return Some(Vec::new()) };
                let volume = self.index.find("", "PersistentVolume", None, volume);
                let attachments = volume.and_then(|it| self.attachments(it.reference(), &it.name));
                Some(volume.map(Premise::unchanged_before).into_iter().chain(attachments).collect())
            }
            _ => Some(Vec::new()),
        }
    }

    /// No node has attached a volume meanwhile.
    fn attachments(self, volume: ObjectRef, name: &str) -> Option<Premise> {
        let kind = self.index.kind("storage.k8s.io", "VolumeAttachment")?;
        let is_its = |object: &&Arc<Object>| match &object.facts {
            Facts::Attachment(it) => it.volume.as_deref() == Some(name),
            _ => false,
        };
        let known = self.index.of_resource("volumeattachments.storage.k8s.io").filter(is_its);
        Some(Premise::only(volume, kind, List::OfVolume, known))
    }

    /// No other Pod uses the object, if it is one that Pods name in their namespace. `None` where Pods cannot be seen there.
    fn users(self, object: &ObjectRef) -> Option<Vec<Premise>> {
        let what =
            self.index.kind(&object.group, &object.kind).and_then(|it| PodReferenceKind::of(&it));
        if what.is_none() || object.namespace.is_none() {
            return Some(Vec::new());
        }
        let namespace = object.namespace.as_deref();
        self.index.check_pods_visible(namespace).ok()?;
        let pods = self.index.kind("", "Pod")?;
        let users = self
            .index
            .pods_in(namespace.unwrap_or_default())
            .filter(|pod| List::Users.has(pod, object));
        Some(vec![Premise::only(object.clone(), pods, List::Users, users)])
    }

    /// The StatefulSet goes on to do the same with the claims of the replicas that it removes. Its controller acts after the request,
    /// by the policy of that moment. A remedy that changes the policy itself rests on the old one before the request, as on
    /// everything else of its target, and on the new one after it.
    fn claim_policy(self, act: &RemedyAct, target: Option<&Arc<Object>>) -> Option<Premise> {
        let target = target.filter(|target| target.kind.is("apps", "StatefulSet"))?;
        let RemedyAct::ScaleDown { keeps_claims, .. } = act else { return None };
        let expected =
            if *keeps_claims { Expected::KeepsClaims } else { Expected::SameClaimPolicy };
        Some(Premise { expected: expected(target.clone()), ..Premise::unchanged(target) })
    }

    /// The volumes whose data may go with the remedy: those of the claims that wait, or go, and those that wait themselves. A claim
    /// without a volume may be bound meanwhile. The target is a premise already.
    fn volumes(
        self,
        remedy: &Remedy,
        diagnosis: &Diagnosis,
        target: Option<&'a Arc<Object>>,
    ) -> Vec<Premise> {
        let waiting = diagnosis.waiting.iter().filter_map(|it| self.index.get(&it.uid));
        let dependents = target.into_iter().flat_map(|it| self.index.dependents(&it.uid));
        let inside = match &remedy.act {
            RemedyAct::RecreateNamespace { namespace, .. } => Some(self.index.claims_in(namespace)),
            _ => None,
        };
        let named = remedy.reaches.going.iter().filter_map(|it| self.index.get(&it.uid));
        let going = waiting.chain(target).chain(dependents).chain(named);
        let going = going.chain(inside.into_iter().flatten());
        let mut found: Vec<Premise> = Vec::new();
        for object in going {
            let premise = match &object.facts {
                Facts::Volume(_) => Premise::same_data_fate(object),
                Facts::Claim(claim) => match &claim.volume {
                    Some(name) => {
                        let volume = self.index.find("", "PersistentVolume", None, name);
                        let Some(volume) = volume else { continue };
                        Premise::same_data_fate(volume)
                    }
                    None => Premise::unchanged_before(object),
                },
                _ => continue,
            };
            let is_target = target.is_some_and(|target| target.reference() == premise.object);
            if !is_target && !found.contains(&premise) && found.len() < VOLUMES {
                found.push(premise);
            }
        }
        found
    }

    /// The Services behind a webhook or an API that does not answer, and that none of their endpoints is ready where that is
    /// the reason: by the endpoints themselves, or by the Pods where nobody has counted them yet.
    fn services(self, diagnosis: &Diagnosis, facts: &'a Facts) -> Vec<Premise> {
        let services: Vec<&ServiceRef> = match (facts, &diagnosis.cause) {
            (Facts::ApiService(api), _) => api.service.iter().collect(),
            (Facts::Definition(definition), _) => {
                definition.converter.iter().map(|it| &**it).collect()
            }
            (Facts::Webhooks(webhooks), Cause::WebhookDown { webhook, .. }) => {
                let guards = webhooks.guards.iter().filter(|guard| guard.webhook == *webhook);
                guards.filter_map(|guard| guard.service.as_ref()).collect()
            }
            _ => Vec::new(),
        };
        let of_service = |service: &ServiceRef| {
            let ServiceRef { namespace, name, .. } = service;
            let reference = ObjectRef {
                group: "".into(),
                kind: "Service".into(),
                namespace: Some(namespace.clone()),
                name: name.clone(),
            };
            let itself = self.as_it_is(&reference);
            let is_unserved = |it: &Evidence| it.of == reference && it.source == Source::NoReadyPod;
            let is_down = self.index.ready_endpoints(namespace, name) == Some(0)
                || diagnosis.evidence.iter().any(is_unserved);
            let endpoints = itself
                .clone()
                .filter(|_| is_down)
                .map(|it| Premise { expected: Expected::NoReadyEndpoints, ..it });
            itself.into_iter().chain(endpoints)
        };
        services.into_iter().flat_map(of_service).collect()
    }

    /// The content of a namespace: nothing but what was shown, and no Pod. It is not read after the request: nothing can come to
    /// a namespace that does not exist.
    fn content(self, namespace: &Object) -> Premise {
        let is_shown = |object: &&Arc<Object>| {
            object.namespace.as_deref() == Some(&*namespace.name) && !object.kind.is("", "Pod")
        };
        let mut known = BTreeSet::new();
        for kind in self.index.namespaced_kinds() {
            let resource = kind.resource();
            let shown = self.index.of_resource(&resource).filter(is_shown);
            known.extend(shown.map(|object| object.uid.clone()));
        }
        Premise {
            object: namespace.reference(),
            kind: namespace.kind.clone(),
            expected: Expected::Content { known },
            changes_with_it: true,
        }
    }
}
