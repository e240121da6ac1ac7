//! The fate of data that the spec of an operator's object says.

use std::sync::Arc;

/// A field by which an object says what becomes of data when it is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPolicy {
    /// The effect of the object's deletion.
    pub effect: DataEffect,
    /// The field and its value, such as `spec.kafka.storage.deleteClaim: true`.
    pub field: Arc<str>,
}

/// The effect of an object's deletion on data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataEffect {
    /// The claims of the object go with it, whatever else is chosen for them.
    DeletesClaims {
        /// The label by which a claim names the object, such as `strimzi.io/cluster`.
        label: Arc<str>,
    },
    /// The data that it stands for, outside of the cluster or on the disks of nodes, is destroyed.
    DestroysData,
    /// The data that it stands for stays.
    LeavesData,
}
