//! One game: an application, a server, a person, and what goes wrong; from a seed.

mod ear;
mod ends;
mod forms;
mod others;
mod start;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use jiff::Timestamp;
use sandbox::{
    cluster::Actor,
    controller::{Controllers, timing::Timing},
    service::Sandbox,
    store::{Event, Key},
};
use server::hub::{HubHandle, Start, Steer};
use teardown::{
    message::{Message, Record, Topic},
    plan::{Plan, StepId},
    run::{RunId, StepProblem},
    unit::UnitId,
    unknown_reason::UnknownReason,
};
use tokio::{
    runtime::Runtime,
    sync::{Notify, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    adversity::{Adversity, Death, Happening, NODES},
    application::{Application, UNIT, object},
    door::Door,
    ledger::Ledger,
    life::{Life, Stage},
    log::Log,
    moments::Moments,
    oracle::{self, Evidence, Offence, USER},
    outcome::Outcome,
    reader::{Seen, differences, read},
    saboteur::{Confirmed, Saboteur},
    sighting::Sighting,
    state::namespace,
    story::Story,
    told::Told,
    trace::Remains,
    variety::{Variety, has_door},
    wire::Arrivals,
};

/// How long an application gets to come to rest.
const SETTLING: Duration = Duration::from_secs(20);
/// How long a run may take once all is well: what failed often is tried again late by controllers, after minutes.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// How long a newcomer stays after all is well.
const STAY: Duration = Duration::from_secs(60);
/// How long the hub may take for an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Plays the game of a seed.
pub(crate) fn play(seed: u64, saboteur: Option<Saboteur>) -> Outcome {
    stage(async move || Game::begin(seed, saboteur).await)
}

/// Plays the application of a seed without anything that goes wrong, but for how the server dies.
pub(crate) fn play_quietly(seed: u64, death: Option<Death>) -> Outcome {
    stage(async move || Game::quiet(seed, death).await)
}

pub(crate) use forms::forms;

/// A runtime whose time passes as fast as everybody in it comes to rest.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without a driver needs nothing of the system")
}

fn stage(begin: impl AsyncFnOnce() -> Game) -> Outcome {
    let log = Log::default();
    let _quiet = log.listen();
    runtime().block_on(async {
        let mut game = begin().await;
        game.play().await;
        let mut outcome = game.end().await;
        outcome.offences.extend(log.offence());
        outcome
    })
}

/// The seed of the sandbox, the application and what goes wrong, in the game of this seed.
pub(crate) fn draw(seed: u64) -> (u64, Application, Adversity) {
    let mut rng = Rng::with_seed(seed);
    let sandbox = rng.u64(..);
    let mut application = Application::draw(&mut rng.fork());
    let mut adversity = Adversity::draw(&mut rng.fork(), &application);
    if has_door(seed) {
        adversity.intrude();
    }
    let variety = Variety::of(seed);
    if variety.is_rich {
        application.enrich(&mut rng.fork());
    }
    if variety.is_dressed {
        application.dress(&mut rng.fork());
    }
    if variety.is_worse {
        adversity.worsen(&mut rng.fork(), &application);
    }
    if variety.is_early {
        adversity.come_early(&mut rng.fork());
    }
    adversity.lodge(&mut rng.fork(), &application);
    application.forget_labels(&mut rng.fork());
    adversity.tire(&mut rng.fork());
    if variety.is_neighbourly {
        application.settle(&mut rng.fork());
        adversity.reach(&mut rng.fork(), application.neighbours);
    }
    (sandbox, application, adversity)
}

struct Game {
    stage: Stage,
    application: Application,
    adversity: Adversity,
    life: Option<Life>,
    lives: u64,
    hubs: watch::Sender<Option<HubHandle>>,
    /// Readers of pages, and who acts in the cluster all the time.
    others: JoinSet<()>,
    seen: BTreeMap<Topic, Seen>,
    /// What was seen through the router.
    browsed: Option<(Topic, Seen)>,
    events: Vec<Arc<Event>>,
    moments: Moments,
    /// When it began to go wrong.
    struck: Option<Instant>,
    healed: Option<u64>,
    turns: Vec<u64>,
    planned: u64,
    plan: Option<Arc<Plan>>,
    run: Option<RunId>,
    /// The ends of runs that somebody saw who opened their pages.
    ends: BTreeMap<String, Sighting>,
    newcomers: usize,
    offences: Vec<Offence>,
    begun: Instant,
}

