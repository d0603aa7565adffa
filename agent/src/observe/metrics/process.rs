//! Resources that this process uses, as reported by the system.

use std::fs;
use std::path::Path;

/// Resources of this process. A value that the system does not report is 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process {
    /// Bytes of resident memory.
    pub resident: u64,
    /// Number of open files and sockets.
    pub files: u64,
}

impl Process {
    /// Returns the present values.
    pub fn look() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let files = fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
        Self { resident: kib(&status, "VmRSS:") << 10, files }
    }
}

/// Returns the value of a line such as `VmRSS:     1234 kB`, in KiB.
fn kib(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the bytes of the files in a directory, and in directories below it.
pub fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let bytes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(file) if file.is_dir() => bytes_in(&entry.path()),
        Ok(file) => file.len(),
        // The file has been deleted since.
        Err(_) => 0,
    });
    bytes.sum()
}

/// Returns the free bytes of the file system that contains `dir`.
pub fn bytes_free(dir: &Path) -> u64 {
    crate::storage::free_space(dir).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_memory_and_files() {
        let process = Process::look();
        assert!(process.resident > 1 << 20 && process.files >= 3, "{process:?}");
        assert_eq!(kib("Name: x\nVmRSS:\t    12 kB\n", "VmRSS:"), 12);
        assert_eq!(kib("VmRSS: many kB", "VmRSS:"), 0);
    }

    #[test]
    fn files_in_directories_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("a"), [0; 10]).unwrap();
        fs::write(dir.path().join("below/b"), [0; 5]).unwrap();
        assert_eq!(bytes_in(dir.path()), 15);
        assert_eq!(bytes_in(&dir.path().join("gone")), 0);
        assert!(bytes_free(dir.path()) > 0);
    }
}
