//! A workbench, driven as by the scheduler: hosts are added, names are resolved, visits are handed
//! out and end with their URLs untried, so that the number of queued URLs stays the same.

use crivello_agent::messages::{
    DueHost, NameRequest, Resolution, Resolved, RobotsAnswer, RobotsOutcome, ToWorkbench, Verdict,
    Visit, VisitTask,
};
use crivello_agent::workbench::Workbench;
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::VisitSignal;
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Duration of a request at a site.
pub const SERVED: Duration = Duration::from_millis(10);
/// Longer than any bench: no name is resolved twice.
const KNOWN: Duration = Duration::from_secs(1_000_000);

/// A workbench with the bookkeeping of its visits.
pub struct WorkbenchDriver {
    /// The workbench.
    pub bench: Workbench,
    /// Current time. It advances only when it is set.
    pub now: Timestamp,
    flying: VecDeque<Visit>,
    in_flight: usize,
    n_addresses: u32,
    distance: Duration,
    /// First due time of the host that was added last.
    last: Timestamp,
}

/// The name of a host by its number.
pub fn name(n: u32) -> String {
    format!("www{n}.site{}.example", n / 3)
}

impl WorkbenchDriver {
    /// Returns an empty workbench for hosts at `n_addresses` addresses, with `in_flight` visits in
    /// flight. Consecutive hosts fall due `distance` apart, as in a crawl.
    pub fn new(
        settings: &Settings,
        n_addresses: u32,
        in_flight: usize,
        distance: Duration,
    ) -> Self {
        let now = Timestamp::from_secs(1_700_000_000);
        let bench = Workbench::new(settings, KeyedHasher::with_public_key(), now, false);
        Self { bench, now, flying: VecDeque::new(), in_flight, n_addresses, distance, last: now }
    }

    /// Adds a host.
    pub fn add_host(&mut self, mut due: Box<DueHost>) {
        self.last = self.last.max(self.now) + self.distance;
        due.state.next = self.last;
        self.bench.on_frontier(ToWorkbench::Due(due), self.now);
        self.resolve();
    }

    /// Resolves the names that the workbench asks for, some seconds before it needs them.
    pub fn resolve(&mut self) {
        for NameRequest { host, name, .. } in self.bench.take_to_resolve() {
            let n = name[3..].split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0_u32);
            let address = IpAddr::V4(Ipv4Addr::from_bits(0x0b00_0000 + n % self.n_addresses));
            let answer = Ok(Resolved { address, until: self.now + KNOWN });
            self.bench.resolved(&Resolution { host, answer }, self.now);
        }
    }

    /// Hands out one visit, and ends the oldest one in flight.
    pub fn turn(&mut self) {
        self.now = self.now + Duration::from_micros(10);
        loop {
            self.resolve();
            if let Some(visit) = self.bench.acquire(self.now) {
                self.flying.push_back(visit);
                break;
            }
            // Where few hosts are known, all of them may be out.
            let Some(next) = self.bench.next_time() else { break };
            self.now = self.now.max(next);
        }
        if self.flying.len() > self.in_flight
            && let Some(visit) = self.flying.pop_front()
        {
            self.give_back(visit);
        }
    }

    /// Ends a visit: no URL was tried, or there is no robots.txt.
    pub fn give_back(&mut self, visit: Visit) {
        let (returned, robots) = match visit.task {
            VisitTask::Pages { urls, .. } => (urls, None),
            VisitTask::Robots(request) => {
                let found = RobotsOutcome::Missing;
                (Vec::new(), Some(RobotsAnswer { request, found, verified: false }))
            }
        };
        let verdict = Verdict {
            host: visit.host,
            address: visit.address,
            requests: 1,
            ended: self.now,
            served: SERVED,
            signal: VisitSignal::Healthy,
            returned,
            pages: u32::from(robots.is_none()),
            answered: robots.is_none(),
            robots,
            certified: false,
        };
        self.bench.release(verdict, self.now);
    }
}
