//! The stored state of a page for its schedule: 24 bytes.
//!
//! ```text
//! bytes
//! 0–3    last fetch with a page or a 304, in seconds since 1970
//! 4–7    last change that a fetch found; for a gone page, the first fetch that found it gone
//! 8–9    visits after the first, at most 65,535 (then both counts are halved)
//! 10–11  visits that found a change
//! 12–14  evidence: changes, as the upper bytes of an f32
//! 15–17  evidence: seconds, as the upper bytes of an f32
//! 18     shape of the prior: 0.1 · 1.02^k
//! 19–20  time of the prior: 1 s · 1.0006^k
//! 21     weight: 0 for k = 0, else 2^((k − 128)/12); a weight of 1 is exact
//! 22     change signals since the last fetch, at most 255
//! 23     failures in a row since the last fetch, at most 127; the highest bit: one found the page gone
//! ```
//! All integers are big-endian. The prior and the weight are those by which the page was scheduled
//! last. So the interval of a page for any threshold depends on these bytes and on the policy only:
//! the agent computes due times again when the threshold has moved, and adds up the rates of pages in
//! passes (see [`crate::demand`]).

use crate::evidence::{ChangeEvidence, ChangeSeen, FirstHints};
use crate::quantize::{LogScale, from_short_float, to_seconds, to_short_float};
use crate::rate::RateDistribution;
use crate::signals::SignalModel;
use crate::threshold::ThresholdPolicy;

const SHAPE: LogScale = LogScale { unit: 0.1, zero: 0.0, step: 0.02, max: 255.0 };
const TIME: LogScale = LogScale { unit: 1.0, zero: 0.0, step: 0.000_6, max: 65_535.0 };
const WEIGHT: LogScale =
    LogScale { unit: 1.0, zero: 128.0, step: std::f64::consts::LN_2 / 12.0, max: 255.0 };
/// Bit of the last byte that is set if one of the failures found the page gone.
const GONE: u8 = 0x80;

/// The stored state of a page for its schedule. The module documentation has the layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageHistory {
    last_fetch: u32,
    last_change: u32,
    visits: u16,
    changes: u16,
    evidence: ChangeEvidence,
    prior_shape: u8,
    prior_time: u16,
    weight: u8,
    signals: u8,
    failures: u8,
}

/// Input of an estimate after a visit, beside the page itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitContext {
    /// Prior of the page's host and path prefix.
    pub prior: RateDistribution,
    /// Change signals of the page's host.
    pub signals: SignalModel,
    /// Weight `μ` of the page. Values that are not positive mean 0.
    pub weight: f64,
}

impl PageHistory {
    /// Length of the encoded form, in bytes.
    pub const LEN: usize = 24;

    /// Creates the history of a page at its first fetch. `now` is in seconds since 1970.
    #[must_use]
    pub fn first(now: f64, hints: &FirstHints, context: &VisitContext) -> Self {
        let mut page = Self {
            last_fetch: to_seconds(now),
            last_change: to_seconds(now),
            visits: 0,
            changes: 0,
            evidence: stored(ChangeEvidence::from_hints(hints)),
            prior_shape: 0,
            prior_time: 0,
            weight: 0,
            signals: 0,
            failures: 0,
        };
        page.reschedule(context);
        page
    }

    /// Records a visit that yielded the page, or a 304. `now` is in seconds since 1970; if it is before
    /// the last fetch, nothing is learned from the visit.
    pub fn record_visit(&mut self, now: f64, seen: ChangeSeen, context: &VisitContext) {
        let elapsed = self.age(now);
        if self.visits == u16::MAX {
            self.visits /= 2;
            self.changes /= 2;
        }
        self.visits += 1;
        if let ChangeSeen::Changed { .. } = seen {
            self.changes = self.changes.saturating_add(1);
            self.last_change = to_seconds(now);
        }
        let evidence = self.evidence.after_visit(
            &context.prior,
            elapsed,
            seen,
            self.signals.into(),
            &context.signals,
        );
        self.evidence = stored(evidence);
        self.last_fetch = to_seconds(now);
        self.signals = 0;
        self.failures = 0;
        self.reschedule(context);
    }

    /// Takes another prior and weight for the schedule.
    pub fn reschedule(&mut self, context: &VisitContext) {
        self.prior_shape = SHAPE.encode(context.prior.shape()) as u8;
        self.prior_time = TIME.encode(context.prior.time());
        let is_zero = context.weight.is_nan() || context.weight <= 0.0;
        self.weight = if is_zero { 0 } else { WEIGHT.encode(context.weight).max(1) as u8 };
    }

    /// Records a change signal.
    pub fn record_signal(&mut self) {
        self.signals = self.signals.saturating_add(1);
    }

