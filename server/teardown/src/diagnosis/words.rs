//! A diagnosis without the words of others, for a receiver that nobody has let read them.
//!
//! # Decisions
//! - A message of a condition, of an Event, of a driver, of the API server or of a kubelet may quote anything: a command line, an
//!   address with a password, a path. None of it is kept.
//! - Codes, names and counts are kept: they are what a person needs to find the card. A reason of a condition or an Event is a
//!   code; where it does not look like one, it is not kept either.
//! - Of lines that a person pasted, the step and the kind of error are kept, and neither who pasted them nor any name in them. Nor
//!   is it said who pasted what a runtime runs or what a kubelet counts.

use super::{
    Diagnosis,
    cause::{Cause, Evidence, Source},
    kubelet_answer::{AnswerOrigin, KubeletProblem},
    kubelet_log::KubeletFact,
};
use crate::api_problem::{ApiProblem, ProblemCode};

/// The longest code: Kubernetes allows none that is longer (`k8s.io/api/events/v1`, `reason`).
const LONGEST_CODE: usize = 128;

impl Diagnosis {
    /// The same without the words of the cluster and of persons.
    pub fn without_words(&self) -> Self {
        let mut bare = self.clone();
        if let Cause::DetachFailed { said, .. } = &mut bare.cause {
            *said = "".into();
        }
        bare.evidence = self.evidence.iter().filter_map(Evidence::without_words).collect();
        bare
    }
}

impl Evidence {
    /// The same without the words of the cluster and of persons; `None` if it is nothing but those.
    pub fn without_words(&self) -> Option<Self> {
        let (source, said) = match &self.source {
            Source::Condition(_) | Source::Became(_) => {
                (self.source.clone(), status_and_reason(&self.said))
            }
            Source::Field(path) if path.ends_with("message") => {
                (self.source.clone(), String::new())
            }
            Source::Refused => (Source::Refused, String::new()),
            Source::Event { by, reason } => {
                let code = |word: &std::sync::Arc<str>| {
                    if is_code(word) { word.clone() } else { "".into() }
                };
                (Source::Event { by: code(by), reason: code(reason) }, String::new())
            }
            Source::DeletedByRun { .. } => (Source::DeletedByRun { by: "".into() }, String::new()),
            Source::RemovedByRemedy { .. } => {
                (Source::RemovedByRemedy { by: "".into() }, String::new())
            }
            Source::Hidden(problem) => (Source::Hidden(without(problem)), String::new()),
            Source::Unlistable(problem) => (Source::Unlistable(without(problem)), String::new()),
            Source::Kubelet(origin, fact) => {
                let fact = KubeletFact {
                    pod: String::new(),
                    name: None,
                    step: fact.step,
                    volume: None,
                    node: None,
                    path: None,
                    error: fact.error,
                    said: String::new(),
                    retry: fact.retry,
                };
                (Source::Kubelet(without_name(origin), Box::new(fact)), String::new())
            }
            Source::NotInLog(..) => return None,
            Source::Unanswered(subject, problem) => {
                let problem = Box::new(without_quotation(problem));
                (Source::Unanswered(*subject, problem), String::new())
            }
            Source::Field(_)
            | Source::Absent
            | Source::Deleted
            | Source::Renewed
            | Source::NotRenewed
            | Source::NoReadyPod
            | Source::NoEndpoints
            | Source::NoNewEvents
            | Source::WrittenBy { .. } => (self.source.clone(), self.said.clone()),
            Source::Runtime { node, state, origin } => {
                let (node, state, origin) = (node.clone(), state.clone(), without_name(origin));
                (Source::Runtime { node, state, origin }, String::new())
            }
            Source::Failures { failure, count, since, origin } => {
                let (failure, origin) = (failure.clone(), without_name(origin));
                let (count, since) = (*count, *since);
                (Source::Failures { failure, count, since, origin }, String::new())
            }
        };
        Some(Self { of: self.of.clone(), source, said, at: self.at })
    }
}

/// An origin that names nobody.
fn without_name(origin: &AnswerOrigin) -> AnswerOrigin {
    match origin {
        AnswerOrigin::Pasted { .. } => AnswerOrigin::Pasted { by: "".into() },
        AnswerOrigin::Queried => AnswerOrigin::Queried,
    }
}

/// The status and the reason of a condition, or the reason alone, without the message behind them.
fn status_and_reason(said: &str) -> String {
    let codes = said.split_once(": ").map_or(said, |(codes, _)| codes);
    if codes.split(' ').count() <= 2 && codes.split(' ').all(is_code) {
        return codes.to_owned();
    }
    let status = said.split(' ').next().unwrap_or_default();
    if matches!(status, "True" | "False" | "Unknown") { status.to_owned() } else { String::new() }
}

/// A problem that quotes nobody; an empty quotation where it would.
fn without(problem: &ApiProblem) -> ApiProblem {
    let quotes = match problem {
        ApiProblem::Quoted(_) => true,
        ApiProblem::Code(code) => match &**code {
            ProblemCode::Status { .. }
            | ProblemCode::Unreadable { .. }
            | ProblemCode::NotDiscovery { .. }
            | ProblemCode::InvalidName { .. }
            | ProblemCode::Unlisted { .. }
            | ProblemCode::HiddenInNamespaces { .. }
            | ProblemCode::NamespacesUnknown { .. } => true,
            ProblemCode::Timeout { .. }
            | ProblemCode::Credentials
            | ProblemCode::TooLarge { .. }
            | ProblemCode::NotAnApiServer
            | ProblemCode::Stale
            | ProblemCode::NoPath
            | ProblemCode::NoResourceVersion
            | ProblemCode::NoUid
            | ProblemCode::TooManyNamespaces
            | ProblemCode::QueueFull => false,
        },
    };
    if quotes { ApiProblem::Quoted(String::new()) } else { problem.clone() }
}

/// The same problem with a kubelet, with an empty quotation where it quotes somebody.
fn without_quotation(problem: &KubeletProblem) -> KubeletProblem {
    match problem {
        KubeletProblem::QueryRefused { .. } => KubeletProblem::QueryRefused { said: String::new() },
        KubeletProblem::Unreachable { .. } => KubeletProblem::Unreachable { said: String::new() },
        KubeletProblem::Other(problem) => KubeletProblem::Other(without(problem)),
        KubeletProblem::Forbidden
        | KubeletProblem::HandlerOff
        | KubeletProblem::QueryOff
        | KubeletProblem::NoJournal
        | KubeletProblem::NoAddress
        | KubeletProblem::Silent { .. }
        | KubeletProblem::NoNode => problem.clone(),
    }
}

/// A word as Kubernetes writes reasons and the names of its components.
fn is_code(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    !word.is_empty()
        && word.len() <= LONGEST_CODE
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(is_part)
}
