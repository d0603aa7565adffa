//! `crivello forget`: what is taken back is nowhere any more, all else stays sound, and it is not fetched
//! again.
//!
//! Possible failures: bytes of a capture are left in an archive or an index; a revisit has no original; a run
//! that was killed leaves something for ever; a page comes back by a link, a seed, a redirect or a recrawl.

use crate::warcio::Warcio;
use crate::{fastwarc, python};
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Scene, binary, is_page, output, seed};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use simweb::{PageKind, Robots, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn spec() -> Spec {
    Spec::new(seed())
        .size(5, 2, 20)
        .ips(10)
        .robots(Robots::standard())
        .portion(0.4, PageKind::Duplicate)
        .portion(0.1, PageKind::Redirect(302))
}

/// A crawl whose archive has several files.
fn scene() -> Scene {
    let mut spec = spec();
    spec.body_bytes = 120_000;
    Scene::new(spec).delays("10ms", "0ms").set("store.file-size-max=1MiB")
}

fn command(crawl: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(["forget", "--json", "--crawl"]).arg(crawl).args(args);
    command
}

fn forgotten(crawl: &Path, args: &[&str]) -> Value {
    let ended = output(&mut command(crawl, args));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

fn host(url: &str) -> &str {
    let authority = url.split('/').nth(2).unwrap_or_default();
    authority.split(':').next().unwrap_or_default()
}

/// A host, and a page of another host to which revisits of other pages refer.
struct Wanted {
    host: String,
    url: String,
}

impl Wanted {
    fn of(archive: &Archive) -> Self {
        let mut originals = BTreeSet::new();
        for revisit in archive.of_kind("revisit") {
            let original = revisit.must("WARC-Refers-To-Target-URI");
            if original != revisit.url() && !revisit.is_robots() {
                originals.insert(original);
            }
        }
        let name = host(originals.first().expect("duplicates")).to_owned();
        let url = originals.iter().find(|url| host(url) != name).expect("another host's");
        Self { host: name, url: (*url).to_owned() }
    }

    fn has(&self, url: &str) -> bool {
        host(url) == self.host || url == self.url
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&[self.host.as_str(), self.url.as_str()], more].concat()
    }
}

/// Returns the payload digests of what is to be forgotten.
fn digests(archive: &Archive, wanted: &Wanted) -> BTreeSet<String> {
    let captures = archive.captures().filter(|record| wanted.has(record.url()));
    captures
        .filter(|record| !record.is_robots() && record.status() == 200)
        .map(|record| record.must("WARC-Payload-Digest").to_owned())
        .collect()
}

/// Returns the URLs of the captures that must stay: neither wanted nor revisits of those.
fn kept(archive: &Archive, wanted: &Wanted) -> BTreeSet<String> {
    let refers = |name: &str| wanted.has(name);
    let is_kept = |record: &&crivello_tests::warc::Record| {
        !wanted.has(record.url()) && !record.field("WARC-Refers-To-Target-URI").is_some_and(refers)
    };
    archive.captures().filter(is_kept).map(|record| record.url().to_owned()).collect()
}

/// Checks that nothing is left of what was forgotten, but for links to it on other pages, and that all else is.
fn assert_forgotten(
    crawl: &Path,
    wanted: &Wanted,
    kept: &BTreeSet<String>,
    gone: &BTreeSet<String>,
) {
    let archive = Archive::read(crawl);
    let urls: BTreeSet<String> = archive.captures().map(|r| r.url().to_owned()).collect();
    assert_eq!(&urls, kept);
    for record in &archive.records {
        assert!(!record.field("WARC-Target-URI").is_some_and(|url| wanted.has(url)));
        assert!(!record.field("WARC-Refers-To-Target-URI").is_some_and(|url| wanted.has(url)));
        let digest = record.field("WARC-Payload-Digest").unwrap_or_default();
        assert!(!gone.contains(digest), "{digest} is left in {}", record.url());
    }
    for index in listed(&crawl.join("warc"), ".cdxj") {
        let text = fs::read_to_string(index).expect("an index");
        for line in text.lines() {
            let json = line.splitn(3, ' ').nth(2).expect("JSON");
            let json: Value = serde_json::from_str(json).expect("JSON");
            assert!(!wanted.has(json["url"].as_str().expect("a URL")), "{line}");
        }
    }
    // An agent of a cluster may have no host, and no file.
    if !archive.records.is_empty() {
        let checked = output(Command::new(binary()).args(["archive", "check"]).arg(crawl));
        assert!(checked.status.success(), "{checked:?}");
    }
}

fn requests(scene: &Scene, wanted: &Wanted) -> usize {
    scene.web.log().entries().iter().filter(|entry| wanted.has(&entry.url())).count()
}

#[test]
fn a_host_and_a_page_are_nowhere_any_more_and_do_not_come_back() {
    let scene = scene();
    let store = scene.dir().join("store");
    let scene = scene.set(&format!("upload.url=file://{}", store.display()));
    let _ = scene.crawl().succeeded();
    assert!(!differing(&store, &scene.out()).0.is_empty(), "nothing was uploaded");
    let (crawl, export) = (scene.out(), scene.dir().join("export"));
    let archive = Archive::read(&crawl);
    assert!(archive.files.len() > 1, "{} files", archive.files.len());
    let wanted = Wanted::of(&archive);
    let (kept, gone) = (kept(&archive, &wanted), digests(&archive, &wanted));
    if let Some(urls) = table_urls(&uploaded(&store, ".parquet")) {
        assert!(urls.iter().any(|url| wanted.has(url)) && urls.is_superset(&kept), "{urls:?}");
    }
    let texts = exported(&export, &crawl);
    let n_lines = lines(&texts).len();

    let before = tree(&crawl.join("warc"));
    let planned = forgotten(&crawl, &wanted.args(&["--dry-run"]));
    assert_eq!(tree(&crawl.join("warc")), before, "a dry run changed something");

    let exports = export.display().to_string();
    let report = forgotten(&crawl, &wanted.args(&["--exports", &exports]));
    for count in ["captures", "urls", "records", "revisits", "files"] {
        assert_eq!(report[count], planned[count], "{count}");
    }
    assert!(!report["revisits"].as_array().expect("revisits").is_empty());
    assert_eq!(report["state"]["hosts_closed"], 1);
    assert!(report["state"]["payloads"].as_u64() >= Some(2), "{report}");
    assert_forgotten(&crawl, &wanted, &kept, &gone);
    let files = listed(&crawl.join("warc"), ".warc.gz");
    if let Some(warcio) = Warcio::install() {
        warcio.check(&files);
    }
    if let Some(n_responses) = fastwarc::count("response", &files) {
        let archive = Archive::read(&crawl);
        assert_eq!(n_responses, archive.of_kind("response").count() as u64);
    }

    // Exports of the changed files are gone, and are made again without them.
    assert!(!report["exports"].as_array().expect("exports").is_empty());
    let texts = exported(&export, &crawl);
    let lines = lines(&texts);
    assert!(lines.len() < n_lines);
    for line in &lines {
        let json: Value = serde_json::from_str(line).expect("JSON");
        assert!(!wanted.has(json["url"].as_str().expect("a URL")), "{line}");
        assert_ne!(json["no_page"], "no-original", "{line}");
    }

    // A second run has nothing to do.
    let before = tree(&crawl.join("warc"));
    let again = forgotten(&crawl, &wanted.args(&["--exports", &exports]));
    assert_eq!((&again["records"], &again["state"]["urls"]), (&0.into(), &0.into()), "{again}");
    assert_eq!(again["exports"], Value::Array(Vec::new()));
    assert_eq!(tree(&crawl.join("warc")), before, "a second run changed something");

    // The crawl, which had ended, is started again. It replaces the uploaded copies.
    assert!(!differing(&store, &crawl).1.is_empty());
    let n_requests = requests(&scene, &wanted);
    let ended = scene.crawl().succeeded();
    assert_eq!(requests(&scene, &wanted), n_requests, "fetched again: {}", ended.stderr);
    assert_forgotten(&crawl, &wanted, &kept, &gone);
    let (uploaded, differing) = differing(&store, &crawl);
    assert_eq!(
        (uploaded.len(), differing),
        (listed(&crawl.join("warc"), ".warc.gz").len(), vec![])
    );
    let tables = self::uploaded(&store, ".parquet");
    assert_eq!(tables.len(), uploaded.len());
    assert!(table_urls(&tables).is_none_or(|urls| urls == kept));
}

/// Files that only a store has are not searched, which is reported. Fetched, they are redacted, and the next run
/// replaces their copies.
#[test]
fn files_that_only_a_store_has_are_reported_and_are_fetched_when_people_say_so() {
    let scene = scene();
    let store = scene.dir().join("store");
    let scene = scene
        .set(&format!("upload.url=file://{}", store.display()))
        .set("upload.delete-after=true");
    let _ = scene.crawl().succeeded();
    let crawl = scene.out();
    let local: BTreeSet<String> =
        listed(&crawl.join("warc"), ".warc.gz").iter().map(name).collect();
    let stored: BTreeSet<String> = uploaded(&store, ".warc.gz").iter().map(name).collect();
    let gone: BTreeSet<_> = stored.difference(&local).cloned().collect();
    assert!(!gone.is_empty(), "no file was deleted");
    let archive = archive_of(&store, &scene.dir().join("before"));
    let wanted = Wanted::of(&archive);

    for more in [&["--dry-run"][..], &[]] {
        let ended = output(&mut command(&crawl, &wanted.args(more)));
        assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
        let report: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        let listed = report["only_in_store"].as_array().expect("objects");
        let names = listed.iter().map(|stored| {
            assert_eq!(stored["store"], format!("file://{}", store.display()));
            name(Path::new(stored["object"].as_str().expect("an object")))
        });
        assert_eq!(names.collect::<BTreeSet<_>>(), gone);
    }

    // An object that was damaged is not taken for the file.
    let objects = uploaded(&store, ".warc.gz");
    let object = objects.iter().find(|path| gone.contains(&name(path))).expect("an object");
    let bytes = fs::read(object).expect("an object");
    fs::write(object, &bytes[1..]).expect("written");
    let ended = output(&mut command(&crawl, &wanted.args(&["--fetch-stored"])));
    let problem = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && problem.contains("not as it was stored"), "{problem}");
    fs::write(object, &bytes).expect("written");
    let report = forgotten(&crawl, &wanted.args(&["--fetch-stored"]));
    let fetched: BTreeSet<String> =
        listed(&crawl.join("warc"), ".warc.gz").iter().map(name).collect();
    // The last file may have been ended, and a new one begun.
    assert!(fetched.is_superset(&stored), "{fetched:?}");
    assert_eq!(report["only_in_store"], Value::Array(Vec::new()));
    assert!(report["captures"].as_u64() > Some(0), "{report}");
    let has_wanted = |tables: &[PathBuf]| {
        table_urls(tables).is_some_and(|urls| urls.iter().any(|url| wanted.has(url)))
    };
    assert!(!has_wanted(&listed(&crawl.join("warc"), ".parquet")));
    let _ = scene.crawl().succeeded();
    assert!(!has_wanted(&uploaded(&store, ".parquet")));
    let archive = archive_of(&store, &scene.dir().join("after"));
    assert!(archive.captures().count() > 0);
    let left = archive.captures().find(|record| wanted.has(record.url()));
    assert!(left.is_none(), "the store still has {:?}", left.map(|record| record.url()));
}

