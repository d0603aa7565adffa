//! PageRank (Notes 3.2.3), by several methods (Notes 3.3).
//!
//! With the matrix P of a random walk, whose rows of dangling nodes are zero, the preference vector v, the
//! distribution u to which dangling nodes lead, and d, which is 1 for dangling nodes and 0 for others, PageRank is
//! the x of sum 1 with
//!
//! > x = α (xP + (x·d) u) + (1 − α) v
//!
//! The surfer follows a link with probability α, and otherwise goes to a random node, by v. For two approximations in
//! a row the error in the norm L1 is at most α / (1 − α) times their difference in this norm; that is when methods
//! stop, and what they report.

use super::power::Norm;
use super::triples::{TripleFile, add};
use crate::adjacency::{CHUNK, chunks};
use crate::progress::RankProgress;
use crate::{GraphError, Successors};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where a surfer goes from a dangling node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dangling {
    /// To a node by the preference vector, u = v.
    #[default]
    Preference,
    /// To any node, u = 1/n.
    Uniform,
    /// Nowhere, u = 0. The sum of the scores is then less than 1; beyond a factor they are those of
    /// [`Self::Preference`].
    Nowhere,
}

/// A computation of PageRank.
#[derive(Clone, Copy, Debug)]
pub struct PageRank<'a> {
    /// The damping factor α, from 0 to below 1.
    pub alpha: f64,
    /// The preference vector v, without negative values; `None` if all nodes are preferred equally. It is divided
    /// by its sum.
    pub preference: Option<&'a [f64]>,
    /// The rule for dangling nodes.
    pub dangling: Dangling,
    /// Bound of the error in the norm L1 at which a method stops.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub iterations_max: usize,
}

impl Default for PageRank<'_> {
    fn default() -> Self {
        let (preference, dangling) = (None, Dangling::default());
        Self { alpha: 0.85, preference, dangling, tolerance: 1e-9, iterations_max: 1_000 }
    }
}

/// Scores by PageRank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageRanks {
    /// The score of each node.
    pub scores: Vec<f64>,
    /// Bound of the error in the norm L1 after each iteration.
    pub errors: Vec<f64>,
    /// True if the last one is at most the tolerance.
    pub is_settled: bool,
}

