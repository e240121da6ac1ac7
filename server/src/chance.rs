//! Random numbers: the system's, or those of a seed, so that a simulation run can be repeated.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;

/// A source of random numbers. Clones of a seeded source draw from the same sequence.
#[derive(Clone, Debug, Default)]
pub struct Chance {
    sequence: Option<Arc<Mutex<Rng>>>,
}

impl Chance {
    /// Numbers that follow from a seed. They can be guessed, so they must not become secrets.
    pub fn seeded(seed: u64) -> Self {
        Self { sequence: Some(Arc::new(Mutex::new(Rng::with_seed(seed)))) }
    }

    /// Draws a number.
    ///
    /// # Errors
    /// Returns an error if the system has no random source.
    pub fn number(&self) -> Result<u64, getrandom::Error> {
        match &self.sequence {
            Some(sequence) => Ok(sequence.lock().unwrap_or_else(PoisonError::into_inner).u64(..)),
            None => getrandom::u64(),
        }
    }

    /// Adds jitter to a wait: the result is between 75 % and 125 % of it. Without a random source of the system there is
    /// no jitter.
    pub(crate) fn spread(&self, wait: Duration) -> Duration {
        let number = self.number().unwrap_or(u64::MAX / 2) >> 32;
        wait.mul_f64(0.75 + number as f64 / f64::from(u32::MAX) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_seeded_source_share_one_sequence() {
        let sequence = |seed| {
            let chance = Chance::seeded(seed);
            [chance.number().unwrap(), chance.clone().number().unwrap(), chance.number().unwrap()]
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
        assert_ne!(sequence(7)[0], sequence(7)[1]);
        assert_ne!(Chance::default().number().unwrap(), Chance::default().number().unwrap());
    }

    #[test]
    fn jitter_is_at_most_a_quarter_of_the_wait() {
        let waits = || (0..100).map(|_| Chance::default().spread(Duration::from_secs(100)));
        assert!(waits().all(|wait| (75..=125).contains(&wait.as_secs())));
        assert_ne!(waits().min(), waits().max());
    }
}
