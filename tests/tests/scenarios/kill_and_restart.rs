//! Exactly-once fetching across terminations. After kills −9 at random moments, and after one or
//! two Ctrl-C, the crawl that is resumed in the same directory ends with exactly the expected set.
//! No page is archived twice, and only pages in flight and in the open commit are fetched again.

use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Ended, Scene, assert_agreement, binary, is_page, output, seed};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use simweb::{Character, Entry, JudgeLimits, Manner, Pace, PageKind, Robots, Spec};
use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use test_size::sized;

const VISITS_MAX: usize = 4;
const COMMIT_PAGES_MAX: usize = 4;
/// Sieves; each run of the process uses a random one.
const SIEVES: [&str; 5] = ["rocksdb", "quotient", "memory", "bloom", "blocked-bloom"];
const DELAY: Duration = Duration::from_millis(200);
const IP_DELAY: Duration = Duration::from_millis(40);

fn spec(seed: u64) -> Spec {
    Spec::new(seed)
        .size(6, 4, 20)
        .ips(8)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.1, PageKind::Duplicate)
        .portion(0.1, PageKind::Redirect(302))
        .portion(0.05, PageKind::Status(404))
}

/// Returns a crawl with small commits, so that few pages are in the open one.
fn scene(seed: u64) -> Scene {
    Scene::new(spec(seed))
        .delays("200ms", "40ms")
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set(&format!("state.commit-pages-max={COMMIT_PAGES_MAX}"))
        .set("state.sync-interval=1h")
}

fn pace() -> Pace {
    Pace::delays(DELAY, IP_DELAY)
}

/// Returns the number of complete answers with a page beyond the first one.
fn n_repeats(log: &[Entry]) -> usize {
    let mut seen = HashSet::new();
    log.iter().filter(|e| is_page(e) && e.complete && !seen.insert(e.url())).count()
}

/// Waits until the archive grows or the crawler has ended.
fn wait_for_append(warc: &Path, child: &mut Child) {
    let Some(last) = listed(warc, ".warc.gz").pop() else { return };
    let length = || std::fs::metadata(&last).map_or(0, |file| file.len());
    let before = length();
    while length() == before && child.try_wait().expect("waited for").is_none() {}
}

#[test]
fn kills_lose_nothing_and_archive_nothing_twice() {
    let n_kills = sized(8, 20);
    let seed = seed();
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut scene = scene(seed);
    for _ in 0..n_kills {
        let sieve = SIEVES[dice.random_range(0..SIEVES.len())];
        scene = scene.set(&format!("state.sieve={sieve}"));
        let mut child = scene.start();
        let n_requests = scene.web.log().len() + dice.random_range(1..30);
        match dice.random_range(0..4) {
            // At any moment from the start.
            0 => sleep(Duration::from_millis(dice.random_range(0..300))),
            // During the crawl.
            1 | 2 => {
                scene.wait_for_requests(&mut child, n_requests);
                sleep(Duration::from_millis(dice.random_range(0..50)));
            }
            // At the worst moment: pages are in the archive but not yet in the state.
            _ => {
                scene.wait_for_requests(&mut child, n_requests);
                wait_for_append(&scene.out().join("warc"), &mut child);
            }
        }
        assert!(child.try_wait().expect("waited for").is_none(), "ended before it was killed");
        child.kill().expect("kill the child");
        let _ = scene.end(child);
    }
    let ended = scene.crawl().succeeded();
    assert!(ended.stderr.contains("resum") || ended.report["resumed"] == true);
    // Pages in flight, in the open commit, and in transit between the two.
    let repeats_max = n_kills * (VISITS_MAX + COMMIT_PAGES_MAX);
    let repeats = n_repeats(&scene.web.log().entries());
    println!("{repeats} repeats in {n_kills} kills; the maximum is {repeats_max}");
    let judge = scene.judge(JudgeLimits::default(), pace()).allow_repeats(repeats_max as u64);
    scene.assert_clean(&judge);
    assert_agreement(&scene, &ended);
}

