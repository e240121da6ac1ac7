//! Faults by chance.

use std::time::Duration;

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use super::{Action, Faults, Matcher, Rule};

impl Faults {
    /// Draws `count` rules from the seed that `rng` has. None of them strikes for ever: what is tried again long
    /// enough gets through.
    #[must_use]
    pub fn draw(rng: &mut Rng, count: usize, now: Timestamp) -> Self {
        let rules = (0..count).map(|_| rule(rng)).collect();
        Self { rules, since: now, ..Self::default() }
    }
}

fn rule(rng: &mut Rng) -> Rule {
    let after = rng.bool();
    let action = match rng.u32(..12) {
        0 | 1 => Action::Latency(Duration::from_millis(rng.u64(1..20_000))),
        2 | 3 => Action::Reset { after },
        4 => Action::TooMany { retry_after: rng.bool().then(|| rng.u32(1..10)) },
        5 => Action::Code { code: 500, after },
        6 => Action::Code { code: 503, after },
        7 => Action::Code { code: 504, after },
        8 => Action::Truncate,
        9 => Action::Stall,
        10 => Action::Code { code: 410, after: false },
        _ => Action::NoBookmarks,
    };
    let verb = match action {
        Action::Truncate | Action::Stall | Action::NoBookmarks | Action::Code { code: 410, .. } => {
            "watch"
        }
        _ => ["", "delete", "delete", "get", "list", "watch", "patch"][rng.usize(..7)],
    };
    let resource = ["", "", "pods", "persistentvolumeclaims", "deployments.apps", "namespaces"]
        [rng.usize(..6)];
    let matcher = Matcher {
        verb: verb.into(),
        resource: resource.into(),
        from: SignedDuration::from_secs(rng.i64(..120)),
        ..Matcher::default()
    };
    Rule { matcher, action, times: Some(rng.u32(1..6)), chance: [1_000, 500, 200][rng.usize(..3)] }
}
