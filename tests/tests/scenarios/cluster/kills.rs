//! Agents that are killed, with and without their disks: nothing is lost, and only pages in flight
//! are fetched again.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::warc::{listed, read_members};
use crivello_tests::{Cluster, is_page};
use simweb::{Character, Robots, SeedChoice};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// Kills an agent, deletes its disk, and waits until others fetch from its hosts.
fn lose(cluster: &mut Cluster, name: &str) {
    let killed = cluster.web.log().now();
    cluster.kill9(name);
    cluster.delete_disk(name);
    cluster.wait_for_state(name, "dead");
    cluster.until("other agents visit its hosts", |c| c.successor_of(name, killed).is_some());
}

#[test]
fn an_agent_dies_and_its_disk_with_it() {
    let mut cluster = cluster(web(24)).start_until(3, 0.35);
    lose(&mut cluster, "b");
    finish(&mut cluster, IN_FLIGHT);
}

/// Pages that only the lost agent had are fetched again, and count only once towards the limits.
#[test]
fn what_only_a_lost_agent_had_is_fetched_again_when_people_say_so() {
    let limits = cluster(web(24)).set("limits.pages-per-host-max=24");
    let mut cluster = limits.set("limits.pages-per-domain-max=24").start_until(3, 0.35);
    lose(&mut cluster, "b");
    let mut answer = (None, String::new(), String::new());
    cluster.until("the pages that only b has can be counted", |c| {
        answer = c.ask(&["remove", "b"]);
        !answer.2.contains("try again")
    });
    let (code, _, said) = answer;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("URLs that only it knew: none"), "{said}");
    assert!(said.contains("--refetch") && said.contains("--give-up"), "{said}");
    cluster.until("the groups of b are copied", |c| {
        let (code, _, said) = c.ask(&["remove", "b", "--refetch"]);
        assert!(code == Some(0) || said.contains("not fully copied"), "{code:?}: {said}");
        code == Some(0)
    });
    let had = cluster.requests_of("b").iter().filter(|entry| is_page(entry)).count() as u64;
    finish(&mut cluster, had + IN_FLIGHT);
    cluster.assert_all_archived();
}

