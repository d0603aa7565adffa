//! Which documents count no more: those of a URL that has a later capture, and those of archive files that were
//! changed since.

use super::captures::Captures;
use crate::error::IndexError;
use crate::segment::{CaptureRow, DeadSet, MERGED_AWAY, Segment};
use std::collections::BTreeSet;

/// The captures of all segments by URL.
pub(super) struct DeadDocuments {
    /// The dead documents of each segment.
    pub(super) sets: Vec<DeadSet>,
    /// Sources with a document that counts, but was merged away: the later capture of its URL was taken out since.
    pub(super) wanted: BTreeSet<u32>,
}

/// Returns the dead documents of each segment, by a merge of their captures.
pub(super) fn dead_documents(
    segments: &[Segment],
    sources: &BTreeSet<u32>,
) -> Result<DeadDocuments, IndexError> {
    let mut sets = vec![DeadSet::default(); segments.len()];
    let mut wanted = BTreeSet::new();
    let mut captures = Captures::of(segments.iter())?;
    // The latest capture of the URL so far.
    let mut latest: Option<(CaptureRow, usize)> = None;
    while let Some((row, index)) = captures.next()? {
        let mut bury = |row: CaptureRow, index: usize| {
            if row.document < segments[index].n_documents() {
                sets[index].insert(row.document);
            }
        };
        if !sources.contains(&row.source) {
            bury(row, index);
            continue;
        }
        match latest {
            Some((before, _)) if before.outlasts(&row) => continue,
            Some((before, of)) if before.url_hash == row.url_hash => bury(before, of),
            Some((before, _)) => wanted.extend(source_of_merged_away(before)),
            None => {}
        }
        latest = Some((row, index));
    }
    wanted.extend(latest.and_then(|(row, _)| source_of_merged_away(row)));
    Ok(DeadDocuments { sets, wanted })
}

fn source_of_merged_away(row: CaptureRow) -> Option<u32> {
    (row.document == MERGED_AWAY).then_some(row.source)
}

#[cfg(test)]
mod tests {
    use crate::build::testing::TestIndex;
    use crate::document::Document;
    use crate::postings::Preset;
    use crivello_common::time::Timestamp;
    use std::collections::BTreeSet;

    const URL: &str = "http://a.org/";

    fn page(date: u64) -> Document {
        Document { url: URL.to_owned(), date: Timestamp(date), ..Document::default() }
    }

    #[test]
    fn a_document_that_was_merged_away_is_wanted_when_the_later_one_is_taken_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut index = TestIndex::create(dir.path(), Preset::Small);
        index.add(&[page(1)], &[]);
        index.add(&[page(3), page(2)], &[(URL.to_owned(), 4), (URL.to_owned(), 5)]);
        index.add(&[page(6)], &[]);
        let sources: Vec<u32> = index.manifest.sources.iter().map(|source| source.id).collect();
        index.publish();
        index.merge();
        let segment = &index.manifest.segments[0];
        // One capture of each source.
        assert_eq!((segment.documents, segment.captures), (1, 3));
        assert_eq!(index.wanted(), BTreeSet::new());
        index.manifest.sources.remove(2);
        // The page is gone by then.
        assert_eq!(index.wanted(), BTreeSet::new());
        index.manifest.sources.remove(1);
        assert_eq!(index.wanted(), BTreeSet::from([sources[0]]));
        // Captures of sources that are not in force are merged away.
        index.publish();
        index.merge();
        let segment = &index.manifest.segments[0];
        assert_eq!((segment.documents, segment.captures), (0, 1));
        assert_eq!(index.wanted(), BTreeSet::from([sources[0]]));
    }
}
