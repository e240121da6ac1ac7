//! The number of writes of a journal, noted in a file beside it.
//!
//! # Decisions
//! - One bit in redb's first page says which of two commits is the newer one. If that bit changes after a process was killed, the file
//!   opens as it was before the last write, which may be a person's Stop, and nothing in it is damaged. A process that is killed within
//!   a write leaves such a file too. So every write counts itself in the file, and is noted here when it has reached the disk. A file
//!   that is behind its note has lost a write that was acknowledged: it is damaged. Closing a file commits once more without a write, so
//!   a closed one loses nothing by that bit.
//! - The note is not synced, because every event would pay for a third sync. It is written after the file was synced, so it is never ahead
//!   of it, wherever the process is killed. When the machine loses its power, the note may be behind by the writes of the last half
//!   minute, and those are not missed.
//! - A note that cannot be read or written is none: it must not keep a server from its journal.
//! - A new file begins to count where the note is, so that the note of a file that was set aside or removed says nothing about it.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The end of the name of the note.
const SUFFIX: &str = ".commits";

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// The number twice, so that a changed digit makes no other number. All notes have the same length, so that one replaces another.
fn text(writes: u64) -> String {
    format!("{writes:020} {writes:020}\n")
}

/// The number of writes that was noted of the journal in this file.
pub(super) fn read(path: &Path) -> Option<u64> {
    let found = fs::read_to_string(beside(path)).ok()?;
    let writes = found.split(' ').next()?.parse().ok()?;
    (found == text(writes)).then_some(writes)
}

/// Notes that the journal in this file has so many writes.
pub(super) fn write(path: &Path, writes: u64) {
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(false).mode(0o600).open(beside(path))?;
        file.write_all_at(text(writes).as_bytes(), 0)
    };
    if let Err(error) = write() {
        tracing::debug!(%error, "the number of writes is not noted");
    }
}