impl Game {
    async fn begin(seed: u64, saboteur: Option<Saboteur>) -> Self {
        let (sandbox, application, adversity) = draw(seed);
        Self::of(seed, sandbox, application, adversity, saboteur).await
    }

    async fn quiet(seed: u64, death: Option<Death>) -> Self {
        let mut rng = Rng::with_seed(seed);
        let sandbox = rng.u64(..);
        let application = Application::draw(&mut rng.fork());
        Self::of(seed, sandbox, application, Adversity::quiet(death), None).await
    }

    async fn of(
        seed: u64,
        sandbox: u64,
        application: Application,
        mut adversity: Adversity,
        saboteur: Option<Saboteur>,
    ) -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap_or_default();
        let mut controllers = Controllers::new(Timing::default());
        controllers.node_faults.kubelets = NODES.map(String::from).into();
        let sandbox = Sandbox::start(start, sandbox, controllers);
        let story = Story::begin();
        let actor = Actor { name: USER.to_owned(), ..Actor::admin() };
        let ledger = Ledger::default();
        if saboteur == Some(Saboteur::LateIntent) {
            ledger.be_late();
        }
        if saboteur == Some(Saboteur::CachedGone) {
            adversity.script.insert_str(0, "on list pods -> stale 60\n");
        }
        let stage = Stage {
            start,
            sandbox: sandbox.speaking_as(Some(actor)),
            ledger,
            arrivals: Arrivals::default(),
            told: Told::default(),
            story,
            saboteur,
            confirmed: Confirmed::default(),
            ending: Arc::new(Notify::new()),
            seed,
        };
        let mut game = Self {
            stage,
            application,
            adversity,
            life: None,
            lives: 0,
            hubs: watch::Sender::new(None),
            others: JoinSet::new(),
            seen: BTreeMap::new(),
            browsed: None,
            events: vec![],
            moments: Moments::default(),
            struck: None,
            healed: None,
            turns: vec![],
            planned: 0,
            plan: None,
            run: None,
            ends: BTreeMap::new(),
            newcomers: 0,
            offences: vec![],
            begun: Instant::now(),
        };
        game.create();
        // The newest changes are at hand; older ones would have to be read again.
        for _ in 0..SETTLING.as_secs() {
            sleep(Duration::from_secs(1)).await;
            game.pull();
        }
        game
    }

    fn tell(&self, line: impl Into<String>) {
        self.stage.story.tell(line);
    }

    fn offend(&mut self, invariant: &'static str, text: String) {
        self.offences.push(Offence::new(invariant, text));
    }

    fn create(&mut self) {
        let objects = self.application.objects.clone();
        let refused = self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let refused = objects.into_iter().filter_map(|object| {
                let Some(key) = cluster.key_of(&object) else { return Some(object.to_string()) };
                let Key { group, plural, namespace, .. } = &key;
                let made = cluster.create(&Actor::admin(), group, plural, namespace, object);
                made.err().map(|status| format!("{key}: {}", status.message))
            });
            refused.collect::<Vec<_>>()
        });
        for refusal in refused {
            self.offend("draw", format!("cannot be created: {refusal}"));
        }
    }

    /// Takes the changes that are new, before they are forgotten.
    fn pull(&mut self) {
        let seen = self.events.last().map_or(1, |event| event.revision);
        let events = self.stage.sandbox.with(|world| {
            let since = world.cluster.store.since(seen);
            since.map(|events| events.map(|one| one.event()).collect::<Vec<_>>())
        });
        match events {
            Ok(events) => {
                let reached = events.last().map_or(seen, |event| event.revision);
                self.events.extend(events);
                self.moments.note(self.stage.story.now(), reached);
            }
            Err(compacted) => self.offend("draw", compacted.to_string()),
        }
    }

    fn start_server(&mut self) {
        self.turns.push(self.stage.story.now());
        match Life::start(&self.stage, self.lives) {
            Ok(life) => {
                self.hubs.send_replace(Some(life.hub.clone()));
                self.life = Some(life);
                self.lives += 1;
            }
            Err(error) => self.offend("I3", error),
        }
    }

    async fn kill(&mut self, why: &str) {
        self.hubs.send_replace(None);
        self.turns.push(self.stage.story.now());
        if let Some(life) = self.life.take() {
            life.kill(why).await;
        }
    }

    fn read(&mut self, topic: Topic) {
        if !self.seen.contains_key(&topic) {
            let seen = Seen::from(self.vantage());
            let (hubs, saboteur) = (self.hubs.subscribe(), self.stage.saboteur);
            self.others.spawn(read(topic.clone(), hubs, seen.clone(), saboteur));
            self.seen.insert(topic, seen);
        }
    }

    async fn play(&mut self) {
        match self.adversity.death {
            Some(Death::AtWrite(after, cut)) => self.stage.ledger.cut(after, cut),
            Some(Death::AtDelete(after, with_effect)) => {
                self.stage.arrivals.cut(after, with_effect);
            }
            None => {}
        }
        if self.adversity.is_early {
            self.strike();
        }
        self.start_server();
        if self.stage.seed.is_multiple_of(4) {
            self.read(Topic::Units);
        }
        if !self.confirm().await {
            return;
        }
        let mut happenings: VecDeque<_> = std::mem::take(&mut self.adversity.happenings).into();
        let began = Instant::now();
        if !self.adversity.is_early {
            self.strike();
        }
        let heals = self.heals().unwrap_or(began);
        let patience = heals.max(began) + PATIENCE;
        let mut returns: Option<Instant> = None;
        let mut tick = began;
        loop {
            let now = Instant::now();
            if self.is_over().await && (self.healed.is_some() || happenings.is_empty()) {
                break;
            }
            if now > patience {
                let waiting = self.waiting().await;
                self.offend("I9", format!("not over {PATIENCE:?} after all was well: {waiting}"));
                break;
            }
            let next = happenings.front().map(|(after, _)| began + *after);
            let next = next.into_iter().chain(returns).chain([tick]).min().unwrap_or(tick);
            let ending = self.stage.ending.clone();
            tokio::select! {
                biased;
                () = ending.notified() => {
                    self.kill("it has crashed").await;
                    returns = Some(Instant::now() + self.adversity.away);
                    continue;
                }
                () = sleep_until(next) => {}
            }
            let now = Instant::now();
            if returns.is_some_and(|at| at <= now) {
                returns = None;
                self.start_server();
            }
            while happenings.front().is_some_and(|(after, _)| began + *after <= now) {
                if let Some((_, happening)) = happenings.pop_front() {
                    self.happen(happening).await;
                }
            }
            if now >= tick {
                tick = now + Duration::from_secs(1);
                self.operate();
                self.pull();
                if now >= heals {
                    if self.healed.is_none() {
                        self.heal();
                    }
                    self.tidy(now >= heals + STAY).await;
                }
            }
        }
    }

    /// What the page says of steps that are not gone.
    async fn waiting(&self) -> String {
        let (Some(life), Some(run)) = (&self.life, &self.run) else { return String::new() };
        let looked = timeout(ANSWER, life.hub.query(Topic::Run(run.clone()))).await;
        let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else {
            return format!("{looked:?}");
        };
        let left = records.into_iter().filter_map(|record| match record {
            Record::Step(step) if step.gone.is_none() => Some(format!(
                "\n   {}: {:?} {:?} {:?}",
                step.object, step.state, step.waits_for, step.problem
            )),
            Record::Run(run) => Some(format!("{:?}", run.state)),
            Record::HiddenKind(blind) => Some(format!("\n   blind: {blind:?}")),
            _ => None,
        });
        left.collect()
    }

    fn strike(&mut self) {
        self.struck = Some(Instant::now());
        let script = self.adversity.script.clone();
        let parsed = self.stage.sandbox.with(|world| {
            let faults = world.parse_faults(&script);
            faults.map(|faults| world.cluster.faults = faults)
        });
        self.stage.sandbox.wake();
        if let Err(error) = parsed {
            self.offend("draw", error.to_string());
        }
    }

    /// All is well again, and somebody sees to it that it goes on.
    fn heal(&mut self) {
        self.tell("ALL IS WELL from here on");
        self.healed = Some(self.stage.story.now());
        self.stage.sandbox.with(|world| {
            world.repair();
        });
        self.stage.sandbox.wake();
        for node in NODES {
            self.taint(node, false);
        }
        for (namespace, name) in self.application.answering.clone() {
            self.scale(&namespace, &name, 1);
        }
    }

    /// What people do in the end: resume what is paused, leave out what would take more than they were told, and clear away.
    async fn tidy(&mut self, with_newcomers: bool) {
        for (run, ended) in self.stage.ledger.runs() {
            if !ended && let Some(life) = &self.life {
                let run = RunId::new(run);
                let mut steers = vec![Steer::Resume];
                if with_newcomers {
                    steers.extend(costly(&life.hub, &run).await.into_iter().map(Steer::Skip));
                }
                for steer in steers {
                    let steered = life.hub.steer(run.clone(), steer, "Li".to_owned());
                    _ = timeout(ANSWER, steered).await;
                }
            }
        }
        self.clear_away(with_newcomers);
    }

    async fn happen(&mut self, happening: Happening) {
        self.tell(format!("{happening:?}"));
        match happening {
            Happening::Kill => self.kill_and_ring("it is killed").await,
            Happening::CutWrite(after, cut) => self.stage.ledger.cut(after, cut),
            Happening::CutDelete(after, with_effect) => self.stage.arrivals.cut(after, with_effect),
            Happening::Intrusion => self.intrusion().await,
            Happening::Compact => {
                self.pull();
                self.stage.sandbox.with(|world| {
                    let store = &mut world.cluster.store;
                    store.compact(store.revision());
                });
            }
            Happening::Newcomer(namespace) => {
                let config = object("v1", "ConfigMap", &namespace, "stranger");
                self.put(&namespace, "configmaps", config);
            }
            Happening::Lodger(pod) => {
                let within = namespace(&pod).to_owned();
                self.put(&within, "pods", pod);
            }
            // Nobody would repair it any more.
            Happening::Unanswered(..) | Happening::Taint(_) if self.healed.is_some() => {}
            Happening::Unanswered(namespace, name) => self.scale(&namespace, &name, 0),
            Happening::Taint(node) => self.taint(node, true),
            Happening::Stranger(namespace, claim) => self.stranger(&namespace, &claim),
            Happening::Pause => self.steer(Steer::Pause).await,
            Happening::Resume => self.steer(Steer::Resume).await,
            Happening::Stop => self.steer(Steer::Stop).await,
            Happening::Skip(step) => {
                let steps = self.plan.as_ref().map_or(0, |plan| plan.steps.len()) as u64;
                if steps > 0 {
                    let step = u32::try_from(step % steps).unwrap_or_default();
                    self.steer(Steer::Skip(StepId(step))).await;
                }
            }
            Happening::SecondRun { namespace } => self.second_run(namespace).await,
        }
    }

    async fn kill_and_ring(&mut self, why: &str) {
        if self.life.is_some() {
            self.kill(why).await;
            self.stage.ending.notify_one();
        }
    }

    async fn steer(&mut self, steer: Steer) {
        let (Some(life), Some(run)) = (&self.life, &self.run) else { return };
        let steered = life.hub.steer(run.clone(), steer, "Li".to_owned());
        let answer = timeout(ANSWER, steered).await;
        self.hear("whoever steers a run", &format!("{answer:?}"));
        self.tell(format!("  {answer:?}"));
    }

    async fn intrusion(&mut self) {
        let (Some(life), Some(plan), Some(run)) = (&self.life, &self.plan, &self.run) else {
            return;
        };
        let borrowed = self.stage.saboteur == Some(Saboteur::BorrowedCookie);
        let door = match Door::open(life.hub.clone()).await {
            Ok(door) => door,
            Err(error) => return self.offend("draw", error),
        };
        let tried = timeout(ANSWER, door.intrude(plan, run, borrowed)).await;
        let asked = timeout(ANSWER, door.ask_around(plan, run)).await;
        // A server that is just dying answers nobody.
        self.offences.extend(tried.into_iter().chain(asked).flatten());
    }

    async fn second_run(&mut self, namespace: bool) {
        let Some(life) = &self.life else { return };
        let hub = life.hub.clone();
        let unit = if namespace { self.application.lonely() } else { UnitId::new(UNIT) };
        self.tell(format!("  of {unit}"));
        let made = timeout(ANSWER, hub.make_plan(unit.clone())).await;
        self.hear_plan(&made);
        let Ok(Ok(Ok(plan))) = made else { return self.tell(format!("  {made:?}")) };
        let (plan, hash) = (plan.id.clone(), plan.hash.clone());
        let confirm = unit.as_str().to_owned();
        let started = hub.start(Start { plan, hash, confirm, by: "Bo".to_owned() });
        let started = timeout(ANSWER, started).await;
        self.hear("whoever starts a run", &format!("{started:?}"));
        if let Ok(Ok(Err(refusal))) = &started {
            self.tell(format!("  refused: {refusal:?}"));
        } else {
            self.tell(format!("  {started:?}"));
        }
    }

    async fn end(mut self) -> Outcome {
        let over = self.stage.story.now();
        // What was published last has arrived a moment later.
        sleep(Duration::from_secs(3)).await;
        self.pull();
        if let Some(life) = &self.life {
            let hub = life.hub.clone();
            for (topic, seen) in self.seen.clone().into_iter().chain(self.browsed.clone()) {
                self.compare(&hub, &topic, &seen).await;
            }
        }
        for seen in self.seen.values().chain(self.browsed.iter().map(|(_, seen)| seen)) {
            self.offences.extend(seen.offences());
        }
        let known = self.stage.ledger.known();
        let (writes, deletes) = (self.stage.ledger.writes(), self.stage.arrivals.count());
        let evidence = Evidence {
            entries: self.stage.sandbox.with(|world| world.cluster.log.entries().to_vec()),
            events: self.events.clone(),
            planned: self.planned,
            arrivals: self.stage.arrivals.all(),
            known,
            told: self.stage.told.clone(),
            // As long as calls are held back when the API server asks for patience; a moment, where it does not.
            held: if self.adversity.script.contains("429") { 45_000 } else { 2_000 },
            start: self.stage.start,
            moments: self.moments.clone(),
            healed: self.healed,
            calm: if self.adversity.script.is_empty() { Some(0) } else { self.healed },
            sightings: self.sightings(),
            turns: self.turns.clone(),
            over,
        };
        self.offences.extend(oracle::judge(&evidence));
        for failure in self.stage.sandbox.with(|world| world.take_failed_faults()) {
            let text = format!("{:?} could not be applied: {}", failure.fault, failure.reason);
            self.offend("sandbox", text);
        }
        for panic in self.stage.sandbox.with(|world| world.controllers.take_panics()) {
            self.offend("sandbox", format!("{} panicked: {}", panic.controller, panic.message));
        }
        let logs = self.stage.sandbox.with(|world| {
            let logs = world.controllers.node_faults.kubelet_logs.values();
            logs.flatten().cloned().collect::<Vec<_>>()
        });
        let remains = Remains {
            events: &self.events,
            entries: &evidence.entries,
            known: &evidence.known,
            logs: &logs,
        };
        let traces = remains.traces();
        self.kill("the game is over").await;
        Outcome {
            seed: self.stage.seed,
            offences: self.offences,
            story: self.stage.story,
            script: self.adversity.script,
            events: self.events,
            entries: evidence.entries,
            writes,
            deletes,
            moments: self.moments,
            objects: self.application.objects.len(),
            ran: self.run.is_some(),
            newcomers: self.newcomers,
            traces,
            lasted: self.begun.elapsed(),
        }
    }

    /// I4: what a reader folded is what a newcomer would see.
    async fn compare(&mut self, hub: &HubHandle, topic: &Topic, seen: &Seen) {
        let mut difference = String::new();
        for _ in 0..8 {
            let Ok(looked) = timeout(ANSWER, hub.query(topic.clone())).await else {
                difference = format!("no answer within {} s", ANSWER.as_secs());
                continue;
            };
            // A topic that is no more, or a hub that has ended, has nothing to be compared with.
            let Ok(Ok(fresh)) = looked else { return };
            let folded = seen.message();
            if folded.as_ref() == Some(&fresh) {
                return;
            }
            difference = differences(folded.as_ref(), &fresh);
            sleep(Duration::from_millis(700)).await;
        }
        self.offend("I4", format!("{topic}: what was folded is not what is there: {difference}"));
    }
}

/// The steps of which a run's page says that they would lose more data than its plan said.
async fn costly(hub: &HubHandle, run: &RunId) -> Vec<StepId> {
    let looked = timeout(ANSWER, hub.query(Topic::Run(run.clone()))).await;
    let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return vec![] };
    let would_lose = |problem: &Option<StepProblem>| {
        matches!(
            problem,
            Some(StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { .. } })
        )
    };
    let costly = records.into_iter().filter_map(|record| match record {
        Record::Step(step) if would_lose(&step.problem) => Some(step.id),
        _ => None,
    });
    costly.collect()
}
