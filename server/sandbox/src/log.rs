//! What every request did: the evidence by which a run is judged from outside.

use jiff::Timestamp;

use crate::store::Key;

/// One request that was answered, or cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// By the clock that nobody sets.
    pub time: Timestamp,
    pub actor: String,
    /// As in RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// What it was about; the name is empty for collections. `None` for paths that are no resource's.
    pub key: Option<Key>,
    pub subresource: String,
    /// The UID that the request insisted on.
    pub uid: Option<String>,
    /// The UID of the object that it met.
    pub met: Option<String>,
    pub dry_run: bool,
    /// What was answered; 0 if the connection was cut before.
    pub code: u16,
    /// Whether the store is another than before.
    pub effect: bool,
    /// The revision of the store after it.
    pub revision: u64,
    /// The fault that struck it.
    pub fault: Option<String>,
}

/// All requests, oldest first.
#[derive(Debug, Default)]
pub struct Log {
    entries: Vec<Entry>,
    off: bool,
}

impl Log {
    /// Keeps nothing from now on: for a sandbox that runs for days.
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
