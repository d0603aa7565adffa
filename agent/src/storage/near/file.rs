//! A file with lists of fingerprints.
//!
//! | part | content |
//! | --- | --- |
//! | head | `crivnear`, version (2 bytes), number of tables (2 bytes) |
//! | sizes | number of entries of each list (2 bytes), table after table |
//! | checksum | XXH3-64 of head and sizes (8 bytes) |
//! | lists | for each list: the bits of the fingerprints that are not in the number of the list (6 bytes an entry, the oldest first), a checksum; then the rest of the entries (7 bytes each), a checksum |
//!
//! The rest of an entry is the place of the page (6 bytes), 7 bits of a hash of its registrable domain, and whether its
//! links were followed (1 bit). A look-up reads the rest only if a fingerprint is near. Checksums of lists are the lower halves of
//! XXH3-64 with the number of the list as seed (4 bytes). All integers are big-endian. A file never changes.

use super::recent::RecentPages;
use super::{ENTRIES_MAX, LISTS_A_TABLE, NearEntry, NearPlace, NearTables, near_distance};
use crivello_common::runtime::Replacement;
use smallvec::SmallVec;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// First bytes of a file.
const MAGIC: &[u8; 8] = b"crivnear";
/// Version of the format; raised with every change that older builds cannot read.
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 12;
const SIZE_BYTES: usize = 2;
const HEAD_CHECKSUM_BYTES: usize = 8;
const BITS_BYTES: usize = 6;
const MARK_BYTES: usize = 7;
const ENTRY_BYTES: usize = BITS_BYTES + MARK_BYTES;
const CHECKSUM_BYTES: usize = 4;
/// Length of the checksums of a list.
const CHECKSUMS_BYTES: usize = 2 * CHECKSUM_BYTES;
/// Bytes that a merge reads or writes at once.
const BUFFER_BYTES: usize = 256 << 10;

/// A file, open for look-ups.
#[derive(Debug)]
pub struct NearFile {
    pub(super) path: PathBuf,
    pub(super) number: u64,
    file: File,
    tables: NearTables,
    /// Number of entries before each list, and of all.
    starts: Box<[u32]>,
    /// True once a flaw was logged.
    is_reported: AtomicBool,
}

