//! Totals of the crawl, stored in `meta` by the commit that they count.

use crate::storage::{DiskError, RowReader, RowWriter};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::time::micros;
use std::collections::BTreeMap;
use std::time::Duration;

/// Totals over the life of the crawl, across restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Next number in the order of first appearance.
    pub next_seq: u64,
    /// URLs the sieve let through.
    pub seen: u64,
    /// URLs in the frontier.
    pub queued: u64,
    /// Queued URLs that this agent may fetch, without those of groups that it holds for others.
    pub own_queued: u64,
    /// Queued URLs that were answered before.
    pub queued_again: u64,
    /// Finished URLs that are to be queued again at some time.
    pub scheduled: u64,
    /// Hosts with a row.
    pub hosts: u64,
    /// Responses that count as pages; those of later fetches of a URL do not.
    pub pages: u64,
    /// Bytes of the pages' bodies as received.
    pub bytes: u64,
    /// Bodies that were cut off.
    pub truncated: u64,
    /// Pages whose payload had been archived before.
    pub duplicates: u64,
    /// Pages whose text is nearly that of an earlier one.
    pub near_duplicates: u64,
    /// Responses to requests for robots.txt.
    pub robots: u64,
    /// Links that passed the link rules, counted before the sieve.
    pub links: u64,
    /// Attempts that will be repeated.
    pub retries: u64,
    /// Time spent crawling.
    pub elapsed: Duration,
    /// Pages by HTTP status.
    pub by_status: BTreeMap<u16, u64>,
    /// Attempts that failed, by kind.
    pub failures: [u64; Failure::ALL.len()],
    /// Discarded URLs and links, by reason.
    pub discards: DiscardTally,
}

const VERSION: u8 = 4;

impl Totals {
    /// Encodes the value in `meta`.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::versioned(VERSION);
        for n in [self.next_seq, self.seen, self.queued, self.hosts, self.pages, self.bytes] {
            w.number(n);
        }
        w.number(self.own_queued).number(self.queued_again).number(self.scheduled);
        for n in [self.truncated, self.duplicates, self.near_duplicates] {
            w.number(n);
        }
        w.number(self.robots).number(self.links).number(self.retries);
        w.number(micros(self.elapsed));
        w.number(self.by_status.len() as u64);
        for (&status, &n) in &self.by_status {
            w.number(u64::from(status)).number(n);
        }
        write_codes(&mut w, Failure::ALL.map(|f| (f.code(), self.failures[f as usize])));
        write_codes(&mut w, Discard::ALL.map(|d| (d.code(), self.discards.get(d))));
        w.finish()
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<Self, DiskError> {
        Self::read(value).ok_or(DiskError::Row { family: "meta", what: "totals are malformed" })
    }

    fn read(value: &[u8]) -> Option<Self> {
        let mut r = RowReader(value);
        if r.byte()? != VERSION {
            return None;
        }
        let mut totals = Self {
            next_seq: r.number()?,
            seen: r.number()?,
            queued: r.number()?,
            hosts: r.number()?,
            pages: r.number()?,
            bytes: r.number()?,
            own_queued: r.number()?,
            queued_again: r.number()?,
            scheduled: r.number()?,
            truncated: r.number()?,
            duplicates: r.number()?,
            near_duplicates: r.number()?,
            robots: r.number()?,
            links: r.number()?,
            retries: r.number()?,
            elapsed: Duration::from_micros(r.number()?),
            ..Self::default()
        };
        for _ in 0..r.number()? {
            totals.by_status.insert(r.small()?, r.number()?);
        }
        for _ in 0..r.number()? {
            let (code, n) = (r.byte()?, r.number()?);
            totals.failures[Failure::from_code(code)? as usize] = n;
        }
        for _ in 0..r.number()? {
            let (code, n) = (r.byte()?, r.number()?);
            totals.discards.add(Discard::from_code(code)?, n);
        }
        Some(totals)
    }
}

fn write_codes<const N: usize>(w: &mut RowWriter, counts: [(u8, u64); N]) {
    w.number(N as u64);
    for (code, n) in counts {
        w.byte(code).number(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_survive_the_disk() {
        let mut totals = Totals { pages: 7, queued: 1 << 40, own_queued: 3, ..Totals::default() };
        totals.by_status.insert(404, 3);
        totals.failures[Failure::Tls as usize] = 9;
        totals.discards.add(Discard::Robots, 11);
        let bytes = totals.encode();
        assert_eq!(Totals::decode(&bytes).unwrap(), totals);
        for cut in 0..bytes.len() {
            assert!(Totals::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
