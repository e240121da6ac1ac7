//! Runs as scripts: a cluster, and then answers, changes, clicks and time, one a line; those that come at once are joined by
//! ` & `. The run reconciles after each line. The transcript has each line with all that follows from it: the lines of the event log, and the calls.
//!
//! | line | meaning |
//! |---|---|
//! | `accepted UID`, `silent UID`, `refused UID`, `recalled UID` | the answer to the call that is in flight for a step |
//! | `there UID`, `going UID` | the answer to a read: the object is untouched, or terminating |
//! | `no pods UID` | the answer to a read of Pods |
//! | `gone OBJECT`, `applied OBJECT` | a change that the watch shows |
//! | `unfinalize OBJECT` | a finalizer of the object is removed by hand |
//! | `hidden RESOURCE`, `visible RESOURCE` | a kind can no longer be listed, or again |
//! | `pause first` | the run is paused before it looks at the cluster |
//! | `pause`, `resume`, `stop`, `skip UID` | a person's command |
//! | `take on UID` | a person answers for all that the step waits for |
//! | `restart` | the server was restarted |
//! | `+30` | seconds pass |

use super::*;

/// The transcript of a run of the plan of `shop`.
pub(super) fn transcript(cluster: &str, script: &str) -> String {
    let mut scenario = Scenario::of(cluster);
    let mut lines = Vec::new();
    if script.trim_start().starts_with("pause first") {
        scenario.steer(&command(RunCommand::Pause));
    }
    let mut known = scenario.run.event_log().len();
    for line in std::iter::once("").chain(script.lines().map(str::trim)) {
        if !line.is_empty() {
            lines.push(format!("> {line}"));
            line.split(" & ").for_each(|part| follow(&mut scenario, part, &mut lines));
        }
        let calls = scenario.reconcile();
        let log = scenario.run.event_log();
        lines.extend(log.iter().skip(known).filter_map(|entry| entry_of(&entry.event)));
        lines.extend(calls);
        known = log.len();
    }
    lines.join("\n")
}

fn follow(scenario: &mut Scenario, line: &str, lines: &mut Vec<String>) {
    let unanswered = || Outcome::Unanswered { message: "no answer".into(), after: None };
    let refused = || Outcome::Refused { code: 403, message: "no".into() };
    let read = |terminating| Outcome::Present { terminating, version: "1".into(), named: None };
    match line.rsplit_once(' ').unwrap_or((line, "")) {
        ("accepted", uid) => scenario.answer(uid, Outcome::Accepted),
        ("silent", uid) => scenario.answer(uid, unanswered()),
        ("refused", uid) => scenario.answer(uid, refused()),
        ("recalled", uid) => scenario.answer(uid, Outcome::Recalled),
        ("there", uid) => scenario.answer(uid, read(false)),
        ("going", uid) => scenario.answer(uid, read(true)),
        ("no pods", uid) => scenario.answer(uid, Outcome::Pods(vec![])),
        ("hidden", resource) => scenario.hidden(resource),
        ("visible", resource) => scenario.visible(resource),
        ("pause", "first") => {}
        ("pause", _) => scenario.steer(&command(RunCommand::Pause)),
        ("resume", _) => scenario.steer(&command(RunCommand::Resume)),
        ("stop", _) => scenario.steer(&command(RunCommand::Stop)),
        ("restart", _) => scenario.steer(&Input::Recover),
        ("take on", uid) => {
            let problem = scenario.progress(uid).hold.problem.as_ref();
            let pods = problem.map(StepProblem::unconfirmed).unwrap_or_default();
            let (step, by) = (scenario.id(uid), "Li".to_owned());
            scenario.steer(&Input::TakeOn { step, pods, by });
        }
        ("skip", uid) => {
            let skip = command(RunCommand::Skip(scenario.id(uid)));
            match scenario.run.decide(&skip, &scenario.index, scenario.now) {
                Ok(_) => scenario.steer(&skip),
                Err(error) => lines.push(format!("refused: {error}")),
            }
        }
        _ => match line.split_once(' ') {
            Some(("gone", object)) => scenario.gone(object),
            Some(("applied", object)) => scenario.applied(object),
            Some(("unfinalize", object)) => {
                let uid = fixture::object(object).uid;
                scenario.index.set_by_hand(std::iter::once(uid).collect());
            }
            _ => scenario.pass(line.trim_start_matches('+').parse().unwrap()),
        },
    }
}

