//! One simulation run: an application, a server, an operator and faults, all generated from a seed.

mod actions;
mod edge_forms;
mod keep_marks;
mod lagging_controller;
mod leak_check;
mod more_rights;
mod other_actors;
mod run_ends;
mod start_run;

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
use server::hub::HubHandle;
use teardown::{
    fold::View,
    message::{Message, Record, Revision, Topic},
    plan::Plan,
    run::RunId,
};
use tokio::{
    runtime::Runtime,
    sync::{Notify, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    application::Application,
    coverage::Artifacts,
    disk::Disk,
    end_page::EndPage,
    fault_schedule::{Crash, FaultSchedule, NODES},
    feature_set::{FeatureSet, has_http_client},
    mutant::{Confirmed, Mutant},
    observed_versions::ObservedVersions,
    oracle::{self, Evidence, USER, Violation},
    outcome::Outcome,
    reader::{FoldedPage, differences, read},
    revision_times::RevisionTimes,
    server_instance::{Environment, ServerInstance},
    server_log::ServerLog,
    transcript::Transcript,
    transport::Arrivals,
};

/// The time that an application gets to settle.
const SETTLE_TIME: Duration = Duration::from_secs(20);
/// The longest time that a run may take once all faults are repaired. It is long because controllers retry with exponential backoff,
/// which reaches minutes.
const MAX_RUN_TIME: Duration = Duration::from_secs(30 * 60);
/// The time for which a late object stays after all faults are repaired.
const LATE_OBJECT_LIFETIME: Duration = Duration::from_secs(60);
/// The longest time that the hub may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Simulates the run of a seed.
pub(crate) fn simulate(seed: u64, mutant: Option<Mutant>) -> Outcome {
    run_to_outcome(async move || Simulation::prepare(seed, mutant).await)
}

/// Simulates the application of a seed without any fault except crashes of the first and the second server instance.
pub(crate) fn simulate_without_faults(seed: u64, crashes: [Option<Crash>; 2]) -> Outcome {
    run_to_outcome(async move || Simulation::prepare_without_faults(seed, crashes).await)
}

pub(crate) use edge_forms::edge_forms;

/// A runtime whose paused time advances whenever all tasks wait.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without a driver needs nothing of the system")
}

fn run_to_outcome(begin: impl AsyncFnOnce() -> Simulation) -> Outcome {
    let server_log = ServerLog::default();
    let _guard = server_log.capture();
    runtime().block_on(async {
        let mut simulation = begin().await;
        simulation.run_to_the_end().await;
        let mut outcome = simulation.finish().await;
        outcome.violations.extend(server_log.violation());
        outcome
    })
}

/// The seed of the sandbox, the application and the schedule that belong to a seed.
pub(crate) fn generate(seed: u64) -> (u64, Application, FaultSchedule) {
    let mut rng = Rng::with_seed(seed);
    let sandbox = rng.u64(..);
    let mut application = Application::generate(&mut rng.fork());
    let mut schedule = FaultSchedule::generate(&mut rng.fork(), &application);
    if has_http_client(seed) {
        schedule.add_unauthenticated_requests();
    }
    let features = FeatureSet::of(seed);
    if features.has_rare_components {
        application.add_rare_components(&mut rng.fork());
    }
    if features.has_settings_references {
        application.add_settings_references(&mut rng.fork());
    }
    if features.has_rare_faults {
        schedule.add_rare_faults(&mut rng.fork(), &application);
    }
    if features.has_early_faults {
        schedule.start_before_server(&mut rng.fork());
    }
    schedule.add_unplanned_pod(&mut rng.fork(), &application);
    application.remove_claim_labels(&mut rng.fork());
    schedule.slow_a_component(&mut rng.fork());
    if features.has_forced_deletions {
        schedule.add_forced_deletions(&mut rng.fork());
    }
    if features.has_failing_disk {
        schedule.add_disk_failure(&mut rng.fork());
    }
    if features.has_neighbours {
        application.add_neighbours(&mut rng.fork());
        schedule.add_neighbour_faults(&mut rng.fork(), application.neighbours);
    }
    if features.has_outsiders_finalizer || features.has_hidden_kind {
        application.add_custom_resource(&mut rng.fork());
    }
    if features.has_outsiders_finalizer {
        application.add_outsiders_finalizer();
    }
    if features.has_unseen_content {
        schedule.add_unseen_content(&mut rng.fork(), &application);
    }
    if features.has_hidden_kind {
        schedule.hide_custom_resources(&mut rng.fork(), &application);
    }
    if features.has_driver {
        application.add_driver(&mut rng.fork());
    }
    if features.has_long_grace {
        application.lengthen_grace();
    }
    if features.has_late_answers {
        schedule.script.push_str("on delete * as=unwind until=8s p=0.4 -> 408 after\n");
    }
    if features.has_late_ingress {
        schedule.add_late_ingress(&mut rng.fork(), &application);
    }
    if features.has_keep_marks {
        schedule.add_keep_marks(&mut rng.fork());
    }
    if features.has_hints {
        application.add_hints(&mut rng.fork());
    }
    (sandbox, application, schedule)
}

