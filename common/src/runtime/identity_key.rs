//! The file of a crawl's identity key, of which only its owner may know.

use super::secret_file::{warn_if_exposed, write_secret};
use crate::identity::{IDENTITY_KEY_FILE, IdentityKey, parse};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The reason why the key of a crawl cannot be read from its file.
#[derive(Debug, thiserror::Error)]
pub enum IdentityKeyError {
    /// There is no file.
    #[error(
        "{0} is missing: without it no URL of the crawl can be recognized; copy the file from the \
         directory of the coordinator or of any agent of this crawl, or from a backup"
    )]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// The file is not what was written.
    #[error(
        "{0} is damaged: copy the file from the directory of the coordinator or of any agent of \
         this crawl, or from a backup"
    )]
    Damaged(PathBuf),
    /// The file has the key of another crawl.
    #[error(
        "{path} is the key of crawl {theirs}, not of crawl {ours}: copy the file from the \
         directory of the coordinator or of any agent of this crawl, or from a backup"
    )]
    OtherCrawl {
        /// The file.
        path: PathBuf,
        /// Id of the crawl in the file.
        theirs: String,
        /// Id of the crawl in the directory.
        ours: String,
    },
}

impl IdentityKey {
    /// Reads the key of the crawl with this id from its file in `dir`.
    ///
    /// # Errors
    /// [`IdentityKeyError`] if the file is missing or damaged, or belongs to another crawl.
    pub fn read(dir: &Path, crawl_id: &str) -> Result<Self, IdentityKeyError> {
        let path = dir.join(IDENTITY_KEY_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                return Err(match error.kind() {
                    ErrorKind::NotFound => IdentityKeyError::Missing(path),
                    ErrorKind::InvalidData => IdentityKeyError::Damaged(path),
                    _ => IdentityKeyError::Unreadable(path, error),
                });
            }
        };
        let Some((key, theirs)) = parse(&text) else {
            return Err(IdentityKeyError::Damaged(path));
        };
        if theirs != crawl_id {
            let (theirs, ours) = (theirs.to_owned(), crawl_id.to_owned());
            return Err(IdentityKeyError::OtherCrawl { path, theirs, ours });
        }
        warn_if_exposed(&path);
        Ok(key)
    }

    /// Writes the file in `dir`, readable by its owner alone, completely or not at all.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(self, dir: &Path, crawl_id: &str) -> io::Result<()> {
        write_secret(&dir.join(IDENTITY_KEY_FILE), &self.text(crawl_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::tempdir;

    const ID: &str = "0123456789abcdef";
    const KEY: IdentityKey = IdentityKey::from_bytes([0xa7; 16]);

    #[test]
    fn the_file_is_secret_and_is_read_back() {
        let dir = tempdir().unwrap();
        let path = dir.path().join(IDENTITY_KEY_FILE);
        let missing = IdentityKey::read(dir.path(), ID).unwrap_err();
        assert!(matches!(&missing, IdentityKeyError::Missing(of) if *of == path), "{missing}");
        assert!(missing.to_string().contains("copy the file from"), "{missing}");
        KEY.write(dir.path(), ID).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(IdentityKey::read(dir.path(), ID).unwrap(), KEY);
        let other = IdentityKey::read(dir.path(), "fedcba9876543210").unwrap_err();
        assert!(matches!(other, IdentityKeyError::OtherCrawl { .. }), "{other}");
        assert!(other.to_string().contains(ID), "{other}");
        // A copy replaces a lost file.
        let restored = tempdir().unwrap();
        fs::copy(&path, restored.path().join(IDENTITY_KEY_FILE)).unwrap();
        assert_eq!(IdentityKey::read(restored.path(), ID).unwrap(), KEY);
    }

    #[test]
    fn an_error_does_not_show_the_key() {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join(IDENTITY_KEY_FILE), KEY.text(ID).replace("check ", "check 0"))
            .unwrap();
        let error = IdentityKey::read(dir.path(), ID).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("a7a7"), "{error:?}");
    }

    #[test]
    fn damage_is_refused_at_every_byte_and_length() {
        let dir = tempdir().unwrap();
        let path = dir.path().join(IDENTITY_KEY_FILE);
        let whole = KEY.text(ID).into_bytes();
        let check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let error = IdentityKey::read(dir.path(), ID).unwrap_err();
            assert!(matches!(error, IdentityKeyError::Damaged(_)), "{error}");
        };
        for at in 0..whole.len() {
            check(&whole[..at]);
            for bit in [0x01, 0x20, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= bit;
                check(&bytes);
            }
        }
        check(&[&whole[..], b"x"].concat());
    }
}
