//! Numbers of walks: powers of the adjacency matrix A (Notes 3.2).

use crate::Successors;

/// Returns the number of walks of `length` arcs that end in each node, 1·Aᵏ; `None` if a number exceeds 128 bits.
#[must_use]
pub fn walks_into(graph: &impl Successors, length: usize) -> Option<Vec<u128>> {
    let mut walks = vec![1_u128; graph.nodes()];
    for _ in 0..length {
        let mut next = vec![0_u128; graph.nodes()];
        let mut is_small = true;
        graph.scan(0..graph.nodes(), |node, successors| {
            for to in successors {
                let sum = next[*to as usize].checked_add(walks[node]);
                is_small &= sum.is_some();
                next[*to as usize] = sum.unwrap_or(u128::MAX);
            }
        });
        walks = Some(next).filter(|_| is_small)?;
    }
    Some(walks)
}

/// Returns the number of walks of `length` arcs that begin in each node, Aᵏ·1ᵀ; `None` if a number exceeds 128 bits.
#[must_use]
pub fn walks_from(graph: &impl Successors, length: usize) -> Option<Vec<u128>> {
    let mut walks = vec![1_u128; graph.nodes()];
    for _ in 0..length {
        walks = step_back(graph, &walks)?;
    }
    Some(walks)
}

/// Returns the number of walks of `length` arcs from each node to `target`, a column of Aᵏ; `None` if a number
/// exceeds 128 bits.
#[must_use]
pub fn walks_between(graph: &impl Successors, target: usize, length: usize) -> Option<Vec<u128>> {
    let mut walks = vec![0_u128; graph.nodes()];
    *walks.get_mut(target)? = 1;
    for _ in 0..length {
        walks = step_back(graph, &walks)?;
    }
    Some(walks)
}

/// Returns A·walksᵀ.
fn step_back(graph: &impl Successors, walks: &[u128]) -> Option<Vec<u128>> {
    let mut next = Vec::with_capacity(walks.len());
    graph.scan(0..graph.nodes(), |_, successors| {
        let mut counts = successors.iter().map(|to| walks[*to as usize]);
        next.push(counts.try_fold(0_u128, u128::checked_add));
    });
    next.into_iter().collect()
}
