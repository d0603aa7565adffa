//! The prior of a host and path prefix: a Gamma distribution learned from its pages (empirical Bayes)
//! in bounded memory.
//!
//! Pages of one prefix change at similar rates. The prior is the Gamma distribution that fits the
//! rates of its pages best, learned by an online EM algorithm (Cappé and Moulines, JRSS B 71, 2009):
//! each visit of a page yields the mean and the mean square of `ln Δ` under the distribution of its
//! rate, which are averaged; the prior is the Gamma distribution with the mean and the variance of the
//! averages. Its logarithmic moments are used, because the mean rate is that of the few fastest pages.
//!
//! * Pages that change fast are visited more often. So a visit counts for the time since the last one,
//!   and each page for the time it is known.
//! * Early averages are those of a poor prior. So a visit counts three times, which makes the weight
//!   of old ones fall as the third power of time.
//! * A prefix with few pages is drawn to the prior of its host, and a host to that of the crawl, as if
//!   these were [`PULL_PAGES`] pages.
//! * The shape lies within bounds, so that a prior never outweighs a few changes of the page itself.
//!
//! A caller that keeps statistics for prefixes, hosts and the crawl bounds their number: a prefix
//! without statistics takes the prior of its host.

use crate::rate::RateDistribution;

/// Weight of the prior above, in pages.
pub const PULL_PAGES: f64 = 4.0;
/// Bounds of the shape of a learned prior, in changes.
pub const SHAPES: (f64, f64) = (0.8, 4.0);
/// Times that a visit counts, compared with an average over all time.
const STEP: f64 = 3.0;
/// Longest memory, in page-seconds for each page: two years.
const MEMORY_SECONDS: f64 = 63_115_200.0;

/// Statistics of the pages of a host and path prefix: 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PriorStats {
    /// Number of pages visited more than once.
    n_pages: f32,
    /// Time of these pages between visits, in page-seconds.
    time: f32,
    /// Averages of `ln Δ` and of its square.
    log_mean: f64,
    log_square: f64,
}

impl PriorStats {
    /// Length of the encoded form, in bytes.
    pub const LEN: usize = 24;

    /// Returns the number of pages that were visited more than once.
    pub fn n_pages(&self) -> f64 {
        self.n_pages.into()
    }

    /// Adds a visit of a page, `elapsed` seconds after the last one. `rate` is the distribution of its
    /// rate after the visit; `is_second` means that the page was not counted before.
    pub fn add_visit(&mut self, rate: &RateDistribution, elapsed: f64, is_second: bool) {
        if !(elapsed > 0.0 && elapsed.is_finite()) {
            return;
        }
        if is_second || self.n_pages < 1.0 {
            self.n_pages += 1.0;
        }
        let time_max = MEMORY_SECONDS * self.n_pages();
        self.time = (f64::from(self.time) + elapsed).min(time_max) as f32;
        let step = (STEP * elapsed / f64::from(self.time)).min(0.5);
        // The first visit sets the averages.
        let step = if f64::from(self.time) <= elapsed { 1.0 } else { step };
        let mean = rate.log_mean();
        let square = mean * mean + rate.log_variance();
        let toward = |old: f64, new: f64| old + step * (new - old);
        self.log_mean = toward(self.log_mean, mean);
        self.log_square = toward(self.log_square, square);
    }

    /// Returns the time of the pages between visits, in page-seconds.
    pub(crate) fn time(&self) -> f64 {
        self.time.into()
    }

    /// Returns the prior for pages of the prefix, where `above` is the prior of what contains it.
    pub fn prior(&self, above: &RateDistribution) -> RateDistribution {
        let share = self.n_pages() / (self.n_pages() + PULL_PAGES);
        let mix = |own: f64, above: f64| share * own + (1.0 - share) * above;
        let above_mean = above.log_mean();
        let mean = mix(self.log_mean, above_mean);
        let square = mix(self.log_square, above_mean * above_mean + above.log_variance());
        RateDistribution::from_log_moments(mean, (square - mean * mean).max(0.0), SHAPES)
    }

    /// Encodes the statistics.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.n_pages.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.time.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.log_mean.to_be_bytes());
        bytes[16..].copy_from_slice(&self.log_square.to_be_bytes());
        bytes
    }

    /// Decodes the output of [`Self::to_bytes`]. Other bytes yield finite statistics of no meaning.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let [.., head, mean, square] = bytes.as_chunks::<8>().0 else {
            return Self::default();
        };
        let [n_pages, time] =
            [[head[0], head[1], head[2], head[3]], [head[4], head[5], head[6], head[7]]]
                .map(f32::from_be_bytes)
                .map(|value| if value.is_finite() { value.max(0.0) } else { 0.0 });
        let [log_mean, log_square] = [mean, square]
            .map(|bytes| f64::from_be_bytes(*bytes))
            .map(|value| if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 });
        Self { n_pages, time, log_mean, log_square }
    }
}