impl PageRank<'_> {
    /// Computes by rows of the transpose: each node adds what its predecessors give. Results do not depend on
    /// threads. `degrees` has the number of successors of each node. Memory: 24 bytes a node.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] and [`GraphError::Stopped`].
    pub fn by_rows(
        &self,
        transpose: &impl Successors,
        degrees: &[u32],
        progress: &RankProgress,
    ) -> Result<PageRanks, GraphError> {
        let checked = self.check(transpose.nodes(), degrees)?;
        checked.iterate(progress, |shares, next| {
            next.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, next)| {
                let start = chunk * CHUNK;
                transpose.scan(start..start + next.len(), |node, predecessors| {
                    let given = predecessors.iter().map(|from| shares[*from as usize]);
                    next[node - start] = given.sum();
                });
            });
            Ok(())
        })
    }

    /// Computes by columns of the transpose, the rows of the graph: each node gives to its successors, whose sums are
    /// added to atomically. Memory: 32 bytes a node.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] and [`GraphError::Stopped`].
    pub fn by_columns(
        &self,
        graph: &impl Successors,
        degrees: &[u32],
        progress: &RankProgress,
    ) -> Result<PageRanks, GraphError> {
        let checked = self.check(graph.nodes(), degrees)?;
        let sums: Vec<AtomicU64> = degrees.iter().map(|_| AtomicU64::new(0)).collect();
        checked.iterate(progress, |shares, next| {
            chunks(graph.nodes()).par_bridge().for_each(|nodes| {
                graph.scan(nodes, |node, successors| {
                    for to in successors {
                        add(&sums[*to as usize], shares[node]);
                    }
                });
            });
            take(&sums, next);
            Ok(())
        })
    }

    /// Computes from sorted triples on disk (of [`TripleFile::random_walk`]), which are read in each iteration. Only
    /// vectors are in memory: 32 bytes a node.
    ///
    /// # Errors
    /// [`GraphError::Parameter`], [`GraphError::Stopped`] and those of reading.
    pub fn from_triples(
        &self,
        matrix: &TripleFile,
        degrees: &[u32],
        progress: &RankProgress,
    ) -> Result<PageRanks, GraphError> {
        let checked = self.check(matrix.size(), degrees)?;
        let sums: Vec<AtomicU64> = degrees.iter().map(|_| AtomicU64::new(0)).collect();
        // The values are the probabilities, so what a node gives is its score and not a share of it.
        let mut scores = vec![0.0; matrix.size()];
        checked.iterate(progress, |shares, next| {
            scores.par_iter_mut().zip(shares).zip(degrees).for_each(|((score, share), degree)| {
                *score = share * f64::from(*degree);
            });
            matrix.multiply_left(&scores, &sums)?;
            take(&sums, next);
            Ok(())
        })
    }

    /// Computes by the method of Gauss and Seidel on the transpose: a node takes the scores that its predecessors
    /// have at that moment, new or old, so fewer iterations are needed. Memory: 16 bytes a node.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] and [`GraphError::Stopped`].
    pub fn gauss_seidel(
        &self,
        transpose: &impl Successors,
        degrees: &[u32],
        progress: &RankProgress,
    ) -> Result<PageRanks, GraphError> {
        let checked = self.check(transpose.nodes(), degrees)?;
        let n = transpose.nodes();
        let scores: Vec<AtomicU64> =
            (0..n).map(|node| AtomicU64::new(checked.preference(node).to_bits())).collect();
        let load = |node: usize| f64::from_bits(scores[node].load(Relaxed));
        let mut ranks = PageRanks { is_settled: n == 0, ..PageRanks::default() };
        progress.begin(0);
        while !ranks.is_settled && ranks.errors.len() < self.iterations_max {
            // The scores of dangling nodes stay those of the last iteration.
            let lost = sum_by_chunks(n, |node| if degrees[node] == 0 { load(node) } else { 0.0 });
            let changes: Vec<f64> = node_chunks(n)
                .map(|nodes| {
                    let mut changes = 0.0;
                    transpose.scan(nodes, |node, predecessors| {
                        let (mut given, mut own) = (0.0, 0.0);
                        for from in predecessors.iter().map(|from| *from as usize) {
                            if from == node {
                                own = 1.0 / f64::from(degrees[node]);
                            } else {
                                given += load(from) / f64::from(degrees[from]);
                            }
                        }
                        let new = checked.jump(node, lost) + self.alpha * given;
                        let new = new / (1.0 - self.alpha * own);
                        changes += (new - load(node)).abs();
                        scores[node].store(new.to_bits(), Relaxed);
                    });
                    changes
                })
                .collect();
            ranks.end_iteration(self, changes.iter().sum(), progress)?;
        }
        ranks.scores = (0..n).map(load).collect();
        Ok(ranks)
    }

    fn check<'a>(&'a self, nodes: usize, degrees: &'a [u32]) -> Result<Checked<'a>, GraphError> {
        let wrong = |text: String| Err(GraphError::Parameter(text));
        if !(0.0..1.0).contains(&self.alpha) {
            return wrong(format!("the damping factor {} is not from 0 to below 1", self.alpha));
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return wrong(format!("the tolerance {} is negative", self.tolerance));
        }
        if degrees.len() != nodes {
            return wrong(format!("{} degrees for {nodes} nodes", degrees.len()));
        }
        let mut sum = nodes as f64;
        if let Some(preference) = self.preference {
            sum = preference.iter().sum();
            let is_valid = preference.iter().all(|value| *value >= 0.0) && sum.is_finite();
            if preference.len() != nodes || !is_valid || (sum <= 0.0 && nodes > 0) {
                let problem = "is no vector of values that are not negative, with a positive sum";
                return wrong(format!("the preference of {} nodes {problem}", preference.len()));
            }
        }
        Ok(Checked { rank: self, degrees, sum })
    }
}

