//! Exports of a crawl by two agents: every capture is there, other programs read them, and a run that is
//! killed ends with the same bytes.

use crate::warcio::Warcio;
use crate::{fastwarc, python};
use crivello_tests::{Scene, binary, output, seed};
use serde_json::Value;
use simweb::{CharsetWay, Coding, PageKind, Robots, Spec};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compares the blocks of WAT files with the records that they describe, both read by warcio, and with the lines of
/// JSON Lines.
const WAT_JUDGE: &str = include_str!("exports/wat.py");

fn scene() -> Scene {
    let kinds = [
        PageKind::Coded(Coding::Gzip),
        PageKind::Coded(Coding::Brotli),
        PageKind::Binary,
        PageKind::Redirect(301),
        PageKind::Status(404),
        PageKind::Charset(CharsetWay::Utf16),
    ];
    let spec = Spec::new(seed()).size(6, 2, 20).ips(10).robots(Robots::standard());
    let spec = kinds.into_iter().fold(spec, |spec, kind| spec.portion(0.06, kind));
    Scene::new(spec.portion(0.2, PageKind::Duplicate))
        .delays("20ms", "0ms")
        .arg("--agents")
        .arg("2")
}

fn command(format: &str, out: &Path, more: &[&str], crawl: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["export", format, "--out"]).arg(out).args(more).arg(crawl);
    command
}

/// Exports a crawl, and returns the counts that its progress file has in all.
fn exported(format: &str, out: &Path, more: &[&str], crawl: &Path) -> Counts {
    let ended = output(&mut command(format, out, more, crawl));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let text = fs::read(out.join(format).join("export.json")).expect("the progress file");
    let json: Value = serde_json::from_slice(&text).expect("JSON");
    let mut counts = Counts::default();
    for file in json["files"].as_object().expect("files").values() {
        counts.captures += file["counts"]["captures"].as_u64().expect("a number");
        counts.written += file["counts"]["written"].as_u64().expect("a number");
        for (status, n) in file["counts"]["by_status"].as_object().expect("statuses") {
            *counts.by_status.entry(status.clone()).or_default() += n.as_u64().expect("a number");
        }
    }
    let line = String::from_utf8_lossy(&ended.stdout).into_owned();
    let wanted = format!("{} captures", counts.captures);
    assert!(line.contains(&wanted) && line.ends_with('\n'), "{line:?} has not {wanted:?}");
    counts
}

#[derive(Debug, Default)]
struct Counts {
    captures: u64,
    written: u64,
    by_status: BTreeMap<String, u64>,
}

/// Returns the number of index lines by status, over all agents.
fn indexed(crawl: &Path) -> BTreeMap<String, u64> {
    let mut by_status = BTreeMap::new();
    for path in outputs(crawl, ".cdxj") {
        for line in fs::read_to_string(path).expect("an index").lines() {
            let json = line.splitn(3, ' ').nth(2).expect("JSON");
            let json: Value = serde_json::from_str(json).expect("JSON");
            let status = json["status"].as_str().expect("a status").to_owned();
            *by_status.entry(status).or_default() += 1;
        }
    }
    by_status
}

/// Returns the files below a directory.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() { dirs.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Returns the contents of the files below a directory, except for the lock.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(dir).into_iter().filter(|path| !path.ends_with("export.lock"));
    let name = |path: &Path| path.strip_prefix(dir).expect("below it").to_owned();
    files.map(|path| (name(&path), fs::read(&path).expect("a file"))).collect()
}

fn outputs(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let files = files_below(dir).into_iter();
    files.filter(|path| path.to_string_lossy().ends_with(suffix)).collect()
}

