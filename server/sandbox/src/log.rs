//! The log of all requests: the evidence by which a test judges from outside what a client did.

use jiff::Timestamp;

use crate::store::Key;

/// A request that was answered or cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The time by the steady clock.
    pub time: Timestamp,
    pub actor: String,
    /// As in RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The object that the request is about; without a name for a collection. `None` for a path that is not a resource.
    pub key: Option<Key>,
    pub subresource: String,
    /// The UID in the request's preconditions.
    pub uid: Option<String>,
    /// The UID of the object that the request found.
    pub met: Option<String>,
    pub dry_run: bool,
    /// The status code of the answer; 0 if the connection broke off before.
    pub code: u16,
    /// Whether the request changed the store.
    pub effect: bool,
    /// The revision of the store after it.
    pub revision: u64,
    /// The fault that applied to the request.
    pub fault: Option<String>,
}

/// All requests, oldest first.
#[derive(Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    off: bool,
}

impl Log {
    /// Drops the entries and records none from now on, for a sandbox that runs for days.
    pub fn stop(&mut self) {
        self.off = true;
        self.entries = vec![];
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        if !self.off {
            self.entries.push(entry);
        }
    }

    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
