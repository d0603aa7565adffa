//! Indexes of documents that are in no archive.

use super::anchors::update_anchors;
use super::batch::Batch;
use super::manifest::{Manifest, SegmentEntry, Source, segment_name};
use super::merge::merge;
use super::recovery::{lock, remove_strays};
use crate::document::Document;
use crate::error::IndexError;
use crate::postings::Preset;
use crate::segment::Segment;
use crate::text::{Stemmers, Stemming};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Makes an index of documents with different URLs, in one segment. The directory is created. Batches of about
/// `memory_bytes` are in memory.
///
/// # Errors
/// [`IndexError`]; also if the directory exists.
pub fn index_documents(
    dir: &Path,
    preset: Preset,
    stemming: Stemming,
    memory_bytes: usize,
    documents: impl IntoIterator<Item = Document>,
) -> Result<(), IndexError> {
    fs::create_dir(dir).map_err(IndexError::io(dir))?;
    let _lock = lock(dir)?;
    let mut manifest = Manifest::new(preset, stemming)?;
    let (hasher, source) = (manifest.hasher(), manifest.take_number());
    let path = PathBuf::from("documents");
    manifest.sources.push(Source { id: source, path, bytes: 0, modified_ns: 0 });
    let mut stemmers = Stemmers::new(stemming);
    let mut entries = Vec::new();
    let mut batch: Option<(u32, Batch)> = None;
    let entry = |number, documents, bytes| SegmentEntry {
        number,
        documents,
        captures: u64::from(documents),
        bytes,
        sources: BTreeSet::from([source]),
        dead: None,
        anchors: None,
    };
    let mut end = |(number, batch): (u32, Batch)| {
        let documents = batch.n_documents();
        batch.finish().map(|bytes| entries.push(entry(number, documents, bytes)))
    };
    for document in documents {
        let (number, mut current) = match batch.take() {
            Some(batch) => batch,
            None => {
                let number = manifest.take_number();
                (number, Batch::create(&dir.join(segment_name(number)), preset)?)
            }
        };
        current.push(&document, source, &hasher, &mut stemmers)?;
        if current.memory() > memory_bytes {
            end((number, current))?;
        } else {
            batch = Some((number, current));
        }
    }
    batch.map_or(Ok(()), &mut end)?;
    if entries.len() > 1 {
        let segments: Vec<Segment> =
            entries.iter().map(|entry| entry.open(dir, preset)).collect::<Result<_, _>>()?;
        let segments: Vec<&Segment> = segments.iter().collect();
        let number = manifest.take_number();
        let path = dir.join(segment_name(number));
        let merged = merge(&path, &segments, preset, &manifest.source_ids(), &|| false)?;
        entries = vec![entry(number, merged.documents, merged.bytes)];
    }
    manifest.segments = entries;
    manifest.are_anchors_current = false;
    update_anchors(dir, preset, &mut manifest, memory_bytes, &|| false)?;
    manifest.write(dir)?;
    remove_strays(dir, &manifest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{SearchOptions, Searcher};
    use crivello_common::time::Clock;

    #[test]
    fn an_index_in_several_batches_is_one_segment() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("index");
        let document = |n: u32| Document {
            url: format!("http://a.org/{n}"),
            text: format!("all {}", "word ".repeat((n % 7) as usize)),
            ..Document::default()
        };
        index_documents(&dir, Preset::Fast, Stemming::None, 10_000, (0..1_000).map(document))
            .unwrap();
        let searcher = Searcher::open(&dir).unwrap();
        assert_eq!((searcher.stats().segments, searcher.stats().documents), (1, 1_000));
        let found = |query| {
            let options = SearchOptions { with_texts: false, ..SearchOptions::default() };
            let results = searcher.search(query, &options, &Clock::start()).unwrap();
            assert!(results.hits.iter().all(|hit| hit.url.is_empty() && hit.score > 0.0));
            results.found
        };
        assert_eq!((found("all"), found("\"word word\"")), (1_000, 714));
        let again = index_documents(&dir, Preset::Fast, Stemming::None, 1, [document(0)]);
        assert!(matches!(again, Err(IndexError::Io { .. })));
    }
}
