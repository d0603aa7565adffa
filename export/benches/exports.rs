//! CPU time of exports relative to a bare decompressing read of the same files, in turns.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use crivello_archive::{
    ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests, RecordBuilder, WarcReader,
};
use crivello_common::config::Store;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_export::{
    ExportFormat, ExportJob, ExportProgress, ExportReport, IndexJob, OutputCompression, PackageJob,
};
use flate2::bufread::MultiGzDecoder;
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROUNDS: usize = 7;
/// Bytes of a page, as in the other benchmarks.
const PAGE_BYTES: usize = 17 << 10;
const WORDS: u64 = 4_000;

/// A generator of pages.
struct Pages {
    state: u64,
    words: Vec<String>,
}

impl Pages {
    fn new() -> Self {
        let mut pages = Self { state: 7, words: Vec::new() };
        let letters = |pages: &mut Self| {
            (0..3 + pages.draw(7)).map(|_| char::from(b'a' + pages.draw(26) as u8)).collect()
        };
        for _ in 0..WORDS {
            let word = letters(&mut pages);
            pages.words.push(word);
        }
        pages
    }

    fn draw(&mut self, n: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    fn word(&mut self) -> String {
        let nth = self.draw(WORDS) * self.draw(WORDS) / WORDS;
        self.words[nth as usize].clone()
    }

    /// Returns HTML with a title, headings, about 30 links, and paragraphs.
    fn html(&mut self) -> Vec<u8> {
        let title = [self.word(), self.word()].join(" ");
        let mut page = format!(
            "<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1><p>"
        );
        while page.len() < PAGE_BYTES {
            if self.draw(80) == 0 {
                let (word, n) = (self.word(), self.draw(9_999));
                page.push_str(&format!("<a href=\"/{word}/{n}\">{word}</a> "));
            }
            if self.draw(70) == 0 {
                page.push_str("</p>\n<p>");
            }
            page.push_str(&self.word());
            page.push(' ');
        }
        page.push_str("</p></body></html>");
        page.into_bytes()
    }
}

/// Writes an archive of pages, and returns its files.
fn archive(dir: &Path, n_pages: u64) -> Vec<PathBuf> {
    let settings = Store::default();
    let label = CrawlLabel { id: 1, contact: String::new(), settings_toml: String::new() };
    let mut writer = ArchiveWriter::open(dir, None, &settings, label).expect("an archive");
    let (mut builder, mut pages) = (RecordBuilder::new(&settings), Pages::new());
    let mut headers = http::HeaderMap::new();
    headers.append("content-type", "text/html; charset=utf-8".parse().expect("a value"));
    for n in 0..n_pages {
        let url = CrawlUrl::parse(&format!("http://www.site{}.example.com/p{n}.html", n % 97));
        let (url, body, at) = (url.expect("a URL"), pages.html(), Timestamp(1_795_176_000_000_000));
        let capture = Capture {
            url: &url,
            at,
            took: Duration::from_millis(12),
            ip: "192.0.2.7".parse().expect("an address"),
            status: 200,
            version: http::Version::HTTP_11,
            headers: &headers,
            request_head: b"GET / HTTP/1.1\r\nhost: example.com\r\n\r\n",
            body: &body,
            truncated: None,
            certificate: None,
        };
        let digests = Digests::of(&capture, settings.digest);
        let notes = CaptureNotes::default();
        let records = builder.build(&capture, &digests, None, std::iter::empty(), notes);
        writer.append(std::iter::once(&*records), at, &mut Vec::new()).expect("room");
    }
    writer.sync().expect("synced");
    writer.close().expect("closed");
    let files = std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect()
}

fn bare(files: &[PathBuf]) -> u64 {
    let read = |path| {
        let file = BufReader::with_capacity(256 << 10, File::open(path).expect("a file"));
        io::copy(&mut MultiGzDecoder::new(file), &mut io::sink()).expect("gzip")
    };
    files.iter().map(read).sum()
}

fn records(files: &[PathBuf]) {
    for path in files {
        let mut warc = WarcReader::open(path).expect("a file");
        while let Some(record) = warc.next_record() {
            io::copy(&mut record.expect("a record"), &mut io::sink()).expect("a block");
        }
    }
}

fn export(name: &str, files: &[PathBuf], dir: &Path) -> ExportReport {
    let (progress, seeds) = (ExportProgress::default(), HashSet::new());
    let (selection, threads) = (None, 1);
    let result = match name {
        "cdxj" => {
            let compression = OutputCompression::None;
            let job = IndexJob { files, dir, merge: true, compression, selection, threads };
            job.run(&progress, &|| false, &|_, _| {})
        }
        "wacz" => PackageJob {
            files,
            dir,
            name: "bench",
            title: None,
            seeds: &seeds,
            has_text: false,
            split_bytes: None,
            selection,
            threads,
        }
        .run(&progress, &|| false, &|_, _| {}),
        name => {
            let format = ExportFormat::ALL.iter().find(|format| format.name() == name);
            let (format, compression) = (*format.expect("a format"), OutputCompression::Gzip);
            let job = ExportJob { files, dir, format, compression, selection, threads };
            job.run(&progress, &|| false, &|_, _| {})
        }
    };
    result.expect("exported")
}

/// Returns the CPU time of this process, in seconds.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

const READS: [&str; 6] = ["bare", "records", "cdxj", "wacz", "wet", "text"];

fn main() {
    let n_pages = std::env::var("CRIVELLO_BENCH_PAGES").ok();
    let n_pages: u64 = n_pages.map_or(4_000, |text| text.parse().expect("a number"));
    let dir = tempfile::tempdir().expect("a directory");
    let files = archive(&dir.path().join("warc"), n_pages);
    let n_bytes = bare(&files);
    let mut seconds = vec![Vec::new(); READS.len()];
    for round in 0..ROUNDS {
        for (read, seconds) in READS.iter().zip(&mut seconds) {
            let out = dir.path().join(format!("{read}-{round}"));
            let before = cpu_time();
            match *read {
                "bare" => drop(bare(&files)),
                "records" => records(&files),
                name => assert_eq!(export(name, &files, &out).counts.written, n_pages),
            }
            seconds.push(cpu_time() - before);
            let _ = std::fs::remove_dir_all(out);
        }
    }
    println!("{n_pages} pages, {n_bytes} bytes; CPU time relative to the bare read of its round");
    for (read, of_read) in READS.iter().zip(&seconds) {
        let mut ratios: Vec<f64> =
            of_read.iter().zip(&seconds[0]).map(|(read, bare)| read / bare).collect();
        ratios.sort_by(f64::total_cmp);
        let mut of_read = of_read.clone();
        of_read.sort_by(f64::total_cmp);
        let micros = of_read[ROUNDS / 2] / n_pages as f64 * 1e6;
        println!(
            "{read:8} {:6.2} ({:.2} to {:.2}), {micros:6.1} µs a page",
            ratios[ROUNDS / 2],
            ratios[0],
            ratios[ROUNDS - 1]
        );
    }
}
