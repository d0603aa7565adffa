//! Timestamps in microseconds since 1970, and the only clock.
//!
//! Pure code receives `now: Timestamp` as an argument. Only [`Clock`] reads a clock: the wall clock
//! once, and then a monotonic clock, so a jump of the wall clock neither speeds up nor stalls a
//! running crawler.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Earliest timestamp.
    pub const ZERO: Self = Self(0);
    /// Latest timestamp.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Returns this point in time on a clock that is `micros` ahead. [`Self::ZERO`] and
    /// [`Self::MAX`] are unchanged.
    #[must_use]
    pub const fn on_clock_ahead(self, micros: i64) -> Self {
        match self {
            Self::ZERO | Self::MAX => self,
            Self(at) => Self(at.saturating_add_signed(micros)),
        }
    }

    /// Parses fourteen digits, `20261120120000`: the date and time in UTC, as indexes of archives have it.
    #[must_use]
    pub fn from_digits(text: &str) -> Option<Self> {
        let is_date = text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit());
        let (date, time) = is_date.then(|| text.split_at(8))?;
        let parsed: jiff::civil::DateTime = format!("{date}T{time}").parse().ok()?;
        let at = parsed.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        u64::try_from(at.as_microsecond()).ok().map(Self)
    }

    /// Returns whole seconds since 1970.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Creates a timestamp from whole seconds since 1970.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }
}

/// Returns whole milliseconds, at most `u64::MAX`.
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns whole microseconds, at most `u64::MAX`.
#[must_use]
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(micros(d)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(micros(d)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Formats as RFC 3339 in UTC with microseconds, as WARC/1.1 allows.
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
    /// Monotonic clock at that moment.
    origin: Duration,
}

impl Clock {
    /// Reads the wall clock. Afterwards only the monotonic clock is read.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "only this module reads the clocks")]
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: Timestamp::ZERO + wall, origin: monotonic() }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.wall + monotonic().saturating_sub(self.origin)
    }

    /// Returns the [`Instant`] that corresponds to `at`, for timers; the current one if `at` is in
    /// the past.
    #[expect(clippy::disallowed_methods, reason = "only this module reads the clocks")]
    pub fn instant(&self, at: Timestamp) -> Instant {
        let now = Instant::now();
        now.checked_add(at.since(self.now())).unwrap_or(now)
    }
}

/// Returns the monotonic clock, which also advances while the machine is suspended, as politeness
/// delays do.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn monotonic() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Returns the monotonic clock.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::disallowed_methods, reason = "only this module reads the clocks")]
fn monotonic() -> Duration {
    static ORIGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    ORIGIN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_and_timers_agree_with_it() {
        let clock = Clock::start();
        let (before, hour) = (clock.now(), Duration::from_secs(3_600));
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now() >= before + Duration::from_millis(5));
        let (past, future) = (clock.instant(Timestamp::ZERO), clock.instant(before + hour));
        assert!(future > past && future <= past + hour);
    }
}
