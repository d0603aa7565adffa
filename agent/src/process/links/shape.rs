//! Guards against traps that show in a URL itself: calendars without end, links relative to the
//! wrong folder, session paths that grow.

use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use smallvec::SmallVec;

/// The bounds of a URL's shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes of the whole URL.
    pub(super) length_max: usize,
    /// Segments of the path; the empty one behind a last slash does not count.
    pub(super) segments_max: usize,
    /// How often one segment may occur, wherever it stands.
    pub(super) repeats_max: usize,
}

impl Shape {
    pub(super) fn check(&self, url: &CrawlUrl) -> Result<(), Discard> {
        if url.as_str().len() > self.length_max {
            return Err(Discard::TooLong);
        }
        let path = url.path();
        let path = path.strip_suffix('/').unwrap_or(path);
        let n_segments = path.bytes().filter(|&b| b == b'/').count();
        if n_segments > self.segments_max {
            return Err(Discard::PathDepth);
        }
        if n_segments > self.repeats_max && most_repeated(path) > self.repeats_max {
            return Err(Discard::RepeatedSegments);
        }
        Ok(())
    }
}

/// How often the most frequent segment of `path` occurs.
fn most_repeated(path: &str) -> usize {
    let mut segments: SmallVec<[&str; 32]> = path.split('/').skip(1).collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).map(<[&str]>::len).max().unwrap_or(0)
}