fn name(path: impl AsRef<Path>) -> String {
    path.as_ref().file_name().expect("a name").to_string_lossy().into_owned()
}

/// Copies what a store has to the directory `to`, and reads it.
fn archive_of(store: &Path, to: &Path) -> Archive {
    let warc = to.join("warc");
    fs::create_dir_all(&warc).expect("a directory");
    for path in uploaded(store, ".warc.gz").iter().chain(&uploaded(store, ".cdxj")) {
        fs::copy(path, warc.join(name(path))).expect("copied");
    }
    Archive::read(to)
}

/// Returns the uploaded WARC files, and those that are not as the crawl has them.
fn differing(store: &Path, crawl: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let uploaded = uploaded(store, ".warc.gz");
    let is_same = |path: &Path| {
        let own = crawl.join("warc").join(path.file_name().expect("a name"));
        fs::read(path).expect("a copy") == fs::read(own).expect("a file")
    };
    let differing = uploaded.iter().filter(|path| !is_same(path)).cloned().collect();
    (uploaded, differing)
}

/// Returns the files of a store whose names end so.
fn uploaded(store: &Path, suffix: &str) -> Vec<PathBuf> {
    let (mut uploaded, mut dirs) = (Vec::new(), vec![store.to_owned()]);
    while let Some(dir) = dirs.pop() {
        dirs.extend(
            fs::read_dir(&dir)
                .expect("a directory")
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.is_dir()),
        );
        uploaded.extend(listed(&dir, suffix));
    }
    uploaded
}

