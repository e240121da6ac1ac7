//! The costs of a large cluster: one event, one publication, one look of a run, and the memory of an object.
//!
//! Names, UIDs and labels are as long as in a real cluster, objects share equal text through the interner, as in the
//! server, and every figure is a median, in microseconds, unless it says otherwise. Bytes are those that the allocator
//! was asked for, not resident memory. A figure beyond its goal fails the bench.

use std::{
    collections::BTreeSet,
    hint::black_box,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use peak_alloc::PeakAlloc;
use teardown::{
    derived::Derived,
    diagnosis::diagnose,
    fixture,
    fold::Publication,
    graph::Graph,
    index::Index,
    interner::Interner,
    message::{Record, Revision},
    object::{Facts, Object, Uid},
    observation::Observation,
    plan::{Choices, plan},
    run::{Input, Run, RunEvent, RunId, StepProblem},
    unit::UnitId,
    world::{OverviewCards, RunPage, World, edges_of_plan},
};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Whether a figure was beyond its goal.
static IS_MISSED: AtomicBool = AtomicBool::new(false);

/// The objects of one application.
const EACH: usize = 10;

fn uid(app: usize, object: usize) -> String {
    format!("{app:08x}-4b1d-4c7a-9a53-0242ac{object:06x}")
}

/// Ten objects are a Deployment, a ReplicaSet, four Pods with three volumes each, a claim, a ConfigMap, a Service and a
/// ServiceAccount; ten such applications are in one namespace, and `per_unit` of them are one unit.
fn objects(count: usize, per_unit: usize) -> Vec<Object> {
    let mut text = String::new();
    for node in 0..50 {
        text += &format!("node node-{node} uid={}\n", uid(0xfff0_0000 + node, 0));
    }
    for ns in 0..(count / EACH).div_ceil(10) {
        text += &format!("ns team-{ns} uid={}\n", uid(0xffe0_0000 + ns, 0));
    }
    for i in 0..count / EACH {
        let (ns, unit) = (format!("team-{}", i / 10), format!("shop-{}", i / per_unit));
        let app = format!("app.kubernetes.io/name:web-{i},app.kubernetes.io/instance:shop-{i}");
        let pods = format!("{app},pod-template-hash:7d9c5b{i:04x}");
        let uses = format!(
            "uses=claim:web-{i}-data,config:web-{i}-settings,secret:web-{i}-tls,account:web-{i}"
        );
        let [deploy, rs] = [uid(i, 0), uid(i, 1)];
        text += &format!(
            "deploy {ns}/web-{i} uid={deploy} of={unit} labels={app} selector={app} template={app} {uses}\n"
        );
        let set = format!("web-{i}-7d9c5b{i:04x}");
        text += &format!(
            "rs {ns}/{set} uid={rs} owner=deploy/web-{i} owner-uid={deploy} labels={pods} selector={pods} template={pods} {uses}\n"
        );
        for pod in 0..4 {
            text += &format!(
                "pod {ns}/{set}-x2k4{pod} uid={} owner=rs/{set} owner-uid={rs} labels={pods} {uses} node=node-{}\n",
                uid(i, 2 + pod),
                (i + pod) % 50,
            );
        }
        for (n, line) in [
            format!("pvc {ns}/web-{i}-data volume=pvc-{} class=fast capacity=10Gi", uid(i, 6)),
            format!("cm {ns}/web-{i}-settings"),
            format!("svc {ns}/web-{i} selector={app}"),
            format!("sa {ns}/web-{i}"),
        ]
        .iter()
        .enumerate()
        {
            text += &format!("{line} uid={} of={unit} labels={app}\n", uid(i, 6 + n));
        }
    }
    fixture::objects(&text)
}

/// A cluster of so many objects with everything that is computed from it.
struct Cluster {
    index: Index,
    derived: Derived,
    cards: OverviewCards,
    _interner: Interner,
    now: Timestamp,
}

impl Cluster {
    fn new(objects: Vec<Object>) -> Self {
        let mut objects = objects;
        let mut interner = Interner::default();
        objects.iter_mut().for_each(|object| interner.share(object));
        let (mut index, mut derived) = (Index::default(), Derived::default());
        let now = fixture::now();
        index.apply(fixture::listing(&objects), now);
        drop(objects);
        derived.follow(&mut index, now);
        Self { index, derived, cards: OverviewCards::default(), _interner: interner, now }
    }

    fn world<'a>(&'a self, runs: &'a [&'a Run]) -> World<'a> {
        World {
            cluster: "bench",
            demo: None,
            index: &self.index,
            graph: self.derived.graph(),
            units: self.derived.units(),
            runs,
            attempts: &[],
            diagnoses: self.derived.diagnoses(),
            now: self.now,
        }
    }

    fn unit(&mut self, id: &UnitId) -> Vec<Record> {
        let memberships = self.derived.memberships(&self.index, id, self.now).unwrap_or_default();
        self.world(&[]).unit_with(id, &memberships).expect("the unit")
    }

    fn overview(&mut self) -> Vec<Record> {
        let stale = self.derived.take_stale();
        let world = World {
            cluster: "bench",
            demo: None,
            index: &self.index,
            graph: self.derived.graph(),
            units: self.derived.units(),
            runs: &[],
            attempts: &[],
            diagnoses: self.derived.diagnoses(),
            now: self.now,
        };
        world.overview_with(&mut self.cards, &stale)
    }

    /// The Pod of an application, with its readiness turned.
    fn flipped(&self, app: usize) -> Observation {
        let pod = self.index.get(&Uid::new(uid(app, 2))).expect("the Pod exists");
        let mut pod = Object::clone(pod);
        if let Facts::Pod(facts) = &mut pod.facts {
            facts.ready = !facts.ready;
        }
        Observation::Applied(Box::new(pod))
    }

    fn apply(&mut self, observation: Observation) {
        self.index.apply([observation], self.now);
    }

    fn follow(&mut self) {
        self.now += SignedDuration::from_millis(50);
        self.derived.follow(&mut self.index, self.now);
    }
}