impl NearFile {
    /// Opens a file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if it is damaged, of another version or of other tables, and errors of the file
    /// system.
    pub(super) fn open(path: &Path, number: u64, tables: NearTables) -> io::Result<Self> {
        let file = File::open(path)?;
        let mut head = vec![0; HEAD_BYTES + tables.list_count() * SIZE_BYTES];
        let mut checksum = [0; HEAD_CHECKSUM_BYTES];
        let cut_off = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => damaged(),
            _ => error,
        };
        file.read_exact_at(&mut head, 0).map_err(cut_off)?;
        file.read_exact_at(&mut checksum, head.len() as u64).map_err(cut_off)?;
        let (begin, sizes) = head.split_at(HEAD_BYTES);
        if begin != head_of(tables) || u64::from_be_bytes(checksum) != xxh3_64(&head) {
            return Err(damaged());
        }
        let mut starts = Vec::with_capacity(tables.list_count() + 1);
        // 10 × 65,536 lists of 4,096 entries are fewer than 2³².
        let mut n_entries = 0;
        for &[a, b] in sizes.as_chunks().0 {
            let n = u16::from_be_bytes([a, b]);
            if usize::from(n) > ENTRIES_MAX {
                return Err(damaged());
            }
            starts.push(n_entries);
            n_entries += u32::from(n);
        }
        starts.push(n_entries);
        let (starts, is_reported) = (starts.into_boxed_slice(), AtomicBool::new(false));
        let this = Self { path: path.to_owned(), number, file, tables, starts, is_reported };
        match this.file.metadata()?.len() == this.offset(tables.list_count()) {
            true => Ok(this),
            false => Err(damaged()),
        }
    }

    /// Returns the number of entries in all tables.
    pub(super) fn entry_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default().into()
    }

    /// Returns the offset of a list; of the one after the last, the length of the file.
    pub(super) fn offset(&self, list: usize) -> u64 {
        let entries = u64::from(self.starts[list]) * ENTRY_BYTES as u64;
        lists_offset(self.tables) + entries + (list * CHECKSUMS_BYTES) as u64
    }

    /// Returns the number of entries of a list.
    fn list_len(&self, list: usize) -> usize {
        (self.starts[list + 1] - self.starts[list]) as usize
    }

    /// Calls `f` with the distance and the entry of each near page, once for each table that has it. A list that
    /// cannot be read has none; the file is named in the log, once.
    pub(super) fn find(
        &self,
        fingerprint: u64,
        buffer: &mut Vec<u8>,
        mut f: impl FnMut(u32, NearEntry),
    ) {
        for (list, rest) in self.tables.lists(fingerprint) {
            if self.list_len(list as usize) > 0
                && let Err(error) = self.find_in(list, rest, buffer, &mut f)
            {
                self.report(&error);
            }
        }
    }

    /// Calls `f` with the distance and the entry of each near page of a list.
    fn find_in(
        &self,
        list: u32,
        rest: u64,
        buffer: &mut Vec<u8>,
        f: &mut impl FnMut(u32, NearEntry),
    ) -> io::Result<()> {
        let (n, offset) = (self.list_len(list as usize), self.offset(list as usize));
        buffer.resize(n * BITS_BYTES + CHECKSUM_BYTES, 0);
        self.file.read_exact_at(buffer, offset)?;
        let bits = check(list, buffer)?;
        let near: SmallVec<[(usize, u32); 8]> = bits
            .as_chunks()
            .0
            .iter()
            .enumerate()
            .filter_map(|(i, bits)| Some((i, near_distance(read_bits(bits), rest)?)))
            .collect();
        if near.is_empty() {
            return Ok(());
        }
        let offset = offset + buffer.len() as u64;
        buffer.resize(n * MARK_BYTES + CHECKSUM_BYTES, 0);
        self.file.read_exact_at(buffer, offset)?;
        let marks = check(list, buffer)?.as_chunks().0;
        near.iter().for_each(|&(i, distance)| f(distance, read_mark(&marks[i])));
        Ok(())
    }

    /// Logs that a list cannot be read.
    fn report(&self, error: &io::Error) {
        if !self.is_reported.swap(true, Relaxed) {
            let path = self.path.display();
            tracing::warn!(%error, %path, "cannot read a list of the index of near-duplicates; its pages are not found");
        }
    }

    /// Writes a file with the entries of `files`, the oldest first, then those of `recent`. Of each list, the last
    /// [`ENTRIES_MAX`] are kept. Lists that are damaged are left out, and their files named in the log.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] once `stops` returns true, and errors of the file system.
    pub(super) fn merge(
        path: &Path,
        files: &[Arc<Self>],
        recent: &RecentPages,
        tables: NearTables,
        stops: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let mut inputs = Vec::new();
        for input in files {
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, &input.file);
            reader.seek(SeekFrom::Start(lists_offset(tables)))?;
            inputs.push((input, reader));
        }
        Replacement::default().write(path, |file| {
            let mut head = head_of(tables).to_vec();
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, &*file);
            out.seek(SeekFrom::Start(lists_offset(tables)))?;
            let (mut bits, mut marks, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
            for table in 0..tables.count() {
                let mut pages = recent.sorted(table);
                for number in 0..LISTS_A_TABLE {
                    let list = table * LISTS_A_TABLE + number;
                    if list.is_multiple_of(1_024) && stops() {
                        return Err(ErrorKind::Interrupted.into());
                    }
                    bits.clear();
                    marks.clear();
                    for (input, reader) in &mut inputs {
                        let n = input.list_len(list);
                        buffer.resize(n * ENTRY_BYTES + CHECKSUMS_BYTES, 0);
                        if let Err(error) = reader.read_exact(&mut buffer) {
                            input.report(&error);
                            reader.seek(SeekFrom::Start(input.offset(list + 1)))?;
                            continue;
                        }
                        let (of_bits, of_marks) = buffer.split_at(n * BITS_BYTES + CHECKSUM_BYTES);
                        match (check(list as u32, of_bits), check(list as u32, of_marks)) {
                            (Ok(of_bits), Ok(of_marks)) => {
                                bits.extend_from_slice(of_bits);
                                marks.extend_from_slice(of_marks);
                            }
                            (Err(error), _) | (_, Err(error)) => input.report(&error),
                        }
                    }
                    for &(of_page, entry) in pages.take(number as u64) {
                        bits.extend_from_slice(&of_page.to_be_bytes()[8 - BITS_BYTES..]);
                        marks.extend_from_slice(&entry.place.encode());
                        marks.push(entry.mark());
                    }
                    let excess = (bits.len() / BITS_BYTES).saturating_sub(ENTRIES_MAX);
                    let (bits, marks) =
                        (&bits[excess * BITS_BYTES..], &marks[excess * MARK_BYTES..]);
                    head.extend_from_slice(&((bits.len() / BITS_BYTES) as u16).to_be_bytes());
                    for part in [bits, marks] {
                        out.write_all(part)?;
                        out.write_all(&checksum(list as u32, part))?;
                    }
                }
            }
            out.flush()?;
            drop(out);
            let checksum = xxh3_64(&head).to_be_bytes();
            head.extend_from_slice(&checksum);
            file.write_all_at(&head, 0)
        })
    }
}

fn head_of(tables: NearTables) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_be_bytes());
    head[10..].copy_from_slice(&(tables.count() as u16).to_be_bytes());
    head
}

/// Returns the offset of the first list.
pub(super) const fn lists_offset(tables: NearTables) -> u64 {
    (HEAD_BYTES + tables.list_count() * SIZE_BYTES + HEAD_CHECKSUM_BYTES) as u64
}

fn damaged() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the file is damaged, or of another version")
}

fn checksum(list: u32, part: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (xxh3_64_with_seed(part, list.into()) as u32).to_be_bytes()
}

/// Returns a part of a list that is followed by its checksum.
fn check(list: u32, bytes: &[u8]) -> io::Result<&[u8]> {
    let (entries, found) = bytes.split_last_chunk().ok_or_else(damaged)?;
    if *found == checksum(list, entries) { Ok(entries) } else { Err(damaged()) }
}

const fn read_bits(&[a, b, c, d, e, f]: &[u8; BITS_BYTES]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

const fn read_mark(&[a, b, c, d, e, f, mark]: &[u8; MARK_BYTES]) -> NearEntry {
    NearEntry::of(NearPlace::decode([a, b, c, d, e, f]), mark)
}
