//! Why a watch did not go on, and what an answer or a failure says of that.

use std::time::Duration;

use teardown::api_problem::{ApiProblem, ProblemCode};

use crate::cluster::{
    report::HubGone,
    request::{Answer, Failure},
    text::chain,
};

/// Why a list or a watch did not go on.
#[derive(Debug)]
pub(super) enum WatchError {
    /// 403.
    Forbidden(ApiProblem),
    /// 410, on an answer or in the stream: the position is too old.
    TooOld,
    /// The server will not stream a list, or not this one.
    NoStream,
    /// 404 or 405: the kind is perhaps no longer served.
    NotServed(ApiProblem),
    /// 429.
    Throttled(Option<Duration>, ApiProblem),
    /// The connection.
    Connection(ApiProblem),
    /// Anything else.
    Failing(Option<Duration>, ApiProblem),
    /// Nobody is left to tell.
    HubGone,
}

impl From<HubGone> for WatchError {
    fn from(HubGone: HubGone) -> Self {
        Self::HubGone
    }
}

impl From<Failure> for WatchError {
    fn from(failure: Failure) -> Self {
        let message = ApiProblem::from(&failure);
        match failure {
            Failure::Silence(_) | Failure::Connection(_) | Failure::Credentials => {
                Self::Connection(message)
            }
            Failure::TooLarge => Self::Failing(None, message),
        }
    }
}

impl From<Answer> for WatchError {
    fn from(answer: Answer) -> Self {
        let message = answer.message();
        match answer.code {
            // 401 concerns every kind alike, so the pulse looks into it.
            401 => Self::Connection(message),
            403 => Self::Forbidden(message),
            404 | 405 => Self::NotServed(message),
            410 => Self::TooOld,
            429 => Self::Throttled(answer.retry_after, message),
            _ => Self::Failing(answer.retry_after, message),
        }
    }
}

impl WatchError {
    /// Something that was sent cannot be read.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::Failing(None, ProblemCode::Unreadable { why: chain(error) }.into())
    }
}

/// Why a watch did not begin.
pub(super) enum OpenError {
    Refused(Answer),
    Failed(Failure),
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<OpenError> for WatchError {
    fn from(opening: OpenError) -> Self {
        match opening {
            OpenError::Refused(answer) => answer.into(),
            OpenError::Failed(failure) => failure.into(),
        }
    }
}
