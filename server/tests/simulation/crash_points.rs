//! Crashes at every write and every DELETE: small applications without any other fault; the server is killed at each
//! write of its journal, before it, after it and after its acknowledgement, and at each DELETE, before its effect and
//! after it.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    disk::CrashPoint, fault_schedule::Crash, outcome::Outcome, report,
    simulation::simulate_without_faults,
};

/// Small applications. Together they have every kind of workload, both kinds of claims, roles, custom resources and a
/// webhook.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Every crash that is possible in a run that made these writes and DELETEs.
fn crashes(clean: &Outcome) -> Vec<Crash> {
    let crash_points = [CrashPoint::Before, CrashPoint::Written, CrashPoint::Acknowledged];
    let writes = (0..clean.writes)
        .flat_map(|at| crash_points.map(|crash_point| Crash::AtWrite(at, crash_point)));
    let deletes = (0..clean.deletes)
        .flat_map(|at| [false, true].map(|with_effect| Crash::AtDelete(at, with_effect)));
    writes.chain(deletes).collect()
}

#[test]
fn server_killed_at_any_write_or_delete_violates_nothing() {
    let mut runs = vec![];
    for seed in SEEDS {
        let clean = simulate_without_faults(seed, None);
        assert!(clean.ran && clean.violations.is_empty(), "{}", report(&clean, false));
        runs.extend(crashes(&clean).into_iter().map(|crash| (seed, crash)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((seed, crash)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = simulate_without_faults(*seed, Some(*crash));
            let has_crashed =
                outcome.transcript.lines().iter().any(|(_, it)| it.starts_with("CRASH"));
            let is_clean = outcome.ran && has_crashed && outcome.violations.is_empty();
            assert!(is_clean, "{crash:?}\n{}", report(&outcome, false));
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            thread.join().expect("every run is without violations");
        }
    });
    eprintln!("{} crashes in {} applications", runs.len(), SEEDS.len());
}
