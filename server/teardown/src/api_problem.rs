//! Problems with an answer of the API server, a missing answer included.

use serde::{Deserialize, Serialize};

/// A problem with an API call: a quotation of somebody else, or a code for which the page writes the sentence in the
/// reader's language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApiProblem {
    /// A quotation from the API server, or from the library that could not reach it: bounded and without line breaks.
    Quoted(String),
    /// A problem that Unwind found.
    Code(Box<ProblemCode>),
}

/// A problem that Unwind found. Texts in it are bounded and without line breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProblemCode {
    /// No answer in time.
    Timeout {
        /// The timeout.
        seconds: u64,
    },
    /// The credentials of the kubeconfig's user could not be obtained.
    Credentials,
    /// The answer is larger than anything the API server sends.
    TooLarge {
        /// The largest answer that is read.
        mebibytes: u64,
    },
    /// An unexpected HTTP status.
    Status {
        /// HTTP status code.
        code: u16,
        /// The text of the answer; empty if it has none.
        said: String,
    },
    /// The answer cannot be read.
    Unreadable {
        /// The parser's error.
        why: String,
    },
    /// The answer does not come from an API server.
    NotAnApiServer,
    /// The answer for this path is not a discovery document.
    NotDiscovery {
        /// The path.
        path: String,
        /// The parser's error.
        why: String,
    },
    /// The server behind an aggregated API does not answer, so that its kinds are unknown.
    Stale,
    /// An aggregated API serves a kind with an invalid name.
    InvalidName {
        /// The name.
        name: String,
    },
    /// The objects of a kind cannot be listed.
    Unlisted {
        /// The resource, or the group version whose kinds are not known.
        resource: String,
        /// The problem.
        why: Box<ApiProblem>,
    },
    /// The name has no path in the API.
    NoPath,
    /// A list or an event without a `resourceVersion`, so that nothing can be watched from there.
    NoResourceVersion,
    /// The answer holds no UID.
    NoUid,
    /// The kind is in more namespaces than can be watched one by one.
    TooManyNamespaces,
    /// Too many calls are waiting to be made.
    QueueFull,
    /// A kind is hidden in some namespaces.
    HiddenInNamespaces {
        /// The number of namespaces in which the kind is hidden.
        hidden: usize,
        /// The number of all namespaces.
        of: usize,
        /// The first few of the hidden namespaces.
        named: Vec<String>,
        /// The problem with listing the kind in the whole cluster.
        whole: Box<ApiProblem>,
    },
    /// A kind is visible in some namespaces, and it is unknown which other namespaces exist.
    NamespacesUnknown {
        /// The number of namespaces in which the kind is visible.
        seen: usize,
        /// The problem with listing the kind in the whole cluster.
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
    fn json_distinguishes_a_quotation_from_a_code() {
        let said = ApiProblem::from("denied");
        let found = ApiProblem::from(ProblemCode::HiddenInNamespaces {
            hidden: 1,
            of: 3,
            named: vec!["a".into()],
            whole: Box::new(ProblemCode::Timeout { seconds: 10 }.into()),
        });
        for (problem, json) in [
            (said, r#"{"quoted":"denied"}"#),
            (
                found,
                r#"{"code":{"hiddenInNamespaces":{"hidden":1,"of":3,"named":["a"],"whole":{"code":{"timeout":{"seconds":10}}}}}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&problem).unwrap(), json);
            assert_eq!(serde_json::from_str::<ApiProblem>(json).unwrap(), problem);
        }
    }
}
