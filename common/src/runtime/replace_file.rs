//! Atomic replacement of whole files.
//!
//! The new content is written to a file beside the old one ([`replacement_path`]), synced and
//! renamed over it; then the directory is synced. So after a crash or power cut at any moment, the
//! file holds either the old content or the new content, never a part. Once the call has returned,
//! it is the new content. If the call fails, readers see the old content, and the file beside it
//! may remain: the next replacement overwrites it.
//!
//! One process replaces a file at a time: callers hold a lock or own the directory.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Options of a replacement.
#[derive(Clone, Copy, Debug)]
pub struct Replacement {
    /// Permission bits, for secrets. `None`: the process's default for new files.
    pub mode: Option<u32>,
    /// True if file and directory are synced. Otherwise a power cut may leave an empty file.
    pub sync: bool,
}

/// Replaces `path` by a file with this content. The module documents the guarantees.
///
/// # Errors
/// Errors of the file system.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    Replacement::default().write(path, |file| file.write_all(content))
}

/// Returns the path of the temporary file, in the same directory: `path` with `.new` appended.
#[must_use]
pub fn replacement_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

impl Default for Replacement {
    fn default() -> Self {
        Self { mode: None, sync: true }
    }
}

impl Replacement {
    /// Replaces `path` by the file that `write` fills. Returns the result of `write`.
    ///
    /// # Errors
    /// Errors of `write` and of the file system.
    pub fn write<T>(
        self,
        path: &Path,
        write: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        let new = replacement_path(path);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut file = options.mode(self.mode.unwrap_or(0o666)).open(&new)?;
        if let Some(mode) = self.mode {
            // A file left by an earlier call keeps its mode when it is opened.
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        let written = write(&mut file)?;
        if self.sync {
            file.sync_all()?;
        }
        fs::rename(&new, path)?;
        if self.sync {
            File::open(directory(path))?.sync_all()?;
        }
        Ok(written)
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NEW_SETTINGS_FILE, SETTINGS_FILE};
    use tempfile::tempdir;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("a.toml");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(!replacement_path(&path).exists());
        let failed = Replacement::default().write(&path, |file| {
            file.write_all(b"three, in par")?;
            Err::<(), _>(io::Error::other("the disk fails"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"two", "a failed write changed the file");
        replace_file(&path, b"x").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x", "a leftover file was not overwritten");
    }

    #[test]
    fn settings_that_are_being_written_mark_a_crawl_that_is_half_begun() {
        assert_eq!(replacement_path(Path::new(SETTINGS_FILE)), Path::new(NEW_SETTINGS_FILE));
    }

    #[test]
    fn a_secret_is_for_its_owner_alone_whatever_was_there() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("key.pem");
        fs::write(&path, "old").unwrap();
        fs::write(replacement_path(&path), "left behind by a crash").unwrap();
        let secret = Replacement { mode: Some(0o600), ..Replacement::default() };
        secret.write(&path, |file| file.write_all(b"key")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