struct Simulation {
    environment: Environment,
    application: Application,
    schedule: FaultSchedule,
    instance: Option<ServerInstance>,
    instances: u64,
    hubs: watch::Sender<Option<HubHandle>>,
    /// Readers of pages.
    tasks: JoinSet<()>,
    pages: BTreeMap<Topic, FoldedPage>,
    /// The page that is followed through the router.
    browser_page: Option<(Topic, FoldedPage)>,
    events: Vec<Arc<Event>>,
    revision_times: RevisionTimes,
    /// The time at which the first fault was injected.
    faults_began: Option<Instant>,
    healed: Option<u64>,
    lifecycle_times: Vec<u64>,
    planned: u64,
    plan: Option<Arc<Plan>>,
    run: Option<RunId>,
    /// The first page of each run that said that the run is over, as a new reader gets it.
    run_ends: BTreeMap<String, EndPage>,
    late_objects: usize,
    has_lagging_controller: bool,
    /// The events that the lagging controller has seen.
    lagging_since: usize,
    violations: Vec<Violation>,
    began: Instant,
}

impl Simulation {
    async fn prepare(seed: u64, mutant: Option<Mutant>) -> Self {
        let (sandbox, application, schedule) = generate(seed);
        Self::prepare_with(seed, sandbox, application, schedule, mutant).await
    }

    async fn prepare_without_faults(seed: u64, crashes: [Option<Crash>; 2]) -> Self {
        let mut rng = Rng::with_seed(seed);
        let sandbox = rng.u64(..);
        let application = Application::generate(&mut rng.fork());
        let schedule = FaultSchedule::without_faults(crashes);
        Self::prepare_with(seed, sandbox, application, schedule, None).await
    }

