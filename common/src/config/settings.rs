//! The checked settings: what the rooms may rely on. Each section is one room's piece.
//!
//! The one list of all settings. A line reads: name, type, default, `in` what it counts, `must`
//! hold what (a function of `check.rs` or `names.rs`), `fixed` for the life of a crawl, `live` where
//! a change takes effect while the crawl runs (the others do when the agents start again). The
//! comments above are what a user reads in the commented file; keys there are the names with
//! hyphens.

use super::blocks::{Block, HostName};
use super::check::{at_least, between, each, few, some_at_least};
use super::choices::{AssignBy, DigestKind, PolitenessMode, SieveKind};
use super::names;
use super::records::{DomainDelay, RobotsExemption, Rule};
use crate::assignment::StrategyKind;
use crate::units::ByteSize;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::time::Duration;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const NEVER: Duration = Duration::ZERO;
const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = secs(86_400);
const YEAR: Duration = secs(365 * 86_400);

settings! {
    /// Who is crawling: what a site's owner sees.
    identity: Identity {
        /// A URL or an e-mail address at which the crawl's owner can be reached. Required.
        contact: String = String::new(), must names::contact;
        /// The product token of the user agent, matched against robots.txt (RFC 9309).
        user_agent_name: String = "crivello".to_owned(), must names::product_token;
        /// What is assigned to an agent as one piece: all hosts of a registrable domain
        /// (public-suffix list with its private section), or each host on its own, which rules
        /// out the limits per domain.
        assign_by: AssignBy = AssignBy::Domain, fixed true;
    }
    /// When to stop.
    limits: Limits {
        /// Pages in all.
        pages_max: Option<u64> = None, in "pages", must some_at_least(1), live true;
        /// Links away from a seed along the path of first discovery; 0 fetches the seeds alone.
        depth_max: Option<u16> = None, in "links", live true;
        /// Pages of one host.
        pages_per_host_max: Option<u64> = None, in "pages", must some_at_least(1), live true;
        /// Pages of one registrable domain.
        pages_per_domain_max: Option<u64> = None, in "pages", must some_at_least(1), live true;
        /// Hosts of one registrable domain: a guard against endless subdomains.
        hosts_per_domain_max: Option<u64> = Some(10_000), in "hosts", must some_at_least(1), live true;
    }
    /// When a host or an IP address may be visited.
    politeness: Politeness {
        /// From the end of one request to a host to the start of the next.
        delay: Duration = secs(10), must between(NEVER, YEAR), live true;
        /// The same for all hosts of one IP address.
        ip_delay: Duration = secs(2), must between(NEVER, YEAR), live true;
        /// absolute: up to `burst` requests, then the delay. relative: the delay follows the time
        /// the site took.
        mode: PolitenessMode = PolitenessMode::Absolute, live true;
        /// Requests on one kept-alive connection before the delay (absolute mode).
        burst: u32 = 1, in "requests", must between(1, 10_000), live true;
        /// Relative mode: the delay is this times the time the site took.
        relative_factor: f64 = 10.0, must between(0.0, 1_000_000.0), live true;
        /// Relative mode: the delay is at least this.
        relative_delay_min: Duration = secs(1), must between(NEVER, YEAR), live true;
        /// Relative mode: the delay is at most this.
        relative_delay_max: Duration = secs(300), must between(NEVER, YEAR), live true;
        /// A longer Crawl-delay in robots.txt counts as this.
        crawl_delay_max: Duration = secs(300), must between(NEVER, YEAR), live true;
        /// First wait after 429 or 503 without Retry-After; it doubles each time.
        backoff_first: Duration = secs(60), must between(MILLISECOND, YEAR), live true;
        /// Longest wait after 429 or 503.
        backoff_max: Duration = DAY, must between(MILLISECOND, YEAR), live true;
        /// Backoff is forgiven after this long without another.
        backoff_forgive: Duration = secs(3_600), must between(NEVER, YEAR), live true;
        /// How long robots.txt is trusted; at most a day (RFC 9309 section 2.4).
        robots_age_max: Duration = DAY, must between(MILLISECOND, DAY), live true;
        /// Domains with a delay of their own; a suffix covers all hosts below it, the longest wins.
        domains: Vec<DomainDelay> = Vec::new(), must each, live true;
        /// Hosts whose owner agreed that robots.txt is not consulted, each with the reason, which
        /// is logged at start.
        robots_exempt: Vec<RobotsExemption> = Vec::new(), must each, live true;
        /// Hosts that rest until they are taken out again; what is queued for them stays.
        paused: Vec<HostName> = Vec::new(), must few, live true;
    }
    /// How a page is fetched.
    fetch: Fetch {
        /// Visits in flight at once.
        visits_max: u32 = 1_000, in "visits", must between(1, 1_000_000);
        /// Connecting, TLS included.
        connect_timeout: Duration = secs(10), must between(MILLISECOND, DAY);
        /// From the request to the response's head.
        first_byte_timeout: Duration = secs(20), must between(MILLISECOND, DAY);
        /// The whole request.
        total_timeout: Duration = secs(120), must between(MILLISECOND, DAY);
        /// Bytes a second below which a body is given up, measured after ten seconds.
        rate_min: ByteSize = ByteSize(100);
        /// Response head.
        head_size_max: ByteSize = ByteSize::kib(64),
            must between(ByteSize::kib(8), ByteSize::mib(16));
        /// Response body as received; the rest is cut off, and the archive says so.
        body_size_max: ByteSize = ByteSize::mib(2), must between(ByteSize(1), ByteSize::gib(2));
        /// Response body after decoding.
        decoded_size_max: ByteSize = ByteSize::mib(16),
            must between(ByteSize(1), ByteSize::gib(2));
        /// Idle connections are closed after this.
        keep_alive: Duration = secs(15), must between(NEVER, DAY);
        /// Whether HTTP/2 is offered by ALPN, where the connection may be kept afterwards.
        http2: bool = true;
        /// Whether certificates are verified. An archive wants the page, not a proof.
        verify_certificates: bool = false;
        /// The `Accept-Language` header; empty sends none.
        accept_language: String = String::new(), must names::header_value;
        /// Networks that may be visited although they are private, loopback or link-local.
        allow_networks: Vec<IpNet> = Vec::new();
    }
    /// How names are resolved.
    dns: Dns {
        /// Name servers; empty takes the system's.
        servers: Vec<SocketAddr> = Vec::new();
        /// One query.
        timeout: Duration = secs(5), must between(MILLISECOND, secs(3_600));
        /// An answer is kept at least this long.
        ttl_min: Duration = secs(60), must between(NEVER, YEAR);
        /// An answer is kept at most this long.
        ttl_max: Duration = DAY, must between(NEVER, YEAR);
        /// "No such name" is kept this long.
        negative_ttl: Duration = secs(600), must between(NEVER, YEAR);
        /// "No answer" is kept this long.
        error_ttl: Duration = secs(30), must between(NEVER, YEAR);
        /// Queries in flight at once.
        queries_max: u32 = 256, in "queries", must between(1, 65_536);
        /// Names kept in memory.
        cache_entries_max: u64 = 200_000, in "names", must at_least(1);
        /// Whether IPv6 addresses are used where a host has no IPv4 address.
        ipv6: bool = false;
    }
    /// Which links are followed.
    links: Links {
        /// Rules a URL must meet one of; empty admits all. In a rule all parts that are set must
        /// match: the host is `host-suffix` or below it, the path begins with `path-prefix`,
        /// `regex` is found in the whole URL.
        include: Vec<Rule> = Vec::new(), must each, live true;
        /// Rules a URL must meet none of.
        exclude: Vec<Rule> = Vec::new(), must each, live true;
        /// Hosts that are not visited: `example.com` is that host alone, `*.example.com` the host and
        /// all below it, an address or a network all hosts that are there. Links to them are
        /// discarded, and what is queued for them is dropped for good.
        blocked: Vec<Block> = Vec::new(), must few, live true;
        /// Whether `nofollow` is respected.
        respect_nofollow: bool = true, live true;
        /// Whether images are fetched, those of style sheets and their fonts included.
        images: bool = false, live true;
        /// Whether scripts and style sheets are fetched, and the sheets these import.
        scripts: bool = false, live true;
        /// Whether the sitemaps that robots.txt names are fetched.
        sitemaps: bool = true, live true;
        /// Length of a URL.
        url_length_max: u32 = 2_048, in "characters", must between(16, 65_535), live true;
        /// How often one path segment may occur in a URL.
        repeated_segments_max: u32 = 3, in "times", must at_least(1), live true;
        /// Segments of a path.
        path_depth_max: u32 = 30, in "segments", must at_least(1), live true;
        /// Links taken from one page; from a sitemap it is 50,000 (sitemaps.org).
        per_page_max: u32 = 10_000, in "links", must between(1, 1_000_000), live true;
    }
    /// What is written to the archive.
    store: Store {
        /// A new file is begun beyond this.
        file_size_max: ByteSize = ByteSize::gib(1), must at_least(ByteSize::mib(1));
        /// The digest of payloads; SHA-1 is what replay tools expect.
        digest: DigestKind = DigestKind::Sha1, fixed true;
        /// gzip level, 1 to 9; 1 is the least CPU a page, for a few percent of size.
        gzip_level: u32 = 1, must between(1, 9);
        /// Whether a metadata record with the outlinks is written.
        outlinks: bool = false;
        /// Whether exact duplicates become `revisit` records.
        revisits: bool = true;
    }
    /// How agents share a crawl. An agent that is alone needs none of it.
    cluster: Cluster {
        /// How groups are given to agents: by a shuffle, by the smallest hash, or by a ring.
        strategy: StrategyKind = StrategyKind::Permutation, fixed true;
        /// Agents that hold a fact before it counts: with 2, one may lose its disk and nothing is
        /// lost.
        replication: u32 = 2, in "agents", must between(1, 16), fixed true;
        /// An agent that was not heard of for this long is dead, and others take its groups.
        /// Below 10 s it is fixed for the life of a crawl.
        lease: Duration = secs(30), must between(Duration::from_millis(100), DAY);
    }
    /// How much is kept in memory and how often the state is committed.
    state: State {
        /// URLs in the window in memory, over all hosts; each 256 bytes of a URL count as another.
        window_urls_max: u64 = 200_000, in "URLs", must at_least(1);
        /// Hosts in memory.
        hosts_max: u64 = 50_000, in "hosts", must at_least(1);
        /// What answers whether a URL is new. rocksdb looks at what is on disk, whatever the number
        /// of URLs. The others are for an agent that is alone: memory holds some 11 bytes a URL, and
        /// bloom and blocked-bloom, which is quicker and a little less exact, have `sieve-memory`
        /// and drop the more new URLs the fuller they are.
        sieve: SieveKind = SieveKind::Rocksdb;
        /// Memory of bloom and blocked-bloom: 256 MiB take 140 million URLs until they drop one new
        /// URL in a thousand.
        sieve_memory: ByteSize = ByteSize::mib(256),
            must between(ByteSize::mib(1), ByteSize::gib(1024));
        /// Approximate LRU in front of the sieve.
        sieve_cache: ByteSize = ByteSize::mib(32);
        /// RocksDB's block cache.
        block_cache: ByteSize = ByteSize::mib(64), must at_least(ByteSize::mib(1));
        /// RocksDB's write buffers, all together.
        write_buffers: ByteSize = ByteSize::mib(64), must at_least(ByteSize::mib(1));
        /// Pages in one commit.
        commit_pages_max: u32 = 1_000, in "pages", must between(1, 1_000_000);
        /// Time between two commits.
        commit_interval: Duration = Duration::from_millis(250), must between(MILLISECOND, secs(3_600));
        /// Time between two fsyncs of the state: the work that a power cut may cost.
        sync_interval: Duration = secs(1), must between(MILLISECOND, secs(3_600));
        /// Fetching stops while less than this is free on the disk.
        disk_free_min: ByteSize = ByteSize::mib(256);
        /// Threads that parse and compress; 0 is one a core.
        parser_threads: u32 = 0, in "threads", must between(0, 1_024);
    }
    /// How single URLs are followed through the cluster.
    telemetry: Telemetry {
        /// The share of all URLs whose way is followed; the same ones on all agents.
        trace_rate: f64 = 0.001, must between(0.0, 1.0);
        /// A visit that takes longer is followed whatever the rate, like one that fails.
        trace_slow: Duration = secs(10), must between(MILLISECOND, YEAR);
    }
}