/// A line of the event log, except those that a line of the script or a call says already.
fn entry_of(event: &FeedEvent) -> Option<String> {
    match event {
        FeedEvent::Started { .. }
        | FeedEvent::Recovered
        | FeedEvent::Paused { .. }
        | FeedEvent::Resumed { .. }
        | FeedEvent::Stopping { .. }
        | FeedEvent::Requested { .. }
        | FeedEvent::Suspended { .. } => None,
        FeedEvent::Terminating { object, .. } => Some(format!("{object} is terminating")),
        FeedEvent::Gone { object, unconfirmed: true, .. } => {
            Some(format!("{object} is gone from the API alone"))
        }
        FeedEvent::Gone { object, .. } => Some(format!("{object} is gone")),
        FeedEvent::TakenOn { object, .. } => Some(format!("{object} is taken on")),
        FeedEvent::Problem { object, problem, .. } => Some(format!("{object} {}", held(problem))),
        FeedEvent::ClaimUnread { object, .. } => Some(format!("{object} could not be read")),
        FeedEvent::Skipped { object, .. } => Some(format!("{object} is skipped")),
        FeedEvent::DataChecked { bound, .. } => Some(format!("{bound} claims are bound")),
        FeedEvent::Finished => Some("the run has finished".to_owned()),
        FeedEvent::Stopped { untouched, requested, already_terminating, effect_unknown, gone } => {
            Some(format!(
                "the run has stopped: {untouched} untouched, {requested} requested, \
                 {already_terminating} terminating before, {effect_unknown} unknown, {gone} gone"
            ))
        }
    }
}

fn held(problem: &StepProblem) -> String {
    match problem {
        StepProblem::Late { .. } => "is late".to_owned(),
        StepProblem::Refused { code, .. } => format!("was refused: {code}"),
        StepProblem::CameBack { uid, by } => match by {
            Some(Creator::Owner(owner)) => format!("came back as {uid}, made by {owner}"),
            Some(Creator::Manager(manager)) => format!("came back as {uid}, made by {manager}"),
            None => format!("came back as {uid}"),
        },
        StepProblem::Unknown { reason: UnknownReason::InUse { by } } => format!("is used by {by}"),
        StepProblem::Unknown { reason: UnknownReason::WouldCollect { it } } => {
            format!("would take {it} along")
        }
        StepProblem::Unknown { reason: UnknownReason::NamespaceNotEmpty { by } } => {
            format!("has {by} in it")
        }
        StepProblem::Unknown { reason: UnknownReason::PodsLeft { pod, of } } => {
            format!("waits for {pod} of {of}")
        }
        StepProblem::Unknown { reason: UnknownReason::WouldDestroyData { volume } } => {
            format!("would destroy {volume}")
        }
        StepProblem::Unknown { reason: UnknownReason::Hidden { resource, .. } } => {
            format!("cannot be told without {resource}")
        }
        StepProblem::Unknown { reason: UnknownReason::Unconfirmed { objects } } => {
            let names: Vec<String> = objects.iter().map(|it| it.object.to_string()).collect();
            format!("waits for a report of {}", names.join(", "))
        }
        StepProblem::Unknown { reason } => format!("cannot be told: {reason:?}"),
        StepProblem::InUse { pods } => format!("is used by {} Pods", pods.len()),
        StepProblem::Retrying { attempts, .. } => format!("is tried again after {attempts} tries"),
    }
}
