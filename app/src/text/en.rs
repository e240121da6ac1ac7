//! The catalogue in English. Constants where nothing is filled in, functions where something is.

mod api_problem;
mod edge;
mod plan;
mod demo;
pub mod refusal;
mod step_problem;

use teardown::{
    message::{AwayCause, DetailName, HiddenCause, State},
    object::ObjectRef,
    plan::KeptReason,
    relation::DeletionPhase,
    run::{FeedEvent, RunState},
    unit::UnitOrigin,
};

pub use self::api_problem::api_problem;
pub use self::demo::*;
pub use self::edge::{edge, edge_reversed, edge_sentence, reason};
pub use self::plan::*;
pub use self::step_problem::{evidence, in_doubt, step_problem, trouble_do};
use crate::state::progress::Progress;

/// As HTML names it.
pub const LANGUAGE: &str = "en";
pub const PRODUCT: &str = "Unwind";
/// Of a cluster that serves people.
pub const PRODUCTION: &str = "Production";
pub const SKIP_LINK: &str = "Skip to content";
pub const UNITS: &str = "Units";
pub const RUNS: &str = "Runs";
pub const PLAN: &str = "Plan";
pub const RUN: &str = "Run";
pub const MAIN_NAVIGATION: &str = "Main";
pub const BREADCRUMB: &str = "Where you are";
pub const THEME: &str = "Theme: switch between automatic, light and dark";
pub const SHARE: &str = "Sign in elsewhere";
pub const SHARE_HINT: &str = "Copy a link that signs another browser in, once";
pub const COPIED: &str = "Link copied";
pub const COPY_LINK: &str = "Copy the link to what is shown";
pub const KEYS_TITLE: &str = "Keys";
pub const KEYS_ON: &str = "Single keys do this";
/// Each key with what it does.
pub const KEYS: [(&str, &str); 11] = [
    ("/", "Search"),
    ("g u", "Units"),
    ("g r", "Runs"),
    ("1", "Map"),
    ("2", "List"),
    ("n  p", "Next or previous object in trouble"),
    ("← →", "On the map: what goes before, what goes after"),
    ("↑ ↓", "On the map: neighbours in the same rank"),
    ("+ − 0 f", "On the map: larger, smaller, full size, fit"),
    ("c", "Copy the link to what is shown"),
    ("Esc", "Close the details"),
];

pub const NOT_SIGNED_IN: &str =
    "You are reading only: open the link that the server printed when it started to sign in.";
pub const NOT_LIVE: &str = "Waiting for a live connection: what is shown may be out of date.";
pub const NEEDS_SCRIPT: &str = "This page shows the state at the moment it was loaded. Live updates and buttons need JavaScript.";
pub const HALTED: &str = "Something in this page has stopped: it may show what is old, and buttons may do nothing. Runs go on.";
pub const SIGN_IN_TITLE: &str = "Read only";
pub const OUTDATED: &str = "The server was updated.";
pub const RELOAD: &str = "Reload";
pub const NO_ANSWER: &str = "The server did not answer";
pub const NO_ANSWER_MEANS: &str = "It is not known whether the request arrived.";
pub const NO_ANSWER_DO: &str = "Look at the state shown here before trying again.";
pub const CLOSE: &str = "Close";
pub const CANCEL: &str = "Cancel";
pub const LOADING: &str = "Waiting for the first data…";

pub const LIVE: &str = "Live";
pub const CONNECTING: &str = "Connecting…";
pub const OFFLINE: &str = "Offline";
pub const TRY_NOW: &str = "Try now";

/// The pill while the stream is broken.
pub fn reconnecting(seconds: i64) -> String {
    format!("Reconnecting, {seconds} s")
}

/// The pill once data is too old to rely on.
pub const STALE: &str = "Stale";
/// The pill while a message of the server cannot be read.
pub const UNREADABLE: &str = "Cannot read the server’s messages";

/// When what is shown was true.
pub fn data_as_of(time: &str) -> String {
    format!("data as of {time}")
}

/// Said once after a gap.
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

