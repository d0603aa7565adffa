//! Reasons why a URL is not fetched or a page is not used. Each has a name and a counter.

use crate::closed_set;

closed_set! {
    /// The reason why a URL or a page was dropped. A URL that is marked as seen stays dropped if pages are
    /// fetched once. With a policy of recrawling it is tried again later, except for `Blocked`, `Forgotten` and limits.
    pub enum Discard {
        /// The WHATWG URL parser rejects the text.
        Unparsable = 0 => "unparsable",
        /// A scheme other than http and https.
        Scheme = 1 => "scheme",
        /// A URL without a host, or with credentials in it.
        Authority = 2 => "authority",
        /// The URL is longer than `links.url-length-max`.
        TooLong = 3 => "too-long",
        /// A path segment repeats more often than `links.repeated-segments-max`.
        RepeatedSegments = 4 => "repeated-segments",
        /// The path has more segments than `links.path-depth-max`.
        PathDepth = 5 => "path-depth",
        /// The URL is more links away from its seed than `limits.depth-max`.
        Depth = 6 => "depth",
        /// No include rule matches, or an exclude rule does.
        OutOfScope = 7 => "out-of-scope",
        /// The page or the link is marked `nofollow`.
        Nofollow = 8 => "nofollow",
        /// robots.txt disallows the URL.
        Robots = 9 => "robots",
        /// The host has reached `limits.pages-per-host-max`.
        HostLimit = 10 => "host-limit",
        /// The domain has reached `limits.pages-per-domain-max`.
        DomainLimit = 11 => "domain-limit",
        /// The address is private, loopback or link-local, and `fetch.allow-networks` does not
        /// include it.
        AddressDenied = 12 => "address-denied",
        /// All attempts failed. Failures are counted by kind.
        GaveUp = 13 => "gave-up",
        /// The page has more links than `links.per-page-max`, or the sitemap more than 50,000 entries,
        /// or as many images, videos and alternates.
        TooManyLinks = 14 => "too-many-links",
        /// The domain has more hosts than `limits.hosts-per-domain-max`. The URL is not marked as
        /// seen.
        TooManyHosts = 15 => "too-many-hosts",
        /// robots.txt could repeatedly not be fetched; the host, or this origin, was given up.
        RobotsUnreachable = 16 => "robots-unreachable",
        /// The host has too many origins (scheme and port), each with its own robots.txt.
        TooManyOrigins = 17 => "too-many-origins",
        /// `links.blocked` includes the host or its address.
        Blocked = 18 => "blocked",
        /// Another host has the same key. Hosts are never merged.
        HostKeyTaken = 19 => "host-key-taken",
        /// No web site uses the port, and `fetch.ports-allowed` does not include it.
        PortDenied = 20 => "port-denied",
        /// A robots.txt redirects to a page of another host, or to a host that is not crawled: the
        /// redirect is not followed.
        RobotsRedirect = 21 => "robots-redirect",
        /// The domain has as many names without an answer of the name servers as
        /// `limits.unresolved-hosts-per-domain-max` allows. The URL is not marked as seen.
        TooManyUnresolvedHosts = 22 => "too-many-unresolved-hosts",
        /// The host's queue is full: `limits.queued-urls-per-host-max` or
        /// `limits.queued-bytes-per-host-max`. The URL is not marked as seen.
        HostQueueFull = 23 => "host-queue-full",
        /// The queues of the domain are full: `limits.queued-urls-per-domain-max` or
        /// `limits.queued-bytes-per-domain-max`. The URL is not marked as seen.
        DomainQueueFull = 24 => "domain-queue-full",
        /// The links of the page have more bytes than `links.bytes-per-page-max`.
        TooManyLinkBytes = 25 => "too-many-link-bytes",
        /// To parse the links of the page takes more steps than `links.work-per-page-max`.
        TooMuchWork = 26 => "too-much-work",
        /// The condition `links.admit` is false.
        NotAdmitted = 27 => "not-admitted",
        /// The condition `links.admit` has no value, as after a division by zero.
        ConditionFailed = 28 => "condition-failed",
        /// `pages.keep`, or its `noarchive`, says that the page is not archived. It counts as fetched.
        NotArchived = 29 => "not-archived",
        /// `pages.keep` has no value, or none of its three: the page is archived.
        KeepFailed = 30 => "keep-failed",
        /// A sitemap of another host lists the URL, and the robots.txt of the URL's host is not known
        /// to name that sitemap. The URL is not marked as seen.
        ForeignInSitemap = 31 => "foreign-in-sitemap",
        /// A sitemap lists a URL that is not absolute.
        RelativeInSitemap = 32 => "relative-in-sitemap",
        /// A date of a sitemap or a feed is in the future, or is no date. It is ignored; the page is
        /// fetched.
        DateIgnored = 33 => "date-ignored",
        /// A sitemap is longer than 50 MiB, or compressed too much: the rest of it is not read.
        SitemapTooLarge = 34 => "sitemap-too-large",
        /// A sitemap or a feed is cut off, or is not XML from some place on: the rest is not read.
        SitemapDamaged = 35 => "sitemap-damaged",
        /// The link is on a page whose text is nearly that of an earlier page of the same registrable
        /// domain (`pages.near-duplicates`).
        NearDuplicate = 36 => "near-duplicate",
        /// `crivello forget` took the URL or its host back: it is never fetched again.
        Forgotten = 37 => "forgotten",
    }
}

