//! A right that a remedy needs.

use crate::{api_problem::ApiProblem, fetched::Permission};

/// A right that a remedy needs, and whether Unwind has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The right.
    pub permission: Permission,
    /// Only to take the remedy back is it needed.
    pub is_for_undo: bool,
    /// The answer of the API server.
    pub answer: PermitAnswer,
}

/// Whether Unwind's identity has a right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermitAnswer {
    /// It has it.
    Allowed,
    /// It has not, with the reason that the authorizer gives, which may be empty.
    Denied(ApiProblem),
    /// The API server cannot be asked, or does not know.
    Unknown(ApiProblem),
    /// No answer has come yet.
    Asked,
}
