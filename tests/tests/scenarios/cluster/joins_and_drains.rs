//! Agents that join and leave in order: nothing is fetched again.

use super::{cluster, finish, web};
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::in_process::IN_FLIGHT;
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn an_agent_that_joins_takes_its_share() {
    let mut cluster = cluster(web(24)).start_until(3, 0.3);
    cluster.add("d");
    finish(&mut cluster, 0);
    assert!(!cluster.hosts_of("d").is_empty(), "the new agent fetched nothing");
}

/// From one agent to three: the first replicas are created during the crawl.
#[test]
fn a_crawl_begun_alone_is_shared() {
    let mut cluster = cluster(web(24)).start_until(1, 0.2);
    cluster.add("b");
    cluster.add("c");
    finish(&mut cluster, 0);
    for name in ["b", "c"] {
        assert!(!cluster.hosts_of(name).is_empty(), "{name} fetched nothing");
    }
}

#[test]
fn an_agent_that_is_drained_leaves_its_share_to_the_others() {
    let mut cluster = cluster(web(24)).start_until(3, 0.3);
    let begun = cluster.web.log().now();
    cluster.drain("b");
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", begun).is_some());
    finish(&mut cluster, 0);
}

#[test]
fn all_agents_are_restarted_one_after_the_other() {
    let mut cluster = cluster(web(30)).start(3);
    cluster.seed();
    for (name, share) in [("a", 0.15), ("b", 0.35), ("c", 0.55)] {
        cluster.wait_for_share(share);
        cluster.restart(name);
        cluster.wait_for_state(name, "active");
    }
    finish(&mut cluster, 0);
}

/// The whole cluster, including the coordinator, is stopped and started again.
#[test]
fn a_cluster_that_was_stopped_goes_on() {
    let mut cluster = cluster(web(16)).start_until(3, 0.4);
    let _ = cluster.stop();
    let n_requests = cluster.web.log().len();
    cluster.start_coordinator();
    cluster.run_ok(&["resume"]);
    for name in ["a", "b", "c"] {
        cluster.launch(name);
    }
    cluster.until("the crawl continues", |cluster| cluster.web.log().len() > n_requests);
    // As in the next test: a busy machine may start an agent later than its lease lasts.
    let n_deaths = cluster.process(COORDINATOR).log().matches(" is dead: ").count();
    finish(&mut cluster, n_deaths as u64 * IN_FLIGHT);
}

/// Simulates an orchestrator that stops a whole deployment. All agents are asked to end at the same
/// time, each tries to hand over its groups, and no agent is left to take them. They stay members,
/// keep their disks, and continue the crawl when they are started again.
#[test]
fn all_agents_are_told_to_leave_at_once() {
    let mut cluster = cluster(web(20)).with(&["--drain-on-stop"]).start_until(3, 0.4);
    let names = ["a", "b", "c"];
    names.iter().for_each(|name| cluster.process(name).signal(Signal::TERM));
    for name in names {
        let _ = cluster.end(name);
    }
    let n_requests = cluster.web.log().len();
    let n_left = names.iter().filter(|name| cluster.state(name).is_some()).count();
    assert!(n_left > 0, "no agent is left");
    for name in names {
        cluster.launch(name);
    }
    cluster.until("the crawl continues", |cluster| cluster.web.log().len() > n_requests);
    // An agent that is started later than its lease lasts is dead until then, and what it had not
    // copied is fetched again. This takes a busy machine.
    let n_deaths = cluster.process(COORDINATOR).log().matches(" is dead: ").count();
    finish(&mut cluster, n_deaths as u64 * IN_FLIGHT);
}

/// It would count as dead until a person removes it, and with others keep the crawl open.
#[test]
fn an_agent_whose_drain_ends_while_the_coordinator_is_down_leaves_once_it_is_back() {
    let mut cluster = cluster(web(24)).start_until(3, 0.3);
    cluster.run_ok(&["drain", "b"]);
    // The view with the drain reaches all agents.
    std::thread::sleep(Duration::from_millis(150));
    cluster.kill9(COORDINATOR);
    std::thread::sleep(Duration::from_secs(6));
    cluster.start_coordinator();
    cluster.until("b has left", |cluster| cluster.state("b").is_none());
    assert_eq!(cluster.end("b").status.code(), Some(0));
    // Without it and the coordinator, the leases of the others may expire during visits.
    finish(&mut cluster, IN_FLIGHT);
}