/// How long, in the largest two units that matter.
pub fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// How long ago, in one unit.
pub fn ago(seconds: i64) -> String {
    match seconds {
        ..5 => "just now".to_owned(),
        5..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

// The units' table.

pub const UNITS_LEAD: &str =
    "Applications found in this cluster, each with everything that belongs to it.";
pub const SEARCH_UNITS: &str = "Search units";
pub const COLUMN_UNIT: &str = "Unit";
pub const COLUMN_FOUND: &str = "How found";
pub const COLUMN_NAMESPACES: &str = "Namespaces";
pub const COLUMN_OBJECTS: &str = "Objects";
pub const COLUMN_STATES: &str = "States";
pub const COLUMN_SHARED: &str = "Shared";
pub const COLUMN_RUN: &str = "Open run";
pub const COLUMN_CHANGED: &str = "Newest object";
pub const OPEN_RUNS: &str = "Runs";
pub const NO_RUNS: &str = "No teardown has been started yet.";
pub const SHARED_HINT: &str = "used by others as well, so a plan keeps them";
pub const NONE: &str = "–";
/// In place of a figure that nobody can tell.
pub const UNTOLD: &str = "?";

/// How many objects others use as well.
pub fn shared(count: usize) -> String {
    format!("{count} shared")
}

pub const NO_UNITS: &str = "No unit was found";
pub const NO_UNITS_MEANS: &str = "A unit is all objects with the same label app.kubernetes.io/part-of, in whatever namespaces. Each namespace is a unit as well, named ns:NAME, but for those the cluster needs.";
pub const NO_UNITS_DO: &str = "kubectl label deployment web app.kubernetes.io/part-of=shop";
pub const NOTHING_MATCHES: &str = "Nothing matches";
pub const CLEAR_SEARCH: &str = "Clear the search";

/// How a unit was found.
pub fn found(found: UnitOrigin) -> &'static str {
    match found {
        UnitOrigin::PartOf => "Label part-of",
        UnitOrigin::Namespace => "Namespace",
    }
}

/// How a unit was found, at length.
pub fn found_hint(found: UnitOrigin) -> &'static str {
    match found {
        UnitOrigin::PartOf => "its objects carry app.kubernetes.io/part-of with its name",
        UnitOrigin::Namespace => "a namespace with everything in it",
    }
}

// The cluster.

pub const AWAY_MEANS: &str = "What is shown was known last. Nothing is taken for gone until the cluster says so; a request without an answer is tried again.";
pub const READING: &str = "Still reading the cluster";
pub const READING_MEANS: &str = "Objects and edges may be missing until every kind has been listed once. A plan is only made after that.";
pub const BLIND_MEANS: &str = "Whether there is something of these kinds Unwind cannot tell. It never takes that for “gone”: what waits for such an object goes on waiting.";

/// The banner about kinds that cannot be seen.
pub fn blind(count: usize) -> String {
    many(count, "kind cannot be seen", "kinds cannot be seen")
}

/// In which way the cluster is away.
pub fn away(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => "The cluster does not answer",
        AwayCause::Unauthorized => "The cluster does not accept our credentials",
        AwayCause::Failing => "The cluster answers with errors",
    }
}

/// What to do about it.
pub fn away_do(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => {
            "Unwind keeps trying. See whether `kubectl cluster-info` gets through from the machine it runs on."
        }
        AwayCause::Unauthorized => {
            "They may have expired or been revoked. See whether `kubectl auth whoami` works; if it does not, log in again, and start Unwind anew: it goes on where it was."
        }
        AwayCause::Failing => {
            "Unwind keeps trying. See what `kubectl get --raw /readyz?verbose` says is unhealthy."
        }
    }
}

/// What to do about kinds that cannot be seen.
pub fn blind_do(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => {
            "What is not allowed: let the account that Unwind uses `list` and `watch` it; it is seen within a minute."
        }
        HiddenCause::Discovery => {
            "What discovery does not show: `kubectl get apiservices` shows which one is not available, and why."
        }
        HiddenCause::Failing => {
            "What fails is tried again; repair what the API server complains of."
        }
    }
}

