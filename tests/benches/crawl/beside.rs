//! A crawl of a simulated web, and then the floor over the pages that it fetched; each a process.

use crate::floor;
use crate::run::{CONCURRENCY, crawl, measured, start_web};
use crivello_tests::Usage;
use serde_json::Value;
use simweb::Spec;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What one of them took.
pub struct Cost {
    pub wall: Duration,
    pub usage: Usage,
}

/// Both.
pub struct ExtraServices {
    /// Pages that each of them fetched.
    pub n_pages: f64,
    pub crawl: Cost,
    pub floor: Cost,
}

impl Cost {
    /// CPU time a page: all of it, in user mode, and in the kernel.
    pub fn micros(&self, n_pages: f64) -> [f64; 3] {
        [self.usage.cpu(), self.usage.user, self.usage.system]
            .map(|time| time.as_secs_f64() * 1e6 / n_pages)
    }
}

/// Whether this process is to be the floor; then it has been.
pub fn was_the_floor() -> bool {
    let mut args = std::env::args().skip(1);
    let is_floor = args.next().as_deref() == Some("--floor");
    if is_floor {
        floor::run(Path::new(&args.next().expect("the list of URLs")), CONCURRENCY);
    }
    is_floor
}

/// Measures both on the same web, whose log may go to a file. `args` are for the crawler.
pub fn beside(spec: &Spec, args: &[String], log: Option<&Path>) -> ExtraServices {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut web, ready) = start_web(dir.path(), spec, log);
    let out = dir.path().join("crawl");
    let (wall, usage) = measured(crawl(&out, dir.path(), &ready, args));
    let crawl = Cost { wall, usage };
    let fetched = urls_fetched(&out);
    let list = dir.path().join("urls");
    std::fs::write(&list, fetched.join("\n")).expect("the list is written");
    let me = std::env::current_exe().expect("a bench has a path");
    let (wall, usage) =
        measured(Command::new(me).arg("--floor").arg(&list).spawn().expect("the floor starts"));
    drop(web.stdin.take());
    let _ = web.wait();
    ExtraServices { n_pages: fetched.len() as f64, crawl, floor: Cost { wall, usage } }
}

/// The URLs of the archive's index.
fn urls_fetched(out: &Path) -> Vec<String> {
    let warc = out.join("warc");
    let files = std::fs::read_dir(warc).expect("the archive").filter_map(Result::ok);
    let indexes: Vec<PathBuf> =
        files.map(|f| f.path()).filter(|p| p.extension().is_some_and(|e| e == "cdxj")).collect();
    let mut urls = Vec::new();
    for index in indexes {
        for line in std::fs::read_to_string(index).expect("an index").lines() {
            let json = line.splitn(3, ' ').nth(2).expect("three fields");
            let entry: Value = serde_json::from_str(json).expect("JSON");
            let url = entry["url"].as_str().expect("a URL");
            if !url.ends_with("/robots.txt") {
                urls.push(url.to_owned());
            }
        }
    }
    urls
}
