//! Says why a deletion waits: for each object that is being deleted, in a run or not, the chain to the root and the cause
//! there. Objects with one root are one diagnosis. A Pod that cannot start because of one that was forced away waits too.
//!
//! # Decisions
//! - A detector is one plain function for one cause or for a few that exclude each other. `DETECTORS` has them in the
//!   order in which a person would look.
//! - A detector says that an object waits for others, or names a root. Two roots are two diagnoses, and both hold the object.
//! - A cause that waiting may end is shown once the object is later than expected; any other cause is shown at once.
//! - While waiting may end the cause, what waits behind it is stuck only once the objects at the root are: a namespace that waits for
//!   a Pod with an hour of grace is late after a minute, and nothing is wrong for that hour. Behind any other cause, an object is
//!   stuck by its own wait.
//! - Where the kind that would show it is hidden, the diagnosis says so, and never that there is no cause.
//! - Where nothing is being deleted there is nothing to explain: not a dependent that nobody collects because the kind of its owner is not
//!   served or its owner is in another namespace, nor one that goes because its owner does not exist, nor an owner that a program was
//!   not allowed to name. A run deletes dependents itself, so none of these holds it.
//! - A verdict says what the API shows. Where only a log of the kubelet could confirm it, it is inferred, until that
//!   log is read or pasted (`kubelet_log`, `kubelet_report`), or its runtime was asked (`running_pods`, `kubelet_state`).

mod admission;
mod before;
mod case;
mod cause;
mod circle;
mod collector;
mod control_plane;
mod course;
mod dependents;
mod driver;
mod ended;
mod events;
mod field_manager;
mod finalizer;
pub mod kubelet_answer;
mod impact;
mod job;
pub mod kubelet_log;
pub mod kubelet_metrics;
mod kubelet_report;
mod kubelet_state;
mod left_behind;
mod namespace;
mod owner;
mod plugin;
mod pod;
mod program;
pub mod running_pods;
mod protection;
mod refused_update;
mod replacement;
mod static_pod;
mod storage;
mod unanswered;
mod unaware;
mod unreadable;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::cause::{Finding, Verdict};
pub(crate) use self::{
    admission::says_unconverted,
    before::{Remover, before},
    case::{Case, Serving},
    control_plane::joined,
    course::{course, repaired},
    driver::driver_finisher,
    events::subjects,
    finalizer::{cloud_controller, finisher},
    job::{TRACKING, other_manager},
    plugin::{drivers_of, missing_driver, on_node},
    static_pod::is_mirror,
    storage::in_use,
    unreadable::says_unreadable,
};
pub use self::{
    cause::{Cause, Confidence, DetachState, Evidence, Link, Source},
    course::{Due, Upcoming},
    impact::Impact,
    kubelet_answer::{
        AnswerOrigin, KubeletAnswer, KubeletProblem, KubeletSubject, LONGEST_PASTE, PasteProblem,
    },
    kubelet_log::RestOfLog,
    kubelet_metrics::NodeFailure,
    kubelet_report::{AttachedVolume, KubeletReport, Unanswered, add_reports, add_unanswered},
    kubelet_state::{MetricsReport, RuntimeFit, RuntimeReport, add_metrics, add_runtime},
    refused_update::is_rewritten,
    running_pods::RuntimeState,
    unanswered::unanswered,
};
use crate::{
    deadlines::Overdue,
    graph::Graph,
    index::Index,
    object::{Object, ObjectRef, Uid},
};

/// The most waiting objects that a diagnosis lists.
const WAITING: usize = 50;
/// The most facts that a diagnosis lists.
const EVIDENCE: usize = 12;
/// The most facts from kubelets that stand in front of these.
const OF_KUBELETS: usize = 10;
/// The most facts of one source that it lists about objects of one kind, other than the root.
const ALIKE: usize = 3;
/// The same for facts about the root.
const ALIKE_OF_ROOT: usize = 6;

/// Why some deletions wait: one cause with everything that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// Its identity: cause and root. It stays the same while both do.
    pub id: String,
    /// The cause. A page gets it as a sentence, with the card.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing, default = "untold"))]
    pub cause: Cause,
    /// The object where the cause sits.
    pub root: ObjectRef,
    /// How sure it is. A page gets it as a sentence, with the advice.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
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
    /// The time at which the first of them was deleted, or was made if it is to start.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// An object is past its deadline, and not only later than expected. While waiting may end the cause, an object at the root is.
    pub stuck: bool,
    /// The harm that is done while it waits. A page gets it as sentences, with the advice.
    #[cfg_attr(target_family = "wasm", serde(skip_deserializing))]
    pub impact: Impact,
}

/// The cause in a page, whose code would grow by a tenth with all of them.
#[cfg(target_family = "wasm")]
fn untold() -> Cause {
    Cause::Unknown
}

