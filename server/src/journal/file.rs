//! A store in one file. Every write is one transaction that has reached the disk when it returns. The file is locked
//! while it is open, so that of two servers only one executes runs.
//!
//! # Decisions
//! - The file is closed after an error and opened again by the next call. redb refuses everything after one failure of the
//!   disk, and its locks are poisoned after a panic; opening finds the last complete transaction.
//! - redb writes to a file whenever it opens it, and after a crash it also commits a repair. If the disk refuses that, the
//!   bytes are opened with an [`Overlay`], so that a server starts on a full or failing disk and can say so. Every write
//!   tries the file again.
//! - An error in reading a damaged page closes nothing: other pages may be whole, and opening again would not mend this one.
//! - Every transaction saves what redb needs to open the file after a crash (`set_quick_repair`), at the price of a second sync.
//!   Without it redb reads the whole file then, and takes a damaged page for an unfinished transaction: it silently goes back to the
//!   one before, or refuses the file, although only one run is damaged.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, WriteTransaction,
};

use super::{
    Put, Shelf, Store, StoreError,
    error::is_damage,
    note,
    overlay::Overlay,
    tables::{self, RECORDS, WRITES},
};
use crate::private_file;

/// The cache for pages of the file. It is small because everything is read only once, at the start.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

/// The errors of opening the journal's file.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the file open.
    #[error(
        "another server already uses {path:?}; end it, or start this one with another --state directory"
    )]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("cannot open the journal {path:?}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a journal, or it is damaged.
    #[error("cannot read the journal {path:?}; move it away to start with an empty one")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error of the database.
        source: Box<redb::Error>,
    },
}

impl OpenError {
    fn of(path: &Path, error: redb::Error) -> Self {
        let path = path.to_owned();
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::Taken { path },
            // An error of the operating system does not mean that the content is damaged.
            redb::Error::Io(source) if source.raw_os_error().is_some() => {
                Self::Unusable { path, source }
            }
            error => Self::Damaged { path, source: Box::new(error) },
        }
    }
}

/// Opens a database in a file.
type OpenDatabase = fn(File) -> Result<Database, DatabaseError>;

/// An open database.
#[derive(Debug)]
struct Opened {
    database: Database,
    /// Whether it only reads the file, because that cannot be written.
    is_overlay: bool,
}

/// A store with its tables in one file.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    open_database: OpenDatabase,
    /// `None` after an error, until the next call.
    opened: RefCell<Option<Opened>>,
}

