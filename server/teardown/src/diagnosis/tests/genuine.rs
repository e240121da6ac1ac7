//! Situations in the words of real clusters: kubelets, controllers, storage drivers and operators as their logs, conditions, Events and
//! issue trackers have them. Each was written with its answer from what Kubernetes does, before any detector was asked, so it tries what
//! the fixtures beside the detectors cannot: other names, kinds, orders and noise.

mod extensions;
mod look_alikes;
mod namespaces;
mod pods;
mod storage;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::{
    api_problem::ApiProblem,
    diagnosis::{AnswerOrigin, Diagnosis, KubeletReport, add_reports, diagnose, kubelet_log},
    fetched::{Answer, Event, Lease, MANAGER, Question},
    fixture,
    graph::Graph,
    index::Index,
    object::{Object, Uid},
    observation::{HiddenCause, Observation},
    remedy::{Harm, remedies},
};

/// The words of the five conditions of a namespace whose controller is content (`namespace_conditions.go`).
const CONTENT: [(&str, &str); 5] = [
    (
        "{discovered}",
        "NamespaceDeletionDiscoveryFailure:False:ResourcesDiscovered:390:All_resources_successfully_discovered",
    ),
    (
        "{parsed}",
        "NamespaceDeletionGroupVersionParsingFailure:False:ParsedGroupVersions:390:All_legacy_kube_types_successfully_parsed",
    ),
    (
        "{deleted}",
        "NamespaceDeletionContentFailure:False:ContentDeleted:390:All_content_successfully_deleted,_may_be_waiting_on_finalization",
    ),
    (
        "{removed}",
        "NamespaceContentRemaining:False:ContentRemoved:390:All_content_successfully_removed",
    ),
    (
        "{finished}",
        "NamespaceFinalizersRemaining:False:ContentHasNoFinalizers:390:All_content-preserving_finalizers_finished",
    ),
];

/// A cluster, and the answer that a person who knows Kubernetes gives.
struct Genuine {
    /// The situation in a sentence.
    is: &'static str,
    /// The objects.
    objects: &'static str,
    /// Objects that were deleted lately.
    gone: &'static str,
    /// A namespace that does not exist. Every other one does, and is not being deleted unless it is among the objects.
    no_namespace: &'static str,
    /// Facts that no object has.
    told: &'static [Told],
    /// Lines of a kubelet's log that a person pasted.
    log: &'static str,
    /// `CAUSE KIND NAME CONFIDENCE FIRST-REMEDY` of each diagnosis. A `*` is any name.
    expected: &'static [&'static str],
}

