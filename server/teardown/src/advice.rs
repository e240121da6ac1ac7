//! Advice in sentences: about a deletion that waits, everything that an open card shows beyond the cause and the objects; about
//! a plan, what its preflight found; about what remedies switched off, how to put it back.
//!
//! # Decisions
//! - The server makes these sentences, and a page asks for those of the cards that are open. Everywhere else codes travel and
//!   a page makes the sentences. Thirty causes, and as many kinds of remedies with all that they reach, need and lose, would
//!   cost each first load about 30 KB of Brotli, and most pages never show one.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::remedy::{Harm, Holds, is_statement};

/// The id of the advice about the things that remedies switched off. It is not that of any diagnosis.
pub const SWITCHED_OFF: &str = "switchedOff";

/// Where a diagnosis is made from, and how fresh it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standpoint {
    /// The cluster's name in the kubeconfig.
    pub cluster: String,
    /// The name by which the API server knows our credentials, if it has said so.
    pub identity: Option<Arc<str>>,
    /// How fresh the state is; none where it is not known.
    pub freshness: Option<Freshness>,
    /// The time, in whole minutes.
    pub now: Timestamp,
}

/// How fresh the state of the cluster is, and what is missing from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// The time since which the API server does not answer.
    pub unreachable: Option<Timestamp>,
    /// The resources and group versions that cannot be seen.
    pub hidden: Vec<String>,
    /// Those of them that the diagnosis is about, and the time since which their watches have had no answer.
    pub unanswered: Vec<(String, Timestamp)>,
}

/// Help for a person who acts on a diagnosis, or starts a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// The lines that somebody needs first who was woken by it: where this is and how fresh, the harm now, the course of things without
    /// anybody's help, the mistake that would make it worse, what changed just before, whom to call.
    pub first: Vec<Line>,
    /// Of a plan: whether a refusal is expected.
    pub expected: String,
    /// For each object that waits, in the order of the card: the object that it waits for, and how; empty for the root.
    pub chain: Vec<String>,
    /// The facts that speak for the cause, each with its object and field, in the cluster's own words.
    pub evidence: Vec<Fact>,
    /// How sure the cause is, and what would make it surer; of a plan, how much of it was checked, and when.
    pub confidence: String,
    /// The ways out, the least harmful first; of a plan, the findings, the worst first.
    pub ways: Vec<Way>,
    /// The ways that persons had Unwind do, the latest first, each with its outcome.
    pub attempts: Vec<String>,
    /// The box for lines of the kubelet's log; none where such lines say nothing about the cause.
    #[serde(default)]
    pub log: Option<LogBox>,
    /// The card as Markdown, to be pasted into an incident's channel or ticket; empty while a plan is still being checked.
    pub note: String,
}

/// A named line of what somebody needs first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The name.
    pub name: String,
    /// The sentences, each with the time of the event that it promises.
    pub said: Vec<Fact>,
    /// It warns.
    pub warns: bool,
}

impl Line {
    /// The sentences in one paragraph.
    pub fn text(&self) -> String {
        let said: Vec<&str> = self.said.iter().map(|it| &*it.text).collect();
        said.join(" ")
    }
}

/// A form that takes lines of the kubelet's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBox {
    /// The id of the diagnosis.
    pub diagnosis: String,
    /// The text above it.
    pub label: String,
    /// The text of its button.
    pub button: String,
    /// The commands that show the lines.
    pub commands: Vec<WayCommand>,
}

/// A fact in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The sentence.
    pub text: String,
    /// The time when it began, if the cluster records it; of an event that is still to come, its time, if that is known.
    #[serde(with = "crate::millis::optional")]
    pub at: Option<Timestamp>,
}

impl From<String> for Fact {
    /// A sentence without a time.
    fn from(text: String) -> Self {
        Self { text, at: None }
    }
}

/// One way out. It is what a page shows of a [`Remedy`](crate::remedy::Remedy).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Way {
    /// The action, in a few words.
    pub title: String,
    /// The worst that it does, as a code for its look.
    pub harm: Harm,
    /// The same in words.
    pub harms: String,
    /// The effect, and the events that follow.
    pub does: String,
    /// The other objects that it hits: a line for each Pod with its claims, those first that only one node can use.
    pub reaches: Vec<String>,
    /// The losses.
    pub loses: Vec<String>,
    /// The preconditions.
    pub needs: Vec<WayNeed>,
    /// Whether it can be taken back, and how.
    pub undo: Option<String>,
    /// Why it cannot be chosen now.
    pub withheld: Option<String>,
    /// The commands.
    pub commands: Vec<WayCommand>,
    /// The form in which a person has Unwind do it; none if it does not.
    pub offer: Option<WayOffer>,
}

/// The things to confirm before Unwind does a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayOffer {
    /// The id of the diagnosis.
    pub diagnosis: String,
    /// The hash of the remedy, so that no other is done.
    pub hash: String,
    /// The name to type.
    pub name: String,
    /// The label of the field in which a person answers for needs that the API does not show; none if there are no such needs.
    pub statement: Option<String>,
    /// The names of a machine of which one has to be in the answer; empty if it is not about a machine.
    pub machine: Vec<String>,
}

impl WayOffer {
    /// Whether an answer is enough for the field, as the server judges it.
    pub fn is_answered(&self, said: &str) -> bool {
        self.statement.is_none() || is_statement(said, &self.machine)
    }
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayNeed {
    /// The condition.
    pub what: String,
    /// Whether it holds now.
    pub holds: Holds,
}

/// A command to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayCommand {
    /// Its part, and the shell that it belongs in.
    pub what: String,
    /// The line.
    pub line: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_about_another_machine_does_not_count_and_no_field_needs_none() {
        let offer = |statement: Option<&str>| WayOffer {
            diagnosis: String::new(),
            hash: String::new(),
            name: "node-b".to_owned(),
            statement: statement.map(ToOwned::to_owned),
            machine: statement.map(|_| "node-b".to_owned()).into_iter().collect(),
        };
        let asked = offer(Some("Who checked what?"));
        assert!(asked.is_answered("Li saw in the rack that node-b is off"));
        assert!(!asked.is_answered("Li saw in the rack that node-c is off"));
        assert!(!asked.is_answered("node-b"), "it does not say who checked what");
        assert!(offer(None).is_answered(""));
    }
}
