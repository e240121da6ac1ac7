//! The epoch: the number of the process that writes. Every seal has it as well.

use super::{
    JournalError, Put, Shelf, Store, StoreError, decode, encode,
    place::Place,
    seal::{Unsealed, unseal},
};

/// The name of the only value on its shelf.
const NAME: &str = "epoch";

/// The write that claims this epoch.
pub(super) fn put(epoch: u64) -> Result<Put, JournalError> {
    let bytes = encode(epoch, &epoch, &Place::Epoch)?;
    Ok(Put::Named { shelf: Shelf::Epoch, name: NAME.to_owned(), bytes })
}

/// The epoch of the last process that has written, 0 if none has. If the value is damaged, it is the highest in the seals:
/// otherwise no write would ever succeed. The next write puts it right.
///
/// # Errors
/// [`JournalError`] if the disk fails, or if a later version has written it.
pub(super) fn last(store: &dyn Store) -> Result<u64, JournalError> {
    match kept(store) {
        Err(error) if is_damage(&error) => {
            let epoch = highest(store)?;
            tracing::error!(%error, epoch, "the epoch cannot be read; the highest in the journal is taken");
            Ok(epoch)
        }
        kept => kept,
    }
}

fn kept(store: &dyn Store) -> Result<u64, JournalError> {
    let bytes = store.read(Shelf::Epoch, NAME)?;
    bytes.map_or(Ok(0), |bytes| decode(&bytes, &Place::Epoch))
}

/// A value of a later version is whole, and this program must not write over it.
fn is_damage(error: &JournalError) -> bool {
    match error {
        JournalError::Store(error) => error.is_damage(),
        JournalError::Damaged { .. } | JournalError::Unreadable { .. } => true,
        _ => false,
    }
}

/// The highest epoch in the seals of everything that can be read.
fn highest(store: &dyn Store) -> Result<u64, StoreError> {
    type PlaceOf = fn(&str) -> Place<'_>;
    const SHELVES: [(Shelf, PlaceOf); 5] = [
        (Shelf::Plans, |name| Place::Plan(name)),
        (Shelf::Runs, |name| Place::Head(name)),
        (Shelf::Counts, |name| Place::Count(name)),
        (Shelf::Attempts, |name| Place::Attempt(name)),
        (Shelf::Releases, |name| Place::Release(name)),
    ];
    let mut highest = 0;
    for (shelf, place) in SHELVES {
        for (name, bytes) in whole(store.list(shelf))? {
            highest = highest.max(epoch_of(&bytes, &place(&name)));
            if shelf == Shelf::Counts {
                for (number, bytes) in whole(store.records(&name))? {
                    highest = highest.max(epoch_of(&bytes, &Place::Record(&name, number)));
                }
            }
        }
    }
    Ok(highest)
}

fn epoch_of(bytes: &[u8], place: &Place<'_>) -> u64 {
    unseal(bytes, place).map_or(0, |Unsealed { epoch, .. }| epoch)
}

/// The values, none if they are damaged.
fn whole<T>(read: Result<Vec<T>, StoreError>) -> Result<Vec<T>, StoreError> {
    read.or_else(|error| if error.is_damage() { Ok(vec![]) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::{super::MemoryStore, *};

    fn named(shelf: Shelf, name: &str, bytes: Vec<u8>) -> Put {
        Put::Named { shelf, name: name.to_owned(), bytes }
    }

    fn store(epoch: Vec<u8>) -> MemoryStore {
        let mut store = MemoryStore::default();
        let count = encode(6, &1, &Place::Count("r")).unwrap();
        let record = encode(7, &(), &Place::Record("r", 0)).unwrap();
        let misplaced = encode(99, &(), &Place::Plan("q")).unwrap();
        let puts = [
            named(Shelf::Epoch, NAME, epoch),
            named(Shelf::Counts, "r", count),
            named(Shelf::Plans, "p", misplaced),
            Put::Record { run: "r".to_owned(), number: 0, bytes: record },
        ];
        store.write(&puts).unwrap();
        store
    }

    #[test]
    fn damaged_epoch_is_taken_from_the_seals() {
        let mut damaged = encode(7, &7, &Place::Epoch).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        for bytes in [damaged, vec![], encode(7, &"x", &Place::Epoch).unwrap()] {
            assert_eq!(last(&store(bytes)).unwrap(), 7);
        }
    }

    #[test]
    fn whole_epoch_counts_and_a_later_version_is_refused() {
        assert_eq!(last(&store(encode(9, &9, &Place::Epoch).unwrap())).unwrap(), 9);
        assert_eq!(last(&MemoryStore::default()).unwrap(), 0);
        let later = last(&store(b"999.7 0123456789abcdef 7".to_vec()));
        assert!(matches!(later, Err(JournalError::Version { version: 999, .. })), "{later:?}");
    }
}
