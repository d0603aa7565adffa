//! Addresses that other agents visit too: whose turn is here, which must be asked for, which
//! returned. The rules of one turn are in `hold.rs`.

use super::Workbench;
use super::ip_entry::IpEntry;
use super::ip_lease::IpLease;
use crate::messages::{LeaseInUse, LeaseNotice, LeaseRequest, Visit};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// Who has no answer asks again after this.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// A visit that lasts has its turn prolonged this long after it was asked for.
const RENEW_AFTER: Duration = Duration::from_secs(4);

/// What is said about turns, and when it must be said again.
#[derive(Debug, Default)]
pub(super) struct IpLeases {
    notes: Vec<LeaseRequest>,
    /// The time of the last note; each has another.
    last: Timestamp,
    /// IP entries that wait for an answer to the ask of then, in order.
    asks: VecDeque<(Timestamp, u32)>,
    /// IP entries whose turn was asked for then, in order.
    renewals: VecDeque<(Timestamp, u32)>,
}

impl IpLeases {
    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last = now.max(self.last + Duration::from_micros(1));
        self.last
    }
}

impl Workbench {
    /// The same among other agents: no address is visited without its turn.
    #[must_use]
    pub fn among_others(mut self) -> Self {
        self.ip_leases = Some(IpLeases::default());
        self
    }

    /// Hears the one who lends an address's turn.
    pub fn on_lease_notice(&mut self, news: &LeaseNotice, now: Timestamp) {
        match *news {
            LeaseNotice::Granted { address, asked, rest } => {
                let Some(ip) = self.ips.find(&address) else { return };
                let lease = self.ips[ip].lease.as_mut();
                if lease.is_some_and(|lease| lease.lend(asked, rest, now)) {
                    if let Some(leases) = &mut self.ip_leases {
                        leases.renewals.push_back((asked, ip));
                    }
                    self.requeue_ip(ip);
                }
            }
            LeaseNotice::Wanted { address } => match self.ips.find(&address) {
                Some(ip) => self.lease_wanted(ip, now),
                None => {
                    // An earlier life may have visited it.
                    let rest = self.ip_rests_until().since(now);
                    self.queue_return(address, rest, now);
                }
            },
        }
    }

    fn lease_wanted(&mut self, ip: u32, now: Timestamp) {
        let Some(lease) = self.ips[ip].lease.as_mut() else { return };
        lease.want();
        if !lease.is_held() && !lease.is_asking() {
            self.return_lease(ip, now);
        } else if !self.ips[ip].busy {
            self.yield_lease(ip, now);
        }
    }

    /// Another lender may be in charge of any address. Says which turns are in use; no others that
    /// were lent before will be.
    pub fn begin_lease_epoch(&mut self, now: Timestamp) -> Vec<LeaseInUse> {
        let mut held = Vec::new();
        if let Some(leases) = &mut self.ip_leases {
            leases.notes.clear();
        }
        for ip in self.ips.ids() {
            let entry = &mut self.ips[ip];
            let (address, busy) = (entry.address, entry.busy);
            let lent = entry.lease.as_mut().and_then(|lease| lease.begin_epoch(busy));
            if let Some(asked) = lent {
                held.push(LeaseInUse { address, asked });
                // The new lender prolongs it once it may.
                self.request_lease(ip, now);
            }
            self.requeue_ip(ip);
        }
        held
    }

    /// What is to be said of turns.
    #[must_use]
    pub fn take_lease_requests(&mut self, now: Timestamp) -> Vec<LeaseRequest> {
        while let Some((ip, asked)) = self.next_of(now, ASK_AGAIN, |leases| &mut leases.asks) {
            if self.noted(ip).is_some_and(|(_, lease)| lease.awaits(asked)) {
                if self.ips[ip].busy || self.ips[ip].due().is_some() {
                    self.request_lease(ip, now);
                } else {
                    self.return_lease(ip, now);
                }
            }
        }
        while let Some((ip, asked)) = self.next_of(now, RENEW_AFTER, |s| &mut s.renewals) {
            let lasts = |lease: &IpLease| lease.lent() == asked && !lease.is_asking();
            if self.noted(ip).is_some_and(|(entry, lease)| entry.busy && lasts(lease)) {
                self.request_lease(ip, now);
            }
        }
        self.ip_leases.as_mut().map(|leases| std::mem::take(&mut leases.notes)).unwrap_or_default()
    }

    /// An IP entry whose number was noted with the time of an ask, which tells whether it is the same.
    fn noted(&self, ip: u32) -> Option<(&IpEntry, &IpLease)> {
        let entry = self.ips.get(ip)?;
        Some((entry, entry.lease.as_deref()?))
    }

    /// Whether an IP entry that calls may be visited now; asks for the turn otherwise.
    pub(super) fn has_lease(&mut self, ip: u32, now: Timestamp) -> bool {
        if self.ips[ip].lease.is_none() {
            return true;
        }
        self.yield_lease(ip, now);
        let entry = &self.ips[ip];
        let is_due = entry.due().is_some_and(|due| due <= now);
        if is_due && entry.lease.as_ref().is_some_and(|lease| lease.serves(now)) {
            return true;
        }
        self.request_lease(ip, now);
        self.requeue_ip(ip);
        false
    }

    /// A visit to the address begins.
    pub(super) fn begin_lease_visit(&mut self, ip: u32, visit: &mut Visit, now: Timestamp) {
        self.ips[ip].busy = true;
        self.ips[ip].visited = Some(visit.name.clone());
        let Some(lease) = &mut self.ips[ip].lease else { return };
        visit.deadline = lease.begin();
        // The time to have it prolonged passed while there was no visit.
        if now >= lease.lent() + RENEW_AFTER {
            self.request_lease(ip, now);
        }
    }

    /// Returns the turn of an address that is not being visited, if others wait for it and it has
    /// been used.
    pub(super) fn yield_lease(&mut self, ip: u32, now: Timestamp) {
        let entry = &self.ips[ip];
        if entry.lease.as_ref().is_some_and(|lease| lease.should_return(entry.due(), now)) {
            self.return_lease(ip, now);
        }
    }

    fn request_lease(&mut self, ip: u32, now: Timestamp) {
        let (Some(leases), Some(lease)) = (&mut self.ip_leases, &mut self.ips[ip].lease) else {
            return;
        };
        let asked = leases.stamp(now);
        lease.ask(asked);
        leases.asks.push_back((asked, ip));
        leases.notes.push(LeaseRequest::Acquire { address: self.ips[ip].address, asked });
    }

    fn return_lease(&mut self, ip: u32, now: Timestamp) {
        let entry = &mut self.ips[ip];
        let (address, rest) = (entry.address, entry.next.since(now));
        if let Some(lease) = &mut entry.lease {
            lease.give_back();
        }
        self.queue_return(address, rest, now);
        self.requeue_ip(ip);
    }

    fn queue_return(&mut self, address: IpAddr, rest: Duration, now: Timestamp) {
        if let Some(leases) = &mut self.ip_leases {
            let asked = leases.stamp(now);
            leases.notes.push(LeaseRequest::Return { address, asked, rest });
        }
    }

    /// The first of a queue that was put there `after` ago, if there is one, with its time.
    fn next_of(
        &mut self,
        now: Timestamp,
        after: Duration,
        queue: impl Fn(&mut IpLeases) -> &mut VecDeque<(Timestamp, u32)>,
    ) -> Option<(u32, Timestamp)> {
        let queue = queue(self.ip_leases.as_mut()?);
        let &(asked, ip) = queue.front()?;
        if asked + after > now {
            return None;
        }
        queue.pop_front();
        Some((ip, asked))
    }
}
