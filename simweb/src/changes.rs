//! The description of how pages change: the part of a [`crate::Spec`] that is absent from webs whose
//! pages never do.

use crivello_common::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Changes of pages, and the web's statements about them.
///
/// It concerns HTML pages of hosts that answer with their pages: not robots.txt, sitemaps,
/// redirects, errors and binary files. All shares are between 0 and 1. Pages that share a body
/// change at the same times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    /// Time from which changes are counted, in microseconds since 1970; 0 is replaced by the time
    /// at which the web starts.
    pub origin_us: u64,
    /// Mean time between two changes of the fastest page. At least a millisecond counts.
    pub interval_min: Duration,
    /// Mean time between two changes of the slowest page. Between the two, the logarithm of the
    /// mean time is uniform.
    pub interval_max: Duration,
    /// Share of the pages that change at equal intervals.
    pub regular: f64,
    /// Share of the pages that change several times within a short time, and then not for long.
    pub bursts: f64,
    /// Share of the pages that never change. The rest change at the times of a Poisson process.
    pub never: f64,
    /// Share of the pages whose changes touch boilerplate only: navigation, an advertisement, and
    /// the date in the footer.
    pub boilerplate: f64,
    /// Share of the pages with `ETag` and without `Last-Modified`.
    pub etag_only: f64,
    /// Share of the pages with `Last-Modified` and without `ETag`.
    pub last_modified_only: f64,
    /// Share of the pages with both. The rest have none.
    pub both_validators: f64,
    /// Share, among pages with `ETag`, of those whose `ETag` is another one in each answer.
    pub etag_lies: f64,
    /// Share, among pages with `Last-Modified`, of those where it is the time of the request.
    pub last_modified_lies: f64,
    /// True if `If-None-Match` can be answered with 304; otherwise it is ignored.
    pub answers_if_none_match: bool,
    /// True if `If-Modified-Since` can be answered with 304; otherwise it is ignored.
    pub answers_if_modified_since: bool,
    /// Share of the pages that are answered with 404 from some time on. A page can only become gone
    /// if it is not the first of its host, and if no other page is reachable only by it.
    pub gone_404: f64,
    /// The same with 410.
    pub gone_410: f64,
    /// Time within which these pages become gone, from the origin. Each time is equally likely.
    pub gone_within: Duration,
    /// Share of the hosts whose pages have a true `<lastmod>` in sitemaps.
    pub lastmod: f64,
    /// Share of the hosts whose pages have a `<lastmod>` that is the time of the request. The rest
    /// have none.
    pub lastmod_lies: f64,
}

/// Changes at the times of Poisson processes, about which the web says the truth.
impl Default for Changes {
    fn default() -> Self {
        Self {
            origin_us: 0,
            interval_min: Duration::from_secs(60),
            interval_max: Duration::from_secs(3_600),
            regular: 0.0,
            bursts: 0.0,
            never: 0.0,
            boilerplate: 0.0,
            etag_only: 0.0,
            last_modified_only: 0.0,
            both_validators: 1.0,
            etag_lies: 0.0,
            last_modified_lies: 0.0,
            answers_if_none_match: true,
            answers_if_modified_since: true,
            gone_404: 0.0,
            gone_410: 0.0,
            gone_within: Duration::from_secs(3_600),
            lastmod: 1.0,
            lastmod_lies: 0.0,
        }
    }
}

impl Changes {
    /// Returns the default with these mean times between two changes of the fastest and of the
    /// slowest page.
    #[must_use]
    pub fn between(interval_min: Duration, interval_max: Duration) -> Self {
        Self { interval_min, interval_max, gone_within: interval_max, ..Self::default() }
    }

    /// Adds pages of every pattern, every combination of validators, and every lie.
    #[must_use]
    pub const fn with_variety(self) -> Self {
        Self {
            regular: 0.2,
            bursts: 0.2,
            never: 0.1,
            boilerplate: 0.15,
            etag_only: 0.25,
            last_modified_only: 0.25,
            both_validators: 0.25,
            etag_lies: 0.2,
            last_modified_lies: 0.2,
            gone_404: 0.05,
            gone_410: 0.05,
            lastmod: 0.4,
            lastmod_lies: 0.3,
            ..self
        }
    }

    /// Returns the time from which changes are counted.
    pub const fn origin(&self) -> Timestamp {
        Timestamp(self.origin_us)
    }
}