/// A fact that no object has.
#[derive(Clone, Copy)]
enum Told {
    /// The kubelet of a node renews its lease.
    Renews(&'static str),
    /// The lease of a node stands still.
    Still(&'static str),
    /// The kube-controller-manager renews its lease.
    ManagerRenews,
    /// An Event: its object as `WORD NAME`, its age in seconds, the component, reason and message.
    Event(&'static str, i64, &'static str, &'static str, &'static str),
    /// A Service has this number of ready endpoints.
    Endpoints(&'static str, &'static str, usize),
    /// A resource or group version cannot be listed.
    Hidden(&'static str, HiddenCause, &'static str),
}

/// One of the situations, with what most of them do not have.
const NOTHING_ELSE: Genuine =
    Genuine { is: "", objects: "", gone: "", no_namespace: "", told: &[], log: "", expected: &[] };

impl Genuine {
    fn objects(&self) -> Vec<Object> {
        let mut text = self.objects.to_owned();
        for (short, long) in CONTENT {
            text = text.replace(short, long);
        }
        let mut objects = fixture::objects(&text);
        let is_namespace = |it: &&Object| it.kind.is("", "Namespace");
        let known: BTreeSet<_> =
            objects.iter().filter(is_namespace).map(|it| it.name.clone()).collect();
        let named: BTreeSet<_> = objects.iter().filter_map(|it| it.namespace.clone()).collect();
        let others =
            named.iter().filter(|it| ***it != *self.no_namespace && !known.contains(&***it));
        let others: Vec<Object> = others.map(|it| fixture::object(&format!("ns {it}"))).collect();
        objects.extend(others);
        objects
    }

    fn index(&self) -> Index {
        let now = fixture::now();
        let gone = fixture::objects(self.gone);
        let all: Vec<Object> = self.objects().into_iter().chain(gone.iter().cloned()).collect();
        let mut index = Index::default();
        index.apply(fixture::listing(&all), now);
        let deleted =
            gone.into_iter().map(|it| Observation::Deleted { kind: it.kind, uid: it.uid });
        index.apply(deleted, now - SignedDuration::from_secs(60));
        for at in [now - SignedDuration::from_secs(60), now] {
            index.apply(self.leases(at), at);
        }
        index.apply(self.answers(&all, now), now);
        index
    }

    /// A look at the leases.
    fn leases(&self, at: Timestamp) -> Vec<Observation> {
        let lease = |name: &str, renewed: String| Lease {
            name: name.into(),
            renewed: renewed.into(),
            duration: None,
        };
        let of_nodes: Vec<Lease> = self
            .told
            .iter()
            .filter_map(|told| match told {
                Told::Renews(node) => Some(lease(node, at.to_string())),
                Told::Still(node) => Some(lease(node, "long ago".into())),
                _ => None,
            })
            .collect();
        let of_manager = self.told.iter().any(|told| matches!(told, Told::ManagerRenews));
        let fetched = |question, leases| Observation::Fetched {
            question,
            answer: Ok(Answer::Leases(leases)),
        };
        let nodes = (!of_nodes.is_empty()).then(|| fetched(Question::NodeLeases, of_nodes));
        let manager = of_manager
            .then(|| fetched(Question::ManagerLease, vec![lease(MANAGER, at.to_string())]));
        nodes.into_iter().chain(manager).collect()
    }

    /// The answers to other questions.
    fn answers(&self, objects: &[Object], now: Timestamp) -> Vec<Observation> {
        let mut events: BTreeMap<&str, Vec<Event>> = BTreeMap::new();
        let mut others = Vec::new();
        for told in self.told {
            match *told {
                Told::Event(of, ago, by, reason, message) => {
                    let at = Some(now - SignedDuration::from_secs(ago));
                    let warns = !matches!(reason, "Killing" | "DeletingLoadBalancer" | "Scheduled");
                    let event = Event {
                        at,
                        warns,
                        by: by.into(),
                        reason: reason.into(),
                        message: message.into(),
                    };
                    events.entry(of).or_default().push(event);
                }
                Told::Endpoints(namespace, name, ready) => others.push(Observation::Fetched {
                    question: Question::Endpoints {
                        namespace: namespace.into(),
                        name: name.into(),
                    },
                    answer: Ok(Answer::Endpoints(ready)),
                }),
                Told::Hidden(resource, cause, message) => others.push(Observation::Hidden {
                    resource: resource.into(),
                    cause,
                    message: ApiProblem::from(message),
                }),
                Told::Renews(_) | Told::Still(_) | Told::ManagerRenews => {}
            }
        }
        let of_object = |(of, events): (&str, Vec<Event>)| {
            let (word, name) = of.split_once(' ').unwrap_or_default();
            let kind = fixture::kind(word);
            let is_it = |it: &&Object| {
                let full = it.reference().namespace.map_or_else(
                    || it.name.to_string(),
                    |namespace| format!("{namespace}/{}", it.name),
                );
                it.kind == kind && full == name
            };
            let object = objects.iter().find(is_it).unwrap_or_else(|| panic!("no {of}"));
            let question = Question::Events { of: object.reference(), uid: object.uid.clone() };
            Observation::Fetched { question, answer: Ok(Answer::Events(events)) }
        };
        events.into_iter().map(of_object).chain(others).collect()
    }

    /// The diagnoses, with what the log adds.
    fn diagnoses(&self, index: &Index, graph: &Graph) -> Vec<Diagnosis> {
        let now = fixture::now();
        let mut found = diagnose(index, graph, now);
        if !self.log.is_empty() {
            let log = kubelet_log::read(self.log);
            let report = |pod: &Uid| {
                let origin = AnswerOrigin::Pasted { by: "ada".into() };
                (pod.clone(), KubeletReport::of(&log, pod, origin, now))
            };
            let reports: BTreeMap<Uid, KubeletReport> = found
                .iter()
                .filter_map(|it| it.asked_of_kubelet())
                .map(|(held, _)| report(held))
                .collect();
            add_reports(&mut found, &reports);
        }
        found
    }

    /// The answer of the detectors, in the form of `expected`.
    fn answer(&self) -> Vec<String> {
        let index = self.index();
        let graph = Graph::of(&index);
        let line = |diagnosis: &Diagnosis| {
            let ways = remedies(diagnosis, &index, &graph, fixture::now());
            let first = ways.first().map_or_else(|| "-".into(), |it| format!("{:?}", it.act));
            let first = first.split([' ', '{', '(']).next().unwrap_or_default().to_owned();
            let root = &diagnosis.root;
            let name = match &root.namespace {
                Some(namespace) => format!("{namespace}/{}", root.name),
                None => root.name.to_string(),
            };
            let confidence = format!("{:?}", diagnosis.confidence).to_lowercase();
            format!("{} {} {name} {confidence} {first}", diagnosis.cause.name(), root.kind)
        };
        let mut lines: Vec<String> = self.diagnoses(&index, &graph).iter().map(line).collect();
        lines.sort();
        lines
    }
}

/// Whether an answer is the expected one. A `*` is any word.
fn fits(expected: &str, answer: &str) -> bool {
    let (expected, answer) = (expected.split(' '), answer.split(' '));
    expected.clone().count() == answer.clone().count()
        && expected.zip(answer).all(|(expected, answer)| expected == "*" || expected == answer)
}

/// The differences of all situations, in words.
fn misses(situations: &[Genuine]) -> Vec<String> {
    let miss = |it: &Genuine| {
        let answer = it.answer();
        let mut expected = it.expected.to_vec();
        expected.sort_unstable();
        let hit = expected.len() == answer.len()
            && expected.iter().zip(&answer).all(|(expected, answer)| fits(expected, answer));
        (!hit).then(|| format!("{}\n  expected {expected:#?}\n  found {answer:#?}", it.is))
    };
    situations.iter().filter_map(miss).collect()
}

#[track_caller]
fn check(situations: &[Genuine]) {
    let misses = misses(situations);
    assert!(misses.is_empty(), "{} of {}:\n{}", misses.len(), situations.len(), misses.join("\n"));
}

#[test]
fn pods_of_real_clusters_are_recognised() {
    check(&pods::ALL);
}

#[test]
fn volumes_of_real_clusters_are_recognised() {
    check(&storage::ALL);
}

#[test]
fn namespaces_of_real_clusters_are_recognised() {
    check(&namespaces::ALL);
}

#[test]
fn owners_and_operators_of_real_clusters_are_recognised() {
    check(&extensions::ALL);
}

#[test]
fn look_alikes_of_real_clusters_are_told_apart() {
    check(&look_alikes::ALL);
}

#[test]
fn a_kubelet_that_renews_its_lease_keeps_force_away() {
    let partitioned = look_alikes::ALL.iter().find(|it| it.is.starts_with("A partitioned node"));
    let it = partitioned.expect("the situation");
    let index = it.index();
    let graph = Graph::of(&index);
    for diagnosis in it.diagnoses(&index, &graph) {
        let ways = remedies(&diagnosis, &index, &graph, fixture::now());
        let forced = ways.iter().filter(|it| it.harm == Harm::DataLoss && it.withheld.is_none());
        assert_eq!(forced.count(), 0, "{}", diagnosis.id);
    }
}
