//! Webs for specific purposes.

use crate::character::{
    Character, CharsetWay, Coding, Content, DnsWay, Http2Flood, Manner, PageKind, RetryAfter,
};
use crate::robots::Robots;
use crate::spec::Spec;
use std::net::Ipv4Addr;

impl Spec {
    /// Returns a web of one to three hundred hosts of every kind, for a crawl that people watch.
    /// With a delay of 250 ms and an IP delay of 50 ms, the pages take about half a minute.
    /// Timeouts should be a few seconds, because hosts that never answer last as long as those.
    #[must_use]
    pub fn demo() -> Self {
        let mut spec = Self::new(2_026).size(55, 2, 16).ips(40).links(15).latency_ms(2, 80);
        spec.pages_spread = 0.8;
        spec.body_bytes = 9_000;
        spec.body_spread = 0.7;
        spec.tls_share = 0.2;
        spec.with_variety().with_shares().with_hostile_hosts()
    }

    /// Returns a web for benchmarks: `n_pages` pages of 17 KB with 30 links, keep-alive, 200 pages
    /// per host, one address per host, everything allowed, no latency. All the work is the
    /// visitor's.
    #[must_use]
    pub fn bench(n_pages: u32) -> Self {
        let n_hosts = n_pages.div_ceil(200).max(1);
        let mut spec = Self::new(17).size(n_hosts, 1, n_pages.div_ceil(n_hosts)).ips(0).links(30);
        spec.body_bytes = 17_000;
        spec.body_spread = 0.5;
        spec
    }

    /// Returns a web of `n_hosts` hosts with a few small pages each, one address per host, that
    /// answer after `latency_ms`. It tests the width of a crawl, not its speed.
    #[must_use]
    pub fn wide(n_hosts: u32, pages_per_host: u32, latency_ms: u32) -> Self {
        let mut spec = Self::new(23).size(n_hosts, 1, pages_per_host).ips(0).links(8);
        spec.body_bytes = 2_000;
        spec.latency_ms(latency_ms, latency_ms)
    }

    /// Makes about 40% of the pages special: redirects, errors, duplicates, compressed, odd
    /// encodings and so on.
    #[must_use]
    pub fn with_variety(self) -> Self {
        [
            (0.02, PageKind::Redirect(301)),
            (0.01, PageKind::Redirect(302)),
            (0.01, PageKind::Redirect(308)),
            (0.02, PageKind::Status(404)),
            (0.005, PageKind::Status(410)),
            (0.005, PageKind::Status(500)),
            (0.02, PageKind::Binary),
            (0.03, PageKind::Duplicate),
            (0.03, PageKind::NearDuplicate),
            (0.01, PageKind::MetaNofollow),
            (0.01, PageKind::HeaderNofollow),
            (0.02, PageKind::BaseHref),
            (0.01, PageKind::MetaRefresh),
            (0.01, PageKind::LinkHeader),
            (0.01, PageKind::Charset(CharsetWay::Wrong)),
            (0.01, PageKind::Charset(CharsetWay::Missing)),
            (0.01, PageKind::Charset(CharsetWay::Meta)),
            (0.01, PageKind::Charset(CharsetWay::Utf16)),
            (0.10, PageKind::Coded(Coding::Gzip)),
            (0.02, PageKind::Coded(Coding::Deflate)),
            (0.02, PageKind::Coded(Coding::Zstd)),
            (0.02, PageKind::Coded(Coding::Brotli)),
        ]
        .into_iter()
        .fold(self, |spec, (share, kind)| spec.portion(share, kind))
    }

    fn with_shares(self) -> Self {
        let robots = |name: &str, robots| Character::named(name).robots(robots);
        let agent = self.agent.clone();
        self.share(0.15, robots("rules", Robots::standard()))
            .share(0.10, robots("no-robots", Robots::Status(404)))
            .share(0.04, robots("empty-robots", Robots::Empty))
            .share(0.04, robots("for-agent", Robots::for_agent(&agent)))
            .share(0.04, robots("crawl-delay", Robots::rules(&[], Some(1.0))).pages(10))
            .share(0.04, robots("sitemaps", Robots::Sitemaps(8)).pages(8))
            .share(0.03, robots("moved-robots", Robots::Redirects { hops: 2, to: None }))
            .share(0.02, robots("marked-robots", Robots::ByteOrderMark))
            .share(0.02, robots("garbage-robots", Robots::Garbage))
            .share(0.02, Character { keep_alive: Some(false), ..Character::named("closing") })
    }

