//! Chance: the system's random numbers, or, for who wants the same game twice, those that follow from a seed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;

/// A source of random numbers; copies of a seeded one draw from the same row.
#[derive(Clone, Debug, Default)]
pub struct Chance {
    row: Option<Arc<Mutex<Rng>>>,
}

impl Chance {
    /// Numbers that follow from a seed: for tests, and for nothing that must not be guessed.
    pub fn seeded(seed: u64) -> Self {
        Self { row: Some(Arc::new(Mutex::new(Rng::with_seed(seed)))) }
    }

    /// A number.
    ///
    /// # Errors
    /// Where the system has no random source.
    pub fn number(&self) -> Result<u64, getrandom::Error> {
        match &self.row {
            Some(row) => Ok(row.lock().unwrap_or_else(PoisonError::into_inner).u64(..)),
            None => getrandom::u64(),
        }
    }

    /// Between three quarters and five quarters of this; exactly this where the system has no random source, which
    /// costs the spreading and nothing else.
    pub(crate) fn spread(&self, wait: Duration) -> Duration {
        let number = self.number().unwrap_or(u64::MAX / 2) >> 32;
        wait.mul_f64(0.75 + number as f64 / f64::from(u32::MAX) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_row_to_all_copies() {
        let row = |seed| {
            let chance = Chance::seeded(seed);
            [chance.number().unwrap(), chance.clone().number().unwrap(), chance.number().unwrap()]
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
        assert_ne!(row(7)[0], row(7)[1]);
        assert_ne!(Chance::default().number().unwrap(), Chance::default().number().unwrap());
    }

    #[test]
    fn a_spread_wait_stays_near_it() {
        let waits = || (0..100).map(|_| Chance::default().spread(Duration::from_secs(100)));
        assert!(waits().all(|wait| (75..=125).contains(&wait.as_secs())));
        assert_ne!(waits().min(), waits().max());
    }
}
