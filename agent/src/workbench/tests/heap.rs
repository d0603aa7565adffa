//! Comparison of the heap with sorting.

use crate::workbench::heap::{ABSENT, Node, Positions, TimeHeap};
use crivello_common::time::Timestamp;
use proptest::prelude::*;

struct ReportedPositions(Vec<u32>);

impl Positions for ReportedPositions {
    fn set_position(&mut self, id: u32, position: u32) {
        self.0[id as usize] = position;
    }
}

proptest! {
    #[test]
    fn gives_out_in_order_whatever_is_taken_out(
        times in proptest::collection::vec(0..50_u64, 1..200),
        taken in proptest::collection::vec(any::<prop::sample::Index>(), 0..100),
    ) {
        let mut positions = ReportedPositions(vec![ABSENT; times.len()]);
        let mut heap = TimeHeap::default();
        for (id, &at) in times.iter().enumerate() {
            heap.push(Node { at: Timestamp(at), seq: id as u32, id: id as u32 }, &mut positions);
        }
        let mut left: Vec<_> = times.iter().copied().zip(0..).collect();
        for index in taken {
            let id = index.index(times.len());
            if positions.0[id] != ABSENT {
                prop_assert_eq!(heap.remove(positions.0[id], &mut positions).id, id as u32);
                left.retain(|&(_, other)| other != id as u32);
            }
        }
        left.sort_unstable();
        let due = left.iter().filter(|(at, _)| *at <= 25).count();
        prop_assert_eq!(heap.count_due(Timestamp(25)), due);
        let any = heap.any_due(Timestamp(25));
        prop_assert_eq!(any.is_some(), due > 0);
        prop_assert!(any.is_none_or(|node| node.at <= Timestamp(25) && positions.0[node.id as usize] != ABSENT));
        for expected in left {
            let node = heap.pop(&mut positions).unwrap();
            prop_assert_eq!((node.at.0, node.id), expected);
        }
        prop_assert!(heap.pop(&mut positions).is_none());
        prop_assert!(positions.0.iter().all(|&p| p == ABSENT));
    }
}
