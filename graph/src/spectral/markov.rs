//! Markov chains (Notes 3.2.2).

use super::matrix::Matrix;
use super::power::Norm;
use crate::progress::RankProgress;
use crate::stats::strong_components;
use crate::{Adjacency, GraphError};

/// A chain: a matrix whose rows are probability distributions.
#[derive(Clone, Debug)]
pub struct MarkovChain {
    matrix: Matrix,
    classes: Vec<ClosedClass>,
    components: usize,
}

/// States that the chain does not leave once it is among them, and moves among all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedClass {
    /// The states, in order.
    pub states: Vec<u32>,
    /// Greatest common divisor of the lengths of all cycles: 1 if the class is aperiodic.
    pub period: u64,
}

/// The end of a distribution that the chain moves on and on.
#[derive(Clone, Debug, PartialEq)]
pub enum Stationary {
    /// It settles.
    Settled {
        /// The stable distribution. It depends on the start if the chain has several closed classes.
        distribution: Vec<f64>,
        /// Number of steps.
        steps: usize,
    },
    /// It returns to itself after `period` steps, and never settles.
    Periodic {
        /// Number of steps.
        period: usize,
        /// The mean over a period, which is a stable distribution, too.
        mean: Vec<f64>,
    },
    /// It did not settle within the steps that were allowed.
    NotSettled {
        /// Norm of the last change.
        difference: f64,
    },
}

/// Largest difference of the sum of a row from 1.
const SUM_ERROR: f64 = 1e-9;

impl MarkovChain {
    /// Creates a chain.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] with the first row that is no distribution, as that of a dangling node.
    pub fn new(matrix: Matrix) -> Result<Self, GraphError> {
        for row in 0..matrix.size() {
            let is_negative = matrix.row(row).any(|(_, value)| value < 0.0);
            let sum: f64 = matrix.row(row).map(|(_, value)| value).sum();
            if is_negative || (sum - 1.0).abs() > SUM_ERROR {
                let text =
                    format!("row {row} of a Markov chain has the sum {sum}, or a negative value");
                return Err(GraphError::Parameter(text));
            }
        }
        let graph = matrix.graph();
        let component = strong_components(&graph);
        let components = component.iter().max().map_or(0, |last| *last as usize + 1);
        let classes = closed_classes(&graph, &component, components);
        Ok(Self { matrix, classes, components })
    }

    /// Returns true if each state leads to each other one.
    #[must_use]
    pub const fn is_irreducible(&self) -> bool {
        self.components <= 1
    }

    /// Returns true if the chain settles from any start: no closed class has a period.
    #[must_use]
    pub fn is_aperiodic(&self) -> bool {
        self.classes.iter().all(|class| class.period == 1)
    }

    /// Returns the closed classes. There is one if and only if there is one stable distribution.
    #[must_use]
    pub fn closed_classes(&self) -> &[ClosedClass] {
        &self.classes
    }

    /// Moves a distribution on until two in a row differ by less than `tolerance` in the norm L1.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] if `start` is no distribution over the states, and [`GraphError::Stopped`].
    pub fn stationary(
        &self,
        start: &[f64],
        tolerance: f64,
        steps_max: usize,
        progress: &RankProgress,
    ) -> Result<Stationary, GraphError> {
        let sum: f64 = start.iter().sum();
        let is_distribution = start.len() == self.matrix.size()
            && start.iter().all(|value| *value >= 0.0)
            && (sum - 1.0).abs() <= SUM_ERROR;
        if !is_distribution {
            let text = format!("{} values with the sum {sum} are no distribution", start.len());
            return Err(GraphError::Parameter(text));
        }
        let period = self.period().min(steps_max.max(1) as u64) as usize;
        progress.begin(steps_max as u64);
        let mut current = start.to_vec();
        let mut difference = f64::INFINITY;
        for step in 1..=steps_max {
            let next = self.matrix.multiply_left(&current);
            difference = Norm::L1.of_difference(&next, &current);
            current = next;
            progress.iterated(difference)?;
            if difference < tolerance {
                return Ok(Stationary::Settled { distribution: current, steps: step });
            }
            // A chain with a period may still settle from this start, so it is looked at from time to time.
            if period > 1
                && step % (period * 64) == 0
                && let Some(mean) = self.returns(&current, period, tolerance)
            {
                return Ok(Stationary::Periodic { period, mean });
            }
        }
        Ok(Stationary::NotSettled { difference })
    }

    /// Returns the least common multiple of the periods of the closed classes.
    fn period(&self) -> u64 {
        self.classes
            .iter()
            .fold(1, |all: u64, class| all.saturating_mul(class.period / gcd(all, class.period)))
    }

    /// Returns the mean over a period if the distribution returns to itself.
    fn returns(&self, start: &[f64], period: usize, tolerance: f64) -> Option<Vec<f64>> {
        let mut mean = vec![0.0; start.len()];
        let mut current = start.to_vec();
        for _ in 0..period {
            for (mean, value) in mean.iter_mut().zip(&current) {
                *mean += value / period as f64;
            }
            current = self.matrix.multiply_left(&current);
        }
        (Norm::L1.of_difference(&current, start) < tolerance).then_some(mean)
    }
}

fn closed_classes(graph: &Adjacency, component: &[u32], components: usize) -> Vec<ClosedClass> {
    let mut is_closed = vec![true; components];
    for (from, to) in graph.iter() {
        let (from, to) = (component[from as usize], component[to as usize]);
        is_closed[from as usize] &= from == to;
    }
    let mut states = vec![Vec::new(); components];
    for (state, component) in component.iter().enumerate() {
        if is_closed[*component as usize] {
            states[*component as usize].push(state as u32);
        }
    }
    let closed = states.into_iter().filter(|states| !states.is_empty());
    closed.map(|states| ClosedClass { period: period(graph, &states), states }).collect()
}

/// Returns the greatest common divisor of the lengths of the cycles of a closed class: of the differences of levels
/// over all arcs, less one, where the level of a state is its distance from the first.
fn period(graph: &Adjacency, states: &[u32]) -> u64 {
    let mut levels = std::collections::HashMap::new();
    let mut queue = vec![states[0]];
    levels.insert(states[0], 0_u64);
    let (mut next, mut period) = (0, 0);
    while next < queue.len() {
        let from = queue[next];
        next += 1;
        let level = levels[&from];
        for to in graph.successors(from as usize) {
            match levels.get(to) {
                Some(other) => period = gcd(period, (level + 1).abs_diff(*other)),
                None => {
                    levels.insert(*to, level + 1);
                    queue.push(*to);
                }
            }
        }
    }
    period.max(1)
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
