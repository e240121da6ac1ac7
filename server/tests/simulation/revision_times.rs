//! The time at which the store reached each revision.

/// Pairs of milliseconds since the start of the run and the revision that was reached then, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RevisionTimes(Vec<(u64, u64)>);

impl RevisionTimes {
    pub(crate) fn note(&mut self, at: u64, reached: u64) {
        self.0.push((at, reached));
    }

    /// When a revision was first seen, in milliseconds; at most a second too late.
    pub(crate) fn of(&self, revision: u64) -> u64 {
        let at = self.0.partition_point(|(_, reached)| *reached < revision);
        self.0.get(at).map_or(u64::MAX, |(at, _)| *at)
    }
}
