//! IP leases: requests, renewals and returns of the leases on addresses, which other agents visit
//! too. The rules of one lease are in `ip_lease.rs`.

use super::Ips;
use super::ip_lease::IpLease;
use crate::messages::{LeaseInUse, LeaseNotice, LeaseRequest, VisitDeadline};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// A request without an answer is repeated after this time.
const REQUEST_AGAIN: Duration = Duration::from_secs(2);
/// During a visit, the lease is renewed this long after it was requested.
const RENEW_AFTER: Duration = Duration::from_secs(4);

/// Entries with a request, by the time of the request.
type Requested = VecDeque<(Timestamp, u32)>;

/// The messages about leases to send, and the times at which they are repeated.
#[derive(Debug, Default)]
pub struct IpLeases {
    messages: Vec<LeaseRequest>,
    /// Time of the last message; each message has its own.
    last: Timestamp,
    /// IP entries with a request that may be unanswered.
    unanswered: Requested,
    /// IP entries with a granted request.
    granted: Requested,
}

impl IpLeases {
    /// Handles a message from the lessor of an address. An address without an entry may have been
    /// visited by an earlier run, and rests until `rests_until`.
    pub fn on_notice(
        &mut self,
        notice: &LeaseNotice,
        ips: &mut Ips,
        rests_until: Timestamp,
        now: Timestamp,
    ) {
        match *notice {
            LeaseNotice::Granted { address, requested_at, rest } => {
                let Some(ip) = ips.find(&address) else { return };
                let lease = ips.lease_mut(ip);
                if lease.is_some_and(|lease| lease.grant(requested_at, rest, now)) {
                    self.granted.push_back((requested_at, ip));
                    ips.requeue(ip);
                }
            }
            LeaseNotice::Wanted { address } => match ips.find(&address) {
                Some(ip) => self.on_wanted(ips, ip, now),
                None => self.push_return(address, rests_until.since(now), now),
            },
        }
    }

    fn on_wanted(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) {
        let Some(lease) = ips.lease_mut(ip) else { return };
        lease.set_wanted();
        if !lease.is_held() && !lease.is_requested() {
            self.give_back(ips, ip, now);
        } else if !ips[ip].busy {
            self.yield_if_wanted(ips, ip, now);
        }
    }

    /// Begins an epoch, in which any address may have another lessor. Returns the leases in use; no
    /// other lease that was granted before will be used.
    pub fn begin_epoch(&mut self, ips: &mut Ips, now: Timestamp) -> Vec<LeaseInUse> {
        let mut in_use = Vec::new();
        self.messages.clear();
        for ip in ips.entries.ids() {
            let (address, busy) = (ips[ip].address, ips[ip].busy);
            if let Some(requested_at) = ips.lease_mut(ip).and_then(|lease| lease.begin_epoch(busy))
            {
                in_use.push(LeaseInUse { address, requested_at });
                // The new lessor renews the lease as soon as it may.
                self.request(ips, ip, now);
            }
            ips.requeue(ip);
        }
        in_use
    }

    /// Removes and returns the messages to send.
    pub fn take_messages(&mut self, ips: &mut Ips, now: Timestamp) -> Vec<LeaseRequest> {
        // An id may have been reused since its request, so the times are compared.
        while let Some((requested_at, ip)) = pop_after(&mut self.unanswered, REQUEST_AGAIN, now) {
            if ips.with_lease(ip).is_some_and(|(_, lease)| lease.awaits(requested_at)) {
                if ips[ip].busy || ips[ip].due().is_some() {
                    self.request(ips, ip, now);
                } else {
                    self.give_back(ips, ip, now);
                }
            }
        }
        while let Some((requested_at, ip)) = pop_after(&mut self.granted, RENEW_AFTER, now) {
            let is_last =
                |lease: &IpLease| lease.granted() == requested_at && !lease.is_requested();
            if ips.with_lease(ip).is_some_and(|(entry, lease)| entry.busy && is_last(lease)) {
                self.request(ips, ip, now);
            }
        }
        std::mem::take(&mut self.messages)
    }

    /// Returns true if an IP entry that is due may be visited now; otherwise requests its lease.
    pub fn may_visit(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) -> bool {
        if ips[ip].lease.is_none() {
            return true;
        }
        self.yield_if_wanted(ips, ip, now);
        let entry = &ips[ip];
        let is_due = entry.due().is_some_and(|due| due <= now);
        if is_due && entry.lease.as_ref().is_some_and(|lease| lease.serves(now)) {
            return true;
        }
        self.request(ips, ip, now);
        ips.requeue(ip);
        false
    }

    /// Begins a visit to the address. Returns its deadline, if there is one.
    pub fn begin_visit(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) -> Option<VisitDeadline> {
        let lease = ips.lease_mut(ip)?;
        let deadline = lease.begin();
        // The time of renewal passed while no visit was in flight.
        if now >= lease.granted() + RENEW_AFTER {
            self.request(ips, ip, now);
        }
        Some(deadline)
    }

    /// Gives back the lease of an address that is not being visited, if [`IpLease::should_return`].
    pub fn yield_if_wanted(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) {
        let entry = &ips[ip];
        if entry.lease.as_ref().is_some_and(|lease| lease.should_return(entry.due(), now)) {
            self.give_back(ips, ip, now);
        }
    }

    fn request(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) {
        let address = ips[ip].address;
        let Some(lease) = ips.lease_mut(ip) else { return };
        let requested_at = self.stamp(now);
        lease.request(requested_at);
        self.unanswered.push_back((requested_at, ip));
        self.messages.push(LeaseRequest::Acquire { address, requested_at });
    }

    fn give_back(&mut self, ips: &mut Ips, ip: u32, now: Timestamp) {
        if let Some(lease) = ips.lease_mut(ip) {
            lease.give_back();
        }
        self.push_return(ips[ip].address, ips[ip].next.since(now), now);
        ips.requeue(ip);
    }

    fn push_return(&mut self, address: IpAddr, rest: Duration, now: Timestamp) {
        let requested_at = self.stamp(now);
        self.messages.push(LeaseRequest::Return { address, requested_at, rest });
    }

    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last = now.max(self.last + Duration::from_micros(1));
        self.last
    }
}

/// Removes and returns the first entry of a queue, if its time is `after` ago.
fn pop_after(queue: &mut Requested, after: Duration, now: Timestamp) -> Option<(Timestamp, u32)> {
    queue.front().filter(|(requested_at, _)| *requested_at + after <= now)?;
    queue.pop_front()
}
