//! The IP leases that this agent grants: the borrower, the end, and the agents that wait.

use super::lendable::Lendable;
use super::{FORGET_AFTER, LEND_AHEAD, LeaseNotice, LeaseReport, LeaseRequest, REMIND, TERM};
use crivello_common::assignment::Owners;
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
    loans: HashMap<IpAddr, Loan>,
    /// The next time at which each loan needs attention.
    wakes: BTreeSet<(Timestamp, IpAddr)>,
    notices: Vec<(AgentId, LeaseNotice)>,
}

/// The lease of one address.
#[derive(Debug, Default)]
struct Loan {
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
    pub fn new(me: AgentId, ip_delay: Duration) -> Self {
        Self {
            ip_delay,
            lendable: Lendable::new(me, ip_delay),
            loans: HashMap::default(),
            wakes: BTreeSet::new(),
            notices: Vec::new(),
        }
    }

    /// Sets the delay between visits to an address by different agents.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.ip_delay = ip_delay;
        self.lendable.set_ip_delay(ip_delay);
    }

    /// Enters the epoch of a later view. Agents that wait must request again.
    pub fn on_view(&mut self, owners: Arc<Owners>) {
        self.lendable.on_view(owners);
        let lendable = &self.lendable;
        self.loans.retain(|&address, _| lendable.is_mine(address));
        self.wakes.clear();
        for (&address, loan) in &mut self.loans {
            loan.waiting.clear();
            loan.wake = if loan.to.is_some() { loan.until } else { loan.rested_for_all() };
            self.wakes.insert((loan.wake, address));
        }
    }

    /// Records the leases that an agent uses in this epoch.
    pub fn on_report(&mut self, by: AgentId, report: &LeaseReport, now: Timestamp) {
        // A later report of the epoch repeats the leases in use when the epoch began.
        if !self.lendable.on_report(by, report.is_clear, now) {
            return;
        }
        for held in &report.held {
            if !self.lendable.is_mine(held.address) {
                continue;
            }
            let loan = self.loans.entry(held.address).or_default();
            let until = now + held.remaining.min(TERM);
            if loan.to.is_some_and(|to| to != by) && loan.until > now {
                tracing::warn!(address = %held.address, "two agents hold the lease of one IP address");
                loan.until = loan.until.max(until);
            } else {
                if loan.to != Some(by) {
                    if loan.to.is_some() {
                        loan.end(loan.until + self.ip_delay);
                    }
                    loan.rested = loan.rested_for(by);
                    (loan.to, loan.until) = (Some(by), until);
                }
                loan.requested_at = loan.requested_at.max(held.requested_at);
                loan.until = loan.until.max(until);
            }
            self.wake_at(held.address, self.loans[&held.address].until);
        }
    }

    /// Handles a request for a lease or the return of one.
    pub fn on_request(&mut self, from: AgentId, request: LeaseRequest, now: Timestamp) {
        match request {
            LeaseRequest::Acquire { address, requested_at } => {
                self.acquire(from, address, requested_at, now);
            }
            LeaseRequest::Return { address, requested_at, rest } => {
                let Some(loan) = self.loans.get_mut(&address) else { return };
                loan.waiting
                    .retain(|waiting| waiting.by != from || waiting.requested_at > requested_at);
                if loan.to == Some(from) && loan.requested_at <= requested_at {
                    loan.end(now + rest.min(self.ip_delay));
                }
                self.serve(address, now);
            }
        }
    }

    fn acquire(&mut self, from: AgentId, address: IpAddr, requested_at: Timestamp, now: Timestamp) {
        if !self.lendable.is_mine(address) {
            return;
        }
        let loan = self.loans.entry(address).or_default();
        let known = loan.waiting.iter_mut().find(|waiting| waiting.by == from);
        let waiting = Waiting { by: from, requested_at, received_at: now };
        match known {
            Some(known) => *known = waiting,
            // The borrower requests again: it did not get the grant, or still uses the lease.
            None if loan.to == Some(from) => loan.waiting.push_front(waiting),
            None => loan.waiting.push_back(waiting),
        }
        self.serve(address, now);
    }

    /// Handles everything that is due: ends of leases, and addresses that become lendable.
    pub fn tick(&mut self, now: Timestamp) {
        if self.lendable.opens_now(now) {
            let addresses: Vec<IpAddr> = self.loans.keys().copied().collect();
            for address in addresses {
                let loan = self.loans.get_mut(&address);
                // No agent that was declared dead still fetches, and the delay has passed.
                if let Some(loan) = loan
                    && loan.to.is_some_and(|to| !self.lendable.is_alive(to))
                {
                    loan.end(now);
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
        self.loans.values().filter(|loan| loan.to.is_some_and(|to| to != me)).count()
    }

    /// Takes the notices to send, in order.
    pub fn take_notices(&mut self) -> Vec<(AgentId, LeaseNotice)> {
        std::mem::take(&mut self.notices)
    }

    /// Grants the lease to the next waiting agent, if it is free.
    fn serve(&mut self, address: IpAddr, now: Timestamp) {
        let Some(loan) = self.loans.get_mut(&address) else { return };
        loan.waiting.retain(|waiting| now.since(waiting.received_at) < FORGET_AFTER);
        if loan.to.is_some() && now >= loan.until {
            loan.end(loan.until + self.ip_delay);
        }
        let next = loan.waiting.front();
        if let Some(next) = next.filter(|next| loan.to.is_none_or(|to| to == next.by)) {
            let Some(open) = self.lendable.lendable_from(address) else { return };
            let at = open.max(loan.rested_for(next.by));
            if at > now + LEND_AHEAD {
                return self.wake_at(address, at - LEND_AHEAD);
            }
            let Waiting { by, requested_at, .. } = *next;
            loan.waiting.pop_front();
            loan.lend(by, requested_at, now);
            self.notices
                .push((by, LeaseNotice::Granted { address, requested_at, rest: at.since(now) }));
        }
        match loan.to {
            Some(to) => {
                if !loan.waiting.is_empty() && now.since(loan.reminded) >= REMIND {
                    loan.reminded = now;
                    self.notices.push((to, LeaseNotice::Wanted { address }));
                }
                let until = loan.until;
                self.wake_at(address, until);
            }
            None if loan.rested_for_all() > now => {
                let rested = loan.rested_for_all();
                self.wake_at(address, rested);
            }
            None => {
                self.wakes.remove(&(loan.wake, address));
                self.loans.remove(&address);
            }
        }
    }

    fn wake_at(&mut self, address: IpAddr, at: Timestamp) {
        let Some(loan) = self.loans.get_mut(&address) else { return };
        self.wakes.remove(&(loan.wake, address));
        loan.wake = at;
        self.wakes.insert((at, address));
    }
}

impl Loan {
    fn lend(&mut self, to: AgentId, requested_at: Timestamp, now: Timestamp) {
        self.rested = self.rested_for(to);
        self.to = Some(to);
        self.requested_at = requested_at;
        self.until = now + TERM;
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
