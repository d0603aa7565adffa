//! Private addresses and denied ports: no private, loopback or link-local address is ever contacted,
//! and no port that no web site uses, whatever leads a crawl there, unless a setting allows it. Each
//! refused URL is counted.

#![expect(clippy::print_stdout, reason = "a skipped scenario prints the reason")]

use crivello_common::ports::PortPolicy;
use crivello_tests::{Ended, Scene};
use simweb::{Character, Content, DnsWay, JudgeLimits, Manner, Pace, Robots, Spec};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A listener at addresses that must never be contacted. It accepts no connection, so the system
/// keeps all of them in a queue.
struct Canary(Vec<TcpListener>);

impl Canary {
    /// Listens on 127.0.0.1, and on ::1 if it exists.
    fn new() -> Self {
        let v4 = TcpListener::bind((LOOPBACK, 0)).expect("a port of 127.0.0.1");
        let mut canary = Self(vec![v4]);
        canary.also_at(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), canary.port()));
        canary
    }

    fn also_at(&mut self, address: SocketAddr) {
        match TcpListener::bind(address) {
            Ok(listener) => self.0.push(listener),
            Err(error) => println!("no canary at {address}: {error}"),
        }
    }

    fn port(&self) -> u16 {
        self.0[0].local_addr().expect("bound").port()
    }

    /// Returns the number of connections to all listeners.
    fn knocks(&self) -> usize {
        let knocks = |listener: &TcpListener| {
            listener.set_nonblocking(true).expect("a socket");
            std::iter::from_fn(|| listener.accept().ok()).count()
        };
        self.0.iter().map(knocks).sum()
    }
}

fn named(dns: DnsWay) -> Character {
    Character::default().dns(dns).pages(4)
}

fn away(address: [u8; 4]) -> Character {
    named(DnsWay::Address(address.into()))
}

fn away_v6(address: &str) -> Character {
    named(DnsWay::AddressV6(address.parse().expect("an address")))
}

/// Adds hosts whose names resolve only to private addresses.
fn with_denied_names(spec: Spec) -> Spec {
    spec.host("loop.test", away([127, 0, 0, 1]))
        .host("private.test", away([10, 0, 0, 1]))
        .host("home.test", away([192, 168, 1, 1]))
        .host("metadata.test", away([169, 254, 169, 254]))
        .host("zero.test", away([0, 0, 0, 0]))
        .host("loop-six.test", away_v6("::1"))
        .host("mapped.test", away_v6("::ffff:127.0.0.1"))
        .host("local-six.test", away_v6("fd00::1"))
}
const N_DENIED_NAMES: u64 = 8;

/// Returns URLs that contain a private address, as a seeds file or a page may write them.
fn literals(port: u16, mark: &str) -> Vec<String> {
    let hosts = ["2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"];
    let mut urls: Vec<String> =
        (0..).zip(hosts).map(|(n, host)| format!("http://{host}:{port}/{mark}-{n}")).collect();
    urls.push(format!("http://10.0.0.1/{mark}"));
    urls.push(format!("http://169.254.169.254/latest/meta-data/{mark}"));
    urls
}
const N_LITERALS: u64 = 8;

/// Runs a crawl to its end. The robots.txt of such hosts is requested repeatedly, on schedule,
/// until they are given up.
fn crawl(scene: Scene) -> (Scene, Ended) {
    let scene = scene
        .delays("50ms", "10ms")
        .set("fetch.connect-timeout=5s")
        .set("fetch.first-byte-timeout=5s")
        .set("dns.ipv6=true")
        .set("dns.ttl-min=0s")
        .set("politeness.backoff-first=100ms")
        .set("politeness.robots-age-max=2s");
    let ended = scene.crawl().succeeded();
    (scene, ended)
}

/// Checks that no listener was contacted, and that the web saw every host only at its own address.
#[track_caller]
fn assert_untouched(scene: &Scene, ended: &Ended, canary: &Canary) {
    assert_eq!(canary.knocks(), 0, "a listener on loopback was contacted");
    let pace = Pace::delays(Duration::from_millis(50), Duration::from_millis(10));
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    let errors = &ended.report["errors"];
    assert_eq!(errors, &serde_json::json!({}), "other requests failed");
}

