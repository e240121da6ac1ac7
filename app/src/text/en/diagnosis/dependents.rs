//! Objects that their own program keeps for others. Only the server asks for it: see `teardown::advice`.

use teardown::object::ObjectRef;

use crate::text::names;

/// The cause in one sentence. Not all that depends on an object is an object of the cluster.
pub(super) fn depended_on(users: &[ObjectRef]) -> String {
    let list = match users {
        [] => "its condition DeletionIsBlocked lists them".to_owned(),
        some => names(some),
    };
    format!("Its program keeps it because others depend on it: {list}.")
}
