//! The body of Mercator (Heydon and Najork 1999) and BUbiNG (Boldi et al. 2018): what is offered is
//! gathered in memory, A, and merged now and then into a sorted file of all fingerprints, Z, which is
//! read and written from one end to the other; what is new comes out in the order of first
//! appearance. A third file of theirs, F, keeps the URLs themselves until their answer comes; here
//! they are the owner's to keep, and a ticket stands for each.
//!
//! No disk ever seeks, whatever the number of URLs; but each merge writes all of Z, and an answer
//! comes only when A is full. (A commit needs its answer at once, so no crawl can choose this body.)
//!
//! What a kill or a power cut leaves is Z before or after a merge, whole: it is written beside,
//! synced, and renamed. What is in A then is forgotten, and passes when it is offered again. What a
//! merge has let through is known from then on: an owner that dies before it has made use of it
//! must not rely on hearing of it again.

mod fingerprint_file;

use super::fingerprint::Fingerprinter;
use super::seen_set::{Lookup, SeenSet};
use crate::storage::DiskError;
use crivello_common::units::ByteSize;
use fingerprint_file::FingerprintFile;
use std::path::Path;

/// Bytes of memory for each URL that waits: its fingerprint and its ticket, and in the end, if it
/// is new, the ticket once more.
const WAITING_BYTES: usize = 24;

/// See the module.
#[derive(Debug)]
pub struct Offline {
    /// Z.
    known: FingerprintFile,
    /// A: fingerprints and tickets.
    waiting: Vec<(u64, u64)>,
    /// How many may wait.
    room: usize,
}

impl Offline {
    /// Opens the sorted file in `dir`, which nobody else may use meanwhile, or begins one. Gathers
    /// in `memory` bytes, or in what one batch takes.
    ///
    /// # Errors
    /// When the disk fails or the file is damaged.
    pub fn open(dir: &Path, memory: ByteSize) -> Result<Self, DiskError> {
        let room = (memory.as_usize() / WAITING_BYTES).max(1);
        Ok(Self { known: FingerprintFile::open(dir)?, waiting: Vec::with_capacity(room), room })
    }

    /// URLs that were let through, now or before it was opened.
    #[must_use]
    pub const fn known(&self) -> u64 {
        self.known.count()
    }

    fn merge(&mut self, passed: &mut Vec<u64>) -> Result<(), DiskError> {
        // The first of equal ones speaks for all.
        self.waiting.sort_unstable();
        self.waiting.dedup_by_key(|(fingerprint, _)| *fingerprint);
        // As long as this fails, all of them go on waiting.
        let mut fresh = self.known.merge(&self.waiting)?;
        self.waiting.clear();
        fresh.sort_unstable();
        passed.append(&mut fresh);
        Ok(())
    }
}

impl SeenSet for Offline {
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        if self.waiting.len() + batch.len() > self.room {
            self.flush(passed)?;
        }
        let fingerprint =
            |lookup: &Lookup| (Fingerprinter::fixed().fingerprint(lookup.key), lookup.ticket);
        self.waiting.extend(batch.iter().map(fingerprint));
        Ok(())
    }

    fn flush(&mut self, passed: &mut Vec<u64>) -> Result<(), DiskError> {
        if self.waiting.is_empty() { Ok(()) } else { self.merge(passed) }
    }

    fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(u64, u64)>() + fingerprint_file::BUFFERS
    }
}

#[cfg(test)]
mod tests;
