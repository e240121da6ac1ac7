//! The tables of the file.

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError, TableHandle};

use super::Shelf;

const PLANS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("plans");
const RUNS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("runs");
const COUNTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("counts");
const ATTEMPTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("attempts");
const RELEASES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("releases");
const EPOCH: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("epoch");
/// The records of runs, by run and number.
pub(super) const RECORDS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("records");

/// The number of writes.
pub(super) const WRITES: TableDefinition<'_, (), u64> = TableDefinition::new("writes");

/// The tables of named values.
const NAMED: [TableDefinition<'_, &str, &[u8]>; 6] =
    [PLANS, RUNS, COUNTS, ATTEMPTS, RELEASES, EPOCH];

/// The table of a shelf.
pub(super) fn of(shelf: Shelf) -> TableDefinition<'static, &'static str, &'static [u8]> {
    match shelf {
        Shelf::Plans => PLANS,
        Shelf::Runs => RUNS,
        Shelf::Counts => COUNTS,
        Shelf::Attempts => ATTEMPTS,
        Shelf::Releases => RELEASES,
        Shelf::Epoch => EPOCH,
    }
}

/// Makes the tables that a database does not have: all of a new one, and those that an earlier version did not know. One that does
/// not count its writes yet begins with `writes`.
///
/// # Errors
/// [`redb::Error::Corrupted`] if it has lost a table, and the error of a disk that fails.
pub(super) fn complete(database: &Database, writes: u64) -> Result<(), redb::Error> {
    if are_complete(database)? {
        return Ok(());
    }
    check_first(database)?;
    make(database, writes)
}

/// Whether a database has all tables.
pub(super) fn are_complete(database: &Database) -> Result<bool, redb::Error> {
    let transaction = database.begin_read()?;
    let is_missing = |error: TableError| match error {
        TableError::TableDoesNotExist(_) => Ok(false),
        error => Err(error.into()),
    };
    for table in NAMED {
        if let Err(error) = transaction.open_table(table) {
            return is_missing(error);
        }
    }
    if let Err(error) = transaction.open_table(WRITES) {
        return is_missing(error);
    }
    transaction.open_table(RECORDS).map(|_| true).or_else(is_missing)
}

/// Checks that the file has no table yet, or all of those that every version made together. Where only some are left, an empty table in
/// the place of another would hide what is lost.
fn check_first(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_read()?;
    let found: Vec<String> = transaction.list_tables()?.map(|it| it.name().to_owned()).collect();
    let has = |name: &str| found.iter().any(|it| it == name);
    let is_new = !NAMED.iter().any(|it| has(it.name())) && !has(RECORDS.name());
    let first = [PLANS.name(), RUNS.name(), COUNTS.name(), RECORDS.name()];
    if is_new || first.into_iter().all(has) {
        return Ok(());
    }
    Err(redb::Error::Corrupted("it has lost a table".to_owned()))
}

fn make(database: &Database, writes: u64) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    for table in NAMED {
        transaction.open_table(table)?;
    }
    transaction.open_table(RECORDS)?;
    {
        let mut counted = transaction.open_table(WRITES)?;
        if counted.get(())?.is_none() {
            counted.insert((), writes)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use redb::Builder;

    use super::*;

    /// A database in which some tables are missing.
    fn without(lost: &[TableDefinition<'static, &'static str, &'static [u8]>]) -> Database {
        let file = tempfile::tempfile().unwrap();
        let database = Builder::new().create_file(file).unwrap();
        assert!(!are_complete(&database).unwrap());
        complete(&database, 7).unwrap();
        assert!(are_complete(&database).unwrap());
        let transaction = database.begin_write().unwrap();
        for table in lost {
            assert!(transaction.delete_table(*table).unwrap());
        }
        transaction.commit().unwrap();
        database
    }

    #[test]
    fn table_that_an_earlier_version_did_not_know_is_made() {
        for missing in [&[][..], &[EPOCH], &[EPOCH, RELEASES, ATTEMPTS]] {
            let database = without(missing);
            complete(&database, 7).unwrap();
            assert!(are_complete(&database).unwrap());
        }
    }

    #[test]
    fn table_that_is_lost_is_not_made_again() {
        for lost in [&[RUNS][..], &[COUNTS], &[PLANS, RUNS, COUNTS]] {
            let database = without(lost);
            let completed = complete(&database, 7);
            assert!(matches!(completed, Err(redb::Error::Corrupted(_))), "{completed:?}");
            assert!(!are_complete(&database).unwrap());
        }
    }
}
