//! The cluster as the hub knows it: the index, the clock, and the values computed from the index.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp, Unit as TimeUnit};
use teardown::{
    advice::{Freshness, Standpoint},
    demo::Demo,
    derived::Derived,
    diagnosis::{
        AnswerOrigin, Diagnosis, KubeletAnswer, KubeletProblem, KubeletSubject, unanswered,
    },
    fetched::Question,
    graph::Graph,
    index::{Index, UnconfirmedEnd},
    message::Record,
    object::{ObjectRef, Uid},
    observation::Observation,
    remedy::{Attempt, Basis, PutBack, Remedy, Stamps, put_backs, remedies},
    run::Run,
    unit::{Unit, UnitId},
    wanted::{Wanted, wanted, wanted_unread},
    world::{OverviewCards, RunPages, World, diagnosis_card},
};
use tokio::time::Instant;

use super::{
    clock::Clock,
    delivery_status::DeliveryStatus,
    incoming::{DiagnosisTime, Remedies},
    kubelet_answers::KubeletAnswers,
};
use crate::journal::ClusterId;

/// The time for which the cluster is asked about diagnoses that nobody reads, for more than leases, and about checks that nobody looks
/// at.
const ASKED_FOR: SignedDuration = SignedDuration::from_mins(1);
/// The most diagnoses that are asked about before all others, with the rights that their ways out need: those that persons opened
/// last.
const OPENED: usize = 4;
/// The most rights that one of them is asked about.
const RIGHTS: usize = 16;

/// The cluster as the hub knows it.
pub(super) struct ClusterState {
    name: String,
    clock: Clock,
    /// The state of the simulation, passed on to the page as it is.
    demo: Option<Demo>,
    index: Index,
    derived: Derived,
    cards: OverviewCards,
    pages: RunPages,
    /// The questions of the diagnoses to the cluster.
    wanted: Wanted,
    /// Whether a page that somebody reads draws nodes.
    are_nodes_drawn: bool,
    /// The diagnoses whose ways out somebody read last, the latest last, each with the rights that they need.
    opened: VecDeque<(String, Vec<Question>)>,
    /// The last time at which somebody read something of the cluster.
    read: Option<Timestamp>,
    /// The last time at which somebody looked at the checks of a plan that were not complete.
    checked: Option<Timestamp>,
    kubelet_answers: KubeletAnswers,
    /// The state of the notifications about it.
    delivery: DeliveryStatus,
    diagnosis_time: DiagnosisTime,
}

/// The index with a graph and units that are up to date.
pub(super) struct Current<'a> {
    name: &'a str,
    demo: Option<&'a Demo>,
    pub(super) index: &'a Index,
    pub(super) graph: &'a Graph,
    pub(super) units: &'a BTreeMap<UnitId, Unit>,
    pub(super) diagnoses: &'a [Diagnosis],
    pub(super) now: Timestamp,
}

impl ClusterState {
    /// A cluster of which nothing has been observed.
    pub(super) fn new(name: String, now: Timestamp) -> Self {
        Self {
            name,
            clock: Clock::start(now),
            demo: None,
            index: Index::default(),
            derived: Derived::default(),
            cards: OverviewCards::default(),
            pages: RunPages::default(),
            wanted: Wanted::default(),
            are_nodes_drawn: false,
            opened: VecDeque::new(),
            read: None,
            checked: None,
            kubelet_answers: KubeletAnswers::default(),
            delivery: DeliveryStatus::default(),
            diagnosis_time: DiagnosisTime::default(),
        }
    }

    /// Starts the clock again at this time.
    pub(super) fn set_time(&mut self, now: Timestamp) {
        self.clock = Clock::start(now);
    }

    pub(super) fn observe(&mut self, observations: Vec<Observation>) {
        let now = self.clock.now();
        for observation in &observations {
            match observation {
                Observation::Time(cluster) => self.clock.follow(*cluster),
                Observation::Pace(pace) => self.clock.set_pace(*pace),
                _ => {}
            }
        }
        self.index.apply(observations, now);
    }

