//! Simulation of the whole server against the sandbox under paused time: random applications, faults, operator commands
//! and crashes. An oracle judges each run by the requests that the API server saw. `SEEDS=n` sets the number of runs,
//! and `SEED=n` prints the transcript of one run. README.md says how to add to it.
#![expect(clippy::print_stderr, reason = "people read the report of a failed run")]

mod application;
mod coverage;
mod crash_points;
mod disk;
mod end_page;
mod fault_schedule;
mod feature_set;
mod http_client;
mod kill_switch;
mod mutant;
mod observed_versions;
mod oracle;
mod order;
mod outcome;
mod reader;
mod revision_times;
mod server_instance;
mod server_log;
mod simulation;
mod state;
#[path = "../test_server/stream.rs"]
mod stream;
mod transcript;
mod transport;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, iter,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use coverage::EFFECTS;
use mutant::Mutant;
use oracle::{USER, Violation};
use outcome::Outcome;
use simulation::simulate;

/// Runs of `make test`.
const SEEDS: u64 = 2_000;
/// Each mutant must be caught within this number of seeds.
const MAX_SEEDS_PER_MUTANT: u64 = 500;
/// Lines of a transcript that a report shows.
const REPORT_LINES: usize = 120;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Seeds that once found a bug, each with the bug. A change of the generators, or of the random numbers that the
/// sandbox takes, gives these seeds other runs. After the last such change each bug was put back, and its seed, or the
/// seed that replaced it, failed because of it. Later seeds stand as they were found.
///
/// Three bugs have no seed any more, and other tests cover them. 223: a step for a Pod of a StatefulSet was skipped,
/// and its claims waited for ever (tests of the run). 7500: the oracle took a claim for unused although a late Pod of
/// its set was left (tests of the oracle). 111: a run waited for a Pod that an orphaning DELETE had left, and did not
/// say so (tests of the hub). With the first two put back 10,000 seeds were searched, with the third 2,000, and none
/// failed because of them.
const REGRESSION_SEEDS: [(u64, &str); 14] = [
    (20, "server: a namespace was deleted with a ConfigMap in it that was newer than the plan"),
    (
        46,
        "sandbox: the finalizer of custom resource definitions was refused, so that none could be deleted",
    ),
    (115, "server: a namespace was deleted with a Pod in it that was newer than the plan"),
    (
        293,
        "simulation: an application of which others need every object was reported as a failed plan",
    ),
    (360, "sandbox: a Pod that was due while its node was briefly silent was never terminated"),
    (447, "oracle: people's rights in a namespace that is a unit were counted as part of the unit"),
    (504, "server: a refused call was delayed by as much as the cluster's clock was set back"),
    (974, "server: a Deployment waited for its own late Pod, which had a claim of its own"),
    (1796, "oracle: a claim was taken for free while its deleted set had an orphaned Pod"),
    (3326, "oracle: Endpoints had to be gone although their controller was failing until the end"),
    (3566, "simulation: no operator decided about a claim that was bound after the plan"),
    (6154, "oracle: a Pod that was created while the watch of Pods was silent counted as observed"),
    (7103, "server: a Pod whose StatefulSet was skipped came back, and was waited for for ever"),
    (
        8645,
        "server: a new ReplicaSet was deleted before its Deployment, which was not observed yet",
    ),
];

/// Faults that must meet a request of the server in at least one run. A watch counts when it is opened. A later fault
/// of a watch, such as a lost bookmark, is in no log of requests. A stale list never meets the server, because the
/// server asks for consistent lists.
const REQUEST_FAULTS: [&str; 14] = [
    "401",
    "403",
    "410",
    "429",
    "429 retry=2",
    "500",
    "500 after",
    "503",
    "503 after",
    "504 after",
    "reset",
    "reset after",
    "stall",
    "truncate",
];

