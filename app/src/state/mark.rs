//! The mark of a state: the name of its symbol and of its class, and what an address calls it.

use teardown::message::State;

/// The symbol of a state, which is also its class.
pub fn of_state(state: State) -> &'static str {
    match state {
        State::Present => "state-present",
        State::Kept => "state-kept",
        State::Planned => "state-planned",
        State::Waiting => "state-waiting",
        State::Requested => "state-requested",
        State::Terminating => "state-terminating",
        State::Finalizing => "state-finalizing",
        State::Slow => "state-slow",
        State::Stuck => "state-stuck",
        State::Refused => "state-refused",
        State::Gone => "state-gone",
        State::CameBack => "state-cameback",
        State::Skipped => "state-skipped",
        State::Unknown => "state-unknown",
    }
}

/// The name of a state in an address: `stuck`.
pub fn name(state: State) -> &'static str {
    let mark = of_state(state);
    mark.strip_prefix("state-").unwrap_or(mark)
}
