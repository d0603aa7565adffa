//! Letting new URLs in: through the sieve, past the closed hosts, into their hosts' queues.

use super::groups::Groups;
use super::resident::Resident;
use super::{Ledger, mark};
use crate::disk::values::{HostRow, Outcome, encode_queued};
use crate::disk::{Batch, DiskError, Family, keys};
use crate::flow::{Found, Queued};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};

impl Ledger {
    /// Lets the new ones among `found` into the frontier, in their order.
    pub(super) fn admit(
        &mut self,
        batch: &mut Batch,
        groups: &mut Groups,
        found: &[&Found],
    ) -> Result<(), DiskError> {
        let keys: Vec<UrlKey> =
            found.iter().map(|f| UrlKey { group: f.host.group, url: f.hash }).collect();
        let mut fresh = Vec::new();
        self.sieve.sift(&keys, &mut fresh)?;
        let new: Vec<&Found> =
            found.iter().zip(&fresh).filter(|&(_, &fresh)| fresh).map(|(&f, _)| f).collect();
        let hosts: Vec<HostKey> = new.iter().map(|f| f.host).collect();
        self.load(&hosts)?;
        for url in new {
            self.totals.seen += 1;
            let key = keys::seen(UrlKey { group: url.host.group, url: url.hash });
            if let Some(reason) = self.refusal(groups, url)? {
                self.totals.discards.count(reason);
                let outcome = Outcome::Discarded(reason).encode();
                self.disk.put(batch, Family::Seen, &key, &outcome);
            } else {
                self.disk.put(batch, Family::Seen, &key, Outcome::QUEUED);
                self.queue(batch, url);
            }
        }
        Ok(())
    }

    /// Why a new URL is not let in; makes its host's row if it is the first of its host.
    fn refusal(&mut self, groups: &mut Groups, url: &Found) -> Result<Option<Discard>, DiskError> {
        if let Some(resident) = self.hosts.get(&url.host) {
            return Ok(resident.row.closed);
        }
        if let Some(max) = self.limits.hosts_per_domain {
            let group = groups.row(&self.disk, url.host.group)?;
            if group.hosts >= max {
                return Ok(Some(Discard::TooManyHosts));
            }
            group.hosts += 1;
        }
        let row = HostRow { name: url.url.host().into(), ..HostRow::default() };
        self.hosts.insert(url.host, Resident::new(row));
        self.totals.hosts += 1;
        Ok(None)
    }

    /// Puts a new URL at the end of its host's queue.
    fn queue(&mut self, batch: &mut Batch, url: &Found) {
        let queued = Queued {
            place: self.next_place(),
            hash: url.hash,
            origin: url.url.origin(),
            path: url.url.path_and_query().into(),
            depth: url.depth,
            attempts: 0,
            kind: url.kind,
        };
        let key = keys::frontier(url.host, queued.place);
        self.disk.put(batch, Family::Frontier, &key, &encode_queued(&queued));
        self.totals.queued += 1;
        if let Some(resident) = self.hosts.get_mut(&url.host) {
            resident.row.queued += 1;
            resident.cursor = resident.cursor.min(queued.place);
            mark(&mut self.dirty, url.host, resident);
        }
    }

    /// Brings the rows of those hosts into memory that have one and are not there.
    pub(super) fn load(&mut self, hosts: &[HostKey]) -> Result<(), DiskError> {
        let mut missing: Vec<HostKey> =
            hosts.iter().copied().filter(|host| !self.hosts.contains_key(host)).collect();
        missing.sort_unstable();
        missing.dedup();
        let rows: Vec<_> = missing.iter().map(|&host| keys::host(host)).collect();
        let (loaded, visitors) = (&mut self.hosts, &mut self.visitors);
        self.disk.get_sorted(Family::Hosts, &rows, |i, value| {
            if let Some(value) = value {
                loaded.insert(missing[i], Resident::new(HostRow::decode(value)?));
                visitors.push(missing[i]);
            }
            Ok(())
        })
    }
}
