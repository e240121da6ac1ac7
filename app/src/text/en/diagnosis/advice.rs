//! Advice about a deletion that waits, and notifications. Only the server asks for these: see `teardown::advice`.

use teardown::{
    advice::{Advice, Fact, LogBox, Standpoint, WayOffer},
    diagnosis::{Diagnosis, Evidence},
    message::DiagnosisCard,
    remedy::{Remedy, kubelet_commands},
};

use super::{
    confidence::confidence,
    fact as said,
    incident::first,
    incident_note::{Handling, NoteForm, incident_note},
    kubelet::{LOG_LABEL, PASTE_LOG},
    waits_on,
};
use crate::text::{
    en::remedy::{attempt::attempt, command_line, way},
    isolated, visible,
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
    let (statement, machine) = (statement_field(remedy), remedy.machine());
    Some(WayOffer { diagnosis, hash, name, statement, machine })
}

/// The field for a person's word. That a machine is off is said of that machine.
fn statement_field(remedy: &Remedy) -> Option<String> {
    let machine = remedy.machine();
    let names: Vec<String> = machine.iter().map(|name| isolated(name)).collect();
    let named = match names.join(" or ") {
        none if none.is_empty() => String::new(),
        names => format!(" Name the machine that is off: {names}."),
    };
    let label = format!(
        "Who checked what the cluster does not show, and how?{named} Your answer is saved with your name."
    );
    remedy.needs_statement().then_some(label)
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

#[cfg(test)]
mod tests {
    use teardown::remedy::{Harm, Holds, Need, NeedCode, Reach, RemedyAct};

    use super::*;

    /// The field of a remedy with these needs, for which a person answers.
    fn field(needs: Vec<NeedCode>) -> Option<String> {
        let need = |code| Need { code, holds: Holds::Unknown };
        statement_field(&Remedy {
            harm: Harm::DataLoss,
            act: RemedyAct::Look,
            target: None,
            commands: vec![],
            needs: needs.into_iter().map(need).collect(),
            reaches: Reach::default(),
            loses: vec![],
            undo: None,
            withheld: None,
            permits: vec![],
        })
    }

    #[test]
    fn field_asks_for_the_name_of_the_machine_that_has_to_be_off() {
        let (node, instance) = ("n1".into(), Some("i-0abc".into()));
        let field = field(vec![NeedCode::PoweredOff { node, instance, announced: false }]).unwrap();
        let asked = "Name the machine that is off: n1 or i-0abc.";
        assert!(field.contains(asked), "{field}");
    }

    #[test]
    fn field_that_is_about_no_machine_asks_for_no_name() {
        let asked = field(vec![NeedCode::CleanedUpByHand]).unwrap();
        assert!(!asked.contains("machine"), "{asked}");
        assert_eq!(field(vec![]), None);
    }
}
