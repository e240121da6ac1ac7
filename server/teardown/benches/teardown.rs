//! Benchmarks of the rules with 10,000 mixed objects: index, graph, plan and page. The memory that an object takes is
//! printed first.
//!
//! Names, UIDs and labels are as long as in a real cluster, and objects share equal text through the interner, as in
//! the server. The figure is the growth of resident memory, including the overhead of the allocator, by the index, its
//! objects with all their text, and the interner. It excludes values that are computed from the index on demand: graph,
//! units and pages.

use criterion::{Criterion, criterion_group, criterion_main};
use teardown::{
    fixture,
    graph::Graph,
    index::Index,
    interner::Interner,
    object::Object,
    plan::{Choices, plan},
    unit::{UnitId, units},
    world::World,
};

const COUNT: usize = 10_000;
/// The number of copies of the index that are measured.
const COPIES: usize = 8;

/// Ten objects are a Deployment, a ReplicaSet, four Pods with three volumes each, a claim, a ConfigMap, a Service and a
/// ServiceAccount.
fn objects(count: usize) -> Vec<Object> {
    let mut text = String::new();
    let uid = |i: usize, n: usize| format!("{i:08x}-4b1d-4c7a-9a53-0242ac{n:06x}");
    for i in 0..count / 10 {
        let ns = format!("team-{}", i % 20);
        let app = format!("app.kubernetes.io/name:web-{i},app.kubernetes.io/instance:shop-{i}");
        let pods = format!("{app},pod-template-hash:7d9c5b{i:04x}");
        let uses = format!(
            "uses=claim:web-{i}-data,config:web-{i}-settings,secret:web-{i}-tls,account:web-{i}"
        );
        let [deploy, rs] = [uid(i, 0), uid(i, 1)];
        text += &format!(
            "deploy {ns}/web-{i} uid={deploy} of=big labels={app} selector={app} template={app} {uses}\n"
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
            text += &format!("{line} uid={} of=big labels={app}\n", uid(i, 6 + n));
        }
    }
    fixture::objects(&text)
}

/// The resident memory of this process, in bytes.
#[expect(clippy::disallowed_methods, reason = "a bench asks the machine; the rules do not")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize =
        pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}

/// The objects as a server keeps them, with shared text.
fn shared(count: usize) -> (Vec<Object>, Interner) {
    let mut objects = objects(count);
    let mut interner = Interner::default();
    objects.iter_mut().for_each(|object| interner.share(object));
    (objects, interner)
}

/// The memory of one of `count` objects, in bytes.
fn each(count: usize) -> usize {
    // Every copy is built anew and has an interner of its own, so that the copies share no text.
    let copy = || {
        let (objects, interner) = shared(count);
        let mut index = Index::default();
        index.apply(fixture::listing(&objects), fixture::now());
        (index, interner)
    };
    // The first copy also pays for memory that is used during construction and reused by the next copies.
    let mut copies = vec![copy()];
    let before = resident();
    copies.extend((0..COPIES).map(|_| copy()));
    resident().saturating_sub(before) / COPIES / count
}

#[expect(clippy::print_stdout, reason = "the figure is the bench's output")]
fn rules(criterion: &mut Criterion) {
    println!("index memory per object at {COUNT} mixed objects: {} B (goal 512 B)", each(COUNT));

    let (all, _) = shared(COUNT);
    let now = fixture::now();
    let mut index = Index::default();
    index.apply(fixture::listing(&all), now);
    let graph = Graph::of(&index);
    let found = units(&index, &graph);
    let id = UnitId::new("big");
    let choices = Choices::default();
    let mut group = criterion.benchmark_group("10,000 objects");
    group.sample_size(10);
    group.bench_function("list into an empty index", |b| {
        b.iter(|| {
            let mut index = Index::default();
            index.apply(fixture::listing(&all), now);
            index
        });
    });
    group.bench_function("graph", |b| b.iter(|| Graph::of(&index)));
    group.bench_function("units", |b| b.iter(|| units(&index, &graph)));
    group.bench_function("plan", |b| b.iter(|| plan(&index, &graph, &found[&id], &choices, now)));
    let world = World {
        cluster: "bench",
        demo: None,
        index: &index,
        graph: &graph,
        units: &found,
        runs: &[],
        diagnoses: &[],
        attempts: &[],
        now,
    };
    group.bench_function("view of a unit", |b| b.iter(|| world.unit(&id)));
    group.finish();
}

criterion_group!(benches, rules);
criterion_main!(benches);
