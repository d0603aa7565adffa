//! Payloads that earlier crawls have archived, as their indexes list them: a table of its own, trusted as far as
//! those files.
//!
//! The table is made when the crawl starts, and again when the files, or whether SHA-1 is accepted, have changed.
//! Its keys are digests without a key, so who can forge a digest can have a page archived as a revisit of another
//! one: SHA-1 needs consent.

use crate::storage::values::{ContentRow, KnownRow};
use crate::storage::{Batch, Database, DiskError, Family};
use crivello_archive::{WarcDigest, known_payloads};
use crivello_common::config::DigestKind;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Number of rows in a batch.
const BATCH_ROWS: usize = 10_000;
/// Key in `meta` of the files that the table has: a byte with the kinds of digests, and a text.
const META_KNOWN: &[u8] = b"known";
/// Bound above all keys.
const END: [u8; 33] = [0xff; 33];
/// Kinds of digests, by bits of the first byte.
const KINDS: [(u8, DigestKind); 2] = [(1, DigestKind::Sha1), (2, DigestKind::Sha256)];

/// The table.
#[derive(Debug, Default)]
pub struct KnownPayloads {
    disk: Option<Arc<Database>>,
    kinds: Vec<DigestKind>,
}

/// The reason why the table cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// A file cannot be read.
    #[error("store.known: {0:?} cannot be read: {1}")]
    File(String, io::Error),
    /// A file has only digests that were not accepted.
    #[error(
        "store.known: {0:?} has no digests but SHA-1, which others can forge: a page can then be archived as a revisit \
         of another one; --accept-sha1 accepts them"
    )]
    Sha1(String),
    /// The disk fails.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl KnownPayloads {
    /// Opens the table of these files, which is made if it is not that of an earlier run.
    ///
    /// # Errors
    /// [`KnownError`] if a file cannot be used, or the disk fails.
    pub fn open(
        disk: &Arc<Database>,
        files: &[String],
        accept_sha1: bool,
    ) -> Result<Self, KnownError> {
        let wanted = description(files, accept_sha1)?;
        let stored = disk.get(Family::Meta, META_KNOWN)?;
        let bits = match stored.as_deref().and_then(<[u8]>::split_first) {
            Some((bits, of)) if of == wanted.as_bytes() => *bits,
            None if files.is_empty() => 0,
            _ => fill(disk, files, accept_sha1, &wanted)?,
        };
        let kinds = KINDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, kind)| *kind);
        let kinds: Vec<_> = kinds.collect();
        Ok(Self { disk: (!kinds.is_empty()).then(|| disk.clone()), kinds })
    }

    /// Returns the earlier capture of a payload.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn find(&self, payload: &[u8]) -> Result<Option<ContentRow>, DiskError> {
        let Some(disk) = &self.disk else { return Ok(None) };
        for kind in &self.kinds {
            let digest = WarcDigest::of_payload(*kind, payload);
            if let Some(KnownRow(row)) = disk.row(digest.bytes())? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// Returns the names, lengths and times of change of the files.
fn description(files: &[String], accept_sha1: bool) -> Result<String, KnownError> {
    let one = |file: &String| {
        let metadata = std::fs::metadata(file).map_err(|e| KnownError::File(file.clone(), e))?;
        let since = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let modified = since.map_or(0, crivello_common::time::micros);
        Ok(format!("{file} {} {modified}", metadata.len()))
    };
    let lines: Vec<String> = files.iter().map(one).collect::<Result<_, KnownError>>()?;
    Ok(format!("{accept_sha1}\n{}", lines.join("\n")))
}

/// Makes the table. Returns the kinds of its digests. If it is interrupted, it is made again.
fn fill(
    disk: &Database,
    files: &[String],
    accept_sha1: bool,
    wanted: &str,
) -> Result<u8, KnownError> {
    let mut batch = Batch::default();
    batch.delete(Family::Meta, META_KNOWN);
    disk.commit(&batch)?;
    clear(disk)?;
    let (mut bits, mut payloads) = (0, 0_u64);
    for file in files {
        let failed = |error| KnownError::File(file.clone(), error);
        let (mut batch, mut rows, mut used, mut refused) = (Batch::default(), 0, 0_u64, 0_u64);
        let mut result = Ok(());
        let index = BufReader::new(File::open(file).map_err(failed)?);
        let others = known_payloads(index, |payload| {
            let bit = match payload.digest {
                WarcDigest::Sha1(_) => 1,
                WarcDigest::Sha256(_) => 2,
            };
            if bit == 1 && !accept_sha1 {
                refused += 1;
                return;
            }
            bits |= bit;
            used += 1;
            let row = ContentRow { at: payload.at, url: payload.url.into() };
            batch.put(Family::Known, payload.digest.bytes(), &row.encode());
            rows += 1;
            if rows == BATCH_ROWS && result.is_ok() {
                result = disk.commit(&batch);
                (batch, rows) = (Batch::default(), 0);
            }
        });
        let others = others.map_err(failed)?;
        result?;
        disk.commit(&batch)?;
        if used == 0 && refused > 0 {
            return Err(KnownError::Sha1(file.clone()));
        }
        let (payloads_used, sha1_refused, other_lines) = (used, refused, others);
        tracing::info!(file, payloads_used, sha1_refused, other_lines, "known payloads");
        payloads += used;
    }
    let mut batch = Batch::default();
    batch.put(Family::Meta, META_KNOWN, &[&[bits], wanted.as_bytes()].concat());
    disk.commit(&batch)?;
    if payloads == 0 && !files.is_empty() {
        tracing::warn!("the files of store.known list no payload");
    }
    Ok(bits)
}

/// Removes all rows.
fn clear(disk: &Database) -> Result<(), DiskError> {
    loop {
        let (mut batch, mut rows) = (Batch::default(), 0);
        disk.walk(Family::Known, &[], &END, |key, _| {
            batch.delete(Family::Known, key);
            rows += 1;
            Ok(rows < BATCH_ROWS)
        })?;
        disk.commit(&batch)?;
        if rows < BATCH_ROWS {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::State;
    use std::fs;

    fn line(payload: &[u8], kind: DigestKind, url: &str) -> String {
        let digest = WarcDigest::of_payload(kind, payload).text();
        format!(
            "a)/ 20261120120000 {{\"url\": \"{url}\", \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \
             \"{digest}\", \"length\": \"10\", \"offset\": \"0\", \"filename\": \"x.warc.gz\"}}\n"
        )
    }

    #[test]
    fn payloads_of_files_are_found_until_the_files_change() {
        let dir = tempfile::tempdir().unwrap();
        let disk =
            Arc::new(Database::open(&dir.path().join("db"), true, &State::default()).unwrap());
        let file = dir.path().join("old.cdxj");
        let name = file.display().to_string();
        let open = |accept| KnownPayloads::open(&disk, std::slice::from_ref(&name), accept);
        let found = |known: &KnownPayloads, payload: &[u8]| {
            known.find(payload).unwrap().map(|row| row.url.to_string())
        };
        assert!(matches!(open(true), Err(KnownError::File(..))));
        fs::write(&file, line(b"one", DigestKind::Sha1, "http://a/1")).unwrap();
        let refused = open(false).unwrap_err();
        assert!(refused.to_string().contains("--accept-sha1"), "{refused}");
        let known = open(true).unwrap();
        assert_eq!(found(&known, b"one").as_deref(), Some("http://a/1"));
        assert_eq!(found(&known, b"two"), None);
        let lines = [
            line(b"two", DigestKind::Sha256, "http://a/2"),
            line(b"three", DigestKind::Sha1, "http://a/3"),
        ];
        fs::write(&file, lines.concat()).unwrap();
        let known = open(false).unwrap();
        assert_eq!(found(&known, b"two").as_deref(), Some("http://a/2"));
        assert_eq!((found(&known, b"one"), found(&known, b"three")), (None, None));
        let known = open(true).unwrap();
        assert_eq!(found(&known, b"three").as_deref(), Some("http://a/3"));
        // Another run finds the table.
        disk.commit(&{
            let mut batch = Batch::default();
            batch.delete(Family::Known, WarcDigest::of_payload(DigestKind::Sha1, b"three").bytes());
            batch
        })
        .unwrap();
        assert_eq!(found(&open(true).unwrap(), b"three"), None);
        let none = KnownPayloads::open(&disk, &[], false).unwrap();
        assert_eq!(found(&none, b"two"), None);
        assert_eq!(found(&KnownPayloads::default(), b"two"), None);
    }
}
