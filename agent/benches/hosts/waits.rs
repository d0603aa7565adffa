//! Time from when a host may be visited until it is handed out.

use crate::crawldb_driver::CrawlDbDriver;
use crate::workbench_driver::{SERVED, WorkbenchDriver};
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

/// Current time, and the visits in flight.
struct Round<'a> {
    workbench: &'a mut WorkbenchDriver,
    out: VecDeque<(Timestamp, Visit)>,
    /// The part of the next microsecond that has passed.
    passed: Duration,
}

/// Returns the median, the 99th percentile and the maximum wait of `n_visits` visits. It measures them
/// after three delays, when every host has been asked for its robots.txt.
pub fn measured(
    workbench: &mut WorkbenchDriver,
    driver: &mut CrawlDbDriver,
    n_visits: usize,
) -> [Duration; 3] {
    let mut round = Round::new(workbench);
    let until = round.workbench.now + 3 * driver.settings.live.politeness.delay + 10 * SERVED;
    while round.workbench.now < until {
        let visit = round.next();
        round.send(visit);
    }
    driver.apply_messages(round.workbench);
    let mut waits = Vec::with_capacity(n_visits);
    while waits.len() < n_visits {
        let visit = round.next();
        if let Some(visit) = &visit {
            let handed = &visit.handed_out;
            waits.push(handed.at.since(handed.host_next.max(handed.address_next)));
        }
        round.send(visit);
        // In the agent another thread has them.
        drop(round.workbench.bench.take_messages());
    }
    round.land();
    waits.sort_unstable();
    [waits[n_visits / 2], waits[n_visits - n_visits / 100], waits[n_visits - 1]]
}

impl<'a> Round<'a> {
    fn new(workbench: &'a mut WorkbenchDriver) -> Self {
        Self { workbench, out: VecDeque::new(), passed: Duration::ZERO }
    }

    /// The next visit, if one may begin before one that is out comes back. Time goes on as far as
    /// this takes, or to when there is something to do.
    fn next(&mut self) -> Option<Visit> {
        let back = self.out.front().map(|(back, _)| *back);
        let next = [back, self.workbench.bench.next_time()].into_iter().flatten().min();
        self.workbench.now =
            self.workbench.now.max(next.expect("a host is on the workbench or visited"));
        // In the agent other threads do.
        self.workbench.resolve();
        let begun = cpu();
        let mut visit = None;
        if back.is_some_and(|back| back <= self.workbench.now) {
            if let Some((_, visit)) = self.out.pop_front() {
                self.workbench.give_back(visit);
            }
        } else {
            visit = self.workbench.bench.acquire(self.workbench.now);
        }
        self.passed += cpu().saturating_sub(begun);
        let later = self.workbench.now + self.passed;
        self.passed -= later.since(self.workbench.now);
        self.workbench.now = later;
        visit
    }

    fn send(&mut self, visit: Option<Visit>) {
        self.out.extend(visit.map(|visit| (self.workbench.now + SERVED, visit)));
    }

    fn land(&mut self) {
        for (back, visit) in self.out.drain(..) {
            self.workbench.now = self.workbench.now.max(back);
            self.workbench.give_back(visit);
        }
    }
}
