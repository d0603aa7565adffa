//! An agent's own turn on one address, as it sees it.

use crate::limits::{IP_LEASE_GRANT_AHEAD, IP_LEASE_TERM};
use crate::messages::VisitDeadline;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// A borrower stops so long before its turn ends.
const MARGIN: Duration = Duration::from_millis(100);
/// No visit begins in the last part of a turn.
const VISIT_MIN: Duration = Duration::from_secs(4);
/// A turn that others wait for may be used for so long, where there is no other delay,
const QUANTUM: Duration = Duration::from_millis(250);
/// and may wait so long for its first use.
const FIRST_USE: Duration = Duration::from_secs(2);

/// See the module. All times are of the agent's own clock.
#[derive(Debug)]
pub(super) struct IpLease {
    /// The first ask since nothing was asked for: answers to earlier ones are void. Zero: none.
    first: Timestamp,
    /// The last ask.
    asked: Timestamp,
    /// The ask that was answered last; zero while there is no turn.
    lent: Timestamp,
    /// The address has rested by then.
    rested: Timestamp,
    /// When the first visit in this turn could begin, and whether one has.
    since: Timestamp,
    used: bool,
    wanted: bool,
    deadline: VisitDeadline,
}

impl Default for IpLease {
    /// No turn, and none asked for.
    fn default() -> Self {
        Self {
            first: Timestamp::ZERO,
            asked: Timestamp::ZERO,
            lent: Timestamp::ZERO,
            rested: Timestamp::ZERO,
            since: Timestamp::ZERO,
            used: false,
            wanted: false,
            deadline: VisitDeadline::until(Timestamp::ZERO),
        }
    }
}

impl IpLease {
    /// Whether there is a turn, maybe one that has ended.
    pub fn is_held(&self) -> bool {
        self.lent > Timestamp::ZERO
    }

    /// Whether an answer is awaited.
    pub fn is_asking(&self) -> bool {
        self.asked > self.lent
    }

    /// When it was last asked for, while that is not answered.
    pub fn asked(&self) -> Option<Timestamp> {
        self.is_asking().then_some(self.asked)
    }

    /// Whether `asked` was the last ask, and is not answered.
    pub fn awaits(&self, asked: Timestamp) -> bool {
        self.asked == asked && self.is_asking()
    }

    /// The ask that brought the turn.
    pub const fn lent(&self) -> Timestamp {
        self.lent
    }

    /// Whether a visit may begin at `at`.
    pub fn serves(&self, at: Timestamp) -> bool {
        self.is_held() && at >= self.rested && at + VISIT_MIN <= self.end()
    }

    /// No visit begins before.
    pub const fn rested(&self) -> Timestamp {
        self.rested
    }

    /// What a visit that begins now is given.
    pub fn begin(&mut self) -> VisitDeadline {
        self.used = true;
        self.deadline.clone()
    }

    /// `asked` is later than whatever was said of the address before.
    pub fn ask(&mut self, asked: Timestamp) {
        if self.first == Timestamp::ZERO {
            self.first = asked;
        }
        self.asked = asked;
    }

    /// An answer to the ask of then; says whether it counts.
    pub fn lend(&mut self, asked: Timestamp, rest: Duration, now: Timestamp) -> bool {
        if self.first == Timestamp::ZERO
            || !(self.first..=self.asked).contains(&asked)
            || asked <= self.lent
        {
            return false;
        }
        let rest = rest.min(IP_LEASE_GRANT_AHEAD);
        if !self.serves(now) {
            (self.since, self.used) = (now + rest, false);
        }
        self.rested = self.rested.max(now + rest);
        self.lent = asked;
        self.wanted = false;
        self.deadline.extend_to(self.end());
        true
    }

    /// Others wait for it.
    pub const fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether it should be returned, while no visit is out; the next could begin at `due`.
    pub fn should_return(&self, due: Option<Timestamp>, now: Timestamp) -> bool {
        if !self.wanted || !self.is_held() {
            return false;
        }
        let (patience, soon) =
            if self.used { (QUANTUM, now) } else { (FIRST_USE, now + FIRST_USE) };
        let due = due.filter(|&due| due <= soon && self.end() >= due + VISIT_MIN);
        due.is_none() || now >= self.since + patience
    }

    /// Whatever was lent or asked for is void.
    pub fn give_back(&mut self) {
        *self = Self::default();
    }

    /// Another lender may be in charge: what was asked for must be asked again, and the turn is
    /// kept only for the visit that is out. Says when that was asked for.
    pub fn begin_epoch(&mut self, busy: bool) -> Option<Timestamp> {
        if busy && self.is_held() {
            self.asked = self.lent;
            self.wanted = false;
            return Some(self.lent);
        }
        self.give_back();
        None
    }

    fn end(&self) -> Timestamp {
        self.lent + (IP_LEASE_TERM - MARGIN)
    }
}
