//! The whole feed of a run. A page holds only the last lines.

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

/// The lines as codes and parameters, oldest first.
pub(super) async fn read(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<Json<Feed>, Failure> {
    let Path(run) = run?;
    Ok(Json(Feed { events: state.hub.feed(run).await?? }))
}

/// The lines as sentences, oldest first, to archive after an incident.
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

/// The longest line. Names of objects are much shorter.
const LINE_CHARS: usize = 2_000;

/// Replaces characters that move a terminal's cursor, break a line or change the direction of the text. Names of some
/// kinds of objects may hold them.
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
    fn name_with_control_characters_stays_on_one_line() {
        let object = ObjectRef {
            group: "example.com".into(),
            kind: "Widget".into(),
            namespace: Some("shop".into()),
            name: "one\n1970-01-01 00:00:00 UTC\u{1b}[2J\u{202e}\u{2028}".into(),
        };
        let event = FeedEvent::Gone { step: StepId(0), object, unconfirmed: false };
        let event = FeedEntry { number: 0, at: Timestamp::UNIX_EPOCH, event };
        insta::assert_snapshot!(line(&event, 0), @"1970-01-01 00:00:00 UTC Widget shop/one⟨U+000A⟩1970-01-01 00:00:00 UTC⟨U+001B⟩[2J⟨U+202E⟩⟨U+2028⟩ is gone");
    }
}
