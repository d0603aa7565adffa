//! Static functions (Notes 2.3.2): a value for each of a fixed set of keys, without the keys.
//!
//! Each key is an equation: the exclusive or of two or three cells, at places that hashes of the key select, is its
//! value. Cells that solve all equations are the function. A graph with the cells as vertices and the keys as
//! edges tells how to solve them: a vertex of degree 1 is set last, and is taken away with its edge first.

mod elimination;
mod peeling;
mod static_function;
mod system;

pub use static_function::{StaticFunction, SystemSolver};

#[cfg(test)]
mod tests;
