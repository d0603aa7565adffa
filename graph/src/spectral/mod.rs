//! Centralities by walks: dominant eigenvectors, Markov chains, PageRank (Notes 3.2 and 3.3).
//!
//! | of the notes | here |
//! | --- | --- |
//! | number of walks, Aᵏ | [`walks_into`], [`walks_from`], [`walks_between`] |
//! | λp = Tp, a tournament | [`tournament`], [`dominant_eigenvector`] |
//! | eigenvector centrality | [`eigenvector_centrality`] |
//! | Markov chains | [`MarkovChain`] |
//! | PageRank | [`PageRank`] |
//! | power method by rows | [`PageRank::by_rows`] |
//! | … by columns, with atomic additions | [`PageRank::by_columns`] |
//! | … from sorted triples on disk | [`PageRank::from_triples`], [`TripleFile`] |
//!
//! A vector is multiplied from the left, x ↦ xM, where a node takes the scores of its predecessors, unless said
//! otherwise.

mod eigenvector;
mod markov;
mod matrix;
mod pagerank;
mod power;
mod triples;
mod walks;

pub use eigenvector::{Dominant, Side, dominant_eigenvector, eigenvector_centrality, tournament};
pub use markov::{ClosedClass, MarkovChain, Stationary};
pub use matrix::Matrix;
pub use pagerank::{Dangling, PageRank, PageRanks};
pub use power::{Norm, PowerMethod, PowerResult};
pub use triples::TripleFile;
pub use walks::{walks_between, walks_from, walks_into};
