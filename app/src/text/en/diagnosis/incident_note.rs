//! The note for an incident's channel or ticket, as plain text and as Markdown. Only the server asks for it: see `teardown::advice`.

use teardown::{
    advice::{Standpoint, Way},
    message::DiagnosisCard,
    remedy::{Attempt, PutBack, Remedy},
};

use super::{
    EVIDENCE, WAYS_OUT, and_more, cause, confidence::confidence, fact, incident::first,
    objects_wait, waiting,
};
use crate::text::{
    absolute,
    en::remedy::{
        attempt::{attempt, put_back},
        way,
    },
};

/// The heading where a link to a card leads to another cause at the same root.
pub const CAUSE_HAS_CHANGED: &str = "The cause has changed since this link was made";
/// The heading where a link to a card leads nowhere any more.
pub const ROOT_IS_OVER: &str = "Nothing waits for this any more";
const DONE: &str = "Done so far";
const NOTHING_DONE: &str = "Nobody had Unwind do anything about it.";
const SWITCHED_OFF_NOW: &str = "Switched off, and to be put back";

/// The form of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteForm {
    /// Plain text, for a ticket or a terminal.
    Plain,
    /// Markdown, for a chat.
    Markdown,
}

/// The things that persons did about a diagnosis, and that they can do.
#[derive(Clone, Copy, Debug)]
pub struct Handling<'a> {
    /// The ways out.
    pub remedies: &'a [Remedy],
    /// The attempts at them, the latest first.
    pub attempts: &'a [Attempt],
    /// The things that are switched off in the cluster.
    pub switched_off: &'a [PutBack],
}

/// A note that is being written.
struct Note {
    form: NoteForm,
    text: String,
}

impl Note {
    fn line(&mut self, depth: usize, text: &str) {
        let text = match self.form {
            NoteForm::Plain => text.to_owned(),
            NoteForm::Markdown => plain(text),
        };
        self.text.push_str(&format!("{}- {text}\n", "  ".repeat(depth)));
    }

    fn list(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        self.line(0, &format!("{heading}:"));
        lines.into_iter().for_each(|line| self.line(1, &line));
    }
}

/// The note about a card: the cause, the lines that are needed first, the evidence, what waits, what was done, and what can be done.
pub fn incident_note(
    card: &DiagnosisCard,
    Handling { remedies, attempts, switched_off }: Handling<'_>,
    standpoint: &Standpoint,
    form: NoteForm,
) -> String {
    let DiagnosisCard { diagnosis, .. } = card;
    let title = cause(diagnosis);
    let text = match form {
        NoteForm::Plain => format!("{title}\n\n"),
        NoteForm::Markdown => format!("**{}**\n\n", plain(&title)),
    };
    let mut note = Note { form, text };
    note.line(0, &format!("Waits since: {}", absolute(diagnosis.since)));
    for one in first(card, standpoint) {
        note.line(0, &format!("{}: {}", one.name, one.text()));
    }
    note.line(0, &format!("{EVIDENCE}: {}", confidence(diagnosis)));
    diagnosis.evidence.iter().for_each(|it| note.line(1, &fact(it)));
    let unlisted = diagnosis.total.saturating_sub(diagnosis.waiting.len());
    let listed = diagnosis.waiting.iter().map(|held| waiting(diagnosis, held));
    let rest = (unlisted > 0).then(|| and_more(unlisted));
    note.list(&objects_wait(diagnosis.total), listed.chain(rest));
    if remedies.is_empty() && attempts.is_empty() && switched_off.is_empty() {
        return note.text;
    }
    match attempts {
        [] => note.line(0, &format!("{DONE}: {NOTHING_DONE}")),
        attempts => note.list(DONE, attempts.iter().map(attempt)),
    }
    if !remedies.is_empty() {
        let ways = remedies.iter().map(|remedy| way(remedy, &standpoint.cluster, None));
        note.list(WAYS_OUT, ways.map(|it| way_out(&it)));
    }
    if !switched_off.is_empty() {
        let off = switched_off.iter().map(put_back);
        note.list(SWITCHED_OFF_NOW, off.map(|Way { title, does, .. }| format!("{title}. {does}")));
    }
    note.text
}

fn way_out(Way { title, harms, does, withheld, .. }: &Way) -> String {
    let withheld = withheld.as_ref().map_or_else(String::new, |why| format!(" {why}"));
    format!("{title} ({harms}): {does}{withheld}")
}

/// A text in Markdown that means nothing but itself: the cluster’s words may hold marks of it.
fn plain(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]<>|~".contains(c) {
            written.push('\\');
        }
        written.push(c);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_cluster_are_no_markdown() {
        assert_eq!(plain("a_b *c* [x](y) <z>"), r"a\_b \*c\* \[x\](y) \<z\>");
        assert_eq!(plain("queue-operator was deleted"), "queue-operator was deleted");
    }
}
