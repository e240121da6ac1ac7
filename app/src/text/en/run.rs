//! The texts of a run's page.

mod journal;
mod proof;
mod step_problem;

use teardown::{
    object::ObjectRef,
    run::{FeedEvent, LeftSuspended, RunState},
};

pub use self::{
    journal::*,
    proof::*,
    step_problem::{evidence, problem_advice, step_problem, unknown_reason},
};
use super::{
    super::{isolated, named},
    duration, objects,
};
use crate::state::progress::Progress;

pub const PAUSE: &str = "Pause";
pub const RESUME: &str = "Resume";
pub const STOP: &str = "Stop…";
pub const STOP_NOW: &str = "Stop the run";
pub const STOP_TITLE: &str = "Stop this run?";
pub const STOP_LEAD: &str = "No further DELETE is sent. Deletions that the cluster has accepted continue and cannot be undone.";
pub const SKIP: &str = "Stop waiting for it…";
pub const SKIP_NOW: &str = "Stop waiting for it";
pub const ATTENTION: &str = "Needs attention";
pub const NOW: &str = "Now";
pub const NEXT: &str = "Next";
pub const WAITING_FOR: &str = "Waiting for";
pub const NOTHING_NOW: &str = "No deletion is in progress.";
pub const NOTHING_NEXT: &str = "Nothing is left to start.";
pub const STEPS: &str = "Objects";
pub const EVENTS: &str = "Events";
pub const NO_EVENTS: &str = "Nothing has happened yet.";
pub const ALL_EVENTS: &str = "All events as text";
pub const ELAPSED: &str = "Elapsed";
pub const STARTED: &str = "Started";
pub const ENDED: &str = "Ended";
pub const PROGRESS: &str = "Gone";
pub const COLUMN_WAITS: &str = "Waits for";
pub const COLUMN_REQUESTED: &str = "DELETE sent";
pub const COLUMN_GONE: &str = "Gone";
pub const SEE_PLAN: &str = "The plan";
pub const UNPLANNED: &str = "Objects outside the plan";
pub const PLAN_UNPLANNED: &str = "Plan for the objects outside the plan";
pub const NO_RUN: &str = "This run is not known";
pub const NO_RUN_MEANS: &str = "It was started on another server, or its journal was removed.";

pub const LEFT_SUSPENDED: &str = "This run suspended these before it was stopped";

/// A parent that a stopped run suspended, as it is now.
pub fn left_suspended(it: LeftSuspended) -> &'static str {
    match it {
        LeftSuspended::Suspended => "still suspended",
        LeftSuspended::Active => "active again; somebody changed it",
        LeftSuspended::Going => "being deleted",
        LeftSuspended::Gone => "gone",
        LeftSuspended::Unknown => "not known: it cannot be seen",
    }
}

/// A run's heading.
pub fn run_title(unit: &str, state: RunState) -> String {
    match state {
        RunState::Running | RunState::Paused | RunState::Stopping => format!("Tearing down {unit}"),
        RunState::Finished => format!("{unit} torn down"),
        RunState::Stopped => format!("Teardown of {unit} stopped"),
    }
}

/// A run's result: `52 objects in 6 s`.
pub fn run_result(gone: usize, seconds: i64) -> String {
    format!("{} in {}", objects(gone), duration(seconds))
}

/// The word for a run's state.
pub fn run_state(state: RunState) -> &'static str {
    match state {
        RunState::Running => "Running",
        RunState::Paused => "Paused",
        RunState::Stopping => "Stopping",
        RunState::Finished => "Finished",
        RunState::Stopped => "Stopped",
    }
}

/// At the head of a run that an object halted which was not as a remedy expected it.
pub fn halted_by(object: &ObjectRef) -> String {
    format!(
        "Paused because {} changed during a remedy, or could not be read: look at it, then resume the run",
        named(object)
    )
}

/// In place of "Running" when no deletion makes progress.
pub fn blocked(stuck: usize) -> String {
    format!("Blocked: {stuck} stuck")
}

/// The person who started a run.
pub fn by(who: &str) -> String {
    format!("by {}", isolated(who))
}

/// After a restart of the server.
pub fn recovered(times: u32) -> String {
    match times {
        1 => "continued after a restart of the server".to_owned(),
        _ => format!("continued after {times} restarts of the server"),
    }
}

/// Progress in words.
pub fn gone_of(gone: usize, total: usize) -> String {
    format!("{gone} of {total} gone")
}

/// The heading of the objects that are gone, which are folded away.
pub fn gone_objects(count: usize) -> String {
    format!("{count} gone")
}

