//! Solution of equations by peeling their graph.

use super::system::System;

/// Equations that peeling has taken away, each with the cell that only it had then, and those that it has left.
pub(super) struct Peeled {
    /// From the first one taken away, which is solved last.
    pub(super) order: Vec<(u32, u32)>,
    /// Equations of the 2-core.
    pub(super) core: Vec<u32>,
}

/// Takes away equations with a cell that no other one has, as long as there are any.
pub(super) fn peel(system: &System) -> Peeled {
    let n = system.equations.len();
    // Degree of each cell, and the exclusive or of its equations: of one, its number.
    let mut vertices = vec![(0_u32, 0_u32); system.m];
    for equation in 0..n as u32 {
        for &cell in system.cells(equation) {
            let vertex = &mut vertices[cell as usize];
            *vertex = (vertex.0 + 1, vertex.1 ^ equation);
        }
    }
    let mut order = Vec::with_capacity(n);
    let mut is_peeled = vec![false; n];
    let mut stack = Vec::new();
    for first in 0..system.m as u32 {
        stack.push(first);
        while let Some(cell) = stack.pop() {
            let (degree, equation) = vertices[cell as usize];
            if degree != 1 {
                continue;
            }
            order.push((equation, cell));
            is_peeled[equation as usize] = true;
            for &other in system.cells(equation) {
                let vertex = &mut vertices[other as usize];
                *vertex = (vertex.0 - 1, vertex.1 ^ equation);
                if vertex.0 == 1 {
                    stack.push(other);
                }
            }
        }
    }
    let core = (0..n as u32).filter(|&equation| !is_peeled[equation as usize]).collect();
    Peeled { order, core }
}

/// Sets the cells of peeled equations, the last one first; those of the core are set.
pub(super) fn assign(system: &System, order: &[(u32, u32)], values: &[u64], cells: &mut [u64]) {
    for &(equation, cell) in order.iter().rev() {
        // The cell itself is 0 still.
        let sum = system.cells(equation).iter().fold(0, |sum, &other| sum ^ cells[other as usize]);
        cells[cell as usize] = sum ^ values[equation as usize];
    }
}
