//! Sums of distances: closeness and harmonic centrality (Notes 3.1.1 and 3.1.2).

use super::bfs::Bfs;
use super::sample::{Estimate, SampleSum, SourceNodes, each_part};
use crate::progress::RankProgress;
use crate::{Adjacency, GraphError};
use rayon::prelude::*;

/// Sums over the distances from a node, without itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DistanceSums {
    /// Number of nodes that it reaches.
    pub reached: f64,
    /// Sum of their distances.
    pub sum: f64,
    /// Sum of the weight of each by its distance: the harmonic centrality.
    pub harmonic: f64,
}

/// Which closeness. All of them count only nodes that reach x, and are 0 if none does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClosenessForm {
    /// 1 / Σ d: the definition of the notes, which favors nodes that few others reach.
    #[default]
    Plain,
    /// (r + 1)² / Σ d, where r others reach x (Lin, 1976).
    Lin,
    /// r² / ((n − 1) Σ d) (Wasserman and Faust, 1994), which is networkx's `wf_improved`.
    WassermanFaust,
    /// r / Σ d: the inverse of the mean distance.
    Mean,
}

impl DistanceSums {
    /// Returns the closeness of a node among `nodes`.
    #[must_use]
    pub fn closeness(&self, form: ClosenessForm, nodes: usize) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        match form {
            ClosenessForm::Plain => 1.0 / self.sum,
            ClosenessForm::Lin => (self.reached + 1.0).powi(2) / self.sum,
            ClosenessForm::WassermanFaust => {
                self.reached.powi(2) / ((nodes as f64 - 1.0) * self.sum)
            }
            ClosenessForm::Mean => self.reached / self.sum,
        }
    }
}

/// Returns the sums of the distances from each node: on the transpose of a graph, those to it. `weights` has a weight
/// for each node; without them all are 1. Time: a visit for each node.
///
/// # Errors
/// [`GraphError::Stopped`].
pub fn distance_sums(
    graph: &Adjacency,
    weights: Option<&[f64]>,
    progress: &RankProgress,
) -> Result<Vec<DistanceSums>, GraphError> {
    progress.begin(graph.len() as u64);
    let new_visit = || Bfs::new(graph.len());
    let visits = (0..graph.len()).into_par_iter().map_init(new_visit, |bfs, node| {
        progress.advance()?;
        // Nodes at one distance are added together, so that their order does not matter.
        let mut sums = DistanceSums::default();
        let (mut level, mut level_weight) = (0, 0.0);
        bfs.run(graph, node, |other, distance| {
            if distance != level {
                sums.harmonic += level_weight / f64::from(level.max(1));
                (level, level_weight) = (distance, 0.0);
            }
            sums.reached += 1.0;
            sums.sum += f64::from(distance);
            level_weight += weights.map_or(1.0, |weights| weights[other]);
        });
        sums.harmonic += level_weight / f64::from(level.max(1));
        Ok(sums)
    });
    visits.collect()
}

/// Sums of distances to each node, estimated from a sample of sources, with standard errors.
#[derive(Clone, Debug)]
pub struct SampledSums {
    /// Sums.
    pub sums: Vec<DistanceSums>,
    /// Standard error of the harmonic centrality.
    pub harmonic_errors: Vec<f64>,
    /// Standard error of the sum of distances.
    pub sum_errors: Vec<f64>,
}

impl SampledSums {
    /// Returns the harmonic centralities.
    #[must_use]
    pub fn harmonic(&self) -> Estimate {
        let values = self.sums.iter().map(|sums| sums.harmonic).collect();
        Estimate { values, errors: self.harmonic_errors.clone() }
    }

    /// Returns the closeness. Its errors are those that follow from the sum of distances, to the first order.
    #[must_use]
    pub fn closeness(&self, form: ClosenessForm) -> Estimate {
        let values: Vec<f64> =
            self.sums.iter().map(|sums| sums.closeness(form, self.sums.len())).collect();
        let relative =
            |sums: &DistanceSums, error: f64| if sums.sum > 0.0 { error / sums.sum } else { 0.0 };
        let errors = values.iter().zip(&self.sums).zip(&self.sum_errors);
        let errors = errors.map(|((value, sums), error)| value * relative(sums, *error)).collect();
        Estimate { values, errors }
    }
}

/// Estimates the sums of the distances *to* each node of a graph from visits of some sources.
///
/// # Errors
/// [`GraphError::Stopped`].
pub fn sampled_distance_sums(
    graph: &Adjacency,
    weights: Option<&[f64]>,
    sources: SourceNodes,
    progress: &RankProgress,
) -> Result<SampledSums, GraphError> {
    let n = graph.len();
    let sources = sources.choose(n);
    progress.begin(sources.len() as u64);
    let parts = each_part(&sources, |sources| {
        let mut bfs = Bfs::new(n);
        let mut sums = vec![[SampleSum::default(); 3]; n];
        for source in sources {
            progress.advance()?;
            let weight = weights.map_or(1.0, |weights| weights[*source as usize]);
            bfs.run(graph, *source as usize, |node, distance| {
                let distance = f64::from(distance);
                let values = [1.0, distance, weight / distance];
                for (sum, value) in sums[node].iter_mut().zip(values) {
                    sum.add(value);
                }
            });
        }
        Ok(sums)
    })?;
    let mut result = SampledSums {
        sums: Vec::with_capacity(n),
        harmonic_errors: Vec::with_capacity(n),
        sum_errors: Vec::with_capacity(n),
    };
    for node in 0..n {
        let mut joined = [SampleSum::default(); 3];
        for part in &parts {
            for (sum, other) in joined.iter_mut().zip(&part[node]) {
                sum.join(other);
            }
        }
        let [reached, sum, harmonic] = joined.map(|sum| sum.estimate(sources.len(), n));
        result.sums.push(DistanceSums { reached: reached.0, sum: sum.0, harmonic: harmonic.0 });
        result.sum_errors.push(sum.1);
        result.harmonic_errors.push(harmonic.1);
    }
    Ok(result)
}
