//! Recall and false rate of a host's change signals, learned from visits in bounded memory.
//!
//! A visit shows whether the page has changed, not which signals were true. The expected numbers are
//! known under the current model (online EM). For `n` signals in a time `t`, with `α` and `p` as in
//! [`crate::signals`], a page is unchanged with probability `P₀ = exp(−αt)(1 − p)^n`. A page that has
//! changed had on average `np/(1 − P₀)` true signals and `αt/(1 − P₀)` changes without a signal; a page
//! that has not had none. So, over all visits of a host,
//!
//! ```text
//! recall r = Σ true signals / Σ changes      false rate ν = Σ (signals − true signals) / Σ time
//! ```
//! A host whose `lastmod` dates lie gets a high false rate and a small recall: its signals are hardly
//! true more often than a guess, and soon cost nothing. Until a host has been seen, half of the changes
//! are assumed to be signaled, and half of the signals to be true.

use crate::signals::SignalModel;

/// Changes that the first guess counts for.
const GUESS_CHANGES: f64 = 4.0;
/// Largest number of changes and signals remembered.
const COUNT_MAX: f64 = 2_000.0;

/// Statistics of the change signals of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignalStats {
    /// Expected number of true signals.
    true_signals: f64,
    /// Expected number of changes.
    changes: f64,
    signals: f64,
    /// Page-seconds.
    time: f64,
}

impl SignalStats {
    /// Length of the encoded form, in bytes.
    pub const LEN: usize = 16;

    /// Encodes the statistics.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let sums = [self.true_signals, self.changes, self.signals, self.time];
        for (to, sum) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
            *to = (sum as f32).to_be_bytes();
        }
        bytes
    }

    /// Decodes the output of [`Self::to_bytes`]. Other bytes yield finite statistics of no meaning.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let read = |at: usize| {
            let value = f32::from_be_bytes(bytes.as_chunks::<4>().0[at]);
            if value.is_finite() { f64::from(value.max(0.0)) } else { 0.0 }
        };
        Self { true_signals: read(0), changes: read(1), signals: read(2), time: read(3) }
    }

    /// Returns the model of the host's signals. `change_rate` is the mean change rate of its pages per
    /// second, for the first guess.
    pub fn model(&self, change_rate: f64) -> SignalModel {
        if self.signals <= 0.0 {
            return SignalModel::NONE;
        }
        let change_rate = if change_rate.is_finite() { change_rate.max(1e-12) } else { 1e-6 };
        let guess_time = GUESS_CHANGES / change_rate;
        let recall = (self.true_signals + GUESS_CHANGES / 2.0) / (self.changes + GUESS_CHANGES);
        let false_signals = self.signals - self.true_signals + GUESS_CHANGES / 2.0;
        SignalModel::new(recall, false_signals / (self.time + guess_time))
    }

    /// Adds a visit of a page, `elapsed` seconds after the last one, before which `n_signals` signals
    /// came. `change_rate` is the estimated rate of the page per second, and `model` the model so far.
    pub fn add_visit(
        &mut self,
        model: &SignalModel,
        change_rate: f64,
        elapsed: f64,
        n_signals: u32,
        is_changed: bool,
    ) {
        if !(elapsed > 0.0 && elapsed.is_finite() && change_rate.is_finite()) {
            return;
        }
        let signals = f64::from(n_signals);
        let (true_signals, changes) = if is_changed {
            expected(model, change_rate.max(0.0), elapsed, signals)
        } else {
            (0.0, 0.0)
        };
        self.true_signals += true_signals;
        self.changes += changes;
        self.signals += signals;
        self.time += elapsed;
        if self.changes.max(self.signals) > COUNT_MAX {
            for sum in
                [&mut self.true_signals, &mut self.changes, &mut self.signals, &mut self.time]
            {
                *sum /= 2.0;
            }
        }
    }
}

/// Returns the expected numbers of true signals and of changes of a page that has changed.
fn expected(model: &SignalModel, change_rate: f64, elapsed: f64, signals: f64) -> (f64, f64) {
    let precision = model.precision(change_rate);
    let unsignaled = (1.0 - model.recall()) * change_rate * elapsed;
    let changed = -(signals * (-precision).ln_1p() - unsignaled).exp_m1();
    if changed < 1e-12 {
        return (0.0, 1.0);
    }
    let true_signals = signals * precision / changed;
    (true_signals, true_signals + unsignaled / changed)
}
