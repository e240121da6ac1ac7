//! I3: the journal says of no DELETE that it was refused if it had its effect, and of no Pod that it takes long while its grace
//! period lasts.

use serde_json::Value;

use super::{Evidence, USER, Violation, commands};
use crate::{
    disk::event_name,
    state::{kind, list, text, title, uid},
};

/// The events of a run that say something false.
pub(super) fn violations(evidence: &Evidence, violations: &mut Vec<Violation>) {
    refused_with_effect(evidence, violations);
    if !evidence.is_clock_set {
        overdue_in_grace(evidence, violations);
    }
}

fn refused_with_effect(evidence: &Evidence, violations: &mut Vec<Violation>) {
    let deletes = evidence.entries.iter().filter(|it| it.actor == USER && it.verb == "delete");
    for entry in deletes.filter(|it| it.effect) {
        let Some(arrival) = evidence.arrival(entry) else { continue };
        let asked = entry.uid.as_deref().unwrap_or_default();
        let Some((run, step)) = commands::run_and_step_of(evidence, asked, arrival) else {
            continue;
        };
        let of_step = |event: &Value| event["event"]["step"] == *step;
        let after = evidence.journal.events_of(run).filter(|(event, _)| of_step(event));
        let answer = after
            .skip_while(|(_, commit)| commit.before < arrival.durable)
            .find(|(event, _)| is_answer(event));
        if answer.is_some_and(|(event, _)| is_refusal(event)) {
            let path = &arrival.path;
            let text = format!("run {run}: DELETE {path} had its effect, and counts as refused");
            violations.push(Violation { revision: entry.revision, ..Violation::new("I3", text) });
        }
    }
}

/// Whether an event is what a call of a step led to, or the next call.
fn is_answer(event: &Value) -> bool {
    const ANSWERS: [&str; 8] = [
        "accepted",
        "postponed",
        "refusedAgain",
        "noEffect",
        "recalled",
        "gone",
        "cameBack",
        "callStarted",
    ];
    ANSWERS.contains(&event_name(event))
}

fn is_refusal(event: &Value) -> bool {
    let is_refused = !event["event"]["problem"]["refused"].is_null();
    event_name(event) == "refusedAgain" || event_name(event) == "postponed" && is_refused
}

/// A Pod may use its whole grace period, counted from the moment at which its deletion began.
fn overdue_in_grace(evidence: &Evidence, violations: &mut Vec<Violation>) {
    for (run, plan) in &evidence.journal.runs {
        let Some(plan) = evidence.journal.plans.get(plan) else { continue };
        let events: Vec<_> = evidence.journal.events_of(run).collect();
        for (number, (event, commit)) in events.iter().enumerate() {
            if event_name(event) != "overdue" {
                continue;
            }
            let id = &event["event"]["step"];
            let is_terminating =
                |it: &Value| event_name(it) == "terminating" && it["event"]["step"] == *id;
            let Some(step) = list(plan, "/steps").iter().find(|step| step["id"] == *id) else {
                continue;
            };
            if !events[..number].iter().any(|(it, _)| is_terminating(it)) {
                continue;
            }
            let going = evidence.events.iter().find(|it| {
                kind(&it.object) == "Pod"
                    && uid(&it.object) == text(step, "/uid")
                    && !it.object["metadata"]["deletionTimestamp"].is_null()
            });
            let Some(going) = going else { continue };
            let grace = going.object["metadata"]["deletionGracePeriodSeconds"].as_u64();
            let since = evidence.revision_times.of(going.revision);
            let waited = commit.at.saturating_sub(since);
            if waited < grace.unwrap_or_default() * 1_000 + MARGIN {
                let pod = title(&going.object);
                let text =
                    format!("run {run}: {pod} counts as late {waited} ms after its deletion");
                violations.push(Violation::new("I3", text));
            }
        }
    }
}

/// The time beyond its grace period that every Pod gets, in milliseconds: its volumes are unmounted in it. Where the Pods of a cluster
/// end sooner it is half of the usual 15 s, counted from the whole second in which the deletion began.
const MARGIN: u64 = 5_000;
