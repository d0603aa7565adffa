//! Numbers for Prometheus: what the hot path counts with, and how all of it is told.
//!
//! A [`Family`] says what a number is called and meant, and reads it from whatever is at hand when
//! somebody asks: so a number that exists anyway costs nothing until then. What must be measured
//! as it happens is a [`Histogram`]: two atomic additions.

mod histogram;
mod text;

pub use histogram::{Histogram, NETWORK, Stopwatch, WORK};
pub use text::{
    CONTENT_TYPE, Described, Family, Kind, Labels, Samples, Value, counter, gauge, render, timing,
};