impl PageRanks {
    fn end_iteration(
        &mut self,
        rank: &PageRank<'_>,
        change: f64,
        progress: &RankProgress,
    ) -> Result<(), GraphError> {
        let error = rank.alpha / (1.0 - rank.alpha) * change;
        self.errors.push(error);
        self.is_settled = error <= rank.tolerance;
        progress.iterated(error)
    }
}

/// A computation whose parameters are valid.
struct Checked<'a> {
    rank: &'a PageRank<'a>,
    degrees: &'a [u32],
    /// Sum of the preference vector.
    sum: f64,
}

impl Checked<'_> {
    /// Returns vᵢ.
    fn preference(&self, node: usize) -> f64 {
        self.rank.preference.map_or(1.0, |preference| preference[node]) / self.sum
    }

    /// Returns what a node has without links: (1 − α) vᵢ + α · lost · uᵢ.
    fn jump(&self, node: usize, lost: f64) -> f64 {
        let preference = self.preference(node);
        let given = match self.rank.dangling {
            Dangling::Preference => lost * preference,
            Dangling::Uniform => lost / self.degrees.len() as f64,
            Dangling::Nowhere => 0.0,
        };
        (1.0 - self.rank.alpha) * preference + self.rank.alpha * given
    }

    /// Iterates the power method. `multiply` replaces its second argument by the product of the first one, each
    /// node's score by the number of its successors, and the matrix of the graph.
    fn iterate(
        &self,
        progress: &RankProgress,
        mut multiply: impl FnMut(&[f64], &mut [f64]) -> Result<(), GraphError>,
    ) -> Result<PageRanks, GraphError> {
        let n = self.degrees.len();
        let mut scores: Vec<f64> = (0..n).map(|node| self.preference(node)).collect();
        let (mut shares, mut next) = (vec![0.0; n], vec![0.0; n]);
        let mut ranks = PageRanks { is_settled: n == 0, ..PageRanks::default() };
        progress.begin(0);
        while !ranks.is_settled && ranks.errors.len() < self.rank.iterations_max {
            let is_dangling = |node: usize| self.degrees[node] == 0;
            let lost = sum_by_chunks(n, |node| if is_dangling(node) { scores[node] } else { 0.0 });
            shares.par_iter_mut().enumerate().for_each(|(node, share)| {
                *share = scores[node] / f64::from(self.degrees[node].max(1));
            });
            multiply(&shares, &mut next)?;
            next.par_iter_mut().enumerate().for_each(|(node, next)| {
                *next = self.jump(node, lost) + self.rank.alpha * *next;
            });
            let change = sum_by_chunks(n, |node| (next[node] - scores[node]).abs());
            std::mem::swap(&mut scores, &mut next);
            ranks.end_iteration(self.rank, change, progress)?;
        }
        ranks.scores = scores;
        Ok(ranks)
    }
}

/// Takes the sums out, and leaves zeros.
fn take(sums: &[AtomicU64], to: &mut [f64]) {
    to.par_iter_mut().zip(sums).for_each(|(to, sum)| *to = f64::from_bits(sum.swap(0, Relaxed)));
}

fn node_chunks(nodes: usize) -> impl IndexedParallelIterator<Item = std::ops::Range<usize>> {
    let chunk = move |number: usize| number * CHUNK..nodes.min((number + 1) * CHUNK);
    (0..nodes.div_ceil(CHUNK)).into_par_iter().map(chunk)
}

/// Returns a sum over all nodes, which does not depend on threads.
fn sum_by_chunks(nodes: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = node_chunks(nodes).map(|nodes| nodes.map(&value).sum()).collect();
    Norm::L1.of(sums)
}
