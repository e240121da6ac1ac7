//! The blast radius of a remedy.

use serde::{Deserialize, Serialize};

use crate::object::ObjectRef;

/// The most objects that a remedy lists.
const LISTED: usize = 50;

/// The objects that a remedy hits besides its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// The objects; at most 50. Each Pod is followed by its claims.
    pub objects: Vec<ObjectRef>,
    /// The number of all of them.
    pub total: usize,
    /// Whole resources that it hits in the cluster, such as `configmaps` or `*.apps`.
    pub resources: Vec<String>,
}

impl Reach {
    /// These objects.
    pub(super) fn of(objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        let mut reach = Self::default();
        for object in objects {
            reach.total += 1;
            if reach.objects.len() < LISTED {
                reach.objects.push(object);
            }
        }
        reach
    }

    /// Whether it hits nothing else.
    pub fn is_none(&self) -> bool {
        self.total == 0 && self.resources.is_empty()
    }
}
