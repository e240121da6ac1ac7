//! The whole event log of a run. A page holds only the last lines.

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
pub(super) struct EventLog {
    events: Vec<FeedEntry>,
}

/// The lines as codes and parameters, oldest first.
pub(super) async fn read(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<Json<EventLog>, Failure> {
    let Path(run) = run?;
    Ok(Json(EventLog { events: state.hub.event_log(run).await?? }))
}

/// The lines as sentences, oldest first, to archive after an incident.
pub(super) async fn written(
    State(state): State<AppState>,
    run: Result<Path<RunId>, PathRejection>,
) -> Result<String, Failure> {
    let Path(run) = run?;
    let events = state.hub.event_log(run).await??;
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
/// kinds of objects may hold them. The isolates that [`text::isolated`] puts around a name stay: it has taken those out that
/// were in the name.
fn in_one_line(text: &str) -> String {
    let readable = |char: char| match char.general_category() {
        _ if matches!(char, '\u{2068}' | '\u{2069}') => char,
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

    /// The line of an object that is gone.
    fn gone(name: &str) -> String {
        let object = ObjectRef {
            group: "example.com".into(),
            kind: "Widget".into(),
            namespace: Some("shop".into()),
            name: name.into(),
        };
        let event = FeedEvent::Gone { step: StepId(0), object, unconfirmed: false };
        line(&FeedEntry { number: 0, at: Timestamp::UNIX_EPOCH, event }, 0)
    }

    #[test]
    fn name_with_control_characters_stays_on_one_line() {
        let name = "one\n1970-01-01 00:00:00 UTC\u{1b}[2J\u{202e}\u{2028}";
        insta::assert_snapshot!(gone(name), @"1970-01-01 00:00:00 UTC Widget shop/one⟨U+000A⟩1970-01-01 00:00:00 UTC⟨U+001B⟩[2J⟨U+202E⟩⟨U+2028⟩ is gone");
    }

    #[test]
    fn name_from_right_to_left_is_isolated_and_cannot_end_its_isolate() {
        assert!(gone("\u{5d0}").ends_with(" Widget \u{2068}shop/\u{5d0}\u{2069} is gone\n"));
        let line = gone("\u{5d0}\u{2069}\u{202e}1");
        assert!(line.contains("\u{2068}shop/\u{5d0}⟨U+2069⟩⟨U+202E⟩1\u{2069} is gone"), "{line}");
    }
}
