//! Comparison of the slab with a map.

use crate::workbench::slab::{Keyed, Slab};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Entry(u8);

impl Keyed for Entry {
    type Key = u8;
    fn key(&self) -> &u8 {
        &self.0
    }
}

proptest! {
    #[test]
    fn an_entry_keeps_its_number_while_others_come_and_go(
        keys in proptest::collection::vec(0..40_u8, 1..200),
    ) {
        let mut slab: Slab<Entry> = Slab::default();
        let mut model: BTreeMap<u8, u32> = BTreeMap::new();
        let (mut most, mut left) = (0, None);
        for key in keys {
            // A key that is present is removed; another is inserted.
            match model.remove(&key) {
                Some(id) => {
                    prop_assert_eq!(slab.remove(id).0, key);
                    left = Some(id);
                }
                None => {
                    model.insert(key, slab.insert(Entry(key)));
                }
            }
            let now = left.and_then(|id| slab.get(id)).map(|entry| entry.0);
            let has = model.iter().find(|&(_, &id)| Some(id) == left).map(|(&key, _)| key);
            prop_assert_eq!(now, has, "the id that was freed last has the wrong entry");
            most = most.max(model.len());
            prop_assert_eq!(slab.len(), model.len());
            for other in 0..40 {
                prop_assert_eq!(slab.find(&other), model.get(&other).copied());
            }
            prop_assert!(model.iter().all(|(key, &id)| slab[id].0 == *key));
            let mut ids: Vec<u32> = model.values().copied().collect();
            ids.sort_unstable();
            let there: Vec<u8> = ids.iter().map(|&id| slab[id].0).collect();
            prop_assert!(ids.iter().all(|&id| (id as usize) < most), "ids were not reused");
            prop_assert_eq!(slab.iter().map(|entry| entry.0).collect::<Vec<_>>(), there);
            prop_assert_eq!(slab.ids(), ids);
        }
    }
}
