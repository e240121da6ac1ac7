//! The words of a transcript: calls, lines of the event log, and what a look at a step shows.

use std::fmt::Write as _;

use super::*;
use crate::{
    api_problem::ApiProblem,
    object::ObjectRef,
    plan::{Choice, Fate, KeptReason, PlanError},
    proof::Proof,
    remedy::put_backs,
};

/// A call. The collector deletes the dependents of what is deleted, unless it says otherwise.
pub(super) fn call_of(action: &Action) -> String {
    let object = &action.target().object;
    match action {
        Action::Delete { propagation: Propagation::Orphan, .. } => {
            format!("DELETE {object} without its dependents")
        }
        Action::Delete { .. } => format!("DELETE {object}"),
        Action::Suspend { .. } => format!("PATCH {object}"),
        Action::Read { .. } | Action::ReadClaim { .. } => format!("GET {object}"),
        Action::ReadPods { .. } => {
            format!("LIST pods in {}", object.namespace.as_deref().unwrap())
        }
        Action::ReadContent { .. } if &*object.kind == "Namespace" => {
            format!("LIST everything in {}", object.name)
        }
        Action::ReadContent { .. } => format!("LIST everything of {}", object.name),
    }
}

/// A call with its version and its patch.
pub(super) fn written(action: &Action) -> String {
    let mut call = call_of(action);
    if let Some(version) = &action.target().version {
        _ = write!(call, " at {version}");
    }
    if let Action::Suspend { patch, .. } = action {
        _ = write!(call, ": {patch}");
    }
    call
}

/// A line of the event log, except those that a line of the script or a call says already.
pub(super) fn entry_of(run: &Run, event: &FeedEvent) -> Option<String> {
    let is_said = matches!(
        event,
        FeedEvent::Started { .. }
            | FeedEvent::Recovered
            | FeedEvent::Paused { .. }
            | FeedEvent::Resumed { .. }
            | FeedEvent::Stopping { .. }
            | FeedEvent::Requested { .. }
            | FeedEvent::Suspended { .. }
    );
    (!is_said).then(|| whole_entry_of(run, event))
}

/// A line of the event log.
pub(super) fn whole_entry_of(run: &Run, event: &FeedEvent) -> String {
    match event {
        FeedEvent::Started { by } => format!("{by} started the run"),
        FeedEvent::Recovered => "the server was restarted".to_owned(),
        FeedEvent::Paused { by, changed: None } => format!("{by} paused the run"),
        FeedEvent::Paused { by, changed: Some(object) } => {
            format!("paused, because {object} changed during a remedy of {by}")
        }
        FeedEvent::Resumed { by } => format!("{by} resumed the run"),
        FeedEvent::Stopping { by } => format!("{by} stopped the run"),
        FeedEvent::Requested { object, .. } => format!("{object} is requested"),
        FeedEvent::Suspended { object, .. } => format!("{object} is suspended"),
        FeedEvent::Terminating { object, .. } => format!("{object} is terminating"),
        FeedEvent::Gone { object, unconfirmed, step } => {
            let alone = if *unconfirmed { " from the API alone" } else { "" };
            format!(
                "{object} is gone{alone}{}",
                proven(run.progress(*step).and_then(|it| it.proof))
            )
        }
        FeedEvent::TakenOn { object, .. } => format!("{object} is taken on"),
        FeedEvent::Problem { object, problem, .. } => format!("{object} {}", held(problem)),
        FeedEvent::ClaimUnread { object, problem } => format!("{object} {}", held(problem)),
        FeedEvent::Skipped { object, .. } => format!("{object} is skipped"),
        FeedEvent::DataChecked { bound, lost, unknown } => {
            format!("claims bound: {bound}, lost: {}, unknown: {}", names(lost), names(unknown))
        }
        FeedEvent::Finished => "the run has finished".to_owned(),
        FeedEvent::Stopped { untouched, requested, already_terminating, effect_unknown, gone } => {
            format!(
                "the run has stopped: {untouched} untouched, {requested} requested, \
                 {already_terminating} terminating before, {effect_unknown} unknown, {gone} gone"
            )
        }
    }
}

