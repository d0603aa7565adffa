//! Records as bytes in a file: where one begins and ends, and whether it is whole.

use std::io;
use xxhash_rust::xxh3::Xxh3;

/// What a journal begins with: its format and version.
pub(super) const MAGIC: &[u8] = b"crivello journal 1\n";
const HEAD: usize = 4 + 8;

/// The last whole record of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Last<'a> {
    pub(super) payload: &'a [u8],
    /// Whether an unfinished one follows.
    pub(super) cut: bool,
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&length);
    hash.update(payload);
    hash.digest()
}

/// `payload` with its head.
pub(super) fn frame(payload: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes();
    let sum = checksum(length, payload).to_le_bytes();
    Ok([&length, &sum[..], payload].concat())
}

/// The payload of the whole record that `bytes` begins with.
fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let payload = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    (checksum(*length, payload) == u64::from_le_bytes(*sum)).then_some(payload)
}

/// Finds the last record of a file. `Err` says how it is damaged.
pub(super) fn last(bytes: &[u8]) -> Result<Last<'_>, String> {
    let records = bytes.strip_prefix(MAGIC).ok_or(
        "at its beginning, or was written by another version: it does not say that it is a journal",
    )?;
    let mut found = None;
    let mut at = 0;
    while let Some(payload) = records.get(at..).and_then(whole) {
        found = Some(payload);
        at += HEAD + payload.len();
    }
    let place = MAGIC.len() + at;
    let beyond =
        (at + 1..records.len()).find(|&next| records.get(next..).and_then(whole).is_some());
    if let Some(next) = beyond {
        let next = MAGIC.len() + next;
        return Err(format!("at byte {place}: what follows at byte {next} is whole again"));
    }
    let payload = found.ok_or_else(|| format!("at byte {place}: it has no whole record"))?;
    Ok(Last { payload, cut: at < records.len() })
}
