//! Time limits after which a deletion counts as slow, and then as stuck. They depend on the work that the end of the object waits
//! for: a cloud needs minutes for a load balancer, and a controller seconds for a ConfigMap.

mod work;

use jiff::SignedDuration;

pub use self::work::Work;
use crate::object::Kind;

/// The longest grace period, in seconds, that moves a limit.
const LONGEST_GRACE: i64 = 86_400;

/// Two time limits, counted from the moment an object reached its deletion phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The object counts as slow after this time.
    pub slow: SignedDuration,
    /// The object counts as stuck after this time.
    pub stuck: SignedDuration,
}

/// Whether a deletion phase takes longer than expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overdue {
    /// It does not take longer than expected.
    #[default]
    No,
    /// Longer than expected.
    Slow,
    /// Past the deadline.
    Stuck,
}

impl Deadlines {
    /// The limits for an object of this kind that waits for this work and is deleted with this grace period in seconds, which
    /// counts for Pods alone.
    ///
    /// `usual` is the time after their grace periods within which 95 of 100 such deletions were complete in this cluster.
    /// Slow is what takes longer than those, but at least half and at most twice as long as in every cluster; stuck moves along,
    /// but for a Pod never below the kubelet's own retry. Without `usual` the limits are those for every cluster.
    pub fn fitted(kind: &Kind, work: Work, grace: i64, usual: Option<SignedDuration>) -> Self {
        let (slow, stuck) = work.limits();
        // A driver answers a detach sooner than the rest of a volume's end is done.
        let slow = slow.max(Work::of(kind, []).limits().0);
        let (grace, least) =
            if kind.is("", "Pod") { (grace.clamp(0, LONGEST_GRACE), stuck) } else { (0, 0) };
        // Half of an odd number of seconds is rounded up: never less than half.
        let usual = usual.map_or(slow, |usual| usual.as_secs().clamp((slow + 1) / 2, slow * 2));
        let limit = |seconds| SignedDuration::from_secs(grace + seconds);
        Self { slow: limit(usual), stuck: limit((stuck * usual / slow).max(least)) }
    }

    /// Classifies a wait of this length.
    pub fn overdue(self, waited: SignedDuration) -> Overdue {
        if waited >= self.stuck {
            Overdue::Stuck
        } else if waited >= self.slow {
            Overdue::Slow
        } else {
            Overdue::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn usual_durations_move_the_limits_at_most_twofold() {
        let pod = fixture::kind("pod");
        let limits = |usual: Option<i64>| {
            let usual = usual.map(SignedDuration::from_secs);
            let Deadlines { slow, stuck } = Deadlines::fitted(&pod, Work::Pod, 10, usual);
            (slow.as_secs(), stuck.as_secs())
        };
        assert_eq!(limits(None), (25, 160));
        assert_eq!(limits(Some(1)), (18, 160));
        assert_eq!(limits(Some(20)), (30, 210));
        assert_eq!(limits(Some(100_000)), (40, 310));
    }
}
