//! Near-duplicates among the pages of archives: `crivello near` finds what brute force finds.

use crivello_html::{SimHash, SimHasher};
use crivello_tests::{binary, output};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Writes WARC files with pages of words. Some are copies in which a few words are changed.
fn write_pages(dir: &Path, n_pages: u64) {
    let mut state = crivello_tests::seed();
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut pages: Vec<Vec<String>> = Vec::new();
    for n in 0..n_pages {
        let words = match n % 3 {
            2 => {
                let mut words = pages[random(n) as usize].clone();
                for _ in 0..random(4) {
                    let at = random(words.len() as u64) as usize;
                    words[at] = format!("changed{n}");
                }
                words
            }
            _ => (0..300).map(|_| format!("word{}", random(5_000))).collect(),
        };
        let body = format!("<title>{n}</title><p>{}", words.join(" "));
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        let record = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{n:032}>\r\n\
             WARC-Date: 2026-11-20T12:{:02}:{:02}Z\r\n\
             WARC-Target-URI: http://host{}.example.com/{n}\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            n / 60,
            n % 60,
            n % 7,
            http.len(),
        );
        let path = dir.join(format!("agent-{}.warc", n % 2));
        let mut file = File::options().append(true).create(true).open(path).expect("opened");
        file.write_all(record.as_bytes()).expect("written");
        pages.push(words);
    }
}

fn near(dir: &Path, more: &[&str]) -> (Vec<Value>, String) {
    let found = output(Command::new(binary()).arg("near").arg(dir).args(more));
    let problems = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(found.status.success(), "{problems}");
    let lines = String::from_utf8_lossy(&found.stdout);
    (lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), problems)
}

#[test]
fn near_duplicates_are_those_of_brute_force() {
    let dir = tempfile::tempdir().expect("a directory");
    let n_pages = 600;
    write_pages(dir.path(), n_pages);
    // The texts, by the export.
    let texts = dir.path().join("texts");
    let export = ["export", "jsonl", "--compression", "none", "--out"];
    let exported = output(Command::new(binary()).args(export).arg(&texts).arg(dir.path()));
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let mut hashes: BTreeMap<u64, SimHash> = BTreeMap::new();
    for file in fs::read_dir(texts.join("jsonl")).expect("outputs") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(path).expect("lines").lines() {
            let page: Value = serde_json::from_str(line).expect("JSON");
            let text = page["text"].as_str().expect("a text");
            let url = page["url"].as_str().expect("a URL");
            let number = url.rsplit('/').next().and_then(|n| n.parse().ok()).expect("a number");
            hashes.insert(number, SimHasher::default().hash(text).expect("many features"));
        }
    }
    assert_eq!(hashes.len() as u64, n_pages);
    for threshold in [3_u32, 1] {
        // Numbers are in the order of time.
        let expected: BTreeMap<u64, (u32, u64)> = hashes
            .iter()
            .filter_map(|(&n, hash)| {
                let earlier = hashes.range(..n).map(|(&m, other)| (hash.distance(*other), m));
                Some((n, earlier.min().filter(|(distance, _)| *distance <= threshold)?))
            })
            .collect();
        assert!(expected.len() > 50, "too few near-duplicates: {}", expected.len());
        let (lines, summary) = near(dir.path(), &["--threshold", &threshold.to_string()]);
        let number = |url: &Value| -> u64 {
            url.as_str().and_then(|url| url.rsplit('/').next()?.parse().ok()).expect("a URL")
        };
        let found: BTreeMap<u64, (u32, u64)> = lines
            .iter()
            .map(|line| {
                let page = number(&line["url"]);
                assert_eq!(line["simhash"], hashes[&page].to_string());
                let distance = line["near_duplicate_distance"].as_u64().expect("a number") as u32;
                (page, (distance, number(&line["near_duplicate_of"])))
            })
            .collect();
        assert_eq!(found, expected);
        assert!(lines.is_sorted_by_key(|line| number(&line["url"])));
        assert!(summary.contains(&format!("{n_pages} pages, {} near-", found.len())), "{summary}");
    }
    let (lines, summary) = near(dir.path(), &["--select", r#"url.host == "host3.example.com""#]);
    assert!(lines.len() < 50 && summary.contains("not-selected"), "{summary}");
}
