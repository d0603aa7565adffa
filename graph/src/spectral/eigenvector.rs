//! Dominant eigenvectors (Notes 3.2 and 3.2.1).
//!
//! A matrix without negative values whose graph is strongly connected has one eigenvalue of greatest absolute value
//! that is real and positive, with one eigenvector, which is positive (Perron and Frobenius; theorem 2 of the notes).
//! Others of the same absolute value exist if the lengths of all cycles have a common divisor; the power method on
//! M + I, which has the same eigenvectors, settles then, too.

use super::matrix::Matrix;
use super::power::{PowerMethod, PowerResult};
use crate::adjacency::CHUNK;
use crate::progress::RankProgress;
use crate::stats::strong_components;
use crate::{GraphError, Successors};
use rayon::prelude::*;

/// On which side of a matrix the vector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// λp = pM: a node has the scores of its predecessors.
    Left,
    /// λp = Mp: a node has the scores of its successors.
    Right,
}

/// A dominant eigenvector.
#[derive(Clone, Debug)]
pub struct Dominant {
    /// The power method on M + I.
    pub power: PowerResult,
    /// The eigenvalue λ of M.
    pub eigenvalue: f64,
    /// True if the graph of the matrix is strongly connected, so that theorem 2 holds. Otherwise nodes may have the
    /// score 0, and the vector may depend on the start.
    pub is_irreducible: bool,
}

/// Computes a dominant eigenvector of a matrix, beginning with the vector of ones.
///
/// # Errors
/// [`GraphError::Parameter`] for a negative value, and [`GraphError::Stopped`].
pub fn dominant_eigenvector(
    matrix: &Matrix,
    side: Side,
    method: &PowerMethod,
    progress: &RankProgress,
) -> Result<Dominant, GraphError> {
    let n = matrix.size();
    if (0..n).any(|row| matrix.row(row).any(|(_, value)| value < 0.0)) {
        return Err(GraphError::Parameter("a matrix with a negative value".to_owned()));
    }
    let multiply = |x: &[f64]| {
        let product = match side {
            Side::Left => matrix.multiply_left(x),
            Side::Right => matrix.multiply_right(x),
        };
        Ok(product.iter().zip(x).map(|(product, x)| product + x).collect())
    };
    let power = method.run(vec![1.0; n], multiply, progress)?;
    let components = strong_components(&matrix.graph());
    let is_irreducible = components.iter().all(|component| *component == 0);
    Ok(Dominant { eigenvalue: (power.value - 1.0).max(0.0), power, is_irreducible })
}

/// Computes the eigenvector centrality of a graph, λp = pA, from its transpose: the score of a node is that of its
/// predecessors. By rows, in parallel; memory: 16 bytes a node.
///
/// # Errors
/// [`GraphError::Stopped`].
pub fn eigenvector_centrality(
    transpose: &impl Successors,
    method: &PowerMethod,
    progress: &RankProgress,
) -> Result<PowerResult, GraphError> {
    let n = transpose.nodes();
    let multiply = |x: &[f64]| {
        let mut product = vec![0.0; n];
        product.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, product)| {
            let start = chunk * CHUNK;
            transpose.scan(start..start + product.len(), |node, predecessors| {
                let scores = predecessors.iter().map(|from| x[*from as usize]);
                product[node - start] = x[node] + scores.sum::<f64>();
            });
        });
        Ok(product)
    };
    let mut result = method.run(vec![1.0; n], multiply, progress)?;
    result.value = (result.value - 1.0).max(0.0);
    Ok(result)
}

/// Returns the matrix of a tournament of `players`: 1 where the row's player has beaten the column's, ½ for both in a
/// draw. `games` has pairs of players, and true if the first has won; false is a draw.
///
/// # Errors
/// [`GraphError::Parameter`] for a player that is not there.
pub fn tournament(
    players: usize,
    games: impl IntoIterator<Item = (u32, u32, bool)>,
) -> Result<Matrix, GraphError> {
    let triples = games.into_iter().flat_map(|(a, b, is_won)| {
        if is_won { [(a, b, 1.0), (b, a, 0.0)] } else { [(a, b, 0.5), (b, a, 0.5)] }
    });
    Matrix::from_triples(players, triples)
}
