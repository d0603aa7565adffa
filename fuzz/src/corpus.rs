//! InputSource of a target: its corpus, its samples, and mutations of both.

use crate::mutation::mutate;
use crate::rng::FuzzRng;
use crate::target::FuzzTarget;
use std::fs;
use std::path::{Path, PathBuf};

/// The inputs of a target, by seed.
pub struct InputSource {
    /// Files of the corpus, in the order of their names, then samples.
    pub originals: Vec<Vec<u8>>,
    target: FuzzTarget,
}

impl InputSource {
    /// Reads the corpus of a target.
    pub fn of(target: &FuzzTarget) -> Self {
        let mut originals = read_files(&corpus_dir().join(target.name));
        originals.extend((target.samples)());
        Self { originals, target: *target }
    }

    /// Returns the input of a seed.
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let mut rng = FuzzRng::new(seed);
        mutate(&mut rng, &self.originals, self.target.tokens, self.target.len_max)
    }
}

/// Returns the folder with a folder of files for each target.
pub fn corpus_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn read_files(dir: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}
