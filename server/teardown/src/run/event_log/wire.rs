//! An entry's event as it travels: its name, and beside it the parameters that this event has. One struct, because the code that
//! reads an enum whose variants have fields would cost the page four kilobytes.

use serde::{Deserialize, Serialize};

use super::{FeedEvent, StepProblem};
use crate::{object::ObjectRef, plan::StepId};

/// The name of an event and its parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FlatEvent {
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<StepProblem>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unconfirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<ObjectRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    untouched: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    already_terminating: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect_unknown: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<usize>,
}

impl FlatEvent {
    fn named(code: &str) -> Self {
        Self { code: code.to_owned(), ..Self::default() }
    }

    fn by(code: &str, by: String) -> Self {
        Self { by: Some(by), ..Self::named(code) }
    }

    fn of(code: &str, step: StepId, object: ObjectRef) -> Self {
        Self { step: Some(step), object: Some(object), ..Self::named(code) }
    }
}

impl From<FeedEvent> for FlatEvent {
    fn from(event: FeedEvent) -> Self {
        match event {
            FeedEvent::Started { by } => Self::by("started", by),
            FeedEvent::Recovered => Self::named("recovered"),
            FeedEvent::Paused { by, changed } => Self { object: changed, ..Self::by("paused", by) },
            FeedEvent::Resumed { by } => Self::by("resumed", by),
            FeedEvent::Stopping { by } => Self::by("stopping", by),
            FeedEvent::Suspended { step, object } => Self::of("suspended", step, object),
            FeedEvent::Requested { step, object } => Self::of("requested", step, object),
            FeedEvent::Terminating { step, object } => Self::of("terminating", step, object),
            FeedEvent::Gone { step, object, unconfirmed } => {
                Self { unconfirmed, ..Self::of("gone", step, object) }
            }
            FeedEvent::TakenOn { step, object, by } => {
                Self { by: Some(by), ..Self::of("takenOn", step, object) }
            }
            FeedEvent::Problem { step, object, problem } => {
                Self { problem: Some(problem), ..Self::of("problem", step, object) }
            }
            FeedEvent::Skipped { step, object, by } => {
                Self { by: Some(by), ..Self::of("skipped", step, object) }
            }
            FeedEvent::ClaimUnread { object, problem } => {
                Self { object: Some(object), problem: Some(problem), ..Self::named("claimUnread") }
            }
            FeedEvent::DataChecked { bound, lost, unknown } => {
                Self { bound: Some(bound), lost, unknown, ..Self::named("dataChecked") }
            }
            FeedEvent::Finished => Self::named("finished"),
            FeedEvent::Stopped {
                untouched,
                requested,
                already_terminating,
                effect_unknown,
                gone,
            } => Self {
                untouched: Some(untouched),
                requested: Some(requested),
                already_terminating: Some(already_terminating),
                effect_unknown: Some(effect_unknown),
                gone: Some(gone),
                ..Self::named("stopped")
            },
        }
    }
}

/// An event log has an event that is not known, or that lacks a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no event of an event log has this name with these parameters")]
pub(super) struct UnknownEvent;

impl TryFrom<FlatEvent> for FeedEvent {
    type Error = UnknownEvent;

    fn try_from(flat: FlatEvent) -> Result<Self, UnknownEvent> {
        read(flat).ok_or(UnknownEvent)
    }
}

fn read(flat: FlatEvent) -> Option<FeedEvent> {
    let FlatEvent { by, step, object, .. } = flat;
    Some(match flat.code.as_str() {
        "started" => FeedEvent::Started { by: by? },
        "recovered" => FeedEvent::Recovered,
        "paused" => FeedEvent::Paused { by: by?, changed: object },
        "resumed" => FeedEvent::Resumed { by: by? },
        "stopping" => FeedEvent::Stopping { by: by? },
        "suspended" => FeedEvent::Suspended { step: step?, object: object? },
        "requested" => FeedEvent::Requested { step: step?, object: object? },
        "terminating" => FeedEvent::Terminating { step: step?, object: object? },
        "gone" => FeedEvent::Gone { step: step?, object: object?, unconfirmed: flat.unconfirmed },
        "takenOn" => FeedEvent::TakenOn { step: step?, object: object?, by: by? },
        "problem" => FeedEvent::Problem { step: step?, object: object?, problem: flat.problem? },
        "skipped" => FeedEvent::Skipped { step: step?, object: object?, by: by? },
        "claimUnread" => FeedEvent::ClaimUnread { object: object?, problem: flat.problem? },
        "dataChecked" => {
            FeedEvent::DataChecked { bound: flat.bound?, lost: flat.lost, unknown: flat.unknown }
        }
        "finished" => FeedEvent::Finished,
        "stopped" => FeedEvent::Stopped {
            untouched: flat.untouched?,
            requested: flat.requested?,
            already_terminating: flat.already_terminating?,
            effect_unknown: flat.effect_unknown?,
            gone: flat.gone?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_read_as_it_was_written() {
        let by = || "Li".to_owned();
        let step = StepId(7);
        let object = || ObjectRef {
            group: "".into(),
            kind: "Pod".into(),
            namespace: Some("shop".into()),
            name: "web".into(),
        };
        let (objects, none) = (vec![object()], vec![]);
        let problem = StepProblem::InUse { pods: objects.clone() };
        let events = [
            FeedEvent::Started { by: by() },
            FeedEvent::Recovered,
            FeedEvent::Paused { by: by(), changed: None },
            FeedEvent::Paused { by: by(), changed: Some(object()) },
            FeedEvent::Resumed { by: by() },
            FeedEvent::Stopping { by: by() },
            FeedEvent::Suspended { step, object: object() },
            FeedEvent::Requested { step, object: object() },
            FeedEvent::Terminating { step, object: object() },
            FeedEvent::Gone { step, object: object(), unconfirmed: true },
            FeedEvent::TakenOn { step, object: object(), by: by() },
            FeedEvent::Problem { step, object: object(), problem: problem.clone() },
            FeedEvent::ClaimUnread { object: object(), problem },
            FeedEvent::Skipped { step, object: object(), by: by() },
            FeedEvent::DataChecked { bound: 2, lost: objects, unknown: none },
            FeedEvent::Finished,
            FeedEvent::Stopped {
                untouched: 1,
                requested: 2,
                already_terminating: 3,
                effect_unknown: 4,
                gone: 5,
            },
        ];
        for event in events {
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<FeedEvent>(&json).unwrap(), event, "{json}");
        }
        for text in [r#"{"code":"new"}"#, r#"{"code":"gone"}"#, "{}"] {
            assert!(serde_json::from_str::<FeedEvent>(text).is_err(), "{text}");
        }
    }
}
