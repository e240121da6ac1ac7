//! Seals a record, so that damage is detected when it is read.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{
    JournalError,
    place::Place,
    upcast::{OLDEST, VERSION},
};

/// The length of a record's checksum: an accidental change goes undetected once in 2^64 times.
const SUM_BYTES: usize = 8;

/// The first version with an epoch.
const WITH_EPOCH: u32 = 5;

/// The content of a record, with the version of its format, and the epoch of the process that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsealed<'a> {
    pub(super) version: u32,
    /// 0 in versions without one.
    pub(super) epoch: u64,
    pub(super) content: &'a [u8],
}

/// `5.17 0123456789abcdef {…}`: the version, the epoch of the process that wrote it, a checksum of all of it and the place,
/// and the content. A disk may return other bytes than were written, and a changed digit of a step's number must not turn it
/// into another step. A second replica could tell by the epoch who wrote last.
pub(super) fn seal(epoch: u64, content: &[u8], place: &Place<'_>) -> Vec<u8> {
    let head = format!("{VERSION}.{epoch}");
    [format!("{head} {} ", check_sum(&[head.as_bytes(), content], place)).as_bytes(), content]
        .concat()
}

pub(super) fn unseal<'a>(bytes: &'a [u8], place: &Place<'_>) -> Result<Unsealed<'a>, JournalError> {
    let damaged = || JournalError::Damaged { what: place.to_string() };
    let mut parts = bytes.splitn(3, |byte| *byte == b' ');
    let head = parts.next().and_then(|head| std::str::from_utf8(head).ok()).ok_or_else(damaged)?;
    let (number, epoch) = head.split_once('.').unwrap_or((head, "0"));
    let version: u32 = number.parse().map_err(|_| damaged())?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(JournalError::Version { what: place.to_string(), version });
    }
    let (Some(sum), Some(content)) = (parts.next(), parts.next()) else { return Err(damaged()) };
    let covered: &[&[u8]] =
        if version < WITH_EPOCH { &[content] } else { &[head.as_bytes(), content] };
    if sum == check_sum(covered, place).as_bytes() {
        let epoch = epoch.parse().map_err(|_| damaged())?;
        Ok(Unsealed { version, epoch, content })
    } else {
        Err(damaged())
    }
}

fn check_sum(parts: &[&[u8]], place: &Place<'_>) -> String {
    let of_place = Sha256::new().chain_update(place.to_string());
    let whole = parts.iter().fold(of_place, |sum, part| sum.chain_update([0]).chain_update(part));
    HEXLOWER.encode(&whole.finalize()[..SUM_BYTES])
}