#[test]
fn exports_have_every_capture_and_other_programs_read_them() {
    let scene = scene();
    let ended = scene.crawl().succeeded();
    let (crawl, out) = (scene.out(), scene.dir().join("export"));
    let of_index = indexed(&crawl);
    let n_captures: u64 = of_index.values().sum();

    let all = exported("jsonl", &out, &["--compression", "none"], &crawl);
    assert_eq!((&all.by_status, all.captures, all.written), (&of_index, n_captures, n_captures));
    let lines: Vec<Value> = outputs(&out.join("jsonl"), ".jsonl")
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).expect("an export");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(lines.len() as u64, n_captures);
    let with_text =
        lines.iter().filter(|line| line["text"].as_str().is_some_and(|t| !t.is_empty()));
    let n_with_text = with_text.count() as u64;
    let revisits = lines.iter().filter(|line| line["revisit_of"].is_object());
    let mut n_revisits = 0;
    for line in revisits {
        assert_ne!(line["no_page"], "no-original", "{line}");
        n_revisits += 1;
    }
    assert!(n_revisits > 0, "the web has duplicates");

    // Pages, as the crawl counts them.
    let pages = scene.dir().join("pages");
    let select = ["--select", "url.path != '/robots.txt'"];
    let pages = exported("jsonl", &pages, &select, &crawl);
    let of_report: u64 = ["200", "301", "404"]
        .map(|status| ended.count(&format!("pages_by_status/{status}")))
        .iter()
        .sum();
    assert_eq!(pages.written, of_report, "{:#}", ended.report);

    let texts = exported("text", &out, &["--compression", "zstd"], &crawl);
    let markdown = exported("markdown", &out, &[], &crawl);
    let wet = exported("wet", &out, &[], &crawl);
    let wat = exported("wat", &out, &[], &crawl);
    assert_eq!([texts.written, markdown.written, wet.written], [n_with_text; 3]);
    assert_eq!(wat.written, n_captures);

    let records = [
        (outputs(&out.join("wet"), ".warc.wet.gz"), "conversion", wet.written),
        (outputs(&out.join("wat"), ".warc.wat.gz"), "metadata", wat.written),
    ];
    if let Some(warcio) = Warcio::install() {
        for (files, kind, n_records) in &records {
            warcio.check(files);
            let listed = warcio.run(&["index", "-f", "warc-type"], files);
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            let found = listed.lines().filter(|line| line.contains(kind)).count() as u64;
            assert_eq!(found, *n_records, "{kind} by warcio");
        }
    }
    if let Some(programs) = python::install("warcio==1.7.5") {
        let mut judge = Command::new(programs.join("python"));
        judge.args(["-c", WAT_JUDGE]).arg(&crawl).arg(out.join("wat")).arg(out.join("jsonl"));
        let judged = output(&mut judge);
        assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
        let counts = String::from_utf8_lossy(&judged.stdout).into_owned();
        let counts: Vec<u64> = counts.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [n_records, n_pages, n_links] = counts[..] else { panic!("{counts:?}") };
        assert_eq!(n_records, n_captures);
        assert!(n_pages > 20 && n_links > n_pages, "{n_pages} pages, {n_links} links");
    }
    for (files, kind, n_records) in &records {
        if let Some(found) = fastwarc::count(kind, files) {
            assert_eq!(found, *n_records, "{kind} by fastwarc");
        }
    }
}

#[test]
fn a_killed_export_ends_with_the_same_bytes() {
    let scene = scene();
    let _ = scene.crawl().succeeded();
    // Many files, so that an export can be killed between two of them.
    let (crawl, whole) = (scene.dir().join("copies"), scene.dir().join("whole"));
    fs::create_dir(&crawl).expect("created");
    for (n, path) in outputs(&scene.out(), ".warc.gz").iter().enumerate() {
        for copy in 0..5 {
            fs::copy(path, crawl.join(format!("{n}-{copy}.warc.gz"))).expect("copied");
        }
    }
    let _ = exported("jsonl", &whole, &[], &crawl);
    let expected = tree(&whole);
    assert!(expected.len() > 4, "too few files: {}", expected.len());
    let resumed = scene.dir().join("resumed");
    for n_outputs in [1, 2, 3] {
        let mut child = command("jsonl", &resumed, &["--threads", "1"], &crawl)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        while outputs_so_far(&resumed) < n_outputs && child.try_wait().expect("waited").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        child.wait().expect("waited for");
    }
    assert!(outputs_so_far(&resumed) < expected.len() - 1, "it ended before it was killed");
    let _ = exported("jsonl", &resumed, &[], &crawl);
    assert_eq!(tree(&resumed), expected);

    // The same directory, with other options.
    let refused = output(&mut command("jsonl", &resumed, &["--compression", "zstd"], &crawl));
    let problem = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(64), "{problem}");
    assert!(problem.contains("written with other options"), "{problem}");
}

fn outputs_so_far(dir: &Path) -> usize {
    if dir.exists() { outputs(dir, ".jsonl.gz").len() } else { 0 }
}
