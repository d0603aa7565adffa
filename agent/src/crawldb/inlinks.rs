//! Approximate in-links: how often links to each URL were offered to this agent, its owner, in a counting quotient filter.
//! Only links to known URLs are counted, so that a trap, whose URLs have one link each, takes no memory.
//!
//! Counts are hints for `links.priority`, and only in memory: they begin anew at a start, and at an agent that takes a
//! group over. A count is too high if two URLs have equal fingerprints, if links arrive twice, or if a page is fetched
//! again; it is too low for links that were offered before counting began. What follows from a count is stored: the
//! priority of a queued URL, which moves forward as the count grows, and never back.

use super::sieve::Fingerprinter;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;
use crivello_filters::{CountingQuotientFilter, OffsetSampling, QuotientShape};

/// Bits of a fingerprint. Of 10 million URLs, one in 430 shares its count with another one.
const FINGERPRINT_BITS: u32 = 32;

/// State of the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlinkCounts {
    /// URLs with more than one link.
    pub urls: u64,
    /// Bytes in memory.
    pub bytes: usize,
    /// True if some links were not counted, because there was no room for their URLs.
    pub is_full: bool,
}

/// Counts of links, if `links.priority` needs them.
#[derive(Debug)]
pub struct Inlinks {
    memory: ByteSize,
    fingerprinter: Fingerprinter,
    counts: Option<CountingQuotientFilter>,
    is_full: bool,
    /// True if a count was raised since the last pass over the queues began.
    has_risen: bool,
}

impl Inlinks {
    /// Creates counts that are off, and take up to this memory.
    pub fn new(memory: ByteSize) -> Self {
        let fingerprinter = Fingerprinter::random();
        Self { memory, fingerprinter, counts: None, is_full: false, has_risen: false }
    }

    /// Begins to count, or forgets all counts.
    pub fn enable(&mut self, is_on: bool) {
        if is_on == self.counts.is_some() {
            return;
        }
        (self.is_full, self.has_risen) = (false, false);
        // While a table grows, the old one is there, too.
        let (bytes_max, sampling) = (self.memory.as_usize() / 3 * 2, OffsetSampling::Blocks);
        let shape = QuotientShape { fingerprint_bits: FINGERPRINT_BITS, bytes_max, sampling };
        self.counts = is_on.then(|| CountingQuotientFilter::new(shape).ok()).flatten();
    }

    /// Returns true if links are counted.
    pub const fn is_on(&self) -> bool {
        self.counts.is_some()
    }

    const fn fingerprint(&self, url: UrlKey) -> u64 {
        self.fingerprinter.fingerprint(url) >> (u64::BITS - FINGERPRINT_BITS)
    }

    /// Counts a further link to each of these URLs, which are known.
    pub fn add(&mut self, known: impl Iterator<Item = UrlKey>) {
        for url in known {
            let fingerprint = self.fingerprint(url);
            let Some(counts) = &mut self.counts else { return };
            match counts.insert_fingerprint(fingerprint, 1) {
                Ok(_) => self.has_risen = true,
                Err(_) => self.is_full = true,
            }
        }
    }

    /// Returns the number of links to a known URL: the one with which it was found, and those that were counted.
    pub fn of(&self, url: UrlKey) -> u64 {
        let count =
            |counts: &CountingQuotientFilter| counts.count_fingerprint(self.fingerprint(url));
        1 + self.counts.as_ref().map_or(0, count)
    }

    /// Returns true if a count was raised since this was called last.
    pub const fn take_risen(&mut self) -> bool {
        std::mem::replace(&mut self.has_risen, false)
    }

    /// Returns the state of the counts.
    pub fn state(&self) -> InlinkCounts {
        self.counts.as_ref().map_or_else(InlinkCounts::default, |counts| InlinkCounts {
            urls: counts.len() as u64,
            bytes: counts.bytes(),
            is_full: self.is_full,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};
    use std::collections::HashMap;

    fn key(n: u64) -> UrlKey {
        UrlKey { group: GroupHash(n % 11), url: UrlHash(n) }
    }

    /// Zipf-like: URL n gets a link from each n-th page.
    fn links(n_pages: u64, n_urls: u64) -> impl Iterator<Item = Vec<UrlKey>> {
        let of_page = move |page: u64| {
            (1..=n_urls).filter(move |n| page.is_multiple_of(*n)).map(key).collect()
        };
        (1..=n_pages).map(of_page)
    }

    #[test]
    fn counts_are_those_of_a_map() {
        let (mut inlinks, mut model) = (Inlinks::new(ByteSize::mib(1)), HashMap::new());
        assert!(!inlinks.is_on());
        inlinks.add([key(1)].into_iter());
        assert_eq!((inlinks.of(key(1)), inlinks.state()), (1, InlinkCounts::default()));
        inlinks.enable(true);
        for urls in links(2_000, 2_000) {
            inlinks.add(urls.iter().copied());
            inlinks.enable(true);
            urls.iter().for_each(|url| *model.entry(*url).or_insert(0_u64) += 1);
        }
        // Two of these few URLs have equal fingerprints in one of 2,000 runs; then two counts are too high.
        let wrong = model.iter().filter(|(url, n)| inlinks.of(**url) != **n + 1).count();
        assert!(wrong <= 4, "{wrong} counts are wrong");
        assert!(model.iter().all(|(url, n)| inlinks.of(*url) > *n), "a count is too low");
        assert!(inlinks.state().urls + 2 >= model.len() as u64 && !inlinks.state().is_full);
        assert!(inlinks.take_risen() && !inlinks.take_risen());
        inlinks.enable(false);
        assert_eq!(inlinks.of(key(1)), 1);
    }

    #[test]
    fn full_counts_keep_what_they_have_within_their_memory() {
        let mut inlinks = Inlinks::new(ByteSize::kib(16));
        inlinks.enable(true);
        for n in 0..50_000 {
            inlinks.add([key(1), key(n)].into_iter());
            assert!(inlinks.state().bytes <= 16 << 10);
        }
        let state = inlinks.state();
        assert!(state.is_full && state.urls > 1_000, "{state:?}");
        assert!(inlinks.of(key(1)) >= 1_000, "{}", inlinks.of(key(1)));
    }
}
