//! The catalogue in English. Constants where nothing is filled in, functions where something is.

mod api_problem;
mod edge;
mod plan;
mod demo;
mod step_problem;

use teardown::{
    message::{AwayCause, DetailName, HiddenCause, HiddenKindCard, State},
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
use super::{isolated, named, visible};
use crate::state::progress::Progress;

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
pub const SHARE: &str = "Invite another browser";
pub const SHARE_HINT: &str = "Copy a one-time sign-in link";
pub const SIGN_OUT: &str = "Sign out";
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

pub const NOT_SIGNED_IN: &str =
    "To make changes, sign in with the link that the server printed when it started.";
pub const NOT_LIVE: &str = "Not available until the page is live again: it may be out of date.";
pub const NEEDS_SCRIPT: &str = "This page shows the state at the moment it was loaded. Live updates and buttons need JavaScript.";
pub const HALTED: &str = "This page has stopped working: it may be out of date, and its buttons may do nothing. Runs continue on the server.";
pub const SIGN_IN_TITLE: &str = "Read only";
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
pub fn data_as_of(time: &str) -> String {
    format!("data as of {time}")
}

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

/// The time that a late deletion takes so far.
pub fn deleting_for(seconds: i64) -> String {
    format!("Deleting for {}", duration(seconds))
}

// The units' table.

pub const UNITS_LEAD: &str = "Applications in this cluster, with all objects that belong to each.";
pub const SEARCH_UNITS: &str = "Search units";
pub const APPLICATIONS: &str = "Applications";
pub const COLUMN_UNIT: &str = "Application";
pub const COLUMN_FOUND: &str = "Found by";
pub const COLUMN_NAMESPACES: &str = "Namespaces";
pub const COLUMN_OBJECTS: &str = "Objects";
pub const COLUMN_STATES: &str = "Deletion state";
pub const COLUMN_SHARED: &str = "Used from outside";
pub const COLUMN_RUN: &str = "Open run";
pub const COLUMN_CHANGED: &str = "Last created";
pub const OPEN_RUNS: &str = "Runs";
pub const NO_RUNS: &str = "No teardown has been started yet.";
pub const OPEN_THE_RUN: &str = "Open the run";
pub const SHARED_HINT: &str = "Something outside this unit uses them, so a plan keeps them";
pub const NONE: &str = "–";
/// In place of a figure that is not known.
pub const UNTOLD: &str = "?";

/// The heading of the group of namespaces.
pub fn namespaces(count: usize) -> String {
    many(count, "namespace", "namespaces")
}

/// In front of the namespaces that are not rows of their group.
pub const LISTED_ABOVE: &str = "Same objects as the application in them:";

/// A filter of the table of units: `2 with stuck objects`.
pub fn units_in_state(of: State, count: usize) -> String {
    format!("{count} with {} objects", state(of).to_ascii_lowercase())
}

/// How many objects a plan deletes.
pub fn to_delete(count: usize) -> String {
    format!("{count} to delete")
}

/// How many objects a plan keeps.
pub fn to_keep(count: usize) -> String {
    format!("{count} kept")
}

/// How many objects the cluster removes by itself.
pub fn left_to_cluster(count: usize) -> String {
    format!("{count} left to the cluster")
}

pub const LEFT_TO_CLUSTER_HINT: &str =
    "Kubernetes creates these objects and removes them by itself";
/// The runs of a unit.
pub const RUNS_OF_UNIT: &str = "Runs of this unit";

pub const NO_UNITS: &str = "No unit was found";
pub const NO_UNITS_MEANS: &str = "An application is all objects with the same value of the label app.kubernetes.io/part-of, in any namespace. Each namespace is listed as well, as ns:NAME, apart from those that the cluster needs.";
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
        UnitOrigin::PartOf => {
            "Its objects carry the label app.kubernetes.io/part-of with this name"
        }
        UnitOrigin::Namespace => "A namespace and everything in it",
    }
}

// The cluster.

