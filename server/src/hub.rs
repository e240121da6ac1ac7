//! The sole owner of what is known and of the open runs. Everybody else sends it a message and reads what it publishes.
//! It names neither kube nor axum: one mailbox in, one sender of orders out.
//!
//! ```text
//!  cluster ── Observed, Performed ──►┐            ┌──► orders ──► cluster
//!                                    │ take all   │
//!  http ──── Subscribe, Start, … ───►┤ that is    ├──► journal, before any order leaves
//!                                    │ ready      │
//!  time ──── the next wake ─────────►┘            └──► boards: one view per topic, at most every 50 ms ──► browsers
//! ```

mod topic_channel;
mod clock;
mod handle;
mod active_run;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use teardown::{
    graph::Graph,
    index::Index,
    message::{Message, Record, Revision, Topic},
    observation::Observation,
    plan::{self, Plan, PlanId, differences},
    run::{Input, Run, RunId, SteerError},
    unit::{Unit, UnitId, units},
    view::World,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::{active_run::ActiveRun, clock::Clock, topic_channel::TopicChannel};
use crate::{
    chance::Chance,
    journal::{ClusterId, Journal, JournalError},
};

pub use self::handle::{
    CallRequest, Frame, FrameKind, HubClosed, HubHandle, Incoming, Refusal, Start, Steer,
    Subscription,
};

/// Messages that may wait in the mailbox. A burst of watch events arrives as few large ones, so this is ample; when it
/// is full the watches wait, which is what they should do.
pub const MAILBOX: usize = 1024;
/// Orders that may wait for the cluster. A step has at most one call on its way, so this is the number of steps that can
/// be at work at once; beyond it a call counts as unanswered and is tried again.
pub const CALLS: usize = 16 * 1024;
/// Messages taken as one batch.
const BATCH: usize = 512;
/// Between two publications: short enough to look instant, long enough to make one message of a burst.
const PUBLISH: Duration = Duration::from_millis(50);
/// How often pages are brought up to date with nothing but time: "slow" and "stuck" come by waiting.
const AGE: Duration = Duration::from_secs(1);
/// How long a topic without readers is kept, so that a reader who comes back gets the deltas they missed.
const LINGER: Duration = Duration::from_secs(60);
/// Plans kept for reading; those of runs are in the journal as well.
const PLANS: usize = 256;
/// The most turns a run takes on one look; more would be a run that never comes to rest.
const TURNS: usize = 10_000;

/// Why the hub ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Without a journal nothing may be done.
    #[error("the journal failed")]
    Journal(#[from] JournalError),
    /// The journal holds a run that does not fit its plan, or no plan for it.
    #[error("the journal's record of run {0} does not fit its plan")]
    Damaged(RunId),
    /// The operating system gave no random numbers.
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
}

/// The hub's state. [`Hub::open`] reads the journal, [`Hub::run`] is the loop.
pub struct Hub {
    name: String,
    mailbox: mpsc::Receiver<Incoming>,
    calls: mpsc::Sender<CallRequest>,
    journal: Journal,
    clock: Clock,
    chance: Chance,
    boot: u64,
    index: Index,
    known: Option<Known>,
    runs: BTreeMap<RunId, ActiveRun>,
    plans: HashMap<PlanId, Arc<Plan>>,
    plans_by_age: VecDeque<PlanId>,
    topics: BTreeMap<Topic, TopicChannel>,
    published: Instant,
    stale: bool,
}

/// What follows from an index, kept as long as the index does not change.
struct Known {
    changes: u64,
    graph: Graph,
    units: BTreeMap<UnitId, Unit>,
}

impl Hub {
    /// Reads the journal and is where the process was before: runs that had not ended go on once the cluster has been
    /// read completely.
    ///
    /// # Errors
    /// [`HubError`] where the journal cannot be read.
    pub fn open(
        name: String,
        mailbox: mpsc::Receiver<Incoming>,
        calls: mpsc::Sender<CallRequest>,
        journal: Journal,
    ) -> Result<Self, HubError> {
        let chance = Chance::default();
        let mut hub = Self {
            name,
            mailbox,
            calls,
            journal,
            clock: Clock::start(Timestamp::now()),
            boot: chance.number()?,
            chance,
            index: Index::default(),
            known: None,
            runs: BTreeMap::new(),
            plans: HashMap::new(),
            plans_by_age: VecDeque::new(),
            topics: BTreeMap::new(),
            published: Instant::now(),
            stale: false,
        };
        for head in hub.journal.runs()? {
            let active = ActiveRun::replay(&hub.journal, &head)?;
            hub.runs.insert(head.run, active);
        }
        Ok(hub)
    }

