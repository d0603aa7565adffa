//! Disks whose power can be cut: an ext4 in a file that is shut down without a flush, like xfstests.
//! They need root and loop devices; elsewhere such tests are skipped.

use crate::cluster::{COORDINATOR, Cluster};
use crate::skipped;
use crate::small_disk::fill;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// `FS_IOC_SHUTDOWN`, and the flag that drops everything not on disk
/// (`EXT4_GOING_FLAGS_NOLOGFLUSH`).
const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
const WITHOUT_FLUSH: u32 = 2;

/// A disk whose power can be cut. It is unmounted and deleted when dropped.
#[derive(Debug)]
pub struct PowerDisk {
    dir: TempDir,
    mounted: PathBuf,
}

fn run(program: &str, args: &[&str], paths: &[&Path]) -> std::io::Result<Output> {
    Command::new(program).args(args).args(paths).output()
}

impl PowerDisk {
    /// Makes a disk of this size; `None` if the test must be skipped, because that needs root.
    ///
    /// # Panics
    /// Panics if there is no temporary directory.
    #[must_use]
    pub fn mount(bytes: u64) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let (image, mounted) = (dir.path().join("image"), dir.path().join("mounted"));
        fs::create_dir(&mounted).expect("created");
        File::create(&image).and_then(|file| file.set_len(bytes)).expect("an image");
        let made = run("mkfs.ext4", &["-q", "-F", "-m", "0"], &[&image]);
        let disk = Self { dir, mounted };
        match made.and_then(|_| disk.remount()) {
            Ok(output) if output.status.success() => Some(disk),
            other => {
                skipped(&format!("no ext4 can be mounted: {other:?}"));
                None
            }
        }
    }

    /// Space of deleted files is returned to the disk of the image: tests fill their disks again and
    /// again.
    fn remount(&self) -> std::io::Result<Output> {
        run(
            "mount",
            &["-t", "ext4", "-o", "loop,discard"],
            &[&self.dir.path().join("image"), &self.mounted],
        )
    }

    /// Returns the root of the file system.
    pub fn path(&self) -> &Path {
        &self.mounted
    }

    /// Fills the disk until less than `rest` bytes are free. Returns the file to delete.
    pub fn fill(&self, rest: u64) -> PathBuf {
        fill(&self.mounted, rest)
    }

    /// Writes the files of a directory to disk, as the system may do at any time.
    pub fn write_back(&self, dir: &Path) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            // The file may have been removed meanwhile.
            let _ = File::open(entry.path()).and_then(|file| file.sync_data());
        }
    }

    /// Drops everything that is not on disk; nothing is written from here on.
    ///
    /// # Panics
    /// Panics if the file system cannot be shut down.
    pub fn cut_power(&self) {
        let root = File::open(&self.mounted).expect("open the root directory");
        let how = WITHOUT_FLUSH;
        // SAFETY: the descriptor is open, and the call reads one `u32`.
        let cut = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const how) };
        assert_eq!(cut, 0, "{}", std::io::Error::last_os_error());
    }

    /// Mounts the disk again. Processes that used it must be dead.
    ///
    /// # Panics
    /// Panics if it cannot be mounted.
    pub fn power_on(&self) {
        // Files of a killed process may take a moment to be closed.
        let mut off = run("umount", &[], &[&self.mounted]).expect("umount runs");
        for _ in 0..100 {
            if off.status.success() {
                break;
            }
            sleep(Duration::from_millis(100));
            off = run("umount", &[], &[&self.mounted]).expect("umount runs");
        }
        assert!(off.status.success(), "{off:?}");
        let on = self.remount().expect("mount runs");
        assert!(on.status.success(), "{on:?}");
    }
}

impl Drop for PowerDisk {
    fn drop(&mut self) {
        let _ = run("umount", &["-l"], &[&self.mounted]);
    }
}

/// The disks of the members of a cluster. Their power is cut for all at once.
#[derive(Debug)]
pub struct Rack {
    bytes: u64,
    disks: BTreeMap<String, PowerDisk>,
}

impl Rack {
    /// Makes a rack with the disk of a coordinator that has not been started; all its disks have this
    /// size. Returns `None` if the test must be skipped, because that needs root.
    #[must_use]
    pub fn mount(cluster: &Cluster, bytes: u64) -> Option<Self> {
        let disk = PowerDisk::mount(bytes)?;
        let mut rack = Self { bytes, disks: BTreeMap::new() };
        rack.insert(cluster, COORDINATOR, disk);
        Some(rack)
    }

    /// Makes the disk of an agent that has not been started.
    ///
    /// # Panics
    /// Panics if it cannot be mounted.
    pub fn add(&mut self, cluster: &Cluster, name: &str) {
        let disk = PowerDisk::mount(self.bytes).expect("one disk more");
        self.insert(cluster, name, disk);
    }

    fn insert(&mut self, cluster: &Cluster, name: &str, disk: PowerDisk) {
        let data = disk.path().join("data");
        fs::create_dir(&data).expect("created");
        symlink(&data, cluster.disk(name)).expect("linked");
        self.disks.insert(name.to_owned(), disk);
    }

    /// Removes the disk of an agent that does not run.
    pub fn remove(&mut self, name: &str) {
        self.disks.remove(name);
    }

    /// Returns the disk of a member.
    pub fn disk(&self, name: &str) -> &PowerDisk {
        &self.disks[name]
    }

    /// Cuts the power of all disks, kills the members that run, and mounts the disks again. The
    /// system writes the states of `written` to disk just before.
    ///
    /// # Panics
    /// Panics if a disk cannot be mounted again.
    pub fn cut_power(&self, cluster: &mut Cluster, running: &[String], written: &[String]) {
        // Otherwise they would log that nothing can be written.
        running.iter().for_each(|name| cluster.freeze(name));
        for name in written {
            self.disks[name].write_back(&cluster.disk(name).join("state"));
        }
        self.disks.values().for_each(PowerDisk::cut_power);
        running.iter().for_each(|name| cluster.kill9(name));
        self.disks.values().for_each(PowerDisk::power_on);
    }
}
