//! Indexes that are made anew from WARC files, judged by cdxj-indexer of PyPI.

use crate::python;
use crivello_tests::warc::Archive;
use crivello_tests::{Scene, binary, output, seed};
use serde_json::Value;
use simweb::{PageKind, Spec};
use std::fs;
use std::path::Path;
use std::process::Command;

const JUDGE: &str = include_str!("indexes/judge.py");

fn crawled() -> Scene {
    let spec = Spec::new(seed()).size(5, 2, 20).ips(10);
    let spec = spec.portion(0.1, PageKind::Redirect(301)).portion(0.1, PageKind::Status(404));
    let spec = spec.portion(0.1, PageKind::Binary).portion(0.2, PageKind::Duplicate);
    let scene = Scene::new(spec).delays("20ms", "0ms").arg("--agents").arg("2");
    let scene = scene.set("store.file-size-max=1MiB");
    let _ = scene.crawl().succeeded();
    scene
}

fn export(crawl: &Path, out: &Path, options: &[&str]) -> String {
    let mut command = Command::new(binary());
    let exported =
        output(command.args(["export", "cdxj", "--out"]).arg(out).args(options).arg(crawl));
    let said = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(exported.status.success(), "{said}{}", String::from_utf8_lossy(&exported.stderr));
    said
}

/// Judges indexes, and returns the numbers of lines and of revisits.
pub fn judge(programs: &Path, crawl: &Path, merged: &Path, each: &Path) -> (usize, usize) {
    let mut python = Command::new(programs.join("python"));
    let judged = output(python.args(["-c", JUDGE]).args([crawl, merged, each]));
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let counts = String::from_utf8_lossy(&judged.stdout).into_owned();
    let mut counts = counts.split_whitespace().map(|n| n.parse().expect("a number"));
    (counts.next().expect("lines"), counts.next().expect("revisits"))
}

#[test]
fn lines_are_those_of_other_programs_and_of_the_crawl() {
    let Some(programs) = python::install("cdxj-indexer==1.5.0 warcio==1.8.1") else { return };
    let scene = crawled();
    let (each, merged) = (scene.dir().join("each"), scene.dir().join("merged"));
    let said = export(&scene.out(), &each, &[]);
    assert_eq!(
        export(&scene.out(), &merged, &["--merge", "--threads", "2"]),
        said.replace("each", "merged")
    );
    let index = merged.join("cdxj/index.cdxj");
    let (n_lines, n_revisits) = judge(&programs, &scene.out(), &index, &each.join("cdxj"));
    let n_captures = (1..=2)
        .map(|agent| Archive::read(&scene.out().join(format!("agent-{agent}"))).captures().count());
    assert_eq!(n_lines, n_captures.sum::<usize>());
    assert!(n_revisits > 0, "the web has duplicates");
    assert!(said.contains(&format!("{n_lines} written")), "{said}");

    // What is selected is what the whole index has of it.
    let selected = scene.dir().join("selected");
    export(&scene.out(), &selected, &["--merge", "--select", "page.status == 404"]);
    let lines = fs::read_to_string(selected.join("cdxj/index.cdxj")).expect("an index");
    let whole = fs::read_to_string(&index).expect("an index");
    let missing = whole.lines().filter(|line| line.contains(r#""status": "404""#));
    assert_eq!(lines.lines().collect::<Vec<_>>(), missing.collect::<Vec<_>>());
    assert!(!lines.is_empty());
}

#[test]
fn members_of_other_kinds_are_kept_and_files_without_an_index_get_one() {
    let scene = crawled();
    let out = scene.dir().join("export");
    let dir = scene.out().join("agent-1/warc");
    let names: Vec<_> =
        fs::read_dir(&dir).expect("a directory").flatten().map(|e| e.path()).collect();
    let index = names.iter().find(|path| path.extension().is_some_and(|e| e == "cdxj"));
    let index = index.expect("an index");
    let text = fs::read_to_string(index).expect("an index");
    let (first, rest) = text.split_once('\n').expect("lines");
    let noted = first.replacen(r#", "length": "#, r#", "note": "a \"note\"", "length": "#, 1);
    fs::write(index, format!("{noted}\n{rest}")).expect("written");
    export(&scene.out(), &out, &[]);
    let again = out.join("cdxj/agent-1/warc").join(index.file_name().expect("a name"));
    let lines = fs::read_to_string(again).expect("an index");
    let json: Value = serde_json::from_str(
        lines.lines().next().expect("a line").splitn(3, ' ').nth(2).expect("JSON"),
    )
    .expect("JSON");
    assert_eq!(json["note"], "a \"note\"");
    assert_eq!(lines.matches("\"note\"").count(), 1);

    fs::remove_file(index).expect("removed");
    let out = scene.dir().join("without");
    export(&scene.out(), &out, &["--compression", "gzip", "--merge"]);
    assert!(out.join("cdxj/index.cdxj.gz").exists());
}
