//! The index of near-duplicates: CPU of a look-up and of what is stored, bytes on disk and memory, as the number of
//! pages grows. The index, its batches on disk and its merges are real. Fingerprints are random, which is the worst case for
//! the disk; of each ten pages one is near to an earlier one. Pages of one commit in ten are looked up.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default two million), `CRIVELLO_BENCH_TABLES` that of tables (4 or
//! 10, default 4), `CRIVELLO_BENCH_DIR` the directory.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod memory;

use crivello_agent::process::near::{NearIndex, NewPage};
use crivello_agent::storage::near::{NearEntry, NearPlace, add_row};
use crivello_agent::storage::{Batch, Database};
use crivello_common::config::State;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use memory::memory;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Pages of one commit.
const PAGES_A_COMMIT: u64 = 1_000;
/// Pages between two syncs.
const PAGES_A_SYNC: u64 = 10 * PAGES_A_COMMIT;
/// Time between two looks for pages to merge.
const MERGER_PAUSE: Duration = Duration::from_millis(10);
/// Number of commits of which one is looked up.
const COMMITS_A_LOOK_UP: u64 = 10;
/// Number of lines that are printed.
const LINES: u64 = 16;
/// Fingerprints of earlier pages that are kept, to make near ones.
const KEPT: usize = 100_000;
/// Pages of an archive file.
const PAGES_A_FILE: u64 = 1 << 14;

fn main() {
    let wanted = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let n_pages: u64 = wanted("CRIVELLO_BENCH_PAGES").unwrap_or(2_000_000);
    let n_tables = wanted("CRIVELLO_BENCH_TABLES").map_or(4, |n| n as u32);
    let dir = match std::env::var_os("CRIVELLO_BENCH_DIR") {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    }
    .expect("a directory");
    let settings = State { near_tables: n_tables, ..State::default() };
    let state = dir.path().join("state");
    let disk = Arc::new(Database::open(&state, true, &settings).expect("the database opens"));
    let index = Arc::new(
        NearIndex::open(disk.clone(), n_tables, dir.path().join("warc")).expect("the index opens"),
    );
    let url = CrawlUrl::parse("https://crivello.example/").expect("a URL");
    let mut rng = SmallRng::seed_from_u64(17);
    let mut kept: Vec<u64> = Vec::with_capacity(KEPT);
    println!(
        "pages      look-up CPU µs   commit CPU µs   all threads CPU µs   bytes a page   memory MiB"
    );
    let is_over = Arc::new(AtomicBool::new(false));
    let merger = {
        let (index, is_over) = (index.clone(), is_over.clone());
        std::thread::spawn(move || {
            while !is_over.load(Relaxed) {
                index.store.merge(&|| is_over.load(Relaxed)).ok();
                std::thread::sleep(MERGER_PAUSE);
            }
        })
    };
    let commits = n_pages.div_ceil(PAGES_A_COMMIT);
    let mut n_done = 0;
    for line in 0..LINES {
        let until = commits * (line + 1) / LINES * PAGES_A_COMMIT;
        let n_before = n_done;
        let (mut look_up, mut commit, process) = (0, 0, process_cpu());
        while n_done < until {
            let fingerprints: Vec<u64> =
                (0..PAGES_A_COMMIT).map(|_| draw(&mut rng, &mut kept)).collect();
            let begun = thread_cpu();
            let is_looked_up = (n_done / PAGES_A_COMMIT).is_multiple_of(COMMITS_A_LOOK_UP);
            for &fingerprint in fingerprints.iter().filter(|_| is_looked_up) {
                let page = NewPage {
                    fingerprint,
                    url: &url,
                    at: Timestamp::from_secs(0),
                    last_capture: None,
                };
                drop(index.claim(page, false));
            }
            let looked_up = thread_cpu();
            // As the writer does.
            let mut batch = Batch::default();
            let mut entries = Vec::with_capacity(fingerprints.len());
            for &fingerprint in &fingerprints {
                let place = NearPlace {
                    file: (n_done / PAGES_A_FILE) as u16,
                    offset: (n_done % PAGES_A_FILE) as u32,
                };
                let entry = NearEntry { place, domain: 0, is_followed: true };
                add_row(&mut batch, fingerprint, entry);
                entries.push((fingerprint, entry));
                n_done += 1;
            }
            index.store.add_merged(&mut batch);
            disk.commit(&batch).expect("a commit");
            index.store.on_committed();
            entries.iter().for_each(|&(bits, entry)| index.store.add(bits, entry));
            if n_done.is_multiple_of(PAGES_A_SYNC) {
                disk.sync().expect("a sync");
                index.store.on_synced();
            }
            look_up += looked_up - begun;
            commit += thread_cpu() - looked_up;
        }
        let a_page = |ns: u64| ns as f64 / 1e3 / (n_done - n_before).max(1) as f64;
        println!(
            "{n_done:>9}  {:>14.1}   {:>13.1}   {:>18.1}   {:>12.1}   {:>10}",
            a_page(look_up * COMMITS_A_LOOK_UP),
            a_page(commit),
            a_page(process_cpu() - process),
            size(&state) as f64 / n_done.max(1) as f64,
            memory("VmRSS:") >> 20
        );
    }
    is_over.store(true, Relaxed);
    merger.join().expect("the merger ends");
    println!("peak memory {} MiB", memory("VmHWM:") >> 20);
}

/// Returns a random fingerprint, one in ten near to an earlier one.
fn draw(rng: &mut SmallRng, kept: &mut Vec<u64>) -> u64 {
    let mut fingerprint = rng.random();
    if !kept.is_empty() && rng.random_range(0..10) == 0 {
        fingerprint = kept[rng.random_range(0..kept.len())];
        for _ in 0..rng.random_range(0..4) {
            fingerprint ^= 1 << rng.random_range(0..64);
        }
    }
    match kept.len() < KEPT {
        true => kept.push(fingerprint),
        false => kept[rng.random_range(0..KEPT)] = fingerprint,
    }
    fingerprint
}

/// Returns the CPU time of this thread in nanoseconds.
fn thread_cpu() -> u64 {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with schedstat");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds")
}

/// Returns the CPU time of all threads in nanoseconds.
fn process_cpu() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
    let of = |dir: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let text = std::fs::read_to_string(dir.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    threads.filter_map(of).sum()
}

/// Returns the bytes of the files in a directory, and in those within.
fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let length = |file: std::fs::DirEntry| match file.metadata() {
        Ok(of) if of.is_dir() => size(&file.path()),
        Ok(of) => of.len(),
        Err(_) => 0,
    };
    files.map(length).sum()
}
