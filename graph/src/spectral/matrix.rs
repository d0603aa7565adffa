//! Sparse matrices with real values, in memory.

use crate::{Adjacency, GraphError, Successors};

/// A square sparse matrix, by rows: 8 bytes a row and 12 bytes a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Index of the first value of each row, and the number of values.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix of `size` rows from triples of row, column and value, in any order. Values at one place are
    /// added.
    ///
    /// # Errors
    /// [`GraphError::Parameter`] for a row or column beyond the size, and for a value that is not finite.
    pub fn from_triples(
        size: usize,
        triples: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Self, GraphError> {
        let mut triples: Vec<_> = triples.into_iter().collect();
        let wrong = triples.iter().find(|(row, column, value)| {
            *row as usize >= size || *column as usize >= size || !value.is_finite()
        });
        if let Some(wrong) = wrong {
            return Err(GraphError::Parameter(format!("{wrong:?} in a matrix of {size} rows")));
        }
        triples.sort_by_key(|(row, column, _)| (*row, *column));
        let mut matrix =
            Self { starts: vec![0; size + 1], columns: Vec::new(), values: Vec::new() };
        let mut last = None;
        for (row, column, value) in triples {
            if last.replace((row, column)) == Some((row, column)) {
                if let Some(sum) = matrix.values.last_mut() {
                    *sum += value;
                }
                continue;
            }
            matrix.starts[row as usize + 1] += 1;
            matrix.columns.push(column);
            matrix.values.push(value);
        }
        for row in 0..size {
            matrix.starts[row + 1] += matrix.starts[row];
        }
        Ok(matrix)
    }

    /// Creates the transition matrix of a random walk on a graph: each arc of a node has the same probability.
    #[must_use]
    pub fn random_walk(graph: &Adjacency) -> Self {
        let mut matrix = Self { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        graph.scan(0..graph.len(), |_, successors| {
            matrix.columns.extend_from_slice(successors);
            let share = 1.0 / successors.len().max(1) as f64;
            matrix.values.resize(matrix.columns.len(), share);
            matrix.starts.push(matrix.columns.len());
        });
        matrix
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn size(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the columns and values of a row, by column.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        let columns = self.columns[range.clone()].iter().map(|column| *column as usize);
        columns.zip(self.values[range].iter().copied())
    }

    /// Returns x·M.
    #[must_use]
    pub fn multiply_left(&self, x: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; self.size()];
        for (row, x) in x.iter().enumerate() {
            for (column, value) in self.row(row) {
                result[column] += x * value;
            }
        }
        result
    }

    /// Returns M·xᵀ.
    #[must_use]
    pub fn multiply_right(&self, x: &[f64]) -> Vec<f64> {
        let product = |row| self.row(row).map(|(column, value)| value * x[column]).sum();
        (0..self.size()).map(product).collect()
    }

    /// Returns the graph of the places with a value that is not 0.
    #[must_use]
    pub fn graph(&self) -> Adjacency {
        let arcs = (0..self.size()).flat_map(|row| {
            let places = self.row(row).filter(|(_, value)| *value != 0.0);
            places.map(move |(column, _)| (row as u32, column as u32))
        });
        Adjacency::from_arcs(self.size(), arcs)
    }
}