impl Discard {
    /// Returns true if a URL that is refused for this reason is not marked as seen: there may be
    /// room for it when it is found again, or another page may link to it.
    pub const fn is_for_now(self) -> bool {
        matches!(
            self,
            Self::TooManyHosts
                | Self::TooManyUnresolvedHosts
                | Self::HostQueueFull
                | Self::DomainQueueFull
                | Self::ForeignInSitemap
        )
    }

    /// Returns a short description of the reason.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Unparsable => "not a valid URL",
            Self::Scheme => "neither http nor https",
            Self::Authority => "no host, or a user name or password in the URL",
            Self::TooLong => "longer than links.url-length-max",
            Self::RepeatedSegments => "a path segment repeats: probably a trap",
            Self::PathDepth => "more path segments than links.path-depth-max",
            Self::Depth => "further from the seeds than limits.depth-max",
            Self::OutOfScope => "not included, or excluded, by the links rules",
            Self::Nofollow => "the link or its page is marked nofollow",
            Self::Robots => "disallowed by robots.txt",
            Self::HostLimit => "the host has reached limits.pages-per-host-max",
            Self::DomainLimit => "the domain has reached limits.pages-per-domain-max",
            Self::AddressDenied => "private address; --allow-network allows it",
            Self::GaveUp => "all attempts failed; see the failures",
            Self::TooManyLinks => "beyond links.per-page-max on one page, or 50,000 in one sitemap",
            Self::TooManyHosts => "beyond limits.hosts-per-domain-max",
            Self::RobotsUnreachable => "robots.txt could not be fetched repeatedly",
            Self::TooManyOrigins => "too many ports on one host",
            Self::Blocked => "links.blocked includes the host or its address",
            Self::HostKeyTaken => "another host has the same key",
            Self::PortDenied => "no web site uses this port; fetch.ports-allowed allows it",
            Self::RobotsRedirect => "a robots.txt redirects to a page of another host",
            Self::TooManyUnresolvedHosts => "beyond limits.unresolved-hosts-per-domain-max",
            Self::HostQueueFull => "beyond limits.queued-urls-per-host-max or its bytes",
            Self::DomainQueueFull => "beyond limits.queued-urls-per-domain-max or its bytes",
            Self::TooManyLinkBytes => "beyond links.bytes-per-page-max on one page",
            Self::TooMuchWork => "beyond links.work-per-page-max on one page",
            Self::NotAdmitted => "links.admit is false",
            Self::ConditionFailed => "links.admit has no value",
            Self::NotArchived => "pages.keep or noarchive says that the page is not archived",
            Self::KeepFailed => "pages.keep has no value; the page is archived",
            Self::ForeignInSitemap => {
                "listed by a sitemap that the host's robots.txt does not name"
            }
            Self::RelativeInSitemap => "a URL in a sitemap that is not absolute",
            Self::DateIgnored => "a date in a sitemap or feed: in the future, or no date",
            Self::SitemapTooLarge => {
                "a sitemap beyond 50 MiB, or compressed too much; the rest is lost"
            }
            Self::SitemapDamaged => {
                "a sitemap or feed that breaks off or is no XML; the rest is lost"
            }
            Self::NearDuplicate => "on a near-duplicate of a page of the same domain",
            Self::Forgotten => "taken back by crivello forget: never fetched again",
        }
    }
}

/// Counts by reason, in a table of fixed size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiscardTally([u64; Discard::ALL.len()]);

impl Default for DiscardTally {
    fn default() -> Self {
        Self([0; Discard::ALL.len()])
    }
}

impl DiscardTally {
    /// Adds one discard.
    pub fn count(&mut self, reason: Discard) {
        self.add(reason, 1);
    }

    /// Adds `n` discards.
    pub fn add(&mut self, reason: Discard, n: u64) {
        let count = &mut self.0[reason as usize];
        *count = count.saturating_add(n);
    }

    /// Adds another tally to this one.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// Returns the count of `reason`.
    pub fn get(&self, reason: Discard) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the reasons with a count above zero, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Discard, u64)> + '_ {
        Discard::ALL.into_iter().map(|d| (d, self.get(d))).filter(|&(_, n)| n > 0)
    }
}
