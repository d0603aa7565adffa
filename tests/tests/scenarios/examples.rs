//! The settings files of `examples/`: they work unchanged and do what their comments promise.
//!
//! Possible failures: a setting was renamed or is out of bounds, a rule admits another site, a
//! limit is missing, an include list omits the site itself.

use crivello_common::config::Settings;
use crivello_tests::{Scene, is_page, seed};
use simweb::{JudgeLimits, Pace, Robots, Spec};
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
