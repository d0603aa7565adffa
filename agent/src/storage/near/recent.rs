//! Pages in memory that are in no file yet.

use super::{ENTRIES_MAX, NearEntry, NearPlace, NearTables, REST_BITS, near_distance};

/// Maximum number of pages: some 10 MiB with four tables, twice as much with ten.
pub(super) const RECENT_MAX: usize = 1 << 18;
/// End of a list.
const END: u32 = u32::MAX;

/// Pages in the order in which they were archived, with linked lists of those that begin alike in a table.
#[derive(Debug)]
pub struct RecentPages {
    tables: NearTables,
    pages: Vec<(u64, NearEntry)>,
    /// Index of the newest page of each list; empty before the first page.
    newest: Vec<u32>,
    /// Index of the next older page of the same list, for each page and table.
    older: Vec<u32>,
}

impl RecentPages {
    pub(super) const fn new(tables: NearTables) -> Self {
        Self { tables, pages: Vec::new(), newest: Vec::new(), older: Vec::new() }
    }

    pub(super) const fn tables(&self) -> NearTables {
        self.tables
    }

    pub(super) const fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the places of the first and the last page.
    pub(super) fn range(&self) -> Option<(NearPlace, NearPlace)> {
        let (first, last) = (self.pages.first()?, self.pages.last()?);
        Some((first.1.place, last.1.place))
    }

    /// Adds a page, which was archived after the others.
    pub(super) fn add(&mut self, fingerprint: u64, entry: NearEntry) {
        debug_assert!(self.range().is_none_or(|(_, last)| last < entry.place), "not in order");
        if self.newest.is_empty() {
            self.newest = vec![END; self.tables.list_count()];
        }
        for (list, _) in self.tables.lists(fingerprint) {
            let newest = &mut self.newest[list as usize];
            self.older.push(*newest);
            *newest = self.pages.len() as u32;
        }
        self.pages.push((fingerprint, entry));
    }

    /// Calls `f` with the distance and the entry of each near page, once for each table that has it.
    pub(super) fn find(&self, fingerprint: u64, mut f: impl FnMut(u32, NearEntry)) {
        if self.pages.is_empty() {
            return;
        }
        for (table, (list, _)) in self.tables.lists(fingerprint).enumerate() {
            let mut at = self.newest[list as usize];
            let mut n_seen = 0;
            while at != END && n_seen < ENTRIES_MAX {
                let (other, entry) = self.pages[at as usize];
                if let Some(distance) = near_distance(other, fingerprint) {
                    f(distance, entry);
                }
                at = self.older[at as usize * self.tables.count() + table];
                n_seen += 1;
            }
        }
    }

    /// Returns the pages of each list of a table, the oldest first.
    pub(super) fn sorted(&self, table: usize) -> SortedPages {
        let of_page = |fingerprint| self.tables.arrange(table, fingerprint);
        let mut pages: Vec<(u64, NearEntry)> =
            self.pages.iter().map(|&(bits, entry)| (of_page(bits), entry)).collect();
        // Pages of a list stay in their order.
        pages.sort_by_key(|&(bits, _)| bits >> REST_BITS);
        SortedPages { pages, n_taken: 0 }
    }
}

/// Pages of a table, by list. The numbers begin with the bits of the table.
pub(super) struct SortedPages {
    pages: Vec<(u64, NearEntry)>,
    n_taken: usize,
}

impl SortedPages {
    /// Returns the pages whose numbers begin with `bits`, which rises from call to call.
    pub(super) fn take(&mut self, bits: u64) -> &[(u64, NearEntry)] {
        let rest = &self.pages[self.n_taken..];
        let n = rest.iter().take_while(|page| page.0 >> REST_BITS == bits).count();
        self.n_taken += n;
        &rest[..n]
    }
}