/// The median time of `timed`, after `prepare` each time.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock; the rules do not")]
fn median<S>(
    times: usize,
    state: &mut S,
    prepare: impl Fn(&mut S, usize),
    timed: impl Fn(&mut S),
) -> Duration {
    let mut taken: Vec<Duration> = (0..times)
        .map(|number| {
            prepare(state, number);
            let begun = std::time::Instant::now();
            timed(state);
            begun.elapsed()
        })
        .collect();
    taken.sort();
    taken[times / 2]
}

#[expect(clippy::print_stdout, reason = "the figure is the bench's output")]
fn report(name: &str, taken: Duration) {
    println!("{name:74} {:>12.1} µs", micros(taken));
}

#[expect(clippy::print_stdout, reason = "the figure is the bench's output")]
fn report_within(goal: Duration, name: &str, taken: Duration) {
    println!("{name:74} {:>12.1} µs (goal {} µs)", micros(taken), micros(goal));
    note(taken <= goal);
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn note(is_within: bool) {
    IS_MISSED.fetch_or(!is_within, Ordering::Relaxed);
}

/// The messages that readers of a topic get.
fn publish(view: &mut Publication, records: Vec<impl Into<Arc<Record>>>) {
    black_box(view.advance(records).map(|delta| serde_json::to_string(&delta)));
}

fn view() -> Publication {
    Publication::new(Revision { boot: 1, count: 0 })
}

fn running(cluster: &Cluster, unit: &str) -> Run {
    let unit = &cluster.derived.units()[&UnitId::new(unit)];
    let (index, graph) = (&cluster.index, cluster.derived.graph());
    let plan = plan(index, graph, unit, &Choices::default(), cluster.now).expect("a plan");
    let mut run = Run::new(RunId::new("bench"), Arc::new(plan));
    run.apply(cluster.now, &RunEvent::Started { by: "anna".into() }).expect("it starts");
    run
}

/// (a): an event with a run and a viewer open.
fn event() {
    let mut cluster = Cluster::new(objects(10_000, 50));
    let run = running(&cluster, "shop-0");
    publish(&mut view(), cluster.world(&[&run]).unit(&UnitId::new("shop-1")).expect("the unit"));
    let mut state = (&mut cluster, None);
    let taken = median(
        1_001,
        &mut state,
        |(cluster, event), number| *event = Some(cluster.flipped(number % 1_000)),
        |(cluster, event)| cluster.apply(event.take().expect("an event")),
    );
    report_within(
        Duration::from_micros(5),
        "(a) 10,000 objects: a Pod's readiness, in the index",
        taken,
    );
    let taken = median(51, &mut cluster, flip, Cluster::follow);
    report("    edges, units and diagnoses after it", taken);
}

fn flip(cluster: &mut Cluster, number: usize) {
    let event = cluster.flipped(number);
    cluster.apply(event);
}

/// (b): publications with a viewer.
fn publication() {
    let mut cluster = Cluster::new(objects(100_000, 50));
    let taken = median(11, &mut cluster, flip, Cluster::follow);
    report("(b) 100,000 objects: edges, units and diagnoses after a Pod's readiness", taken);

    let unit = UnitId::new("shop-1");
    let mut overview = (cluster, view());
    let publish_overview = |(cluster, view): &mut (Cluster, Publication)| {
        cluster.follow();
        publish(view, cluster.overview());
    };
    publish_overview(&mut overview);
    let taken =
        median(11, &mut overview, |state, number| flip(&mut state.0, number), publish_overview);
    report_within(
        Duration::from_millis(5),
        "    publish the overview after a Pod's readiness",
        taken,
    );
    let taken = median(
        11,
        &mut overview,
        |(cluster, _), number| {
            let pod = cluster.index.get(&Uid::new(uid(50 + number, 2))).expect("the Pod");
            let (kind, uid) = (pod.kind.clone(), pod.uid.clone());
            cluster.apply(Observation::Deleted { kind, uid });
        },
        publish_overview,
    );
    report_within(Duration::from_millis(5), "    publish the overview after a Pod is gone", taken);

    let mut page = (overview.0, view());
    let publish_page = |(cluster, view): &mut (Cluster, Publication)| {
        cluster.follow();
        publish(view, cluster.unit(&unit));
    };
    publish_page(&mut page);
    let taken = median(11, &mut page, |state, number| flip(&mut state.0, number), publish_page);
    report_within(
        Duration::from_millis(5),
        "    publish the page of a unit of 500 objects after a Pod's readiness",
        taken,
    );
}

/// (c): a run of 5,000 steps.
fn run() {
    let cluster = Cluster::new(objects(10_000, 500));
    let mut run = running(&cluster, "shop-0");
    let look = |cluster: &Cluster, run: &Run| {
        let (index, graph) = (&cluster.index, cluster.derived.graph());
        run.decide(&Input::Reconcile, index, graph, cluster.now).expect("a decision")
    };
    // The first look starts what may start.
    for event in &look(&cluster, &run).events {
        run.apply(cluster.now, event).expect("an event of the run");
    }
    let edges = edges_of_plan(&run.plan);
    let view = Publication::with_lasting(Revision { boot: 1, count: 0 }, edges);
    let mut state = (cluster, run, view, RunPage::default());
    type State = (Cluster, Run, Publication, RunPage);
    let look_again = |(cluster, run, ..): &mut State| {
        let _ = black_box(look(cluster, run));
    };
    let event = |state: &mut State, number: usize| flip(&mut state.0, number);
    let taken = median(11, &mut state, event, look_again);
    report_within(
        Duration::from_millis(1),
        &format!("(c) a run of {} steps: the look after an event", state.1.plan.steps.len()),
        taken,
    );
    let list = |(cluster, ..): &mut State, _| {
        let kind = fixture::kind("node");
        let nodes = cluster.index.objects().filter(|object| object.kind == kind);
        let objects = nodes.map(|object| Object::clone(object)).collect();
        cluster.apply(Observation::Listed { kind, objects });
    };
    let taken = median(11, &mut state, list, look_again);
    report("    the look after a list, at all steps", taken);
    let publish_page = |(cluster, run, view, page): &mut State| {
        cluster.follow();
        publish(view, cluster.world(&[run]).run_with(run, page));
    };
    publish_page(&mut state);
    let taken = median(11, &mut state, event, publish_page);
    report_within(Duration::from_millis(20), "    publish its page after an event", taken);
    let taken = median(11, &mut state, list, publish_page);
    report_within(Duration::from_millis(20), "    publish its page after a list", taken);
    let (cluster, run, ..) = &mut state;
    // An Ingress that is newer than the plan sends traffic to the Pods of a Deployment, whose DELETE was not answered.
    cluster.apply(Observation::Applied(Box::new(fixture::object(
        "ing team-0/late routes=web-0 age=0",
    ))));
    let deployment = run.plan.steps.iter().find(|step| step.uid == Uid::new(uid(0, 0)));
    let (step, effect_unknown) = (deployment.expect("the Deployment").id, false);
    let problem = StepProblem::Retrying { attempts: 1, message: "busy".into() };
    let postponed = RunEvent::Postponed { step, until: cluster.now, effect_unknown, problem };
    run.apply(cluster.now, &postponed).expect("the call was made");
    for event in &look(cluster, run).events {
        run.apply(cluster.now, event).expect("an event of the run");
    }
    let held = run.progress(step).and_then(|progress| progress.hold.problem.as_ref());
    assert!(matches!(held, Some(StepProblem::Unknown { .. })), "{held:?}");
    let taken = median(11, &mut state, event, look_again);
    report("    the look after an event while a late object holds a step", taken);
}

/// (d): the memory of one object.
#[expect(clippy::print_stdout, reason = "the figure is the bench's output")]
fn memory() {
    let count = 100_000;
    let before = ALLOCATED.current_usage();
    let cluster = Cluster::new(objects(count, 50));
    let all = ALLOCATED.current_usage() - before;
    let Cluster { index, derived, .. } = cluster;
    drop(derived);
    let rest = ALLOCATED.current_usage() - before;
    let graph = Graph::of(&index);
    let edges = ALLOCATED.current_usage() - before - rest;
    println!(
        "(d) 100,000 objects: {} B each (goal 1024 B), {} B of them the index and its objects, {} B the edges",
        all / count,
        rest / count,
        edges / count
    );
    note(all / count <= 1024);
    drop((index, graph));
}

/// (e): why 1,000 deletions wait for 200 roots, in chains of four: half of the roots are finalizers that nobody clears, with
/// owners that are deleted in the foreground, half are Pods that do not stop, with what waits for them.
fn diagnoses() {
    let mut text = String::new();
    for chain in 0..100 {
        for link in 0..5 {
            let finalizer = if link == 0 {
                format!("queue-{chain}.example/topic")
            } else {
                "foregroundDeletion".to_owned()
            };
            let owner =
                if link == 4 { String::new() } else { format!("owner=cm/t{chain}-{}", link + 1) };
            text +=
                &format!("cm team-1/t{chain}-{link} deleted=900 finalizers={finalizer} {owner}\n");
        }
        let (ns, node) = (format!("gone-{chain}"), chain % 50);
        text += &format!("ns {ns} deleted=900\n");
        text += &format!(
            "pod {ns}/db-0 owner=sts/db node=node-{node} deleted=900 grace=30 containers=db:running uses=claim:data\n"
        );
        text += &format!("sts {ns}/db deleted=900 finalizers=foregroundDeletion\n");
        text += &format!(
            "pvc {ns}/data volume=disk-{chain} deleted=900 finalizers=kubernetes.io/pvc-protection\n"
        );
        text += &format!(
            "pv disk-{chain} claim={ns}/data deleted=900 finalizers=kubernetes.io/pv-protection\n"
        );
    }
    let mut all = objects(49_000, 50);
    all.extend(fixture::objects(&text));
    let mut cluster = Cluster::new(all);
    let (index, graph, now) = (&cluster.index, cluster.derived.graph(), cluster.now);
    let found = diagnose(index, graph, now);
    let waiting: usize = found.iter().map(|it| it.total).sum();
    let causes: BTreeSet<&str> = found.iter().map(|it| it.cause.name()).collect();
    assert_eq!((found.len(), waiting, causes.len()), (200, 1_000, 2), "{causes:?}");
    let mut graph = graph.clone();
    let taken = median(
        11,
        &mut graph,
        |_, _| {},
        |graph| {
            black_box(diagnose(index, graph, now));
        },
    );
    report_within(
        Duration::from_millis(20),
        "(e) 1,000 deletions with 200 roots among 50,000 objects: diagnoses",
        taken,
    );
    let taken = median(5, &mut graph, |_, _| {}, |graph| *graph = Graph::of(index));
    report("    all edges of 50,000 objects", taken);
    let mut page = (&mut cluster, view());
    let publish_trouble = |(cluster, view): &mut (&mut Cluster, Publication)| {
        cluster.follow();
        publish(view, cluster.world(&[]).trouble());
    };
    publish_trouble(&mut page);
    let taken = median(11, &mut page, |state, number| flip(state.0, number), publish_trouble);
    report_within(
        Duration::from_millis(20),
        "    publish the page of trouble after a Pod's readiness, with the diagnoses",
        taken,
    );
}

/// (f): what the hub does in each second although nothing happens, with a viewer of every kind of page.
fn idle() {
    let mut cluster = Cluster::new(objects(17_000, 50));
    let run = running(&cluster, "shop-0");
    let edges = edges_of_plan(&run.plan);
    let of_run = Publication::with_lasting(Revision { boot: 1, count: 0 }, edges);
    let mut views = [view(), view(), view(), of_run];
    let mut page = RunPage::default();
    let mut second = |cluster: &mut Cluster| {
        cluster.now += SignedDuration::from_secs(1);
        cluster.follow();
        let overview = cluster.overview();
        let unit = cluster.unit(&UnitId::new("shop-1"));
        let world = cluster.world(&[]);
        let [of_overview, of_unit, of_trouble, of_run] = &mut views;
        publish(of_overview, overview);
        publish(of_unit, unit);
        publish(of_trouble, world.trouble());
        publish(of_run, world.run_with(&run, &mut page));
    };
    second(&mut cluster);
    let mut state = (cluster, second);
    let taken = median(11, &mut state, |_, _| {}, |(cluster, second)| second(cluster));
    report_within(
        Duration::from_millis(20),
        "(f) 17,000 objects and nothing happens: the work of a second",
        taken,
    );
}

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    let parts: [(&str, fn()); 6] = [
        ("a", event),
        ("b", publication),
        ("c", run),
        ("d", memory),
        ("e", diagnoses),
        ("f", idle),
    ];
    for (name, part) in parts {
        if wanted.as_deref().is_none_or(|wanted| wanted.contains(name)) {
            part();
        }
    }
    if IS_MISSED.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
