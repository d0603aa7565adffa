//! The hosts in memory: on the workbench, with pages in flight, or touched by the current commit.

use super::host_in_memory::HostInMemory;
use crate::messages::Finder;
use crate::storage::values::HostRow;
use crate::storage::{Database, DiskError, Family, Row, keys};
use crivello_common::hash::{GroupHash, HostKey};
use crivello_ranks::HostRanks;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::mem::{replace, take};
use std::sync::Arc;

/// A hash map with a fast hash function, for keys that are hashes.
pub type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The hosts in memory, those whose rows the next commit writes, and the pages reserved for them.
#[derive(Debug)]
pub struct HostTable {
    disk: Arc<Database>,
    /// Boxed, because the map has up to twice as many slots as hosts, and some more.
    hosts: Map<HostKey, Box<HostInMemory>>,
    /// Hosts whose row in memory is newer than the row on disk.
    dirty: Vec<HostKey>,
    /// Hosts loaded for the current commit, or written by it.
    loaded: Vec<HostKey>,
    /// Pages reserved for hosts, by group, and not yet counted in the group's row. Used only with a
    /// page limit per domain.
    reserved_pages: Map<GroupHash, u64>,
}

impl HostTable {
    pub fn new(disk: Arc<Database>) -> Self {
        Self {
            disk,
            hosts: Map::default(),
            dirty: Vec::new(),
            loaded: Vec::new(),
            reserved_pages: Map::default(),
        }
    }

    /// Loads the rows of hosts that have one and are not in memory.
    pub fn load(&mut self, hosts: &[HostKey]) -> Result<(), DiskError> {
        let mut missing: Vec<HostKey> =
            hosts.iter().copied().filter(|host| !self.hosts.contains_key(host)).collect();
        missing.sort_unstable();
        missing.dedup();
        let rows: Vec<_> = missing.iter().map(|&host| keys::host(host)).collect();
        let (hosts, loaded) = (&mut self.hosts, &mut self.loaded);
        self.disk.get_sorted(Family::Hosts, &rows, |i, value| {
            if let Some(value) = value {
                hosts.insert(missing[i], HostInMemory::new(HostRow::decode(value)?));
                loaded.push(missing[i]);
            }
            Ok(())
        })
    }

    pub fn get(&self, host: HostKey) -> Option<&HostInMemory> {
        self.hosts.get(&host).map(|entry| &**entry)
    }

    /// Returns a host for changes that its row does not record.
    pub fn get_mut(&mut self, host: HostKey) -> Option<&mut HostInMemory> {
        self.hosts.get_mut(&host).map(|entry| &mut **entry)
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Adds a host that has no row yet. The next commit writes its row.
    pub fn insert(&mut self, host: HostKey, name: Arc<str>, finder: Finder) {
        let row = HostRow { name, finder, ..HostRow::default() };
        let mut entry = HostInMemory::new(row);
        entry.dirty = true;
        self.dirty.push(host);
        self.hosts.insert(host, entry);
    }

    /// Changes a host, if it is in memory. The next commit writes its row.
    pub fn change<T>(
        &mut self,
        host: HostKey,
        f: impl FnOnce(&mut HostInMemory) -> T,
    ) -> Option<T> {
        let entry = self.hosts.get_mut(&host)?;
        if !replace(&mut entry.dirty, true) {
            self.dirty.push(host);
        }
        Some(f(entry))
    }

    /// Makes the next commit move a host that waits to its class by these ranks.
    pub fn reclassify(&mut self, host: HostKey, ranks: Option<&HostRanks>) {
        let place = |entry: &HostInMemory| entry.row.scheduled.filter(|_| !entry.on_workbench);
        if let Some(entry) = self.get(host)
            && place(entry).is_some_and(|place| place.class != entry.class(ranks))
        {
            self.change(host, |entry| entry.reclassify = true);
        }
    }

    /// Number of hosts whose rows the next commit writes.
    pub fn n_dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Takes the hosts whose rows are to be written.
    pub fn take_dirty(&mut self) -> Vec<HostKey> {
        take(&mut self.dirty)
    }

    /// Removes idle hosts from memory: those loaded for the current commit, and `written` ones.
    pub fn forget_idle(&mut self, written: &[HostKey]) {
        for &host in written {
            self.trim_reservation(host);
        }
        self.loaded.extend(written);
        for host in take(&mut self.loaded) {
            if self.hosts.get(&host).is_some_and(|entry| entry.is_idle()) {
                self.forget(host);
            }
        }
    }

    /// Removes a host from memory.
    pub fn forget(&mut self, host: HostKey) {
        if let Some(entry) = self.hosts.remove(&host) {
            self.release(host.group, entry.reserved_pages);
        }
    }

    /// Returns those of `groups` with hosts that are on the workbench, have pages in flight, or are
    /// being dropped.
    pub fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        let busy = self.hosts.iter().filter(|(_, entry)| entry.is_busy());
        busy.map(|(host, _)| host.group).filter(|group| groups.contains(group)).collect()
    }

    /// Number of pages reserved for the hosts of a domain.
    pub fn reserved(&self, group: GroupHash) -> u64 {
        self.reserved_pages.get(&group).copied().unwrap_or(0)
    }

    /// Reserves pages of its domain's limit for a host, in addition to those for its pages in
    /// flight.
    pub fn reserve(&mut self, host: HostKey, pages: u64) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.reserved_pages += pages;
            *self.reserved_pages.entry(host.group).or_default() += pages;
        }
    }

    /// Releases the reservation of a page that is now counted in its domain's row.
    pub fn count_reserved_page(&mut self, host: HostKey) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        if entry.reserved_pages > 0 {
            entry.reserved_pages -= 1;
            self.release(host.group, 1);
        }
    }

    /// Reduces the reservation of a host that left the workbench to its pages in flight.
    fn trim_reservation(&mut self, host: HostKey) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let keeps = if entry.on_workbench { u64::MAX } else { entry.checked_out.len() as u64 };
        let too_many = entry.reserved_pages.saturating_sub(keeps);
        entry.reserved_pages -= too_many;
        if too_many > 0 {
            self.release(host.group, too_many);
        }
    }

    fn release(&mut self, group: GroupHash, pages: u64) {
        if let Some(reserved) = self.reserved_pages.get_mut(&group) {
            *reserved = reserved.saturating_sub(pages);
            if *reserved == 0 {
                self.reserved_pages.remove(&group);
            }
        }
    }
}