fn names(objects: &[ObjectRef]) -> String {
    match objects {
        [] => "none".to_owned(),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The proof that an object is gone; an event of the watch goes without saying.
fn proven(proof: Option<Proof>) -> &'static str {
    match proof {
        Some(Proof::DeletedEvent) => "",
        Some(Proof::List) => ", as it is not listed",
        Some(Proof::NotFound) => ", as it was not found",
        Some(Proof::OtherUid) => ", as another has its name",
        Some(Proof::KindGone) => ", as its kind is gone",
        Some(Proof::NamespaceGone) => ", as its namespace is gone",
        None => ", without a proof",
    }
}

/// Why a step does not advance.
fn held(problem: &StepProblem) -> String {
    match problem {
        StepProblem::Late { finalizers, .. } if !finalizers.is_empty() => {
            format!("is late, with {}", finalizers.join(", "))
        }
        StepProblem::Late { .. } => "is late".to_owned(),
        StepProblem::Refused { code, refusals, .. } => {
            match refusals.map_or(1, |refusals| refusals.count) {
                1 => format!("was refused: {code}"),
                count => format!("was refused {count} times: {code}"),
            }
        }
        StepProblem::CameBack { uid, by } => match by {
            Some(Creator::Owner(owner)) => format!("came back as {uid}, made by {owner}"),
            Some(Creator::Manager(manager)) => format!("came back as {uid}, made by {manager}"),
            None => format!("came back as {uid}"),
        },
        StepProblem::Unknown { reason } => unknown(reason),
        StepProblem::InUse { pods } => format!("is used by {}", names(pods)),
        StepProblem::Retrying { attempts, .. } => format!("is tried again after try {attempts}"),
    }
}

fn unknown(reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::Hidden { resource, namespace: None, .. } => {
            format!("cannot be told without {resource}")
        }
        UnknownReason::Hidden { resource, namespace: Some(namespace), .. } => {
            format!("cannot be told without {resource} in {namespace}")
        }
        UnknownReason::NotListed { resource } => {
            format!("cannot be told before {resource} are listed")
        }
        UnknownReason::NotServed { resource } => {
            format!("cannot be told while {resource} are not served")
        }
        UnknownReason::PodsLeft { pod, of } => format!("waits for {pod} of {of}"),
        UnknownReason::Unconfirmed { objects } => {
            let on = |node: &Option<String>| match node {
                Some(node) => format!(" on {node}"),
                None => String::new(),
            };
            let objects = objects.iter().map(|it| format!("{}{}", it.object, on(&it.node)));
            format!("waits for a report of {}", objects.collect::<Vec<_>>().join(", "))
        }
        UnknownReason::StillAttached { volume, node } => {
            format!("waits until {volume} is detached from {node}")
        }
        UnknownReason::GivenAway { to: Some(unit) } => format!("belongs to {unit} now"),
        UnknownReason::GivenAway { to: None } => "belongs to nobody now".to_owned(),
        UnknownReason::AskedToKeep { mark } => format!("is to be kept now by {mark}"),
        UnknownReason::ParentActive { parent } => format!("is kept by {parent}, which is active"),
        UnknownReason::InUse { by } => format!("is used by {by}"),
        UnknownReason::StillGuards { it } => format!("still guards {it}"),
        UnknownReason::WouldCollect { it } => format!("would take {it} along"),
        UnknownReason::WouldDestroyData { volume } => format!("would destroy {volume}"),
        UnknownReason::NamespaceNotEmpty { by } => format!("has {by} in it"),
        UnknownReason::Inconclusive { .. } => "had an answer that says nothing".to_owned(),
    }
}

/// Since when a call is refused, when it is tried next, and what the API server said last.
fn refused_until(problem: &StepProblem, now: Timestamp) -> Option<String> {
    let StepProblem::Refused { message, refusals: Some(refusals), .. } = problem else {
        return None;
    };
    let Refusals { since, next, .. } = refusals;
    let since = now.duration_since(*since).as_secs();
    let next = match next.duration_since(now).as_secs() {
        seconds if seconds > 0 => format!("in {seconds} s"),
        _ => "due".to_owned(),
    };
    let said = match message {
        ApiProblem::Quoted(said) => format!(": {said}"),
        ApiProblem::Code(_) => String::new(),
    };
    Some(format!("for {since} s, with the next try {next}{said}"))
}

/// All lines of the event log.
pub(super) fn log_of(run: &Run, now: Timestamp) -> Vec<String> {
    let lines = run.event_log().iter().map(|entry| {
        let more = match &entry.event {
            FeedEvent::Problem { problem, .. } => refused_until(problem, now),
            _ => None,
        };
        let more = more.map(|more| format!(", {more}")).unwrap_or_default();
        format!("  {}{more}", whole_entry_of(run, &entry.event))
    });
    lines.collect()
}

