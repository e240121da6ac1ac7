//! A store in one file. Every write is one transaction that has reached the disk when it returns. The file is locked
//! while it is open, so that of two servers only one executes runs.

use std::{
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use redb::{Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Put, Shelf, Store, StoreError};

const PLANS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("plans");
const RUNS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("runs");
const COUNTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("counts");
const ATTEMPTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("attempts");
const RECORDS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("records");

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

/// A store with its tables in one file.
#[derive(Debug)]
pub struct FileStore {
    /// `Some` until the store is dropped.
    database: Option<Database>,
}

impl FileStore {
    /// Opens the file exclusively for this process. If it does not exist, creates it, readable only by its user.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(|source| OpenError::Unusable { path: path.to_owned(), source })?;
        let open = || {
            let database = Builder::new().set_cache_size(CACHE_BYTES).create_file(file)?;
            make_tables(&database)?;
            Ok(database)
        };
        match catch_damage(open) {
            Ok(database) => Ok(Self { database: Some(database) }),
            Err(redb::Error::DatabaseAlreadyOpen) => {
                Err(OpenError::Taken { path: path.to_owned() })
            }
            // An error of the operating system does not mean that the content is damaged.
            Err(redb::Error::Io(source)) if source.raw_os_error().is_some() => {
                Err(OpenError::Unusable { path: path.to_owned(), source })
            }
            Err(error) => {
                Err(OpenError::Damaged { path: path.to_owned(), source: Box::new(error) })
            }
        }
    }
}

impl FileStore {
    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        // Closing writes as well and may find damaged data; there is no caller who could receive the error.
        let database = self.database.take();
        let _ = catch_damage(|| {
            drop(database);
            Ok(())
        });
    }
}

/// Runs `act` and turns a panic into an error, because redb trusts some lengths and offsets in the file and panics if
/// they are damaged.
fn catch_damage<T>(act: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    // Nothing is used again after a panic: the transaction ends with it, and redb's locks are poisoned.
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    done.unwrap_or_else(|_| Err(redb::Error::Corrupted("its structure makes no sense".to_owned())))
}

fn make_tables(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    for table in [PLANS, RUNS, COUNTS, ATTEMPTS] {
        transaction.open_table(table)?;
    }
    transaction.open_table(RECORDS)?;
    transaction.commit()?;
    Ok(())
}

fn table(shelf: Shelf) -> TableDefinition<'static, &'static str, &'static [u8]> {
    match shelf {
        Shelf::Plans => PLANS,
        Shelf::Runs => RUNS,
        Shelf::Counts => COUNTS,
        Shelf::Attempts => ATTEMPTS,
    }
}

/// The number of records of `run`: one more than the highest number.
fn count(
    records: &impl ReadableTable<(&'static str, u64), &'static [u8]>,
    run: &str,
) -> Result<u64, redb::Error> {
    let last = records.range((run, 0)..=(run, u64::MAX))?.next_back().transpose()?;
    Ok(last.map_or(0, |(key, _)| key.value().1.saturating_add(1)))
}

impl Store for FileStore {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        if puts.is_empty() {
            return Ok(());
        }
        let write = || -> Result<_, redb::Error> {
            let mut transaction = self.database()?.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            for put in puts {
                match put {
                    Put::Named { shelf, name, bytes } => {
                        transaction
                            .open_table(table(*shelf))?
                            .insert(name.as_str(), bytes.as_slice())?;
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
            transaction.commit()?;
            Ok(Ok(()))
        };
        catch_damage(write)?
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = || -> Result<_, redb::Error> {
            let named = self.database()?.begin_read()?.open_table(table(shelf))?;
            Ok(named.get(name)?.map(|bytes| bytes.value().to_vec()))
        };
        Ok(catch_damage(read)?)
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let read = || -> Result<_, redb::Error> {
            let named = self.database()?.begin_read()?.open_table(table(shelf))?;
            let entries = named.iter()?.map(|entry| {
                let (name, bytes) = entry?;
                Ok((name.value().to_owned(), bytes.value().to_vec()))
            });
            entries.collect()
        };
        Ok(catch_damage(read)?)
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let read = || -> Result<_, redb::Error> {
            let records = self.database()?.begin_read()?.open_table(RECORDS)?;
            let entries = records.range((run, 0)..=(run, u64::MAX))?.map(|entry| {
                let (key, bytes) = entry?;
                Ok((key.value().1, bytes.value().to_vec()))
            });
            entries.collect()
        };
        Ok(catch_damage(read)?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn disk_failure_is_not_reported_as_a_damaged_journal() {
        let full = FileStore::open(Path::new("/dev/full"));
        assert!(matches!(full, Err(OpenError::Unusable { .. })), "{full:?}");
    }
}
