//! The turns that this agent lends: to whom, until when, and who waits.

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

/// See the module. All times are of this agent's clock, but for what borrowers asked with.
#[derive(Debug)]
pub struct Lessor {
    ip_delay: Duration,
    lendable: Lendable,
    loans: HashMap<IpAddr, Loan>,
    /// When to look at a loan again.
    wakes: BTreeSet<(Timestamp, IpAddr)>,
    news: Vec<(AgentId, LeaseNotice)>,
}

/// One address.
#[derive(Debug, Default)]
struct Loan {
    to: Option<AgentId>,
    /// The ask that was answered.
    asked: Timestamp,
    until: Timestamp,
    /// Nobody visits before, because of those who had it before the last borrower,
    rested: Timestamp,
    /// nobody but the last borrower, who knows better, because of that one.
    rested_of_last: Timestamp,
    last: Option<AgentId>,
    waiting: VecDeque<Waiting>,
    reminded: Timestamp,
    wake: Timestamp,
}

#[derive(Debug)]
struct Waiting {
    by: AgentId,
    asked: Timestamp,
    heard: Timestamp,
}

impl Lessor {
    /// One that lends nothing yet.
    pub fn new(me: AgentId, ip_delay: Duration) -> Self {
        Self {
            ip_delay,
            lendable: Lendable::new(me, ip_delay),
            loans: HashMap::default(),
            wakes: BTreeSet::new(),
            news: Vec::new(),
        }
    }

    /// An address rests for so long from now on.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.ip_delay = ip_delay;
        self.lendable.set_ip_delay(ip_delay);
    }

    /// A later view is in force: who waits has to ask again.
    pub fn begin(&mut self, owners: Arc<Owners>) {
        self.lendable.begin(owners);
        let lendable = &self.lendable;
        self.loans.retain(|&address, _| lendable.is_mine(address));
        self.wakes.clear();
        for (&address, loan) in &mut self.loans {
            loan.waiting.clear();
            loan.wake = if loan.to.is_some() { loan.until } else { loan.rested_for_all() };
            self.wakes.insert((loan.wake, address));
        }
    }

    /// An agent has entered the epoch.
    pub fn told(&mut self, by: AgentId, report: &LeaseReport, now: Timestamp) {
        // A later report of the epoch says what was in use when it began.
        if !self.lendable.told(by, report.is_clear, now) {
            return;
        }
        for held in &report.held {
            if !self.lendable.is_mine(held.address) {
                continue;
            }
            let loan = self.loans.entry(held.address).or_default();
            let until = now + held.left.min(TERM);
            if loan.to.is_some_and(|to| to != by) && loan.until > now {
                tracing::warn!(address = %held.address, "two agents have the turn of an address");
                loan.until = loan.until.max(until);
            } else {
                if loan.to != Some(by) {
                    if loan.to.is_some() {
                        loan.end(loan.until + self.ip_delay);
                    }
                    loan.rested = loan.rested_for(by);
                    (loan.to, loan.until) = (Some(by), until);
                }
                loan.asked = loan.asked.max(held.asked);
                loan.until = loan.until.max(until);
            }
            self.wake_at(held.address, self.loans[&held.address].until);
        }
    }

    /// Somebody asks for a turn, or returns one.
    pub fn hear(&mut self, from: AgentId, note: LeaseRequest, now: Timestamp) {
        match note {
            LeaseRequest::Acquire { address, asked } => self.ask(from, address, asked, now),
            LeaseRequest::Return { address, asked, rest } => {
                let Some(loan) = self.loans.get_mut(&address) else { return };
                loan.waiting.retain(|waiting| waiting.by != from || waiting.asked > asked);
                if loan.to == Some(from) && loan.asked <= asked {
                    loan.end(now + rest.min(self.ip_delay));
                }
                self.serve(address, now);
            }
        }
    }

    fn ask(&mut self, from: AgentId, address: IpAddr, asked: Timestamp, now: Timestamp) {
        if !self.lendable.is_mine(address) {
            return;
        }
        let loan = self.loans.entry(address).or_default();
        let known = loan.waiting.iter_mut().find(|waiting| waiting.by == from);
        let waiting = Waiting { by: from, asked, heard: now };
        match known {
            Some(known) => *known = waiting,
            // It has not used it, or is still using it: it would have returned it.
            None if loan.to == Some(from) => loan.waiting.push_front(waiting),
            None => loan.waiting.push_back(waiting),
        }
        self.serve(address, now);
    }

    /// What falls due without anybody's doing.
    pub fn tick(&mut self, now: Timestamp) {
        if self.lendable.opens_now(now) {
            let addresses: Vec<IpAddr> = self.loans.keys().copied().collect();
            for address in addresses {
                let loan = self.loans.get_mut(&address);
                // Nobody who was declared dead fetches any more, and the rest is over too.
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

    /// When [`Self::tick`] has something to do.
    pub fn next_time(&self) -> Option<Timestamp> {
        let wake = self.wakes.first().map(|&(at, _)| at);
        wake.into_iter().chain(self.lendable.opens_at()).min()
    }

    /// Turns that others have.
    pub fn lent_to_others(&self, me: AgentId) -> usize {
        self.loans.values().filter(|loan| loan.to.is_some_and(|to| to != me)).count()
    }

    /// What is to be said, in order.
    pub fn take_news(&mut self) -> Vec<(AgentId, LeaseNotice)> {
        std::mem::take(&mut self.news)
    }

    /// Lends a turn to the next who waits, if it can be lent.
    fn serve(&mut self, address: IpAddr, now: Timestamp) {
        let Some(loan) = self.loans.get_mut(&address) else { return };
        loan.waiting.retain(|waiting| now.since(waiting.heard) < FORGET_AFTER);
        if loan.to.is_some() && now >= loan.until {
            loan.end(loan.until + self.ip_delay);
        }
        let next = loan.waiting.front();
        if let Some(next) = next.filter(|next| loan.to.is_none_or(|to| to == next.by)) {
            let Some(open) = self.lendable.from(address) else { return };
            let at = open.max(loan.rested_for(next.by));
            if at > now + LEND_AHEAD {
                return self.wake_at(address, at - LEND_AHEAD);
            }
            let Waiting { by, asked, .. } = *next;
            loan.waiting.pop_front();
            loan.lend(by, asked, now);
            self.news.push((by, LeaseNotice::Granted { address, asked, rest: at.since(now) }));
        }
        match loan.to {
            Some(to) => {
                if !loan.waiting.is_empty() && now.since(loan.reminded) >= REMIND {
                    loan.reminded = now;
                    self.news.push((to, LeaseNotice::Wanted { address }));
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
    fn lend(&mut self, to: AgentId, asked: Timestamp, now: Timestamp) {
        self.rested = self.rested_for(to);
        self.to = Some(to);
        self.asked = asked;
        self.until = now + TERM;
        self.reminded = Timestamp::ZERO;
    }

    /// The borrower visits no more; because of its visits others wait until `rested`.
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