pub const AWAY_MEANS: &str = "This page shows the last known state. Unwind does not count an object as gone until the cluster confirms it, and repeats requests that got no answer.";
pub const READING: &str = "Still reading the cluster";
pub const READING_MEANS: &str = "Objects and edges may be missing until every kind has been listed once. A plan can be made after that.";
pub const BLIND_MEANS: &str = "Unwind cannot tell whether such objects exist, and never counts them as gone: whatever waits for one keeps waiting.";

/// The banner about kinds that cannot be seen.
pub fn blind(cards: &[HiddenKindCard]) -> String {
    match cards {
        [one] => format!("Cannot list {}: {}", visible(&one.resource), blind_cause(one.cause)),
        many => format!("Cannot list {} kinds", many.len()),
    }
}

/// In which way the cluster is away.
pub fn away(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => "The cluster does not answer",
        AwayCause::Unauthorized => "The cluster does not accept our credentials",
        AwayCause::Failing => "The cluster answers with errors",
    }
}

/// The advice about it.
pub fn away_do(cause: AwayCause) -> &'static str {
    match cause {
        AwayCause::Silent => {
            "Unwind keeps trying. See whether `kubectl cluster-info` gets through from the machine that Unwind runs on."
        }
        AwayCause::Unauthorized => {
            "They may have expired or been revoked. Check `kubectl auth whoami`; if it fails, log in again and restart Unwind, which continues where it stopped."
        }
        AwayCause::Failing => {
            "Unwind keeps trying. See what `kubectl get --raw /readyz?verbose` reports as unhealthy."
        }
    }
}

/// The advice about kinds that cannot be listed.
pub fn blind_do(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => {
            "Forbidden kinds: let the account that Unwind uses `list` and `watch` it; the kind shows up within a minute."
        }
        HiddenCause::Discovery => {
            "Kinds missing from discovery: `kubectl get apiservices` shows which API is not available, and why."
        }
        HiddenCause::Failing => {
            "Failing kinds: Unwind keeps trying; fix what the API server reports."
        }
    }
}

/// Why a kind cannot be seen.
pub fn blind_cause(cause: HiddenCause) -> &'static str {
    match cause {
        HiddenCause::Forbidden => "not allowed to list or watch it",
        HiddenCause::Discovery => "its API is down",
        HiddenCause::Failing => "the API server fails to list or watch it",
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
pub const NO_OBJECTS_MEANS: &str = "Everything is gone, or no object carries its name any more.";
pub const COLUMN_OBJECT: &str = "Object";
pub const COLUMN_STATE: &str = "State";
pub const COLUMN_WAVE: &str = "Step";
pub const COLUMN_SINCE: &str = "Since";
pub const COLUMN_STANDING: &str = "Notes";
pub const LANE_CLUSTER: &str = "Cluster-wide";
pub const LANE_OUTSIDE: &str = "Outside this unit";
pub const OUTSIDE: &str =
    "Not part of this unit; shown because something in it refers to this object";
pub const GRAPH_LABEL: &str = "Dependency graph";

/// A lane's heading.
pub fn namespace(name: &str) -> String {
    format!("Namespace {name}")
}

/// The rest of a long list.
pub fn show_all(hidden: usize) -> String {
    format!("Show {hidden} more")
}

/// Said under the graph, so that the number of objects can be compared with the head of the page.
pub fn drawn(objects: usize, outside: usize, edges: usize) -> String {
    let outside =
        if outside == 0 { String::new() } else { format!(" · {outside} outside this unit") };
    format!("{}{outside} · {}", self::objects(objects), many(edges, "edge", "edges"))
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
    "Its controller has to remove each finalizer before the object is gone.";
pub const LABELS: &str = "Labels";
pub const ORDER: &str = "Place in the plan";
pub const LADDER: &str = "Deletion progress";
pub const ONLY_STATE: &str = "Show only these; select again to show all";
pub const GOES_AFTER: &str = "Goes after";
pub const GOES_BEFORE: &str = "Goes before";
pub const RELATED: &str = "Related, in no order";
pub const WHY_KEPT: &str = "Why it is kept";
pub const NOT_PLANNED: &str = "A plan does not delete it.";
pub const SELECTED_GONE: &str = "The selected object no longer exists.";

/// A place in the plan.
pub fn wave(number: u32) -> String {
    format!("Step {number}")
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
        DetailName::Source => "Data stored in",
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
            format!("{} uses it and is not part of the unit: {}", named(user), reason(why))
        }
        KeptReason::NeededBy { user, reason: why, .. } => {
            format!("{} is kept and needs it: {}", named(user), reason(why))
        }
        KeptReason::RetainedVolume => {
            "Its reclaim policy is Retain, and no label makes it part of the unit: it stays as Released, with its data".to_owned()
        }
        KeptReason::RecycledVolume => {
            "Its reclaim policy is Recycle: it stays, its data is erased, and it becomes available again".to_owned()
        }
        KeptReason::Protected => "The cluster needs it".to_owned(),
        KeptReason::Access => {
            "It grants people access, perhaps yours: it goes with its namespace".to_owned()
        }
        KeptReason::HiddenController { kind, name } => {
            format!("{kind} {} controls it and cannot be seen: it would create it again", isolated(name))
        }
        KeptReason::HiddenUsers { resource, namespace } => {
            let within = namespace.as_ref().map(|namespace| format!(" in {namespace}"));
            format!("Something else may use it: {resource}{} cannot be seen", within.unwrap_or_default())
        }
        KeptReason::MadeByCluster => {
            "Left to the cluster, which creates it and removes it by itself".to_owned()
        }
    }
}

