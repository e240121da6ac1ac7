//! Says why a deletion waits: for each object that is being deleted, in a run or not, the chain to the root and the cause
//! there. Objects with one root are one diagnosis.
//!
//! # Decisions
//! - A detector is one plain function for one cause or for a few that exclude each other. `DETECTORS` has them in the
//!   order in which a person would look.
//! - A detector says that an object waits for others, or names a root. Two roots are two diagnoses, and both hold the object.
//! - A cause that waiting may end is shown once the object is later than expected; any other cause is shown at once.
//! - Where the kind that would show it is hidden, the diagnosis says so, and never that there is no cause.
//! - A verdict says what the API shows. Where only a log of the kubelet could confirm it, it is inferred, until that
//!   log is read or pasted (`kubelet_log`, `kubelet_report`), or its runtime was asked (`running_pods`, `kubelet_state`).

mod admission;
mod before;
mod case;
mod cause;
mod control_plane;
mod course;
mod events;
mod finalizer;
pub mod kubelet_answer;
pub mod kubelet_log;
pub mod kubelet_metrics;
mod kubelet_report;
mod kubelet_state;
mod namespace;
mod owner;
mod pod;
pub mod running_pods;
mod storage;
mod unanswered;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::cause::{Finding, Verdict};
pub(crate) use self::{
    before::before,
    case::{Case, Serving},
    course::course,
    events::subjects,
    finalizer::finisher,
    pod::missing_driver,
};
pub use self::{
    cause::{Cause, Confidence, Evidence, Link, Source},
    course::{Due, Upcoming},
    kubelet_answer::{KubeletAnswer, KubeletProblem, KubeletSubject},
    kubelet_log::{LogOrigin, RestOfLog},
    kubelet_metrics::NodeFailure,
    kubelet_report::{KubeletReport, Unanswered, add_reports, add_unanswered},
    kubelet_state::{MetricsReport, RuntimeFit, RuntimeReport, add_metrics, add_runtime},
    running_pods::RuntimeState,
    unanswered::unanswered,
};
use crate::{
    deadlines::Overdue,
    graph::Graph,
    index::Index,
    object::{Facts, Object, ObjectRef, Phase, Pod, PodReferenceKind, Uid},
    relation::EdgeKind,
};

/// The most waiting objects that a diagnosis lists.
const WAITING: usize = 50;
/// The most facts that a diagnosis lists.
const EVIDENCE: usize = 12;

/// Why some deletions wait: one cause with everything that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// Its identity: cause and root. It stays the same while both do.
    pub id: String,
    /// The cause.
    pub cause: Cause,
    /// The object where the cause sits.
    pub root: ObjectRef,
    /// How sure it is.
    pub confidence: Confidence,
    /// The facts that speak for it. A page gets them as sentences, with the advice.
    #[serde(skip)]
    pub evidence: Vec<Evidence>,
    /// The objects that wait, nearest to the root first; at most 50.
    pub waiting: Vec<Waiting>,
    /// The number of all objects that wait.
    pub total: usize,
    /// All of them.
    #[serde(skip)]
    pub held: Vec<Uid>,
    /// The time at which the first of them was deleted.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// An object is past its deadline, and not only later than expected.
    pub stuck: bool,
    /// The harm that is done while it waits.
    pub impact: Impact,
}

/// An object that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its identity.
    pub uid: Uid,
    /// Its name.
    pub object: ObjectRef,
    /// The time at which its DELETE was accepted.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// The place in the list of the object that it waits for, and the relation; none if it waits for the root itself. A page
    /// gets it as a sentence, with the advice.
    #[serde(skip)]
    pub on: Option<(usize, Link)>,
}

/// The harm that a waiting deletion does to what should go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// Workloads that start no replacement before the waiting Pod is gone.
    pub replacements_blocked: Vec<ObjectRef>,
    /// Services without a ready Pod.
    pub without_endpoints: Vec<ObjectRef>,
}

impl Impact {
    /// Whether only leftovers wait.
    pub fn is_none(&self) -> bool {
        self.replacements_blocked.is_empty() && self.without_endpoints.is_empty()
    }
}

impl Diagnosis {
    /// The order in which a person looks at several: what explains others, then what does harm, then what is stuck, then
    /// what holds the most.
    pub fn harm(&self) -> (bool, bool, bool, usize) {
        (self.cause.explains_others(), !self.impact.is_none(), self.stuck, self.total)
    }
}

/// Looks at one object that is being deleted.
type Detector = for<'a> fn(&Case<'a>, &'a Arc<Object>, &mut Vec<Finding<'a>>);

