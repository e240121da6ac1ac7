//! The rules at size: 10,000 mixed objects are taken in, related, planned and shown. Prints first what an object costs
//! in memory.

use criterion::{Criterion, criterion_group, criterion_main};
use teardown::{
    fixture,
    graph::Graph,
    index::Index,
    object::Object,
    plan::plan,
    unit::{UnitId, units},
    view::World,
};

/// Of ten objects: a Deployment, a ReplicaSet, four Pods, a claim, a ConfigMap, a Service, a ServiceAccount.
fn objects(count: usize) -> Vec<Object> {
    let mut text = String::new();
    for i in 0..count / 10 {
        let ns = format!("ns{}", i % 20);
        let app = format!("app:a{i}");
        let uses = format!("uses=claim:data{i},config:settings{i},account:sa{i}");
        text += &format!("deploy {ns}/web{i} of=big selector={app} template={app} {uses}\n");
        text +=
            &format!("rs {ns}/web{i}-1 owner=deploy/web{i} selector={app} template={app} {uses}\n");
        for pod in 0..4 {
            text += &format!(
                "pod {ns}/web{i}-1-{pod} owner=rs/web{i}-1 labels={app} {uses} node=n{pod}\n"
            );
        }
        text += &format!("pvc {ns}/data{i} of=big volume=pv{i}\ncm {ns}/settings{i} of=big\n");
        text += &format!("svc {ns}/web{i} of=big selector={app}\nsa {ns}/sa{i} of=big\n");
    }
    fixture::objects(&text)
}

/// Resident memory of this process, in bytes.
#[expect(clippy::disallowed_methods, reason = "a bench asks the machine; the rules do not")]
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize =
        pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}

#[expect(clippy::print_stdout, reason = "the figure is the bench's output")]
fn rules(criterion: &mut Criterion) {
    let all = objects(10_000);
    let before = resident();
    let copies: Vec<Index> = (0..8)
        .map(|_| {
            let mut index = Index::default();
            // Read anew, so that no text is shared between the copies.
            index.apply(fixture::listing(&objects(10_000)), fixture::now());
            index
        })
        .collect();
    let each = resident().saturating_sub(before) / 8 / all.len();
    println!("index memory per object at {} mixed objects: {each} B (goal 512 B)", all.len());
    drop(copies);

    let now = fixture::now();
    let mut index = Index::default();
    index.apply(fixture::listing(&all), now);
    let graph = Graph::of(&index);
    let found = units(&index, &graph);
    let id = UnitId::new("big");
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
    group.bench_function("plan", |b| b.iter(|| plan(&index, &graph, &found[&id], now)));
    let world =
        World { cluster: "bench", index: &index, graph: &graph, units: &found, runs: &[], now };
    group.bench_function("view of a unit", |b| b.iter(|| world.unit(&id)));
    group.finish();
}

criterion_group!(benches, rules);
criterion_main!(benches);