/// An object that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its identity.
    pub uid: Uid,
    /// Its name.
    pub object: ObjectRef,
    /// The time at which its DELETE was accepted, or at which it was made if it is to start.
    #[serde(with = "crate::millis::required")]
    pub since: Timestamp,
    /// It is a Pod that nobody deletes and that cannot start.
    #[serde(skip)]
    pub starts: bool,
    /// The place in the list of the object that it waits for, and the relation; none if it waits for the root itself. A page
    /// gets it as a sentence, with the advice.
    #[serde(skip)]
    pub on: Option<(usize, Link)>,
}

impl Diagnosis {
    /// The order in which a person looks at several: what explains others, then what does harm, then what is stuck, then
    /// what holds the most.
    pub fn harm(&self) -> (bool, bool, bool, usize) {
        let is_used = matches!(self.cause, Cause::ClaimInUse { .. });
        let does_harm = is_used || !self.impact.is_none();
        (self.explains_others(), does_harm, self.stuck, self.total)
    }

    /// Whether it explains more than its own card. A webhook whose configuration is gone refuses nothing any more.
    pub fn explains_others(&self) -> bool {
        self.cause.explains_others() && !self.is_of_lost_rule()
    }

    /// Whether the kubelet of a silent node had said that its node shuts down.
    pub(crate) fn is_shutdown_of(&self, node: &str) -> bool {
        let is_it = |it: &Evidence| matches!(it.source, Source::Became(_)) && *it.of.name == *node;
        self.evidence.iter().any(is_it)
    }

    /// Whether the first deletion had begun by this time, in whole seconds, as the cluster writes it.
    pub fn waited_at(&self, at: Timestamp) -> bool {
        at.duration_since(self.since).as_secs() > 0
    }

    /// Whether the webhook or the policy that refused a change is gone, so that the next try may pass.
    pub fn is_of_lost_rule(&self) -> bool {
        let is_refusal = match &self.cause {
            Cause::WebhookDenies { .. } | Cause::PolicyDenies { .. } => true,
            Cause::WebhookDown { configurations, .. } => configurations.is_empty(),
            _ => false,
        };
        let is_gone = |it: &Evidence| matches!(it.source, Source::Absent | Source::Deleted);
        let is_unseen = |it: &Evidence| {
            matches!(it.source, Source::Hidden(_)) && &*it.of.group == admission::GROUP
        };
        is_refusal && self.evidence.iter().any(is_gone) && !self.evidence.iter().any(is_unseen)
    }

    /// The configuration of the webhook that refused a change, if it was deleted lately.
    pub fn deleted_rule(&self) -> Option<&ObjectRef> {
        self.evidence.iter().find(|it| it.source == Source::Deleted).map(|it| &it.of)
    }

    /// Whether nothing is being deleted any more, and only Pods that are to start wait.
    pub fn is_of_replacements(&self) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().all(|held| held.starts)
    }

    /// The part of the identity that stays the same while the cause at the root changes, as that of a silent node does which
    /// somebody deletes.
    pub fn root_id(&self) -> &str {
        root_of(&self.id)
    }
}

/// Looks at one object that is being deleted.
type Detector = for<'a> fn(&Case<'a>, &'a Arc<Object>, &mut Vec<Finding<'a>>);

/// All detectors, in the order in which a person would look: the cheap questions first.
const DETECTORS: &[Detector] = &[
    namespace::content,
    namespace::discovery_failed,
    namespace::group_version_unparsed,
    namespace::content_refused,
    namespace::other_finalizer,
    namespace::unseen_content,
    owner::foreground,
    owner::orphan,
    owner::instances,
    storage::claim_in_use,
    storage::volume_bound,
    storage::volume_released,
    storage::not_detached,
    protection::users,
    dependents::listed,
    finalizer::program,
    unreadable::own_kind,
    refused_update::pod,
    admission::webhooks_down,
    pod::within_grace,
    pod::node_away,
    static_pod::mirror,
    unaware::kubelet,
    pod::not_stopped,
    pod::not_unmounted,
    // These ask what the others found.
    owner::collector_at_work,
    namespace::silent,
    left_behind::namespace_gone,
    control_plane::manager,
];