/// The disk of an agent is lost, but not the files that a store has: only pages of its last files are fetched again.
#[test]
fn what_a_store_has_of_a_lost_agent_is_not_fetched_again() {
    let mut web = web(24);
    // Large pages fill a file, also if b has few hosts.
    web.body_bytes = 120_000;
    let limits = cluster(web).set("limits.pages-per-host-max=24").set("store.file-size-max=1MiB");
    let store = limits.dir().join("store");
    let address = format!("upload.url=\"file://{}\"", store.display());
    let mut cluster = limits.set(&address).set("upload.survives=yes").start_until(3, 0.5);
    let (_, agents, _) = cluster.ask(&["agents"]);
    let mut lines = agents.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let id =
        lines.find(|columns| columns.first() == Some(&"b")).expect("a line of b")[1].to_owned();
    let objects = store.join(format!("agent-{id}"));
    let n_stored = || if objects.exists() { listed(&objects, ".cdxj").len() } else { 0 };
    cluster.until("a file of b is stored", |_| n_stored() >= 1);
    lose(&mut cluster, "b");
    let in_store: BTreeSet<String> = listed(&objects, ".warc.gz")
        .iter()
        .flat_map(|path| read_members("an object", &fs::read(path).expect("an object")))
        .filter(|record| record.is_capture() && !record.is_robots())
        .map(|record| record.url().to_owned())
        .collect();
    let mut n_safe = 0;
    cluster.until("the groups of b are copied", |c| {
        let (code, _, said) = c.ask(&["remove", "b", "--refetch"]);
        assert!(
            code == Some(0) || said.contains("not fully copied") || said.contains("try again"),
            "{said}"
        );
        let beside =
            said.split_once("beside ").and_then(|(_, rest)| rest.split_once(" in a store"));
        n_safe = beside.map_or(0, |(n, _)| n.replace(',', "").parse().expect("a number"));
        code == Some(0)
    });
    assert!(n_safe > 0 && n_safe <= in_store.len() as u64, "{n_safe} of {}", in_store.len());
    let had = cluster.requests_of("b").iter().filter(|entry| is_page(entry)).count() as u64;
    finish(&mut cluster, had - n_safe + IN_FLIGHT);
    let mut archived = cluster.archived_pages();
    archived.extend(in_store);
    let missing: Vec<_> =
        cluster.pages().into_iter().filter(|page| !archived.contains(page)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// The new process resumes the lease of the killed one, or waits until it expires.
#[test]
fn an_agent_dies_and_comes_back_at_once() {
    let mut cluster = cluster(web(24)).start_until(3, 0.35);
    cluster.kill9("b");
    cluster.launch("b");
    let back = cluster.web.log().now();
    cluster.until("b fetches again", |c| c.requests_of("b").iter().any(|e| e.start > back.0));
    finish(&mut cluster, IN_FLIGHT);
}

/// Its rows are older than those of its successors.
#[test]
fn an_agent_dies_and_comes_back_when_others_have_its_share() {
    let mut cluster = cluster(web(36)).start_until(3, 0.25);
    let killed = cluster.web.log().now();
    cluster.kill9("b");
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", killed).is_some());
    cluster.add("b");
    finish(&mut cluster, IN_FLIGHT);
}

/// Two agents die one after the other. The replicas of the first one's groups were recreated before
/// the second dies.
#[test]
fn two_agents_of_four_die_one_after_the_other() {
    let mut cluster = cluster(web(36)).start(4);
    cluster.seed();
    for (name, share) in [("b", 0.2), ("d", 0.6)] {
        cluster.wait_for_share(share);
        lose(&mut cluster, name);
    }
    // They are removed once the others have copied their groups, not before.
    for name in ["b", "d"] {
        cluster.until("the groups of the dead agent are copied", |c| {
            let (code, _, said) = c.ask(&["remove", name, "--give-up"]);
            assert!(code == Some(0) || said.contains("not fully copied"), "{code:?}: {said}");
            code == Some(0)
        });
    }
    finish(&mut cluster, 2 * IN_FLIGHT);
}

/// Without replicas, the groups of the dead agent wait for its disk, and so does the end of the
/// crawl.
#[test]
fn without_copies_the_crawl_waits_for_the_disk() {
    let mut cluster = cluster(web(16)).set("cluster.replication=1").start_until(3, 0.4);
    cluster.kill9("b");
    cluster.wait_for_state("b", "dead");
    assert!(
        cluster.has_more_to_do_for(Duration::from_secs(3)),
        "reported as done although b is missing"
    );
    assert!(!cluster.due().is_subset(&cluster.pages()), "no page was left for b");
    // People are told at once what keeps the crawl open, and what to do.
    let (_, _, said) = cluster.ask(&["wait", "--timeout", "100ms"]);
    let told =
        |text: &str| text.contains("b are dead") && text.contains("crivello remove b --force");
    assert!(told(&said), "{said}");
    assert!(told(&cluster.run_ok(&["status"])), "{}", cluster.account());
    let (code, _, said) = cluster.ask(&["remove", "b", "--give-up"]);
    assert!(code == Some(64) && said.contains("no other agent has"), "{code:?}: {said}");
    // Once it is dead and the peer leases granted to it have expired, the others fetch linked pages
    // of its groups again, because they have no replica of its rows.
    let had = cluster.requests_of("b").iter().filter(|entry| is_page(entry)).count() as u64;
    cluster.add("b");
    finish(&mut cluster, had + IN_FLIGHT);
}

/// It resumes the drain.
#[test]
fn an_agent_that_dies_while_it_leaves_can_be_asked_again() {
    let mut cluster = cluster(web(24)).start_until(3, 0.3);
    cluster.run_ok(&["drain", "b"]);
    if !cluster.process("b").has_ended() {
        cluster.kill9("b");
        cluster.launch("b");
        // An agent that was declared dead rejoins as an ordinary member.
        cluster.run_ok(&["drain", "b"]);
    }
    cluster.until("the agent has left", |cluster| cluster.process("b").has_ended());
    assert_eq!(cluster.end("b").status.code(), Some(0), "{}", cluster.account());
    assert_eq!(cluster.state("b"), None, "{}", cluster.account());
    finish(&mut cluster, IN_FLIGHT);
}

#[test]
fn everything_is_killed_at_once_and_started_again() {
    let mut cluster = cluster(web(20)).start_until(3, 0.4);
    for name in ["a", "b", "c", COORDINATOR] {
        cluster.kill9(name);
    }
    cluster.start_coordinator();
    for name in ["a", "b", "c"] {
        cluster.launch(name);
    }
    finish(&mut cluster, 3 * IN_FLIGHT);
}

/// The only other agent hangs and is declared dead while this one hands over its groups. Then
/// nothing has an owner, and rows in transit wait until there is one. Most pages have only one
/// link.
#[test]
fn the_only_one_that_could_take_over_dies() {
    let mut cluster = cluster(web(24).links(1)).start_until(2, 0.3);
    cluster.freeze("b");
    cluster.run_ok(&["drain", "a"]);
    cluster.wait_for_state("b", "dead");
    cluster.kill9("b");
    cluster.launch("b");
    let _ = cluster.end("a");
    finish(&mut cluster, IN_FLIGHT);
}

/// Hosts with a Crawl-delay, and a domain with its own delay, that are taken over: nobody knows when
/// the dead agent visited them last, so they rest for their own delays from the take-over on, not
/// for the shorter one of the settings.
#[test]
fn hosts_that_are_taken_over_rest_for_their_own_delays() {
    const CRAWL_DELAY: Duration = Duration::from_secs(6);
    let slow = Robots::rules(&[], Some(CRAWL_DELAY.as_secs_f64()));
    let mut web = web(1).seeds(SeedChoice::Hosts);
    for n in 0..18 {
        let robots = if n % 2 == 0 { slow.clone() } else { Robots::AllowAll };
        web = web.host(&format!("slow{n}.test"), Character::named("slow").robots(robots).pages(3));
    }
    let domains: Vec<String> = (0..18)
        .filter(|n| n % 2 == 1)
        .map(|n| format!("{{ suffix = \"slow{n}.test\", delay = \"6s\" }}"))
        .collect();
    let mut cluster = cluster(web)
        .set(&format!("politeness.domains=[{}]", domains.join(", ")))
        .set("politeness.crawl-delay-max=6s")
        .start(3);
    cluster.seed();
    cluster.until("each host was visited", |c| {
        let log = c.web.log().entries();
        (0..18).all(|n| {
            let name = format!("slow{n}.test");
            log.iter().filter(|e| e.host == name).count() >= 2
        })
    });
    let mut had = cluster.hosts_of("b");
    had.retain(|host| host.starts_with("slow"));
    cluster.kill9("b");
    cluster.delete_disk("b");
    cluster.wait_for_state("b", "dead");
    let dead = cluster.web.log().now();
    finish(&mut cluster, IN_FLIGHT);
    let log = cluster.web.log().entries();
    let mut n_inherited = 0;
    for host in &had {
        let after = log.iter().filter(|e| e.host == *host && e.start > dead.0);
        let Some(first) = after.map(|e| e.start).min() else { continue };
        let waited = Duration::from_micros(first - dead.0);
        // The status is seen a moment after the declaration.
        assert!(
            waited + Duration::from_secs(1) >= CRAWL_DELAY,
            "{host} was visited after {waited:?}"
        );
        n_inherited += 1;
    }
    assert!(n_inherited > 0, "no host of the dead agent was left to visit: {had:?}");
}
