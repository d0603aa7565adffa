//! IP leases: requests, renewals and returns of the leases on addresses, which other agents visit
//! too. The rules of one lease are in `ip_lease.rs`.

use super::Workbench;
use super::ip_entry::IpEntry;
use super::ip_lease::IpLease;
use crate::messages::{LeaseInUse, LeaseNotice, LeaseRequest, Visit};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// A request without an answer is repeated after this time.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// During a visit, the lease is renewed this long after it was requested.
const RENEW_AFTER: Duration = Duration::from_secs(4);

/// The messages about leases to send, and the times at which they are repeated.
#[derive(Debug, Default)]
pub(super) struct IpLeases {
    requests: Vec<LeaseRequest>,
    /// Time of the last message; each message has its own.
    last: Timestamp,
    /// IP entries with a request that may be unanswered, by its time.
    asks: VecDeque<(Timestamp, u32)>,
    /// IP entries with a granted request, by its time.
    renewals: VecDeque<(Timestamp, u32)>,
}

impl IpLeases {
    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last = now.max(self.last + Duration::from_micros(1));
        self.last
    }
}

impl Workbench {
    /// Adds leases, for an agent in a cluster: no address is visited without one.
    #[must_use]
    pub fn among_others(mut self) -> Self {
        self.ip_leases = Some(IpLeases::default());
        self
    }

    /// Handles a message from the lessor of an address.
    pub fn on_lease_notice(&mut self, notice: &LeaseNotice, now: Timestamp) {
        match *notice {
            LeaseNotice::Granted { address, requested_at, rest } => {
                let Some(ip) = self.ips.find(&address) else { return };
                let lease = self.ips[ip].lease.as_mut();
                if lease.is_some_and(|lease| lease.lend(requested_at, rest, now)) {
                    if let Some(leases) = &mut self.ip_leases {
                        leases.renewals.push_back((requested_at, ip));
                    }
                    self.requeue_ip(ip);
                }
            }
            LeaseNotice::Wanted { address } => match self.ips.find(&address) {
                Some(ip) => self.lease_wanted(ip, now),
                None => {
                    // An earlier run may have visited the address.
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

    /// Begins an epoch, in which any address may have another lessor. Returns the leases in use; no
    /// other lease that was granted before will be used.
    pub fn begin_lease_epoch(&mut self, now: Timestamp) -> Vec<LeaseInUse> {
        let mut held = Vec::new();
        if let Some(leases) = &mut self.ip_leases {
            leases.requests.clear();
        }
        for ip in self.ips.ids() {
            let entry = &mut self.ips[ip];
            let (address, busy) = (entry.address, entry.busy);
            let lent = entry.lease.as_mut().and_then(|lease| lease.begin_epoch(busy));
            if let Some(requested_at) = lent {
                held.push(LeaseInUse { address, requested_at });
                // The new lessor renews the lease as soon as it may.
                self.request_lease(ip, now);
            }
            self.requeue_ip(ip);
        }
        held
    }

    /// Removes and returns the messages about leases to send.
    #[must_use]
    pub fn take_lease_requests(&mut self, now: Timestamp) -> Vec<LeaseRequest> {
        while let Some((ip, requested_at)) = self.next_of(now, ASK_AGAIN, |leases| &mut leases.asks)
        {
            if self.noted(ip).is_some_and(|(_, lease)| lease.awaits(requested_at)) {
                if self.ips[ip].busy || self.ips[ip].due().is_some() {
                    self.request_lease(ip, now);
                } else {
                    self.return_lease(ip, now);
                }
            }
        }
        while let Some((ip, requested_at)) = self.next_of(now, RENEW_AFTER, |s| &mut s.renewals) {
            let lasts = |lease: &IpLease| lease.lent() == requested_at && !lease.is_asking();
            if self.noted(ip).is_some_and(|(entry, lease)| entry.busy && lasts(lease)) {
                self.request_lease(ip, now);
            }
        }
        self.ip_leases
            .as_mut()
            .map(|leases| std::mem::take(&mut leases.requests))
            .unwrap_or_default()
    }

    /// Returns an IP entry by an id that was stored with the time of a request. The id may have
    /// been reused since, so callers compare that time with the lease.
    fn noted(&self, ip: u32) -> Option<(&IpEntry, &IpLease)> {
        let entry = self.ips.get(ip)?;
        Some((entry, entry.lease.as_deref()?))
    }

    /// Returns true if an IP entry that is due may be visited now; otherwise requests its lease.
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

    /// Begins a visit to the address.
    pub(super) fn begin_lease_visit(&mut self, ip: u32, visit: &mut Visit, now: Timestamp) {
        self.ips[ip].busy = true;
        self.ips[ip].visited = Some(visit.name.clone());
        let Some(lease) = &mut self.ips[ip].lease else { return };
        visit.deadline = lease.begin();
        // The time of renewal passed while no visit was in flight.
        if now >= lease.lent() + RENEW_AFTER {
            self.request_lease(ip, now);
        }
    }

    /// Gives back the lease of an address that is not being visited, if [`IpLease::should_return`].
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
        let requested_at = leases.stamp(now);
        lease.ask(requested_at);
        leases.asks.push_back((requested_at, ip));
        leases.requests.push(LeaseRequest::Acquire { address: self.ips[ip].address, requested_at });
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
            let requested_at = leases.stamp(now);
            leases.requests.push(LeaseRequest::Return { address, requested_at, rest });
        }
    }

    /// Removes and returns the first entry of a queue, with its time, if that is `after` ago.
    fn next_of(
        &mut self,
        now: Timestamp,
        after: Duration,
        queue: impl Fn(&mut IpLeases) -> &mut VecDeque<(Timestamp, u32)>,
    ) -> Option<(u32, Timestamp)> {
        let queue = queue(self.ip_leases.as_mut()?);
        let &(requested_at, ip) = queue.front()?;
        if requested_at + after > now {
            return None;
        }
        queue.pop_front();
        Some((ip, requested_at))
    }
}
