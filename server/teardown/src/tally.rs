//! Counts the state of the cluster and of the runs at one moment, for monitoring. A tally has codes, states and resources,
//! and never the name of an object, so its size is bounded by the kinds of the cluster.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{
    diagnosis::Confidence,
    observation::HiddenCause,
    run::RunState,
    state::{Counts, State},
    world::World,
};

/// The counts at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The time of the counts, by the cluster's clock.
    pub now: Timestamp,
    /// Whether the API server answers.
    pub reachable: bool,
    /// The kinds whose objects have been listed, or that are hidden.
    pub kinds_listed: usize,
    /// The kinds whose first list has not arrived yet.
    pub kinds_pending: usize,
    /// The resources and group versions that are hidden.
    pub hidden: BTreeMap<String, HiddenCause>,
    /// `None` until every visible kind has been listed: before that, a count of 0 would say nothing.
    pub complete: Option<CompleteTally>,
}

/// The counts that mean something only once every visible kind has been listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompleteTally {
    /// The known objects.
    pub objects: usize,
    /// The deletions that wait, by the code of their cause and how sure it is. An object with two roots counts for each.
    pub waiting: BTreeMap<(&'static str, Confidence), WaitingTally>,
    /// The objects that are being deleted and wait for none of these causes.
    pub in_time: usize,
    /// The runs in each state.
    pub runs: Vec<(RunState, usize)>,
    /// The steps of the runs that are not over, in each state.
    pub steps: Counts,
}

/// The deletions that wait for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingTally {
    /// The objects.
    pub objects: usize,
    /// The roots: places where the cause sits.
    pub roots: usize,
    /// The roots with an object past its deadline; where waiting may end the cause, only objects at the root count.
    pub stuck: usize,
    /// The time at which the first of the objects was deleted.
    pub oldest: Timestamp,
}

/// The states in which a step of a run that is not over can be.
pub const STEP_STATES: [State; 11] = [
    State::Kept,
    State::Waiting,
    State::Requested,
    State::Terminating,
    State::Slow,
    State::Stuck,
    State::Refused,
    State::Gone,
    State::CameBack,
    State::Skipped,
    State::Unknown,
];