/// In the first moments there is a directory, but no crawl in it yet.
#[test]
fn a_kill_in_the_first_moments_leaves_nothing_that_is_in_the_way() {
    let seed = seed();
    let mut dice = SmallRng::seed_from_u64(seed);
    for life in 0..sized(5, 12) {
        let scene = Scene::new(Spec::new(seed).size(1, 1, 2)).delays("10ms", "0ms");
        let mut child = scene.start();
        sleep(Duration::from_micros(dice.random_range(0..40_000)));
        if dice.random_bool(0.5) {
            // Exactly when the state is created.
            while !scene.out().join("state").exists() && child.try_wait().expect("").is_none() {}
            sleep(Duration::from_micros(dice.random_range(0..10_000)));
        }
        child.kill().expect("kill the child");
        let _ = scene.end(child);
        let ended = scene.crawl();
        assert_eq!(ended.code, Some(0), "life {life}: {}", ended.stderr);
        let judge = scene
            .judge(JudgeLimits::default(), Pace::delays(Duration::from_millis(10), Duration::ZERO))
            .allow_repeats(2);
        scene.assert_clean(&judge);
    }
}

/// Resumes a crawl from its directory alone, without seeds, contact or settings.
fn resume_bare(scene: &Scene) -> Ended {
    let report = scene.dir().join("report.json");
    let _ = std::fs::remove_file(&report);
    let mut command = Command::new(binary());
    command.args(["crawl", "--out"]).arg(scene.out()).arg("--report").arg(&report);
    let output = output(&mut command);
    let json = std::fs::read_to_string(&report).unwrap_or_default();
    Ended {
        code: output.status.code(),
        report: serde_json::from_str(&json).unwrap_or_default(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        usage: crivello_tests::Usage::default(),
    }
}

#[test]
fn ctrl_c_ends_in_order_and_nothing_is_fetched_twice() {
    let scene = scene(seed());
    for _ in 0..3 {
        let mut child = scene.start();
        let n_requests = scene.web.log().len() + 40;
        scene.wait_for_requests(&mut child, n_requests);
        child.stop();
        let ended = scene.end(child);
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        assert_eq!(ended.report["ended"], "stopped", "{}", ended.report);
        assert!(ended.stderr.contains("crivello crawl --out"), "{}", ended.stderr);
        let archive = Archive::read(&scene.out());
        assert_eq!(ended.count("totals/pages"), archive.pages().len() as u64);
    }
    let ended = resume_bare(&scene).succeeded();
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace()));
    assert_agreement(&scene, &ended);
}

#[test]
fn a_second_ctrl_c_leaves_at_once_and_loses_nothing() {
    // Answers are slow, so that an orderly end takes a while and the second signal still finds the
    // process running.
    let slow = Manner::Drip { bytes_per_second: 3_000 };
    let scene = Scene::new(
        Spec::new(seed()).size(2, 2, 2).share(1.0, Character::named("slow").manner(slow)),
    )
    .delays("50ms", "10ms");
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, 3);
    sleep(Duration::from_millis(300));
    child.stop();
    scene.wait_for_log(&mut child, "stopping");
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.report.is_null(), "the second signal did not exit at once: {}", ended.report);
    let ended = resume_bare(&scene).succeeded();
    let pace = Pace::delays(Duration::from_millis(50), Duration::from_millis(10));
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace).allow_repeats(4));
    assert_agreement(&scene, &ended);
}

/// Returns the paths and contents of all files in a directory.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").path()) {
        if entry.is_file() {
            files.insert(entry.display().to_string(), std::fs::read(&entry).expect("readable"));
        }
    }
    files
}

