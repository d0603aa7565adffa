//! The parts of an open index that planning and ranking need.

use super::statistics::QueryStatistics;
use crate::ranks::StaticRanks;
use crate::segment::Segment;
use crate::text::Stemming;

/// The segments of an index at one moment, and what is known of all of them.
pub(super) struct OpenIndex {
    pub(super) segments: Vec<Segment>,
    pub(super) stemming: Stemming,
    /// Statistics of all queries, with dead documents, which lists have, too.
    pub(super) collection: QueryStatistics,
    /// Static ranks.
    pub(super) ranks: Option<StaticRanks>,
}