/// All detectors, in the order in which a person would look: the cheap questions first.
const DETECTORS: &[Detector] = &[
    namespace::content,
    namespace::discovery_failed,
    namespace::content_refused,
    namespace::other_finalizer,
    owner::foreground,
    owner::orphan,
    owner::instances,
    storage::claim_in_use,
    storage::volume_bound,
    storage::volume_released,
    storage::not_detached,
    finalizer::program,
    pod::within_grace,
    pod::node_away,
    pod::not_stopped,
    pod::not_unmounted,
    // These ask what the others found.
    namespace::silent,
    control_plane::manager,
];

/// Diagnoses every deletion that waits, the worst first.
pub fn diagnose(index: &Index, graph: &Graph, now: Timestamp) -> Vec<Diagnosis> {
    let case = Case { index, graph, now };
    let mut objects: Vec<&Arc<Object>> = index.going().collect();
    objects.sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
    let mut roots: BTreeMap<String, Root<'_>> = BTreeMap::new();
    let mut waiters: HashMap<&Uid, Vec<(&Arc<Object>, Link)>> = HashMap::new();
    for object in &objects {
        let mut found = Vec::new();
        for detector in DETECTORS {
            detector(&case, object, &mut found);
        }
        if found.is_empty() && case.overdue(object) > Overdue::No {
            found.push(Verdict::new(Cause::Unknown, object, Confidence::Unknown).into());
        }
        for finding in found {
            match finding {
                Finding::WaitsFor(link, others) => {
                    for other in others {
                        waiters.entry(&other.uid).or_default().push((object, link));
                    }
                }
                Finding::Root(verdict) => {
                    let id = id_of(&verdict);
                    let root = roots.entry(id).or_insert_with(|| Root::new(&verdict));
                    root.add(*verdict, object);
                }
            }
        }
    }
    let mut found: Vec<Diagnosis> =
        roots.into_iter().filter_map(|(id, root)| root.diagnosis(id, &case, &waiters)).collect();
    found.iter_mut().for_each(|diagnosis| events::add(diagnosis, index, graph));
    found.sort_by(|a, b| {
        b.harm().cmp(&a.harm()).then_with(|| (a.since, &a.id).cmp(&(b.since, &b.id)))
    });
    found
}

/// Equal causes at one object are one diagnosis.
fn id_of(verdict: &Verdict) -> String {
    let ObjectRef { group, kind, namespace, name } = &verdict.root;
    let namespace = namespace.as_deref().unwrap_or_default();
    [verdict.cause.name(), group, kind, namespace, name, &verdict.part].join("/")
}

/// A waiting object, and the place of the one that it waits for.
type Place<'a> = (&'a Arc<Object>, Option<(usize, Link)>);

/// A root with the objects that wait for it directly.
struct Root<'a> {
    cause: Cause,
    object: ObjectRef,
    confidence: Confidence,
    evidence: BTreeSet<Evidence>,
    direct: Vec<&'a Arc<Object>>,
}

impl<'a> Root<'a> {
    fn new(verdict: &Verdict) -> Self {
        Self {
            cause: verdict.cause.clone(),
            object: verdict.root.clone(),
            confidence: verdict.confidence,
            evidence: BTreeSet::new(),
            direct: Vec::new(),
        }
    }

    fn add(&mut self, verdict: Verdict, object: &'a Arc<Object>) {
        self.confidence = self.confidence.max(verdict.confidence);
        self.evidence.extend(verdict.evidence);
        // Objects come one after the other, each with all its findings.
        if self.direct.last().is_none_or(|last| last.uid != object.uid) {
            self.direct.push(object);
        }
    }

