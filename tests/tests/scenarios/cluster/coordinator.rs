//! Absence of the coordinator, which is not needed to crawl.

use super::{cluster, finish, web};
use crivello_tests::cluster::COORDINATOR;

/// The coordinator resumes from its state with a higher epoch, and no agent is declared dead. The
/// lease is shorter than its absence, so the agents continue on their peer leases.
#[test]
fn the_coordinator_is_down_for_the_middle_third() {
    let mut cluster = cluster(web(36)).set("cluster.lease=1s").start_until(3, 1.0 / 3.0);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.kill9(COORDINATOR);
    cluster.wait_for_share(2.0 / 3.0);
    assert_eq!(cluster.epoch(), None, "the coordinator still responds");
    cluster.start_coordinator();
    let after = cluster.epoch().expect("the coordinator responds again");
    assert!(after > before, "the epoch did not grow: {before} before, {after} after");
    for name in ["a", "b", "c"] {
        assert_eq!(cluster.state(name).as_deref(), Some("active"), "{}", cluster.account());
    }
    finish(&mut cluster, 0);
}

/// Without any agent, only the member list is left, and it is kept.
#[test]
fn a_coordinator_that_is_killed_is_found_where_it_was() {
    let mut cluster = cluster(web(1)).start(0);
    let mut before = cluster.epoch().expect("the coordinator responds");
    for _ in 0..3 {
        cluster.kill9(COORDINATOR);
        assert_eq!(cluster.epoch(), None, "the coordinator still responds");
        cluster.start_coordinator();
        let after = cluster.epoch().expect("the coordinator responds again");
        assert!(after > before, "the epoch did not grow: {before} before, {after} after");
        before = after;
    }
    cluster.freeze(COORDINATOR);
    cluster.thaw(COORDINATOR);
    cluster.run_ok(&["agents"]);
    let ends = cluster.stop();
    assert_eq!(ends.len(), 1);
    assert!(ends[0].usage.memory_max > 0);
}
