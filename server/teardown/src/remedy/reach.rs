//! The blast radius of a remedy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    index::Index,
    object::{Facts, Object, ObjectRef, PodReferenceKind, Reclaim, Uid},
};

/// The most other objects, and the most namespaces, that a remedy lists. Pods that it ends are all listed.
const LISTED: usize = 50;

/// The objects that a remedy hits besides its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// Every Pod that it ends, with the claims of each; those first whose volumes only one node can use.
    pub pods: Vec<ReachedPod>,
    /// The claims of the Pod that is its target.
    pub claims: Vec<ReachedClaim>,
    /// The claims that nobody has deleted and that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub going: Vec<GoingClaim>,
    /// Other objects; at most 50.
    pub objects: Vec<ObjectRef>,
    /// The number of all other objects.
    pub total: usize,
    /// Namespaces that wait for the same cause, and go on with it; at most 50.
    pub releases: Vec<ObjectRef>,
    /// The number of all of them.
    pub released: usize,
    /// Whole resources that it hits in the cluster, such as `configmaps` or `*.apps`.
    pub resources: Vec<String>,
}

/// A Pod that a remedy ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedPod {
    /// The Pod.
    pub pod: ObjectRef,
    /// Its claims.
    pub claims: Vec<ReachedClaim>,
}

/// A claim of a Pod, and the nodes that can use its volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachedClaim {
    /// The claim.
    pub claim: ObjectRef,
    /// One node at a time may use the volume, so that a second writer damages the data.
    pub one_node: bool,
    /// The data is on a disk of one node, and nowhere else.
    pub node_local: bool,
}

/// A claim that nobody has deleted and that goes with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GoingClaim {
    /// The claim.
    pub claim: ObjectRef,
    /// Its identity.
    pub uid: Uid,
    /// The volume that it is bound to.
    pub volume: Option<Arc<str>>,
    /// The reclaim policy of that volume; `None` if the volume cannot be seen.
    pub reclaim: Option<Reclaim>,
}

impl GoingClaim {
    /// The claim as it is now. `None` for one that somebody has deleted, and for another object.
    pub(super) fn of(index: &Index, claim: &Object) -> Option<Self> {
        let Facts::Claim(facts) = &claim.facts else { return None };
        if claim.deletion.is_some() {
            return None;
        }
        let volume = facts.volume.as_deref();
        let volume = volume.and_then(|name| index.find("", "PersistentVolume", None, name));
        let reclaim = match volume.map(|volume| &volume.facts) {
            Some(Facts::Volume(volume)) => Some(volume.reclaim),
            _ => None,
        };
        Some(Self {
            claim: claim.reference(),
            uid: claim.uid.clone(),
            volume: facts.volume.clone(),
            reclaim,
        })
    }

    /// Whether the data in its volume goes too, or may: nobody knows that of a volume that cannot be seen.
    pub fn destroys_data(&self) -> bool {
        self.volume.is_some() && self.reclaim != Some(Reclaim::Retain)
    }
}

impl ReachedClaim {
    /// The claims that a Pod names.
    pub(crate) fn of_pod(index: &Index, pod: &Object) -> Vec<Self> {
        let Facts::Pod(facts) = &pod.facts else { return Vec::new() };
        let used = facts.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
        let claim = |name| ObjectRef {
            group: "".into(),
            kind: PodReferenceKind::Claim.kind().into(),
            namespace: pod.namespace.clone(),
            name,
        };
        used.map(|used| Self::of(index, claim(used.name.clone()))).collect()
    }

    /// The claim of this name.
    pub(crate) fn of(index: &Index, claim: ObjectRef) -> Self {
        let facts = match index.named(&claim).map(|object| &object.facts) {
            Some(Facts::Claim(facts)) => Some(facts),
            _ => None,
        };
        let volume = facts.and_then(|it| it.volume.as_deref());
        let volume = volume.and_then(|name| index.find("", "PersistentVolume", None, name));
        let node_local = volume.is_some_and(
            |volume| matches!(&volume.facts, Facts::Volume(facts) if facts.node_local),
        );
        Self { claim, one_node: facts.is_some_and(|it| it.one_node), node_local }
    }

    fn is_bound_to_a_node(&self) -> bool {
        self.one_node || self.node_local
    }
}

impl Reach {
    /// These objects.
    pub(super) fn of(objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        let mut reach = Self::default();
        for object in objects {
            reach.total += 1;
            if reach.objects.len() < LISTED {
                reach.objects.push(object);
            }
        }
        reach
    }

    /// These Pods end.
    pub(super) fn of_pods<'a>(index: &Index, pods: impl IntoIterator<Item = &'a Object>) -> Self {
        let with_claims = |pod: &Object| ReachedPod {
            pod: pod.reference(),
            claims: ReachedClaim::of_pod(index, pod),
        };
        let mut pods: Vec<ReachedPod> = pods.into_iter().map(with_claims).collect();
        let rest = |it: &ReachedPod| !it.claims.iter().any(ReachedClaim::is_bound_to_a_node);
        pods.sort_by(|a, b| {
            (rest(a), a.claims.is_empty(), &a.pod).cmp(&(rest(b), b.claims.is_empty(), &b.pod))
        });
        Self { pods, ..Self::default() }
    }

    /// The claims of the Pod that is the target.
    pub(super) fn of_claims(index: &Index, pod: &Object) -> Self {
        Self { claims: ReachedClaim::of_pod(index, pod), ..Self::default() }
    }

    /// The same, with which these claims go too.
    pub(super) fn with_going(mut self, going: Vec<GoingClaim>) -> Self {
        self.going = going;
        self
    }

    /// The same, which also lets these go on.
    pub(super) fn releasing(mut self, objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        for object in objects {
            self.released += 1;
            if self.releases.len() < LISTED {
                self.releases.push(object);
            }
        }
        self
    }

    /// Whether it hits nothing else.
    pub fn is_none(&self) -> bool {
        self.pods.is_empty()
            && self.claims.is_empty()
            && self.going.is_empty()
            && self.total == 0
            && self.released == 0
            && self.resources.is_empty()
    }
}
