//! A small file system, for tests of full disks. It is a tmpfs, which needs root; elsewhere such tests
//! are skipped.

use crate::skipped;
use rustix::fs::statvfs;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const BLOCK: usize = 64 << 10;

/// A small file system that is unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts a file system of this size; `None` if the test must be skipped, because that needs root.
    ///
    /// # Panics
    /// Panics if there is no temporary directory.
    #[must_use]
    pub fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "crivello-test"])
            .arg(dir.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(dir)),
            other => {
                skipped(&format!("no tmpfs can be mounted: {other:?}"));
                None
            }
        }
    }

    /// Returns the root of the file system.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the disk until less than `rest` bytes are free. Returns the file to delete.
    pub fn fill(&self, rest: u64) -> PathBuf {
        fill(self.path(), rest)
    }
}

/// Fills a file system until less than `rest` bytes are free. Returns the file to delete.
///
/// # Panics
/// Panics if nothing can be written at all.
pub fn fill(root: &Path, rest: u64) -> PathBuf {
    let free = || {
        let disk = statvfs(root).expect("the free space of the disk");
        disk.f_bavail * disk.f_frsize
    };
    let mut paths = (0..).map(|n| root.join(format!("ballast-{n}")));
    let path = paths.find(|path| !path.exists()).expect("a free name");
    let mut file = File::create(&path).expect("created");
    while free() >= rest {
        let block = vec![0x55; BLOCK.min(usize::try_from(free()).unwrap_or(BLOCK).max(1))];
        if file.write_all(&block).is_err() {
            break;
        }
    }
    path
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}
