//! How an operator starts a run: make a plan, read it, confirm it; and retry where a kind is hidden,
//! crashes or refuses.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use sandbox::store::Change;
use server::hub::{HubClosed, HubHandle, Refusal, Start};
use teardown::{
    message::Topic,
    plan::{Choice, Choices, Plan, PlanError},
    run::RunId,
    unit::UnitId,
};
use tokio::time::{Instant, error::Elapsed, sleep, timeout};

use super::{ANSWER_TIMEOUT, Simulation};
use crate::{
    application::UNIT,
    feature_set::{FeatureSet, has_http_client},
    oracle::MAX_STALL,
    reader::{FoldedPage, browse},
    state::owners,
};

/// How often the operator tries to start a run, once a second.
const MAX_TRIES: u32 = 120;
/// The time for which the operator goes on trying once all faults are repaired and the server sees all kinds again.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The answer to a request for a plan, if it came in time.
type MadePlan = Result<Result<Result<Arc<Plan>, Refusal>, HubClosed>, Elapsed>;

impl Simulation {
    /// Makes a plan and starts a run of it, with retries.
    pub(super) async fn plan_and_start(&mut self) -> bool {
        let mut refused = String::new();
        let mut tries = 0;
        while tries < MAX_TRIES
            || self.heal_time().is_some_and(|at| Instant::now() < at + self.recovery_time())
        {
            tries += 1;
            self.pass_a_second().await;
            let Some(instance) = &self.instance else { return false };
            let hub = instance.hub.clone();
            if tries == 1 {
                self.create_late_ingress().await;
            }
            let made = self.make_plan(&hub).await;
            let Ok(Ok(Ok(plan))) = made else {
                if let Ok(Ok(Err(Refusal::Unplannable(PlanError::Empty)))) = made {
                    self.log("nothing of the unit can be deleted: others need all of it");
                    return false;
                }
                refused = format!("{made:?}");
                continue;
            };
            if self.schedule.is_early && self.matters_although_hidden(&plan) {
                refused = format!("cannot be seen: {:?}", plan.hidden);
                continue;
            }
            *self.environment.confirmed.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(plan.clone());
            self.pull_events();
            self.planned = self.events.last().map_or(0, |event| event.revision);
            if let Some(churn) = self.schedule.churn.take() {
                self.churn(churn);
            }
            self.read_plan().await;
            let start = Start {
                plan: plan.id.clone(),
                hash: plan.hash.clone(),
                confirm: UNIT.to_owned(),
                parts: plan.parts(),
                by: "Li".to_owned(),
            };
            self.pull_events();
            let started = timeout(ANSWER_TIMEOUT, hub.start(start)).await;
            refused = format!("{started:?}");
            self.check_for_leak("a request to start a run", &refused);
            // A start without an answer may have begun a run all the same, which the journal shows.
            let run = match started {
                Ok(Ok(Ok(run))) => Some(run),
                _ => self.environment.disk.run_of(&plan.id.to_string()).map(RunId::new),
            };
            if let Some(run) = run {
                self.log(format!(
                    "Li starts a run of {} steps; {} stay",
                    plan.steps.len(),
                    plan.kept.len()
                ));
                self.late_objects = self.late_objects();
                self.plan = Some(plan);
                // Publishing takes a quarter of the time of a run, so only some runs have readers, and the largest page
                // has the fewest.
                if self.environment.seed.is_multiple_of(2) {
                    self.read(Topic::Run(run.clone()));
                }
                if self.environment.seed % 8 == 1 {
                    self.read(Topic::Unit(UnitId::new(UNIT)));
                }
                if has_http_client(self.environment.seed) {
                    let seen = FoldedPage::from(self.observer());
                    let topic = Topic::Run(run.clone());
                    self.tasks.spawn(browse(topic.clone(), self.hubs.subscribe(), seen.clone()));
                    self.browser_page = Some((topic, seen));
                }
                self.run = Some(run);
                return true;
            }
        }
        self.report("I3", format!("no run could be started within two minutes: {refused}"));
        false
    }

    /// Makes a plan of the unit with the choices of the operator, who waives what others use in some runs.
    async fn make_plan(&mut self, hub: &HubHandle) -> MadePlan {
        let made = self.make_plan_with(hub, self.choices()).await;
        let Ok(Ok(Ok(plan))) = &made else { return made };
        if !FeatureSet::of(self.environment.seed).waives || plan.waivable.is_empty() {
            return made;
        }
        let waivers = plan.waivable.iter().cloned().map(Choice::Waive);
        let choices = self.choices().iter().cloned().chain(waivers).collect();
        self.make_plan_with(hub, choices).await
    }

    async fn make_plan_with(&mut self, hub: &HubHandle, choices: Choices) -> MadePlan {
        let made = timeout(ANSWER_TIMEOUT, hub.make_plan(UnitId::new(UNIT), choices)).await;
        self.check_plan_for_leak(&made);
        made
    }

    /// The time at which all faults are repaired, once the first was injected.
    pub(super) fn heal_time(&self) -> Option<Instant> {
        self.faults_began.map(|faults_began| faults_began + self.schedule.heal_after)
    }

    /// The longest time that the server may take to see all kinds again after the repair, and to start a run.
    fn recovery_time(&self) -> Duration {
        Duration::from_millis(MAX_STALL) + START_TIMEOUT
    }

    /// Waits a second. Restarts a crashed server, and repairs the faults when that is due.
    async fn pass_a_second(&mut self) {
        let stopped = self.environment.stopped.clone();
        tokio::select! {
            biased;
            () = stopped.notified() => {
                self.kill("crashed").await;
                sleep(self.schedule.downtime).await;
                self.start_server();
            }
            () = sleep(Duration::from_secs(1)) => {}
        }
        if self.healed.is_none() && self.heal_time().is_some_and(|at| at <= Instant::now()) {
            self.heal();
        }
    }

    /// Whether a plan was made while a kind was hidden that matters to it. The operator waits in that case, unless the rights
    /// of the server end there. The application's own API group holds no object that matters.
    pub(super) fn matters_although_hidden(&self, plan: &Plan) -> bool {
        let has_all_rights = self.environment.visible.is_none();
        has_all_rights && plan.hidden.iter().any(|resource| !resource.contains(".example."))
    }

    /// Lets the operator read the plan.
    async fn read_plan(&mut self) {
        let until = Instant::now() + std::mem::take(&mut self.schedule.review_time);
        while Instant::now() < until {
            sleep((until - Instant::now()).min(Duration::from_secs(1))).await;
            self.pull_events();
        }
    }

    /// The number of objects that controllers created since the plan.
    fn late_objects(&self) -> usize {
        let new = self.events.iter().filter(|event| event.revision > self.planned);
        let made = new.filter(|event| {
            event.change == Change::Added && owners(&event.object).next().is_some()
        });
        made.count()
    }
}
