//! Declaration of deaths: agents that are cut off together, that make no progress, or that do not
//! reach each other.
//!
//! Possible failures: a newcomer takes over the groups of agents that still fetch under each other's
//! leases; an agent that is stuck stops all others; nobody learns why.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::cluster::{COORDINATOR, Way};
use crivello_tests::metrics::{get, parse};
use crivello_tests::{Cluster, SmallDisk, metrics_address};
use std::os::unix::fs::symlink;
use std::time::Duration;

/// Longer than several leases and all bounds that follow from them.
const LONG: Duration = Duration::from_secs(90);

fn n_requests(cluster: &Cluster, names: &[&str]) -> usize {
    names.iter().map(|name| cluster.requests_of(name).len()).sum()
}

/// The coordinator loses a and b, which grant each other peer leases, while c returns to it. The
/// judge finds hosts that two agents visit at once.
#[test]
fn a_newcomer_does_not_take_over_from_agents_that_are_cut_off_together() {
    let mut cluster = cluster(web(90)).with_dashboard().within(LONG).start_until(3, 0.05);
    cluster.kill9("c");
    cluster.wait_for_state("c", "dead");
    for name in ["a", "b"] {
        cluster.set_way(name, COORDINATOR, Way::Cut);
        cluster.set_way(name, "c", Way::Cut);
        cluster.set_way("c", name, Way::Cut);
    }
    let before = n_requests(&cluster, &["c"]);
    cluster.launch("c");
    cluster.until("status says that a and b cannot be declared dead", |cluster| {
        let status = cluster.run_ok(&["status"]);
        ["a", "b"].iter().all(|name| {
            status.contains(&format!("{name} has been without news of progress for"))
                && status.contains(&format!("crivello declare-dead {name}"))
        })
    });
    for name in ["a", "b", "c"] {
        assert_eq!(cluster.state(name).as_deref(), Some("active"), "{}", cluster.account());
    }
    let said = cluster.process(COORDINATOR).log();
    let at = metrics_address(&said).expect("metrics are served");
    cluster.until("the metrics count both", |_| {
        let page = parse(&get(at, "/metrics").1).expect("metrics");
        page.sum("crivello_coordinator_obstacles", &[("kind", "undecided")]) as u64 == 2
    });
    // Without a confirmation, a person gets to know what to make sure of.
    let (code, _, said) = cluster.ask(&["declare-dead", "a"]);
    assert!(code == Some(64) && said.contains("make sure that its process"), "{code:?}: {said}");
    let fetched = n_requests(&cluster, &["a", "b"]);
    cluster.until("a and b fetch on", |c| n_requests(c, &["a", "b"]) > fetched + 20);
    assert_eq!(n_requests(&cluster, &["c"]), before, "c fetched although a and b do");
    for name in ["a", "b"] {
        cluster.set_way(name, COORDINATOR, Way::Open);
        cluster.set_way(name, "c", Way::Open);
        cluster.set_way("c", name, Way::Open);
    }
    cluster.until("c fetches", |c| n_requests(c, &["c"]) > before);
    finish(&mut cluster, IN_FLIGHT);
}

/// Both agents lose the coordinator for good. A person makes sure that they do not run.
#[test]
fn a_person_decides_about_agents_that_nobody_else_can_judge() {
    let mut cluster = cluster(web(24)).within(LONG).start_until(3, 0.2);
    cluster.kill9("c");
    cluster.wait_for_state("c", "dead");
    for name in ["a", "b"] {
        cluster.kill9(name);
    }
    cluster.launch("c");
    cluster
        .until("a and b are silent", |c| c.run_ok(&["status"]).contains("b has been without news"));
    assert_eq!(cluster.state("a").as_deref(), Some("active"), "a was declared dead");
    cluster.run_ok(&["declare-dead", "a", "--confirm"]);
    // Leases that a granted have expired then: b can be declared dead as well.
    for name in ["a", "b"] {
        cluster.wait_for_state(name, "dead");
    }
    cluster.until("c fetches", |c| !c.requests_of("c").is_empty());
    for name in ["a", "b"] {
        cluster.add(name);
    }
    finish(&mut cluster, 3 * IN_FLIGHT);
}

