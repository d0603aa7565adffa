//! Ids of traces and spans, and the choice of followed URLs: functions of the URL.

use super::Stage;
use crivello_common::hash::{HostKey, UrlKey};
use std::fmt;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

const CRAWL_SEED: u64 = 0x7472_6163_6573; // "traces"
const DRAW: u64 = 1;
const HOST: u64 = 2;

/// The id of a trace: 128 bits (W3C Trace Context), never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub u128);

/// The id of a span: 64 bits, never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub u64);

impl TraceId {
    /// Returns the id of a span of this trace. `salt` distinguishes several spans of one stage. If
    /// another agent must know the span, the salt is a number that both agents know.
    pub fn span(self, stage: Stage, salt: u64) -> SpanId {
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(&self.0.to_be_bytes());
        bytes[16] = stage as u8;
        SpanId(xxh3_64_with_seed(&bytes, salt).max(1))
    }
}

/// Thirty-two hexadecimal digits, the usual form.
impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The ids of the traces of one crawl.
#[derive(Clone, Copy, Debug)]
pub struct CrawlTraceIds {
    seed: u64,
}

impl CrawlTraceIds {
    /// Creates the ids for the crawl `crawl_id`.
    #[must_use]
    pub fn of(crawl_id: &str) -> Self {
        Self { seed: xxh3_64_with_seed(crawl_id.as_bytes(), CRAWL_SEED) }
    }

    /// Returns the trace of a URL.
    pub fn trace(self, url: UrlKey) -> TraceId {
        TraceId(xxh3_128_with_seed(&bytes(url.group.0, url.url.0), self.seed).max(1))
    }

    /// Returns the trace of spans that belong to a host and to none of its URLs.
    pub fn host_trace(self, host: HostKey) -> TraceId {
        TraceId(xxh3_128_with_seed(&bytes(host.group.0, host.host.0), self.seed ^ HOST).max(1))
    }

    /// Returns a number drawn for a URL: uniformly distributed, and independent of the id of its
    /// trace. It is compared by [`Rate::takes`].
    pub fn draw(self, url: UrlKey) -> u64 {
        xxh3_64_with_seed(&bytes(url.group.0, url.url.0), self.seed ^ DRAW)
    }
}

fn bytes(group: u64, other: u64) -> [u8; 16] {
    (u128::from(group) << 64 | u128::from(other)).to_be_bytes()
}

/// The share of URLs that are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate(pub u64);

impl Rate {
    /// Creates a rate from a share between 0 (none) and 1 (all).
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the cast saturates"
    )]
    pub fn of(share: f64) -> Self {
        Self((share * u64::MAX as f64) as u64)
    }

    /// Returns true if a URL with this number drawn is followed.
    pub const fn takes(self, drawn: u64) -> bool {
        drawn < self.0 || self.0 == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};
    use proptest::prelude::*;

    /// Agents of different builds must agree. The constants were computed with the `xxhash` package
    /// of Python, an independent binding of the reference implementation.
    #[test]
    fn golden_vectors_hold_across_builds() {
        let ids = CrawlTraceIds::of("4f0c6e1a-crawl");
        let (group, url) = (GroupHash(0xcec3_9db6_1a9e_de6f), UrlHash(0x680d_c82f_747b_98a6));
        let url = UrlKey { group, url };
        let trace = ids.trace(url);
        assert_eq!(trace.to_string(), "afeac767f761bd75dd736f7df2b70aac");
        assert_eq!(format!("{:016x}", ids.draw(url)), "eb1327ca34bf7923");
        assert_eq!(format!("{:?}", trace.span(Stage::Sieved, 0)), "0a280295b65e0954");
        assert_eq!(format!("{:?}", trace.span(Stage::Sent, 7)), "d78eeb0d1100834c");
    }

    #[test]
    fn the_rate_is_honored_and_those_of_a_lower_one_are_among_those_of_a_higher() {
        let ids = CrawlTraceIds::of("crawl");
        let keys: Vec<UrlKey> =
            (0..200_000u64).map(|n| UrlKey { group: GroupHash(n % 97), url: UrlHash(n) }).collect();
        let mut before = 0;
        for share in [0.0, 0.001, 0.01, 0.5, 1.0] {
            let rate = Rate::of(share);
            let taken = keys.iter().filter(|&&key| rate.takes(ids.draw(key))).count();
            let wanted = share * 200_000.0;
            // Five standard deviations.
            let slack = 5.0 * (200_000.0 * share * (1.0 - share)).sqrt();
            assert!((taken as f64 - wanted).abs() <= slack, "{share}: {taken}");
            assert!(taken >= before);
            before = taken;
        }
        assert!(!Rate::of(0.0).takes(0) && Rate::of(1.0).takes(u64::MAX));
    }

    proptest! {
        #[test]
        fn every_agent_draws_and_names_alike_and_every_crawl_differently(
            crawl in "[0-9a-f]{8}", other in "[0-9a-f]{8}", group: u64, url: u64,
        ) {
            let key = UrlKey { group: GroupHash(group), url: UrlHash(url) };
            let (here, there) = (CrawlTraceIds::of(&crawl), CrawlTraceIds::of(&crawl.clone()));
            prop_assert_eq!(here.trace(key), there.trace(key));
            prop_assert_eq!(here.draw(key), there.draw(key));
            if crawl != other {
                prop_assert_ne!(here.trace(key), CrawlTraceIds::of(&other).trace(key));
            }
        }

        #[test]
        fn stages_and_salts_are_told_apart(trace in 1u128.., a: u64, b: u64) {
            let trace = TraceId(trace);
            let ids: Vec<SpanId> = Stage::ALL.iter().map(|&stage| trace.span(stage, a)).collect();
            let mut distinct = ids.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), ids.len());
            if a != b {
                prop_assert_ne!(trace.span(Stage::Found, a), trace.span(Stage::Found, b));
            }
        }
    }
}
