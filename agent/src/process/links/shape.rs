//! Guards against traps that are visible in a URL itself: endless calendars, links relative to the
//! wrong folder, growing session paths.

use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use smallvec::SmallVec;

/// Bounds of a URL's shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Maximum length of the whole URL, in bytes.
    pub(super) length_max: usize,
    /// Maximum number of segments of the path; the empty one after a last slash does not count.
    pub(super) segments_max: usize,
    /// Maximum number of occurrences of one segment that is not empty, anywhere in the path.
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

/// Returns the number of occurrences of the most frequent segment of `path` that is not empty.
fn most_repeated(path: &str) -> usize {
    let mut segments: SmallVec<[&str; 32]> =
        path.split('/').filter(|segment| !segment.is_empty()).collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).map(<[&str]>::len).max().unwrap_or(0)
}
