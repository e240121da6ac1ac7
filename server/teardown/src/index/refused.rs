//! The answers by which the API server refused an update of an object that Unwind had sent.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::Index;
use crate::object::Uid;

/// The most objects of which an answer is kept.
const MOST: usize = 100;

/// The last answer about each object.
#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    answers: BTreeMap<Uid, (Arc<str>, Timestamp)>,
}

impl Refused {
    pub(super) fn forget(&mut self, uid: &Uid) {
        self.answers.remove(uid);
    }
}

impl Index {
    /// Notes that an update of an object was refused with this answer, which is bounded, at this time.
    pub fn note_refused_update(&mut self, uid: Uid, said: &str, at: Timestamp) {
        if self.get(&uid).is_none() || self.refused.answers.len() >= MOST {
            return;
        }
        self.changes += 1;
        self.refused.answers.insert(uid, (said.into(), at));
    }

    /// The answer by which an update of an object was refused last, and its time.
    pub fn refused_update(&self, uid: &Uid) -> Option<(&Arc<str>, Timestamp)> {
        self.refused.answers.get(uid).map(|(said, at)| (said, *at))
    }
}
