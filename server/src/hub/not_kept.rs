//! The reasons why a copy is not in the journal.

use teardown::{api_problem::ApiProblem, object::ObjectRef};

/// The reason why the copy of a remedy's target, or of the object that it made, is not in the journal, so that nothing more may be
/// sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// The hub has ended, or the attempt has.
    Ended,
    /// The copy is not one of this object, which it should be of.
    OtherObject(ObjectRef),
    /// The journal cannot be written.
    Journal(ApiProblem),
}