/// Diagnoses every deletion that waits, the worst first.
pub fn diagnose(index: &Index, graph: &Graph, now: Timestamp) -> Vec<Diagnosis> {
    let case = Case { index, graph, now };
    let mut objects: Vec<&Arc<Object>> = index.going().collect();
    objects.sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
    let mut roots: BTreeMap<String, Root<'_>> = BTreeMap::new();
    let mut waiters: HashMap<&Uid, Vec<(&Arc<Object>, Link)>> = HashMap::new();
    let is_wait = |finding: &Finding<'_>| matches!(finding, Finding::WaitsFor(..));
    let mut waits: Vec<&Arc<Object>> = Vec::new();
    for object in &objects {
        let mut found = Vec::new();
        for detector in DETECTORS {
            detector(&case, object, &mut found);
        }
        if found.is_empty() && case.overdue(object) > Overdue::No {
            found.push(nothing_found(&case, object));
        }
        waits.extend(found.iter().any(is_wait).then_some(*object));
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
    for (pod, verdict, overdue) in replacement::held(&case) {
        let root = roots.entry(id_of(&verdict)).or_insert_with(|| Root::new(&verdict));
        root.add(verdict, pod);
        root.overdue = root.overdue.max(overdue);
    }
    let direct = roots.values().flat_map(|root| &root.direct);
    let explained: Vec<&Uid> = direct.map(|object| &object.uid).collect();
    for (object, verdict) in circle::roots(&case, &waits, &waiters, explained) {
        let id = id_of(&verdict);
        roots.entry(id).or_insert_with(|| Root::new(&verdict)).add(verdict, object);
    }
    let mut found: Vec<Diagnosis> =
        roots.into_iter().filter_map(|(id, root)| root.diagnosis(id, &case, &waiters)).collect();
    found.iter_mut().for_each(|diagnosis| events::add(diagnosis, index, graph));
    found.sort_by(|a, b| {
        b.harm().cmp(&a.harm()).then_with(|| (a.since, &a.id).cmp(&(b.since, &b.id)))
    });
    found
}

/// The finding where no detector knows why a deletion waits. An object of a hidden kind is as it was when it was last seen.
fn nothing_found<'a>(case: &Case<'a>, object: &Object) -> Finding<'a> {
    let (resource, namespace) = (object.kind.resource(), object.namespace.as_deref());
    match case.index.check_visible(&resource, namespace) {
        Ok(()) => Verdict::new(Cause::Unknown, object, Confidence::Unknown).into(),
        Err(why) => case::cannot_see(object, &why),
    }
}

/// The root in the id of a diagnosis.
pub fn root_of(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, root)| root)
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
    /// How late the Pods among them are that are to start.
    overdue: Overdue,
}

impl<'a> Root<'a> {
    fn new(verdict: &Verdict) -> Self {
        Self {
            cause: verdict.cause.clone(),
            object: verdict.root.clone(),
            confidence: verdict.confidence,
            evidence: BTreeSet::new(),
            direct: Vec::new(),
            overdue: Overdue::No,
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
        let overdue = order.iter().map(|(object, _)| case.overdue(object)).max()?.max(self.overdue);
        let may_pass = self.cause.may_pass();
        if overdue == Overdue::No && may_pass {
            return None;
        }
        let direct = self.direct.iter().map(|object| case.overdue(object));
        let of_root = if may_pass { direct.max()?.max(self.overdue) } else { overdue };
        let root = self.object;
        let since = |object: &Object| match &object.deletion {
            Some(deletion) => Some(deletion.accepted()),
            None => object.created.map(Timestamp::from),
        };
        let waiting = order.iter().take(WAITING).filter_map(|(object, on)| {
            Some(Waiting {
                uid: object.uid.clone(),
                object: object.reference(),
                since: since(object)?,
                starts: object.deletion.is_none(),
                on: *on,
            })
        });
        let impact = Impact::of(case, &self.cause, order.iter().map(|(object, _)| *object));
        Some(Diagnosis {
            id,
            cause: self.cause,
            confidence: self.confidence,
            evidence: most_telling(self.evidence, &root),
            root,
            waiting: waiting.collect(),
            total: order.len(),
            held: order.iter().map(|(object, _)| object.uid.clone()).collect(),
            since: order.iter().filter_map(|(object, _)| since(object)).min()?,
            stuck: of_root == Overdue::Stuck,
            impact,
        })
    }
}

/// The facts that a diagnosis lists: those about the root first, then a few of each source. With a hundred objects behind one
/// root, a hundred facts are alike, and the one that proves the cause is about another object.
fn most_telling(facts: BTreeSet<Evidence>, root: &ObjectRef) -> Vec<Evidence> {
    let mut alike: HashMap<(Source, Arc<str>), usize> = HashMap::new();
    let mut ranked: Vec<(bool, usize, Evidence)> = Vec::new();
    for fact in facts {
        let known = alike.entry((fact.source.clone(), fact.of.kind.clone())).or_default();
        let is_of_root = fact.of == *root;
        if *known < if is_of_root { ALIKE_OF_ROOT } else { ALIKE } {
            ranked.push((!is_of_root, *known, fact));
        }
        *known += 1;
    }
    ranked.sort();
    ranked.truncate(EVIDENCE);
    ranked.sort_by(|(a, _, x), (b, _, y)| (a, x).cmp(&(b, y)));
    ranked.into_iter().map(|(.., fact)| fact).collect()
}

#[cfg(test)]
mod tests;
