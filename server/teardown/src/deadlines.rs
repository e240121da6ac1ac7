//! Time limits after which a deletion counts as slow, and then as stuck. They depend on the kind and on the deletion
//! phase: a namespace takes longer than a ConfigMap.

use jiff::SignedDuration;

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
    /// The limits for an object of this kind that is deleted with this grace period in seconds.
    ///
    /// A Pod may use its whole grace period; then its volumes are unmounted and the kubelet sends a last DELETE, which takes
    /// seconds. One that fails is tried again at most 2m2s later (`pkg/util/goroutinemap/exponentialbackoff`), and the kubelet
    /// waits for unmounts for 2m3s at a time (`pkg/kubelet/volumemanager`): a Pod that is left 150 s after its deadline has
    /// outlived the longest of these. A namespace's controller waits 5 s before its first pass and up to 16 s between two.
    /// Claims and volumes wait for detach and for a storage driver.
    ///
    /// `usual` is the time after their grace periods within which 95 of 100 deletions of the kind were complete in this cluster.
    /// Slow is what takes longer than those, but at least half and at most twice as long as in every cluster; stuck moves along,
    /// but for a Pod never below the kubelet's own retry. Without `usual` the limits are those for every cluster.
    pub fn fitted(kind: &Kind, grace: i64, usual: Option<SignedDuration>) -> Self {
        let (grace, slow, stuck) = match (&*kind.group, &*kind.kind) {
            ("", "Pod") => (grace.clamp(0, LONGEST_GRACE), 15, 150),
            ("", "Namespace") => (0, 60, 300),
            ("", "PersistentVolumeClaim" | "PersistentVolume") => (0, 60, 180),
            _ => (0, 30, 120),
        };
        // Half of an odd number of seconds is rounded up: never less than half.
        let usual = usual.map_or(slow, |usual| usual.as_secs().clamp((slow + 1) / 2, slow * 2));
        let least = if kind.is("", "Pod") { stuck } else { 0 };
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

    fn pod() -> Kind {
        let text = std::sync::Arc::<str>::from;
        let (group, kind, version, plural) = (text(""), text("Pod"), text("v1"), text("pods"));
        Kind { group, kind, version, plural, namespaced: true }
    }

    #[test]
    fn usual_durations_move_the_limits_at_most_twofold() {
        let limits = |usual: Option<i64>| {
            let usual = usual.map(SignedDuration::from_secs);
            let Deadlines { slow, stuck } = Deadlines::fitted(&pod(), 10, usual);
            (slow.as_secs(), stuck.as_secs())
        };
        assert_eq!(limits(None), (25, 160));
        assert_eq!(limits(Some(1)), (18, 160));
        assert_eq!(limits(Some(20)), (30, 210));
        assert_eq!(limits(Some(100_000)), (40, 310));
    }
}
