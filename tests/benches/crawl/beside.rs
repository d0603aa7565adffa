//! A crawl of a simulated web, followed by the floor over the pages that it fetched, each in its
//! own process.

use crate::floor;
use crate::run::{CONCURRENCY, crawl, measured, start_web};
use crivello_tests::Usage;
use serde_json::Value;
use simweb::Spec;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The cost of the crawl or of the floor.
pub struct Cost {
    pub wall: Duration,
    pub usage: Usage,
}

/// The costs of the crawl and of the floor.
pub struct ExtraServices {
    /// Number of pages that each of them fetched.
    pub n_pages: f64,
    pub crawl: Cost,
    pub floor: Cost,
}

impl Cost {
    /// Returns the CPU time per page in microseconds: total, user mode, kernel.
    pub fn micros(&self, n_pages: f64) -> [f64; 3] {
        [self.usage.cpu(), self.usage.user, self.usage.system]
            .map(|time| time.as_secs_f64() * 1e6 / n_pages)
    }
}

/// Runs the floor if the arguments of this process request it. Returns whether they did.
pub fn was_the_floor() -> bool {
    let mut args = std::env::args().skip(1);
    let is_floor = args.next().as_deref() == Some("--floor");
    if is_floor {
        floor::run(Path::new(&args.next().expect("the list of URLs")), CONCURRENCY);
    }
    is_floor
}

/// Measures crawl and floor on the same web, which may log to a file. `args` are for the crawler.
pub fn beside(spec: &Spec, args: &[String], log: Option<&Path>) -> ExtraServices {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut web, ready) = start_web(dir.path(), spec, log);
    let out = dir.path().join("crawl");
    let (wall, usage) = measured(crawl(&out, dir.path(), &ready, args));
    let crawl = Cost { wall, usage };
    let fetched = urls_fetched(&out);
    let list = dir.path().join("urls");
    std::fs::write(&list, fetched.join("\n")).expect("the list is written");
    let me = std::env::current_exe().expect("the path of this benchmark");
    let (wall, usage) =
        measured(Command::new(me).arg("--floor").arg(&list).spawn().expect("the floor starts"));
    drop(web.stdin.take());
    let _ = web.wait();
    ExtraServices { n_pages: fetched.len() as f64, crawl, floor: Cost { wall, usage } }
}

/// Returns the page URLs in the index of the archive.
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