/// Why a kind cannot be seen.
pub fn blind_cause(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => "not allowed to list or watch it",
        HiddenCause::Discovery => "discovery of its group fails or is stale",
        HiddenCause::Failing => "listing or watching it fails",
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

/// What a state means.
pub fn state_means(state: State) -> &'static str {
    match state {
        State::Present => "It is there, and no run concerns it.",
        State::Kept => "Protected, shared or out of scope: it is left alone.",
        State::Planned => "In the plan; the run has not reached it.",
        State::Waiting => "Something in front of it is not proven gone.",
        State::Requested => "DELETE was sent; the cluster has not shown it yet.",
        State::Terminating => "Its deletionTimestamp is set, and it is within the expected time.",
        State::Finalizing => "Its deletionTimestamp is set and finalizers remain.",
        State::Slow => "It takes longer than expected.",
        State::Stuck => "It is past its deadline.",
        State::Refused => "The API server said no.",
        State::Gone => "This object is proven gone.",
        State::CameBack => "It was gone, and another object uses its name now.",
        State::Skipped => "A person left it out.",
        State::Unknown => "It cannot be told: no permission, no discovery or no answer.",
    }
}

/// `3 stuck`.
pub fn state_count(of: State, count: usize) -> String {
    format!("{count} {}", state(of).to_ascii_lowercase())
}

// The unit page.

pub const MAP: &str = "Map";
pub const LIST: &str = "List";
pub const VIEW: &str = "View";
pub const PLAN_TEARDOWN: &str = "Plan teardown…";
pub const PLANNING: &str = "Planning…";
pub const SEARCH_OBJECTS: &str = "Search objects";
pub const ZOOM_IN: &str = "Zoom in";
pub const ZOOM_OUT: &str = "Zoom out";
pub const ZOOM_FIT: &str = "Fit the whole graph";
pub const ZOOM_ONE: &str = "Actual size";
pub const MAP_HINT: &str = "Arrow keys walk along edges, Enter opens, f fits, + and − zoom. The list shows the same objects as a table.";
pub const NO_OBJECTS: &str = "This unit has no objects";
pub const NO_OBJECTS_MEANS: &str =
    "Either everything is gone, or nothing carries its name any more.";
pub const COLUMN_OBJECT: &str = "Object";
pub const COLUMN_STATE: &str = "State";
pub const COLUMN_WAVE: &str = "Order";
pub const COLUMN_SINCE: &str = "Since";
pub const COLUMN_STANDING: &str = "Why it is here";
pub const LANE_CLUSTER: &str = "Cluster-wide";
pub const LANE_OUTSIDE: &str = "Used by others";
pub const MEMBER: &str = "Part of the unit";
pub const OUTSIDE: &str = "Not part of the unit; drawn because an edge leads here";
pub const GRAPH_LABEL: &str = "Dependency graph";

/// A lane's heading.
pub fn namespace(name: &str) -> String {
    format!("Namespace {name}")
}

/// The rest of a long list.
pub fn show_all(hidden: usize) -> String {
    format!("Show {hidden} more")
}

/// Said under the graph: nothing is left out silently, and of what others use there may be more.
pub fn drawn(objects: usize, edges: usize, lanes: usize, outside: bool) -> String {
    format!(
        "{} · {} · {} · {}",
        self::objects(objects),
        many(edges, "edge", "edges"),
        many(lanes, "group", "groups"),
        if outside { "nothing of the unit left out" } else { "none left out" }
    )
}

/// A node, for a screen reader.
pub fn node_label(seen: &str, of: State, path: &str, before: usize, after: usize) -> String {
    format!("{seen} {}: {path}, {before} before it, {after} after it", state(of))
}

// The drawer.

pub const DETAILS: &str = "Details";
pub const IDENTITY: &str = "Identity";
pub const UID: &str = "UID";
pub const API_VERSION: &str = "API version";
pub const NAMESPACE: &str = "Namespace";
pub const CREATED: &str = "Created";
pub const DELETED: &str = "Deletion accepted";
pub const GRACE: &str = "Grace period";
pub const FINALIZERS: &str = "Finalizers";
pub const FINALIZERS_MEAN: &str =
    "Each has to be cleared by its controller before the object is gone.";
pub const LABELS: &str = "Labels";
pub const ORDER: &str = "Place in the order";
pub const LADDER: &str = "On the ladder to gone";
pub const ONLY_STATE: &str = "Show only what is in this state; again to show all";
pub const GOES_AFTER: &str = "Goes after";
pub const GOES_BEFORE: &str = "Goes before";
pub const WHY_KEPT: &str = "Why it is kept";
pub const NOT_PLANNED: &str = "No plan would touch it.";
pub const SELECTED_GONE: &str = "The selected object is no longer here.";

