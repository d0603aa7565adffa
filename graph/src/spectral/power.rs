//! The power method (Notes 3.3).

use crate::GraphError;
use crate::progress::RankProgress;

/// A norm of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Sum of absolute values.
    L1,
    /// Square root of the sum of squares.
    L2,
    /// Greatest absolute value.
    Max,
}

impl Norm {
    /// Returns the norm of a vector.
    pub fn of(self, vector: impl IntoIterator<Item = f64>) -> f64 {
        let vector = vector.into_iter();
        match self {
            Self::L1 => vector.map(f64::abs).sum(),
            Self::L2 => vector.map(|value| value * value).sum::<f64>().sqrt(),
            Self::Max => vector.map(f64::abs).fold(0.0, f64::max),
        }
    }

    /// Returns the norm of a difference.
    #[must_use]
    pub fn of_difference(self, a: &[f64], b: &[f64]) -> f64 {
        self.of(a.iter().zip(b).map(|(a, b)| a - b))
    }
}

/// Parameters of the power method: rᵢ = rᵢ₋₁M / ‖rᵢ₋₁M‖ until ‖rᵢ − rᵢ₋₁‖ < ε.
#[derive(Clone, Copy, Debug)]
pub struct PowerMethod {
    /// The norm.
    pub norm: Norm,
    /// ε.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub iterations_max: usize,
}

impl Default for PowerMethod {
    fn default() -> Self {
        Self { norm: Norm::L2, tolerance: 1e-12, iterations_max: 10_000 }
    }
}

/// Result of the power method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerResult {
    /// The last vector, of norm 1.
    pub vector: Vec<f64>,
    /// ‖rM‖ of the last vector: the eigenvalue, if it settled. 0 if a product vanished.
    pub value: f64,
    /// ‖rᵢ − rᵢ₋₁‖ after each iteration.
    pub differences: Vec<f64>,
    /// True if the last difference is less than ε.
    pub is_settled: bool,
}

impl PowerMethod {
    /// Multiplies `start`, which must have no negative value, until it settles.
    ///
    /// # Errors
    /// [`GraphError::Stopped`], and those of `multiply`.
    pub fn run(
        &self,
        start: Vec<f64>,
        mut multiply: impl FnMut(&[f64]) -> Result<Vec<f64>, GraphError>,
        progress: &RankProgress,
    ) -> Result<PowerResult, GraphError> {
        let mut result = PowerResult { vector: start, ..PowerResult::default() };
        let norm = self.norm.of(result.vector.iter().copied());
        if norm == 0.0 {
            return Ok(result);
        }
        result.vector.iter_mut().for_each(|value| *value /= norm);
        progress.begin(0);
        while !result.is_settled && result.differences.len() < self.iterations_max {
            let mut next = multiply(&result.vector)?;
            result.value = self.norm.of(next.iter().copied());
            if result.value == 0.0 || !result.value.is_finite() {
                return Ok(result);
            }
            next.iter_mut().for_each(|value| *value /= result.value);
            let difference = self.norm.of_difference(&next, &result.vector);
            result.differences.push(difference);
            result.is_settled = difference < self.tolerance;
            result.vector = next;
            progress.iterated(difference)?;
        }
        Ok(result)
    }
}
