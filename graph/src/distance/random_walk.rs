//! Betweenness by random walks (Newman, Social Networks 27, 2005; Notes 3.1.3).
//!
//! One unit of current flows from y to z through the graph, taken as undirected, in which each arc is a resistor: the
//! current through a node is the net number of times that a random walk from y to z passes it. A single arc beside a
//! bridge changes it little, where it makes the betweenness by shortest paths vanish.

use crate::progress::RankProgress;
use crate::stats::weak_components;
use crate::{Adjacency, GraphError};
use rayon::prelude::*;

/// Maximum number of nodes of a component: its matrix has 8 bytes for each pair of them.
const NODES_MAX: usize = 5_000;

/// Returns the sum of the current through each node over all unordered pairs of other nodes in its component. Loops
/// and directions of arcs do not count. Time: the cube of the nodes of a component, of at most 5,000.
///
/// # Errors
/// [`GraphError::TooLarge`] and [`GraphError::Stopped`].
pub fn random_walk_betweenness(
    graph: &Adjacency,
    progress: &RankProgress,
) -> Result<Vec<f64>, GraphError> {
    let component = weak_components(graph);
    let mut members: Vec<Vec<u32>> = Vec::new();
    for (node, component) in component.iter().enumerate() {
        members.resize(members.len().max(*component as usize + 1), Vec::new());
        members[*component as usize].push(node as u32);
    }
    let largest = members.iter().map(Vec::len).max().unwrap_or_default();
    if largest > NODES_MAX {
        return Err(GraphError::TooLarge {
            what: "the exact betweenness by random walks",
            needed: 8 * (largest as u64).pow(2),
            allowed: 8 * (NODES_MAX as u64).pow(2),
            remedy: "take a smaller graph, or betweenness by shortest paths",
        });
    }
    let symmetric = graph.symmetric();
    let mut result = vec![0.0; graph.len()];
    let mut position = vec![0; graph.len()];
    progress.begin(graph.len() as u64);
    for nodes in members.iter().filter(|nodes| nodes.len() > 2) {
        for (at, node) in nodes.iter().enumerate() {
            position[*node as usize] = at;
        }
        let neighbors = |at: usize| {
            let others = symmetric.successors(nodes[at] as usize).iter();
            others.map(|other| position[*other as usize]).filter(move |other| *other != at)
        };
        let potentials = potentials(nodes.len(), neighbors, progress)?;
        let c = nodes.len();
        let through = (0..c).into_par_iter().map(|at| {
            let currents = neighbors(at).map(|other| {
                let rows = potentials[at * c..][..c].iter().zip(&potentials[other * c..][..c]);
                sum_of_differences(rows.map(|(a, b)| a - b).collect())
            });
            // Half of a unit passes an end, which is no passing through.
            currents.sum::<f64>() / 2.0 - (c as f64 - 1.0) / 2.0
        });
        for (node, through) in nodes.iter().zip(through.collect::<Vec<_>>()) {
            result[*node as usize] = through.max(0.0);
        }
    }
    Ok(result)
}

/// Returns Σ |a − b| over all unordered pairs of values.
fn sum_of_differences(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    values.iter().enumerate().map(|(rank, value)| value * (2.0 * rank as f64 + 1.0 - n)).sum()
}

/// Returns the potential of each node for a unit of current that enters at each node and leaves at node 0: the inverse
/// of the Laplacian without node 0, with zeros for it. The Laplacian is positive definite, so elimination needs no
/// pivots.
fn potentials<I: Iterator<Item = usize>>(
    nodes: usize,
    neighbors: impl Fn(usize) -> I,
    progress: &RankProgress,
) -> Result<Vec<f64>, GraphError> {
    let n = nodes - 1;
    // The Laplacian and the unit matrix, side by side.
    let mut rows = vec![vec![0.0; 2 * n]; n];
    for (at, row) in rows.iter_mut().enumerate() {
        for other in neighbors(at + 1) {
            row[at] += 1.0;
            if other > 0 {
                row[other - 1] -= 1.0;
            }
        }
        row[n + at] = 1.0;
    }
    for pivot in 0..n {
        progress.advance()?;
        let mut row = std::mem::take(&mut rows[pivot]);
        let scale = 1.0 / row[pivot];
        // Beyond it, the unit matrix is still untouched.
        let end = n + pivot + 1;
        row[pivot..end].iter_mut().for_each(|value| *value *= scale);
        rows.par_iter_mut().filter(|other| !other.is_empty()).for_each(|other| {
            let factor = other[pivot];
            if factor != 0.0 {
                let pairs = other[pivot..end].iter_mut().zip(&row[pivot..end]);
                pairs.for_each(|(value, of_pivot)| *value -= factor * of_pivot);
            }
        });
        rows[pivot] = row;
    }
    let mut potentials = vec![0.0; nodes * nodes];
    for (at, row) in rows.iter().enumerate() {
        potentials[(at + 1) * nodes + 1..][..n].copy_from_slice(&row[n..]);
    }
    Ok(potentials)
}
