//! A crawl that comes back to its pages: each generation is fetched once, politely, over restarts and
//! deaths; requests are conditional; what is archived can be replayed.
//!
//! Possible failures: a page is fetched twice in one generation, or never again; a copy takes over
//! an old generation; limits count fetches instead of pages; the crawl ends, or `wait` waits for ever.

use crate::warcio::Warcio;
use crivello_common::time::Timestamp;
use crivello_tests::in_process::{COMMIT_PAGES_MAX, IN_FLIGHT, VISITS_MAX};
use crivello_tests::warc::{Archive, Record, listed};
use crivello_tests::{Cluster, DEADLINE, Scene, is_page, seed};
use simweb::changes::Changes;
use simweb::freshness::{FreshnessReport, PageFreshness};
use simweb::world::World;
use simweb::{Character, Entry, Pace, Robots, Spec, judge_pace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use test_size::sized;

const DELAY: Duration = Duration::from_millis(20);
/// Longest wait for what the crawl must do.
const WAIT_MAX: Duration = Duration::from_secs(180);

fn spec() -> Spec {
    Spec::new(seed()).size(3, 2, 8).ips(6).robots(Robots::standard())
}

/// Returns the number of requests for each page.
pub fn fetches(entries: &[Entry]) -> BTreeMap<String, usize> {
    let mut fetches = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_page(entry)) {
        *fetches.entry(entry.url()).or_default() += 1;
    }
    fetches
}

/// Returns the requests of one page in each interval that are closer than half of the interval.
pub fn too_early(entries: &[Entry], interval: Duration) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut early = Vec::new();
    let mut entries: Vec<&Entry> = entries.iter().filter(|entry| is_page(entry)).collect();
    entries.sort_by_key(|entry| entry.start);
    for entry in entries {
        let url = entry.url();
        if let Some(before) = last.insert(url.clone(), entry.start)
            && entry.start - before < interval.as_micros() as u64 / 2
        {
            early.push(url);
        }
    }
    early
}