#[test]
fn names_that_resolve_to_private_addresses_are_refused() {
    let mut canary = Canary::new();
    let spec = with_denied_names(Spec::new(1).size(2, 1, 4));
    let spec = spec.host("beside.test", named(DnsWay::Beside(LOOPBACK)));
    let scene = Scene::new(spec);
    canary.also_at(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), scene.web.port()));
    let (scene, ended) = crawl(scene);
    assert_untouched(&scene, &ended, &canary);
    assert_eq!(ended.count("skipped/address-denied"), N_DENIED_NAMES, "{}", ended.report);
}

#[test]
fn addresses_written_into_urls_are_refused() {
    let canary = Canary::new();
    let scene = Scene::new(Spec::new(2).size(2, 1, 4));
    let seeds: Vec<String> =
        scene.web.seeds().into_iter().chain(literals(canary.port(), "seed")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let (scene, ended) = crawl(scene.seeds(&seeds));
    assert_untouched(&scene, &ended, &canary);
    assert_eq!(ended.count("skipped/address-denied"), N_LITERALS, "{}", ended.report);
}

#[test]
fn links_and_redirects_to_private_addresses_are_refused() {
    let canary = Canary::new();
    let port = canary.port();
    let redirect = |location: String| Character::default().manner(Manner::RedirectTo { location });
    let robots = |url: &str| Character::default().robots(Robots::RedirectTo(url.to_owned()));
    let mut links = literals(port, "linked");
    links.push(format!("//0x7f000001:{port}/linked-without-scheme"));
    links.push("http://loop.test:{port}/linked-by-name".to_owned());
    let n_links = links.len() as u64;
    let spec = with_denied_names(Spec::new(3).size(2, 1, 4))
        .host("links.test", Character::default().content(Content::Foreign(links)))
        .host("moved.test", redirect(format!("http://127.0.0.1:{port}/moved")))
        .host("moved-six.test", redirect(format!("http://[::1]:{port}/moved")))
        .host("moved-name.test", redirect("http://loop.test:{port}/moved".to_owned()))
        .host("rules.test", robots(&format!("http://127.0.0.1:{port}/robots.txt")))
        .host("rules-six.test", robots(&format!("http://[::1]:{port}/robots.txt")))
        .host("rules-name.test", robots("http://loop.test:{port}/robots.txt"));
    let (scene, ended) = crawl(Scene::new(spec));
    assert_untouched(&scene, &ended, &canary);
    let denied = N_DENIED_NAMES + n_links + 3;
    assert_eq!(ended.count("skipped/address-denied"), denied, "{}", ended.report);
    let no_rules = ended.count("skipped/robots-unreachable") + ended.count("skipped/gave-up");
    assert_eq!(
        no_rules, 3,
        "expected the three hosts whose robots.txt redirects to loopback: {}",
        ended.report
    );
}

#[test]
fn a_name_that_changes_its_answer_is_refused_from_then_on() {
    let canary = Canary::new();
    let spec = Spec::new(4).size(2, 1, 4).host("rebind.test", named(DnsWay::Rebind(LOOPBACK)));
    let (scene, ended) = crawl(Scene::new(spec));
    assert_untouched(&scene, &ended, &canary);
    let log = scene.web.log().entries();
    let fetched = log.iter().filter(|e| e.host == "rebind.test" && e.path != "/robots.txt");
    assert_eq!(
        fetched.map(|e| e.path.as_str()).collect::<Vec<_>>(),
        ["/"],
        "only the fetch before the change is allowed"
    );
    assert_eq!(ended.count("skipped/address-denied"), 3, "{}", ended.report);
}

#[test]
fn a_configuration_line_allows_a_network() {
    let spec = Spec::new(5).size(1, 1, 2).host("loop.test", away([127, 0, 0, 1]));
    let scene = Scene::new(spec).arg("--allow-network=127.0.0.0/24");
    let literal = format!("http://2130706433:{}/literal", scene.web.port());
    let seeds = [scene.web.seeds(), vec![literal]].concat();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let (scene, ended) = crawl(scene.seeds(&seeds));
    assert_eq!(ended.count("skipped/address-denied"), 0, "{}", ended.report);
    let log = scene.web.log().entries();
    let there = |host: &str, path: &str| {
        let at_home = |ip: Option<Ipv4Addr>| ip.map(IpAddr::V4) == Some(LOOPBACK.into());
        log.iter().any(|e| e.host == host && e.path == path && at_home(e.ip))
    };
    assert!(there("127.0.0.1", "/literal"), "the literal was not fetched");
    assert!(there("loop.test", "/") && there("loop.test", "/s3/p3.html"), "{log:?}");
}

/// Listens on as many ports of an address as the system permits; the others stay unwatched.
fn watch_ports(address: Ipv4Addr, ports: &[u16]) -> Canary {
    Canary(ports.iter().filter_map(|&port| TcpListener::bind((address, port)).ok()).collect())
}

/// A page links to every denied port of another host, redirects go there, and a robots.txt too.
#[test]
fn ports_that_no_web_site_uses_are_not_contacted() {
    let address = Ipv4Addr::new(127, 1, 77, 7);
    let policy = PortPolicy::default();
    let ports: Vec<u16> = policy.denied().iter().copied().filter(|&port| port > 0).collect();
    let canary = watch_ports(address, &ports);
    println!("{} of {} ports are watched", canary.0.len(), ports.len());
    assert!(canary.0.len() >= 20, "too few ports can be watched");
    let links: Vec<String> =
        ports.iter().map(|port| format!("http://target.test:{port}/linked")).collect();
    let redirect = |location: &str| {
        Character::default().manner(Manner::RedirectTo { location: location.to_owned() }).pages(1)
    };
    let at = |port: u16| format!("http://target.test:{port}/robots.txt");
    let spec = |port: u16| {
        Spec::new(6)
            .size(1, 1, 4)
            .host("target.test", Character { ip: Some(address), ..Character::default() }.pages(2))
            .host("links.test", Character::default().content(Content::Foreign(links.clone())))
            .host("moved.test", redirect(&format!("https://target.test:{port}/moved")))
            .host("rules.test", Character::default().robots(Robots::RedirectTo(at(port))).pages(1))
    };
    let (scene, ended) = crawl(Scene::new(spec(6379)));
    assert_untouched(&scene, &ended, &canary);
    let denied = ended.count("skipped/port-denied");
    assert_eq!(denied, ports.len() as u64 + 1, "{}", ended.report);
    assert!(ended.count("skipped/robots-redirect") > 0, "{}", ended.report);

    // A setting allows one of them.
    let scene = Scene::new(spec(6379)).set("fetch.ports-allowed=[6379]");
    let scene = scene
        .delays("50ms", "10ms")
        .set("fetch.connect-timeout=300ms")
        .set("fetch.first-byte-timeout=300ms")
        .set("politeness.backoff-first=100ms")
        .set("politeness.robots-age-max=1s");
    let ended = scene.crawl().succeeded();
    let watches = |port| canary.0.iter().any(|l| l.local_addr().expect("bound").port() == port);
    if watches(6379) {
        assert!(canary.knocks() > 0, "the allowed port was not contacted");
    }
    assert_eq!(ended.count("skipped/port-denied"), ports.len() as u64 - 1, "{}", ended.report);
}

#[test]
fn a_seed_at_a_denied_port_is_refused_with_the_reason() {
    let scene = Scene::new(Spec::new(7).size(1, 1, 2)).seeds(&["http://h0.site0.test:6379/"]);
    let scene = scene.allow_log_line("port-denied").allow_log_line("ports-allowed");
    let ended = scene.crawl();
    let said = scene.log();
    assert!(said.contains("fetch.ports-allowed"), "{said}");
    assert!(scene.web.log().entries().is_empty(), "{:?}", ended.code);
}