    /// The same game again: the clock reads `now`, and what is left to chance follows from this one.
    ///
    /// # Errors
    /// [`HubError::Random`] where that has no random numbers.
    pub fn repeatable(mut self, now: Timestamp, chance: Chance) -> Result<Self, HubError> {
        self.clock = Clock::start(now);
        self.boot = chance.number()?;
        self.chance = chance;
        Ok(self)
    }

    /// Runs until the drain token is cancelled or nobody can reach it any more.
    ///
    /// # Errors
    /// [`HubError`] where it cannot go on.
    pub async fn run(mut self, drain: CancellationToken) -> Result<(), HubError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.wake();
            tokio::select! {
                biased;
                () = drain.cancelled() => return Ok(()),
                taken = self.mailbox.recv_many(&mut batch, BATCH) => if taken == 0 { return Ok(()) },
                () = tokio::time::sleep_until(wake) => {}
            }
            for incoming in batch.drain(..) {
                self.take(incoming)?;
            }
            self.reconcile_runs()?;
            self.publish();
        }
    }

    /// Which cluster this is, so that a run is never performed in front of another one.
    fn cluster(&self) -> ClusterId {
        let system = self.index.find("", "Namespace", None, "kube-system");
        ClusterId::new(&self.name, system.map(|namespace| &namespace.uid))
    }

    /// The run of that name, if it is of this cluster.
    fn active_run(&self, id: &RunId) -> Result<&ActiveRun, Refusal> {
        match self.runs.get(id) {
            Some(active) if active.cluster.is(&self.cluster()) => Ok(active),
            // By what it goes is not read yet.
            Some(_) if !self.index.is_synced() => Err(Refusal::NotReady),
            _ => Err(Refusal::UnknownRun(id.clone())),
        }
    }

    /// The next moment at which something may follow from time alone.
    fn wake(&self) -> Instant {
        let now = self.clock.now();
        let publish = if self.stale { self.published + PUBLISH } else { self.published + AGE };
        let cluster = self.cluster();
        let runs = self.runs.values().filter(|active| active.is_active(&self.index, &cluster));
        let next = runs.filter_map(|active| active.run.wake(now)).min();
        next.map_or(publish, |at| publish.min(self.clock.instant(at)))
    }

    fn take(&mut self, incoming: Incoming) -> Result<(), HubError> {
        let now = self.clock.now();
        match incoming {
            Incoming::Observed(observations) => self.observe(observations, now),
            Incoming::CallCompleted { run, action, outcome } => {
                self.advance(&run, &Input::CallCompleted { action, outcome })?;
            }
            // An answer knows what follows from everything that came before the question.
            Incoming::Subscribe { topic, after, reply } => {
                self.reconcile_runs()?;
                let subscription = self.subscribe(&topic, after);
                answer(reply, subscription);
            }
            Incoming::Query { topic, reply } => {
                self.reconcile_runs()?;
                let message = self.query(&topic);
                answer(reply, message);
            }
            Incoming::Time { reply } => answer(reply, now),
            Incoming::MakePlan { unit, reply } => {
                let plan = self.make_plan(&unit);
                answer(reply, plan);
            }
            Incoming::ReadPlan { plan, reply } => {
                let plan = self.read_plan(&plan);
                answer(reply, plan);
            }
            Incoming::ReadEventLog { run, reply } => {
                self.reconcile_runs()?;
                let feed = self.active_run(&run).map(|it| it.run.event_log().to_vec());
                answer(reply, feed);
            }
            Incoming::Start { start, reply } => {
                let run = self.start(&start)?;
                answer(reply, run);
            }
            Incoming::Steer { run, steer, by, reply } => {
                let steered = self.steer(&run, steer, by)?;
                answer(reply, steered);
            }
        }
        Ok(())
    }

    fn observe(&mut self, observations: Vec<Observation>, now: Timestamp) {
        for observation in &observations {
            match observation {
                Observation::Time(cluster) => self.clock.follow(*cluster),
                Observation::Pace(pace) => self.clock.set_pace(*pace),
                _ => {}
            }
        }
        self.index.apply(observations, now);
        self.stale = true;
    }

    /// Lets every open run look, turn after turn, until none has anything to do.
    fn reconcile_runs(&mut self) -> Result<(), HubError> {
        let cluster = self.cluster();
        let open: Vec<RunId> = self
            .runs
            .iter()
            .filter(|(_, active)| active.is_active(&self.index, &cluster))
            .map(|(run, _)| run.clone())
            .collect();
        for run in open {
            if self.runs.get(&run).is_some_and(|active| active.is_recovering) {
                self.advance(&run, &Input::Recover)?;
            }
            for _ in 0..TURNS {
                if !self.advance(&run, &Input::Reconcile)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a run what is no person's word. Says whether anything followed.
    fn advance(&mut self, id: &RunId, input: &Input) -> Result<bool, HubError> {
        // Only a person's word can come too late.
        Ok(self.apply_input(id, input)?.unwrap_or(false))
    }

    /// Gives a run an input: its events are journaled, then applied, and only then its actions leave. Says whether
    /// anything followed.
    fn apply_input(
        &mut self,
        id: &RunId,
        input: &Input,
    ) -> Result<Result<bool, SteerError>, HubError> {
        let now = self.clock.now();
        let Some(active) = self.runs.get_mut(id) else { return Ok(Ok(false)) };
        let decision = match active.run.decide(input, &self.index, now) {
            Ok(decision) => decision,
            Err(error) => return Ok(Err(error)),
        };
        if decision.is_empty() {
            return Ok(Ok(false));
        }
        active.record(&mut self.journal, now, decision.events)?;
        self.stale = true;
        let calls: Vec<CallRequest> =
            decision.actions.into_iter().map(|action| active.call(action)).collect();
        for call in calls {
            if let Err(error) = self.calls.try_send(call) {
                let (mpsc::error::TrySendError::Full(call)
                | mpsc::error::TrySendError::Closed(call)) = error;
                let message = teardown::api_problem::ProblemCode::QueueFull.into();
                let outcome = teardown::action::Outcome::Unanswered { message, after: None };
                let performed = Input::CallCompleted { action: call.action, outcome };
                self.advance(id, &performed)?;
            }
        }
        Ok(Ok(true))
    }

    /// Makes the graph and the units of the index as it is, if that has not been done.
    fn learn(&mut self) {
        let changes = self.index.changes();
        if self.known.as_ref().is_none_or(|known| known.changes != changes) {
            let graph = Graph::of(&self.index);
            let units = units(&self.index, &graph);
            self.known = Some(Known { changes, graph, units });
        }
    }

    fn make_plan(&mut self, unit: &UnitId) -> Result<Arc<Plan>, Refusal> {
        let plan = Arc::new(self.plan_now(unit)?);
        self.keep_plan(&plan);
        Ok(plan)
    }

    fn plan_now(&mut self, id: &UnitId) -> Result<Plan, Refusal> {
        if !self.index.is_synced() {
            return Err(Refusal::NotReady);
        }
        let now = self.clock.now();
        self.learn();
        let Some(known) = &self.known else { return Err(Refusal::NotReady) };
        let unit = known.units.get(id).ok_or_else(|| Refusal::UnknownUnit(id.clone()))?;
        plan::plan(&self.index, &known.graph, unit, now).map_err(Refusal::Unplannable)
    }

    fn keep_plan(&mut self, plan: &Arc<Plan>) {
        if self.plans.insert(plan.id.clone(), plan.clone()).is_none() {
            self.plans_by_age.push_back(plan.id.clone());
        }
        if self.plans_by_age.len() > PLANS
            && let Some(oldest) = self.plans_by_age.pop_front()
        {
            self.plans.remove(&oldest);
        }
    }

    fn read_plan(&self, id: &PlanId) -> Result<Arc<Plan>, Refusal> {
        if let Some(plan) = self.plans.get(id) {
            return Ok(plan.clone());
        }
        let cluster = self.cluster();
        let mut ours = self.runs.values().filter(|it| it.cluster.is(&cluster));
        match ours.find(|active| active.run.plan.id == *id) {
            Some(active) => Ok(active.run.plan.clone()),
            None => Err(Refusal::UnknownPlan(id.clone())),
        }
    }

    fn start(&mut self, start: &Start) -> Result<Result<RunId, Refusal>, HubError> {
        let plan = match self.confirmed(start) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let id = RunId::new(format!("{:016x}", self.chance.number()?));
        let now = self.clock.now();
        let cluster = self.cluster();
        match ActiveRun::begin(&mut self.journal, id.clone(), plan, &start.by, cluster, now) {
            Ok(active) => {
                self.runs.insert(id.clone(), active);
                self.stale = true;
                Ok(Ok(id))
            }
            Err(error) => Ok(Err(Refusal::Journal(error.to_string()))),
        }
    }

    /// The plan, if what the person confirmed is still what would happen.
    fn confirmed(&mut self, start: &Start) -> Result<Arc<Plan>, Refusal> {
        let plan = self.read_plan(&start.plan)?;
        if plan.hash != start.hash {
            return Err(Refusal::WrongHash);
        }
        if plan.unit.as_str() != start.confirm.trim() {
            return Err(Refusal::WrongName);
        }
        // What Pods nobody sees might use would stand in the plan as if nothing used it.
        let namespaces: BTreeSet<&str> =
            plan.steps.iter().filter_map(|step| step.object.namespace.as_deref()).collect();
        for namespace in namespaces {
            self.index.check_pods_visible(Some(namespace)).map_err(Refusal::PodsHidden)?;
        }
        let held = self.runs.values().filter(|active| !active.run.state().is_ended());
        for active in held {
            let mut theirs = active.run.plan.steps.iter();
            if let Some(step) =
                theirs.find(|step| plan.steps.iter().any(|ours| ours.uid == step.uid))
            {
                return Err(Refusal::Overlap {
                    run: active.run.id.clone(),
                    object: step.object.clone(),
                });
            }
        }
        let now = match self.plan_now(&plan.unit) {
            Ok(now) => now,
            Err(Refusal::Unplannable(plan::PlanError::Empty) | Refusal::UnknownUnit(_)) => {
                Plan { steps: Vec::new(), ..(*plan).clone() }
            }
            Err(refusal) => return Err(refusal),
        };
        let differences = differences(&plan, &now);
        if differences.is_empty() { Ok(plan) } else { Err(Refusal::Stale(differences)) }
    }

    fn steer(
        &mut self,
        run: &RunId,
        steer: Steer,
        by: String,
    ) -> Result<Result<(), Refusal>, HubError> {
        if let Err(refusal) = self.active_run(run) {
            return Ok(Err(refusal));
        }
        let input = match steer {
            Steer::Pause => Input::Pause { by },
            Steer::Resume => Input::Resume { by },
            Steer::Stop => Input::Stop { by },
            Steer::Skip(step) => Input::Skip { step, by },
        };
        Ok(match self.apply_input(run, &input)? {
            Ok(_) => Ok(()),
            Err(SteerError::Ended) => Err(Refusal::Ended),
            Err(SteerError::UnknownStep(step)) => Err(Refusal::UnknownStep(step)),
            Err(SteerError::TooLate(step)) => Err(Refusal::TooLate(step)),
        })
    }

    fn records(&mut self, topic: &Topic) -> Result<Vec<Record>, Refusal> {
        let now = self.clock.now();
        self.learn();
        let Some(known) = &self.known else { return Err(Refusal::NotReady) };
        let cluster = self.cluster();
        let ours = self.runs.values().filter(|active| active.cluster.is(&cluster));
        let mut runs: Vec<&Run> = ours.map(|active| &active.run).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.started()));
        let world = World {
            cluster: &self.name,
            index: &self.index,
            graph: &known.graph,
            units: &known.units,
            runs: &runs,
            now,
        };
        match topic {
            Topic::Units => Ok(world.overview()),
            Topic::Unit(id) => world.unit(id).ok_or_else(|| {
                // What was not read yet is not missing.
                let read = self.index.is_synced();
                if read { Refusal::UnknownUnit(id.clone()) } else { Refusal::NotReady }
            }),
            Topic::Run(id) => Ok(world.run(&self.active_run(id)?.run)),
        }
    }

    fn query(&mut self, topic: &Topic) -> Result<Message, Refusal> {
        let records = self.records(topic)?;
        let channel = self.channel(topic);
        channel.publish(records);
        Ok(channel.message())
    }

    fn subscribe(
        &mut self,
        topic: &Topic,
        after: Option<Revision>,
    ) -> Result<Subscription, Refusal> {
        // Who read it before sees how it ended; who did not is told as whoever looks. What was not read yet they wait for,
        // and see what keeps it.
        match self.records(topic) {
            Err(Refusal::NotReady) if matches!(topic, Topic::Unit(_)) => {}
            Err(refusal) if after.is_none() => return Err(refusal),
            _ => {}
        }
        self.refresh(topic)?;
        Ok(self.channel(topic).subscribe(after))
    }

    fn channel(&mut self, topic: &Topic) -> &mut TopicChannel {
        let start = Revision { boot: self.boot, count: self.clock.milliseconds() };
        self.topics.entry(topic.clone()).or_insert_with(|| TopicChannel::new(start))
    }

    /// Brings a topic's board up to now, so that its readers see what the hub knows.
    fn refresh(&mut self, topic: &Topic) -> Result<(), Refusal> {
        let records = match self.records(topic) {
            // A unit that had readers and is gone now: they see its last member go, and then an empty page.
            Err(Refusal::UnknownUnit(_)) if self.topics.contains_key(topic) => {
                self.surroundings()?
            }
            Err(Refusal::NotReady) if matches!(topic, Topic::Unit(_)) => self.surroundings()?,
            records => records?,
        };
        self.channel(topic).publish(records);
        Ok(())
    }

    /// What stands around every page.
    fn surroundings(&mut self) -> Result<Vec<Record>, Refusal> {
        Ok(self.records(&Topic::Units)?.into_iter().filter(is_frame).collect())
    }

    fn publish(&mut self) {
        let since = self.published.elapsed();
        if !(since >= AGE || self.stale && since >= PUBLISH) {
            return;
        }
        self.published = Instant::now();
        self.stale = false;
        self.topics.retain(|_, channel| !channel.is_abandoned(LINGER));
        let topics = self.topics.iter_mut();
        let followed: Vec<Topic> = topics
            .filter_map(|(topic, channel)| channel.is_followed().then(|| topic.clone()))
            .collect();
        for topic in followed {
            if let Err(refusal) = self.refresh(&topic) {
                tracing::warn!(topic = %topic, refusal = ?refusal, "a topic could not be brought up to date");
            }
        }
    }
}

/// Whether a record belongs to a page's frame rather than to its subject.
fn is_frame(record: &Record) -> bool {
    match record {
        Record::Cluster(_) | Record::HiddenKind(_) => true,
        Record::Unit(_)
        | Record::Run(_)
        | Record::Object(_)
        | Record::Edge(_)
        | Record::Step(_)
        | Record::Event(_) => false,
    }
}

/// Whoever asked may have gone away meanwhile; then nobody misses the answer.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

#[cfg(test)]
mod tests;