impl FileStore {
    /// Opens the file exclusively for this process. If it does not exist, creates it, readable only by its user. If it can only
    /// be read, because the disk is full or failing, the writes fail.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, |file| Builder::new().set_cache_size(CACHE_BYTES).create_file(file))
    }

    fn open_with(path: &Path, open_database: OpenDatabase) -> Result<Self, OpenError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .and_then(|file| private_file::sync_name(path).map(|()| file));
        let opened = match file {
            Ok(file) => to_read(path, catch_damage(|| database_in(path, file, open_database)))
                .map_err(|error| OpenError::of(path, error)),
            Err(source) => to_read(path, Err(source.into())).map_err(|error| match error {
                redb::Error::Io(source) => OpenError::Unusable { path: path.to_owned(), source },
                error => OpenError::of(path, error),
            }),
        }?;
        Ok(Self { path: path.to_owned(), open_database, opened: Some(opened).into() })
    }

    /// This store, if it can say what it holds.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] if one of the lists that a server reads at its start makes no sense, or if the last write is missing. A
    /// disk that fails is no such error.
    pub(super) fn with_lists(self) -> Result<Self, OpenError> {
        for shelf in [Shelf::Runs, Shelf::Counts, Shelf::Attempts, Shelf::Releases] {
            if let Err(StoreError::Damaged(source)) = self.list(shelf) {
                return Err(OpenError::of(&self.path, source));
            }
        }
        match self.writes() {
            Err(source) if is_damage(&source) => Err(OpenError::of(&self.path, source)),
            Ok(writes) if note::read(&self.path).is_some_and(|noted| writes < noted) => {
                let source = redb::Error::Corrupted("its last write is missing".to_owned());
                Err(OpenError::of(&self.path, source))
            }
            _ => Ok(self),
        }
    }

    /// The number of writes that the file holds.
    fn writes(&self) -> Result<u64, redb::Error> {
        self.read_with(|database| {
            let counted = database.begin_read()?.open_table(WRITES)?;
            Ok(counted.get(())?.map_or(0, |writes| writes.value()))
        })
    }

    /// The database in the file. A file that is gone is not made again: it would be a journal without its runs.
    fn reopen(&self) -> Result<Database, redb::Error> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        database_in(&self.path, file, self.open_database)
    }

    /// Reads something from the database, which is opened again if it was closed after an error.
    fn read_with<T>(
        &self,
        read: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let mut slot = self.opened.borrow_mut();
        let done = catch_damage(|| {
            if slot.is_none() {
                *slot = Some(to_read(&self.path, catch_damage(|| self.reopen()))?);
            }
            slot.as_ref().map_or(Err(redb::Error::DatabaseClosed), |it| read(&it.database))
        });
        let goes_on = match &done {
            Ok(_) => true,
            Err(error) => is_damage(error) && slot.as_ref().is_some_and(Opened::answers),
        };
        if !goes_on {
            close(slot.take());
        }
        done
    }

    /// Writes something into the file, which is opened again if it was closed after an error or could only be read.
    fn write_with<T>(
        &self,
        write: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let mut slot = self.opened.borrow_mut();
        if slot.as_ref().is_some_and(|it| it.is_overlay) {
            close(slot.take());
        }
        let done = catch_damage(|| {
            if slot.is_none() {
                *slot = Some(Opened { database: self.reopen()?, is_overlay: false });
            }
            slot.as_ref().map_or(Err(redb::Error::DatabaseClosed), |it| write(&it.database))
        });
        if done.is_err() {
            close(slot.take());
        }
        done
    }
}

impl Opened {
    /// Whether it can still be read after an error, elsewhere: a panic may have poisoned its locks.
    fn answers(&self) -> bool {
        matches!(catch_damage(|| tables::are_complete(&self.database)), Ok(true))
    }
}

