//! Tables of archives, judged by pyarrow, DuckDB and warcio of PyPI: rows are the lines of the indexes and
//! the records, and queries of the forms that Common Crawl publishes find what is there.

use crate::python;
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Scene, output, seed};
use simweb::{PageKind, Spec};
use std::path::Path;
use std::process::{Command, Output};

const JUDGE: &str = include_str!("tables/judge.py");

fn export(scene: &Scene, out: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(scene.command().get_program());
    command.args(["export", "parquet"]).arg(scene.out()).arg("--out").arg(out).args(options);
    command.output().expect("crivello runs")
}

/// Judges a table of files, and returns the numbers of rows and of near-duplicates.
pub fn judge(programs: &Path, files: &Path, table: &Path, crawl: &str) -> (usize, usize) {
    let mut python = Command::new(programs.join("python"));
    let judged = output(python.args(["-c", JUDGE]).args([files, table]).arg(crawl));
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let counts = String::from_utf8_lossy(&judged.stdout).into_owned();
    let mut counts = counts.split_whitespace().map(|n| n.parse().expect("a number"));
    (counts.next().expect("rows"), counts.next().expect("near-duplicates"))
}

fn crawled() -> (Scene, Archive) {
    let spec = Spec::new(seed()).size(5, 2, 20).ips(10);
    let spec = spec.portion(0.1, PageKind::Redirect(301)).portion(0.1, PageKind::Status(404));
    let spec = spec.portion(0.1, PageKind::Binary).portion(0.2, PageKind::Duplicate);
    let spec = spec.portion(0.2, PageKind::NearDuplicate);
    let scene = Scene::new(spec).delays("20ms", "0ms").set("store.file-size-max=1MiB");
    let scene = scene.set("pages.near-duplicates=note");
    let _ = scene.crawl().succeeded();
    let archive = Archive::read(&scene.out());
    (scene, archive)
}

#[test]
fn rows_are_the_records_and_published_queries_find_them() {
    let Some(programs) = python::install("pyarrow==26.0.1 duckdb==2.0.1 warcio==1.8.1") else {
        return;
    };
    let (scene, archive) = crawled();
    let out = scene.dir().join("tables");
    let exported = export(&scene, &out, &[]);
    let said = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(exported.status.success(), "{said}{}", String::from_utf8_lossy(&exported.stderr));
    let crawl = archive.files[0].split('-').take(2).collect::<Vec<_>>().join("-");
    let (n_rows, n_near) =
        judge(&programs, &scene.out().join("warc"), &out.join("parquet"), &crawl);
    assert_eq!(n_rows, archive.captures().count());
    assert!(n_near > 0, "no near-duplicates");
    assert!(said.contains(&format!(": {n_rows} rows")), "{said}");
    // A second run does not touch the table.
    let again = export(&scene, &out, &[]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists; remove it"));
}

#[test]
fn a_selection_has_fewer_rows_and_no_scratch_is_left() {
    let (scene, archive) = crawled();
    let out = scene.dir().join("selected");
    let exported = export(&scene, &out, &["--select", "page.status == 404", "--crawl", "mine"]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let n_missing = archive.captures().filter(|record| record.status() == 404).count();
    assert!(n_missing > 0);
    let said = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(said.contains(&format!(": {n_missing} rows")), "{said}");
    let dir = out.join("parquet/crawl=mine/subset=crawldiagnostics");
    assert!(!listed(&dir, ".zstd.parquet").is_empty(), "{said}");
    let left: Vec<_> = std::fs::read_dir(&out).expect("a directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let refused = export(&scene, &scene.dir().join("bad"), &["--crawl", "../up"]);
    assert!(!refused.status.success());
    assert!(!scene.dir().join("up").exists());
}

/// The lines of the document are run as they stand there.
#[test]
fn the_lines_of_the_document_run() {
    let Some(programs) = python::install("pyarrow==26.0.1 duckdb==2.0.1 pandas==3.1.1") else {
        return;
    };
    let (scene, _) = crawled();
    let dir = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink(scene.out(), dir.path().join("crawl")).expect("a link");
    let exported = export(&scene, &dir.path().join("export"), &[]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/using-the-data.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let (_, tables) = document.split_once("## DuckDB").expect("the section");
    let (tables, _) = tables.split_once("## WACZ").expect("the next section");
    let blocks: Vec<&str> = tables
        .split("```python\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block))
        .collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let ran = Command::new(programs.join("python"))
            .args(["-c", block])
            .current_dir(dir.path())
            .output()
            .expect("python runs");
        assert!(ran.status.success(), "{block}\n{}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(said.contains(".test") || said.contains("WARC/1.1"), "{block}\n{said}");
    }
}
