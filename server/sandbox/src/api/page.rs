//! The answer to a list request.

use std::sync::Arc;

use serde_json::Value;

/// A page of a collection, or the whole collection.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Value>>,
    pub(crate) revision: u64,
    /// The `continue` token for the next page; empty on the last one.
    pub(crate) token: String,
    pub(crate) remaining: Option<usize>,
}
