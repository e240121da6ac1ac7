//! Answers that say that the API server has an object and cannot read it. A DELETE reads its object first, so it fails as a list
//! does, until somebody repairs the cause.

use super::note::HiddenBy;
use crate::diagnosis::{says_unconverted, says_unreadable};

/// The cause that an answer of the API server names; `None` if it is about something else.
pub(super) fn read_failure(message: &str) -> Option<HiddenBy> {
    if says_unconverted(message) {
        Some(HiddenBy::Conversion)
    } else if says_unreadable(message) {
        Some(HiddenBy::Storage)
    } else {
        None
    }
}

/// Whether an answer of the API server says that it cannot read an object, so that the real DELETE is refused like its dry run.
pub fn is_read_failure(message: &str) -> bool {
    read_failure(message).is_some()
}
