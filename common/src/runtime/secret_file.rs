//! Files of keys, of which only their owner may know.

use super::Replacement;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Maximum size in bytes of a secret that is read.
const SECRET_MAX: u64 = 64 << 10;

/// The reason why the file of a secret cannot be used. It never shows the content.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// The file cannot be read, or is no text.
    #[error("{0} cannot be read: {1}")]
    Unreadable(PathBuf, io::Error),
    /// Other users may read the file.
    #[error("{0} is a secret that other users of this machine may read; protect it: chmod 600 {0}")]
    Exposed(PathBuf),
    /// The file is too long for a secret.
    #[error("{0} has more than {SECRET_MAX} bytes; is it the right file?")]
    Long(PathBuf),
}

/// Reads the text of a secret from a file that its owner alone may read.
///
/// # Errors
/// [`SecretFileError`] if the file cannot be read, is too long, or if other users may read it.
pub fn read_secret(path: &Path) -> Result<String, SecretFileError> {
    let unreadable = |error| SecretFileError::Unreadable(path.to_owned(), error);
    let file = File::open(path).map_err(unreadable)?;
    // The opened file, not the path: it cannot be replaced in between.
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(SecretFileError::Exposed(path.to_owned()));
    }
    let mut text = String::new();
    let read = file.take(SECRET_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if read as u64 > SECRET_MAX {
        return Err(SecretFileError::Long(path.to_owned()));
    }
    Ok(text)
}

/// Logs a warning if other users may read the file of a secret.
pub fn warn_if_exposed(path: &Path) {
    if fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
        tracing::warn!("{} can be read by other users: chmod 600 protects it", path.display());
    }
}

/// Writes the text of a secret to a new file that its owner alone can read.
///
/// # Errors
/// Fails if the file exists or cannot be written.
pub fn write_new_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Writes the text of a secret to a file that its owner alone can read, completely or not at all.
///
/// # Errors
/// Errors of the file system.
pub fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let secret = Replacement { mode: Some(0o600), ..Replacement::default() };
    secret.write(path, |file| file.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_secret_is_read_only_if_its_owner_alone_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        assert!(matches!(read_secret(&path), Err(SecretFileError::Unreadable(..))));
        write_secret(&path, "abc").unwrap();
        assert_eq!(read_secret(&path).unwrap(), "abc");
        for mode in [0o640, 0o604, 0o660, 0o601] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read_secret(&path).unwrap_err();
            assert!(matches!(error, SecretFileError::Exposed(_)), "{mode:o}: {error}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read_secret(&path).unwrap(), "abc");
    }

    #[test]
    fn a_file_that_is_no_secret_is_refused_and_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_secret(&path, &"x".repeat(SECRET_MAX as usize)).unwrap();
        assert!(read_secret(&path).is_ok());
        write_secret(&path, &"x".repeat(SECRET_MAX as usize + 1)).unwrap();
        let error = read_secret(&path).unwrap_err();
        assert!(matches!(error, SecretFileError::Long(_)) && !error.to_string().contains("xxx"));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(matches!(read_secret(&path), Err(SecretFileError::Unreadable(..))));
    }
}