/// Simulates seeds from 0 on two threads until `most` have failed or none is left. Returns the failed ones.
fn search(seeds: u64, most: usize) -> Vec<Outcome> {
    let next = AtomicU64::new(0);
    let (found, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    let with_late_objects = AtomicU64::new(0);
    let injected = Mutex::new(BTreeSet::new());
    let effects = Mutex::new(BTreeMap::new());
    let work = || {
        let mut bad = vec![];
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || found.load(Ordering::Relaxed) >= most as u64 {
                return bad;
            }
            let outcome = simulate(seed, None);
            ran.fetch_add(u64::from(outcome.ran), Ordering::Relaxed);
            with_late_objects.fetch_add(u64::from(outcome.late_objects > 0), Ordering::Relaxed);
            let ours = outcome.entries.iter().filter(|it| it.actor == USER);
            injected
                .lock()
                .expect("no thread panics")
                .extend(ours.filter_map(|it| it.fault.clone()));
            for effect in &outcome.effects {
                *effects.lock().expect("no thread panics").entry(*effect).or_insert(0) += 1;
            }
            if !outcome.violations.is_empty() {
                found.fetch_add(1, Ordering::Relaxed);
                bad.push(outcome);
            }
        }
    };
    let mut bad: Vec<Outcome> = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let parts = threads.map(|thread| thread.join().expect("a simulation does not panic"));
        parts.into_iter().flatten().collect()
    });
    bad.sort_by_key(|outcome| outcome.seed);
    let (simulated, ran) = (next.into_inner().min(seeds), ran.into_inner());
    let with_late_objects = with_late_objects.into_inner();
    eprintln!(
        "{simulated} seeds, {ran} with a run, {with_late_objects} of these started among late objects"
    );
    assert!(
        simulated < 100 || ran * 10 >= simulated * 9,
        "only {ran} of {simulated} seeds started a run"
    );
    assert!(
        simulated < 100 || with_late_objects * 10 >= simulated * 2,
        "only {with_late_objects} of {simulated} runs started among late objects"
    );
    let injected = injected.into_inner().expect("no thread panics");
    let never: Vec<&&str> = REQUEST_FAULTS.iter().filter(|it| !injected.contains(**it)).collect();
    assert!(
        simulated < 1_000 || never.is_empty(),
        "faults that met no request: {never:?}; faults that did: {injected:?}"
    );
    let effects = effects.into_inner().expect("no thread panics");
    eprintln!("runs with each effect: {effects:?}");
    let never: Vec<&&str> = EFFECTS.iter().filter(|it| !effects.contains_key(**it)).collect();
    assert!(simulated < 1_000 || never.is_empty(), "effects that never occurred: {never:?}");
    bad
}

/// The report of a run for people: its faults, its transcript and its violations.
pub(crate) fn report(outcome: &Outcome, whole: bool) -> String {
    let Outcome { seed, violations, transcript, script, objects, lasted, .. } = outcome;
    let mut text = format!("seed {seed}: {objects} objects, {lasted:?} in the sandbox\n");
    for line in script.lines() {
        text += &format!("  fault: {line}\n");
    }
    let mut lines: Vec<(u64, String)> = transcript.lines();
    for event in &outcome.events {
        let at = outcome.revision_times.of(event.revision);
        lines.push((at, format!("  [{}] {:?} {}", event.revision, event.change, event.key)));
    }
    lines.sort_by_key(|(at, _)| *at);
    let skipped = if whole { 0 } else { lines.len().saturating_sub(REPORT_LINES) };
    if skipped > 0 {
        text += &format!("  ... {skipped} lines before\n");
    }
    for (at, line) in &lines[skipped..] {
        text += &format!("{} {line}\n", transcript::seconds(*at));
    }
    for violation in violations {
        text += &format!(
            "=> {} at [{}]: {}\n",
            violation.invariant, violation.revision, violation.text
        );
    }
    text + &format!("replay: SEED={seed} cargo test -p server --test simulation one_seed\n")
}

#[test]
fn all_seeds() {
    if number("SEED").is_some() {
        return;
    }
    let seeds = number("SEEDS").unwrap_or(SEEDS);
    let begun = std::time::Instant::now();
    let bad = search(seeds, 10);
    let spent = begun.elapsed();
    eprintln!("{seeds} seeds in {spent:?}");
    let reports: Vec<String> = bad.iter().map(|outcome| report(outcome, false)).collect();
    assert!(bad.is_empty(), "{}", reports.join("\n"));
}

#[test]
fn seeds_of_past_bugs_violate_nothing() {
    for (seed, what) in REGRESSION_SEEDS {
        let outcome = simulate(seed, None);
        assert!(outcome.violations.is_empty(), "{what}\n{}", report(&outcome, false));
    }
}

/// The mutant that `MUTANT` names.
fn chosen_mutant() -> Option<Mutant> {
    let name = env::var("MUTANT").ok()?;
    MUTANTS.iter().map(|(mutant, ..)| *mutant).find(|it| format!("{it:?}") == name)
}

/// `SEED=n` prints the whole transcript of a run, of a mutant with `MUTANT=name`.
#[test]
fn one_seed() {
    let Some(seed) = number("SEED") else { return };
    let outcome = simulate(seed, chosen_mutant());
    let report = report(&outcome, true);
    assert!(outcome.violations.is_empty(), "{report}");
    eprintln!("{report}");
}

#[test]
fn same_seed_gives_the_same_transcript_history_and_requests() {
    for seed in 0..20 {
        let (one, two) = (simulate(seed, None), simulate(seed, None));
        let lines = |outcome: &Outcome| outcome.transcript.lines();
        for (one, two) in lines(&one).iter().zip(&lines(&two)) {
            assert_eq!(one, two, "seed {seed}");
        }
        assert_eq!(lines(&one).len(), lines(&two).len(), "seed {seed}");
        for (one, two) in one.events.iter().zip(&two.events) {
            assert_eq!(
                (one.revision, &one.key, &one.object),
                (two.revision, &two.key, &two.object)
            );
        }
        assert_eq!(one.events.len(), two.events.len(), "seed {seed}");
        for (one, two) in one.entries.iter().zip(&two.entries) {
            assert_eq!(one, two, "seed {seed}");
        }
        assert_eq!(one.entries.len(), two.entries.len(), "seed {seed}");
    }
}

