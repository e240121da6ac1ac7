//! Time limits after which a deletion counts as slow, and then as stuck. They depend on the kind and on the deletion
//! phase: a namespace takes longer than a ConfigMap.

use jiff::SignedDuration;

use crate::object::Kind;

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
    /// A Pod may use its whole grace period; then its volumes are unmounted and the kubelet sends a last DELETE. A
    /// namespace's controller waits 5 s before its first pass and up to 16 s between two. Claims and volumes wait for
    /// detach and for a storage driver.
    pub fn of(kind: &Kind, grace: i64) -> Self {
        let (slow, stuck) = match (&*kind.group, &*kind.kind) {
            ("", "Pod") => (grace.clamp(0, 86_400) + 30, grace.clamp(0, 86_400) + 120),
            ("", "Namespace") => (60, 300),
            ("", "PersistentVolumeClaim" | "PersistentVolume") => (60, 180),
            _ => (30, 120),
        };
        Self { slow: SignedDuration::from_secs(slow), stuck: SignedDuration::from_secs(stuck) }
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