/// The question before a run stops waiting for an object.
pub fn skip_title(object: &ObjectRef) -> String {
    format!("Stop waiting for {}?", named(object))
}

/// The consequence for the object.
pub fn skip_means(reach: Progress) -> &'static str {
    match reach {
        Progress::Untouched => {
            "This run sends no DELETE for it. You cannot change that later: to delete it, make a new plan."
        }
        Progress::Open => {
            "A DELETE was sent, but its effect is not known. This run no longer waits for the object."
        }
        Progress::Accepted => {
            "Its deletion was accepted and cannot be undone. This run no longer waits for it."
        }
        Progress::Foreign => {
            "Something other than this run deleted it, which cannot be undone. This run no longer waits for it."
        }
        Progress::Gone => "It is gone. This run now ignores the new object with its name.",
    }
}

/// The objects that this run then leaves in place.
pub fn skip_behind(count: usize) -> String {
    match count {
        0 => "Nothing else waits for it.".to_owned(),
        1 => "1 object waits for it and stays as well:".to_owned(),
        _ => format!("{count} objects wait for it and stay as well:"),
    }
}

/// The objects whose deletion a stop does not decide.
pub fn stop_open(count: usize) -> String {
    format!("{}: a DELETE was sent, but its effect is not known.", objects(count))
}

/// The objects that were terminating before the run.
pub fn stop_foreign(count: usize) -> String {
    format!("{} already terminating, not deleted by this run.", objects(count))
}

/// The counts after a stop.
pub fn stop_counts(untouched: usize, irrevocable: usize, gone: usize) -> String {
    format!("{untouched} untouched · {irrevocable} requested, which cannot be undone · {gone} gone")
}

/// Announced while a run goes on.
pub fn summary(gone: usize, total: usize, attention: usize) -> String {
    let attention =
        if attention == 0 { String::new() } else { format!(", {attention} need attention") };
    format!("{}{attention}", gone_of(gone, total))
}

/// The number of objects that need attention.
pub fn attention(count: usize) -> String {
    format!("{ATTENTION} ({count})")
}

/// An event of a run that stopped waiting for `skipped` objects.
pub fn event(event: &FeedEvent, skipped: usize) -> String {
    match event {
        FeedEvent::Started { by } => format!("{} started the run", isolated(by)),
        FeedEvent::Recovered => "The server was restarted; the run continues".to_owned(),
        FeedEvent::Paused { changed: Some(object), .. } => {
            format!("Paused: {} changed during a remedy, or could not be read", named(object))
        }
        FeedEvent::Paused { by, .. } => format!("{} paused the run", isolated(by)),
        FeedEvent::Resumed { by } => format!("{} resumed the run", isolated(by)),
        FeedEvent::Stopping { by } => format!("{} stopped the run", isolated(by)),
        FeedEvent::Suspended { object, .. } => format!("{} is suspended", named(object)),
        FeedEvent::Requested { object, .. } => format!("DELETE sent for {}", named(object)),
        FeedEvent::Terminating { object, .. } => format!("{} is terminating", named(object)),
        FeedEvent::Gone { object, unconfirmed: true, .. } => {
            format!("{} is gone from the API, but nothing confirms that it ended", named(object))
        }
        FeedEvent::Gone { object, .. } => format!("{} is gone", named(object)),
        FeedEvent::TakenOn { object, by, .. } => {
            format!(
                "{} confirmed that everything {} waited for has ended",
                isolated(by),
                named(object)
            )
        }
        FeedEvent::Problem { object, problem: what, .. } => {
            format!("{}: {}", named(object), step_problem(what))
        }
        FeedEvent::Skipped { object, by, .. } => {
            format!("{} stopped waiting for {}", isolated(by), named(object))
        }
        FeedEvent::ClaimUnread { object, problem: what } => {
            let why = evidence(what).join("; ");
            format!("{} is kept and could not be read; Unwind tries again: {why}", named(object))
        }
        FeedEvent::DataChecked { bound, lost, unknown } => data_checked(*bound, lost, unknown),
        FeedEvent::Finished if skipped > 0 => {
            format!("Everything to delete is gone except {}", objects(skipped))
        }
        FeedEvent::Finished => "Everything to delete is gone".to_owned(),
        FeedEvent::Stopped { untouched, requested, already_terminating, effect_unknown, gone } => {
            let mut counts = stop_counts(*untouched, *requested, *gone);
            if *already_terminating > 0 {
                counts.push_str(&format!(" · {already_terminating} already terminating before"));
            }
            if *effect_unknown > 0 {
                counts.push_str(&format!(" · {effect_unknown} with unknown effect"));
            }
            format!("The run was stopped: {counts}")
        }
    }
}
