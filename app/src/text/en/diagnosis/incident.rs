//! The lines that somebody needs first who was woken by a deletion that waits. Only the server asks for these: see `teardown::advice`.

use jiff::Timestamp;
use teardown::{
    advice::{Fact, Freshness, Line, Standpoint},
    diagnosis::{Diagnosis, Evidence},
    incident::Incident,
    message::DiagnosisCard,
};

use super::{
    HARM,
    course::if_nobody_acts,
    data::data,
    fact,
    harm::{do_not, harm},
};
use crate::text::{NAMED, absolute, duration, isolated, many, some_of, visible, words};

pub const IF_NOBODY_ACTS: &str = "If nobody acts";
/// The course of a node that may be silent.
const IF_SILENT: &str = "If the node is silent, its condition Ready becomes Unknown within a minute, and this card says so. If it lives, its kubelet goes on by itself.";
const DO_NOT: &str = "Do not";
const WHOSE: &str = "Whose it is";
const DATA: &str = "Data";

/// The lines that somebody needs first who was woken by it, in that order.
pub(super) fn first(card: &DiagnosisCard, standpoint: &Standpoint) -> Vec<Line> {
    let DiagnosisCard { diagnosis, incident, .. } = card;
    let Incident { contact, before, course, data: at_risk, joined } = &**incident;
    let mut lines = Vec::new();
    let mut line = |name: &str, said: Vec<Fact>, warns| {
        if !said.is_empty() {
            lines.push(Line { name: name.to_owned(), said, warns });
        }
    };
    let undated = |said: Vec<String>| said.into_iter().map(Fact::from).collect();
    if diagnosis.explains_others() {
        let said = "It may explain other cards too. Solve it, then look at those again.".to_owned();
        line("First", vec![said.into()], true);
    }
    let fresh = standpoint.freshness.as_ref();
    let is_old = fresh.is_some_and(|it| it.unreachable.is_some() || !it.unanswered.is_empty());
    let lag = fresh.and_then(|fresh| lag(fresh, standpoint));
    let cluster = std::iter::once(seen_by(standpoint)).chain(fresh.map(freshness)).chain(lag);
    line("Cluster", undated(cluster.collect()), is_old);
    let harm = harm(diagnosis).into_iter().chain(growth(*joined));
    line(HARM, undated(harm.collect()), false);
    let (said, is_threatened) = data(at_risk);
    line(DATA, undated(said), is_threatened);
    let course = if diagnosis.may_be_silent() {
        undated(vec![IF_SILENT.to_owned()])
    } else {
        if_nobody_acts(diagnosis, course)
    };
    line(IF_NOBODY_ACTS, course, false);
    line(DO_NOT, do_not(diagnosis).map(|it| it.to_owned().into()).into_iter().collect(), true);
    let is_later = |it: &&Evidence| it.at.is_some_and(|at| diagnosis.waited_at(at));
    let (later, earlier): (Vec<_>, Vec<_>) = before.iter().partition(is_later);
    let changes = |of: Vec<&Evidence>| of.into_iter().map(|it| changed(it, diagnosis)).collect();
    line("Just before", undated(changes(earlier)), false);
    line("Since then", undated(changes(later)), false);
    let whose =
        |(name, value): &(String, String)| format!("{}: {}", visible(name), isolated(value));
    line(WHOSE, undated(contact.iter().map(whose).collect()), false);
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
            "The API server has not answered since {}. This is the state at that time.",
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
            "No answer to the watch of {}: the card shows these as they were then.",
            some_of(&kinds, NAMED)
        )
    })
}

/// Whether more deletions have joined the first ones lately.
fn growth(joined: usize) -> Option<String> {
    (joined > 0).then(|| {
        format!("It grows: {} joined in the last 10 min.", many(joined, "deletion", "deletions"))
    })
}

/// A change, and its time against the first deletion that waits.
fn changed(change: &Evidence, diagnosis: &Diagnosis) -> String {
    let said = fact(change);
    let Some(at) = change.at else { return said };
    // The message of a condition is often a sentence of its own.
    let said = said.trim_end_matches('.');
    let seconds = at.duration_since(diagnosis.since).as_secs();
    let apart = match seconds {
        0 => "in the same second as".to_owned(),
        ..0 => format!("{} before", duration(seconds.saturating_abs())),
        _ => format!("{} after", duration(seconds)),
    };
    format!("{said} at {}, {apart} the first deletion that waits", absolute(at))
}
