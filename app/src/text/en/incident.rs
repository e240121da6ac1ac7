//! The lines that somebody needs first who was woken by a deletion that waits, and the note for an incident's channel or ticket. Only the
//! server asks for these: see `teardown::advice`.

use jiff::{SignedDuration, Timestamp};
use teardown::{
    advice::{Freshness, Line, Standpoint},
    diagnosis::{Diagnosis, Evidence, Waiting},
    message::DiagnosisCard,
};

use super::{
    super::{NAMED, absolute, isolated, named, some_of, visible, words},
    course::if_nobody_acts,
    diagnosis::{
        EVIDENCE, HARM, and_more, cause, confidence, do_not, fact, harm, objects_wait, waiting,
    },
    duration, many,
};

const IF_NOBODY_ACTS: &str = "If nobody acts";
const DO_NOT: &str = "Do not";
const WHOSE: &str = "Whose it is";
/// The time within which a deletion that joined the others says that it grows.
const LATELY: SignedDuration = SignedDuration::from_mins(10);

/// The lines that somebody needs first who was woken by it, in that order.
pub(super) fn first(card: &DiagnosisCard, standpoint: &Standpoint) -> Vec<Line> {
    let DiagnosisCard { diagnosis, contact, before, course, .. } = card;
    let cause = &diagnosis.cause;
    let mut lines = Vec::new();
    let mut line = |name: &str, said: Vec<String>, warns| {
        if !said.is_empty() {
            lines.push(Line { name: name.to_owned(), said, warns });
        }
    };
    if cause.explains_others() {
        let said = "It may explain other cards too. Solve it, then look at those again.".to_owned();
        line("First", vec![said], true);
    }
    let fresh = standpoint.freshness.as_ref();
    let is_old = fresh.is_some_and(|it| it.unreachable.is_some() || !it.unanswered.is_empty());
    let lag = fresh.and_then(|fresh| lag(fresh, standpoint));
    let cluster = std::iter::once(seen_by(standpoint)).chain(fresh.map(freshness)).chain(lag);
    line("Cluster", cluster.collect(), is_old);
    let harm = harm(&diagnosis.impact).into_iter().chain(growth(diagnosis, standpoint));
    line(HARM, harm.chain(data(diagnosis)).collect(), false);
    line(IF_NOBODY_ACTS, if_nobody_acts(cause, course), false);
    line(DO_NOT, do_not(cause).map(str::to_owned).into_iter().collect(), true);
    line("Just before", before.iter().map(|it| changed(it, diagnosis)).collect(), false);
    let whose =
        |(name, value): &(String, String)| format!("{}: {}", visible(name), isolated(value));
    line(WHOSE, contact.iter().map(whose).collect(), false);
    lines
}

fn seen_by(standpoint: &Standpoint) -> String {
    let cluster = visible(&standpoint.cluster);
    match &standpoint.identity {
        Some(identity) => format!("{cluster}, seen as {}.", isolated(identity)),
        None => format!("{cluster}."),
    }
}

fn freshness(freshness: &Freshness) -> String {
    let live = match freshness.unreachable {
        Some(since) => format!(
            "The API server does not answer since {}. This is the state of then.",
            absolute(since)
        ),
        None => "Live: the API server answered within the last half minute.".to_owned(),
    };
    if freshness.hidden.is_empty() {
        return live;
    }
    format!("{live} Not seen: {}.", words(&freshness.hidden))
}

/// The kinds of the card whose state is older than the rest, and by how much.
fn lag(freshness: &Freshness, standpoint: &Standpoint) -> Option<String> {
    let one = |(resource, since): &(String, Timestamp)| {
        let seconds = standpoint.now.duration_since(*since).as_secs().max(0);
        format!("{} for {} (since {})", isolated(resource), duration(seconds), absolute(*since))
    };
    let kinds: Vec<String> = freshness.unanswered.iter().map(one).collect();
    (!kinds.is_empty()).then(|| {
        format!(
            "No answer to the watch of {}: of these the card shows the state of then.",
            some_of(&kinds, NAMED)
        )
    })
}

/// Whether more deletions have joined the first ones lately.
fn growth(diagnosis: &Diagnosis, standpoint: &Standpoint) -> Option<String> {
    let from = standpoint.now - LATELY;
    let joined = diagnosis.waiting.iter().filter(|held| held.since > from).count();
    (diagnosis.since <= from && joined > 0).then(|| {
        format!("It grows: {} joined in the last 10 min.", many(joined, "deletion", "deletions"))
    })
}

/// The claims and volumes that wait.
fn data(diagnosis: &Diagnosis) -> Option<String> {
    let is_storage = |it: &&Waiting| {
        matches!(&*it.object.kind, "PersistentVolumeClaim" | "PersistentVolume")
            && it.object.group.is_empty()
    };
    let storage: Vec<String> =
        diagnosis.waiting.iter().filter(is_storage).map(|it| named(&it.object)).collect();
    (!storage.is_empty()).then(|| {
        format!(
            "Data: {} waits. With reclaim policy Delete its data goes with it.",
            some_of(&storage, NAMED)
        )
    })
}

/// A change, and its time against the first deletion that waits.
fn changed(change: &Evidence, diagnosis: &Diagnosis) -> String {
    let said = fact(change);
    let Some(at) = change.at else { return said };
    let seconds = at.duration_since(diagnosis.since).as_secs();
    let apart = match seconds {
        0 => "in the same second as".to_owned(),
        ..0 => format!("{} before", duration(seconds.saturating_abs())),
        _ => format!("{} after", duration(seconds)),
    };
    format!("{said} at {}, {apart} the first deletion that waits", absolute(at))
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

/// The card as Markdown, to be pasted into an incident’s channel or ticket.
pub(super) fn incident_note(card: &DiagnosisCard, standpoint: &Standpoint) -> String {
    let DiagnosisCard { diagnosis, .. } = card;
    let mut note = format!("**{}**\n\n", plain(&cause(diagnosis)));
    let mut line =
        |name: &str, text: &str| note.push_str(&format!("- {}: {}\n", plain(name), plain(text)));
    line("Waits since", &absolute(diagnosis.since));
    for one in first(card, standpoint) {
        line(&one.name, &one.said.join(" "));
    }
    line(EVIDENCE, &confidence(diagnosis));
    for one in &diagnosis.evidence {
        note.push_str(&format!("  - {}\n", plain(&fact(one))));
    }
    note.push_str(&format!("- {}:\n", objects_wait(diagnosis.total)));
    for held in &diagnosis.waiting {
        note.push_str(&format!("  - {}\n", plain(&waiting(diagnosis, held))));
    }
    if diagnosis.total > diagnosis.waiting.len() {
        note.push_str(&format!("  - {}\n", and_more(diagnosis.total - diagnosis.waiting.len())));
    }
    note
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
