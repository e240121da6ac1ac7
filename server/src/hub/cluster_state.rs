//! The cluster as the hub knows it: the index, the clock, and the values computed from the index.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp, Unit as TimeUnit};
use teardown::{
    advice::{Freshness, Standpoint},
    diagnosis::{Diagnosis, LogOrigin, diagnose, kubelet_log::KubeletLog},
    fetched::Question,
    graph::Graph,
    index::Index,
    observation::Observation,
    remedy::{Attempt, Remedy, remedies},
    run::Run,
    unit::{Unit, UnitId, units},
    wanted::wanted,
    world::{World, diagnosis_card},
};
use tokio::time::Instant;

use super::{clock::Clock, handle::Remedies, kubelet_logs::KubeletLogs};
use crate::journal::ClusterId;

/// The longest time for which a diagnosis is shown although nothing changed: a deletion becomes late by waiting.
const DIAGNOSED_FOR: SignedDuration = SignedDuration::from_secs(1);
/// The time for which the cluster is asked about a diagnosis that nobody reads.
const ASKED_FOR: SignedDuration = SignedDuration::from_mins(1);

/// The cluster as the hub knows it.
pub(super) struct ClusterState {
    name: String,
    clock: Clock,
    index: Index,
    /// The state of the index from which the graph and the units were computed.
    computed: u64,
    graph: Graph,
    units: BTreeMap<UnitId, Unit>,
    diagnoses: Vec<Diagnosis>,
    /// The time of the diagnoses.
    diagnosed: Option<Timestamp>,
    /// The questions of the diagnoses to the cluster.
    wanted: BTreeSet<Question>,
    kubelet_logs: KubeletLogs,
}

/// The index with a graph and units that are up to date.
pub(super) struct Current<'a> {
    name: &'a str,
    pub(super) index: &'a Index,
    pub(super) graph: &'a Graph,
    pub(super) units: &'a BTreeMap<UnitId, Unit>,
    pub(super) diagnoses: &'a [Diagnosis],
    pub(super) now: Timestamp,
}

impl ClusterState {
    /// A cluster of which nothing has been observed.
    pub(super) fn new(name: String, now: Timestamp) -> Self {
        let index = Index::default();
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let computed = index.changes();
        let (clock, diagnoses) = (Clock::start(now), Vec::new());
        let (wanted, kubelet_logs) = (BTreeSet::new(), KubeletLogs::default());
        Self {
            name,
            clock,
            computed,
            index,
            graph,
            units,
            diagnoses,
            diagnosed: None,
            wanted,
            kubelet_logs,
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

    /// The identity of this cluster, so that a run is never executed on another one.
    pub(super) fn id(&self) -> ClusterId {
        let system = self.index.find("", "Namespace", None, "kube-system");
        ClusterId::new(&self.name, system.map(|namespace| &namespace.uid))
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
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
        mut attempts: Vec<Attempt>,
        are_allowed: bool,
    ) -> Option<Remedies> {
        attempts.retain(|attempt| attempt.diagnosis == diagnosis);
        let Current { name, index, graph, diagnoses, now, .. } = self.current();
        let diagnosis = diagnoses.iter().find(|it| it.id == diagnosis)?;
        // A command that carries the time is the same for a minute, so that an open page does not change under its reader.
        let minute = now.round(TimeUnit::Minute).unwrap_or(now);
        let remedies = remedies(diagnosis, index, graph, minute);
        let card = diagnosis_card(index, diagnosis, &attempts);
        let standpoint = Standpoint {
            cluster: name.to_owned(),
            identity: index.identity().cloned(),
            freshness: Some(Freshness {
                unreachable: index.unreachable().map(|unreachable| unreachable.since),
                hidden: index.hidden_kinds().into_keys().collect(),
            }),
            now: minute,
        };
        Some(Remedies { standpoint, card, remedies, attempts, are_allowed })
    }

    /// Keeps lines that a person pasted about a diagnosis; `None` if there is none of this id that a kubelet works on.
    pub(super) fn keep_kubelet_log(
        &mut self,
        diagnosis: &str,
        log: &KubeletLog,
        by: &str,
    ) -> Option<()> {
        let Current { diagnoses, now, .. } = self.current();
        let found = diagnoses.iter().find(|it| it.id == diagnosis)?;
        let pod = found.pod_of_kubelet()?.0.clone();
        self.kubelet_logs.keep(log, &pod, LogOrigin::Pasted { by: by.into() }, now);
        self.diagnosed = None;
        Some(())
    }

    /// A diagnosis with its ways out at this moment; `None` if there is none of this id.
    pub(super) fn ways_out(&mut self, diagnosis: &str) -> Option<(Diagnosis, Vec<Remedy>)> {
        let Current { index, graph, diagnoses, now, .. } = self.current();
        let diagnosis = diagnoses.iter().find(|it| it.id == diagnosis)?;
        Some((diagnosis.clone(), remedies(diagnosis, index, graph, now)))
    }

    /// The questions of the diagnoses to the cluster. There are none while nobody reads the diagnoses.
    pub(super) fn wanted(&mut self) -> &BTreeSet<Question> {
        let now = self.clock.now();
        if self.diagnosed.is_some_and(|at| now.duration_since(at) > ASKED_FOR) {
            self.wanted.clear();
        }
        &self.wanted
    }

    /// Computes the graph, the units and the diagnoses from the index, unless they are up to date.
    pub(super) fn current(&mut self) -> Current<'_> {
        let (changes, now) = (self.index.changes(), self.clock.now());
        let has_changed = self.computed != changes;
        if has_changed {
            self.graph = Graph::of(&self.index);
            self.units = units(&self.index, &self.graph);
            self.computed = changes;
        }
        let is_old = |at: Timestamp| now.duration_since(at) >= DIAGNOSED_FOR || now < at;
        if has_changed || self.diagnosed.is_none_or(is_old) {
            // Before every kind is listed, what is not known yet would look as if it were not there.
            let is_synced = self.index.is_synced();
            self.diagnoses =
                if is_synced { diagnose(&self.index, &self.graph, now) } else { Vec::new() };
            self.kubelet_logs.add_to(&mut self.diagnoses);
            self.diagnosed = Some(now);
            self.wanted = wanted(&self.index, &self.graph, &self.diagnoses);
        }
        let Self { name, index, graph, units, diagnoses, .. } = self;
        Current { name, index, graph, units, diagnoses, now }
    }
}

impl<'a> Current<'a> {
    /// The cluster with these runs, for the views of the topics.
    pub(super) fn world(self, runs: &'a [&'a Run], attempts: &'a [&'a Attempt]) -> World<'a> {
        let Self { name: cluster, index, graph, units, diagnoses, now } = self;
        World { cluster, index, graph, units, runs, attempts, diagnoses, now }
    }
}
