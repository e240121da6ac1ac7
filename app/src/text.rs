//! Every sentence that Unwind says to a person. [`en`] is the catalogue; a second language is another file with the same names.
//! This file holds the texts that are the same in all languages: numbers, durations, and timestamps as the API server writes them.
//!
//! # Decisions
//! - A time that stands alone is a `<time>`, which the browser writes in the reader's zone (`view::moment`). A time inside a
//!   sentence stays in UTC, with its date: sentences are copied into incident notes and compared with the logs of the cluster,
//!   and the server makes some of them, which does not know the reader's zone.
//! - The texts that only the server sends stand here too: its pages about the journal and the notifications, the title of one, the line of an
//!   attempt. One catalogue is one place to translate and to search. These texts also share their words with the page's: an
//!   attempt and a notification are part of an advice, and objects, times and problems read the same everywhere.
//! - They cost the page nothing: the linker leaves out of the module what only the server calls. (The module of the page holds
//!   no byte of `journal_failing`, `stuck_in`, `attempt` or `switched_off_advice`; the `JOURNAL_NOTICE` that it shows is there.)

pub mod en;

pub use en::*;
use jiff::{Timestamp, tz::TimeZone};
use teardown::object::ObjectRef;

/// `2026-11-21 12:03:41 UTC`.
pub fn absolute(at: Timestamp) -> String {
    let at = TimeZone::UTC.to_datetime(at);
    format!("{} {:.0} UTC", at.date(), at.time())
}

/// `shop/web-1`, or `web-1` where there is no namespace.
pub fn path(object: &ObjectRef) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}

/// `Pod shop/web-1`, fit to stand in a sentence.
pub fn named(object: &ObjectRef) -> String {
    format!("{} {}", object.kind, isolated(&path(object)))
}

/// The longest name that is shown whole; what points at it shows the rest.
pub const LONGEST: usize = 120;

/// A name fit to stand in a sentence: of a bounded length, with nothing in it that is invisible or moves what is around
/// it. A name that is written from right to left is isolated, so that its neighbours keep their places.
pub fn isolated(name: &str) -> String {
    let shown = shortened(&visible(name), LONGEST);
    if shown.chars().any(is_right_to_left) { format!("\u{2068}{shown}\u{2069}") } else { shown }
}

/// The text with every character that cannot be seen, or that turns the direction of writing, as its number: `⟨U+202E⟩`.
pub fn visible(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_hidden(character) {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Controls, separators of lines, marks of direction, tags, and characters of no width.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Hebrew, Arabic and their neighbours, with their forms for display.
fn is_right_to_left(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
    )
}

/// How many of many objects a sentence names.
pub(crate) const NAMED: usize = 3;

/// The first few of many names: `a, b and 12 more`.
pub fn some_of(names: &[String], most: usize) -> String {
    let shown = names.get(..most.min(names.len())).unwrap_or_default().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        rest => format!("{shown} {}", more(rest)),
    }
}

/// The first few of many objects.
pub(crate) fn names(objects: &[ObjectRef]) -> String {
    some_of(&objects.iter().map(named).collect::<Vec<_>>(), NAMED)
}

/// The first few of many words that the cluster wrote.
pub(crate) fn words(words: &[impl AsRef<str>]) -> String {
    some_of(&words.iter().map(|it| isolated(it.as_ref())).collect::<Vec<_>>(), NAMED)
}

/// The text, shortened in its middle where it is longer than `most` characters: names differ at both ends.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most || most < 5 {
        return text.to_owned();
    }
    let tail = (most - 1) / 2;
    let head = most - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// A kind as a card has room for it; the long ones as kubectl shortens them.
pub fn kind_short(kind: &str) -> &str {
    match kind {
        "PersistentVolumeClaim" => "PVC",
        "PersistentVolume" => "PV",
        "HorizontalPodAutoscaler" => "HPA",
        "PodDisruptionBudget" => "PDB",
        "CustomResourceDefinition" => "CRD",
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => "Webhook",
        "ClusterRoleBinding" => "ClusterBinding",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_name_keeps_both_ends() {
        assert_eq!(shortened("web", 10), "web");
        assert_eq!(shortened("payments-worker-7d9f", 11), "payme…-7d9f");
        assert_eq!(shortened("größe-größe-größe", 9).chars().count(), 9);
    }

    #[test]
    fn name_with_a_direction_mark_is_shown_with_the_mark_visible() {
        assert_eq!(isolated("web-1"), "web-1");
        assert_eq!(isolated("a\u{202e}b\u{2028}c\n"), "a⟨U+202E⟩b⟨U+2028⟩c⟨U+000A⟩");
        assert_eq!(isolated("a\u{fff9}b\u{e0041}"), "a⟨U+FFF9⟩b⟨U+E0041⟩");
        assert_eq!(isolated("\u{5d0}\u{5d1}"), "\u{2068}\u{5d0}\u{5d1}\u{2069}");
        assert_eq!(isolated(&"x".repeat(300)).chars().count(), LONGEST);
    }

    #[test]
    fn many_names_become_the_first_few_and_a_number() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(some_of(&names, 3), "a, b, c");
        assert_eq!(some_of(&names, 1), "a and 2 more");
        assert_eq!(some_of(&[], 1), "");
    }

    #[test]
    fn times_are_in_the_units_that_matter() {
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(252), "4 min 12 s");
        assert_eq!(duration(3_725), "1 h 2 min");
        assert_eq!(deleting_for(41, Some(30)), "Deleting for 41 s; expected under 30 s");
        assert_eq!(deleting_for(75, None), "Deleting for 1 min 15 s");
        assert_eq!(ago(3), "just now");
        assert_eq!(ago(-9), "just now", "two clocks may differ");
        assert_eq!(countdown(-252), "in 4 min 12 s");
        assert_eq!(countdown(-1), "in 1 s");
        assert_eq!(countdown(0), "just now");
        assert_eq!(countdown(60), "1 min ago");
        assert_eq!(ago(86_400 * 11 + 5), "11 d ago");
        let at = "2026-11-21T12:03:41.123Z".parse().unwrap();
        assert_eq!(absolute(at), "2026-11-21 12:03:41 UTC");
    }
}
