//! Objects that wait for what depends on them: by their own program's rule, or in a circle of owners. Only the server asks for it: see `teardown::advice`.

use teardown::object::ObjectRef;

use crate::text::{named, names};

/// The sentence of an object that its program keeps. Not all that depends on an object is an object of the cluster.
pub(super) fn depended_on(object: &ObjectRef, dependents: &[ObjectRef]) -> String {
    let list = match dependents {
        [] => "its condition DeletionIsBlocked lists them".to_owned(),
        some => names(some),
    };
    format!("Its own program keeps {} because others depend on it: {list}.", named(object))
}

/// The sentence of owners in a circle.
pub(super) fn own_each_other(owners: &[ObjectRef]) -> String {
    match owners {
        [one] => format!(
            "{} is its own owner and was deleted with foreground deletion, so it waits for itself.",
            named(one)
        ),
        some => format!(
            "They own each other and were all deleted with foreground deletion, so each waits for another: {}.",
            names(some)
        ),
    }
}
