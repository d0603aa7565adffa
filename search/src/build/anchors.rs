//! The words of links to the documents that count, from the links of all segments.
//!
//! ```text
//!  links of each segment, by target ─► merge ─┐
//!                                             ├─► join ─► terms of anchors ─► sort on disk ─► anchors-N of each segment
//!  captures of each segment, by URL ─► merge ─┘
//! ```
//! Only links of documents that count are taken. Several links with one text from one host count once, so that the
//! template of a site counts as one page; and a document has at most 64 different ones, 16 of one host. In memory are those of one
//! document, a run of the sort, and one list.

use super::captures::Captures;
use super::manifest::{Manifest, SegmentEntry};
use super::sorter::{PostingSorter, SortedPosting};
use crate::document::TITLE_GAP;
use crate::error::IndexError;
use crate::field::TermField;
use crate::postings::Preset;
use crate::segment::{AnchorWriter, LinkReader, LinkRow, LinksOfTarget, Segment, anchors_name};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A build of anchors: the part of a run that it needs.
struct AnchorBuild<'a> {
    /// Directory of the index.
    dir: &'a Path,
    preset: Preset,
    segments: &'a [Segment],
    /// Directory of the anchors of each segment.
    dirs: &'a [PathBuf],
    /// Memory of the sort in bytes, about.
    memory: usize,
    stopped: &'a dyn Fn() -> bool,
}

/// Makes the words of links anew, if they are not those of the segments in force. The manifest is not written.
pub(super) fn update_anchors(
    dir: &Path,
    preset: Preset,
    manifest: &mut Manifest,
    memory: usize,
    stopped: &dyn Fn() -> bool,
) -> Result<(), IndexError> {
    if manifest.are_anchors_current {
        return Ok(());
    }
    let open = |entry: &SegmentEntry| entry.open(dir, preset);
    let segments: Vec<Segment> = manifest.segments.iter().map(open).collect::<Result<_, _>>()?;
    let generation = u64::from(manifest.take_number());
    let path = |entry: &SegmentEntry| dir.join(entry.name()).join(anchors_name(generation));
    let dirs: Vec<PathBuf> = manifest.segments.iter().map(path).collect();
    let build = AnchorBuild { dir, preset, segments: &segments, dirs: &dirs, memory, stopped };
    let written = build.run()?;
    for (index, entry) in manifest.segments.iter_mut().enumerate() {
        entry.anchors = None;
        if written.contains(&index) {
            let path = dir.join(entry.name());
            File::open(&path).and_then(|dir| dir.sync_all()).map_err(IndexError::io(&path))?;
            entry.anchors = Some(generation);
        }
    }
    manifest.are_anchors_current = true;
    Ok(())
}

/// The links of several segments by target, without those of documents that count no more.
struct Links<'s> {
    segments: &'s [Segment],
    readers: Vec<LinkReader<'s>>,
    heap: BinaryHeap<Reverse<(LinkRow, usize)>>,
}

impl<'s> Links<'s> {
    fn of(segments: &'s [Segment]) -> Result<Self, IndexError> {
        let readers = segments.iter().map(Segment::links).collect();
        let mut links = Self { segments, readers, heap: BinaryHeap::new() };
        (0..segments.len()).try_for_each(|index| links.advance(index))?;
        Ok(links)
    }

    fn advance(&mut self, index: usize) -> Result<(), IndexError> {
        let row = self.readers[index].next()?;
        self.heap.extend(row.map(|row| Reverse((row, index))));
        Ok(())
    }

    /// Returns the next link to a target. Links to lower targets are passed.
    fn next_of(&mut self, target: u64) -> Result<Option<LinkRow>, IndexError> {
        while self.heap.peek().is_some_and(|Reverse((row, _))| row.target <= target) {
            let Some(Reverse((row, index))) = self.heap.pop() else { return Ok(None) };
            self.advance(index)?;
            if row.target == target && !self.segments[index].is_dead(row.linker) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl AnchorBuild<'_> {
    /// Writes the anchors of all segments. Returns which segments have some. Those without get no files.
    fn run(&self) -> Result<BTreeSet<usize>, IndexError> {
        let mut sorter = PostingSorter::new(self.dir, self.memory);
        let mut links = Links::of(self.segments)?;
        let mut captures = Captures::of(self.segments.iter())?;
        while let Some((row, index)) = captures.next()? {
            let segment = &self.segments[index];
            if row.document >= segment.n_documents() || segment.is_dead(row.document) {
                continue;
            }
            if (self.stopped)() {
                return Err(IndexError::Stopped);
            }
            for (stem, positions) in Self::terms(&mut links, row.url_hash)? {
                sorter.push(SortedPosting {
                    segment: index as u32,
                    term: TermField::Anchor.term(&stem).into(),
                    document: row.document,
                    positions: positions.into(),
                })?;
            }
        }
        self.write(sorter)
    }

    /// Returns the stems of the links to a document, and their positions.
    fn terms(links: &mut Links<'_>, target: u64) -> Result<BTreeMap<String, Vec<u32>>, IndexError> {
        let mut terms = BTreeMap::<String, Vec<u32>>::new();
        let mut of_target = LinksOfTarget::default();
        let mut position = 0;
        while let Some(link) = links.next_of(target)? {
            if of_target.add(&link) != Some(1) {
                continue;
            }
            for stem in link.stems.split(' ') {
                terms.entry(stem.to_owned()).or_default().push(position);
                position += 1;
            }
            // No phrase has words of two links.
            position += TITLE_GAP;
        }
        Ok(terms)
    }

    fn write(&self, sorter: PostingSorter<'_>) -> Result<BTreeSet<usize>, IndexError> {
        let mut written = BTreeSet::new();
        let mut writer: Option<(usize, AnchorWriter)> = None;
        let (mut key, mut documents) = ((0, Box::default()), Vec::new());
        let mut end_term = |key: &(u32, Box<[u8]>), documents: &mut Vec<(u32, Box<[u32]>)>| {
            let index = key.0 as usize;
            if documents.is_empty() {
                return Ok(());
            }
            let mut current = match writer.take() {
                Some((of, current)) if of == index => current,
                before => {
                    if let Some((of, before)) = before {
                        before.finish(&self.dirs[of])?;
                    }
                    written.insert(index);
                    let n = self.segments[index].n_documents();
                    AnchorWriter::create(&self.dirs[index], self.preset, n)?
                }
            };
            current.push(&key.1, documents)?;
            documents.clear();
            writer = Some((index, current));
            Ok(())
        };
        sorter.finish(|posting| {
            let of = (posting.segment, posting.term);
            if of != key {
                end_term(&key, &mut documents)?;
                key = of;
            }
            documents.push((posting.document, posting.positions));
            Ok(())
        })?;
        end_term(&key, &mut documents)?;
        if let Some((of, last)) = writer {
            last.finish(&self.dirs[of])?;
        }
        Ok(written)
    }
}
