//! The seen set in a sorted file, as in Mercator (Heydon and Najork 1999) and BUbiNG (Boldi et al.
//! 2018).
//!
//! URLs that are offered are gathered in memory, A, and merged now and then into a sorted file of
//! all fingerprints, Z, which is read and written sequentially. New ones come out in the order of
//! first appearance. The original design has a third file, F, with the URLs themselves until they
//! are answered. Here their owner stores them, and a ticket stands for each.
//!
//! No disk ever seeks, whatever the number of URLs. But each merge writes all of Z, and an answer
//! comes only when A is full. A commit needs its answer at once, so no crawl can choose this seen
//! set: see `docs/decisions/no-offline-sieve.md`. It exists for comparison.
//!
//! A kill or a power cut leaves Z as before or after a merge, whole: it is written to another file,
//! synced, and renamed. The content of A is lost, and passes when it is offered again. URLs that a
//! merge has let through are known from then on: an owner that dies before it has used them must
//! not expect to receive them again.

mod fingerprint_file;

use crivello_agent::crawldb::{Fingerprinter, Lookup};
use crivello_common::units::ByteSize;
use fingerprint_file::FingerprintFile;
use std::io;
use std::path::Path;

/// Bytes of memory per waiting URL: its fingerprint, its ticket, and, if it is new, the ticket once
/// more in the result.
pub const WAITING_BYTES: usize = 24;

/// A seen set in a sorted file.
#[derive(Debug)]
pub struct Offline {
    /// Z: the sorted file.
    known: FingerprintFile,
    /// A: fingerprints and tickets.
    waiting: Vec<(u64, u64)>,
    /// Maximum number of waiting URLs.
    room: usize,
}

impl Offline {
    /// Opens or creates the sorted file in `dir`, which nobody else may use meanwhile. Gathers URLs
    /// in `memory` bytes, or in as many as one batch needs.
    ///
    /// # Errors
    /// An error that names the file if the disk fails or the file is damaged.
    pub fn open(dir: &Path, memory: ByteSize) -> io::Result<Self> {
        let room = (memory.as_usize() / WAITING_BYTES).max(1);
        Ok(Self { known: FingerprintFile::open(dir)?, waiting: Vec::with_capacity(room), room })
    }

    /// Adds URLs, and appends to `passed` the tickets of those of earlier calls that are let through
    /// now, in the order of first appearance. Tickets rise from call to call.
    ///
    /// # Errors
    /// An error that names the file. Nothing of the batch has passed then, and it may be offered
    /// again.
    pub fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> io::Result<()> {
        if self.waiting.len() + batch.len() > self.room {
            self.flush(passed)?;
        }
        let fingerprint =
            |lookup: &Lookup| (Fingerprinter::fixed().fingerprint(lookup.key), lookup.ticket);
        self.waiting.extend(batch.iter().map(fingerprint));
        Ok(())
    }

    /// Answers for all URLs that were offered and not answered for.
    ///
    /// # Errors
    /// Same as [`Self::lookup`].
    pub fn flush(&mut self, passed: &mut Vec<u64>) -> io::Result<()> {
        if self.waiting.is_empty() { Ok(()) } else { self.merge(passed) }
    }

    /// Returns the bytes in memory.
    pub fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(u64, u64)>() + fingerprint_file::BUFFERS
    }

    fn merge(&mut self, passed: &mut Vec<u64>) -> io::Result<()> {
        // Of equal fingerprints, the one with the lowest ticket stays.
        self.waiting.sort_unstable();
        self.waiting.dedup_by_key(|(fingerprint, _)| *fingerprint);
        // If this fails, all of them continue to wait.
        let mut fresh = self.known.merge(&self.waiting)?;
        self.waiting.clear();
        fresh.sort_unstable();
        passed.append(&mut fresh);
        Ok(())
    }
}
