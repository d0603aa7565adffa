//! Brute force: dense matrices, and shortest paths between all pairs.

use crivello_graph::Adjacency;

/// A dense matrix.
pub type Dense = Vec<Vec<f64>>;

/// Returns the adjacency matrix.
pub fn matrix(graph: &Adjacency) -> Dense {
    let mut matrix = vec![vec![0.0; graph.len()]; graph.len()];
    graph.iter().for_each(|(from, to)| matrix[from as usize][to as usize] = 1.0);
    matrix
}

/// Returns the distances between all pairs (Floyd and Warshall); infinite where there is no path.
pub fn distances(graph: &Adjacency) -> Dense {
    let n = graph.len();
    let mut d = vec![vec![f64::INFINITY; n]; n];
    (0..n).for_each(|node| d[node][node] = 0.0);
    for (from, to) in graph.iter().filter(|(from, to)| from != to) {
        d[from as usize][to as usize] = 1.0;
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = d[i][j].min(d[i][k] + d[k][j]);
            }
        }
    }
    d
}

/// Returns the numbers of shortest paths between all pairs, by their lengths.
pub fn path_counts(graph: &Adjacency, distances: &Dense) -> Dense {
    let n = graph.len();
    let mut counts = vec![vec![0.0; n]; n];
    (0..n).for_each(|node| counts[node][node] = 1.0);
    for length in 1..n {
        for from in 0..n {
            for to in (0..n).filter(|to| distances[from][*to] == length as f64) {
                let last = |via: &usize| {
                    distances[from][*via] == length as f64 - 1.0
                        && graph.successors(*via).contains(&(to as u32))
                };
                counts[from][to] = (0..n).filter(last).map(|via| counts[from][via]).sum();
            }
        }
    }
    counts
}

/// Returns the solution x of x·M = b by elimination with pivots.
pub fn solve_left(matrix: &Dense, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Dense = (0..n)
        .map(|row| (0..n).map(|column| matrix[column][row]).chain([b[row]]).collect())
        .collect();
    for column in 0..n {
        let best =
            (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()));
        rows.swap(column, best.expect("a row"));
        for row in (0..n).filter(|row| *row != column) {
            let factor = rows[row][column] / rows[column][column];
            let pivot = rows[column].clone();
            let pairs = rows[row][column..].iter_mut().zip(&pivot[column..]);
            pairs.for_each(|(value, of_pivot)| *value -= factor * of_pivot);
        }
    }
    (0..n).map(|row| rows[row][n] / rows[row][row]).collect()
}