    /// Notes what went by force before this process began.
    pub(super) fn note_forced(&mut self, namespaces: Vec<Arc<str>>) {
        for namespace in namespaces {
            self.index.note_forced(namespace);
        }
    }

    /// Notes a namespace that is about to be finished by force.
    pub(super) fn note_forcing(&mut self, namespace: Uid) {
        self.index.note_forcing(namespace);
    }

    /// Takes over which objects lost a finalizer by hand, and which went from the API alone through remedies, or may have.
    pub(super) fn set_by_hand(&mut self, objects: HashSet<Uid>, ends: Vec<UnconfirmedEnd>) {
        self.index.set_by_hand(objects);
        self.index.set_ends_by_hand(ends);
    }

    /// Notes that a person answers for the ends of these objects.
    pub(super) fn answer_for(&mut self, objects: &[Uid]) {
        self.index.answer_for(objects);
    }

    /// Notes that the API server refused an update of an object with this answer.
    pub(super) fn note_refused_update(&mut self, uid: Uid, said: &str) {
        self.index.note_refused_update(uid, said, self.clock.now());
    }

    /// Keeps the state of the notifications.
    pub(super) fn set_delivery(&mut self, status: DeliveryStatus) {
        self.delivery = status;
    }

    /// The state of the notifications.
    pub(super) fn delivery(&self) -> &DeliveryStatus {
        &self.delivery
    }

    /// Keeps the state of the simulation.
    pub(super) fn set_demo(&mut self, demo: Demo) {
        self.demo = Some(demo);
    }

