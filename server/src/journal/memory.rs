//! A store in memory, for tests and for sessions that keep nothing.

use std::collections::BTreeMap;

use super::{Put, Shelf, Store, StoreError};

/// A store with two maps.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    named: BTreeMap<(Shelf, String), Vec<u8>>,
    records: BTreeMap<String, Vec<Vec<u8>>>,
}

impl Store for MemoryStore {
    fn write(&mut self, puts: &[Put]) -> Result<(), StoreError> {
        let mut kept: BTreeMap<&str, u64> = BTreeMap::new();
        for put in puts {
            if let Put::RemoveRecords { run } = put {
                kept.insert(run, 0);
            }
            if let Put::Record { run, number, .. } = put {
                let there = self.records.get(run).map_or(0, Vec::len) as u64;
                let kept = kept.entry(run).or_insert(there);
                if *kept != *number {
                    return Err(StoreError::OutOfOrder {
                        run: run.clone(),
                        number: *number,
                        kept: *kept,
                    });
                }
                *kept += 1;
            }
        }
        for put in puts {
            match put {
                Put::Named { shelf, name, bytes } => {
                    self.named.insert((*shelf, name.clone()), bytes.clone());
                }
                Put::Remove { shelf, name } => {
                    self.named.remove(&(*shelf, name.clone()));
                }
                Put::RemoveRecords { run } => {
                    self.records.remove(run);
                }
                Put::Record { run, bytes, .. } => {
                    self.records.entry(run.clone()).or_default().push(bytes.clone())
                }
            }
        }
        Ok(())
    }

    fn read(&self, shelf: Shelf, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.named.get(&(shelf, name.to_owned())).cloned())
    }

    fn list(&self, shelf: Shelf) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let of_shelf = self.named.iter().filter(|((on, _), _)| *on == shelf);
        Ok(of_shelf.map(|((_, name), bytes)| (name.clone(), bytes.clone())).collect())
    }

    fn records(&self, run: &str) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        Ok((0..).zip(self.records.get(run).into_iter().flatten().cloned()).collect())
    }
}
