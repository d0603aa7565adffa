//! Goal: a damaged index gives an error that names a file, or the right answers; never wrong ones, and no panic.

use super::random;
use crate::build::testing::TestIndex;
use crate::document::Document;
use crate::error::{IndexError, SearchError};
use crate::postings::Preset;
use crate::search::{SearchOptions, SearchResults, Searcher};
use crivello_common::time::Clock;
use rand::Rng as _;
use std::fs;
use std::path::{Path, PathBuf};

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { dirs.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

const QUERIES: [&str; 7] = [
    "anchor:run | anchor:web",
    "run web",
    "\"the web\" | house",
    "[run house]~5",
    "cr*",
    "site:a.org -web",
    "lang:it casa",
];

fn answers(dir: &Path) -> Result<Vec<SearchResults>, SearchError> {
    let searcher = Searcher::open(dir)?;
    let options = SearchOptions::default();
    let clock = Clock::start();
    QUERIES.iter().map(|query| searcher.search(query, &options, &clock)).collect()
}

#[test]
fn a_byte_that_changes_gives_an_error_or_the_right_answers() {
    let mut rng = super::rng();
    for preset in Preset::ALL {
        let dir = tempfile::tempdir().unwrap();
        let mut index = TestIndex::create(dir.path(), preset);
        for _ in 0..2 {
            let documents: Vec<Document> =
                (0..250).map(|_| random::linking_document(&mut rng, 200)).collect();
            index.add(&documents, &[]);
        }
        index.publish();
        let expected = answers(dir.path()).unwrap();
        let mut n_errors = 0;
        for path in files_below(dir.path()) {
            let whole = fs::read(&path).unwrap();
            for _ in 0..60 {
                let mut bytes = whole.clone();
                let at = rng.random_range(0..bytes.len());
                if rng.random_bool(0.8) {
                    bytes[at] ^= 1 << rng.random_range(0..8);
                } else {
                    bytes.truncate(at);
                }
                fs::write(&path, bytes).unwrap();
                match answers(dir.path()) {
                    Ok(found) => assert_eq!(found, expected, "{}", path.display()),
                    Err(SearchError::Index(
                        IndexError::Damaged { path: named, .. }
                        | IndexError::Io { path: named, .. }
                        | IndexError::Version { path: named, .. },
                    )) => {
                        assert_eq!(named, path);
                        n_errors += 1;
                    }
                    Err(error) => panic!("{}: {error}", path.display()),
                }
            }
            fs::write(&path, whole).unwrap();
        }
        assert!(n_errors > 100, "{n_errors}");
        assert_eq!(answers(dir.path()).unwrap(), expected);
    }
}
