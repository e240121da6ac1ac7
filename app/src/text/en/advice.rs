//! Advice about a deletion that waits. Only the server asks for it: see `teardown::advice`.

use teardown::{advice::Advice, message::DiagnosisCard, remedy::Remedy};

use super::{
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
