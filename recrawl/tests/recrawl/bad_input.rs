//! Any bytes and any numbers: nothing panics, hangs, or is due at no time.

use crivello_recrawl::backoff::{FailurePolicy, NextTry};
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::demand::{DemandReport, DemandSums, REPORT_POINTS};
use crivello_recrawl::evidence::{ChangeSeen, FirstHints};
use crivello_recrawl::fixed::fixed_interval;
use crivello_recrawl::objective::Objective;
use crivello_recrawl::page::{PageHistory, VisitContext};
use crivello_recrawl::prior::PriorStats;
use crivello_recrawl::rate::RateDistribution;
use crivello_recrawl::signals::SignalModel;
use crivello_recrawl::threshold::ThresholdPolicy;
use proptest::prelude::*;

/// Any number: also infinite, not a number, subnormal.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -1e9..1e9]
}

fn policy() -> impl Strategy<Value = ThresholdPolicy> {
    (any::<bool>(), number(), number()).prop_map(|(harmonic, least, most)| {
        let objective = if harmonic { Objective::Harmonic } else { Objective::Freshness };
        ThresholdPolicy::new(objective, least, most)
    })
}

fn context() -> impl Strategy<Value = VisitContext> {
    (number(), number(), number(), number(), number()).prop_map(|(a, b, recall, rate, weight)| {
        let prior = RateDistribution::new(a, b);
        VisitContext { prior, signals: SignalModel::new(recall, rate), weight }
    })
}

proptest! {
    #[test]
    fn any_bytes_are_a_page_that_is_due_at_some_time(
        bytes in any::<[u8; PageHistory::LEN]>(),
        policy in policy(),
        context in context(),
        threshold in number(),
        now in number(),
        age in prop::option::of(number()),
        is_gone: bool,
    ) {
        let mut page = PageHistory::from_bytes(&bytes);
        prop_assert_eq!(PageHistory::from_bytes(&page.to_bytes()), page);
        prop_assert!(page.due(&policy, threshold, &context.signals).is_finite());
        page.record_visit(now, ChangeSeen::Changed { age }, &context);
        page.record_signal();
        prop_assert!(page.due(&policy, threshold, &context.signals).is_finite());
        page.record_failure(now, is_gone);
        let failures = FailurePolicy::new(threshold, now, 3.0);
        if let NextTry::At(at) = failures.next_try(now, &page, is_gone) {
            prop_assert!(at.is_finite());
        }
        let mut sums = DemandSums::default();
        sums.add(&policy, &page);
        prop_assert!(sums.rates().iter().all(|rate| rate.is_finite() && *rate >= 0.0));
        let hints = FirstHints { age, lifetime: Some(now) };
        let first = PageHistory::first(now, &hints, &context);
        prop_assert!(first.due(&policy, threshold, &context.signals).is_finite());
        let again = PageHistory::from_bytes(&first.to_bytes());
        prop_assert_eq!(again.to_bytes(), first.to_bytes());
    }

    #[test]
    fn any_reports_yield_a_threshold_within_the_grid_or_none(
        reports in prop::collection::vec((any::<u16>(), any::<[f32; REPORT_POINTS]>()), 1..5),
        budget in number(),
    ) {
        let mut controller = ThresholdController::new(budget);
        controller.set_members(0..reports.len() as u64);
        for (i, (first, rates)) in reports.into_iter().enumerate() {
            let report = DemandReport { epoch: 1, sequence: 1, n_pages: 1, first, rates };
            controller.on_report(i as u64, &report);
        }
        if let Some(threshold) = controller.threshold() {
            prop_assert!(threshold.is_finite() && threshold > 0.0);
        }
    }

    #[test]
    fn any_interval_is_moved_into_bounds(interval in number(), jitter in number(), hash: u64) {
        let interval = fixed_interval(interval, jitter, hash);
        prop_assert!((1.0..=3_155_760_000.0).contains(&interval));
    }

    #[test]
    fn any_bytes_are_a_prior(
        bytes in any::<[u8; PriorStats::LEN]>(),
        rate in (number(), number()),
        elapsed in number(),
    ) {
        let mut stats = PriorStats::from_bytes(&bytes);
        stats.add_visit(&RateDistribution::new(rate.0, rate.1), elapsed, true);
        let prior = stats.prior(&RateDistribution::UNKNOWN);
        prop_assert!(prior.mean().is_finite() && prior.mean() > 0.0);
    }
}
