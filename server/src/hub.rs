//! The actor that owns the index and the open runs. All other tasks send it messages and read the views that it
//! publishes. It depends on neither kube nor axum: it has one mailbox and one channel for calls to the cluster.
//!
//! ```text
//!  cluster ─ Observed, CallCompleted ►┐             ┌──► calls ──► cluster
//!                                     │ process all │
//!  http ──── Subscribe, Start, … ────►┤ messages    ├──► journal, before any call is sent
//!                                     │ as a batch  │
//!  time ──── the next wake ──────────►┘             └──► topics: one view each, at most every 50 ms ──► browsers
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
    world::World,
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

/// The most messages in the mailbox. A burst of watch events arrives as few large messages, so the mailbox rarely fills
/// up; when it is full, the watches wait.
pub const MAILBOX: usize = 1024;
/// The most calls in the queue to the cluster. A step has at most one call in flight, so this is the number of steps
/// that can run at the same time. A call that does not fit counts as unanswered and is retried.
pub const CALLS: usize = 16 * 1024;
/// The most messages processed as one batch.
const BATCH: usize = 512;
/// The interval between two publications: short enough to look instant, long enough to combine a burst into one
/// message.
const PUBLISH: Duration = Duration::from_millis(50);
/// The interval at which pages are updated although no message arrived, because objects become slow or stuck by waiting.
const AGE: Duration = Duration::from_secs(1);
/// The time for which a topic without readers is kept, so that a returning reader receives the deltas they missed.
const LINGER: Duration = Duration::from_secs(60);
/// The most plans kept for reading; the journal keeps those of runs as well.
const PLANS: usize = 256;
/// The most decisions of a run in one reconciliation. More would mean that the run never settles.
const MAX_DECISIONS: usize = 10_000;

/// The errors that end the hub.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Without a journal no call may be made.
    #[error("the journal failed")]
    Journal(#[from] JournalError),
    /// A run in the journal does not match its plan, or its plan is missing.
    #[error("the journal's record of run {0} does not fit its plan")]
    Damaged(RunId),
    /// The operating system gave no random numbers.
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
}

/// The hub's state. [`Hub::open`] reads the journal, and [`Hub::run`] is the event loop.
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

/// Values computed from the index, kept until the index changes.
struct Known {
    changes: u64,
    graph: Graph,
    units: BTreeMap<UnitId, Unit>,
}

impl Hub {
    /// Reads the journal and restores the state of the earlier process. Open runs continue once every kind has been
    /// listed.
    ///
    /// # Errors
    /// [`HubError`] if the journal cannot be read.
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

    /// Makes a simulation repeatable: the clock starts at `now`, and random numbers are derived from `chance`.
    ///
    /// # Errors
    /// [`HubError::Random`] if `chance` yields no random numbers.
    pub fn repeatable(mut self, now: Timestamp, chance: Chance) -> Result<Self, HubError> {
        self.clock = Clock::start(now);
        self.boot = chance.number()?;
        self.chance = chance;
        Ok(self)
    }

    /// Runs until the drain token is cancelled or all handles are dropped.
    ///
    /// # Errors
    /// [`HubError`] if it cannot continue.
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

    /// The identity of this cluster, so that a run is never executed on another one.
    fn cluster(&self) -> ClusterId {
        let system = self.index.find("", "Namespace", None, "kube-system");
        ClusterId::new(&self.name, system.map(|namespace| &namespace.uid))
    }

    /// The run with this id, if it belongs to this cluster.
    fn active_run(&self, id: &RunId) -> Result<&ActiveRun, Refusal> {
        match self.runs.get(id) {
            Some(active) if active.cluster.is(&self.cluster()) => Ok(active),
            // The UID that identifies the cluster has not been read yet.
            Some(_) if !self.index.is_synced() => Err(Refusal::NotReady),
            _ => Err(Refusal::UnknownRun(id.clone())),
        }
    }

    /// The next time at which the passing of time alone may have an effect.
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
            // The reply must reflect every message that arrived before the query.
            Incoming::Subscribe { topic, after, reply } => {
                self.reconcile_runs()?;
                let subscription = self.subscribe(&topic, after);
                send_reply(reply, subscription);
            }
            Incoming::Query { topic, reply } => {
                self.reconcile_runs()?;
                let message = self.query(&topic);
                send_reply(reply, message);
            }
            Incoming::Time { reply } => send_reply(reply, now),
            Incoming::MakePlan { unit, reply } => {
                let plan = self.make_plan(&unit);
                send_reply(reply, plan);
            }
            Incoming::ReadPlan { plan, reply } => {
                let plan = self.read_plan(&plan);
                send_reply(reply, plan);
            }
            Incoming::ReadEventLog { run, reply } => {
                self.reconcile_runs()?;
                let feed = self.active_run(&run).map(|it| it.run.event_log().to_vec());
                send_reply(reply, feed);
            }
            Incoming::Start { start, reply } => {
                let run = self.start(&start)?;
                send_reply(reply, run);
            }
            Incoming::Steer { run, steer, by, reply } => {
                let steered = self.steer(&run, steer, by)?;
                send_reply(reply, steered);
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

    /// Reconciles every open run until none has anything left to do.
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
            for _ in 0..MAX_DECISIONS {
                if !self.advance(&run, &Input::Reconcile)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Gives a run an input that is not a person's command. Returns whether anything followed.
    fn advance(&mut self, id: &RunId, input: &Input) -> Result<bool, HubError> {
        // Only a person's command can come too late.
        Ok(self.apply_input(id, input)?.unwrap_or(false))
    }

    /// Gives a run an input: its events are written to the journal, then applied, and only then are its actions sent.
    /// Returns whether anything followed.
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

    /// Computes the graph and the units from the index, unless they are up to date.
    fn update_known(&mut self) {
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
        self.update_known();
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

    /// The plan, provided that a new plan of the unit does not differ from the confirmed one.
    fn confirmed(&mut self, start: &Start) -> Result<Arc<Plan>, Refusal> {
        let plan = self.read_plan(&start.plan)?;
        if plan.hash != start.hash {
            return Err(Refusal::WrongHash);
        }
        if plan.unit.as_str() != start.confirm.trim() {
            return Err(Refusal::WrongName);
        }
        // Objects that hidden Pods use would be in the plan as if they were unused.
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
        self.update_known();
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
                // Before the first lists are complete, a topic that is not found may still exist.
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
        // A reader who had the topic open sees how it ended; a new reader receives a refusal. Before the first lists
        // are complete, both wait and see which kinds are missing.
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

    /// Updates a topic's channel, so that its readers see the hub's current state.
    fn refresh(&mut self, topic: &Topic) -> Result<(), Refusal> {
        let records = match self.records(topic) {
            // The unit is gone and has readers: they see its last member go, and then an empty page.
            Err(Refusal::UnknownUnit(_)) if self.topics.contains_key(topic) => {
                self.frame_records()?
            }
            Err(Refusal::NotReady) if matches!(topic, Topic::Unit(_)) => self.frame_records()?,
            records => records?,
        };
        self.channel(topic).publish(records);
        Ok(())
    }

    /// The records of every page's frame.
    fn frame_records(&mut self) -> Result<Vec<Record>, Refusal> {
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

/// Whether a record belongs to a page's frame rather than to its content.
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

/// Sends a reply. If the caller is gone, nobody needs it.
fn send_reply<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

#[cfg(test)]
mod tests;
