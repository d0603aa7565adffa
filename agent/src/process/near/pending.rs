//! Pages that are not committed yet: pages of one commit find each other.

use super::earlier_page::EarlierPage;
use crate::storage::near::{DISTANCE_MAX, NearTables};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A page that is not committed yet.
#[derive(Debug)]
pub(super) struct PendingPage {
    pub(super) number: u64,
    pub(super) fingerprint: u64,
    pub(super) page: Arc<EarlierPage>,
    /// Hash of its registrable domain, 7 bits.
    pub(super) domain: u8,
    /// True if its links are followed; unset until it was handed over.
    pub(super) is_followed: OnceLock<bool>,
}

/// All pages that are not committed yet, by their lists in the tables.
#[derive(Debug, Default)]
pub(super) struct PendingPages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    by_list: HashMap<u32, SmallVec<[Arc<PendingPage>; 1]>, RandomState>,
}

impl PendingPages {
    /// Adds a page. Returns it, and the pages before it whose fingerprints are near.
    pub(super) fn add(
        &self,
        tables: NearTables,
        fingerprint: u64,
        (page, domain): (EarlierPage, u8),
    ) -> (Arc<PendingPage>, Vec<(u32, Arc<PendingPage>)>) {
        let lists = tables.lists(fingerprint).map(|(list, _)| list);
        let mut state = self.0.lock();
        let mut near: Vec<(u32, Arc<PendingPage>)> = Vec::new();
        for other in lists.clone().filter_map(|list| state.by_list.get(&list)).flatten() {
            let distance = (other.fingerprint ^ fingerprint).count_ones();
            if distance <= DISTANCE_MAX && near.iter().all(|(_, of)| of.number != other.number) {
                near.push((distance, other.clone()));
            }
        }
        let number = state.next;
        state.next += 1;
        let (page, is_followed) = (Arc::new(page), OnceLock::new());
        let added = Arc::new(PendingPage { number, fingerprint, page, domain, is_followed });
        for list in lists {
            state.by_list.entry(list).or_default().push(added.clone());
        }
        (added, near)
    }

    /// Removes a page.
    pub(super) fn remove(&self, tables: NearTables, fingerprint: u64, number: u64) {
        let mut state = self.0.lock();
        for (list, _) in tables.lists(fingerprint) {
            if let Some(pages) = state.by_list.get_mut(&list) {
                pages.retain(|page| page.number != number);
                if pages.is_empty() {
                    state.by_list.remove(&list);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().by_list.is_empty()
    }
}
