//! Judge tests: each fault is found under its own name, and a polite visitor has none.

#![expect(clippy::unwrap_used, reason = "test helpers panic like tests")]

use simweb::robots::SIZE_MIN_READ;
use simweb::world::World;
use simweb::{Character, Content, Entry, Judge, JudgeLimits, Manner, Pace, Robots, Spec};
use std::net::Ipv4Addr;
use std::time::Duration;

const SECOND: u64 = 1_000_000;

fn spec() -> Spec {
    Spec::new(6)
        .size(2, 1, 3)
        .ips(1)
        .port(80)
        .host("closed.test", Character::named("closed").robots(Robots::standard()).pages(8))
        .host("moved.test", {
            let moved = Robots::Redirects { hops: 2, to: Some("closed.test".to_owned()) };
            Character::named("moved").robots(moved).pages(1)
        })
        .host("dead.test", Character::named("dead").manner(Manner::Reset).pages(1))
        .host("trap.test", Character::named("trap").content(Content::Subdomains).pages(1))
}

fn judge() -> Judge {
    Judge::new(spec(), JudgeLimits::default(), pace_of_two_seconds())
}

fn pace_of_two_seconds() -> Pace {
    Pace::delays(Duration::from_secs(2), Duration::from_secs(1))
}

/// Returns a request of 0.1 s that begins at `at` tenths of a second.
fn request(url: &str, at: u64) -> Entry {
    let world = World::new(spec());
    let (host, path) = url.split_once('/').unwrap();
    let id = world.host(host).unwrap().id;
    Entry {
        start: at * SECOND / 10,
        arrived: at * SECOND / 10,
        end: (at + 1) * SECOND / 10,
        host: host.to_owned(),
        port: 80,
        ip: Some(world.names().ip(id)),
        path: format!("/{path}"),
        status: 200,
        complete: true,
        ..Entry::default()
    }
}

/// Returns a log of everything that must be fetched, with one request every three seconds.
fn perfect() -> Vec<Entry> {
    let judge = judge();
    let must = judge.expected().urls.iter().filter(|(_, due)| due.must);
    let mut urls: Vec<String> =
        must.map(|(url, _)| url.trim_start_matches("http://").to_owned()).collect();
    urls.sort();
    let hosts = ["h0.site0.test", "h0.site1.test", "closed.test", "moved.test", "dead.test"];
    let mut all: Vec<String> = hosts.iter().map(|h| format!("{h}/robots.txt")).collect();
    all.push("moved.test/robots-hop-1.txt".to_owned());
    all.extend(urls);
    all.iter().zip(0_u64..).map(|(url, k)| request(url, 30 * k)).collect()
}

fn kinds(log: &[Entry]) -> Vec<String> {
    judge().judge(log).counts.into_keys().collect()
}

#[test]
fn a_perfect_visitor_is_blameless() {
    let report = judge().judge(&perfect());
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.n_pages, report.n_robots), (report.n_expected, 6));
    assert_eq!(report.host_gap_min_us, Some(29 * 100_000));
}

#[test]
fn each_fault_is_found_and_no_other() {
    let last = perfect().len() as u64 * 30;
    let with = |more: Vec<Entry>| {
        let mut log = perfect();
        log.extend(more);
        kinds(&log)
    };
    assert_eq!(kinds(&perfect()[..perfect().len() - 1]), ["missing"]);
    assert_eq!(with(vec![request("closed.test/", last)]), ["repeated"]);
    assert_eq!(with(vec![request("closed.test/nofollowed/0.html", last)]), ["unexpected"]);
    assert_eq!(with(vec![request("closed.test/s0/p7.html", last)]), ["disallowed"]);
    let twice = |gap| vec![request("dead.test/", last), request("dead.test/", last + gap)];
    assert_eq!(with(twice(15)), ["host-gap"]);
    assert_eq!(with(twice(5)), ["host-gap", "ip-gap"]);
    assert_eq!(with(twice(21)), Vec::<String>::new());
    let mut long = twice(5);
    long[0].end = long[1].end;
    assert_eq!(with(long), ["host-overlap", "ip-overlap"]);
    let same_ip = |at| request("h0.site0.test/robots.txt", last + at);
    let neighbors = |gap| vec![request("h0.site1.test/robots.txt", last), same_ip(gap)];
    assert_eq!(with(neighbors(5)), ["ip-gap"]);
    assert_eq!(with(neighbors(11)), Vec::<String>::new());
    let mut elsewhere = request("dead.test/", last);
    elsewhere.ip = Some(Ipv4Addr::LOCALHOST);
    assert_eq!(with(vec![elsewhere]), ["wrong-address"]);
    assert_eq!(with(vec![request("x3.trap.test/", last)]), ["before-robots"]);
    assert_eq!(kinds(&[]), ["missing"]);
}