#[test]
fn another_crawl_in_the_directory_is_refused_and_nothing_is_changed() {
    let scene = scene(seed());
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, 40);
    child.stop();
    assert_eq!(scene.end(child).code, Some(130));
    let before = (contents(&scene.out()), contents(&scene.out().join("warc")));
    let n_requests = scene.web.log().len();
    let seeds = scene.dir().join("seeds.txt");
    // The first seed belongs to the crawl, the second does not.
    let text = format!("{}\nhttp://elsewhere.test/\n", scene.web.seeds()[0]);
    std::fs::write(&seeds, text).expect("written");
    let seeds = seeds.display().to_string();
    let by_host = ["identity.assign-by=host", "limits.hosts-per-domain-max=none"];
    let others: [(&[&str], &str); 4] = [
        (&["http://elsewhere.test/", "--contact=me@b.example"], "elsewhere.test"),
        (&["--seeds", &seeds, "--contact=me@b.example", "--delay=0s"], "elsewhere.test"),
        (&["--set", by_host[0], "--set", by_host[1]], "another crawl"),
        (&["--set", "store.digest=sha256"], "another crawl"),
    ];
    for (args, word) in others {
        let mut command = Command::new(binary());
        let output = output(command.args(["crawl", "--out"]).arg(scene.out()).args(args));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{args:?}: {stderr}");
        assert!(stderr.contains(word) && stderr.contains("--out"), "{args:?}: {stderr}");
        let after = (contents(&scene.out()), contents(&scene.out().join("warc")));
        assert!(before == after, "{args:?} changed files");
        assert_eq!(scene.web.log().len(), n_requests, "{args:?} fetched something");
    }
    let ended = resume_bare(&scene).succeeded();
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace()));
    assert_agreement(&scene, &ended);
}

/// Returns the bytes that a process has read so far, without RocksDB's background threads.
fn bytes_read(child: &Child) -> u64 {
    let tasks =
        std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("the crawler is running");
    let mut bytes = 0;
    for task in tasks.map(|task| task.expect("an entry").path()) {
        let read = |name: &str| std::fs::read_to_string(task.join(name)).unwrap_or_default();
        if !read("comm").starts_with("rocksdb") {
            let counted = read("io").lines().find_map(|l| l.strip_prefix("rchar: ")?.parse().ok());
            bytes += counted.unwrap_or(0_u64);
        }
    }
    bytes
}

/// Returns the bytes that a start reads and the size of the state, with `n_urls` URLs in the
/// frontier.
fn start_cost(n_urls: usize) -> (u64, u64) {
    let scene = Scene::new(Spec::new(1).size(10, 4, 2).latency_ms(1_000, 1_000))
        .delays("1h", "0ms")
        .set("state.write-buffers=1MiB")
        .set("state.window-urls-max=1000");
    let seeds: Vec<String> = scene.web.seeds();
    let mut command = scene.command();
    command.args(["--seeds", "-"]).stdin(Stdio::piped());
    let mut child = scene.start_as(command);
    // Everything except the last few KiB in the pipe has been read.
    let mut pipe = child.stdin.take().expect("piped");
    for n in 0..n_urls {
        writeln!(pipe, "{}x/{n}", seeds[n % seeds.len()]).expect("the crawler reads its input");
    }
    drop(pipe);
    child.stop();
    assert_eq!(child.wait().expect("waited for").code(), Some(130));
    let state = std::fs::read_dir(scene.out().join("state")).expect("a state");
    let size = state.map(|entry| entry.expect("an entry").metadata().map_or(0, |m| m.len())).sum();
    let mut command = Command::new(binary());
    command.args(["crawl", "--out"]).arg(scene.out()).stdin(Stdio::null());
    let mut child = scene.start_as(command);
    scene.wait_for_log(&mut child, " pages, ");
    let read = bytes_read(&child);
    child.kill().expect("kill the child");
    let _ = child.wait();
    (read, size)
}

/// Maximum number of bytes that a start reads. The log is at most 4 MiB here, somewhat more while a
/// flush is pending, and it is read when the state is checked and when it is opened.
const READ_MAX: u64 = 16 << 20;

/// The bytes read at a start do not grow with the frontier. From a much larger state, only the
/// logs, which are bounded, the ends of the tables and some rows are read.
#[test]
fn a_start_does_not_read_the_frontier() {
    let (small_read, small_size) = start_cost(2_000);
    let (large_read, large_size) = start_cost(1_200_000);
    println!("{small_read} of {small_size} bytes read, {large_read} of {large_size}");
    assert!(large_size > 2 * READ_MAX, "the state is too small for this test: {large_size}");
    assert!(large_read < READ_MAX, "{large_read} of {large_size} bytes were read at the start");
}
