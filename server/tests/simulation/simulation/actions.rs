//! The scheduled faults and commands, their repair, and the clean-up at the end.

use server::hub::{HubHandle, Start, TakenOn};
use teardown::{
    message::{Message, Record, Topic},
    object::ObjectRef,
    plan::{Choice, Choices, StepId},
    run::{RunCommand, RunId, StepProblem},
    unit::UnitId,
    unknown_reason::UnknownReason,
};
use tokio::time::{Instant, timeout};

use super::{ANSWER_TIMEOUT, FeatureSet, Simulation};
use crate::{
    application::{
        UNIT,
        late_object::{self, UNPLANNED},
        object,
    },
    fault_schedule::{NODES, ScheduledAction},
    http_client::HttpClient,
    mutant::Mutant,
    state::namespace,
};

impl Simulation {
    pub(super) fn inject_faults(&mut self) {
        self.faults_began = Some(Instant::now());
        let script = self.schedule.script.clone();
        let parsed = self.environment.sandbox.with(|world| {
            let faults = world.parse_faults(&script);
            faults.map(|faults| world.cluster.faults = faults)
        });
        self.environment.sandbox.wake();
        if let Err(error) = parsed {
            self.report("setup", error.to_string());
        }
    }

    /// Repairs all faults, and lets the scaled and tainted objects recover.
    pub(super) fn heal(&mut self) {
        self.log("ALL FAULTS ARE REPAIRED");
        self.healed = Some(self.environment.transcript.now());
        self.environment.disk.repair();
        self.environment.sandbox.with(|world| {
            world.repair();
        });
        self.environment.sandbox.wake();
        for node in NODES {
            self.taint(node, false);
        }
        for (namespace, name) in self.application.backends.clone() {
            self.scale(&namespace, &name, 1);
        }
        self.take_all_back();
    }

    /// The operator's clean-up: resume paused runs, skip steps that would lose unplanned data, do what a page asks for,
    /// delete objects outside of the plan.
    pub(super) async fn resume_and_clean_up(&mut self, with_late_objects: bool) {
        for (run, ended) in self.environment.disk.runs() {
            if !ended && let Some(instance) = &self.instance {
                let run = RunId::new(run);
                let mut commands = vec![RunCommand::Resume];
                if with_late_objects {
                    commands.extend(
                        steps_losing_unplanned_data(&instance.hub, &run)
                            .await
                            .into_iter()
                            .map(RunCommand::Skip),
                    );
                }
                for parent in parents_to_suspend(&instance.hub, &run).await {
                    self.suspend(&parent);
                }
                if with_late_objects && self.environment.visible.is_some() {
                    self.help_with_more_rights(&instance.hub, &run).await;
                }
                for (step, answer) in storage_to_take_on(&instance.hub, &run).await {
                    let taken = instance.hub.take_on(run.clone(), step, answer, "Li".to_owned());
                    _ = timeout(ANSWER_TIMEOUT, taken).await;
                }
                for command in commands {
                    let accepted = instance.hub.command(run.clone(), command, "Li".to_owned());
                    _ = timeout(ANSWER_TIMEOUT, accepted).await;
                }
            }
        }
        self.clean_up(with_late_objects);
    }

    pub(super) async fn perform(&mut self, action: ScheduledAction) {
        self.log(format!("{action:?}"));
        match action {
            ScheduledAction::Kill => self.kill_and_notify("killed").await,
            ScheduledAction::CrashAtWrite(after, crash_point) => {
                self.environment.disk.crash_at_write(after, crash_point)
            }
            ScheduledAction::CrashAtDelete(after, with_effect) => {
                self.environment.arrivals.crash_at_delete(after, with_effect)
            }
            ScheduledAction::UnauthenticatedRequests => self.send_unauthenticated_requests().await,
            ScheduledAction::Compact => {
                self.pull_events();
                self.environment.sandbox.with(|world| {
                    let store = &mut world.cluster.store;
                    store.compact(store.revision());
                });
            }
            ScheduledAction::LateObject(namespace) => {
                let config = object("v1", "ConfigMap", &namespace, UNPLANNED);
                self.create_object(&namespace, config);
            }
            ScheduledAction::NewKind => self.create_object("", late_object::new_definition()),
            ScheduledAction::UnseenObject(namespace, plural) => {
                let object = match plural {
                    late_object::NEW_PLURAL => late_object::new_object(&namespace),
                    "widgets" => object("example.com/v1", "Widget", &namespace, UNPLANNED),
                    _ => late_object::limit_range(&namespace),
                };
                self.create_object(&namespace, object);
            }
            ScheduledAction::UnplannedPod(pod) => {
                let within = namespace(&pod).to_owned();
                self.create_object(&within, pod);
            }
            // After the repair nothing would undo these.
            ScheduledAction::BackendLost(..)
            | ScheduledAction::Taint(_)
            | ScheduledAction::FailDisk(_)
            | ScheduledAction::AskToKeep(..)
                if self.healed.is_some() => {}
            ScheduledAction::BackendLost(namespace, name) => self.scale(&namespace, &name, 0),
            ScheduledAction::FailDisk(failure) => self.environment.disk.fail(failure),
            ScheduledAction::Taint(node) => self.taint(node, true),
            ScheduledAction::AskToKeep(step, mark) => self.ask_to_keep(step, mark),
            ScheduledAction::TakeBack(step) => self.take_back(step),
            ScheduledAction::ForcedDeletion => self.delete_by_force(),
            ScheduledAction::UnplannedMount(namespace, claim) => {
                self.mount_claim(&namespace, &claim)
            }
            ScheduledAction::Pause => self.command(RunCommand::Pause).await,
            ScheduledAction::Resume => self.command(RunCommand::Resume).await,
            ScheduledAction::Stop => self.command(RunCommand::Stop).await,
            ScheduledAction::Skip(step) => {
                let steps = self.plan.as_ref().map_or(0, |plan| plan.steps.len()) as u64;
                if steps > 0 {
                    let step = u32::try_from(step % steps).unwrap_or_default();
                    self.command(RunCommand::Skip(StepId(step))).await;
                }
            }
            ScheduledAction::SecondRun { namespace } => self.second_run(namespace).await,
        }
    }

