//! Table of the hosts in memory, with the sums of what they occupy and the heap of those asleep.

mod host_entry;
mod window;

pub(super) use host_entry::{HostEntry, HostPhase};

use super::front::Usage;
use super::heap::{ABSENT, Positions, Sequence, TimeHeap};
use super::robots::set_record;
use super::slab::Slab;
use crate::messages::{QueueKey, Queued, RobotsRecord};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use foldhash::HashMap;
use std::ops::{Index, IndexMut};
use window::weight;

/// All hosts in memory.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    entries: Slab<HostEntry>,
    /// Hosts in [`HostPhase::Asleep`], by the time at which they wake.
    sleepers: TimeHeap,
    sequence: Sequence,
    /// Weight of the URLs in windows.
    window_urls: usize,
    /// Bytes of compiled rules.
    rules_bytes: usize,
    /// Number of hosts without an address.
    unplaced: usize,
    /// Interface identifiers of the hosts at IPv6 addresses: their IP entries are of a /64.
    interfaces: HashMap<u32, u64>,
}

impl Hosts {
    /// Returns what the workbench occupies, given the number of IP entries with hosts.
    pub fn usage(&self, ip_entries: usize) -> Usage {
        Usage {
            hosts: self.entries.len(),
            entries: ip_entries + self.unplaced,
            window_urls: self.window_urls,
            rules_bytes: self.rules_bytes,
        }
    }

    pub fn find(&self, key: &HostKey) -> Option<u32> {
        self.entries.find(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &HostEntry> {
        self.entries.iter()
    }

    /// Returns the ids of all hosts, in ascending order.
    pub fn ids(&self) -> Vec<u32> {
        self.entries.ids()
    }

    /// Adds a host without an address and returns its id.
    pub fn insert(&mut self, host: HostEntry) -> u32 {
        self.window_urls += host.window.weight();
        self.rules_bytes += host.rules_bytes();
        self.unplaced += 1;
        self.entries.insert(host)
    }

    /// Removes a loose host, which has no address any more.
    pub fn remove(&mut self, id: u32) -> HostEntry {
        let host = self.entries.remove(id);
        self.window_urls -= host.window.weight();
        self.rules_bytes -= host.rules_bytes();
        self.unplaced -= 1;
        host
    }

    /// Records the IP entry of a host that had none.
    pub fn set_address(&mut self, id: u32, ip: u32) {
        self.entries[id].ip = ip;
        self.unplaced -= 1;
    }

    /// Records the part of a host's address that its IP entry lacks.
    pub fn set_interface(&mut self, id: u32, interface: u64) {
        if interface == 0 {
            self.interfaces.remove(&id);
        } else {
            self.interfaces.insert(id, interface);
        }
    }

    /// Returns the part of a host's address that its IP entry lacks; 0 for IPv4.
    pub fn interface(&self, id: u32) -> u64 {
        self.interfaces.get(&id).copied().unwrap_or(0)
    }

    /// Removes and returns the IP entry of a host.
    pub fn take_address(&mut self, id: u32) -> Option<u32> {
        let ip = std::mem::replace(&mut self.entries[id].ip, ABSENT);
        if ip == ABSENT {
            return None;
        }
        self.unplaced += 1;
        self.interfaces.remove(&id);
        Some(ip)
    }

    /// Lets a loose host sleep.
    pub fn sleep(&mut self, id: u32, until: Timestamp) {
        self.entries[id].phase = HostPhase::Asleep;
        let node = self.sequence.node(until, id);
        self.sleepers.push(node, &mut self.entries);
    }

    /// Removes a host from the sleepers.
    pub fn wake(&mut self, id: u32) {
        let position = self.entries[id].position;
        self.sleepers.remove(position, &mut self.entries);
    }

    /// Removes and returns the first sleeper whose time has come; it is loose.
    pub fn pop_awake(&mut self, now: Timestamp) -> Option<u32> {
        self.sleepers.first().filter(|node| node.at <= now)?;
        let id = self.sleepers.pop(&mut self.entries)?.id;
        self.entries[id].phase = HostPhase::Loose;
        Some(id)
    }

    /// Returns the time at which the next sleeper wakes.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.sleepers.first().map(|node| node.at)
    }

    /// Adds a refill to the window of a host.
    pub fn refill(&mut self, id: u32, urls: Vec<Queued>, more: bool) {
        self.window_urls += weight(&urls);
        self.entries[id].window.refill(urls, more);
    }

    /// Removes and returns the URLs of a visit, at most `len_max` from index `start` of the window
    /// on and all of one origin, and reserves their pages.
    pub fn begin_pages(&mut self, id: u32, start: usize, len_max: usize) -> (Origin, Vec<Queued>) {
        let host = &mut self.entries[id];
        let (origin, urls) = host.window.take_run(start, len_max);
        host.reserved = urls.len() as u32;
        host.pages_left -= u64::from(host.reserved);
        self.window_urls -= weight(&urls);
        (origin, urls)
    }

    /// Ends a visit that has fetched `pages`; `returned` URLs were not tried.
    pub fn end_pages(&mut self, id: u32, pages: u32, returned: Vec<Queued>) {
        let host = &mut self.entries[id];
        let unused = std::mem::take(&mut host.reserved).saturating_sub(pages);
        host.pages_left = host.pages_left.saturating_add(u64::from(unused));
        self.put_back(id, returned);
    }

    /// Removes and returns the URLs in the window of a host that satisfy `is_taken`.
    pub fn take_urls(
        &mut self,
        id: u32,
        is_taken: impl Fn(&HostEntry, &Queued) -> bool,
    ) -> Vec<Queued> {
        let host = &mut self.entries[id];
        let mut window = std::mem::take(&mut host.window);
        let urls = window.take_matching(|url| is_taken(host, url));
        host.window = window;
        self.window_urls -= weight(&urls);
        urls
    }

    /// Adds URLs before the first one of a window.
    pub fn put_back(&mut self, id: u32, urls: Vec<Queued>) {
        self.window_urls += weight(&urls);
        self.entries[id].window.put_back(urls);
    }

    /// Cuts the window of a host to `share`, a weight. Returns the queue keys of the URLs cut off.
    pub fn cut_window(&mut self, id: u32, share: usize) -> Vec<QueueKey> {
        let cut = self.entries[id].window.cut(share);
        self.window_urls -= weight(&cut);
        cut.iter().map(|url| url.queue_key).collect()
    }

    /// Replaces or adds the robots.txt record of one origin of a host.
    pub fn set_record(&mut self, id: u32, origin: Origin, record: RobotsRecord) {
        let host = &mut self.entries[id];
        self.rules_bytes -= host.rules_bytes();
        set_record(&mut host.robots, origin, record);
        self.rules_bytes += host.rules_bytes();
    }
}

impl Index<u32> for Hosts {
    type Output = HostEntry;
    fn index(&self, id: u32) -> &HostEntry {
        &self.entries[id]
    }
}

impl IndexMut<u32> for Hosts {
    fn index_mut(&mut self, id: u32) -> &mut HostEntry {
        &mut self.entries[id]
    }
}

impl Positions for Slab<HostEntry> {
    fn set_position(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}

impl Positions for Hosts {
    fn set_position(&mut self, id: u32, position: u32) {
        self.entries.set_position(id, position);
    }
}