/// Returns the URLs of all rows of tables, by pyarrow; `None` if that is not available.
fn table_urls(tables: &[PathBuf]) -> Option<BTreeSet<String>> {
    const READ: &str = "import sys, pyarrow.parquet as p\nfor f in sys.argv[1:]:\n \
                        for url in p.read_table(f, partitioning=None)['url']: print(url)";
    let programs = python::install("pyarrow==26.0.1 duckdb==2.0.1 warcio==1.8.1")?;
    let read = output(Command::new(programs.join("python")).args(["-c", READ]).args(tables));
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    Some(String::from_utf8(read.stdout).expect("UTF-8").lines().map(str::to_owned).collect())
}

fn exported(export: &Path, crawl: &Path) -> Vec<PathBuf> {
    let mut command = Command::new(binary());
    command.args(["export", "jsonl", "--compression", "none", "--out"]).arg(export).arg(crawl);
    let ended = output(&mut command);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    listed(&export.join("jsonl"), ".jsonl")
}

fn lines(files: &[PathBuf]) -> Vec<String> {
    let texts = files.iter().map(|path| fs::read_to_string(path).expect("an export"));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("a file").path());
    paths.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// The crawl was stopped in the middle: pages that are found later link to what was forgotten.
#[test]
fn a_run_that_is_killed_is_finished_by_the_next_one_and_the_crawl_goes_on() {
    let scene = scene();
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, 90);
    child.stop();
    assert_eq!(scene.end(child).code, Some(130));
    let crawl = scene.out();
    let archive = Archive::read(&crawl);
    let wanted = Wanted::of(&archive);
    let (kept, gone) = (kept(&archive, &wanted), digests(&archive, &wanted));
    let mut dice = SmallRng::seed_from_u64(seed());
    let mut n_killed = 0;
    for _ in 0..12 {
        let mut child = command(&crawl, &wanted.args(&[]))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        sleep(Duration::from_millis(dice.random_range(0..600)));
        n_killed += u32::from(child.try_wait().expect("waited").is_none());
        child.kill().expect("killed");
        child.wait().expect("waited for");
    }
    assert!(n_killed > 0, "it was never killed");
    let _ = forgotten(&crawl, &wanted.args(&[]));
    assert!(!crawl.join("forget.json").exists());
    assert_forgotten(&crawl, &wanted, &kept, &gone);
    let n_requests = requests(&scene, &wanted);
    let _ = scene.crawl().succeeded();
    assert_eq!(requests(&scene, &wanted), n_requests);
    let archive = Archive::read(&crawl);
    let urls: BTreeSet<String> = archive.captures().map(|r| r.url().to_owned()).collect();
    assert!(urls.len() > kept.len(), "the crawl did not go on");
    assert!(urls.is_superset(&kept) && !urls.iter().any(|url| wanted.has(url)));
}

