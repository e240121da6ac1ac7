//! Advice about a deletion that waits, and notifications. Only the server asks for these: see `teardown::advice`.

use teardown::{
    advice::{Advice, Fact, LogBox, Standpoint, WayOffer},
    diagnosis::{Diagnosis, Evidence},
    message::DiagnosisCard,
    remedy::{Remedy, kubelet_commands},
};

use super::{
    confidence, fact as said,
    incident::first,
    incident_note::{Handling, NoteForm, incident_note},
    kubelet::{LOG_LABEL, PASTE_LOG},
    waits_on,
};
use crate::text::{
    en::remedy::{attempt::attempt, command_line, way},
    visible,
};

/// The advice about a diagnosis with its ways out and the attempts at them, seen from this standpoint.
/// `offered` says whether Unwind does a remedy if a person confirms it.
pub fn advice(
    card: &DiagnosisCard,
    handling: Handling<'_>,
    standpoint: &Standpoint,
    offered: bool,
) -> Advice {
    let Handling { remedies, attempts, .. } = handling;
    let cluster = &*standpoint.cluster;
    let offer = |remedy: &Remedy| offer(remedy, &card.diagnosis).filter(|_| offered);
    Advice {
        first: first(card, standpoint),
        expected: String::new(),
        chain: card.diagnosis.waiting.iter().map(|held| waits_on(&card.diagnosis, held)).collect(),
        evidence: card.diagnosis.evidence.iter().map(fact).collect(),
        confidence: confidence(&card.diagnosis),
        ways: remedies.iter().map(|remedy| way(remedy, cluster, offer(remedy))).collect(),
        attempts: attempts.iter().map(attempt).collect(),
        log: log_box(&card.diagnosis, cluster),
        note: incident_note(card, handling, standpoint, NoteForm::Markdown),
    }
}

fn log_box(diagnosis: &Diagnosis, cluster: &str) -> Option<LogBox> {
    let commands = kubelet_commands(diagnosis);
    let lines = commands.iter().filter_map(|it| Some((it, it.line(cluster)?)));
    let commands: Vec<_> = lines.map(command_line).collect();
    let (label, button) = (LOG_LABEL.to_owned(), PASTE_LOG.to_owned());
    let diagnosis = diagnosis.id.clone();
    (!commands.is_empty()).then_some(LogBox { diagnosis, label, button, commands })
}

fn offer(remedy: &Remedy, diagnosis: &Diagnosis) -> Option<WayOffer> {
    let request = remedy.check_offered().ok()?;
    let (hash, name) = (remedy.hash(diagnosis), request.object.name.to_string());
    let diagnosis = diagnosis.id.clone();
    Some(WayOffer { diagnosis, hash, name, statement: remedy.needs_statement() })
}

/// The title of the notification that deletions are stuck, with the sentence of their cause.
pub fn stuck_in(cluster: &str, cause: &str) -> String {
    format!("Stuck in {}: {cause}", visible(cluster))
}

/// The title of the notification that nothing waits for a root any more, with the sentence of the cause that it had.
pub fn resolved_in(cluster: &str, cause: &str) -> String {
    format!("Resolved in {}: no deletion waits any more. The cause was: {cause}", visible(cluster))
}

fn fact(evidence: &Evidence) -> Fact {
    Fact { text: said(evidence), at: evidence.at }
}
