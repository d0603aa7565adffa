//! Graphs of archives, of which some are damaged.

use crivello_graph::{
    Adjacency, BuildCounts, BuildProgress, GraphError, GraphJob, GraphStats, Level, LinkGraph,
    LinkOrigin, Successors as _, directory,
};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a response record of a page with links.
fn page(url: &str, date: &str, links: &[&str]) -> String {
    let mut body = String::from("<!doctype html><title>t</title>");
    for link in links {
        let _ = write!(body, "<a href=\"{link}\">x</a> ");
    }
    response(url, date, "200 OK", "Content-Type: text/html\r\n", &body)
}

fn response(url: &str, date: &str, status: &str, headers: &str, body: &str) -> String {
    let http =
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len());
    record("response", "application/http;msgtype=response", url, date, &http)
}

fn record(kind: &str, media: &str, url: &str, date: &str, block: &str) -> String {
    // Concurrent records have the id of their URL and date.
    let id: String = [url, date].concat().bytes().map(|byte| format!("{byte:02x}")).collect();
    let id = if kind == "response" { id } else { format!("{id}-{kind}") };
    let concurrent = if kind == "metadata" {
        format!("WARC-Concurrent-To: <urn:x:{}>\r\n", id.trim_end_matches("-metadata"))
    } else {
        String::new()
    };
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{id}>\r\nWARC-Date: {date}\r\n\
         WARC-Target-URI: {url}\r\n{concurrent}Content-Type: {media}\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

struct Crawl {
    dir: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Crawl {
    fn new(contents: &[String]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let files = contents.iter().enumerate().map(|(number, text)| {
            let path = dir.path().join(format!("{number}.warc"));
            fs::write(&path, text).expect("written");
            path
        });
        let files = files.collect();
        Self { dir, files }
    }

    fn out(&self) -> &Path {
        self.dir.path()
    }

    fn job(&self) -> GraphJob<'_> {
        GraphJob {
            files: &self.files,
            out: self.out(),
            origin: LinkOrigin::OutlinksOrPages,
            captured_only: false,
            memory: 1 << 12,
            threads: 2,
        }
    }

    fn build(&self) -> BuildCounts {
        run(&self.job()).expect("built")
    }

    /// Returns the arcs by their names.
    fn arcs(&self, level: Level) -> Vec<(String, String)> {
        let graph = LinkGraph::open(self.out(), level, &mut |_| {}).expect("opened");
        let name = |node: u32| graph.names.name(node as usize).expect("a name");
        let forward = Adjacency::of(&graph.forward);
        assert_eq!(forward.transposed(), Adjacency::of(&graph.transpose));
        // Chunks are decoded as the whole is.
        for node in 0..forward.len() {
            graph.forward.scan(node..node + 1, |at, successors| {
                assert_eq!((at, successors), (node, forward.successors(node)));
            });
        }
        forward.iter().map(|(from, to)| (name(from), name(to))).collect()
    }
}

fn run(job: &GraphJob<'_>) -> Result<BuildCounts, GraphError> {
    job.run(&BuildProgress::default(), &|| false, &|_, _| {}).map(|(_, counts)| counts)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    pairs.sort_unstable();
    pairs
}

const DAY: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-02-01T00:00:00Z";

#[test]
fn arcs_are_the_links_of_the_last_captures() {
    let crawl = Crawl::new(&[
        page(
            "http://a.example/",
            LATER,
            &["/x", "/x", "http://b.example/", "/", "mailto:me@a.example"],
        ) + &page("http://a.example/x", DAY, &["/", "http://b.example/"])
            + &response("http://a.example/old", DAY, "301 Moved", "Location: /x\r\n", ""),
        // Later captures come first and last: files have no order.
        page("http://a.example/", DAY, &["/gone"])
            + &page("http://a.example/x", LATER, &["http://c.example/p"])
            // A temporary error is no page without links.
            + &response("http://a.example/x", "2026-03-01T00:00:00Z", "503 Busy", "", "")
            + &response("http://b.example/robots.txt", DAY, "200 OK", "", "User-agent: *"),
    ]);
    let counts = crawl.build();
    assert_eq!((counts.captures, counts.skipped, counts.without_links), (6, 1, 1));
    let expected = [
        ("http://a.example/", "http://a.example/"),
        ("http://a.example/", "http://a.example/x"),
        ("http://a.example/", "http://b.example/"),
        ("http://a.example/old", "http://a.example/x"),
        ("http://a.example/x", "http://c.example/p"),
    ];
    assert_eq!(crawl.arcs(Level::Pages), pairs(&expected));
    let hosts = [("a.example", "b.example"), ("a.example", "c.example")];
    assert_eq!(crawl.arcs(Level::Hosts), pairs(&hosts));
    let graph = LinkGraph::open(crawl.out(), Level::Hosts, &mut |_| {}).expect("opened");
    assert_eq!(graph.weights().expect("read"), [3, 0, 0]);
    assert_eq!((graph.numbers.nodes, graph.numbers.captured), (3, 1));
    // A link that only an earlier capture had leaves its target as a node without arcs.
    let graph = LinkGraph::open(crawl.out(), Level::Pages, &mut |_| {}).expect("opened");
    let gone = graph.names.node("http://a.example/gone").expect("read").expect("a node");
    let stats = GraphStats::of(&graph.forward, &graph.transpose);
    assert_eq!((stats.nodes, stats.arcs, stats.loops, stats.isolated), (6, 5, 1, 1));
    assert!(Adjacency::of(&graph.transpose).successors(gone).is_empty());
    assert_eq!(graph.weights().expect("read").iter().sum::<u32>(), 3);
    // Only captured pages.
    run(&GraphJob { captured_only: true, ..crawl.job() }).expect("built");
    let expected: Vec<_> =
        expected.into_iter().filter(|(_, to)| to.contains("a.example")).collect();
    assert_eq!(crawl.arcs(Level::Pages), pairs(&expected));
    assert_eq!(crawl.arcs(Level::Hosts), []);
}

#[test]
fn outlinks_of_metadata_records_come_before_pages() {
    let fields = "fetchTimeMs: 5\r\noutlink: http://b.example/1\r\noutlink: http://c.example/2 L a/@href\r\n";
    let metadata = record("metadata", "application/warc-fields", "http://a.example/", DAY, fields);
    let crawl = Crawl::new(&[page("http://a.example/", DAY, &["/in-page"]) + &metadata]);
    assert_eq!(crawl.build().with_outlinks, 1);
    let expected =
        [("http://a.example/", "http://b.example/1"), ("http://a.example/", "http://c.example/2")];
    assert_eq!(crawl.arcs(Level::Pages), pairs(&expected));
    run(&GraphJob { origin: LinkOrigin::Pages, ..crawl.job() }).expect("built");
    assert_eq!(
        crawl.arcs(Level::Pages),
        pairs(&[("http://a.example/", "http://a.example/in-page")])
    );
}

#[test]
fn many_links_are_sorted_on_disk() {
    let url = |page: usize| format!("http://h{}.example/{page}", page % 7);
    let mut expected = Vec::new();
    let mut text = String::new();
    for from in 0..400 {
        let targets: Vec<String> = (1..30).map(|k| url((from * k + k * k) % 400)).collect();
        text += &page(&url(from), DAY, &targets.iter().map(String::as_str).collect::<Vec<_>>());
        expected.extend(targets.into_iter().map(|to| (url(from), to)));
    }
    expected.sort_unstable();
    expected.dedup();
    let crawl = Crawl::new(&[text]);
    crawl.build();
    assert_eq!(crawl.arcs(Level::Pages), expected);
    let host = |url: &str| url.split('/').nth(2).expect("a host").to_owned();
    let mut hosts: Vec<_> =
        expected.iter().map(|(a, b)| (host(a), host(b))).filter(|(a, b)| a != b).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(crawl.arcs(Level::Hosts), hosts);
    // The same archive gives the same files, although keys are random.
    let read = |name: &str| fs::read(directory(crawl.out()).join(name)).expect("read");
    let before = read("graph.json");
    crawl.build();
    assert_eq!(read("graph.json"), before);
}

#[test]
fn archives_without_pages_and_damaged_ones_have_graphs() {
    for (text, nodes) in [
        (String::new(), 0),
        (page("http://a.example/", DAY, &[]), 1),
        (page("http://a.example/", DAY, &["/"]), 1),
        (page("ftp://a.example/", DAY, &["/"]), 0),
    ] {
        let crawl = Crawl::new(&[text]);
        crawl.build();
        let graph = LinkGraph::open(crawl.out(), Level::Pages, &mut |_| {}).expect("opened");
        assert_eq!(graph.numbers.nodes, nodes);
        let _ = crawl.arcs(Level::Hosts);
    }
    let whole = page("http://a.example/", DAY, &["/1"]) + &page("http://a.example/1", DAY, &["/2"]);
    let damaged = whole.replacen("WARC/1.1", "WARC?1.1", 1);
    let crawl =
        Crawl::new(&[damaged, whole[..whole.len() - 20].to_owned(), "\0\u{1}junk".repeat(1_000)]);
    let counts = crawl.build();
    assert!(counts.damaged >= 3, "{counts:?}");
    assert!(
        crawl
            .arcs(Level::Pages)
            .contains(&("http://a.example/1".to_owned(), "http://a.example/2".to_owned()))
    );
}

#[test]
fn a_damaged_file_is_named() {
    let crawl = Crawl::new(&[page("http://a.example/", DAY, &["/1", "http://b.example/"])]);
    let open = |level| LinkGraph::open(crawl.out(), level, &mut |_| {}).map(|_| ());
    assert!(matches!(open(Level::Pages), Err(GraphError::Absent(_))));
    crawl.build();
    let dir = directory(crawl.out());
    let mut n_files = 0;
    for entry in fs::read_dir(&dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let level = if name.starts_with("hosts") { Level::Hosts } else { Level::Pages };
        let bytes = fs::read(&path).expect("read");
        let mut changes = vec![[bytes.as_slice(), b"x"].concat()];
        if !bytes.is_empty() {
            changes.push(bytes[1..].to_vec());
            changes.push([&[bytes[0] ^ 1], &bytes[1..]].concat());
        }
        for change in changes {
            fs::write(&path, change).expect("written");
            match open(level) {
                Err(GraphError::Damaged { path: named, .. }) => assert_eq!(named, path),
                other => panic!("{name}: {other:?}"),
            }
        }
        fs::remove_file(&path).expect("removed");
        assert!(open(level).is_err(), "{name}");
        fs::write(&path, bytes).expect("written");
        open(level).expect("opened");
        n_files += 1;
    }
    assert_eq!(n_files, 23);
}

#[test]
fn a_build_that_is_stopped_changes_nothing() {
    let crawl = Crawl::new(&[page("http://a.example/", DAY, &["/1"])]);
    crawl.build();
    let before = crawl.arcs(Level::Pages);
    for after in 0..8 {
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let stopped = || calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= after;
        let _ = crawl.job().run(&BuildProgress::default(), &stopped, &|_, _| {});
        assert_eq!(crawl.arcs(Level::Pages), before);
        assert!(!crawl.out().join("graph.new").exists());
    }
    // What a killed build left is removed by the next one.
    fs::create_dir(crawl.out().join("graph.new")).expect("made");
    fs::write(crawl.out().join("graph.new/pages.graph"), "part").expect("written");
    crawl.build();
    assert_eq!(crawl.arcs(Level::Pages), before);
    let lock = fs::File::create(crawl.out().join("graph.lock")).expect("made");
    lock.lock().expect("locked");
    assert!(matches!(run(&crawl.job()), Err(GraphError::Busy(_))));
}