/// A join and a drain while the disk of one of three agents is full: the others go on, and it
/// continues by itself once there is space.
#[test]
fn an_agent_on_a_full_disk_stops_nobody_else() {
    let Some(disk) = SmallDisk::mount("96m") else { return };
    let cluster = cluster(web(90)).within(LONG).allow_log_line("the disk is");
    std::fs::create_dir(disk.path().join("b")).expect("created");
    symlink(disk.path().join("b"), cluster.disk("b")).expect("linked");
    let mut cluster = cluster.set("state.disk-free-min=1B").set("state.write-buffers=1MiB");
    cluster = cluster.start_until(3, 0.1);
    let ballast = disk.fill(1);
    cluster.until("the disk is full", |c| c.log_of("b").contains("the disk is full"));
    cluster.launch("d");
    cluster.until("status says why", |c| {
        let status = c.run_ok(&["status"]);
        status.contains("b has made no progress for") && status.contains("its disk is full")
    });
    cluster.wait_for_state("b", "dead");
    let at = cluster.web.log().now();
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", at).is_some());
    cluster.drain("a");
    let fetched = n_requests(&cluster, &["c", "d"]);
    cluster.until("the others fetch on", |c| n_requests(c, &["c", "d"]) > fetched + 50);
    // A process that cannot even open its database waits, too.
    cluster.kill9("b");
    // What is free by chance may suffice to open the database: the archive was cut after its last record.
    let more = disk.fill(1);
    cluster.launch_only("b");
    cluster.until("it waits", |c| {
        let log = c.process("b").log();
        log.contains("the agent joins when there is free space") && log.contains("No space left")
    });
    for file in [ballast, more] {
        std::fs::remove_file(file).expect("removed");
    }
    cluster.wait_until_listening("b");
    cluster.wait_for_state("b", "active");
    finish(&mut cluster, IN_FLIGHT);
}

/// The usual full disk: the crawler stops before the last byte. It gives up its groups all the same,
/// and a process that starts meanwhile waits with its return until there is space.
#[test]
fn an_agent_on_a_nearly_full_disk_gives_up_its_groups() {
    let Some(disk) = SmallDisk::mount("128m") else { return };
    let cluster = cluster(web(90)).within(LONG).allow_log_line("the disk is");
    std::fs::create_dir(disk.path().join("b")).expect("created");
    symlink(disk.path().join("b"), cluster.disk("b")).expect("linked");
    let mut cluster = cluster.set("state.disk-free-min=24MiB").set("state.write-buffers=1MiB");
    cluster = cluster.start_until(3, 0.1);
    let ballast = disk.fill(12 << 20);
    cluster.until("status says why", |c| {
        let status = c.run_ok(&["status"]);
        status.contains("b has made no progress for") && status.contains("its disk is full")
    });
    cluster.wait_for_state("b", "dead");
    let at = cluster.web.log().now();
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", at).is_some());
    cluster
        .until("it waits", |c| c.log_of("b").contains("the agent joins when there is free space"));
    std::fs::remove_file(&ballast).expect("removed");
    cluster.wait_for_state("b", "active");
    finish(&mut cluster, IN_FLIGHT);
}

/// The process stands still: it is declared dead, the others go on, and it returns by itself.
#[test]
fn an_agent_that_stands_still_returns_by_itself() {
    let mut cluster = cluster(web(60)).within(LONG).start_until(3, 0.1);
    cluster.freeze("b");
    cluster.launch("d");
    cluster.wait_for_state("b", "dead");
    cluster.until("d fetches", |c| !c.requests_of("d").is_empty());
    cluster.thaw("b");
    cluster.wait_for_state("b", "active");
    finish(&mut cluster, 2 * IN_FLIGHT);
}

/// Two agents reach the coordinator, but not each other: one of them is declared dead, and the
/// others go on, also with a view that is new since then.
#[test]
fn two_agents_that_do_not_reach_each_other_do_not_stop_the_others() {
    let mut cluster = cluster(web(90)).within(LONG).start_until(3, 0.05);
    for (from, to) in [("a", "b"), ("b", "a")] {
        cluster.set_way(from, to, Way::Cut);
    }
    cluster.launch("d");
    cluster.until("status says why", |c| {
        c.run_ok(&["status"]).contains("have not reached each other")
    });
    // The younger one gives way.
    cluster.wait_for_state("b", "dead");
    assert_eq!(cluster.state("a").as_deref(), Some("active"), "{}", cluster.account());
    cluster.until("d fetches", |c| !c.requests_of("d").is_empty());
    cluster.until("b is told why", |c| c.log_of("b").contains("could not reach each other"));
    for (from, to) in [("a", "b"), ("b", "a")] {
        cluster.set_way(from, to, Way::Open);
    }
    cluster.wait_for_state("b", "active");
    // Pages of b whose links a had not acknowledged are fetched again.
    let again = cluster.due().len() as u64 / 4;
    finish(&mut cluster, again);
}

/// The first agent is alone for a moment, and later dies in the middle of a busy crawl: what it had
/// alone has been copied, so the crawl ends.
#[test]
fn the_end_comes_although_the_first_agent_dies() {
    let mut cluster = cluster(web(60)).start(2);
    cluster.seed();
    cluster.add("c");
    cluster.wait_for_share(0.2);
    cluster.drain("b");
    cluster.wait_for_share(0.5);
    cluster.kill9("a");
    cluster.delete_disk("a");
    finish(&mut cluster, IN_FLIGHT);
}
