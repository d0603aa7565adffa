//! Guards against traps that are visible in a URL itself: endless calendars, links relative to the
//! wrong folder, growing session paths.

use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use memchr::memchr_iter;
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
        if n_segments > self.repeats_max
            && may_repeat(path, self.repeats_max)
            && most_repeated(path) > self.repeats_max
        {
            return Err(Discard::RepeatedSegments);
        }
        Ok(())
    }
}

/// Number of classes of segments, by their length and last byte.
const CLASSES: usize = 32;

/// Returns true if more than `repeats_max` segments of `path` are of one class. Equal segments are of one
/// class, so none is repeated more often otherwise. It is a fast check for most URLs.
fn may_repeat(path: &str, repeats_max: usize) -> bool {
    let path = path.as_bytes();
    let mut counts = [0_u32; CLASSES];
    let mut start = 0;
    for end in memchr_iter(b'/', path).chain([path.len()]) {
        let segment = &path[start..end];
        start = end + 1;
        let Some(&last) = segment.last() else { continue };
        let count = &mut counts[(usize::from(last) ^ (segment.len() << 2)) % CLASSES];
        *count += 1;
        if *count as usize > repeats_max {
            return true;
        }
    }
    false
}

/// Returns the number of occurrences of the most frequent segment of `path` that is not empty.
fn most_repeated(path: &str) -> usize {
    let mut segments: SmallVec<[&str; 32]> =
        path.split('/').filter(|segment| !segment.is_empty()).collect();
    segments.sort_unstable();
    segments.chunk_by(|a, b| a == b).map(<[&str]>::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_path_with_a_repeated_segment_may_repeat(
            segments in prop::collection::vec("[ab]{0,2}|[a-z0-9]{1,3}", 0..40),
            repeats_max in 1_usize..6,
        ) {
            let path = format!("/{}", segments.join("/"));
            if most_repeated(&path) > repeats_max {
                prop_assert!(may_repeat(&path, repeats_max));
            }
        }
    }

    #[test]
    fn most_paths_cannot_repeat() {
        for path in ["/", "/news/2026/11/27/a-title", "/a/b/c/d/e/f", "//x//y//z"] {
            assert!(!may_repeat(path, 2), "{path}");
        }
        assert!(may_repeat("/a/b/a/b/a", 2));
    }
}
