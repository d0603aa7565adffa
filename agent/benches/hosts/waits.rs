//! How long hosts that may be visited wait until they are handed out.

use crate::books::Books;
use crate::desk::{Desk, SERVED};
use crivello_agent::messages::Visit;
use crivello_common::time::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::time::Duration;

/// CPU time of this thread.
pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (secs, nanos) = (time.tv_sec.try_into(), time.tv_nsec.try_into());
    Duration::new(secs.expect("elapsed seconds"), nanos.expect("nanoseconds below one second"))
}

/// Time, and the visits that are out.
struct Round<'a> {
    desk: &'a mut Desk,
    out: VecDeque<(Timestamp, Visit)>,
    /// The part of the next microsecond that has passed.
    passed: Duration,
}

/// The median, that of 99 in a hundred, and the longest wait of so many visits, once every host was
/// asked for its robots.txt: in three delays each has its turn.
pub fn measured(desk: &mut Desk, books: &mut Books, n_visits: usize) -> [Duration; 3] {
    let mut round = Round::new(desk);
    let until = round.desk.now + 3 * books.settings.live.politeness.delay + 10 * SERVED;
    while round.desk.now < until {
        let visit = round.next();
        round.send(visit);
    }
    books.hear(round.desk);
    let mut waits = Vec::with_capacity(n_visits);
    while waits.len() < n_visits {
        let visit = round.next();
        if let Some(visit) = &visit {
            let handed = &visit.handed_out;
            waits.push(handed.at.since(handed.host_next.max(handed.address_next)));
        }
        round.send(visit);
        // In the agent another thread has them.
        drop(round.desk.bench.take_messages());
    }
    round.land();
    waits.sort_unstable();
    [waits[n_visits / 2], waits[n_visits - n_visits / 100], waits[n_visits - 1]]
}

impl<'a> Round<'a> {
    fn new(desk: &'a mut Desk) -> Self {
        Self { desk, out: VecDeque::new(), passed: Duration::ZERO }
    }

    /// The next visit, if one may begin before one that is out comes back. Time goes on as far as
    /// this takes, or to when there is something to do.
    fn next(&mut self) -> Option<Visit> {
        let back = self.out.front().map(|(back, _)| *back);
        let next = [back, self.desk.bench.next_time()].into_iter().flatten().min();
        self.desk.now = self.desk.now.max(next.expect("a host is on the workbench or visited"));
        // In the agent other threads do.
        self.desk.resolve();
        let begun = cpu();
        let mut visit = None;
        if back.is_some_and(|back| back <= self.desk.now) {
            if let Some((_, visit)) = self.out.pop_front() {
                self.desk.give_back(visit);
            }
        } else {
            visit = self.desk.bench.acquire(self.desk.now);
        }
        self.passed += cpu().saturating_sub(begun);
        let later = self.desk.now + self.passed;
        self.passed -= later.since(self.desk.now);
        self.desk.now = later;
        visit
    }

    fn send(&mut self, visit: Option<Visit>) {
        self.out.extend(visit.map(|visit| (self.desk.now + SERVED, visit)));
    }

    fn land(&mut self) {
        for (back, visit) in self.out.drain(..) {
            self.desk.now = self.desk.now.max(back);
            self.desk.give_back(visit);
        }
    }
}