    /// Records a visit that yielded neither a page nor a 304. `is_gone` means 404 or 410. `now` is in
    /// seconds since 1970.
    pub fn record_failure(&mut self, now: f64, is_gone: bool) {
        if is_gone && self.failures & GONE == 0 {
            self.last_change = to_seconds(now);
            self.failures = GONE | 1;
            return;
        }
        let count = (self.failures & !GONE).saturating_add(1).min(!GONE);
        self.failures = self.failures & GONE | count;
    }

    /// Returns the time from the last fetch until `now`, in seconds; zero if `now` is earlier.
    pub fn age(&self, now: f64) -> f64 {
        (now - f64::from(self.last_fetch)).max(0.0)
    }

    /// Returns the time of the last fetch with a page or a 304, in seconds since 1970.
    pub fn last_fetch(&self) -> f64 {
        self.last_fetch.into()
    }

    /// Returns the time of the fetch that found the last change, in seconds since 1970.
    pub fn last_change(&self) -> f64 {
        self.last_change.into()
    }

    /// Returns the number of visits after the first, and the number of those that found a change.
    pub fn visits(&self) -> (u16, u16) {
        (self.visits, self.changes)
    }

    /// Returns the number of change signals since the last fetch.
    pub fn signals(&self) -> u32 {
        self.signals.into()
    }

    /// Returns the number of failures in a row since the last fetch.
    pub fn failures(&self) -> u32 {
        (self.failures & !GONE).into()
    }

    /// Returns the time of the first fetch that found the page gone, in seconds since 1970, if none has
    /// found it since. Errors in between say nothing.
    pub fn gone_since(&self) -> Option<f64> {
        (self.failures & GONE != 0).then(|| self.last_change())
    }

    /// Returns the weight by which the page is scheduled.
    pub fn weight(&self) -> f64 {
        if self.weight == 0 { 0.0 } else { WEIGHT.decode(self.weight.into()) }
    }

    /// Returns the evidence about the page's change rate.
    pub fn evidence(&self) -> ChangeEvidence {
        self.evidence
    }

    /// Returns the distribution of the page's change rate, with the prior by which it is scheduled.
    pub fn rate(&self) -> RateDistribution {
        let prior = RateDistribution::new(
            SHAPE.decode(self.prior_shape.into()),
            TIME.decode(self.prior_time),
        );
        self.evidence.posterior(&prior)
    }

    /// Returns the time at which the page's value passes the threshold, in seconds since 1970. It is
    /// finite. Pages that failed are due by [`crate::backoff`] instead.
    pub fn due(&self, policy: &ThresholdPolicy, threshold: f64, signals: &SignalModel) -> f64 {
        let rate = self.rate();
        let n_signals = self.signals.into();
        let interval =
            policy.interval_with_signals(self.weight(), &rate, threshold, n_signals, signals);
        self.last_fetch() + interval
    }

    /// Encodes the history.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.last_fetch.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.last_change.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.visits.to_be_bytes());
        bytes[10..12].copy_from_slice(&self.changes.to_be_bytes());
        bytes[12..15].copy_from_slice(&to_short_float(self.evidence.changes()));
        bytes[15..18].copy_from_slice(&to_short_float(self.evidence.time()));
        bytes[18] = self.prior_shape;
        bytes[19..21].copy_from_slice(&self.prior_time.to_be_bytes());
        bytes[21..].copy_from_slice(&[self.weight, self.signals, self.failures]);
        bytes
    }

    /// Decodes the output of [`Self::to_bytes`]. Other bytes yield some valid history.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let [f0, f1, f2, f3, c0, c1, c2, c3, v0, v1, n0, n1, rest @ ..] = *bytes;
        let [e0, e1, e2, t0, t1, t2, prior_shape, p0, p1, weight, signals, failures] = rest;
        Self {
            last_fetch: u32::from_be_bytes([f0, f1, f2, f3]),
            last_change: u32::from_be_bytes([c0, c1, c2, c3]),
            visits: u16::from_be_bytes([v0, v1]),
            changes: u16::from_be_bytes([n0, n1]),
            evidence: stored(ChangeEvidence::new(
                from_short_float([e0, e1, e2]),
                from_short_float([t0, t1, t2]),
            )),
            prior_shape,
            prior_time: u16::from_be_bytes([p0, p1]),
            weight,
            signals,
            failures,
        }
    }
}

/// Returns evidence as it is read back from bytes, so that a page in memory equals the stored one.
fn stored(evidence: ChangeEvidence) -> ChangeEvidence {
    let rounded = |value| from_short_float(to_short_float(value));
    ChangeEvidence::new(rounded(evidence.changes()), rounded(evidence.time()))
}
