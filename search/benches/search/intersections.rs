//! Ways to intersect lists (Notes 2.4), on lists in memory without codes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Documents between two skips.
const QUANTUM: usize = 128;

/// A way to intersect two or more ascending lists, the shortest one first.
pub type Intersection = fn(&[&[u32]]) -> usize;

pub const ALL: [(&str, Intersection); 5] = [
    ("linear", |lists| by_search(lists, linear)),
    ("binary search", |lists| by_search(lists, binary)),
    ("exponential search", |lists| by_search(lists, exponential)),
    ("heap", heap),
    ("skips", |lists| by_search(lists, skips)),
];

/// Looks up each element of the shortest list in the others, and returns the number of those that all have. `search`
/// returns the place of the first element that is `target` or later, from a place on.
fn by_search(lists: &[&[u32]], search: fn(&[u32], usize, u32) -> usize) -> usize {
    let (shortest, others) = lists.split_first().expect("a list");
    let mut places = vec![0; others.len()];
    let mut n = 0;
    'documents: for &document in *shortest {
        for (list, place) in others.iter().zip(&mut places) {
            *place = search(list, *place, document);
            match list.get(*place) {
                None => return n,
                Some(found) if *found != document => continue 'documents,
                Some(_) => {}
            }
        }
        n += 1;
    }
    n
}

fn linear(list: &[u32], from: usize, target: u32) -> usize {
    from + list[from..].iter().take_while(|document| **document < target).count()
}

fn binary(list: &[u32], from: usize, target: u32) -> usize {
    from + list[from..].partition_point(|document| *document < target)
}

fn exponential(list: &[u32], from: usize, target: u32) -> usize {
    let mut step = 1;
    while list.get(from + step - 1).is_some_and(|document| *document < target) {
        step *= 2;
    }
    let (low, high) = (from + step / 2, (from + step - 1).min(list.len()));
    low + list[low.min(high)..high].partition_point(|document| *document < target)
}

/// Goes over the last element of each block, then into one block, as the index does.
fn skips(list: &[u32], from: usize, target: u32) -> usize {
    let mut block = from / QUANTUM;
    let last = |block: usize| list.get((block + 1) * QUANTUM - 1);
    while last(block).is_some_and(|document| *document < target) {
        block += 1;
    }
    let start = from.max(block * QUANTUM).min(list.len());
    let end = ((block + 1) * QUANTUM).min(list.len()).max(start);
    start + list[start..end].partition_point(|document| *document < target)
}

fn heap(lists: &[&[u32]]) -> usize {
    let mut places = vec![1; lists.len()];
    let fronts = lists.iter().enumerate();
    let mut heap: BinaryHeap<_> =
        fronts.filter_map(|(at, list)| Some(Reverse((*list.first()?, at)))).collect();
    let (mut document, mut with, mut n) = (None, 0, 0);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((found, at)) = *top;
        with = if document == Some(found) { with + 1 } else { 1 };
        document = Some(found);
        n += usize::from(with == lists.len());
        match lists[at].get(places[at]) {
            Some(next) => *top = Reverse((*next, at)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        places[at] += 1;
    }
    n
}
