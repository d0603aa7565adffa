//! The targets, one a file.

pub mod codes;
pub mod coding;
pub mod config;
pub mod export;
pub mod expression;
pub mod http1;
pub mod http2;
mod normal_url;
pub mod packets;
pub mod page;
mod response;
pub mod robots;
mod scratch;
pub mod sitemap;
pub mod state_file;
pub mod structures;
pub mod url;
pub mod values;
mod visit;
pub mod warc;
pub mod wire;

use crate::target::FuzzTarget;

/// All targets.
pub const ALL: &[&FuzzTarget] = &[
    &url::TARGET,
    &page::TARGET,
    &coding::TARGET,
    &robots::TARGET,
    &sitemap::TARGET,
    &values::TARGET,
    &wire::TARGET,
    &packets::TARGET,
    &state_file::TARGET,
    &warc::TARGET,
    &config::TARGET,
    &expression::TARGET,
    &codes::TARGET,
    &structures::TARGET,
    &export::TARGET,
    &http1::TARGET,
    &http2::TARGET,
];

/// Returns the target with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static FuzzTarget> {
    ALL.iter().find(|target| target.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::corpus_dir;
    use std::collections::BTreeSet;

    #[test]
    fn every_folder_of_the_corpus_belongs_to_a_target() {
        let names: BTreeSet<_> = ALL.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), ALL.len(), "two targets have one name");
        for entry in std::fs::read_dir(corpus_dir()).expect("the corpus") {
            let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
            assert!(names.contains(name.as_str()), "no target is called {name}");
        }
    }

    #[test]
    fn every_target_has_inputs_to_begin_with() {
        for target in ALL {
            assert!(!crate::originals(target).is_empty(), "{}: no corpus, no samples", target.name);
            assert_eq!(find(target.name).map(|found| found.name), Some(target.name));
        }
        assert!(find("unknown").is_none());
    }
}
