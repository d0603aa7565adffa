//! The table of all settings.
//!
//! A change in a `live` section takes effect while the crawl runs; a change in a `fixed` section
//! when the agents restart. A line has the name, the type, the default, the unit after `in`, the
//! check after `must` (a function of `bounds.rs` or `names.rs`), and `permanent true` if the
//! setting never changes during the life of a crawl. The doc comments are the descriptions that
//! users see. Keys are the names with hyphens.

use super::blocks::{BlockEntry, HostName};
use super::bounds::{at_least, between, each, few, one_of, some_at_least};
use super::choices::{
    ArchiveCompression, AssignBy, DigestKind, NearDuplicates, NoArchive, PolitenessMode,
    RecrawlObjective, RecrawlPolicy, SearchIndex, SieveKind, SignatureAgentForm, StoreSurvival,
    UrlRewrite,
};
use super::names;
use super::records::{DomainDelay, LinkRule, RobotsExemption};
use super::revisit_rate::RevisitRate;
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
const TEN_DAYS: Duration = secs(10 * 86_400);
const MONTH: Duration = secs(30 * 86_400);
const CENTURY: Duration = secs(100 * 365 * 86_400);

/// All settings of a crawl.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Settings {
    /// Settings that are constant during a run.
    pub fixed: Fixed,
    /// Settings that change while the crawl runs.
    pub live: Live,
}

/// Settings that are constant during a run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Fixed {
    /// Identity of the crawl.
    pub identity: Identity,
    /// Requests and their limits.
    pub fetch: Fetch,
    /// Name resolution.
    pub dns: Dns,
    /// The format of the archive.
    pub store: Store,
    /// Agents and the division of the crawl among them.
    pub cluster: Cluster,
    /// The state on disk.
    pub state: State,
    /// Metrics and traces.
    pub telemetry: Telemetry,
    /// The webhook.
    pub webhook: Webhook,
    /// Copies of the archive in an object store.
    pub upload: Upload,
    /// The index of archived pages.
    pub search: Search,
}

/// Settings that change while the crawl runs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Live {
    /// Limits of the crawl.
    pub limits: Limits,
    /// Times of visits to hosts and IP addresses.
    pub politeness: Politeness,
    /// Selection of links.
    pub links: Links,
    /// Treatment of fetched pages.
    pub pages: Pages,
    /// When pages are fetched again.
    pub recrawl: Recrawl,
    /// How long the archive is kept.
    pub archive: Archive,
}

