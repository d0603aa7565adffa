//! Several coordinators, of which one is active, with their record in etcd, a real one: the active one is killed,
//! suspended beyond its lease, cut off from etcd; etcd is away for a while; everything is killed.
//!
//! Possible failures: two coordinators publish or grant at the same time, so that two agents fetch the same pages; the
//! record of the new one is old; agents or commands do not find it; an agent is declared dead.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::cluster::{COORDINATOR, ETCD, STANDBY, Way};
use crivello_tests::{Cluster, Etcd, skipped_unless_allowed};

const AGENTS: [&str; 3] = ["a", "b", "c"];

/// Returns a cluster whose coordinator and standby run; `None` without etcd.
fn two_coordinators(pages_per_host: u32) -> Option<Cluster> {
    if !Etcd::is_installed() {
        let why = "etcd is not installed (on Debian: apt-get install etcd-server)";
        skipped_unless_allowed("CRIVELLO_TEST_NO_ETCD", why);
        return None;
    }
    let cluster = cluster(web(pages_per_host)).with_etcd().set("cluster.lease=4s");
    let cluster = cluster.allow_log_line("is not active any more");
    let mut cluster = cluster.start(3);
    cluster.launch_coordinator(STANDBY);
    wait_for_lines(&mut cluster, STANDBY, "is active; this one is standing by", 1);
    Some(cluster)
}

/// Waits until the output of a coordinator has so many lines with this text.
fn wait_for_lines(cluster: &mut Cluster, name: &str, text: &str, n: usize) {
    cluster.until(&format!("{name}: {text}"), |cluster| {
        cluster.process(name).log().matches(text).count() >= n
    });
}

/// Waits until a coordinator is active for the `n`th time.
fn wait_until_active(cluster: &mut Cluster, name: &str, n: usize) {
    wait_for_lines(cluster, name, "coordinator listening on", n);
    cluster.wait_until_listening(name);
}

/// Waits until some more pages are fetched.
fn wait_for_more_pages(cluster: &mut Cluster) {
    let before = cluster.pages().len();
    assert!(before < cluster.due().len(), "the crawl has ended");
    cluster.until("more pages are fetched", |cluster| {
        cluster.pages().len() >= (before + 20).min(cluster.due().len())
    });
}

/// Waits until the coordinators answer with a later epoch than this one, with all agents as members.
fn assert_goes_on(cluster: &mut Cluster, before: u64) {
    cluster.until("a coordinator responds", |cluster| cluster.epoch().is_some());
    let after = cluster.epoch().expect("it responds");
    assert!(after > before, "the epoch did not grow: {before} before, {after} after");
    for name in AGENTS {
        assert_eq!(cluster.state(name).as_deref(), Some("active"), "{}", cluster.account());
    }
}

#[test]
fn the_active_coordinator_is_killed() {
    let Some(mut cluster) = two_coordinators(100) else { return };
    cluster.seed();
    cluster.wait_for_share(1.0 / 4.0);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.kill9(COORDINATOR);
    wait_until_active(&mut cluster, STANDBY, 1);
    assert_goes_on(&mut cluster, before);
    cluster.run_ok(&["set", "politeness.delay=500ms"]);
    wait_for_more_pages(&mut cluster);
    // The first one returns and stands by; the other one ends in order, so it need not wait for the lease.
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.launch_coordinator(COORDINATOR);
    wait_for_lines(&mut cluster, COORDINATOR, "is active; this one is standing by", 1);
    cluster.process(STANDBY).signal(rustix::process::Signal::TERM);
    let _ = cluster.end(STANDBY);
    wait_until_active(&mut cluster, COORDINATOR, 1);
    assert_goes_on(&mut cluster, before);
    assert!(cluster.run_ok(&["settings", "politeness.delay"]).contains("500ms"));
    finish(&mut cluster, 0);
}

/// The suspended coordinator wakes with requests of agents in its queues, and grants nothing.
#[test]
fn the_active_coordinator_is_suspended_beyond_its_lease_and_wakes() {
    let Some(mut cluster) = two_coordinators(100) else { return };
    cluster.seed();
    cluster.wait_for_share(1.0 / 4.0);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.freeze(COORDINATOR);
    wait_until_active(&mut cluster, STANDBY, 1);
    assert_goes_on(&mut cluster, before);
    // Only the new one knows of this.
    cluster.run_ok(&["set", "politeness.delay=500ms"]);
    cluster.thaw(COORDINATOR);
    wait_for_lines(&mut cluster, COORDINATOR, "this coordinator is not active any more", 1);
    wait_for_lines(&mut cluster, COORDINATOR, "is active; this one is standing by", 1);
    wait_for_more_pages(&mut cluster);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.kill9(STANDBY);
    wait_until_active(&mut cluster, COORDINATOR, 2);
    assert_goes_on(&mut cluster, before);
    assert!(cluster.run_ok(&["settings", "politeness.delay"]).contains("500ms"));
    finish(&mut cluster, 0);
}

/// Agents still reach the old coordinator, which must refuse them.
#[test]
fn the_active_coordinator_is_cut_off_from_etcd() {
    let Some(mut cluster) = two_coordinators(24) else { return };
    cluster.seed();
    cluster.wait_for_share(1.0 / 4.0);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.set_way(COORDINATOR, ETCD, Way::Silent);
    wait_until_active(&mut cluster, STANDBY, 1);
    wait_for_lines(&mut cluster, COORDINATOR, "this coordinator is not active any more", 1);
    assert_goes_on(&mut cluster, before);
    cluster.set_way(COORDINATOR, ETCD, Way::Open);
    wait_for_lines(&mut cluster, COORDINATOR, "is active; this one is standing by", 1);
    finish(&mut cluster, 0);
}

/// Without etcd nobody is active, and the agents go on.
#[test]
fn etcd_is_away_for_a_while() {
    let Some(mut cluster) = two_coordinators(100) else { return };
    cluster.seed();
    cluster.wait_for_share(1.0 / 4.0);
    let before = cluster.epoch().expect("the coordinator responds");
    cluster.etcd().kill();
    wait_for_lines(&mut cluster, COORDINATOR, "this coordinator is not active any more", 1);
    wait_for_more_pages(&mut cluster);
    cluster.etcd().go_on();
    cluster.until("a coordinator is active again", |cluster| {
        let mut n = |name| cluster.process(name).log().matches("coordinator listening on").count();
        n(COORDINATOR) + n(STANDBY) > 1
    });
    let is_standby = cluster.process(STANDBY).log().contains("coordinator listening on");
    cluster.wait_until_listening(if is_standby { STANDBY } else { COORDINATOR });
    assert_goes_on(&mut cluster, before);
    finish(&mut cluster, 0);
}

#[test]
fn everything_is_killed_and_started_again() {
    let Some(mut cluster) = two_coordinators(24) else { return };
    cluster.seed();
    cluster.wait_for_share(1.0 / 3.0);
    let before = cluster.epoch().expect("the coordinator responds");
    for name in [COORDINATOR, STANDBY].into_iter().chain(AGENTS) {
        cluster.kill9(name);
    }
    cluster.etcd().kill();
    cluster.etcd().go_on();
    cluster.start_coordinator();
    AGENTS.iter().for_each(|name| cluster.launch(name));
    AGENTS.iter().for_each(|name| cluster.wait_for_state(name, "active"));
    assert!(cluster.epoch().expect("it responds") > before);
    finish(&mut cluster, IN_FLIGHT * AGENTS.len() as u64);
}
