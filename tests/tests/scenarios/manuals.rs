//! A crawl of manuals as Debian has them in its packages, as three sites of a real static file server, and all judges
//! of archives and exports over it.

use crate::warcio::Warcio;
use crate::{fastwarc, indexes, packages, python, tables};
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Load, Permits, binary, output, skipped};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Serves the sites, and their names.
const SERVE: &str = include_str!("manuals/serve.py");
/// Package, host, directory in the package, and the page with which a reader begins.
const SITES: [(&str, &str, &str, &str); 3] = [
    ("debian-policy", "policy.test", "usr/share/doc/debian-policy/policy.html", "index.html"),
    ("debian-faq", "faq.test", "usr/share/doc/debian/FAQ", "index.en.html"),
    ("developers-reference", "reference.test", "usr/share/developers-reference", "index.html"),
];

/// The server, and the ports of its sites and of its names.
struct Sites {
    process: Child,
    ports: (u16, u16),
}

impl Drop for Sites {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Sites {
    fn serve(root: &Path) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", SERVE]);
        python.args(SITES.map(|(_, host, dir, _)| format!("{host}={}", root.join(dir).display())));
        let mut process =
            python.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("python starts");
        let mut line = String::new();
        let said = BufReader::new(process.stdout.take().expect("its output")).read_line(&mut line);
        said.expect("two ports");
        let ports: Vec<u16> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [sites, names] = ports[..] else { panic!("{line:?}") };
        Self { process, ports: (sites, names) }
    }
}

/// Returns the directory of the unpacked packages; `None` if the machine cannot have them.
fn unpacked() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manuals");
    if dir.join("ready").exists() {
        return Some(dir);
    }
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("created");
    let run = |command: &mut Command| match command.current_dir(&dir).output() {
        Ok(output) if output.status.success() => Some(()),
        other => {
            skipped(&format!("no manuals of Debian: {command:?}: {other:?}"));
            None
        }
    };
    run(Command::new("apt-get").args(["-qq", "download"]).args(SITES.map(|(name, ..)| name)))?;
    for package in listed(&dir, ".deb") {
        run(Command::new("dpkg-deb").arg("-x").args([&package, &dir]))?;
    }
    fs::write(dir.join("ready"), "").expect("written");
    Some(dir)
}

fn crivello(args: &[&str]) -> String {
    let ended = output(Command::new(binary()).args(args));
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{args:?}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    said
}

#[test]
fn manuals_of_debian_are_archived_and_exported_as_other_programs_expect() {
    let Some(root) = unpacked() else { return };
    let _permits = Permits::take(Load::Half);
    let sites = Sites::serve(&root);
    let dir = tempfile::tempdir().expect("a directory");
    let (crawl, out) = (dir.path().join("crawl"), dir.path().join("export"));
    let [crawl_text, out_text] = [&crawl, &out].map(|path| path.to_str().expect("UTF-8"));
    let (port, names) = sites.ports;
    let seeds = SITES.map(|(_, host, _, page)| format!("http://{host}:{port}/{page}"));
    let scope = SITES.map(|(_, host, ..)| format!("{{host-suffix=\"{host}\"}}")).join(",");
    let settings = [
        format!("dns.servers=[\"127.0.0.1:{names}\"]"),
        "fetch.allow-networks=[\"127.0.0.0/8\"]".to_owned(),
        format!("links.include=[{scope}]"),
    ];
    let mut args: Vec<&str> = vec!["crawl", "--out", crawl_text, "--delay", "20ms"];
    args.extend(["--ip-delay", "0ms", "--contact", "test@crivello.example"]);
    args.extend(seeds.iter().map(String::as_str));
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    crivello(&args);

    // Every page that the start pages lead to, each once.
    let archive = Archive::read(&crawl);
    let n_captures = archive.captures().count();
    for (_, host, ..) in SITES {
        let of_host = |url: &&&str| url.contains(&format!("://{host}:"));
        let n_pages = archive.pages().keys().filter(of_host).count();
        assert!(n_pages >= 10, "{host}: {n_pages} pages");
    }
    let n_good = archive.captures().filter(|one| one.status() == 200).count();
    assert!(n_good + SITES.len() + 5 >= n_captures, "{n_good} of {n_captures}");
    assert!(crivello(&["archive", "check", crawl_text]).contains(", 0 problems"));
    let files = listed(&crawl.join("warc"), ".warc.gz");
    if let Some(warcio) = Warcio::install() {
        warcio.check(&files);
    }
    let counts = ["response", "revisit"].map(|kind| fastwarc::count(kind, &files));
    if let [Some(responses), Some(revisits)] = counts {
        assert_eq!(responses + revisits, n_captures as u64);
    }

    let said = crivello(&["export", "wacz", "--out", out_text, crawl_text]);
    assert!(said.contains(&format!("{n_captures} written")), "{said}");
    if let Some(programs) = python::install("wacz==0.6.0 warcio==1.8.1") {
        packages::validate(&programs, &listed(&out.join("wacz"), ".wacz")[0]);
    }
    crivello(&["export", "parquet", "--out", out_text, crawl_text]);
    if let Some(programs) = python::install("pyarrow==26.0.1 duckdb==2.0.1 warcio==1.8.1") {
        let id = archive.files[0].split('-').take(2).collect::<Vec<_>>().join("-");
        let judged = tables::judge(&programs, &crawl.join("warc"), &out.join("parquet"), &id);
        assert_eq!(judged.0, n_captures);
    }
    let (merged, each) = (dir.path().join("merged"), dir.path().join("each"));
    let [merged_text, each_text] = [&merged, &each].map(|path| path.to_str().expect("UTF-8"));
    crivello(&["export", "cdxj", "--merge", "--out", merged_text, crawl_text]);
    crivello(&["export", "cdxj", "--out", each_text, crawl_text]);
    if let Some(programs) = python::install("cdxj-indexer==1.5.0 warcio==1.8.1") {
        let index = merged.join("cdxj/index.cdxj");
        assert_eq!(indexes::judge(&programs, &crawl.join("warc"), &index, &each).0, n_captures);
    }

    // The lines of the document run as they stand there, and find that the manuals are in English.
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/using-the-data.md");
    let document = fs::read_to_string(document).expect("the document");
    let (_, section) = document.split_once("## Text").expect("the section");
    let (_, block) = section.split_once("```python\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    crivello(&["export", "jsonl", "--out", out_text, crawl_text, "--select", "page.status == 200"]);
    let ran = output(Command::new("python3").args(["-c", block]).current_dir(dir.path()));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let listing = String::from_utf8_lossy(&ran.stdout).into_owned();
    let n_english = listing.lines().count();
    assert!(n_english >= 40 && 5 * n_english > 4 * n_good, "{n_english} of {n_good}: {listing}");
    for line in listing.lines() {
        let [_, title, length] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(!title.is_empty() && length != "0", "{line}");
    }
}
