//! Indexes of documents that no archive has, for tests.

use super::anchors::update_anchors;
use super::batch::Batch;
use super::dead::{DeadDocuments, dead_documents};
use super::manifest::{Manifest, SegmentEntry, Source, segment_name};
use super::merge::merge;
use crate::document::Document;
use crate::postings::Preset;
use crate::ranks::{ranks_name, write_ranks};
use crate::segment::{Segment, dead_name};
use crate::text::{Stemmers, Stemming};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) struct TestIndex<'d> {
    pub(crate) dir: &'d Path,
    pub(crate) manifest: Manifest,
    preset: Preset,
    stemmers: Stemmers,
}

impl<'d> TestIndex<'d> {
    pub(crate) fn create(dir: &'d Path, preset: Preset) -> Self {
        let stemming = Stemming::Language;
        let manifest = Manifest::new(preset, stemming).unwrap();
        Self { dir, manifest, preset, stemmers: Stemmers::new(stemming) }
    }

    /// Adds a segment with documents, and captures that have no page: URL and date.
    pub(crate) fn add(&mut self, documents: &[Document], gone: &[(String, u64)]) {
        let source = self.manifest.take_number();
        let number = self.manifest.take_number();
        let dir = self.dir.join(segment_name(number));
        let mut batch = Batch::create(&dir, self.preset).unwrap();
        let hasher = self.manifest.hasher();
        for document in documents {
            batch.push(document, source, &hasher, &mut self.stemmers).unwrap();
        }
        for (url, date) in gone {
            batch.push_capture(hasher.hash(url), *date, source);
        }
        let (documents, captures) = (batch.n_documents(), batch.n_captures() as u64);
        let bytes = batch.finish().unwrap();
        let path = PathBuf::from(source.to_string());
        self.manifest.sources.push(Source { id: source, path, bytes: 0, modified_ns: 0 });
        let sources = BTreeSet::from([source]);
        let entry =
            SegmentEntry { number, documents, captures, bytes, sources, dead: None, anchors: None };
        self.manifest.segments.push(entry);
    }

    fn open(&self) -> Vec<Segment> {
        let open = |entry: &SegmentEntry| entry.open(self.dir, self.preset).unwrap();
        self.manifest.segments.iter().map(open).collect()
    }

    fn dead_documents(&self) -> DeadDocuments {
        dead_documents(&self.open(), &self.manifest.source_ids()).unwrap()
    }

    /// Returns sources that have to be read again.
    pub(crate) fn wanted(&self) -> BTreeSet<u32> {
        self.dead_documents().wanted
    }

    /// Finds dead documents, and writes the manifest.
    pub(crate) fn publish(&mut self) {
        let sets = self.dead_documents().sets;
        let generation = u64::from(self.manifest.take_number());
        for (entry, set) in self.manifest.segments.iter_mut().zip(sets) {
            entry.dead = None;
            if set.len() > 0 {
                set.write(&self.dir.join(entry.name()).join(dead_name(generation))).unwrap();
                entry.dead = Some((generation, set.len()));
            }
        }
        self.manifest.are_anchors_current = false;
        // Little memory, so that they are sorted on disk.
        update_anchors(self.dir, self.preset, &mut self.manifest, 4_000, &|| false).unwrap();
        self.manifest.write(self.dir).unwrap();
    }

    /// Gives the index the ranks of a table.
    pub(crate) fn set_ranks(&mut self, table: &Path) {
        let generation = u64::from(self.manifest.take_number());
        let hasher = self.manifest.hasher();
        write_ranks(table, &self.dir.join(ranks_name(generation)), |name| hasher.hash(name))
            .unwrap();
        self.manifest.ranks = Some(generation);
    }

    /// Merges all segments.
    pub(crate) fn merge(&mut self) {
        let segments = self.open();
        let segments: Vec<&Segment> = segments.iter().collect();
        let number = self.manifest.take_number();
        let sources = self.manifest.source_ids();
        let dir = self.dir.join(segment_name(number));
        let merged = merge(&dir, &segments, self.preset, &sources, &|| false).unwrap();
        let (documents, captures, bytes) = (merged.documents, merged.captures, merged.bytes);
        let entry =
            SegmentEntry { number, documents, captures, bytes, sources, dead: None, anchors: None };
        self.manifest.segments = vec![entry];
    }
}
