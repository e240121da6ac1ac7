//! Tests of a run without hub or cluster: the index is a fixture, and the test supplies the outcomes of calls.

mod visibility;
mod waived;
mod late_objects;
mod late_roles;
mod namespace_content;
mod storage;
mod dependents;
mod stop;
mod transition;
mod refusal;
mod script;
mod wording;
mod retry;
mod skip;

mod by_hand;
mod came_back;
mod commands;
mod compact;
mod confirmed;
mod guards;
mod kept_data;
mod parent;
mod read_first;
mod shown;
mod unplanned;
mod version;

use std::collections::BTreeSet;

use super::*;

use crate::{
    action::{Action, Outcome},
    fixture,
    graph::Graph,
    index::Index,
    object::{Facts, PodReferenceKind},
    observation::{AwayCause, HiddenCause, Observation},
    plan::{Choices, plan},
    unit::{UnitId, units},
    unknown_reason::UnknownReason,
};

struct Scenario {
    /// Every event so far.
    journal: Vec<Recorded>,
    /// Every call so far.
    calls: Vec<Action>,
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
        Self::of_unit(text, "shop", choices)
    }

    fn of_unit(text: &str, unit: &str, choices: &Choices) -> Self {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let units = units(&index, &graph);
        let now = fixture::now();
        let plan = plan(&index, &graph, &units[&UnitId::new(unit)], choices, now).unwrap();
        let run = Run::new(RunId::new("r"), Arc::new(plan));
        let mut scenario = Self { journal: vec![], calls: vec![], run, index, now };
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
        let graph = Graph::of(&self.index);
        let decision = self.run.decide(input, &self.index, &graph, self.now).unwrap();
        decision.events.iter().for_each(|event| self.record(event));
        self.calls.extend(decision.actions.iter().cloned());
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
            calls.extend(decision.actions.iter().map(wording::call_of));
        }
    }

    /// A read of a step's object that shows it as it was planned.
    fn unchanged(&self, step: StepId) -> Outcome {
        let named = self.run.plan.step(step).unwrap().named.clone();
        Outcome::Present { terminating: false, version: "1".into(), named, keep: None }
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

    /// Completes the last call about this object with this outcome, and returns the calls that follow at once.
    fn answer(&mut self, uid: &str, outcome: Outcome) -> Vec<Action> {
        let action = self.last_call(uid).clone();
        self.apply_input(&Input::CallCompleted { action, outcome }).actions
    }

    fn last_call(&self, uid: &str) -> &Action {
        let uid = fixture::uid(uid);
        let made = self.calls.iter().rfind(|action| action.target().uid == uid);
        made.unwrap_or_else(|| panic!("no call about {uid}"))
    }

    /// Whether the last call about this object is in flight.
    fn is_awaited(&self, uid: &str) -> bool {
        let call = self.last_call(uid);
        match call.step().and_then(|step| self.run.progress(step)) {
            Some(progress) => progress.call == Call::of(call),
            None => self.run.kept_claims.get(&call.target().uid).is_some_and(|it| it.is_being_read),
        }
    }

    /// The unit that the plan found named by an object.
    fn planned_unit(&self, uid: &str) -> Option<UnitId> {
        self.run.plan.step(self.id(uid)).unwrap().named.clone()
    }

    fn is_step(&self, uid: &str) -> bool {
        self.run.step_of(&fixture::uid(uid)).is_some()
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
}

fn command(command: RunCommand) -> Input {
    Input::Command { command, by: "Li".to_owned() }
}
