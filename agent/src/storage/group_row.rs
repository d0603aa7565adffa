//! A group's own row in `hosts`: what of the limits per domain is taken, by class of finder.

use super::{Family, Row, RowReader, RowWriter};
use crate::messages::Finder;
use smallvec::SmallVec;

/// Use of a group's limits by one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ShareUsage {
    /// Hosts whose name had an address at some time.
    pub hosts: u64,
    /// Other hosts with queued URLs.
    pub unresolved: u64,
    /// Queued URLs.
    pub urls: u64,
    /// Bytes of their paths.
    pub bytes: u64,
}

impl ShareUsage {
    /// Adds or removes a host, which had an address at some time or not.
    pub const fn count_host(&mut self, resolved: bool, adds: bool) {
        let hosts = if resolved { &mut self.hosts } else { &mut self.unresolved };
        *hosts = if adds { *hosts + 1 } else { hosts.saturating_sub(1) };
    }

    /// Adds a queued URL with a path of `bytes`.
    pub const fn add_url(&mut self, bytes: u64) {
        self.urls += 1;
        self.bytes += bytes;
    }

    /// Removes a queued URL with a path of `bytes`.
    pub const fn remove_url(&mut self, bytes: u64) {
        self.urls = self.urls.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// A group's own row in `hosts`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GroupRow {
    /// Number of pages fetched with success from all hosts, while there is a limit per domain.
    pub pages: u64,
    /// Classes that take anything. Most groups have one or two.
    classes: SmallVec<[(Finder, ShareUsage); 2]>,
}

impl GroupRow {
    /// Returns what each class takes; classes that take nothing are missing.
    pub fn classes(&self) -> impl Iterator<Item = (Finder, ShareUsage)> + Clone {
        self.classes.iter().copied()
    }

    /// Returns the number of hosts that count.
    pub fn hosts(&self) -> u64 {
        self.classes().map(|(_, taken)| taken.hosts + taken.unresolved).sum()
    }

    /// Changes what a class takes.
    pub fn change(&mut self, finder: Finder, change: impl FnOnce(&mut ShareUsage)) {
        let at = self.classes.iter().position(|(class, _)| *class == finder);
        let at = at.unwrap_or_else(|| {
            self.classes.push((finder, ShareUsage::default()));
            self.classes.len() - 1
        });
        change(&mut self.classes[at].1);
        if self.classes[at].1 == ShareUsage::default() {
            self.classes.swap_remove(at);
        }
    }

    /// Encodes the value.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        w.number(self.pages);
        for (finder, taken) in self.classes() {
            w.byte(finder.code());
            for n in [taken.hosts, taken.unresolved, taken.urls, taken.bytes] {
                w.number(n);
            }
        }
        w.finish()
    }
}

impl Row for GroupRow {
    const FAMILY: Family = Family::Hosts;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let mut row = Self { pages: r.number()?, ..Self::default() };
        while let Some(code) = r.byte() {
            let finder = Finder::from_code(code)?;
            let taken = ShareUsage {
                hosts: r.number()?,
                unresolved: r.number()?,
                urls: r.number()?,
                bytes: r.number()?,
            };
            row.change(finder, |class| *class = taken);
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_what_each_class_takes() {
        let mut row = GroupRow { pages: 300, ..GroupRow::default() };
        row.change(Finder::OWN, |usage| usage.add_url(70));
        row.change(Finder::SEED, |usage| usage.count_host(true, true));
        row.change(Finder::LAST, |usage| usage.count_host(false, true));
        assert_eq!(GroupRow::decode(&row.encode()).unwrap(), row);
        assert_eq!((row.hosts(), row.classes().count()), (2, 3));
        let bytes = row.encode();
        assert!(GroupRow::decode(&bytes[..bytes.len() - 1]).is_err());
        row.change(Finder::OWN, |usage| usage.remove_url(70));
        assert_eq!(row.classes().count(), 2, "a class that takes nothing is dropped");
    }
}
