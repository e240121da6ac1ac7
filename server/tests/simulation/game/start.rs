//! How a person comes to a run: a plan, some reading, a word; and again, where the server does not see, dies or refuses.

use std::{sync::PoisonError, time::Duration};

use sandbox::store::Change;
use server::hub::{Refusal, Start};
use teardown::{
    message::Topic,
    plan::{Plan, PlanError},
    run::RunId,
    unit::UnitId,
};
use tokio::time::{Instant, sleep, timeout};

use super::{ANSWER, Game};
use crate::{
    application::UNIT,
    oracle::STANDSTILL,
    reader::{Seen, browse},
    state::owners,
    variety::has_door,
};

/// How often a person tries to start a run, a second apart, before they give up.
const TRIES: u32 = 120;
/// How long they try once all is well and the server sees all again.
const START: Duration = Duration::from_secs(60);
impl Game {
    /// A person makes a plan and starts a run of it, as often as it takes.
    pub(super) async fn confirm(&mut self) -> bool {
        let mut refused = String::new();
        let mut tries = 0;
        while tries < TRIES || self.heals().is_some_and(|at| Instant::now() < at + self.sight()) {
            tries += 1;
            self.breathe().await;
            let Some(life) = &self.life else { return false };
            let hub = life.hub.clone();
            let made = timeout(ANSWER, hub.make_plan(UnitId::new(UNIT))).await;
            self.hear_plan(&made);
            let Ok(Ok(Ok(plan))) = made else {
                if let Ok(Ok(Err(Refusal::Unplannable(PlanError::Empty)))) = made {
                    self.tell("nothing of the unit could go: others need all of it");
                    return false;
                }
                refused = format!("{made:?}");
                continue;
            };
            if self.adversity.is_early && is_blind(&plan) {
                refused = format!("cannot be seen: {:?}", plan.hidden);
                continue;
            }
            *self.stage.confirmed.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(plan.clone());
            self.pull();
            self.planned = self.events.last().map_or(0, |event| event.revision);
            if let Some(stir) = self.adversity.stir.take() {
                self.stir(stir);
            }
            sleep(std::mem::take(&mut self.adversity.reading)).await;
            let start = Start {
                plan: plan.id.clone(),
                hash: plan.hash.clone(),
                confirm: UNIT.to_owned(),
                by: "Li".to_owned(),
            };
            self.pull();
            let started = timeout(ANSWER, hub.start(start)).await;
            refused = format!("{started:?}");
            self.hear("whoever starts a run", &refused);
            // One of which no answer came may have begun all the same: the page shows it.
            let run = match started {
                Ok(Ok(Ok(run))) => Some(run),
                _ => self.stage.ledger.run_of(&plan.id.to_string()).map(RunId::new),
            };
            if let Some(run) = run {
                self.tell(format!(
                    "Li starts a run of {} steps; {} stay",
                    plan.steps.len(),
                    plan.kept.len()
                ));
                self.newcomers = self.newcomers();
                self.plan = Some(plan);
                // A quarter of a game is publishing, so pages are read in some: the largest in the fewest.
                if self.stage.seed.is_multiple_of(2) {
                    self.read(Topic::Run(run.clone()));
                }
                if self.stage.seed % 8 == 1 {
                    self.read(Topic::Unit(UnitId::new(UNIT)));
                }
                if has_door(self.stage.seed) {
                    let seen = Seen::from(self.vantage());
                    let topic = Topic::Run(run.clone());
                    self.others.spawn(browse(topic.clone(), self.hubs.subscribe(), seen.clone()));
                    self.browsed = Some((topic, seen));
                }
                self.run = Some(run);
                return true;
            }
        }
        self.offend("I3", format!("no run could be started within two minutes: {refused}"));
        false
    }

    /// When all is well again, once it has begun to go wrong.
    pub(super) fn heals(&self) -> Option<Instant> {
        self.struck.map(|struck| struck + self.adversity.heals)
    }

    /// How long the server may need, once all is well, to see all again and to start a run.
    fn sight(&self) -> Duration {
        Duration::from_millis(STANDSTILL) + START
    }

    /// Lets a second pass. What dies meanwhile comes back, and what is to be well again is.
    async fn breathe(&mut self) {
        let ending = self.stage.ending.clone();
        tokio::select! {
            biased;
            () = ending.notified() => {
                self.kill("it has crashed").await;
                sleep(self.adversity.away).await;
                self.start_server();
            }
            () = sleep(Duration::from_secs(1)) => {}
        }
        if self.healed.is_none() && self.heals().is_some_and(|at| at <= Instant::now()) {
            self.heal();
        }
    }

    /// How many objects there are that controllers made since the plan.
    fn newcomers(&self) -> usize {
        let new = self.events.iter().filter(|event| event.revision > self.planned);
        let made = new.filter(|event| {
            event.change == Change::Added && owners(&event.object).next().is_some()
        });
        made.count()
    }
}

/// Whether a page says that a plan was made without seeing all that it depends on. The person who reads that waits. A group
/// of the application's own has nothing in it.
fn is_blind(plan: &Plan) -> bool {
    plan.hidden.iter().any(|resource| !resource.contains(".example."))
}