impl World<'_> {
    /// Counts the state at this moment.
    pub fn tally(&self) -> Tally {
        let pending = self.index.pending_kinds();
        let hidden = self.index.hidden_kinds();
        Tally {
            now: self.now,
            reachable: self.index.version().is_some() && self.index.unreachable().is_none(),
            kinds_listed: self.index.kinds() - pending,
            kinds_pending: pending,
            hidden: hidden.into_iter().map(|(resource, kind)| (resource, kind.cause)).collect(),
            complete: self.index.is_synced().then(|| self.complete_tally()),
        }
    }

    fn complete_tally(&self) -> CompleteTally {
        let mut waiting: BTreeMap<(&str, Confidence), WaitingTally> = BTreeMap::new();
        for diagnosis in self.diagnoses {
            let none = WaitingTally { objects: 0, roots: 0, stuck: 0, oldest: diagnosis.since };
            let key = (diagnosis.cause.name(), diagnosis.confidence);
            let tally = waiting.entry(key).or_insert(none);
            tally.objects += diagnosis.total;
            tally.roots += 1;
            tally.stuck += usize::from(diagnosis.stuck);
            tally.oldest = tally.oldest.min(diagnosis.since);
        }
        let in_state =
            |state: RunState| (state, self.runs.iter().filter(|run| run.state() == state).count());
        let mut steps: Counts = STEP_STATES.iter().map(|state| (*state, 0)).collect();
        for run in self.runs.iter().filter(|run| !run.state().is_ended()) {
            for (step, _) in run.steps() {
                *steps.entry(run.shown(step)).or_default() += 1;
            }
        }
        let runs = RunState::ALL.map(in_state).into();
        let in_time = self.in_time().count();
        CompleteTally { objects: self.index.len(), waiting, in_time, runs, steps }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;

    use super::*;
    use crate::{
        diagnosis::diagnose,
        fixture,
        graph::Graph,
        index::Index,
        observation::Observation,
        plan::{self, Choices},
        run::{Run, RunEvent, RunId},
        unit::{UnitId, units},
    };

    fn tally_of(index: &Index, runs: &[&Run], now: Timestamp) -> Tally {
        let graph = Graph::of(index);
        let units = units(index, &graph);
        let diagnoses = diagnose(index, &graph, now);
        let diagnoses = &diagnoses;
        World {
            cluster: "test",
            demo: None,
            index,
            graph: &graph,
            units: &units,
            runs,
            attempts: &[],
            diagnoses,
            now,
        }
        .tally()
    }

    #[test]
    fn waiting_deletions_are_counted_by_cause_and_the_oldest_is_the_first_deleted() {
        let index = fixture::index(
            "
            ns shop
            pvc shop/a deleted=600 finalizers=kubernetes.io/pvc-protection
            pvc shop/b deleted=900 finalizers=kubernetes.io/pvc-protection
            pod shop/user node=n1 uses=claim:a,claim:b
            node n1
            cm shop/c deleted=5
            ",
        );
        let complete = tally_of(&index, &[], fixture::now()).complete.unwrap();
        let oldest = fixture::now() - SignedDuration::from_secs(900);
        let tally = WaitingTally { objects: 2, roots: 2, stuck: 2, oldest };
        let expected = BTreeMap::from([(("claimInUse", Confidence::Confirmed), tally)]);
        assert_eq!(complete.waiting, expected);
        assert_eq!(complete.objects, index.len());
        assert_eq!(complete.in_time, 1, "the ConfigMap waits for nothing");
    }

    #[test]
    fn root_within_the_grace_period_of_its_pod_is_counted_and_not_as_stuck() {
        let index = fixture::index(
            "
            node n1
            ns shop deleted=900
            pvc shop/data deleted=900 finalizers=kubernetes.io/pvc-protection
            pod shop/db node=n1 deleted=900 grace=3600 containers=db:running uses=claim:data
            ",
        );
        let complete = tally_of(&index, &[], fixture::now()).complete.unwrap();
        let oldest = fixture::now() - SignedDuration::from_secs(900);
        let tally = WaitingTally { objects: 3, roots: 1, stuck: 0, oldest };
        let expected = BTreeMap::from([(("withinGrace", Confidence::Inferred), tally)]);
        assert_eq!(complete.waiting, expected);
    }

    #[test]
    fn nothing_is_counted_before_every_kind_is_listed() {
        let mut index = fixture::index("ns shop\npod shop/web deleted=9000");
        let kind = fixture::object("Widget.example.com shop/one").kind;
        assert!(tally_of(&index, &[], fixture::now()).complete.is_some());
        index.apply([Observation::Watching(kind)], fixture::now());
        let tally = tally_of(&index, &[], fixture::now());
        assert_eq!((tally.complete, tally.kinds_pending), (None, 1));
        assert_eq!(tally.kinds_listed + tally.kinds_pending, index.kinds());
    }

    #[test]
    fn steps_are_counted_while_their_run_is_not_over() {
        let index = fixture::index("ns shop of=shop\ncm shop/prices of=shop");
        let (graph, now) = (Graph::of(&index), fixture::now());
        let unit = &units(&index, &graph)[&UnitId::new("shop")];
        let plan = Arc::new(plan::plan(&index, &graph, unit, &Choices::default(), now).unwrap());
        let mut run = Run::new(RunId::new("r"), plan.clone());
        run.apply(now, &RunEvent::Started { by: "Li".into() }).unwrap();
        let complete = tally_of(&index, &[&run], now).complete.unwrap();
        assert_eq!(complete.steps[&State::Waiting], plan.steps.len());
        assert_eq!(complete.runs[0], (RunState::Running, 1));
        assert_eq!(complete.steps.values().sum::<usize>(), plan.steps.len());

        run.apply(now, &RunEvent::Stopping { by: "Li".into() }).unwrap();
        run.apply(now, &RunEvent::Stopped).unwrap();
        let complete = tally_of(&index, &[&run], now).complete.unwrap();
        assert_eq!(complete.steps.values().sum::<usize>(), 0);
        assert!(complete.runs.contains(&(RunState::Stopped, 1)));
    }
}
