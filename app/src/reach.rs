//! How far the deletion of a step has come, as far as a page can tell: what stopping a run or leaving a step out means
//! for it.

use teardown::message::{Key, Record, State, StepCard};

use crate::scene::Records;

/// How far a deletion has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It was not accepted.
    Untouched,
    /// DELETE was sent, and it is not known whether it was accepted.
    Open,
    /// This run requested it, or that of an owner, and it was accepted: it cannot be undone.
    Accepted,
    /// The object is terminating, and not through this run.
    Foreign,
    /// The object is gone.
    Gone,
}

impl Reach {
    /// How far this step's has come.
    pub fn of(step: &StepCard, records: &Records) -> Self {
        let object = records.get(&Key::Object(step.uid.clone()));
        let ends = matches!(object, Some(Record::Object(card)) if card.deletion.is_some());
        match Self::seen(step.state, step.requested.is_some(), ends) {
            Self::Untouched | Self::Foreign if step.taken => Self::Accepted,
            reach => reach,
        }
    }

    /// From a step's state, whether a DELETE was ever sent for it, and whether its object is on its way out.
    fn seen(state: State, sent: bool, ends: bool) -> Self {
        match state {
            State::Gone | State::CameBack => Self::Gone,
            // Without a DELETE of this run it obeys somebody else's.
            _ if ends && !sent => Self::Foreign,
            State::Requested | State::Terminating | State::Finalizing => Self::Accepted,
            State::Slow | State::Stuck if sent => Self::Accepted,
            // Only the object itself says whether the DELETE of a skipped step was accepted: it may have been refused.
            State::Skipped if ends => Self::Accepted,
            State::Waiting | State::Unknown if sent => Self::Open,
            State::Slow
            | State::Stuck
            | State::Skipped
            | State::Waiting
            | State::Unknown
            | State::Planned
            | State::Refused
            | State::Present
            | State::Kept => Self::Untouched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_accepted_cannot_be_taken_back() {
        for (state, sent, ends, expected) in [
            (State::Waiting, false, false, Reach::Untouched),
            (State::Refused, true, false, Reach::Untouched),
            (State::Unknown, false, false, Reach::Untouched),
            (State::Skipped, false, false, Reach::Untouched),
            // Skipped after it was refused.
            (State::Skipped, true, false, Reach::Untouched),
            (State::Skipped, true, true, Reach::Accepted),
            // An object that its controller has to remove, and does not.
            (State::Stuck, false, false, Reach::Untouched),
            (State::Stuck, false, true, Reach::Foreign),
            (State::Stuck, true, false, Reach::Accepted),
            (State::Requested, true, false, Reach::Accepted),
            (State::Terminating, true, true, Reach::Accepted),
            // Terminating before the run started.
            (State::Waiting, false, true, Reach::Foreign),
            (State::Terminating, false, true, Reach::Foreign),
            (State::Skipped, false, true, Reach::Foreign),
            (State::Waiting, true, false, Reach::Open),
            (State::Unknown, true, false, Reach::Open),
            (State::Gone, true, false, Reach::Gone),
            (State::CameBack, true, false, Reach::Gone),
        ] {
            assert_eq!(Reach::seen(state, sent, ends), expected, "{state:?} {sent} {ends}");
        }
    }
}
