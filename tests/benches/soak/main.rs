//! `make bench-soak`: a crawl at full rate for two hours. Memory, time in queues, and the numbers
//! of files, sockets and threads must not grow, and the rate must not fall.
//!
//! The web is endless: every host has a calendar, so each fetched page adds about one new page, and
//! the queue keeps its length. A fifth of the hosts use TLS; a tenth close the connection after
//! each page. There is no delay. The archive would need some dozens of GB, so all of its files
//! except the latest two, which the crawler never reads again, are deleted during the soak. The
//! state on disk does grow, by the seen URLs.
//!
//! A sample is taken every ten seconds, and a line is printed every minute. At the end, the last
//! quarter is compared with the second, because caches fill during the first. If one of the bounds
//! in `verdict` is exceeded, the exit code is 1, and a sentence names the bound.
//!
//! `CRIVELLO_SOAK_MINUTES` sets the duration (default 120).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod verdict;

use crivello_tests::{Look, Scene, Stretch, env_value};
use simweb::{Character, Content, SeedChoice, Spec};
use std::path::Path;
use std::time::{Duration, SystemTime};

const HOSTS: u32 = 2_000;
const VISITS: u32 = 256;
const LOOK_EVERY: Duration = Duration::from_secs(10);
const LOOKS_A_LINE: usize = 6;
/// Number of archive files that are kept: the one being written, and one more.
const FILES_KEPT: usize = 2;

/// A sample, and the changes since the previous one.
pub struct Seen {
    look: Look,
    over: Stretch,
}

fn main() {
    let minutes: f64 = env_value("CRIVELLO_SOAK_MINUTES").unwrap_or(120.0);
    let time = Duration::from_secs_f64(60.0 * minutes);
    let scene = Scene::new(web())
        .delays("0s", "0s")
        .set(&format!("fetch.visits-max={VISITS}"))
        .set("store.file-size-max=256MiB")
        .arg("--http=127.0.0.1:0")
        .within(time + Duration::from_secs(600));
    let mut crawl = scene.start();
    let watched = scene.watch(&mut crawl);
    println!(
        "| minutes | pages | pages/s | CPU µs/page | resident MiB | files | sockets | threads | \
         hosts | URLs queued, thousands | waited, ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let begun = watched.look();
    let mut minute = begun.clone();
    let mut seen: Vec<Seen> = Vec::new();
    let mut last = begun.clone();
    while last.at.since(begun.at) < time {
        std::thread::sleep(LOOK_EVERY);
        // The web keeps every request until it is taken.
        drop(scene.web.log().take());
        forget_archive(&scene.out().join("warc"));
        let look = watched.look();
        let over = look.since(&last);
        last = look.clone();
        seen.push(Seen { look, over });
        if seen.len().is_multiple_of(LOOKS_A_LINE) {
            print(&begun, &minute, &last);
            minute = last.clone();
        }
    }
    crawl.stop();
    let ended = scene.end(crawl);
    // Exit code of a stop with the state saved.
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let faults = verdict::faults(&seen);
    faults.iter().for_each(|fault| println!("{fault}"));
    std::process::exit(i32::from(!faults.is_empty()));
}

fn web() -> Spec {
    let calendar = |name| Character::named(name).content(Content::Calendar);
    let mut spec =
        Spec::new(29).size(HOSTS, 1, 1).ips(0).links(8).tls(0.2).seeds(SeedChoice::Hosts);
    spec.body_bytes = 2_000;
    spec.share(0.1, Character { keep_alive: Some(false), ..calendar("closing") })
        .share(0.9, calendar("calendar"))
}

fn print(begun: &Look, before: &Look, look: &Look) {
    let over = look.since(before);
    println!(
        "| {:.0} | {:.0} | {:.0} | {:.0} | {} | {} | {} | {} | {:.0} | {:.0} | {:.1} |",
        look.at.since(begun.at).as_secs_f64() / 60.0,
        look.number("crivello_pages_fetched_total"),
        over.pages_a_second(),
        over.cpu_a_page(),
        look.resident >> 20,
        look.files,
        look.sockets,
        look.threads,
        look.number("crivello_hosts"),
        look.number("crivello_urls_queued") / 1e3,
        over.waited * 1e3,
    );
}

/// Deletes finished files of the archive.
fn forget_archive(warc: &Path) {
    let Ok(files) = std::fs::read_dir(warc) else { return };
    let mut files: Vec<(SystemTime, _)> = files
        .filter_map(|file| {
            let path = file.ok()?.path();
            let is_archive = path.extension().is_some_and(|e| e == "gz");
            let written = path.metadata().ok()?.modified().ok()?;
            is_archive.then_some((written, path))
        })
        .collect();
    files.sort_unstable();
    let n_finished = files.len().saturating_sub(FILES_KEPT);
    for (_, path) in &files[..n_finished] {
        // The file may have disappeared at the end of the crawl.
        let _ = std::fs::remove_file(path);
    }
}