/// How a step is, as far as the run knows, with all that its line in the event log does not say.
pub(super) fn look_at(scenario: &Scenario, uid: &str) -> String {
    let Scenario { run, index, now, .. } = scenario;
    let step = run.plan.step(scenario.id(uid)).unwrap();
    let progress = scenario.progress(uid);
    let state = format!("{:?}", run.shown(step)).to_lowercase();
    let problem = progress.hold.problem.as_ref().map(held);
    let mut said = match (run.shown(step), problem) {
        (State::Refused | State::Unknown | State::CameBack, Some(problem)) => {
            vec![format!("{} {problem}", step.object)]
        }
        (_, Some(problem)) => vec![format!("{} is {state}, {problem}", step.object)],
        (_, None) => vec![format!("{} is {state}", step.object)],
    };
    said.extend(progress.hold.problem.as_ref().and_then(|problem| refused_until(problem, *now)));
    let waits_for = run.waits_for(step, index, &mut PodsLeft::default());
    if progress.is_waiting() && !waits_for.is_empty() {
        let objects: Vec<ObjectRef> =
            waits_for.into_iter().map(|id| run.plan.step(id).unwrap().object.clone()).collect();
        said.push(format!("after {}", names(&objects)));
    }
    let is_suspended = |it: crate::remedy::Attempt| it.root == step.object;
    for (is_so, words) in [
        (run.taken().contains(&step.id), "goes along with another"),
        (run.suspensions().any(is_suspended), "suspended by this run"),
        (progress.effect_unknown, "perhaps deleted"),
        (progress.unconfirmed, "from the API alone"),
    ] {
        said.extend(is_so.then(|| words.to_owned()));
    }
    said.extend(progress.taken_on.as_ref().map(|by| format!("taken on by {by}")));
    if !progress.unproven.is_empty() {
        said.push(format!("deleted without proof of {}", progress.unproven.join(", ")));
    }
    said.join(", ")
}

/// The steps whose objects go along with another.
pub(super) fn taken(scenario: &Scenario) -> String {
    let taken = scenario.run.taken().into_iter();
    let objects = taken.map(|id| scenario.run.plan.step(id).unwrap().object.clone());
    format!("along with another goes: {}", names(&objects.collect::<Vec<_>>()))
}

/// When time alone may lead to an event.
pub(super) fn wakes(scenario: &Scenario) -> String {
    match scenario.run.wake(&scenario.index, scenario.now) {
        Some(at) => format!("the run wakes in {} ms", at.duration_since(scenario.now).as_millis()),
        None => "the run does not wake".to_owned(),
    }
}

/// The objects that the run left suspended, each with the command that puts it back.
pub(super) fn suspended(scenario: &Scenario) -> Vec<String> {
    let left: Vec<_> = scenario.run.suspensions().collect();
    let (index, now) = (&scenario.index, scenario.now);
    let off = put_backs(&left, index, &Graph::of(index), false, "prod", now).into_iter();
    let off = off.map(|it| {
        let by = if it.by_unwind { "Unwind puts it back, or" } else { "a person puts it back:" };
        format!("{} is off, {by} {}", it.attempt.root, it.line.unwrap_or_default())
    });
    let off: Vec<String> = off.collect();
    if off.is_empty() { vec!["nothing is off".to_owned()] } else { off }
}

/// Each object with the step that it holds, and the plan of them: the deletions, the objects that stay with the reasons, the
/// fates of data, and the objects that a person confirms by name.
pub(super) fn unplanned(scenario: &Scenario) -> String {
    let Scenario { run, index, now, .. } = scenario;
    let graph = Graph::of(index);
    let found = run.unplanned(index, &graph, &[run]);
    let mut lines: Vec<String> = found
        .iter()
        .map(|it| {
            format!("{} holds {}", it.object.reference(), run.plan.step(it.step).unwrap().object)
        })
        .collect();
    let unit = run.unplanned_unit(index, &graph, &[run]);
    let choices: Choices = [Choice::Unplanned(run.id.clone())].into_iter().collect();
    match plan(index, &graph, &unit, &choices, *now) {
        Ok(plan) => {
            lines.extend(plan.steps.iter().map(|step| format!("delete {}", step.object)));
            lines.extend(plan.kept.iter().map(|kept| match &kept.reason {
                KeptReason::UsedBy { user, .. } => format!("keep {}: used by {user}", kept.object),
                _ => format!("keep {}: another reason", kept.object),
            }));
            let fate = |fate| if fate == Fate::Destroyed { "is destroyed" } else { "stays" };
            let data =
                plan.data.iter().map(|data| format!("data of {} {}", data.volume, fate(data.fate)));
            lines.extend(data);
            lines.extend(plan.by_name.iter().map(|object| format!("by name {object}")));
        }
        Err(PlanError::Empty) => lines.push("nothing to plan".to_owned()),
        Err(_) => lines.push("no plan".to_owned()),
    }
    lines.join("\n")
}
