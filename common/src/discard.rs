//! Why a URL was not fetched, or a page not used: every discard has a name and is counted.

use crate::closed_set::closed_set;

closed_set! {
    /// The reason a URL or a page was set aside for good.
    pub enum Discard {
        /// Not a URL at all, or one the WHATWG parser refuses.
        Unparsable = 0 => "unparsable",
        /// A scheme other than http and https.
        Scheme = 1 => "scheme",
        /// A URL without a host, or with credentials in it.
        Authority = 2 => "authority",
        /// Longer than `links.url-length-max`.
        TooLong = 3 => "too-long",
        /// A path segment repeats more often than `links.repeated-segments-max`.
        RepeatedSegments = 4 => "repeated-segments",
        /// More path segments than `links.path-depth-max`.
        PathDepth = 5 => "path-depth",
        /// More links away from its seed than `limits.depth-max`.
        Depth = 6 => "depth",
        /// Not within the include rules, or within the exclude rules.
        OutOfScope = 7 => "out-of-scope",
        /// The page, or the link, says `nofollow`.
        Nofollow = 8 => "nofollow",
        /// robots.txt disallows it.
        Robots = 9 => "robots",
        /// The host has had its `limits.pages-per-host-max`.
        HostLimit = 10 => "host-limit",
        /// The domain has had its `limits.pages-per-domain-max`.
        DomainLimit = 11 => "domain-limit",
        /// The address is private, loopback or link-local, and no configuration line allows it.
        AddressDenied = 12 => "address-denied",
        /// All attempts failed; see the errors by kind.
        GaveUp = 13 => "gave-up",
        /// More links on one page than `links.per-page-max`, or in one sitemap than 50,000.
        TooManyLinks = 14 => "too-many-links",
        /// A domain with more hosts than `limits.hosts-per-domain-max`.
        TooManyHosts = 15 => "too-many-hosts",
        /// robots.txt could not be had, time and again: the host, or that origin of it, was given up.
        RobotsUnreachable = 16 => "robots-unreachable",
        /// A scheme and port of a host that has too many of them with a robots.txt of their own.
        TooManyOrigins = 17 => "too-many-origins",
        /// Its host is one of `links.blocked`, or is at an address that is.
        Blocked = 18 => "blocked",
    }
}

impl Discard {
    /// The reason in words, for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unparsable => "no URL at all",
            Self::Scheme => "neither http nor https",
            Self::Authority => "no host, or a user name or password in the URL",
            Self::TooLong => "longer than links.url-length-max",
            Self::RepeatedSegments => "a part of the path repeats: a trap",
            Self::PathDepth => "more than links.path-depth-max parts in the path",
            Self::Depth => "further from the seeds than limits.depth-max",
            Self::OutOfScope => "not included, or excluded, by the links rules",
            Self::Nofollow => "the link or its page asks not to follow",
            Self::Robots => "disallowed by robots.txt",
            Self::HostLimit => "the host has had limits.pages-per-host-max",
            Self::DomainLimit => "the domain has had limits.pages-per-domain-max",
            Self::AddressDenied => "private address; --allow-network allows it",
            Self::GaveUp => "all attempts failed, see the errors",
            Self::TooManyLinks => "beyond links.per-page-max on one page, or 50,000 in one sitemap",
            Self::TooManyHosts => "beyond limits.hosts-per-domain-max",
            Self::RobotsUnreachable => "robots.txt could not be had, time and again",
            Self::TooManyOrigins => "more ports than are asked of one host",
            Self::Blocked => "its host, or its address, is one of links.blocked",
        }
    }
}

/// How many of each reason: a small fixed table, cheap to add up and to store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiscardTally([u64; Discard::ALL.len()]);

impl DiscardTally {
    /// Counts one.
    pub fn count(&mut self, reason: Discard) {
        self.add(reason, 1);
    }

    /// Counts `n`.
    pub fn add(&mut self, reason: Discard, n: u64) {
        self.0[reason as usize] += n;
    }

    /// Adds another tally to this one.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// How many of `reason`.
    #[must_use]
    pub fn get(&self, reason: Discard) -> u64 {
        self.0[reason as usize]
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Discard, u64)> + '_ {
        Discard::ALL.into_iter().map(|d| (d, self.get(d))).filter(|&(_, n)| n > 0)
    }
}
