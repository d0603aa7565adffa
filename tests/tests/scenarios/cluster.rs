//! Faults of a cluster of real processes: each page is fetched once and politely while agents join,
//! are drained, restarted, killed, cut off and lose their disks, and while the coordinator is down.
//! The web's log has one request for each due page, as of one polite crawler.
//!
//! Possible failures: a link is lost between two agents or with one of them; a page is fetched by
//! the old owner and by the new one; both visit a host at once; two agents visit an address; an
//! agent continues after it was declared dead; an agent waits for a failing one; the end is
//! reported while rows are in transit.
//!
//! Without a kill, nothing may be fetched again. "In the middle" is a share of the due pages,
//! counted by the web.

mod coordinator;
mod coordinators;
mod cuts;
mod joins_and_drains;
mod kills;
mod liveness;
mod power_cut;
mod quotient_sieve;
mod recovery;
mod together;

use crivello_tests::in_process::{COMMIT_PAGES_MAX, IN_FLIGHT, VISITS_MAX};
use crivello_tests::{Cluster, seed};
use simweb::{PageKind, Robots, Spec};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(250);
const IP_DELAY: Duration = Duration::from_millis(40);

/// Returns a web with enough groups that each of four agents has some, and with two groups per
/// address.
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

/// Returns a cluster with small commits, so that few pages are in the open one.
fn cluster(web: Spec) -> Cluster {
    Cluster::new(web)
        .delays(DELAY, IP_DELAY)
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set(&format!("state.commit-pages-max={COMMIT_PAGES_MAX}"))
        .set("state.commit-interval=50ms")
}

/// Waits for the end of the crawl, stops the cluster, and judges it.
#[expect(clippy::print_stdout, reason = "output of a failed test")]
fn finish(cluster: &mut Cluster, repeats_max: u64) {
    let ended = cluster.finish(repeats_max);
    println!(
        "{} pages, {} fetched again, {} archived again; the maximum is {repeats_max}",
        ended.report.n_pages, ended.report.n_repeats, ended.n_archived_again
    );
}