    async fn kill_and_notify(&mut self, why: &str) {
        if self.instance.is_some() {
            self.kill(why).await;
            self.environment.stopped.notify_one();
        }
    }

    async fn command(&mut self, command: RunCommand) {
        let (Some(instance), Some(run)) = (&self.instance, &self.run) else { return };
        let accepted = instance.hub.command(run.clone(), command, "Li".to_owned());
        let answer = timeout(ANSWER_TIMEOUT, accepted).await;
        self.check_for_leak("a command to a run", &format!("{answer:?}"));
        self.log(format!("  {answer:?}"));
    }

    async fn send_unauthenticated_requests(&mut self) {
        let (Some(instance), Some(plan), Some(run)) = (&self.instance, &self.plan, &self.run)
        else {
            return;
        };
        let has_cookie = self.environment.mutant == Some(Mutant::StolenCookie);
        let client = match HttpClient::open(instance.hub.clone()).await {
            Ok(client) => client,
            Err(error) => return self.report("setup", error),
        };
        let tried =
            timeout(ANSWER_TIMEOUT, client.request_unauthenticated(plan, run, has_cookie)).await;
        let asked = timeout(ANSWER_TIMEOUT, client.request_everything(plan, run)).await;
        // A server that is being killed gives no answer.
        self.violations.extend(tried.into_iter().chain(asked).flatten());
    }

    /// The choices of the operator.
    pub(super) fn choices(&self) -> Choices {
        FeatureSet::of(self.environment.seed).choices()
    }

    async fn second_run(&mut self, namespace: bool) {
        let Some(instance) = &self.instance else { return };
        let hub = instance.hub.clone();
        let unit =
            if namespace { self.application.exclusive_namespace() } else { UnitId::new(UNIT) };
        self.log(format!("  of {unit}"));
        // Once nothing of a namespace names a unit, all of its content belongs.
        let choices = self.choices().iter().cloned().chain([Choice::IncludeAll]).collect();
        let made = timeout(ANSWER_TIMEOUT, hub.make_plan(unit.clone(), choices)).await;
        self.check_plan_for_leak(&made);
        let Ok(Ok(Ok(plan))) = made else { return self.log(format!("  {made:?}")) };
        if self.matters_although_hidden(&plan) {
            return self.log(format!("  cannot be seen: {:?}", plan.hidden));
        }
        let start = Start {
            plan: plan.id.clone(),
            hash: plan.hash.clone(),
            confirm: unit.as_str().to_owned(),
            parts: plan.parts(),
            by: "Bo".to_owned(),
        };
        let started = hub.start(start);
        let started = timeout(ANSWER_TIMEOUT, started).await;
        self.check_for_leak("a request to start a run", &format!("{started:?}"));
        if let Ok(Ok(Err(refusal))) = &started {
            self.log(format!("  refused: {refusal:?}"));
        } else {
            self.log(format!("  {started:?}"));
        }
    }
}

/// The steps for which the page of a run says that they would lose more data than the plan said.
async fn steps_losing_unplanned_data(hub: &HubHandle, run: &RunId) -> Vec<StepId> {
    let looked = timeout(ANSWER_TIMEOUT, hub.query(Topic::Run(run.clone()))).await;
    let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return vec![] };
    let would_lose = |problem: &Option<StepProblem>| {
        matches!(
            problem,
            Some(StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { .. } })
        )
    };
    let steps_losing_unplanned_data = records.into_iter().filter_map(|record| match record {
        Record::Step(step) if would_lose(&step.problem) => Some(step.id),
        _ => None,
    });
    steps_losing_unplanned_data.collect()
}

/// The steps whose storage waits for Pods that nobody reported as ended, with the answer that opens it.
async fn storage_to_take_on(hub: &HubHandle, run: &RunId) -> Vec<(StepId, TakenOn)> {
    let looked = timeout(ANSWER_TIMEOUT, hub.query(Topic::Run(run.clone()))).await;
    let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return vec![] };
    let waits = |problem: &Option<StepProblem>| {
        matches!(
            problem,
            Some(StepProblem::Unknown { reason }) if reason.can_be_taken_on()
        )
    };
    let steps = records.into_iter().filter_map(|record| match record {
        Record::Step(step) if waits(&step.problem) => {
            let confirm = step.object.name.to_string();
            let pods = step.problem.as_ref().map(StepProblem::unconfirmed).unwrap_or_default();
            Some((step.id, TakenOn { confirm, pods }))
        }
        _ => None,
    });
    steps.collect()
}

/// The parents that a run's page asks a person to suspend.
async fn parents_to_suspend(hub: &HubHandle, run: &RunId) -> Vec<ObjectRef> {
    let looked = timeout(ANSWER_TIMEOUT, hub.query(Topic::Run(run.clone()))).await;
    let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return vec![] };
    let parents = records.into_iter().filter_map(|record| match record {
        Record::Step(step) => match step.problem? {
            StepProblem::Unknown { reason: UnknownReason::ParentActive { parent } } => Some(parent),
            _ => None,
        },
        _ => None,
    });
    parents.collect()
}
