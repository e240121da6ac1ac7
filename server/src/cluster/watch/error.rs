//! The errors of a list or a watch, and the translation of answers and failures to them.

use std::time::Duration;

use teardown::api_problem::{ApiProblem, ProblemCode};

use crate::{
    cluster::{
        report::HubGone,
        request::{Answer, Failure},
        text::chain,
    },
    metrics::RestartReason,
};

/// The reason why a list or a watch ended with an error.
#[derive(Debug)]
pub(super) enum WatchError {
    /// 403: the list or watch is forbidden.
    Forbidden(ApiProblem),
    /// 410, as an answer or in the stream: the position is too old.
    TooOld,
    /// The server does not stream lists, or not this one.
    NoStream,
    /// 404 or 405: the kind may no longer be served.
    NotServed(ApiProblem),
    /// 429: too many requests.
    Throttled(Option<Duration>, ApiProblem),
    /// The connection failed.
    Connection(ApiProblem),
    /// Any other failure.
    Failing(Option<Duration>, ApiProblem),
    /// The hub is gone, so the watch ends.
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
            // 401 concerns every kind alike, so the health check handles it.
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
    /// The reason for which the watch starts again; `None` if the list is only repeated in
    /// another form, or if the server ends.
    pub(super) fn reason(&self) -> Option<RestartReason> {
        match self {
            Self::Forbidden(_) => Some(RestartReason::Forbidden),
            Self::TooOld => Some(RestartReason::Expired),
            Self::NotServed(_) => Some(RestartReason::NotServed),
            Self::Throttled(..) => Some(RestartReason::Throttled),
            Self::Connection(_) => Some(RestartReason::Connection),
            Self::Failing(..) => Some(RestartReason::Failing),
            Self::NoStream | Self::HubGone => None,
        }
    }

    /// An answer or event that cannot be read.
    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self::Failing(None, ProblemCode::Unreadable { why: chain(error) }.into())
    }
}

/// The reason why a watch did not start.
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
