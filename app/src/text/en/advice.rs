//! Advice about a deletion that waits, and notifications. Only the server asks for these: see `teardown::advice`.

use teardown::{advice::Advice, message::DiagnosisCard, remedy::Remedy};

use super::{
    super::visible,
    diagnosis::{confidence, do_not, if_nobody_acts, incident_note},
    remedy::way,
};

/// The advice about a diagnosis with these ways out; `cluster` is its name in the kubeconfig.
pub fn advice(card: &DiagnosisCard, remedies: &[Remedy], cluster: &str) -> Advice {
    let cause = &card.diagnosis.cause;
    Advice {
        if_nobody_acts: if_nobody_acts(cause).to_owned(),
        do_not: do_not(cause).map(str::to_owned),
        confidence: confidence(&card.diagnosis),
        ways: remedies.iter().map(|remedy| way(remedy, cluster)).collect(),
        note: incident_note(card, cluster),
    }
}

/// The title of the notification that deletions are stuck, with the sentence of their cause.
pub fn stuck_in(cluster: &str, cause: &str) -> String {
    format!("Stuck in {}: {cause}", visible(cluster))
}

/// The title of the notification that nothing waits for a root any more, with the sentence of the cause that it had.
pub fn resolved_in(cluster: &str, cause: &str) -> String {
    format!("Resolved in {}: no deletion waits any more. The cause was: {cause}", visible(cluster))
}
