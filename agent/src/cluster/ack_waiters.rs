//! What waits until others have stored copies: answers to other agents, and own rows.
//!
//! A wait is for the ends of lines as they were when it began: a line's rows are acknowledged up to
//! its head. Pure.

use crate::cluster::outbox::Line;
use std::collections::{BTreeMap, HashMap};

/// See the module.
#[derive(Debug)]
pub struct AckWaiters<T> {
    last: u64,
    open: HashMap<u64, (usize, T)>,
    /// For each line, by the last number that is waited for.
    lines: BTreeMap<Line, BTreeMap<u64, Vec<u64>>>,
}

impl<T> Default for AckWaiters<T> {
    fn default() -> Self {
        Self { last: 0, open: HashMap::new(), lines: BTreeMap::new() }
    }
}

impl<T> AckWaiters<T> {
    /// AckWaiters until each line's head is beyond the number; gives `then` back if that is so already.
    pub fn begin(&mut self, ends: &[(Line, u64)], then: T) -> Option<T> {
        if ends.is_empty() {
            return Some(then);
        }
        self.last += 1;
        for &(line, seq) in ends {
            self.lines.entry(line).or_default().entry(seq).or_default().push(self.last);
        }
        self.open.insert(self.last, (ends.len(), then));
        None
    }

    /// The line's lowest number that is not acknowledged is `head` now; what need not wait any more.
    pub fn reached(&mut self, line: Line, head: Option<u64>) -> Vec<T> {
        let Some(waiting) = self.lines.get_mut(&line) else { return Vec::new() };
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

    /// An epoch ends: nothing is waited for any more.
    pub fn clear(&mut self) -> Vec<T> {
        self.lines.clear();
        self.open.drain().map(|(_, (_, then))| then).collect()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Class;
    use crivello_common::view::AgentId;

    #[test]
    fn a_wait_ends_with_the_last_of_its_lines() {
        let (a, b) = ((AgentId(1), Class::Copies), (AgentId(2), Class::Copies));
        let mut waits = AckWaiters::default();
        assert_eq!(waits.begin(&[], "at once"), Some("at once"));
        assert_eq!(waits.begin(&[(a, 5), (b, 9)], "both"), None);
        assert_eq!(waits.begin(&[(a, 6)], "one"), None);
        assert!(waits.reached(a, Some(5)).is_empty(), "5 itself is not acknowledged");
        assert!(waits.reached(a, Some(6)).is_empty(), "one of two");
        assert_eq!(waits.reached(b, None), ["both"]);
        assert_eq!(waits.reached(a, Some(8)), ["one"]);
        assert!(waits.is_empty());
        assert_eq!(waits.begin(&[(a, 9)], "forgotten"), None);
        assert_eq!(waits.clear(), ["forgotten"]);
        assert!(waits.reached(a, None).is_empty());
    }
}
