//! What some games have that was not drawn when the first seeds were named: by their number, so that these mean what they
//! meant.

/// What a game has beyond what every game may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variety {
    /// Its application refers to settings and secrets in every way there is.
    pub(crate) is_dressed: bool,
    /// More goes wrong, and other things.
    pub(crate) is_worse: bool,
    /// What goes wrong does so before the server starts.
    pub(crate) is_early: bool,
}

impl Variety {
    /// What the game of this number has.
    pub(crate) fn of(seed: u64) -> Self {
        let number = seed % 8;
        Self {
            is_dressed: matches!(number, 1 | 2 | 7),
            is_worse: matches!(number, 1 | 6 | 7),
            is_early: matches!(number, 2 | 6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_named_first_is_as_it_was() {
        let plain = Variety { is_dressed: false, is_worse: false, is_early: false };
        for seed in [20, 115, 293, 504, 1796] {
            assert_eq!(Variety::of(seed), plain, "{seed}");
        }
    }
}
