//! WACZ packages of a crawl by two agents, judged by wacz, warcio and pywb of PyPI, and by a real browser.

use crate::dashboard::browser::Browser;
use crate::{python, replay};
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Scene, binary, output, seed};
use simweb::{PageKind, Spec};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const JUDGE: &str = include_str!("packages/judge.py");

fn crawled() -> Scene {
    // Of 5 domains, one agent has none in one of 16 crawls.
    let spec = Spec::new(seed()).size(12, 2, 8).ips(24);
    let spec = spec.portion(0.1, PageKind::Redirect(301)).portion(0.1, PageKind::Status(404));
    let spec = spec.portion(0.1, PageKind::Binary).portion(0.2, PageKind::Duplicate);
    let scene = Scene::new(spec).delays("20ms", "0ms").arg("--agents").arg("2");
    let _ = scene.crawl().succeeded();
    scene
}

fn command(crawl: &Path, out: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(["export", "wacz", "--out"]).arg(out).args(options).arg(crawl);
    command
}

/// Exports a crawl, and returns the packages and what was said.
fn export(crawl: &Path, out: &Path, options: &[&str]) -> (Vec<PathBuf>, String) {
    let exported = output(&mut command(crawl, out, options));
    let said = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(exported.status.success(), "{said}{}", String::from_utf8_lossy(&exported.stderr));
    (listed(&out.join("wacz"), ".wacz"), said)
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Validates a package with wacz.
pub fn validate(programs: &Path, package: &Path) {
    let mut wacz = Command::new(programs.join("wacz"));
    let said = text(&output(wacz.args(["validate", "-f"]).arg(package)));
    assert!(said.contains("Version detected as 1.1.1"), "{said}");
    assert!(said.contains("Validation succeeded"), "{said}");
}

/// Unpacks a package with Python's library, and returns the WARC files.
fn unpack(package: &Path, to: &Path) -> Vec<PathBuf> {
    let mut python = Command::new("python3");
    text(&output(python.args(["-m", "zipfile", "-e"]).args([package, to])));
    listed(&to.join("archive"), ".warc.gz")
}

#[test]
fn a_package_has_the_files_an_index_and_each_page() {
    let Some(programs) = python::install("wacz==0.6.0 warcio==1.8.1") else { return };
    let scene = crawled();
    let out = scene.dir().join("export");
    let (packages, said) = export(&scene.out(), &out, &["--title", "A \"web\"", "--threads", "2"]);
    let [package] = &packages[..] else { panic!("{packages:?}") };
    validate(&programs, package);
    let mut python = Command::new(programs.join("python"));
    let judged = text(&output(python.args(["-c", JUDGE]).arg(scene.out()).arg(package)));
    let counts: Vec<usize> =
        judged.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    let [n_captures, n_pages, n_first] = counts[..] else { panic!("{judged}") };
    let archives = (1..=2).map(|agent| Archive::read(&scene.out().join(format!("agent-{agent}"))));
    let expected: usize = archives.map(|archive| archive.captures().count()).sum();
    assert_eq!(n_captures, expected);
    assert!(n_first > 0 && n_first < n_pages, "{judged}");
    assert!(said.contains(&format!("{n_captures} written, {n_pages} pages in lists")), "{said}");

    // Our reader reads the files inside.
    let warcs = unpack(package, &scene.dir().join("unpacked"));
    let checked = output(Command::new(binary()).args(["archive", "check"]).args(&warcs));
    assert!(text(&checked).contains(", 0 problems"), "{checked:?}");

    // The lines of the document run as they stand there.
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/using-the-data.md");
    let document = fs::read_to_string(document).expect("the document");
    let (_, section) = document.split_once("## WACZ").expect("the section");
    let (_, block) = section.split_once("```python\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let mut python = Command::new("python3");
    let listing = text(&output(python.args(["-c", block]).current_dir(scene.dir())));
    assert_eq!(listing.lines().count(), n_pages);

    // What is done is not made again, until a file changes.
    let before = fs::read(package).expect("the package");
    let (_, said) = export(&scene.out(), &out, &["--title", "A \"web\""]);
    assert!(said.contains("done before"), "{said}");
    assert!(fs::read(package).expect("the package") == before);
    let refused = output(&mut command(&scene.out(), &out, &["--text"]));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("written with other options"));
}

#[test]
fn a_selection_has_no_other_records_and_packages_are_divided() {
    let Some(programs) = python::install("wacz==0.6.0 warcio==1.8.1") else { return };
    let scene = crawled();
    let select = ["--select", "page.status == 200 && url.path != '/robots.txt'", "--text"];
    let (packages, _) = export(&scene.out(), &scene.dir().join("selected"), &select);
    validate(&programs, &packages[0]);
    let unpacked = scene.dir().join("unpacked");
    let warcs = unpack(&packages[0], &unpacked);
    assert!(!warcs.is_empty());
    let all = (1..=2).map(|agent| Archive::read(&scene.out().join(format!("agent-{agent}"))));
    let is_selected = |status: u16, is_robots: bool| status == 200 && !is_robots;
    let expected: usize = all
        .map(|archive| {
            archive.captures().filter(|one| is_selected(one.status(), one.is_robots())).count()
        })
        .sum();
    let mut listing = Command::new(binary());
    let records = text(&output(listing.args(["archive", "ls"]).args(&warcs)));
    let of = |kind: &str| records.lines().filter(|line| line.contains(kind)).count();
    assert_eq!(of("response") + of("revisit"), expected, "{records}");
    assert_eq!(of("request"), expected, "{records}");
    assert_eq!(of("warcinfo"), warcs.len());
    assert!(!records.contains("robots.txt"));
    // The index that is made anew of these files is that of the package.
    let again = scene.dir().join("again");
    let mut index = Command::new(binary());
    let options = ["export", "cdxj", "--merge", "--out"];
    text(&output(index.args(options).arg(&again).arg(unpacked.join("archive"))));
    let mut gunzip = Command::new("gunzip");
    let lines = text(&output(gunzip.arg("-c").arg(unpacked.join("indexes/index.cdx.gz"))));
    assert_eq!(lines, fs::read_to_string(again.join("cdxj/index.cdxj")).expect("an index"));
    assert_eq!(lines.lines().count(), expected);

    let (packages, _) = export(&scene.out(), &scene.dir().join("divided"), &["--split-size", "1B"]);
    assert_eq!(packages.len(), 2);
    packages.iter().for_each(|package| validate(&programs, package));
    let none = output(&mut command(
        &scene.out(),
        &scene.dir().join("none"),
        &["--select", "page.status == 999"],
    ));
    assert!(!none.status.success());
    assert!(String::from_utf8_lossy(&none.stderr).contains("no capture is selected"));
}

#[test]
fn a_killed_run_leaves_no_package_under_its_name() {
    let scene = crawled();
    let out = scene.dir().join("export");
    let mut child = command(&scene.out(), &out, &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while listed_if(&out, ".wacz.part").is_empty() && child.try_wait().expect("waited").is_none() {
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("waited for");
    assert!(listed_if(&out, ".wacz").is_empty(), "it ended before it was killed");
    let (packages, _) = export(&scene.out(), &out, &[]);
    assert_eq!(packages.len(), 1);
    assert!(listed_if(&out, ".part").is_empty());
}

fn listed_if(out: &Path, suffix: &str) -> Vec<PathBuf> {
    let dir = out.join("wacz");
    if dir.exists() { listed(&dir, suffix) } else { Vec::new() }
}

/// The index of the package serves pywb: each page is answered with the body that is archived, and a real browser
/// shows its text.
#[test]
#[ignore = "installs pywb: make nightly"]
fn pywb_replays_an_unpacked_package() {
    let Some(programs) = python::install("pywb==2.10.0") else { return };
    let scene = crawled();
    let (packages, _) = export(&scene.out(), &scene.dir().join("export"), &[]);
    let unpacked = scene.dir().join("unpacked");
    let warcs = unpack(&packages[0], &unpacked);
    let mut gunzip = Command::new("gunzip");
    let index = text(&output(gunzip.arg("-c").arg(unpacked.join("indexes/index.cdx.gz"))));
    let dir = tempfile::tempdir().expect("a directory");
    let (_server, port) = replay::pywb_with(&programs, dir.path(), &warcs, &index);
    let ours = format!("http://127.0.0.1:{port}/");
    let mut browser = Browser::start();
    let (mut n_pages, mut n_shown) = (0, 0);
    for agent in 1..=2 {
        let archive = Archive::read(&scene.out().join(format!("agent-{agent}")));
        let pages =
            archive.captures().filter(|page| page.kind() == "response" && page.status() == 200);
        for page in pages.take(20) {
            let date = page.must("WARC-Date");
            let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
            let replayed = replay::get(port, &format!("/site/{digits}id_/{}", page.url()));
            let (status, body) = replayed.expect("pywb answers");
            assert_eq!(status, "200", "{}", page.url());
            assert!(body == page.http().1, "{} has another body", page.url());
            n_pages += 1;
            if let Some(browser) = &mut browser
                && let Some(text) = title_and_text(&body)
            {
                assert_shown(browser, &format!("{ours}site/{digits}/{}", page.url()), &text);
                n_shown += 1;
            }
        }
    }
    assert!(n_pages >= 10, "{n_pages} pages");
    if let Some(browser) = browser {
        assert!(n_shown >= 10, "{n_shown} of {n_pages} pages in the browser");
        browser.assert_only_requests(&ours);
        browser.end();
    }
}

/// Returns the title and the main text of a page of the simulated web, without white space. Returns `None` if the text
/// has entities, whose decoding is not the subject.
fn title_and_text(body: &[u8]) -> Option<String> {
    let between = |start: &str, end: &str| {
        let (_, rest) = str::from_utf8(body).ok()?.split_once(start)?;
        rest.split_once(end).map(|(inner, _)| inner)
    };
    let mut text = between("<title>", "</title>")?.to_owned();
    for piece in between("<main>", "</main>")?.split('<').enumerate() {
        text += match piece {
            (0, piece) => piece,
            (_, piece) => piece.split_once('>')?.1,
        };
    }
    text.retain(|c| !c.is_whitespace());
    (!text.contains('&')).then_some(text)
}

/// Checks that the frame in which pywb replays a page comes to show this title and text.
fn assert_shown(browser: &mut Browser, url: &str, text: &str) {
    const SCRIPT: &str = "(page => page ? page.title + (page.querySelector('main')?.innerText ?? '') : '')\
        (document.querySelector('iframe')?.contentDocument)";
    browser.open(url);
    let mut shown = String::new();
    for _ in 0..300 {
        browser.eval(SCRIPT).as_str().unwrap_or_default().clone_into(&mut shown);
        shown.retain(|c| !c.is_whitespace());
        if shown == text {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{url} shows {shown:?}, not {text:?}");
}
