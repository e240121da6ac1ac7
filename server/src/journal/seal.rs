//! Seals a record, so that damage is detected when it is read.

use sha2::{Digest, Sha256};

use super::JournalError;

/// The version that this program writes, and the only one that it reads.
pub(super) const VERSION: u32 = 4;

/// The length of a record's checksum: an accidental change goes undetected once in 2^64 times.
const SUM_BYTES: usize = 8;

/// `3 0123456789abcdef {…}`: the version, a checksum of the place and the content, and the content. A disk may return
/// other bytes than were written, and a changed digit of a step's number must not turn it into another step. `place` is
/// part of the format.
pub(super) fn seal(content: &[u8], place: &str) -> Vec<u8> {
    [format!("{VERSION} {} ", check_sum(content, place)).as_bytes(), content].concat()
}

pub(super) fn unseal<'a>(bytes: &'a [u8], place: &str) -> Result<&'a [u8], JournalError> {
    let damaged = || JournalError::Damaged { what: place.to_owned() };
    let mut parts = bytes.splitn(3, |byte| *byte == b' ');
    let version = parts
        .next()
        .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok())
        .ok_or_else(damaged)?;
    if version != VERSION {
        return Err(JournalError::Version { what: place.to_owned(), version });
    }
    match (parts.next(), parts.next()) {
        (Some(sum), Some(content)) if sum == check_sum(content, place).as_bytes() => Ok(content),
        _ => Err(damaged()),
    }
}

fn check_sum(content: &[u8], place: &str) -> String {
    let whole =
        Sha256::new().chain_update(place).chain_update([0]).chain_update(content).finalize();
    whole.iter().take(SUM_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