/// Waits until a condition holds.
fn until(scene: &Scene, what: &str, is_so: impl Fn() -> bool) {
    let begun = scene.web.log().now();
    while !is_so() {
        let waited = scene.web.log().now().since(begun);
        assert!(waited < WAIT_MAX, "never: {what}\n{}", scene.log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn pages_are_fetched_again_and_again_until_the_crawl_is_stopped() {
    let interval = Duration::from_secs(4);
    let scene = Scene::new(spec())
        .delays("20ms", "0ms")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=4s")
        .set("recrawl.interval-min=1s")
        .set("recrawl.errors-interval=4s")
        .set("limits.pages-per-host-max=6");
    let child = scene.start();
    until(&scene, "most pages are fetched four times", || {
        let pages = fetches(&scene.web.log().entries());
        pages.len() > 10 && pages.values().filter(|&&n| n >= 4).count() * 10 > pages.len() * 9
    });
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "a crawl that comes back has no end: {}", ended.stderr);
    let entries = scene.web.log().entries();
    let early = too_early(&entries, interval);
    assert!(early.is_empty(), "fetched again before its time: {early:?}");
    let pace = judge_pace(&Pace::delays(DELAY, Duration::ZERO), &entries);
    assert!(pace.is_clean(), "{pace}");
    let mut per_host = BTreeMap::<_, usize>::new();
    for url in fetches(&entries).keys() {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        *per_host.entry(host).or_default() += 1;
    }
    let archive = Archive::read(&scene.out());
    assert!(archive.captures().count() > 30);
    assert!(per_host.values().all(|&n| n <= 12), "{per_host:?}");
}

/// A limit is for pages, not for fetches: those that are known are fetched again, and no others.
#[test]
fn at_the_limit_of_pages_known_pages_are_fetched_again() {
    const MAX: usize = 20;
    let mut cluster = Cluster::new(spec())
        .delays(DELAY, Duration::ZERO)
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=3s")
        .set("recrawl.interval-min=1s")
        .set("recrawl.errors-interval=3s")
        .set(&format!("limits.pages-max={MAX}"))
        .start(2);
    cluster.seed();
    let pages = |cluster: &Cluster| fetches(&cluster.web.log().entries());
    let all_again = |cluster: &Cluster, n: usize| {
        let pages = pages(cluster);
        pages.len() >= MAX && pages.values().all(|&fetches| fetches >= n)
    };
    cluster.until("each page is fetched four times", |cluster| all_again(cluster, 4));
    assert_eq!(pages(&cluster).len(), MAX);
    cluster.run_ok(&["set", "limits.pages-max=30"]);
    cluster.until("ten more pages are fetched", |cluster| pages(cluster).len() >= 30);
    cluster.until("each page is fetched twice", |cluster| all_again(cluster, 2));
    assert!(pages(&cluster).len() <= 30);
    let _ = cluster.stop();
}

/// Returns the smallest number of requests that a due page has had.
fn least(cluster: &Cluster) -> usize {
    let fetches = fetches(&cluster.web.log().entries());
    let of = |url: &String| fetches.get(url).copied().unwrap_or(0);
    cluster.due().iter().map(of).min().unwrap_or(0)
}

/// Each generation is fetched once, whoever owns the page: an agent joins, one dies with its disk, one
/// leaves.
#[test]
fn a_cluster_comes_back_to_its_pages_through_joins_and_deaths() {
    let interval = Duration::from_secs(6);
    let mut cluster = Cluster::new(spec())
        .delays(DELAY, Duration::ZERO)
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=6s")
        .set("recrawl.interval-min=1s")
        .set("recrawl.errors-interval=6s")
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set(&format!("state.commit-pages-max={COMMIT_PAGES_MAX}"))
        .set("state.commit-interval=50ms")
        .start(3);
    cluster.seed();
    cluster.until("each page is fetched twice", |cluster| least(cluster) >= 2);
    let (code, _, stderr) = cluster.ask(&["wait"]);
    assert!(code == Some(70) && stderr.contains("has no end"), "{code:?}: {stderr}");
    let status = cluster.run_ok(&["status"]);
    assert!(status.contains("fetched again"), "{status}");

    cluster.add("d");
    cluster.until("each page is fetched four times", |cluster| least(cluster) >= 4);
    let before = cluster.web.log().entries();
    let early = too_early(&before, interval);
    assert!(early.is_empty(), "fetched again before its time: {early:?}");

    cluster.kill9("b");
    cluster.delete_disk("b");
    cluster.until("each page is fetched six times", |cluster| least(cluster) >= 6);
    cluster.drain("c");
    cluster.until("each page is fetched eight times", |cluster| least(cluster) >= 8);
    let _ = cluster.stop();
    let entries = cluster.web.log().entries();
    let mut early = too_early(&entries, interval);
    let n_early = early.len();
    early.sort_unstable();
    early.dedup();
    assert_eq!(early.len(), n_early, "a death repeats a fetch more than once: {early:?}");
    let cause = "a death repeats more than what was in flight and in the open commit";
    assert!(n_early as u64 <= IN_FLIGHT, "{cause}: {n_early} of at most {IN_FLIGHT}");
    let pace = judge_pace(&Pace::delays(DELAY, Duration::ZERO), &entries);
    assert!(pace.is_clean(), "{pace}");
}

/// A page whose host begins to disallow it waits until robots.txt allows it again.
#[test]
fn pages_of_a_host_that_closes_are_fetched_again_once_it_opens() {
    let closing = Robots::ClosedFor { after: 2, times: 3 };
    let spec = spec().host("closing.test", Character::named("closing").robots(closing).pages(4));
    let scene = Scene::new(spec)
        .delays("20ms", "0ms")
        .set("politeness.robots-age-max=2s")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=1s")
        .set("recrawl.interval-min=1s")
        .set("recrawl.errors-interval=1s");
    let child = scene.start();
    let of_host = || {
        let mut entries = scene.web.log().entries();
        entries.retain(|entry| entry.host == "closing.test");
        entries.sort_by_key(|entry| entry.start);
        entries
    };
    let is_robots = |entry: &&Entry| entry.path == "/robots.txt";
    until(&scene, "the host opens again, and its pages are fetched", || {
        let entries = of_host();
        let opened = entries.iter().filter(is_robots).nth(5).map(|entry| entry.end);
        let is_after = |entry: &&Entry| opened.is_some_and(|at| entry.start > at);
        entries.iter().filter(|entry| is_page(entry)).filter(is_after).count() >= 4
    });
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let entries = of_host();
    let robots: Vec<&Entry> = entries.iter().filter(is_robots).collect();
    let (closed, opened) = (robots[2].end, robots[5].start);
    let during: Vec<&Entry> = entries
        .iter()
        .filter(|entry| is_page(entry) && entry.start > closed && entry.start < opened)
        .collect();
    assert!(during.is_empty(), "fetched although robots.txt forbids it: {during:?}");
    let n_before = entries.iter().filter(|entry| is_page(entry) && entry.start < closed).count();
    assert!(n_before >= 4, "{n_before} pages before");
    assert!(ended.count("skipped/robots") > 0, "{}", ended.report);
}

/// Asserts that the originals of all revisits are in the archive.
fn assert_originals(archive: &Archive) {
    let dates: BTreeSet<(&str, &str)> = archive
        .of_kind("response")
        .map(|record| (record.url(), record.must("WARC-Date")))
        .collect();
    for record in archive.of_kind("revisit") {
        let refers_to =
            (record.must("WARC-Refers-To-Target-URI"), record.must("WARC-Refers-To-Date"));
        assert!(dates.contains(&refers_to), "{refers_to:?} is not archived");
    }
}

/// Fields of a revisit by which replay finds its original.
const REVISIT_FIELDS: [&str; 5] = [
    "WARC-Profile",
    "WARC-Target-URI",
    "WARC-Date",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
];

/// Returns these fields of all revisits, by our own reader.
fn revisits(archive: &Archive) -> Vec<Vec<String>> {
    let fields = |record: &Record| REVISIT_FIELDS.map(|name| record.must(name).to_owned()).to_vec();
    let mut found: Vec<Vec<String>> = archive.of_kind("revisit").map(fields).collect();
    found.sort();
    found
}

/// Returns the same by warcio.
fn revisits_by_warcio(warcio: &Warcio, files: &[PathBuf]) -> Vec<Vec<String>> {
    let fields = REVISIT_FIELDS.map(str::to_lowercase);
    let listed = warcio.run(&["index", "-f", &format!("warc-type,{}", fields.join(","))], files);
    let lines = String::from_utf8(listed.stdout).expect("text");
    let read = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    let records = lines.lines().map(read).filter(|record| record["warc-type"] == "revisit");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<Vec<String>> =
        records.map(|record| fields.iter().map(|name| text(&record[name])).collect()).collect();
    found.sort();
    found
}

/// Unmodified pages are answered with 304, and archived as revisits of their last response.
#[test]
fn unmodified_pages_are_requested_conditionally_and_archived_as_revisits() {
    let changes = Changes { never: 1.0, ..Changes::default() };
    let scene = Scene::new(spec().changes(changes))
        .delays("20ms", "0ms")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=3s")
        .set("recrawl.interval-min=1s");
    let child = scene.start();
    let n_unmodified =
        || scene.web.log().entries().iter().filter(|entry| entry.is_not_modified()).count();
    until(&scene, "60 answers are 304", || n_unmodified() > 60);
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);

    let archive = Archive::read(&scene.out());
    assert_originals(&archive);
    let mut n_revisits = 0;
    for record in archive.of_kind("revisit").filter(|record| record.is_not_modified()) {
        n_revisits += 1;
        assert_eq!(record.block, b"");
        assert_eq!(record.must("WARC-Refers-To-Target-URI"), record.url());
        assert_eq!(record.field("WARC-Payload-Digest"), None);
    }
    assert!(n_revisits > 50, "{n_revisits} revisits");
    if let Some(warcio) = Warcio::install() {
        let files = listed(&scene.out().join("warc"), ".warc.gz");
        let _ = warcio.check(&files);
        assert_eq!(revisits_by_warcio(&warcio, &files), revisits(&archive));
    }
}

/// Old files are deleted, and revisits begin anew with each quarter of the kept time: whatever is kept
/// can be replayed.
#[test]
fn old_archive_files_are_deleted_and_every_kept_revisit_has_its_original() {
    // A quarter is long enough for several visits of each page, also on a slow machine.
    let kept = Duration::from_secs(40);
    let changes = Changes { never: 1.0, ..Changes::default() };
    let scene = Scene::new(spec().changes(changes))
        .delays("20ms", "0ms")
        .set("fetch.connect-timeout=1s")
        .set("fetch.first-byte-timeout=1s")
        .set("fetch.total-timeout=1s")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=1s")
        .set("recrawl.interval-min=1s")
        .set("archive.keep-age=40s");
    let mut child = scene.start();
    let n_files = || listed(&scene.out().join("warc"), ".warc.gz").len();
    let deletions = || scene.log().matches("deleted the oldest archive files").count();
    until(&scene, "files are deleted", || deletions() >= 1);
    child.kill().unwrap();
    let _ = child.wait_measured();
    let restarted = scene.web.log().now();
    let child = scene.start();
    until(&scene, "files are deleted after a restart", || deletions() >= 1);
    let n_unmodified = || {
        let from = scene.web.log().now().0.saturating_sub((kept * 3 / 4).as_micros() as u64);
        let entries = scene.web.log().entries();
        entries.iter().filter(|entry| entry.start >= from && entry.is_not_modified()).count()
    };
    until(&scene, "40 answers of the kept time are 304", || n_unmodified() >= 40);
    child.stop();
    let now = scene.web.log().now();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!((3..=8).contains(&n_files()), "{} files", n_files());

    let archive = Archive::read(&scene.out());
    assert_originals(&archive);
    let n_revisits = archive.of_kind("revisit").count();
    assert!(n_revisits > 10, "{n_revisits} revisits");
    // What was answered within the kept time is there, except for what the kill lost, and little else.
    let entries = scene.web.log().entries();
    let before = |age: Duration| Timestamp(now.0 - age.as_micros() as u64);
    let answered = |from: Timestamp| {
        entries.iter().filter(|entry| entry.start >= from.0 && is_page(entry)).count()
    };
    let n_captures = archive.captures().count();
    let (least, most) = (answered(restarted.max(before(kept * 3 / 4))), answered(before(kept * 2)));
    assert!((least..most).contains(&n_captures), "{n_captures} captures, not {least} to {most}");
}

/// A 304 would refer to a record that is not there any more.
#[test]
fn pages_whose_archive_file_somebody_deleted_are_requested_unconditionally() {
    let changes = Changes { never: 1.0, ..Changes::default() };
    let spec = Spec::new(seed()).size(3, 2, 16).ips(6).robots(Robots::standard());
    let spec = Spec { body_bytes: 80_000, ..spec.changes(changes) };
    let scene = Scene::new(spec)
        .delays("20ms", "0ms")
        .set("store.file-size-max=1MiB")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=1s")
        .set("recrawl.interval-min=1s");
    let child = scene.start();
    let n_unmodified =
        || scene.web.log().entries().iter().filter(|entry| entry.is_not_modified()).count();
    until(&scene, "200 answers are 304", || n_unmodified() >= 200);
    child.stop();
    let _ = scene.end(child);
    let archive = Archive::read(&scene.out());
    let mut files = BTreeMap::new();
    for record in archive.of_kind("response").filter(|record| !record.is_robots()) {
        files.insert(record.url().to_owned(), record.file.clone());
    }
    let deleted = files.values().next().expect("a file").clone();
    let index = deleted.replace(".warc.gz", ".cdxj");
    for file in [&deleted, &index] {
        std::fs::remove_file(scene.out().join("warc").join(file)).expect("a file");
    }
    let before = scene.web.log().entries().len();
    let child = scene.start();
    until(&scene, "200 more answers are 304", || n_unmodified() >= 400);
    child.stop();
    let _ = scene.end(child);
    let mut conditional: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for entry in scene.web.log().entries()[before..].iter().filter(|entry| is_page(entry)) {
        conditional.entry(entry.url()).or_default().push(entry.conditional);
    }
    let mut n_again = 0;
    for (url, conditional) in &conditional {
        // It is archived whole again, and from then on a 304 refers to that.
        let is_deleted = files.get(url) == Some(&deleted);
        assert_eq!(conditional[0], !is_deleted, "{url} of {:?}", files.get(url));
        assert!(conditional[1..].iter().all(|is_so| *is_so), "{url}: {conditional:?}");
        n_again += usize::from(is_deleted && conditional.len() > 1);
    }
    assert!(n_again > 0, "no page of the deleted file was fetched twice");
    let n_deleted = files.values().filter(|file| **file == deleted).count();
    assert!((1..files.len()).contains(&n_deleted), "{n_deleted} of {}", files.len());
}

/// A person, or a program that learns of changes, names pages. Each goes to the agent that owns it.
#[test]
fn pages_that_a_person_names_are_fetched_again_and_no_others() {
    let mut cluster = Cluster::new(spec())
        .delays(DELAY, Duration::ZERO)
        .set("recrawl.interval=1d")
        .set("recrawl.interval-min=1s")
        .start(3);
    let page = cluster.due().iter().next().cloned().unwrap_or_default();
    let (code, _, stderr) = cluster.ask(&["recrawl", &page]);
    assert!(code == Some(64) && stderr.contains("fetches each page once"), "{code:?}: {stderr}");
    cluster.run_ok(&["set", "recrawl.policy=fixed"]);
    cluster.seed();
    cluster.until("each page is fetched", |cluster| least(cluster) >= 1);
    std::thread::sleep(Duration::from_secs(2));
    let before = fetches(&cluster.web.log().entries());
    // Pages of five hosts, and all of the sixth.
    let (of_host, others): (Vec<String>, Vec<String>) =
        before.keys().cloned().partition(|url| url.contains("h1.site2."));
    let mut named: Vec<String> = others.into_iter().step_by(3).collect();
    let host = of_host[0].split('/').nth(2).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_owned();
    let unknown = format!("{}not-in-the-crawl", cluster.web.seeds()[0]);
    let mut command = vec!["recrawl", "ftp://no.example/", &unknown, &host];
    command.extend(named.iter().map(String::as_str));
    let (code, stdout, stderr) = cluster.ask(&command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("argument 1: refused"), "{stderr}");
    named.extend(of_host);
    named.sort_unstable();
    let again = |cluster: &Cluster| -> Vec<String> {
        let now = fetches(&cluster.web.log().entries());
        now.into_iter().filter(|(url, n)| before.get(url) != Some(n)).map(|(url, _)| url).collect()
    };
    cluster.until("the named pages are fetched again", |c| again(c).len() >= named.len());
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(again(&cluster), named);
    // A flood adds no URL, and a page that is named a thousand times is fetched once more.
    let before = cluster.web.log().entries().len();
    let unknown = (0..20_000).map(|n| format!("{unknown}-{n}\nhttp://h{n}.unknown.test/\n"));
    let again_and_again = std::iter::repeat_n(format!("{}\nno URL\n", named[0]), 1_000);
    let input: String = unknown.chain(again_and_again).collect();
    let (code, stdout, stderr) = cluster.ask_with(&input, &["recrawl", "-"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    std::thread::sleep(Duration::from_secs(3));
    let flooded: Vec<Entry> = cluster.web.log().entries()[before..].to_vec();
    assert_eq!(fetches(&flooded), BTreeMap::from([(named[0].clone(), 1)]));
    let _ = cluster.stop();
    let pace = judge_pace(&Pace::delays(DELAY, Duration::ZERO), &cluster.web.log().entries());
    assert!(pace.is_clean(), "{pace}");
}

/// The policy `adaptive` in real time. Simulated time has months and bounds (`months.rs` of the crawl
/// database); here the whole agent runs.
#[test]
fn changing_pages_are_about_as_fresh_as_at_equal_intervals_or_fresher() {
    let (warm_up, judged) =
        (Duration::from_secs(sized(40, 60)), Duration::from_secs(sized(40, 120)));
    let changes = Changes::between(Duration::from_secs(2), Duration::from_secs(200));
    let budget = 5.0;
    let scene = Scene::new(spec().changes(changes))
        .within(warm_up + judged + DEADLINE)
        .delays("20ms", "0ms")
        .set("recrawl.policy=adaptive")
        .set("recrawl.objective=freshness")
        .set(&format!("recrawl.rate={budget}"))
        .set("recrawl.interval-min=1s")
        .set("recrawl.interval-max=100s")
        .set("recrawl.change-interval=20s")
        .set("recrawl.sitemaps-interval=1h");
    let child = scene.start();
    std::thread::sleep(warm_up);
    let begun = scene.web.log().now();
    std::thread::sleep(judged);
    let ended = scene.web.log().now();
    child.stop();
    let _ = scene.end(child);
    let log = scene.web.log().entries();
    let world = World::new(scene.web.spec().clone());
    let at = |end| FreshnessReport::until(&world, &log, end);
    let (before, after) = (at(begun), at(ended));
    let (mut fresh, mut equal, mut n_visits) = (0.0, 0.0, 0);
    for (url, page) in &after.pages {
        let earlier = before.pages.get(url).expect("each page is fetched before it is judged");
        fresh += (page.fresh - earlier.fresh).as_secs_f64() / judged.as_secs_f64();
        n_visits += page.n_visits() - earlier.n_visits();
    }
    let n_pages = after.pages.len() as f64;
    let interval = n_pages * judged.as_secs_f64() / n_visits as f64;
    for page in after.pages.values() {
        // The mean freshness at equal intervals, with random phases.
        let x = interval / page.history.interval().as_secs_f64();
        equal += -(-x).exp_m1() / x;
    }
    let (fresh, equal) = (fresh / n_pages, equal / n_pages);
    let spent = n_visits as f64 / judged.as_secs_f64() / budget;
    println!("fresh {fresh:.3}, {equal:.3} at equal intervals, budget spent {spent:.3}");
    assert!((0.8..1.2).contains(&spent), "the budget is {spent}");
    // In a short time chance has a part.
    assert!(fresh > sized(0.93, 0.95) * equal, "{fresh} instead of {equal}");
}

/// The policy `adaptive` in a cluster, on a web that changes in all patterns, in part tells lies about it, and
/// loses pages. After a join and a death the agents have one threshold and spend one budget.
#[test]
fn a_cluster_has_one_threshold_and_meets_one_budget() {
    let budget = 8.0;
    let (settled, judged) = (Duration::from_secs(20), Duration::from_secs(sized(30, 60)));
    let changes = Changes::between(Duration::from_secs(2), Duration::from_secs(200));
    let changes = Changes { gone_within: settled, ..changes.with_variety() };
    let spec = Spec::new(seed()).size(12, 2, 8).ips(12).robots(Robots::standard());
    let mut cluster = Cluster::new(spec.changes(changes))
        .within(3 * settled + judged + DEADLINE)
        .delays(DELAY, Duration::ZERO)
        .set("recrawl.policy=adaptive")
        .set("recrawl.objective=freshness")
        .set(&format!("recrawl.rate={budget}"))
        .set("recrawl.interval-min=1s")
        .set("recrawl.interval-max=100s")
        .set("recrawl.change-interval=20s")
        .set("recrawl.errors-interval=1s")
        .set("recrawl.gone-after=8s")
        .set("recrawl.sitemaps-interval=1h")
        .start(2);
    cluster.seed();
    std::thread::sleep(settled);
    cluster.add("c");
    std::thread::sleep(settled / 2);
    cluster.kill9("b");
    cluster.wait_for_state("b", "dead");
    std::thread::sleep(settled);
    let begun = cluster.web.log().now();
    std::thread::sleep(judged);
    let ended = cluster.web.log().now();
    cluster.until("both agents have one threshold", |cluster| {
        let status = cluster.run_ok(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
        let agents = status["agents"].as_array().expect("a list of agents");
        let threshold = |agent: &serde_json::Value| agent["recrawl"]["threshold"].as_f64();
        let thresholds: Vec<f64> = agents.iter().filter_map(threshold).collect();
        println!("thresholds {thresholds:?}");
        thresholds.len() == 2 && (thresholds[0] / thresholds[1] - 1.0).abs() < 0.02
    });
    let _ = cluster.stop();

    let log = cluster.web.log().entries();
    let world = World::new(cluster.web.spec().clone());
    let report = FreshnessReport::until(&world, &log, ended);
    let visits = || report.pages.values().flat_map(|page| &page.visits);
    // Pages that fail have intervals of their own.
    let is_spent = |status: u16| matches!(status, 200 | 304);
    let n_spent = visits().filter(|visit| visit.at >= begun && is_spent(visit.status)).count();
    let spent = n_spent as f64 / ended.since(begun).as_secs_f64() / budget;
    println!("{report}\nbudget spent {spent:.3}");
    assert!((0.75..1.25).contains(&spent), "the budget is {spent}");
    let gone = report.pages.values().filter(|page| page.is_known_gone());
    let is_gone = |status: u16| matches!(status, 404 | 410);
    let n_tries =
        |page: &PageFreshness| page.visits.iter().filter(|visit| is_gone(visit.status)).count();
    let n_tries: Vec<usize> = gone.map(n_tries).collect();
    // Found gone, then after 1, 2, 4 and 8 s at most, of which the last ends it; after a death once more.
    assert!(!n_tries.is_empty() && n_tries.iter().all(|n| *n <= 7), "{n_tries:?}");
    let pace = judge_pace(&Pace::delays(DELAY, Duration::ZERO), &log);
    assert!(pace.is_clean(), "{pace}");
}
