//! Waiters for replication: acknowledgements and own rows that wait until replicas have stored
//! facts.
//!
//! A waiter waits for the tails that its lanes had when it began. The rows of a lane before its
//! head are acknowledged. This module has no I/O.

use crate::cluster::outbox::LaneKey;
use std::collections::{BTreeMap, HashMap};

/// Values that wait until rows of lanes are acknowledged.
#[derive(Debug)]
pub struct AckWaiters<T> {
    last: u64,
    open: HashMap<u64, (usize, T)>,
    /// Waiters of each lane, by the last row that must be acknowledged.
    lanes: BTreeMap<LaneKey, BTreeMap<u64, Vec<u64>>>,
}

impl<T> Default for AckWaiters<T> {
    fn default() -> Self {
        Self { last: 0, open: HashMap::new(), lanes: BTreeMap::new() }
    }
}

impl<T> AckWaiters<T> {
    /// Keeps `then` until each lane's head is beyond its number. Returns it at once if there is
    /// nothing to wait for.
    pub fn begin(&mut self, ends: &[(LaneKey, u64)], then: T) -> Option<T> {
        if ends.is_empty() {
            return Some(then);
        }
        self.last += 1;
        for &(lane, seq) in ends {
            self.lanes.entry(lane).or_default().entry(seq).or_default().push(self.last);
        }
        self.open.insert(self.last, (ends.len(), then));
        None
    }

    /// Updates the lowest unacknowledged number of a lane to `head`. Returns the values that need
    /// not wait any more.
    pub fn reached(&mut self, lane: LaneKey, head: Option<u64>) -> Vec<T> {
        let Some(waiting) = self.lanes.get_mut(&lane) else { return Vec::new() };
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
        self.lanes.clear();
        self.open.drain().map(|(_, (_, then))| then).collect()
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
    fn a_wait_ends_with_the_last_of_its_lines() {
        let (a, b) = ((AgentId(1), Lane::Replicas), (AgentId(2), Lane::Replicas));
        let mut waits = AckWaiters::default();
        assert_eq!(waits.begin(&[], "at once"), Some("at once"));
        assert_eq!(waits.begin(&[(a, 5), (b, 9)], "both"), None);
        assert_eq!(waits.begin(&[(a, 6)], "one"), None);
        assert!(waits.reached(a, Some(5)).is_empty(), "5 itself is not acknowledged yet");
        assert!(waits.reached(a, Some(6)).is_empty(), "only one of two replicas has acknowledged");
        assert_eq!(waits.reached(b, None), ["both"]);
        assert_eq!(waits.reached(a, Some(8)), ["one"]);
        assert!(waits.is_empty());
        assert_eq!(waits.begin(&[(a, 9)], "forgotten"), None);
        assert_eq!(waits.clear(), ["forgotten"]);
        assert!(waits.reached(a, None).is_empty());
    }
}