#[test]
fn a_crawl_that_comes_back_to_its_pages_leaves_out_forgotten_ones() {
    let scene = Scene::new(spec())
        .delays("10ms", "0ms")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=3s")
        .set("recrawl.interval-min=1s")
        .set("recrawl.errors-interval=3s");
    let fetched_twice = |from: usize, urls: &BTreeSet<String>| {
        let mut n_fetches = BTreeMap::<String, usize>::new();
        for entry in scene.web.log().entries().iter().skip(from).filter(|entry| is_page(entry)) {
            *n_fetches.entry(entry.url()).or_default() += 1;
        }
        n_fetches.len() > 20 && urls.iter().all(|url| n_fetches.get(url).copied().unwrap_or(0) >= 2)
    };
    let until = |from: usize, urls: &BTreeSet<String>| {
        let child = scene.start();
        for _ in 0..600 {
            if fetched_twice(from, urls) {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        assert!(fetched_twice(from, urls), "pages are not fetched again: {}", scene.log());
        child.stop();
        assert_eq!(scene.end(child).code, Some(130));
    };
    until(0, &BTreeSet::new());
    let crawl = scene.out();
    let archive = Archive::read(&crawl);
    let wanted = Wanted::of(&archive);
    let report = forgotten(&crawl, &wanted.args(&[]));
    let revisits: BTreeSet<String> = report["revisits"]
        .as_array()
        .expect("revisits")
        .iter()
        .map(|revisit| revisit["url"].as_str().expect("a URL").to_owned())
        .filter(|url| !url.ends_with("/robots.txt"))
        .collect();
    assert!(!revisits.is_empty());
    let (n_entries, n_requests) = (scene.web.log().len(), requests(&scene, &wanted));
    // Pages whose revisits were redacted are archived again, whole: nothing refers to what is gone.
    until(n_entries, &revisits);
    assert_eq!(requests(&scene, &wanted), n_requests, "a forgotten page was fetched again");
    let archive = Archive::read(&crawl);
    assert!(archive.captures().all(|record| !wanted.has(record.url())));
}

#[test]
fn a_crawl_that_runs_is_left_alone() {
    let scene = Scene::new(spec()).delays("300ms", "0ms");
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, 5);
    let ended = output(&mut command(&scene.out(), &["a.example"]));
    let problem = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(64), "{problem}");
    assert!(problem.contains("is running: stop it first"), "{problem}");
    child.stop();
    let _ = scene.end(child);
    let ended = output(&mut command(&scene.dir().join("nothing"), &["a.example"]));
    assert_eq!(ended.status.code(), Some(64));
    let ended = output(&mut command(&scene.out(), &["a b"]));
    assert_eq!(ended.status.code(), Some(64));
}

