//! The seed of a random test. `CRIVELLO_TEST_SEED=N` sets another one.

/// Name of the environment variable.
const VARIABLE: &str = "CRIVELLO_TEST_SEED";

/// Returns the seed, and prints it.
pub fn seed() -> u64 {
    let seed = std::env::var(VARIABLE).map_or(1, |seed| seed.parse().expect("a number"));
    println!("{VARIABLE}={seed}");
    seed
}
