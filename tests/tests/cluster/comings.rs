//! Agents that come and go in order: nothing is repeated.

use super::{alone, cluster, finish, web};

#[test]
fn an_agent_that_joins_takes_its_share() {
    let _alone = alone();
    let mut cluster = cluster(web(24)).start(3);
    cluster.seed();
    cluster.wait_for_share(0.3);
    cluster.add("d");
    finish(&mut cluster, 0);
    assert!(!cluster.hosts_of("d").is_empty(), "the newcomer fetched nothing");
}

/// From one to three: the first copies are made on the way.
#[test]
fn a_crawl_begun_alone_is_shared() {
    let _alone = alone();
    let mut cluster = cluster(web(24)).start(1);
    cluster.seed();
    cluster.wait_for_share(0.2);
    cluster.add("b");
    cluster.add("c");
    finish(&mut cluster, 0);
    for name in ["b", "c"] {
        assert!(!cluster.hosts_of(name).is_empty(), "{name} fetched nothing");
    }
}

#[test]
fn an_agent_that_is_drained_leaves_its_share_to_the_others() {
    let _alone = alone();
    let mut cluster = cluster(web(24)).start(3);
    cluster.seed();
    cluster.wait_for_share(0.3);
    let begun = cluster.web.log().now();
    cluster.drain("b");
    cluster.until("others go on with its hosts", |c| c.successor_of("b", begun).is_some());
    finish(&mut cluster, 0);
}

#[test]
fn all_agents_are_restarted_one_after_the_other() {
    let _alone = alone();
    let mut cluster = cluster(web(30)).start(3);
    cluster.seed();
    for (name, share) in [("a", 0.15), ("b", 0.35), ("c", 0.55)] {
        cluster.wait_for_share(share);
        cluster.restart(name);
        cluster.wait_for_state(name, "active");
    }
    finish(&mut cluster, 0);
}

/// Stopped as a whole, coordinator included, and started again as it was.
#[test]
fn a_cluster_that_was_stopped_goes_on() {
    let _alone = alone();
    let mut cluster = cluster(web(16)).start(3);
    cluster.seed();
    cluster.wait_for_share(0.4);
    let _ = cluster.stop();
    let n_requests = cluster.web.log().len();
    cluster.start_coordinator();
    cluster.tell(&["resume"]);
    for name in ["a", "b", "c"] {
        cluster.launch(name);
    }
    cluster.until("it goes on", |cluster| cluster.web.log().len() > n_requests);
    finish(&mut cluster, 0);
}
