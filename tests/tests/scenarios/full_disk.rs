//! A disk that fills up: fetching stops, nothing is lost, and the crawl resumes by itself when
//! space is free again. The test uses a small tmpfs, which needs root; elsewhere it is skipped.

use crivello_tests::{Running, Scene, SmallDisk, assert_agreement, seed};
use simweb::{JudgeLimits, Pace, PageKind, Spec};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(50);

fn scene(pages_per_host: u32) -> Scene {
    let mut spec = Spec::new(seed()).size(6, 4, pages_per_host).ips(12).links(40);
    spec.body_bytes = 12_000;
    Scene::new(spec.portion(0.3, PageKind::Binary))
        .delays("50ms", "0ms")
        .set("state.write-buffers=1MiB")
        .allow_log_line("the disk is")
}

/// Checks that there are no more requests once the visits in flight have ended.
fn assert_stopped(scene: &Scene, child: &mut Child) {
    sleep(Duration::from_secs(1));
    let n_requests = scene.web.log().len();
    sleep(Duration::from_millis(1_500));
    assert_eq!(scene.web.log().len(), n_requests, "fetched although the disk is full");
    assert!(child.try_wait().expect("waited for").is_none(), "the crawler ended: {}", scene.log());
}

/// Starts the crawl, fills the disk after this many requests until less than `rest` bytes are free,
/// and waits until the crawler has logged `words`. Returns the crawler and the file to delete.
fn start_and_fill(
    scene: &Scene,
    disk: &SmallDisk,
    n_requests: usize,
    rest: u64,
    words: &str,
) -> (Running, PathBuf) {
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, n_requests);
    let ballast = disk.fill(rest);
    scene.wait_for_log(&mut child, words);
    (child, ballast)
}

/// Checks that the crawl stopped, frees space, and checks the rest of the crawl: nothing is lost, and
/// nothing is fetched or archived twice.
fn go_on(scene: &Scene, mut child: Running, ballast: &Path) {
    assert_stopped(scene, &mut child);
    let n_requests = scene.web.log().len();
    fs::remove_file(ballast).expect("removed");
    scene.wait_for_log(&mut child, "the disk has free space again");
    let ended = scene.end(child).succeeded();
    assert!(
        scene.web.log().len() > n_requests,
        "nothing was fetched after the disk had free space"
    );
    let pace = Pace::delays(DELAY, Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    assert_agreement(scene, &ended);
}

#[test]
fn fetching_stops_before_the_disk_is_full_and_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount("96m") else { return };
    let scene = scene(25).out_in(&disk.path().join("crawl")).set("state.disk-free-min=16MiB");
    let (child, ballast) = start_and_fill(&scene, &disk, 100, 12 << 20, "the disk is nearly full");
    go_on(&scene, child, &ballast);
}

#[test]
fn a_disk_without_any_room_loses_nothing() {
    let Some(disk) = SmallDisk::mount("96m") else { return };
    let scene = scene(25).out_in(&disk.path().join("crawl")).set("state.disk-free-min=1B");
    let (child, ballast) = start_and_fill(&scene, &disk, 100, 1, "the disk is full");
    go_on(&scene, child, &ballast);
}

/// Only the disk of the state is full, so the database fails to write, not the archive.
#[test]
fn a_database_without_any_room_recovers() {
    let Some(disk) = SmallDisk::mount("48m") else { return };
    // Needs several times the space that the log may have reserved.
    let scene = scene(300)
        .set("state.disk-free-min=1B")
        .set("state.commit-pages-max=1")
        .set("links.per-page-max=40");
    fs::create_dir(scene.out()).expect("created");
    // Prepares a directory like a crawl that has just been created, with its state on another disk.
    fs::write(scene.out().join("crawl.toml.new"), "").expect("written");
    fs::create_dir(disk.path().join("state")).expect("created");
    symlink(disk.path().join("state"), scene.out().join("state")).expect("linked");
    let (child, ballast) = start_and_fill(&scene, &disk, 60, 1, "the disk is full");
    go_on(&scene, child, &ballast);
}

/// A crawl that is stopped while the disk is full reports that, and is resumed later without a
/// loss.
#[test]
fn a_crawl_that_ends_on_a_full_disk_can_be_resumed() {
    let Some(disk) = SmallDisk::mount("96m") else { return };
    let scene = scene(25)
        .out_in(&disk.path().join("crawl"))
        .set("state.disk-free-min=1B")
        .allow_log_line("the crawl cannot continue");
    let (child, ballast) = start_and_fill(&scene, &disk, 100, 1, "the disk is full");
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(70), "{}", ended.stderr);
    assert!(ended.stderr.contains("the disk is full"), "{}", ended.stderr);
    fs::remove_file(&ballast).expect("removed");
    let ended = scene.crawl().succeeded();
    let pace = Pace::delays(DELAY, Duration::ZERO);
    // Pages that were in the pipeline are fetched again.
    let judge =
        scene.judge(JudgeLimits::default(), pace).allow_repeats(scene.web.log().len() as u64);
    scene.assert_clean(&judge);
    assert_agreement(&scene, &ended);
}
