//! The settings files of `examples/`: they work unchanged and do what their comments promise.
//!
//! Possible failures: a setting was renamed or is out of bounds, a rule admits another site, a
//! limit is missing, an include list omits the site itself.

use crate::recrawl::{fetches, too_early};
use crivello_common::config::Settings;
use crivello_tests::{DEADLINE, Scene, is_page, seed};
use simweb::{JudgeLimits, Pace, Robots, Spec, judge_pace};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILES: [&str; 4] = ["broad.toml", "news-fresh.toml", "news.toml", "one-site.toml"];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the root of the repository")
        .join("examples")
        .join(name)
}

fn web(pages_per_host: u32) -> Scene {
    let spec = Spec::new(seed()).size(4, 2, pages_per_host).ips(8).latency_ms(0, 5);
    Scene::new(spec.robots(Robots::standard())).delays("50ms", "20ms")
}

/// Prepares a crawl of a small web with the example, with the domains of the simulated web instead
/// of those in the file, and short delays.
fn crawl(name: &str, pages_per_host: u32, more: &[&str]) -> (Scene, JudgeLimits) {
    let text = fs::read_to_string(example(name)).expect("a readable example");
    let mut scene = web(pages_per_host);
    let text = text
        .replace("\"example.com\"", "\"site0.test\"")
        .replace("\"example.net\"", "\"site1.test\"")
        .replace("\"example.org\"", "\"site2.test\"");
    let file = scene.dir().join(name);
    fs::write(&file, text).expect("write a file into the test's directory");
    scene = scene.arg("--config").arg(file.to_string_lossy());
    // The delay of a domain is longer than the test can wait, and this disk may be small.
    scene = scene.set("politeness.domains=[]").set("state.disk-free-min=\"1MiB\"");
    scene = more.iter().fold(scene, |scene, setting| scene.set(setting));
    (scene, JudgeLimits::default())
}

fn pace() -> Pace {
    Pace::delays(Duration::from_millis(50), Duration::from_millis(20))
}

/// Returns true for the sites whose domains replace those of the examples for news.
fn is_of_news(url: &str) -> bool {
    [".site0.test", ".site1.test"].iter().any(|domain| url.contains(domain))
}

/// Returns the number of pages that the web served, by registrable domain.
fn pages_by_domain(scene: &Scene) -> BTreeMap<String, usize> {
    let mut pages = BTreeMap::new();
    for entry in scene.web.log().entries().iter().filter(|entry| is_page(entry)) {
        let domain = entry.host.split_once('.').map_or("", |(_, domain)| domain);
        *pages.entry(domain.to_owned()).or_default() += 1;
    }
    pages
}

#[test]
fn every_example_is_tried_here() {
    let dir = example("");
    let found: BTreeSet<String> = fs::read_dir(&dir)
        .expect("the directory of the examples")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, FILES.map(str::to_owned).into());
}

#[test]
fn every_example_is_accepted_as_it_stands() {
    for name in FILES {
        let text = fs::read_to_string(example(name)).expect("a readable example");
        let settings = Settings::from_toml(name, &text);
        assert!(settings.is_ok(), "{name}: {}", settings.unwrap_err());
    }
}

#[test]
fn one_site_is_fetched_completely_and_nothing_else() {
    let (scene, mut limits) = crawl("one-site.toml", 12, &[]);
    let _ = scene.crawl().succeeded();
    limits.host_suffixes = vec!["site0.test".to_owned()];
    limits.images = true;
    let report = scene.assert_clean(&scene.judge(limits, pace()));
    assert!(report.n_pages > 5, "{report}");
    assert_eq!(pages_by_domain(&scene).keys().collect::<Vec<_>>(), ["site0.test"]);
}

#[test]
fn news_sites_are_fetched_down_to_their_articles() {
    let (scene, mut limits) = crawl("news.toml", 30, &[]);
    let _ = scene.crawl().succeeded();
    limits.host_suffixes = ["site0.test", "site1.test", "site2.test"].map(str::to_owned).into();
    limits.depth_max = Some(2);
    limits.sitemaps = false;
    let _ = scene.assert_clean(&scene.judge(limits, pace()));
    assert!(!pages_by_domain(&scene).contains_key("site3.test"));
}

/// The intervals are shorter, because nobody waits for an hour.
#[test]
fn news_sites_are_kept_fresh() {
    let interval = r#"recrawl.interval="page.depth == 0 ? 3 : (page.depth == 1 ? 10 : 86400)""#;
    let more = [interval, "recrawl.interval-min=1s", "recrawl.errors-interval=10s"];
    let (scene, _) = crawl("news-fresh.toml", 10, &more);
    let seeds: Vec<String> = scene.web.seeds().into_iter().filter(|url| is_of_news(url)).collect();
    let child = scene.start();
    let fetches = || fetches(&scene.web.log().entries());
    let begun = scene.web.log().now();
    while !seeds.iter().all(|url| fetches().get(url).is_some_and(|&n| n >= 5)) {
        let waited = scene.web.log().now().since(begun);
        assert!(waited < DEADLINE, "front pages are not fetched again: {}", scene.log());
        std::thread::sleep(Duration::from_millis(200));
    }
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let (pages, entries) = (fetches(), scene.web.log().entries());
    assert!(pages.len() > 2 * seeds.len(), "{pages:?}");
    let early = too_early(&entries, Duration::from_secs(3));
    assert!(early.is_empty(), "fetched again before its time: {early:?}");
    // Articles below sections are fetched once a day.
    let once = pages.values().filter(|&&n| n == 1).count();
    assert!(once > 0, "{pages:?}");
    let sites: BTreeSet<String> = pages_by_domain(&scene).into_keys().collect();
    assert_eq!(sites, ["site0.test", "site1.test"].map(str::to_owned).into());
    let pace = judge_pace(&pace(), &entries);
    assert!(pace.is_clean(), "{pace}");
}

#[test]
fn a_broad_crawl_takes_a_share_of_every_site() {
    // Smaller limits of the same kind: a site has more pages than the limit.
    let small = ["limits.pages-per-host-max=5", "limits.pages-per-domain-max=8"];
    let (scene, mut limits) = crawl("broad.toml", 20, &small);
    let _ = scene.crawl().succeeded();
    limits.pages_per_host_max = Some(5);
    limits.pages_per_domain_max = Some(8);
    limits.depth_max = Some(12);
    limits.repeated_segments_max = 2;
    limits.sitemaps = false;
    let _ = scene.assert_clean(&scene.judge(limits, pace()));
    let pages = pages_by_domain(&scene);
    assert!(pages.len() == 4 && pages.values().all(|&n| n <= 8), "{pages:?}");
}
