//! The sorted file of fingerprints, and its merge with new ones.
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `CRVSIEV1` |
//! | 8 × n | fingerprints, little-endian, rising |
//! | 8 | n, little-endian |
//! | 8 | XXH3 of the fingerprints' bytes, little-endian |

use crivello_common::runtime::Replacement;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3Default;

const NAME: &str = "known";
const MAGIC: &[u8; 8] = b"CRVSIEV1";
const NUMBER: usize = size_of::<u64>();
/// Bytes of everything but the fingerprints.
const FRAME: u64 = 3 * NUMBER as u64;
const BUFFER: usize = 1 << 20;
/// Bytes of both buffers of a merge.
pub const BUFFERS: usize = 2 * BUFFER;

/// The sorted file in a directory.
#[derive(Debug)]
pub struct FingerprintFile {
    dir: PathBuf,
    count: u64,
}

impl FingerprintFile {
    /// Opens the file in `dir`; a missing file is empty. Its checksum is verified when a merge
    /// reads it.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let mut known = Self { dir: dir.to_owned(), count: 0 };
        let opened = fs::create_dir_all(dir).and_then(|()| known.read_frame());
        known.count = opened.map_err(|source| known.error("cannot be opened", &source))?;
        Ok(known)
    }

    fn read_frame(&self) -> io::Result<u64> {
        let mut file = match File::open(self.dir.join(NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        // No file is written without fingerprints.
        let n = length.checked_sub(FRAME).filter(|&n| n > 0 && n % NUMBER as u64 == 0);
        let n = n.ok_or_else(|| damage("its length is invalid"))? / NUMBER as u64;
        let mut magic = [0; NUMBER];
        file.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(damage("its magic number is missing"));
        }
        Ok(n)
    }

    /// Adds those of `others` (sorted fingerprints, with tickets) that are not in the file. Returns
    /// their tickets. If it fails, the file is unchanged.
    pub fn merge(&mut self, others: &[(u64, u64)]) -> io::Result<Vec<u64>> {
        let merged = self.write_merged(others);
        let fresh = merged.map_err(|source| self.error("cannot be merged", &source))?;
        self.count += fresh.len() as u64;
        Ok(fresh)
    }

    fn write_merged(&self, others: &[(u64, u64)]) -> io::Result<Vec<u64>> {
        let mut old = Reader::open(&self.dir.join(NAME), self.count)?;
        Replacement::default()
            .write(&self.dir.join(NAME), |file| Self::merged(&mut old, others, file))
    }

    fn merged(old: &mut Reader, others: &[(u64, u64)], file: &mut File) -> io::Result<Vec<u64>> {
        let mut new = Writer::begin(file)?;
        let mut fresh = Vec::new();
        for &(fingerprint, ticket) in others {
            while let Some(known) = old.next.filter(|&known| known < fingerprint) {
                new.write(known)?;
                old.step()?;
            }
            if old.next == Some(fingerprint) {
                continue;
            }
            new.write(fingerprint)?;
            fresh.push(ticket);
        }
        while let Some(known) = old.next {
            new.write(known)?;
            old.step()?;
        }
        new.finish()?;
        Ok(fresh)
    }

    fn error(&self, what: &str, source: &io::Error) -> io::Error {
        let path = self.dir.join(NAME);
        io::Error::new(source.kind(), format!("the file {} {what}: {source}", path.display()))
    }
}

/// Reader of fingerprints one by one, which verifies order and checksum.
struct Reader {
    file: Option<BufReader<File>>,
    left: u64,
    count: u64,
    sum: Xxh3Default,
    next: Option<u64>,
}

impl Reader {
    fn open(path: &Path, count: u64) -> io::Result<Self> {
        let file = if count == 0 { None } else { Some(File::open(path)?) };
        let mut file = file.map(|file| BufReader::with_capacity(BUFFER, file));
        if let Some(file) = &mut file {
            number(file)?; // The magic.
        }
        let mut reader = Self { file, left: count, count, sum: Xxh3Default::new(), next: None };
        reader.step()?;
        Ok(reader)
    }

    /// Reads the next fingerprint; at the end, verifies the count and the checksum.
    fn step(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.left == 0 {
            let (count, sum) = (number(file)?, number(file)?);
            if (u64::from_le_bytes(count), u64::from_le_bytes(sum))
                != (self.count, self.sum.digest())
            {
                return Err(damage("its checksum is wrong"));
            }
            (self.file, self.next) = (None, None);
            return Ok(());
        }
        let bytes = number(file)?;
        self.sum.update(&bytes);
        let fingerprint = u64::from_le_bytes(bytes);
        if self.next.is_some_and(|before| before >= fingerprint) {
            return Err(damage("it is not sorted"));
        }
        (self.left, self.next) = (self.left - 1, Some(fingerprint));
        Ok(())
    }
}

/// Writer of fingerprints one by one.
struct Writer<'f> {
    file: BufWriter<&'f mut File>,
    count: u64,
    sum: Xxh3Default,
}

impl<'f> Writer<'f> {
    fn begin(file: &'f mut File) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(MAGIC)?;
        Ok(Self { file, count: 0, sum: Xxh3Default::new() })
    }

    fn write(&mut self, fingerprint: u64) -> io::Result<()> {
        let bytes = fingerprint.to_le_bytes();
        self.sum.update(&bytes);
        self.count += 1;
        self.file.write_all(&bytes)
    }

    /// Writes the count and the checksum at the end of the file.
    fn finish(mut self) -> io::Result<()> {
        self.file.write_all(&self.count.to_le_bytes())?;
        self.file.write_all(&self.sum.digest().to_le_bytes())?;
        self.file.flush()
    }
}

fn number(file: &mut impl Read) -> io::Result<[u8; NUMBER]> {
    let mut bytes = [0; NUMBER];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn damage(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("it is damaged: {what}"))
}
