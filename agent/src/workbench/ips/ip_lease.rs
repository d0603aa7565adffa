//! IP lease: this agent's lease on one address, as the agent sees it.

use crate::limits::{IP_LEASE_GRANT_AHEAD, IP_LEASE_LONG_TERM, IP_LEASE_TERM};
use crate::messages::VisitDeadline;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// A lease is not used in this last part of its term.
const MARGIN: Duration = Duration::from_millis(100);
/// No visit begins later than this before the end of a lease.
const VISIT_MIN: Duration = Duration::from_secs(4);
/// Time for which a lease that other agents wait for may be used, if there is no other delay.
const QUANTUM: Duration = Duration::from_millis(250);
/// Time for which a lease that other agents wait for may wait for its first visit.
const FIRST_USE: Duration = Duration::from_secs(2);

/// A lease on one address. All times are of this agent's clock.
#[derive(Debug)]
pub struct IpLease {
    /// Time of the first request since the lease was last given back: grants of earlier requests
    /// are void. Zero if there is none.
    first: Timestamp,
    /// Time of the last request.
    requested_at: Timestamp,
    /// Time of the request that was granted last; zero while no lease is held.
    granted: Timestamp,
    /// Length of the lease, counted from that request.
    term: Duration,
    /// Time by which the address has rested.
    rested: Timestamp,
    /// Time at which the first visit of this lease could begin; `used` is true once one has begun.
    since: Timestamp,
    used: bool,
    wanted: bool,
    deadline: VisitDeadline,
}

impl Default for IpLease {
    /// Returns a lease that is neither held nor requested.
    fn default() -> Self {
        Self {
            first: Timestamp::ZERO,
            requested_at: Timestamp::ZERO,
            granted: Timestamp::ZERO,
            term: Duration::ZERO,
            rested: Timestamp::ZERO,
            since: Timestamp::ZERO,
            used: false,
            wanted: false,
            deadline: VisitDeadline::until(Timestamp::ZERO),
        }
    }
}

impl IpLease {
    /// Returns true if the lease was granted, even if it has ended since.
    pub fn is_held(&self) -> bool {
        self.granted > Timestamp::ZERO
    }

    /// Returns true while a request is pending.
    pub fn is_requested(&self) -> bool {
        self.requested_at > self.granted
    }

    /// Returns the time of the last request, while that is pending.
    pub fn requested_at(&self) -> Option<Timestamp> {
        self.is_requested().then_some(self.requested_at)
    }

    /// Returns true if the request of `requested_at` is the last one, and is pending.
    pub fn awaits(&self, requested_at: Timestamp) -> bool {
        self.requested_at == requested_at && self.is_requested()
    }

    /// Returns the time of the request that was granted last.
    pub const fn granted(&self) -> Timestamp {
        self.granted
    }

    /// Returns the time from which on the lease is renewed during visits.
    pub fn renewal(&self) -> Timestamp {
        // A long one with time for another visit before its end.
        let after = if self.term > IP_LEASE_TERM { self.term * 2 / 3 } else { self.term * 2 / 5 };
        self.granted + after
    }

    /// Returns true if a visit may begin at `at`.
    pub fn serves(&self, at: Timestamp) -> bool {
        self.is_held() && at >= self.rested && at + VISIT_MIN <= self.end()
    }

    /// Returns the time before which no visit may begin.
    pub const fn rested(&self) -> Timestamp {
        self.rested
    }

    /// Begins a visit and returns its deadline.
    pub fn begin(&mut self) -> VisitDeadline {
        self.used = true;
        self.deadline.clone()
    }

    /// Records a request. `requested_at` is later than every earlier message about the address.
    pub fn request(&mut self, requested_at: Timestamp) {
        if self.first == Timestamp::ZERO {
            self.first = requested_at;
        }
        self.requested_at = requested_at;
    }

    /// Records the grant of the request of `requested_at`. Returns false if the grant is void.
    pub fn grant(
        &mut self,
        requested_at: Timestamp,
        (rest, term): (Duration, Duration),
        now: Timestamp,
    ) -> bool {
        if self.first == Timestamp::ZERO
            || !(self.first..=self.requested_at).contains(&requested_at)
            || requested_at <= self.granted
        {
            return false;
        }
        let rest = rest.min(IP_LEASE_GRANT_AHEAD);
        if !self.serves(now) {
            (self.since, self.used) = (now + rest, false);
        }
        self.rested = self.rested.max(now + rest);
        // A shorter grant does not end a longer one: a visit that has begun may go on until that ends.
        let earlier = (self.granted + self.term).since(requested_at);
        self.granted = requested_at;
        self.term = term.max(earlier).min(IP_LEASE_LONG_TERM);
        self.wanted = false;
        self.deadline.extend_to(self.end());
        true
    }

    /// Records that other agents wait for the lease.
    pub const fn set_wanted(&mut self) {
        self.wanted = true;
    }

    /// Returns true if the lease should be given back, provided that no visit is in flight; the
    /// next one could begin at `due`.
    pub fn should_return(&self, due: Option<Timestamp>, now: Timestamp) -> bool {
        if !self.wanted || !self.is_held() {
            return false;
        }
        let (patience, soon) =
            if self.used { (QUANTUM, now) } else { (FIRST_USE, now + FIRST_USE) };
        let due = due.filter(|&due| due <= soon && self.end() >= due + VISIT_MIN);
        due.is_none() || now >= self.since + patience
    }

    /// Voids the lease and all requests.
    pub fn give_back(&mut self) {
        *self = Self::default();
    }

    /// Begins an epoch, in which the address may have another lessor: requests must be repeated,
    /// and the lease is kept only for the visit in flight. Returns the time of its request, and its term.
    pub fn begin_epoch(&mut self, busy: bool) -> Option<(Timestamp, Duration)> {
        if busy && self.is_held() {
            self.requested_at = self.granted;
            self.wanted = false;
            return Some((self.granted, self.term));
        }
        self.give_back();
        None
    }

    fn end(&self) -> Timestamp {
        self.granted + self.term.saturating_sub(MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_after_a_shorter_grant_covers_the_visit_of_a_longer_one() {
        let at = |secs: u64| Timestamp::from_secs(1_000 + secs);
        let mut lease = IpLease::default();
        lease.request(at(0));
        assert!(lease.grant(at(0), (Duration::ZERO, IP_LEASE_LONG_TERM), at(0)));
        let visit = lease.begin();
        lease.request(at(40));
        assert!(lease.grant(at(40), (Duration::ZERO, IP_LEASE_TERM), at(40)));
        let (requested_at, term) = lease.begin_epoch(true).expect("a lease with a visit is kept");
        assert!(
            requested_at + term >= visit.end(),
            "the visit goes on for longer than is reported"
        );
    }
}
