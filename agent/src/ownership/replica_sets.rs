//! Cache of the replica sets of groups. Its size is fixed, and a new view invalidates all entries
//! without touching them, so that no step has to grow or to clear it.

use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::cell::RefCell;
use std::sync::Arc;

/// Number of cached sets: some 8 MiB, of which half a MiB is allocated before the first use. A miss
/// costs a computation of some 100 ns.
const CACHED: usize = 1 << 16;

/// Agents that hold a group.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// The owner, then the replicas.
    pub all: Arc<[AgentId]>,
    /// Members of `all` other than this agent.
    pub others: Arc<[AgentId]>,
}

/// A cached set, as of an epoch.
#[derive(Clone, Debug)]
struct Entry {
    group: GroupHash,
    epoch: u64,
    set: ReplicaSet,
}

/// Cached replica sets. A group's place is its hash modulo `CACHED`; a place has the set of the group
/// that was looked up last.
#[derive(Debug)]
pub struct ReplicaSets(RefCell<Box<[Option<Box<Entry>>]>>);

impl Default for ReplicaSets {
    fn default() -> Self {
        Self(RefCell::new(vec![None; CACHED].into()))
    }
}

impl ReplicaSets {
    /// Returns the replica set of a group in an epoch. If it is not cached, `find` determines it; it
    /// must not use the cache.
    pub fn get(
        &self,
        group: GroupHash,
        epoch: u64,
        find: impl FnOnce() -> ReplicaSet,
    ) -> ReplicaSet {
        let slot = &mut self.0.borrow_mut()[group.0 as usize % CACHED];
        match slot {
            Some(entry) if (entry.group, entry.epoch) == (group, epoch) => entry.set.clone(),
            _ => {
                let set = find();
                let entry = Entry { group, epoch, set: set.clone() };
                match slot {
                    Some(old) => **old = entry,
                    None => *slot = Some(Box::new(entry)),
                }
                set
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry counts for its group and its epoch only.
    #[test]
    fn an_entry_of_another_group_or_epoch_does_not_count() {
        let sets = ReplicaSets::default();
        let of = |id: u32| {
            let all: Arc<[AgentId]> = Arc::new([AgentId(id)]);
            ReplicaSet { others: Arc::default(), all }
        };
        let (group, same_slot) = (GroupHash(7), GroupHash(7 + CACHED as u64));
        let get = |group, epoch, id| sets.get(group, epoch, || of(id)).all[0].0;
        assert_eq!(get(group, 1, 1), 1);
        assert_eq!(get(group, 1, 2), 1, "it is cached");
        assert_eq!(get(group, 2, 3), 3, "a new epoch");
        assert_eq!(get(same_slot, 2, 4), 4);
        assert_eq!(get(group, 2, 5), 5);
    }
}
