//! Payloads of an earlier crawl: pages that have not changed become revisits of its captures, and nothing else does.

use crivello_tests::warc::{Archive, listed, read_members};
use crivello_tests::{Scene, seed};
use simweb::Spec;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn unchanged_pages_become_revisits_of_the_earlier_crawl() {
    let scene = Scene::new(Spec::new(seed()).size(4, 2, 12).ips(8)).delays("20ms", "0ms");
    let first = scene.crawl().succeeded();
    let old = scene.out();
    let originals: BTreeSet<_> = Archive::read(&old)
        .of_kind("response")
        .map(|record| (record.url().to_owned(), record.must("WARC-Date")[..19].to_owned()))
        .collect();
    let index = listed(&old.join("warc"), ".cdxj").remove(0);
    let index = index.display().to_string();
    let scene = scene.out_in(&old.with_file_name("second")).arg(format!("--known={index}"));

    // SHA-1 needs consent.
    let refused = scene.command().output().expect("a run");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && stderr.contains("--accept-sha1"), "{stderr}");
    fs::remove_dir_all(scene.out()).expect("removed");

    let scene = scene.arg("--accept-sha1");
    let second = scene.crawl().succeeded();
    assert_eq!(second.count("totals/pages"), first.count("totals/pages"));
    let (mut revisits, mut others) = (0, Vec::new());
    let files = listed(&scene.out().join("warc"), ".warc.gz");
    for record in files.iter().flat_map(|file| read_members("", &fs::read(file).expect("read"))) {
        let is_empty =
            record.field("WARC-Payload-Digest") == Some("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        match record.kind() {
            "revisit" => {
                revisits += 1;
                let date = &record.must("WARC-Refers-To-Date")[..19];
                let of = (record.must("WARC-Refers-To-Target-URI").to_owned(), date.to_owned());
                assert!(originals.contains(&of), "{of:?}");
            }
            "response" if !is_empty && record.block.starts_with(b"HTTP/1.1 200 ") => {
                others.push(record.url().to_owned());
            }
            _ => {}
        }
    }
    // robots.txt is always archived whole.
    others.retain(|url| !url.ends_with("/robots.txt"));
    assert!(others.is_empty(), "archived again: {others:?}");
    assert!(revisits > 50, "{revisits}");
    assert_eq!(second.count("totals/duplicates"), revisits);
}