    /// Adds one host of each kind that fails, misleads or is endless.
    #[must_use]
    pub fn with_hostile_hosts(self) -> Self {
        let seconds = RetryAfter::Seconds(2);
        let slow = |retry_after, refusals| Manner::SlowDown { code: 429, retry_after, refusals };
        [
            ("silent", Manner::Silent),
            ("half-silent", Manner::SilentAfterHead),
            ("drip", Manner::Drip { bytes_per_second: 50 }),
            ("loris", Manner::DripHead { bytes_per_second: 5 }),
            ("reset", Manner::Reset),
            ("reset-head", Manner::ResetInHead),
            ("reset-body", Manner::ResetInBody),
            ("too-long", Manner::LengthTooLong),
            ("too-short", Manner::LengthTooShort),
            ("malformed", Manner::Malformed),
            ("huge-head", Manner::HugeHead { bytes: 1 << 20 }),
            ("endless-head", Manner::EndlessHead),
            ("endless-body", Manner::EndlessBody),
            ("bomb", Manner::GzipBomb { bytes: 100 << 20 }),
            ("cut-gzip", Manner::TruncatedGzip),
            ("gone", Manner::Status { code: 410 }),
            ("busy", slow(seconds, 2)),
            ("to-loopback", Manner::RedirectTo { location: "http://127.0.0.1:{port}/".to_owned() }),
            ("to-number", Manner::RedirectTo { location: "http://2130706433:{port}/".to_owned() }),
            ("to-metadata", Manner::RedirectTo { location: "http://169.254.169.254/".to_owned() }),
        ]
        .into_iter()
        .fold(self, |spec, (name, manner)| spec.small(Character::named(name).manner(manner)))
        .with_hostile_robots()
        .with_hostile_names()
    }

    /// Adds `n` https hosts of each kind that floods HTTP/2 connections.
    #[must_use]
    pub fn with_http2_floods(self, n: u32) -> Self {
        Http2Flood::all().into_iter().enumerate().fold(self, |spec, (kind, flood)| {
            let host = Character::named("http2-flood").manner(Manner::Http2(flood)).pages(3);
            let host = Character { tls: Some(true), ..host };
            (0..n).fold(spec, |spec, i| spec.host(&format!("flood{kind}-{i}.test"), host.clone()))
        })
    }

    /// Adds a host of three pages, named after its character.
    fn small(self, character: Character) -> Self {
        let name = format!("{}.test", character.name);
        self.host(&name, character.pages(3))
    }

    fn with_hostile_robots(self) -> Self {
        [
            ("robots-500", Robots::Status(500)),
            ("robots-silent", Robots::Silent),
            ("robots-reset", Robots::Reset),
            ("robots-huge", Robots::Huge),
            ("robots-away", Robots::Redirects { hops: 3, to: Some("h0.site0.test".to_owned()) }),
        ]
        .into_iter()
        .fold(self, |spec, (name, robots)| spec.small(Character::named(name).robots(robots)))
    }

    /// Adds hosts whose robots.txt redirect to pages of the host `victim`, directly, over a path of
    /// their own, or over each other. The robots.txt of `victim` disallows everything.
    #[must_use]
    pub fn with_robots_deputies(self, victim: &str) -> Self {
        let closed = Character::named("victim").robots(Robots::rules(&[(false, "/")], None));
        let at_victim = ["/", "/s3/p3.html", "/private/delete?id=7", "/robots.txt?delete=7"]
            .map(|path| format!("http://{victim}:{{port}}{path}"));
        let over_another = "http://deputy1.test:{port}/robots.txt".to_owned();
        (0..).zip(at_victim.into_iter().chain([over_another])).fold(
            self.host(victim, closed.pages(4)),
            |spec, (n, to): (u32, String)| {
                let name = format!("deputy{n}");
                spec.small(Character::named(&name).robots(Robots::RedirectTo(to)))
            },
        )
    }

    fn with_hostile_names(self) -> Self {
        let dns = |name: &str, dns| Character::named(name).dns(dns);
        let content = |name: &str, content| Character::named(name).content(content);
        [
            dns("no-such-name", DnsWay::NoSuchName),
            dns("serv-fail", DnsWay::ServFail),
            dns("dns-silent", DnsWay::Silent),
            dns("private", DnsWay::Address(Ipv4Addr::new(10, 0, 0, 1))),
            dns("rebind", DnsWay::Rebind(Ipv4Addr::LOCALHOST)),
            dns("several", DnsWay::Several(3)),
            Character { port: Some(81), ..Character::named("refused") },
            content("loop", Content::Loop(3)),
            content("self-loop", Content::Loop(1)),
            content("chain", Content::Chain(8)),
            content("segments", Content::Segments),
        ]
        .into_iter()
        .fold(self, Self::small)
    }

    /// Adds two endless hosts. A crawl of this web needs a page limit per host and per domain.
    #[must_use]
    pub fn with_endless_hosts(self) -> Self {
        self.small(Character::named("calendar").content(Content::Calendar))
            .small(Character::named("subdomains").content(Content::Subdomains))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::{Expected, JudgeLimits};
    use crate::world::World;

    #[test]
    fn the_demo_is_a_web_of_some_hundred_hosts_and_survives_json() {
        let spec = Spec::demo();
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec);
        let world = World::new(spec);
        assert!((100..300).contains(&world.names().len()));
        let expected = Expected::new(&world, &JudgeLimits::default());
        assert!((1_000..3_000).contains(&expected.n_must()), "{}", expected.n_must());
    }

    #[test]
    fn the_bench_has_the_pages_asked_for() {
        let world = World::new(Spec::bench(100_000));
        assert_eq!((0..world.names().len()).map(|id| world.n_pages(id)).sum::<u32>(), 100_000);
    }

    #[test]
    fn all_of_the_bench_is_reachable() {
        let expected = Expected::new(&World::new(Spec::bench(2_000)), &JudgeLimits::default());
        assert_eq!(expected.n_must(), 2_000);
    }
}
