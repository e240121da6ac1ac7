//! The whole server against the sandbox under paused time: random applications, faults, clicks and crashes, judged from
//! what the API server saw. `SEEDS=n` plays so many games, `SEED=n` plays one and tells its story.
#![expect(clippy::print_stderr, reason = "a story is for who reads the failure")]

mod adversity;
mod application;
mod boundaries;
mod door;
mod game;
mod gate;
mod ledger;
mod life;
mod log;
mod moments;
mod oracle;
mod order;
mod outcome;
mod reader;
mod saboteur;
mod sighting;
mod state;
mod story;
#[path = "../house/stream.rs"]
mod stream;
mod told;
mod trace;
mod variety;
mod wire;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use game::play;
use oracle::{Offence, USER};
use outcome::Outcome;
use saboteur::Saboteur;
use trace::TRACES;

/// Games of `make test`.
const SEEDS: u64 = 2_000;
/// Within so many games each saboteur must be caught.
const CAUGHT_WITHIN: u64 = 500;
/// Lines of a story around its last offence.
const LINES: usize = 120;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Seeds in which a bug was found once, with what it was. Whoever changes what is drawn, or how much chance the sandbox
/// takes, makes other games of them. When that last happened each bug was put back, and the game of its seed, or of one that
/// took its place, failed of it; those that came later stand as they were found.
///
/// Three bugs that games found have no seed any more, which other tests hold. 223: whoever left out a Pod of a StatefulSet
/// left its claims waiting for ever (the run's tests). 7500: the oracle thought a claim free although a Pod of its set that
/// came late was left (the oracle's own). 111: a run waited for a Pod that an orphaning DELETE had left, and did not say so
/// (the hub's tests). With the first two put back 10,000 games were searched, with the third 2,000, and none failed of it.
const NAMED: [(u64, &str); 14] = [
    (20, "server: a namespace was deleted with a ConfigMap in it that came after the plan"),
    (46, "sandbox: a definition's own finalizer was refused as a name, so that no definition went"),
    (115, "server: a namespace was deleted with a Pod in it that came after the plan"),
    (293, "simulation: an application that others need all of was taken for a planner that fails"),
    (360, "sandbox: a Pod whose turn came while its node was silent for a moment was never ended"),
    (447, "oracle: rights of people in a namespace that is a unit of its own were thought claimed"),
    (504, "server: what was refused waited for as long as the cluster's clock was set back"),
    (
        974,
        "server: a Deployment waited for a Pod of its own that came late, with a claim of its own",
    ),
    (
        1796,
        "oracle: a claim was thought free although its set, gone already, had an orphaned Pod left",
    ),
    (
        3326,
        "oracle: Endpoints were the run's to end, although their controller was refused to the last",
    ),
    (3566, "simulation: nobody answered for a claim that got its volume after the plan was made"),
    (6154, "oracle: a Pod that came while the watch of Pods was silent was to have been seen"),
    (7103, "server: a Pod whose StatefulSet was left out came back, and was waited for for ever"),
    (8645, "server: a new ReplicaSet went before its Deployment, which had not been seen yet"),
];

/// What meets requests of the server in some game, and watches when they are opened. What meets them later, as a bookmark
/// that is lost, is in no log of requests; a stale list meets none, as the server asks for consistent ones.
const STRIKES: [&str; 14] = [
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

/// Plays seeds from 0 on two threads until `most` were bad or there are no more; gives the bad ones.
fn search(seeds: u64, most: usize) -> Vec<Outcome> {
    let next = AtomicU64::new(0);
    let (found, ran) = (AtomicU64::new(0), AtomicU64::new(0));
    let among_newcomers = AtomicU64::new(0);
    let struck = Mutex::new(BTreeSet::new());
    let traces = Mutex::new(BTreeMap::new());
    let work = || {
        let mut bad = vec![];
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || found.load(Ordering::Relaxed) >= most as u64 {
                return bad;
            }
            let outcome = play(seed, None);
            ran.fetch_add(u64::from(outcome.ran), Ordering::Relaxed);
            among_newcomers.fetch_add(u64::from(outcome.newcomers > 0), Ordering::Relaxed);
            let ours = outcome.entries.iter().filter(|it| it.actor == USER);
            struck.lock().expect("nobody panics").extend(ours.filter_map(|it| it.fault.clone()));
            for trace in &outcome.traces {
                *traces.lock().expect("nobody panics").entry(*trace).or_insert(0) += 1;
            }
            if !outcome.offences.is_empty() {
                found.fetch_add(1, Ordering::Relaxed);
                bad.push(outcome);
            }
        }
    };
    let mut bad: Vec<Outcome> = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let parts = threads.map(|thread| thread.join().expect("a game does not panic"));
        parts.into_iter().flatten().collect()
    });
    bad.sort_by_key(|outcome| outcome.seed);
    let (played, ran) = (next.into_inner().min(seeds), ran.into_inner());
    let among_newcomers = among_newcomers.into_inner();
    eprintln!("{played} games, {ran} runs, {among_newcomers} of them begun among newcomers");
    assert!(played < 100 || ran * 10 >= played * 9, "only {ran} of {played} games came to a run");
    assert!(
        played < 100 || among_newcomers * 10 >= played * 2,
        "only {among_newcomers} of {played} begun so"
    );
    let struck = struck.into_inner().expect("nobody panics");
    let never: Vec<&&str> = STRIKES.iter().filter(|it| !struck.contains(**it)).collect();
    assert!(played < 1_000 || never.is_empty(), "never struck: {never:?}, but {struck:?}");
    let traces = traces.into_inner().expect("nobody panics");
    eprintln!("games with a trace: {traces:?}");
    let never: Vec<&&str> = TRACES.iter().filter(|it| !traces.contains_key(**it)).collect();
    assert!(played < 1_000 || never.is_empty(), "no trace of: {never:?}");
    bad
}

