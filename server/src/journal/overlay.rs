//! A file that cannot be written, as redb can open it all the same: redb writes to a file whenever it opens it. The writes
//! are kept in memory and lost at the end, and the file stays as it is.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    os::unix::fs::FileExt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

/// The unit in which the file is copied into memory, in bytes. It is redb's page.
const BLOCK: usize = 4096;

/// The bytes of a file, and over them those that were written since.
#[derive(Debug)]
pub(super) struct Overlay {
    file: File,
    written: Mutex<Written>,
}

/// The differences from the file.
#[derive(Debug)]
struct Written {
    /// The length of all.
    len: u64,
    /// The length of the part of the file that is still of use. It never grows again.
    of_file: u64,
    /// Blocks in place of those of the file, by number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl Overlay {
    /// A database over the bytes of a file, in which nothing is ever written. The file is locked as redb locks it, so that no
    /// other server writes in it meanwhile.
    pub(super) fn open(file: File) -> Result<Database, DatabaseError> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(DatabaseError::DatabaseAlreadyOpen),
            // Some file systems lock only what may be written. Nobody can act on what this process shows.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        let overlay = Self::over(file).map_err(StorageError::Io)?;
        Builder::new().create_with_backend(overlay)
    }

    fn over(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let len = metadata.len();
        if !metadata.is_file() || len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds nothing to read"));
        }
        let written = Written { len, of_file: len, blocks: BTreeMap::new() };
        Ok(Self { file, written: Mutex::new(written) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block as the file has it, with zeros behind its end.
    fn block(&self, number: u64, of_file: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; BLOCK];
        let start = number * BLOCK as u64;
        let there = of_file.saturating_sub(start).min(BLOCK as u64) as usize;
        self.file.read_exact_at(&mut bytes[..there], start)?;
        Ok(bytes)
    }
}

/// The number of the block with this byte, and the place of the byte in it.
fn place(offset: u64) -> (u64, usize) {
    (offset / BLOCK as u64, (offset % BLOCK as u64) as usize)
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !out.is_empty() {
            let (number, from) = place(offset);
            let (part, rest) = out.split_at_mut(out.len().min(BLOCK - from));
            let range = from..from + part.len();
            match written.blocks.get(&number) {
                Some(block) => part.copy_from_slice(&block[range]),
                None => part.copy_from_slice(&self.block(number, written.of_file)?[range]),
            }
            offset += part.len() as u64;
            out = rest;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        written.len = len;
        written.of_file = written.of_file.min(len);
        // Bytes that are cut off must read as zeros if the length grows again.
        let (last, kept) = place(len);
        written.blocks.retain(|number, _| *number <= last);
        if let Some(block) = written.blocks.get_mut(&last) {
            block[kept..].fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, mut offset: u64, mut data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        written.len = written.len.max(offset + data.len() as u64);
        while !data.is_empty() {
            let (number, from) = place(offset);
            let (part, rest) = data.split_at(data.len().min(BLOCK - from));
            if !written.blocks.contains_key(&number) {
                let block = self.block(number, written.of_file)?;
                written.blocks.insert(number, block);
            }
            if let Some(block) = written.blocks.get_mut(&number) {
                block[from..from + part.len()].copy_from_slice(part);
            }
            offset += part.len() as u64;
            data = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn bytes(overlay: &Overlay) -> Vec<u8> {
        let mut all = vec![1; overlay.len().unwrap() as usize];
        overlay.read(0, &mut all).unwrap();
        all
    }

    #[test]
    fn overlay_reads_as_a_written_file_and_leaves_the_file_unchanged() {
        let before: Vec<u8> = (0..10_000_u32).map(|number| (number % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&before).unwrap();
        let overlay = Overlay::over(file.try_clone().unwrap()).unwrap();
        assert_eq!(bytes(&overlay), before);

        let mut expected = before.clone();
        expected[4000..9000].fill(7);
        overlay.write(4000, &[7; 5000]).unwrap();
        assert_eq!(bytes(&overlay), expected);
        for len in [8500, 3000, 20_000] {
            expected.resize(len, 0);
            overlay.set_len(len as u64).unwrap();
            assert_eq!(bytes(&overlay), expected, "{len}");
        }
        let behind = overlay.read(19_999, &mut [0; 2]).unwrap_err();
        assert_eq!(behind.kind(), io::ErrorKind::UnexpectedEof);
        let mut after = vec![0; before.len()];
        file.read_exact_at(&mut after, 0).unwrap();
        assert!(after == before && file.metadata().unwrap().len() == before.len() as u64);
    }

    #[test]
    fn empty_file_is_no_journal_to_show() {
        assert!(Overlay::over(tempfile::tempfile().unwrap()).is_err());
    }
}