    async fn prepare_with(
        seed: u64,
        sandbox: u64,
        mut application: Application,
        mut schedule: FaultSchedule,
        mutant: Option<Mutant>,
    ) -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap_or_default();
        let mut controllers = Controllers::new(Timing::default());
        controllers.node_faults.kubelets = NODES.map(String::from).into();
        let sandbox = Sandbox::start(start, sandbox, controllers);
        let transcript = Transcript::begin();
        let has_all_rights = !FeatureSet::of(seed).has_rights_in_one_namespace;
        let visible = (!has_all_rights).then(|| application.add_rights_in_one_namespace(USER));
        let groups = if has_all_rights { "system:masters" } else { "system:basic-user" };
        let groups = vec![groups.to_owned(), "system:authenticated".to_owned()];
        let actor = Actor { name: USER.to_owned(), groups, ..Actor::admin() };
        let disk = Disk::default();
        if mutant == Some(Mutant::LateIntent) {
            disk.acknowledge_early();
        }
        if mutant == Some(Mutant::IgnoredFailure) {
            disk.ignore_failures();
        }
        if mutant == Some(Mutant::StaleRead) {
            schedule.script.insert_str(0, "on list pods -> stale 60\n");
        }
        let environment = Environment {
            start,
            sandbox: sandbox.speaking_as(Some(actor)),
            disk,
            arrivals: Arrivals::default(),
            observed: ObservedVersions::default(),
            transcript,
            mutant,
            confirmed: Confirmed::default(),
            stopped: Arc::new(Notify::new()),
            seed,
            visible,
        };
        let mut simulation = Self {
            environment,
            application,
            schedule,
            instance: None,
            instances: 0,
            hubs: watch::Sender::new(None),
            tasks: JoinSet::new(),
            pages: BTreeMap::new(),
            browser_page: None,
            events: vec![],
            revision_times: RevisionTimes::default(),
            faults_began: None,
            healed: None,
            lifecycle_times: vec![],
            planned: 0,
            plan: None,
            run: None,
            run_ends: BTreeMap::new(),
            late_objects: 0,
            has_lagging_controller: FeatureSet::of(seed).has_lagging_controller,
            lagging_since: 0,
            violations: vec![],
            began: Instant::now(),
        };
        simulation.create_application();
        // The store keeps only recent events, so they are pulled as they come.
        for _ in 0..SETTLE_TIME.as_secs() {
            sleep(Duration::from_secs(1)).await;
            simulation.pull_events();
        }
        simulation
    }

    fn log(&self, line: impl Into<String>) {
        self.environment.transcript.log(line);
    }

    fn report(&mut self, invariant: &'static str, text: String) {
        self.violations.push(Violation::new(invariant, text));
    }

    fn create_application(&mut self) {
        let objects = self.application.objects.clone();
        let refused = self.environment.sandbox.with(|world| {
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
            self.report("setup", format!("cannot be created: {refusal}"));
        }
    }

    /// Pulls the new events before the store forgets them.
    fn pull_events(&mut self) {
        let seen = self.events.last().map_or(1, |event| event.revision);
        let events = self.environment.sandbox.with(|world| {
            let since = world.cluster.store.since(seen);
            since.map(|events| events.map(|one| one.event()).collect::<Vec<_>>())
        });
        match events {
            Ok(events) => {
                let reached = events.last().map_or(seen, |event| event.revision);
                self.events.extend(events);
                self.revision_times.note(self.environment.transcript.now(), reached);
            }
            Err(compacted) => self.report("setup", compacted.to_string()),
        }
    }

    fn start_server(&mut self) {
        self.lifecycle_times.push(self.environment.transcript.now());
        match ServerInstance::start(&self.environment, self.instances) {
            Ok(mut instance) => {
                let crash = match self.instances {
                    0 => self.schedule.crash,
                    1 => self.schedule.crash_in_recovery,
                    _ => None,
                };
                match crash {
                    Some(Crash::AtWrite(after, crash_point)) => {
                        self.environment.disk.crash_at_write(after, crash_point);
                    }
                    Some(Crash::AtDelete(after, with_effect)) => {
                        self.environment.arrivals.crash_at_delete(after, with_effect);
                    }
                    Some(Crash::After(time)) => instance.crash_after(time),
                    None => {}
                }
                self.hubs.send_replace(Some(instance.hub.clone()));
                self.instance = Some(instance);
                self.instances += 1;
            }
            Err(error) => self.report("I3", error),
        }
    }

    async fn kill(&mut self, why: &str) {
        self.hubs.send_replace(None);
        self.lifecycle_times.push(self.environment.transcript.now());
        if let Some(instance) = self.instance.take() {
            instance.kill(why).await;
        }
    }

    fn read(&mut self, topic: Topic) {
        if !self.pages.contains_key(&topic) {
            let seen = FoldedPage::from(self.observer());
            let (hubs, mutant) = (self.hubs.subscribe(), self.environment.mutant);
            self.tasks.spawn(read(topic.clone(), hubs, seen.clone(), mutant));
            self.pages.insert(topic, seen);
        }
    }

    async fn run_to_the_end(&mut self) {
        if self.schedule.is_early {
            self.inject_faults();
        }
        self.start_server();
        if self.environment.seed.is_multiple_of(4) {
            self.read(Topic::Units);
        }
        if !self.plan_and_start().await {
            return;
        }
        let mut actions: VecDeque<_> = std::mem::take(&mut self.schedule.actions).into();
        let began = Instant::now();
        if !self.schedule.is_early {
            self.inject_faults();
        }
        let heal_time = self.heal_time().unwrap_or(began);
        let deadline = heal_time.max(began) + MAX_RUN_TIME;
        let mut restart: Option<Instant> = None;
        let mut tick = began;
        loop {
            let now = Instant::now();
            if self.read_run_ends().await && (self.healed.is_some() || actions.is_empty()) {
                break;
            }
            if now > deadline {
                let unfinished = self.unfinished_steps().await;
                let said = self.last_entries_of_kubelets();
                self.report(
                    "I9",
                    format!("not over {MAX_RUN_TIME:?} after the repair: {unfinished}{said}"),
                );
                break;
            }
            let next = actions.front().map(|(after, _)| began + *after);
            let next = next.into_iter().chain(restart).chain([tick]).min().unwrap_or(tick);
            let stopped = self.environment.stopped.clone();
            tokio::select! {
                biased;
                () = stopped.notified() => {
                    self.kill("crashed").await;
                    restart = Some(Instant::now() + self.schedule.downtime);
                    continue;
                }
                () = sleep_until(next) => {}
            }
            let now = Instant::now();
            if restart.is_some_and(|at| at <= now) {
                restart = None;
                self.start_server();
            }
            while actions.front().is_some_and(|(after, _)| began + *after <= now) {
                if let Some((_, action)) = actions.pop_front() {
                    self.perform(action).await;
                }
            }
            if now >= tick {
                tick = now + Duration::from_secs(1);
                self.run_operators();
                self.pull_events();
                self.run_lagging_controller();
                if now >= heal_time {
                    if self.healed.is_none() {
                        self.heal();
                    }
                    self.resume_and_clean_up(now >= heal_time + LATE_OBJECT_LIFETIME).await;
                }
            }
        }
    }

    /// The steps that are not gone, as the page describes them.
    async fn unfinished_steps(&self) -> String {
        let (Some(instance), Some(run)) = (&self.instance, &self.run) else { return String::new() };
        let looked = timeout(ANSWER_TIMEOUT, instance.hub.query(Topic::Run(run.clone()))).await;
        let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else {
            return format!("{looked:?}");
        };
        let left = records.into_iter().filter_map(|record| match record {
            Record::Step(step) if step.gone.is_none() => Some(format!(
                "\n   {}: {:?} {:?} {:?}",
                step.object, step.state, step.waits_for, step.problem
            )),
            Record::Run(run) => Some(format!("{:?}", run.state)),
            Record::HiddenKind(kind) => Some(format!("\n   hidden: {kind:?}")),
            _ => None,
        });
        left.collect()
    }

    /// The last entry in the log of each kubelet, such as the reason why the volume of a Pod stays mounted.
    fn last_entries_of_kubelets(&self) -> String {
        self.environment.sandbox.with(|world| {
            let logs = world.controllers.node_faults.kubelet_logs.iter();
            let last = logs.filter_map(|(node, log)| Some(format!("\n   {node}: {}", log.back()?)));
            last.collect()
        })
    }

    async fn finish(mut self) -> Outcome {
        let over = self.environment.transcript.now();
        // The last messages arrive within this time.
        sleep(Duration::from_secs(3)).await;
        self.pull_events();
        if let Some(instance) = &self.instance {
            let hub = instance.hub.clone();
            for (topic, seen) in self.pages.clone().into_iter().chain(self.browser_page.clone()) {
                self.compare_with_snapshot(&hub, &topic, &seen).await;
            }
        }
        for seen in self.pages.values().chain(self.browser_page.iter().map(|(_, seen)| seen)) {
            self.violations.extend(seen.violations());
        }
        let journal = self.environment.disk.journal();
        let (writes, deletes) = (self.environment.disk.writes(), self.environment.arrivals.count());
        let evidence = Evidence {
            entries: self.environment.sandbox.with(|world| world.cluster.log.entries().to_vec()),
            events: self.events.clone(),
            planned: self.planned,
            arrivals: self.environment.arrivals.all(),
            journal,
            is_clock_set: self.schedule.script.contains(" clock "),
            observed: self.environment.observed.clone(),
            visible: self.environment.visible.clone(),
            // After a 429 the server holds calls back for up to 45 s, otherwise only for a moment.
            max_hold_back: if self.schedule.script.contains("429") { 45_000 } else { 2_000 },
            start: self.environment.start,
            revision_times: self.revision_times.clone(),
            healed: self.healed,
            faults_ended: if self.schedule.script.is_empty() { Some(0) } else { self.healed },
            end_pages: self.end_pages(),
            lifecycle_times: self.lifecycle_times.clone(),
            over,
        };
        self.violations.extend(oracle::check(&evidence));
        for failure in self.environment.sandbox.with(|world| world.take_failed_faults()) {
            let text = format!("{:?} could not be applied: {}", failure.fault, failure.reason);
            self.report("sandbox", text);
        }
        for panic in self.environment.sandbox.with(|world| world.controllers.take_panics()) {
            self.report("sandbox", format!("{} panicked: {}", panic.controller, panic.message));
        }
        let logs = self.environment.sandbox.with(|world| {
            let logs = world.controllers.node_faults.kubelet_logs.values();
            logs.flatten().cloned().collect::<Vec<_>>()
        });
        let artifacts = Artifacts {
            events: &self.events,
            entries: &evidence.entries,
            arrivals: &evidence.arrivals,
            journal: &evidence.journal,
            logs: &logs,
        };
        let effects = artifacts.effects();
        self.kill("the run is over").await;
        Outcome {
            seed: self.environment.seed,
            violations: self.violations,
            transcript: self.environment.transcript,
            script: self.schedule.script,
            events: self.events,
            entries: evidence.entries,
            writes,
            deletes,
            revision_times: self.revision_times,
            objects: self.application.objects.len(),
            ran: self.run.is_some(),
            late_objects: self.late_objects,
            effects,
            lasted: self.began.elapsed(),
        }
    }

    /// I4: the page that a reader folded from deltas equals a new snapshot.
    async fn compare_with_snapshot(&mut self, hub: &HubHandle, topic: &Topic, seen: &FoldedPage) {
        let mut difference = String::new();
        for _ in 0..8 {
            let Ok(looked) = timeout(ANSWER_TIMEOUT, hub.query(topic.clone())).await else {
                difference = format!("no answer within {} s", ANSWER_TIMEOUT.as_secs());
                continue;
            };
            // A topic that no longer exists, or a hub that has ended, has nothing to compare with.
            let Ok(Ok(fresh)) = looked else { return };
            // A page gets neither evidence nor contact with a diagnosis, so it is compared with what would be sent to it.
            let json = serde_json::to_string(&fresh).expect("a message is JSON");
            let snapshot: Message = serde_json::from_str(&json).expect("it can be read again");
            let mut fresh = View::new(Revision { boot: 0, count: 0 }, []);
            fresh.apply(snapshot).expect("a snapshot fits any view");
            let folded = seen.view();
            if folded.as_ref() == Some(&fresh) {
                return;
            }
            difference = differences(folded.as_ref(), &fresh);
            sleep(Duration::from_millis(700)).await;
        }
        self.report(
            "I4",
            format!("{topic}: the folded page differs from the snapshot: {difference}"),
        );
    }
}
