//! Statistics of the pages of a host: the reliability of its signals, a prior of all of its pages, and
//! one of each of its busiest path prefixes.
//!
//! `/news/` and `/archive/` of one host change at different rates. A prefix is drawn to its host, and a
//! host to the crawl ([`crate::prior`]). The number of prefixes is bounded; the one with the least
//! observed time makes room for another.

use crate::prior::PriorStats;
use crate::rate::RateDistribution;
use crate::signal_stats::SignalStats;
use crate::signals::SignalModel;

/// Maximum number of prefixes of a host.
pub const PREFIXES_MAX: usize = 8;

/// A path prefix: a hash of it. Two prefixes of a host with the same hash share their statistics.
pub type PathPrefix = u16;

/// A visit of a page, for the statistics of its host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedVisit {
    /// Prefix of the page.
    pub prefix: PathPrefix,
    /// Seconds since the last visit.
    pub elapsed: f64,
    /// Distribution of the page's change rate before and after the visit.
    pub rates: (RateDistribution, RateDistribution),
    /// Change signals since the last visit.
    pub n_signals: u32,
    /// True if the page has changed.
    pub is_changed: bool,
    /// True for the first visit after the first fetch: the page was not counted before.
    pub is_second: bool,
}

/// Statistics of the pages of a host: at most 256 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostEvidence {
    /// Number of visits that it was learned from. It never decreases.
    visits: u64,
    host: PriorStats,
    signals: SignalStats,
    /// Sorted by prefix.
    prefixes: Vec<(PathPrefix, PriorStats)>,
}

impl HostEvidence {
    /// Adds a visit of a page, whose rate was estimated with this model of signals.
    pub fn add_visit(&mut self, visit: &ObservedVisit, model: &SignalModel) {
        let ObservedVisit { prefix, elapsed, rates, n_signals, is_changed, is_second } = *visit;
        let (before, rate) = (rates.0.mean(), &rates.1);
        self.visits = self.visits.saturating_add(1);
        self.signals.add_visit(model, before, elapsed, n_signals, is_changed);
        self.host.add_visit(rate, elapsed, is_second);
        let place = self.prefixes.binary_search_by_key(&prefix, |(prefix, _)| *prefix);
        let at = place.unwrap_or_else(|at| {
            self.prefixes.insert(at, (prefix, PriorStats::default()));
            at
        });
        self.prefixes[at].1.add_visit(rate, elapsed, is_second);
        if self.prefixes.len() > PREFIXES_MAX {
            let others = self.prefixes.iter().enumerate().filter(|(i, _)| *i != at);
            let least = others.min_by(|a, b| a.1.1.time().total_cmp(&b.1.1.time())).map(|(i, _)| i);
            least.map(|i| self.prefixes.remove(i));
        }
    }

    /// Returns the prior for pages with this prefix, where `crawl` is the prior of all pages.
    pub fn prior(&self, prefix: PathPrefix, crawl: &RateDistribution) -> RateDistribution {
        let host = self.host.prior(crawl);
        match self.prefixes.binary_search_by_key(&prefix, |(prefix, _)| *prefix) {
            Ok(at) => self.prefixes[at].1.prior(&host),
            Err(_) => host,
        }
    }

    /// Returns the model of the host's change signals, where `crawl` is the prior of all pages.
    pub fn signals(&self, crawl: &RateDistribution) -> SignalModel {
        self.signals.model(self.host.prior(crawl).mean())
    }

    /// Takes `other` if it was learned from more visits. The result does not depend on the order of
    /// joins: one agent after another visits a host, and each goes on from what it has received.
    pub fn join(&mut self, other: &Self) {
        let order = |evidence: &Self| (evidence.visits, evidence.to_bytes());
        if other.visits >= self.visits && order(other) > order(self) {
            self.clone_from(other);
        }
    }

    /// Returns the length of the encoded form, in bytes.
    pub fn size(&self) -> usize {
        size_of::<u64>()
            + PriorStats::LEN
            + SignalStats::LEN
            + self.prefixes.len() * (2 + PriorStats::LEN)
    }