/// A place in the order.
pub fn wave(number: u32) -> String {
    format!("Wave {number}")
}

/// A detail's name.
pub fn detail(name: DetailName) -> &'static str {
    match name {
        DetailName::Phase => "Phase",
        DetailName::Node => "Node",
        DetailName::Replicas => "Ready replicas",
        DetailName::Capacity => "Capacity",
        DetailName::Class => "Storage class",
        DetailName::Reclaim => "Reclaim policy",
        DetailName::Source => "Bytes are in",
        DetailName::Selector => "Selector",
        DetailName::Target => "Target",
        DetailName::LoadBalancer => "Type",
        DetailName::Ready => "Ready",
        DetailName::Owner => "Controlled by",
    }
}

/// Why an object stays.
pub fn kept(why: &KeptReason) -> String {
    match why {
        KeptReason::UsedBy { user, reason: why, .. } => {
            format!("{user} uses it and is not part of the unit: {}", reason(why))
        }
        KeptReason::NeededBy { user, reason: why, .. } => {
            format!("{user} is kept and needs it: {}", reason(why))
        }
        KeptReason::RetainedVolume => {
            "Its reclaim policy is Retain and nobody declared it part of the unit: it stays as Released, with its data".to_owned()
        }
        KeptReason::RecycledVolume => {
            "Its reclaim policy is Recycle: it stays, scrubbed of its data, and is offered again".to_owned()
        }
        KeptReason::Protected => "The cluster needs it".to_owned(),
        KeptReason::Access => {
            "It gives people their rights, yours perhaps among them: it goes with its namespace".to_owned()
        }
        KeptReason::HiddenController { kind, name } => {
            format!("{kind} {name} controls it and has not been seen: if it is there, it makes it again")
        }
        KeptReason::HiddenUsers { resource, namespace } => {
            let within = namespace.as_ref().map(|namespace| format!(" in {namespace}"));
            format!("Others may use it: {resource}{} cannot be seen", within.unwrap_or_default())
        }
        KeptReason::MadeByCluster => "The cluster makes it and removes it by itself".to_owned(),
    }
}

/// A rung of the ladder.
pub fn phase_name(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "Present",
        DeletionPhase::Accepted => "Accepted",
        DeletionPhase::Gone => "Absent",
        DeletionPhase::PodsGone => "Childless",
    }
}

/// What is so on a rung.
pub fn phase_means(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "It is there.",
        DeletionPhase::Accepted => "Its deletion was accepted.",
        DeletionPhase::Gone => "This UID is proven gone.",
        DeletionPhase::PodsGone => "No Pod is left of it.",
    }
}

/// More of the same.
pub fn more(count: usize) -> String {
    format!("and {count} more")
}

// The run page.

pub const PAUSE: &str = "Pause";
pub const RESUME: &str = "Resume";
pub const STOP: &str = "Stop…";
pub const STOP_NOW: &str = "Stop the run";
pub const STOP_TITLE: &str = "Stop this run?";
pub const STOP_LEAD: &str = "No further DELETE is sent. What was requested goes on by itself: a deletion cannot be taken back.";
pub const SKIP: &str = "Skip…";
pub const SKIP_NOW: &str = "Leave out";
pub const ATTENTION: &str = "Needs attention";
pub const ALL_WELL: &str = "Nothing needs attention.";
pub const STEPS: &str = "Steps";
pub const FEED: &str = "What happened";
pub const NO_EVENTS: &str = "Nothing yet.";
pub const WHOLE_FEED: &str = "All of it, as text";
pub const ELAPSED: &str = "Elapsed";
pub const STARTED: &str = "Started";
pub const ENDED: &str = "Ended";
pub const PROGRESS: &str = "Gone";
pub const COLUMN_WAITS: &str = "Waits for";
pub const COLUMN_REQUESTED: &str = "Requested";
pub const COLUMN_GONE: &str = "Gone";
pub const SEE_PLAN: &str = "The plan";
pub const NO_RUN: &str = "This run is not known";
pub const NO_RUN_MEANS: &str =
    "It may have been started on another server, or its journal was removed.";

/// A run's heading.
pub fn run_title(unit: &str) -> String {
    format!("Taking {unit} apart")
}