/// An invariant, and a part of the text of its violation.
type Expectation = (&'static str, &'static str);

/// Each mutant with the seed that caught it last, which is tried first, and with the invariants that it breaks in one
/// run.
const MUTANTS: [(Mutant, u64, &[Expectation]); 36] = [
    (Mutant::NoPrecondition, 0, &[("I2", "has no UID precondition")]),
    (Mutant::NoVersion, 0, &[("I2", "does not carry the version")]),
    (Mutant::NoOrder, 0, &[("I1", "")]),
    (Mutant::DriverFirst, 12, &[("I9", "not found in the list of registered CSI drivers")]),
    (Mutant::StaleRead, 79, &[("I1", "uses it")]),
    (Mutant::LateIntent, 0, &[("I7", "before its intent was durable")]),
    (Mutant::IgnoredFailure, 0, &[("I7", "before its intent was durable")]),
    (Mutant::RepeatByName, 0, &[("I2", "deleted an object of no confirmed plan")]),
    (Mutant::CallOutlivesServer, 13, &[("I6", "is in flight")]),
    (Mutant::NoFurtherStep, 0, &[("I9", "could be deleted"), ("I3", "has 0 ends")]),
    (Mutant::StolenCookie, 3, &[("I5", "without a session was answered Ok")]),
    (Mutant::MissedDelta, 0, &[("I4", "and the reader is at")]),
    (Mutant::IgnoredCommands, 1, &[("I8", "after the run was paused")]),
    (Mutant::IgnoredCommands, 31, &[("I8", "after the run was stopped")]),
    (Mutant::NoGracePeriod, 0, &[("I8", "sets a grace period")]),
    (Mutant::LeakInRefusal, 0, &[("I10", "is in the journal"), ("I10", "is on page")]),
    (Mutant::TakesKept, 1, &[("I2", "nobody included it")]),
    (Mutant::TakesKept, 2, &[("I2", "was to be kept")]),
    (Mutant::ForgedRetention, 0, &[("I1", "goes, and no plan says so")]),
    (Mutant::ForgedSuspension, 0, &[("I1", "would make it again")]),
    (Mutant::NoAttachments, 7, &[("I1", "is attached")]),
    (Mutant::ForgedEnd, 12, &[("I1", "was deleted by force")]),
    (Mutant::DroppedNamespaceDeletion, 1, &[("I3", "and no page says so")]),
    (
        Mutant::LeakInHiddenKind,
        147,
        &[("I10", "in the answer to POST /api/plans"), ("I10", "in the answer to POST /api/runs")],
    ),
    (Mutant::LeakInHiddenKind, 1, &[("I10", "in the answer to a request for a plan")]),
    (Mutant::OrphanAsBackground, 7, &[("I1", "collected with it")]),
    (Mutant::CollectsSkipped, 308, &[("I1", "a person skipped it")]),
    (Mutant::TimeoutAsRefusal, 43, &[("I3", "counts as refused")]),
    (Mutant::HiddenAsEmpty, 247, &[("I1", "is of its kind")]),
    (Mutant::IgnoredNewcomers, 9, &[("I1", "Ingress alpha-1/unplanned sends traffic to it")]),
    (Mutant::IgnoredGrace, 6, &[("I3", "counts as late")]),
    (Mutant::OldRead, 0, &[("I1", "its last list came")]),
    (Mutant::PossibleAsFinisher, 1, &[("I2", "may not be a finisher")]),
    (Mutant::OtherContent, 67, &[("I1", "is in it")]),
    (Mutant::IgnoredMarks, 85, &[("I2", "asks to keep it")]),
    (Mutant::IgnoredHints, 18, &[("I1", "by a hint")]),
];

/// An oracle that misses a mutant checks too little.
#[test]
fn mutants_are_caught() {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((mutant, first, expectations)) =
            MUTANTS.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if chosen_mutant().is_some_and(|it| it != *mutant) {
                continue;
            }
            let caught = iter::once(*first).chain(0..MAX_SEEDS_PER_MUTANT).find_map(|seed| {
                let violations = simulate(seed, Some(*mutant)).violations;
                let found = expectations.iter().map(|(invariant, what)| {
                    let is_expected =
                        |it: &&Violation| it.invariant == *invariant && it.text.contains(what);
                    violations.iter().find(is_expected).map(|it| it.text.clone())
                });
                Some((seed, found.collect::<Option<Vec<String>>>()?))
            });
            let (seed, texts) = caught.unwrap_or_else(|| panic!("{mutant:?} was not caught"));
            eprintln!("{mutant:?}: seed {seed}: {}", texts.join("; "));
        }
    };
    thread::scope(|scope| {
        for thread in [scope.spawn(work), scope.spawn(work)] {
            thread.join().expect("each is caught");
        }
    });
}
