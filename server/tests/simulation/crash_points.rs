//! Crashes at every write and every DELETE: small applications without any other fault; the server is killed at each
//! write of its journal, before it, after it and after its acknowledgement, and at each DELETE, before its effect and
//! after it. The server that recovers from some of these is killed once more: before it has read anything, while it reads
//! the cluster, at its first writes, and at its first DELETE.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
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

/// One of so many crashes is followed by crashes of its recovery. It is coprime to the number of crashes at one place.
const FOLLOWED: usize = 31;

/// Whether a DELETE is left to the server that recovers from a crash. After the last one it has nothing to do, and crashes at none.
fn leaves_a_delete(clean: &Outcome, crash: Crash) -> bool {
    match crash {
        Crash::AtWrite(at, _) => at * 2 < clean.writes,
        Crash::AtDelete(at, _) => at + 2 < clean.deletes,
        Crash::After(_) => true,
    }
}

/// Crashes of a server that recovers: before its first call, and at or after it.
fn crashes_in_recovery() -> Vec<Crash> {
    let times = [0, 300].map(|millis| Crash::After(Duration::from_millis(millis)));
    let crash_points = [CrashPoint::Before, CrashPoint::Written, CrashPoint::Acknowledged];
    let writes = crash_points.map(|crash_point| Crash::AtWrite(0, crash_point));
    let deletes = [false, true].map(|with_effect| Crash::AtDelete(0, with_effect));
    times.into_iter().chain(writes).chain(deletes).collect()
}

/// The crashes of each application that a clean run shows to be possible, if they are wanted.
fn all_crashes(is_wanted: fn(&Outcome, Crash) -> bool) -> Vec<(u64, Crash)> {
    let mut runs = vec![];
    for seed in SEEDS {
        let clean = simulate_without_faults(seed, [None, None]);
        assert!(clean.ran && clean.violations.is_empty(), "{}", report(&clean, false));
        let wanted = crashes(&clean).into_iter().filter(|crash| is_wanted(&clean, *crash));
        runs.extend(wanted.map(|crash| (seed, crash)));
    }
    runs
}

/// Simulates these crashes on two threads. Returns how many servers crashed.
fn check_all(runs: &[(u64, [Option<Crash>; 2])]) -> usize {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut crashed = 0;
        while let Some((seed, crashes)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = simulate_without_faults(*seed, *crashes);
            let lines = outcome.transcript.lines();
            let happened = lines.iter().filter(|(_, it)| it.starts_with("CRASH")).count();
            // The end of a simulation is a crash, too.
            let is_clean = outcome.ran && happened > 1 && outcome.violations.is_empty();
            assert!(is_clean, "{crashes:?}\n{}", report(&outcome, false));
            crashed += happened - 1;
        }
        crashed
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.map(|it| it.join().expect("every run is without violations")).iter().sum()
    })
}

#[test]
fn server_killed_at_any_write_or_delete_violates_nothing() {
    let all = all_crashes(|_, _| true);
    let runs: Vec<_> = all.into_iter().map(|(seed, crash)| (seed, [Some(crash), None])).collect();
    assert_eq!(check_all(&runs), runs.len());
}

#[test]
fn server_killed_again_while_it_recovers_violates_nothing() {
    let first = all_crashes(leaves_a_delete).into_iter().step_by(FOLLOWED);
    let runs: Vec<(u64, [Option<Crash>; 2])> = first
        .flat_map(|(seed, crash)| {
            crashes_in_recovery().into_iter().map(move |next| (seed, [Some(crash), Some(next)]))
        })
        .collect();
    assert_eq!(check_all(&runs), 2 * runs.len(), "each server crashes, and the next one");
}