/// Where a run stands.
pub fn run_state(state: RunState) -> &'static str {
    match state {
        RunState::Running => "Running",
        RunState::Paused => "Paused",
        RunState::Stopping => "Stopping",
        RunState::Finished => "Finished",
        RunState::Stopped => "Stopped",
    }
}

/// Who started a run.
pub fn by(who: &str) -> String {
    format!("by {who}")
}

/// After a restart of the server.
pub fn recovered(times: u32) -> String {
    match times {
        1 => "went on after a restart of the server".to_owned(),
        _ => format!("went on after {times} restarts of the server"),
    }
}

/// Progress in words.
pub fn gone_of(gone: usize, total: usize) -> String {
    format!("{gone} of {total} gone")
}

/// What leaving a step out is asked with.
pub fn skip_title(object: &ObjectRef) -> String {
    format!("Leave out {object}?")
}

/// What leaving a step out means for its object.
pub fn skip_means(reach: Progress) -> &'static str {
    match reach {
        Progress::Untouched => {
            "No DELETE is sent for it in this run. That cannot be changed later: to delete it, plan again."
        }
        Progress::Open => {
            "A DELETE was sent for it, and it is not known whether it was accepted. The run no longer looks after it."
        }
        Progress::Accepted => {
            "Its deletion was accepted and cannot be taken back. The run no longer looks after it."
        }
        Progress::Gone => "It is gone. The run no longer minds what uses its name now.",
    }
}

/// What is left out with a step.
pub fn skip_behind(count: usize) -> String {
    match count {
        0 => "Nothing else waits for it.".to_owned(),
        1 => "1 object is left out as well:".to_owned(),
        _ => format!("{count} objects are left out as well:"),
    }
}

/// What a stop does not decide.
pub fn stop_open(count: usize) -> String {
    format!(
        "For {} a DELETE was sent, and it is not known whether it was accepted.",
        objects(count)
    )
}

/// What stopping leaves.
pub fn stop_counts(untouched: usize, irrevocable: usize, gone: usize) -> String {
    format!(
        "{untouched} untouched · {irrevocable} requested and not to be taken back · {gone} gone"
    )
}

/// Said to a screen reader while a run goes on.
pub fn summary(gone: usize, total: usize, attention: usize) -> String {
    let attention =
        if attention == 0 { String::new() } else { format!(", {attention} need attention") };
    format!("{}{attention}", gone_of(gone, total))
}

/// How many need a person's eye.
pub fn attention(count: usize) -> String {
    format!("{ATTENTION} ({count})")
}

/// A line of the feed of a run that leaves out so many steps.
pub fn event(event: &FeedEvent, skipped: usize) -> String {
    match event {
        FeedEvent::Started { by } => format!("{by} started the run"),
        FeedEvent::Recovered => "The server was restarted; the run goes on".to_owned(),
        FeedEvent::Paused { by } => format!("{by} paused the run"),
        FeedEvent::Resumed { by } => format!("{by} resumed the run"),
        FeedEvent::Stopping { by } => format!("{by} stopped the run"),
        FeedEvent::Requested { object, .. } => format!("DELETE sent for {object}"),
        FeedEvent::Terminating { object, .. } => format!("{object} is being deleted"),
        FeedEvent::Gone { object, .. } => format!("{object} is proven gone"),
        FeedEvent::Problem { object, problem: what, .. } => {
            format!("{object}: {}", step_problem(what))
        }
        FeedEvent::Skipped { object, by, .. } => format!("{by} skipped {object}"),
        FeedEvent::Finished if skipped > 0 => {
            format!("Everything in the plan is gone but for {} left out", objects(skipped))
        }
        FeedEvent::Finished => "Everything in the plan is gone".to_owned(),
        FeedEvent::Stopped { untouched, irrevocable, gone } => {
            format!("The run was stopped: {}", stop_counts(*untouched, *irrevocable, *gone))
        }
    }
}

// Elsewhere.

pub const NOT_FOUND: &str = "There is nothing here";
pub const NOT_FOUND_MEANS: &str = "The address may be mistyped, or what it named is gone.";
pub const TO_UNITS: &str = "All units";
pub const NO_UNIT: &str = "This unit is not known";
pub const NO_UNIT_MEANS: &str =
    "Nothing in the cluster carries its name: it may be gone, or never have been there.";
