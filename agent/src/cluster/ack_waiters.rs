//! Waiters for durability: acknowledgements and own rows that wait until facts are synced here, and
//! stored by replicas.
//!
//! A waiter waits for a number of each of its barriers. For a lane that is the tail that the lane had
//! when the waiter began: the rows before the lane's head are acknowledged. This module has no I/O.

use crate::cluster::outbox::LaneKey;
use std::collections::{BTreeMap, HashMap};

/// Condition with a number that only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barrier {
    /// Rows of a lane that are acknowledged, by their numbers.
    Lane(LaneKey),
    /// Commits of this agent that are synced, by their count.
    Sync,
}

/// Values that wait for barriers.
#[derive(Debug)]
pub struct AckWaiters<T> {
    last: u64,
    open: HashMap<u64, (usize, T)>,
    /// Waiters of each barrier, by the number that must be passed.
    barriers: BTreeMap<Barrier, BTreeMap<u64, Vec<u64>>>,
}

impl<T> Default for AckWaiters<T> {
    fn default() -> Self {
        Self { last: 0, open: HashMap::new(), barriers: BTreeMap::new() }
    }
}

impl<T> AckWaiters<T> {
    /// Keeps `then` until each barrier is beyond its number. Returns it at once if there is nothing to
    /// wait for.
    pub fn begin(&mut self, ends: &[(Barrier, u64)], then: T) -> Option<T> {
        if ends.is_empty() {
            return Some(then);
        }
        self.last += 1;
        for &(barrier, end) in ends {
            self.barriers.entry(barrier).or_default().entry(end).or_default().push(self.last);
        }
        self.open.insert(self.last, (ends.len(), then));
        None
    }

    /// Updates the lowest number of a barrier that is not passed to `head`; `None` if all are passed.
    /// Returns the values that need not wait any more.
    pub fn reached(&mut self, barrier: Barrier, head: Option<u64>) -> Vec<T> {
        let Some(waiting) = self.barriers.get_mut(&barrier) else { return Vec::new() };
        let rest = head.map_or_else(BTreeMap::new, |head| waiting.split_off(&head));
        let over = std::mem::replace(waiting, rest);
        let mut ready = Vec::new();
        for id in over.into_values().flatten() {
            if let Some((left, _)) = self.open.get_mut(&id) {
                *left -= 1;
                if *left == 0
                    && let Some((_, then)) = self.open.remove(&id)
                {
                    ready.push(then);
                }
            }
        }
        ready
    }

    /// Removes and returns all values, at the end of an epoch.
    pub fn clear(&mut self) -> Vec<T> {
        self.barriers.clear();
        self.open.drain().map(|(_, (_, then))| then).collect()
    }

    /// Returns true if a value waits for a barrier.
    pub fn await_any(&self, barrier: Barrier) -> bool {
        self.barriers.get(&barrier).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Returns true if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Lane;
    use crivello_common::view::AgentId;

    #[test]
    fn a_wait_ends_with_the_last_of_its_barriers() {
        let lane = |agent| Barrier::Lane((AgentId(agent), Lane::Replicas));
        let (a, b) = (lane(1), lane(2));
        let mut waits = AckWaiters::default();
        assert_eq!(waits.begin(&[], "at once"), Some("at once"));
        assert_eq!(waits.begin(&[(a, 5), (b, 9), (Barrier::Sync, 1)], "all"), None);
        assert_eq!(waits.begin(&[(a, 6)], "one"), None);
        assert!(waits.reached(a, Some(5)).is_empty(), "5 itself is not acknowledged yet");
        assert!(waits.reached(a, Some(6)).is_empty(), "only one of two replicas has acknowledged");
        assert!(waits.reached(b, None).is_empty(), "the commit is not synced");
        assert!(waits.await_any(Barrier::Sync));
        assert!(waits.reached(Barrier::Sync, Some(1)).is_empty());
        assert_eq!(waits.reached(Barrier::Sync, Some(2)), ["all"]);
        assert!(!waits.await_any(Barrier::Sync));
        assert_eq!(waits.reached(a, Some(8)), ["one"]);
        assert!(waits.is_empty());
        assert_eq!(waits.begin(&[(a, 9)], "forgotten"), None);
        assert_eq!(waits.clear(), ["forgotten"]);
        assert!(waits.reached(a, None).is_empty());
    }
}
