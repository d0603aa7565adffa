//! A cluster whose sieves are quotient filters: nothing is lost or fetched twice while groups move, and while agents
//! die and come back.
//!
//! Possible failures: a filter keeps URLs of a group that left and comes back without them; it lacks URLs that came with
//! a group, or that another agent reported; it is taken for complete while rows are still read.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::Cluster;

fn quotient(pages_per_host: u32) -> Cluster {
    cluster(web(pages_per_host)).set("state.sieve=quotient").set("state.sieve-memory=1MiB")
}

#[test]
fn groups_that_leave_and_come_back_lose_nothing() {
    let mut cluster = quotient(30).start_until(2, 0.15);
    cluster.add("c");
    cluster.wait_for_share(0.35);
    // Its groups go to the others, and to the next one that joins.
    cluster.drain("c");
    cluster.wait_for_share(0.5);
    cluster.add("d");
    finish(&mut cluster, 0);
    for name in ["c", "d"] {
        assert!(!cluster.hosts_of(name).is_empty(), "{name} fetched nothing");
    }
}

#[test]
fn agents_that_die_with_and_without_their_disks_lose_nothing() {
    let mut cluster = quotient(30).start_until(4, 0.2);
    cluster.kill9("a");
    cluster.launch("a");
    cluster.wait_for_share(0.35);
    let killed = cluster.web.log().now();
    cluster.kill9("b");
    cluster.delete_disk("b");
    cluster.wait_for_state("b", "dead");
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", killed).is_some());
    finish(&mut cluster, 2 * IN_FLIGHT);
}
