//! The fixed policy: an interval for each page, given by the caller.

/// Bounds of an interval, in seconds: a second and a hundred years.
const INTERVALS: (f64, f64) = (1.0, 3_155_760_000.0);

/// Returns the time from a fetch to the next, in seconds: `interval`, longer or shorter by up to half
/// of `jitter`, a share from 0 to 1. `hash` decides by how much, so that pages that were fetched
/// together are not always due together. It should be uniform, and the same for the same page.
///
/// The result is finite: an interval out of range is moved into it, and NaN becomes the longest.
#[must_use]
pub fn fixed_interval(interval: f64, jitter: f64, hash: u64) -> f64 {
    let interval = if interval.is_nan() { INTERVALS.1 } else { interval };
    let jitter = if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) };
    let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
    let interval = interval.clamp(INTERVALS.0, INTERVALS.1);
    (interval * (1.0 + jitter * (uniform - 0.5))).clamp(INTERVALS.0, INTERVALS.1)
}
