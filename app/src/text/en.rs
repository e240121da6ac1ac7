//! The catalogue in English. Constants where nothing is filled in, functions where something is.

mod units;
mod unit;
mod drawer;
mod edge;
mod plan;
mod run;
mod remedy;
mod cluster;
mod diagnosis;
mod trouble;
mod api_problem;
mod demo;
mod access;
mod notifications;

use teardown::message::State;

pub use self::{
    access::*,
    api_problem::api_problem,
    cluster::*,
    demo::*,
    diagnosis::*,
    drawer::*,
    edge::{certainty, edge, edge_reversed, edge_sentence, must_outlive, reason},
    notifications::*,
    plan::*,
    remedy::*,
    run::*,
    trouble::*,
    unit::*,
    units::*,
};

/// As HTML names it.
pub const LANGUAGE: &str = "en";
pub const PRODUCT: &str = "Unwind";
/// The mark of a production cluster.
pub const PRODUCTION: &str = "Production";
pub const SKIP_LINK: &str = "Skip to content";
pub const UNITS: &str = "Units";
pub const RUNS: &str = "Runs";
pub const PLAN: &str = "Plan";
pub const RUN: &str = "Run";
pub const MAIN_NAVIGATION: &str = "Main";
pub const BREADCRUMB: &str = "Breadcrumb";
pub const THEME: &str = "Theme: switch between automatic, light and dark";
/// In front of the cluster's name, for a screen reader.
pub const CLUSTER: &str = "Cluster:";
pub const COPIED: &str = "Link copied";
pub const COPY_LINK: &str = "Copy a link to this view";
pub const KEYS_TITLE: &str = "Keyboard shortcuts";
pub const KEYS_ON: &str = "Enable shortcuts";
/// Each shortcut with its effect.
pub const KEYS: [(&str, &str); 11] = [
    ("/", "Search"),
    ("g u", "Units"),
    ("g r", "Runs"),
    ("1", "Map"),
    ("2", "List"),
    ("n  p", "Next or previous object that needs attention"),
    ("← →", "On the map: follow an edge"),
    ("↑ ↓", "On the map: move within a column"),
    ("+ − 0 f", "On the map: zoom in, zoom out, actual size, fit"),
    ("c", "Copy a link to this view"),
    ("Esc", "Close the details"),
];

pub const NOT_LIVE: &str = "Not available until the page is live again: it may be out of date.";
pub const NEEDS_SCRIPT: &str = "This page shows the state at the moment it was loaded. Live updates and buttons need JavaScript.";
pub const HALTED: &str = "This page has stopped working: it may be out of date, and its buttons may do nothing. Runs continue on the server.";
pub const OUTDATED: &str = "The server was updated.";
pub const RELOAD: &str = "Reload";
pub const NO_ANSWER: &str = "The server did not answer";
pub const NO_ANSWER_MEANS: &str = "The request may or may not have been carried out.";
pub const NO_ANSWER_DO: &str = "Check the state on this page before you try again.";
pub const CLOSE: &str = "Close";
pub const CANCEL: &str = "Cancel";
pub const LOADING: &str = "Loading…";

pub const LIVE: &str = "Live";
pub const CONNECTING: &str = "Connecting…";
pub const OFFLINE: &str = "Offline";
pub const TRY_NOW: &str = "Try now";

/// Announced when the browser loses its network.
pub const OFFLINE_SAID: &str = "Offline. This page is no longer updated.";
/// Announced when the data is too old to rely on.
pub const STALE_SAID: &str = "The connection to the server is lost. This page is out of date.";

/// The pill while the stream is broken.
pub fn reconnecting(seconds: i64) -> String {
    format!("Reconnecting, {seconds} s")
}

/// The pill when the data is too old to rely on.
pub const STALE: &str = "Stale";
/// The pill while a message of the server cannot be read.
pub const UNREADABLE: &str = "Cannot read the server’s messages";

/// The age of the data on the page.
pub const DATA_AS_OF: &str = "data as of";

/// Announced after a gap.
pub fn caught_up(objects: usize) -> String {
    match objects {
        0 => "Caught up".to_owned(),
        _ => format!("Caught up: {} changed", many(objects, "object", "objects")),
    }
}

/// `1 object`, `2 objects`.
pub fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// `1 object`, `2 objects`.
pub fn objects(count: usize) -> String {
    many(count, "object", "objects")
}

/// A duration in the largest two units that matter.
pub fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// When a moment was, in one unit.
pub fn ago(seconds: i64) -> String {
    match seconds {
        ..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// The seconds since a moment, which are negative while it is still to come: to the second until then.
pub fn countdown(seconds: i64) -> String {
    match seconds {
        ..0 => format!("in {}", duration(seconds.saturating_neg())),
        _ => ago(seconds),
    }
}

/// The seconds that a late deletion takes so far, and those within which it was expected to end.
pub fn deleting_for(seconds: i64, expected: Option<i64>) -> String {
    let so_far = format!("Deleting for {}", duration(seconds));
    match expected {
        Some(expected) => format!("{so_far}; expected under {}", duration(expected)),
        None => so_far,
    }
}

// States.

/// A state's word.
pub fn state(state: State) -> &'static str {
    match state {
        State::Present => "Present",
        State::Kept => "Kept",
        State::Planned => "Planned",
        State::Waiting => "Waiting",
        State::Requested => "Requested",
        State::Terminating => "Terminating",
        State::Finalizing => "Finalizing",
        State::Slow => "Slow",
        State::Stuck => "Stuck",
        State::Refused => "Refused",
        State::Gone => "Gone",
        State::CameBack => "Came back",
        State::Skipped => "Skipped",
        State::Unknown => "Unknown",
    }
}

/// The meaning of a state.
pub fn state_means(state: State) -> &'static str {
    match state {
        State::Present => "It exists, and no run is deleting it.",
        State::Kept => "It is protected, used from outside or out of scope, so it stays.",
        State::Planned => "It is in the plan; the run has not reached it.",
        State::Waiting => "Something that has to go first is not confirmed gone.",
        State::Requested => "DELETE was sent; the cluster does not show it yet.",
        State::Terminating => "Its deletionTimestamp is set; it is within the expected time.",
        State::Finalizing => "Its deletionTimestamp is set and finalizers remain.",
        State::Slow => "Its deletion takes longer than expected.",
        State::Stuck => "It is past its deadline.",
        State::Refused => "The API server refused the DELETE.",
        State::Gone => "This object is confirmed gone.",
        State::CameBack => "It was gone, and a new object uses its name now.",
        State::Skipped => "Somebody told the run to stop waiting for it.",
        State::Unknown => "Its state is not known: no permission, no discovery or no answer.",
    }
}

/// `3 stuck`.
pub fn state_count(of: State, count: usize) -> String {
    format!("{count} {}", state(of).to_ascii_lowercase())
}

// Elsewhere.

pub const NOT_FOUND: &str = "There is nothing here";
pub const NOT_FOUND_MEANS: &str = "The address may be mistyped, or its subject is gone.";
pub const TO_UNITS: &str = "All units";
pub const NO_UNIT: &str = "This unit is not known";
pub const NO_UNIT_MEANS: &str =
    "Nothing in the cluster carries its name: it may be gone, or never have been there.";
pub const TORN_DOWN_MEANS: &str = "Nothing of it is left in the cluster.";

/// The heading of a unit that is gone, and of which there are runs.
pub fn torn_down(unit: &str) -> String {
    format!("{unit} was torn down")
}
