//! Files of ranks of hosts, in the directory of the agent: `ranks/DIGEST`. Each is written whole, or not at all.
//!
//! At most two are kept: the one in force, and the newest one, which may be about to be.

use crivello_common::runtime::replace_file;
use crivello_common::units::ByteSize;
use crivello_ranks::{HostRanks, RanksError, RanksInForce};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Directory of the files.
const RANKS_DIR: &str = "ranks";

/// The reason why ranks cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum RankStoreError {
    /// The file is too large.
    #[error(
        "the file of ranks has {bytes} bytes, but state.ranks-memory={max} is the maximum here"
    )]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The maximum.
        max: ByteSize,
    },
    /// The file is shorter or longer than announced.
    #[error("the file of ranks has {received} bytes, not {announced} as announced")]
    Length {
        /// Bytes that were received.
        received: u64,
        /// Bytes that were announced.
        announced: u64,
    },
    /// The file is damaged, or another one.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// The disk fails.
    #[error("{}: {error}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The digest is none.
    #[error("a digest of ranks has 64 hexadecimal digits")]
    Digest,
}

/// The files of ranks of an agent, and the ranks in force.
#[derive(Clone, Debug, Default)]
pub struct RankStore {
    dir: PathBuf,
    bytes_max: ByteSize,
    in_force: RanksInForce,
}

/// A file that is received.
#[derive(Debug)]
pub struct IncomingRanks {
    store: RankStore,
    digest: String,
    length: u64,
    bytes: Vec<u8>,
}

impl RankStore {
    /// Creates the store of the agent in `dir`, without ranks in force.
    #[must_use]
    pub fn new(dir: &Path, bytes_max: ByteSize) -> Self {
        Self { dir: dir.join(RANKS_DIR), bytes_max, in_force: RanksInForce::default() }
    }

    /// Returns the ranks in force.
    pub const fn in_force(&self) -> &RanksInForce {
        &self.in_force
    }

    /// Returns the file with this digest, if it is here.
    pub fn file(&self, digest: &str) -> Option<PathBuf> {
        is_digest(digest).then(|| self.dir.join(digest)).filter(|path| path.exists())
    }

    /// Puts the ranks with this digest in force, or none for an empty digest. Returns false if they are not here.
    ///
    /// # Errors
    /// [`RankStoreError`] if the file cannot be read. It is then removed, unless the disk fails.
    pub fn load(&self, digest: &str) -> Result<bool, RankStoreError> {
        if digest.is_empty() {
            self.in_force.set(None);
            return Ok(true);
        }
        let Some(path) = self.file(digest) else { return Ok(false) };
        let disk = |error| RankStoreError::Disk { path: path.clone(), error };
        let bytes = fs::metadata(&path).map_err(disk)?.len();
        self.check_size(bytes)?;
        match HostRanks::verified(&fs::read(&path).map_err(disk)?, digest) {
            Ok(ranks) => {
                self.in_force.set(Some(ranks));
                Ok(true)
            }
            Err(error) => {
                fs::remove_file(&path).map_err(disk)?;
                Err(error.into())
            }
        }
    }

    fn check_size(&self, bytes: u64) -> Result<(), RankStoreError> {
        let max = self.bytes_max;
        if bytes > max.0 { Err(RankStoreError::TooLarge { bytes, max }) } else { Ok(()) }
    }

    /// Begins to receive a file of this length.
    ///
    /// # Errors
    /// [`RankStoreError::TooLarge`] or [`RankStoreError::Digest`].
    pub fn receive(&self, digest: &str, length: u64) -> Result<IncomingRanks, RankStoreError> {
        self.check_size(length)?;
        if !is_digest(digest) {
            return Err(RankStoreError::Digest);
        }
        let (store, digest) = (self.clone(), digest.to_owned());
        Ok(IncomingRanks { store, digest, length, bytes: Vec::new() })
    }

