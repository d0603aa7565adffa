//! Sound archives: every WARC record can be read by readers that share no code with the crawler
//! (our own in `crivello_tests::warc`, and warcio of PyPI), its digests match, and it contains what
//! the web sent.

use crate::fastwarc;
use crate::warcio::Warcio;
use crivello_tests::warc::{Archive, Record, listed};
use crivello_tests::{Scene, binary, output, seed};
use simweb::answer::{Request, Responder, SimResponse};
use simweb::world::World;
use simweb::{Character, CharsetWay, Coding, JudgeLimits, Manner, Pace, PageKind, Robots, Spec};
use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::time::Duration;

/// Encodings that the crawler accepts, besides `identity`.
const ACCEPTED: &str = "gzip, deflate, br, zstd";

fn varied(seed: u64) -> Spec {
    let kinds = [
        PageKind::Coded(Coding::Gzip),
        PageKind::Coded(Coding::Deflate),
        PageKind::Coded(Coding::Zstd),
        PageKind::Coded(Coding::Brotli),
        PageKind::Binary,
        PageKind::Redirect(301),
        PageKind::Status(404),
        PageKind::Charset(CharsetWay::Utf16),
        PageKind::LinkHeader,
    ];
    let spec = Spec::new(seed).size(5, 2, 20).ips(10).robots(Robots::standard());
    kinds
        .into_iter()
        .fold(spec, |spec, kind| spec.portion(0.06, kind))
        .portion(0.2, PageKind::Duplicate)
}

fn scene(spec: Spec) -> Scene {
    Scene::new(spec).delays("20ms", "0ms")
}

