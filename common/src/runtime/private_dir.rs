//! Directories that only their owner may enter: state, archives and keys.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Creates `path` and its missing parents with mode 0700. Existing directories keep their mode.
///
/// # Errors
/// Errors of the file system.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn new_directories_are_private_and_existing_ones_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let inner = dir.path().join("a/b");
        create_private_dir(&inner).unwrap();
        create_private_dir(&inner).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let modes = [dir.path(), &dir.path().join("a"), &inner].map(mode);
        assert_eq!(modes, [0o755, 0o700, 0o700]);
    }
}