/// All directories of a cluster are given in one call. Members may be started again afterwards.
#[test]
fn a_cluster_forgets_in_all_its_archives_and_states() {
    let scene = scene().arg("--agents").arg("3");
    let _ = scene.crawl().succeeded();
    let dirs: Vec<PathBuf> = (1..=3).map(|n| scene.out().join(format!("agent-{n}"))).collect();
    let archives: Vec<Archive> = dirs.iter().map(|dir| Archive::read(dir)).collect();
    let with_revisits =
        archives.iter().filter(|archive| archive.of_kind("revisit").next().is_some());
    // A host of an agent, and a page of another host.
    let wanted = with_revisits.map(Wanted::of).next().expect("revisits");
    let before: Vec<_> = archives
        .iter()
        .map(|archive| (kept(archive, &wanted), digests(archive, &wanted)))
        .collect();
    assert!(before.iter().any(|(_, gone)| !gone.is_empty()));

    let report = forgotten(&scene.out(), &wanted.args(&[]));
    assert_eq!(report["urls"].as_u64().map(|n| n > 1), Some(true), "{report}");
    for (dir, (kept, gone)) in dirs.iter().zip(&before) {
        // Another agent may have archived the same payload whole, under another URL.
        let others: BTreeSet<String> = (Archive::read(dir).captures())
            .filter_map(|record| record.field("WARC-Payload-Digest").map(str::to_owned))
            .collect();
        let gone: BTreeSet<String> = gone.difference(&others).cloned().collect();
        assert_forgotten(dir, &wanted, kept, &gone);
    }
    let n_requests = requests(&scene, &wanted);
    let _ = scene.crawl().succeeded();
    assert_eq!(requests(&scene, &wanted), n_requests, "fetched again");
}

#[test]
fn revisits_stay_without_their_originals_if_that_is_asked_for() {
    let scene = scene();
    let _ = scene.crawl().succeeded();
    let crawl = scene.out();
    let archive = Archive::read(&crawl);
    let wanted = Wanted::of(&archive);
    let expected: BTreeSet<String> = (archive.captures())
        .filter(|record| !wanted.has(record.url()))
        .map(|record| record.url().to_owned())
        .collect();
    let n_orphans = archive
        .of_kind("revisit")
        .filter(|record| !wanted.has(record.url()))
        .filter(|record| record.field("WARC-Refers-To-Target-URI").is_some_and(|of| wanted.has(of)))
        .count();
    assert!(n_orphans > 0);
    let report = forgotten(&crawl, &wanted.args(&["--revisits", "keep"]));
    assert_eq!(report["revisits_kept"].as_u64(), Some(n_orphans as u64), "{report}");
    assert_eq!(report["revisits"], Value::Array(Vec::new()));

    let listing = output(Command::new(binary()).args(["archive", "ls"]).arg(&crawl));
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let text = String::from_utf8(listing.stdout).expect("UTF-8");
    // Path, offset, date, type, status, length, URL.
    let records = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let captures = records.filter(|fields| ["response", "revisit"].contains(&fields[3]));
    let urls: BTreeSet<String> = captures.map(|fields| fields[6].to_owned()).collect();
    assert_eq!(urls, expected);
}
