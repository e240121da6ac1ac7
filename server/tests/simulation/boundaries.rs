//! Death at every boundary: small applications without any other misfortune, the server killed at each write of its journal
//! and at each DELETE, once before, once after, once when it has heard the answer.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{adversity::Death, game::play_quietly, ledger::Cut, outcome::Outcome, told};

/// Small applications that have between them what makes Pods, claims of both sorts, rights, custom resources and a webhook.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Every death that there is in a game which came to this end.
fn deaths(clean: &Outcome) -> Vec<Death> {
    let cuts = [Cut::Before, Cut::Written, Cut::Acknowledged];
    let writes = (0..clean.writes).flat_map(|at| cuts.map(|cut| Death::AtWrite(at, cut)));
    let deletes = (0..clean.deletes)
        .flat_map(|at| [false, true].map(|with_effect| Death::AtDelete(at, with_effect)));
    writes.chain(deletes).collect()
}

#[test]
fn a_death_at_any_boundary_breaks_no_promise() {
    let mut games = vec![];
    for seed in SEEDS {
        let clean = play_quietly(seed, None);
        assert!(clean.ran && clean.offences.is_empty(), "{}", told(&clean, false));
        games.extend(deaths(&clean).into_iter().map(|death| (seed, death)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((seed, death)) = games.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = play_quietly(*seed, Some(*death));
            let has_died = outcome.story.lines().iter().any(|(_, it)| it.starts_with("CRASH"));
            let is_kept = outcome.ran && has_died && outcome.offences.is_empty();
            assert!(is_kept, "{death:?}\n{}", told(&outcome, false));
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            thread.join().expect("every promise is kept");
        }
    });
    eprintln!("{} deaths in {} games", games.len(), SEEDS.len());
}
