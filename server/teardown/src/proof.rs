//! The proofs that an object is gone.

use serde::{Deserialize, Serialize};

/// The proof that the object with a UID is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// A DELETED event for this UID.
    DeletedEvent,
    /// A complete, consistent list without it.
    List,
    /// The answer 404 to a request for it.
    NotFound,
    /// Another UID has its name.
    OtherUid,
    /// The definition of its kind is gone, which goes after the last object of the kind.
    KindGone,
    /// Its namespace is gone, which goes after its content.
    NamespaceGone,
}
