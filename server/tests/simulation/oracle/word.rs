//! I8: what a person said counts. Nothing leaves after a pause, until it is over, nor after a stop; and nothing for a step
//! that was left out.

use serde_json::Value;

use super::{Evidence, Offence};
use crate::{
    ledger::{Mark, event_name},
    state::{list, text},
    wire::Arrival,
};

/// As many calls as the server has on the wire at most. What had been handed out when a person spoke may still arrive in
/// that moment; what waited may not.
pub(super) const WINDOW: usize = 64;

/// DELETEs that left against a person's word.
pub(super) fn offences(evidence: &Evidence, offences: &mut Vec<Offence>) {
    if !evidence.known.has_any(&["paused", "stopping", "skipped"]) {
        return;
    }
    let mut late = 0;
    let mut last = None;
    for arrival in &evidence.arrivals {
        let asked = text(&arrival.body, "/preconditions/uid");
        let Some((run, step)) = asker(evidence, asked, arrival) else { continue };
        let word = Word::before(evidence, run, step, arrival);
        let mut offend = |how: String| {
            let text = format!("DELETE {} left {how}", arrival.path);
            offences.push(Offence::new("I8", text));
        };
        if word.is_skipped {
            offend("for a step that was left out".to_owned());
        }
        let Some((said, mark)) = word.held else { continue };
        if arrival.life != mark.life || arrival.at != mark.at {
            let after = arrival.at.saturating_sub(mark.at);
            offend(format!("{after} ms after the run was {said}"));
            continue;
        }
        late = if last == Some(mark) { late + 1 } else { 1 };
        last = Some(mark);
        if late > WINDOW {
            offend(format!("when the run was {said}, behind {WINDOW} others"));
        }
    }
}

/// The run that a DELETE of this UID is of, and the step: the last one that had announced one by then.
pub(super) fn asker<'a>(
    evidence: &'a Evidence,
    uid: &str,
    arrival: &Arrival,
) -> Option<(&'a str, &'a Value)> {
    evidence.known.runs.iter().rev().find_map(|(run, plan)| {
        let mut steps = list(evidence.known.plans.get(plan)?, "/steps").iter();
        let step = &steps.find(|step| text(step, "/uid") == uid)?["id"];
        let is_it = |event: &Value| {
            event_name(event) == "callStarted"
                && text(event, "/event/call") == "delete"
                && event["event"]["step"] == *step
        };
        let mut announced =
            evidence.known.told(run).take_while(|(_, mark)| mark.before < arrival.durable);
        announced.any(|(event, _)| is_it(event)).then_some((run.as_str(), step))
    })
}

/// What a person had said by a moment.
#[derive(Default)]
struct Word {
    /// That nothing is to leave: how, and since when.
    held: Option<(&'static str, Mark)>,
    is_skipped: bool,
}

impl Word {
    /// What was durable when this DELETE arrived.
    fn before(evidence: &Evidence, run: &str, step: &Value, arrival: &Arrival) -> Self {
        let mut word = Self::default();
        let heard = evidence.known.told(run).take_while(|(_, mark)| mark.before < arrival.durable);
        for (event, mark) in heard {
            match event_name(event) {
                "paused" => word.held = word.held.or(Some(("paused", *mark))),
                "stopping" => word.held = word.held.or(Some(("stopped", *mark))),
                "resumed" => word.held = None,
                "skipped" => word.is_skipped |= event["event"]["step"] == *step,
                _ => {}
            }
        }
        word
    }
}
