//! Cache of the last answers to robots requests that were for other hosts or followed a redirect:
//! many subdomains redirect to one URL, which need not be requested for each of them, and a circle
//! of redirects is requested once.

use crate::messages::RobotsOutcome;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::VecDeque;
use std::time::Duration;

const ENTRIES_MAX: usize = 32;
const RULES_MAX: usize = 64 * 1024;
const AGE_MAX: Duration = Duration::from_secs(600);

/// The cache, newest answer first; at most [`ENTRIES_MAX`] × [`RULES_MAX`] bytes.
#[derive(Debug, Default)]
pub struct RobotsCache(VecDeque<(CrawlUrl, Timestamp, (RobotsOutcome, bool))>);

impl RobotsCache {
    /// Stores an answer that other hosts may use, unless it is too large or a failure. `verified` is
    /// true if it came over a connection with a valid certificate.
    pub fn keep(&mut self, url: &CrawlUrl, found: &RobotsOutcome, verified: bool, now: Timestamp) {
        let fits = match found {
            RobotsOutcome::Rules(rules) => rules.heap_size() <= RULES_MAX,
            RobotsOutcome::Missing | RobotsOutcome::Redirect(_) => true,
            RobotsOutcome::Unreachable => false,
        };
        if fits {
            self.0.retain(|(other, ..)| other != url);
            self.0.truncate(ENTRIES_MAX - 1);
            self.0.push_front((url.clone(), now, (found.clone(), verified)));
        }
    }

    /// Returns true if a robots.txt of the same host redirects to `url`, as of answers not older than
    /// [`AGE_MAX`].
    pub fn redirects_to(&self, url: &CrawlUrl, now: Timestamp) -> bool {
        self.0.iter().any(|(from, at, (found, _))| {
            let redirects = matches!(found, RobotsOutcome::Redirect(to) if to == url);
            redirects && from.host() == url.host() && now < *at + AGE_MAX
        })
    }

    /// Returns the answer for `url` and whether it is verified, if it is not older than [`AGE_MAX`].
    pub fn get(&self, url: &CrawlUrl, now: Timestamp) -> Option<(RobotsOutcome, bool)> {
        let lately = |at: Timestamp| now < at + AGE_MAX;
        self.0.iter().find(|(u, at, _)| u == url && lately(*at)).map(|(.., found)| found.clone())
    }
}
