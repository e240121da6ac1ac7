//! How long a deletion may take before it is called slow, and before it is called stuck. Slow is not stuck: the times
//! follow from what has to happen on the rung, not from one fixed clock.

use jiff::SignedDuration;

use crate::object::Kind;

/// Two times to wait, from the moment a rung was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// After this it is slow.
    pub slow: SignedDuration,
    /// After this it is stuck.
    pub stuck: SignedDuration,
}

/// How much longer than expected a rung takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overdue {
    /// Not longer.
    #[default]
    No,
    /// Longer than expected.
    Slow,
    /// Past the deadline.
    Stuck,
}

impl Deadlines {
    /// For an object of this kind, deleted with this grace in seconds.
    ///
    /// A Pod may use its grace and then has volumes to unmount and a last DELETE to send. A namespace's controller waits
    /// 5 s before its first pass and up to 16 s between two. Claims and volumes wait for detach and for a driver.
    pub fn of(kind: &Kind, grace: i64) -> Self {
        let (slow, stuck) = match (&*kind.group, &*kind.kind) {
            ("", "Pod") => (grace.clamp(0, 86_400) + 30, grace.clamp(0, 86_400) + 120),
            ("", "Namespace") => (60, 300),
            ("", "PersistentVolumeClaim" | "PersistentVolume") => (60, 180),
            _ => (30, 120),
        };
        Self { slow: SignedDuration::from_secs(slow), stuck: SignedDuration::from_secs(stuck) }
    }
    /// What a wait of this length is called.
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
