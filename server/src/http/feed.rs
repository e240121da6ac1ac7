//! All that a run's feed tells: a page holds the end of it alone.

use app::text;
use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use serde::Serialize;
use teardown::{
    message::FeedEntry,
    run::{FeedEvent, RunId},
};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::{AppState, Failure};

#[derive(Serialize)]
pub(super) struct Feed {
    events: Vec<FeedEntry>,
}

/// Its lines as codes and parameters, oldest first.
pub(super) async fn read(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<Json<Feed>, Failure> {
    let Path(run) = run?;
    Ok(Json(Feed { events: state.hub.feed(run).await?? }))
}

/// Its lines as sentences, oldest first: to be kept with the papers of an incident.
pub(super) async fn written(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<String, Failure> {
    let Path(run) = run?;
    let events = state.hub.feed(run).await??;
    let skipped = |event: &&FeedEntry| matches!(event.event, FeedEvent::Skipped { .. });
    let skipped = events.iter().filter(skipped).count();
    Ok(events.iter().map(|event| line(event, skipped)).collect())
}

fn line(event: &FeedEntry, skipped: usize) -> String {
    let sentence = text::event(&event.event, skipped);
    format!("{} {}\n", text::absolute(event.at), in_one_line(&sentence))
}

/// The longest line; a name of an object is much shorter.
const LINE_CHARS: usize = 2_000;

/// Names of some objects may hold any character, also one that moves a terminal's cursor, breaks a line or turns the
/// direction of the text after it. Such characters are replaced.
fn in_one_line(text: &str) -> String {
    let readable = |char: char| match char.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => '\u{fffd}',
        _ => char,
    };
    let mut line: String = text.chars().take(LINE_CHARS).map(readable).collect();
    if text.chars().nth(LINE_CHARS).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use teardown::{object::ObjectRef, plan::StepId};

    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_an_object_is_called() {
        let object = ObjectRef {
            group: "example.com".into(),
            kind: "Widget".into(),
            namespace: Some("shop".into()),
            name: "one\n1970-01-01 00:00:00 UTC\u{1b}[2J\u{202e}\u{2028}".into(),
        };
        let event = FeedEvent::Gone { step: StepId(0), object };
        let event = FeedEntry { number: 0, at: Timestamp::UNIX_EPOCH, event };
        insta::assert_snapshot!(line(&event, 0), @"1970-01-01 00:00:00 UTC Widget shop/one⟨U+000A⟩1970-01-01 00:00:00 UTC⟨U+001B⟩[2J is gone");
    }
}