/// What happened in a game, for a person.
pub(crate) fn told(outcome: &Outcome, whole: bool) -> String {
    let Outcome { seed, offences, story, script, objects, lasted, .. } = outcome;
    let mut text = format!("seed {seed}: {objects} objects, {lasted:?} in the sandbox\n");
    for line in script.lines() {
        text += &format!("  fault: {line}\n");
    }
    let mut lines: Vec<(u64, String)> = story.lines();
    for event in &outcome.events {
        let at = outcome.moments.of(event.revision);
        lines.push((at, format!("  [{}] {:?} {}", event.revision, event.change, event.key)));
    }
    lines.sort_by_key(|(at, _)| *at);
    let skipped = if whole { 0 } else { lines.len().saturating_sub(LINES) };
    if skipped > 0 {
        text += &format!("  ... {skipped} lines before\n");
    }
    for (at, line) in &lines[skipped..] {
        text += &format!("{} {line}\n", story::seconds(*at));
    }
    for offence in offences {
        text += &format!("=> {} at [{}]: {}\n", offence.invariant, offence.revision, offence.text);
    }
    text + &format!("replay: SEED={seed} cargo test -p server --test simulation one_seed\n")
}

/// The clean server keeps every promise.
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
    let stories: Vec<String> = bad.iter().map(|outcome| told(outcome, false)).collect();
    assert!(bad.is_empty(), "{}", stories.join("\n"));
}

#[test]
fn named_seeds() {
    for (seed, what) in NAMED {
        let outcome = play(seed, None);
        assert!(outcome.offences.is_empty(), "{what}\n{}", told(&outcome, false));
    }
}

/// `SEED=n` tells the whole story of a game.
#[test]
fn one_seed() {
    let Some(seed) = number("SEED") else { return };
    let outcome = play(seed, None);
    let story = told(&outcome, true);
    assert!(outcome.offences.is_empty(), "{story}");
    eprintln!("{story}");
}

/// The same seed gives the same story, the same history and the same requests, to the letter.
#[test]
fn a_seed_repeats() {
    for seed in 0..20 {
        let (one, two) = (play(seed, None), play(seed, None));
        let lines = |outcome: &Outcome| outcome.story.lines();
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

/// Each mutant with the promises that it breaks, all in one game, and what is said of it.
const MUTANTS: [(Saboteur, &[(&str, &str)]); 16] = [
    (Saboteur::NoPrecondition, &[("I2", "insists on no UID")]),
    (Saboteur::NoGate, &[("I1", "")]),
    (Saboteur::CachedGone, &[("I1", "uses it")]),
    (Saboteur::LateIntent, &[("I7", "before its intent was durable")]),
    (Saboteur::RepeatByName, &[("I2", "ended an object of no confirmed plan")]),
    (Saboteur::CallOutlives, &[("I6", "is on its way")]),
    (Saboteur::Idle, &[("I9", "could go"), ("I3", "has 0 ends")]),
    (Saboteur::BorrowedCookie, &[("I5", "of a stranger was answered Ok")]),
    (Saboteur::MissedDelta, &[("I4", "and the reader is at")]),
    (Saboteur::DeafToPause, &[("I8", "after the run was paused")]),
    (Saboteur::DeafToPause, &[("I8", "after the run was stopped")]),
    (Saboteur::NoGrace, &[("I8", "sets a grace of its own")]),
    (Saboteur::Blabber, &[("I10", "is in the journal"), ("I10", "is on page")]),
    (Saboteur::Unheard, &[("I3", "and no page says so")]),
    (
        Saboteur::Gossip,
        &[("I10", "in the answer to POST /api/plans"), ("I10", "in the answer to POST /api/runs")],
    ),
    (Saboteur::Gossip, &[("I10", "in the answer to whoever wants a plan")]),
];

/// An oracle that lets a mutant pass is blind. Each is caught for the promises that it breaks.
#[test]
fn each_saboteur_is_caught() {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((saboteur, promises)) = MUTANTS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let caught = (0..CAUGHT_WITHIN).find_map(|seed| {
                let offences = play(seed, Some(*saboteur)).offences;
                let found = promises.iter().map(|(invariant, what)| {
                    let is_it =
                        |it: &&Offence| it.invariant == *invariant && it.text.contains(what);
                    offences.iter().find(is_it).map(|it| it.text.clone())
                });
                Some((seed, found.collect::<Option<Vec<String>>>()?))
            });
            let (seed, texts) = caught.unwrap_or_else(|| panic!("{saboteur:?} was not caught"));
            eprintln!("{saboteur:?}: seed {seed}: {}", texts.join("; "));
        }
    };
    thread::scope(|scope| {
        for thread in [scope.spawn(work), scope.spawn(work)] {
            thread.join().expect("each is caught");
        }
    });
}