/// Crawls everything politely and reads the archive.
fn crawled(scene: &Scene) -> Archive {
    let _ = scene.crawl().succeeded();
    let pace = Pace::delays(Duration::from_millis(20), Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    Archive::read(&scene.out())
}

/// Returns what the web sends for a URL, recomputed from its spec.
fn sent(world: &World, responder: &Responder, url: &str) -> SimResponse {
    let rest = url.split_once("://").expect("a URL").1;
    let (authority, _) = rest.split_once('/').expect("a URL with a path");
    let request = Request {
        host: simweb::http1::host_name(authority),
        path: rest[authority.len()..].to_owned(),
        accept_encoding: ACCEPTED.to_owned(),
        ..Request::default()
    };
    responder.answer(world, &request, crivello_common::time::Timestamp::ZERO)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find_map(|(n, value)| n.eq_ignore_ascii_case(name).then_some(value))
}

#[test]
fn every_record_holds_what_the_web_sent() {
    let scene = scene(varied(seed()));
    let archive = crawled(&scene);
    let world = World::new(scene.web.spec().clone());
    let responder = Responder::new(&world);
    let mut codings = HashSet::new();
    for record in archive.of_kind("response") {
        let answer = sent(&world, &responder, record.url());
        let (head, payload) = record.http();
        assert_eq!(record.status(), answer.status, "{}", record.url());
        assert!(
            payload == answer.body,
            "{}: the archived bytes differ from the sent ones",
            record.url()
        );
        for (name, value) in &answer.headers {
            assert_eq!(header(&head, name), Some(value.as_str()), "{}", record.url());
        }
        let length = payload.len().to_string();
        assert_eq!(header(&head, "Content-Length"), Some(length.as_str()), "{}", record.url());
        codings.extend(header(&head, "Content-Encoding").map(str::to_owned));
        assert!(record.must("WARC-IP-Address").starts_with("127."), "{}", record.url());
        assert_eq!(record.field("WARC-Truncated"), None, "{}", record.url());
    }
    assert_eq!(codings.len(), 4, "expected all four content codings: {codings:?}");
    for record in archive.of_kind("request") {
        let text = String::from_utf8_lossy(&record.block);
        let path = record.url().split_once("://").and_then(|(_, r)| r.find('/').map(|at| &r[at..]));
        assert!(text.starts_with(&format!("GET {} HTTP/1.1\r\n", path.unwrap_or("/"))), "{text}");
        assert!(header(&text, "User-Agent").is_some_and(|v| v.contains("crivello.example/bot")));
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
    let hosts: HashSet<String> = scene.web.log().entries().into_iter().map(|e| e.host).collect();
    let robots = archive.captures().filter(|record| record.is_robots()).count();
    assert_eq!(robots, hosts.len(), "expected one archived robots.txt per host");
}

#[test]
fn exact_duplicates_refer_to_the_page_that_was_archived() {
    let scene = scene(varied(seed()).portion(0.3, PageKind::Duplicate));
    let archive = crawled(&scene);
    let world = World::new(scene.web.spec().clone());
    let responder = Responder::new(&world);
    let key = |r: &Record| (r.url().to_owned(), r.must("WARC-Date").to_owned());
    let responses: HashMap<_, _> = archive.of_kind("response").map(|r| (key(r), r)).collect();
    let mut originals = HashSet::new();
    let mut n_revisits = 0;
    for revisit in archive.of_kind("revisit") {
        n_revisits += 1;
        let refers = |name: &str| revisit.must(&format!("WARC-Refers-To-{name}")).to_owned();
        let original = responses
            .get(&(refers("Target-URI"), refers("Date")))
            .unwrap_or_else(|| panic!("{} refers to a record that is not archived", revisit.url()));
        assert_ne!(original.url(), revisit.url());
        let digest = revisit.must("WARC-Payload-Digest");
        assert_eq!(digest, original.must("WARC-Payload-Digest"));
        assert!(revisit.must("WARC-Profile").ends_with("identical-payload-digest"));
        let (_, none) = revisit.http();
        assert!(none.is_empty(), "a revisit record has a payload");
        let answer = sent(&world, &responder, revisit.url());
        assert_eq!(digest, crivello_tests::warc::digest(&answer.body), "{}", revisit.url());
        originals.insert(original.url().to_owned());
    }
    assert!(n_revisits > originals.len(), "too few duplicates: {n_revisits}");
    let mut digests = HashSet::new();
    for page in archive.of_kind("response").filter(|r| r.status() == 200 && !r.is_robots()) {
        let digest = page.must("WARC-Payload-Digest");
        assert!(digests.insert(digest), "{} is a duplicate, archived in full", page.url());
    }
}

/// Two parsers work at once. The one with the original needs long to compress it; the one with the
/// duplicate has nothing to compress.
#[test]
fn a_revisit_never_comes_before_its_original() {
    let mut spec = Spec::new(seed()).size(20, 2, 10).ips(0).portion(0.7, PageKind::Duplicate);
    spec.body_bytes = 200_000;
    let scene = Scene::new(spec)
        .delays("0ms", "0ms")
        .set("store.gzip-level=9")
        .set("state.parser-threads=4");
    let _ = scene.crawl().succeeded();
    // The reader checks the order.
    let archive = Archive::read(&scene.out());
    assert!(archive.of_kind("revisit").count() > 100, "too few duplicates");
}

#[test]
fn files_are_rotated_and_none_is_longer_than_it_may_be() {
    let mut spec = varied(seed());
    spec.body_bytes = 150_000;
    let scene = scene(spec).set("store.file-size-max=1MiB").set("store.gzip-level=1");
    let archive = crawled(&scene);
    assert!(archive.files.len() > 3, "{:?}", archive.files);
    for path in listed(&scene.out().join("warc"), ".warc.gz") {
        let bytes = std::fs::metadata(&path).expect("the file exists").len();
        assert!(bytes <= 1 << 20, "{}: {bytes} bytes", path.display());
    }
    let serials: Vec<_> = archive.files.iter().filter_map(|f| f.rsplit('-').next()).collect();
    let expected: Vec<_> = (0..serials.len()).map(|n| format!("{n:05}.warc.gz")).collect();
    assert_eq!(serials, expected);
    assert_eq!(archive.pages().len() as u64, scene_pages(&scene));
}

/// Returns the number of distinct pages that the web answered completely.
fn scene_pages(scene: &Scene) -> u64 {
    let log = scene.web.log().entries();
    let pages = log.iter().filter(|e| e.complete && e.path != "/robots.txt");
    pages.map(simweb::Entry::url).collect::<HashSet<_>>().len() as u64
}

#[test]
fn a_body_that_was_cut_off_says_so() {
    let endless = Character::named("endless").manner(Manner::EndlessBody);
    let spec = Spec::new(seed()).size(1, 1, 3).host("endless.test", endless);
    let scene = scene(spec).set("fetch.body-size-max=100KiB");
    let ended = scene.crawl().succeeded();
    let archive = Archive::read(&scene.out());
    let pages = archive.pages();
    let (truncated, whole): (Vec<&Record>, Vec<&Record>) =
        pages.values().copied().partition(|r| r.field("WARC-Truncated").is_some());
    assert_eq!(truncated.len(), 1, "{:?}", pages.keys());
    assert_eq!(truncated[0].must("WARC-Truncated"), "length");
    assert!(truncated[0].url().contains("endless.test"));
    assert_eq!(truncated[0].http().1.len(), 100 << 10);
    assert_eq!(ended.count("totals/truncated"), 1);
    assert!(whole.len() >= 3);
}

#[test]
fn outlinks_are_recorded_when_they_are_asked_for() {
    let scene = scene(Spec::new(seed()).size(2, 1, 8)).set("store.outlinks=true");
    let archive = crawled(&scene);
    let world = World::new(scene.web.spec().clone());
    let mut n_links = 0;
    for (url, page) in archive.pages() {
        let id = page.must("WARC-Record-ID");
        let metadata = archive
            .of_kind("metadata")
            .find(|record| record.must("WARC-Concurrent-To") == id)
            .unwrap_or_else(|| panic!("no metadata of {url}"));
        let text = String::from_utf8_lossy(&metadata.block);
        let outlinks: HashSet<&str> =
            text.lines().filter_map(|line| line.strip_prefix("outlink: ")).collect();
        let at = world.find(url).expect("a page of this web");
        for link in world.links(at).iter().filter(|link| !link.nofollow) {
            let target = world.url(link.target);
            // A page may omit a link to itself.
            assert!(outlinks.contains(target.as_str()) || target == url, "{url}: {target}");
            n_links += 1;
        }
    }
    assert!(n_links > 50, "{n_links} links");
}

#[test]
fn warcio_reads_every_record_and_finds_the_digests_right() {
    let Some(warcio) = Warcio::install() else { return };
    let mut spec = varied(seed());
    spec.body_bytes = 30_000;
    let endless = Character::named("endless").manner(Manner::EndlessBody);
    let scene = scene(spec.host("endless.test", endless))
        .set("store.file-size-max=1MiB")
        .set("store.outlinks=true")
        .set("fetch.body-size-max=100KiB");
    let _ = scene.crawl().succeeded();
    let archive = Archive::read(&scene.out());
    let files = listed(&scene.out().join("warc"), ".warc.gz");
    let said = warcio.check(&files);
    let passed = said.lines().filter(|line| line.contains("digest pass")).count();
    assert!(passed >= archive.captures().count(), "{passed} digests passed:\n{said}");
    let indexed = warcio.run(&["index", "-f", "offset,length,warc-type,warc-target-uri"], &files);
    assert!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
    let lines = String::from_utf8_lossy(&indexed.stdout);
    let told: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(told.len(), archive.records.len(), "warcio finds other records");
    for (told, read) in told.iter().zip(&archive.records) {
        assert_eq!(told["offset"].as_str(), Some(read.offset.to_string().as_str()));
        assert_eq!(told["length"].as_str(), Some(read.length.to_string().as_str()));
        assert_eq!(told["warc-type"].as_str(), Some(read.kind()));
        assert_eq!(told["warc-target-uri"].as_str(), read.field("WARC-Target-URI"));
    }
}

/// Records, and payloads that have no content encoding, are the same bytes as warcio extracts.
#[test]
fn records_and_payloads_are_those_of_warcio() {
    let Some(warcio) = Warcio::install() else { return };
    let scene = scene(varied(seed()));
    let archive = crawled(&scene);
    let responses: Vec<&Record> = archive.of_kind("response").collect();
    let (mut n_records, mut n_payloads) = (0, 0);
    for record in responses.iter().step_by(responses.len().div_ceil(50)) {
        let (path, offset) =
            (scene.out().join("warc").join(&record.file), record.offset.to_string());
        let is_encoded = header(&record.http().0, "Content-Encoding").is_some();
        let both: &[&[&str]] = if is_encoded { &[&[]] } else { &[&[], &["--payload"]] };
        for &options in both {
            let mut cat = Command::new(binary());
            cat.args(["archive", "cat"]).args(options).arg(&path).arg(&offset);
            let extract = [&["extract"], options].concat();
            let theirs = warcio.run(&extract, &[path.clone(), offset.clone().into()]);
            let problem = String::from_utf8_lossy(&theirs.stderr).into_owned();
            assert!(theirs.status.success(), "{problem}");
            let ours = output(&mut cat).stdout;
            // warcio leaves out the two ends of lines after a record.
            let end: &[u8] = if options.is_empty() { b"\r\n\r\n" } else { b"" };
            let is_same = ours.strip_suffix(end) == Some(&theirs.stdout[..]);
            assert!(is_same, "{} {options:?}", record.url());
            if options.is_empty() { n_records += 1 } else { n_payloads += 1 }
        }
    }
    assert!(n_records >= 25 && n_payloads >= 10, "{n_records} records, {n_payloads} payloads");
}

/// Proves that the check can fail: both readers detect a single flipped byte.
#[test]
fn a_flipped_byte_is_found() {
    let scene = scene(Spec::new(seed()).size(1, 1, 3));
    let _ = crawled(&scene);
    let path = listed(&scene.out().join("warc"), ".warc.gz").remove(0);
    let mut bytes = std::fs::read(&path).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&path, bytes).expect("written");
    let out = scene.out();
    assert!(
        std::panic::catch_unwind(|| Archive::read(&out)).is_err(),
        "our reader accepted a damaged file"
    );
    if let Some(warcio) = Warcio::install() {
        let checked = warcio.run(&["check"], &[path]);
        assert!(!checked.status.success(), "warcio");
    }
}

/// With the web's own authority among the root certificates, with other root certificates, and over
/// plain HTTP. Readers that do not know the field still read the records.
#[test]
fn each_record_says_whether_the_certificate_was_valid() {
    for (trusted, expected) in [(true, "valid"), (false, "unknown-issuer")] {
        let scene = scene(varied(seed()).tls(0.5));
        let roots = scene.dir().join("roots.pem");
        let other = simweb::tls::TestAuthority::new().expect("an authority").pem();
        let authority = scene.web.authority_pem().expect("some hosts use TLS");
        std::fs::write(&roots, if trusted { authority } else { &other }).expect("written");
        let mut command = scene.command();
        command.env("SSL_CERT_FILE", &roots).env_remove("SSL_CERT_DIR");
        let _ = scene.end(scene.start_as(command)).succeeded();
        let archive = Archive::read(&scene.out());
        let (mut n_https, mut n_http) = (0, 0);
        for record in archive.captures() {
            let certificate = record.field("X-Crivello-Certificate");
            if record.url().starts_with("https:") {
                assert_eq!(certificate, Some(expected), "{}", record.url());
                n_https += 1;
            } else {
                assert_eq!(certificate, None, "{}", record.url());
                n_http += 1;
            }
        }
        assert!(n_https > 10 && n_http > 10, "{n_https} over TLS, {n_http} without");
        assert!(archive.of_kind("request").all(|r| r.field("X-Crivello-Certificate").is_none()));
    }
}

/// fastwarc reads zstd archives; the index and the digests are right.
#[test]
fn a_crawl_with_zstd_is_read_by_other_programs() {
    let scene = scene(varied(seed())).set("store.compression=zstd").set("store.outlinks=true");
    let _ = scene.crawl().succeeded();
    let warc = scene.out().join("warc");
    let files = listed(&warc, ".warc.zst");
    assert!(!files.is_empty() && listed(&warc, ".warc.gz").is_empty());
    let checked = output(Command::new(binary()).args(["archive", "check"]).arg(&warc));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let lines = |index| std::fs::read_to_string(index).expect("an index").lines().count() as u64;
    let indexed: u64 = listed(&warc, ".cdxj").into_iter().map(lines).sum();
    assert!(indexed > 100, "too few captures: {indexed}");
    let counts = ["response", "revisit"].map(|kind| fastwarc::count(kind, &files));
    if let [Some(responses), Some(revisits)] = counts {
        assert_eq!(responses + revisits, indexed);
        assert!(revisits > 0);
    }
}
