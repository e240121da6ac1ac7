//! Retry delay: exponential backoff with jitter.

use std::time::Duration;

use crate::chance::Chance;

/// The first delay, as in client-go's reflector.
const INITIAL: Duration = Duration::from_millis(800);
/// The longest delay.
const MAX: Duration = Duration::from_secs(30);

/// The delay after this many failures in a row. It doubles with each failure, up to 30 s. The jitter keeps a hundred
/// watches that failed together from retrying together.
pub(super) fn backoff(failures: u32, chance: &Chance) -> Duration {
    chance.spread((INITIAL * 2_u32.saturating_pow(failures.saturating_sub(1).min(10))).min(MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_30_seconds() {
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
