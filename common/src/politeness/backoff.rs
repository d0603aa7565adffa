//! The wait after a response that asks to slow down (429, 503; RFC 9110 section 10.2.3).

use crate::config::Politeness;
use crate::random::SplitMix;
use crate::time::micros;
use std::time::Duration;

/// Returns the wait after a 429 or 503: Retry-After if present, exactly; otherwise `backoff_first`
/// doubled `level` times, and up to a quarter more, chosen by `jitter`. Never more than `backoff_max`.
#[must_use]
pub fn slow_down_wait(
    level: u8,
    retry_after: Option<Duration>,
    politeness: &Politeness,
    jitter: u64,
) -> Duration {
    let wait = retry_after.unwrap_or_else(|| {
        let base = doubled(politeness.backoff_first, level.into());
        jittered(base, jitter ^ u64::from(level))
    });
    wait.min(politeness.backoff_max)
}

/// Returns `first` doubled `times` times.
pub(super) fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1_u32 << times.min(31))
}

/// Returns `base` plus up to a quarter of it, chosen by `seed`.
fn jittered(base: Duration, seed: u64) -> Duration {
    let share = SplitMix(seed).next_u64() >> 48;
    let extra = u128::from(micros(base)) * u128::from(share) / (4 << 16);
    base.saturating_add(Duration::from_micros(u64::try_from(extra).unwrap_or(u64::MAX)))
}
