//! I8: operator commands hold. No DELETE leaves between a pause and its resume, after a stop, or for a skipped step.

use serde_json::Value;

use super::{Evidence, Violation};
use crate::{
    disk::{Commit, event_name},
    state::{list, text},
    transport::Arrival,
};

/// The server's limit of concurrent calls. Calls that had left the queue at the command may still arrive in that
/// moment, queued calls may not.
pub(super) const MAX_CONCURRENT_CALLS: usize = 64;

/// The DELETEs that left against a command.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    if !evidence.journal.has_any(&["paused", "stopping", "skipped"]) {
        return;
    }
    let mut late = 0;
    let mut last = None;
    for arrival in &evidence.arrivals {
        let asked = text(&arrival.body, "/preconditions/uid");
        let Some((run, step)) = run_and_step_of(evidence, asked, arrival) else { continue };
        let state = CommandState::before(evidence, run, step, arrival);
        let mut report = |how: String| {
            let text = format!("DELETE {} left {how}", arrival.path);
            violations.push(Violation::new("I8", text));
        };
        if state.is_skipped {
            report("for a skipped step".to_owned());
        }
        let Some((command, commit)) = state.held else { continue };
        if arrival.instance != commit.instance || arrival.at != commit.at {
            let after = arrival.at.saturating_sub(commit.at);
            report(format!("{after} ms after the run was {command}"));
            continue;
        }
        late = if last == Some(commit) { late + 1 } else { 1 };
        last = Some(commit);
        if late > MAX_CONCURRENT_CALLS {
            report(format!("when the run was {command}, behind {MAX_CONCURRENT_CALLS} others"));
        }
    }
}

/// The run and the step of a DELETE: the last run that had announced a DELETE of this UID by then.
pub(super) fn run_and_step_of<'a>(
    evidence: &'a Evidence,
    uid: &str,
    arrival: &Arrival,
) -> Option<(&'a str, &'a Value)> {
    evidence.journal.runs.iter().rev().find_map(|(run, plan)| {
        let mut steps = list(evidence.journal.plans.get(plan)?, "/steps").iter();
        let step = &steps.find(|step| text(step, "/uid") == uid)?["id"];
        let is_it = |event: &Value| {
            event_name(event) == "callStarted"
                && text(event, "/event/call") == "delete"
                && event["event"]["step"] == *step
        };
        let mut announced = evidence
            .journal
            .events_of(run)
            .take_while(|(_, commit)| commit.before < arrival.durable);
        announced.any(|(event, _)| is_it(event)).then_some((run.as_str(), step))
    })
}

/// The commands that apply at a moment.
#[derive(Default)]
struct CommandState {
    /// The pause or stop that holds DELETEs back, and its commit.
    held: Option<(&'static str, Commit)>,
    is_skipped: bool,
}

impl CommandState {
    /// The commands that were durable when this DELETE arrived.
    fn before(evidence: &Evidence, run: &str, step: &Value, arrival: &Arrival) -> Self {
        let mut state = Self::default();
        let events = evidence
            .journal
            .events_of(run)
            .take_while(|(_, commit)| commit.before < arrival.durable);
        for (event, commit) in events {
            match event_name(event) {
                "paused" => state.held = state.held.or(Some(("paused", *commit))),
                "stopping" => state.held = state.held.or(Some(("stopped", *commit))),
                "resumed" => state.held = None,
                "skipped" => state.is_skipped |= event["event"]["step"] == *step,
                _ => {}
            }
        }
        state
    }
}
