//! Quotient filters (Bender et al. 2012; Pandey et al. 2017; seed 001): an exact set of fingerprints of p bits. The upper q
//! bits of a fingerprint, its quotient, select a slot of a table; the lower r = p − q bits, its remainder, are stored.
//! Remainders with one quotient are a *run*; runs that touch each other are a *cluster*.

mod counter;
mod counting;
mod select;
mod set;
mod shape;
mod table;
mod three_bit;

pub use counting::CountingQuotientFilter;
pub use set::QuotientFilter;
pub use shape::{OffsetSampling, QuotientShape};
pub use three_bit::ThreeBitFilter;

#[cfg(test)]
mod tests;