    /// The identity of this cluster, so that a run is never executed on another one.
    pub(super) fn id(&self) -> ClusterId {
        let system = self.index.find("", "Namespace", None, "kube-system");
        ClusterId::new(&self.name, system.map(|namespace| &namespace.uid))
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// The edges as of the last call of [`ClusterState::follow_edges`].
    pub(super) fn graph(&self) -> &Graph {
        self.derived.graph()
    }

    /// Brings the edges up to date with the index, for a decision of a run.
    pub(super) fn follow_edges(&mut self) {
        self.derived.follow_edges(&mut self.index);
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Milliseconds since the hub's start, by the monotonic clock.
    pub(super) fn milliseconds(&self) -> u64 {
        self.clock.milliseconds()
    }

    /// The instant of a time of the cluster; for a past time, the current instant.
    pub(super) fn instant(&self, at: Timestamp) -> Instant {
        self.clock.instant(at)
    }

    /// The ways out of a diagnosis as a person reads them, with the attempts at them; `None` if there is none of this id.
    pub(super) fn remedies(
        &mut self,
        diagnosis: &str,
        runs: &[&Run],
        mut attempts: Vec<Attempt>,
        are_allowed: bool,
    ) -> Option<Remedies> {
        let Current { name, index, graph, diagnoses, now, .. } = self.current();
        let diagnosis = diagnoses.iter().find(|it| it.id == diagnosis)?;
        let switched_off = put_backs(&attempts, index, graph, are_allowed, name, now);
        let card = diagnosis_card(&mut Stamps::new(index, graph), diagnosis, now, runs, &attempts);
        attempts.retain(|attempt| attempt.is_about(diagnosis));
        // A command that carries the time is the same for a minute, so that an open page does not change under its reader.
        let minute = now.round(TimeUnit::Minute).unwrap_or(now);
        let remedies = remedies(diagnosis, index, graph, minute);
        let standpoint = Standpoint {
            cluster: name.to_owned(),
            identity: index.identity().cloned(),
            freshness: Some(Freshness {
                unreachable: index.unreachable().map(|unreachable| unreachable.since),
                hidden: index.hidden_kinds().into_keys().collect(),
                unanswered: unanswered(index, diagnosis, now),
            }),
            now: minute,
        };
        let id = diagnosis.id.clone();
        self.note_opened(id, &remedies);
        Some(Remedies { standpoint, card, remedies, attempts, switched_off, are_allowed })
    }

    /// Has the cluster asked about a diagnosis and for the rights that its ways out need, for as long as somebody reads anything.
    fn note_opened(&mut self, diagnosis: String, remedies: &[Remedy]) {
        let mut rights: Vec<Question> = Vec::new();
        let needed = remedies.iter().flat_map(Remedy::permissions);
        for permission in needed.chain(remedies.iter().filter_map(Remedy::undo_permission)) {
            let question = Question::Permission(permission);
            if rights.len() < RIGHTS && !rights.contains(&question) {
                rights.push(question);
            }
        }
        self.opened.retain(|(id, _)| *id != diagnosis);
        self.opened.push_back((diagnosis, rights));
        if self.opened.len() > OPENED {
            self.opened.pop_front();
        }
        self.ask(self.clock.now());
    }

    /// Keeps what a person pasted about a diagnosis; `None` if there is none of this id that a kubelet works on.
    pub(super) fn keep_pasted(
        &mut self,
        diagnosis: &str,
        answer: &KubeletAnswer,
        by: &str,
    ) -> Option<()> {
        let Current { diagnoses, now, .. } = self.current();
        let found = diagnoses.iter().find(|it| it.id == diagnosis)?;
        let held = found.asked_of_kubelet()?.0.clone();
        self.kubelet_answers.keep(answer, &held, AnswerOrigin::Pasted { by: by.into() }, now);
        self.derived.diagnose_again();
        Some(())
    }

    /// Keeps the answer of a kubelet about these Pods.
    pub(super) fn keep_kubelet_answer(
        &mut self,
        pods: &[Uid],
        subject: KubeletSubject,
        answer: &Result<KubeletAnswer, KubeletProblem>,
    ) {
        let now = self.clock.now();
        for pod in pods {
            match answer {
                Ok(answer) => self.kubelet_answers.keep(answer, pod, AnswerOrigin::Queried, now),
                Err(problem) => self.kubelet_answers.keep_problem(problem, subject, pod, now),
            }
        }
        self.derived.diagnose_again();
    }

    /// A diagnosis with its ways out at this moment; `None` if there is none of this id.
    pub(super) fn ways_out(&mut self, diagnosis: &str) -> Option<(Diagnosis, Vec<Remedy>)> {
        let Current { index, graph, diagnoses, now, .. } = self.current();
        let diagnosis = diagnoses.iter().find(|it| it.id == diagnosis)?;
        Some((diagnosis.clone(), remedies(diagnosis, index, graph, now)))
    }

    /// The object that is not as it was when a person confirmed a remedy, before its request or after it.
    pub(super) fn changed(&mut self, basis: &Basis, is_sent: bool) -> Option<ObjectRef> {
        let now = if is_sent { None } else { self.ways_out(basis.diagnosis()) };
        let Current { index, diagnoses, .. } = self.current();
        if is_sent {
            basis.changed_after(diagnoses, index)
        } else {
            basis.changed_before(now.as_ref(), diagnoses, index)
        }
    }

    /// Notes that somebody looks at the checks of a plan: they need the lease of the kube-controller-manager.
    pub(super) fn note_checked(&mut self) {
        self.checked = Some(self.clock.now());
    }

    /// The questions of the diagnoses and of preflights to the cluster. Those of diagnoses are about leases alone while nobody reads them.
    pub(super) fn wanted(&mut self) -> &Wanted {
        let now = self.clock.now();
        let is_recent =
            |at: Option<Timestamp>| at.is_some_and(|at| now.duration_since(at) <= ASKED_FOR);
        let diagnoses = self.derived.diagnoses();
        if !is_recent(self.read) {
            self.wanted = wanted_unread(diagnoses);
        }
        if is_recent(self.checked) {
            self.wanted.questions.insert(Question::ManagerLease);
        } else if diagnoses.is_empty() {
            self.wanted.questions.remove(&Question::ManagerLease);
        }
        &self.wanted
    }

    /// The things that are switched off, with the ways to put them back.
    pub(super) fn put_backs(&mut self, attempts: &[Attempt], is_allowed: bool) -> Vec<PutBack> {
        self.follow();
        let (graph, now) = (self.derived.graph(), self.clock.now());
        put_backs(attempts, &self.index, graph, is_allowed, &self.name, now)
    }

    /// The records of the overview. The cards of its units are kept until they may differ.
    pub(super) fn overview(&mut self, runs: &[&Run], attempts: &[&Attempt]) -> Vec<Record> {
        self.current();
        let (stale, now) = (self.derived.take_stale(), self.clock.now());
        let Self { name, demo, index, derived, cards, .. } = self;
        let demo = demo.as_ref();
        let (graph, units, diagnoses) = (derived.graph(), derived.units(), derived.diagnoses());
        let world =
            World { cluster: name, demo, index, graph, units, runs, attempts, diagnoses, now };
        world.overview_with(cards, &stale)
    }

    /// The records of the page of a run. The cards of its steps are kept until they may differ.
    pub(super) fn run(
        &mut self,
        run: &Run,
        runs: &[&Run],
        attempts: &[&Attempt],
    ) -> Vec<Arc<Record>> {
        self.current();
        let now = self.clock.now();
        let Self { name, demo, index, derived, pages, .. } = self;
        let demo = demo.as_ref();
        let (graph, units, diagnoses) = (derived.graph(), derived.units(), derived.diagnoses());
        let world =
            World { cluster: name, demo, index, graph, units, runs, attempts, diagnoses, now };
        world.run_with(run, pages.of(&run.id, now))
    }

    /// The records of the page of a unit. The relations of its members are kept until they may differ.
    pub(super) fn unit(
        &mut self,
        id: &UnitId,
        runs: &[&Run],
        attempts: &[&Attempt],
    ) -> Option<Vec<Record>> {
        let now = self.current().now;
        let memberships = self.derived.memberships(&self.index, id, now).unwrap_or_default();
        self.current().world(runs, attempts).unit_with(id, &memberships)
    }

    /// Brings the graph, the units and the diagnoses up to date with the index, which remembers a bounded number of changes.
    pub(super) fn follow(&mut self) {
        let now = self.clock.now();
        self.pages.forget_unread(now);
        let began = Instant::now();
        if self.derived.follow(&mut self.index, now) {
            self.kubelet_answers.add_to(self.derived.diagnoses_mut());
            let diagnoses = self.derived.diagnoses();
            self.opened.retain(|(id, _)| diagnoses.iter().any(|it| it.id == *id));
            self.ask(now);
            self.diagnosis_time.rounds += 1;
            self.diagnosis_time.took += began.elapsed();
        }
    }

    /// The time for the diagnoses so far.
    pub(super) fn diagnosis_time(&self) -> DiagnosisTime {
        self.diagnosis_time
    }

    /// Notes whether a page that somebody reads draws nodes: their leases are looked at then.
    pub(super) fn draw_nodes(&mut self, are_drawn: bool) {
        if self.are_nodes_drawn != are_drawn {
            self.are_nodes_drawn = are_drawn;
            self.ask(self.clock.now());
        }
    }

    fn ask(&mut self, now: Timestamp) {
        let (graph, diagnoses) = (self.derived.graph(), self.derived.diagnoses());
        let opened: Vec<&str> = self.opened.iter().map(|(id, _)| &**id).collect();
        self.wanted = wanted(&self.index, graph, diagnoses, &opened, self.are_nodes_drawn, now);
        let rights = self.opened.iter().flat_map(|(_, rights)| rights);
        self.wanted.questions.extend(rights.cloned());
    }

    /// The cluster for a reader, up to date.
    pub(super) fn current(&mut self) -> Current<'_> {
        self.follow();
        let now = self.clock.now();
        self.read = Some(now);
        let Self { name, demo, index, derived, .. } = self;
        let (graph, units, diagnoses) = (derived.graph(), derived.units(), derived.diagnoses());
        Current { name, demo: demo.as_ref(), index, graph, units, diagnoses, now }
    }
}

impl<'a> Current<'a> {
    /// The cluster with these runs, for the views of the topics.
    pub(super) fn world(self, runs: &'a [&'a Run], attempts: &'a [&'a Attempt]) -> World<'a> {
        let Self { name: cluster, demo, index, graph, units, diagnoses, now } = self;
        World { cluster, demo, index, graph, units, runs, attempts, diagnoses, now }
    }
}
