//! Cache of the replica sets of groups. Its size is fixed, and a new view invalidates all entries
//! without touching them, so that no step has to grow or to clear it.

use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::cell::RefCell;
use std::sync::Arc;

/// Number of slots; each group has one place.
const SLOTS: usize = 1 << 16;

/// Agents that hold a group: the owner and the replicas, and the same without this agent.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    pub replica_set: Arc<[AgentId]>,
    pub replicas: Arc<[AgentId]>,
}

#[derive(Clone, Debug)]
struct Slot {
    group: GroupHash,
    epoch: u64,
    replica_set: ReplicaSet,
}

/// Replica sets of groups that were looked up, each in the epoch of the look-up.
#[derive(Debug)]
pub struct ReplicaSets(RefCell<Box<[Option<Slot>]>>);

impl Default for ReplicaSets {
    fn default() -> Self {
        Self(RefCell::new(vec![None; SLOTS].into()))
    }
}

impl ReplicaSets {
    /// Returns the replica set of a group in an epoch; `find` determines it if it is not cached.
    pub fn get(
        &self,
        group: GroupHash,
        epoch: u64,
        find: impl FnOnce() -> ReplicaSet,
    ) -> ReplicaSet {
        let slot = &mut self.0.borrow_mut()[group.0 as usize % SLOTS];
        match slot {
            Some(slot) if (slot.group, slot.epoch) == (group, epoch) => slot.replica_set.clone(),
            _ => {
                let replica_set = find();
                *slot = Some(Slot { group, epoch, replica_set: replica_set.clone() });
                replica_set
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry counts for its group and its epoch only, also if another group has the same slot.
    #[test]
    fn an_entry_of_another_group_or_epoch_does_not_count() {
        let sets = ReplicaSets::default();
        let of = |id: u32| {
            let replica_set: Arc<[AgentId]> = Arc::new([AgentId(id)]);
            ReplicaSet { replicas: Arc::default(), replica_set }
        };
        let (group, same_slot) = (GroupHash(7), GroupHash(7 + SLOTS as u64));
        let get = |group, epoch, id| sets.get(group, epoch, || of(id)).replica_set[0].0;
        assert_eq!(get(group, 1, 1), 1);
        assert_eq!(get(group, 1, 2), 1, "it is cached");
        assert_eq!(get(group, 2, 3), 3, "a new epoch");
        assert_eq!(get(same_slot, 2, 4), 4);
        assert_eq!(get(group, 2, 5), 5);
    }
}
