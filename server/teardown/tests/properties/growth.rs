//! The time that diagnoses take grows with the deletions that wait, and not with their square. A test compares two times of the
//! same run: how long either is depends on the machine, and `benches/size.rs` measures that.

use std::{
    collections::BTreeSet,
    hint::black_box,
    time::{Duration, Instant},
};

use teardown::{diagnosis::diagnose, fixture, graph::Graph, index::Index};

/// Objects that nobody deletes.
const OTHERS: usize = 49_000;
/// The looks of which the shortest counts: another process may hold up any of the others.
const LOOKS: usize = 9;
/// Ten times as many deletions take ten times as long, and a hundred times if each looks at all of them. This is three times the
/// one and a third of the other.
const MOST: u32 = 30;

/// Chains of four behind two roots each: a finalizer that nobody clears, with owners that are deleted in the foreground, and a
/// Pod that does not stop, with what waits for it.
fn waiting(chains: usize) -> (Index, Graph) {
    let mut text = String::new();
    for node in 0..50 {
        text += &format!("node node-{node}\n");
    }
    for app in 0..OTHERS / 5 {
        let ns = format!("team-{}", app / 20);
        text += &format!(
            "deploy {ns}/web-{app} selector=app:web-{app} template=app:web-{app}
            rs {ns}/web-{app}-1 owner=deploy/web-{app} selector=app:web-{app} template=app:web-{app}
            pod {ns}/web-{app}-1-a owner=rs/web-{app}-1 labels=app:web-{app} uses=claim:data-{app} node=node-{}
            pvc {ns}/data-{app}
            svc {ns}/web-{app} selector=app:web-{app}\n",
            app % 50
        );
    }
    for chain in 0..chains {
        for link in 0..5 {
            let (finalizer, owner) = match link {
                0 => (format!("queue-{chain}.example/topic"), format!("owner=cm/t{chain}-1")),
                4 => ("foregroundDeletion".to_owned(), String::new()),
                _ => ("foregroundDeletion".to_owned(), format!("owner=cm/t{chain}-{}", link + 1)),
            };
            text +=
                &format!("cm team-1/t{chain}-{link} deleted=900 finalizers={finalizer} {owner}\n");
        }
        let ns = format!("gone-{chain}");
        text += &format!(
            "ns {ns} deleted=900
            pod {ns}/db-0 owner=sts/db node=node-{} deleted=900 grace=30 containers=db:running uses=claim:data
            sts {ns}/db deleted=900 finalizers=foregroundDeletion
            pvc {ns}/data volume=disk-{chain} deleted=900 finalizers=kubernetes.io/pvc-protection
            pv disk-{chain} claim={ns}/data deleted=900 finalizers=kubernetes.io/pv-protection\n",
            chain % 50
        );
    }
    for ns in 0..(OTHERS / 5).div_ceil(20) {
        text += &format!("ns team-{ns}\n");
    }
    let index = fixture::index(&text);
    let graph = Graph::of(&index);
    let found = diagnose(&index, &graph, fixture::now());
    let causes: BTreeSet<&str> = found.iter().map(|it| it.cause.name()).collect();
    let held: usize = found.iter().map(|it| it.total).sum();
    assert_eq!((found.len(), held, causes.len()), (2 * chains, 10 * chains, 2), "{causes:?}");
    (index, graph)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock; the rules do not")]
fn ten_times_the_deletions_take_far_less_than_a_hundred_times_as_long() {
    let worlds = [waiting(10), waiting(100)];
    let mut shortest = [Duration::MAX; 2];
    // By turns, so that whatever else the machine does slows down both.
    for _ in 0..LOOKS {
        for ((index, graph), shortest) in worlds.iter().zip(&mut shortest) {
            let begun = Instant::now();
            black_box(diagnose(index, graph, fixture::now()));
            *shortest = begun.elapsed().min(*shortest);
        }
    }
    let [few, many] = shortest;
    assert!(many <= few * MOST, "100 deletions took {few:?}, 1,000 took {many:?}");
}
