//! What was wrong with an answer of the API server, or that there was none.

use serde::{Deserialize, Serialize};

/// Why something could not be had. The sentence for what Unwind found is made in the reader's language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApiProblem {
    /// In the words of the API server, or of the library that could not reach it: bounded and without line breaks.
    Quoted(String),
    /// What Unwind found.
    Code(Box<ProblemCode>),
}

/// What Unwind found wrong. Texts in it are bounded and without line breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProblemCode {
    /// No answer in time.
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// The credentials of the kubeconfig's user could not be obtained.
    Credentials,
    /// The answer is larger than anything the API server sends.
    TooLarge {
        /// The most that is read.
        mebibytes: u64,
    },
    /// Another status than was hoped for.
    Status {
        /// HTTP status code.
        code: u16,
        /// What it said; empty where it said nothing.
        said: String,
    },
    /// The answer cannot be read.
    Unreadable {
        /// What the reader stumbled over.
        why: String,
    },
    /// What answers is no API server.
    NotAnApiServer,
    /// What answers for this path is no discovery document.
    NotDiscovery {
        /// The path.
        path: String,
        /// What the reader stumbled over.
        why: String,
    },
    /// The server behind an aggregated API does not answer, so that its kinds are unknown.
    Stale,
    /// An aggregated API serves what no kind may be called.
    InvalidName {
        /// The name.
        name: String,
    },
    /// The name has no path in the API.
    NoPath,
    /// A list or an event without a `resourceVersion`, so that nothing can be watched from there.
    NoResourceVersion,
    /// The answer holds no UID.
    NoUid,
    /// More namespaces would have to be watched one by one than are watched at once.
    TooManyNamespaces,
    /// Too many calls are waiting to be made.
    QueueFull,
    /// A kind is hidden in some namespaces.
    HiddenInNamespaces {
        /// In how many.
        hidden: usize,
        /// Of how many.
        of: usize,
        /// The first of them.
        named: Vec<String>,
        /// What was said of the kind as a whole.
        whole: Box<ApiProblem>,
    },
    /// A kind is seen in these namespaces, and nobody can tell which others there are.
    NamespacesUnknown {
        /// In how many it is seen.
        seen: usize,
        /// What was said of the kind as a whole.
        whole: Box<ApiProblem>,
    },
}

impl From<ProblemCode> for ApiProblem {
    fn from(fault: ProblemCode) -> Self {
        Self::Code(Box::new(fault))
    }
}

impl From<String> for ApiProblem {
    fn from(said: String) -> Self {
        Self::Quoted(said)
    }
}

impl From<&str> for ApiProblem {
    fn from(said: &str) -> Self {
        Self::Quoted(said.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaint_says_whether_it_was_said_or_found() {
        let said = ApiProblem::from("denied");
        let found = ApiProblem::from(ProblemCode::HiddenInNamespaces {
            hidden: 1,
            of: 3,
            named: vec!["a".into()],
            whole: Box::new(ProblemCode::Timeout { seconds: 10 }.into()),
        });
        for (problem, json) in [
            (said, r#"{"said":"denied"}"#),
            (
                found,
                r#"{"found":{"partly":{"hidden":1,"of":3,"named":["a"],"whole":{"found":{"silence":{"seconds":10}}}}}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&problem).unwrap(), json);
            assert_eq!(serde_json::from_str::<ApiProblem>(json).unwrap(), problem);
        }
    }
}
