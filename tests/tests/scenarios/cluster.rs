//! Goal: promises 1 and 2 hold for a cluster of real processes while agents join, are drained, are
//! restarted, are killed and lose their disks, are cut off, and while the coordinator is down: the
//! web's own log sees each page that is due once, and one polite crawler.
//!
//! What could go wrong: a link lost between two agents or with one of them; a page fetched by the
//! old owner and by the new one; both on a host at once; an address visited by two agents; an agent
//! that goes on after it was given up; one that waits for a sick one; an end that is announced
//! while something is on its way.
//!
//! Without a kill nothing may be repeated at all. "In the middle" is a share of the pages due,
//! counted by the web.

mod coordinator;
mod cuts;
mod joins_and_drains;
mod kills;
mod together;

use crivello_tests::in_process::{COMMIT_PAGES_MAX, IN_FLIGHT, VISITS_MAX};
use crivello_tests::{Cluster, seed};
use simweb::{PageKind, Robots, Spec};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(250);
const IP_DELAY: Duration = Duration::from_millis(40);

/// So many groups that each of four agents has some, two of them on each address.
fn web(pages_per_host: u32) -> Spec {
    Spec::new(seed())
        .size(40, 1, pages_per_host)
        .ips(20)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.05, PageKind::Duplicate)
        .portion(0.05, PageKind::Redirect(302))
        .portion(0.05, PageKind::Status(404))
}

/// Small commits, so that the open one is small too.
fn cluster(web: Spec) -> Cluster {
    Cluster::new(web)
        .delays(DELAY, IP_DELAY)
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set(&format!("state.commit-pages-max={COMMIT_PAGES_MAX}"))
        .set("state.commit-interval=50ms")
}

/// Waits for the end, ends everything, and judges.
#[expect(clippy::print_stdout, reason = "shown when the test fails")]
fn finish(cluster: &mut Cluster, repeats_max: u64) {
    cluster.wait();
    let _ = cluster.stop();
    let ended = cluster.assert_clean(repeats_max);
    println!(
        "{} pages, {} fetched again, {} archived again, at most {repeats_max} are fair",
        ended.report.n_pages, ended.report.n_repeats, ended.n_archived_again
    );
}