#[test]
fn what_was_broken_off_counts_from_its_arrival() {
    let last = perfect().len() as u64 * 30;
    let two = |read_late, gap| {
        let mut first = request("dead.test/", last);
        (first.complete, first.end) = (false, first.end + 100 * SECOND);
        first.arrived -= read_late * SECOND / 10;
        let mut log = perfect();
        log.extend([first, request("dead.test/", last + gap)]);
        kinds(&log)
    };
    assert_eq!(two(0, 20), Vec::<String>::new());
    assert_eq!(two(0, 19), ["host-gap"]);
    assert_eq!(two(3, 17), Vec::<String>::new());
    assert_eq!(two(3, 16), ["host-gap"]);
}

#[test]
fn robots_must_have_been_answered_to_the_last_hop() {
    let mut log = perfect();
    // The first hop only leads to the last one, the robots.txt of closed.test.
    let hop = log.iter().position(|e| e.path == "/robots-hop-1.txt").unwrap();
    log.remove(hop);
    assert_eq!(kinds(&log), Vec::<String>::new());
    let mut log = perfect();
    log.retain(|e| e.host != "closed.test" || e.path != "/robots.txt");
    assert_eq!(kinds(&log), ["before-robots"]);
    // The page of moved.test is one of those.
    log.retain(|e| e.host != "closed.test");
    assert!(kinds(&log).contains(&"before-robots".to_owned()));
    let mut log = perfect();
    let first = log.iter().position(|e| e.path == "/robots.txt").unwrap();
    log[first].complete = false;
    assert_eq!(kinds(&log), ["before-robots"]);
    log[first].bytes = SIZE_MIN_READ as u64;
    assert_eq!(kinds(&log), Vec::<String>::new());
}

#[test]
fn refusals_are_no_fetches_and_are_obeyed() {
    let mut log = perfect();
    let last = log.len() as u64 * 30;
    let mut refused = request("dead.test/", last);
    (refused.status, refused.retry_after_ms) = (429, Some(5_000));
    log.extend([refused, request("dead.test/", last + 50)]);
    assert_eq!(kinds(&log), Vec::<String>::new());
    log.pop();
    log.push(request("dead.test/", last + 49));
    assert_eq!(kinds(&log), ["too-early"]);
}

#[test]
fn bursts_repeats_and_limits_are_allowed_as_told() {
    let mut log = perfect();
    let last = log.len() as u64 * 30;
    log.extend((0..3).map(|k| request("dead.test/", last + 2 * k)));
    let pace = |burst| Pace { burst, ..pace_of_two_seconds() };
    let of = |burst| Judge::new(spec(), JudgeLimits::default(), pace(burst)).judge(&log);
    assert!(of(3).is_clean(), "{}", of(3));
    assert_eq!(of(2).count("host-gap"), 1);
    log.truncate(perfect().len());
    log.push(request("closed.test/", last));
    assert!(judge().allow_repeats(1).judge(&log).is_clean());
    let limits = JudgeLimits { pages_per_host_max: Some(2), ..JudgeLimits::default() };
    let report = Judge::new(spec(), limits, pace(1)).judge(&log);
    assert_eq!(report.count("over-limit"), 3, "{report}");
    assert!(judge().unfinished().judge(&[]).is_clean());
}

#[test]
fn crawl_delay_counts_between_pages() {
    let slow = Robots::rules(&[], Some(4.0));
    let spec = Spec::new(1).size(1, 1, 3).port(80).robots(slow);
    let judge = Judge::new(spec, JudgeLimits::default(), pace_of_two_seconds());
    let log: Vec<Entry> = [("robots.txt", 0), ("", 21), ("s1/p1.html", 50), ("s2/p2.html", 92)]
        .map(|(path, at)| request(&format!("h0.site0.test/{path}"), at))
        .into();
    let report = judge.judge(&log);
    assert_eq!(report.counts.into_iter().collect::<Vec<_>>(), [("host-gap".to_owned(), 1)]);
}

#[test]
fn the_right_address_is_the_one_in_the_network_of_the_spec() {
    let lent = spec().network("10.93.128.0/17".parse().unwrap());
    let judge = Judge::new(lent, JudgeLimits::default(), pace_of_two_seconds());
    let at = |ip| {
        let entry = Entry { ip: Some(ip), ..request("h0.site0.test/robots.txt", 0) };
        judge.judge(&[entry]).count("wrong-address")
    };
    assert_eq!(at(Ipv4Addr::new(10, 93, 128, 1)), 0);
    assert_eq!(at(Ipv4Addr::new(127, 1, 0, 1)), 1);
}