    /// Removes all files but those with these digests.
    fn keep_only(&self, digests: [&str; 2]) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if digests.iter().all(|digest| entry.file_name() != **digest) {
                match fs::remove_file(entry.path()) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl IncomingRanks {
    /// Adds the next bytes.
    ///
    /// # Errors
    /// [`RankStoreError::Length`] if there are more than announced.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), RankStoreError> {
        let (received, announced) = ((self.bytes.len() + bytes.len()) as u64, self.length);
        if received > announced {
            return Err(RankStoreError::Length { received, announced });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Stores the file, synced.
    ///
    /// # Errors
    /// [`RankStoreError`] if it is incomplete, damaged or another one, or if the disk fails.
    pub fn finish(self) -> Result<(), RankStoreError> {
        let Self { store, digest, length: announced, bytes } = self;
        let received = bytes.len() as u64;
        if received != announced {
            return Err(RankStoreError::Length { received, announced });
        }
        HostRanks::verified(&bytes, &digest)?;
        let path = store.dir.join(&digest);
        let disk = |error| RankStoreError::Disk { path: path.clone(), error };
        match fs::create_dir(&store.dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(disk(error)),
            _ => {}
        }
        replace_file(&path, &bytes).map_err(disk)?;
        store.keep_only([&digest, &store.in_force.digest()]).map_err(disk)
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_ranks::digest_of;

    fn file(n: usize) -> (Vec<u8>, String) {
        let hosts: Vec<_> = (0..n).map(|i| (format!("h{i}.test"), i as f64)).collect();
        let bytes = HostRanks::build(&hosts, 1).unwrap();
        let digest = digest_of(&bytes);
        (bytes, digest)
    }

    fn put(store: &RankStore, bytes: &[u8], digest: &str) -> Result<(), RankStoreError> {
        let mut incoming = store.receive(digest, bytes.len() as u64)?;
        bytes.chunks(1_000).try_for_each(|chunk| incoming.add(chunk))?;
        incoming.finish()
    }

    #[test]
    fn files_are_stored_whole_and_old_ones_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = RankStore::new(dir.path(), ByteSize::kib(64));
        let files: Vec<_> = (1..=4).map(file).collect();
        assert!(!store.load(&files[0].1).unwrap());
        for (n, (bytes, digest)) in (1..).zip(&files) {
            put(&store, bytes, digest).unwrap();
            assert!(store.load(digest).unwrap());
            assert_eq!(store.in_force().get().unwrap().n_hosts(), n);
            assert_eq!(store.in_force().digest(), *digest);
        }
        let kept = fs::read_dir(dir.path().join(RANKS_DIR)).unwrap().count();
        assert_eq!(kept, 2, "the last one, and the one that was in force when it came");
        let again = RankStore::new(dir.path(), ByteSize::kib(64));
        assert!(again.load(&files[3].1).unwrap());
        assert!(again.load("").unwrap() && again.in_force().get().is_none());
    }

    #[test]
    fn what_is_too_large_cut_or_damaged_is_refused_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = RankStore::new(dir.path(), ByteSize::kib(4));
        let (bytes, digest) = file(3);
        put(&store, &bytes, &digest).unwrap();
        assert!(store.load(&digest).unwrap());
        let (large, of_large) = file(1_000);
        let error = put(&store, &large, &of_large).unwrap_err().to_string();
        assert!(error.contains("state.ranks-memory=4"), "{error}");
        let cut = &bytes[..bytes.len() - 1];
        let mut incoming = store.receive(&digest, bytes.len() as u64).unwrap();
        incoming.add(cut).unwrap();
        assert!(matches!(incoming.finish(), Err(RankStoreError::Length { .. })));
        let mut incoming = store.receive(&digest, 3).unwrap();
        assert!(matches!(incoming.add(cut), Err(RankStoreError::Length { .. })));
        assert!(matches!(put(&store, cut, &digest), Err(RankStoreError::Ranks(_))));
        let (other, _) = file(4);
        assert!(matches!(put(&store, &other, &digest), Err(RankStoreError::Ranks(_))));
        for wrong in ["../../etc/passwd", "", &digest.to_uppercase()] {
            assert!(matches!(store.receive(wrong, 3), Err(RankStoreError::Digest)), "{wrong}");
            assert_eq!(store.file(wrong), None);
        }
        assert_eq!(store.in_force().digest(), digest);
        // A file that is damaged on the disk is removed, so that another agent is asked for it.
        let path = store.file(&digest).unwrap();
        let mut damaged = bytes;
        damaged[1_000] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(store.load(&digest).is_err());
        assert!(!store.load(&digest).unwrap());
    }
}
