//! Recent addresses: those of hosts that left a moment ago. If such a host returns with another
//! address, connections to the old one may still be open.

use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use foldhash::HashMap;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Maximum number of remembered hosts. If there are more, unknown hosts are delayed to be safe.
const CAPACITY: usize = 65_536;

/// The addresses by host, each with the time at which its connections are closed.
#[derive(Debug, Default)]
pub struct RecentAddresses {
    queue: VecDeque<(Timestamp, HostKey)>,
    addresses: HashMap<HostKey, (IpAddr, Timestamp)>,
    /// Time until which an entry would be needed that was removed for lack of capacity.
    forgetful_until: Timestamp,
}

impl RecentAddresses {
    /// Remembers the address of a host that left and whose connections are closed at `closed`.
    pub fn remember(&mut self, host: HostKey, address: IpAddr, closed: Timestamp, now: Timestamp) {
        self.expire(now);
        if closed <= now {
            return;
        }
        if self.queue.len() >= CAPACITY
            && let Some((until, oldest)) = self.queue.pop_front()
        {
            self.forgetful_until = self.forgetful_until.max(until);
            self.forget(oldest, until);
        }
        self.queue.push_back((closed, host));
        self.addresses.insert(host, (address, closed));
    }

    /// Returns true if connections of `host` to an address other than `address` may be open.
    pub fn may_be_elsewhere(&mut self, host: HostKey, address: IpAddr, now: Timestamp) -> bool {
        self.expire(now);
        match self.addresses.get(&host) {
            Some(&(last, _)) => last != address,
            None => now < self.forgetful_until,
        }
    }

    fn expire(&mut self, now: Timestamp) {
        while let Some(&(closed, host)) = self.queue.front().filter(|(closed, _)| *closed <= now) {
            self.queue.pop_front();
            self.forget(host, closed);
        }
    }

    fn forget(&mut self, host: HostKey, closed: Timestamp) {
        if self.addresses.get(&host).is_some_and(|&(_, at)| at <= closed) {
            self.addresses.remove(&host);
        }
    }
}
