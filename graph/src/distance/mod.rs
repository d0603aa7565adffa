//! Centralities by distances (Notes 3.1).
//!
//! Distances d(y, x) are numbers of arcs. A centrality by paths that lead *to* a node, which is the one that is hard
//! to influence, is computed on the transpose of the graph; by those that lead *from* it, on the graph itself.
//!
//! | centrality | value of x |
//! | --- | --- |
//! | in-degree | number of predecessors ([`crate::in_degrees`]) |
//! | closeness | 1 / Σ d(y, x) over the y that reach x ([`DistanceSums::closeness`]) |
//! | harmonic | Σ w(y) / d(y, x) over all y ≠ x, where 1 / ∞ = 0 and w = 1 if there are no weights |
//! | betweenness | Σ σ_yz(x) / σ_yz over y ≠ x ≠ z, σ shortest paths ([`betweenness`]) |
//! | betweenness by random walks | current through x for one unit from y to z, over all pairs ([`random_walk_betweenness`]) |
//!
//! The first ones are exact ([`distance_sums`], [`betweenness`] with all sources), by sampled sources
//! ([`sampled_distance_sums`]; [`betweenness`]), or by probabilistic counters ([`hyperball`]).

mod betweenness;
mod bfs;
mod hyperball;
mod random_walk;
mod sample;
mod sums;

pub use betweenness::betweenness;
pub use hyperball::{HyperBall, HyperBallSums, hyperball};
pub use random_walk::random_walk_betweenness;
pub use sample::{Estimate, SourceNodes};
pub use sums::{ClosenessForm, DistanceSums, SampledSums, distance_sums, sampled_distance_sums};