/// The database that was opened in the file, or one to read what the file holds if the disk refused a write. The error is that
/// of the file.
fn to_read(path: &Path, opened: Result<Database, redb::Error>) -> Result<Opened, redb::Error> {
    match opened {
        Ok(database) => Ok(Opened { database, is_overlay: false }),
        Err(error @ (redb::Error::Io(_) | redb::Error::PreviousIo)) => {
            match catch_damage(|| database_in(path, File::open(path)?, Overlay::open)) {
                Ok(database) => Ok(Opened { database, is_overlay: true }),
                Err(error @ redb::Error::DatabaseAlreadyOpen) => Err(error),
                Err(_) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        close(self.opened.take());
    }
}

/// A database with all tables in this file, which has that path.
fn database_in(
    path: &Path,
    file: File,
    open_database: OpenDatabase,
) -> Result<Database, redb::Error> {
    let database = open_database(file)?;
    tables::complete(&database, note::read(path).unwrap_or_default())?;
    Ok(database)
}

/// Closing writes as well and may find damaged data; there is no caller who could receive the error.
fn close(opened: Option<Opened>) {
    let _ = catch_damage(|| {
        drop(opened);
        Ok(())
    });
}

/// Runs `act` and turns a panic into an error, because redb trusts some lengths and offsets in the file and panics if
/// they are damaged.
fn catch_damage<T>(act: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    // Nothing is used again after a panic: the transaction ends with it, and redb's locks are poisoned.
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    done.unwrap_or_else(|_| Err(redb::Error::Corrupted("its structure makes no sense".to_owned())))
}

/// The number of records of `run`: one more than the highest number.
fn count(
    records: &impl ReadableTable<(&'static str, u64), &'static [u8]>,
    run: &str,
) -> Result<u64, redb::Error> {
    let last = records.range((run, 0)..=(run, u64::MAX))?.next_back().transpose()?;
    Ok(last.map_or(0, |(key, _)| key.value().1.saturating_add(1)))
}

/// Counts one more write in its own transaction. Returns the number of writes with it.
fn count_write(transaction: &WriteTransaction) -> Result<u64, redb::Error> {
    let mut counted = transaction.open_table(WRITES)?;
    let writes = counted.get(())?.map_or(0, |writes| writes.value()).saturating_add(1);
    counted.insert((), writes)?;
    Ok(writes)
}

impl Store for FileStore {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        if puts.is_empty() {
            return Ok(());
        }
        let writes = self.write_with(|database| {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            transaction.set_quick_repair(true);
            for put in puts {
                match put {
                    Put::Named { shelf, name, bytes } => {
                        transaction
                            .open_table(tables::of(*shelf))?
                            .insert(name.as_str(), bytes.as_slice())?;
                    }
                    Put::Remove { shelf, name } => {
                        transaction.open_table(tables::of(*shelf))?.remove(name.as_str())?;
                    }
                    Put::RemoveRecords { run } => {
                        let all = (run.as_str(), 0)..=(run.as_str(), u64::MAX);
                        transaction.open_table(RECORDS)?.retain_in(all, |_, _| false)?;
                    }
                    Put::Record { run, number, bytes } => {
                        let mut records = transaction.open_table(RECORDS)?;
                        let kept = count(&records, run)?;
                        if kept != *number {
                            // The transaction is dropped, and with it everything that it had written.
                            return Ok(Err(StoreError::OutOfOrder {
                                run: run.clone(),
                                number: *number,
                                kept,
                            }));
                        }
                        records.insert((run.as_str(), *number), bytes.as_slice())?;
                    }
                }
            }
            let writes = count_write(&transaction)?;
            transaction.commit()?;
            Ok(Ok(writes))
        })??;
        note::write(&self.path, writes);
        Ok(())
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read_with(|database| {
            let named = database.begin_read()?.open_table(tables::of(shelf))?;
            Ok(named.get(name)?.map(|bytes| bytes.value().to_vec()))
        })?)
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        Ok(self.read_with(|database| {
            let named = database.begin_read()?.open_table(tables::of(shelf))?;
            let entries = named.iter()?.map(|entry| {
                let (name, bytes) = entry?;
                Ok((name.value().to_owned(), bytes.value().to_vec()))
            });
            entries.collect()
        })?)
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok(self.read_with(|database| {
            let records = database.begin_read()?.open_table(RECORDS)?;
            let entries = records.range((run, 0)..=(run, u64::MAX))?.map(|entry| {
                let (key, bytes) = entry?;
                Ok((key.value().1, bytes.value().to_vec()))
            });
            entries.collect()
        })?)
    }

    fn is_writable(&self) -> bool {
        self.opened.borrow().as_ref().is_some_and(|it| !it.is_overlay)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, os::unix::fs::PermissionsExt};

    use redb::{StorageBackend, TableDefinition, backends::FileBackend};

    use super::*;

    #[test]
    fn second_server_is_refused_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let first = FileStore::open(&path).unwrap();
        assert!(matches!(FileStore::open(&path), Err(OpenError::Taken { .. })));
        drop(first);
        FileStore::open(&path).unwrap();
    }

    #[test]
    fn unknown_table_is_left_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        drop(FileStore::open(&path).unwrap());
        let old: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("bundles");
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(old).unwrap().insert("r", [0, 255].as_slice()).unwrap();
        transaction.commit().unwrap();
        drop(database);
        let name = "p".to_owned();
        let put = Put::Named { shelf: Shelf::Plans, name, bytes: vec![1] };
        let mut store = FileStore::open(&path).unwrap();
        store.write(&[put]).unwrap();
        assert_eq!(store.read(Shelf::Plans, "p").unwrap(), Some(vec![1]));
    }

    #[test]
    fn file_is_readable_only_by_its_user() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        FileStore::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn file_that_is_no_journal_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for bytes in
            [&b"x"[..], &[0; 100], &[255; 5000], b"redb\x1a\n\xa9\r\n and then nothing of the kind"]
        {
            let path = dir.path().join("journal");
            std::fs::write(&path, bytes).unwrap();
            assert!(matches!(FileStore::open(&path), Err(OpenError::Damaged { .. })), "{bytes:?}");
        }
        let missing = dir.path().join("no/such/directory");
        assert!(matches!(FileStore::open(&missing), Err(OpenError::Unusable { .. })));
    }

    thread_local! {
        /// Whether the disk of this test takes writes.
        static IS_FULL: Cell<bool> = const { Cell::new(false) };
    }

    /// A file on a disk that may be full.
    #[derive(Debug)]
    struct MayBeFull(FileBackend);

    impl MayBeFull {
        fn open(file: File) -> Result<Database, DatabaseError> {
            Builder::new().create_with_backend(Self(FileBackend::new(file)?))
        }

        fn check(&self) -> io::Result<()> {
            if IS_FULL.get() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    impl StorageBackend for MayBeFull {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }
        fn set_len(&self, len: u64) -> io::Result<()> {
            self.check()?;
            self.0.set_len(len)
        }
        fn sync_data(&self) -> io::Result<()> {
            self.check()?;
            self.0.sync_data()
        }
        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.check()?;
            self.0.write(offset, data)
        }
        fn close(&self) -> io::Result<()> {
            self.0.close()
        }
    }

    #[test]
    fn store_on_a_full_disk_reads_and_writes_again_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = FileStore::open_with(&dir.path().join("journal"), MayBeFull::open).unwrap();
        let put = |number| Put::Record { run: "r".into(), number, bytes: vec![7; 100] };
        store.write(&[put(0)]).unwrap();
        IS_FULL.set(true);
        for _ in 0..3 {
            assert!(matches!(store.write(&[put(1)]), Err(StoreError::File(_))));
        }
        IS_FULL.set(false);
        assert_eq!(store.records("r").unwrap(), [(0, vec![7; 100])]);
        store.write(&[put(1)]).unwrap();
        assert_eq!(store.records("r").unwrap().len(), 2);
    }

    #[test]
    fn journal_of_a_killed_process_opens_on_a_full_disk_and_is_written_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let put = |number| Put::Record { run: "r".into(), number, bytes: vec![7; 100] };
        let mut before = FileStore::open(&path).unwrap();
        before.write(&[put(0)]).unwrap();
        // A process that is killed closes nothing.
        let copy = dir.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        let bytes = std::fs::read(&copy).unwrap();

        IS_FULL.set(true);
        let mut store = FileStore::open_with(&copy, MayBeFull::open).unwrap();
        assert!(!store.is_writable());
        assert!(matches!(FileStore::open(&copy), Err(OpenError::Taken { .. })));
        for _ in 0..3 {
            assert_eq!(store.records("r").unwrap(), [(0, vec![7; 100])]);
            assert!(matches!(store.write(&[put(1)]), Err(StoreError::File(_))));
        }
        assert!(std::fs::read(&copy).unwrap() == bytes, "the file stays as it was");
        IS_FULL.set(false);
        store.write(&[put(1)]).unwrap();
        assert!(store.is_writable());
        drop(store);
        assert_eq!(FileStore::open(&copy).unwrap().records("r").unwrap().len(), 2);
    }

    #[test]
    fn file_that_may_only_be_read_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let put = Put::Record { run: "r".into(), number: 0, bytes: vec![7] };
        FileStore::open(&path).unwrap().write(std::slice::from_ref(&put)).unwrap();
        let error = redb::Error::Io(io::ErrorKind::ReadOnlyFilesystem.into());
        let opened = to_read(&path, Err(error)).unwrap();
        assert!(opened.is_overlay && opened.answers());
        let taken = redb::Error::DatabaseAlreadyOpen;
        assert!(matches!(to_read(&path, Err(taken)), Err(redb::Error::DatabaseAlreadyOpen)));
    }

    #[test]
    fn file_that_is_gone_is_not_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut store = FileStore::open_with(&path, MayBeFull::open).unwrap();
        let put = Put::Record { run: "r".into(), number: 0, bytes: vec![7] };
        IS_FULL.set(true);
        assert!(store.write(std::slice::from_ref(&put)).is_err());
        IS_FULL.set(false);
        std::fs::remove_file(&path).unwrap();
        assert!(store.write(&[put]).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn disk_failure_is_not_reported_as_a_damaged_journal() {
        let full = FileStore::open(Path::new("/dev/full"));
        assert!(matches!(full, Err(OpenError::Unusable { .. })), "{full:?}");
    }
}
