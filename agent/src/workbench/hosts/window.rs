//! Window: the head of a host's queue. The rest of the queue is on disk and arrives in refills.

use crate::messages::{QueueKey, Queued};
use crivello_common::url::Origin;
use std::collections::VecDeque;

/// Returns the weight of URLs in memory.
pub(super) fn weight<'a>(urls: impl IntoIterator<Item = &'a Queued>) -> usize {
    urls.into_iter().map(Queued::weight).sum()
}

/// The URLs of one host in memory, in the order of its queue.
#[derive(Debug, Default)]
pub struct Window {
    urls: VecDeque<Queued>,
    /// URLs in the last batch from the crawl database, or left when the window was last cut.
    batch: u32,
    /// True if the queue continues on disk after the window.
    more: bool,
    refilling: bool,
}

impl Window {
    pub(super) fn new(urls: Vec<Queued>, more: bool) -> Self {
        Self { batch: urls.len() as u32, urls: urls.into(), more, refilling: false }
    }

    pub const fn urls(&self) -> &VecDeque<Queued> {
        &self.urls
    }

    /// Returns the queue keys of the URLs, in order.
    pub fn queue_keys(&self) -> Vec<QueueKey> {
        self.urls.iter().map(|url| url.queue_key).collect()
    }

    /// Returns true while a refill is pending. The host does not leave before it has arrived: its
    /// URLs would be lost.
    pub const fn is_refilling(&self) -> bool {
        self.refilling
    }

    /// Returns true if a refill should be requested, given the number of URLs of a visit.
    pub fn is_low(&self, visit_len: u32) -> bool {
        let low = (2 * visit_len).min(self.batch / 2) as usize;
        self.more && !self.refilling && self.urls.len() <= low
    }

    /// Records that a refill was requested.
    pub const fn begin_refill(&mut self) {
        self.refilling = true;
    }

    /// Adds a refill. `more` is true if the queue continues on disk.
    pub(super) fn refill(&mut self, urls: Vec<Queued>, more: bool) {
        self.refilling = false;
        self.more = more && !urls.is_empty();
        self.batch = urls.len() as u32;
        self.urls.reserve_exact(urls.len());
        self.urls.extend(urls);
    }

    /// Returns the weight of the URLs.
    pub(super) fn weight(&self) -> usize {
        weight(&self.urls)
    }

    /// Removes and returns at most `len_max` URLs from index `start` on, all of one origin.
    pub(super) fn take_run(&mut self, start: usize, len_max: usize) -> (Origin, Vec<Queued>) {
        let origin = self.urls[start].origin;
        let run = self.urls.iter().skip(start).take(len_max);
        let end = start + run.take_while(|url| url.origin == origin).count();
        (origin, self.urls.drain(start..end).collect())
    }

    /// Removes and returns the URLs that satisfy `is_taken`.
    pub(super) fn take_matching(&mut self, is_taken: impl Fn(&Queued) -> bool) -> Vec<Queued> {
        let (taken, kept): (Vec<_>, Vec<_>) = self.urls.drain(..).partition(is_taken);
        self.urls = kept.into();
        taken
    }

    /// Adds URLs before the first one.
    pub(super) fn put_back(&mut self, urls: Vec<Queued>) {
        for url in urls.into_iter().rev() {
            self.urls.push_front(url);
        }
    }

    /// Cuts the window to `share`, a weight, and returns the URLs cut off.
    pub(super) fn cut(&mut self, share: usize) -> VecDeque<Queued> {
        let mut left = share;
        let kept = self.urls.iter().take_while(|url| {
            let fits = left > 0;
            left = left.saturating_sub(url.weight());
            fits
        });
        let kept = kept.count();
        if kept == self.urls.len() {
            return VecDeque::new();
        }
        let cut = self.urls.split_off(kept);
        self.urls.shrink_to_fit();
        self.more = true;
        // The next refill is requested once half of the remaining URLs have been used.
        self.batch = kept as u32;
        cut
    }
}
