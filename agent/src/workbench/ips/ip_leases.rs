//! Leases of the addresses, which other agents visit too: requests, renewals and returns. The rules
//! of one lease are in `ip_lease.rs`.

use super::Ips;
use super::ip_lease::IpLease;
use crate::messages::{LeaseInUse, LeaseNotice, LeaseRequest, VisitDeadline};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// A request without an answer is repeated after this time.
const REQUEST_AGAIN: Duration = Duration::from_secs(2);

impl Ips {
    /// Handles a message from the lessor of an address. An address without an entry may have been
    /// visited by an earlier run, and rests until `rests_until`.
    pub fn on_notice(&mut self, notice: &LeaseNotice, rests_until: Timestamp, now: Timestamp) {
        match *notice {
            LeaseNotice::Granted { address, requested_at, rest, term } => {
                let Some(ip) = self.entries.find(&address) else { return };
                let Some(lease) = self.lease_mut(ip) else { return };
                if lease.grant(requested_at, (rest, term), now) {
                    let renewal = (lease.renewal(), requested_at, ip);
                    self.renewals.insert(renewal);
                    self.requeue(ip);
                }
            }
            LeaseNotice::Wanted { address } => match self.entries.find(&address) {
                Some(ip) => self.on_wanted(ip, now),
                None => self.push_return(address, rests_until.since(now), now),
            },
        }
    }

    fn on_wanted(&mut self, ip: u32, now: Timestamp) {
        let Some(lease) = self.lease_mut(ip) else { return };
        lease.set_wanted();
        if !lease.is_held() && !lease.is_requested() {
            self.give_back(ip, now);
        } else if !self.entries[ip].busy {
            self.yield_if_wanted(ip, now);
        }
    }

    /// Begins an epoch, in which any address may have another lessor. Returns the leases in use; no
    /// other lease that was granted before will be used.
    pub fn begin_epoch(&mut self, now: Timestamp) -> Vec<LeaseInUse> {
        let mut in_use = Vec::new();
        self.lease_requests.clear();
        for ip in self.entries.ids() {
            let (address, busy) = (self.entries[ip].address, self.entries[ip].busy);
            let lease = self.lease_mut(ip);
            if let Some((requested_at, term)) = lease.and_then(|lease| lease.begin_epoch(busy)) {
                in_use.push(LeaseInUse { address, requested_at, term });
                // The new lessor renews the lease as soon as it may.
                self.request(ip, now);
            }
            self.requeue(ip);
        }
        in_use
    }

    /// Removes and returns the messages about leases to send.
    pub fn take_lease_requests(&mut self, now: Timestamp) -> Vec<LeaseRequest> {
        // An id may have been reused since its request, so the times are compared.
        while let Some((requested_at, ip)) = pop_after(&mut self.unanswered, REQUEST_AGAIN, now) {
            if self.with_lease(ip).is_some_and(|(_, lease)| lease.awaits(requested_at)) {
                if self.entries[ip].busy || self.entries[ip].due().is_some() {
                    self.request(ip, now);
                } else {
                    self.give_back(ip, now);
                }
            }
        }
        while let Some(&(renewal, requested_at, ip)) = self.renewals.first()
            && renewal <= now
        {
            self.renewals.pop_first();
            let is_last =
                |lease: &IpLease| lease.granted() == requested_at && !lease.is_requested();
            if self.with_lease(ip).is_some_and(|(entry, lease)| entry.busy && is_last(lease)) {
                self.request(ip, now);
            }
        }
        std::mem::take(&mut self.lease_requests)
    }

    /// Returns true if an IP entry that is due may be visited now; otherwise requests its lease.
    pub fn may_visit(&mut self, ip: u32, now: Timestamp) -> bool {
        if self.entries[ip].lease.is_none() {
            return true;
        }
        self.yield_if_wanted(ip, now);
        let entry = &self.entries[ip];
        let is_due = entry.due().is_some_and(|due| due <= now);
        if is_due && entry.lease.as_ref().is_some_and(|lease| lease.serves(now)) {
            return true;
        }
        self.request(ip, now);
        self.requeue(ip);
        false
    }

    /// Begins a visit under the lease of an address. Returns its deadline, if there is a lease.
    pub(super) fn use_lease(&mut self, ip: u32, now: Timestamp) -> Option<VisitDeadline> {
        let lease = self.lease_mut(ip)?;
        let deadline = lease.begin();
        // The time of renewal passed while no visit was in flight.
        if now >= lease.renewal() {
            self.request(ip, now);
        }
        Some(deadline)
    }

    /// Gives back the lease of an address that is not being visited, if [`IpLease::should_return`].
    pub(super) fn yield_if_wanted(&mut self, ip: u32, now: Timestamp) {
        let entry = &self.entries[ip];
        if entry.lease.as_ref().is_some_and(|lease| lease.should_return(entry.due(), now)) {
            self.give_back(ip, now);
        }
    }

    fn request(&mut self, ip: u32, now: Timestamp) {
        let (address, requested_at) = (self.entries[ip].address, self.stamp(now));
        let Some(lease) = self.lease_mut(ip) else { return };
        lease.request(requested_at);
        self.unanswered.push_back((requested_at, ip));
        self.lease_requests.push(LeaseRequest::Acquire { address, requested_at });
    }

    fn give_back(&mut self, ip: u32, now: Timestamp) {
        if let Some(lease) = self.lease_mut(ip) {
            lease.give_back();
        }
        let entry = &self.entries[ip];
        self.push_return(entry.address, entry.next.since(now), now);
        self.requeue(ip);
    }

    fn push_return(&mut self, address: IpAddr, rest: Duration, now: Timestamp) {
        let requested_at = self.stamp(now);
        self.lease_requests.push(LeaseRequest::Return { address, requested_at, rest });
    }

    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last_request = now.max(self.last_request + Duration::from_micros(1));
        self.last_request
    }
}

/// Removes and returns the first entry of a queue, if its time is `after` ago.
fn pop_after(
    queue: &mut VecDeque<(Timestamp, u32)>,
    after: Duration,
    now: Timestamp,
) -> Option<(Timestamp, u32)> {
    queue.front().filter(|(requested_at, _)| *requested_at + after <= now)?;
    queue.pop_front()
}
