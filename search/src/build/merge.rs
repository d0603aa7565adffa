//! Several segments to one, by a k-way merge of their terms. Dead documents stay behind.

use super::captures::Captures;
use crate::error::IndexError;
use crate::field::has_positions;
use crate::postings::{ListEntry, PostingReader, Preset};
use crate::segment::{
    CaptureRow, LinkReader, LinkRow, MERGED_AWAY, NO_DOCUMENT, Segment, SegmentWriter, TermCursor,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

/// Documents between two looks at `stopped`.
const STEPS: u32 = 1024;

/// Result of a merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merged {
    pub(super) documents: u32,
    pub(super) captures: u64,
    pub(super) bytes: u64,
}

/// Merges segments, in their order, into a new one in `dir`. Captures of sources that are not in `sources` are left
/// out.
pub(super) fn merge(
    dir: &Path,
    segments: &[&Segment],
    preset: Preset,
    sources: &BTreeSet<u32>,
    stopped: &dyn Fn() -> bool,
) -> Result<Merged, IndexError> {
    let mut writer = SegmentWriter::create(dir, preset)?;
    let mut numbers = Vec::with_capacity(segments.len());
    for segment in segments {
        numbers.push(copy_documents(segment, &mut writer, stopped)?);
    }
    copy_captures(segments, sources, &mut writer)?;
    copy_links(segments, &numbers, &mut writer)?;
    let mut cursors: Vec<TermCursor<'_>> =
        segments.iter().map(|segment| segment.terms.cursor()).collect();
    let mut heap = BinaryHeap::new();
    for (index, cursor) in cursors.iter_mut().enumerate() {
        heap.extend(cursor.next()?.map(|(term, entry)| Reverse(Front { term, index, entry })));
    }
    let mut lists: Vec<(usize, ListEntry)> = Vec::new();
    while let Some(Reverse(first)) = heap.pop() {
        if stopped() {
            return Err(IndexError::Stopped);
        }
        lists.clear();
        lists.push((first.index, first.entry));
        advance(&mut cursors, first.index, &mut heap)?;
        while let Some(Reverse(front)) = heap.peek()
            && front.term == first.term
        {
            let (index, entry) = (front.index, front.entry);
            heap.pop();
            lists.push((index, entry));
            advance(&mut cursors, index, &mut heap)?;
        }
        merge_lists(&first.term, segments, &lists, &numbers, &mut writer)?;
    }
    let (documents, captures) = (writer.n_documents(), writer.n_captures() as u64);
    Ok(Merged { documents, captures, bytes: writer.finish()? })
}

/// The next term of a segment. Equal terms come in the order of segments.
#[derive(PartialEq, Eq)]
struct Front {
    term: Vec<u8>,
    index: usize,
    entry: ListEntry,
}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.term, self.index).cmp(&(&other.term, other.index))
    }
}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn advance(
    cursors: &mut [TermCursor<'_>],
    index: usize,
    heap: &mut BinaryHeap<Reverse<Front>>,
) -> Result<(), IndexError> {
    let next = cursors[index].next()?;
    heap.extend(next.map(|(term, entry)| Reverse(Front { term, index, entry })));
    Ok(())
}

/// Copies the documents that are alive. Returns the new number of each document.
fn copy_documents(
    segment: &Segment,
    writer: &mut SegmentWriter,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<u32>, IndexError> {
    let mut numbers = Vec::with_capacity(segment.n_documents() as usize);
    let mut texts = segment.texts();
    for document in 0..segment.n_documents() {
        if document % STEPS == 0 && stopped() {
            return Err(IndexError::Stopped);
        }
        if segment.is_dead(document) {
            numbers.push(NO_DOCUMENT);
            continue;
        }
        let row = segment.row(document)?;
        let length = segment.lengths[document as usize];
        let text = texts.read(&row)?;
        numbers.push(writer.push_document(row, length, text.parts())?);
    }
    Ok(numbers)
}

/// Copies captures without documents of the new segment: of each URL and source the last one. If later captures of the
/// URL are taken out of other sources, it tells that this source has to be read again. An earlier one of the same source
/// does not count before all of the source is read again.
fn copy_captures(
    segments: &[&Segment],
    sources: &BTreeSet<u32>,
    writer: &mut SegmentWriter,
) -> Result<(), IndexError> {
    let mut captures = Captures::of(segments.iter().copied())?;
    let (mut url_hash, mut last) = (0, BTreeMap::<u32, CaptureRow>::new());
    while let Some((mut row, index)) = captures.next()? {
        if row.url_hash != url_hash {
            url_hash = row.url_hash;
            push_captures(&mut last, writer);
        }
        if row.document < MERGED_AWAY && segments[index].is_dead(row.document) {
            row.document = MERGED_AWAY;
        }
        let is_last = !last.get(&row.source).is_some_and(|before| before.outlasts(&row));
        if sources.contains(&row.source) && is_last {
            last.insert(row.source, row);
        }
    }
    push_captures(&mut last, writer);
    Ok(())
}

/// Copies the links of documents that are alive.
fn copy_links(
    segments: &[&Segment],
    numbers: &[Vec<u32>],
    writer: &mut SegmentWriter,
) -> Result<(), IndexError> {
    let mut readers: Vec<LinkReader<'_>> = segments.iter().map(|segment| segment.links()).collect();
    let mut heap = BinaryHeap::new();
    let mut advance = |index: usize, heap: &mut BinaryHeap<Reverse<(LinkRow, usize)>>| {
        while let Some(mut row) = readers[index].next()? {
            let number = numbers[index].get(row.linker as usize);
            row.linker = number.copied().unwrap_or(NO_DOCUMENT);
            if row.linker != NO_DOCUMENT {
                heap.push(Reverse((row, index)));
                return Ok(());
            }
        }
        Ok::<(), IndexError>(())
    };
    (0..segments.len()).try_for_each(|index| advance(index, &mut heap))?;
    while let Some(Reverse((row, index))) = heap.pop() {
        advance(index, &mut heap)?;
        writer.push_link(row)?;
    }
    Ok(())
}

fn push_captures(captures: &mut BTreeMap<u32, CaptureRow>, writer: &mut SegmentWriter) {
    while let Some((_, capture)) = captures.pop_first() {
        // Documents have been copied with their captures.
        if capture.document >= MERGED_AWAY {
            writer.push_capture(capture);
        }
    }
}

fn merge_lists(
    term: &[u8],
    segments: &[&Segment],
    lists: &[(usize, ListEntry)],
    numbers: &[Vec<u32>],
    writer: &mut SegmentWriter,
) -> Result<(), IndexError> {
    let open = |index: usize, entry| segments[index].list(entry, has_positions(term));
    let mut documents = 0;
    for &(index, entry) in lists {
        documents += match segments[index].n_dead() {
            0 => entry.documents,
            _ => count_alive(open(index, entry)?, segments[index])?,
        };
    }
    if documents == 0 {
        return Ok(());
    }
    writer.start_term(term, documents);
    for &(index, entry) in lists {
        let mut list = open(index, entry)?;
        while let Some(document) = list.next()? {
            let number = numbers[index][document as usize];
            if number != NO_DOCUMENT {
                writer.push_posting(number, list.positions()?)?;
            }
        }
    }
    writer.end_term()
}

fn count_alive(mut list: PostingReader<'_>, segment: &Segment) -> Result<u32, IndexError> {
    let mut n = 0;
    while let Some(document) = list.next()? {
        n += u32::from(!segment.is_dead(document));
    }
    Ok(n)
}
