//! Score of a host, its class by the score, and its place among the hosts that wait for a visit.

use crivello_common::closed_set;
use crivello_common::time::Timestamp;

/// The next fetch has one part of so many of the weight.
const WEIGHT_PARTS: i32 = 16;

/// Share of the fetches of a host that brought an archived page with content that no other page had, from 0
/// to `u16::MAX`. Only the first fetch of each URL counts; the most recent one has a sixteenth of the
/// weight. Redirects do not count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostScore(pub u16);

impl Default for HostScore {
    /// The score of a host about which nothing is known: seven eighths.
    fn default() -> Self {
        Self(7 << 13)
    }
}

impl HostScore {
    /// Counts a fetch.
    #[must_use]
    pub fn after(self, useful: bool) -> Self {
        let (old, target) = (i32::from(self.0), if useful { i32::from(u16::MAX) } else { 0 });
        let new = old + (target - old) / WEIGHT_PARTS;
        Self(u16::try_from(new).unwrap_or(u16::MAX))
    }

    /// Returns the mean of it and of the rank of the host, which is 0 if it is unknown.
    #[must_use]
    pub fn with_rank(self, rank: u8) -> Self {
        /// Score of one step of the rank: 255 of them are the best score.
        const STEP: u16 = u16::MAX / u8::MAX as u16;
        Self(self.0.midpoint(u16::from(rank) * STEP))
    }

    /// Returns the class: one for each quarter of the scores.
    pub const fn class(self) -> HostClass {
        match self.0 >> 14 {
            3 => HostClass::First,
            2 => HostClass::Second,
            1 => HostClass::Third,
            _ => HostClass::Last,
        }
    }
}

closed_set! {
    /// Class of a host by its [`HostScore`]. Each class has a share of the turns if more hosts wait than can be
    /// visited.
    pub enum HostClass {
        /// At least three quarters of its fetches were useful, or nothing is known.
        First = 0 => "first",
        /// At least half of them.
        Second = 1 => "second",
        /// At least a quarter of them.
        Third = 2 => "third",
        /// Fewer.
        Last = 3 => "last",
    }
}

/// Place in `schedule` of a host that waits for a visit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SchedulePlace {
    /// Class, as of the time at which the host began to wait.
    pub class: HostClass,
    /// Time at which the host may be visited.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_falls_and_rises_by_what_its_last_fetches_brought() {
        let after =
            |score: HostScore, useful, n: usize| (0..n).fold(score, |score, _| score.after(useful));
        let unknown = HostScore::default();
        assert_eq!(unknown.class(), HostClass::First);
        assert_eq!(after(unknown, true, 50).class(), HostClass::First);
        let classes = [2, 3, 9, 20].map(|n| after(unknown, false, n).class());
        assert_eq!(classes, HostClass::ALL);
        let ranked = [255, 160, 159, 32, 31, 0].map(|rank| unknown.with_rank(rank).class() as u8);
        assert_eq!(ranked, [0, 0, 1, 1, 2, 2]);
        let lost = after(unknown, false, 1_000);
        assert!(lost.0 < 16, "{lost:?}");
        assert_eq!(after(lost, true, 30).class(), HostClass::First);
        assert!(after(lost, true, 1_000).0 > u16::MAX - 16);
    }
}
