//! Time heap: a min-heap by time that reports the positions of its elements, so that any element
//! can be removed.
//!
//! Four children per node: half the depth of a binary heap, and siblings share one or two cache
//! lines. Equal times are served in order of arrival, except when the sequence number wraps (once
//! in four billion).

use crivello_common::time::Timestamp;
use smallvec::SmallVec;

/// The position of an element that is in no heap.
pub(super) const ABSENT: u32 = u32::MAX;

/// Receives the position of each element that moves ([`ABSENT`] once it is removed).
pub(super) trait Positions {
    /// Records that element `id` is at `position`.
    fn set_position(&mut self, id: u32, position: u32);
}

/// An element that is due at `at`. Among equals the smaller `seq` comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Node {
    pub at: Timestamp,
    pub seq: u32,
    pub id: u32,
}

/// Source of sequence numbers, for the nodes of one heap or of several.
#[derive(Debug, Default)]
pub(super) struct Sequence(u32);

impl Sequence {
    /// Returns the node of an element that is added now.
    pub const fn node(&mut self, at: Timestamp, id: u32) -> Node {
        self.0 = self.0.wrapping_add(1);
        Node { at, seq: self.0, id }
    }
}

/// A min-heap by time. A single element needs no allocation: most addresses have one host.
#[derive(Debug, Default)]
pub(super) struct TimeHeap(SmallVec<[Node; 1]>);

impl TimeHeap {
    pub fn first(&self) -> Option<&Node> {
        self.0.first()
    }

    /// Returns the element at `position`.
    pub fn at(&self, position: u32) -> Option<&Node> {
        self.0.get(position as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.0.iter()
    }

    pub fn push(&mut self, node: Node, positions: &mut impl Positions) {
        self.0.push(node);
        self.rise(self.0.len() - 1, positions);
    }

    pub fn pop(&mut self, positions: &mut impl Positions) -> Option<Node> {
        if self.0.is_empty() { None } else { Some(self.remove(0, positions)) }
    }

    /// Removes the element at `position`, which must be a position that this heap has reported.
    pub fn remove(&mut self, position: u32, positions: &mut impl Positions) -> Node {
        let at = position as usize;
        let node = self.0.swap_remove(at);
        positions.set_position(node.id, ABSENT);
        if at < self.0.len() {
            let at = self.rise(at, positions);
            self.sink(at, positions);
        }
        if self.0.capacity() > 64 && self.0.len() * 4 < self.0.capacity() {
            self.0.grow(self.0.len() * 2); // Shrinks: it has more.
        }
        node
    }

    /// Returns an element that is due at `now`; the first one only if no other is due.
    pub fn any_due(&self, now: Timestamp) -> Option<Node> {
        let is_due = |&i: &usize| self.0.get(i).is_some_and(|node| node.at <= now);
        let mut last = Some(0).filter(is_due)?;
        while let Some(i) = (4 * last + 1..=4 * last + 4).rev().find(is_due) {
            last = i;
        }
        self.0.get(last).copied()
    }

    /// Returns the number of elements due at `now`, in time proportional to that number.
    pub fn count_due(&self, now: Timestamp) -> usize {
        let mut open = vec![0];
        let mut due = 0;
        while let Some(i) = open.pop() {
            if self.0.get(i).is_some_and(|node| node.at <= now) {
                due += 1;
                open.extend(4 * i + 1..=4 * i + 4);
            }
        }
        due
    }

    fn rise(&mut self, mut i: usize, positions: &mut impl Positions) -> usize {
        let node = self.0[i];
        while i > 0 && node < self.0[(i - 1) / 4] {
            let parent = (i - 1) / 4;
            self.put(i, self.0[parent], positions);
            i = parent;
        }
        self.put(i, node, positions);
        i
    }

    fn sink(&mut self, mut i: usize, positions: &mut impl Positions) {
        let node = self.0[i];
        while let Some(child) = self.first_child(i).filter(|&child| self.0[child] < node) {
            self.put(i, self.0[child], positions);
            i = child;
        }
        self.put(i, node, positions);
    }

    fn first_child(&self, i: usize) -> Option<usize> {
        (4 * i + 1..self.0.len().min(4 * i + 5)).min_by_key(|&child| self.0[child])
    }

    fn put(&mut self, i: usize, node: Node, positions: &mut impl Positions) {
        self.0[i] = node;
        positions.set_position(node.id, i as u32);
    }
}