    /// Encodes the evidence.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
        bytes.extend(self.visits.to_be_bytes());
        bytes.extend(self.host.to_bytes());
        bytes.extend(self.signals.to_bytes());
        for (prefix, stats) in &self.prefixes {
            bytes.extend(prefix.to_be_bytes());
            bytes.extend(stats.to_bytes());
        }
        bytes
    }

    /// Decodes the output of [`Self::to_bytes`]; `None` if it is malformed.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (visits, rest) = bytes.split_first_chunk::<{ size_of::<u64>() }>()?;
        let visits = u64::from_be_bytes(*visits);
        let (host, rest) = rest.split_first_chunk::<{ PriorStats::LEN }>()?;
        let (signals, rest) = rest.split_first_chunk::<{ SignalStats::LEN }>()?;
        let (entries, []) = rest.as_chunks::<{ PriorStats::LEN + 2 }>() else { return None };
        let read = |entry: &[u8; PriorStats::LEN + 2]| {
            let (prefix, stats) = entry.split_first_chunk::<2>()?;
            let stats = PriorStats::from_bytes(stats.try_into().ok()?);
            Some((PathPrefix::from_be_bytes(*prefix), stats))
        };
        let prefixes: Vec<_> = entries.iter().map(read).collect::<Option<_>>()?;
        let is_sorted = prefixes.is_sorted_by(|(a, _), (b, _)| a < b);
        let (host, signals) = (PriorStats::from_bytes(host), SignalStats::from_bytes(signals));
        let fits = is_sorted && prefixes.len() <= PREFIXES_MAX;
        fits.then_some(Self { visits, host, signals, prefixes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visit(prefix: PathPrefix, rate: RateDistribution, elapsed: f64) -> ObservedVisit {
        let (n_signals, is_changed, is_second) = (0, true, true);
        ObservedVisit { prefix, elapsed, rates: (rate, rate), n_signals, is_changed, is_second }
    }

    fn add(to: &mut HostEvidence, prefix: PathPrefix, n: u32, interval: f64) {
        let rate = RateDistribution::new(4.0, 4.0 * interval);
        for k in 0..n {
            let visit = ObservedVisit { is_second: k < 5, ..visit(prefix, rate, interval) };
            to.add_visit(&visit, &SignalModel::NONE);
        }
    }

    #[test]
    fn prefixes_of_a_host_have_their_own_priors() {
        let mut evidence = HostEvidence::default();
        add(&mut evidence, 1, 100, 3_600.0);
        add(&mut evidence, 2, 100, 1e7);
        let mean = |prefix| evidence.prior(prefix, &RateDistribution::UNKNOWN).mean();
        assert!(mean(1) > 100.0 * mean(2), "{} {}", mean(1), mean(2));
        let host = mean(3);
        assert!(mean(2) < host && host < mean(1), "{host}");
    }

    #[test]
    fn the_busiest_prefixes_are_kept() {
        let mut evidence = HostEvidence::default();
        add(&mut evidence, 7, 100, 3_600.0);
        (100..200).for_each(|prefix| add(&mut evidence, prefix, 1, 60.0));
        assert_eq!(evidence.prefixes.len(), PREFIXES_MAX);
        assert!(evidence.prefixes.iter().any(|(prefix, _)| *prefix == 7));
    }

    #[test]
    fn signals_that_report_changes_are_believed_and_others_are_not() {
        let crawl = RateDistribution::UNKNOWN;
        let recall = |reports: bool| {
            let mut evidence = HostEvidence::default();
            for k in 0..200_u32 {
                let is_changed = k % 4 == 0;
                let n_signals = u32::from(if reports { is_changed } else { k % 4 == 2 });
                let model = evidence.signals(&crawl);
                let rate = RateDistribution::new(4.0, 4.0 * 864_000.0);
                let visit = visit(1, rate, 216_000.0);
                evidence.add_visit(&ObservedVisit { n_signals, is_changed, ..visit }, &model);
            }
            evidence.signals(&crawl).recall()
        };
        assert!(recall(true) > 0.7 && recall(false) < 0.3, "{} {}", recall(true), recall(false));
    }

    fn any_evidence() -> impl Strategy<Value = HostEvidence> {
        let visits = (0u16..12, 1.0_f64..1e6, 1.0_f64..1e8, 0u32..3, any::<bool>());
        prop::collection::vec(visits, 0..40).prop_map(|visits| {
            let mut evidence = HostEvidence::default();
            for (prefix, elapsed, time, n_signals, is_changed) in visits {
                let visit = visit(prefix, RateDistribution::new(2.0, time), elapsed);
                let model = evidence.signals(&RateDistribution::UNKNOWN);
                evidence.add_visit(&ObservedVisit { n_signals, is_changed, ..visit }, &model);
            }
            evidence
        })
    }

    proptest! {
        #[test]
        fn evidence_survives_encoding(evidence in any_evidence()) {
            let bytes = evidence.to_bytes();
            prop_assert_eq!(bytes.len(), evidence.size());
            let read = HostEvidence::from_bytes(&bytes).unwrap();
            prop_assert_eq!(read.to_bytes(), bytes);
            prop_assert_eq!(&read.prefixes, &evidence.prefixes);
        }

        #[test]
        fn other_bytes_are_refused_or_valid(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(evidence) = HostEvidence::from_bytes(&bytes) {
                let prior = evidence.prior(5, &RateDistribution::UNKNOWN);
                prop_assert!(prior.mean().is_finite() && prior.mean() > 0.0);
                let model = evidence.signals(&RateDistribution::UNKNOWN);
                prop_assert!(model.recall().is_finite() && model.false_rate().is_finite());
            }
        }

        #[test]
        fn joins_do_not_depend_on_their_order(all in prop::collection::vec(any_evidence(), 1..5)) {
            let joined = |order: &mut dyn Iterator<Item = &HostEvidence>| {
                let mut sum = HostEvidence::default();
                order.for_each(|evidence| sum.join(evidence));
                sum
            };
            let forth = joined(&mut all.iter());
            prop_assert_eq!(&joined(&mut all.iter().rev()), &forth);
            prop_assert_eq!(&joined(&mut all.iter().chain(&all)), &forth);
        }
    }
}
