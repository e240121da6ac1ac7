//! What was wrong with an answer of the API server, or that there was none.

use serde::{Deserialize, Serialize};

/// Why something could not be had. On the wire a text where somebody said it, a map where Unwind found it: the sentence
/// for that is made in the reader's language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Complaint {
    /// In the words of the API server, or of the library that could not reach it: bounded and without line breaks.
    Said(String),
    /// What Unwind found.
    Found(Box<Fault>),
}

/// What Unwind found wrong. Texts in it are bounded and without line breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "camelCase")]
pub enum Fault {
    /// No answer in time.
    Silence {
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
    Answered {
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
    NoApiServer,
    /// What answers for this path is no discovery document.
    NoDocument {
        /// The path.
        path: String,
        /// What the reader stumbled over.
        why: String,
    },
    /// The server behind an aggregated API does not answer, so that its kinds are unknown.
    Stale,
    /// An aggregated API serves what no kind may be called.
    BadName {
        /// The name.
        name: String,
    },
    /// The name has no path in the API.
    NoPath,
    /// A list or an event without a `resourceVersion`, so that nothing can be watched from there.
    NoVersion,
    /// The answer holds no UID.
    NoUid,
    /// More namespaces would have to be watched one by one than are watched at once.
    Crowded,
    /// Too many calls are waiting to be made.
    Queued,
    /// A kind is hidden in some namespaces.
    Partly {
        /// In how many.
        hidden: usize,
        /// Of how many.
        of: usize,
        /// The first of them.
        named: Vec<String>,
        /// What was said of the kind as a whole.
        whole: Box<Complaint>,
    },
    /// A kind is seen in these namespaces, and nobody can tell which others there are.
    Unbounded {
        /// In how many it is seen.
        seen: usize,
        /// What was said of the kind as a whole.
        whole: Box<Complaint>,
    },
}

impl From<Fault> for Complaint {
    fn from(fault: Fault) -> Self {
        Self::Found(Box::new(fault))
    }
}

impl From<String> for Complaint {
    fn from(said: String) -> Self {
        Self::Said(said)
    }
}

impl From<&str> for Complaint {
    fn from(said: &str) -> Self {
        Self::Said(said.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_text_and_findings_a_map() {
        let said = Complaint::from("denied");
        let found = Complaint::from(Fault::Partly {
            hidden: 1,
            of: 3,
            named: vec!["a".into()],
            whole: Box::new(Fault::Silence { seconds: 10 }.into()),
        });
        for (complaint, json) in [
            (said, r#""denied""#),
            (
                found,
                r#"{"fault":"partly","hidden":1,"of":3,"named":["a"],"whole":{"fault":"silence","seconds":10}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&complaint).unwrap(), json);
            assert_eq!(serde_json::from_str::<Complaint>(json).unwrap(), complaint);
        }
    }
}