settings! {
    /// Identity of the crawl, as site owners see it.
    fixed identity: Identity {
        /// URL or e-mail address of the operator of the crawl. Required.
        contact: String = String::new(), must names::contact;
        /// Product token of the user agent, matched against robots.txt (RFC 9309).
        user_agent_name: String = "crivello".to_owned(), must names::product_token;
        /// File with the private key that signs requests (docs/signatures.md), as `crivello identity
        /// keygen` writes it; in a cluster each agent has it at this path. If empty, requests are not
        /// signed. Requests over http are never signed.
        signature_key_file: String = String::new();
        /// Where sites find the public key: the https URL of the directory that `crivello identity
        /// directory` writes, or the origin that has it at the well-known path.
        signature_agent: String = String::new(), must names::directory;
        /// Form of the `Signature-Agent` header. directory-url: a dictionary with the URL of the
        /// directory, as the IETF working group has it. origin: a dictionary with its origin. string: its
        /// origin as a bare string, as the first drafts had it.
        signature_agent_form: SignatureAgentForm = SignatureAgentForm::DirectoryUrl;
        /// Unit of assignment to agents: all hosts of a registrable domain (public-suffix list with
        /// its private section), or each host separately. With hosts, limits per domain are not
        /// possible.
        assign_by: AssignBy = AssignBy::Domain, permanent true;
    }
    /// Limits of the crawl.
    live limits: Limits {
        /// Maximum number of pages in total.
        pages_max: Option<u64> = None, in "pages", must some_at_least(1);
        /// Maximum number of links from a seed, along the path of first discovery. 0 fetches only the
        /// seeds.
        depth_max: Option<u16> = None, in "links";
        /// Maximum number of pages per host. Only responses with success (2xx) count.
        pages_per_host_max: Option<u64> = None, in "pages", must some_at_least(1);
        /// Maximum number of pages per registrable domain. Only responses with success (2xx) count.
        pages_per_domain_max: Option<u64> = None, in "pages", must some_at_least(1);
        /// Maximum number of hosts per registrable domain, against endless subdomains. A host counts
        /// while its name waits for an answer of the name servers, and for good once that is an
        /// address. Seeds count and are never refused. Hosts found on pages of other domains take at
        /// most half of it, those found by one other domain an eighth.
        hosts_per_domain_max: Option<u64> = Some(10_000), in "hosts", must some_at_least(1);
        /// Maximum number of hosts per registrable domain that wait for the first answer of the name
        /// servers, with the same shares and the same exception.
        unresolved_hosts_per_domain_max: Option<u64> = Some(1_000), in "hosts",
            must some_at_least(1);
        /// Maximum number of queued URLs per host. URLs found on pages of other domains are refused
        /// while the queue is half full.
        queued_urls_per_host_max: Option<u64> = Some(1_000_000), in "URLs", must some_at_least(1);
        /// Maximum size of the paths of a host's queued URLs, with the same rule.
        queued_bytes_per_host_max: ByteSize = ByteSize::mib(64), must at_least(ByteSize(1));
        /// Maximum number of queued URLs per registrable domain. Those found on pages of other
        /// domains take at most half of it, those found by one other domain an eighth of what one
        /// host may have.
        queued_urls_per_domain_max: Option<u64> = Some(4_000_000), in "URLs", must some_at_least(1);
        /// Maximum size of the paths of a registrable domain's queued URLs, with the same shares.
        queued_bytes_per_domain_max: ByteSize = ByteSize::mib(256), must at_least(ByteSize(1));
    }
    /// Politeness: when a host or an IP address may be visited.
    live politeness: Politeness {
        /// Delay from the end of one request to a host to the start of the next.
        delay: Duration = secs(10), must between(NEVER, YEAR);
        /// Delay between requests to the same IP address, over all its hosts. Of IPv6, a network of 64
        /// bits counts as one address.
        ip_delay: Duration = secs(2), must between(NEVER, YEAR);
        /// Domains that share an IP address take turns there. One that has answered with success gets
        /// this many visits for each visit to one that has not: names that only point to the address of
        /// another site answer with errors.
        ip_answered_weight: u32 = 4, in "visits", must between(1, 1_000);
        /// absolute: up to `burst` requests, then the delay. relative: the delay is a multiple of the
        /// response time.
        mode: PolitenessMode = PolitenessMode::Absolute;
        /// Maximum number of requests on one kept-alive connection before the delay (absolute mode).
        burst: u32 = 1, in "requests", must between(1, 10_000);
        /// Delay as a multiple of the response time (relative mode).
        relative_factor: f64 = 10.0, must between(0.0, 1_000_000.0);
        /// Minimum delay (relative mode).
        relative_delay_min: Duration = secs(1), must between(NEVER, YEAR);
        /// Maximum delay (relative mode).
        relative_delay_max: Duration = secs(300), must between(NEVER, YEAR);
        /// Maximum Crawl-delay of robots.txt; a longer one counts as this.
        crawl_delay_max: Duration = secs(300), must between(NEVER, YEAR);
        /// First wait after 429 or 503 without Retry-After. It doubles each time.
        backoff_first: Duration = secs(60), must between(MILLISECOND, YEAR);
        /// Maximum wait after 429 or 503.
        backoff_max: Duration = DAY, must between(MILLISECOND, YEAR);
        /// Time without 429 or 503 after which the backoff is reset.
        backoff_forgive: Duration = secs(3_600), must between(NEVER, YEAR);
        /// Maximum age of a cached robots.txt; at most a day (RFC 9309 section 2.4).
        robots_age_max: Duration = DAY, must between(MILLISECOND, DAY);
        /// Domains with their own delay. A suffix covers all hosts below it; the longest one applies.
        domains: Vec<DomainDelay> = Vec::new(), must each;
        /// Hosts whose owner agreed that robots.txt is ignored, each with the reason, which is logged
        /// at start.
        robots_exempt: Vec<RobotsExemption> = Vec::new(), must each;
        /// Paused hosts: they are not visited until they are removed from this list. Their queues are
        /// kept.
        paused: Vec<HostName> = Vec::new(), must few;
    }
    /// HTTP requests.
    fixed fetch: Fetch {
        /// Maximum number of visits in flight.
        visits_max: u32 = 1_000, in "visits", must between(1, 1_000_000);
        /// Timeout for connecting, including TLS.
        connect_timeout: Duration = secs(10), must between(MILLISECOND, DAY);
        /// Timeout from the request to the head of the response.
        first_byte_timeout: Duration = secs(20), must between(MILLISECOND, DAY);
        /// Timeout for the whole request.
        total_timeout: Duration = secs(120), must between(MILLISECOND, DAY);
        /// Minimum rate of a body per second, checked after ten seconds. A slower body is given up.
        rate_min: ByteSize = ByteSize(100);
        /// Maximum size of a response head.
        head_size_max: ByteSize = ByteSize::kib(64),
            must between(ByteSize::kib(8), ByteSize::mib(16));
        /// Maximum size of a response body as received. The rest is truncated, and the archive records
        /// that.
        body_size_max: ByteSize = ByteSize::mib(2), must between(ByteSize(1), ByteSize::gib(2));
        /// Maximum size of a response body after decoding.
        decoded_size_max: ByteSize = ByteSize::mib(16),
            must between(ByteSize(1), ByteSize::gib(2));
        /// Time after which an idle connection is closed.
        keep_alive: Duration = secs(15), must between(NEVER, DAY);
        /// Offer HTTP/2 by ALPN, if the connection may be kept.
        http2: bool = true;
        /// Fetch only from sites whose certificate is valid. In any case certificates are verified,
        /// and the result is recorded in the archive.
        verify_certificates: bool = false;
        /// Fetch `/.well-known/tdmrep.json` after each robots.txt that allows it, and record the rights that
        /// it states (docs/signals.md).
        tdmrep: bool = false;
        /// Value of the `Accept-Language` header. If empty, none is sent.
        accept_language: String = String::new(), must names::header_value;
        /// Networks that may be visited although they are private, loopback or link-local, or
        /// although this machine has an address in them.
        allow_networks: Vec<IpNet> = Vec::new();
        /// Ports that may be contacted although no web site uses them: bad ports of the Fetch
        /// standard, and ports of databases and remote control.
        ports_allowed: Vec<u16> = Vec::new();
    }
    /// Name resolution.
    fixed dns: Dns {
        /// Name servers. If empty, those of the system are used.
        servers: Vec<SocketAddr> = Vec::new();
        /// Timeout of one query.
        timeout: Duration = secs(5), must between(MILLISECOND, secs(3_600));
        /// Minimum time for which an answer is cached.
        ttl_min: Duration = secs(60), must between(NEVER, YEAR);
        /// Maximum time for which an answer is cached.
        ttl_max: Duration = DAY, must between(NEVER, YEAR);
        /// Time for which "no such name" is cached.
        negative_ttl: Duration = secs(600), must between(NEVER, YEAR);
        /// Time for which a failed query is cached.
        error_ttl: Duration = secs(30), must between(NEVER, YEAR);
        /// Maximum number of queries in flight.
        queries_max: u32 = 256, in "queries", must between(1, 65_536);
        /// Maximum number of look-ups in one registrable domain, at once and per second; separate for
        /// names that had an address before and for all others.
        lookups_per_domain_max: u32 = 20, in "look-ups", must between(1, 65_536);
        /// Maximum number of cached names.
        cache_entries_max: u64 = 200_000, in "names", must at_least(1);
        /// Use IPv6 addresses for hosts without an IPv4 address.
        ipv6: bool = false;
    }
    /// Selection of links.
    live links: Links {
        /// Include rules: a URL must match at least one of them. If empty, all URLs are included. A
        /// rule matches if all its parts do: the host is `host-suffix` or below it, the path starts
        /// with `path-prefix`, and `regex` occurs in the URL.
        include: Vec<LinkRule> = Vec::new(), must each;
        /// Exclude rules: a URL must match none of them.
        exclude: Vec<LinkRule> = Vec::new(), must each;
        /// Condition on each link and seed, after all other rules: an expression over its fields
        /// (docs/expressions.md), such as `link.depth < 5 && !url.path.contains("/calendar/")`. If
        /// empty, all are admitted.
        admit: String = String::new(), must names::condition;
        /// Order of the URLs of a host: an expression over the fields of a link (docs/expressions.md)
        /// that yields an int from 0 (first) to 254 (last), such as `url.path.startsWith("/news/") ? 10
        /// : 128`, or one of `breadth-first`, `short-first`, `off-site-first`, `good-parents-first`,
        /// `most-linked-first` and `ranked-hosts-first`. URLs of one number are fetched in the order in which they were found;
        /// if empty, all are. A change also reorders what is queued, if the expression names only
        /// `url.…`, `link.depth`, `link.sitemap` and `host.rank`.
        priority: String = String::new(), must names::priority;
        /// Digest of the ranks of hosts that all agents use; `crivello rank --feed` sets it (docs/graph.md).
        /// Agents fetch the file from each other. If empty, no host has a rank.
        host_ranks: String = String::new(), must names::digest;
        /// Blocked hosts: `example.com` is one host, `*.example.com` is the host and all hosts below
        /// it, an address or a network is all hosts at these addresses. Links to blocked hosts are
        /// discarded, and their queued URLs are dropped for good.
        blocked: Vec<BlockEntry> = Vec::new(), must few;
        /// URLs are rewritten before anything else judges them, so that different URLs of one page
        /// become one. `tracking` drops query parameters that only track visitors (`utm_*`, `gclid`,
        /// `fbclid` and others), `sessions` those that name a session, also in the path
        /// (`jsessionid`, `phpsessid`, `sid` and others), `drop-empty-query` a `?` without a query,
        /// `index-pages` `index.html` and the like, `strip-www` the `www.` of the host. `sort-query`
        /// sorts the query, `collapse-slashes` makes `//` in the path `/`, and `force-https` makes
        /// http https.
        rewrite: Vec<UrlRewrite> = Vec::new(), must few;
        /// Query parameters that are dropped likewise, by name; `*` stands for any text.
        drop_parameters: Vec<String> = Vec::new(), must names::parameters;
        /// Respect `nofollow`.
        respect_nofollow: bool = true;
        /// Fetch images and embedded objects, including images of style sheets, images and videos of
        /// sitemaps, fonts, and `/favicon.ico` for pages that declare no icon.
        images: bool = false;
        /// Fetch scripts and style sheets, including imported sheets.
        scripts: bool = false;
        /// Fetch the sitemaps named in robots.txt.
        sitemaps: bool = true;
        /// Maximum length of a URL.
        url_length_max: u32 = 2_048, in "characters", must between(16, 65_535);
        /// Maximum number of occurrences of the same path segment in a URL. Empty ones do not count.
        repeated_segments_max: u32 = 3, in "times", must at_least(1);
        /// Maximum number of path segments.
        path_depth_max: u32 = 30, in "segments", must at_least(1);
        /// Maximum number of links per page. Sitemaps may have 50,000 entries (sitemaps.org), and as
        /// many images, videos and alternates.
        per_page_max: u32 = 10_000, in "links", must between(1, 1_000_000);
        /// Maximum size of all links of a page. Sitemaps may have five times as much.
        bytes_per_page_max: ByteSize = ByteSize::mib(2), must at_least(ByteSize(1_024));
        /// Maximum work of parsing the links of a page: a step for each byte, for names with letters
        /// beyond ASCII as many as their conversion takes, and one for each comparison of a parameter
        /// with a name that `links.rewrite` or `links.drop-parameters` drops.
        work_per_page_max: u64 = 16_777_216, in "steps", must at_least(1_000);
    }
    /// Treatment of fetched pages.
    live pages: Pages {
        /// Expression over the fields of a page (docs/expressions.md) that yields `"archive"`, `"parse"`
        /// (its links are followed, and it is not archived) or `"drop"` (neither), such as
        /// `page.language == "eng" ? "archive" : "drop"`. If empty, all pages are archived.
        keep: String = String::new(), must names::keep;
        /// note: a page with the robots directive `noarchive` is archived, and the archive notes it
        /// (docs/signals.md). drop: it is not archived, and its links are followed.
        noarchive: NoArchive = NoArchive::Note;
        /// Treatment of pages whose text is nearly that of an earlier page (docs/near-duplicates.md).
        /// off: nothing, and they are not recognized. note: they are noted in the archive. skip-links: in
        /// addition, their links are not followed if the earlier page has the same registrable domain.
        near_duplicates: NearDuplicates = NearDuplicates::Off;
    }
    /// When pages are fetched again (docs/recrawl.md). A crawl that does so has no end.
    live recrawl: Recrawl {
        /// none: each page is fetched once. fixed: each page is fetched again after `interval`.
        /// adaptive: each page is fetched about as often as it changes, such that all agents together
        /// fetch `rate`. Pages that were finished while it was none are fetched again only if people ask
        /// for them, in a cluster.
        policy: RecrawlPolicy = RecrawlPolicy::None;
        /// Time between two fetches of a page with the policy fixed: a duration, or an expression over
        /// the fields of a page (docs/expressions.md) that yields an int of seconds, such as
        /// `page.depth == 0 ? 3600 : 86400`.
        interval: String = "7d".to_owned(), must names::interval;
        /// Rate at which all agents together fetch pages again, with the policy adaptive: pages per
        /// second, or a percentage of the known pages per day, such as `"10%"`.
        rate: RevisitRate = RevisitRate::PerSecond(1.0), must RevisitRate::check;
        /// Loss that the policy adaptive minimizes. harmonic: missed changes, and no page is given up.
        /// freshness: the time for which copies are out of date; pages that change too fast for the
        /// rate are given up.
        objective: RecrawlObjective = RecrawlObjective::Harmonic;
        /// Weight of a page for the policy adaptive: an expression over the fields of a page that yields
        /// a number, such as `page.depth < 2 ? 4.0 : 1.0`. If empty, all pages weigh 1. A page of weight
        /// 0 is fetched after `interval-max`.
        weight: String = String::new(), must names::weight;
        /// Minimum time between two fetches of a page.
        interval_min: Duration = secs(60), must between(secs(1), CENTURY);
        /// Maximum time between two fetches of a page.
        interval_max: Duration = YEAR, must between(secs(1), CENTURY);
        /// With `adaptive`: expected time between two changes of a page of which nothing is known yet.
        /// It counts until rates are learned from visits.
        change_interval: Duration = TEN_DAYS, must between(secs(1), CENTURY);
        /// Time between two fetches of a seed. 0 s is as for other pages.
        seeds_interval: Duration = NEVER, must between(NEVER, CENTURY);
        /// Time between two fetches of a sitemap or feed. 0 s is as for other pages.
        sitemaps_interval: Duration = DAY, must between(NEVER, CENTURY);
        /// First wait after an error, or after a page was found gone (404 or 410). It doubles each
        /// time.
        errors_interval: Duration = secs(3_600), must between(secs(1), CENTURY);
        /// Time for which a page must be gone to be forgotten: then it is not fetched any more.
        gone_after: Duration = MONTH, must between(secs(1), CENTURY);
    }
    /// How long the archive is kept. Files are deleted whole, by quarters of what is kept, and none to which
    /// a kept `revisit` of this agent refers (docs/recrawl.md).
    live archive: Archive {
        /// Time for which pages are kept at least; their files are usually deleted up to a quarter
        /// later. 0 s keeps all.
        keep_age: Duration = NEVER, must between(NEVER, CENTURY);
        /// Size of an agent's archive above which its oldest quarter is deleted. 0 B keeps all.
        keep_size: ByteSize = ByteSize(0);
    }
    /// The format of the archive.
    fixed store: Store {
        /// Size after which a new archive file is started.
        file_size_max: ByteSize = ByteSize::gib(1), must at_least(ByteSize::mib(1));
        /// Digest of payloads. Replay tools expect SHA-1.
        digest: DigestKind = DigestKind::Sha1, permanent true;
        /// Compression of archive files. gzip: all programs read it. zstd: files a quarter smaller for less CPU, for
        /// programs that read `.warc.zst`. A change holds from the next file on.
        compression: ArchiveCompression = ArchiveCompression::Gzip;
        /// gzip level, 1 to 9. Level 1 needs a third of the CPU of level 6, for files a third larger.
        gzip_level: u32 = 1, must between(1, 9);
        /// zstd level, 1 to 19. Level 1 needs the least CPU.
        zstd_level: u32 = 1, must between(1, 19);
        /// Write a metadata record with the outlinks.
        outlinks: bool = false;
        /// Write exact duplicates as `revisit` records.
        revisits: bool = true;
        /// In a cluster, write pages whose payload another agent has archived as `revisit` records of its capture
        /// (docs/operating.md). Such a page has no payload any more if the archive of that agent is lost. Not
        /// possible with `archive.keep-age` and `archive.keep-size`.
        peer_revisits: bool = false;
        /// CDXJ indexes of earlier crawls (docs/known.md): a page whose payload one of them lists is written as a
        /// `revisit` record of that capture. In a cluster each agent has them at these paths.
        known: Vec<String> = Vec::new(), must names::files;
        /// Use SHA-1 digests of `known`. Others can forge them: two files with the same digest.
        accept_sha1: bool = false;
    }
    /// The cluster. A single agent does not use these settings.
    fixed cluster: Cluster {
        /// Assignment of groups to agents: by a permutation, by the smallest hash, or by a ring.
        strategy: StrategyKind = StrategyKind::Permutation, permanent true;
        /// Number of agents that hold each fact before it is acknowledged. With 2, one agent may lose
        /// its disk without loss of data.
        replication: u32 = 2, in "agents", must between(1, 16), permanent true;
        /// Time without a heartbeat after which an agent is declared dead and others take over its
        /// groups. Below 10 s it is fixed for the life of a crawl.
        lease: Duration = secs(30), must between(Duration::from_millis(100), DAY);
    }
    /// Memory and commits.
    fixed state: State {
        /// Maximum number of URLs in memory, over all hosts. Each 256 bytes of a URL count as one.
        window_urls_max: u64 = 200_000, in "URLs", must at_least(1);
        /// Maximum number of hosts in memory.
        hosts_max: u64 = 50_000, in "hosts", must at_least(1);
        /// Data structure that decides whether a URL is new. rocksdb reads the rows on disk, for any
        /// number of URLs. quotient (a filter for each registrable domain, up to `sieve-memory`) reads
        /// them only for what does not fit, and drops one new URL in a million of a domain with a
        /// million. The others are for a single agent: memory needs about 11 bytes per URL; bloom and
        /// blocked-bloom (faster, slightly less exact) use `sieve-memory`, and drop more new URLs the
        /// fuller they are.
        sieve: SieveKind = SieveKind::Rocksdb;
        /// Memory of bloom, blocked-bloom and quotient. 256 MiB hold 140 million URLs before a Bloom
        /// filter drops one new URL in a thousand, or some 24 million URLs in quotient filters.
        sieve_memory: ByteSize = ByteSize::mib(256),
            must between(ByteSize::mib(1), ByteSize::gib(1024));
        /// Memory of the approximate LRU cache in front of the sieve.
        sieve_cache: ByteSize = ByteSize::mib(32);
        /// Memory of the counts of links, while `links.priority` names `url.inlinks`. 32 MiB hold some 10
        /// million URLs with several links; links to others are not counted then.
        inlinks_memory: ByteSize = ByteSize::mib(32),
            must between(ByteSize::mib(1), ByteSize::gib(1024));
        /// Maximum size of a file of ranks of hosts (`links.host-ranks`): 4.4 bytes a host. It is held in memory, and
        /// a new one beside it while it is received.
        ranks_memory: ByteSize = ByteSize::mib(64), must between(ByteSize::kib(4), ByteSize::gib(4));
        /// Maximum memory of the digests of payloads that other agents have archived, with `store.peer-revisits`: each
        /// agent has an equal part, and the own ones as much as all of them. A digest takes about 2.5 bytes. Payloads
        /// that find no room are archived again by other agents.
        digests_memory: ByteSize = ByteSize::mib(256),
            must between(ByteSize::kib(4), ByteSize::gib(1024));
        /// Time between two exchanges of these digests.
        digests_interval: Duration = secs(60), must between(Duration::from_millis(100), DAY);
        /// Block cache of RocksDB.
        block_cache: ByteSize = ByteSize::mib(64), must at_least(ByteSize::mib(1));
        /// Write buffers of RocksDB in total.
        write_buffers: ByteSize = ByteSize::mib(64), must at_least(ByteSize::mib(1));
        /// Maximum number of pages per commit.
        commit_pages_max: u32 = 1_000, in "pages", must between(1, 1_000_000);
        /// Maximum time between two commits.
        commit_interval: Duration = Duration::from_millis(250), must between(MILLISECOND, secs(3_600));
        /// Time between two syncs of the state to disk: the work that a power cut may lose.
        sync_interval: Duration = secs(1), must between(MILLISECOND, secs(3_600));
        /// Free disk space below which fetching is suspended.
        disk_free_min: ByteSize = ByteSize::mib(256);
        /// Number of tables of the index of near-duplicates: 4, about 53 bytes per page; or 10, about 130 bytes per
        /// page, which find the same pages.
        near_tables: u32 = 4, must one_of(&[4, 10]), permanent true;
        /// Number of threads that parse and compress. 0 is one per core.
        parser_threads: u32 = 0, in "threads", must between(0, 1_024);
    }
    /// Tracing of single URLs through the cluster.
    fixed telemetry: Telemetry {
        /// Share of all URLs that are traced; the same URLs on all agents.
        trace_rate: f64 = 0.001, must between(0.0, 1.0);
        /// Duration of a visit above which it is always traced, like a failed one.
        trace_slow: Duration = secs(10), must between(MILLISECOND, YEAR);
    }
    /// Messages about captures, as they are archived (docs/following.md).
    fixed webhook: Webhook {
        /// Address that receives them: an http or https URL. If empty, none are sent.
        url: String = String::new(), must names::webhook;
        /// File of the secret that signs them, readable only by its owner; in a cluster each agent has it at
        /// this path. If empty, the environment variable CRIVELLO_WEBHOOK_SECRET has it.
        secret_file: String = String::new();
    }
    /// Copies of sealed archive files in an object store, while the crawl goes on (docs/uploads.md).
    fixed upload: Upload {
        /// Where archive files are copied to once they are sealed, each with its index: s3://BUCKET/PREFIX or
        /// file:///DIRECTORY. If empty, nowhere.
        url: String = String::new(), must names::upload;
        /// Address of the S3 service. If empty, that of Amazon S3 in the region.
        endpoint: String = String::new(), must names::upload_endpoint;
        /// Region of the bucket.
        region: String = "us-east-1".to_owned(), must names::region;
        /// File of the credentials, readable only by its owner, with the lines AWS_ACCESS_KEY_ID=…,
        /// AWS_SECRET_ACCESS_KEY=… and, if there is one, AWS_SESSION_TOKEN=…; in a cluster each agent has it at this
        /// path. If empty, the environment variables of these names have them.
        credentials_file: String = String::new();
        /// True if each archive file also gets a table there, in Parquet: a row for each capture, with the columns of
        /// crivello export parquet.
        parquet: bool = true;
        /// True if an archive file is deleted on this machine once its copy was read back and is the same.
        delete_after: bool = false;
        /// Survival of the store when this machine is lost, so that a copy in it counts as a second copy: if an agent
        /// of a cluster is lost with its disk, pages in files that were read back from the store are not fetched again.
        /// auto: yes for s3, no for file.
        survives: StoreSurvival = StoreSurvival::Auto;
        /// Size of the parts in which a file is sent; larger for files of more than 9,000 of them. Amazon S3 permits
        /// no less than 5 MiB.
        part_size: ByteSize = ByteSize::mib(8), must between(ByteSize::kib(64), ByteSize::gib(1));
        /// Parts that are sent at the same time; the memory of copying is this number and one more.
        parts_at_once: u32 = 2, in "parts", must between(1, 64);
        /// Bytes a second that copying sends, or reads back, at most. 0 B is no limit.
        rate_max: ByteSize = ByteSize(0);
        /// Time for which the end of a run waits for copies: in total if somebody stops the crawl, else without
        /// progress. The rest is copied in the next run.
        end_wait: Duration = secs(60), must between(Duration::ZERO, DAY);
    }
    /// The index of archived pages that each agent keeps while the crawl goes on, for `crivello search --cluster` and
    /// the dashboard (docs/search.md).
    fixed search: Search {
        /// Preset of the index: small or fast. off: there is none. An archive file is indexed once it is sealed.
        index: SearchIndex = SearchIndex::Off;
        /// Memory for pages that are being indexed.
        memory: ByteSize = ByteSize::mib(64), must between(ByteSize::mib(1), ByteSize::gib(64));
    }
}
