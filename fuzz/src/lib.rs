//! Fuzzing: functions that read hostile bytes, and a driver that runs them on stable Rust.
//!
//! A [`FuzzTarget`] reads any bytes and returns, or panics if a property does not hold. [`run`] gives
//! it the files of its corpus, its samples, and mutations of both. Each input is a function of the
//! target and of a number, the seed, so that any failure can be repeated. `fuzz/README.md` describes
//! how to run it, also with libFuzzer.

mod allocations;
mod corpus;
mod driver;
mod failure;
mod mutation;
mod rng;
mod target;
pub mod targets;
mod watchdog;

pub use driver::{FuzzPlan, FuzzSummary, run};
pub use failure::{FuzzFailure, failures_dir, shortened};
pub use target::{FuzzTarget, MemoryBound};

/// Returns the input of a target for a seed.
#[must_use]
pub fn input(target: &FuzzTarget, seed: u64) -> Vec<u8> {
    corpus::InputSource::of(target).input(seed)
}

/// Returns the inputs of a target that are not mutated: its corpus and its samples.
#[must_use]
pub fn originals(target: &FuzzTarget) -> Vec<Vec<u8>> {
    corpus::InputSource::of(target).originals
}
