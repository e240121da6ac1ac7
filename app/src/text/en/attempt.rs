//! The remedies that persons had Unwind do, each in one line. Only the server asks for it: see `teardown::advice`.

use teardown::remedy::{Attempt, AttemptOutcome};

use super::{
    super::{absolute, isolated, named, visible},
    api_problem::api_problem,
    remedy::remedy_title,
};

/// An attempt with its outcome.
pub fn attempt(attempt: &Attempt) -> String {
    let title = remedy_title(&attempt.act, Some(&attempt.request.object));
    let title = match attempt.undoes {
        Some(_) => format!("Taken back: {title}"),
        None => title,
    };
    let said = match attempt.statement.as_str() {
        "" => String::new(),
        statement => format!(" “{}”", isolated(statement)),
    };
    let (at, by) = (absolute(attempt.asked), isolated(&attempt.by));
    format!("{at}, {by}: {title}. {}{said}", outcome(&attempt.outcome))
}

fn outcome(outcome: &AttemptOutcome) -> String {
    match outcome {
        AttemptOutcome::Sending => "It is on its way.".to_owned(),
        AttemptOutcome::Changed { object } => {
            format!("Not sent: {} has changed since you looked.", named(object))
        }
        AttemptOutcome::NotSent { message } => {
            format!("Not sent: {}", visible(&api_problem(message)))
        }
        AttemptOutcome::Refused { message } => {
            format!("The API server refused: {}", visible(&api_problem(message)))
        }
        AttemptOutcome::Accepted { meanwhile: None } => {
            "The API server accepted it. This card goes when nothing waits any more.".to_owned()
        }
        AttemptOutcome::Accepted { meanwhile: Some(object) } => {
            format!(
                "The API server accepted it, and {} changed at the same time. Look before you do more.",
                named(object)
            )
        }
        AttemptOutcome::Unknown { message: Some(message) } => {
            format!(
                "Its effect is unknown: {}. Look at the object before you try again.",
                visible(&api_problem(message))
            )
        }
        AttemptOutcome::Unknown { message: None } => {
            "Its effect is unknown: the server ended before the answer. Look at the object before you try again."
                .to_owned()
        }
    }
}
