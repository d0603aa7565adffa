//! Measured distributions of integers: their entropy, and what codes make of them (Notes 2.2.5).

use crate::Code;
use std::collections::HashMap;

/// A distribution of integers with finitely many values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Values with their counts.
    counts: Vec<(u64, u64)>,
    total: f64,
}

impl Distribution {
    /// Returns the distribution in which values have these counts.
    #[must_use]
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let counts: Vec<_> = counts.into_iter().filter(|&(_, count)| count > 0).collect();
        let total = counts.iter().map(|&(_, count)| count as f64).sum();
        Self { counts, total }
    }

    /// Returns the distribution of these values.
    #[must_use]
    pub fn from_values(values: &[u64]) -> Self {
        let mut counts = HashMap::new();
        values.iter().for_each(|&value| *counts.entry(value).or_insert(0) += 1);
        let mut counts: Vec<(u64, u64)> = counts.into_iter().collect();
        counts.sort_unstable();
        Self::from_counts(counts)
    }

    /// Returns each value with its probability.
    pub fn probabilities(&self) -> impl Iterator<Item = (u64, f64)> {
        self.counts.iter().map(|&(value, count)| (value, count as f64 / self.total))
    }

    /// Returns the entropy in bits: the least that a code can take for a value on average.
    #[must_use]
    pub fn entropy(&self) -> f64 {
        // The sum of no terms is -0.
        self.probabilities().map(|(_, p)| -p * p.log2()).sum::<f64>().max(0.0)
    }

    /// Returns the mean value; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.probabilities().map(|(value, p)| value as f64 * p).sum::<f64>().max(0.0)
    }

    /// Returns the bits that a code takes for a value on average, or `None` if it has no word for one of them.
    #[must_use]
    pub fn expected_bits<C: Code + ?Sized>(&self, code: &C) -> Option<f64> {
        let mut sum = 0.0;
        for (value, p) in self.probabilities() {
            sum += code.bits(value)? as f64 * p;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gamma, MinimalBinary, Unary};

    #[test]
    fn a_code_meets_the_entropy_of_its_intended_distribution() {
        // Halves, but for the last one: the code is optimal.
        let halves = (0..40).map(|value| (value, 1_u64 << (40 - value)));
        let distribution = Distribution::from_counts(halves);
        let excess = distribution.expected_bits(&Unary).unwrap() - distribution.entropy();
        assert!(excess.abs() < 1e-9, "{excess}");
        assert!((distribution.mean() - 1.0).abs() < 1e-9);
        let uniform = Distribution::from_values(&(0..64).collect::<Vec<_>>());
        assert!((uniform.entropy() - 6.0).abs() < 1e-9);
        assert_eq!(uniform.expected_bits(&MinimalBinary::new(64)), Some(6.0));
        assert_eq!(uniform.expected_bits(&MinimalBinary::new(63)), None);
        assert!(uniform.expected_bits(&Gamma).unwrap() > 6.0);
        assert_eq!(Distribution::default().entropy(), 0.0);
    }
}
