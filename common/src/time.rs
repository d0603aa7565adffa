//! Points in time as the crawler keeps them: microseconds since 1970, in order, on disk.
//!
//! Pure parts take `now: Timestamp` as an argument. The one place that reads a clock is
//! [`Clock`]: it reads the wall clock once and a steady one from then on, so a clock that jumps
//! while the crawler runs can neither hurry nor stall it.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Before everything.
    pub const ZERO: Self = Self(0);
    /// After everything.
    pub const MAX: Self = Self(u64::MAX);

    /// The time from `earlier` to `self`, or zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// The same point in time by a clock that shows so many microseconds more. [`Self::ZERO`] and
    /// [`Self::MAX`] stay what they are.
    #[must_use]
    pub const fn by_clock_ahead(self, micros: i64) -> Self {
        match self {
            Self::ZERO | Self::MAX => self,
            Self(at) => Self(at.saturating_add_signed(micros)),
        }
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// From whole seconds since 1970.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(d.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(d.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// RFC 3339 in UTC with microseconds, as WARC/1.1 allows.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_microsecond(micros) {
            Ok(t) => write!(f, "{t:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

/// The crawler's only clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    /// What the steady clock said then.
    origin: Duration,
}

impl Clock {
    /// Reads the wall clock; from now on only the steady clock counts.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: Timestamp::ZERO + wall, origin: steady() }
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall + steady().saturating_sub(self.origin)
    }

    /// The monotonic instant that corresponds to `at`, for timers; now, when `at` is past.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
    pub fn instant(&self, at: Timestamp) -> Instant {
        let now = Instant::now();
        now.checked_add(at.since(self.now())).unwrap_or(now)
    }
}

/// A clock that nobody sets and that goes on while the machine sleeps: hosts rest meanwhile.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn steady() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// A clock that nobody sets.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
fn steady() -> Duration {
    static ORIGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    ORIGIN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_on_and_timers_agree_with_it() {
        let clock = Clock::start();
        let (before, hour) = (clock.now(), Duration::from_secs(3_600));
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now() >= before + Duration::from_millis(5));
        let (past, future) = (clock.instant(Timestamp::ZERO), clock.instant(before + hour));
        assert!(future > past && future <= past + hour);
    }
}
