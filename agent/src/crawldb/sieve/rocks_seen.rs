//! The seen set without data of its own: it looks up the rows of `seen`.
//!
//! A batch is sorted and looked up in one call, so that neighbors share blocks and filters.
//! Mercator (Heydon and Najork 1999) and BUbiNG (Boldi et al. 2018) use sorted files instead; an LSM
//! tree does the same merging, and answers at once (see `docs/decisions/no-offline-sieve.md`).

use super::seen_set::{Lookup, SeenSet};
use crate::storage::{Database, DiskError, Family, keys};
use crivello_common::hash::UrlKey;
use std::sync::Arc;

/// A seen set over the rows of `seen`. URLs that pass must be written there before the next batch
/// is offered.
#[derive(Debug)]
pub struct RocksSeen {
    disk: Arc<Database>,
    order: Vec<u32>,
    sorted: Vec<[u8; keys::PAIR]>,
}

impl RocksSeen {
    /// Creates a seen set over this database.
    #[must_use]
    pub const fn new(disk: Arc<Database>) -> Self {
        Self { disk, order: Vec::new(), sorted: Vec::new() }
    }
}

impl SeenSet for RocksSeen {
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        let Self { disk, order, sorted } = self;
        order.clear();
        order.extend((0u32..).zip(batch).map(|(i, _)| i));
        // Equal keys stay in the order of appearance, so only the first of them is looked up.
        order.sort_unstable_by_key(|&i| (batch[i as usize].key, i));
        order.dedup_by_key(|i| batch[*i as usize].key);
        sorted.clear();
        sorted.extend(order.iter().map(|&i| keys::seen(batch[i as usize].key)));
        let before = passed.len();
        let looked = disk.get_sorted(Family::Seen, sorted, |k, value| {
            if value.is_none() {
                passed.push(batch[order[k] as usize].ticket);
            }
            Ok(())
        });
        if looked.is_err() {
            passed.truncate(before);
        }
        passed[before..].sort_unstable();
        looked
    }

    /// Does nothing: the row in `seen` is all there is.
    fn insert(&mut self, _key: UrlKey) {}

    fn memory(&self) -> usize {
        self.order.capacity() * size_of::<u32>() + self.sorted.capacity() * keys::PAIR
    }
}