    fn diagnosis(
        self,
        id: String,
        case: &Case<'a>,
        waiters: &HashMap<&Uid, Vec<(&'a Arc<Object>, Link)>>,
    ) -> Option<Diagnosis> {
        let mut order: Vec<Place<'_>> = self.direct.iter().map(|object| (*object, None)).collect();
        let mut known: BTreeSet<&Uid> = self.direct.iter().map(|object| &object.uid).collect();
        let mut next = 0;
        while let Some((object, _)) = order.get(next) {
            for (waiter, link) in waiters.get(&object.uid).into_iter().flatten() {
                if known.insert(&waiter.uid) {
                    order.push((waiter, Some((next, *link))));
                }
            }
            next += 1;
        }
        let overdue = order.iter().map(|(object, _)| case.overdue(object)).max()?;
        if overdue == Overdue::No && self.cause.may_pass() {
            return None;
        }
        let accepted =
            |object: &Object| object.deletion.as_ref().map(|deletion| deletion.accepted());
        let waiting = order.iter().take(WAITING).filter_map(|(object, on)| {
            Some(Waiting {
                uid: object.uid.clone(),
                object: object.reference(),
                since: accepted(object)?,
                on: *on,
            })
        });
        Some(Diagnosis {
            id,
            cause: self.cause,
            root: self.object,
            confidence: self.confidence,
            evidence: self.evidence.into_iter().take(EVIDENCE).collect(),
            waiting: waiting.collect(),
            total: order.len(),
            held: order.iter().map(|(object, _)| object.uid.clone()).collect(),
            since: order.iter().filter_map(|(object, _)| accepted(object)).min()?,
            stuck: overdue == Overdue::Stuck,
            impact: impact(case, order.iter().map(|(object, _)| *object)),
        })
    }
}

/// A Deployment with strategy Recreate starts no Pod of a new template before those of the old one are over: it has scaled
/// their ReplicaSet to 0 by then. With the same template the ReplicaSet replaces a Pod at once. A StatefulSet starts none of
/// the same name before the old one is gone (`pkg/controller/deployment/recreate.go`, `pkg/controller/statefulset`).
fn impact<'a>(case: &Case<'a>, waiting: impl Iterator<Item = &'a Arc<Object>>) -> Impact {
    let (mut blocked, mut without) = (BTreeSet::new(), BTreeSet::new());
    for object in waiting {
        let Facts::Pod(pod) = &object.facts else { continue };
        without.extend(case.services_without_pods(object).map(|service| service.reference()));
        let is_over = pod.phase.is_some_and(Phase::is_over);
        let owners = object.owners.iter().filter_map(|owner| case.index.get(&owner.uid));
        for owner in owners.filter(|owner| owner.deletion.is_none()) {
            let replicas = match &owner.facts {
                Facts::Workload(workload) => workload.replicas.unwrap_or(1),
                _ => continue,
            };
            let ordinal = object.name.rsplit('-').next().and_then(|it| it.parse::<i64>().ok());
            if owner.kind.is("apps", "StatefulSet") && ordinal.is_some_and(|it| it < replicas) {
                blocked.insert(owner.reference());
            }
            if replicas > 0 {
                if !is_over && waits_for_disk_of(case, owner, object, pod) {
                    let above = owner.owners.iter().find_map(|it| case.index.get(&it.uid));
                    blocked.insert(above.unwrap_or(owner).reference());
                }
                continue;
            }
            let above = owner.owners.iter().filter_map(|owner| case.index.get(&owner.uid));
            for deployment in above.filter(|above| above.deletion.is_none() && !is_over) {
                let recreates =
                    matches!(&deployment.facts, Facts::Workload(workload) if workload.recreates);
                if recreates {
                    blocked.insert(deployment.reference());
                }
            }
        }
    }
    let first = |found: BTreeSet<ObjectRef>| found.into_iter().take(case::NAMED).collect();
    Impact { replacements_blocked: first(blocked), without_endpoints: first(without) }
}

/// Whether another Pod of the same owner waits for a disk that is attached to the node of this one: it can be attached to one
/// node at a time (`Multi-Attach error`, `pkg/controller/volume/attachdetach/reconciler/reconciler.go`).
fn waits_for_disk_of(case: &Case<'_>, owner: &Object, old: &Object, pod: &Pod) -> bool {
    let Some(node) = &pod.node else { return false };
    let claims = |pod: &Pod| -> Vec<Arc<str>> {
        let claims = pod.uses.iter().filter(|used| used.what == PodReferenceKind::Claim);
        claims.map(|used| used.name.clone()).collect()
    };
    let disks: Vec<Arc<str>> = claims(pod)
        .into_iter()
        .filter(|claim| {
            let namespace = old.namespace.as_deref();
            let claim = case.index.find("", "PersistentVolumeClaim", namespace, claim);
            match claim.map(|claim| &claim.facts) {
                Some(Facts::Claim(facts)) => {
                    let volume = facts.volume.as_deref();
                    volume.and_then(|it| case.index.attached_to(it)).is_some_and(|on| on == node)
                }
                _ => false,
            }
        })
        .collect();
    if disks.is_empty() {
        return false;
    }
    case.sources(owner, EdgeKind::Owns).any(|other| match &other.facts {
        Facts::Pod(new) => {
            other.deletion.is_none()
                && !new.ready
                && new.node.as_ref().is_some_and(|on| on != node)
                && claims(new).iter().any(|claim| disks.contains(claim))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests;
