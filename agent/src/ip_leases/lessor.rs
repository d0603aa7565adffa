//! The IP leases that this agent grants: the borrower, the end, and the agents that wait.

use super::lendable::Lendable;
use super::{
    FORGET_AFTER, LEND_AHEAD, LONG_TERM, LeaseNotice, LeaseReport, LeaseRequest, REMIND, TERM,
};
use crivello_common::assignment::Owners;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use foldhash::HashMap;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The leases of the addresses that this agent lends. All times are of this agent's clock, except
/// `requested_at`.
#[derive(Debug)]
pub struct Lessor {
    ip_delay: Duration,
    lendable: Lendable,
    leases: HashMap<IpAddr, Lease>,
    /// Number of the view in force among those that this agent has entered.
    view: u64,
    /// Time of the first report of each agent in this view.
    reported: HashMap<AgentId, Timestamp>,
    /// The next time at which each lease needs attention.
    wakes: BTreeSet<(Timestamp, IpAddr)>,
    notices: Vec<(AgentId, LeaseNotice)>,
}

/// The lease of one address.
#[derive(Debug, Default)]
struct Lease {
    /// The borrower.
    to: Option<AgentId>,
    /// The request that was granted, by the borrower's clock.
    requested_at: Timestamp,
    /// The end of the lease.
    until: Timestamp,
    /// No agent visits before this time, because of the borrowers before the last one.
    rested: Timestamp,
    /// No other agent visits before this time, because of the last borrower.
    rested_of_last: Timestamp,
    /// The last borrower.
    last: Option<AgentId>,
    /// Number of the view in which the borrower got it, or reported that it uses it.
    view: u64,
    waiting: VecDeque<Waiting>,
    /// Time of the last [`LeaseNotice::Wanted`].
    reminded: Timestamp,
    /// The entry in `wakes`.
    wake: Timestamp,
}

#[derive(Debug)]
struct Waiting {
    by: AgentId,
    requested_at: Timestamp,
    received_at: Timestamp,
}

impl Lessor {
    /// Returns a lessor without leases.
    pub fn new(me: AgentId, hasher: KeyedHasher, ip_delay: Duration) -> Self {
        Self {
            ip_delay,
            lendable: Lendable::new(me, hasher),
            leases: HashMap::default(),
            view: 0,
            reported: HashMap::default(),
            wakes: BTreeSet::new(),
            notices: Vec::new(),
        }
    }