/// A phase of a deletion.
pub fn phase_name(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "Not deleted",
        DeletionPhase::Accepted => "Deletion accepted",
        DeletionPhase::Gone => "Gone",
        DeletionPhase::PodsGone => "Pods gone",
    }
}

/// The meaning of a phase of a deletion.
pub fn phase_means(phase: DeletionPhase) -> &'static str {
    match phase {
        DeletionPhase::Present => "The object exists.",
        DeletionPhase::Accepted => "The cluster accepted the DELETE.",
        DeletionPhase::Gone => "This UID is confirmed gone.",
        DeletionPhase::PodsGone => "None of its Pods is left.",
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
pub const FEED: &str = "Events";
pub const NO_EVENTS: &str = "Nothing has happened yet.";
pub const WHOLE_FEED: &str = "All events as text";
pub const ELAPSED: &str = "Elapsed";
pub const STARTED: &str = "Started";
pub const ENDED: &str = "Ended";
pub const PROGRESS: &str = "Gone";
pub const COLUMN_WAITS: &str = "Waits for";
pub const COLUMN_REQUESTED: &str = "DELETE sent";
pub const COLUMN_GONE: &str = "Gone";
pub const SEE_PLAN: &str = "The plan";
pub const NO_RUN: &str = "This run is not known";
pub const NO_RUN_MEANS: &str = "It was started on another server, or its journal was removed.";

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
            "It was already terminating, not through this run, and that cannot be undone. This run no longer waits for it."
        }
        Progress::Gone => "It is gone. This run no longer minds the new object with its name.",
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
    format!("{} terminating already, not through this run.", objects(count))
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
        FeedEvent::Paused { by } => format!("{} paused the run", isolated(by)),
        FeedEvent::Resumed { by } => format!("{} resumed the run", isolated(by)),
        FeedEvent::Stopping { by } => format!("{} stopped the run", isolated(by)),
        FeedEvent::Requested { object, .. } => format!("DELETE sent for {}", named(object)),
        FeedEvent::Terminating { object, .. } => format!("{} is terminating", named(object)),
        FeedEvent::Gone { object, .. } => format!("{} is gone", named(object)),
        FeedEvent::Problem { object, problem: what, .. } => {
            format!("{}: {}", named(object), step_problem(what))
        }
        FeedEvent::Skipped { object, by, .. } => {
            format!("{} stopped waiting for {}", isolated(by), named(object))
        }
        FeedEvent::Finished if skipped > 0 => {
            format!("Everything in the plan is gone except {}", objects(skipped))
        }
        FeedEvent::Finished => "Everything in the plan is gone".to_owned(),
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
