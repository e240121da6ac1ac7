//! Advice about a deletion that waits, and notifications. Only the server asks for these: see `teardown::advice`.

use teardown::{
    advice::{Advice, WayOffer},
    diagnosis::Diagnosis,
    message::DiagnosisCard,
    remedy::{Attempt, Remedy},
};

use super::{
    super::visible,
    attempt::attempt,
    diagnosis::{confidence, do_not, if_nobody_acts, incident_note},
    remedy::way,
};

/// The advice about a diagnosis with these ways out and the attempts at them; `cluster` is its name in the kubeconfig.
/// `offered` says whether Unwind does a remedy if a person confirms it.
pub fn advice(
    card: &DiagnosisCard,
    remedies: &[Remedy],
    attempts: &[Attempt],
    cluster: &str,
    offered: bool,
) -> Advice {
    let cause = &card.diagnosis.cause;
    let offer = |remedy: &Remedy| offer(remedy, &card.diagnosis).filter(|_| offered);
    Advice {
        if_nobody_acts: if_nobody_acts(cause).to_owned(),
        do_not: do_not(cause).map(str::to_owned),
        confidence: confidence(&card.diagnosis),
        ways: remedies.iter().map(|remedy| way(remedy, cluster, offer(remedy))).collect(),
        attempts: attempts.iter().map(attempt).collect(),
        note: incident_note(card, cluster),
    }
}

fn offer(remedy: &Remedy, diagnosis: &Diagnosis) -> Option<WayOffer> {
    let request = remedy.check_offered().ok()?;
    let (hash, name) = (remedy.hash(diagnosis), request.object.name.to_string());
    Some(WayOffer { hash, name, statement: remedy.needs_statement() })
}

/// The title of the notification that deletions are stuck, with the sentence of their cause.
pub fn stuck_in(cluster: &str, cause: &str) -> String {
    format!("Stuck in {}: {cause}", visible(cluster))
}

/// The title of the notification that nothing waits for a root any more, with the sentence of the cause that it had.
pub fn resolved_in(cluster: &str, cause: &str) -> String {
    format!("Resolved in {}: no deletion waits any more. The cause was: {cause}", visible(cluster))
}