    /// Sets the delay between visits to an address by different agents.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.ip_delay = ip_delay;
    }

    /// Enters the epoch of a later view. Agents that wait must request again.
    pub fn on_view(&mut self, owners: Arc<Owners>) {
        self.lendable.on_view(owners);
        self.view += 1;
        self.reported.clear();
        let lendable = &self.lendable;
        self.leases.retain(|&address, _| lendable.is_mine(address));
        self.wakes.clear();
        for (&address, lease) in &mut self.leases {
            lease.waiting.clear();
            lease.wake = if lease.to.is_some() { lease.until } else { lease.rested_for_all() };
            self.wakes.insert((lease.wake, address));
        }
    }

    /// Records the leases that an agent uses in this epoch.
    pub fn on_report(&mut self, by: AgentId, report: &LeaseReport, now: Timestamp) {
        // A later report of the epoch repeats the leases in use when the epoch began.
        if !self.lendable.on_report(by, report.is_clear, now + self.ip_delay) {
            return;
        }
        self.reported.insert(by, now);
        for held in &report.held {
            if !self.lendable.is_mine(held.address) {
                continue;
            }
            let lease = self.leases.entry(held.address).or_default();
            let until = now + held.remaining.min(LONG_TERM);
            if lease.to.is_some_and(|to| to != by) && lease.until > now {
                tracing::warn!(address = %held.address, "two agents hold the lease of one IP address");
            } else {
                if lease.to != Some(by) {
                    if lease.to.is_some() {
                        lease.end(lease.until + self.ip_delay);
                    }
                    lease.rested = lease.rested_for(by);
                    (lease.to, lease.until) = (Some(by), until);
                }
                lease.requested_at = lease.requested_at.max(held.requested_at);
                lease.view = self.view;
            }
            lease.until = lease.until.max(until);
            self.wake_at(held.address, self.leases[&held.address].until);
        }
    }

    /// Handles a request for a lease or the return of one.
    pub fn on_request(&mut self, from: AgentId, request: LeaseRequest, now: Timestamp) {
        match request {
            LeaseRequest::Acquire { address, requested_at } => {
                self.acquire(from, address, requested_at, now);
            }
            LeaseRequest::Return { address, requested_at, rest } => {
                let Some(lease) = self.leases.get_mut(&address) else { return };
                lease
                    .waiting
                    .retain(|waiting| waiting.by != from || waiting.requested_at > requested_at);
                if lease.to == Some(from) && lease.requested_at <= requested_at {
                    lease.end(now + rest.min(self.ip_delay));
                }
                self.serve(address, now);
            }
        }
    }

    fn acquire(&mut self, from: AgentId, address: IpAddr, requested_at: Timestamp, now: Timestamp) {
        if !self.lendable.is_mine(address) {
            return;
        }
        let lease = self.leases.entry(address).or_default();
        let known = lease.waiting.iter_mut().find(|waiting| waiting.by == from);
        let waiting = Waiting { by: from, requested_at, received_at: now };
        match known {
            Some(known) => *known = waiting,
            // The borrower requests again: it did not get the grant, or still uses the lease.
            None if lease.to == Some(from) => lease.waiting.push_front(waiting),
            None => lease.waiting.push_back(waiting),
        }
        self.serve(address, now);
    }

    /// Handles everything that is due: ends of leases, and addresses that become lendable.
    pub fn tick(&mut self, now: Timestamp) {
        if self.lendable.opens_now(now) {
            let mut addresses: Vec<IpAddr> = self.leases.keys().copied().collect();
            addresses.sort_unstable();
            for address in addresses {
                let lease = self.leases.get_mut(&address);
                // No agent that was declared dead still fetches, and the delay has passed.
                if let Some(lease) = lease
                    && lease.to.is_some_and(|to| !self.lendable.is_alive(to))
                {
                    lease.end(now);
                }
                self.serve(address, now);
            }
        }
        while let Some(&(at, address)) = self.wakes.first()
            && at <= now
        {
            self.wakes.pop_first();
            self.serve(address, now);
        }
    }

    /// Returns the time at which [`Self::tick`] is due.
    pub fn next_time(&self) -> Option<Timestamp> {
        let wake = self.wakes.first().map(|&(at, _)| at);
        wake.into_iter().chain(self.lendable.opening_time()).min()
    }

    /// Number of leases granted to agents other than `me`.
    pub fn lent_to_others(&self, me: AgentId) -> usize {
        self.leases.values().filter(|lease| lease.to.is_some_and(|to| to != me)).count()
    }

    /// Takes the notices to send, in order.
    pub fn take_notices(&mut self) -> Vec<(AgentId, LeaseNotice)> {
        std::mem::take(&mut self.notices)
    }

    /// Grants the lease to the next waiting agent, if it is free.
    fn serve(&mut self, address: IpAddr, now: Timestamp) {
        let Some(lease) = self.leases.get_mut(&address) else { return };
        lease.waiting.retain(|waiting| now.since(waiting.received_at) < FORGET_AFTER);
        if lease.to.is_some() && now >= lease.until {
            lease.end(lease.until + self.ip_delay);
        }
        // The borrower has entered a later view and does not use the lease: it was idle or has restarted.
        if let Some(reported_at) = lease.to.and_then(|to| self.reported.get(&to))
            && lease.view < self.view
        {
            lease.end(lease.until.min(*reported_at) + self.ip_delay);
        }
        let next = lease.waiting.front();
        if let Some(next) = next.filter(|next| lease.to.is_none_or(|to| to == next.by)) {
            let Some(open) = self.lendable.lendable_from(address) else { return };
            let at = open.max(lease.rested_for(next.by));
            if at > now + LEND_AHEAD {
                return self.wake_at(address, at - LEND_AHEAD);
            }
            let Waiting { by, requested_at, .. } = *next;
            lease.waiting.pop_front();
            let is_shared = lease.to.or(lease.last) != Some(by) || !lease.waiting.is_empty();
            let term = if is_shared { TERM } else { LONG_TERM };
            lease.grant(by, requested_at, now + term);
            lease.view = self.view;
            let rest = at.since(now);
            self.notices.push((by, LeaseNotice::Granted { address, requested_at, rest, term }));
        }
        match lease.to {
            Some(to) => {
                if !lease.waiting.is_empty() && now.since(lease.reminded) >= REMIND {
                    lease.reminded = now;
                    self.notices.push((to, LeaseNotice::Wanted { address }));
                }
                let until = lease.until;
                self.wake_at(address, until);
            }
            None if lease.rested_for_all() > now => {
                let rested = lease.rested_for_all();
                self.wake_at(address, rested);
            }
            None => {
                self.wakes.remove(&(lease.wake, address));
                self.leases.remove(&address);
            }
        }
    }

    fn wake_at(&mut self, address: IpAddr, at: Timestamp) {
        let Some(lease) = self.leases.get_mut(&address) else { return };
        self.wakes.remove(&(lease.wake, address));
        lease.wake = at;
        self.wakes.insert((at, address));
    }
}

impl Lease {
    /// Grants the lease until `until`, or longer if an earlier grant to the same borrower, which may be in use, ends later.
    fn grant(&mut self, to: AgentId, requested_at: Timestamp, until: Timestamp) {
        self.rested = self.rested_for(to);
        let earlier = if self.to == Some(to) { self.until } else { Timestamp::ZERO };
        self.to = Some(to);
        self.requested_at = requested_at;
        self.until = until.max(earlier);
        self.reminded = Timestamp::ZERO;
    }

    /// Ends the lease. Other agents wait until `rested`.
    fn end(&mut self, rested: Timestamp) {
        self.last = self.to.take();
        self.rested_of_last = rested;
    }

    fn rested_for(&self, next: AgentId) -> Timestamp {
        let stays = self.to.or(self.last) == Some(next);
        if stays { self.rested } else { self.rested_for_all() }
    }

    fn rested_for_all(&self) -> Timestamp {
        self.rested.max(self.rested_of_last)
    }
}
