//! `crivello crawl --agents N`: the same crawl as with one agent. Each page is fetched once and
//! politely, Ctrl-C stops the crawl, the same command resumes it, and the limit is the same.
//!
//! Possible failures: an end is detected before the seeds are added, only the coordinator saves its
//! state, an agent does not find its directory after a restart, a report counts pages twice.

use crivello_tests::{Scene, is_page, seed};
use simweb::{JudgeLimits, Pace, PageKind, Robots, Spec};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(100);
const IP_DELAY: Duration = Duration::from_millis(40);

/// Returns a web with hosts of several agents on each address.
fn web(pages_per_host: u32) -> Spec {
    let web = Spec::new(seed()).size(30, 1, pages_per_host).ips(15).latency_ms(0, 20);
    web.robots(Robots::standard()).portion(0.05, PageKind::Redirect(302))
}

fn scene(pages_per_host: u32) -> Scene {
    Scene::new(web(pages_per_host)).delays("100ms", "40ms").arg("--agents").arg("3")
}

fn pace() -> Pace {
    Pace::delays(DELAY, IP_DELAY)
}

#[test]
fn three_agents_in_one_process_fetch_what_one_would() {
    let scene = scene(8);
    let ended = scene.crawl().succeeded();
    let report = scene.assert_clean(&scene.judge(JudgeLimits::default(), pace()));
    assert_eq!(
        ended.count("totals/pages"),
        report.n_pages,
        "the report counts other pages than the judge"
    );
    assert_eq!(ended.count("totals/urls_queued"), 0, "URLs are still queued");
}

#[test]
fn a_local_cluster_that_was_interrupted_goes_on_where_it_was() {
    let scene = scene(12);
    let mut child = scene.start();
    scene.wait_for_requests(&mut child, 120);
    child.stop();
    let first = scene.end(child);
    assert_eq!(first.code, Some(130), "{}", first.stderr);
    let before = scene.web.log().entries().len();
    let _ = scene.crawl().succeeded();
    assert!(scene.web.log().entries().len() > before + 100, "the crawl did not continue");
    let _ = scene.assert_clean(&scene.judge(JudgeLimits::default(), pace()));
}

#[test]
fn a_local_cluster_keeps_to_the_page_limit() {
    let scene = scene(8).arg("--max-pages").arg("90");
    let ended = scene.crawl().succeeded();
    let pages = scene.web.log().entries().iter().filter(|entry| is_page(entry)).count();
    assert_eq!((pages, ended.count("totals/pages")), (90, 90));
}
