//! Tests over several modules: random queries over random documents, against a model that reads all of them or an
//! index that is split; and damage.

mod anchors;
mod damage;
mod model;
mod queries;
mod random;
mod split;

use rand::rngs::StdRng;
use rand::{SeedableRng as _, TryRngCore as _};

/// Returns random numbers from `CRIVELLO_TEST_SEED`, or a seed of this run, which is printed.
pub(crate) fn rng() -> StdRng {
    let seed = std::env::var("CRIVELLO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| rand::rngs::OsRng.try_next_u64().expect("random bytes"));
    println!("CRIVELLO_TEST_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// Returns the normal form of a word.
fn normal(word: &str) -> String {
    crate::text::words(word).next().map(|word| word.word.into_owned()).unwrap_or_default()
}
