//! Tests of a run without hub or cluster: the index is a fixture, and the test supplies the outcomes of calls.

mod visibility;
mod late_objects;
mod namespace_content;
mod storage;
mod dependents;
mod stop;
mod transition;
mod refusal;
mod script;
mod retry;
mod skip;

mod by_hand;
mod came_back;
mod compact;
mod confirmed;
mod kept_data;
mod parent;
mod read_first;
mod unplanned;

use std::collections::BTreeSet;

use super::*;

use crate::{
    action::{Action, ActionTarget, Outcome},
    fixture,
    graph::Graph,
    index::Index,
    object::Facts,
    observation::{AwayCause, HiddenCause, Observation},
    plan::{Choices, plan},
    unit::{UnitId, units},
    unknown_reason::UnknownReason,
};

struct Scenario {
    /// Every event so far.
    journal: Vec<Recorded>,
    run: Run,
    index: Index,
    now: Timestamp,
}

impl Scenario {
    /// A run of the plan of `shop`.
    fn of(text: &str) -> Self {
        Self::with(text, &Choices::default())
    }

    fn with(text: &str, choices: &Choices) -> Self {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let now = fixture::now();
        let plan = plan(&index, &graph, &units[&UnitId::new("shop")], choices, now).unwrap();
        let run = Run::new(RunId::new("r"), Arc::new(plan));
        let mut scenario = Self { journal: vec![], run, index, now };
        scenario.record(&RunEvent::Started { by: "Li".into() });
        scenario
    }

    fn record(&mut self, event: &RunEvent) {
        self.run.apply(self.now, event).unwrap();
        self.journal.push((self.now, event.clone()));
        let mut steps = self.run.steps();
        assert!(steps.all(|(_, it)| it.call.is_none() || it.is_present()), "a call in vain");
    }

    fn apply_input(&mut self, input: &Input) -> Decision {
        let decision = self.run.decide(input, &self.index, self.now).unwrap();
        decision.events.iter().for_each(|event| self.record(event));
        decision
    }

    /// Reconciles once. An object that is read just before its DELETE is as it was planned, and so is the content of a
    /// namespace. A claim that is read at the end is as the index has it.
    fn decide(&mut self) -> Decision {
        let mut decision = self.apply_input(&Input::Reconcile);
        let mut open = std::mem::take(&mut decision.actions);
        while let Some(action) = open.pop() {
            match action {
                Action::ReadContent { .. } => {
                    let outcome = Outcome::Content { objects: vec![], unlisted: vec![] };
                    let follows = self.apply_input(&Input::CallCompleted { action, outcome });
                    decision.actions.extend(follows.actions);
                }
                Action::ReadClaim { ref target } => {
                    let outcome = self.claim_as_it_is(&target.uid);
                    let follows = self.apply_input(&Input::CallCompleted { action, outcome });
                    decision.actions.extend(follows.actions);
                }
                Action::Read { step, .. } if !self.run.progress(step).unwrap().effect_unknown => {
                    let outcome = self.unchanged(step);
                    let follows = self.apply_input(&Input::CallCompleted { action, outcome });
                    open.extend(follows.actions);
                }
                action => decision.actions.push(action),
            }
        }
        decision
    }

    /// Reconciles until nothing follows, and returns the calls as sorted text.
    fn reconcile(&mut self) -> Vec<String> {
        let mut calls = Vec::new();
        loop {
            let decision = self.decide();
            if decision.is_empty() {
                calls.sort();
                return calls;
            }
            calls.extend(decision.actions.iter().map(|action| match action {
                Action::Delete { target, .. } => format!("DELETE {}", target.object),
                Action::Suspend { target, .. } => format!("PATCH {}", target.object),
                Action::Read { target, .. } | Action::ReadClaim { target } => {
                    format!("GET {}", target.object)
                }
                Action::ReadPods { target, .. } => {
                    format!("LIST pods in {}", target.object.namespace.as_deref().unwrap())
                }
                Action::ReadContent { target, .. } => {
                    format!("LIST everything in {}", target.object.name)
                }
            }));
        }
    }

    /// A read of a step's object that shows it as it was planned.
    fn unchanged(&self, step: StepId) -> Outcome {
        let named = self.run.plan.step(step).unwrap().named.clone();
        Outcome::Present { terminating: false, version: "1".into(), named }
    }

    /// A read of a claim whose data is kept.
    fn claim_as_it_is(&self, claim: &Uid) -> Outcome {
        let Some(object) = self.index.get(claim) else { return Outcome::NotFound };
        let Facts::Claim(claim) = &object.facts else { panic!("{object:?} is no claim") };
        Outcome::Claim { phase: claim.phase.clone(), terminating: object.deletion.is_some() }
    }

    fn id(&self, uid: &str) -> StepId {
        let uid = fixture::uid(uid);
        self.run.plan.steps.iter().find(|step| step.uid == uid).unwrap().id
    }

    fn progress(&self, uid: &str) -> &Progress {
        self.run.progress(self.id(uid)).unwrap()
    }

    /// Completes the step's last call with this outcome.
    fn answer(&mut self, uid: &str, outcome: Outcome) {
        let step = self.run.plan.step(self.id(uid)).unwrap();
        let (step, target) = (step.id, ActionTarget::of(step));
        let action = match self.run.progress(step).unwrap().call {
            Some(Call::Delete) => {
                Action::Delete { step, target, propagation: Propagation::Background }
            }
            Some(Call::ReadPods) => Action::ReadPods { step, target },
            Some(Call::ReadContent) => Action::ReadContent { step, target, unproven: vec![] },
            Some(Call::Suspend) => Action::Suspend { step, target, patch: serde_json::Value::Null },
            Some(Call::Read) | None => Action::Read { step, target },
        };
        _ = self.apply_input(&Input::CallCompleted { action, outcome });
    }

    fn see(&mut self, observation: Observation) {
        self.index.apply([observation], self.now);
    }

    fn applied(&mut self, line: &str) {
        self.see(Observation::Applied(Box::new(fixture::object(line))));
    }

    fn gone(&mut self, line: &str) {
        let object = fixture::object(line);
        self.see(Observation::Deleted { kind: object.kind, uid: object.uid });
    }

    fn hidden(&mut self, resource: &str) {
        let (resource, cause) = (resource.to_owned(), HiddenCause::Forbidden);
        self.see(Observation::Hidden { resource, cause, message: "forbidden".into() });
    }

    fn visible(&mut self, resource: &str) {
        self.see(Observation::Visible { resource: resource.to_owned() });
    }

    fn pass(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
    }

    fn steer(&mut self, input: &Input) {
        _ = self.apply_input(input);
    }

    /// The numbers of untouched, requested and gone objects when the run stopped.
    fn stopped(&self) -> Option<(usize, usize, usize)> {
        self.run.event_log().iter().find_map(|entry| match entry.event {
            FeedEvent::Stopped { untouched, requested, gone, .. } => {
                Some((untouched, requested, gone))
            }
            _ => None,
        })
    }
}

fn command(command: RunCommand) -> Input {
    Input::Command { command, by: "Li".to_owned() }
}

/// The object outside the plan that blocks a step.
#[track_caller]
fn user_of(scenario: &Scenario, step: &str) -> String {
    match &scenario.progress(step).hold.problem {
        Some(StepProblem::Unknown { reason: UnknownReason::InUse { by } }) => by.to_string(),
        other => panic!("{step}: {other:?}"),
    }
}

fn accepted(scenario: &mut Scenario, uid: &str) {
    scenario.answer(uid, Outcome::Accepted);
}
