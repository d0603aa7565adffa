//! Exactly-once fetching across power cuts. Whatever the system had written to disk, the crawl
//! resumes from its last sync, refuses nothing, and ends with exactly the expected set, each page
//! archived once. The test uses a small ext4 that is shut down without a flush, like xfstests. It
//! needs root and a loop device; elsewhere it is skipped.

use crivello_tests::{Scene, assert_agreement, seed, skipped};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use simweb::{Limits, Pace, PageKind, Robots, Spec};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;
use test_size::sized;

const DELAY: Duration = Duration::from_millis(200);
const IP_DELAY: Duration = Duration::from_millis(40);
const IMAGE_BYTES: u64 = 256 << 20;

/// `FS_IOC_SHUTDOWN`, and the flag that drops everything not on disk
/// (`EXT4_GOING_FLAGS_NOLOGFLUSH`).
const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
const WITHOUT_FLUSH: u32 = 2;

/// A disk whose power can be cut.
struct Disk {
    dir: TempDir,
    mounted: PathBuf,
}

fn run(program: &str, args: &[&str], paths: &[&Path]) -> std::io::Result<Output> {
    Command::new(program).args(args).args(paths).output()
}

impl Disk {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let (image, mounted) = (dir.path().join("image"), dir.path().join("mounted"));
        fs::create_dir(&mounted).expect("created");
        File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES)).expect("an image");
        let made = run("mkfs.ext4", &["-q", "-F"], &[&image]);
        let disk = Self { dir, mounted };
        match made.and_then(|_| disk.mount()) {
            Ok(output) if output.status.success() => Some(disk),
            other => {
                skipped(&format!("no ext4 can be mounted: {other:?}"));
                None
            }
        }
    }

    fn mount(&self) -> std::io::Result<Output> {
        run(
            "mount",
            &["-t", "ext4", "-o", "loop"],
            &[&self.dir.path().join("image"), &self.mounted],
        )
    }

    /// Drops everything that is not on disk; nothing is written from here on.
    fn cut_power(&self) {
        let root = File::open(&self.mounted).expect("open the root directory");
        let how = WITHOUT_FLUSH;
        // SAFETY: the descriptor is open, and the call reads one `u32`.
        let cut = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const how) };
        assert_eq!(cut, 0, "{}", std::io::Error::last_os_error());
    }

    fn power_on(&self) {
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
        let on = self.mount().expect("mount runs");
        assert!(on.status.success(), "{on:?}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("umount", &["-l"], &[&self.mounted]);
    }
}

/// Writes the state to disk before everything else, as the system may do at any time.
fn bring_to_disk(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // The file may have been removed meanwhile.
        let _ = File::open(entry.path()).and_then(|file| file.sync_data());
    }
}

#[test]
fn power_cuts_lose_nothing_and_archive_nothing_twice() {
    let Some(disk) = Disk::new() else { return };
    let seed = seed();
    let mut dice = SmallRng::seed_from_u64(seed);
    let spec = Spec::new(seed)
        .size(6, 4, 40)
        .ips(8)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.2, PageKind::Duplicate)
        .portion(0.1, PageKind::Redirect(302));
    let scene = Scene::new(spec)
        .out_in(&disk.mounted.join("crawl"))
        .delays("200ms", "40ms")
        .set("state.commit-pages-max=8")
        .set("state.sync-interval=300ms")
        .set("state.write-buffers=1MiB")
        .set("state.disk-free-min=1MiB");
    let n_cuts = sized(4, 8);
    for cut in 0..n_cuts {
        let mut child = scene.start();
        let n_requests = scene.web.log().len() + dice.random_range(1..60);
        scene.wait_for_requests(&mut child, n_requests);
        sleep(Duration::from_millis(dice.random_range(0..300)));
        if child.try_wait().expect("waited for").is_some() {
            // On a fast machine the crawl may end before the last cuts.
            assert!(cut >= n_cuts / 2, "cut {cut}: the crawler had ended: {}", scene.said());
            break;
        }
        if dice.random_bool(0.7) {
            bring_to_disk(&scene.out().join("state"));
        }
        disk.cut_power();
        child.kill().expect("kill the child");
        let _ = child.wait().expect("waited for");
        disk.power_on();
    }
    let ended = scene.crawl().succeeded();
    assert!(ended.report["resumed"] == true, "{}", ended.report);
    // The number of repeats depends on timing: at most the pages of a sync interval.
    let judge = scene.judge(Limits::default(), Pace::delays(DELAY, IP_DELAY));
    scene.assert_clean(&judge.allow_repeats(scene.web.log().len() as u64));
    assert_agreement(&scene, &ended);
}
