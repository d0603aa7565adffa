//! Files of keys, of which only their owner may know.

use super::Replacement;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Logs a warning if other users may read the file of a secret.
pub fn warn_if_exposed(path: &Path) {
    if fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
        tracing::warn!("{} can be read by other users: chmod 600 protects it", path.display());
    }
}

/// Writes the text of a secret to a file that its owner alone can read, completely or not at all.
///
/// # Errors
/// Errors of the file system.
pub fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let secret = Replacement { mode: Some(0o600), ..Replacement::default() };
    secret.write(path, |file| file.write_all(text.as_bytes()))
}
