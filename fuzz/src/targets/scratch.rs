//! Directories of targets that read files, in memory where the system has such a place.

use std::path::Path;
use tempfile::TempDir;

/// Creates a directory that is removed when it is dropped.
///
/// # Panics
/// Panics if it cannot be created.
#[expect(clippy::expect_used, reason = "without a directory nothing can be tried")]
pub fn directory() -> TempDir {
    let in_memory = Path::new("/dev/shm");
    let made = tempfile::Builder::new().prefix("crivello-fuzz-").tempdir_in(in_memory);
    made.or_else(|_| tempfile::tempdir()).expect("a directory")
}
