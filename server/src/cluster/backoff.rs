//! How long to wait before trying again.

use std::time::Duration;

use crate::chance::Chance;

/// The first wait, as client-go's reflector has it.
const INITIAL: Duration = Duration::from_millis(800);
/// The longest.
const MAX: Duration = Duration::from_secs(30);

/// The wait after this many failures in a row: doubled for each, at most half a minute, and spread so that a hundred
/// watches that failed together do not come back together.
pub(super) fn backoff(failures: u32, chance: &Chance) -> Duration {
    chance.spread((INITIAL * 2_u32.saturating_pow(failures.saturating_sub(1).min(10))).min(MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_half_a_minute() {
        for (failures, about) in
            [(0, 0.8), (1, 0.8), (2, 1.6), (5, 12.8), (7, 30.0), (u32::MAX, 30.0)]
        {
            for _ in 0..100 {
                let wait = backoff(failures, &Chance::default()).as_secs_f64();
                assert!((about * 0.74..about * 1.26).contains(&wait), "{failures}: {wait}");
            }
        }
    }
}
